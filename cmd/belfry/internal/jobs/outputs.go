package jobs

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"strconv"
	"strings"

	"github.com/spf13/cobra"

	"github.com/belfry-run/belfry/cmd/belfry/internal/cli"
	"github.com/belfry-run/belfry/core"
	"github.com/belfry-run/belfry/internal/signed"
	"github.com/belfry-run/belfry/job"
	"github.com/belfry-run/belfry/task"
)

func jobOutputs(c *cli.CLI) *cobra.Command {
	var download string
	var attempt int
	cmd := &cobra.Command{
		Use: "outputs ID", Aliases: []string{"output"}, Short: "List the files that a job left, and fetch them", Args: cobra.ExactArgs(1),
		Long: `List the files that a program's attempts left in their output folder.

With --download they are fetched into a folder, each below it under its own
name, and compared with its SHA-256. Of several attempts that left a file of the
same name the newest counts. A file that is there already is not overwritten.`,
		Example: `  belfry job outputs 1042
  belfry job outputs 1042 --download results`,
		RunE: c.Verb(func(ctx context.Context, s *cli.Conn, cmd *cobra.Command, args []string) error {
			id, err := job.IDFromText("ID", args[0])
			if err != nil {
				return err
			}
			numbers, err := attemptNumbers(ctx, s, id)
			if err != nil {
				return err
			}
			all, err := s.Outputs(ctx, s.NS, id)
			if err != nil {
				return err
			}
			if cmd.Flags().Changed("attempt") {
				if all, err = ofAttempt(all, numbers, attempt); err != nil {
					return err
				}
			}
			if cmd.Flags().Changed("download") {
				return fetchOutputs(ctx, c, s, newestByName(all), download)
			}
			return c.Emit(core.Page[task.JobOutput]{Items: all}, func(w io.Writer) {
				if len(all) == 0 {
					fmt.Fprintf(c.Stderr, "job %d left no files\n", id)
					return
				}
				g := c.Grid("NAME", "SIZE", "TRY", "LEFT", "SHA256")
				for _, o := range all {
					g.Row(o.Name, core.SizeText(o.Size), strconv.Itoa(numbers[o.Lease]), cli.Ago(o.At, s.Now), o.SHA256)
				}
				g.Write(w)
			})
		}),
	}
	cmd.Flags().StringVar(&download, "download", "", "fetch them into this folder")
	cmd.Flags().IntVar(&attempt, "attempt", 0, "only those of this attempt, from 1; default: of all")
	return cmd
}

// attemptNumbers returns the number of the attempt for each lease.
func attemptNumbers(ctx context.Context, s *cli.Conn, job int64) (map[int64]int, error) {
	attempts, err := s.Attempts(ctx, s.NS, job)
	numbers := make(map[int64]int, len(attempts))
	for _, a := range attempts {
		numbers[a.Lease] = a.Number
	}
	return numbers, err
}

func ofAttempt(all []task.JobOutput, numbers map[int64]int, attempt int) ([]task.JobOutput, error) {
	known, some := false, []task.JobOutput{}
	for _, n := range numbers {
		known = known || n == attempt
	}
	if !known {
		return nil, core.InvalidField("--attempt", strconv.Itoa(attempt), "is not an attempt that has ended", "see: belfry job show ID")
	}
	for _, o := range all {
		if numbers[o.Lease] == attempt {
			some = append(some, o)
		}
	}
	return some, nil
}

// newestByName returns the last output of each name, in the order of first appearance.
func newestByName(all []task.JobOutput) []task.JobOutput {
	at, out := map[string]int{}, []task.JobOutput{}
	for _, o := range all {
		if i, again := at[o.Name]; again {
			out[i] = o
			continue
		}
		at[o.Name] = len(out)
		out = append(out, o)
	}
	return out
}

// downloaded is the result of --download.
type downloaded struct {
	task.JobOutput
	Path string `json:"path"`
}

// fetchOutputs downloads files into a folder. No file name of a program, and no link in
// the folder, leads out of it.
func fetchOutputs(ctx context.Context, c *cli.CLI, s *cli.Conn, outputs []task.JobOutput, dir string) (err error) {
	if dir == "" {
		return core.InvalidField("--download", "", "names no folder", "such as --download results, or --download .")
	}
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return core.InvalidField("--download", dir, "cannot be made: "+err.Error(), "")
	}
	root, err := os.OpenRoot(dir)
	if err != nil {
		return core.InvalidField("--download", dir, "cannot be opened: "+err.Error(), "")
	}
	defer func() { err = errors.Join(err, root.Close()) }()
	var last error // last error; the other files are still downloaded
	done := []downloaded{}
	for _, o := range outputs {
		if err := fetchOutput(ctx, s, root, o); err != nil {
			if last != nil {
				fmt.Fprintln(c.Stderr, "error:", last)
			}
			if last = fmt.Errorf("output %q: %w", o.Name, err); ctx.Err() != nil {
				return last
			}
			continue
		}
		done = append(done, downloaded{o, filepath.Join(dir, filepath.FromSlash(o.Name))})
	}
	err = c.Emit(core.Page[downloaded]{Items: done}, func(w io.Writer) {
		for _, d := range done {
			fmt.Fprintf(w, "%s  %s\n", d.Path, core.SizeText(d.Size))
		}
		if len(outputs) == 0 {
			fmt.Fprintln(c.Stderr, "there were no files to fetch")
		}
	})
	return cmp.Or(last, err)
}

// fetchOutput writes one complete file, or none.
func fetchOutput(ctx context.Context, s *cli.Conn, root *os.Root, o task.JobOutput) error {
	if err := o.Validate(); err != nil { // the answer of a server is not trusted
		return err
	}
	caller := ctx
	ctx, cancel := context.WithTimeout(caller, s.TransferTime(o.Size))
	defer cancel()
	from, err := openOutput(ctx, s, o)
	if err != nil {
		return cli.Stalled(caller, ctx, err)
	}
	defer func() { _ = from.Close() }() // only read
	if parent := path.Dir(o.Name); parent != "." {
		if err := root.MkdirAll(parent, 0o755); err != nil {
			return core.Errorf(core.Conflict, "its folder cannot be made: %w", err)
		}
	}
	f, err := root.OpenFile(o.Name, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o644)
	switch {
	case errors.Is(err, fs.ErrExist):
		return core.Errorf(core.Conflict, "a file of this name is there already").WithHint("remove it, or give another folder")
	case err != nil:
		return core.Errorf(core.Conflict, "it cannot be written: %w", err)
	}
	err = cli.Stalled(caller, ctx, signed.Copy(f, from, o.SHA256, o.Size))
	if errors.Is(err, signed.ErrOther) {
		err = core.Errorf(core.Internal, "these are not the bytes that the job left: %w", err)
	}
	if err = errors.Join(err, f.Close()); err != nil {
		return errors.Join(err, root.Remove(o.Name))
	}
	return nil
}

func openOutput(ctx context.Context, s *cli.Conn, o task.JobOutput) (io.ReadCloser, error) {
	if s.Blobs != nil { // without a server, there are no links
		return s.Blobs.Open(ctx, s.NS+"/"+o.SHA256)
	}
	link, err := s.OutputLink(ctx, s.NS, o.JobID, o.Name, o.Lease)
	if err != nil {
		return nil, err
	}
	if link, err = signed.At(s.Where, link); err != nil {
		return nil, err
	}
	client, err := s.StoreClient()
	if err != nil {
		return nil, err
	}
	return signed.Open(ctx, client, link)
}

// drawSandboxed shows a program's isolation, resource usage and outputs.
func drawSandboxed(c *cli.CLI, w io.Writer, s *task.Sandboxed) {
	isolation := string(s.Isolation)
	if len(s.Layers) > 0 {
		isolation += " (" + strings.Join(s.Layers, ", ") + ")"
	}
	oom := ""
	if s.OOM {
		oom = "yes: the kernel killed one of its processes"
	}
	var outputs []string
	for _, o := range s.Outputs {
		outputs = append(outputs, o.Name+"  "+core.SizeText(o.Size))
	}
	c.Pairs(w, "artifact", s.SHA256, "isolation", isolation, "missing", strings.Join(s.Missing, "\n"), "network", s.Network,
		"used", usageText(s.Usage), "out of memory", oom, "outputs", strings.Join(outputs, "\n"))
}

func usageText(u task.Usage) string {
	if u == (task.Usage{}) {
		return ""
	}
	return fmt.Sprintf("%s, processor %s in its code and %s in the kernel, memory %s", core.SpanText(u.Wall.D()), core.SpanText(u.User.D()), core.SpanText(u.System.D()), core.SizeText(u.Memory))
}

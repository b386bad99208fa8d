package operate

import (
	"errors"
	"fmt"
	"io"
	"os"

	"github.com/spf13/cobra"

	"github.com/belfry-run/belfry/cmd/belfry/internal/cli"
	"github.com/belfry-run/belfry/core"
	"github.com/belfry-run/belfry/internal/history"
)

// judged is the result of checking a file.
type judged struct {
	File string `json:"file"`
	history.Report
	OK bool `json:"ok"`
}

// CheckHistory is the command check-history.
func CheckHistory(c *cli.CLI) *cobra.Command {
	return &cobra.Command{
		Use: "check-history FILE...", Short: "Check a recorded history against the guarantees", Args: cobra.MinimumNArgs(1),
		Long: `Check what clients of an installation were told, and what handlers saw, against
the guarantees. A history is a file of JSON Lines that a driver records; its
format is in docs/reference/history.md. - is standard input. Nothing is asked of
the server, and each file is checked by itself.

For each job, one order of all operations must explain every answer. Each
nominal time of a schedule must have one occurrence, and the uptime of a monitor
must be that of its target's own log. A broken promise is shown with the lines
that it rests on.

Exits with 1 if a promise is broken, if nothing was checked, or if a job has too
many operations at once to decide; with 2 if a file is not a complete history.`,
		Example: `  belfry check-history history.jsonl
  belfry check-history -o json history.jsonl`,
		RunE: func(_ *cobra.Command, files []string) error {
			if err := c.CheckOutput(); err != nil {
				return err
			}
			var all []judged
			var faults []error
			for _, file := range files {
				h, err := readHistory(c, file)
				if err != nil {
					return err
				}
				r := history.Check(h)
				err = r.Err()
				if err != nil {
					faults = append(faults, fmt.Errorf("%s: %w", file, err))
				}
				all = append(all, judged{file, r, err == nil})
			}
			if err := c.Emit(all, func(w io.Writer) { drawHistories(c, w, all) }); err != nil {
				return err
			}
			if len(faults) > 0 {
				fmt.Fprintln(c.Stderr, errors.Join(faults...))
				return cli.ExitStatus(cli.ExitFailed)
			}
			return nil
		},
	}
}

func readHistory(c *cli.CLI, file string) (*history.History, error) {
	in := c.Stdin
	if file != "-" {
		f, err := os.Open(file)
		if err != nil {
			return nil, core.InvalidField("FILE", file, err.Error(), "name a history, or - for standard input")
		}
		defer f.Close() //nolint:errcheck // it was only read
		if info, err := f.Stat(); err == nil && info.IsDir() {
			return nil, core.InvalidField("FILE", file, "is a folder", "name a history, or - for standard input")
		}
		in = f
	}
	h, err := history.Read(in)
	var e *core.Error
	if errors.As(err, &e) {
		e.Message = file + ": " + e.Message
		return nil, e
	}
	return h, err
}

func drawHistories(c *cli.CLI, w io.Writer, all []judged) {
	paint := c.Painter()
	for _, j := range all {
		n := j.Counts
		fmt.Fprintf(w, "%s: %s\n", j.File, j.Source)
		fmt.Fprintf(w, "      %d jobs, %d operations (%d failed, %d unknown), %d executions\n", n.Jobs, n.Operations, n.Failed, n.Unknown, n.Executions)
		fmt.Fprintf(w, "      %d schedules with %d nominal times, %d occurrences, %d monitors\n", n.Schedules, n.Nominal, n.Occurrences, n.Monitors)
		for _, v := range j.Violations {
			fmt.Fprintf(w, "%s  %s: %s\n", paint(cli.StyleBad, "FAIL"), v.Promise, v)
		}
		if n.Undecided > 0 {
			fmt.Fprintf(w, "%s  %d jobs are undecided\n", paint(cli.StyleWarn, "note"), n.Undecided)
		}
		if j.OK {
			fmt.Fprintf(w, "%s  every promise is kept\n", paint(cli.StyleGood, "ok  "))
		}
	}
}

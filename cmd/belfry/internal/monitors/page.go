package monitors

import (
	"context"
	"fmt"
	"io"
	"strconv"
	"strings"

	"github.com/spf13/cobra"

	"github.com/belfry-run/belfry/cmd/belfry/internal/cli"
	"github.com/belfry-run/belfry/core"
	"github.com/belfry-run/belfry/httpapi/wire"
	"github.com/belfry-run/belfry/internal/textdiff"
	"github.com/belfry-run/belfry/monitor"
	"github.com/belfry-run/belfry/view"
)

// versionHelp explains the names of versions of a page.
const versionHelp = "VERSION is a number as the list shows it, newest, or baseline for what later ones are compared with."

// versionOf reads the name of a version.
func versionOf(text string) (int64, error) {
	switch text {
	case "newest":
		return 0, nil
	case "baseline":
		return -1, nil
	}
	n, err := strconv.ParseInt(text, 10, 64)
	if err != nil || n < 1 {
		return 0, core.InvalidField("VERSION", text, "is not a version", "a number as belfry monitor versions shows it, newest, or baseline")
	}
	return n, nil
}

func monitorVersions(c *cli.CLI) *cobra.Command {
	cmd := &cobra.Command{Use: "versions NAME", Short: "List what a page was like, newest first", Args: cobra.ExactArgs(1)}
	limit := cli.LimitFlag(cmd)
	cmd.RunE = c.Verb(func(ctx context.Context, s *cli.Conn, _ *cobra.Command, args []string) error {
		ns, err := s.OneNamespace()
		if err != nil {
			return err
		}
		p, err := cli.AllPages(*limit, func(pg core.Paging) (core.Page[monitor.PageVersion], error) {
			return s.PageVersions(ctx, view.VersionFilter{Paging: pg, Namespace: ns, Monitor: args[0]})
		})
		if err != nil {
			return err
		}
		defer c.More(p.Next, len(p.Items))
		return c.Emit(p, func(w io.Writer) {
			if len(p.Items) == 0 {
				fmt.Fprintln(c.Stderr, "no versions; they begin with the first check that sees the page")
				return
			}
			g := c.Grid("VERSION", "SEEN", "CHANGE", "BYTES", "NOTE")
			for _, v := range p.Items {
				g.Row(strconv.FormatInt(v.Seq, 10), cli.Stamp(v.At), string(v.Change), strconv.Itoa(v.Size), versionNote(v))
			}
			g.Write(w)
		})
	})
	return cmd
}

func versionNote(v monitor.PageVersion) string {
	var notes []string
	if v.Baseline {
		notes = append(notes, "baseline")
	}
	if v.AcceptedBy != "" {
		notes = append(notes, "accepted by "+v.AcceptedBy)
	}
	if v.Pruned {
		notes = append(notes, "its text is no longer kept")
	}
	return strings.Join(notes, ", ")
}

func monitorVersion(c *cli.CLI) *cobra.Command {
	return &cobra.Command{
		Use: "version NAME [VERSION]", Short: "Write the text of a version of a page; default: the newest", Args: cobra.RangeArgs(1, 2),
		Long: "Write the text of a version of a page. " + versionHelp + "\nDefault: newest.",
		RunE: c.Verb(func(ctx context.Context, s *cli.Conn, _ *cobra.Command, args []string) error {
			v, err := version(ctx, s, args[0], append(args[1:], "newest")[0])
			if err != nil {
				return err
			}
			return c.Emit(v, func(w io.Writer) { fmt.Fprintln(w, strings.TrimSuffix(v.Text, "\n")) })
		}),
	}
}

// version returns one version of a page, with its text.
func version(ctx context.Context, s *cli.Conn, m, name string) (monitor.PageVersion, error) {
	ns, err := s.OneNamespace()
	if err != nil {
		return monitor.PageVersion{}, err
	}
	seq, err := versionOf(name)
	if err != nil {
		return monitor.PageVersion{}, err
	}
	v, err := s.PageVersion(ctx, ns, m, seq)
	if err == nil && v.Pruned {
		err = core.Errorf(core.Conflict, "the text of version %d is no longer kept", v.Seq).WithHint("belfry monitor versions %s", m)
	}
	return v, err
}

func monitorDiff(c *cli.CLI) *cobra.Command {
	var exitCode bool
	cmd := &cobra.Command{
		Use: "diff NAME [FROM [TO]]", Short: "Show how one version of a page became another", Args: cobra.RangeArgs(1, 3),
		Long: `Show how one version of a page became another. Without FROM, the newest is
compared with the baseline or, where that is the newest itself, with the version
before it. ` + versionHelp,
		Example: `  belfry monitor diff prices
  belfry monitor diff prices 3 newest`,
		RunE: c.Verb(func(ctx context.Context, s *cli.Conn, _ *cobra.Command, args []string) error {
			d, err := pageDiff(ctx, s, args[0], args[1:])
			if err != nil {
				return err
			}
			if err := c.Emit(d, func(w io.Writer) { drawPageDiff(c, w, d) }); err != nil {
				return err
			}
			if exitCode && d.Added+d.Removed > 0 {
				return cli.ExitStatus(cli.ExitFailed)
			}
			return nil
		}),
	}
	cmd.Flags().BoolVar(&exitCode, "exit-code", false, "exit 1 when there is a difference")
	return cmd
}

// pageDiff compares two versions in this process, so that the result is the same
// with and without a server.
func pageDiff(ctx context.Context, s *cli.Conn, monitor string, names []string) (d wire.PageDiff, err error) {
	from, to := "baseline", "newest"
	if len(names) > 1 {
		to = names[1]
	}
	if d.To, err = version(ctx, s, monitor, to); err != nil {
		return d, err
	}
	switch {
	case len(names) > 0:
		from = names[0]
	case d.To.Baseline && d.To.Seq > 1:
		from = strconv.FormatInt(d.To.Seq-1, 10)
	}
	if d.From, err = version(ctx, s, monitor, from); err != nil {
		return d, err
	}
	d.Result = textdiff.Diff(d.From.Text, d.To.Text, textdiff.Options{})
	d.From.Text, d.To.Text = "", ""
	return d, nil
}

func drawPageDiff(c *cli.CLI, w io.Writer, d wire.PageDiff) {
	if d.From.Seq == 1 && d.To.Seq == 1 {
		fmt.Fprintf(c.Stderr, "version 1 was first seen at %s; with no other there is nothing to compare\n", cli.Stamp(d.To.At))
		return
	}
	if d.Added+d.Removed == 0 {
		fmt.Fprintf(c.Stderr, "versions %d and %d have the same text\n", d.From.Seq, d.To.Seq)
		return
	}
	paint := c.Painter()
	fmt.Fprintf(w, "%s\n%s\n", paint(cli.StyleBad, fmt.Sprintf("--- version %d, %s", d.From.Seq, cli.Stamp(d.From.At))),
		paint(cli.StyleGood, fmt.Sprintf("+++ version %d, %s", d.To.Seq, cli.Stamp(d.To.At))))
	for line := range strings.Lines(d.Unified(0)) {
		line = strings.TrimSuffix(line, "\n")
		switch line[:1] {
		case "+":
			line = paint(cli.StyleGood, line)
		case "-":
			line = paint(cli.StyleBad, line)
		case "@":
			line = paint(cli.StyleDim, line)
		}
		fmt.Fprintln(w, line)
	}
}

func monitorAccept(c *cli.CLI) *cobra.Command {
	return &cobra.Command{
		Use: "accept NAME [VERSION]", Short: "Make a version of a page the baseline that later ones are compared with; default: the newest", Args: cobra.RangeArgs(1, 2),
		Long: "Make a version of a page the baseline that later ones are compared with. " + versionHelp + "\nDefault: newest.",
		RunE: c.Verb(func(ctx context.Context, s *cli.Conn, _ *cobra.Command, args []string) error {
			ns, err := s.OneNamespace()
			if err != nil {
				return err
			}
			seq, err := versionOf(append(args[1:], "newest")[0])
			if err != nil {
				return err
			}
			v, err := s.AcceptPage(ctx, ns, args[0], seq)
			if err != nil {
				return err
			}
			return c.Emit(v, func(w io.Writer) { fmt.Fprintf(w, "version %d of %s is the baseline\n", v.Seq, args[0]) })
		}),
	}
}

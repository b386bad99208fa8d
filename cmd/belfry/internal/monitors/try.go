package monitors

import (
	"cmp"
	"context"
	"fmt"
	"io"
	"time"

	"github.com/spf13/cobra"

	"github.com/belfry-run/belfry/app"
	"github.com/belfry-run/belfry/app/httpapi"
	"github.com/belfry-run/belfry/cmd/belfry/internal/cli"
	"github.com/belfry-run/belfry/core"
	"github.com/belfry-run/belfry/httpapi/wire"
	"github.com/belfry-run/belfry/task"
)

// tryFlags select the check to try: that of a monitor, one from flags alone, or a
// monitor's with changes from flags.
type tryFlags struct {
	checkFlags
	file string
}

func (f *tryFlags) add(cmd *cobra.Command) {
	cmd.Flags().StringVarP(&f.file, "file", "f", "", "try the check of a monitor in a YAML or JSON file; - for standard input")
	f.checkFlags.add(cmd.Flags())
}

// trial builds the trial, and returns its kind. For a monitor without flags, the
// name is enough: the server has its definition and secrets.
func trial(ctx context.Context, c *cli.CLI, s *cli.Conn, cmd *cobra.Command, f *tryFlags, args []string) (t wire.Trial, kind task.Kind, err error) {
	if t.Namespace, err = s.OneNamespace(); err != nil {
		return t, "", err
	}
	var m monitorFile
	if len(args) > 0 {
		v, err := s.Monitor(ctx, t.Namespace, args[0])
		if err != nil {
			return t, "", err
		}
		t.Monitor, m.Monitor = v.Name, v.Monitor
	}
	before := kindOf(m.Monitor)
	if f.file != "" {
		m = monitorFile{}
		if err := c.Definition(f.file, "monitor", &m); err != nil {
			return t, "", err
		}
	}
	if err := f.applyCheck(c, cmd.Flags(), &m.Monitor); err != nil {
		return t, "", err
	}
	kind = kindOf(m.Monitor)
	switch {
	case m.Heartbeat != nil && t.Monitor != "":
		return t, kind, core.Errorf(core.Conflict, "monitor %q is a heartbeat: it waits to be called", t.Monitor).WithHint("call its URL, see: belfry monitor show %s", t.Monitor)
	case m.Heartbeat != nil:
		return t, kind, core.InvalidField("--heartbeat", "", "cannot be tried", "it waits to be called")
	case t.Monitor != "" && f.file == "" && !f.changed(cmd.Flags().Changed):
		return t, kind, nil
	case kind != before:
		t.Monitor = "" // another kind uses nothing of the monitor's check
	}
	t.Check = &m.Check
	return t, kind, nil
}

// trier runs a check at the server.
type trier interface {
	Try(ctx context.Context, t wire.Trial) (wire.Tried, error)
}

// try runs a check at the server, or in this process without a server.
func try(ctx context.Context, c *cli.CLI, s *cli.Conn, t wire.Trial) (wire.Tried, error) {
	if server, is := s.Service.(trier); is {
		return server.Try(ctx, t)
	}
	var task task.Task
	if t.Monitor != "" {
		keeper, is := s.Service.(httpapi.Secrets)
		if !is {
			return wire.Tried{}, core.Errorf(core.Internal, "the secrets of monitors cannot be read here")
		}
		var err error
		if task, err = keeper.CheckOf(ctx, t.Namespace, t.Monitor); err != nil {
			return wire.Tried{}, err
		}
	}
	task, err := t.Task(task)
	if err != nil {
		return wire.Tried{}, err
	}
	return tryHere(ctx, c, task)
}

func tryHere(ctx context.Context, c *cli.CLI, t task.Task) (out wire.Tried, err error) {
	checks, err := app.NewChecks(c.Loaded.Config, c.Version)
	if err != nil {
		return out, err
	}
	defer checks.Close()
	out.Started = core.Micro(time.Now())
	if t.Kind != task.KindPage {
		out.CheckResult, err = checks.Try(ctx, t)
		return out, err
	}
	out.PagePreview, err = checks.Preview(ctx, t)
	return out, err
}

const tryHelp = `With a server, one of its nodes looks; without one, this process does, within
the allow_addresses of its configuration.`

func monitorTry(c *cli.CLI) *cobra.Command {
	var f tryFlags
	cmd := &cobra.Command{
		Use: "try NAME|--url URL|--tcp HOST:PORT|... [flags]", Short: "Check a target once and show the result; nothing is kept, no notification is sent", Args: cobra.MaximumNArgs(1),
		Long: `Look at a target once, and say what is seen: the outcome, how long each part took,
and what each condition came to. Nothing is kept, and no notification is sent. A NAME
tries the check of a monitor; flags beside it try an edit of that.

` + tryHelp + `

The exit code is 0 when the target is ok or degraded, and 1 when it failed or
could not be looked at.`,
		Example: `  belfry monitor try --url https://example.com --condition 'status == 200' --warning "latency < duration('300ms')"
  belfry monitor try --tls example.com --warn-days 30
  belfry monitor try site --timeout 2s`,
		RunE: c.Verb(func(ctx context.Context, s *cli.Conn, cmd *cobra.Command, args []string) error {
			t, _, err := trial(ctx, c, s, cmd, &f, args)
			if err != nil {
				return err
			}
			seen, err := try(ctx, c, s, t)
			if err != nil {
				return err
			}
			if err := c.Emit(seen, func(w io.Writer) { drawResult(c, w, seen.CheckResult, s.Now) }); err != nil {
				return err
			}
			return outcomeStatus(seen.Outcome)
		}),
	}
	f.add(cmd)
	return cmd
}

// outcomeStatus returns the exit status for the outcome of a check.
func outcomeStatus(o task.CheckOutcome) error {
	if o == task.CheckOK || o == task.CheckDegraded {
		return nil
	}
	return cli.ExitStatus(cli.ExitFailed)
}

// drawResult shows the result of a check.
func drawResult(c *cli.CLI, w io.Writer, m task.CheckResult, now time.Time) {
	paint := c.Painter()
	fmt.Fprint(w, paint(cli.StateStyle(string(m.Outcome)), string(m.Outcome)))
	if m.Latency > 0 {
		fmt.Fprintf(w, " in %s", core.SpanText(m.Latency.D()))
	}
	if m.Status > 0 {
		fmt.Fprintf(w, ", status %d", m.Status)
	}
	if m.IP != "" {
		fmt.Fprintf(w, ", from %s", m.IP)
	}
	fmt.Fprintln(w)
	if problem := fault(m.Code, m.Message); problem != "" {
		fmt.Fprintf(w, "      %s\n", problem)
	}
	if m.Starved {
		fmt.Fprintln(w, "      the worker had little time to look: the latency is not the target's alone")
	}
	drawConditions(c, w, m.Conditions)
	c.Pairs(w, phasePairs(m.Phases)...)
	c.Pairs(w, "certificate", ends(m.CertEnd, now))
	if len(m.Hops) > 1 {
		g := c.Grid("STATUS", "DURATION", "URL")
		for _, h := range m.Hops {
			g.Row(fmt.Sprint(h.Status), core.SpanText(h.Took.D()), cli.Clip(h.URL, 100))
		}
		g.Write(w)
	}
}

// drawConditions shows the result of each condition, with the marks of doctor.
func drawConditions(c *cli.CLI, w io.Writer, list []task.ConditionResult) {
	paint := c.Painter()
	for _, r := range list {
		mark := paint(cli.StyleGood, "ok  ")
		switch {
		case r.Holds:
		case r.Warning:
			mark = paint(cli.StyleWarn, "note")
		default:
			mark = paint(cli.StyleBad, "FAIL")
		}
		fmt.Fprintf(w, "%s  %s\n", mark, r.Text)
		if detail := cmp.Or(r.Error, r.Value); detail != "" {
			fmt.Fprintf(w, "      %s\n", detail)
		}
	}
}

func phasePairs(p task.Phases) (pairs []string) {
	for _, part := range []struct {
		name string
		d    core.Duration
	}{{"dns", p.DNS}, {"connect", p.Connect}, {"tls", p.TLS}, {"first byte", p.FirstByte}, {"transfer", p.Transfer}} {
		if part.d > 0 {
			pairs = append(pairs, part.name, core.SpanText(part.d.D()))
		}
	}
	return pairs
}

func monitorPreview(c *cli.CLI) *cobra.Command {
	var f tryFlags
	cmd := &cobra.Command{
		Use: "preview NAME|--page URL [flags]", Short: "Show what the selector of a page finds now; nothing is kept", Args: cobra.MaximumNArgs(1),
		Long: `Show what the selector of a page finds now, and the text as it would be compared.
Nothing is kept. A NAME previews the page of a monitor; flags beside it preview
an edit of that.

` + tryHelp,
		Example: `  belfry monitor preview --page https://example.com/prices --css '#list li' --ignore-css .ad
  belfry monitor preview prices --css '#list b'`,
		RunE: c.Verb(func(ctx context.Context, s *cli.Conn, cmd *cobra.Command, args []string) error {
			t, kind, err := trial(ctx, c, s, cmd, &f, args)
			if err != nil {
				return err
			}
			if kind != task.KindPage {
				return core.InvalidField("--page", "", "is missing, and this is of kind "+string(kind), "only pages can be previewed; for the others: belfry monitor try")
			}
			seen, err := try(ctx, c, s, t)
			if err != nil {
				return err
			}
			if err := c.Emit(seen, func(w io.Writer) { drawPreview(c, w, seen) }); err != nil {
				return err
			}
			return outcomeStatus(seen.Outcome)
		}),
	}
	f.add(cmd)
	return cmd
}

func drawPreview(c *cli.CLI, w io.Writer, seen wire.Tried) {
	paint := c.Painter()
	fmt.Fprintf(w, "%s in %s\n", paint(cli.StateStyle(string(seen.Outcome)), string(seen.Outcome)), core.SpanText(seen.Latency.D()))
	if problem := fault(seen.Code, seen.Message); problem != "" {
		fmt.Fprintf(w, "      %s\n", problem)
	}
	if seen.Page == nil {
		return
	}
	if len(seen.First) > 0 {
		fmt.Fprintf(w, "%s\n", paint(cli.StyleDim, fmt.Sprintf("the selector finds %d:", seen.Page.Matches)))
		for i, text := range seen.First {
			fmt.Fprintf(w, "%4d  %s\n", i+1, cli.Clip(text, 100))
		}
	}
	for _, r := range seen.Removed {
		fmt.Fprintf(w, "%s %s takes out %d\n", r.Rule, r.Text, r.Count)
	}
	fmt.Fprintf(w, "%s\n%s\n", paint(cli.StyleDim, "compared is:"), seen.Page.Text)
	if seen.Page.Cut {
		fmt.Fprintln(c.Stderr, "the text is longer than what is kept and compared")
	}
}

package monitors

import (
	"context"
	"errors"
	"fmt"
	"io"
	"math"
	"strconv"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/belfry-run/belfry/cmd/belfry/internal/cli"
	"github.com/belfry-run/belfry/cmd/belfry/internal/wait"
	"github.com/belfry-run/belfry/core"
	"github.com/belfry-run/belfry/job"
	"github.com/belfry-run/belfry/monitor"
	"github.com/belfry-run/belfry/task"
	"github.com/belfry-run/belfry/view"
)

func monitorCheck(c *cli.CLI) *cobra.Command {
	var w wait.Flags
	cmd := &cobra.Command{
		Use: "check NAME", Short: "Check a monitor now, beside its plan", Args: cobra.ExactArgs(1),
		Long: `Check a monitor now, beside its plan. The result counts as every other. With
--wait the exit code is 0 when the target is ok or degraded, and 1 when not.`,
		RunE: c.Verb(func(ctx context.Context, s *cli.Conn, _ *cobra.Command, args []string) error {
			ns, err := s.OneNamespace()
			if err != nil {
				return err
			}
			j, err := s.CheckMonitor(ctx, ns, args[0])
			if err != nil {
				return err
			}
			if !w.Wait {
				return c.Emit(j, func(w io.Writer) {
					fmt.Fprintf(w, "check of %s asked for, job %d\n", args[0], j.ID)
					fmt.Fprintf(c.Stderr, "try: belfry monitor results %s\n", args[0])
				})
			}
			return awaitCheck(ctx, c, s, args[0], j, w.Timeout)
		}),
	}
	cmd.Flags().BoolVar(&w.Wait, "wait", false, "wait for the result, and show it")
	cmd.Flags().Var(&w.Timeout, "wait-timeout", "give up waiting after this long; the check goes on")
	return cmd
}

// awaitCheck shows the result of a check at its end. A check that could not run
// has no result, and its job has the reason.
func awaitCheck(ctx context.Context, c *cli.CLI, s *cli.Conn, monitor string, j job.Job, timeout wait.Time) error {
	ctx, stop := wait.Patience(ctx, c, s, timeout)
	defer stop()
	for pace := 50 * time.Millisecond; ; pace = min(2*pace, time.Second) {
		job, err := s.Job(ctx, j.Namespace, j.ID)
		gone := core.CodeOf(err) == core.NotFound
		if err != nil && !gone && ctx.Err() == nil {
			return err
		}
		// Read after the job, because the result is written with the end of the job.
		r, found, err := resultOf(ctx, s, monitor, j)
		switch {
		case ctx.Err() != nil && timeout != 0:
			return core.Errorf(core.Unavailable, "the check has not ended after %s", core.Duration(timeout)).WithHint("belfry job why %d", j.ID)
		case err != nil:
			return err
		case found:
			if err := c.Emit(r, func(w io.Writer) { drawResult(c, w, checkOf(r), s.Now) }); err != nil {
				return err
			}
			return outcomeStatus(r.Outcome)
		case gone:
			return core.Errorf(core.NotFound, "the check was withdrawn").WithHint("belfry monitor show %s", monitor)
		case job.State.Final():
			if err := c.Emit(job, func(w io.Writer) { wait.DrawEnd(c, w, job) }); err != nil {
				return err
			}
			return cli.ExitStatus(cli.ExitFailed)
		}
		_ = wait.Sleep(ctx, pace) // a good check creates no event to wait for; the loop checks ctx
	}
}

// resultOf returns the result of one check, if it exists.
func resultOf(ctx context.Context, s *cli.Conn, monitor string, j job.Job) (view.MonitorResult, bool, error) {
	p, err := s.Results(ctx, view.ResultFilter{Paging: core.Paging{Limit: 20}, Namespace: j.Namespace, Monitor: monitor})
	for _, r := range p.Items {
		if r.JobID == j.ID {
			return r, true, err
		}
	}
	return view.MonitorResult{}, false, err
}

// checkOf returns the check result that a stored result holds.
func checkOf(r view.MonitorResult) task.CheckResult {
	return task.CheckResult{
		Outcome: r.Outcome, Code: r.Code, Message: r.Message, Latency: r.Latency, Phases: r.Phases, Hops: r.Hops, IP: r.IP,
		Status: r.Status, Conditions: r.Conditions, Starved: r.Starved,
	}
}

func monitorResults(c *cli.CLI) *cobra.Command {
	var outcome, since, until string
	cmd := &cobra.Command{Use: "results NAME", Aliases: []string{"history"}, Short: "List the checks of a monitor, newest first", Args: cobra.ExactArgs(1)}
	limit := cli.LimitFlag(cmd)
	cmd.Flags().StringVar(&outcome, "outcome", "", "only ok, degraded, fail or error")
	cmd.Flags().StringVar(&since, "since", "", "only at or after this time, or so long ago, such as 2h")
	cmd.Flags().StringVar(&until, "until", "", "only before this time, or so long ago")
	cmd.RunE = c.Verb(func(ctx context.Context, s *cli.Conn, _ *cobra.Command, args []string) error {
		if err := cli.Choice("--outcome", task.CheckOutcome(outcome), task.CheckOK, task.CheckDegraded, task.CheckFail, task.CheckError); err != nil {
			return err
		}
		f := view.ResultFilter{Monitor: args[0], Outcome: task.CheckOutcome(outcome)}
		var err error
		if f.Namespace, err = s.OneNamespace(); err != nil {
			return err
		}
		if err := errors.Join(cli.Before(s.Now, "--since", since, &f.Since), cli.Before(s.Now, "--until", until, &f.Until)); err != nil {
			return err
		}
		p, err := cli.AllPages(*limit, func(pg core.Paging) (core.Page[view.MonitorResult], error) {
			f.Paging = pg
			return s.Results(ctx, f)
		})
		if err != nil {
			return err
		}
		defer c.More(p.Next, len(p.Items))
		return c.Emit(p, func(w io.Writer) {
			if len(p.Items) == 0 {
				fmt.Fprintln(c.Stderr, "no results; single ones are kept for a while only, see: belfry monitor uptime "+args[0])
				return
			}
			g := c.Grid("AT", "OUTCOME", "LATENCY", "STATUS", "JOB", "NOTE")
			for _, r := range p.Items {
				status, job := "", ""
				if r.Status > 0 {
					status = strconv.Itoa(r.Status)
				}
				if r.JobID > 0 {
					job = strconv.FormatInt(r.JobID, 10)
				}
				g.Row(cli.Stamp(r.At), g.State(string(r.Outcome)), latency(r.Latency), status, job, cli.Clip(fault(r.Code, r.Message), 80))
			}
			g.Write(w)
		})
	})
	return cmd
}

func monitorUptime(c *cli.CLI) *cobra.Command {
	return &cobra.Command{
		Use: "uptime NAME", Short: "Show how much of the last day, week, month and year a target was up", Args: cobra.ExactArgs(1),
		Long: `Show how much of the last day, week, month and year a target was up, and how
quick it was. Only times in which it was looked at count, less maintenance and
pauses; the coverage is how much of the time was looked at.`,
		RunE: c.Verb(func(ctx context.Context, s *cli.Conn, _ *cobra.Command, args []string) error {
			ns, err := s.OneNamespace()
			if err != nil {
				return err
			}
			report, err := s.Uptime(ctx, ns, args[0])
			if err != nil {
				return err
			}
			return c.Emit(report, func(w io.Writer) { drawUptime(c, w, report.Spans) })
		}),
	}
}

func drawUptime(c *cli.CLI, w io.Writer, spans []view.UptimeWindow) {
	g := c.Grid("LAST", "UPTIME", "COVERAGE", "DOWN", "OUTAGES", "P50", "P95", "P99")
	for _, u := range spans {
		down := ""
		if u.Down > 0 {
			down = core.SpanText(u.Down.D())
		}
		ratio := "-"
		if u.Ratio != nil {
			ratio = percent(*u.Ratio)
		}
		g.Row(u.Name, ratio, percent(u.Coverage), down, strconv.Itoa(u.Outages), latency(u.P50), latency(u.P95), latency(u.P99))
	}
	g.Write(w)
}

// percent formats a ratio. It never rounds up to 100%, nor down to 0%.
func percent(ratio float64) string {
	p := math.Floor(ratio*1e5+1e-6) / 1e3
	if p == 0 && ratio > 0 {
		return "<0.001%"
	}
	if ratio < 1 {
		p = min(p, 99.999)
	}
	return strings.TrimSuffix(strings.TrimRight(fmt.Sprintf("%.3f", p), "0"), ".") + "%"
}

func monitorTimeline(c *cli.CLI) *cobra.Command {
	var since string
	cmd := &cobra.Command{
		Use: "timeline NAME", Short: "Show when a target was up, down, in maintenance or not looked at", Args: cobra.ExactArgs(1),
		RunE: c.Verb(func(ctx context.Context, s *cli.Conn, _ *cobra.Command, args []string) error {
			ns, err := s.OneNamespace()
			if err != nil {
				return err
			}
			var from time.Time
			if err := cli.Before(s.Now, "--since", since, &from); err != nil {
				return err
			}
			spans, err := s.Timeline(ctx, ns, args[0], from)
			if err != nil {
				return err
			}
			return c.Emit(core.Page[monitor.Span]{Items: spans}, func(w io.Writer) { drawTimeline(c, w, spans, s.Now) })
		}),
	}
	cmd.Flags().StringVar(&since, "since", "7d", "from this time on, or so long ago; empty: all that is known")
	return cmd
}

func drawTimeline(c *cli.CLI, w io.Writer, spans []monitor.Span, now time.Time) {
	if len(spans) == 0 {
		fmt.Fprintln(c.Stderr, "nothing is known of that time")
		return
	}
	g := c.Grid("FROM", "STATE", "FOR", "CAUSE")
	for i, sp := range spans {
		end := now
		if i+1 < len(spans) {
			end = spans[i+1].From
		}
		g.Row(cli.Stamp(sp.From), g.State(string(sp.State)), core.SpanText(end.Sub(sp.From)), string(sp.Cause))
	}
	g.Write(w)
}

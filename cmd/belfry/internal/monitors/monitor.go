// Package monitors has the commands monitor, incident, window, status-page,
// announcement and subscriber. Each noun has a file, and each verb a function.
// They talk to the server through package cli, which also prints tables and
// JSON, and know no other package of commands.
package monitors

import (
	"cmp"
	"context"
	"fmt"
	"io"
	"strconv"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/belfry-run/belfry/cmd/belfry/internal/cli"
	"github.com/belfry-run/belfry/cmd/belfry/internal/define"
	"github.com/belfry-run/belfry/core"
	"github.com/belfry-run/belfry/monitor"
	"github.com/belfry-run/belfry/task"
	"github.com/belfry-run/belfry/view"
)

// Monitor is the command monitor.
func Monitor(c *cli.CLI) *cobra.Command {
	return cli.Noun("monitor", "Manage monitors: checks, state, uptime", []string{"monitors"},
		monitorCreate(c), monitorList(c), monitorShow(c), monitorUpdate(c), monitorDelete(c), monitorPause(c), monitorResume(c),
		monitorCheck(c), monitorTry(c), monitorResults(c), monitorUptime(c), monitorTimeline(c),
		monitorPreview(c), monitorVersions(c), monitorVersion(c), monitorDiff(c), monitorAccept(c))
}

func monitorList(c *cli.CLI) *cobra.Command {
	var status, kind, tag, search string
	cmd := &cobra.Command{Use: "list", Aliases: []string{"ls"}, Short: "List monitors and how their targets are", Args: cobra.NoArgs}
	limit := cli.LimitFlag(cmd)
	cmd.Flags().StringVar(&status, "status", "", "only new, up, down or paused ones")
	cmd.Flags().StringVar(&kind, "kind", "", "only this kind")
	cmd.Flags().StringVar(&tag, "tag", "", "only with this tag")
	cmd.Flags().StringVar(&search, "search", "", "only with this in the name or title")
	cmd.RunE = c.Verb(func(ctx context.Context, s *cli.Conn, _ *cobra.Command, _ []string) error {
		if err := cli.Choice("--status", monitor.Status(status), monitor.StatusNew, monitor.StatusUp, monitor.StatusDown, monitor.StatusPaused); err != nil {
			return err
		}
		f := view.MonitorFilter{Namespace: s.NS, Status: monitor.Status(status), Kind: task.Kind(kind), Tag: tag, Search: search}
		p, err := cli.AllPages(*limit, func(pg core.Paging) (core.Page[view.MonitorView], error) {
			f.Paging = pg
			return s.Monitors(ctx, f)
		})
		if err != nil {
			return err
		}
		defer c.More(p.Next, len(p.Items))
		return c.Emit(p, func(w io.Writer) {
			if len(p.Items) == 0 {
				fmt.Fprintln(c.Stderr, "no monitors; try: belfry monitor create site --url https://example.com")
				return
			}
			g := c.Grid("NAME", "?TITLE", "STATUS", "SINCE", "CHECKED", "LATENCY", "TARGET", "NOTE")
			for _, v := range p.Items {
				g.Row(s.Label(v.Namespace, v.Name), cli.Clip(v.Title, 40), g.State(string(v.Status)), cli.Ago(v.State.Since, s.Now), cli.Ago(v.State.LastAt, s.Now),
					latency(v.State.LastLatency), cli.Clip(monitorTarget(v.Monitor), 50), cli.Clip(monitorNote(v), 60))
			}
			g.Write(w)
		})
	})
	return cmd
}

func latency(d core.Duration) string {
	if d == 0 {
		return ""
	}
	return core.SpanText(d.D())
}

// monitorNote returns a note beside the status.
func monitorNote(v view.MonitorView) string {
	notes := signs(v)
	if v.Status == monitor.StatusDown {
		notes = append(notes, fault(v.State.FirstCode, v.State.FirstText))
	}
	return strings.Join(notes, ", ")
}

// signs lists the states of a monitor beside its status.
func signs(v view.MonitorView) (list []string) {
	for _, sign := range []struct {
		is   bool
		name string
	}{
		{v.State.Verdict == monitor.VerdictConfirming, "failing, not confirmed yet"}, {v.State.Verdict == monitor.VerdictRecovering, "passing, not confirmed yet"},
		{v.State.Degraded, "degraded"}, {v.State.Slow, "slow"}, {v.State.Flapping, "flapping"}, {v.State.Stale, "stale"}, {v.State.Unstable, "unstable"},
		{v.State.Maintenance != "", "maintenance " + v.State.Maintenance}, {v.Muted, "muted"},
	} {
		if sign.is {
			list = append(list, sign.name)
		}
	}
	return list
}

// fault returns the code of a fault and its text.
func fault(code task.CheckCode, text string) string {
	return strings.TrimPrefix(strings.TrimSuffix(string(code)+": "+text, ": "), ": ")
}

// monitorTarget returns the target of a monitor in one line.
func monitorTarget(m monitor.Monitor) string {
	if m.Heartbeat != nil {
		return "heartbeat"
	}
	return define.Summary(m.Check)
}

// monitorTimes describes when a monitor is checked.
func monitorTimes(v view.MonitorView, now time.Time) string {
	text := v.Schedule().RuleText()
	switch {
	case v.Heartbeat != nil:
		return text + ", with " + v.Heartbeat.Grace.String() + " of grace"
	case v.NextAt.IsZero():
		return text
	}
	return text + ", next check " + cli.Ago(v.NextAt, now)
}

// shownMonitor is the output of show.
type shownMonitor struct {
	view.MonitorView
	BeatURL string              `json:"beat_url,omitempty"`
	Uptime  []view.UptimeWindow `json:"uptime,omitempty"`
	Outage  *monitor.Incident   `json:"outage,omitempty"`
}

func monitorShow(c *cli.CLI) *cobra.Command {
	return &cobra.Command{
		Use: "show NAME", Aliases: []string{"get"}, Short: "Show a monitor, how its target is and how it was", Args: cobra.ExactArgs(1),
		RunE: c.Verb(func(ctx context.Context, s *cli.Conn, _ *cobra.Command, args []string) error {
			ns, err := s.OneNamespace()
			if err != nil {
				return err
			}
			v, err := s.Monitor(ctx, ns, args[0])
			if err != nil {
				return err
			}
			shown := shownMonitor{MonitorView: v, BeatURL: beatURL(c, s, v)}
			report, err := s.Uptime(ctx, ns, v.Name)
			if err != nil {
				return err
			}
			shown.Uptime = report.Spans
			if v.State.Incident > 0 {
				i, err := s.Incident(ctx, ns, v.State.Incident)
				if err != nil {
					return err
				}
				shown.Outage = &i
			}
			return c.Emit(shown, func(w io.Writer) {
				drawMonitor(c, w, shown, s.Now)
				fmt.Fprintln(w)
				drawUptime(c, w, shown.Uptime)
			})
		}),
	}
}

// beatURL returns the URL to call for a heartbeat.
func beatURL(c *cli.CLI, s *cli.Conn, v view.MonitorView) string {
	if v.Beat == "" {
		return ""
	}
	return c.Address(s, v.Beat)
}

// curl returns the command that calls a heartbeat at the end of a script.
func curl(url string) string {
	return "curl -fsS -m 10 --retry 5 --retry-connrefused -o /dev/null " + url
}

func drawMonitor(c *cli.CLI, w io.Writer, m shownMonitor, now time.Time) {
	paint := c.Painter()
	st := m.State
	status := paint(cli.StateStyle(string(m.Status)), string(m.Status))
	if notes := signs(m.MonitorView); len(notes) > 0 {
		status += " (" + strings.Join(notes, ", ") + ")"
	}
	paused := ""
	if !st.PausedAt.IsZero() {
		paused = fmt.Sprintf("%s by %s: %s", cli.When(st.PausedAt, now), st.PausedBy, cmp.Or(st.PausedReason, "no reason given"))
		if !st.PausedUntil.IsZero() {
			paused += "; goes on " + cli.When(st.PausedUntil, now)
		}
	}
	last := ""
	if !st.LastAt.IsZero() {
		last = strings.TrimSuffix(cli.When(st.LastAt, now)+": "+string(st.LastOutcome)+", "+latency(st.LastLatency), ", ")
		if problem := fault(st.LastCode, st.LastMessage); problem != "" {
			last += "\n" + problem
		}
	}
	unstable := ""
	if st.Unstable {
		unstable = fmt.Sprintf("each of the last %d checks differs from the one before: no change can be confirmed\nmask or ignore what moves: belfry monitor update %s --mask, --ignore or --ignore-css\nor serve one variant to Belfry", st.UnstableRun, m.Name)
	}
	outage := ""
	if m.Outage != nil {
		outage = fmt.Sprintf("%d, since %s\n%s", m.Outage.ID, cli.When(m.Outage.StartedAt, now), fault(m.Outage.Code, m.Outage.Message))
	}
	pairs := []string{
		"name", m.Name, "namespace", m.Namespace, "title", m.Title, "description", m.Description, "tags", strings.Join(m.Tags, ", "),
		"kind", string(m.Kind()), "target", monitorTarget(m.Monitor), "status", status, "since", cli.When(st.Since, now), "paused", paused,
		"last check", last, "unstable", unstable, "outage", outage, "next check", cli.When(m.NextAt, now),
	}
	if m.Heartbeat != nil {
		pairs = append(pairs, "expected", cli.When(st.ExpectAt, now), "grace", m.Heartbeat.Grace.String(), "started", cli.When(st.StartedAt, now))
		if m.BeatURL != "" {
			pairs = append(pairs, "url", m.BeatURL, "call", curl(m.BeatURL))
		}
	} else {
		pairs = append(pairs, "last good", cli.When(st.LastGoodAt, now), "certificate", ends(st.CertEnd, now),
			"conditions", strings.Join(m.Check.Conditions, "\n"), "warnings", strings.Join(m.Check.Warnings, "\n"),
			"timeout", m.Check.Timeout.String(), "queue", m.Check.Queue)
	}
	c.Pairs(w, append(pairs, "when", m.Schedule().RuleText(), "zone", m.Zone, "only in", strings.Join(m.Within, ", "), "not in", strings.Join(m.Blackout, ", "),
		"down after", threshold(m.Confirm.Failures, "failure", m.Confirm.For), "up after", threshold(m.Recover.Passes, "good check", m.Recover.For),
		"depends on", strings.Join(m.DependsOn, ", "), "public", yes(m.Public), "muted", yes(m.Muted),
		"generation", strconv.FormatInt(m.Generation, 10), "created", cli.Stamp(m.CreatedAt), "updated", cli.Stamp(m.UpdatedAt))...)
}

func yes(is bool) string {
	if is {
		return "yes"
	}
	return ""
}

// ends describes when a certificate expires.
func ends(t, now time.Time) string {
	if t.IsZero() {
		return ""
	}
	return "ends " + cli.When(t, now)
}

// threshold describes when a verdict changes.
func threshold(n int, of string, span core.Duration) string {
	if n != 1 {
		of += "s"
	}
	switch {
	case n > 0 && span > 0:
		return fmt.Sprintf("%d %s and %s", n, of, span)
	case span > 0:
		return span.String()
	}
	return fmt.Sprintf("%d %s", n, of)
}

func monitorDelete(c *cli.CLI) *cobra.Command {
	return &cobra.Command{
		Use: "delete NAME...", Aliases: []string{"rm"}, Short: "Delete monitors and all that was seen but their incidents", Args: cobra.MinimumNArgs(1),
		RunE: c.Verb(func(ctx context.Context, s *cli.Conn, _ *cobra.Command, args []string) error {
			return c.Each(s, args, "deleted", func(ns, name string) error { return s.DeleteMonitor(ctx, ns, name) })
		}),
	}
}

func monitorPause(c *cli.CLI) *cobra.Command {
	var long, until, zone, reason string
	cmd := &cobra.Command{
		Use: "pause NAME...", Short: "Pause monitors, for a time or until they are resumed", Args: cobra.MinimumNArgs(1),
		Example: `  belfry monitor pause site --for 2h --reason 'moving house'
  belfry monitor pause site --until '2026-12-24 18:00' --zone Europe/Sofia`,
		RunE: c.Verb(func(ctx context.Context, s *cli.Conn, cmd *cobra.Command, args []string) error {
			given := cmd.Flags().Changed
			var end time.Time
			var d core.Duration
			if given("for") && given("until") {
				return core.InvalidField("--for", long, "cannot stand beside --until", "keep one of them")
			}
			if err := cli.Duration(given, "for", long, &d); err != nil {
				return err
			}
			if given("for") {
				if d <= 0 {
					return core.InvalidField("--for", long, "is not a time to come", "such as 2h")
				}
				end = s.Now.Add(d.D())
			}
			if err := cli.Instant(given("until"), "--until", until, zone, &end); err != nil {
				return err
			}
			done := "paused"
			if !end.IsZero() {
				done += " until " + cli.When(end, s.Now)
			}
			return c.Each(s, args, done, func(ns, name string) error {
				_, err := s.PauseMonitor(ctx, ns, name, end, reason)
				return err
			})
		}),
	}
	cmd.Flags().StringVar(&long, "for", "", "go on by itself after this long")
	cmd.Flags().StringVar(&until, "until", "", "go on by itself at this time")
	cmd.Flags().StringVar(&zone, "zone", "", "time zone of --until; default: UTC")
	cmd.Flags().StringVar(&reason, "reason", "", "reason, shown beside the state")
	return cmd
}

func monitorResume(c *cli.CLI) *cobra.Command {
	return &cobra.Command{
		Use: "resume NAME...", Short: "Resume paused monitors", Args: cobra.MinimumNArgs(1),
		RunE: c.Verb(func(ctx context.Context, s *cli.Conn, _ *cobra.Command, args []string) error {
			return c.Each(s, args, "resumed", func(ns, name string) error {
				_, err := s.ResumeMonitor(ctx, ns, name)
				return err
			})
		}),
	}
}

// Package schedules has the commands schedule, calendar and backfill. Each noun
// has a file, and each verb a function. They talk to the server through package
// cli, which also prints tables and JSON, and know no other package of commands.
package schedules

import (
	"context"
	"fmt"
	"io"
	"strconv"
	"strings"
	"time"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/belfry-run/belfry/cmd/belfry/internal/cli"
	"github.com/belfry-run/belfry/cmd/belfry/internal/define"
	"github.com/belfry-run/belfry/cmd/belfry/internal/wait"
	"github.com/belfry-run/belfry/core"
	"github.com/belfry-run/belfry/cron"
	"github.com/belfry-run/belfry/internal/plainjson"
	"github.com/belfry-run/belfry/job"
	"github.com/belfry-run/belfry/schedule"
)

// Schedule is the command schedule, without the verbs of package definitions.
func Schedule(c *cli.CLI) *cobra.Command {
	return cli.Noun("schedule", "Manage schedules: create, pause, preview", []string{"schedules"},
		scheduleCreate(c), scheduleList(c), scheduleShow(c), scheduleUpdate(c), scheduleDelete(c),
		schedulePause(c), scheduleResume(c), scheduleTrigger(c), scheduleOccurrences(c),
		scheduleNext(c), scheduleExplain(c), scheduleDiff(c), scheduleUpcoming(c), scheduleForecast(c))
}

// scheduleFlags are the fields of a schedule that have a flag.
type scheduleFlags struct {
	define.Times
	file, task, title, description string
	zone, start, end               string
	dstGap, dstFold                string
	maxRuns                        int64
	jitter                         string
	catchup, catchupWindow         string
	catchupMax, bufferMax          int
	overlap, input                 string
	blackout, within               []string
	onBlackout                     string
}

func (f *scheduleFlags) add(fs *pflag.FlagSet) {
	fs.StringVarP(&f.file, "file", "f", "", "read the whole definition from a YAML or JSON file; - for standard input")
	fs.StringVar(&f.task, "task", "", "task to run")
	fs.StringArrayVar(&f.Cron, "cron", nil, "cron rule, such as '0 3 * * *' or @daily; may be repeated")
	fs.StringArrayVar(&f.Every, "every", nil, "interval, such as 5s or 1h30m")
	fs.BoolVar(&f.AfterFinish, "after-finish", false, "count --every from the end of the run before, instead of from the plan")
	fs.StringArrayVar(&f.At, "at", nil, "single time, such as '2026-12-24 18:00' in --zone, or 2026-12-24T18:00:00+02:00; may be repeated")
	fs.StringArrayVar(&f.RRule, "rrule", nil, "RFC 5545 recurrence with its DTSTART")
	fs.StringVar(&f.zone, "zone", "", "time zone, such as Europe/Sofia; default: UTC")
	fs.StringVar(&f.start, "start", "", "no run before this time")
	fs.StringVar(&f.end, "end", "", "no run after this time")
	fs.Int64Var(&f.maxRuns, "max-runs", 0, "completed after so many; 0: no limit")
	fs.StringVar(&f.jitter, "jitter", "", "spread starts over this span")
	fs.StringVar(&f.catchup, "catchup", "", "which missed runs are made up for: none, latest or all; default: latest")
	fs.StringVar(&f.catchupWindow, "catchup-window", "", "runs missed longer ago are not made up for; default: 1h")
	fs.IntVar(&f.catchupMax, "catchup-max", 0, "most runs made up for at once; default: 100")
	fs.StringVar(&f.overlap, "overlap", "", "when the run before has not ended: skip, buffer_one, buffer_all, cancel_other, terminate_other or allow; default: skip")
	fs.IntVar(&f.bufferMax, "buffer-max", 0, "most waiting runs with buffer_all; default: 100")
	fs.StringVar(&f.dstGap, "dst-gap", "", "a time that a clock change removes: run_after or skip; default: run_after")
	fs.StringVar(&f.dstFold, "dst-fold", "", "a time that a clock change repeats: first, second or both; default: first")
	fs.StringArrayVar(&f.blackout, "blackout", nil, "calendar during which it does not run; may be repeated")
	fs.StringArrayVar(&f.within, "only-within", nil, "run only during this calendar; may be repeated")
	fs.StringVar(&f.onBlackout, "on-blackout", "", "a run that a calendar keeps out: skip, or next_open to move it; default: skip")
	fs.StringVar(&f.input, "input", "", "JSON for its jobs; default: the task's input")
	fs.StringVar(&f.title, "title", "", "what people call it, in any script; the name stays its address")
	fs.StringVar(&f.description, "description", "", "for people")
}

func (f *scheduleFlags) apply(fs *pflag.FlagSet, s *schedule.Schedule) error {
	given := fs.Changed
	cli.Set(given("task"), f.task, &s.Task)
	cli.Set(given("title"), f.title, &s.Title)
	cli.Set(given("description"), f.description, &s.Description)
	cli.Set(given("zone"), f.zone, &s.Zone)
	cli.Set(given("max-runs"), f.maxRuns, &s.MaxRuns)
	cli.Set(given("catchup"), schedule.Catchup(f.catchup), &s.Catchup)
	cli.Set(given("catchup-max"), f.catchupMax, &s.CatchupMax)
	cli.Set(given("overlap"), schedule.Overlap(f.overlap), &s.Overlap)
	cli.Set(given("buffer-max"), f.bufferMax, &s.BufferMax)
	cli.Set(given("blackout"), f.blackout, &s.Blackout)
	cli.Set(given("only-within"), f.within, &s.Within)
	cli.Set(given("on-blackout"), schedule.OnBlackout(f.onBlackout), &s.OnBlackout)
	cli.Set(given("dst-gap"), cron.Gap(f.dstGap), &s.DSTGap)
	cli.Set(given("dst-fold"), cron.Fold(f.dstFold), &s.DSTFold)
	if err := cli.JSONText(given("input"), f.input, &s.Input); err != nil {
		return err
	}
	if err := cli.Duration(given, "jitter", f.jitter, &s.Jitter); err != nil {
		return err
	}
	if err := cli.Duration(given, "catchup-window", f.catchupWindow, &s.CatchupWindow); err != nil {
		return err
	}
	if err := cli.Instant(given("start"), "--start", f.start, s.Zone, &s.Start); err != nil {
		return err
	}
	if err := cli.Instant(given("end"), "--end", f.end, s.Zone, &s.End); err != nil {
		return err
	}
	return f.Times.Apply(given, s)
}

func scheduleFrom(c *cli.CLI, s *cli.Conn, cmd *cobra.Command, f *scheduleFlags, args []string) (schedule.Schedule, error) {
	var sc schedule.Schedule
	if err := c.Draft(s, f.file, "schedule", args, &sc, &sc.Name, &sc.Namespace); err != nil {
		return sc, err
	}
	if sc.Name == "" {
		return sc, core.InvalidField("NAME", "", "is missing", "write: belfry schedule create NAME --task TASK --every 5s")
	}
	return sc, f.apply(cmd.Flags(), &sc)
}

func scheduleCreate(c *cli.CLI) *cobra.Command {
	var f scheduleFlags
	var paused bool
	var reason string
	cmd := &cobra.Command{
		Use: "create NAME --task TASK [--cron RULE | --every INTERVAL | --at TIME]...", Short: "Create a schedule", Args: cobra.MaximumNArgs(1),
		Example: `  belfry schedule create nightly --task backup --cron '0 3 * * *' --zone Europe/Sofia
  belfry schedule create pulse --task ping --every 5s
  belfry schedule create poll --task poll --every 5s --after-finish
  belfry schedule create once --task report --at '2026-12-24 18:00' --zone Europe/Sofia
  belfry schedule create later --task poll --every 5s --after-finish --paused
  belfry schedule create -f schedule.yaml`,
		RunE: c.Verb(func(ctx context.Context, s *cli.Conn, cmd *cobra.Command, args []string) error {
			sc, err := scheduleFrom(c, s, cmd, &f, args)
			if err != nil {
				return err
			}
			if reason != "" && !paused {
				return core.InvalidField("--reason", "", "belongs to --paused", "add --paused")
			}
			if paused {
				sc.State, sc.PausedReason = schedule.Paused, reason
			}
			sc, err = s.CreateSchedule(ctx, sc)
			if err != nil {
				return err
			}
			return c.Emit(sc, func(w io.Writer) {
				fmt.Fprintf(w, "schedule %s created, %s, next run %s\n", sc.Name, sc.RuleText(), nextText(sc, s.Now))
				adviseCatchup(c, sc)
			})
		}),
	}
	f.add(cmd.Flags())
	cmd.Flags().BoolVar(&paused, "paused", false, "create it paused; it runs after: belfry schedule resume NAME")
	cmd.Flags().StringVar(&reason, "reason", "", "why it is paused")
	return cmd
}

// adviseCatchup notes on stderr that not all missed runs are caught up.
func adviseCatchup(c *cli.CLI, s schedule.Schedule) {
	if trap := s.CatchupTrap(); trap != "" {
		fmt.Fprintf(c.Stderr, "note: %s\ntry: belfry schedule update %s --overlap buffer_all\n", trap, s.Name)
	}
}

func nextText(s schedule.Schedule, now time.Time) string {
	switch {
	case s.State != schedule.Active && s.State != "":
		return "none: " + string(s.State)
	case !s.RunsAt().IsZero():
		return cli.InZone(s.RunsAt(), s.Zone) + " (" + cli.Ago(s.RunsAt(), now) + ")"
	case !s.NextAt.IsZero():
		return "none as far as is known: its calendars keep out all times"
	case len(s.Rules) == 0:
		return "when triggered"
	}
	return "after the run that is under way"
}

func scheduleList(c *cli.CLI) *cobra.Command {
	var state, task, tag, part string
	cmd := &cobra.Command{Use: "list", Aliases: []string{"ls"}, Short: "List schedules", Args: cobra.NoArgs}
	limit := cli.LimitFlag(cmd)
	cmd.Flags().StringVar(&state, "state", "", "only active, paused or completed ones")
	cmd.Flags().StringVar(&task, "task", "", "only those of a task")
	cmd.Flags().StringVar(&tag, "tag", "", "only those of tasks with a tag")
	cmd.Flags().StringVar(&part, "part", "", "only those with this in their name")
	cmd.RunE = c.Verb(func(ctx context.Context, s *cli.Conn, _ *cobra.Command, _ []string) error {
		p, err := cli.AllPages(*limit, func(pg core.Paging) (core.Page[schedule.Schedule], error) {
			return s.Schedules(ctx, schedule.Filter{Paging: pg, Namespace: s.NS, State: schedule.State(state), Task: task, Tag: tag, Part: part})
		})
		if err != nil {
			return err
		}
		defer c.More(p.Next, len(p.Items))
		return c.Emit(p, func(w io.Writer) {
			if len(p.Items) == 0 {
				fmt.Fprintln(c.Stderr, "no schedules; try: belfry schedule create NAME --task TASK --every 5s")
				return
			}
			g := c.Grid("NAME", "?TITLE", "TASK", "STATE", "WHEN", "ZONE", "NEXT", "RUNS")
			for _, sc := range p.Items {
				next := ""
				if at := sc.RunsAt(); !at.IsZero() {
					next = cli.Ago(at, s.Now)
				}
				g.Row(s.Label(sc.Namespace, sc.Name), cli.Clip(sc.Title, 40), sc.Task, g.State(string(sc.State)), cli.Clip(sc.RuleText(), 40), sc.Zone, next, strconv.FormatInt(sc.Runs, 10))
			}
			g.Write(w)
		})
	})
	return cmd
}

func scheduleShow(c *cli.CLI) *cobra.Command {
	return &cobra.Command{
		Use: "show NAME", Aliases: []string{"get"}, Short: "Show a schedule", Args: cobra.ExactArgs(1),
		RunE: c.Verb(func(ctx context.Context, s *cli.Conn, _ *cobra.Command, args []string) error {
			ns, err := s.OneNamespace()
			if err != nil {
				return err
			}
			sc, err := s.Schedule(ctx, ns, args[0])
			if err != nil {
				return err
			}
			return c.Emit(sc, func(w io.Writer) { drawSchedule(c, w, sc, s.Now) })
		}),
	}
}

func drawSchedule(c *cli.CLI, w io.Writer, s schedule.Schedule, now time.Time) {
	paused := ""
	if !s.PausedAt.IsZero() {
		paused = fmt.Sprintf("%s by %s: %s", cli.When(s.PausedAt, now), s.PausedBy, s.PausedReason)
	}
	limit := func(n int64) string {
		if n == 0 {
			return ""
		}
		return strconv.FormatInt(n, 10)
	}
	jitter := ""
	if s.Jitter > 0 {
		jitter = s.Jitter.String()
	}
	c.Pairs(w,
		"name", s.Name, "namespace", s.Namespace, "title", s.Title, "description", s.Description, "task", s.Task,
		"when", s.RuleText(), "zone", s.Zone, "state", string(s.State), "paused", paused,
		"next", nextText(s, now), "runs", strconv.FormatInt(s.Runs, 10), "max runs", limit(s.MaxRuns),
		"start", cli.Stamp(s.Start), "end", cli.Stamp(s.End), "jitter", jitter,
		"overlap", string(s.Overlap), "catch-up", fmt.Sprintf("%s, within %s", s.Catchup, s.CatchupWindow),
		"not in", strings.Join(s.Blackout, ", "), "only in", strings.Join(s.Within, ", "), "kept out", string(s.OnBlackout),
		"clock changes", fmt.Sprintf("gap: %s, fold: %s", s.DSTGap, s.DSTFold),
		"input", string(plainjson.Unescape(s.Input)), "generation", strconv.FormatInt(s.Generation, 10),
		"created", cli.Stamp(s.CreatedAt), "updated", cli.Stamp(s.UpdatedAt))
}

func scheduleUpdate(c *cli.CLI) *cobra.Command {
	var f scheduleFlags
	cmd := &cobra.Command{
		Use: "update NAME [flags]", Aliases: []string{"edit", "set"}, Short: "Change a schedule; what no flag names stays as it is", Args: cobra.MaximumNArgs(1),
		RunE: c.Verb(func(ctx context.Context, s *cli.Conn, cmd *cobra.Command, args []string) error {
			sc, err := scheduleToUpdate(ctx, c, s, cmd, &f, args)
			if err != nil {
				return err
			}
			sc, err = s.UpdateSchedule(ctx, sc)
			if err != nil {
				return err
			}
			return c.Emit(sc, func(w io.Writer) {
				fmt.Fprintf(w, "schedule %s updated, %s, next run %s\n", sc.Name, sc.RuleText(), nextText(sc, s.Now))
				adviseCatchup(c, sc)
			})
		}),
	}
	f.add(cmd.Flags())
	return cmd
}

func scheduleToUpdate(ctx context.Context, c *cli.CLI, s *cli.Conn, cmd *cobra.Command, f *scheduleFlags, args []string) (schedule.Schedule, error) {
	if f.file != "" || len(args) == 0 {
		return scheduleFrom(c, s, cmd, f, args)
	}
	ns, err := s.OneNamespace()
	if err != nil {
		return schedule.Schedule{}, err
	}
	sc, err := s.Schedule(ctx, ns, args[0])
	if err != nil {
		return sc, err
	}
	return sc, f.apply(cmd.Flags(), &sc)
}

func scheduleDelete(c *cli.CLI) *cobra.Command {
	return &cobra.Command{
		Use: "delete NAME...", Aliases: []string{"rm"}, Short: "Delete schedules; jobs that wait for them are withdrawn", Args: cobra.MinimumNArgs(1),
		RunE: c.Verb(func(ctx context.Context, s *cli.Conn, _ *cobra.Command, args []string) error {
			return c.Each(s, args, "deleted", func(ns, name string) error { return s.DeleteSchedule(ctx, ns, name) })
		}),
	}
}

func schedulePause(c *cli.CLI) *cobra.Command {
	var reason string
	cmd := &cobra.Command{
		Use: "pause NAME...", Short: "Pause schedules; jobs that wait for them are withdrawn", Args: cobra.MinimumNArgs(1),
		RunE: c.Verb(func(ctx context.Context, s *cli.Conn, _ *cobra.Command, args []string) error {
			return c.Each(s, args, "paused", func(ns, name string) error {
				d, err := s.PauseSchedule(ctx, ns, name, reason)
				if err == nil {
					c.NotePause(name, d.PausedBy, d.PausedReason, reason)
				}
				return err
			})
		}),
	}
	cmd.Flags().StringVar(&reason, "reason", "", "reason, shown beside the state")
	return cmd
}

func scheduleResume(c *cli.CLI) *cobra.Command {
	var catchUp bool
	cmd := &cobra.Command{
		Use: "resume NAME...", Short: "Resume paused schedules", Args: cobra.MinimumNArgs(1),
		RunE: c.Verb(func(ctx context.Context, s *cli.Conn, _ *cobra.Command, args []string) error {
			return c.Each(s, args, "resumed", func(ns, name string) error {
				_, err := s.ResumeSchedule(ctx, ns, name, catchUp)
				return err
			})
		}),
	}
	cmd.Flags().BoolVar(&catchUp, "catch-up", false, "make up for what was missed, as the schedule's catchup says")
	return cmd
}

func scheduleTrigger(c *cli.CLI) *cobra.Command {
	var input string
	var r job.RunNow
	var w wait.Flags
	cmd := &cobra.Command{
		Use: "trigger NAME", Aliases: []string{"run"}, Short: "Run a schedule's task now, beside its plan", Args: cobra.ExactArgs(1),
		RunE: c.Verb(func(ctx context.Context, s *cli.Conn, _ *cobra.Command, args []string) error {
			ns, err := s.OneNamespace()
			if err != nil {
				return err
			}
			if err := cli.JSONText(input != "", input, &r.Input); err != nil {
				return err
			}
			made, err := s.TriggerSchedule(ctx, ns, args[0], r)
			if err != nil {
				return wait.Unanswered(err, r.Key, "belfry job list --schedule "+args[0])
			}
			return wait.Made(ctx, c, s, made, w)
		}),
	}
	cmd.Flags().StringVar(&input, "input", "", "JSON for the job; default: the schedule's input")
	cmd.Flags().StringVar(&r.Key, "key", "", "idempotency key: a second job with it is not made, the first is shown")
	w.Add(cmd.Flags())
	return cmd
}

func scheduleOccurrences(c *cli.CLI) *cobra.Command {
	var decision string
	cmd := &cobra.Command{Use: "occurrences NAME", Aliases: []string{"history"}, Short: "Show what was decided for each nominal time, and why", Args: cobra.ExactArgs(1)}
	limit := cli.LimitFlag(cmd)
	cmd.Flags().StringVar(&decision, "decision", "", "only job, buffered or skipped ones")
	cmd.RunE = c.Verb(func(ctx context.Context, s *cli.Conn, _ *cobra.Command, args []string) error {
		ns, err := s.OneNamespace()
		if err != nil {
			return err
		}
		p, err := cli.AllPages(*limit, func(pg core.Paging) (core.Page[schedule.Occurrence], error) {
			return s.Occurrences(ctx, schedule.OccurrenceFilter{Paging: pg, Namespace: ns, Schedule: args[0], Decision: schedule.Decision(decision)})
		})
		if err != nil {
			return err
		}
		defer c.More(p.Next, len(p.Items))
		return c.Emit(p, func(w io.Writer) {
			g := c.Grid("NOMINAL", "DECISION", "REASON", "JOB", "NOTE")
			for _, o := range p.Items {
				at := cli.Stamp(o.Nominal)
				if o.Count > 1 {
					at += fmt.Sprintf(" to %s (%s times)", cli.Stamp(o.Until), cli.Count(o.Count))
				}
				job := ""
				if o.JobID > 0 {
					job = strconv.FormatInt(o.JobID, 10)
				}
				g.Row(at, string(o.Decision), string(o.Reason), job, cli.Clip(o.Note, 50))
			}
			g.Write(w)
		})
	})
	return cmd
}

package main

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/belfry-run/belfry/core"
	"github.com/belfry-run/belfry/cycle"
	"github.com/belfry-run/belfry/job"
	"github.com/belfry-run/belfry/schedule"
	"github.com/belfry-run/belfry/task"
	"github.com/belfry-run/belfry/view"
)

func (c *cli) cycleCmd() *cobra.Command {
	return noun("cycle", "Tasks that run one after another: create, show, run", []string{"cycles"},
		c.cycleCreate(), c.cycleList(), c.cycleShow(), c.cycleUpdate(), c.cycleRun(), c.cycleWhy(), c.cycleSkip(), c.cycleCancel(), c.cycleReset())
}

func (c *cli) cycleList() *cobra.Command {
	cmd := &cobra.Command{Use: "list", Aliases: []string{"ls"}, Short: "List cycles and where they stand", Args: cobra.NoArgs}
	limit := limitFlag(cmd)
	cmd.RunE = c.verb(func(ctx context.Context, s *conn, _ *cobra.Command, _ []string) error {
		p, err := allPages(*limit, func(pg core.Paging) (core.Page[cycle.Status], error) {
			return s.Cycles(ctx, view.DocumentFilter{Paging: pg, Namespace: s.namespace})
		})
		if err != nil {
			return err
		}
		defer c.more(p.Next, len(p.Items))
		return c.emit(p, func(w io.Writer) {
			if len(p.Items) == 0 {
				fmt.Fprintln(c.stderr, "no cycles; try: belfry cycle create NAME --member TASK --member TASK --every 1h")
				return
			}
			g := c.grid("NAME", "MEMBERS", "DUE", "UNDER WAY", "LAST", "NEXT")
			for _, v := range p.Items {
				due := 0
				for _, m := range v.Members {
					if m.Due {
						due++
					}
				}
				last := ""
				if v.Last != nil {
					last = tally(*v.Last)
				}
				g.row(s.label(v.Task.Namespace, v.Task.Name), strconv.Itoa(len(v.Members)), strconv.Itoa(due), runText(v), last, ago(v.NextAt, s.now))
			}
			g.write(w)
		})
	})
	return cmd
}

func (s *conn) cycle(ctx context.Context, name string) (cycle.Status, error) {
	ns, err := s.one()
	if err != nil {
		return cycle.Status{}, err
	}
	return s.CycleStatus(ctx, ns, name)
}

// tally is how the members of a run ended, in a line.
func tally(o cycle.Output) string {
	return fmt.Sprintf("%d ok, %d failed, %d skipped", o.OK, o.Failed, o.Skipped)
}

// runText is where the run under way is, in a line.
func runText(v cycle.Status) string {
	if v.Run == nil {
		return ""
	}
	return fmt.Sprintf("%d of %d done, %s", v.Done, len(v.Run.Members), v.Run.Current)
}

func (c *cli) cycleShow() *cobra.Command {
	return &cobra.Command{
		Use: "show NAME", Aliases: []string{"get", "status"}, Short: "Show a cycle: its run under way, the last one, and which members are due", Args: cobra.ExactArgs(1),
		RunE: c.verb(func(ctx context.Context, s *conn, _ *cobra.Command, args []string) error {
			v, err := s.cycle(ctx, args[0])
			if err != nil {
				return err
			}
			if c.output != "table" {
				return c.emit(v, nil)
			}
			p, err := allPages(0, func(pg core.Paging) (core.Page[schedule.Schedule], error) {
				return s.Schedules(ctx, schedule.Filter{Paging: pg, Namespace: v.Task.Namespace, Task: v.Task.Name})
			})
			if err != nil {
				return err
			}
			last := ""
			if v.Last != nil {
				j, err := s.Job(ctx, v.Task.Namespace, v.LastJob)
				if err != nil {
					return err
				}
				last = fmt.Sprintf("job %d %s %s, %s in %s", j.ID, j.State, ago(j.FinishedAt, s.now), tally(*v.Last), span(v.Last.Took.D()))
			}
			c.drawCycle(c.stdout, s, v, p.Items, last)
			return nil
		}),
	}
}

func (c *cli) drawCycle(w io.Writer, s *conn, v cycle.Status, schedules []schedule.Schedule, last string) {
	stagger := ""
	if v.Task.Cycle != nil && v.Task.Cycle.Stagger > 0 {
		stagger = "up to " + v.Task.Cycle.Stagger.String()
	}
	var times []string
	for _, sc := range schedules {
		text := fmt.Sprintf("%s (schedule %s)", sc.RuleText(), sc.Name)
		if sc.State != schedule.Active {
			text += ", " + string(sc.State)
		}
		times = append(times, text)
	}
	pairs := []string{
		"name", v.Task.Name, "namespace", v.Task.Namespace, "description", v.Task.Description, "stagger", stagger,
		"when", strings.Join(times, "\n"), "next", when(v.NextAt, s.now), "last", last,
	}
	if r := v.Run; r != nil {
		pairs = append(pairs, "under way", fmt.Sprintf("job %d, begun %s, %d of %d done", r.JobID, ago(r.StartedAt, s.now), v.Done, len(r.Members)),
			"current", currentText(*r, s.now), "remaining", strings.Join(r.Remaining(), ", "))
		if len(r.Skip) > 0 {
			pairs = append(pairs, "left out", strings.Join(r.Skip, ", ")+" by "+r.SkippedBy)
		}
	}
	c.pairs(w, pairs...)

	fmt.Fprintln(w)
	g := c.grid("MEMBER", "EVERY", "DUE", "LAST OK", "ON FAILURE", "WHY")
	for _, m := range v.Members {
		every, due := "", "no"
		if m.Every > 0 {
			every = m.Every.String()
		}
		if m.Due {
			due = "yes"
		}
		g.row(m.Task, every, due, ago(m.Timing.SucceededAt, s.now), string(m.OnFailure), m.Why)
	}
	g.write(w)

	switch {
	case v.Run != nil && len(v.Run.Results) > 0:
		fmt.Fprintf(w, "\nResults so far, of job %d:\n", v.Run.JobID)
		c.drawResults(w, v.Run.Results)
	case v.Run == nil && v.Last != nil:
		fmt.Fprintf(w, "\nResults of job %d:\n", v.LastJob)
		c.drawResults(w, v.Last.Members)
	}
}

// currentText is the member that runs, or is next, and what it waits for.
func currentText(r cycle.Run, now time.Time) string {
	switch {
	case r.WaitsFor != 0:
		return fmt.Sprintf("%s, waits for job %d of another cycle", r.Current, r.WaitsFor)
	case r.TurnAt.After(now):
		return fmt.Sprintf("%s, job %d, begins %s", r.Current, r.MemberJob, ago(r.TurnAt, now))
	case r.MemberJob != 0:
		return fmt.Sprintf("%s, job %d", r.Current, r.MemberJob)
	}
	return r.Current
}

func (c *cli) drawResults(w io.Writer, results []cycle.MemberResult) {
	g := c.grid("MEMBER", "RESULT", "TOOK", "TRIES", "JOB", "NOTE")
	for _, r := range results {
		took, tries, job := "", "", ""
		if !r.StartedAt.IsZero() {
			took = span(r.EndedAt.Sub(r.StartedAt))
		}
		if r.Attempts > 0 {
			tries = strconv.Itoa(r.Attempts)
		}
		if r.JobID > 0 {
			job = strconv.FormatInt(r.JobID, 10)
		}
		g.row(r.Task, g.state(string(r.State)), took, tries, job, clip(cmp.Or(r.Error, r.Reason), 100))
	}
	g.write(w)
}

// outputOf is what came of a cycle. One that was canceled has none.
func outputOf(j job.Job) (o cycle.Output) {
	_ = json.Unmarshal(j.Output, &o)
	return o
}

// memberWhy is what why answers.
type memberWhy struct {
	cycle.MemberStatus
	Run string `json:"run,omitempty"` // what becomes of it in the run under way
}

func (c *cli) cycleWhy() *cobra.Command {
	return &cobra.Command{
		Use: "why NAME MEMBER", Short: "Say why a member is due or not, and when it will be", Args: cobra.ExactArgs(2),
		RunE: c.verb(func(ctx context.Context, s *conn, _ *cobra.Command, args []string) error {
			v, err := s.cycle(ctx, args[0])
			if err != nil {
				return err
			}
			i := slices.IndexFunc(v.Members, func(m cycle.MemberStatus) bool { return m.Task == args[1] })
			if i < 0 {
				return core.Errorf(core.NotFound, "cycle %q has no member %q", v.Task.Name, args[1]).WithHint("see: belfry cycle show %s", v.Task.Name)
			}
			why := memberWhy{v.Members[i], inRun(v, args[1])}
			return c.emit(why, func(w io.Writer) { c.drawMember(w, v, why, s.now) })
		}),
	}
}

// inRun is what becomes of a member in the run under way.
func inRun(v cycle.Status, member string) string {
	if v.Run == nil {
		return ""
	}
	r := *v.Run
	place := slices.IndexFunc(r.Members, func(m task.Member) bool { return m.Task == member })
	switch {
	case place < 0:
		return "it is no member of this run, which began before an edit"
	case place < len(r.Results):
		return strings.TrimSuffix(fmt.Sprintf("%s, %s", r.Results[place].State, cmp.Or(r.Results[place].Error, r.Results[place].Reason)), ", ")
	case slices.Contains(r.Skip, member):
		return "to be left out, by " + r.SkippedBy
	case place == len(r.Results) && r.WaitsFor != 0:
		return fmt.Sprintf("its turn; it waits for job %d of another cycle", r.WaitsFor)
	case place == len(r.Results):
		return fmt.Sprintf("its turn, as job %d", r.MemberJob)
	}
	return fmt.Sprintf("its turn comes after %s", r.Members[place-1].Task)
}

func (c *cli) drawMember(w io.Writer, v cycle.Status, m memberWhy, now time.Time) {
	due, next := "is due", ""
	if !m.Due {
		due, next = "is not due", fmt.Sprintf("belfry cycle reset-timing %s %s", v.Task.Name, m.Task)
	}
	if m.Timing.RunningJob != 0 {
		next = fmt.Sprintf("belfry job why %d", m.Timing.RunningJob)
	}
	fmt.Fprintf(w, "%s %s: %s\n", m.Task, due, m.Why)
	every := ""
	if m.Every > 0 {
		every = m.Every.String()
	}
	run := ""
	if v.Run != nil {
		run = fmt.Sprintf("job %d: %s", v.Run.JobID, m.Run)
	}
	c.pairs(w, "every", every, "last ok", when(m.Timing.SucceededAt, now), "due at", when(m.DueAt, now), "under way", run, "next cycle", when(v.NextAt, now))
	if next != "" {
		fmt.Fprintf(w, "try: %s\n", next)
	}
}

// Package cycles has the command cycle. Each noun has a file, and each verb a
// function. They talk to the server through package cli, which also prints
// tables and JSON, and know no other package of commands.
package cycles

import (
	"cmp"
	"context"
	"fmt"
	"io"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/belfry-run/belfry/cmd/belfry/internal/cli"
	"github.com/belfry-run/belfry/cmd/belfry/internal/wait"
	"github.com/belfry-run/belfry/core"
	"github.com/belfry-run/belfry/cycle"
	"github.com/belfry-run/belfry/schedule"
	"github.com/belfry-run/belfry/task"
	"github.com/belfry-run/belfry/view"
)

// Cycle is the command cycle.
func Cycle(c *cli.CLI) *cobra.Command {
	return cli.Noun("cycle", "Manage cycles: tasks that run one after another", []string{"cycles"},
		cycleCreate(c), cycleList(c), cycleShow(c), cycleUpdate(c), cycleRun(c), cycleWhy(c), cycleSkip(c), cycleCancel(c), cycleReset(c))
}

func cycleList(c *cli.CLI) *cobra.Command {
	cmd := &cobra.Command{Use: "list", Aliases: []string{"ls"}, Short: "List cycles and where they stand", Args: cobra.NoArgs}
	limit := cli.LimitFlag(cmd)
	cmd.RunE = c.Verb(func(ctx context.Context, s *cli.Conn, _ *cobra.Command, _ []string) error {
		p, err := cli.AllPages(*limit, func(pg core.Paging) (core.Page[cycle.Status], error) {
			return s.Cycles(ctx, view.DocumentFilter{Paging: pg, Namespace: s.NS})
		})
		if err != nil {
			return err
		}
		defer c.More(p.Next, len(p.Items))
		return c.Emit(p, func(w io.Writer) {
			if len(p.Items) == 0 {
				fmt.Fprintln(c.Stderr, "no cycles; try: belfry cycle create NAME --member TASK --member TASK --every 1h")
				return
			}
			g := c.Grid("NAME", "?TITLE", "MEMBERS", "DUE", "UNDER WAY", "LAST", "NEXT")
			for _, v := range p.Items {
				due := 0
				for _, m := range v.Members {
					if m.Due {
						due++
					}
				}
				last := ""
				if v.Last != nil {
					last = wait.Tally(*v.Last)
				}
				g.Row(s.Label(v.Task.Namespace, v.Task.Name), cli.Clip(v.Task.Title, 40), strconv.Itoa(len(v.Members)), strconv.Itoa(due), runText(v), last, cli.Ago(v.NextAt, s.Now))
			}
			g.Write(w)
		})
	})
	return cmd
}

func statusOf(ctx context.Context, s *cli.Conn, name string) (cycle.Status, error) {
	ns, err := s.OneNamespace()
	if err != nil {
		return cycle.Status{}, err
	}
	return s.CycleStatus(ctx, ns, name)
}

// runText returns the state of the present run in one line.
func runText(v cycle.Status) string {
	if v.Run == nil {
		return ""
	}
	return fmt.Sprintf("%d of %d done, %s", v.Done, len(v.Run.Members), v.Run.Current)
}

func cycleShow(c *cli.CLI) *cobra.Command {
	return &cobra.Command{
		Use: "show NAME", Aliases: []string{"get", "status"}, Short: "Show a cycle: its run under way, the last one, and which members are due", Args: cobra.ExactArgs(1),
		RunE: c.Verb(func(ctx context.Context, s *cli.Conn, _ *cobra.Command, args []string) error {
			v, err := statusOf(ctx, s, args[0])
			if err != nil {
				return err
			}
			if c.Output != "table" {
				return c.Emit(v, nil)
			}
			p, err := cli.AllPages(0, func(pg core.Paging) (core.Page[schedule.Schedule], error) {
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
				last = fmt.Sprintf("job %d %s %s, %s in %s", j.ID, j.State, cli.Ago(j.FinishedAt, s.Now), wait.Tally(*v.Last), core.SpanText(v.Last.Took.D()))
			}
			drawCycle(c, c.Stdout, s, v, p.Items, last)
			return nil
		}),
	}
}

func drawCycle(c *cli.CLI, w io.Writer, s *cli.Conn, v cycle.Status, schedules []schedule.Schedule, last string) {
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
		"name", v.Task.Name, "namespace", v.Task.Namespace, "title", v.Task.Title, "description", v.Task.Description, "stagger", stagger,
		"when", strings.Join(times, "\n"), "next", cli.When(v.NextAt, s.Now), "last", last,
	}
	if r := v.Run; r != nil {
		pairs = append(pairs, "under way", fmt.Sprintf("job %d, begun %s, %d of %d done", r.JobID, cli.Ago(r.StartedAt, s.Now), v.Done, len(r.Members)),
			"current", currentText(*r, s.Now), "remaining", strings.Join(r.Remaining(), ", "))
		if len(r.Skip) > 0 {
			pairs = append(pairs, "left out", strings.Join(r.Skip, ", ")+" by "+r.SkippedBy)
		}
	}
	c.Pairs(w, pairs...)

	fmt.Fprintln(w)
	g := c.Grid("MEMBER", "EVERY", "DUE", "LAST OK", "ON FAILURE", "WHY")
	for _, m := range v.Members {
		every, due := "", "no"
		if m.Every > 0 {
			every = m.Every.String()
		}
		if m.Due {
			due = "yes"
		}
		g.Row(m.Task, every, due, cli.Ago(m.Timing.SucceededAt, s.Now), string(m.OnFailure), m.Why)
	}
	g.Write(w)

	switch {
	case v.Run != nil && len(v.Run.Results) > 0:
		fmt.Fprintf(w, "\nResults so far, of job %d:\n", v.Run.JobID)
		wait.DrawResults(c, w, v.Run.Results)
	case v.Run == nil && v.Last != nil:
		fmt.Fprintf(w, "\nResults of job %d:\n", v.LastJob)
		wait.DrawResults(c, w, v.Last.Members)
	}
}

// currentText returns the running or the next member, and what it waits for.
func currentText(r cycle.Run, now time.Time) string {
	switch {
	case r.WaitsFor != 0:
		return fmt.Sprintf("%s, waits for job %d of another run", r.Current, r.WaitsFor)
	case r.TurnAt.After(now):
		return fmt.Sprintf("%s, job %d, begins %s", r.Current, r.MemberJob, cli.Ago(r.TurnAt, now))
	case r.MemberJob != 0:
		return fmt.Sprintf("%s, job %d", r.Current, r.MemberJob)
	}
	return r.Current
}

// memberWhy is the output of why.
type memberWhy struct {
	cycle.MemberStatus
	Run string `json:"run,omitempty"` // state of the member in the present run
}

func cycleWhy(c *cli.CLI) *cobra.Command {
	return &cobra.Command{
		Use: "why NAME MEMBER", Short: "Say why a member is due or not, and when it will be", Args: cobra.ExactArgs(2),
		RunE: c.Verb(func(ctx context.Context, s *cli.Conn, _ *cobra.Command, args []string) error {
			v, err := statusOf(ctx, s, args[0])
			if err != nil {
				return err
			}
			i := slices.IndexFunc(v.Members, func(m cycle.MemberStatus) bool { return m.Task == args[1] })
			if i < 0 {
				return core.Errorf(core.NotFound, "cycle %q has no member %q", v.Task.Name, args[1]).WithHint("see: belfry cycle show %s", v.Task.Name)
			}
			why := memberWhy{v.Members[i], inRun(v, args[1])}
			return c.Emit(why, func(w io.Writer) { drawMember(c, w, v, why, s.Now) })
		}),
	}
}

// inRun returns the state of a member in the present run.
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
		return fmt.Sprintf("its turn; it waits for job %d of another run", r.WaitsFor)
	case place == len(r.Results):
		return fmt.Sprintf("its turn, as job %d", r.MemberJob)
	}
	return fmt.Sprintf("its turn comes after %s", r.Members[place-1].Task)
}

func drawMember(c *cli.CLI, w io.Writer, v cycle.Status, m memberWhy, now time.Time) {
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
	c.Pairs(w, "every", every, "last ok", cli.When(m.Timing.SucceededAt, now), "due at", cli.When(m.DueAt, now), "under way", run, "next cycle", cli.When(v.NextAt, now))
	if next != "" {
		fmt.Fprintf(w, "try: %s\n", next)
	}
}

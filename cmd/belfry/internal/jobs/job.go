// Package jobs has the commands job, queue and run. Each noun has a file, and
// each verb a function. They talk to the server through package cli, which also
// prints tables and JSON, and know no other package of commands.
package jobs

import (
	"context"
	"errors"
	"fmt"
	"io"
	"strconv"
	"strings"
	"time"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/belfry-run/belfry/cmd/belfry/internal/cli"
	"github.com/belfry-run/belfry/cmd/belfry/internal/wait"
	"github.com/belfry-run/belfry/core"
	"github.com/belfry-run/belfry/internal/plainjson"
	"github.com/belfry-run/belfry/job"
	"github.com/belfry-run/belfry/task"
)

// Job is the command job.
func Job(c *cli.CLI) *cobra.Command {
	return cli.Noun("job", "Enqueue, show, retry and cancel jobs", []string{"jobs"},
		jobList(c), jobShow(c), jobLogs(c), jobOutputs(c), jobWhy(c), jobEnqueue(c), jobWait(c), jobCancel(c), jobRetry(c), jobRunAgain(c), jobSteps(c), jobSignal(c), jobLink(c), jobUnlink(c), jobResetSteps(c))
}

// jobFilter holds the flags that select jobs.
type jobFilter struct {
	states                     []string
	task, schedule, queue, tag string
	since, until               string
}

func (f *jobFilter) add(fs *pflag.FlagSet) {
	fs.StringSliceVar(&f.states, "state", nil, "only these: waiting, scheduled, ready, running, succeeded, failed, canceled, skipped")
	fs.StringVar(&f.task, "task", "", "only those of a task")
	fs.StringVar(&f.schedule, "schedule", "", "only those of a schedule")
	fs.StringVar(&f.queue, "queue", "", "only those in a queue")
	fs.StringVar(&f.tag, "tag", "", "only with this tag")
	fs.StringVar(&f.since, "since", "", "created at or after this time, or this long ago, such as 1h")
	fs.StringVar(&f.until, "until", "", "created before this time, or this long ago")
}

// filter returns the filter of the flags and the words of a search together.
func (f *jobFilter) filter(s *cli.Conn, search []string) (job.Filter, error) {
	out, err := job.ParseJobFilter(strings.Join(search, " "), s.Now.Local())
	if err != nil {
		return out, err
	}
	out.Namespace = s.NS
	for flag, to := range map[*string]*string{&f.task: &out.Task, &f.schedule: &out.Schedule, &f.queue: &out.Queue, &f.tag: &out.Tag} {
		cli.Set(*flag != "", *flag, to)
	}
	for _, st := range f.states {
		out.States = append(out.States, job.State(st))
	}
	err = errors.Join(cli.Before(s.Now, "--since", f.since, &out.Since), cli.Before(s.Now, "--until", f.until, &out.Until))
	if err == nil {
		err = out.Validate()
	}
	return out, err
}

const jobSearchHelp = `List jobs, the newest first.

A search is terms that all have to hold: id, state, task, schedule, queue, tag,
kind, trigger, session, attempt, error, since and until, each with a colon and a
value. Values with spaces stand in quotes. Several states are separated by
commas; live, done and dead stand for several. Times are how long ago, a date,
or an instant. Terms that no index answers look at the newest 10000 jobs at a
time.`

func jobList(c *cli.CLI) *cobra.Command {
	var f jobFilter
	var watch bool
	cmd := &cobra.Command{Aliases: []string{"ls"}, Short: "List jobs, the newest first",
		Use: "list [SEARCH...]", Long: jobSearchHelp, Example: `  belfry job list state:failed since:2h
  belfry job list 'task:backup error:"timed out" attempt>1'`}
	limit := cli.LimitFlag(cmd)
	f.add(cmd.Flags())
	cmd.Flags().BoolVarP(&watch, "watch", "w", false, "go on and show every change")
	cmd.RunE = c.Verb(func(ctx context.Context, s *cli.Conn, _ *cobra.Command, args []string) error {
		filter, err := f.filter(s, args)
		if err != nil {
			return err
		}
		list := func() (core.Page[job.Job], error) {
			return cli.AllPages(*limit, func(pg core.Paging) (core.Page[job.Job], error) {
				q := filter
				q.Paging = pg
				return s.Jobs(ctx, q)
			})
		}
		if watch {
			return watchJobs(ctx, c, s, list, filter)
		}
		p, err := list()
		if err != nil {
			return err
		}
		defer c.More(p.Next, len(p.Items))
		return c.Emit(p, func(w io.Writer) {
			if len(p.Items) == 0 {
				if asked := len(args) > 0 || cmd.Flags().NFlag() > 0; asked {
					fmt.Fprintln(c.Stderr, "no jobs match")
					return
				}
				fmt.Fprintln(c.Stderr, "no jobs; try: belfry job enqueue TASK, or belfry schedule list")
				return
			}
			drawJobs(w, jobGrid(c), s, p.Items)
		})
	})
	return cmd
}

func jobGrid(c *cli.CLI) *cli.Grid {
	return c.Grid("ID", "TASK", "STATE", "TRY", "DUE", "DURATION", "SCHEDULE", "NOTE")
}

func drawJobs(w io.Writer, g *cli.Grid, s *cli.Conn, jobs []job.Job) {
	now := time.Now()
	for _, j := range jobs {
		g.Row(jobRow(g, s, j, now)...)
	}
	g.Write(w)
}

func jobRow(g *cli.Grid, s *cli.Conn, j job.Job, now time.Time) []string {
	took := ""
	switch {
	case j.State == job.Running && !j.ClaimedAt.IsZero():
		took = core.SpanText(now.Sub(j.ClaimedAt))
	case !j.FinishedAt.IsZero() && !j.ClaimedAt.IsZero():
		took = core.SpanText(j.FinishedAt.Sub(j.ClaimedAt))
	case j.Kind == task.KindCycle && len(j.Output) > 0: // no worker claims jobs of cycles
		took = core.SpanText(wait.CycleOutput(j).Took.D())
	}
	note := string(j.Reason)
	if j.Error != "" {
		note = strings.TrimSpace(strings.TrimPrefix(note+" ", wordOf(j.Error)+" ") + cli.Clip(j.Error, 60))
	}
	return []string{strconv.FormatInt(j.ID, 10), s.Label(j.Namespace, j.Task), g.State(wait.State(j)), tryText(j), cli.Ago(j.DueAt, now), took, j.Schedule, note}
}

// tryText returns the number of a job's present try. Attempts with a fault of the machine and the like do not count as tries.
func tryText(j job.Job) string {
	if j.Attempt == 0 {
		return ""
	}
	n := j.Failures
	if j.State == job.Running || j.State == job.Succeeded {
		n++
	}
	return fmt.Sprintf("%d/%d", max(n, 1), j.MaxAttempts)
}

// wordOf returns the text before a colon.
func wordOf(text string) string {
	word, _, _ := strings.Cut(text, ":")
	return word
}

func jobShow(c *cli.CLI) *cobra.Command {
	return &cobra.Command{
		Use: "show ID", Aliases: []string{"get"}, Short: "Show a job and its attempts", Args: cobra.ExactArgs(1),
		RunE: c.Verb(func(ctx context.Context, s *cli.Conn, _ *cobra.Command, args []string) error {
			id, err := job.IDFromText("ID", args[0])
			if err != nil {
				return err
			}
			j, err := s.Job(ctx, s.NS, id)
			if err != nil {
				return err
			}
			attempts, err := s.Attempts(ctx, s.NS, id)
			if err != nil {
				return err
			}
			var steps []job.Step
			if j.Kind == task.KindFunc {
				if steps, err = s.JobSteps(ctx, s.NS, id); err != nil {
					return err
				}
			}
			return c.Emit(struct {
				job.Job
				Attempts []job.Attempt `json:"attempts"`
				Steps    []job.Step    `json:"steps,omitempty"`
			}{j, attempts, steps}, func(w io.Writer) {
				drawJob(c, w, j, attempts, s.Now)
				if len(steps) > 0 {
					fmt.Fprintln(w)
					drawSteps(c, w, steps, s.Now)
				}
			})
		}),
	}
}

// priorityText is the priority of a job, and the one that it is treated as.
func priorityText(j job.Job) string {
	if j.Aged == 0 {
		return strconv.Itoa(j.Priority)
	}
	return fmt.Sprintf("%d, treated as %d because it has waited", j.Priority, j.Standing())
}

// joinedText describes the requests that a debounced job combines.
func joinedText(j job.Job, now time.Time) string {
	if j.Debounced == nil {
		return ""
	}
	return fmt.Sprintf("%s after the first, the last asked for %s", core.Plural(int(j.Debounced.Joined), "request"), cli.When(j.Debounced.LastAt, now))
}

func drawJob(c *cli.CLI, w io.Writer, j job.Job, attempts []job.Attempt, now time.Time) {
	canceled := ""
	if !j.CancelAt.IsZero() {
		canceled = "asked to end " + cli.When(j.CancelAt, now)
	}
	c.Pairs(w, "id", strconv.FormatInt(j.ID, 10), "task", j.Task, "kind", string(j.Kind), "namespace", j.Namespace,
		"state", wait.State(j), "reason", string(j.Reason), "note", j.Note, "error", j.Error, "cancel", canceled,
		"progress", progressText(j, now), "schedule", j.Schedule, "nominal", cli.Stamp(j.Nominal), "trigger", string(j.Trigger),
		"queue", j.Queue, "priority", priorityText(j), "due", cli.When(j.DueAt, now),
		"created", cli.When(j.CreatedAt, now), "claimed", cli.When(j.ClaimedAt, now), "finished", cli.When(j.FinishedAt, now),
		"attempts", attemptsText(j), "timeout", j.Timeout.String(),
		"tags", strings.Join(j.Tags, ", "), "key", j.Key, "active key", j.ActiveKey, "run again of", idText(j.RunAgainOf), "run again as", idText(j.RunAgainAs...), "joined", joinedText(j, now), "input", string(plainjson.Unescape(j.Input)), "output", outputText(j))
	if members := wait.CycleOutput(j).Members; j.Kind == task.KindCycle && len(members) > 0 {
		fmt.Fprintln(w)
		wait.DrawResults(c, w, members)
	}
	if len(attempts) == 0 {
		return
	}
	fmt.Fprintln(w)
	g := c.Grid("TRY", "OUTCOME", "WORKER", "STARTED", "DURATION", "EXIT", "ERROR")
	for _, a := range attempts {
		exit := a.Signal
		if a.ExitCode != nil && exit == "" {
			exit = strconv.Itoa(*a.ExitCode)
		}
		started, took := "not known", ""
		if began := a.BeganAt(); !began.IsZero() {
			started, took = cli.Stamp(began), core.SpanText(a.EndedAt.Sub(began))
		}
		g.Row(strconv.Itoa(a.Number), g.State(string(a.Outcome)), a.Worker, started, took, exit, cli.Clip(a.Error, 80))
	}
	g.Write(w)
	for _, a := range attempts {
		if a.Sandboxed != nil {
			fmt.Fprintf(w, "\nattempt %d\n", a.Number)
			drawSandboxed(c, w, a.Sandboxed)
		}
	}
}

func attemptsText(j job.Job) string {
	text := fmt.Sprintf("%d claimed, %d of %d used", j.Attempt, j.Failures, j.MaxAttempts)
	if j.Infra > 0 {
		text += fmt.Sprintf(", %d spoiled by the machine", j.Infra)
	}
	return text
}

// idText lists ids, without zeros.
func idText(ids ...int64) string {
	var all []string
	for _, id := range ids {
		if id > 0 {
			all = append(all, strconv.FormatInt(id, 10))
		}
	}
	return strings.Join(all, ", ")
}

// outputText returns the output of a job. The output of a cycle is shown by its members instead.
func outputText(j job.Job) string {
	if j.Kind == task.KindCycle && len(j.Output) > 0 {
		return wait.Tally(wait.CycleOutput(j))
	}
	return cli.Clip(string(plainjson.Unescape(j.Output)), 2000)
}

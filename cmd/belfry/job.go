package main

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

	"github.com/belfry-run/belfry/core"
	"github.com/belfry-run/belfry/internal/plainjson"
	"github.com/belfry-run/belfry/job"
	"github.com/belfry-run/belfry/task"
)

func (c *cli) jobCmd() *cobra.Command {
	return noun("job", "What was asked for and what came of it", []string{"jobs"},
		c.jobList(), c.jobShow(), c.jobLogs(), c.jobOutputs(), c.jobWhy(), c.jobEnqueue(), c.jobWait(), c.jobCancel(), c.jobRetry(), c.jobRunAgain())
}

// jobFilter are the flags that choose jobs.
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

// filter is what the flags and the words of a search choose together.
func (f *jobFilter) filter(s *conn, search []string) (job.Filter, error) {
	out, err := job.ParseJobFilter(strings.Join(search, " "), s.now.Local())
	if err != nil {
		return out, err
	}
	out.Namespace = s.namespace
	for flag, to := range map[*string]*string{&f.task: &out.Task, &f.schedule: &out.Schedule, &f.queue: &out.Queue, &f.tag: &out.Tag} {
		set(*flag != "", *flag, to)
	}
	for _, st := range f.states {
		out.States = append(out.States, job.State(st))
	}
	err = errors.Join(before(s.now, "--since", f.since, &out.Since), before(s.now, "--until", f.until, &out.Until))
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

func (c *cli) jobList() *cobra.Command {
	var f jobFilter
	var watch bool
	cmd := &cobra.Command{Aliases: []string{"ls"}, Short: "List jobs, the newest first",
		Use: "list [SEARCH...]", Long: jobSearchHelp, Example: `  belfry job list state:failed since:2h
  belfry job list 'task:backup error:"timed out" attempt>1'`}
	limit := limitFlag(cmd)
	f.add(cmd.Flags())
	cmd.Flags().BoolVarP(&watch, "watch", "w", false, "go on and show every change")
	cmd.RunE = c.verb(func(ctx context.Context, s *conn, _ *cobra.Command, args []string) error {
		filter, err := f.filter(s, args)
		if err != nil {
			return err
		}
		list := func() (core.Page[job.Job], error) {
			return allPages(*limit, func(pg core.Paging) (core.Page[job.Job], error) {
				q := filter
				q.Paging = pg
				return s.Jobs(ctx, q)
			})
		}
		if watch {
			return c.watchJobs(ctx, s, list, filter)
		}
		p, err := list()
		if err != nil {
			return err
		}
		defer c.more(p.Next, len(p.Items))
		return c.emit(p, func(w io.Writer) {
			if len(p.Items) == 0 {
				fmt.Fprintln(c.stderr, "no jobs; try: belfry job enqueue TASK, or belfry schedule list")
				return
			}
			drawJobs(w, c.jobGrid(), s, p.Items)
		})
	})
	return cmd
}

func (c *cli) jobGrid() *grid {
	return c.grid("ID", "TASK", "STATE", "TRY", "DUE", "TOOK", "SCHEDULE", "NOTE")
}

func drawJobs(w io.Writer, g *grid, s *conn, jobs []job.Job) {
	now := time.Now()
	for _, j := range jobs {
		g.row(jobRow(g, s, j, now)...)
	}
	g.write(w)
}

func jobRow(g *grid, s *conn, j job.Job, now time.Time) []string {
	took := ""
	switch {
	case j.State == job.Running && !j.ClaimedAt.IsZero():
		took = span(now.Sub(j.ClaimedAt))
	case !j.FinishedAt.IsZero() && !j.ClaimedAt.IsZero():
		took = span(j.FinishedAt.Sub(j.ClaimedAt))
	case j.Kind == task.KindCycle && len(j.Output) > 0: // which nobody claims
		took = span(outputOf(j).Took.D())
	}
	note := string(j.Reason)
	if j.Error != "" {
		note = strings.TrimSpace(strings.TrimPrefix(note+" ", wordOf(j.Error)+" ") + clip(j.Error, 60))
	}
	return []string{strconv.FormatInt(j.ID, 10), s.label(j.Namespace, j.Task), g.state(stateText(j)), tryText(j), ago(j.DueAt, now), took, j.Schedule, note}
}

// tryText is which of its tries a job is at. Attempts that count against none, such as those that a machine spoiled, are no tries.
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

// wordOf is what a text begins with, before a colon.
func wordOf(text string) string {
	word, _, _ := strings.Cut(text, ":")
	return word
}

// stateText tells a retry from a first try that waits for its time.
func stateText(j job.Job) string {
	if j.State == job.Scheduled && j.Failures > 0 {
		return "retrying"
	}
	return string(j.State)
}

func (c *cli) jobShow() *cobra.Command {
	return &cobra.Command{
		Use: "show ID", Aliases: []string{"get"}, Short: "Show a job and its attempts", Args: cobra.ExactArgs(1),
		RunE: c.verb(func(ctx context.Context, s *conn, _ *cobra.Command, args []string) error {
			id, err := job.IDFromText("ID", args[0])
			if err != nil {
				return err
			}
			j, err := s.Job(ctx, s.namespace, id)
			if err != nil {
				return err
			}
			attempts, err := s.Attempts(ctx, s.namespace, id)
			if err != nil {
				return err
			}
			return c.emit(struct {
				job.Job
				Attempts []job.Attempt `json:"attempts"`
			}{j, attempts}, func(w io.Writer) { c.drawJob(w, j, attempts, s.now) })
		}),
	}
}

func (c *cli) drawJob(w io.Writer, j job.Job, attempts []job.Attempt, now time.Time) {
	canceled := ""
	if !j.CancelAt.IsZero() {
		canceled = "asked to end " + when(j.CancelAt, now)
	}
	c.pairs(w, "id", strconv.FormatInt(j.ID, 10), "task", j.Task, "kind", string(j.Kind), "namespace", j.Namespace,
		"state", stateText(j), "reason", string(j.Reason), "note", j.Note, "error", j.Error, "cancel", canceled,
		"schedule", j.Schedule, "nominal", stamp(j.Nominal), "trigger", string(j.Trigger),
		"queue", j.Queue, "priority", strconv.Itoa(j.Priority), "due", when(j.DueAt, now),
		"created", when(j.CreatedAt, now), "claimed", when(j.ClaimedAt, now), "finished", when(j.FinishedAt, now),
		"attempts", attemptsText(j), "timeout", j.Timeout.String(),
		"tags", strings.Join(j.Tags, ", "), "key", j.Key, "active key", j.ActiveKey, "run again of", idText(j.RunAgainOf), "run again as", idText(j.RunAgainAs...), "input", string(plainjson.Unescape(j.Input)), "output", outputText(j))
	if members := outputOf(j).Members; j.Kind == task.KindCycle && len(members) > 0 {
		fmt.Fprintln(w)
		c.drawResults(w, members)
	}
	if len(attempts) == 0 {
		return
	}
	fmt.Fprintln(w)
	g := c.grid("TRY", "OUTCOME", "WORKER", "STARTED", "TOOK", "EXIT", "ERROR")
	for _, a := range attempts {
		exit := a.Signal
		if a.ExitCode != nil && exit == "" {
			exit = strconv.Itoa(*a.ExitCode)
		}
		started, took := "not known", ""
		if began := a.BeganAt(); !began.IsZero() {
			started, took = stamp(began), span(a.EndedAt.Sub(began))
		}
		g.row(strconv.Itoa(a.Number), g.state(string(a.Outcome)), a.Worker, started, took, exit, clip(a.Error, 80))
	}
	g.write(w)
	for _, a := range attempts {
		if a.Sandboxed != nil {
			fmt.Fprintf(w, "\nattempt %d\n", a.Number)
			c.drawSandboxed(w, a.Sandboxed)
		}
	}
}

func attemptsText(j job.Job) string {
	text := fmt.Sprintf("%d claimed, %d of %d spent", j.Attempt, j.Failures, j.MaxAttempts)
	if j.Infra > 0 {
		text += fmt.Sprintf(", %d spoiled by the machine", j.Infra)
	}
	return text
}

// idText lists ids, but for those that are none.
func idText(ids ...int64) string {
	var all []string
	for _, id := range ids {
		if id > 0 {
			all = append(all, strconv.FormatInt(id, 10))
		}
	}
	return strings.Join(all, ", ")
}

// outputText is the output of a job. That of a cycle is shown by its members.
func outputText(j job.Job) string {
	if j.Kind == task.KindCycle && len(j.Output) > 0 {
		return tally(outputOf(j))
	}
	return clip(string(plainjson.Unescape(j.Output)), 2000)
}

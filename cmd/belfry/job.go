package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/belfry-run/belfry"
	"github.com/belfry-run/belfry/app"
)

func (c *cli) jobCmd() *cobra.Command {
	return noun("job", "What was asked for and what came of it", []string{"jobs"},
		c.jobList(), c.jobShow(), c.jobLogs(), c.jobOutputs(), c.jobWhy(), c.jobEnqueue(), c.jobWait(), c.jobCancel(), c.jobRedrive(), c.jobRerun())
}

// waitFlags are shared by what makes jobs.
type waitFlags struct {
	wait    bool
	timeout string
}

func (w *waitFlags) add(fs *pflag.FlagSet) {
	fs.BoolVar(&w.wait, "wait", false, "wait for the job to end; exit 0 if it succeeded, 1 if not")
	fs.StringVar(&w.timeout, "wait-timeout", "", "give up waiting after this long; the job goes on")
}

// jobMade shows a job that was just made, and waits for it if asked to.
func (c *cli) jobMade(ctx context.Context, s *conn, e belfry.Enqueued, w waitFlags) error {
	if !w.wait {
		return c.emit(e, func(out io.Writer) {
			if e.Existing {
				fmt.Fprintf(out, "job %d was there already, %s\n", e.Job.ID, e.Job.State)
				return
			}
			fmt.Fprintf(out, "job %d created, %s\n", e.Job.ID, e.Job.State)
			fmt.Fprintf(c.stderr, "try: belfry job logs -f %d\n", e.Job.ID)
		})
	}
	return c.waitFor(ctx, s, []belfry.Job{e.Job}, w.timeout)
}

// waitFor waits for jobs and shows each as it ends. The exit code is 1 when
// one of them did not succeed.
func (c *cli) waitFor(ctx context.Context, s *conn, jobs []belfry.Job, timeout string) error {
	if timeout != "" {
		d, err := belfry.ParseDuration(timeout)
		if err != nil {
			return belfry.InvalidField("--wait-timeout", "", err.Error(), "")
		}
		var stop context.CancelFunc
		ctx, stop = context.WithTimeout(ctx, d.D())
		defer stop()
	}
	if s.direct {
		fmt.Fprintln(c.stderr, "note: no server runs, so nobody runs jobs until one does")
	}
	failed := false
	for _, j := range jobs {
		done, err := app.WaitJob(ctx, s, j.Namespace, j.ID)
		if errors.Is(err, context.DeadlineExceeded) {
			return belfry.Errorf(belfry.Unavailable, "job %d has not ended, it is %s", j.ID, done.State).WithHint("belfry job why %d", j.ID)
		}
		if err != nil {
			return err
		}
		failed = failed || done.State != belfry.JobSucceeded
		if err := c.emit(done, func(w io.Writer) { c.drawEnd(w, done) }); err != nil {
			return err
		}
	}
	if failed {
		return exitStatus(exitFailed)
	}
	return nil
}

func (c *cli) drawEnd(w io.Writer, j belfry.Job) {
	paint := painter(c.colorOn(c.stdout))
	fmt.Fprintf(w, "job %d %s", j.ID, paint(stateStyle(string(j.State)), string(j.State)))
	if !j.ClaimedAt.IsZero() && !j.FinishedAt.IsZero() {
		fmt.Fprintf(w, " after %s", span(j.FinishedAt.Sub(j.ClaimedAt)))
	}
	if j.Reason != "" {
		fmt.Fprintf(w, " (%s)", j.Reason)
	}
	fmt.Fprintln(w)
	if j.Error != "" {
		fmt.Fprintf(w, "  %s\n", clip(j.Error, 200))
	}
}

func (c *cli) jobEnqueue() *cobra.Command {
	var (
		n                      belfry.NewJob
		input, delay, at, zone string
		keyWindow, timeout     string
		priority               int
		fn                     bool
		w                      waitFlags
	)
	cmd := &cobra.Command{
		Use: "enqueue TASK", Aliases: []string{"create"}, Short: "Ask for one execution of a task", Args: cobra.ExactArgs(1),
		Example: `  belfry job enqueue backup --wait
  belfry job enqueue mail --input '{"to": "someone"}' --key order-1042
  belfry job enqueue report --delay 10m`,
		RunE: c.verb(func(ctx context.Context, s *conn, cmd *cobra.Command, args []string) error {
			ns, err := s.one()
			if err != nil {
				return err
			}
			n.Namespace, n.Task = ns, args[0]
			given := cmd.Flags().Changed
			set(given("priority"), &priority, &n.Priority)
			set(fn, belfry.KindFunc, &n.Kind)
			err = errors.Join(jsonText(given("input"), input, &n.Input), duration(given, "delay", delay, &n.Delay), duration(given, "key-window", keyWindow, &n.KeyWindow),
				duration(given, "timeout", timeout, &n.Timeout), instant(at != "", "--at", at, zone, &n.DueAt))
			if err != nil {
				return err
			}
			made, err := s.Enqueue(ctx, []belfry.NewJob{n})
			if err != nil {
				return err
			}
			return c.jobMade(ctx, s, made[0], w)
		}),
	}
	f := cmd.Flags()
	f.StringVar(&input, "input", "", "JSON for the job; default: the task's input")
	f.StringVar(&delay, "delay", "", "not before this long from now")
	f.StringVar(&at, "at", "", "not before this time")
	f.StringVar(&zone, "zone", "", "time zone of --at; default: UTC")
	f.StringVar(&n.Queue, "queue", "", "default: the task's queue")
	f.IntVar(&priority, "priority", 0, "default: the task's priority")
	f.IntVar(&n.MaxAttempts, "max-attempts", 0, "default: as the task says")
	f.StringVar(&timeout, "timeout", "", "default: the task's timeout")
	f.StringVar(&n.Key, "key", "", "idempotency key: a second job with it is not made, the first is shown")
	f.StringVar(&keyWindow, "key-window", "", "how long the key is remembered; default: 24h")
	f.StringVar(&n.ActiveKey, "active-key", "", "at most one job with this key that has not ended")
	f.StringSliceVar(&n.Tags, "tag", nil, "tags, for filters")
	f.BoolVar(&fn, "func", false, "the task is a Go handler that nobody created a task for")
	w.add(f)
	return cmd
}

func (c *cli) jobWait() *cobra.Command {
	var w waitFlags
	cmd := &cobra.Command{
		Use: "wait ID...", Short: "Wait for jobs to end", Args: cobra.MinimumNArgs(1),
		RunE: c.verb(func(ctx context.Context, s *conn, _ *cobra.Command, args []string) error {
			ids, err := jobIDs(args)
			if err != nil {
				return err
			}
			var jobs []belfry.Job
			for _, id := range ids {
				j, err := s.Job(ctx, s.namespace, id)
				if err != nil {
					return err
				}
				jobs = append(jobs, j)
			}
			return c.waitFor(ctx, s, jobs, w.timeout)
		}),
	}
	cmd.Flags().StringVar(&w.timeout, "wait-timeout", "", "give up waiting after this long; the jobs go on")
	return cmd
}

func jobIDs(args []string) ([]int64, error) {
	ids := make([]int64, len(args))
	for i, a := range args {
		id, err := belfry.JobIDFromText("ID", a)
		if err != nil {
			return nil, err
		}
		ids[i] = id
	}
	return ids, nil
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
func (f *jobFilter) filter(s *conn, search []string) (belfry.JobFilter, error) {
	out, err := belfry.ParseJobFilter(strings.Join(search, " "), s.now.Local())
	if err != nil {
		return out, err
	}
	out.Namespace = s.namespace
	for flag, to := range map[*string]*string{&f.task: &out.Task, &f.schedule: &out.Schedule, &f.queue: &out.Queue, &f.tag: &out.Tag} {
		set(*flag != "", *flag, to)
	}
	for _, st := range f.states {
		out.States = append(out.States, belfry.JobState(st))
	}
	err = errors.Join(before(s.now, "--since", f.since, &out.Since), before(s.now, "--until", f.until, &out.Until))
	if err == nil {
		err = out.Validate()
	}
	return out, err
}

// before reads a time, or how long ago it was.
func before(now time.Time, field, text string, to *time.Time) error {
	if d, err := belfry.ParseDuration(text); err == nil && text != "" {
		*to = now.Add(-d.D())
		return nil
	}
	return instant(text != "", field, text, "Local", to)
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
		list := func() (belfry.Page[belfry.Job], error) {
			return allPages(*limit, func(pg belfry.Paging) (belfry.Page[belfry.Job], error) {
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

func drawJobs(w io.Writer, g *grid, s *conn, jobs []belfry.Job) {
	now := time.Now()
	for _, j := range jobs {
		g.row(jobRow(g, s, j, now)...)
	}
	g.write(w)
}

func jobRow(g *grid, s *conn, j belfry.Job, now time.Time) []string {
	took := ""
	switch {
	case j.State == belfry.JobRunning && !j.ClaimedAt.IsZero():
		took = span(now.Sub(j.ClaimedAt))
	case !j.FinishedAt.IsZero() && !j.ClaimedAt.IsZero():
		took = span(j.FinishedAt.Sub(j.ClaimedAt))
	case j.Kind == belfry.KindCycle && len(j.Output) > 0: // which nobody claims
		took = span(outputOf(j).Took.D())
	}
	try := ""
	if j.Attempt > 0 {
		try = fmt.Sprintf("%d/%d", j.Attempt, j.MaxAttempts)
	}
	note := string(j.Reason)
	if j.Error != "" {
		note = strings.TrimSpace(note + " " + clip(j.Error, 60))
	}
	return []string{strconv.FormatInt(j.ID, 10), s.label(j.Namespace, j.Task), g.state(stateText(j)), try, ago(j.DueAt, now), took, j.Schedule, note}
}

// stateText tells a retry from a first try that waits for its time.
func stateText(j belfry.Job) string {
	if j.State == belfry.JobScheduled && j.Failures > 0 {
		return "retrying"
	}
	return string(j.State)
}

// watchJobs shows the list and then a line for every change, which works in a
// pipe as well as on a terminal.
func (c *cli) watchJobs(ctx context.Context, s *conn, list func() (belfry.Page[belfry.Job], error), f belfry.JobFilter) error {
	_, cursor, err := s.Events(ctx, s.namespace, "", 0)
	if err != nil {
		return err
	}
	p, err := list()
	if err != nil {
		return err
	}
	g := c.jobGrid()
	g.least = []int{6, 16, 9, 4, 9, 6, 16, 0} // what comes later should stand in the same columns
	slices.Reverse(p.Items)
	if c.output == "table" {
		drawJobs(c.stdout, g, s, p.Items)
	}
	for ctx.Err() == nil {
		events, next, err := s.Events(ctx, s.namespace, cursor, 20*time.Second)
		if ctx.Err() != nil {
			return nil // whoever watches ends it, and that is no error
		}
		if belfry.CodeOf(err) == belfry.Unavailable {
			// A node that is restarted is back soon, and whoever watches can
			// end it at any time.
			fmt.Fprintf(c.stderr, "note: %s; trying again\n", err)
			cursor = ""
			select {
			case <-ctx.Done():
			case <-time.After(time.Second):
			}
			continue
		}
		if err != nil {
			return err
		}
		cursor = next
		for _, e := range events {
			if e.Job == nil || !f.Matches(*e.Job) {
				continue
			}
			if c.output != "table" {
				if err := json.NewEncoder(c.stdout).Encode(e.Job); err != nil {
					return err
				}
				continue
			}
			writeRow(c.stdout, jobRow(g, s, *e.Job, time.Now()), g.least)
		}
	}
	return nil
}

func (c *cli) jobShow() *cobra.Command {
	return &cobra.Command{
		Use: "show ID", Aliases: []string{"get"}, Short: "Show a job and its attempts", Args: cobra.ExactArgs(1),
		RunE: c.verb(func(ctx context.Context, s *conn, _ *cobra.Command, args []string) error {
			id, err := belfry.JobIDFromText("ID", args[0])
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
				belfry.Job
				Attempts []belfry.Attempt `json:"attempts"`
			}{j, attempts}, func(w io.Writer) { c.drawJob(w, j, attempts, s.now) })
		}),
	}
}

func (c *cli) drawJob(w io.Writer, j belfry.Job, attempts []belfry.Attempt, now time.Time) {
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
		"tags", strings.Join(j.Tags, ", "), "key", j.Key, "active key", j.ActiveKey, "rerun of", idText(j.RerunOf), "reruns", idText(j.Reruns...), "input", string(j.Input), "output", outputText(j))
	if members := outputOf(j).Members; j.Kind == belfry.KindCycle && len(members) > 0 {
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
		began := a.StartedAt
		if began.IsZero() {
			began = a.ClaimedAt
		}
		g.row(strconv.Itoa(a.Number), g.state(string(a.Outcome)), a.Worker, stamp(began), span(a.EndedAt.Sub(began)), exit, clip(a.Error, 80))
	}
	g.write(w)
	for _, a := range attempts {
		if a.Sandboxed != nil {
			fmt.Fprintf(w, "\nattempt %d\n", a.Number)
			c.drawSandboxed(w, a.Sandboxed)
		}
	}
}

func attemptsText(j belfry.Job) string {
	text := fmt.Sprintf("%d begun, %d of %d spent", j.Attempt, j.Failures, j.MaxAttempts)
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
func outputText(j belfry.Job) string {
	if j.Kind == belfry.KindCycle && len(j.Output) > 0 {
		return tally(outputOf(j))
	}
	return clip(string(j.Output), 2000)
}

func (c *cli) jobLogs() *cobra.Command {
	var follow, times bool
	var attempt int
	var q belfry.LogQuery
	cmd := &cobra.Command{
		Use: "logs ID", Aliases: []string{"log"}, Short: "Show what a job wrote", Args: cobra.ExactArgs(1),
		RunE: c.verb(func(ctx context.Context, s *conn, _ *cobra.Command, args []string) error {
			id, err := belfry.JobIDFromText("ID", args[0])
			if err != nil {
				return err
			}
			if q.Tail > 0 || q.Grep != "" {
				if times || follow && q.Grep != "" {
					return belfry.InvalidField("--tail", "", "goes without --timestamps, and --grep without --follow too", "leave one of them out")
				}
				q.Attempt, q.Limit = attempt, belfry.MaxLogText
				if follow {
					return c.followTail(ctx, s, id, q)
				}
				return c.logText(ctx, s, id, q)
			}
			l := &logPrinter{c: c, times: times}
			if follow {
				return l.follow(ctx, s, id, attempt)
			}
			_, err = l.rest(ctx, s, id, attempt, "")
			return err
		}),
	}
	cmd.Flags().BoolVarP(&follow, "follow", "f", false, "go on until the job ends; exit 0 if it succeeded, 1 if not")
	cmd.Flags().BoolVarP(&times, "timestamps", "t", false, "put time and stream before each line")
	cmd.Flags().IntVar(&attempt, "attempt", 0, "only this attempt; default: all")
	cmd.Flags().IntVar(&q.Tail, "tail", 0, "only the last lines, as far as 1 MiB")
	cmd.Flags().StringVar(&q.Grep, "grep", "", "only lines that have this text")
	cmd.Flags().BoolVar(&q.Regexp, "regexp", false, "--grep is an expression of Go's regexp")
	return cmd
}

// logText prints the last lines of a log, or those that a search finds.
func (c *cli) logText(ctx context.Context, s *conn, id int64, q belfry.LogQuery) error {
	if q.Grep != "" {
		q.Tail = 0
	}
	for {
		t, err := s.LogText(ctx, s.namespace, id, q)
		if err != nil {
			return err
		}
		if err := c.emit(t, func(w io.Writer) {
			fmt.Fprint(w, t.Text)
			for _, f := range t.Found {
				fmt.Fprintln(w, f.Line)
			}
		}); err != nil || q.Grep == "" || t.Next >= t.Size || t.Next <= q.Offset {
			return err
		}
		q.Offset = t.Next
	}
}

// followTail prints the last lines, and then what comes, until the job ends.
func (c *cli) followTail(ctx context.Context, s *conn, id int64, q belfry.LogQuery) error {
	return c.untilEnd(ctx, s, id, func() error {
		for {
			t, err := s.LogText(ctx, s.namespace, id, q)
			if err != nil {
				return err
			}
			if t.Text != "" {
				if err := c.emit(t, func(w io.Writer) { fmt.Fprint(w, t.Text) }); err != nil {
					return err
				}
			}
			if q.Tail, q.Offset = 0, t.Next; t.Next >= t.Size {
				return nil
			}
		}
	})
}

// logPrinter writes pieces of a log as they come.
type logPrinter struct {
	c       *cli
	times   bool
	attempt int // whose piece came last
}

// rest prints what there is after a cursor and answers the cursor after it.
func (l *logPrinter) rest(ctx context.Context, s *conn, id int64, attempt int, cursor string) (string, error) {
	for {
		p, err := s.Logs(ctx, s.namespace, id, belfry.LogFilter{Paging: belfry.Paging{Limit: 500, Cursor: cursor}, Attempt: attempt})
		if err != nil {
			return cursor, err
		}
		for _, line := range p.Items {
			if err := l.print(line); err != nil {
				return cursor, err
			}
		}
		// A log has a cursor even at its end, for what comes after it.
		if p.Next != "" {
			cursor = p.Next
		}
		if len(p.Items) == 0 || p.Next == "" {
			return cursor, nil
		}
	}
}

func (l *logPrinter) print(line belfry.LogLine) error {
	if l.c.output != "table" {
		return json.NewEncoder(l.c.stdout).Encode(line)
	}
	if line.Attempt != l.attempt {
		if l.attempt != 0 {
			fmt.Fprintf(l.c.stderr, "--- attempt %d\n", line.Attempt)
		}
		l.attempt = line.Attempt
	}
	if !l.times {
		_, err := io.WriteString(l.c.stdout, line.Text)
		return err
	}
	for part := range strings.Lines(line.Text) {
		_, err := fmt.Fprintf(l.c.stdout, "%s %-6s %s\n", line.At.Local().Format("15:04:05.000"), line.Stream, strings.TrimSuffix(part, "\n"))
		if err != nil {
			return err
		}
	}
	return nil
}

// followPace is how often a log that is followed is looked at.
const followPace = 300 * time.Millisecond

func (l *logPrinter) follow(ctx context.Context, s *conn, id int64, attempt int) error {
	cursor := ""
	return l.c.untilEnd(ctx, s, id, func() (err error) {
		cursor, err = l.rest(ctx, s, id, attempt, cursor)
		return err
	})
}

// untilEnd prints what there is again and again, until a job has ended. The exit
// code is 1 when it did not succeed.
func (c *cli) untilEnd(ctx context.Context, s *conn, id int64, print func() error) error {
	for {
		j, err := s.Job(ctx, s.namespace, id)
		if err != nil {
			return err
		}
		if err := print(); err != nil {
			return err
		}
		if j.State.Final() {
			fmt.Fprintf(c.stderr, "--- job %d %s\n", id, j.State)
			if j.State != belfry.JobSucceeded {
				return exitStatus(exitFailed)
			}
			return nil
		}
		select {
		case <-ctx.Done():
			return nil
		case <-time.After(followPace):
		}
	}
}

func (c *cli) jobWhy() *cobra.Command {
	return &cobra.Command{
		Use: "why ID", Short: "Say why a job is where it is, and what to do about it", Args: cobra.ExactArgs(1),
		RunE: c.verb(func(ctx context.Context, s *conn, _ *cobra.Command, args []string) error {
			id, err := belfry.JobIDFromText("ID", args[0])
			if err != nil {
				return err
			}
			y, err := s.Why(ctx, s.namespace, id)
			if err != nil {
				return err
			}
			return c.emit(y, func(w io.Writer) { c.drawWhy(w, y) })
		}),
	}
}

func (c *cli) drawWhy(w io.Writer, y belfry.Why) {
	fmt.Fprintln(w, y.Summary)
	paint := painter(c.colorOn(c.stdout))
	for _, k := range y.Checks {
		mark := paint(styleGood, "ok")
		if !k.OK {
			mark = paint(styleBad, "no")
		}
		fmt.Fprintf(w, "  %s  %s", mark, k.Name)
		if k.Detail != "" {
			fmt.Fprintf(w, ": %s", k.Detail)
		}
		fmt.Fprintln(w)
		if !k.OK && k.Fix != "" {
			fmt.Fprintf(w, "      %s\n", k.Fix)
		}
	}
	if len(y.Workers) > 0 {
		fmt.Fprintf(w, "could run on: %s\n", strings.Join(y.Workers, ", "))
	}
	if y.Next != "" {
		fmt.Fprintf(w, "try: %s\n", y.Next)
	}
}

// bulk is what cancel and redrive have in common.
func (c *cli) bulk(use, short, done string, states []belfry.JobState, do func(ctx context.Context, s *conn, sel belfry.Selection) (belfry.Selected, error)) *cobra.Command {
	var f jobFilter
	var all, dry bool
	var note string
	cmd := &cobra.Command{Use: use, Short: short}
	f.add(cmd.Flags())
	cmd.Flags().BoolVar(&all, "all", false, "all that the other flags choose, instead of ids")
	cmd.Flags().BoolVar(&dry, "dry-run", false, "only say which jobs it would be")
	cmd.Flags().StringVar(&note, "note", "", "why; kept with the jobs")
	cmd.RunE = c.verb(func(ctx context.Context, s *conn, _ *cobra.Command, args []string) error {
		sel, err := selection(s, &f, args, all, states)
		if err != nil {
			return err
		}
		sel.DryRun, sel.Note = dry, note
		return c.selected(ctx, s, sel, done, do)
	})
	return cmd
}

func selection(s *conn, f *jobFilter, args []string, all bool, states []belfry.JobState) (belfry.Selection, error) {
	if !all && len(args) == 0 {
		return belfry.Selection{}, belfry.InvalidField("ID", "", "is missing", "give job ids, or --all with a search such as 'task:backup state:failed' or flags such as --task and --state")
	}
	if !all {
		ids, err := jobIDs(args)
		return belfry.Selection{IDs: ids}, err
	}
	filter, err := f.filter(s, args)
	if len(filter.States) == 0 {
		filter.States = states
	}
	return belfry.Selection{Filter: &filter}, err
}

// selected repeats a bulk action until the filter finds no more.
func (c *cli) selected(ctx context.Context, s *conn, sel belfry.Selection, done string, do func(ctx context.Context, s *conn, sel belfry.Selection) (belfry.Selected, error)) error {
	all := belfry.Selected{IDs: []int64{}, Left: map[int64]string{}}
	for {
		r, err := do(ctx, s, sel)
		if err != nil {
			return err
		}
		all.IDs = append(all.IDs, r.IDs...)
		for id, why := range r.Left {
			all.Left[id] = why
		}
		if all.More, all.Next, sel.Cursor = r.More, r.Next, r.Next; !r.More || sel.DryRun || r.Next == "" {
			break
		}
	}
	err := c.emit(all, func(w io.Writer) {
		verb := done
		if sel.DryRun {
			verb = "would be " + done
		}
		for _, id := range all.IDs {
			fmt.Fprintf(w, "job %d %s\n", id, verb)
		}
		for id, why := range all.Left {
			fmt.Fprintf(c.stderr, "job %d left as it is: %s\n", id, why)
		}
		if len(all.IDs) == 0 && len(all.Left) == 0 {
			fmt.Fprintln(c.stderr, "no such jobs")
		}
	})
	if err == nil && len(sel.IDs) > 0 && len(all.IDs) == 0 {
		return exitStatus(exitConflict) // why was said above
	}
	return err
}

func (c *cli) jobCancel() *cobra.Command {
	live := []belfry.JobState{belfry.JobWaiting, belfry.JobScheduled, belfry.JobReady, belfry.JobRunning}
	return c.bulk("cancel [ID...]", "End jobs: those that wait at once, those that run soon", "canceled", live,
		func(ctx context.Context, s *conn, sel belfry.Selection) (belfry.Selected, error) {
			return s.CancelJobs(ctx, s.namespace, sel)
		})
}

func (c *cli) jobRedrive() *cobra.Command {
	return c.bulk("redrive [ID...]", "Give failed and canceled jobs all their attempts again", "redriven", []belfry.JobState{belfry.JobFailed},
		func(ctx context.Context, s *conn, sel belfry.Selection) (belfry.Selected, error) {
			return s.RedriveJobs(ctx, s.namespace, sel)
		})
}

func (c *cli) jobRerun() *cobra.Command {
	var r belfry.Rerun
	var input string
	var w waitFlags
	cmd := &cobra.Command{
		Use: "rerun ID", Short: "Make a new job of a finished one, with the same input or another", Args: cobra.ExactArgs(1),
		Long: `Make a new job of a finished one, however it ended. It has the queue, priority,
attempts, timeout and tags of that one, and runs the task as it is now. To give
the same job its attempts again, use: belfry job redrive.`,
		Example: `  belfry job rerun 1042
  belfry job rerun 1042 --input '{"customer": 7}' --note 'wrong customer' --wait`,
		RunE: c.verb(func(ctx context.Context, s *conn, cmd *cobra.Command, args []string) error {
			id, err := belfry.JobIDFromText("ID", args[0])
			if err != nil {
				return err
			}
			if err := jsonText(cmd.Flags().Changed("input"), input, &r.Input); err != nil {
				return err
			}
			made, err := s.RerunJob(ctx, s.namespace, id, r)
			if err != nil {
				return err
			}
			return c.jobMade(ctx, s, made, w)
		}),
	}
	f := cmd.Flags()
	f.StringVar(&input, "input", "", "JSON for the new job; default: the input of the finished one")
	f.StringVar(&r.Note, "note", "", "why; kept in the audit")
	f.StringVar(&r.Key, "key", "", "idempotency key: a second job with it is not made, the first is shown")
	w.add(f)
	return cmd
}

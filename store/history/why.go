package history

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/belfry-run/belfry/core"
	"github.com/belfry-run/belfry/flow"
	"github.com/belfry-run/belfry/job"
	"github.com/belfry-run/belfry/schedule"
	"github.com/belfry-run/belfry/store/base"
	"github.com/belfry-run/belfry/store/cycles"
	"github.com/belfry-run/belfry/store/jobs"
	"github.com/belfry-run/belfry/store/programs"
	"github.com/belfry-run/belfry/store/search"
	"github.com/belfry-run/belfry/store/steps"
	"github.com/belfry-run/belfry/store/windows"
	"github.com/belfry-run/belfry/task"
)

// Why explains the state of a job: all conditions for its start, in the order of their evaluation, and the first that does not
// hold.
func (s *Store) Why(ctx context.Context, namespace string, id int64) (w job.Why, err error) {
	now, err := s.Now(ctx)
	if err != nil {
		return w, err
	}
	err = s.DB().Read(ctx, func(tx base.Tx) error {
		row, err := s.jobs.ReadJob(ctx, tx, namespace, id)
		if err != nil {
			return err
		}
		w = job.Why{Job: row.Job, Checks: []core.Check{}}
		switch {
		case row.State.Final():
			w.Summary, w.Next = whyEnded(row.Job)
			switch {
			case w.Next == "":
			case row.Trigger == job.TriggerStep:
				w.Next, err = nextOfStep(ctx, tx, row.ID)
			default:
				w.Next, err = nextOfEnded(ctx, tx, row, w.Next)
			}
			return err
		case row.State == job.Running:
			return s.whyRunning(ctx, tx, row.Job, now, &w)
		case row.Kind == task.KindWorkflow && row.State == job.Waiting && row.Reason == "": // otherwise the workflow waits for a limit
			status, err := s.workflows.StatusIn(ctx, tx, row.ID)
			w.Summary, w.Next = core.Or(status.Why, "Its steps run."), status.Next()
			return err
		case row.Kind == task.KindCycle && row.State == job.Waiting:
			return s.whyCycle(ctx, tx, row.Job, &w)
		}
		return s.whyWaiting(ctx, tx, row, now, &w)
	})
	return w, err
}

func whyEnded(j job.Job) (summary, next string) {
	summary = fmt.Sprintf("It %s at %s", map[job.State]string{
		job.Succeeded: "succeeded", job.Failed: "failed", job.Canceled: "was canceled", job.Skipped: "was skipped",
	}[j.State], core.Stamp(j.FinishedAt))
	if j.Reason != "" {
		summary += fmt.Sprintf(", reason %s", j.Reason)
	}
	if j.Note != "" {
		summary += " (" + j.Note + ")"
	}
	if j.Error != "" {
		summary += ". The last attempt said: " + j.Error
	}
	if j.State != job.Succeeded {
		next = fmt.Sprintf("belfry job retry %d", j.ID)
	}
	return summary, next
}

// nextOfEnded returns what to do about a job that has ended, which is retry unless its task or its queue was deleted.
func nextOfEnded(ctx context.Context, tx base.Tx, j jobs.JobRow, retry string) (string, error) {
	_, there, err := base.First(ctx, tx, base.ScanInt, `select id from belfry.tasks where id = $1`, j.TaskID)
	if err != nil || !there {
		return fmt.Sprintf("its task was deleted; create task %q again, then: belfry job run-again %d", j.Task, j.ID), err
	}
	_, there, err = base.First(ctx, tx, base.ScanString, `select name from belfry.queues where name = $1`, j.Queue)
	if err != nil || !there {
		return fmt.Sprintf("its queue was deleted; create it again: belfry queue create %s, then: %s", j.Queue, retry), err
	}
	return retry, nil
}

// nextOfStep returns what to do about the job of a step, which is not retried alone: its outermost run is. It is empty if the step
// has another job since.
func nextOfStep(ctx context.Context, tx base.Tx, id int64) (string, error) {
	var run int64
	for of, found := id, true; found; {
		var err error
		of, found, err = base.First(ctx, tx, base.ScanInt, `select run_id from belfry.workflow_items where job_id > 0 and job_id = $1`, of)
		if err != nil {
			return "", err
		}
		if found {
			run = of
		}
	}
	if run == 0 {
		return "", nil
	}
	state, ended, err := base.First(ctx, tx, base.ScanString, `select state from belfry.jobs_done where id = $1`, run)
	if ended && job.State(state) != job.Succeeded {
		return fmt.Sprintf("belfry workflow retry %d", run), err
	}
	return fmt.Sprintf("belfry workflow show %d", run), err
}

func (s *Store) whyRunning(ctx context.Context, tx base.Tx, j job.Job, now time.Time, w *job.Why) error {
	session, found, err := base.First(ctx, tx, s.jobs.ScanSession, `select `+jobs.SessionColumns+` from belfry.sessions where id = $1`, j.Session)
	if err != nil {
		return err
	}
	alive := found && session.EndedAt.IsZero() && session.ExpiresAt.After(now)
	w.Checks = append(w.Checks, core.Check{Name: "worker renews its session", OK: alive,
		Detail: fmt.Sprintf("session %s on %s, good until %s", j.Session, session.Name, core.Stamp(session.ExpiresAt)),
		Fix:    fmt.Sprintf("wait: it is given up %s after its end and the job tried again", job.LostGrace)})
	late := now.After(j.DeadlineAt)
	w.Checks = append(w.Checks, core.Check{Name: "within its deadline", OK: !late, Detail: "until " + core.Stamp(j.DeadlineAt),
		Fix: "the server ends the attempt at its next look"})
	w.Summary = fmt.Sprintf("It runs: attempt %d since %s on %s.", j.Attempt, core.Stamp(j.ClaimedAt), session.Name)
	w.Next = fmt.Sprintf("belfry job logs -f %d", j.ID)
	if !j.CancelAt.IsZero() {
		w.Summary = fmt.Sprintf("It was asked to end at %s and its worker has not answered yet.", core.Stamp(j.CancelAt))
	}
	if j.Kind != task.KindProgram {
		return nil
	}
	// A program that has ended keeps its slot while its files cannot be sent, and only its worker knows that.
	note, err := search.LastNote(ctx, tx, j)
	if err == nil && note != "" {
		w.Summary += " Its worker noted last: " + note
	}
	return err
}

// whyCycle explains which member a cycle has reached, and why that member waits.
func (s *Store) whyCycle(ctx context.Context, tx base.Tx, j job.Job, w *job.Why) error {
	run, found, err := base.First(ctx, tx, cycles.ScanRun, `select doc from belfry.cycle_runs where job_id = $1`, j.ID)
	if err != nil {
		return err
	}
	w.Next = "belfry cycle show " + j.Task
	if !found || run.Current == "" {
		w.Summary = "Its members run."
		return nil
	}
	id := run.MemberJob
	if id == 0 {
		id = run.WaitsFor
	}
	member, err := s.jobs.ReadJob(ctx, tx, core.AnyNamespace, id)
	if err != nil {
		return err
	}
	at := string(member.State)
	switch member.State {
	case job.Scheduled:
		at += ", due at " + core.Stamp(member.DueAt)
	case job.Running:
		at += " since " + core.Stamp(member.ClaimedAt)
	}
	done := fmt.Sprintf("%d of %d members are done", run.Position(), len(run.Members))
	check := core.Check{Name: "member " + run.Current + " runs", OK: member.State == job.Running || member.State == job.Waiting && member.Kind == task.KindCycle, Detail: fmt.Sprintf("job %d is %s", id, at), Fix: fmt.Sprintf("belfry job why %d", id)}
	w.Summary = fmt.Sprintf("Its members run: %s, and it is at %s: job %d is %s.", done, run.Current, id, at)
	if run.WaitsFor != 0 {
		check = core.Check{Name: "no member of another run is in the way of " + run.Current, Detail: check.Detail, Fix: fmt.Sprintf("wait until it ends: belfry job wait %d", id)}
		w.Summary = fmt.Sprintf("Its members run: %s, and %s waits for a member of another run: job %d is %s.", done, run.Current, id, at)
	}
	w.Checks = append(w.Checks, check)
	return nil
}

// whyWaiting checks all conditions between a job and its start.
func (s *Store) whyWaiting(ctx context.Context, tx base.Tx, row jobs.JobRow, now time.Time, w *job.Why) error {
	queue, err := s.queues.ReadQueue(ctx, tx, row.Queue)
	missing := core.CodeOf(err) == core.NotFound
	if err != nil && !missing {
		return err
	}
	stats, err := s.queues.QueueStats(ctx, tx, queue)
	if err != nil {
		return err
	}
	workers, err := base.Collect(ctx, tx, s.scanFor(row.Job), `select `+jobs.SessionColumns+` from belfry.sessions where ended_at = 0 and expires_at > $1 order by started_at`, base.Micros(now))
	if err != nil {
		return err
	}
	if row.Limited {
		if err := s.whyLimited(ctx, tx, row, now, w); err != nil {
			return err
		}
	}
	if row.Kind == task.KindProgram {
		if err := s.whyProgram(ctx, tx, row, w); err != nil {
			return err
		}
	}
	if err := s.whyWait(ctx, tx, row, now, w); err != nil {
		return err
	}
	due, err := s.whyDue(ctx, tx, row, now)
	if err != nil {
		return err
	}
	w.Checks = append(w.Checks,
		due,
		core.Check{Name: "queue exists", OK: !missing, Detail: row.Queue, Fix: "belfry queue create " + row.Queue},
		core.Check{Name: "queue is not paused", OK: queue.PausedAt.IsZero(), Detail: pausedText(queue), Fix: "belfry queue resume " + row.Queue},
	)
	lacked := ""                     // requirements that no worker meets
	if !task.RunByEngine(row.Kind) { // jobs of the engine need no worker and no slot of a queue
		w.Checks = append(w.Checks, core.Check{Name: "queue is under its global limit", OK: queue.GlobalLimit == 0 || stats.Running < queue.GlobalLimit,
			Detail: limitText(queue, stats), Fix: "wait, or raise the limit with belfry queue update"})
		tasks, err := s.tasks.TasksByID(ctx, tx, []int64{row.TaskID})
		if err != nil {
			return err
		}
		var checks []core.Check
		checks, lacked = workerChecks(row.Job, tasks[row.TaskID].Requirement(), workers, w)
		w.Checks = append(w.Checks, checks...)
		if age := ageingText(queue, row.Job); age != "" {
			w.Checks = append(w.Checks, core.Check{Name: "its wait raises its priority", OK: true, Detail: age})
		}
		if err := s.whyBehind(ctx, tx, row.Job, stats, w); err != nil {
			return err
		}
	}
	for _, c := range w.Checks {
		if !c.OK {
			text := negation(c.Name)
			if strings.HasPrefix(c.Name, "a worker ") {
				text = lacked
			}
			w.Summary, w.Next = fmt.Sprintf("Waiting: %s (%s).", text, c.Detail), c.Fix
			return nil
		}
	}
	if row.Kind == task.KindWorkflow {
		w.Summary, w.Next = "Nothing stands in its way: a node with the role engine begins it.", fmt.Sprintf("belfry job show %d", row.ID)
		return nil
	}
	if row.Kind == task.KindCycle {
		w.Summary, w.Next = "Nothing stands in its way: a node with the role engine begins it.", "belfry cycle show "+row.Task
		return nil
	}
	w.Summary, w.Next = "Nothing stands in its way: a worker should claim it now.", fmt.Sprintf("belfry job show %d", row.ID)
	return nil
}

// whyWait explains which signal, or the end of which job, a snoozed job waits for.
func (s *Store) whyWait(ctx context.Context, tx base.Tx, row jobs.JobRow, now time.Time, w *job.Why) error {
	if row.Kind != task.KindFunc && row.Kind != task.KindProgram || row.State != job.Scheduled || row.Attempt == 0 || row.DueAt.Before(now) {
		return nil
	}
	step, found, err := steps.Waiting(ctx, tx, row.Job)
	switch {
	case found && step.Kind == job.StepAwait:
		w.Checks = append(w.Checks, core.Check{Name: fmt.Sprintf("job %d has ended", step.Child),
			Detail: fmt.Sprintf("step %d waits for it", step.Number), Fix: fmt.Sprintf("belfry job why %d", step.Child)})
	case found:
		w.Checks = append(w.Checks, core.Check{Name: "signal " + step.Name + " has come",
			Detail: fmt.Sprintf("step %d waits for it until %s", step.Number, core.Stamp(step.WakeAt)),
			Fix:    fmt.Sprintf("belfry job signal %d %s", row.ID, step.Word())})
	}
	return err
}

// whyDue is [dueCheck] with the number of requests that joined a debounced job.
func (s *Store) whyDue(ctx context.Context, tx base.Tx, row jobs.JobRow, now time.Time) (core.Check, error) {
	c := dueCheck(row.Job, now)
	if row.Attempt > 0 || !row.DueAt.After(now) {
		return c, nil
	}
	err := windows.AddTo(ctx, tx, &row.Job)
	if err != nil || row.Debounced == nil {
		return c, err
	}
	tasks, err := s.tasks.TasksByID(ctx, tx, []int64{row.TaskID})
	if err != nil {
		return c, err
	}
	c.Detail += ", when its window ends: " + joinedText(*row.Debounced)
	if d := tasks[row.TaskID].Debounce; d != nil {
		if d.Key != "" {
			value := flow.KeyValue(d.Key, flow.KeySource{Namespace: row.Namespace, Task: row.Task, Queue: row.Queue, Input: row.Input})
			c.Detail += fmt.Sprintf(", key %q of %s", value, d.Key)
		}
		c.Detail += fmt.Sprintf("; each moves its start by %s, to %s at the latest", d.Window, core.Stamp(row.CreatedAt.Add(d.Longest())))
	}
	return c, nil
}

func joinedText(d job.Debounced) string {
	switch d.Joined {
	case 0:
		return "no request has joined"
	case 1:
		return "1 request has joined, at " + core.Stamp(d.LastAt)
	}
	return fmt.Sprintf("%d requests have joined, the last at %s", d.Joined, core.Stamp(d.LastAt))
}

func dueCheck(j job.Job, now time.Time) core.Check {
	c := core.Check{Name: "its time has come", OK: j.State == job.Ready || j.State == job.Waiting && !j.DueAt.After(now), Detail: "due at " + core.Stamp(j.DueAt), Fix: "wait until then"}
	switch {
	case c.OK:
	case j.Reason == schedule.ReasonSnoozed:
		c.Detail += ", because its last attempt put it off until then"
	case j.Failures+j.Infra > 0:
		c.Detail += fmt.Sprintf(", for its next try after %s: %s", failedTries(j), j.Error)
	}
	if !c.OK && now.After(j.DueAt) {
		c.Detail += ", which has passed"
		c.Fix = "an engine should make it ready: is a node with the role engine running?"
	}
	return c
}

// failedTries describes the failed attempts of a job.
func failedTries(j job.Job) string {
	text := fmt.Sprintf("%d failed", j.Failures)
	if j.Infra > 0 {
		text += fmt.Sprintf(" and %d were spoiled by the machine", j.Infra)
	}
	return text
}

// whyProgram looks for missing preconditions of a program.
func (s *Store) whyProgram(ctx context.Context, tx base.Tx, row jobs.JobRow, w *job.Why) error {
	tasks, err := s.tasks.TasksByID(ctx, tx, []int64{row.TaskID})
	if err != nil {
		return err
	}
	g := tasks[row.TaskID].Program
	if g == nil {
		return nil
	}
	uploaded := core.Check{Name: "its program is uploaded", OK: row.State != job.Waiting || row.Limited, Detail: "artifact " + g.SHA256,
		Fix: fmt.Sprintf("belfry program push FILE --name %s", row.Task)}
	if !uploaded.OK {
		uploaded.Detail = fmt.Sprintf("it waits for the upload of %s, %d bytes", g.SHA256, g.Size)
	}
	w.Checks = append(w.Checks, uploaded)
	if len(g.Secrets) == 0 {
		return nil
	}
	names := slices.Compact(slices.Sorted(maps.Values(g.Secrets)))
	there, err := base.Collect(ctx, tx, base.ScanString, `select name from belfry.secrets where namespace = $1 and `+s.SQL.In("name", 2), row.Namespace, s.SQL.List(names))
	if err != nil {
		return err
	}
	for _, name := range programs.Without(names, there) {
		w.Checks = append(w.Checks, core.Check{Name: "secret " + name + " is there", Detail: "its program wants it", Fix: "belfry secret set " + name})
	}
	return nil
}

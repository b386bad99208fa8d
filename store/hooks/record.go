package hooks

import (
	"slices"

	"github.com/belfry-run/belfry/alert"
	"github.com/belfry-run/belfry/hook"
	"github.com/belfry-run/belfry/job"
	"github.com/belfry-run/belfry/monitor"
	"github.com/belfry-run/belfry/schedule"
	"github.com/belfry-run/belfry/store/base"
	"github.com/belfry-run/belfry/store/jobs"
	"github.com/belfry-run/belfry/task"
)

// eventRow is an event in a batch.
type eventRow struct {
	Place  int64  `json:"place"`
	HookID int64  `json:"hook_id"`
	Type   string `json:"type"`
	Event  string `json:"event"`
}

// recordAtOnce bounds the bytes of the events in one statement, unless a single event has more. The events of a transition with
// 10,000 jobs and 50 hooks do not fit into one parameter.
const recordAtOnce = 4 << 20

// record writes events for the hooks that match them.
func (c *Change) record(b *book, events []hook.Event) error {
	var rows []eventRow
	size := 0
	for _, e := range events {
		text := ""
		for _, h := range b.of[e.Namespace] {
			if !h.Fits(e) {
				continue
			}
			if text == "" {
				text = base.Text(e)
			}
			if size += len(text); size > recordAtOnce && len(rows) > 0 {
				if err := c.write(rows); err != nil {
					return err
				}
				rows, size = rows[:0], len(text)
			}
			if h.Pull {
				c.Wake(pullTopic(h.ID))
			} else {
				c.Wake(topic)
			}
			rows = append(rows, eventRow{int64(len(rows)), h.ID, e.Type, text})
		}
	}
	if len(rows) == 0 {
		return nil
	}
	return c.write(rows)
}

func (c *Change) write(rows []eventRow) error {
	from, args := c.SQL.Table(2, "t", base.BatchOf(rows))
	_, err := c.Tx.Exec(c.Ctx, `
		insert into belfry.hook_events (hook_id, type, at, event)
		select t.hook_id, t.type, $1, t.event
		from `+from+`
		where true
		order by t.place`, append([]any{base.Micros(c.Now)}, args...)...)
	return err
}

// silent reports that hooks get no job events for a job: a check is reported by its monitor, and internal tasks not at all.
func silent(trigger schedule.Trigger, task string) bool {
	return trigger == job.TriggerCheck || base.Ours(task)
}

// JobsEnded records jobs whose attempts failed, or that ended without an attempt.
func (c *Change) JobsEnded(ends []jobs.Ending) error {
	all, err := c.allHooks()
	if err != nil || len(all.of) == 0 {
		return err
	}
	var events []hook.Event
	for _, e := range ends {
		if silent(e.Row.Trigger, e.Row.Task) || e.Settled.LeavesResult(e.Row.Job) {
			continue
		}
		switch {
		case e.Settled.State.Final():
		case e.Settled.Outcome == job.OutcomeError, e.Settled.Outcome == job.OutcomeTimeout, e.Settled.Outcome == job.OutcomeLost:
		default: // snoozed or handed back: no event
			continue
		}
		j, s := e.Row.Job, e.Settled
		j.State, j.Reason, j.Note, j.Error, j.Failures, j.DueAt = s.State, s.Reason, s.Note, s.Error, s.Failures, s.DueAt
		events = append(events, hook.OfJob(j, c.Now))
	}
	return c.record(all, events)
}

// JobsSucceeded records successful jobs, which this transaction has just moved to the finished ones.
func (c *Change) JobsSucceeded(done []base.Succeeded) error {
	all, err := c.allHooks()
	if err != nil || len(all.succeed) == 0 {
		return err
	}
	var ids []int64
	for i := range done {
		if done[i].Trigger != job.TriggerCheck {
			ids = append(ids, done[i].Ref.JobID)
		}
	}
	if len(ids) == 0 {
		return nil
	}
	slices.Sort(ids)
	rows, err := base.Collect(c.Ctx, c.Tx, jobs.ScanJob, selectSucceeded+`
		where finished_at = $2 and `+c.SQL.In("id", 1)+` and `+c.SQL.In("namespace", 3)+`
		order by id`, c.SQL.List(ids), base.Micros(c.Now), c.SQL.List(all.succeed))
	if err != nil {
		return err
	}
	events := make([]hook.Event, 0, len(rows))
	for _, j := range rows {
		if !silent(j.Trigger, j.Task) {
			events = append(events, hook.OfJob(j.Job, c.Now))
		}
	}
	return c.record(all, events)
}

// selectSucceeded is [jobs.SelectDone] without input and output, which may be large and are in no event.
const selectSucceeded = `
	select id, namespace, task_id, task, kind, queue, priority, state, reason, note, error, null, tags, trigger, schedule, schedule_id,
		generation, nominal, due_at, created_at, claimed_at, 0, cancel_at, attempt, failures, infra, snoozes, max_attempts, timeout,
		lease, session, active_key, idem_key, finished_at, null, 0, limited, 0
	from belfry.jobs_done`

var succeeded = []string{hook.TypeOf(task.KindFunc, job.Succeeded), hook.TypeOf(task.KindWorkflow, job.Succeeded), hook.TypeOf(task.KindCycle, job.Succeeded)}

// MonitorJudged records the conclusions about a monitor. Notifications of an incident opened by this judgement do not have its
// number yet.
func (c *Change) MonitorJudged(m monitor.Monitor, notifications []alert.Notification, incident int64) error {
	if len(notifications) == 0 {
		return nil
	}
	all, err := c.allHooks()
	if err != nil || len(all.of) == 0 {
		return err
	}
	var events []hook.Event
	for _, n := range notifications {
		n.Namespace, n.Monitor, n.Tags = m.Namespace, m.Name, m.Tags
		if n.Incident < 0 {
			n.Incident = incident
		}
		if e, is := hook.OfMonitor(n, c.Now); is {
			events = append(events, e)
		}
	}
	return c.record(all, events)
}

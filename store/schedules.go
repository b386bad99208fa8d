package store

import (
	"context"
	"encoding/json"
	"fmt"
	"time"

	"github.com/belfry-run/belfry/access"
	"github.com/belfry-run/belfry/core"
	"github.com/belfry-run/belfry/job"
	"github.com/belfry-run/belfry/schedule"
	"github.com/belfry-run/belfry/task"
)

// scheduleRow is a schedule with what only the store needs.
type scheduleRow struct {
	schedule.Schedule
	TaskID int64
}

const scheduleColumns = `s.id, s.namespace, s.name, s.task_id, s.doc, s.state, s.generation, s.next_at, s.high_water, s.finish_at, s.runs,
	s.paused_at, s.paused_by, s.paused_reason, s.created_at, s.updated_at`

func scanSchedule(rows Rows) (s scheduleRow, err error) {
	var r schedule.Schedule
	err = rows.Scan(&r.ID, &r.Namespace, &r.Name, &s.TaskID, scanDoc(&s.Schedule), &r.State, &r.Generation, scanTime(&r.NextAt),
		scanTime(&r.HighWater), scanTime(&r.FinishAt), &r.Runs, scanTime(&r.PausedAt), &r.PausedBy, &r.PausedReason,
		scanTime(&r.CreatedAt), scanTime(&r.UpdatedAt))
	d := &s.Schedule
	d.ID, d.Namespace, d.Name, d.State, d.Generation = r.ID, r.Namespace, r.Name, r.State, r.Generation
	d.NextAt, d.HighWater, d.FinishAt, d.Runs = r.NextAt, r.HighWater, r.FinishAt, r.Runs
	d.PausedAt, d.PausedBy, d.PausedReason, d.CreatedAt, d.UpdatedAt = r.PausedAt, r.PausedBy, r.PausedReason, r.CreatedAt, r.UpdatedAt
	return s, err
}

// scheduleDoc is the schedule as written, without its state.
func scheduleDoc(s schedule.Schedule) string {
	s.ID, s.State, s.Generation, s.Runs = 0, "", 0, 0
	s.PausedBy, s.PausedReason, s.NextRunAt = "", "", instant(0)
	s.PausedAt, s.NextAt, s.HighWater, s.FinishAt, s.CreatedAt, s.UpdatedAt = instant(0), instant(0), instant(0), instant(0), instant(0), instant(0)
	return text(s)
}

func noSchedule(namespace, name string) error {
	return core.Errorf(core.NotFound, "no schedule %q in namespace %q", name, namespace).
		WithHint("see: belfry schedule list")
}

// schedule reads one row; with lock, nobody else changes it before this
// transaction ends.
func (s *Store) schedule(ctx context.Context, tx Tx, namespace, name string, lock bool) (scheduleRow, error) {
	suffix := ""
	if lock {
		suffix = s.sql.ForUpdate("s")
	}
	row, found, err := first(ctx, tx, scanSchedule, `
		select `+scheduleColumns+`
		from belfry.schedules s
		where s.namespace = $1 and s.name = $2`+suffix, namespace, name)
	if err == nil && !found {
		err = noSchedule(namespace, name)
	}
	return row, err
}

// CreateSchedule saves a new schedule and plans its first run. One whose State
// is paused is saved paused, for its PausedReason, and plans it when it is resumed.
func (s *Store) CreateSchedule(ctx context.Context, sc schedule.Schedule) (out schedule.Schedule, err error) {
	if err := refuseOwned("schedule", sc.Name); err != nil {
		return out, err
	}
	sc = sc.WithDefaults()
	paused := sc.State == schedule.Paused
	if err := checkReason(sc.PausedReason); err != nil {
		return out, err
	}
	err = s.write(ctx, "create schedule", func(c *change) error {
		if out, err = c.insertSchedule(sc, paused); err != nil {
			return err
		}
		return s.nextRun(ctx, c.tx, &out)
	})
	return out, err
}

func (c *change) insertSchedule(sc schedule.Schedule, paused bool) (schedule.Schedule, error) {
	reason := sc.PausedReason
	sc.PausedAt, sc.PausedBy, sc.PausedReason = instant(0), "", ""
	if err := checkSchedule(sc, c.now); err != nil {
		return sc, err
	}
	task, err := c.taskOf(sc)
	if err != nil {
		return sc, err
	}
	ids, err := c.sql.NextIDs(c.ctx, c.tx, "definition", 1)
	if err != nil {
		return sc, err
	}
	sc.ID, sc.Generation, sc.State, sc.CreatedAt, sc.UpdatedAt = ids[0], 1, schedule.Active, c.now, c.now
	sc.HighWater, sc.FinishAt, sc.Runs = instant(0), instant(0), 0
	plan, err := c.s.planOf(c.ctx, c.tx, sc)
	if err != nil {
		return sc, err
	}
	begun(&sc, schedule.Begin(sc, plan, schedule.Facts{}, c.now))
	if paused && sc.State == schedule.Active {
		c.pause(&sc, reason)
	}
	n, err := c.tx.Exec(c.ctx, `
		insert into belfry.schedules (id, namespace, name, task_id, doc, state, generation, next_at, high_water, finish_at, runs,
			paused_at, paused_by, paused_reason, created_at, updated_at)
		values ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, 0, $12, $13, $14, $11, $11)
		on conflict (namespace, name) do nothing`,
		sc.ID, sc.Namespace, sc.Name, task.ID, scheduleDoc(sc), string(sc.State), sc.Generation,
		micros(sc.NextAt), micros(sc.HighWater), micros(sc.FinishAt), micros(c.now),
		micros(sc.PausedAt), sc.PausedBy, sc.PausedReason)
	if err != nil {
		return sc, err
	}
	if n == 0 {
		return sc, core.Errorf(core.Conflict, "there is a schedule %q in namespace %q already", sc.Name, sc.Namespace).
			WithHint("update it, or choose another name")
	}
	c.wakeAt(sc.NextAt)
	return sc, c.audit("create", "schedule", sc.Namespace, sc.Name, sc.PausedReason, nil, sc)
}

// checkSchedule says what is wrong with a schedule. The name of one that belongs
// to a monitor is not one that a person may give.
func checkSchedule(sc schedule.Schedule, now time.Time) error {
	if _, owned := task.OwnerOf(sc.Name); owned {
		sc.Name, sc.Task = "owned", "owned"
	}
	return sc.Validate(now)
}

// begun takes over the state that a decision gave.
func begun(sc *schedule.Schedule, f schedule.Firing) {
	sc.State, sc.NextAt, sc.HighWater, sc.FinishAt, sc.Runs = f.State, f.NextAt, f.HighWater, f.FinishAt, f.Runs
}

// taskOf locks what a schedule refers to: its task, and its calendars.
func (c *change) taskOf(sc schedule.Schedule) (task.Task, error) {
	if err := lockCalendars(c, sc.Namespace, sc.Calendars()...); err != nil {
		return task.Task{}, err
	}
	t, err := c.lockTask(sc.Namespace, sc.Task) // a task that is being deleted is waited for
	if core.CodeOf(err) == core.NotFound {
		return t, noTaskOf(sc)
	}
	return t, err
}

func noTaskOf(sc schedule.Schedule) error {
	return core.InvalidField("task", sc.Task, "is not a task in namespace "+sc.Namespace, "create it first, or apply both in one file")
}

// UpdateSchedule replaces a schedule. What is due under the old rules fires
// first; nothing from before now fires under the new ones. An edit that keeps
// the times keeps the cadence and the jobs that wait.
func (s *Store) UpdateSchedule(ctx context.Context, sc schedule.Schedule) (out schedule.Schedule, err error) {
	if err := refuseOwned("schedule", sc.Name); err != nil {
		return out, err
	}
	sc = sc.WithDefaults()
	err = s.write(ctx, "update schedule", func(c *change) error {
		if out, err = c.updateSchedule(sc); err != nil {
			return err
		}
		return s.nextRun(ctx, c.tx, &out)
	})
	return out, err
}

func (c *change) updateSchedule(sc schedule.Schedule) (schedule.Schedule, error) {
	old, err := c.s.schedule(c.ctx, c.tx, sc.Namespace, sc.Name, true)
	if err != nil {
		return sc, err
	}
	if scheduleDoc(old.Schedule) == scheduleDoc(sc) {
		return old.Schedule, nil
	}
	if _, owned := task.OwnerOf(sc.Name); !owned { // else it is the monitor that is edited
		if err := c.expect("schedule", sc.Name, old.Version(), old.UpdatedAt); err != nil {
			return sc, err
		}
	}
	if err := checkSchedule(sc, c.asOf(sc, old.Schedule)); err != nil {
		return sc, err
	}
	task, err := c.taskOf(sc)
	if err != nil {
		return sc, err
	}
	if old, err = c.fireOne(old); err != nil {
		return sc, err
	}
	before := old.Schedule
	retimed := !sc.SameTimes(before)
	sc.ID, sc.State, sc.Generation, sc.CreatedAt, sc.UpdatedAt = before.ID, before.State, before.Generation, before.CreatedAt, c.now
	sc.PausedAt, sc.PausedBy, sc.PausedReason = before.PausedAt, before.PausedBy, before.PausedReason
	sc.NextAt, sc.HighWater, sc.FinishAt, sc.Runs = before.NextAt, before.HighWater, before.FinishAt, before.Runs
	if retimed {
		sc.Generation++
	}
	if _, err := c.tx.Exec(c.ctx, `
		update belfry.schedules
		set task_id = $2, doc = $3, generation = $4, updated_at = $5
		where id = $1`, sc.ID, task.ID, scheduleDoc(sc), sc.Generation, micros(c.now)); err != nil {
		return sc, err
	}
	row := scheduleRow{sc, task.ID}
	if retimed && before.State == schedule.Paused {
		if err := c.recordPause(old); err != nil {
			return sc, err
		}
	}
	if retimed {
		if err := c.withdrawOf(row, schedule.ReasonEdited, "the times of the schedule were edited"); err != nil {
			return sc, err
		}
	}
	decide := schedule.Ended
	if retimed || before.State == schedule.Completed { // it may have runs again, by max_runs
		decide = schedule.Begin
	}
	out, err := c.decideOne(row, decide)
	if err != nil {
		return sc, err
	}
	return out, c.audit("update", "schedule", sc.Namespace, sc.Name, "", before, out)
}

// asOf is the instant to judge an edit by. One that keeps the times is not
// refused because they have passed.
func (c *change) asOf(sc, old schedule.Schedule) time.Time {
	if sc.SameTimes(old) {
		return instant(0)
	}
	return c.now
}

// recordPause writes what a paused schedule did not run before its times were
// edited. Nobody could say it afterwards.
func (c *change) recordPause(row scheduleRow) error {
	plan, err := c.s.planOf(c.ctx, c.tx, row.Schedule)
	if err != nil {
		return err
	}
	f := schedule.Resume(row.Schedule, plan, schedule.Facts{}, c.now, false)
	_, err = c.writeOccurrences([]decided{{row: row, out: schedule.Firing{Occurrences: f.Occurrences}}})
	return err
}

// decideOne asks the root about one schedule and writes the answer.
func (c *change) decideOne(row scheduleRow, decide func(schedule.Schedule, schedule.Plan, schedule.Facts, time.Time) schedule.Firing) (schedule.Schedule, error) {
	facts, err := c.facts([]scheduleRow{row})
	if err != nil {
		return row.Schedule, err
	}
	plan, err := c.s.planOf(c.ctx, c.tx, row.Schedule)
	if err != nil {
		return row.Schedule, err
	}
	f := decide(row.Schedule, plan, facts[row.ID], c.now)
	err = c.applyFirings([]decided{{row: row, out: f}})
	begun(&row.Schedule, f)
	if err == nil && len(f.Cancel) > 0 { // the end of a job that had not started led to more
		row, err = c.s.schedule(c.ctx, c.tx, row.Namespace, row.Name, false)
	}
	return row.Schedule, err
}

// fireOne fires what is due of one schedule that this transaction has locked.
func (c *change) fireOne(row scheduleRow) (scheduleRow, error) {
	if row.NextAt.IsZero() || row.NextAt.After(c.now) {
		return row, nil
	}
	var err error
	row.Schedule, err = c.decideOne(row, schedule.Fire)
	return row, err
}

// DeleteSchedule removes a schedule. Its jobs that have not started are
// withdrawn; what runs goes on. Its history stays until retention ends.
func (s *Store) DeleteSchedule(ctx context.Context, namespace, name string) error {
	if err := refuseOwned("schedule", name); err != nil {
		return err
	}
	return s.write(ctx, "delete schedule", func(c *change) error {
		row, err := s.schedule(ctx, c.tx, namespace, name, true)
		if err == nil {
			err = c.expect("schedule", name, row.Version(), row.UpdatedAt)
		}
		if err != nil {
			return err
		}
		return c.deleteSchedule(row)
	})
}

func (c *change) deleteSchedule(row scheduleRow) error {
	if _, err := c.tx.Exec(c.ctx, `delete from belfry.schedules where id = $1`, row.ID); err != nil {
		return err
	}
	if err := c.withdrawOf(row, schedule.ReasonDeleted, "schedule "+row.Name+" deleted"); err != nil {
		return err
	}
	return c.audit("delete", "schedule", row.Namespace, row.Name, "", row.Schedule, nil)
}

// PauseSchedule stops a schedule from firing and withdraws its jobs that have
// not started. Pausing what is paused changes nothing.
func (s *Store) PauseSchedule(ctx context.Context, namespace, name, reason string) (out schedule.Schedule, err error) {
	if err := refuseOwned("schedule", name); err != nil {
		return out, err
	}
	if err := checkReason(reason); err != nil {
		return out, err
	}
	err = s.write(ctx, "pause schedule", func(c *change) error {
		if out, err = c.pauseSchedule(namespace, name, reason); err != nil {
			return err
		}
		return s.nextRun(ctx, c.tx, &out)
	})
	return out, err
}

func (c *change) pauseSchedule(namespace, name, reason string) (out schedule.Schedule, err error) {
	row, err := c.s.schedule(c.ctx, c.tx, namespace, name, true)
	if err != nil {
		return out, err
	}
	if row, err = c.fireOne(row); err != nil {
		return out, err
	}
	switch row.State {
	case schedule.Paused:
		return row.Schedule, nil
	case schedule.Completed:
		return out, core.Errorf(core.Conflict, "schedule %q is completed and no longer runs", name)
	}
	before := row.Schedule
	c.pause(&row.Schedule, reason)
	row.Generation++
	if err := c.savePause(row.Schedule); err != nil {
		return out, err
	}
	if err := c.withdrawOf(row, schedule.ReasonPaused, "schedule paused: "+reason); err != nil {
		return out, err
	}
	return row.Schedule, c.audit("pause", "schedule", namespace, name, reason, before, row.Schedule)
}

// pause stops a schedule at now: no nominal time up to now is ever fired.
func (c *change) pause(sc *schedule.Schedule, reason string) {
	sc.State, sc.PausedAt, sc.PausedBy, sc.PausedReason = schedule.Paused, c.now, access.ActorOf(c.ctx), reason
	sc.NextAt, sc.HighWater = instant(0), laterOf(sc.HighWater, c.now)
}

// checkReason says what is wrong with the reason of a pause.
func checkReason(reason string) error {
	if len(reason) > core.MaxDescription {
		return core.InvalidField("reason", "", fmt.Sprintf("has more than %d bytes", core.MaxDescription), "")
	}
	return nil
}

func laterOf(a, b time.Time) time.Time {
	if a.After(b) {
		return a
	}
	return b
}

func (c *change) savePause(sc schedule.Schedule) error {
	_, err := c.tx.Exec(c.ctx, `
		update belfry.schedules
		set state = $2, generation = $3, next_at = $4, high_water = $5, paused_at = $6, paused_by = $7, paused_reason = $8
		where id = $1`, sc.ID, string(sc.State), sc.Generation, micros(sc.NextAt), micros(sc.HighWater),
		micros(sc.PausedAt), sc.PausedBy, sc.PausedReason)
	return err
}

// ResumeSchedule takes up a paused schedule. What would have run meanwhile is
// recorded as skipped, or made up for by the schedule's catch-up if asked.
// Resuming what is not paused changes nothing.
func (s *Store) ResumeSchedule(ctx context.Context, namespace, name string, catchUp bool) (out schedule.Schedule, err error) {
	if err := refuseOwned("schedule", name); err != nil {
		return out, err
	}
	err = s.write(ctx, "resume schedule", func(c *change) error {
		if out, err = c.resumeSchedule(namespace, name, catchUp); err != nil {
			return err
		}
		return s.nextRun(ctx, c.tx, &out)
	})
	return out, err
}

func (c *change) resumeSchedule(namespace, name string, catchUp bool) (out schedule.Schedule, err error) {
	row, err := c.s.schedule(c.ctx, c.tx, namespace, name, true)
	if err != nil {
		return out, err
	}
	if row.State != schedule.Paused {
		return row.Schedule, nil
	}
	before := row.Schedule
	row.State, row.PausedAt, row.PausedBy, row.PausedReason = schedule.Active, instant(0), "", ""
	if err := c.savePause(row.Schedule); err != nil {
		return out, err
	}
	out, err = c.decideOne(row, func(sc schedule.Schedule, plan schedule.Plan, f schedule.Facts, now time.Time) schedule.Firing {
		return schedule.Resume(sc, plan, f, now, catchUp)
	})
	if err != nil {
		return out, err
	}
	return out, c.audit("resume", "schedule", namespace, name, "", before, out)
}

// TriggerSchedule makes a job of the schedule now, beside its plan and
// whatever else runs.
func (s *Store) TriggerSchedule(ctx context.Context, namespace, name string, input json.RawMessage) (j job.Job, err error) {
	if err := refuseOwned("schedule", name); err != nil {
		return j, err
	}
	err = s.write(ctx, "trigger schedule", func(c *change) error {
		row, err := s.schedule(ctx, c.tx, namespace, name, false)
		if err != nil {
			return err
		}
		n := job.NewJob{Namespace: namespace, Task: row.Task, Input: input}
		if len(input) == 0 {
			n.Input = row.Input
		}
		ins, err := c.prepare([]job.NewJob{n})
		if err != nil {
			return err
		}
		ins[0].Trigger, ins[0].Schedule, ins[0].ScheduleID, ins[0].Generation = job.TriggerManual, row.Name, row.ID, row.Generation
		j = ins[0].Job
		if err := c.oneRun([]*insertion{&ins[0]}); err != nil {
			return err
		}
		if err := c.insertJobs([]*insertion{&ins[0]}); err != nil {
			return err
		}
		return c.audit("trigger", "schedule", namespace, name, fmt.Sprintf("job %d", j.ID), nil, nil)
	})
	return j, err
}

// Schedule is one schedule.
func (s *Store) Schedule(ctx context.Context, namespace, name string) (sc schedule.Schedule, err error) {
	err = s.db.Read(ctx, func(tx Tx) error {
		row, err := s.schedule(ctx, tx, namespace, name, false)
		if err != nil {
			return err
		}
		sc = row.Schedule
		return s.nextRun(ctx, tx, &sc)
	})
	return sc, err
}

func (s *Store) initSchedules() {
	s.plans = newPlans()
	s.onClockSet(s.due.drain)
}

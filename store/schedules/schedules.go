package schedules

import (
	"context"
	"fmt"
	"time"

	"github.com/belfry-run/belfry/access"
	"github.com/belfry-run/belfry/core"
	"github.com/belfry-run/belfry/core/title"
	"github.com/belfry-run/belfry/hook"
	"github.com/belfry-run/belfry/job"
	"github.com/belfry-run/belfry/schedule"
	"github.com/belfry-run/belfry/store/base"
	"github.com/belfry-run/belfry/task"
)

// ScheduleRow is a schedule with the fields that only the store needs.
type ScheduleRow struct {
	schedule.Schedule
	TaskID int64
}

// ScheduleColumns are the columns that [ScanSchedule] reads, in its order. The table has the alias s.
const ScheduleColumns = `s.id, s.namespace, s.name, s.task_id, s.doc, s.state, s.generation, s.next_at, s.high_water, s.finish_at, s.runs,
	s.paused_at, s.paused_by, s.paused_reason, s.created_at, s.updated_at`

// ScanSchedule reads one row of [ScheduleColumns].
func ScanSchedule(rows base.Rows) (s ScheduleRow, err error) {
	var r schedule.Schedule
	err = rows.Scan(&r.ID, &r.Namespace, &r.Name, &s.TaskID, base.ScanDoc(&s.Schedule), &r.State, &r.Generation, base.ScanTime(&r.NextAt),
		base.ScanTime(&r.HighWater), base.ScanTime(&r.FinishAt), &r.Runs, base.ScanTime(&r.PausedAt), &r.PausedBy, &r.PausedReason,
		base.ScanTime(&r.CreatedAt), base.ScanTime(&r.UpdatedAt))
	d := &s.Schedule
	d.ID, d.Namespace, d.Name, d.State, d.Generation = r.ID, r.Namespace, r.Name, r.State, r.Generation
	d.NextAt, d.HighWater, d.FinishAt, d.Runs = r.NextAt, r.HighWater, r.FinishAt, r.Runs
	d.PausedAt, d.PausedBy, d.PausedReason, d.CreatedAt, d.UpdatedAt = r.PausedAt, r.PausedBy, r.PausedReason, r.CreatedAt, r.UpdatedAt
	return s, err
}

// ScheduleDoc returns the schedule as written, without its state.
func ScheduleDoc(s schedule.Schedule) string {
	s.ID, s.State, s.Generation, s.Runs = 0, "", 0, 0
	s.PausedBy, s.PausedReason, s.NextRunAt = "", "", base.Instant(0)
	s.PausedAt, s.NextAt, s.HighWater, s.FinishAt, s.CreatedAt, s.UpdatedAt = base.Instant(0), base.Instant(0), base.Instant(0), base.Instant(0), base.Instant(0), base.Instant(0)
	return base.Text(s)
}

func noSchedule(namespace, name string) error {
	return core.Errorf(core.NotFound, "no schedule %q in namespace %q", name, namespace).
		WithHint("see: belfry schedule list")
}

// ReadSchedule reads one row. With lock, no other transaction changes the row before this transaction ends.
func (s *Store) ReadSchedule(ctx context.Context, tx base.Tx, namespace, name string, lock bool) (ScheduleRow, error) {
	suffix := ""
	if lock {
		suffix = s.SQL.ForUpdate("s")
	}
	row, found, err := base.First(ctx, tx, ScanSchedule, `
		select `+ScheduleColumns+`
		from belfry.schedules s
		where s.namespace = $1 and s.name = $2`+suffix, namespace, name)
	if err == nil && !found {
		err = noSchedule(namespace, name)
	}
	return row, err
}

// CreateSchedule saves a new schedule and plans its first run. If its State is paused, it is saved paused with its
// PausedReason, and its runs are planned when it is resumed.
func (s *Store) CreateSchedule(ctx context.Context, sc schedule.Schedule) (out schedule.Schedule, err error) {
	if err := base.RefuseOwned("schedule", sc.Name); err != nil {
		return out, err
	}
	sc = sc.WithDefaults()
	paused := sc.State == schedule.Paused
	if err := checkReason(sc.PausedReason); err != nil {
		return out, err
	}
	err = s.write(ctx, "create schedule", func(c *Change) error {
		if out, err = c.InsertSchedule(sc, paused); err != nil {
			return err
		}
		return s.nextRun(ctx, c.Tx, &out)
	})
	return out, err
}

// InsertSchedule creates a schedule, active or paused, with its first time after now. It fails with [core.Invalid] if its task
// is missing.
func (c *Change) InsertSchedule(sc schedule.Schedule, paused bool) (schedule.Schedule, error) {
	reason := sc.PausedReason
	sc.PausedAt, sc.PausedBy, sc.PausedReason = base.Instant(0), "", ""
	if err := CheckSchedule(sc, c.Now); err != nil {
		return sc, err
	}
	task, err := c.taskOf(sc)
	if err != nil {
		return sc, err
	}
	ids, err := c.SQL.NextIDs(c.Ctx, c.Tx, "definition", 1)
	if err != nil {
		return sc, err
	}
	sc.ID, sc.Generation, sc.State, sc.CreatedAt, sc.UpdatedAt = ids[0], 1, schedule.Active, c.Now, c.Now
	sc.HighWater, sc.FinishAt, sc.Runs = base.Instant(0), base.Instant(0), 0
	plan, err := c.s.PlanOf(c.Ctx, c.Tx, sc)
	if err != nil {
		return sc, err
	}
	Begun(&sc, schedule.Begin(sc, plan, schedule.Facts{}, c.Now))
	if paused && sc.State == schedule.Active {
		c.pause(&sc, reason)
	}
	n, err := c.Tx.Exec(c.Ctx, `
		insert into belfry.schedules (id, namespace, name, task_id, doc, state, generation, next_at, high_water, finish_at, runs,
			paused_at, paused_by, paused_reason, created_at, updated_at, title, sought)
		values ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, 0, $12, $13, $14, $11, $11, $15, $16)
		on conflict (namespace, name) do nothing`,
		sc.ID, sc.Namespace, sc.Name, task.ID, ScheduleDoc(sc), string(sc.State), sc.Generation,
		base.Micros(sc.NextAt), base.Micros(sc.HighWater), base.Micros(sc.FinishAt), base.Micros(c.Now),
		base.Micros(sc.PausedAt), sc.PausedBy, sc.PausedReason, sc.Title, title.Fold(sc.Title))
	if err != nil {
		return sc, err
	}
	if n == 0 {
		return sc, core.Errorf(core.Conflict, "there is a schedule %q in namespace %q already", sc.Name, sc.Namespace).
			WithHint("update it, or choose another name")
	}
	c.wakeAt(sc.NextAt)
	return sc, c.Audit("create", "schedule", sc.Namespace, sc.Name, sc.PausedReason, nil, sc)
}

// CheckSchedule validates a schedule. The name of a schedule that belongs to a monitor is reserved, so it is not checked.
func CheckSchedule(sc schedule.Schedule, now time.Time) error {
	if _, owned := task.OwnerOf(sc.Name); owned {
		sc.Name, sc.Task = "owned", "owned"
	}
	return sc.Validate(now)
}

// Begun copies the state of a decision to a schedule.
func Begun(sc *schedule.Schedule, f schedule.Firing) {
	sc.State, sc.NextAt, sc.HighWater, sc.FinishAt, sc.Runs = f.State, f.NextAt, f.HighWater, f.FinishAt, f.Runs
}

// taskOf locks the task and the calendars that a schedule refers to.
func (c *Change) taskOf(sc schedule.Schedule) (task.Task, error) {
	if err := LockCalendars(c.Change, sc.Namespace, sc.Calendars()...); err != nil {
		return task.Task{}, err
	}
	t, err := c.tasks().LockTask(sc.Namespace, sc.Task) // waits for a task that is being deleted
	if core.CodeOf(err) == core.NotFound || task.IsTrial(sc.Task) {
		return t, NoTaskOf(sc)
	}
	return t, err
}

// NoTaskOf is the error of a schedule whose task does not exist.
func NoTaskOf(sc schedule.Schedule) error {
	return core.InvalidField("task", sc.Task, "is not a task in namespace "+sc.Namespace, "create it first, or apply both in one file")
}

// UpdateSchedule replaces a schedule. Runs that are due under the old rules fire first. The new rules fire no nominal time
// before now. An edit that keeps the times also keeps the cadence and the waiting jobs.
func (s *Store) UpdateSchedule(ctx context.Context, sc schedule.Schedule) (out schedule.Schedule, err error) {
	if err := base.RefuseOwned("schedule", sc.Name); err != nil {
		return out, err
	}
	sc = sc.WithDefaults()
	err = s.write(ctx, "update schedule", func(c *Change) error {
		if out, err = c.UpdateSchedule(sc); err != nil {
			return err
		}
		return s.nextRun(ctx, c.Tx, &out)
	})
	return out, err
}

// UpdateSchedule is [Store.UpdateSchedule] in this transaction. An unchanged definition writes nothing.
func (c *Change) UpdateSchedule(sc schedule.Schedule) (schedule.Schedule, error) {
	old, err := c.s.ReadSchedule(c.Ctx, c.Tx, sc.Namespace, sc.Name, true)
	if err != nil {
		return sc, err
	}
	if ScheduleDoc(old.Schedule) == ScheduleDoc(sc) {
		return old.Schedule, nil
	}
	if _, owned := task.OwnerOf(sc.Name); !owned { // otherwise the edit is one of the monitor
		if err := c.Expect("schedule", sc.Name, old.Version(), old.UpdatedAt); err != nil {
			return sc, err
		}
	}
	if sc.Generation > old.Generation { // an older one is of before a pause, which is no edit
		return sc, core.Errorf(core.Conflict, "schedule %q has generation %d, and your edit is of generation %d", sc.Name, old.Generation, sc.Generation).
			WithHint("read it again, and make your change there, or leave generation out")
	}
	if err := CheckSchedule(sc, c.asOf(sc, old.Schedule)); err != nil {
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
	sc.ID, sc.State, sc.Generation, sc.CreatedAt, sc.UpdatedAt = before.ID, before.State, before.Generation, before.CreatedAt, c.Now
	sc.PausedAt, sc.PausedBy, sc.PausedReason = before.PausedAt, before.PausedBy, before.PausedReason
	sc.NextAt, sc.HighWater, sc.FinishAt, sc.Runs = before.NextAt, before.HighWater, before.FinishAt, before.Runs
	if retimed {
		sc.Generation++
	}
	if _, err := c.Tx.Exec(c.Ctx, `
		update belfry.schedules
		set task_id = $2, doc = $3, generation = $4, updated_at = $5, title = $6, sought = $7
		where id = $1`, sc.ID, task.ID, ScheduleDoc(sc), sc.Generation, base.Micros(c.Now), sc.Title, title.Fold(sc.Title)); err != nil {
		return sc, err
	}
	row := ScheduleRow{sc, task.ID}
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
	if before.State == schedule.Completed && out.State == schedule.Active {
		if err := c.s.Hooks.Changed(c, out, hook.ScheduleResumed); err != nil {
			return sc, err
		}
	}
	return out, c.Audit("update", "schedule", sc.Namespace, sc.Name, "", before, out)
}

// asOf returns the instant by which an edit is validated. An edit that keeps the times is not rejected because they have
// passed.
func (c *Change) asOf(sc, old schedule.Schedule) time.Time {
	if sc.SameTimes(old) {
		return base.Instant(0)
	}
	return c.Now
}

// recordPause writes the runs that a paused schedule left out, before its times are edited. After the edit they could no longer
// be computed.
func (c *Change) recordPause(row ScheduleRow) error {
	plan, err := c.s.PlanOf(c.Ctx, c.Tx, row.Schedule)
	if err != nil {
		return err
	}
	f := schedule.Resume(row.Schedule, plan, schedule.Facts{}, c.Now, false)
	_, err = c.writeOccurrences([]Decided{{Row: row, Out: schedule.Firing{Occurrences: f.Occurrences}}})
	return err
}

// decideOne decides about one schedule with package schedule and writes the decision.
func (c *Change) decideOne(row ScheduleRow, decide func(schedule.Schedule, schedule.Plan, schedule.Facts, time.Time) schedule.Firing) (schedule.Schedule, error) {
	facts, err := c.Facts([]ScheduleRow{row})
	if err != nil {
		return row.Schedule, err
	}
	plan, err := c.s.PlanOf(c.Ctx, c.Tx, row.Schedule)
	if err != nil {
		return row.Schedule, err
	}
	f := decide(row.Schedule, plan, facts[row.ID], c.Now)
	err = c.applyFirings([]Decided{{Row: row, Out: f}})
	Begun(&row.Schedule, f)
	if err == nil && len(f.Cancel) > 0 { // the end of a job that had not started led to more decisions
		row, err = c.s.ReadSchedule(c.Ctx, c.Tx, row.Namespace, row.Name, false)
	}
	return row.Schedule, err
}

// fireOne fires the due runs of one schedule that this transaction has locked.
func (c *Change) fireOne(row ScheduleRow) (ScheduleRow, error) {
	if row.NextAt.IsZero() || row.NextAt.After(c.Now) {
		return row, nil
	}
	var err error
	row.Schedule, err = c.decideOne(row, schedule.Fire)
	return row, err
}

// DeleteSchedule removes a schedule. Its jobs that have not started are withdrawn. Running jobs continue. Its history stays
// until retention removes it.
func (s *Store) DeleteSchedule(ctx context.Context, namespace, name string) error {
	if err := base.RefuseOwned("schedule", name); err != nil {
		return err
	}
	return s.write(ctx, "delete schedule", func(c *Change) error {
		row, err := s.ReadSchedule(ctx, c.Tx, namespace, name, true)
		if err == nil {
			err = c.Expect("schedule", name, row.Version(), row.UpdatedAt)
		}
		if err != nil {
			return err
		}
		return c.DeleteSchedule(row)
	})
}

// DeleteSchedule deletes a schedule and withdraws its waiting jobs. Running jobs go on.
func (c *Change) DeleteSchedule(row ScheduleRow) error {
	if _, err := c.Tx.Exec(c.Ctx, `delete from belfry.schedules where id = $1`, row.ID); err != nil {
		return err
	}
	if err := c.withdrawOf(row, schedule.ReasonDeleted, "schedule "+row.Name+" deleted"); err != nil {
		return err
	}
	return c.Audit("delete", "schedule", row.Namespace, row.Name, "", row.Schedule, nil)
}

// PauseSchedule stops a schedule from firing and withdraws its jobs that have not started. Pausing a paused schedule changes
// nothing.
func (s *Store) PauseSchedule(ctx context.Context, namespace, name, reason string) (out schedule.Schedule, err error) {
	if err := base.RefuseOwned("schedule", name); err != nil {
		return out, err
	}
	if err := checkReason(reason); err != nil {
		return out, err
	}
	err = s.write(ctx, "pause schedule", func(c *Change) error {
		if out, err = c.PauseSchedule(namespace, name, reason); err != nil {
			return err
		}
		return s.nextRun(ctx, c.Tx, &out)
	})
	return out, err
}

// PauseSchedule fires what is due, and then pauses the schedule. Waiting jobs are withdrawn.
func (c *Change) PauseSchedule(namespace, name, reason string) (out schedule.Schedule, err error) {
	row, err := c.s.ReadSchedule(c.Ctx, c.Tx, namespace, name, true)
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
	if err := c.s.Hooks.Changed(c, row.Schedule, hook.SchedulePaused); err != nil {
		return out, err
	}
	return row.Schedule, c.Audit("pause", "schedule", namespace, name, reason, before, row.Schedule)
}

// pause stops a schedule at now: no nominal time up to now is ever fired.
func (c *Change) pause(sc *schedule.Schedule, reason string) {
	sc.State, sc.PausedAt, sc.PausedBy, sc.PausedReason = schedule.Paused, c.Now, access.ActorOf(c.Ctx), reason
	sc.NextAt, sc.HighWater = base.Instant(0), base.LaterOf(sc.HighWater, c.Now)
}

// checkReason validates the reason of a pause.
func checkReason(reason string) error {
	if len(reason) > core.MaxDescription {
		return core.InvalidField("reason", "", fmt.Sprintf("has more than %d bytes", core.MaxDescription), "")
	}
	return nil
}

func (c *Change) savePause(sc schedule.Schedule) error {
	_, err := c.Tx.Exec(c.Ctx, `
		update belfry.schedules
		set state = $2, generation = $3, next_at = $4, high_water = $5, paused_at = $6, paused_by = $7, paused_reason = $8
		where id = $1`, sc.ID, string(sc.State), sc.Generation, base.Micros(sc.NextAt), base.Micros(sc.HighWater),
		base.Micros(sc.PausedAt), sc.PausedBy, sc.PausedReason)
	return err
}

// ResumeSchedule resumes a paused schedule. Runs that were left out meanwhile are recorded as skipped, or caught up by the
// catch-up policy if catchUp is set. Resuming a schedule that is not paused changes nothing.
func (s *Store) ResumeSchedule(ctx context.Context, namespace, name string, catchUp bool) (out schedule.Schedule, err error) {
	if err := base.RefuseOwned("schedule", name); err != nil {
		return out, err
	}
	err = s.write(ctx, "resume schedule", func(c *Change) error {
		if out, err = c.ResumeSchedule(namespace, name, catchUp); err != nil {
			return err
		}
		return s.nextRun(ctx, c.Tx, &out)
	})
	return out, err
}

// ResumeSchedule ends a pause. With catchUp, the times of the pause count as missed; otherwise they are passed over.
func (c *Change) ResumeSchedule(namespace, name string, catchUp bool) (out schedule.Schedule, err error) {
	row, err := c.s.ReadSchedule(c.Ctx, c.Tx, namespace, name, true)
	if err != nil {
		return out, err
	}
	if row.State != schedule.Paused {
		return row.Schedule, nil
	}
	if row.FarAhead(c.Now) {
		if err := c.forgetSkipped(row.ID); err != nil {
			return out, err
		}
	}
	before := row.Schedule
	row.State, row.PausedAt, row.PausedBy, row.PausedReason = schedule.Active, base.Instant(0), "", ""
	if err := c.savePause(row.Schedule); err != nil {
		return out, err
	}
	if err := c.s.Hooks.Changed(c, row.Schedule, hook.ScheduleResumed); err != nil { // the following decision may complete it
		return out, err
	}
	out, err = c.decideOne(row, func(sc schedule.Schedule, plan schedule.Plan, f schedule.Facts, now time.Time) schedule.Firing {
		return schedule.Resume(sc, plan, f, now, catchUp)
	})
	if err != nil {
		return out, err
	}
	return out, c.Audit("resume", "schedule", namespace, name, "", before, out)
}

// forgetSkipped removes the rows of times to come that were skipped by a clock that was ahead: those times can run. The rows of
// times that ran stay.
func (c *Change) forgetSkipped(id int64) error {
	_, err := c.Tx.Exec(c.Ctx, `delete from belfry.occurrences where schedule_id = $1 and nominal > $2 and decision = 'skipped'`, id, base.Micros(c.Now))
	return err
}

// TriggerSchedule creates a job of the schedule now, independent of its plan and of other runs.
func (s *Store) TriggerSchedule(ctx context.Context, namespace, name string, r job.RunNow) (e job.Enqueued, err error) {
	if err := base.RefuseOwned("schedule", name); err != nil {
		return e, err
	}
	err = s.write(ctx, "trigger schedule", func(c *Change) error {
		row, err := s.ReadSchedule(ctx, c.Tx, namespace, name, false)
		if err != nil {
			return err
		}
		if e, err = c.jobs().EnqueueOf(row.Schedule, r); err != nil || e.Existing {
			return err
		}
		return c.Audit("trigger", "schedule", namespace, name, fmt.Sprintf("job %d", e.Job.ID), nil, nil)
	})
	return e, err
}

// Schedule returns one schedule.
func (s *Store) Schedule(ctx context.Context, namespace, name string) (sc schedule.Schedule, err error) {
	err = s.DB().Read(ctx, func(tx base.Tx) error {
		row, err := s.ReadSchedule(ctx, tx, namespace, name, false)
		if err != nil {
			return err
		}
		sc = row.Schedule
		return s.nextRun(ctx, tx, &sc)
	})
	return sc, err
}

func (s *Store) setUp() {
	s.plans = newPlans()
	s.OnClockSet(s.Due.Drain)
}

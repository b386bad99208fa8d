package cycles

import (
	"context"
	"fmt"
	"slices"
	"time"

	"github.com/belfry-run/belfry/core"
	"github.com/belfry-run/belfry/cycle"
	"github.com/belfry-run/belfry/job"
	"github.com/belfry-run/belfry/schedule"
	"github.com/belfry-run/belfry/store/base"
	"github.com/belfry-run/belfry/store/jobs"
	"github.com/belfry-run/belfry/store/locks"
	"github.com/belfry-run/belfry/task"
)

// cycleBatch bounds the cycles that begin in one transaction.
const cycleBatch = 50

// readyCycles is the condition of cycle jobs whose runs may begin.
const readyCycles = `kind = 'cycle' and state = 'ready' and queue not in (select name from belfry.queues where paused_at > 0)
	and (trigger <> 'cycle' or task_id not in (select r.task_id from belfry.cycle_runs r))`

// StartCycles begins the cycles whose jobs are ready. It returns when the next run in progress exceeds its timeout, for
// [Store.EndLateCycles]. A cycle has one run at a time: a second run is skipped, whatever its schedule. As a member of another
// cycle it waits instead. Every node may call it at the same time. From then on the job of a cycle waits for its members: no
// worker holds it, and no process keeps state of it.
func (s *Store) StartCycles(ctx context.Context) (out job.Promoted, err error) {
	err = s.write(ctx, "start cycles", func(c *Change) error {
		out = job.Promoted{Now: c.Now}
		rows, err := base.CollectInto(ctx, c.Tx, nil, jobs.ScanReady(nil), jobs.SelectReady+`
			where `+readyCycles+`
			order by ready_at, id
			limit $1 + 0`+s.SQL.SkipLocked("jobs"), cycleBatch)
		if err != nil {
			return err
		}
		deadline, _, err := base.First(ctx, c.Tx, base.ScanInt, `select deadline_at from belfry.cycle_runs order by deadline_at limit 1`)
		out.NextAt = base.Instant(deadline)
		if out.Jobs = len(rows); err == nil && out.Jobs == 0 {
			out.NextAt, err = locks.SoonIfHeld(c.Change, `select id from belfry.jobs where `+readyCycles, out.NextAt)
		}
		if err != nil || out.Jobs == 0 {
			return err
		}
		engine := job.WorkerState{WorkerInfo: job.WorkerInfo{Kinds: []task.Kind{task.KindCycle}}}
		if rows, err = c.s.jobs.Hooks.CatchUp(c.jobs(), engine, rows, func([]jobs.JobRow) error { return nil }); err != nil {
			return err
		}
		if err := locks.Cycles(c.Change); err != nil {
			return err
		}
		for _, j := range rows {
			if err := c.startCycle(j); err != nil {
				return err
			}
		}
		return nil
	})
	return out, err
}

func (c *Change) startCycle(j jobs.JobRow) error {
	tasks, err := c.tasks().TasksByID([]int64{j.TaskID})
	if err != nil {
		return err
	}
	task, ok := tasks[j.TaskID]
	if !ok || task.Cycle == nil {
		return c.jobs().End([]jobs.Ending{{Row: j, Settled: job.Withdraw(j.Job, schedule.ReasonDeleted, "its task is no longer a cycle")}}, true)
	}
	if other, found, err := base.First(c.Ctx, c.Tx, base.ScanInt, `select job_id from belfry.cycle_runs where task_id = $1`, j.TaskID); err != nil || found {
		if err != nil || j.Trigger == job.TriggerCycle { // as a member it waits for the other run
			return err
		}
		return c.jobs().End([]jobs.Ending{{Row: j, Settled: job.Withdraw(j.Job, schedule.ReasonOverlap, fmt.Sprintf("job %d is a run of this cycle that is under way", other))}}, true)
	}
	run := cycle.Run{
		JobID: j.ID, Namespace: j.Namespace, Cycle: j.Task, Schedule: j.Schedule, At: j.Nominal, StartedAt: c.Now,
		Members: task.Cycle.Members, Stagger: task.Cycle.Stagger, Depth: 1, Results: []cycle.MemberResult{},
	}
	if j.Trigger == job.TriggerCycle {
		above, found, err := base.First(c.Ctx, c.Tx, ScanRun, `select doc from belfry.cycle_runs where member_job = $1`, j.ID)
		if err != nil {
			return err
		}
		if found {
			run.Depth = above.Depth + 1
		}
	}
	if _, err := c.Tx.Exec(c.Ctx, `update belfry.jobs set state = 'waiting', ready_at = 0, note = 'its members run' where id = $1`, j.ID); err != nil {
		return err
	}
	c.Wake(base.TopicEngine) // the engine sleeps until the next run is late
	if _, err := c.Tx.Exec(c.Ctx, `
		insert into belfry.cycle_runs (job_id, task_id, started_at, deadline_at, doc)
		values ($1, $2, $3, $4, $5)`, j.ID, j.TaskID, base.Micros(c.Now), base.Micros(c.Now.Add(j.Timeout.D())), base.Text(run)); err != nil {
		return err
	}
	if run.Depth > cycle.MaxCycleDeep {
		return c.endCycle(run, job.Settlement{State: job.Failed, Reason: schedule.ReasonNoRetry, Error: fmt.Sprintf("it is a cycle within more than %d others", cycle.MaxCycleDeep)})
	}
	return c.advance(run)
}

// ScanRun reads a row of one column, the document of a run.
func ScanRun(rows base.Rows) (r cycle.Run, err error) { return r, rows.Scan(base.ScanDoc(&r)) }

// advance takes a cycle as far as possible in this transaction. Skipped members are passed until a member runs, a member has to
// wait for another cycle, or none is left.
func (c *Change) advance(run cycle.Run) error {
	for {
		if i := run.Position(); i < len(run.Members) {
			t, found, err := c.lockTiming(run.Namespace, run.Members[i].Task)
			if err != nil {
				return err
			}
			if t.StartedAt, err = c.withClockSet(t.StartedAt); err != nil {
				return err
			}
			if t.CycleAt, err = c.withClockSet(t.CycleAt); err != nil {
				return err
			}
			turn := run.Next(func(string) task.MemberTiming { return t.MemberTiming }, c.Now)
			if turn.Wait != 0 {
				if loop, err := c.waitsFor(turn.Wait, run.JobID); err != nil {
					return err
				} else if loop {
					turn.Skip, turn.Wait = "it runs around this cycle, and each would wait for the other", 0
				}
			}
			switch {
			case !found && turn.Skip == "":
				turn.Skip, turn.Wait = "the task no longer exists", 0
			case turn.Wait != 0:
				run.Current, run.MemberJob, run.WaitsFor = turn.Member.Task, 0, turn.Wait
				return c.saveRun(run, t.taskID)
			}
			if turn.Skip == "" {
				other, err := c.stillEnding(run)
				if err != nil {
					return err
				}
				if other.job != 0 {
					run.Current, run.MemberJob, run.WaitsFor = turn.Member.Task, 0, other.job
					return c.saveRun(run, other.task)
				}
				return c.runMember(run, turn, t)
			}
			run.Results = append(run.Results, cycle.MemberResult{Task: turn.Member.Task, State: cycle.MemberSkipped, Reason: turn.Skip})
			run.Current, run.MemberJob, run.WaitsFor = "", 0, 0
			continue
		}
		return c.endCycle(run, run.End(c.Now))
	}
}

// ending is a member that was asked to end with its run and has not ended.
type ending struct{ job, task int64 }

// stillEnding finds a canceled member of an earlier run that its worker has not ended yet: no member of the next run may run
// beside it. The transition that settles it advances the runs that wait for its task, as for a member of another cycle.
func (c *Change) stillEnding(run cycle.Run) (ending, error) {
	names := make([]string, len(run.Members))
	for i, m := range run.Members {
		names[i] = m.Task
	}
	found, err := base.Collect(c.Ctx, c.Tx, func(r base.Rows) (e ending, err error) { return e, r.Scan(&e.job, &e.task) }, `
		select running_job, task_id
		from belfry.member_timing
		where running_job > 0 and task_id in (select id from belfry.tasks where namespace = $1 and `+c.SQL.In("name", 2)+`)
			and running_job not in (select r.member_job from belfry.cycle_runs r where r.member_job > 0)
		order by running_job`, run.Namespace, c.SQL.List(names))
	if err != nil {
		return ending{}, err
	}
	for _, e := range found {
		canceled, _, err := base.First(c.Ctx, c.Tx, base.ScanInt, `select cancel_at from belfry.running where job_id = $1`, e.job)
		if err != nil || canceled > 0 {
			return e, err
		}
	}
	return ending{}, nil
}

// withClockSet returns an instant as it will be after a node has followed a clock that was just set, as package shifts does. A
// transition that settles a member does not follow the clock itself: it holds locks for which that pass may wait.
func (c *Change) withClockSet(t time.Time) (time.Time, error) {
	if t.IsZero() {
		return t, nil
	}
	by, _, err := c.ClockSet()
	if by > 0 && t.Before(c.Now.Add(-by/2)) || by < 0 && t.After(c.Now) {
		t = t.Add(by)
	}
	return t, err
}

// waitsFor reports that a job ends only after another one, because it is a cycle that contains the other. Cycles that contain
// each other are rejected when they are saved. A run that began before an edit continues with its old members.
func (c *Change) waitsFor(job, other int64) (bool, error) {
	for range 10 * cycle.MaxCycleDeep {
		if job == other {
			return true, nil
		}
		run, found, err := base.First(c.Ctx, c.Tx, ScanRun, `select doc from belfry.cycle_runs where job_id = $1`, job)
		if err != nil || !found {
			return false, err
		}
		job = max(run.MemberJob, run.WaitsFor) // a run has one of the two
	}
	return false, nil
}

// HoldMember prevents cycles from running a member while a retried job of it runs. It returns false if a cycle is running the
// member.
func (c *Change) HoldMember(j jobs.JobRow) (bool, error) {
	n, err := c.Tx.Exec(c.Ctx, `
		insert into belfry.member_timing (task_id, running_job, turn_at)
		values ($1, $2, $3)
		on conflict (task_id) do update
		set running_job = excluded.running_job, turn_at = excluded.turn_at
		where belfry.member_timing.running_job = 0`, j.TaskID, j.ID, base.Micros(c.Now))
	return n == 1, err
}

// saveRun writes the progress of a cycle.
func (c *Change) saveRun(run cycle.Run, waitsForTask int64) error {
	if run.WaitsFor == 0 {
		waitsForTask = 0
	}
	_, err := c.Tx.Exec(c.Ctx, `update belfry.cycle_runs set member_job = $2, waits_for_task = $3, doc = $4 where job_id = $1`, run.JobID, run.MemberJob, waitsForTask, base.Text(run))
	return err
}

// runMember creates the job of the next member, and marks the member as running, so that no other cycle runs it.
func (c *Change) runMember(run cycle.Run, turn cycle.Turn, t timingRow) error {
	tasks, err := c.tasks().TasksByID([]int64{t.taskID})
	if err != nil {
		return err
	}
	ids, err := c.SQL.NextIDs(c.Ctx, c.Tx, "job", 1)
	if err != nil {
		return err
	}
	m := turn.Member
	j := c.jobs().NewJob(ids[0], job.NewJob{Input: m.Input, Timeout: m.Timeout, MaxAttempts: m.MaxAttempts}, tasks[t.taskID])
	j.Trigger, j.DueAt = job.TriggerCycle, core.Micro(turn.At)
	j.State = job.StateFor(j.DueAt.After(c.Now))
	if err := c.jobs().InsertJobs([]*jobs.Insertion{{JobRow: j}}); err != nil {
		return err
	}
	if _, err := c.Tx.Exec(c.Ctx, `update belfry.member_timing set running_job = $2, turn_at = $3 where task_id = $1`, t.taskID, j.ID, base.Micros(j.DueAt)); err != nil {
		return err
	}
	run.Current, run.MemberJob, run.TurnAt, run.WaitsFor = m.Task, j.ID, j.DueAt, 0
	return c.saveRun(run, 0)
}

// membersEnded advances the cycles whose members ended, and the cycles that waited for these members. The timing of a
// successful member is written only here.
func (c *Change) membersEnded(ends []jobs.MemberEnd) error {
	if len(ends) == 0 {
		return nil
	}
	if err := locks.Cycles(c.Change); err != nil {
		return err
	}
	for _, e := range ends {
		run, found, err := base.First(c.Ctx, c.Tx, ScanRun, `select doc from belfry.cycle_runs where member_job = $1`+c.SQL.ForUpdate("cycle_runs"), e.JobID)
		if err != nil {
			return err
		}
		if e.State == job.Succeeded {
			if err := c.memberSucceeded(e, run); err != nil {
				return err
			}
		}
		if _, err := c.Tx.Exec(c.Ctx, `update belfry.member_timing set running_job = 0 where task_id = $1 and running_job = $2`, e.TaskID, e.JobID); err != nil {
			return err
		}
		if found {
			run.Results = append(run.Results, resultOfMember(run, e, c.Now))
			run.Current, run.MemberJob = "", 0
			if err := c.advance(run); err != nil {
				return err
			}
		}
		if err := c.resumeWaiting(e.TaskID); err != nil {
			return err
		}
	}
	return nil
}

// memberSucceeded writes the start of a successful member run. It is the start of its first attempt, however long the member
// waited for a worker after its turn.
func (c *Change) memberSucceeded(e jobs.MemberEnd, run cycle.Run) error {
	began := base.Micros(e.ClaimedAt)
	if e.Attempts > 1 {
		earliest, found, err := base.First(c.Ctx, c.Tx, base.ScanInt, `select claimed_at from belfry.attempts where job_id = $1 order by number limit 1`, e.JobID)
		if err != nil {
			return err
		}
		if found {
			began = earliest
		}
	}
	turn, _, err := base.First(c.Ctx, c.Tx, base.ScanInt, `select turn_at from belfry.member_timing where task_id = $1 and running_job = $2`, e.TaskID, e.JobID)
	if err != nil {
		return err
	}
	// The instants of attempts do not follow a clock that is set; turn_at does.
	began = min(max(began, turn), base.Micros(c.Now))
	// run.At is zero for a cycle on request and for a retried member. If the clock was set back meanwhile, began is correct and
	// run.At is not.
	cycle := min(base.Micros(run.At), began)
	_, err = c.Tx.Exec(c.Ctx, `
		insert into belfry.member_timing (task_id, started_at, cycle_at, succeeded_at)
		values ($1, $2, $3, $4)
		on conflict (task_id) do update
		set started_at = excluded.started_at, cycle_at = excluded.cycle_at, succeeded_at = excluded.succeeded_at`,
		e.TaskID, began, cycle, base.Micros(c.Now))
	return err
}

func resultOfMember(run cycle.Run, e jobs.MemberEnd, now time.Time) cycle.MemberResult {
	r := cycle.MemberResult{Task: run.Current, State: cycle.MemberOK, JobID: e.JobID, Attempts: e.Attempts, StartedAt: e.ClaimedAt, EndedAt: now}
	if e.Attempts > 1 { // earlier attempts count too
		r.StartedAt = run.TurnAt
	}
	switch {
	case e.State == job.Failed:
		r.State, r.Error = cycle.MemberFailed, e.Error
	case e.State != job.Succeeded:
		r.State, r.Reason = cycle.MemberSkipped, "its job was "+string(e.State)
		if slices.Contains(run.Skip, run.Current) {
			r.Reason = "left out by " + run.SkippedBy
		}
	}
	return r
}

// resumeWaiting advances cycles that waited for another cycle to finish with a member.
func (c *Change) resumeWaiting(task int64) error {
	runs, err := base.Collect(c.Ctx, c.Tx, ScanRun, `
		select doc
		from belfry.cycle_runs
		where waits_for_task > 0 and waits_for_task = $1
		order by job_id`+c.SQL.ForUpdate("cycle_runs"), task)
	if err != nil {
		return err
	}
	for _, run := range runs {
		if err := c.advance(run); err != nil {
			return err
		}
	}
	return nil
}

// endCycle ends the job of a cycle. The progress row is deleted, and the results of the members are the output of the job.
func (c *Change) endCycle(run cycle.Run, s job.Settlement) error {
	if _, err := c.Tx.Exec(c.Ctx, `delete from belfry.cycle_runs where job_id = $1`, run.JobID); err != nil {
		return err
	}
	if err := c.jobs().HoldNow([]int64{run.JobID}); err != nil {
		return err
	}
	rows, err := c.jobs().LockJobs([]int64{run.JobID})
	if err != nil || len(rows) == 0 {
		return err
	}
	s.DueAt = rows[0].DueAt
	if err := c.s.Hooks.Tell(c, run, rows[0].Job, s); err != nil {
		return err
	}
	return c.jobs().End([]jobs.Ending{{Row: rows[0], Settled: s, Fin: job.Finish{Output: []byte(base.Text(run.Output(c.Now)))}}}, true)
}

// abandonCycles cleans up the runs of cycles whose jobs were ended from outside. Their progress rows are deleted, and the
// running members are asked to end.
func (c *Change) abandonCycles(ids []int64, note string) error {
	if len(ids) == 0 {
		return nil
	}
	if err := locks.Cycles(c.Change); err != nil {
		return err
	}
	for _, id := range ids {
		run, found, err := base.First(c.Ctx, c.Tx, ScanRun, `select doc from belfry.cycle_runs where job_id = $1`+c.SQL.ForUpdate("cycle_runs"), id)
		if err != nil {
			return err
		}
		if !found {
			continue
		}
		if _, err := c.Tx.Exec(c.Ctx, `delete from belfry.cycle_runs where job_id = $1`, id); err != nil {
			return err
		}
		if run.MemberJob == 0 {
			continue
		}
		if err := c.jobs().HoldNow([]int64{run.MemberJob}); err != nil {
			return err
		}
		rows, err := c.jobs().LockJobs([]int64{run.MemberJob})
		if err != nil {
			return err
		}
		if err := c.jobs().CancelRows(rows, schedule.ReasonCanceled, note); err != nil {
			return err
		}
	}
	return nil
}

// Follow applies the ends of jobs to cycles. members are the ends of the members that succeeded.
func (c *Change) Follow(ends []jobs.Ending, members []jobs.MemberEnd) error {
	var cycles []int64
	note := ""
	for _, e := range ends {
		if !e.Settled.State.Final() {
			continue
		}
		if e.Row.Kind == task.KindCycle {
			cycles, note = append(cycles, e.Row.ID), "its cycle ended: "+e.Settled.Note
		}
		if e.Row.Trigger == job.TriggerCycle {
			members = append(members, jobs.MemberEnd{JobID: e.Row.ID, TaskID: e.Row.TaskID, State: e.Settled.State, Attempts: e.Row.Attempt, ClaimedAt: e.Row.ClaimedAt, Error: e.Settled.Error})
		}
	}
	if err := c.abandonCycles(cycles, note); err != nil {
		return err
	}
	return c.membersEnded(members)
}

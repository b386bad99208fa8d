package store

import (
	"context"
	"fmt"
	"slices"
	"strconv"
	"time"

	"github.com/belfry-run/belfry"
)

// cycleBatch bounds the cycles that begin in one transaction.
const cycleBatch = 50

// StartCycles begins cycles whose jobs are ready. Every node may call it at the
// same time. The job of a cycle waits for its members from then on: no worker
// has it, and nothing about it is kept in any process.
func (s *Store) StartCycles(ctx context.Context) (out belfry.Promoted, err error) {
	err = s.write(ctx, "start cycles", func(c *change) error {
		out = belfry.Promoted{Now: c.now}
		rows, err := collect(ctx, c.tx, scanReady(), selectReady+`
			where kind = 'cycle' and state = 'ready' and queue not in (select name from queues where paused_at > 0)
			order by ready_at
			limit $1`+s.sql.SkipLocked("jobs"), cycleBatch)
		if err != nil {
			return err
		}
		if out.Jobs = len(rows); out.Jobs == 0 {
			return nil
		}
		if err := c.lockCycles(); err != nil {
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

func (c *change) startCycle(j jobRow) error {
	tasks, err := c.s.tasksByID(c.ctx, c.tx, []int64{j.TaskID})
	if err != nil {
		return err
	}
	task, ok := tasks[j.TaskID]
	if !ok || task.Cycle == nil {
		return c.end([]ending{{row: j, settled: belfry.Withdraw(j.Job, belfry.ReasonDeleted, "its task is no cycle any more")}}, true)
	}
	run := belfry.CycleRun{
		JobID: j.ID, Namespace: j.Namespace, Cycle: j.Task, Schedule: j.Schedule, At: j.Nominal, StartedAt: c.now,
		Members: task.Cycle.Members, Stagger: task.Cycle.Stagger, Depth: 1, Results: []belfry.MemberResult{},
	}
	if j.Trigger == belfry.TriggerCycle {
		above, found, err := first(c.ctx, c.tx, scanRun, `select doc from cycle_runs where member_job = $1`, j.ID)
		if err != nil {
			return err
		}
		if found {
			run.Depth = above.Depth + 1
		}
	}
	if _, err := c.tx.Exec(c.ctx, `update jobs set state = 'waiting', ready_at = 0, note = 'its members run' where id = $1`, j.ID); err != nil {
		return err
	}
	if _, err := c.tx.Exec(c.ctx, `insert into cycle_runs (job_id, task_id, doc) values ($1, $2, $3)`, j.ID, j.TaskID, text(run)); err != nil {
		return err
	}
	if run.Depth > belfry.MaxCycleDeep {
		return c.endCycle(run, belfry.Settlement{State: belfry.JobFailed, Reason: belfry.ReasonNoRetry, Error: fmt.Sprintf("it is a cycle within more than %d others", belfry.MaxCycleDeep)})
	}
	return c.advance(run)
}

func scanRun(rows Rows) (r belfry.CycleRun, err error) { return r, rows.Scan(scanDoc{&r}) }

// timingRow is the timing of a member with its task.
type timingRow struct {
	belfry.MemberTiming
	taskID int64
	turnAt time.Time // of the run under way
}

func scanTiming(rows Rows) (t timingRow, err error) {
	return t, rows.Scan(&t.taskID, &t.Task, scanTime{&t.StartedAt}, scanTime{&t.CycleAt}, scanTime{&t.SucceededAt}, &t.RunningJob, scanTime{&t.turnAt})
}

// lockCycles lets one transaction at a time take cycles further. Those that
// share members lock the timings of these in any order, and would wait for each
// other.
func (c *change) lockCycles() error {
	lock := c.sql.ForUpdate("member_timing")
	if lock == "" {
		return nil
	}
	_, err := c.tx.Exec(c.ctx, `select task_id from member_timing where task_id = 0`+lock)
	return err
}

const timingColumns = `t.id, t.name, coalesce(m.started_at, 0), coalesce(m.cycle_at, 0), coalesce(m.succeeded_at, 0), coalesce(m.running_job, 0), coalesce(m.turn_at, 0)`

// lockTiming reads the timing of a member and keeps other cycles from having
// it run until this transaction ends.
func (c *change) lockTiming(namespace, task string) (t timingRow, found bool, err error) {
	if _, err := c.tx.Exec(c.ctx, `
		insert into member_timing (task_id)
		select id
		from tasks
		where namespace = $1 and name = $2
		on conflict (task_id) do nothing`, namespace, task); err != nil {
		return t, false, err
	}
	if lock := c.sql.ForUpdate("member_timing"); lock != "" {
		if _, err := c.tx.Exec(c.ctx, `select task_id from member_timing where task_id = (select id from tasks where namespace = $1 and name = $2)`+lock, namespace, task); err != nil {
			return t, false, err
		}
	}
	return first(c.ctx, c.tx, scanTiming, `
		select `+timingColumns+`
		from tasks t
		join member_timing m on m.task_id = t.id
		where t.namespace = $1 and t.name = $2`, namespace, task)
}

// advance takes a cycle as far as it goes in this transaction: members that are
// left out are passed over, until one runs, or has to wait for another cycle,
// or none is left.
func (c *change) advance(run belfry.CycleRun) error {
	for {
		if i := run.Position(); i < len(run.Members) {
			t, found, err := c.lockTiming(run.Namespace, run.Members[i].Task)
			if err != nil {
				return err
			}
			if t.StartedAt, err = c.sinceSet(t.StartedAt); err != nil {
				return err
			}
			if t.CycleAt, err = c.sinceSet(t.CycleAt); err != nil {
				return err
			}
			turn := run.Next(func(string) belfry.MemberTiming { return t.MemberTiming }, c.now)
			if turn.Wait != 0 {
				if loop, err := c.waitsFor(turn.Wait, run.JobID); err != nil {
					return err
				} else if loop {
					turn.Skip, turn.Wait = "it runs around this cycle, and each would wait for the other", 0
				}
			}
			switch {
			case !found && turn.Skip == "":
				turn.Skip, turn.Wait = "there is no such task any more", 0
			case turn.Wait != 0:
				run.Current, run.MemberJob, run.WaitsFor = turn.Member.Task, 0, turn.Wait
				return c.saveRun(run, t.taskID)
			}
			if turn.Skip == "" {
				return c.runMember(run, turn, t)
			}
			run.Results = append(run.Results, belfry.MemberResult{Task: turn.Member.Task, State: belfry.MemberSkipped, Reason: turn.Skip})
			run.Current, run.MemberJob, run.WaitsFor = "", 0, 0
			continue
		}
		return c.endCycle(run, run.End(c.now))
	}
}

// sinceSet is an instant as it will be when somebody has made up for a clock
// that was set a moment ago, as [change.shiftClock] does. Whoever settles a
// member does not do that himself: he has locks that others wait for who do.
func (c *change) sinceSet(t time.Time) (time.Time, error) {
	if t.IsZero() {
		return t, nil
	}
	by, err := c.clockSet()
	if by > 0 && t.Before(c.now.Add(-by/2)) || by < 0 && t.After(c.now) {
		t = t.Add(by)
	}
	return t, err
}

// waitsFor reports that a job ends only after another one, because it is a
// cycle that the other is a part of. Cycles that have each other for members
// are refused when they are saved, but one that was edited under way goes on as
// it began.
func (c *change) waitsFor(job, other int64) (bool, error) {
	for range 10 * belfry.MaxCycleDeep {
		if job == other {
			return true, nil
		}
		run, found, err := first(c.ctx, c.tx, scanRun, `select doc from cycle_runs where job_id = $1`, job)
		if err != nil || !found {
			return false, err
		}
		job = max(run.MemberJob, run.WaitsFor) // it has one of them
	}
	return false, nil
}

// holdMember keeps cycles from running a member while a job of it that was
// brought back does. It answers false if a cycle runs it.
func (c *change) holdMember(j jobRow) (bool, error) {
	n, err := c.tx.Exec(c.ctx, `
		insert into member_timing (task_id, running_job, turn_at)
		values ($1, $2, $3)
		on conflict (task_id) do update
		set running_job = excluded.running_job, turn_at = excluded.turn_at
		where member_timing.running_job = 0`, j.TaskID, j.ID, micros(c.now))
	return n == 1, err
}

// saveRun writes the progress of a cycle.
func (c *change) saveRun(run belfry.CycleRun, waitsForTask int64) error {
	if run.WaitsFor == 0 {
		waitsForTask = 0
	}
	_, err := c.tx.Exec(c.ctx, `update cycle_runs set member_job = $2, waits_for_task = $3, doc = $4 where job_id = $1`, run.JobID, run.MemberJob, waitsForTask, text(run))
	return err
}

// runMember writes the job of the member whose turn it is, and with it that no
// other cycle may.
func (c *change) runMember(run belfry.CycleRun, turn belfry.Turn, t timingRow) error {
	tasks, err := c.s.tasksByID(c.ctx, c.tx, []int64{t.taskID})
	if err != nil {
		return err
	}
	ids, err := c.sql.NextIDs(c.ctx, c.tx, "job", 1)
	if err != nil {
		return err
	}
	m := turn.Member
	j := c.newJob(ids[0], belfry.NewJob{Input: m.Input, Timeout: m.Timeout, MaxAttempts: m.MaxAttempts}, tasks[t.taskID])
	j.Trigger, j.DueAt = belfry.TriggerCycle, belfry.Micro(turn.At)
	j.State = stateFor(j.DueAt.After(c.now))
	if _, err := c.insertJobs([]*insertion{{jobRow: j}}); err != nil {
		return err
	}
	if _, err := c.tx.Exec(c.ctx, `update member_timing set running_job = $2, turn_at = $3 where task_id = $1`, t.taskID, j.ID, micros(j.DueAt)); err != nil {
		return err
	}
	run.Current, run.MemberJob, run.TurnAt, run.WaitsFor = m.Task, j.ID, j.DueAt, 0
	return c.saveRun(run, 0)
}

// memberEnd is a job of a member that has ended for good.
type memberEnd struct {
	jobID, taskID int64
	state         belfry.JobState
	attempts      int
	claimedAt     time.Time
	error         string
}

// membersEnded goes on with the cycles whose members ended, and with those that
// waited for one of these. The timing of a member is written here, when it
// succeeded, and nowhere else.
func (c *change) membersEnded(ends []memberEnd) error {
	if len(ends) == 0 {
		return nil
	}
	if err := c.lockCycles(); err != nil {
		return err
	}
	for _, e := range ends {
		run, found, err := first(c.ctx, c.tx, scanRun, `select doc from cycle_runs where member_job = $1`+c.sql.ForUpdate("cycle_runs"), e.jobID)
		if err != nil {
			return err
		}
		if e.state == belfry.JobSucceeded {
			if err := c.memberSucceeded(e, run); err != nil {
				return err
			}
		}
		if _, err := c.tx.Exec(c.ctx, `update member_timing set running_job = 0 where task_id = $1 and running_job = $2`, e.taskID, e.jobID); err != nil {
			return err
		}
		if found {
			run.Results = append(run.Results, resultOfMember(run, e, c.now))
			run.Current, run.MemberJob = "", 0
			if err := c.advance(run); err != nil {
				return err
			}
		}
		if err := c.goOnWaiting(e.taskID); err != nil {
			return err
		}
	}
	return nil
}

// memberSucceeded writes when the run of a member began that succeeded: with
// its first attempt, however long it waited for a worker after its turn.
func (c *change) memberSucceeded(e memberEnd, run belfry.CycleRun) error {
	began := micros(e.claimedAt)
	if e.attempts > 1 {
		earliest, found, err := first(c.ctx, c.tx, scanInt, `select claimed_at from attempts where job_id = $1 order by number limit 1`, e.jobID)
		if err != nil {
			return err
		}
		if found {
			began = earliest
		}
	}
	turn, _, err := first(c.ctx, c.tx, scanInt, `select turn_at from member_timing where task_id = $1 and running_job = $2`, e.taskID, e.jobID)
	if err != nil {
		return err
	}
	// What is in attempts does not follow a clock that is set; the turn does.
	began = min(max(began, turn), micros(c.now))
	// Zero for a cycle that was asked for, and for a member that was redriven.
	// Of a clock that was set back meanwhile, the start knows and this does not.
	cycle := min(micros(run.At), began)
	_, err = c.tx.Exec(c.ctx, `
		insert into member_timing (task_id, started_at, cycle_at, succeeded_at)
		values ($1, $2, $3, $4)
		on conflict (task_id) do update
		set started_at = excluded.started_at, cycle_at = excluded.cycle_at, succeeded_at = excluded.succeeded_at`,
		e.taskID, began, cycle, micros(c.now))
	return err
}

func resultOfMember(run belfry.CycleRun, e memberEnd, now time.Time) belfry.MemberResult {
	r := belfry.MemberResult{Task: run.Current, State: belfry.MemberOK, JobID: e.jobID, Attempts: e.attempts, StartedAt: e.claimedAt, EndedAt: now}
	if e.attempts > 1 { // its attempts before count too
		r.StartedAt = run.TurnAt
	}
	switch {
	case e.state == belfry.JobFailed:
		r.State, r.Error = belfry.MemberFailed, e.error
	case e.state != belfry.JobSucceeded:
		r.State, r.Reason = belfry.MemberSkipped, "its job was "+string(e.state)
		if slices.Contains(run.Skip, run.Current) {
			r.Reason = "left out by " + run.SkippedBy
		}
	}
	return r
}

// goOnWaiting goes on with cycles that waited until another one was done with a
// member.
func (c *change) goOnWaiting(task int64) error {
	runs, err := collect(c.ctx, c.tx, scanRun, `
		select doc
		from cycle_runs
		where waits_for_task > 0 and waits_for_task = $1
		order by job_id`+c.sql.ForUpdate("cycle_runs"), task)
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

// endCycle ends the job of a cycle. Its progress goes, and what came of its
// members is the job's output.
func (c *change) endCycle(run belfry.CycleRun, s belfry.Settlement) error {
	if _, err := c.tx.Exec(c.ctx, `delete from cycle_runs where job_id = $1`, run.JobID); err != nil {
		return err
	}
	rows, err := c.lockJobs([]int64{run.JobID})
	if err != nil || len(rows) == 0 {
		return err
	}
	s.DueAt = rows[0].DueAt
	if err := c.tellCycle(run, rows[0].Job, s); err != nil {
		return err
	}
	return c.end([]ending{{row: rows[0], settled: s, fin: belfry.Finish{Output: []byte(text(run.Output(c.now)))}}}, true)
}

// tellCycle tells of a cycle once: its summary to those who want it, and to the
// others, if it failed, that it did.
func (c *change) tellCycle(run belfry.CycleRun, j belfry.Job, s belfry.Settlement) error {
	n, any := belfry.CycleEndedNotice(run, c.now)
	if !any {
		return nil
	}
	n.Tags = j.Tags
	if err := c.route(n, 0); err != nil || s.State != belfry.JobFailed {
		return err
	}
	r, err := c.rulesOf(n.Namespace)
	if err != nil {
		return err
	}
	failed := n
	failed.Type, failed.Title = belfry.NoticeJobFailed, "Cycle "+run.Cycle+" failed: "+s.Error
	rest := slices.DeleteFunc(slices.Clone(r.all), func(rule belfry.AlertRule) bool { return rule.Fits(n) })
	for _, d := range belfry.Route(failed, rest, r.quiet, c.now) {
		if err := c.insertAlert(failed, d, 0); err != nil {
			return err
		}
	}
	return nil
}

// abandonCycles ends what is under way of cycles whose jobs were ended from
// outside: their progress goes, and the member that runs is asked to end.
func (c *change) abandonCycles(ids []int64, note string) error {
	if len(ids) == 0 {
		return nil
	}
	if err := c.lockCycles(); err != nil {
		return err
	}
	for _, id := range ids {
		run, found, err := first(c.ctx, c.tx, scanRun, `select doc from cycle_runs where job_id = $1`+c.sql.ForUpdate("cycle_runs"), id)
		if err != nil {
			return err
		}
		if !found {
			continue
		}
		if _, err := c.tx.Exec(c.ctx, `delete from cycle_runs where job_id = $1`, id); err != nil {
			return err
		}
		if run.MemberJob == 0 {
			continue
		}
		rows, err := c.lockJobs([]int64{run.MemberJob})
		if err != nil {
			return err
		}
		if err := c.cancelRows(rows, belfry.ReasonCanceled, note); err != nil {
			return err
		}
	}
	return nil
}

// followCycles does what the ends of jobs mean for cycles.
func (c *change) followCycles(ends []ending) error {
	var members []memberEnd
	var cycles []int64
	note := ""
	for _, e := range ends {
		if !e.settled.State.Final() {
			continue
		}
		if e.row.Kind == belfry.KindCycle {
			cycles, note = append(cycles, e.row.ID), "its cycle ended: "+e.settled.Note
		}
		if e.row.Trigger == belfry.TriggerCycle {
			members = append(members, memberEnd{e.row.ID, e.row.TaskID, e.settled.State, e.row.Attempt, e.row.ClaimedAt, e.settled.Error})
		}
	}
	if err := c.abandonCycles(cycles, note); err != nil {
		return err
	}
	return c.membersEnded(members)
}

// checkCycle refuses a cycle that names what is not there, or itself.
func (c *change) checkCycle(t belfry.Task) error {
	if t.Cycle == nil {
		return nil
	}
	names := make([]taskName, len(t.Cycle.Members))
	for i, m := range t.Cycle.Members {
		names[i] = taskName{t.Namespace, m.Task}
	}
	there, err := c.tasksByName(names)
	if err != nil {
		return err
	}
	for i, m := range t.Cycle.Members {
		field := fmt.Sprintf("cycle.members[%d].task", i)
		member, ok := there[taskName{t.Namespace, m.Task}]
		switch {
		case m.Task == t.Name:
			return belfry.InvalidField(field, m.Task, "is the cycle itself", "")
		case !ok:
			return belfry.InvalidField(field, m.Task, "is not a task in namespace "+t.Namespace, "create it first, or apply both in one file")
		case member.Cycle == nil:
			continue
		}
		within, err := c.within(t, m.Task)
		if err != nil {
			return err
		}
		if within {
			return belfry.InvalidField(field, m.Task, "is a cycle that has this one for a member", "")
		}
	}
	return nil
}

// within reports that a cycle is a member of another, or of one of its members.
func (c *change) within(t belfry.Task, other string) (bool, error) {
	seen := map[string]bool{}
	for level := []string{other}; len(level) > 0; {
		names := make([]taskName, len(level))
		for i, name := range level {
			names[i] = taskName{t.Namespace, name}
		}
		tasks, err := c.tasksByName(names)
		if err != nil {
			return false, err
		}
		level = nil
		for _, inner := range tasks {
			if inner.Cycle == nil {
				continue
			}
			for _, m := range inner.Cycle.Members {
				if m.Task == t.Name {
					return true, nil
				}
				if !seen[m.Task] {
					seen[m.Task] = true
					level = append(level, m.Task)
				}
			}
		}
	}
	return false, nil
}

// freeMember refuses to delete a task that a cycle has for a member.
func (c *change) freeMember(t belfry.Task) error {
	users, err := collect(c.ctx, c.tx, c.s.scanTask, `
		select `+taskColumns+`
		from tasks
		where namespace = $1 and kind = 'cycle' and doc like $2
		order by name`, t.Namespace, `%"task":"`+t.Name+`"%`)
	if err != nil {
		return err
	}
	for _, u := range users {
		if u.Cycle != nil && slices.ContainsFunc(u.Cycle.Members, func(m belfry.Member) bool { return m.Task == t.Name }) {
			return belfry.Errorf(belfry.Conflict, "task %q is a member of cycle %q", t.Name, u.Name).WithHint("take it out of the cycle first")
		}
	}
	_, err = c.tx.Exec(c.ctx, `delete from member_timing where task_id = $1`, t.ID)
	return err
}

// membersFirst is the order in which tasks come behind those that they have for
// members, as far as that goes.
func membersFirst(all []belfry.Task) []int {
	return orderBy(len(all), func(i int) string { return all[i].Namespace + "/" + all[i].Name }, func(i int) (names []string) {
		if all[i].Cycle != nil {
			for _, m := range all[i].Cycle.Members {
				names = append(names, all[i].Namespace+"/"+m.Task)
			}
		}
		return names
	})
}

// cycle is a task that is one.
func (s *Store) cycle(ctx context.Context, tx Tx, namespace, name string) (belfry.Task, error) {
	t, err := s.task(ctx, tx, namespaceOr(namespace), name)
	if err == nil && t.Cycle == nil {
		err = belfry.Errorf(belfry.Conflict, "task %q is no cycle", name).WithHint("see: belfry cycle list")
	}
	return t, err
}

// CycleStatus is a cycle, the run that is under way, and why each of its
// members is due or not.
func (s *Store) CycleStatus(ctx context.Context, namespace, name string) (out belfry.CycleStatus, err error) {
	now, err := s.Now(ctx)
	if err != nil {
		return out, err
	}
	err = s.db.Read(ctx, func(tx Tx) error {
		t, err := s.cycle(ctx, tx, namespace, name)
		if err == nil {
			out, err = s.cycleStatus(ctx, tx, t, now)
		}
		return err
	})
	return out, err
}

// Cycles lists cycles by name.
func (s *Store) Cycles(ctx context.Context, f belfry.DocumentFilter) (p belfry.Page[belfry.CycleStatus], err error) {
	w, limit, err := nameWhere(f.Namespace, f.Paging)
	if err != nil {
		return p, err
	}
	w.and("kind = ?", string(belfry.KindCycle))
	now, err := s.Now(ctx)
	if err != nil {
		return p, err
	}
	err = s.db.Read(ctx, func(tx Tx) error {
		tasks, err := collect(ctx, tx, s.scanTask, `
			select `+taskColumns+`
			from tasks
			where `+w.sql()+`
			order by namespace, name
			limit `+strconv.Itoa(limit+1), w.args...)
		if err != nil {
			return err
		}
		found := page(tasks, limit, func(t belfry.Task) string { return encodeCursor(t.Namespace, t.Name) })
		p = belfry.Page[belfry.CycleStatus]{Items: make([]belfry.CycleStatus, len(found.Items)), Next: found.Next}
		for i, t := range found.Items {
			if p.Items[i], err = s.cycleStatus(ctx, tx, t, now); err != nil {
				return err
			}
		}
		return nil
	})
	return p, err
}

func (s *Store) cycleStatus(ctx context.Context, tx Tx, t belfry.Task, now time.Time) (out belfry.CycleStatus, err error) {
	out = belfry.CycleStatus{Task: t.Redacted()}
	run, found, err := first(ctx, tx, scanRun, `select doc from cycle_runs where task_id = $1 order by job_id limit 1`, t.ID)
	if err != nil {
		return out, err
	}
	if found {
		out.Run, out.Done = &run, run.Position()
	}
	timings, err := s.timings(ctx, tx, t)
	if err != nil {
		return out, err
	}
	for _, m := range t.Cycle.Members {
		timing := timings[m.Task]
		status := belfry.MemberStatus{Member: m, Timing: timing, DueAt: m.DueAt(timing)}
		if status.Due, status.Why = m.Due(timing, now, now); timing.RunningJob != 0 {
			status.Due, status.Why = false, fmt.Sprintf("it runs now, as job %d", timing.RunningJob)
		}
		out.Members = append(out.Members, status)
	}
	last, found, err := first(ctx, tx, scanJob, selectDone+` where task = $1 and task_id = $2 and output is not null order by id desc limit 1`, t.Name, t.ID)
	if err != nil {
		return out, err
	}
	if found {
		out.LastJob, out.Last = last.ID, &belfry.CycleOutput{}
		if err := (scanDoc{out.Last}).Scan(string(last.Output)); err != nil {
			return out, err
		}
	}
	next, _, err := first(ctx, tx, scanInt, `select next_at from schedules where task_id = $1 and next_at > 0 order by next_at limit 1`, t.ID)
	out.NextAt = instant(next)
	return out, err
}

// timings is when each member of a cycle last succeeded.
func (s *Store) timings(ctx context.Context, tx Tx, t belfry.Task) (map[string]belfry.MemberTiming, error) {
	names := make([]string, len(t.Cycle.Members))
	byName := make(map[string]belfry.MemberTiming, len(names))
	for i, m := range t.Cycle.Members {
		names[i], byName[m.Task] = m.Task, belfry.MemberTiming{Task: m.Task}
	}
	rows, err := collect(ctx, tx, scanTiming, `
		select `+timingColumns+`
		from tasks t
		join member_timing m on m.task_id = t.id
		where t.namespace = $1 and `+s.sql.In("t.name", 2), t.Namespace, s.sql.List(names))
	for _, r := range rows {
		byName[r.Task] = r.MemberTiming
	}
	return byName, err
}

// RunCycle makes a job of a cycle now, beside its plan, unless one is under way
// or about to be.
func (s *Store) RunCycle(ctx context.Context, namespace, name string) (j belfry.Job, err error) {
	namespace = namespaceOr(namespace)
	err = s.write(ctx, "run cycle", func(c *change) error {
		if _, err := c.lockTask(namespace, name); err != nil { // two who ask get one
			return err
		}
		t, err := s.cycle(ctx, c.tx, namespace, name)
		if err != nil {
			return err
		}
		live, err := s.liveCycles(ctx, c.tx, t)
		if err != nil {
			return err
		}
		if len(live) > 0 {
			return belfry.Errorf(belfry.Conflict, "cycle %q is under way, as job %d", name, live[0]).
				WithHint("belfry cycle show %s, or belfry cycle cancel %s", name, name)
		}
		ins, err := c.prepare([]belfry.NewJob{{Namespace: namespace, Task: name}})
		if err != nil {
			return err
		}
		ins[0].Trigger = belfry.TriggerManual
		j = ins[0].Job
		if _, err := c.insertJobs([]*insertion{&ins[0]}); err != nil {
			return err
		}
		return c.audit("run", "task", namespace, name, fmt.Sprintf("job %d", j.ID), nil, nil)
	})
	return j, err
}

// CancelCycle ends the run of a cycle that is under way, and one that is about
// to begin. The member that runs is asked to end.
func (s *Store) CancelCycle(ctx context.Context, namespace, name, note string) (out belfry.Selected, err error) {
	namespace = namespaceOr(namespace)
	var live []int64
	err = s.db.Read(ctx, func(tx Tx) error {
		t, err := s.cycle(ctx, tx, namespace, name)
		if err == nil {
			live, err = s.liveCycles(ctx, tx, t)
		}
		return err
	})
	if err != nil {
		return out, err
	}
	if len(live) == 0 {
		return out, notUnderWay(name)
	}
	return s.CancelJobs(ctx, namespace, belfry.Selection{IDs: live, Note: note})
}

// liveCycles are the jobs of a cycle that are under way, or about to be.
func (s *Store) liveCycles(ctx context.Context, tx Tx, t belfry.Task) ([]int64, error) {
	return collect(ctx, tx, scanInt, `
		select job_id
		from cycle_runs
		where task_id = $1
		union
		select id
		from jobs
		where kind = 'cycle' and state = 'ready' and task_id = $1
		order by 1
		limit `+strconv.Itoa(belfry.MaxBatch), t.ID)
}

func notUnderWay(name string) error {
	return belfry.Errorf(belfry.Conflict, "cycle %q is not under way", name).WithHint("belfry cycle run %s", name)
}

// SkipMember leaves a member out of the run that is under way. If it is its
// turn, its job is asked to end.
func (s *Store) SkipMember(ctx context.Context, namespace, name, member string) (out belfry.CycleRun, err error) {
	err = s.write(ctx, "skip member", func(c *change) error {
		t, err := s.cycle(ctx, c.tx, namespace, name)
		if err != nil {
			return err
		}
		// Whoever settles the member that runs has its job first.
		run, _, err := first(ctx, c.tx, scanRun, `select doc from cycle_runs where task_id = $1 order by job_id limit 1`, t.ID)
		if err != nil {
			return err
		}
		if _, err := c.lockJobs([]int64{run.MemberJob}); err != nil {
			return err
		}
		if err := c.lockCycles(); err != nil {
			return err
		}
		run, found, err := first(ctx, c.tx, scanRun, `select doc from cycle_runs where task_id = $1 order by job_id limit 1`+s.sql.ForUpdate("cycle_runs"), t.ID)
		if err != nil {
			return err
		}
		if !found {
			return notUnderWay(name)
		}
		place := slices.IndexFunc(run.Members, func(m belfry.Member) bool { return m.Task == member })
		switch {
		case place < 0:
			return belfry.Errorf(belfry.NotFound, "cycle %q has no member %q", name, member).WithHint("see: belfry cycle show %s", name)
		case place < run.Position():
			return belfry.Errorf(belfry.Conflict, "member %q is done in this cycle", member)
		}
		if !slices.Contains(run.Skip, member) {
			run.Skip, run.SkippedBy = append(run.Skip, member), belfry.ActorOf(ctx)
		}
		if out = run; run.WaitsFor != 0 && place == run.Position() {
			if err := c.advance(run); err != nil {
				return err
			}
		} else if _, err := c.tx.Exec(ctx, `update cycle_runs set doc = $2 where job_id = $1`, run.JobID, text(run)); err != nil {
			return err
		}
		if place == run.Position() && run.MemberJob != 0 {
			rows, err := c.lockJobs([]int64{run.MemberJob})
			if err != nil {
				return err
			}
			if err := c.cancelRows(rows, belfry.ReasonCanceled, "left out of its cycle by "+belfry.ActorOf(ctx)); err != nil {
				return err
			}
		}
		return c.audit("skip-member", "task", t.Namespace, t.Name, member, nil, nil)
	})
	return out, err
}

// ResetTiming forgets when members last succeeded, in whatever cycle: they are
// due. Without names it is all members of the cycle.
func (s *Store) ResetTiming(ctx context.Context, namespace, name string, members ...string) (reset []string, err error) {
	err = s.write(ctx, "reset timing", func(c *change) error {
		reset = nil
		t, err := s.cycle(ctx, c.tx, namespace, name)
		if err != nil {
			return err
		}
		for _, m := range t.Cycle.Members {
			if len(members) == 0 || slices.Contains(members, m.Task) {
				reset = append(reset, m.Task)
			}
		}
		for _, m := range members {
			if !slices.Contains(reset, m) {
				return belfry.Errorf(belfry.NotFound, "cycle %q has no member %q", name, m).WithHint("see: belfry cycle show %s", name)
			}
		}
		for _, m := range reset {
			if _, err := c.tx.Exec(ctx, `
				update member_timing
				set started_at = 0, cycle_at = 0, succeeded_at = 0
				where task_id = (select id from tasks where namespace = $1 and name = $2)`, t.Namespace, m); err != nil {
				return err
			}
		}
		return c.audit("reset-timing", "task", t.Namespace, t.Name, fmt.Sprint(reset), nil, nil)
	})
	return reset, err
}

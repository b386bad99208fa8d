package jobs

import (
	"context"
	"fmt"
	"time"

	"github.com/belfry-run/belfry/core"
	"github.com/belfry-run/belfry/flow"
	"github.com/belfry-run/belfry/job"
	"github.com/belfry-run/belfry/schedule"
	"github.com/belfry-run/belfry/store/base"
	"github.com/belfry-run/belfry/store/locks"
	"github.com/belfry-run/belfry/store/marks"
	"github.com/belfry-run/belfry/task"
)

// finishing is a locked job and the reported finish of its attempt.
type finishing struct {
	row JobRow
	fin job.Finish
}

// Finish settles attempts of a session. A finish under a lost lease, or under a lease of another session, is answered Stale and
// writes nothing, unless it repeats a recorded finish.
func (s *Store) Finish(ctx context.Context, session string, fs []job.Finish) (out []job.Finished, err error) {
	if session == "" {
		return nil, core.InvalidField("session", "", "is missing", "")
	}
	fs = s.Hooks.CheckOutputs(ctx, fs)
	ahead := func(c *Change) { c.foreseeFinish(fs) }
	err = s.writeAhead(ctx, "finish", ahead, func(c *Change) error {
		out, err = c.Finish(session, fs)
		return err
	})
	if err != nil {
		return out, err
	}
	late := marks.Late(out)
	// The finish is committed, so a failed lookup is not its error: the answers stay stale.
	if err := s.Hooks.Recorded(ctx, session, fs, out); err != nil {
		s.Opt.Logger.Warn("cannot check whether late results are repeated", "session", session, "error", err)
	}
	s.wake(s.pendingWakes.Take(late, out))
	s.TellStale(session, fs, out)
	return out, nil
}

// FinishTx is [Store.Finish] for one attempt inside the caller's transaction: the writes of the handler and the end of its job
// commit together. A stale lease is a [core.Conflict]: roll back, because another attempt has the job.
//
// Claims and the engine are woken when the worker reports the end of the attempt, as it does after worker.FinishFor. Without
// such a worker, call [Store.Wake] after the commit; otherwise they notice the end at their next poll.
func (s *Store) FinishTx(ctx context.Context, tx any, f job.Finish) (job.Finished, error) {
	c, err := s.adopt(ctx, tx)
	if err != nil {
		return job.Finished{}, err
	}
	out, err := c.Finish(base.AnySession, []job.Finish{f})
	if err != nil {
		return job.Finished{}, err
	}
	if out[0].Stale {
		return out[0], core.Errorf(core.Conflict, "the lease on job %d was lost", f.JobID).WithHint("roll back: another attempt has the job")
	}
	s.pendingWakes.Put(f.Ref, c.Wakes())
	return out[0], nil
}

const maxNamedStale = 10 // late results of a report that the log names, of up to [core.MaxBatch]: workers are not trusted

// TellStale logs results that came under a lost lease. It leaves out canceled attempts: their jobs were terminated, so their
// reports are late by design.
func (s *Store) TellStale(session string, fs []job.Finish, out []job.Finished) {
	n := 0
	for i, f := range out {
		if f.Stale && fs[i].Outcome != job.OutcomeCanceled {
			if n++; n <= maxNamedStale {
				s.Opt.Logger.Warn("late result refused", "job", f.JobID, "lease", f.Lease, "session", session)
			}
		}
	}
	if n > maxNamedStale {
		s.Opt.Logger.Warn("more late results refused", "jobs", n-maxNamedStale, "session", session)
	}
	if n > 0 {
		s.Opt.Observer.Stale(n)
	}
}

// holds reports whether a session may settle a lease that belongs to the session of.
func holds(session, of string) bool { return session == base.AnySession || session == of }

// Finish settles attempts under their leases, and returns an answer for each, in their order. A stale lease changes nothing.
// More than [core.MaxBatch] results fail with [core.TooLarge].
func (c *Change) Finish(session string, fs []job.Finish) ([]job.Finished, error) {
	if len(fs) > core.MaxBatch {
		return nil, job.TooMany("attempts", len(fs))
	}
	out := make([]job.Finished, len(fs))
	var checks, other, well []job.Finish
	good := 0
	for i := range fs {
		if err := fs[i].Validate(); err != nil {
			return nil, err
		}
		out[i] = job.Finished{Ref: fs[i].Ref, Stale: true}
		if fs[i].Outcome == job.OutcomeOK {
			good++
		}
	}
	well = make([]job.Finish, 0, good)
	places := job.PlacesOf(out)
	for i := range fs {
		f := &fs[i]
		if places.Of(f.Ref) != i {
			continue // the same attempt twice in one batch is stale the second time
		}
		switch {
		case f.Outcome != job.OutcomeOK:
			other = append(other, *f)
		case f.Check != nil:
			checks = append(checks, *f)
		default:
			well = append(well, *f)
		}
	}
	if len(checks) > 0 && len(well)+len(other) > 0 || len(well) > 0 && len(other) > 0 {
		// Each kind of finish locks its jobs below. All jobs are locked here in one order, so that no two batches deadlock.
		if _, err := c.holdJobs(base.JobIDs(fs)); err != nil {
			return nil, err
		}
	}
	settled := func(ref job.Ref, state job.State) {
		f := &out[places.Of(ref)]
		f.Stale, f.State = false, state
	}
	settledAll := func(states map[job.Ref]job.State) {
		for ref, state := range states {
			settled(ref, state)
		}
	}
	h := &c.s.Hooks
	h.Gather(c)
	judged, plain, err := h.SettleChecks(c, session, checks)
	if err != nil {
		return nil, err
	}
	settledAll(judged)
	if err := c.s.path.succeed(c, session, append(well, plain...), settled); err != nil {
		return nil, err
	}
	ends, err := c.SettleOther(session, other)
	if err != nil {
		return nil, err
	}
	settledAll(ends)
	if err := c.s.Hooks.KeepDetails(c, fs, out); err != nil {
		return nil, err
	}
	return out, h.Follow(c)
}

// ended collects the schedules whose jobs have ended, and wakes the engine for the next job of a backfill.
func (c *Change) ended(trigger schedule.Trigger, s int64, scheduled []int64) []int64 {
	if trigger == schedule.TriggerBackfill {
		c.Wake(base.TopicEngine) // the next job may wait for this one
	}
	if s > 0 {
		scheduled = append(scheduled, s)
	}
	return scheduled
}

// SettleOther settles attempts that were not successful.
func (c *Change) SettleOther(session string, fs []job.Finish) (map[job.Ref]job.State, error) {
	byRef, err := c.LockAttempts(session, fs)
	if err == nil {
		err = c.s.Hooks.EndWaits(c, fs)
	}
	if err != nil {
		return nil, err
	}
	var valid []finishing
	for _, f := range fs {
		if row, ok := byRef[f.Ref]; ok {
			valid = append(valid, finishing{row, f})
		}
	}
	ends, err := c.settle(valid)
	states := make(map[job.Ref]job.State, len(valid))
	for _, v := range valid {
		states[v.fin.Ref] = ends[v.row.ID].State
	}
	return states, err
}

// LockAttempts locks the jobs of attempts. It returns the jobs that run under the lease of the finish, held by the session.
func (c *Change) LockAttempts(session string, fs []job.Finish) (map[job.Ref]JobRow, error) {
	rows, err := c.LockJobs(base.JobIDs(fs))
	byRef := make(map[job.Ref]JobRow, len(rows))
	for _, j := range rows {
		if j.State == job.Running && holds(session, j.Session) {
			byRef[job.Ref{JobID: j.ID, Lease: j.Lease}] = j
		}
	}
	return byRef, err
}

// LockJobs locks live jobs in the order of their ids, so that two batches cannot deadlock, and reads them. They are read after
// they are locked: a statement that waits for a row sees its newest version, but it sees the joined lease as it was before the
// wait. Inputs are not read: thousands of jobs may end at once, and each input may have [core.MaxInput].
func (c *Change) LockJobs(ids []int64) ([]JobRow, error) {
	if len(ids) == 0 {
		return nil, nil
	}
	ids, err := c.holdJobs(ids)
	if err != nil || len(ids) == 0 {
		return nil, err
	}
	if err := c.SQL.Unpack(c.Ctx, c.Tx, base.Packed{Jobs: ids}); err != nil {
		return nil, err
	}
	return base.Collect(c.Ctx, c.Tx, ScanJob, HeadsOf(selectHeld)+` where `+c.SQL.In("id", 1)+` order by id`, c.SQL.List(ids))
}

// holdJobs locks live jobs without reading them, and returns the locked ids. A job that is not live is left out: another
// transaction may bring it back at any moment, and it must not be read as if it were locked.
func (c *Change) holdJobs(ids []int64) ([]int64, error) {
	lock := c.SQL.ForUpdate("jobs")
	if lock == "" {
		return ids, nil
	}
	return base.Collect(c.Ctx, c.Tx, base.ScanInt, `select id from belfry.jobs where `+c.SQL.In("id", 1)+` order by id`+lock, c.SQL.List(ids))
}

// HoldNow locks live jobs without waiting, or makes the transition begin again: see [locks.Rows.Now].
func (c *Change) HoldNow(ids []int64) error {
	if len(ids) == 0 {
		return nil
	}
	return locks.Rows{Table: "jobs", Key: "id", Where: c.SQL.In("id", 1), Of: c.SQL.List(ids)}.Now(c.Change)
}

// maxSignal bounds the name of a signal, in bytes. The longest is SIGVTALRM.
const maxSignal = 64

// settle decides the ends of attempts by [job.Settle], and writes the decisions.
func (c *Change) settle(fs []finishing) (map[int64]job.Settlement, error) {
	if len(fs) == 0 {
		return nil, nil
	}
	policies, err := c.policies(fs)
	if err != nil {
		return nil, err
	}
	answers := make(map[int64]job.Settlement, len(fs))
	ends := make([]Ending, len(fs))
	for i, f := range fs {
		task, known := policies[f.row.TaskID]
		if f.fin.Error, _ = core.CleanText(f.fin.Error, core.MaxError); !known {
			f.fin.NoRetry = true // the task was deleted meanwhile
		}
		f.fin.Signal, _ = core.CleanText(f.fin.Signal, maxSignal)
		s := job.Settle(f.row.Job, task.Retry, f.fin, c.Now)
		if keeps := f.row.Limited && s.Outcome == job.OutcomeHandedBack; s.State == job.Ready && !keeps { // a handed-back job keeps its place
			if anew, err := limitsOf(c).NeedsAdmission(f.row.Limited, &f.row.Job, task); err != nil {
				return nil, err
			} else if anew {
				s.State, s.DueAt = job.Scheduled, c.Now
			}
		}
		if q := task.Sequence; q != nil && f.row.Limited && s.State == job.Failed && q.OnFailure == flow.SequenceStops {
			again := map[bool]string{false: "it", true: "its workflow"}[f.row.Trigger == job.TriggerStep] // a step is not retried alone
			s.Note = q.StoppedNote(f.row.Task, again)
		}
		answers[f.row.ID] = s
		ends[i] = Ending{Row: f.row, Settled: s, Fin: f.fin}
	}
	return answers, c.End(ends, true)
}

// policies reads the tasks of attempts. Successful attempts need no task, nor do limited jobs that were handed back.
func (c *Change) policies(fs []finishing) (map[int64]task.Task, error) {
	var ids []int64
	for _, f := range fs {
		if f.fin.Outcome != job.OutcomeOK && !(f.fin.Outcome == job.OutcomeHandedBack && f.row.Limited) {
			ids = append(ids, f.row.TaskID)
		}
	}
	if len(ids) == 0 {
		return nil, nil
	}
	return c.tasks().TasksByID(ids)
}

// Ending is the decided end of an attempt, or of a job that does not run.
type Ending struct {
	Row     JobRow
	Settled job.Settlement
	Fin     job.Finish
}

// endRow is an ending, as a row of a batch.
type endRow struct {
	ID        int64   `json:"id"`
	State     string  `json:"state"`
	Reason    string  `json:"reason"`
	Note      string  `json:"note"`
	Error     string  `json:"error"`
	Output    *string `json:"output"`
	DueAt     int64   `json:"due_at"`
	ReadyAt   int64   `json:"ready_at"`
	Turn      int64   `json:"turn"`
	Failures  int     `json:"failures"`
	Infra     int     `json:"infra"`
	Snoozes   int     `json:"snoozes"`
	Attempt   int     `json:"attempt"`
	Lease     int64   `json:"lease"`
	Session   string  `json:"session"`
	ClaimedAt int64   `json:"claimed_at"`
	CancelAt  int64   `json:"cancel_at"`
	StartedAt int64   `json:"started_at"`
	Outcome   string  `json:"outcome"` // of the attempt; empty if there was none
	Failure   string  `json:"failure"` // error of the attempt
	ExitCode  *int    `json:"exit_code"`
	Signal    string  `json:"signal"`
	LogCut    int     `json:"log_cut"`
	Limited   int     `json:"limited"`
}

func endRowOf(e Ending, now time.Time) endRow {
	s, j := e.Settled, e.Row
	row := endRow{ID: j.ID, State: string(s.State), Reason: string(s.Reason), Note: s.Note, Error: s.Error, Output: base.JsonText(e.Fin.Output),
		DueAt: base.Micros(s.DueAt), Failures: s.Failures, Infra: s.Infra, Snoozes: s.Snoozes, Attempt: j.Attempt, Lease: j.Lease}
	if j.State != job.Running {
		return row
	}
	row.Session, row.ClaimedAt, row.CancelAt = j.Session, base.Micros(j.ClaimedAt), base.Micros(j.CancelAt)
	row.Outcome, row.Failure = string(s.Outcome), s.Error
	row.ExitCode, row.Signal, row.LogCut = e.Fin.ExitCode, e.Fin.Signal, base.Bit(e.Fin.LogCut)
	if e.Fin.StartedIn > 0 {
		row.StartedAt = min(base.Micros(j.ClaimedAt.Add(e.Fin.StartedIn.D())), base.Micros(now))
	}
	return row
}

// End writes the ends of attempts: ended jobs move to the finished jobs, the others wait again. With follow, it also carries out
// the consequences for schedules.
func (c *Change) End(ends []Ending, follow bool) error {
	var done, again []endRow
	var scheduled, leased, checks []int64
	for _, e := range ends {
		if err := limitsOf(c).Ended(e.Row.Limited, e.Row.ID, e.Settled.State); err != nil {
			return err
		}
		if e.Row.State == job.Running {
			leased = append(leased, e.Row.ID)
			c.Wake(base.TopicCapacity(e.Row.Queue))
			c.observeEnd(e)
		}
		row := endRowOf(e, c.Now)
		row.Limited = base.Bit(e.Row.Limited)
		if !e.Settled.State.Final() {
			if e.Settled.State == job.Ready {
				var err error
				row.ReadyAt = base.Micros(c.Now)
				at := e.Row.Job
				at.Priority = at.Standing()
				if row.Turn, err = turnsOf(c).Again(&at, e.Row.Limited || e.Settled.Outcome == job.OutcomeHandedBack); err != nil {
					return err
				}
				if row.Turn == 0 {
					row.State, row.ReadyAt = string(job.Scheduled), 0
				}
			}
			again = append(again, row)
			c.wakeFor(e.Row.Queue, job.State(row.State))
			continue
		}
		if e.Settled.LeavesResult(e.Row.Job) {
			checks = append(checks, e.Row.ID)
		} else {
			done = append(done, row)
		}
		scheduled = c.ended(e.Row.Trigger, e.Row.ScheduleID, scheduled)
	}
	c.Wake(base.TopicJobs)
	if err := c.putBack(again); err != nil {
		return err
	}
	if err := c.putAway(done); err != nil {
		return err
	}
	if err := forgetChecks(c, checks); err != nil {
		return err
	}
	if len(leased) > 0 {
		if _, err := c.Tx.Exec(c.Ctx, `delete from belfry.leases where `+c.SQL.In("job_id", 1), c.SQL.List(leased)); err != nil {
			return err
		}
	}
	if !follow {
		scheduled = nil
	}
	return c.s.Hooks.Ended(c, ends, base.Unique(scheduled))
}

// observeEnd reports the end of an attempt, by any cause, to the observer. An attempt that was handed back before it began has
// no duration (-1).
func (c *Change) observeEnd(e Ending) {
	s, ran := e.Settled, c.Now.Sub(e.Row.ClaimedAt)
	if s.Outcome == "" {
		return
	}
	if s.Outcome == job.OutcomeHandedBack && e.Fin.StartedIn == 0 {
		ran = -1
	}
	c.Observe(func(o base.Observer) { o.Settled(e.Row.Queue, s.Outcome, s.State, ran) })
}

func (c *Change) wakeFor(queue string, state job.State) {
	if state == job.Ready {
		c.Wake(base.TopicQueue(queue))
		return
	}
	c.Wake(base.TopicEngine)
}

// putBack records attempts that did not end their jobs, and makes the jobs wait again.
func (c *Change) putBack(rows []endRow) error {
	if len(rows) == 0 {
		return nil
	}
	from, args := c.SQL.Table(2, "t", base.BatchOf(rows))
	if _, err := c.Tx.Exec(c.Ctx, `
		insert into belfry.attempts (job_id, number, lease, session, worker, claimed_at, started_at, ended_at, outcome, error, exit_code, signal, log_cut)
		select t.id, t.attempt, t.lease, t.session, coalesce((select s.name from belfry.sessions s where s.id = t.session), ''), t.claimed_at, t.started_at, $1, t.outcome, t.failure, t.exit_code, t.signal, t.log_cut
		from `+from, append([]any{base.Micros(c.Now)}, args...)...); err != nil {
		return err
	}
	if err := forgetHandedBack(c, rows); err != nil {
		return err
	}
	from, args = c.SQL.ManyTable(2, "t", base.BatchOf(rows))
	_, err := c.Tx.Exec(c.Ctx, `
		update belfry.jobs
		set state = t.state, reason = t.reason, error = t.error, due_at = t.due_at, ready_at = t.ready_at, turn = t.turn, failures = t.failures, infra = t.infra, snoozes = t.snoozes,
			priority = case when t.state = 'ready' then priority else priority - aged end, aged = case when t.state = 'ready' then aged else 0 end, -- a retry waits anew
			attempt = t.attempt, lease = t.lease, limited = t.limited, (kind, requirement) = (select coalesce(max(k.kind), belfry.jobs.kind), coalesce(max(k.requirement), belfry.jobs.requirement) from belfry.tasks k where k.id = belfry.jobs.task_id)
		from `+from+`
		where belfry.jobs.id = t.id and `+c.SQL.Among("belfry.jobs.id", 1), append([]any{c.SQL.List(endIDs(rows))}, args...)...)
	return err
}

// putAway moves ended jobs, each with its last attempt, to the finished jobs.
func (c *Change) putAway(rows []endRow) error {
	if len(rows) == 0 {
		return nil
	}
	from, args := c.SQL.ManyTable(3, "t", base.BatchOf(rows))
	ids := c.SQL.List(endIDs(rows))
	n, err := c.Tx.Exec(c.Ctx, `
		insert into belfry.jobs_done (`+DoneColumns+`)
		select j.id, j.namespace, j.task_id, j.task, j.kind, j.queue, j.priority - j.aged, t.state, t.reason, t.note, t.error, j.input, j.tags, j.trigger,
			j.schedule, j.schedule_id, j.generation, j.nominal, j.due_at, j.created_at, t.claimed_at, t.cancel_at,
			t.attempt, t.failures, t.snoozes, j.max_attempts, j.timeout, t.lease, t.session, j.active_key, j.idem_key, $1, t.output,
			t.outcome, coalesce((select s.name from belfry.sessions s where s.id = t.session), ''), t.started_at, t.exit_code, t.signal, t.log_cut, t.infra, j.limited
		from `+from+`
		join belfry.jobs j on j.id = t.id
		where `+c.SQL.Among("j.id", 2), append([]any{base.Micros(c.Now), ids}, args...)...)
	if err != nil {
		return err
	}
	if int(n) != len(rows) {
		return fmt.Errorf("%d of %d jobs to put away are there", n, len(rows))
	}
	_, err = c.Tx.Exec(c.Ctx, `delete from belfry.jobs where `+c.SQL.In("id", 1), ids)
	return err
}

func endIDs(rows []endRow) []int64 { return idsOf(rows, func(r *endRow) int64 { return r.ID }) }

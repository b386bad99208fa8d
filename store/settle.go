package store

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strconv"

	"github.com/belfry-run/belfry"
)

func placeholder(n int) string { return "$" + strconv.Itoa(n) }

// finishing is a locked job and what came of its attempt.
type finishing struct {
	row jobRow
	fin belfry.Finish
}

// Finish settles attempts. A finish under a lease that was lost answers Stale
// and writes nothing.
func (s *Store) Finish(ctx context.Context, session string, fs []belfry.Finish) (out []belfry.Finished, err error) {
	err = s.write(ctx, "finish", func(c *change) error {
		out, err = c.finish(fs)
		return err
	})
	if err == nil {
		s.tellStale(session, out)
	}
	return out, err
}

// FinishTx is [Store.Finish] for one attempt inside the caller's transaction,
// so that what the handler wrote and the end of its job are one. A stale lease
// is a [belfry.Conflict] here: roll back, somebody else has the job.
func (s *Store) FinishTx(ctx context.Context, tx any, f belfry.Finish) (belfry.Finished, error) {
	c, err := s.adopt(ctx, tx)
	if err != nil {
		return belfry.Finished{}, err
	}
	out, err := c.finish([]belfry.Finish{f})
	if err != nil {
		return belfry.Finished{}, err
	}
	if out[0].Stale {
		return out[0], belfry.Errorf(belfry.Conflict, "the lease on job %d was lost", f.JobID).WithHint("roll back: another attempt has the job")
	}
	return out[0], nil
}

func (s *Store) tellStale(session string, out []belfry.Finished) {
	n := 0
	for _, f := range out {
		if f.Stale {
			n++
			s.opt.Logger.Warn("late finish refused", "job", f.JobID, "lease", f.Lease, "session", session)
		}
	}
	if n > 0 {
		s.opt.Observer.Stale(n)
	}
}

func (c *change) finish(fs []belfry.Finish) ([]belfry.Finished, error) {
	if len(fs) > belfry.MaxBatch {
		return nil, belfry.Errorf(belfry.TooLarge, "%d finishes in one call", len(fs)).WithHint("send at most %d", belfry.MaxBatch)
	}
	ids := make([]int64, len(fs))
	for i := range fs {
		if err := fs[i].Validate(); err != nil {
			return nil, err
		}
		ids[i] = fs[i].JobID
	}
	rows, err := c.lockJobs(ids)
	if err != nil {
		return nil, err
	}
	byRef := make(map[belfry.Ref]jobRow, len(rows))
	for _, j := range rows {
		if j.State == belfry.JobRunning {
			byRef[belfry.Ref{JobID: j.ID, Lease: j.Lease}] = j
		}
	}
	out := make([]belfry.Finished, len(fs))
	var valid []finishing
	for i, f := range fs {
		out[i] = belfry.Finished{Ref: f.Ref, Stale: true}
		if row, ok := byRef[f.Ref]; ok {
			valid = append(valid, finishing{row, f})
			delete(byRef, f.Ref) // the same attempt twice in one batch is stale the second time
			out[i].Stale = false
		}
	}
	ends, err := c.settleWith(valid)
	for i := range out {
		out[i].State = ends[out[i].JobID].State
	}
	return out, err
}

// lockJobs locks live jobs by id, in one order, so that two batches cannot
// wait for each other.
func (c *change) lockJobs(ids []int64) ([]jobRow, error) {
	if len(ids) == 0 {
		return nil, nil
	}
	return collect(c.ctx, c.tx, scanJob, selectLive+`
		where id in (select id from `+c.s.idTable(1)+`)
		order by id`+c.s.sql.ForUpdate("jobs"), idRows(ids))
}

// settle asks the root what the ends of attempts mean and writes the answers.
func (c *change) settle(fs []finishing) error {
	_, err := c.settleWith(fs)
	return err
}

// maxSignal bounds the name of a signal, in bytes. The longest is SIGVTALRM.
const maxSignal = 64

func (c *change) settleWith(fs []finishing) (map[int64]belfry.Settlement, error) {
	if len(fs) == 0 {
		return nil, nil
	}
	policies, err := c.policies(fs)
	if err != nil {
		return nil, err
	}
	answers := make(map[int64]belfry.Settlement, len(fs))
	ends := make([]ending, len(fs))
	for i, f := range fs {
		task, known := policies[f.row.TaskID]
		if f.fin.Error, _ = belfry.CleanText(f.fin.Error, belfry.MaxError); !known {
			f.fin.NoRetry = true // its task was deleted meanwhile
		}
		f.fin.Signal, _ = belfry.CleanText(f.fin.Signal, maxSignal)
		fs[i].fin.Signal = f.fin.Signal
		s := belfry.Settle(f.row.Job, task.Retry, f.fin, c.now)
		answers[f.row.ID] = s
		ends[i] = ending{row: f.row, settled: s, output: f.fin.Output}
		c.s.opt.Observer.Settled(f.row.Queue, s.Outcome, s.State, c.now.Sub(f.row.ClaimedAt))
	}
	if err := c.recordAttempts(fs, answers); err != nil {
		return nil, err
	}
	return answers, c.end(ends, true)
}

// policies reads the tasks of attempts that failed. Those that went well need
// none.
func (c *change) policies(fs []finishing) (map[int64]belfry.Task, error) {
	var ids []int64
	for _, f := range fs {
		if f.fin.Outcome != belfry.OutcomeOK && f.fin.Outcome != belfry.OutcomeHandedBack {
			ids = append(ids, f.row.TaskID)
		}
	}
	if len(ids) == 0 {
		return nil, nil
	}
	return c.s.tasksByID(c.ctx, c.tx, ids)
}

// attemptRow is an ended attempt as a batch carries it.
type attemptRow struct {
	JobID     int64  `json:"job_id"`
	Number    int    `json:"number"`
	Lease     int64  `json:"lease"`
	Session   string `json:"session"`
	ClaimedAt int64  `json:"claimed_at"`
	StartedAt int64  `json:"started_at"`
	EndedAt   int64  `json:"ended_at"`
	Outcome   string `json:"outcome"`
	Error     string `json:"error"`
	ExitCode  *int   `json:"exit_code"`
	Signal    string `json:"signal"`
	LogCut    int    `json:"log_cut"`
}

func (c *change) recordAttempts(fs []finishing, answers map[int64]belfry.Settlement) error {
	rows := make([]attemptRow, len(fs))
	for i, f := range fs {
		j := f.row
		a := attemptRow{JobID: j.ID, Number: j.Attempt, Lease: j.Lease, Session: j.Session, ClaimedAt: micros(j.ClaimedAt), EndedAt: micros(c.now),
			Outcome: string(answers[j.ID].Outcome), Error: answers[j.ID].Error, ExitCode: f.fin.ExitCode, Signal: f.fin.Signal}
		if f.fin.StartedIn > 0 {
			a.StartedAt = min(micros(j.ClaimedAt.Add(f.fin.StartedIn.D())), a.EndedAt)
		}
		if f.fin.LogCut {
			a.LogCut = 1
		}
		rows[i] = a
	}
	_, err := c.tx.Exec(c.ctx, `
		insert into attempts (job_id, number, lease, session, worker, claimed_at, started_at, ended_at, outcome, error, exit_code, signal, log_cut)
		select t.job_id, t.number, t.lease, t.session, coalesce(s.name, ''), t.claimed_at, t.started_at, t.ended_at, t.outcome, t.error, t.exit_code, t.signal, t.log_cut
		from `+c.s.sql.Table(1, "t", Col{"job_id", Int}, Col{"number", Int}, Col{"lease", Int}, Col{"session", Text}, Col{"claimed_at", Int},
		Col{"started_at", Int}, Col{"ended_at", Int}, Col{"outcome", Text}, Col{"error", Text}, Col{"exit_code", Int}, Col{"signal", Text}, Col{"log_cut", Int})+`
		left join sessions s on s.id = t.session`, text(rows))
	return err
}

// ending is what becomes of a job's row.
type ending struct {
	row     jobRow
	settled belfry.Settlement
	output  json.RawMessage
}

// endRow is an ending as a batch carries it.
type endRow struct {
	ID       int64   `json:"id"`
	State    string  `json:"state"`
	Reason   string  `json:"reason"`
	Note     string  `json:"note"`
	Error    string  `json:"error"`
	Output   *string `json:"output"`
	DueAt    int64   `json:"due_at"`
	Failures int     `json:"failures"`
	Snoozes  int     `json:"snoozes"`
}

var endCols = []Col{
	{"id", Int}, {"state", Text}, {"reason", Text}, {"note", Text}, {"error", Text}, {"output", Text}, {"due_at", Int}, {"failures", Int}, {"snoozes", Int},
}

// end writes what becomes of jobs: those that ended move to the finished ones,
// the others wait again. With follow, what follows from an end for its
// schedule is decided and written too.
func (c *change) end(ends []ending, follow bool) error {
	var done, again []endRow
	var scheduled []int64
	for _, e := range ends {
		s := e.settled
		row := endRow{e.row.ID, string(s.State), string(s.Reason), s.Note, s.Error, jsonText(e.output), micros(s.DueAt), s.Failures, s.Snoozes}
		if !s.State.Final() {
			again = append(again, row)
			c.wakeFor(e.row.Queue, s.State)
			continue
		}
		done = append(done, row)
		if e.row.Trigger == belfry.TriggerBackfill {
			c.wake(topicEngine) // the next one may be waiting for it
		}
		if e.row.ScheduleID > 0 {
			scheduled = append(scheduled, e.row.ScheduleID)
		}
	}
	c.wake(topicJobs)
	if err := c.putBack(again); err != nil {
		return err
	}
	if err := c.putAway(done); err != nil {
		return err
	}
	if !follow || len(scheduled) == 0 {
		return nil
	}
	return c.follow(unique(scheduled))
}

func (c *change) wakeFor(queue string, state belfry.JobState) {
	if state == belfry.JobReady {
		c.wake(topicQueue(queue))
		return
	}
	c.wake(topicEngine)
}

func (c *change) putBack(rows []endRow) error {
	if len(rows) == 0 {
		return nil
	}
	_, err := c.tx.Exec(c.ctx, `
		update jobs
		set state = t.state, reason = t.reason, error = t.error, due_at = t.due_at, failures = t.failures, snoozes = t.snoozes, deadline_at = 0,
			kind = coalesce((select k.kind from tasks k where k.id = jobs.task_id), jobs.kind)
		from `+c.s.sql.Table(1, "t", endCols...)+`
		where jobs.id = t.id`, text(rows))
	return err
}

func (c *change) putAway(rows []endRow) error {
	if len(rows) == 0 {
		return nil
	}
	table := c.s.sql.Table(1, "t", endCols...)
	n, err := c.tx.Exec(c.ctx, `
		insert into jobs_done (`+jobColumns+`, finished_at, output)
		select j.id, j.namespace, j.task_id, j.task, j.kind, j.queue, j.priority, t.state, t.reason, t.note, t.error, j.input, j.tags, j.origin,
			j.schedule, j.schedule_id, j.generation, j.nominal, j.due_at, j.created_at, j.claimed_at, j.deadline_at, j.cancel_at,
			j.attempt, t.failures, t.snoozes, j.max_attempts, j.timeout, j.lease, j.session, j.active_key, j.idem_key, $2, t.output
		from `+table+`
		join jobs j on j.id = t.id`, text(rows), micros(c.now))
	if err != nil {
		return err
	}
	if int(n) != len(rows) {
		return fmt.Errorf("%d of %d jobs to put away are there", n, len(rows))
	}
	_, err = c.tx.Exec(c.ctx, `delete from jobs where id in (select id from `+table+`)`, text(rows))
	return err
}

// follow decides what follows for schedules from the end of one of their jobs:
// the next run of a rule that counts from the finish, a run from the buffer, an
// end that was waited for.
func (c *change) follow(ids []int64) error {
	// Locked before it is judged whether anything can follow: a pause, a resume
	// or an edit that runs beside us either sees that the job has ended, or is
	// seen by us. Judged by an earlier look, each could leave the next run to
	// the other, and the loop would be dead.
	rows, err := collect(c.ctx, c.tx, scanSchedule, `
		select `+scheduleColumns+`
		from schedules s
		where s.id in (select id from `+c.s.idTable(1)+`)
		order by s.id`+c.s.sql.ForUpdate("s"), idRows(ids))
	if err != nil {
		return err
	}
	rows = slices.DeleteFunc(rows, func(r scheduleRow) bool {
		return r.State != belfry.ScheduleActive || !concernedByEnd(r.Schedule)
	})
	if len(rows) == 0 {
		return nil
	}
	facts, err := c.facts(rows)
	if err != nil {
		return err
	}
	all := make([]decided, 0, len(rows))
	for _, r := range rows {
		plan, err := c.s.planOf(c.ctx, c.tx, r.Schedule)
		if err != nil { // the job has ended all the same
			if err := c.shelve(r, err); err != nil {
				return err
			}
			continue
		}
		all = append(all, decided{r, belfry.Ended(r.Schedule, plan, facts[r.ID], c.now)})
	}
	return c.applyFirings(all)
}

func concernedByEnd(s belfry.Schedule) bool {
	switch s.Overlap {
	case belfry.OverlapBufferOne, belfry.OverlapBufferAll, belfry.OverlapCancelOther:
		return true
	}
	return fromFinish(s) || s.MaxRuns > 0
}

// withdraw ends jobs that have not started.
func (c *change) withdraw(cond string, arg any, reason belfry.Reason, note string) error {
	rows, err := collect(c.ctx, c.tx, scanJob, selectLive+`
		where `+cond+` and state <> 'running'
		order by id`+c.s.sql.ForUpdate("jobs"), arg)
	if err != nil || len(rows) == 0 {
		return err
	}
	ends := make([]ending, len(rows))
	for i, j := range rows {
		ends[i] = ending{row: j, settled: belfry.Withdraw(j.Job, reason, note)}
	}
	return c.end(ends, reason != belfry.ReasonEdited)
}

// withdrawOf ends what waits of a schedule: jobs that have not started, and
// occurrences in its buffer.
func (c *change) withdrawOf(row scheduleRow, reason belfry.Reason, note string) error {
	if err := c.withdraw(`schedule_id = $1 and origin = 'schedule'`, row.ID, reason, note); err != nil {
		return err
	}
	_, err := c.tx.Exec(c.ctx, `
		update occurrences
		set decision = 'skipped', reason = $2, note = $3, decided_at = $4
		where schedule_id = $1 and decision = 'buffered'`, row.ID, string(reason), note, micros(c.now))
	return err
}

// terminate ends jobs here and now. Whatever their workers say later comes
// under a lease that no live job has any more.
func (c *change) terminate(ids []int64) error {
	rows, err := c.lockJobs(ids)
	if err != nil {
		return err
	}
	var ends []ending
	var running []finishing
	answers := map[int64]belfry.Settlement{}
	for _, j := range rows {
		s := belfry.Withdraw(j.Job, belfry.ReasonReplaced, "a later run of its schedule took its place")
		if j.State == belfry.JobRunning {
			s.State, s.Outcome, s.Error = belfry.JobCanceled, belfry.OutcomeCanceled, "terminated: a later run took its place"
			answers[j.ID] = s
			running = append(running, finishing{row: j})
			c.wake(topicSession(j.Session))
		}
		ends = append(ends, ending{row: j, settled: s})
	}
	if len(running) > 0 {
		if err := c.recordAttempts(running, answers); err != nil {
			return err
		}
	}
	return c.end(ends, false)
}

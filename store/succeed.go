package store

import (
	"cmp"
	"slices"

	"github.com/belfry-run/belfry/core"
	"github.com/belfry-run/belfry/job"
	"github.com/belfry-run/belfry/schedule"
	"github.com/belfry-run/belfry/task"
)

// Success is an attempt that went well, as a batch carries it. Its job ends
// whatever its row says, so the row need not be read before.
type Success struct {
	JobID     int64   `json:"job_id"`
	Lease     int64   `json:"lease"`
	Output    *string `json:"output"`
	StartedIn int64   `json:"started_in"` // microseconds since the claim; 0: unknown
	ExitCode  *int    `json:"exit_code"`
	Signal    string  `json:"signal"`
	LogCut    int     `json:"log_cut"`
}

// LeasesOf are the numbers of the leases of successes, each once and in order.
// They are few.
func LeasesOf(rows []Success) (numbers []int64) {
	for i := range rows {
		numbers = withLease(numbers, rows[i].Lease)
	}
	return numbers
}

func withLease(numbers []int64, lease int64) []int64 {
	i, found := slices.BinarySearch(numbers, lease)
	if found {
		return numbers
	}
	return slices.Insert(numbers, i, lease)
}

// foreseeFinish asks what a finish of attempts asks first if all went well.
func (c *change) foreseeFinish(fs []job.Finish) {
	if len(fs) > core.MaxBatch { // it will be refused
		return
	}
	var leases []int64
	for i := range fs {
		if fs[i].Outcome != job.OutcomeOK || fs[i].Check != nil {
			return
		}
		leases = withLease(leases, fs[i].Lease)
	}
	c.sql.ForeseeSucceed(c.ctx, c.tx, len(fs), leases)
}

// Succeeded is what settling a [Success] needs to know of the job.
type Succeeded struct {
	Ref        job.Ref
	Queue      string
	Trigger    schedule.Trigger
	ScheduleID int64
	ClaimedAt  int64
	Nominal    int64
	DueAt      int64
	TaskID     int64
	Attempt    int
}

// endingOf is the end of a check that brought nothing but its success, such as a
// command's.
func endingOf(s *Succeeded) ending {
	j := jobRow{Job: job.Job{ID: s.Ref.JobID, Kind: task.KindCommand, State: job.Running, Trigger: s.Trigger, ScheduleID: s.ScheduleID,
		Nominal: instant(s.Nominal), DueAt: instant(s.DueAt), ClaimedAt: instant(s.ClaimedAt)}}
	return ending{row: j, settled: job.Settlement{State: job.Succeeded, Outcome: job.OutcomeOK}}
}

// SucceededColumns are the columns of a [Succeeded].
const SucceededColumns = `id, lease, queue, origin, schedule_id, claimed_at, nominal, due_at, task_id, attempt`

// ScanSucceeded reads them, and closes the answer.
func ScanSucceeded(rows Rows) (all []Succeeded, err error) {
	defer rows.Close()
	var s Succeeded
	for rows.Next() {
		if err := rows.Scan(&s.Ref.JobID, &s.Ref.Lease, &s.Queue, (*string)(&s.Trigger), &s.ScheduleID, &s.ClaimedAt, &s.Nominal, &s.DueAt, &s.TaskID, &s.Attempt); err != nil {
			return nil, err
		}
		all = append(all, s)
	}
	return all, rows.Err()
}

// succeed settles attempts that went well. It answers those whose lease was
// good, and held by the session.
func (c *change) succeed(session string, fs []job.Finish) ([]Succeeded, error) {
	if len(fs) == 0 {
		return nil, nil
	}
	rows := make([]Success, len(fs))
	for i := range fs {
		f := &fs[i]
		signal, _ := core.CleanText(f.Signal, maxSignal)
		rows[i] = Success{JobID: f.JobID, Lease: f.Lease, Output: jsonText(f.Output), StartedIn: f.StartedIn.D().Microseconds(), ExitCode: f.ExitCode, Signal: signal, LogCut: bit(f.LogCut)}
	}
	// In one order, so that two batches cannot wait for each other.
	slices.SortFunc(rows, func(a, b Success) int { return cmp.Compare(a.JobID, b.JobID) })
	done, err := c.sql.Succeed(c.ctx, c.tx, session, rows, micros(c.now))
	if err != nil {
		return nil, err
	}
	var scheduled []int64
	var checks []ending
	var members []memberEnd
	for i := range done {
		d := &done[i]
		if i == 0 || d.Queue != done[i-1].Queue {
			c.wake(topicPlace(d.Queue))
		}
		switch d.Trigger {
		case job.TriggerCheck:
			checks = append(checks, endingOf(d))
		case job.TriggerCycle:
			members = append(members, memberEnd{jobID: d.Ref.JobID, taskID: d.TaskID, state: job.Succeeded, attempts: d.Attempt, claimedAt: instant(d.ClaimedAt)})
		}
		scheduled = c.ended(d.Trigger, d.ScheduleID, scheduled)
	}
	c.wake(topicJobs)
	c.observe(func(o Observer) {
		for i := range done {
			o.Settled(done[i].Queue, job.OutcomeOK, job.Succeeded, c.now.Sub(instant(done[i].ClaimedAt)))
		}
	})
	if err := c.unkeep(checks); err != nil {
		return nil, err
	}
	return done, c.s.jobHooks.Succeeded(c, checks, members, unique(scheduled))
}

// unkeep takes checks out of the finished jobs, where they have just been put
// with all others of their batch: whether something is a check is known then.
func (c *change) unkeep(checks []ending) error {
	if len(checks) == 0 {
		return nil
	}
	ids := make([]int64, len(checks))
	for i, e := range checks {
		ids[i] = e.row.ID
	}
	if _, err := c.tx.Exec(c.ctx, `delete from belfry.jobs_done where finished_at = $2 and `+c.sql.In("id", 1), c.sql.List(ids), micros(c.now)); err != nil {
		return err
	}
	return c.forgetChecks(ids)
}

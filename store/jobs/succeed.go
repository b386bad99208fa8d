package jobs

import (
	"cmp"
	"slices"

	"github.com/belfry-run/belfry/core"
	"github.com/belfry-run/belfry/job"
	"github.com/belfry-run/belfry/store/base"
	"github.com/belfry-run/belfry/task"
)

// LeasesOf returns the lease numbers of successes, each once and in order. They are few.
func LeasesOf(rows []base.Success) (numbers []int64) {
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

// foreseeFinish sends the first query of a finish ahead, if all attempts are successful.
func (c *Change) foreseeFinish(fs []job.Finish) {
	if len(fs) > core.MaxBatch { // the finish will be refused
		return
	}
	var leases []int64
	for i := range fs {
		if fs[i].Outcome != job.OutcomeOK || fs[i].Check != nil {
			return
		}
		leases = withLease(leases, fs[i].Lease)
	}
	c.SQL.ForeseeSucceed(c.Ctx, c.Tx, len(fs), leases)
}

// endingOf returns the ending of a check that reports success only, such as the check of a command.
func endingOf(s *base.Succeeded) Ending {
	j := JobRow{Job: job.Job{ID: s.Ref.JobID, Kind: task.KindCommand, State: job.Running, Trigger: s.Trigger, ScheduleID: s.ScheduleID,
		Nominal: base.Instant(s.Nominal), DueAt: base.Instant(s.DueAt), ClaimedAt: base.Instant(s.ClaimedAt)}}
	return Ending{Row: j, Settled: job.Settlement{State: job.Succeeded, Outcome: job.OutcomeOK}}
}

// SucceededColumns are the columns of a [base.Succeeded].
const SucceededColumns = `id, lease, queue, trigger, schedule_id, claimed_at, nominal, due_at, task_id, attempt, limited`

// ScanSucceeded scans all rows, and closes them.
func ScanSucceeded(rows base.Rows) (all []base.Succeeded, err error) {
	defer rows.Close()
	var s base.Succeeded
	for rows.Next() {
		if err := rows.Scan(&s.Ref.JobID, &s.Ref.Lease, &s.Queue, (*string)(&s.Trigger), &s.ScheduleID, &s.ClaimedAt, &s.Nominal, &s.DueAt, &s.TaskID, &s.Attempt, &s.Limited); err != nil {
			return nil, err
		}
		all = append(all, s)
	}
	return all, rows.Err()
}

// succeed moves the rows of successful jobs with as few statements as the database allows.
func (fast) succeed(c *Change, session string, fs []job.Finish, settled func(job.Ref, job.State)) error {
	if len(fs) == 0 {
		return nil
	}
	rows := make([]base.Success, len(fs))
	for i := range fs {
		f := &fs[i]
		signal, _ := core.CleanText(f.Signal, maxSignal)
		rows[i] = base.Success{JobID: f.JobID, Lease: f.Lease, Output: base.JsonText(f.Output), StartedIn: f.StartedIn.D().Microseconds(), ExitCode: f.ExitCode, Signal: signal, LogCut: base.Bit(f.LogCut)}
	}
	// In one order, so that two batches cannot deadlock.
	slices.SortFunc(rows, func(a, b base.Success) int { return cmp.Compare(a.JobID, b.JobID) })
	done, err := c.SQL.Succeed(c.Ctx, c.Tx, session, rows, base.Micros(c.Now))
	if err != nil {
		return err
	}
	var scheduled []int64
	var checks []Ending
	var members []MemberEnd
	var limited []int64
	for i := range done {
		d := &done[i]
		settled(d.Ref, job.Succeeded)
		if i == 0 || d.Queue != done[i-1].Queue {
			c.Wake(base.TopicCapacity(d.Queue))
		}
		if d.Limited != 0 {
			limited = append(limited, d.Ref.JobID)
		}
		switch d.Trigger {
		case job.TriggerCheck:
			checks = append(checks, endingOf(d))
		case job.TriggerCycle, job.TriggerStep, job.TriggerSpawn:
			m := MemberEnd{JobID: d.Ref.JobID, TaskID: d.TaskID, State: job.Succeeded, Attempts: d.Attempt, ClaimedAt: base.Instant(d.ClaimedAt), Trigger: d.Trigger}
			if at, found := slices.BinarySearchFunc(rows, d.Ref.JobID, func(r base.Success, id int64) int { return cmp.Compare(r.JobID, id) }); found && rows[at].Output != nil {
				m.Output = []byte(*rows[at].Output)
			}
			members = append(members, m)
		}
		scheduled = c.ended(d.Trigger, d.ScheduleID, scheduled)
	}
	c.Wake(base.TopicJobs)
	c.Observe(func(o base.Observer) {
		for i := range done {
			o.Settled(done[i].Queue, job.OutcomeOK, job.Succeeded, c.Now.Sub(base.Instant(done[i].ClaimedAt)))
		}
	})
	if err := limitsOf(c).Release(limited...); err != nil {
		return err
	}
	if err := unkeep(c, checks); err != nil {
		return err
	}
	return c.s.Hooks.Succeeded(c, done, checks, members, base.Unique(scheduled))
}

// unkeep deletes checks from the finished jobs. They were just written there with all jobs of their batch; only then is it known
// which of them are checks.
func unkeep(c *Change, checks []Ending) error {
	if len(checks) == 0 {
		return nil
	}
	ids := idsOf(checks, func(e *Ending) int64 { return e.Row.ID })
	if _, err := c.Tx.Exec(c.Ctx, `delete from belfry.jobs_done where finished_at = $2 and `+c.SQL.In("id", 1), c.SQL.List(ids), base.Micros(c.Now)); err != nil {
		return err
	}
	return forgetChecks(c, ids)
}

// forgetChecks deletes the jobs, attempts and logs of checks whose results are kept.
func forgetChecks(c *Change, jobs []int64) error {
	if len(jobs) == 0 {
		return nil
	}
	for _, query := range []string{
		`delete from belfry.jobs where ` + c.SQL.In("id", 1),
		`delete from belfry.attempts where ` + c.SQL.In("job_id", 1),
		`delete from belfry.logs where ` + c.SQL.In("job_id", 1),
	} {
		if _, err := c.Tx.Exec(c.Ctx, query, c.SQL.List(jobs)); err != nil {
			return err
		}
	}
	return nil
}

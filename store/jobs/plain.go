package jobs

import (
	"slices"

	"github.com/belfry-run/belfry/core"
	"github.com/belfry-run/belfry/job"
	"github.com/belfry-run/belfry/store/base"
)

// path is how ready jobs come to a session, and how attempts that went well
// leave. [fast] and [plain] promise the same: the conformance suite and the model
// run against both.
type path interface {
	// claim leases ready jobs of queues to a session, the highest queue first.
	claim(c *Change, w job.WorkerState, queues []job.Queue, r job.ClaimRequest) (base.Answer, error)
	// lease leases jobs that are locked.
	lease(c *Change, w job.WorkerState, rows []JobRow, leases []leaseRow) (job.Claim, error)
	// succeed settles attempts that went well, and tells of those whose lease was good.
	succeed(c *Change, session string, fs []job.Finish, settled func(job.Ref, job.State)) error
}

// plain is the simplest path: pick the first ready jobs and lock them, give each a
// row of leases, and settle a success like any other end. Read it first; [fast]
// does the same with less work. [base.Claims] chooses.
type plain struct{}

func (plain) claim(c *Change, w job.WorkerState, queues []job.Queue, r job.ClaimRequest) (a base.Answer, err error) {
	a.Claim.Jobs = []job.LeasedJob{}
	met, err := c.tasks().MetBy(w)
	if err != nil {
		return a, err
	}
	var rows []JobRow
	var leases []leaseRow
	for _, q := range queues {
		wanted := min(r.Want[q.Name], core.MaxBatch-len(rows))
		n, err := c.withinLimit(q, wanted)
		if err != nil {
			return a, err
		}
		if n < wanted {
			a.Limited = true
		}
		if n <= 0 {
			continue
		}
		cond := c.runnableBy(w, met)
		cond.And("queue = ?", q.Name)
		found, err := base.CollectInto(c.Ctx, c.Tx, nil, ScanReady(), SelectReady+`
			where state = 'ready' and `+c.s.Unleased()+` and `+cond.Sql()+`
			order by priority desc, ready_at, id
			limit `+base.Placeholder(len(cond.Args)+1)+` + 0`+c.SQL.SkipLocked("jobs"), append(slices.Clone(cond.Args), n)...)
		if err != nil {
			return a, err
		}
		slots := r.Slots(q.Name, wanted)
		may, err := c.spare(found, slots)
		if err != nil {
			return a, err
		}
		for i, j := range found[:may] {
			rows, leases = append(rows, j), append(leases, leaseRow{SlotOf: slotOf(q), Ahead: base.Bit(i >= slots)})
		}
	}
	if len(rows) > 0 {
		a.Claim, err = plain{}.lease(c, w, rows, leases)
	}
	return a, err
}

// lease hands locked jobs to a session under one new number. The number is
// drawn after the rows were locked: whoever had one of them before drew his
// before he committed, so ours is larger.
//
// The rows of the jobs are not touched. That a job has no lease was seen by the
// statement that picked it, which on PostgreSQL may have begun before another
// claim was committed; so the primary key of the leases has the last word.
func (plain) lease(c *Change, w job.WorkerState, rows []JobRow, leases []leaseRow) (job.Claim, error) {
	number, at, err := c.SQL.LeaseNumber(c.Ctx, c.Tx, base.Micros(c.Now))
	if err != nil {
		return job.Claim{}, err
	}
	return c.leaseEach(w, number, at, rows, leases)
}

// leaseEach gives each job a row of leases.
func (c *Change) leaseEach(w job.WorkerState, number, at int64, rows []JobRow, leases []leaseRow) (job.Claim, error) {
	for i, j := range rows {
		leases[i].JobID, leases[i].DeadlineAt = j.ID, base.Micros(deadline(at, j.Timeout))
	}
	from, args := base.Spread(c.SQL, 4, leases)
	leased, err := base.Collect(c.Ctx, c.Tx, base.ScanInt, `
		insert into belfry.leases (job_id, number, session, slot_of, claimed_at, deadline_at, ahead)
		select t.job_id, $1, $2, t.slot_of, $3, t.deadline_at, t.ahead
		from `+from+`
		where `+c.SQL.Unleased("t.job_id")+`
		on conflict (job_id) do nothing
		returning job_id`, append([]any{number, w.Session, at}, args...)...)
	if err != nil {
		return job.Claim{}, err
	}
	if len(leased) < len(rows) { // another claim was faster with some
		rows = slices.DeleteFunc(rows, func(j JobRow) bool { return !slices.Contains(leased, j.ID) })
	}
	return c.leased(w, number, at, rows)
}

// succeed asks no less of a success than of a failure.
func (plain) succeed(c *Change, session string, fs []job.Finish, settled func(job.Ref, job.State)) error {
	states, err := c.SettleOther(session, fs)
	for ref, state := range states {
		settled(ref, state)
	}
	return err
}

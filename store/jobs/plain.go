package jobs

import (
	"slices"

	"github.com/belfry-run/belfry/job"
	"github.com/belfry-run/belfry/store/base"
	"github.com/belfry-run/belfry/store/marks"
)

// path is an implementation of claims and of successful finishes. [fast] and [plain] have the same guarantees: the conformance
// suite and the model run against both.
type path interface {
	// claim leases ready jobs of queues, the queue of the highest priority first.
	claim(c *claim, queues []job.Queue) (base.Answer, error)
	// lease leases jobs that are locked.
	lease(c *claim, rows []JobRow, leases []leaseRow) (job.Claim, error)
	// succeed settles successful attempts, and calls settled for each whose lease is valid.
	succeed(c *Change, session string, fs []job.Finish, settled func(job.Ref, job.State)) error
}

// plain is the simplest path, to be read first: it picks and locks the first ready jobs, gives each a row of leases, and settles
// a success like any other end. [fast] does the same with less work. [claim.take] handles queues, limits and slots for both.
// [base.Claims] chooses between them.
type plain struct{}

func (plain) claim(c *claim, queues []job.Queue) (base.Answer, error) {
	return c.take(queues, c.r.Want, func(q job.Queue, n int) (found, error) { return c.first(c.runnable(), q, n) })
}

// first picks and locks the first n ready jobs of a queue that meet a condition.
func (c *claim) first(cond *base.Where, q job.Queue, n int) (found, error) {
	cond.And("queue = ?", q.Name)
	rows, err := base.CollectInto(c.Ctx, c.Tx, nil, ScanReady(new(marks.Room)), SelectReady+`
		where state = 'ready' and `+c.s.Unleased()+` and `+cond.Sql()+`
		order by priority desc, turn, id
		limit `+base.Placeholder(len(cond.Args)+1)+` + 0`+c.SQL.SkipLocked("jobs"), append(cond.Args, n)...)
	return found{rows: rows, all: len(rows) < n}, err
}

// lease leases locked jobs to a session under one new number. The number is drawn after the rows were locked. An earlier claim of
// such a job drew its number before its commit, so the new number is larger.
//
// The rows of the jobs are not changed. The statement that picked a job saw no lease of it, but on PostgreSQL it may have begun
// before another claim committed. So the primary key of the leases decides.
func (plain) lease(c *claim, rows []JobRow, leases []leaseRow) (job.Claim, error) {
	number, at, err := c.SQL.LeaseNumber(c.Ctx, c.Tx, base.Micros(c.Now))
	if err != nil {
		return job.Claim{}, err
	}
	return c.leaseEach(number, at, rows, leases)
}

// leaseEach gives each job a row of leases.
func (c *claim) leaseEach(number, at int64, rows []JobRow, leases []leaseRow) (job.Claim, error) {
	for i, j := range rows {
		leases[i].JobID, leases[i].DeadlineAt = j.ID, base.Micros(job.Deadline(base.Instant(at), j.Kind, j.Timeout))
	}
	from, args := base.Spread(c.SQL, 4, leases)
	leased, err := base.Collect(c.Ctx, c.Tx, base.ScanInt, `
		insert into belfry.leases (job_id, number, session, slot_of, claimed_at, deadline_at, ahead)
		select t.job_id, $1, $2, t.slot_of, $3, t.deadline_at, t.ahead
		from `+from+`
		where `+c.SQL.Unleased("t.job_id")+`
		on conflict (job_id) do nothing
		returning job_id`, append([]any{number, c.w.Session, at}, args...)...)
	if err != nil {
		return job.Claim{}, err
	}
	if len(leased) < len(rows) { // another claim leased some of them first
		rows = slices.DeleteFunc(rows, func(j JobRow) bool { return !slices.Contains(leased, j.ID) })
	}
	return c.leased(number, at, rows)
}

// succeed settles a success in the same way as a failure.
func (plain) succeed(c *Change, session string, fs []job.Finish, settled func(job.Ref, job.State)) error {
	states, err := c.SettleOther(session, fs)
	for ref, state := range states {
		settled(ref, state)
	}
	return err
}

package jobs

import (
	"slices"

	"github.com/belfry-run/belfry/job"
	"github.com/belfry-run/belfry/store/base"
)

// presented is a ticket of a claim, with the state of its job.
type presented struct {
	id            int64
	ready, leased bool
	queue, hash   string // hash is the stored hash of the valid ticket of the job; empty: none
}

// claimTickets leases the jobs of tickets, as far as possible, and returns the tickets that are void.
func (c *claim) claimTickets() (out job.Claim, err error) {
	out.Jobs = []job.LeasedJob{}
	secrets := make(map[int64]string, len(c.r.Tickets))
	ids := make([]int64, 0, len(c.r.Tickets))
	for _, t := range c.r.Tickets {
		if _, twice := secrets[t.JobID]; !twice {
			secrets[t.JobID] = base.HashSecret(t.Secret)
			ids = append(ids, t.JobID)
		}
	}
	known, err := base.Collect(c.Ctx, c.Tx, func(r base.Rows) (s presented, err error) {
		var ready, leased int64
		err = r.Scan(&s.id, &ready, &leased, &s.queue, &s.hash)
		s.ready, s.leased = ready != 0, leased != 0
		return s, err
	}, `
		select id, case when state = 'ready' then 1 else 0 end, case when `+c.s.Unleased()+` then 0 else 1 end, queue,
			coalesce((select t.secret_hash from belfry.tickets t where t.job_id = id and t.lease = belfry.jobs.lease), '')
		from belfry.jobs
		where `+c.SQL.In("id", 1), c.SQL.List(ids))
	if err != nil {
		return out, err
	}
	good := make(map[int64]presented, len(known))
	for _, s := range known {
		if s.ready && !s.leased && s.hash != "" && s.hash == secrets[s.id] {
			good[s.id] = s
		}
	}
	for _, id := range ids {
		if _, ok := good[id]; !ok {
			out.VoidTickets = append(out.VoidTickets, id)
		}
	}
	if len(good) == 0 || c.w.Drain {
		return out, nil
	}
	void := out.VoidTickets
	if out, err = c.leaseGood(good); err != nil {
		return out, err
	}
	out.VoidTickets = void
	done := idsOf(out.Jobs, func(j *job.LeasedJob) int64 { return j.Job.ID })
	if len(done) > 0 {
		_, err = c.Tx.Exec(c.Ctx, `delete from belfry.tickets where `+c.SQL.In("job_id", 1), c.SQL.List(done))
	}
	return out, err
}

// leaseGood leases the jobs of good tickets that the session can run, as far as their queues and the bytes of their inputs allow.
func (c *claim) leaseGood(good map[int64]presented) (out job.Claim, err error) {
	want, ids := map[string]int{}, make([]int64, 0, len(good))
	for id, s := range good {
		want[s.queue]++
		ids = append(ids, id)
	}
	slices.Sort(ids)
	out.Jobs = []job.LeasedJob{}
	queues, err := c.Claimable(want)
	if err != nil {
		return out, err
	}
	if c.met, err = c.tasks().MetBy(c.w); err != nil {
		return out, err
	}
	a, err := c.take(queues, want, func(q job.Queue, n int) (found, error) {
		cond := c.runnable()
		cond.And(c.SQL.In("id", len(cond.Args)+1), c.SQL.List(ids))
		return c.first(cond, q, n)
	})
	return a.Claim, err
}

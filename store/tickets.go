package store

import (
	"cmp"
	"context"
	"crypto/hmac"
	"crypto/sha256"
	"encoding/base64"
	"fmt"
	"slices"
	"strconv"
	"time"

	"github.com/belfry-run/belfry/access"
	"github.com/belfry-run/belfry/core"
	"github.com/belfry-run/belfry/job"
)

const (
	// maxDoubled is how often the time until a ticket is made again doubles.
	maxDoubled = 5
	// maxRung bounds the tickets of a queue that wait to be shown. More would
	// only wait at the broker instead of here.
	maxRung = 10_000
	// keepTickets is how long a ticket is remembered whose job has gone.
	keepTickets = 24 * time.Hour
)

// Ready returns a channel that is closed when a queue may have more jobs that
// are ready. Take it before [Store.MakeTickets].
func (s *Store) Ready(queue string) <-chan struct{} { return s.hub.on(topicQueue(queue)) }

// MakeTickets makes tickets for at most n jobs of a queue that are ready and
// have none, or one that nobody has shown for [Options.RingAgain] and, after
// that, for ever longer. Two nodes that ask at once do not get the same jobs.
//
// A ticket that is made again is the same: the broker may still hold the first,
// behind many others, and it must not become worthless there. The secret follows
// from a signing key, the job and its last lease; only its hash is written down.
func (s *Store) MakeTickets(ctx context.Context, queue string, n int) (ts []job.Ticket, err error) {
	keys, err := s.SigningKeys(ctx)
	if err != nil {
		return nil, err
	}
	if len(keys) == 0 {
		return nil, core.Errorf(core.Unavailable, "there is no key to make tickets with")
	}
	err = s.write(ctx, "make tickets", func(c *change) error {
		ts = nil
		queues, err := c.claimable(map[string]int{queue: 1})
		if err != nil || len(queues) == 0 {
			return err
		}
		rung, _, err := first(ctx, c.tx, scanInt, `
			select count(*)
			from (select 1 from belfry.tickets where queue = $1 and next_at > $2 limit $3 + 0) as bounded`, queue, micros(c.now), maxRung)
		if err != nil || rung >= maxRung {
			return err
		}
		type due struct{ id, lease, rings int64 }
		jobs, err := collect(ctx, c.tx, func(r Rows) (d due, err error) { return d, r.Scan(&d.id, &d.lease, &d.rings) }, `
			select id, lease, coalesce((select t.rings from belfry.tickets t where t.job_id = id and t.lease = belfry.jobs.lease), 0)
			from belfry.jobs
			where queue = $1 and state = 'ready' and kind <> 'cycle' and `+s.unleased()+`
				and (select t.next_at from belfry.tickets t where t.job_id = id and t.lease = belfry.jobs.lease and t.next_at > $2) is null
			order by priority desc, ready_at, id
			limit $3 + 0`+s.sql.SkipLocked("jobs"), queue, micros(c.now), min(n, core.MaxBatch, maxRung-int(rung)))
		if err != nil || len(jobs) == 0 {
			return err
		}
		type row struct {
			JobID  int64  `json:"job_id"`
			Lease  int64  `json:"lease"`
			Hash   string `json:"hash"`
			Rings  int64  `json:"rings"`
			NextAt int64  `json:"next_at"`
		}
		rows, secrets := make([]row, len(jobs)), make(map[int64]string, len(jobs))
		for i, j := range jobs {
			secrets[j.id] = ticketSecret(keys[0], j.id, j.lease)
			wait := s.opt.RingAgain << min(j.rings, maxDoubled)
			rows[i] = row{j.id, j.lease, hashSecret(secrets[j.id]), j.rings + 1, micros(c.now.Add(wait))}
		}
		from, args := c.sql.Table(3, "t", BatchOf(rows))
		// Another node may have made one since this statement's view was taken.
		made, err := collect(ctx, c.tx, scanInt, `
			insert into belfry.tickets (job_id, lease, secret_hash, queue, rings, next_at)
			select job_id, lease, hash, $1, rings, next_at
			from `+from+`
			where true
			on conflict (job_id) do update
			set lease = excluded.lease, secret_hash = excluded.secret_hash, queue = excluded.queue, rings = excluded.rings, next_at = excluded.next_at
			where belfry.tickets.lease <> excluded.lease or belfry.tickets.next_at <= $2
			returning job_id`, append([]any{queue, micros(c.now)}, args...)...)
		for _, j := range jobs {
			if slices.Contains(made, j.id) {
				ts = append(ts, job.Ticket{JobID: j.id, Secret: secrets[j.id]})
			}
		}
		return err
	})
	return ts, err
}

func ticketSecret(key access.SigningKey, job, lease int64) string {
	mac := hmac.New(sha256.New, key.Seed)
	_, _ = fmt.Fprintf(mac, "ticket/%d/%d", job, lease)
	return base64.RawURLEncoding.EncodeToString(mac.Sum(nil))
}

// presented is a ticket with what is known of its job.
type presented struct {
	id            int64
	ready, leased bool
	queue, hash   string // hash is that of the ticket for just this claim, or nothing
}

// claimShown leases the jobs of tickets, as far as they can be, and answers
// besides which of the others are worth nothing any more.
func (c *change) claimShown(w job.WorkerState, r job.ClaimRequest) (out job.Claim, err error) {
	out.Jobs = []job.LeasedJob{}
	secrets := make(map[int64]string, len(r.Tickets))
	ids := make([]int64, 0, len(r.Tickets))
	for _, t := range r.Tickets {
		if _, twice := secrets[t.JobID]; !twice {
			secrets[t.JobID] = hashSecret(t.Secret)
			ids = append(ids, t.JobID)
		}
	}
	known, err := collect(c.ctx, c.tx, func(r Rows) (s presented, err error) {
		var ready, leased int64
		err = r.Scan(&s.id, &ready, &leased, &s.queue, &s.hash)
		s.ready, s.leased = ready != 0, leased != 0
		return s, err
	}, `
		select id, case when state = 'ready' then 1 else 0 end, case when `+c.s.unleased()+` then 0 else 1 end, queue,
			coalesce((select t.secret_hash from belfry.tickets t where t.job_id = id and t.lease = belfry.jobs.lease), '')
		from belfry.jobs
		where `+c.sql.In("id", 1), c.sql.List(ids))
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
			out.Spent = append(out.Spent, id)
		}
	}
	if len(good) == 0 || w.Drain {
		return out, nil
	}
	spent := out.Spent
	if out, err = c.claimGood(w, r, good); err != nil {
		return out, err
	}
	out.Spent = spent
	done := make([]int64, len(out.Jobs))
	for i, j := range out.Jobs {
		done[i] = j.Job.ID
	}
	if len(done) > 0 {
		_, err = c.tx.Exec(c.ctx, `delete from belfry.tickets where `+c.sql.In("job_id", 1), c.sql.List(done))
	}
	return out, err
}

// claimGood leases those jobs of good tickets that the session can run, as far
// as their queues allow.
func (c *change) claimGood(w job.WorkerState, r job.ClaimRequest, good map[int64]presented) (job.Claim, error) {
	empty := job.Claim{Jobs: []job.LeasedJob{}}
	want, ids := map[string]int{}, make([]int64, 0, len(good))
	for id, s := range good {
		want[s.queue]++
		ids = append(ids, id)
	}
	slices.Sort(ids)
	queues, err := c.claimable(want)
	if err != nil {
		return empty, err
	}
	met, err := c.metBy(w)
	if err != nil {
		return empty, err
	}
	cond := c.runnableBy(w, met)
	cond.and(c.sql.In("id", len(cond.args)+1), c.sql.List(ids))
	found, err := collectInto(c.ctx, c.tx, nil, scanReady(), selectReady+`
		where state = 'ready' and `+c.s.unleased()+` and `+cond.sql()+`
		order by priority desc, ready_at, id
		limit `+strconv.Itoa(len(ids))+c.sql.SkipLocked("jobs"), cond.args...)
	if err != nil {
		return empty, err
	}
	var rows []jobRow
	var slots []leaseRow
	for _, q := range queues {
		allowed, err := c.withinLimit(q, want[q.Name])
		if err != nil {
			return empty, err
		}
		var of []jobRow
		for _, j := range found {
			if j.Queue == q.Name && allowed > 0 {
				allowed--
				of = append(of, j)
			}
		}
		free := r.Slots(q.Name, cmp.Or(r.Want[q.Name], len(r.Tickets)))
		may, err := c.spare(of, free)
		if err != nil {
			return empty, err
		}
		for i, j := range of[:may] {
			rows, slots = append(rows, j), append(slots, leaseRow{SlotOf: slotOf(q), Ahead: bit(i >= free)})
		}
	}
	if len(rows) == 0 {
		return empty, nil
	}
	return c.lease(w, rows, slots)
}

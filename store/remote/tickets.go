package remote

import (
	"context"
	"crypto/hmac"
	"crypto/sha256"
	"encoding/base64"
	"fmt"
	"slices"
	"time"

	"github.com/belfry-run/belfry/access"
	"github.com/belfry-run/belfry/core"
	"github.com/belfry-run/belfry/job"
	"github.com/belfry-run/belfry/store/base"
)

const (
	// maxDoubled is the number of times that the delay before a repeated ticket doubles.
	maxDoubled = 5
	// maxOpen bounds the tickets of a queue that wait for a worker. More tickets would only wait at the broker instead of here.
	maxOpen = 10_000
	// KeepTickets is the time for which the ticket of a deleted job is kept.
	KeepTickets = 24 * time.Hour
)

// Ready returns a channel that is closed when a queue may have more ready jobs. Take it before [Store.MakeTickets].
func (s *Store) Ready(queue string) <-chan struct{} { return s.Hub.On(base.TopicQueue(queue)) }

// MakeTickets makes tickets for at most n ready jobs of a queue. These jobs have no ticket, or one that no worker has shown for
// [base.Options.TicketRetry], and longer after each repetition. Two concurrent calls on different nodes do not get the same jobs.
//
// A repeated ticket is identical: the broker may still hold the first one behind many others, and it must stay valid. The
// secret is derived from a signing key, the job and its last lease. Only its hash is stored.
func (s *Store) MakeTickets(ctx context.Context, queue string, n int) (ts []job.Ticket, err error) {
	keys, err := s.programs.SigningKeys(ctx)
	if err != nil {
		return nil, err
	}
	if len(keys) == 0 {
		return nil, core.Errorf(core.Unavailable, "there is no key to make tickets with")
	}
	err = s.write(ctx, "make tickets", func(c *Change) error {
		ts = nil
		queues, err := c.jobs().Claimable(map[string]int{queue: 1})
		if err != nil || len(queues) == 0 {
			return err
		}
		open, _, err := base.First(ctx, c.Tx, base.ScanInt, `
			select count(*)
			from (select 1 from belfry.tickets where queue = $1 and next_at > $2 limit $3 + 0) as bounded`, queue, base.Micros(c.Now), maxOpen)
		if err != nil || open >= maxOpen {
			return err
		}
		type due struct{ id, lease, made int64 }
		jobs, err := base.Collect(ctx, c.Tx, func(r base.Rows) (d due, err error) { return d, r.Scan(&d.id, &d.lease, &d.made) }, `
			select id, lease, coalesce((select t.made from belfry.tickets t where t.job_id = id and t.lease = belfry.jobs.lease), 0)
			from belfry.jobs
			where queue = $1 and state = 'ready' and kind not in ('cycle', 'workflow') and `+s.Unleased()+`
				and (select t.next_at from belfry.tickets t where t.job_id = id and t.lease = belfry.jobs.lease and t.next_at > $2) is null
			order by priority desc, turn, id
			limit $3 + 0`+s.SQL.SkipLocked("jobs"), queue, base.Micros(c.Now), min(n, core.MaxBatch, maxOpen-int(open)))
		if err != nil || len(jobs) == 0 {
			return err
		}
		type row struct {
			JobID  int64  `json:"job_id"`
			Lease  int64  `json:"lease"`
			Hash   string `json:"hash"`
			Made   int64  `json:"made"`
			NextAt int64  `json:"next_at"`
		}
		rows, secrets := make([]row, len(jobs)), make(map[int64]string, len(jobs))
		for i, j := range jobs {
			secrets[j.id] = ticketSecret(keys[0], j.id, j.lease)
			wait := s.Opt.TicketRetry << min(j.made, maxDoubled)
			rows[i] = row{j.id, j.lease, base.HashSecret(secrets[j.id]), j.made + 1, base.Micros(c.Now.Add(wait))}
		}
		from, args := c.SQL.Table(3, "t", base.BatchOf(rows))
		// Another node may have made a ticket after this statement's snapshot.
		made, err := base.Collect(ctx, c.Tx, base.ScanInt, `
			insert into belfry.tickets (job_id, lease, secret_hash, queue, made, next_at)
			select job_id, lease, hash, $1, made, next_at
			from `+from+`
			where true
			on conflict (job_id) do update
			set lease = excluded.lease, secret_hash = excluded.secret_hash, queue = excluded.queue, made = excluded.made, next_at = excluded.next_at
			where belfry.tickets.lease <> excluded.lease or belfry.tickets.next_at <= $2
			returning job_id`, append([]any{queue, base.Micros(c.Now)}, args...)...)
		for _, j := range jobs {
			if slices.Contains(made, j.id) {
				ts = append(ts, job.Ticket{JobID: j.id, Secret: secrets[j.id], Made: j.made + 1})
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

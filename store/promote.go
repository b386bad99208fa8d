package store

import (
	"context"
	"time"

	"github.com/belfry-run/belfry/core"
)

// promoteBatch bounds the jobs that become ready in one transaction.
const promoteBatch = 2000

// Promote makes jobs ready whose time has come: delayed ones, snoozed ones,
// and retries.
func (s *Store) Promote(ctx context.Context) (out core.Promoted, err error) {
	err = s.write(ctx, "promote", func(c *change) error {
		out = core.Promoted{Now: c.now}
		from := c.lookFrom(&s.delayed)
		begun := time.Now()
		queues, err := collect(ctx, c.tx, scanString, `
			with due as materialized (
				select id, due_at
				from belfry.jobs
				where state = 'scheduled' and due_at > $3 and due_at <= $1
				order by due_at
				limit $2 + 0`+s.sql.SkipLocked("jobs")+`),
			placed as materialized (select id, row_number() over (order by due_at, id) as place from due)
			update belfry.jobs
			set state = 'ready', ready_at = $1 + place - 1 -- what was due first goes first
			from placed
			where belfry.jobs.id = placed.id
			returning case when kind = 'cycle' then '' else queue end`, micros(c.now), promoteBatch, from.after)
		if err != nil {
			return err
		}
		from.took = time.Since(begun)
		out.Jobs = len(queues)
		for _, q := range unique(queues) {
			if q == "" { // a cycle, which no worker takes
				c.wake(topicEngine)
				continue
			}
			c.wake(topicQueue(q))
			c.wake(topicJobs) // for claims that wait for several queues
		}
		begun = time.Now()
		next, _, err := first(ctx, c.tx, scanInt, `select due_at from belfry.jobs where state = 'scheduled' and due_at > $1 order by due_at limit 1`, from.after)
		out.NextAt = instant(next)
		from.took += time.Since(begun)
		c.looked(&s.delayed, from, next)
		return err
	})
	return out, err
}

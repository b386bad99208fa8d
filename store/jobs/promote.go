package jobs

import (
	"context"
	"time"

	"github.com/belfry-run/belfry/core"
	"github.com/belfry-run/belfry/store/base"
)

// promoteBatch bounds the jobs that become ready in one transaction.
const promoteBatch = 2000

// Promote makes jobs ready whose time has come: delayed ones, snoozed ones,
// and retries.
func (s *Store) Promote(ctx context.Context) (out core.Promoted, err error) {
	err = s.write(ctx, "promote", func(c *Change) error {
		out = core.Promoted{Now: c.Now}
		from := c.LookFrom(&s.Delayed)
		begun := time.Now()
		queues, err := base.Collect(ctx, c.Tx, base.ScanString, `
			with due as materialized (
				select id, due_at
				from belfry.jobs
				where state = 'scheduled' and due_at > $3 and due_at <= $1
				order by due_at
				limit $2 + 0`+s.SQL.SkipLocked("jobs")+`),
			placed as materialized (select id, row_number() over (order by due_at, id) as place from due)
			update belfry.jobs
			set state = 'ready', ready_at = $1 + place - 1 -- what was due first goes first
			from placed
			where belfry.jobs.id = placed.id
			returning case when kind = 'cycle' then '' else queue end`, base.Micros(c.Now), promoteBatch, from.After)
		if err != nil {
			return err
		}
		from.Took = time.Since(begun)
		out.Jobs = len(queues)
		for _, q := range base.Unique(queues) {
			if q == "" { // a cycle, which no worker takes
				c.Wake(base.TopicEngine)
				continue
			}
			c.Wake(base.TopicQueue(q))
			c.Wake(base.TopicJobs) // for claims that wait for several queues
		}
		begun = time.Now()
		next, _, err := base.First(ctx, c.Tx, base.ScanInt, `select due_at from belfry.jobs where state = 'scheduled' and due_at > $1 order by due_at limit 1`, from.After)
		out.NextAt = base.Instant(next)
		from.Took += time.Since(begun)
		c.Looked(&s.Delayed, from, next)
		return err
	})
	return out, err
}

package store

import (
	"context"
	"fmt"

	"github.com/belfry-run/belfry/access"
	"github.com/belfry-run/belfry/core"
	"github.com/belfry-run/belfry/job"
)

const queueColumns = `name, description, priority, concurrency, global_limit, paused_at, paused_by, paused_reason, created_at, updated_at`

func scanQueue(rows Rows) (q job.Queue, err error) {
	return q, rows.Scan(&q.Name, &q.Description, &q.Priority, &q.Concurrency, &q.GlobalLimit,
		scanTime(&q.PausedAt), &q.PausedBy, &q.PausedReason, scanTime(&q.CreatedAt), scanTime(&q.UpdatedAt))
}

func (s *Store) queue(ctx context.Context, tx Tx, name string) (job.Queue, error) {
	return s.queueWith(ctx, tx, name, "")
}

func (s *Store) queueWith(ctx context.Context, tx Tx, name, suffix string) (job.Queue, error) {
	q, found, err := first(ctx, tx, scanQueue, `select `+queueColumns+` from belfry.queues where name = $1`+suffix, name)
	if err == nil && !found {
		err = core.Errorf(core.NotFound, "no queue %q", name).WithHint("see: belfry queue list")
	}
	return q, err
}

// checkQueue refuses a field that names a queue which does not exist. A job in
// it would wait for ever.
func (c *change) checkQueue(field, name string) error { return c.queueFor(field, name, "") }

// holdQueue is checkQueue for what stays, and nobody deletes the queue before
// this transaction ends. Claims from a queue with a limit over all workers wait
// meanwhile, so those who only make jobs do not come here.
func (c *change) holdQueue(field, name string) error {
	return c.queueFor(field, name, c.sql.ForKeyShare("queues"))
}

func (c *change) queueFor(field, name, suffix string) error {
	_, err := c.s.queueWith(c.ctx, c.tx, name, suffix)
	if core.CodeOf(err) == core.NotFound {
		return unknownQueue(field, name)
	}
	return err
}

func unknownQueue(field, name string) error {
	return core.InvalidField(field, name, "is not a queue", "create it first: belfry queue create "+name+", or SaveQueue of the store")
}

// EnsureQueues makes those of some queues that are missing, with the defaults,
// and leaves the others as they are.
func (s *Store) EnsureQueues(ctx context.Context, names ...string) error {
	return s.write(ctx, "ensure queues", func(c *change) error {
		for _, name := range names {
			q := job.Queue{Name: name}.WithDefaults()
			if err := q.Validate(); err != nil {
				return err
			}
			q.CreatedAt, q.UpdatedAt = c.now, c.now
			n, err := c.insertQueue(q)
			if err == nil && n > 0 {
				err = c.audit("create", "queue", "", q.Name, "", nil, q)
			}
			if err != nil {
				return err
			}
		}
		return nil
	})
}

// insertQueue makes a queue if there is none of its name.
func (c *change) insertQueue(q job.Queue) (int64, error) {
	return c.tx.Exec(c.ctx, `
		insert into belfry.queues (name, description, priority, concurrency, global_limit, created_at, updated_at)
		values ($1, $2, $3, $4, $5, $6, $6)
		on conflict (name) do nothing`, q.Name, q.Description, q.Priority, q.Concurrency, q.GlobalLimit, micros(c.now))
}

// Prepare gives a new database its first queues, takes up what an earlier life of
// this process left, and looks at the clock and the time zones before anything is
// leased or planned by it.
// Opening a store calls it.
func (s *Store) Prepare(ctx context.Context) error {
	if err := s.FollowClock(ctx); err != nil {
		return err
	}
	if _, err := s.compareZones(ctx, false); err != nil {
		return err
	}
	return s.write(ctx, "prepare", func(c *change) error {
		for _, q := range job.FirstQueues() {
			if _, err := c.insertQueue(q); err != nil {
				return err
			}
		}
		return c.freeAlerts()
	})
}

// SaveQueue creates or replaces a queue. A pause is kept.
func (s *Store) SaveQueue(ctx context.Context, q job.Queue) (job.Queue, error) {
	q = q.WithDefaults()
	err := s.write(ctx, "save queue", func(c *change) (err error) {
		if err := q.Validate(); err != nil {
			return err
		}
		q, _, err = c.saveQueue(q)
		return err
	})
	return q, err
}

func (c *change) saveQueue(q job.Queue) (job.Queue, bool, error) {
	old, err := c.s.queueWith(c.ctx, c.tx, q.Name, c.sql.ForUpdate("queues"))
	isNew := core.CodeOf(err) == core.NotFound
	if err != nil && !isNew {
		return q, false, err
	}
	q.PausedAt, q.PausedBy, q.PausedReason, q.CreatedAt, q.UpdatedAt = old.PausedAt, old.PausedBy, old.PausedReason, old.CreatedAt, old.UpdatedAt
	if !isNew && q == old {
		return old, false, nil
	}
	if err := c.expect("queue", q.Name, old.Version(), old.UpdatedAt); err != nil {
		return q, false, err
	}
	if _, err := c.tx.Exec(c.ctx, `
		insert into belfry.queues (name, description, priority, concurrency, global_limit, created_at, updated_at)
		values ($1, $2, $3, $4, $5, $6, $6)
		on conflict (name) do update
		set description = excluded.description, priority = excluded.priority, concurrency = excluded.concurrency,
			global_limit = excluded.global_limit, updated_at = excluded.updated_at`,
		q.Name, q.Description, q.Priority, q.Concurrency, q.GlobalLimit, micros(c.now)); err != nil {
		return q, false, err
	}
	c.wake(topicQueue(q.Name))
	q.UpdatedAt = c.now
	if isNew {
		q.CreatedAt = c.now
		return q, true, c.audit("create", "queue", "", q.Name, "", nil, q)
	}
	return q, true, c.audit("update", "queue", "", q.Name, "", old, q)
}

// DeleteQueue removes a queue that nothing uses.
func (s *Store) DeleteQueue(ctx context.Context, name string) error {
	return s.write(ctx, "delete queue", func(c *change) error {
		q, err := s.queueWith(ctx, c.tx, name, s.sql.ForUpdate("queues")) // a task that is being saved is waited for
		if err == nil {
			err = c.expect("queue", name, q.Version(), q.UpdatedAt)
		}
		if err != nil {
			return err
		}
		for _, first := range job.FirstQueues() {
			if first.Name == name {
				return core.Errorf(core.Conflict, "queue %q is one of Belfry's own", name).WithHint("pause it instead")
			}
		}
		if err := c.unusedQueue(name); err != nil {
			return err
		}
		if _, err := c.tx.Exec(ctx, `delete from belfry.queues where name = $1`, name); err != nil {
			return err
		}
		return c.audit("delete", "queue", "", name, "", q, nil)
	})
}

func (c *change) unusedQueue(name string) error {
	task, used, err := first(c.ctx, c.tx, scanString, `select name from belfry.tasks where queue = $1 limit 1`, name)
	if err != nil {
		return err
	}
	if used {
		return core.Errorf(core.Conflict, "task %q uses queue %q", task, name).WithHint("move the task to another queue first")
	}
	id, used, err := first(c.ctx, c.tx, scanInt, `select id from belfry.jobs where queue = $1 limit 1`, name)
	if err == nil && used {
		err = core.Errorf(core.Conflict, "job %d is in queue %q", id, name).WithHint("let its jobs end, or cancel them")
	}
	return err
}

// Queue is one queue and what is in it.
func (s *Store) Queue(ctx context.Context, name string) (q job.QueueStats, err error) {
	err = s.db.Read(ctx, func(tx Tx) error {
		found, err := s.queue(ctx, tx, name)
		if err != nil {
			return err
		}
		q, err = s.queueStats(ctx, tx, found)
		return err
	})
	return q, err
}

// Queues lists the queues by priority and name, and what is in them.
func (s *Store) Queues(ctx context.Context) (all []job.QueueStats, err error) {
	err = s.db.Read(ctx, func(tx Tx) error {
		all = []job.QueueStats{}
		queues, err := collect(ctx, tx, scanQueue, `select `+queueColumns+` from belfry.queues order by priority desc, name`)
		if err != nil {
			return err
		}
		for _, q := range queues {
			stats, err := s.queueStats(ctx, tx, q)
			if err != nil {
				return err
			}
			all = append(all, stats)
		}
		return nil
	})
	return all, err
}

// queueStats counts no further than the limit, so that a backlog of millions
// costs as much as one of thousands. It is one question, because a connection
// that has not been asked before plans each for longer than it takes.
func (s *Store) queueStats(ctx context.Context, tx Tx, q job.Queue) (job.QueueStats, error) {
	stats, _, err := first(ctx, tx, func(rows Rows) (stats job.QueueStats, err error) {
		return stats, rows.Scan(&stats.Ready, scanTime(&stats.OldestAt), &stats.Scheduled, &stats.Running)
	}, fmt.Sprintf(`
		select ready.jobs, ready.oldest, scheduled.jobs, running.jobs
		from (
			select count(*) as jobs, coalesce(min(due_at), 0) as oldest
			from (select due_at%s order by priority desc, ready_at, id limit %[2]d) as bounded) as ready
		cross join (
			select count(*) as jobs
			from (select 1 from belfry.jobs where queue = $1 and state = 'scheduled' limit %[2]d) as bounded) as scheduled
		cross join (
			select count(*) as jobs
			from (select 1 from belfry.running where (select queue from belfry.jobs where id = job_id) = $1 limit %[2]d) as bounded) as running`,
		s.readyIn(), core.CountLimit+1), q.Name)
	stats.Queue = q
	return stats, err
}

// PauseQueue stops claims from a queue. What runs goes on.
func (s *Store) PauseQueue(ctx context.Context, name, reason string) (job.Queue, error) {
	return s.setPause(ctx, name, "pause", reason)
}

// ResumeQueue takes a pause back.
func (s *Store) ResumeQueue(ctx context.Context, name string) (job.Queue, error) {
	return s.setPause(ctx, name, "resume", "")
}

func (s *Store) setPause(ctx context.Context, name, action, reason string) (q job.Queue, err error) {
	if len(reason) > core.MaxDescription {
		return q, core.InvalidField("reason", "", fmt.Sprintf("has more than %d bytes", core.MaxDescription), "")
	}
	err = s.write(ctx, action+" queue", func(c *change) error {
		old, err := s.queue(ctx, c.tx, name)
		if err != nil {
			return err
		}
		q = old
		pause := action == "pause"
		if pause == !old.PausedAt.IsZero() {
			return nil // it is as asked; who paused first and why stays
		}
		q.PausedAt, q.PausedBy, q.PausedReason = instant(0), "", ""
		if pause {
			q.PausedAt, q.PausedBy, q.PausedReason = c.now, access.ActorOf(ctx), reason
		}
		if _, err := c.tx.Exec(ctx, `
			update belfry.queues
			set paused_at = $2, paused_by = $3, paused_reason = $4
			where name = $1`, name, micros(q.PausedAt), q.PausedBy, q.PausedReason); err != nil {
			return err
		}
		c.wake(topicQueue(name))
		c.wake(topicEngine) // for cycles in it, which no worker takes
		return c.audit(action, "queue", "", name, reason, old, q)
	})
	return q, err
}

package queues

import (
	"context"
	"fmt"
	"math"
	"reflect"

	"github.com/belfry-run/belfry/access"
	"github.com/belfry-run/belfry/core"
	"github.com/belfry-run/belfry/job"
	"github.com/belfry-run/belfry/store/base"
)

// QueueColumns are the columns that [ScanQueue] reads, in its order.
const QueueColumns = `name, title, description, priority, concurrency, global_limit, limits, fair, turn_base, max_waiting, on_full, ageing, paused_at, paused_by, paused_reason, created_at, updated_at`

// ScanQueue reads one row of [QueueColumns].
func ScanQueue(rows base.Rows) (job.Queue, error) { return ScanQueueAnd(rows) }

// ScanQueueAnd scans a queue, and more columns after its own.
func ScanQueueAnd(rows base.Rows, more ...any) (q job.Queue, err error) {
	var limits, fair string
	var ageing int64
	err = rows.Scan(append([]any{&q.Name, &q.Title, &q.Description, &q.Priority, &q.Concurrency, &q.GlobalLimit, &limits, &fair, &q.TurnBase, &q.MaxWaiting, &q.OnFull, &ageing,
		base.ScanTime(&q.PausedAt), &q.PausedBy, &q.PausedReason, base.ScanTime(&q.CreatedAt), base.ScanTime(&q.UpdatedAt)}, more...)...)
	if err == nil {
		q.Ageing = core.Duration(ageing * 1000)
		err = scanned(&q, limits, fair)
	}
	return q, err
}

// turnEra is the distance between the turn bases of two eras of a queue. No instant in microseconds is as large, and no key has as
// many jobs.
const turnEra = 1 << 52

// nextEra returns the turn base of a queue after an edit. A queue that becomes fair, or is no longer fair, begins a new era.
func nextEra(old, q job.Queue) (int64, error) {
	if (q.Fair == nil) == (old.Fair == nil) {
		return old.TurnBase, nil
	}
	if old.TurnBase >= math.MaxInt64-2*turnEra {
		return 0, core.Errorf(core.Conflict, "queue %q has become fair, or ceased to be, %d times", q.Name, old.TurnBase/turnEra).
			WithHint("create another queue, and move its tasks there")
	}
	return old.TurnBase + turnEra, nil
}

// ReadQueue reads a queue in a transaction. A missing one fails with [core.NotFound].
func (s *Store) ReadQueue(ctx context.Context, tx base.Tx, name string) (job.Queue, error) {
	return s.queueWith(ctx, tx, name, "")
}

func (s *Store) queueWith(ctx context.Context, tx base.Tx, name, suffix string) (job.Queue, error) {
	q, found, err := base.First(ctx, tx, ScanQueue, `select `+QueueColumns+` from belfry.queues where name = $1`+suffix, name)
	if err == nil && !found {
		err = core.Errorf(core.NotFound, "no queue %q", name).WithHint("see: belfry queue list")
	}
	return q, err
}

// CheckQueue refuses a field with the name of a queue that does not exist: a job in it would wait for ever.
func (c *Change) CheckQueue(field, name string) error { return c.queueFor(field, name, "") }

// HoldQueue is CheckQueue for definitions: it also locks the queue against deletion until this transaction ends. Claims from a
// queue with a global limit wait meanwhile, so transitions that only make jobs use CheckQueue.
func (c *Change) HoldQueue(field, name string) error {
	return c.queueFor(field, name, c.SQL.ForKeyShare("queues"))
}

func (c *Change) queueFor(field, name, suffix string) error {
	_, err := c.s.queueWith(c.Ctx, c.Tx, name, suffix)
	if core.CodeOf(err) == core.NotFound {
		return UnknownQueue(field, name)
	}
	return err
}

// UnknownQueue is the error of a field that names a queue that does not exist.
func UnknownQueue(field, name string) error {
	return core.InvalidField(field, name, "is not a queue", "create it first: belfry queue create "+name)
}

// EnsureQueues creates missing queues with the defaults. It does not change existing queues.
func (s *Store) EnsureQueues(ctx context.Context, names ...string) error {
	return s.write(ctx, "ensure queues", func(c *Change) error {
		for _, name := range names {
			q := job.Queue{Name: name}.WithDefaults()
			if err := q.Validate(); err != nil {
				return err
			}
			q.CreatedAt, q.UpdatedAt = c.Now, c.Now
			n, err := c.InsertQueue(q)
			if err == nil && n > 0 {
				err = c.Audit("create", "queue", "", q.Name, "", nil, q)
			}
			if err != nil {
				return err
			}
		}
		return nil
	})
}

// InsertQueue creates a queue, unless its name exists.
func (c *Change) InsertQueue(q job.Queue) (int64, error) {
	return c.Tx.Exec(c.Ctx, `
		insert into belfry.queues (name, description, priority, concurrency, global_limit, created_at, updated_at)
		values ($1, $2, $3, $4, $5, $6, $6)
		on conflict (name) do nothing`, q.Name, q.Description, q.Priority, q.Concurrency, q.GlobalLimit, base.Micros(c.Now))
}

// SaveQueue creates or replaces a queue. A pause is kept.
func (s *Store) SaveQueue(ctx context.Context, q job.Queue) (job.Queue, error) {
	q = q.WithDefaults()
	err := s.write(ctx, "save queue", func(c *Change) (err error) {
		if err := q.Validate(); err != nil {
			return err
		}
		q, _, err = c.SaveQueue(q)
		return err
	})
	return q, err
}

// SaveQueue creates or replaces a queue, and reports whether it is new. A pause is kept.
func (c *Change) SaveQueue(q job.Queue) (job.Queue, bool, error) {
	old, err := c.s.queueWith(c.Ctx, c.Tx, q.Name, c.SQL.ForUpdate("queues"))
	isNew := core.CodeOf(err) == core.NotFound
	if err != nil && !isNew {
		return q, false, err
	}
	q.PausedAt, q.PausedBy, q.PausedReason, q.CreatedAt, q.UpdatedAt = old.PausedAt, old.PausedBy, old.PausedReason, old.CreatedAt, old.UpdatedAt
	if q.TurnBase, err = nextEra(old, q); err != nil {
		return q, false, err
	}
	if !isNew && reflect.DeepEqual(q, old) {
		return old, false, nil
	}
	if err := c.Expect("queue", q.Name, old.Version(), old.UpdatedAt); err != nil {
		return q, false, err
	}
	if _, err := c.Tx.Exec(c.Ctx, `
		insert into belfry.queues (name, description, priority, concurrency, global_limit, created_at, updated_at, fair, turn_base, limits, title, max_waiting, on_full, ageing)
		values ($1, $2, $3, $4, $5, $6, $6, $7, $8, $9, $10, $11, $12, $13)
		on conflict (name) do update
		set description = excluded.description, priority = excluded.priority, concurrency = excluded.concurrency,
			global_limit = excluded.global_limit, updated_at = excluded.updated_at, fair = excluded.fair, turn_base = excluded.turn_base, limits = excluded.limits, title = excluded.title,
			max_waiting = excluded.max_waiting, on_full = excluded.on_full, ageing = excluded.ageing`,
		q.Name, q.Description, q.Priority, q.Concurrency, q.GlobalLimit, base.Micros(c.Now), fairText(q), q.TurnBase, LimitsText(q.Limits), q.Title, q.MaxWaiting, string(q.OnFull), q.Ageing.D().Microseconds()); err != nil {
		return q, false, err
	}
	c.ForgetSpecial()
	if err := c.saveBound(q); err != nil {
		return q, false, err
	}
	if !isNew {
		if err := c.s.Hooks.Limited(c.Change, q, old.Limits); err != nil {
			return q, false, err
		}
	}
	c.Wake(base.TopicQueue(q.Name))
	q.UpdatedAt = c.Now
	if isNew {
		q.CreatedAt = c.Now
		return q, true, c.Audit("create", "queue", "", q.Name, "", nil, q)
	}
	return q, true, c.Audit("update", "queue", "", q.Name, "", old, q)
}

// saveBound creates or deletes the row under whose lock new jobs are admitted to a queue with a bound. Existing jobs count once
// they have been marked.
func (c *Change) saveBound(q job.Queue) error {
	change, args := `delete from belfry.queue_bounds where queue = $1`, []any{q.Name}
	if q.Bounded() {
		change, args = `insert into belfry.queue_bounds (queue, since) values ($1, $2) on conflict (queue) do nothing`, append(args, base.Micros(c.Now))
	}
	_, err := c.Tx.Exec(c.Ctx, change, args...)
	return err
}

// DeleteQueue deletes a queue that no task and no job uses.
func (s *Store) DeleteQueue(ctx context.Context, name string) error {
	return s.write(ctx, "delete queue", func(c *Change) error {
		q, err := s.queueWith(ctx, c.Tx, name, s.SQL.ForUpdate("queues")) // waits for a task that is being saved
		if err == nil {
			err = c.Expect("queue", name, q.Version(), q.UpdatedAt)
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
		for _, table := range []string{"turn_keys where queue", "turns where queue", "queue_bounds where queue", "queues where name"} {
			if _, err := c.Tx.Exec(ctx, `delete from `+base.Home+table+` = $1`, name); err != nil {
				return err
			}
		}
		return c.Audit("delete", "queue", "", name, "", q, nil)
	})
}

func (c *Change) unusedQueue(name string) error {
	task, used, err := base.First(c.Ctx, c.Tx, base.ScanString, `select name from belfry.tasks where queue = $1 limit 1`, name)
	if err != nil {
		return err
	}
	if used {
		return core.Errorf(core.Conflict, "task %q uses queue %q", task, name).WithHint("move the task to another queue first")
	}
	id, used, err := base.First(c.Ctx, c.Tx, base.ScanInt, `select id from belfry.jobs where queue = $1 limit 1`, name)
	if err == nil && used {
		err = core.Errorf(core.Conflict, "job %d is in queue %q", id, name).WithHint("let its jobs end, or cancel them")
	}
	return err
}

// Queue returns a queue with its counts of jobs.
func (s *Store) Queue(ctx context.Context, name string) (q job.QueueStats, err error) {
	err = s.DB().Read(ctx, func(tx base.Tx) error {
		found, err := s.ReadQueue(ctx, tx, name)
		if err != nil {
			return err
		}
		q, err = s.QueueStats(ctx, tx, found)
		return err
	})
	return q, err
}

// QueueList lists the queues by priority and name, without counts.
func (s *Store) QueueList(ctx context.Context) (all []job.Queue, err error) {
	err = s.DB().Read(ctx, func(tx base.Tx) error {
		all, err = listQueues(ctx, tx)
		return err
	})
	return all, err
}

func listQueues(ctx context.Context, tx base.Tx) ([]job.Queue, error) {
	return base.Collect(ctx, tx, ScanQueue, `select `+QueueColumns+` from belfry.queues order by priority desc, name`)
}

// Queues lists the queues by priority and name, with their counts of jobs.
func (s *Store) Queues(ctx context.Context) (all []job.QueueStats, err error) {
	err = s.DB().Read(ctx, func(tx base.Tx) error {
		all = []job.QueueStats{}
		queues, err := listQueues(ctx, tx)
		if err != nil {
			return err
		}
		for _, q := range queues {
			stats, err := s.QueueStats(ctx, tx, q)
			if err != nil {
				return err
			}
			all = append(all, stats)
		}
		return nil
	})
	return all, err
}

// QueueStats counts no further than [core.CountLimit], so that a backlog of millions costs as much as one of thousands. It is one
// query, because a new connection needs longer to plan a query than to run it.
func (s *Store) QueueStats(ctx context.Context, tx base.Tx, q job.Queue) (job.QueueStats, error) {
	stats, _, err := base.First(ctx, tx, func(rows base.Rows) (stats job.QueueStats, err error) {
		return stats, rows.Scan(&stats.Ready, base.ScanTime(&stats.OldestAt), &stats.Scheduled, &stats.Running)
	}, fmt.Sprintf(`
		select ready.jobs, ready.oldest, scheduled.jobs, running.jobs
		from (
			select count(*) as jobs, coalesce(min(due_at), 0) as oldest
			from (select due_at%s order by priority desc, turn, id limit %[2]d) as bounded) as ready
		cross join (
			select count(*) as jobs
			from (select 1 from belfry.jobs where queue = $1 and state = 'scheduled' limit %[2]d) as bounded) as scheduled
		cross join (
			select count(*) as jobs
			from (select 1 from belfry.running where (select queue from belfry.jobs where id = job_id) = $1 limit %[2]d) as bounded) as running`,
		s.ReadyIn(), core.CountLimit+1), q.Name)
	stats.Queue = q
	return stats, err
}

// PauseQueue stops claims from a queue. Running jobs go on.
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
	err = s.write(ctx, action+" queue", func(c *Change) error {
		old, err := s.ReadQueue(ctx, c.Tx, name)
		if err != nil {
			return err
		}
		q = old
		pause := action == "pause"
		if pause == !old.PausedAt.IsZero() {
			return nil // no change; the first pause keeps its actor and reason
		}
		q.PausedAt, q.PausedBy, q.PausedReason = base.Instant(0), "", ""
		if pause {
			q.PausedAt, q.PausedBy, q.PausedReason = c.Now, access.ActorOf(ctx), reason
		}
		if _, err := c.Tx.Exec(ctx, `
			update belfry.queues
			set paused_at = $2, paused_by = $3, paused_reason = $4
			where name = $1`, name, base.Micros(q.PausedAt), q.PausedBy, q.PausedReason); err != nil {
			return err
		}
		c.Wake(base.TopicQueue(name))
		c.Wake(base.TopicEngine) // for cycles of the queue, which the engine runs
		return c.Audit(action, "queue", "", name, reason, old, q)
	})
	return q, err
}

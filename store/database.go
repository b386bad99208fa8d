package store

import (
	"cmp"
	"context"
	"slices"

	"github.com/belfry-run/belfry/core"
	"github.com/belfry-run/belfry/view"
)

// DatabaseHealth looks at the database as an operator would, and counts
// nothing: numbers of rows are the planner's, or spans of ids.
func (s *Store) DatabaseHealth(ctx context.Context) (d view.DatabaseHealth, err error) {
	if d, err = s.db.Inspect(ctx); err != nil {
		return d, err
	}
	if d.Database, err = s.db.Version(ctx); err != nil {
		return d, err
	}
	if d.Now, err = s.Now(ctx); err != nil {
		return d, err
	}
	k := s.opt.Keep
	d.Retention = view.Retention{Age: core.Duration(k.Age), Jobs: k.Jobs, Results: core.Duration(k.Results)}
	err = s.db.Read(ctx, func(tx Tx) error {
		d.ReadyQueue, d.ReadyAt = "", instant(0)
		queues, err := collect(ctx, tx, scanQueue, `select `+queueColumns+` from belfry.queues where paused_at = 0 order by name limit 1000`)
		if err != nil {
			return err
		}
		for _, q := range queues {
			at, err := s.firstReady(ctx, tx, q.Name)
			if err != nil {
				return err
			}
			if at > 0 && (d.ReadyAt.IsZero() || instant(at).Before(d.ReadyAt)) {
				d.ReadyQueue, d.ReadyAt = q.Name, instant(at)
			}
		}
		due, _, err := first(ctx, tx, scanInt, `select next_at from belfry.schedules where next_at > 0 order by next_at limit 1`)
		if err != nil {
			return err
		}
		if d.DueAt = instant(due); d.DueAt.After(d.Now) {
			d.DueAt = instant(0)
		}
		oldest, _, err := first(ctx, tx, scanInt, `select finished_at from belfry.jobs_done order by finished_at limit 1`)
		d.OldestAt = instant(oldest)
		return err
	})
	if d.Tables == nil {
		d.Tables = []view.TableHealth{}
	}
	slices.SortStableFunc(d.Tables, func(a, b view.TableHealth) int {
		return cmp.Or(cmp.Compare(b.Size, a.Size), cmp.Compare(b.Rows, a.Rows), cmp.Compare(a.Name, b.Name))
	})
	d.Checks = d.Judge()
	return d, err
}

// unleased is the condition that nobody has leased a job.
func (s *Store) unleased() string { return s.sql.Unleased("id") }

// unleasedOfMany is the same for a walk over many jobs, which looks at all packs
// together.
func (s *Store) unleasedOfMany() string { return ownLeaseless + s.sql.UnpackedSince("id", "0") }

// readyIn are the ready jobs of a queue that nobody has leased.
func (s *Store) readyIn() string {
	return ` from belfry.jobs where queue = $1 and state = 'ready' and ` + s.unleasedOfMany()
}

// ownLeaseless is the condition that a job has no row of leases of its own. The
// look for one is written as a value, because that can only be planned as a
// look-up by key.
const ownLeaseless = `(select number from belfry.leases where job_id = id) is null`

// firstReady is since when the first in line of a queue is ready; 0: nothing is.
func (s *Store) firstReady(ctx context.Context, tx Tx, queue string) (int64, error) {
	at, _, err := first(ctx, tx, scanInt, `select ready_at`+s.readyIn()+` order by priority desc, ready_at, id limit 1`, queue)
	return at, err
}

package views

import (
	"cmp"
	"context"
	"slices"

	"github.com/belfry-run/belfry/core"
	"github.com/belfry-run/belfry/store/base"
	"github.com/belfry-run/belfry/store/queues"
	"github.com/belfry-run/belfry/view"
)

// DatabaseHealth inspects the database for an operator. It counts no rows: numbers of rows are estimates of the planner, or
// spans of ids. The secrets that this node cannot open are counted.
func (s *Store) DatabaseHealth(ctx context.Context) (d view.DatabaseHealth, err error) {
	if d, err = s.DB().Inspect(ctx); err != nil {
		return d, err
	}
	if d.Database, err = s.DB().Version(ctx); err != nil {
		return d, err
	}
	if d.Now, err = s.Now(ctx); err != nil {
		return d, err
	}
	k := s.Opt.Keep
	d.Retention = view.Retention{Age: core.Duration(k.Age), Jobs: k.Jobs, Results: core.Duration(k.Results)}
	err = s.DB().Read(ctx, func(tx base.Tx) error {
		d.ReadyQueue, d.ReadyAt = "", base.Instant(0)
		queues, err := base.Collect(ctx, tx, queues.ScanQueue, `select `+queues.QueueColumns+` from belfry.queues where paused_at = 0 order by name limit 1000`)
		if err != nil {
			return err
		}
		for _, q := range queues {
			at, err := s.FirstReady(ctx, tx, q.Name)
			if err != nil {
				return err
			}
			if at > 0 && (d.ReadyAt.IsZero() || base.Instant(at).Before(d.ReadyAt)) {
				d.ReadyQueue, d.ReadyAt = q.Name, base.Instant(at)
			}
		}
		due, _, err := base.First(ctx, tx, base.ScanInt, `select next_at from belfry.schedules where next_at > 0 order by next_at limit 1`)
		if err != nil {
			return err
		}
		if d.DueAt = base.Instant(due); d.DueAt.After(d.Now) {
			d.DueAt = base.Instant(0)
		}
		oldest, _, err := base.First(ctx, tx, base.ScanInt, `select finished_at from belfry.jobs_done order by finished_at limit 1`)
		d.OldestAt = base.Instant(oldest)
		return err
	})
	if d.Tables == nil {
		d.Tables = []view.TableHealth{}
	}
	slices.SortStableFunc(d.Tables, func(a, b view.TableHealth) int {
		return cmp.Or(cmp.Compare(b.Size, a.Size), cmp.Compare(b.Rows, a.Rows), cmp.Compare(a.Name, b.Name))
	})
	if err != nil {
		return d, err
	}
	secrets, err := s.secretsCheck(ctx)
	d.Checks = append(d.Judge(), secrets)
	return d, err
}

package schedules

import (
	"cmp"
	"container/heap"
	"context"
	"slices"
	"strconv"
	"time"

	"github.com/belfry-run/belfry/core"
	"github.com/belfry-run/belfry/cron"
	"github.com/belfry-run/belfry/schedule"
	"github.com/belfry-run/belfry/store/base"
)

// Look previews the runs of a schedule, saved or not.
func (s *Store) Look(ctx context.Context, q schedule.LookQuery) (out schedule.Look, err error) {
	if err := q.Validate(); err != nil {
		return out, err
	}
	if q.Namespace == "" {
		q.Namespace = core.DefaultNamespace
	}
	now, err := s.Now(ctx)
	if err != nil {
		return out, err
	}
	err = s.DB().Read(ctx, func(tx base.Tx) error {
		sc, before := schedule.Schedule{}, (*schedule.Schedule)(nil)
		var plan, beforePlan schedule.Plan
		if q.Name != "" {
			row, err := s.ReadSchedule(ctx, tx, q.Namespace, q.Name, false)
			if err != nil {
				return err
			}
			if plan, err = s.PlanOf(ctx, tx, row.Schedule); err != nil {
				return err
			}
			sc = row.Schedule
			if len(sc.Calendars()) > 0 {
				sc.NextRunAt = sc.NextRun(plan)
			}
		}
		if q.Draft != nil {
			if q.Name != "" {
				saved := sc
				before, beforePlan = &saved, plan
			}
			if sc, plan, err = s.draft(ctx, tx, q, sc, now); err != nil {
				return err
			}
		}
		out = sc.Look(plan, before, beforePlan, q, now, cron.ZoneVersion())
		return nil
	})
	return out, err
}

// draft validates and compiles a schedule that is not saved. Its plan is not cached: drafts have no id.
func (s *Store) draft(ctx context.Context, tx base.Tx, q schedule.LookQuery, saved schedule.Schedule, now time.Time) (schedule.Schedule, schedule.Plan, error) {
	d := q.Drafted(saved.Runs)
	if err := d.Validate(now); err != nil {
		return d, schedule.Plan{}, err
	}
	var cals []schedule.Calendar
	for _, name := range d.Calendars() {
		c, err := ReadCalendar(ctx, tx, d.Namespace, name, "")
		if core.CodeOf(err) == core.NotFound {
			continue // the plan names the field
		}
		if err != nil {
			return d, schedule.Plan{}, err
		}
		cals = append(cals, c)
	}
	plan, err := d.Plan(cals...)
	return d, plan, err
}

// Upcoming lists the next runs of all schedules of a namespace within a span, soonest first. It reads about as many schedules
// as it lists runs, and at most maxUpcoming if most of them run before the span.
func (s *Store) Upcoming(ctx context.Context, a schedule.Ahead) (out []schedule.Coming, err error) {
	now, err := s.Now(ctx)
	if err != nil {
		return nil, err
	}
	a = a.Span(now)
	if err := a.Validate(); err != nil {
		return nil, err
	}
	err = s.DB().Read(ctx, func(tx base.Tx) error {
		most := max(maxUpcoming, a.Limit)
		for rows := min(a.Limit+base.LookFirst, most); ; rows = most {
			due, behind, err := dueFirst(ctx, tx, a, true, rows, ScheduleColumns, scanInputless, func(r ScheduleRow) time.Time { return r.NextAt })
			if err != nil {
				return err
			}
			if out, err = s.merge(ctx, tx, a, due); err != nil {
				return err
			}
			if behind.IsZero() || rows == most || len(out) == a.Limit && !out[len(out)-1].Nominal.After(behind) {
				return nil
			}
		}
	})
	return out, err
}

// merge lists the times of schedules in order.
func (s *Store) merge(ctx context.Context, tx base.Tx, a schedule.Ahead, rows []ScheduleRow) ([]schedule.Coming, error) {
	out := []schedule.Coming{}
	var q comingQueue
	for _, r := range rows {
		if err := s.queueComing(ctx, tx, &q, a, r.Schedule); err != nil {
			return nil, err
		}
	}
	q.walk(func(c *coming) bool {
		if len(out) == a.Limit || ctx.Err() != nil {
			return false
		}
		out = append(out, c.next())
		return true
	})
	return out, ctx.Err()
}

// Limits of the schedules that one preview of all schedules reads. A forecast reads fewer columns of each.
const (
	maxUpcoming = 3_000
	maxForecast = 8_000
)

// checksPassed is the number of schedules read for each schedule counted, if checks of monitors are left out.
const checksPassed = 10

// dueFirst reads the schedules of a namespace that are due within a span, among the first n of all. It also returns the
// earliest time at which a schedule after these n is due, or zero if there is none. A rule that counts from the finish has only
// its next time planned. Without the checks of monitors, dueFirst skips a bounded number of them.
func dueFirst[T any](ctx context.Context, tx base.Tx, a schedule.Ahead, checks bool, n int, columns string, scan func(base.Rows) (T, error), nextAt func(T) time.Time) (rows []T, behind time.Time, err error) {
	w := &base.Where{}
	w.And("next_at > 0 and next_at <= ?", base.Micros(a.From.Add(a.Within)))
	all := ` from belfry.schedules where ` + w.Sql() + ` order by next_at limit `
	soonest, passed := all, 0
	if !checks {
		passed = n * checksPassed
		w.Conds = nil
		w.NotOwned("name")
		soonest = ` from (select *` + all + strconv.Itoa(passed) + `) as passed where ` + w.Sql() + ` order by next_at limit `
	}
	args := w.Args
	w.Conds, w.Args = nil, slices.Clone(args)
	w.Namespace("s.namespace", a.Namespace)
	rows, err = base.Collect(ctx, tx, scan, `select `+columns+` from (select *`+soonest+strconv.Itoa(n+1)+`) as s where `+w.Sql(), w.Args...)
	if err != nil {
		return nil, behind, err
	}
	if len(rows) > n { // all rows are of the namespace, and the extra row gives the next due time: a second walk would cost as much as the first
		last := 0
		for i := range rows {
			if nextAt(rows[i]).After(nextAt(rows[last])) {
				last = i
			}
		}
		behind = nextAt(rows[last])
		return slices.Delete(rows, last, last+1), behind, nil
	}
	at, found, err := base.First(ctx, tx, base.ScanInt, `select next_at`+soonest+`1 offset `+strconv.Itoa(n), args...)
	if err == nil && !found && passed > 0 {
		at, _, err = base.First(ctx, tx, base.ScanInt, `select next_at`+all+`1 offset `+strconv.Itoa(passed), args[:1]...)
	}
	return rows, base.Instant(at), err
}

func firstComing(sc schedule.Schedule, plan schedule.Plan, from time.Time) time.Time {
	var planned time.Time
	if next := sc.Upcoming(plan, from, 1); len(next) > 0 {
		planned = next[0]
	}
	if sc.FinishAt.After(from) && (planned.IsZero() || sc.FinishAt.Before(planned)) {
		return sc.FinishAt
	}
	return planned
}

// coming is a schedule with the time of its next occurrence.
type coming struct {
	sc    schedule.Schedule
	plan  schedule.Plan
	at    time.Time
	until time.Time
	left  int64 // with max_runs: the remaining runs
}

// queueComing queues a schedule that has an occurrence within a span. A schedule that cannot be computed is left out: the pass that
// fires logs the error.
func (s *Store) queueComing(ctx context.Context, tx base.Tx, q *comingQueue, a schedule.Ahead, sc schedule.Schedule) error {
	plan, err := s.PlanOf(ctx, tx, sc)
	if core.CodeOf(err) == core.Invalid {
		return nil
	}
	if err != nil {
		return err
	}
	c := coming{sc: sc, plan: plan, until: a.From.Add(a.Within), left: sc.MaxRuns - sc.Runs}
	if c.advance(a.From) {
		*q = append(*q, c)
	}
	return nil
}

// advance moves to the next occurrence after an instant, and reports whether there is one within the span.
func (c *coming) advance(from time.Time) bool {
	c.at = firstComing(c.sc, c.plan, from)
	return !c.at.IsZero() && !c.at.After(c.until) && (c.sc.MaxRuns == 0 || c.left > 0)
}

// next returns the next occurrence. An occurrence that a calendar cancels uses no run.
func (c *coming) next() schedule.Coming {
	next := c.sc.ComingAt(c.plan, c.at)
	if !next.DueAt.IsZero() {
		c.left--
	}
	return next
}

// comingQueue is a heap ordered by time, then by name.
type comingQueue []coming

// walk goes through the times in order while more returns true. The times left in the queue come later.
func (q *comingQueue) walk(more func(c *coming) bool) {
	heap.Init(q)
	for len(*q) > 0 && more(&(*q)[0]) {
		if c := &(*q)[0]; c.advance(c.at) {
			heap.Fix(q, 0)
		} else {
			heap.Pop(q)
		}
	}
}

func (q comingQueue) Len() int { return len(q) }

func (q comingQueue) Less(i, j int) bool {
	a, b := q[i], q[j]
	return cmp.Or(a.at.Compare(b.at), cmp.Compare(a.sc.Name, b.sc.Name), cmp.Compare(a.sc.Namespace, b.sc.Namespace)) < 0
}

func (q comingQueue) Swap(i, j int) { q[i], q[j] = q[j], q[i] }

func (q *comingQueue) Push(x any) { *q = append(*q, x.(coming)) }

func (q *comingQueue) Pop() any {
	old := *q
	last := old[len(old)-1]
	*q = old[:len(old)-1]
	return last
}

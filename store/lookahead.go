package store

import (
	"cmp"
	"container/heap"
	"context"
	"slices"
	"strconv"
	"time"

	"github.com/belfry-run/belfry"
	"github.com/belfry-run/belfry/cron"
)

// Look answers what a schedule will do, saved or not.
func (s *Store) Look(ctx context.Context, q belfry.LookQuery) (out belfry.Look, err error) {
	if err := q.Validate(); err != nil {
		return out, err
	}
	if q.Namespace == "" {
		q.Namespace = belfry.DefaultNamespace
	}
	now, err := s.Now(ctx)
	if err != nil {
		return out, err
	}
	err = s.db.Read(ctx, func(tx Tx) error {
		sc, before := belfry.Schedule{}, (*belfry.Schedule)(nil)
		var plan, beforePlan belfry.Plan
		if q.Name != "" {
			row, err := s.schedule(ctx, tx, q.Namespace, q.Name, false)
			if err != nil {
				return err
			}
			if plan, err = s.planOf(ctx, tx, row.Schedule); err != nil {
				return err
			}
			sc = row.Schedule
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

// draft checks a schedule that is not saved and compiles it. Its plan is not
// kept: drafts have no id.
func (s *Store) draft(ctx context.Context, tx Tx, q belfry.LookQuery, saved belfry.Schedule, now time.Time) (belfry.Schedule, belfry.Plan, error) {
	d := *q.Draft
	d.Namespace = q.Namespace
	if d.Name == "" {
		d.Name = "draft"
	}
	if q.Name != "" {
		d.Name, d.Runs = q.Name, saved.Runs // phases hash the name; an edit keeps the runs that are spent
	}
	if d.Task == "" {
		d.Task = "draft"
	}
	d = d.WithDefaults()
	if err := d.Validate(now); err != nil {
		return d, belfry.Plan{}, err
	}
	var cals []belfry.Calendar
	for _, name := range d.Calendars() {
		c, err := s.calendar(ctx, tx, d.Namespace, name)
		if belfry.CodeOf(err) == belfry.NotFound {
			continue // the plan names the field
		}
		if err != nil {
			return d, belfry.Plan{}, err
		}
		cals = append(cals, c)
	}
	plan, err := d.Plan(cals...)
	return d, plan, err
}

// Upcoming lists what all schedules of a namespace will do within a span,
// soonest first.
func (s *Store) Upcoming(ctx context.Context, a belfry.Ahead) (out []belfry.Coming, err error) {
	out = []belfry.Coming{}
	a = a.WithDefaults(a.From)
	err = s.ahead(ctx, a, func(sc belfry.Schedule, plan belfry.Plan, t time.Time) bool {
		out = append(out, sc.ComingAt(plan, t))
		return len(out) < a.Limit
	})
	return out, err
}

// maxForecast bounds the runs that a forecast counts.
const maxForecast = 500_000

// Forecast counts the starts of each minute within a span, jitter and
// calendars included, so that people see where they collide.
func (s *Store) Forecast(ctx context.Context, a belfry.Ahead) (out belfry.Forecast, err error) {
	loads := map[time.Time]*belfry.Load{}
	n, last := 0, time.Time{}
	err = s.ahead(ctx, a, func(sc belfry.Schedule, plan belfry.Plan, t time.Time) bool {
		start := t
		if sc.Jitter > 0 || len(sc.Calendars()) > 0 {
			start = sc.ComingAt(plan, t).DueAt
		}
		if minute := start.UTC().Truncate(time.Minute); !start.IsZero() {
			l := loads[minute]
			if l == nil {
				l = &belfry.Load{Minute: minute}
				loads[minute] = l
			}
			l.Starts++
			if len(l.Schedules) < 10 && !slices.Contains(l.Schedules, sc.Name) {
				l.Schedules = append(l.Schedules, sc.Name)
			}
		}
		n++
		last, out.Partial = t, n >= maxForecast
		return !out.Partial
	})
	out.Loads = []belfry.Load{}
	for _, l := range loads {
		if !out.Partial || !l.Minute.After(last) {
			out.Loads = append(out.Loads, *l)
		}
	}
	slices.SortFunc(out.Loads, func(a, b belfry.Load) int { return a.Minute.Compare(b.Minute) })
	return out, err
}

// ahead visits the nominal times of all active schedules within a span in
// their order, until visit has enough. Only schedules that are due within the
// span are read; those from the finish have no planned times but the next.
func (s *Store) ahead(ctx context.Context, a belfry.Ahead, visit func(belfry.Schedule, belfry.Plan, time.Time) bool) error {
	now, err := s.Now(ctx)
	if err != nil {
		return err
	}
	a = a.WithDefaults(now)
	if err := a.Validate(); err != nil {
		return err
	}
	until := a.From.Add(a.Within)
	return s.db.Read(ctx, func(tx Tx) error {
		w := &where{}
		w.and("s.next_at <= ?", micros(until))
		w.namespace("s.namespace", a.Namespace)
		rows, err := collect(ctx, tx, scanSchedule, `
			select `+scheduleColumns+`
			from schedules s
			where s.next_at > 0 and `+w.sql()+`
			order by s.next_at
			limit `+strconv.Itoa(maxAheadSchedules), w.args...)
		if err != nil {
			return err
		}
		var q comingQueue
		for _, r := range rows {
			plan, err := s.planOf(ctx, tx, r.Schedule)
			if err != nil {
				return err
			}
			next := firstComing(r.Schedule, plan, a.From)
			if !next.IsZero() && !next.After(until) {
				q = append(q, coming{r.Schedule, plan, next, r.MaxRuns - r.Runs})
			}
		}
		heap.Init(&q)
		for len(q) > 0 && ctx.Err() == nil {
			if !visit(q[0].sc, q[0].plan, q[0].at) {
				return nil
			}
			next := firstComing(q[0].sc, q[0].plan, q[0].at)
			if q[0].left--; next.IsZero() || next.After(until) || q[0].sc.MaxRuns > 0 && q[0].left <= 0 && len(q[0].sc.Calendars()) == 0 {
				heap.Pop(&q)
				continue
			}
			q[0].at = next
			heap.Fix(&q, 0)
		}
		return ctx.Err()
	})
}

// maxAheadSchedules bounds the schedules that one look ahead reads.
const maxAheadSchedules = 100_000

func firstComing(sc belfry.Schedule, plan belfry.Plan, from time.Time) time.Time {
	var planned time.Time
	if next := sc.Upcoming(plan, from, 1); len(next) > 0 {
		planned = next[0]
	}
	if sc.FinishAt.After(from) && (planned.IsZero() || sc.FinishAt.Before(planned)) {
		return sc.FinishAt
	}
	return planned
}

type coming struct {
	sc   belfry.Schedule
	plan belfry.Plan
	at   time.Time
	left int64 // with max_runs: runs that are not spent
}

// comingQueue is a heap by time, and at one instant by name.
type comingQueue []coming

func (q comingQueue) Len() int { return len(q) }
func (q comingQueue) Less(i, j int) bool {
	a, b := q[i], q[j]
	return cmp.Or(a.at.Compare(b.at), cmp.Compare(a.sc.Name, b.sc.Name), cmp.Compare(a.sc.Namespace, b.sc.Namespace)) < 0
}
func (q comingQueue) Swap(i, j int) { q[i], q[j] = q[j], q[i] }
func (q *comingQueue) Push(x any)   { *q = append(*q, x.(coming)) }
func (q *comingQueue) Pop() any {
	old := *q
	last := old[len(old)-1]
	*q = old[:len(old)-1]
	return last
}

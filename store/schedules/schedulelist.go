package schedules

import (
	"context"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/belfry-run/belfry/core"
	"github.com/belfry-run/belfry/schedule"
	"github.com/belfry-run/belfry/store/base"
	"github.com/belfry-run/belfry/store/titles"
)

// Schedules lists schedules by namespace and name. Indexes answer the filters by task and by a state other than active. For
// other filters it reads a bounded number of schedules.
func (s *Store) Schedules(ctx context.Context, f schedule.Filter) (core.Page[schedule.Schedule], error) {
	return s.SchedulesLooking(ctx, f, schedule.MaxLooked)
}

// SchedulesLooking is [Store.Schedules] with a limit of the schedules that it reads.
func (s *Store) SchedulesLooking(ctx context.Context, f schedule.Filter, look int) (p core.Page[schedule.Schedule], err error) {
	f.Namespace = base.NamespaceOr(f.Namespace)
	after, err := base.DecodeCursor(f.Cursor, 2)
	if err != nil {
		return p, err
	}
	err = s.DB().Read(ctx, func(tx base.Tx) error {
		w, err := scheduleWalkOf(ctx, tx, f)
		if err != nil {
			return err
		}
		if p, err = w.page(ctx, tx, after, f.Bound(), max(look/max(len(w.parts), 1), 1)); err != nil {
			return err
		}
		return s.NextRuns(ctx, tx, p.Items)
	})
	return p, err
}

// scheduleWalk is a search for the schedules of a filter. Its parts are stretches of one index, in the order of names. Its
// other terms are conditions that no index answers.
type scheduleWalk struct {
	namespace string // * for all
	parts     []string
	order     string // of a part
	args      []any
	rest      []term
}

// term is a condition with ? as the placeholder of its argument.
type term struct {
	cond string
	of   any
}

// maxTasksOfWalk bounds the parts of a walk. With more tasks, the walk goes through all schedules.
const maxTasksOfWalk = 20

func scheduleWalkOf(ctx context.Context, tx base.Tx, f schedule.Filter) (w scheduleWalk, err error) {
	w = scheduleWalk{namespace: f.Namespace, order: "namespace, name"}
	q := &base.Where{}
	byState := f.State != "" && f.State != schedule.Active
	var tasks []scheduledTask
	if f.Task != "" || f.Tag != "" {
		if tasks, err = tasksOfSchedules(ctx, tx, f); err != nil || len(tasks) == 0 {
			return w, err
		}
	}
	one := len(tasks) > 0 && len(tasks) <= maxTasksOfWalk
	for _, t := range tasks {
		one = one && t.namespace == tasks[0].namespace
	}
	if one && !byState {
		w.namespace, w.order = tasks[0].namespace, "name"
		for _, t := range tasks {
			part := &base.Where{Args: q.Args}
			part.And("task_id = ?", t.id)
			w.parts, q.Args = append(w.parts, part.Sql()), part.Args
		}
	} else {
		q.Namespace("namespace", f.Namespace)
		if byState {
			q.Conds = append(q.Conds, "state <> 'active'") // without this the partial index is not used
			q.And("state = ?", string(f.State))
		}
		q.NotOwned("name")
		w.parts = []string{q.Sql()}
	}
	w.args = q.Args
	if w.order != "name" { // so that the index by task is not used, which has another order
		if f.Task != "" {
			w.rest = append(w.rest, term{"+task_id in (select id from belfry.tasks where name = ?)", f.Task})
		}
		if f.Tag != "" {
			w.rest = append(w.rest, term{"+task_id in (select id from belfry.tasks where replace(tags, ?, '') <> tags)", "," + f.Tag + ","})
		}
	}
	if f.State == schedule.Active {
		w.rest = append(w.rest, term{"state = ?", string(f.State)})
	}
	if f.Part != "" {
		condition, argument := titles.Part(f.Part)
		w.rest = append(w.rest, term{condition, argument})
	}
	return w, nil
}

// scheduledTask is a task whose schedules are requested.
type scheduledTask struct {
	id        int64
	namespace string
}

// tasksOfSchedules returns the tasks that a filter of schedules selects, at most one more than the parts of a walk.
func tasksOfSchedules(ctx context.Context, tx base.Tx, f schedule.Filter) ([]scheduledTask, error) {
	w := &base.Where{}
	w.Namespace("namespace", f.Namespace)
	w.Equals("name", f.Task)
	if f.Tag != "" {
		w.And("replace(tags, ?, '') <> tags", ","+f.Tag+",")
	}
	return base.Collect(ctx, tx, func(r base.Rows) (t scheduledTask, err error) { return t, r.Scan(&t.id, &t.namespace) }, `
		select id, namespace
		from belfry.tasks
		where `+w.Sql()+`
		order by namespace, name
		limit `+strconv.Itoa(maxTasksOfWalk+1), w.Args...)
}

// page reads a page of schedules after a namespace and a name.
func (w scheduleWalk) page(ctx context.Context, tx base.Tx, after []string, limit, look int) (core.Page[schedule.Schedule], error) {
	var found []schedule.Schedule
	cursor := func(sc schedule.Schedule) string { return base.EncodeCursor(sc.Namespace, sc.Name) }
	more, looked := len(w.parts) > 0, 0
	for step := base.LookFirst; more && len(found) <= limit && looked < look; step *= 4 {
		span := &base.Where{Args: w.args}
		span.Pair(w.namespace, "name", ">", after)
		last := [2]string{}
		var err error
		if more = len(w.rest) > 0; more { // otherwise one statement answers it
			step = min(step, look-looked)
			if last, more, err = base.First(ctx, tx, scanTwo, w.sql("namespace, name", span.Conds, step, `1 offset `+strconv.Itoa(step-1)), span.Args...); err != nil {
				return core.Page[schedule.Schedule]{}, err
			}
		}
		if more {
			span.Pair(w.namespace, "name", "<=", last[:])
			after, looked = last[:], looked+step
		}
		for _, t := range w.rest {
			span.And(t.cond, t.of)
		}
		n := limit + 1 - len(found)
		rows, full, err := base.CollectSome(ctx, tx, n, nil, ScanSchedule, w.sql(ScheduleColumns, span.Conds, n, strconv.Itoa(n)), span.Args...)
		if err != nil {
			return core.Page[schedule.Schedule]{}, err
		}
		for _, r := range rows {
			found = append(found, r.Schedule)
		}
		if full {
			return core.Page[schedule.Schedule]{Items: found, Next: cursor(found[len(found)-1])}, nil
		}
	}
	p := base.Page(found, limit, cursor)
	if more && p.Next == "" {
		p.Next = base.EncodeCursor(after...)
		if len(found) < limit {
			p.Looked = looked
		}
	}
	return p, nil
}

// sql reads all parts together, with more conditions and a limit. It reads at most n rows of each part.
func (w scheduleWalk) sql(columns string, conds []string, n int, limit string) string {
	parts := make([]string, len(w.parts))
	for i, part := range w.parts {
		parts[i] = `select ` + columns + ` from belfry.schedules s where ` + strings.Join(append([]string{part}, conds...), " and ") + ` order by ` + w.order + ` limit `
	}
	if len(parts) == 1 {
		return parts[0] + limit
	}
	for i := range parts {
		parts[i] = `select * from (` + parts[i] + strconv.Itoa(n) + `) as part` + strconv.Itoa(i)
	}
	return `select * from (` + strings.Join(parts, ` union all `) + `) as s order by namespace, name limit ` + limit
}

func scanTwo(rows base.Rows) (v [2]string, err error) { err = rows.Scan(&v[0], &v[1]); return v, err }

// NextRuns sets the next run of schedules that have calendars.
func (s *Store) NextRuns(ctx context.Context, tx base.Tx, list []schedule.Schedule) error {
	var namespaces, names []string
	for _, sc := range list {
		if !sc.NextAt.IsZero() && len(sc.Blackout)+len(sc.Within) > 0 {
			namespaces, names = append(namespaces, sc.Namespace), append(names, sc.Calendars()...)
		}
	}
	if len(names) == 0 {
		return nil
	}
	all, err := base.Collect(ctx, tx, ScanCalendar, `
		select `+CalendarColumns+`
		from belfry.calendars
		where `+s.SQL.In("namespace", 1)+` and `+s.SQL.In("name", 2)+`
		order by id`, s.SQL.List(base.Unique(namespaces)), s.SQL.List(base.Unique(names)))
	if err != nil {
		return fmt.Errorf("read calendars: %w", err)
	}
	for i := range list {
		sc := &list[i]
		if sc.NextAt.IsZero() || len(sc.Blackout)+len(sc.Within) == 0 {
			continue
		}
		var own []schedule.Calendar
		for _, c := range all {
			if c.Namespace == sc.Namespace && slices.Contains(sc.Calendars(), c.Name) {
				own = append(own, c)
			}
		}
		if plan, err := s.plans.of(*sc, own); err == nil { // on an error, the pass that fires logs it
			sc.NextRunAt = sc.NextRun(plan)
		}
	}
	return nil
}

// nextRun is [Store.NextRuns] for one schedule.
func (s *Store) nextRun(ctx context.Context, tx base.Tx, sc *schedule.Schedule) error {
	list := []schedule.Schedule{*sc}
	err := s.NextRuns(ctx, tx, list)
	*sc = list[0]
	return err
}

package definitions

import (
	"cmp"
	"context"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"time"

	"github.com/belfry-run/belfry/access"
	"github.com/belfry-run/belfry/core"
	"github.com/belfry-run/belfry/job"
	"github.com/belfry-run/belfry/monitor"
	"github.com/belfry-run/belfry/schedule"
	"github.com/belfry-run/belfry/store/base"
	"github.com/belfry-run/belfry/store/documents"
	"github.com/belfry-run/belfry/store/monitors"
	"github.com/belfry-run/belfry/store/queues"
	"github.com/belfry-run/belfry/store/schedules"
	"github.com/belfry-run/belfry/store/tasks"
	"github.com/belfry-run/belfry/task"
	"github.com/belfry-run/belfry/view"
)

// planner computes, from one read of the database, the changes of an apply. It writes nothing and locks nothing, so it holds up
// no writer.
type planner struct {
	s   *Store
	ctx context.Context //nolint:containedctx // of one plan
	tx  base.Tx
	now time.Time
	m   view.Manifest
	o   view.ApplyOptions

	// The objects that exist, and later those that the plan adds.
	queues    map[string]job.Queue
	tasks     map[base.TaskName]task.Task
	calendars map[base.TaskName]schedule.Calendar
	schedules map[base.TaskName]schedules.ScheduleRow
	monitors  map[base.TaskName]monitors.MonitorRow
	channels  map[base.TaskName]bool

	room       int                         // bytes of definitions that may still be read
	namespaces map[string]access.Namespace // of the tasks that were checked
	grown      []int                       // cycles and workflows of the manifest that nest tasks deeper than before

	used    map[string]string // each object that the manifest refers to, with the first definition that does
	changes []view.Change
}

// plan returns the plan of an apply. The manifest must be valid and have its defaults.
func (s *Store) plan(ctx context.Context, tx base.Tx, m view.Manifest, o view.ApplyOptions, now time.Time) ([]view.Change, error) {
	p := &planner{s: s, ctx: ctx, tx: tx, now: now, m: m, o: o, used: map[string]string{}, room: maxPlan + m.Count()*planEach, namespaces: map[string]access.Namespace{}, changes: []view.Change{}}
	if err := p.read(); err != nil {
		return nil, err
	}
	for _, step := range []func() error{p.planQueues, p.planCalendars, p.planTasks, p.planSchedules, p.planDocuments, p.planMonitors, p.planLast} {
		if err := cmp.Or(ctx.Err(), step()); err != nil {
			return nil, err
		}
	}
	if !o.Prune {
		return p.changes, nil
	}
	return p.changes, p.planPrune()
}

// read fetches the objects that the manifest defines or refers to, with one statement for each noun and some thousand names.
func (p *planner) read() error {
	names := map[string][]base.TaskName{}
	add := func(noun, namespace, name string) {
		names[noun] = append(names[noun], base.TaskName{Namespace: namespace, Name: name})
	}
	for _, c := range p.m.Calendars {
		add("calendars", c.Namespace, c.Name)
	}
	for _, t := range p.m.Tasks {
		add("tasks", t.Namespace, t.Name)
		if t.Cycle != nil {
			for _, member := range t.Cycle.Members {
				add("tasks", t.Namespace, member.Task)
			}
		}
	}
	calendars := func(sc schedule.Schedule) {
		for _, name := range sc.Calendars() {
			add("calendars", sc.Namespace, name)
		}
	}
	for _, sc := range p.m.Schedules {
		add("schedules", sc.Namespace, sc.Name)
		add("tasks", sc.Namespace, sc.Task)
		calendars(sc)
	}
	for _, rule := range p.m.AlertRules {
		for _, name := range rule.Quiet {
			add("calendars", rule.Namespace, name)
		}
	}
	for _, m := range p.m.Monitors {
		add("monitors", m.Namespace, m.Name)
		for _, name := range m.DependsOn {
			add("monitors", m.Namespace, name)
		}
		calendars(m.Schedule())
	}
	queues, err := base.Collect(p.ctx, p.tx, queues.ScanQueue, `select `+queues.QueueColumns+` from belfry.queues`)
	if err != nil {
		return err
	}
	p.queues = make(map[string]job.Queue, len(queues))
	for _, q := range queues {
		p.queues[q.Name] = q
	}
	of := func(namespace, name string) base.TaskName { return base.TaskName{Namespace: namespace, Name: name} }
	if p.calendars, err = readNamed(p, names["calendars"], schedules.ScanCalendar, `select `+schedules.CalendarColumns+` from belfry.calendars where `,
		func(c schedule.Calendar) base.TaskName { return of(c.Namespace, c.Name) }); err != nil {
		return err
	}
	if p.tasks, err = readNamed(p, names["tasks"], p.s.tasks.ScanTask, `select `+tasks.TaskColumns+` from belfry.tasks where `,
		func(t task.Task) base.TaskName { return of(t.Namespace, t.Name) }); err != nil {
		return err
	}
	if p.schedules, err = readNamed(p, names["schedules"], schedules.ScanSchedule, `select `+schedules.ScheduleColumns+` from belfry.schedules s where `,
		func(sc schedules.ScheduleRow) base.TaskName { return of(sc.Namespace, sc.Name) }); err != nil {
		return err
	}
	p.monitors, err = readNamed(p, names["monitors"], p.s.monitors.ScanMonitor, `select `+monitors.MonitorColumns+` from belfry.monitors m where `,
		func(m monitors.MonitorRow) base.TaskName { return of(m.Namespace, m.Name) })
	return err
}

// Limits of what a plan reads: the names in one statement, and about how many bytes of stored definitions that the manifest
// defines or refers to. A manifest of many definitions of usual size has room.
const (
	planBatch = 5000
	maxPlan   = 64 << 20
	planEach  = 4 << 10 // more for each definition of the manifest
)

func readNamed[T any](p *planner, names []base.TaskName, scan func(base.Rows) (T, error), query string, nameOf func(T) base.TaskName) (map[base.TaskName]T, error) {
	byNamespace := map[string][]string{}
	for _, n := range base.Unique(names) {
		byNamespace[n.Namespace] = append(byNamespace[n.Namespace], n.Name)
	}
	found := map[base.TaskName]T{}
	for namespace, names := range byNamespace {
		for part := range slices.Chunk(names, planBatch) {
			rows, more, err := base.CollectSome(p.ctx, p.tx, len(part), &p.room, scan, query+`namespace = $1 and `+p.s.SQL.In("name", 2), namespace, p.s.SQL.List(part))
			if err != nil {
				return nil, err
			}
			if more {
				return nil, core.Errorf(core.TooLarge, "the stored definitions that the manifest names have more than %s", core.SizeText(int64(maxPlan+p.m.Count()*planEach))).
					WithHint("apply it in parts")
			}
			for _, row := range rows {
				found[nameOf(row)] = row
			}
		}
	}
	return found, nil
}

// use records that a definition refers to an object.
func (p *planner) use(noun, namespace, name, by string) {
	if key := noun + "/" + namespace + "/" + name; p.used[key] == "" {
		p.used[key] = by
	}
}

func (p *planner) planQueues() error {
	for _, q := range p.m.Queues {
		old, exists := p.queues[q.Name]
		q.PausedAt, q.PausedBy, q.PausedReason = old.PausedAt, old.PausedBy, old.PausedReason
		q.CreatedAt, q.UpdatedAt = old.CreatedAt, old.UpdatedAt
		p.queues[q.Name] = q
		p.changes = append(p.changes, base.Changed("queue", "", q.Name, !exists, old, q))
	}
	return nil
}

func (p *planner) planCalendars() error {
	for _, cal := range p.m.Calendars {
		key := base.TaskName{Namespace: cal.Namespace, Name: cal.Name}
		old, exists := p.calendars[key]
		p.calendars[key] = cal
		p.changes = append(p.changes, base.Changed("calendar", cal.Namespace, cal.Name, !exists, old, cal))
	}
	return nil
}

func (p *planner) planTasks() error {
	for _, i := range tasks.MembersFirst(p.m.Tasks) {
		if err := p.planTask(i, p.m.Tasks[i]); err != nil {
			return base.Under(fmt.Sprintf("tasks[%d]", i), err)
		}
	}
	for _, i := range p.grown {
		if err := tasks.CheckAbove(p.m.Tasks[i], p.tasksNamed, p.holders); err != nil {
			return base.Under(fmt.Sprintf("tasks[%d]", i), err)
		}
	}
	return nil
}

func (p *planner) planTask(i int, t task.Task) error {
	key := base.TaskName{Namespace: t.Namespace, Name: t.Name}
	old, exists := p.tasks[key]
	fresh, hidden := compared(p.o, t, task.Task.Redacted)
	if exists {
		fresh = fresh.KeepSecrets(old)
	}
	if !exists || tasks.TaskDoc(old) != tasks.TaskDoc(fresh) {
		judged := fresh
		if len(hidden) > 0 {
			judged = t
		}
		if err := p.checkTask(judged, len(hidden) > 0); err != nil {
			return err
		}
		if exists {
			grows, err := tasks.Grows(old, fresh, p.tasksNamed)
			if err != nil {
				return err
			}
			if grows {
				p.grown = append(p.grown, i)
			}
		}
	}
	ch := base.Changed("task", t.Namespace, t.Name, !exists, old.Redacted(), fresh.Redacted())
	if exists {
		ch = documents.WithSecrets(ch, base.Differences(old, fresh), hidden)
	}
	p.tasks[key] = fresh
	p.changes = append(p.changes, ch)
	return nil
}

// checkTask makes the checks of a save. Secrets that are not compared are not checked, because their stored values are unknown.
func (p *planner) checkTask(t task.Task, secrets bool) error {
	if err := p.mayUseQueue(t); err != nil {
		return err
	}
	if err := p.s.tasks.Vetting(t, !secrets); err != nil {
		return err
	}
	if err := tasks.CheckMembers(t, p.tasksNamed, func(member string) { p.use("task", t.Namespace, member, fmt.Sprintf("%s %q", t.Kind, t.Name)) }); err != nil {
		return err
	}
	digest := tasks.ArtifactOf(t)
	if digest == "" {
		return nil
	}
	size, there, err := base.First(p.ctx, p.tx, base.ScanInt, `select size from belfry.artifacts where namespace = $1 and sha256 = $2`, t.Namespace, digest)
	if err == nil && there && size != t.Program.Size {
		err = core.Errorf(core.Conflict, "program.size of task %q: artifact %s has %d bytes, not %d", t.Name, digest, size, t.Program.Size).
			WithHint("use the size that sha256sum's file has")
	}
	return err
}

// mayUseQueue makes the queue checks of a save.
func (p *planner) mayUseQueue(t task.Task) error {
	if err := job.CheckReserved(t.Queue, t.Name, t.Kind); err != nil {
		return err
	}
	if _, there := p.queues[t.Queue]; !there {
		return queues.UnknownQueue("queue", t.Queue)
	}
	n, there := p.namespaces[t.Namespace]
	if !there {
		var err error
		if n, err = p.s.tasks.ReadNamespace(p.ctx, p.tx, t.Namespace); err != nil {
			return err
		}
		p.namespaces[t.Namespace] = n
	}
	if err := n.AllowQueue(t.Queue, t.Name); err != nil {
		return err
	}
	return n.AllowPriority(t.Priority)
}

// tasksNamed returns tasks as they would be after the apply. It also reads tasks that the manifest does not name: members of
// members.
func (p *planner) tasksNamed(names []base.TaskName) (map[base.TaskName]task.Task, error) {
	var missing []base.TaskName
	for _, n := range names {
		if _, there := p.tasks[n]; !there {
			missing = append(missing, n)
		}
	}
	more, err := readNamed(p, missing, p.s.tasks.ScanTask, `select `+tasks.TaskColumns+` from belfry.tasks where `,
		func(t task.Task) base.TaskName { return base.TaskName{Namespace: t.Namespace, Name: t.Name} })
	maps.Copy(p.tasks, more)
	return p.tasks, err
}

func (p *planner) planSchedules() error {
	for i, sc := range p.m.Schedules {
		key := base.TaskName{Namespace: sc.Namespace, Name: sc.Name}
		old, exists := p.schedules[key]
		if !exists || schedules.ScheduleDoc(old.Schedule) != schedules.ScheduleDoc(sc) {
			_, there := p.tasks[base.TaskName{Namespace: sc.Namespace, Name: sc.Task}]
			err := p.checkSchedule(sc, old.Schedule, exists)
			if err == nil && !there {
				err = schedules.NoTaskOf(sc)
			}
			if err != nil {
				return base.Under("schedules["+strconv.Itoa(i)+"]", err)
			}
		}
		p.use("task", sc.Namespace, sc.Task, fmt.Sprintf("schedule %q", sc.Name))
		p.useCalendars(sc, fmt.Sprintf("schedule %q", sc.Name))
		p.changes = append(p.changes, base.Changed("schedule", sc.Namespace, sc.Name, !exists, asWritten(old.Schedule), asWritten(sc)))
	}
	return nil
}

func (p *planner) useCalendars(sc schedule.Schedule, by string) {
	for _, name := range sc.Calendars() {
		p.use("calendar", sc.Namespace, name, by)
	}
}

func (p *planner) checkSchedule(sc, old schedule.Schedule, exists bool) error {
	now := p.now
	if exists && sc.SameTimes(old) {
		now = base.Instant(0)
	}
	if err := schedules.CheckSchedule(sc, now); err != nil {
		return err
	}
	var calendars []schedule.Calendar
	for _, name := range sc.Calendars() {
		if cal, there := p.calendars[base.TaskName{Namespace: sc.Namespace, Name: name}]; there {
			calendars = append(calendars, cal)
		}
	}
	_, err := sc.Plan(calendars...)
	return err
}

func (p *planner) planMonitors() error {
	for _, i := range monitors.ParentsFirst(p.m.Monitors) {
		if err := p.planMonitor(p.m.Monitors[i]); err != nil {
			return base.Under(fmt.Sprintf("monitors[%d]", i), err)
		}
	}
	return nil
}

func (p *planner) planMonitor(m monitor.Monitor) error {
	key := base.TaskName{Namespace: m.Namespace, Name: m.Name}
	old, exists := p.monitors[key]
	fresh, hidden := compared(p.o, m, monitor.Monitor.Redacted)
	if exists {
		fresh.Check = fresh.Check.KeepSecrets(old.Check)
	}
	if !exists || monitors.MonitorDoc(old.Monitor) != monitors.MonitorDoc(fresh) {
		judged := fresh
		if len(hidden) > 0 {
			judged = m
		}
		if err := p.checkMonitor(judged, old.Monitor, exists, len(hidden) > 0); err != nil {
			return err
		}
	}
	for _, name := range m.DependsOn {
		p.use("monitor", m.Namespace, name, fmt.Sprintf("monitor %q", m.Name))
	}
	p.useCalendars(m.Schedule(), fmt.Sprintf("monitor %q", m.Name))
	ch := base.Changed("monitor", m.Namespace, m.Name, !exists, monitors.WrittenMonitor(old.Redacted()), monitors.WrittenMonitor(fresh.Redacted()))
	if exists {
		ch = documents.WithSecrets(ch, base.Differences(monitors.WrittenMonitor(old.Monitor), monitors.WrittenMonitor(fresh)), hidden)
	}
	p.monitors[key] = monitors.MonitorRow{Monitor: fresh}
	p.changes = append(p.changes, ch)
	return nil
}

func (p *planner) checkMonitor(m, old monitor.Monitor, exists, secrets bool) error {
	if err := m.Validate(p.now); err != nil {
		return err
	}
	for i, name := range m.DependsOn {
		if _, there := p.monitors[base.TaskName{Namespace: m.Namespace, Name: name}]; !there {
			return core.InvalidField(fmt.Sprintf("depends_on[%d]", i), name, "is not a monitor in namespace "+m.Namespace, "create it first, or apply both in one file")
		}
	}
	if exists && (m.Heartbeat == nil) != (old.Heartbeat == nil) {
		return monitors.ErrHeartbeat
	}
	if m.Heartbeat != nil {
		return nil
	}
	if err := base.Under("check", p.s.tasks.Vetting(m.Check, !secrets)); err != nil {
		return err
	}
	t := m.Task()
	if err := p.mayUseQueue(t); err != nil {
		return err
	}
	var before schedule.Schedule
	if exists {
		before = old.Schedule()
	}
	return p.checkSchedule(m.Schedule(), before, exists)
}

package definitions

import (
	"context"
	"encoding/json"
	"fmt"

	"github.com/belfry-run/belfry/core"
	"github.com/belfry-run/belfry/schedule"
	"github.com/belfry-run/belfry/store/alerts"
	"github.com/belfry-run/belfry/store/base"
	"github.com/belfry-run/belfry/store/documents"
	"github.com/belfry-run/belfry/store/hooks"
	"github.com/belfry-run/belfry/store/monitors"
	"github.com/belfry-run/belfry/store/schedules"
	"github.com/belfry-run/belfry/store/tasks"
	"github.com/belfry-run/belfry/task"
	"github.com/belfry-run/belfry/view"
)

// Apply changes the database to match the manifest. The plan is made on a read, outside of any write: a rejected plan or a dry
// run writes nothing and holds up no writer. Then one transaction writes all changes or none. Unchanged objects are not
// touched.
func (s *Store) Apply(ctx context.Context, m view.Manifest, o view.ApplyOptions) (out view.Applied, err error) {
	if o.Namespace == "" {
		o.Namespace = core.DefaultNamespace
	}
	m = m.WithDefaults(o.Namespace)
	out = view.Applied{DryRun: o.DryRun}
	if err := m.Validate(); err != nil {
		return out, err
	}
	if !o.DryRun {
		o.CompareSecrets = true // differences are written
	}
	now, err := s.Now(ctx)
	if err != nil {
		return out, err
	}
	if err := s.DB().Read(ctx, func(tx base.Tx) error {
		out.Changes, err = s.plan(ctx, tx, m, o, now)
		return err
	}); err != nil || o.DryRun {
		return out, err
	}
	rest := actionsOf(out.Changes)
	if len(rest) > view.MaxApply {
		return out, core.Errorf(core.TooLarge, "the manifest changes %d definitions, and one apply changes at most %d", len(rest), view.MaxApply).
			WithHint("apply it in parts; what stays as it is does not count")
	}
	if len(rest) == 0 {
		return out, nil
	}
	done, err := s.writeApply(ctx, m, m.Only(rest), o)
	if err != nil {
		return view.Applied{}, err
	}
	out.Changes = merge(out.Changes, done)
	return out, nil
}

// actionsOf returns the keys of the plan's lines that change something.
func actionsOf(changes []view.Change) (keys []string) {
	for _, ch := range changes {
		if ch.Action != view.ActionKeep {
			keys = append(keys, ch.Key())
		}
	}
	return keys
}

// merge replaces planned changes by the changes that were made.
func merge(planned, done []view.Change) []view.Change {
	place := make(map[string]int, len(planned))
	for i, ch := range planned {
		place[ch.Key()] = i
	}
	for _, ch := range done {
		if i, there := place[ch.Key()]; there {
			planned[i] = ch
			continue
		}
		planned = append(planned, ch)
	}
	return planned
}

// writeApply writes the changing part of a manifest.
func (s *Store) writeApply(ctx context.Context, m, part view.Manifest, o view.ApplyOptions) (done []view.Change, err error) {
	err = s.write(ctx, "apply", func(c *Change) error {
		done = nil
		for _, step := range []func(view.Manifest) ([]view.Change, error){c.applyQueues, c.applyCalendars, c.applyTasks, c.applySchedules,
			c.applyChannels, c.applyAlertRules, c.applyHooks, c.monitors().ApplyMonitors, c.applyWindows, c.applyStatusPages} {
			changes, err := step(part)
			if err != nil {
				return err
			}
			done = append(done, changes...)
		}
		if !o.Prune {
			return nil
		}
		deleted, err := c.prune(m, o.Namespace)
		done = append(done, deleted...)
		return err
	})
	return done, err
}

func (c *Change) applyQueues(m view.Manifest) ([]view.Change, error) {
	var changes []view.Change
	for i, q := range m.Queues {
		old, err := c.s.queues.ReadQueue(c.Ctx, c.Tx, q.Name)
		isNew := core.CodeOf(err) == core.NotFound
		if err != nil && !isNew {
			return nil, err
		}
		saved, _, err := c.queues().SaveQueue(q)
		if err != nil {
			return nil, base.Under(fmt.Sprintf("queues[%d]", i), err)
		}
		changes = append(changes, base.Changed("queue", "", q.Name, isNew, old, saved))
	}
	return changes, nil
}

func (c *Change) applyCalendars(m view.Manifest) ([]view.Change, error) {
	var changes []view.Change
	for i, cal := range m.Calendars {
		saved, old, err := c.schedules().SaveCalendar(cal)
		if err != nil {
			return nil, base.Under(fmt.Sprintf("calendars[%d]", i), err)
		}
		changes = append(changes, base.Changed("calendar", cal.Namespace, cal.Name, old.ID == 0, old, saved))
	}
	return changes, nil
}

func (c *Change) applyTasks(m view.Manifest) ([]view.Change, error) {
	names := make([]base.TaskName, len(m.Tasks))
	for i, t := range m.Tasks {
		names[i] = base.TaskName{Namespace: t.Namespace, Name: t.Name}
	}
	there, err := c.tasks().TasksByName(names)
	if err != nil {
		return nil, err
	}
	var changes []view.Change
	for _, i := range tasks.MembersFirst(m.Tasks) {
		t := m.Tasks[i]
		old, exists := there[base.TaskName{Namespace: t.Namespace, Name: t.Name}]
		var saved task.Task
		if exists {
			saved, err = c.tasks().UpdateTask(t)
		} else {
			saved, err = c.tasks().InsertTask(t, "")
		}
		if err != nil {
			return nil, base.Under(fmt.Sprintf("tasks[%d]", i), err)
		}
		ch := base.Changed("task", t.Namespace, t.Name, !exists, old.Redacted(), saved.Redacted())
		if exists {
			ch = documents.WithSecrets(ch, base.Differences(old, saved), nil)
		}
		changes = append(changes, ch)
	}
	return changes, nil
}

func (c *Change) applySchedules(m view.Manifest) ([]view.Change, error) {
	var changes []view.Change
	for i, sc := range m.Schedules {
		old, err := c.s.schedules.ReadSchedule(c.Ctx, c.Tx, sc.Namespace, sc.Name, true)
		isNew := core.CodeOf(err) == core.NotFound
		if err != nil && !isNew {
			return nil, err
		}
		var saved schedule.Schedule
		if isNew {
			saved, err = c.schedules().InsertSchedule(sc, false)
		} else {
			saved, err = c.schedules().UpdateSchedule(sc)
		}
		if err != nil {
			return nil, base.Under(fmt.Sprintf("schedules[%d]", i), err)
		}
		changes = append(changes, base.Changed("schedule", sc.Namespace, sc.Name, isNew, asWritten(old.Schedule), asWritten(saved)))
	}
	return changes, nil
}

func (c *Change) applyChannels(m view.Manifest) ([]view.Change, error) {
	return alerts.Channels.Apply(c.Change, "channels", m.Channels)
}

func (c *Change) applyAlertRules(m view.Manifest) ([]view.Change, error) {
	return alerts.AlertRules.Apply(c.Change, "alert_rules", m.AlertRules)
}

func (c *Change) applyHooks(m view.Manifest) ([]view.Change, error) {
	return hooks.Docs.Apply(c.Change, "hooks", m.Hooks)
}

func (c *Change) applyWindows(m view.Manifest) ([]view.Change, error) {
	return monitors.Windows.Apply(c.Change, "windows", m.Windows)
}

func (c *Change) applyStatusPages(m view.Manifest) ([]view.Change, error) {
	return monitors.StatusPages.Apply(c.Change, "status_pages", m.StatusPages)
}

// asWritten returns a schedule without its state, which no manifest has.
func asWritten(s schedule.Schedule) schedule.Schedule {
	var out schedule.Schedule
	if err := json.Unmarshal([]byte(schedules.ScheduleDoc(s)), &out); err != nil {
		panic(err) // Belfry wrote it itself
	}
	return out
}

// prune deletes the objects that the manifest does not name. Schedules go first, because they refer to tasks.
func (c *Change) prune(m view.Manifest, namespace string) ([]view.Change, error) {
	named := map[string]bool{}
	for _, t := range m.Tasks {
		named["task/"+t.Namespace+"/"+t.Name] = true
	}
	for _, cal := range m.Calendars {
		named["calendar/"+cal.Namespace+"/"+cal.Name] = true
	}
	for _, sc := range m.Schedules {
		named["schedule/"+sc.Namespace+"/"+sc.Name] = true
	}
	changes, err := c.pruneMonitors(m, namespace)
	if err != nil {
		return nil, err
	}
	ss, err := base.Collect(c.Ctx, c.Tx, base.ScanString, `
		select s.name
		from belfry.schedules s
		where s.namespace = $1 and substr(s.name, 1, 8) <> 'monitor:'
		order by s.name`+c.SQL.ForUpdate("s"), namespace)
	if err != nil {
		return nil, err
	}
	for _, name := range ss {
		if !named["schedule/"+namespace+"/"+name] {
			row, err := c.s.schedules.ReadSchedule(c.Ctx, c.Tx, namespace, name, true)
			if err == nil {
				err = c.schedules().DeleteSchedule(row)
			}
			if err != nil {
				return nil, err
			}
			changes = append(changes, view.Change{Action: view.ActionDelete, Noun: "schedule", Namespace: namespace, Name: name})
		}
	}
	ts, err := c.s.holdersFirst(c.Ctx, c.Tx, namespace, c.SQL.ForUpdate("tasks"))
	if err != nil {
		return nil, err
	}
	for _, h := range ts {
		if !named["task/"+namespace+"/"+h.Name] {
			t, err := c.s.tasks.ReadTask(c.Ctx, c.Tx, namespace, h.Name)
			if err == nil {
				err = c.tasks().DeleteTask(t)
			}
			if err != nil {
				return nil, err
			}
			changes = append(changes, view.Change{Action: view.ActionDelete, Noun: "task", Namespace: namespace, Name: t.Name})
		}
	}
	calendars, err := base.Collect(c.Ctx, c.Tx, schedules.ScanCalendar, `select `+schedules.CalendarColumns+` from belfry.calendars where namespace = $1 order by name`, namespace)
	if err != nil {
		return nil, err
	}
	for _, cal := range calendars {
		if !named["calendar/"+namespace+"/"+cal.Name] {
			if err := c.schedules().DeleteCalendar(cal); err != nil {
				return nil, err
			}
			changes = append(changes, view.Change{Action: view.ActionDelete, Noun: "calendar", Namespace: namespace, Name: cal.Name})
		}
	}
	return changes, nil
}

// pruneMonitors deletes the monitors that the manifest does not name, and the objects that belong to monitoring.
func (c *Change) pruneMonitors(m view.Manifest, namespace string) (changes []view.Change, err error) {
	named := map[string]bool{}
	for _, mon := range m.Monitors {
		named[mon.Namespace+"/"+mon.Name] = true
	}
	names, err := c.s.childrenFirst(c.Ctx, c.Tx, namespace)
	if err != nil {
		return nil, err
	}
	for _, name := range names {
		if named[namespace+"/"+name] {
			continue
		}
		row, err := c.s.monitors.ReadMonitor(c.Ctx, c.Tx, namespace, name, true)
		if err == nil {
			err = c.monitors().DeleteMonitor(row)
		}
		if err != nil {
			return nil, err
		}
		changes = append(changes, view.Change{Action: view.ActionDelete, Noun: "monitor", Namespace: namespace, Name: name})
	}
	for _, step := range []func() ([]view.Change, error){
		func() ([]view.Change, error) { return monitors.StatusPages.Prune(c.Change, namespace, m.StatusPages) },
		func() ([]view.Change, error) { return monitors.Windows.Prune(c.Change, namespace, m.Windows) },
		func() ([]view.Change, error) { return hooks.Docs.Prune(c.Change, namespace, m.Hooks) },
		func() ([]view.Change, error) { return alerts.AlertRules.Prune(c.Change, namespace, m.AlertRules) },
		func() ([]view.Change, error) { return alerts.Channels.Prune(c.Change, namespace, m.Channels) },
	} {
		more, err := step()
		if err != nil {
			return nil, err
		}
		changes = append(changes, more...)
	}
	return changes, nil
}

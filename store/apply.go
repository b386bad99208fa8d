package store

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/belfry-run/belfry/core"
	"github.com/belfry-run/belfry/job"
	"github.com/belfry-run/belfry/monitor"
	"github.com/belfry-run/belfry/schedule"
	"github.com/belfry-run/belfry/task"
	"github.com/belfry-run/belfry/view"
)

// Apply makes the database as the manifest says. It is planned on a read of the
// database, outside of any write: a plan that is refused, and a dry run, write
// nothing and hold up nobody. What the plan changes is then written in one
// transaction, all of it or nothing; what it keeps is not touched again.
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
		o.CompareSecrets = true // what differs is written
	}
	now, err := s.Now(ctx)
	if err != nil {
		return out, err
	}
	if err := s.db.Read(ctx, func(tx Tx) error {
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

// actionsOf is the keys of the lines of a plan that change something.
func actionsOf(changes []view.Change) (keys []string) {
	for _, ch := range changes {
		if ch.Action != view.ActionKeep {
			keys = append(keys, ch.Key())
		}
	}
	return keys
}

// merge puts what was done in the place of what was planned.
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

// writeApply writes the part of a manifest that changes.
func (s *Store) writeApply(ctx context.Context, m, part view.Manifest, o view.ApplyOptions) (done []view.Change, err error) {
	err = s.write(ctx, "apply", func(c *change) error {
		done = nil
		for _, step := range []func(view.Manifest) ([]view.Change, error){c.applyQueues, c.applyCalendars, c.applyTasks, c.applySchedules,
			c.applyChannels, c.applyAlertRules, c.applyMonitors, c.applyWindows, c.applyStatusPages} {
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

func (c *change) applyQueues(m view.Manifest) ([]view.Change, error) {
	var changes []view.Change
	for i, q := range m.Queues {
		old, err := c.s.queue(c.ctx, c.tx, q.Name)
		isNew := core.CodeOf(err) == core.NotFound
		if err != nil && !isNew {
			return nil, err
		}
		saved, _, err := c.saveQueue(q)
		if err != nil {
			return nil, under(fmt.Sprintf("queues[%d]", i), err)
		}
		changes = append(changes, changed("queue", "", q.Name, isNew, old, saved))
	}
	return changes, nil
}

func (c *change) applyCalendars(m view.Manifest) ([]view.Change, error) {
	var changes []view.Change
	for i, cal := range m.Calendars {
		saved, old, err := c.saveCalendar(cal)
		if err != nil {
			return nil, under(fmt.Sprintf("calendars[%d]", i), err)
		}
		changes = append(changes, changed("calendar", cal.Namespace, cal.Name, old.ID == 0, old, saved))
	}
	return changes, nil
}

func (c *change) applyTasks(m view.Manifest) ([]view.Change, error) {
	names := make([]taskName, len(m.Tasks))
	for i, t := range m.Tasks {
		names[i] = taskName{Namespace: t.Namespace, Name: t.Name}
	}
	there, err := c.tasksByName(names)
	if err != nil {
		return nil, err
	}
	var changes []view.Change
	for _, i := range membersFirst(m.Tasks) {
		t := m.Tasks[i]
		old, exists := there[taskName{Namespace: t.Namespace, Name: t.Name}]
		var saved task.Task
		if exists {
			saved, err = c.updateTask(t)
		} else {
			saved, err = c.insertTask(t, "")
		}
		if err != nil {
			return nil, under(fmt.Sprintf("tasks[%d]", i), err)
		}
		ch := changed("task", t.Namespace, t.Name, !exists, old.Redacted(), saved.Redacted())
		if exists {
			ch = withSecrets(ch, differences(old, saved), nil)
		}
		changes = append(changes, ch)
	}
	return changes, nil
}

func (c *change) applySchedules(m view.Manifest) ([]view.Change, error) {
	var changes []view.Change
	for i, sc := range m.Schedules {
		old, err := c.s.schedule(c.ctx, c.tx, sc.Namespace, sc.Name, true)
		isNew := core.CodeOf(err) == core.NotFound
		if err != nil && !isNew {
			return nil, err
		}
		var saved schedule.Schedule
		if isNew {
			saved, err = c.insertSchedule(sc, false)
		} else {
			saved, err = c.updateSchedule(sc)
		}
		if err != nil {
			return nil, under(fmt.Sprintf("schedules[%d]", i), err)
		}
		changes = append(changes, changed("schedule", sc.Namespace, sc.Name, isNew, asWritten(old.Schedule), asWritten(saved)))
	}
	return changes, nil
}

func (c *change) applyChannels(m view.Manifest) ([]view.Change, error) {
	return channels.apply(c, "channels", m.Channels)
}

func (c *change) applyAlertRules(m view.Manifest) ([]view.Change, error) {
	return alertRules.apply(c, "alert_rules", m.AlertRules)
}

func (c *change) applyWindows(m view.Manifest) ([]view.Change, error) {
	return windows.apply(c, "windows", m.Windows)
}

func (c *change) applyStatusPages(m view.Manifest) ([]view.Change, error) {
	return statusPages.apply(c, "status_pages", m.StatusPages)
}

// asWritten is a schedule without its state, which no manifest has.
func asWritten(s schedule.Schedule) schedule.Schedule {
	var out schedule.Schedule
	if err := json.Unmarshal([]byte(scheduleDoc(s)), &out); err != nil {
		panic(err) // it was written by us a line ago
	}
	return out
}

// prune deletes what the manifest does not name: schedules first, because
// they hold on to tasks.
func (c *change) prune(m view.Manifest, namespace string) ([]view.Change, error) {
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
	schedules, err := collect(c.ctx, c.tx, scanSchedule, `
		select `+scheduleColumns+`
		from belfry.schedules s
		where s.namespace = $1 and substr(s.name, 1, 8) <> 'monitor:'
		order by s.name`+c.sql.ForUpdate("s"), namespace)
	if err != nil {
		return nil, err
	}
	for _, row := range schedules {
		if !named["schedule/"+namespace+"/"+row.Name] {
			if err := c.deleteSchedule(row); err != nil {
				return nil, err
			}
			changes = append(changes, view.Change{Action: view.ActionDelete, Noun: "schedule", Namespace: namespace, Name: row.Name})
		}
	}
	tasks, err := collect(c.ctx, c.tx, c.s.scanTask, `select `+taskColumns+` from belfry.tasks where namespace = $1 order by name`+c.sql.ForUpdate("tasks"), namespace)
	if err != nil {
		return nil, err
	}
	for _, i := range slices.Backward(membersFirst(tasks)) { // cycles before their members
		t := tasks[i]
		if _, owned := task.OwnerOf(t.Name); !owned && !named["task/"+namespace+"/"+t.Name] && !ours(t.Name) {
			if err := c.deleteTask(t); err != nil {
				return nil, err
			}
			changes = append(changes, view.Change{Action: view.ActionDelete, Noun: "task", Namespace: namespace, Name: t.Name})
		}
	}
	calendars, err := collect(c.ctx, c.tx, scanCalendar, `select `+calendarColumns+` from belfry.calendars where namespace = $1 order by name`, namespace)
	if err != nil {
		return nil, err
	}
	for _, cal := range calendars {
		if !named["calendar/"+namespace+"/"+cal.Name] {
			if err := c.deleteCalendar(cal); err != nil {
				return nil, err
			}
			changes = append(changes, view.Change{Action: view.ActionDelete, Noun: "calendar", Namespace: namespace, Name: cal.Name})
		}
	}
	return changes, nil
}

// pruneMonitors deletes the monitors that the manifest does not name, and what
// goes with monitors.
func (c *change) pruneMonitors(m view.Manifest, namespace string) (changes []view.Change, err error) {
	named := map[string]bool{}
	for _, mon := range m.Monitors {
		named[mon.Namespace+"/"+mon.Name] = true
	}
	rows, err := collect(c.ctx, c.tx, c.s.scanMonitor, `select `+monitorColumns+` from belfry.monitors m where m.namespace = $1 order by m.name`, namespace)
	if err != nil {
		return nil, err
	}
	var gone []monitorRow
	for _, row := range rows {
		if !named[namespace+"/"+row.Name] {
			gone = append(gone, row)
		}
	}
	for _, row := range childrenFirst(gone) {
		if err := c.deleteMonitor(row); err != nil {
			return nil, err
		}
		changes = append(changes, view.Change{Action: view.ActionDelete, Noun: "monitor", Namespace: namespace, Name: row.Name})
	}
	for _, step := range []func() ([]view.Change, error){
		func() ([]view.Change, error) { return statusPages.prune(c, namespace, m.StatusPages) },
		func() ([]view.Change, error) { return windows.prune(c, namespace, m.Windows) },
		func() ([]view.Change, error) { return alertRules.prune(c, namespace, m.AlertRules) },
		func() ([]view.Change, error) { return channels.prune(c, namespace, m.Channels) },
	} {
		more, err := step()
		if err != nil {
			return nil, err
		}
		changes = append(changes, more...)
	}
	return changes, nil
}

// childrenFirst puts monitors before those that they depend on.
func childrenFirst(rows []monitorRow) []monitorRow {
	all := make([]monitor.Monitor, len(rows))
	for i, r := range rows {
		all[i] = r.Monitor
	}
	order := parentsFirst(all)
	out := make([]monitorRow, 0, len(rows))
	for _, i := range slices.Backward(order) {
		out = append(out, rows[i])
	}
	return out
}

// ours reports that a task is Belfry's own, such as the canary: no manifest
// holds it, and no prune takes it away.
func ours(name string) bool { return strings.HasPrefix(name, "belfry.") }

// under puts the place in the manifest before the fields of an error.
func under(path string, err error) error {
	var e *core.Error
	if !errors.As(err, &e) {
		return err
	}
	out := *e
	out.Fields = slices.Clone(e.Fields)
	for i := range out.Fields {
		out.Fields[i].Field = path + "." + out.Fields[i].Field
	}
	return &out
}

// changed is the line of the plan for one definition.
func changed(noun, namespace, name string, isNew bool, before, after any) view.Change {
	ch := view.Change{Action: view.ActionCreate, Noun: noun, Namespace: namespace, Name: name}
	if isNew {
		return ch
	}
	ch.Action, ch.Fields = view.ActionUpdate, differences(before, after)
	if len(ch.Fields) == 0 {
		ch.Action = view.ActionKeep
	}
	return ch
}

// unwritten are fields that no manifest sets.
var unwritten = map[string]bool{"id": true, "generation": true, "created_at": true, "updated_at": true}

// differences lists what differs between two values of one type, as text.
func differences(before, after any) []string {
	var b, a map[string]json.RawMessage
	if json.Unmarshal([]byte(text(before)), &b) != nil || json.Unmarshal([]byte(text(after)), &a) != nil {
		return nil
	}
	var out []string
	for field := range merged(b, a) {
		if !unwritten[field] && string(b[field]) != string(a[field]) {
			out = append(out, fmt.Sprintf("%s: %s -> %s", field, shown(b[field]), shown(a[field])))
		}
	}
	slices.Sort(out)
	return out
}

func merged(a, b map[string]json.RawMessage) map[string]bool {
	out := map[string]bool{}
	for k := range a {
		out[k] = true
	}
	for k := range b {
		out[k] = true
	}
	return out
}

func shown(raw json.RawMessage) string {
	if len(raw) == 0 {
		return "(none)"
	}
	if s, cut := core.CleanText(string(raw), 200); cut {
		return s + "…"
	}
	return string(raw)
}

// Export is everything of a namespace that a manifest can hold, and all queues.
// What would be more than one may hold is refused before it is read.
func (s *Store) Export(ctx context.Context, namespace string) (m view.Manifest, err error) {
	if namespace == "" {
		namespace = core.DefaultNamespace
	}
	err = s.db.Read(ctx, func(tx Tx) error {
		m = view.Manifest{}
		queues, err := collect(ctx, tx, scanQueue, `select `+queueColumns+` from belfry.queues order by name`)
		if err != nil {
			return err
		}
		for _, q := range queues {
			m.Queues = append(m.Queues, job.Queue{Name: q.Name, Description: q.Description, Priority: q.Priority, Concurrency: q.Concurrency, GlobalLimit: q.GlobalLimit})
		}
		w := &where{}
		w.namespace("namespace", namespace)
		for _, table := range []string{"tasks", "schedules", "monitors"} {
			_, more, err := first(ctx, tx, scanInt, `select 1 from `+Home+table+` where `+w.sql()+` order by namespace, name limit 1 offset `+strconv.Itoa(view.MaxManifest), w.args...)
			if err != nil {
				return err
			}
			if more {
				return core.Errorf(core.TooLarge, "there are more than %d %s, and a file holds no more", view.MaxManifest, table).
					WithHint("export one namespace, or read the list page by page")
			}
		}
		tasks, err := collect(ctx, tx, s.scanTask, `select `+taskColumns+` from belfry.tasks where `+w.sql()+` order by namespace, name`, w.args...)
		if err != nil {
			return err
		}
		for _, t := range tasks {
			if _, owned := task.OwnerOf(t.Name); owned || ours(t.Name) {
				continue
			}
			t.ID, t.Generation, t.CreatedAt, t.UpdatedAt = 0, 0, instant(0), instant(0)
			m.Tasks = append(m.Tasks, t.Redacted())
		}
		calendars, err := collect(ctx, tx, scanCalendar, `select `+calendarColumns+` from belfry.calendars where `+w.sql()+` order by namespace, name`, w.args...)
		if err != nil {
			return err
		}
		for _, cal := range calendars {
			cal.ID, cal.Generation, cal.CreatedAt, cal.UpdatedAt = 0, 0, instant(0), instant(0)
			m.Calendars = append(m.Calendars, cal)
		}
		rows, err := collect(ctx, tx, scanSchedule, `select `+scheduleColumns+` from belfry.schedules s where `+w.sql()+` order by namespace, name`, w.args...)
		if err != nil {
			return err
		}
		for _, r := range rows {
			if _, owned := task.OwnerOf(r.Name); !owned {
				m.Schedules = append(m.Schedules, asWritten(r.Schedule))
			}
		}
		return s.exportMonitors(ctx, tx, namespace, &m)
	})
	return m, err
}

// exportMonitors adds monitors and what goes with them. Secrets stand as
// [core.Redacted]: applied to where they came from, they stay what they are.
func (s *Store) exportMonitors(ctx context.Context, tx Tx, namespace string, m *view.Manifest) error {
	w := &where{}
	w.namespace("m.namespace", namespace)
	monitors, err := collect(ctx, tx, s.scanMonitor, `select `+monitorColumns+` from belfry.monitors m where `+w.sql()+` order by m.namespace, m.name`, w.args...)
	if err != nil {
		return err
	}
	for _, row := range monitors {
		m.Monitors = append(m.Monitors, writtenMonitor(row.Redacted()))
	}
	if m.Channels, err = exportDocs(ctx, tx, channels, namespace); err != nil {
		return err
	}
	if m.AlertRules, err = exportDocs(ctx, tx, alertRules, namespace); err != nil {
		return err
	}
	if m.Windows, err = exportDocs(ctx, tx, windows, namespace); err != nil {
		return err
	}
	m.StatusPages, err = exportDocs(ctx, tx, statusPages, namespace)
	return err
}

func exportDocs[T document](ctx context.Context, tx Tx, k docKind[T], namespace string) ([]T, error) {
	all, err := k.all(ctx, tx, namespace)
	for i := range all {
		all[i] = k.written(k.shown(all[i]))
	}
	return all, err
}

package monitors

import (
	"context"
	"crypto/rand"
	"encoding/hex"
	"fmt"
	"slices"
	"time"

	"github.com/belfry-run/belfry/core"
	"github.com/belfry-run/belfry/core/title"
	"github.com/belfry-run/belfry/monitor"
	"github.com/belfry-run/belfry/schedule"
	"github.com/belfry-run/belfry/store/base"
	"github.com/belfry-run/belfry/store/documents"
	"github.com/belfry-run/belfry/store/schedules"
	"github.com/belfry-run/belfry/task"
	"github.com/belfry-run/belfry/view"
)

// MonitorRow is a monitor with its state and the fields that only the store needs.
type MonitorRow struct {
	monitor.Monitor
	State      monitor.State
	scheduleID int64
	beatKey    string
	nextAt     int64 // next time of its schedule
	againAt    int64 // time of its next additional check

	wakeAt  time.Time // the next look, valid if changed
	changed bool      // the state has to be written
}

// MonitorColumns are the columns that [Store.ScanMonitor] reads, in its order. The table has the alias m.
const MonitorColumns = `m.id, m.namespace, m.name, m.generation, m.doc, m.schedule_id, coalesce(m.beat_key, ''), m.state, m.created_at, m.updated_at,
	coalesce((select s.next_at from belfry.schedules s where s.id = m.schedule_id), 0),
	coalesce((select min(j.due_at) from belfry.jobs j where j.schedule_id = m.schedule_id and j.schedule_id > 0 and j.state = 'scheduled'), 0)`

// ScanMonitor reads one row of [MonitorColumns], with its secrets opened.
func (s *Store) ScanMonitor(rows base.Rows) (m MonitorRow, err error) {
	var id, generation, created, updated int64
	var namespace, name, doc string
	if err = rows.Scan(&id, &namespace, &name, &generation, &doc, &m.scheduleID, &m.beatKey, base.ScanDoc(&m.State), &created, &updated, &m.nextAt, &m.againAt); err != nil {
		return m, err
	}
	m.Monitor, err = s.monitorDocs.DecodeWith(id, doc, func(m monitor.Monitor) (monitor.Monitor, bool) {
		return base.OpenIn(s.Store, base.PurposeOf("monitor", namespace, name), m)
	})
	m.ID, m.Namespace, m.Name, m.Generation = id, namespace, name, generation
	m.CreatedAt, m.UpdatedAt = base.Instant(created), base.Instant(updated)
	return m, err
}

// MonitorDoc returns the monitor as written, without the fields that the store sets.
func MonitorDoc(m monitor.Monitor) string { return base.Text(WrittenMonitor(m)) }

// WrittenMonitor returns a monitor without the fields that the store sets, for a comparison of definitions.
func WrittenMonitor(m monitor.Monitor) monitor.Monitor {
	m.ID, m.Generation = 0, 0
	m.CreatedAt, m.UpdatedAt = base.Instant(0), base.Instant(0)
	return m
}

func (m MonitorRow) view() view.MonitorView {
	v := view.MonitorView{Monitor: base.Own(m.Redacted()), Status: m.State.Status(), State: m.State, NextAt: base.Instant(m.nextAt)}
	if m.againAt > 0 && (m.nextAt == 0 || m.againAt < m.nextAt) {
		v.NextAt = base.Instant(m.againAt)
	}
	if m.beatKey != "" {
		v.Beat = "/beat/" + m.beatKey
		v.NextAt = m.State.ExpectAt
	}
	return v
}

// ErrHeartbeat is the error of an edit that turns a check into a heartbeat, or back.
var ErrHeartbeat = core.InvalidField("heartbeat", "", "cannot be added to a monitor that checks, nor taken away", "delete the monitor and create another")

func noMonitor(namespace, name string) error {
	return core.Errorf(core.NotFound, "no monitor %q in namespace %q", name, namespace).WithHint("see: belfry monitor list")
}

// ReadMonitor reads one row. With lock, no other transaction changes the row before this transaction ends. A transition that
// also locks schedules or jobs locks these first, because an ending check holds its job when it locks its monitor.
func (s *Store) ReadMonitor(ctx context.Context, tx base.Tx, namespace, name string, lock bool) (MonitorRow, error) {
	suffix := ""
	if lock {
		suffix = s.SQL.ForUpdate("m")
	}
	row, found, err := base.First(ctx, tx, s.ScanMonitor, `
		select `+MonitorColumns+`
		from belfry.monitors m
		where m.namespace = $1 and m.name = $2`+suffix, namespace, name)
	if err == nil && !found {
		err = noMonitor(namespace, name)
	}
	return row, err
}

// CreateMonitor saves a new monitor with its own task and schedule.
func (s *Store) CreateMonitor(ctx context.Context, m monitor.Monitor) (out view.MonitorView, err error) {
	m = m.WithDefaults()
	err = s.write(ctx, "create monitor", func(c *Change) error {
		row, err := c.insertMonitor(m)
		out = row.view()
		return err
	})
	return out, err
}

func (c *Change) insertMonitor(m monitor.Monitor) (row MonitorRow, err error) {
	if err := c.checkMonitor(m); err != nil {
		return row, err
	}
	if _, err := c.s.ReadMonitor(c.Ctx, c.Tx, m.Namespace, m.Name, false); core.CodeOf(err) != core.NotFound {
		if err == nil {
			err = monitorThere(m)
		}
		return row, err
	}
	ids, err := c.SQL.NextIDs(c.Ctx, c.Tx, "definition", 1)
	if err != nil {
		return row, err
	}
	m.ID, m.Generation, m.CreatedAt, m.UpdatedAt = ids[0], 1, c.Now, c.Now
	row = MonitorRow{Monitor: m}
	if m.Heartbeat != nil {
		row.beatKey = newBeatKey()
	} else if row.scheduleID, row.nextAt, err = c.startOwned(m); err != nil {
		return row, err
	}
	env, err := c.Surroundings(row)
	if err != nil {
		return row, err
	}
	j := monitor.Enroll(m, env, c.Now)
	doc, err := c.s.sealedMonitor(m)
	if err != nil {
		return row, err
	}
	n, err := c.Tx.Exec(c.Ctx, `
		insert into belfry.monitors (id, namespace, name, kind, tags, generation, doc, schedule_id, beat_key, beat_digest, status, state, wake_at, created_at, updated_at, title, sought)
		values ($1, $2, $3, $4, $5, 1, $6, $7, nullif($8, ''), nullif($13, ''), $9, $10, $11, $12, $12, $14, $15)
		on conflict (namespace, name) do nothing`, m.ID, m.Namespace, m.Name, string(m.Kind()), base.JoinTags(m.Tags), doc, row.scheduleID, row.beatKey,
		string(j.State.Status()), base.Text(j.State), base.Micros(j.WakeAt), base.Micros(c.Now), digestOf(m), m.Title, title.Fold(m.Title))
	if err != nil {
		return row, err
	}
	if n == 0 {
		return row, monitorThere(m)
	}
	if err := c.applyJudgement(&row, j, nil); err != nil {
		return row, err
	}
	if err := c.checkSoon(&row); err != nil {
		return row, err
	}
	return row, c.Audit("create", "monitor", m.Namespace, m.Name, "", nil, WrittenMonitor(m.Redacted()))
}

func monitorThere(m monitor.Monitor) error {
	return core.Errorf(core.Conflict, "there is a monitor %q in namespace %q already", m.Name, m.Namespace).
		WithHint("update it, or choose another name")
}

// newBeatKey returns the secret part of a heartbeat's URL: 128 random bits.
func newBeatKey() string {
	var b [16]byte
	_, _ = rand.Read(b[:]) // never fails
	return hex.EncodeToString(b[:])
}

// checkMonitor validates a monitor against the current time and the stored objects.
func (c *Change) checkMonitor(m monitor.Monitor) error {
	if err := m.Validate(c.Now); err != nil {
		return err
	}
	for i, name := range m.DependsOn {
		if _, err := c.s.ReadMonitor(c.Ctx, c.Tx, m.Namespace, name, false); err != nil {
			return core.InvalidField(fmt.Sprintf("depends_on[%d]", i), name, "is not a monitor in namespace "+m.Namespace, "create it first, or apply both in one file")
		}
	}
	if m.Heartbeat != nil { // a saved schedule would hold its calendars, but a heartbeat saves none
		if err := c.freeDigest(m); err != nil {
			return err
		}
		return schedules.LockCalendars(c.Change, m.Namespace, m.Schedule().Calendars()...)
	}
	return base.Under("check", c.s.tasks.Vet(m.Check))
}

func digestOf(m monitor.Monitor) string {
	if m.Heartbeat == nil {
		return ""
	}
	return m.Heartbeat.TokenDigest
}

// freeDigest rejects a token that another heartbeat uses.
func (c *Change) freeDigest(m monitor.Monitor) error {
	digest := digestOf(m)
	if digest == "" {
		return nil
	}
	_, taken, err := base.First(c.Ctx, c.Tx, base.ScanInt, `
		select 1
		from belfry.monitors
		where beat_digest = $1 and not (namespace = $2 and name = $3)`, digest, m.Namespace, m.Name)
	if err == nil && taken {
		err = core.InvalidField("heartbeat.token_digest", digest, "is that of another heartbeat", "a token is for one monitor: delete the other, or leave it out")
	}
	return err
}

// startOwned creates the task and the schedule of a monitor.
func (c *Change) startOwned(m monitor.Monitor) (schedule, next int64, err error) {
	if _, err := c.tasks().InsertTask(m.Task(), ""); err != nil {
		return 0, 0, err
	}
	sc, err := c.schedules().InsertSchedule(m.Schedule(), false)
	return sc.ID, base.Micros(sc.NextAt), err
}

// UpdateMonitor replaces a monitor. Its verdict and its history stay.
func (s *Store) UpdateMonitor(ctx context.Context, m monitor.Monitor) (out view.MonitorView, err error) {
	m = m.WithDefaults()
	err = s.write(ctx, "update monitor", func(c *Change) error {
		row, _, err := c.updateMonitor(m)
		out = row.view()
		return err
	})
	return out, err
}

func (c *Change) updateMonitor(m monitor.Monitor) (row, old MonitorRow, err error) {
	if m.Heartbeat == nil {
		// The task is locked first, which puts edits in sequence. Otherwise this edit could keep values of the monitor that
		// another edit has just replaced.
		if _, err := c.tasks().LockTask(m.Namespace, task.OwnedName(m.Name)); err != nil && core.CodeOf(err) != core.NotFound {
			return row, old, err
		}
	}
	if old, err = c.s.ReadMonitor(c.Ctx, c.Tx, m.Namespace, m.Name, false); err != nil {
		return row, old, err
	}
	m.Check = m.Check.KeepSecrets(old.Check)
	if MonitorDoc(old.Monitor) == MonitorDoc(m) {
		return old, old, nil
	}
	if err := c.checkMonitor(m); err != nil {
		return row, old, err
	}
	if (m.Heartbeat == nil) != (old.Heartbeat == nil) {
		return row, old, ErrHeartbeat
	}
	if m.Heartbeat == nil {
		if _, err := c.tasks().UpdateTask(m.Task()); err != nil {
			return row, old, err
		}
		if _, err := c.schedules().UpdateSchedule(m.Schedule()); err != nil {
			return row, old, err
		}
	}
	if old, err = c.s.ReadMonitor(c.Ctx, c.Tx, m.Namespace, m.Name, true); err != nil {
		return row, old, err
	}
	if err := c.Expect("monitor", m.Name, old.Version(), old.UpdatedAt); err != nil {
		return row, old, err
	}
	row = old
	m.ID, m.Generation, m.CreatedAt, m.UpdatedAt = old.ID, old.Generation+1, old.CreatedAt, c.Now
	row.Monitor = m
	doc, err := c.s.sealedMonitor(m)
	if err != nil {
		return row, old, err
	}
	if _, err := c.Tx.Exec(c.Ctx, `
		update belfry.monitors
		set kind = $2, tags = $3, generation = $4, doc = $5, updated_at = $6, beat_digest = nullif($7, ''), title = $8, sought = $9
		where id = $1`, m.ID, string(m.Kind()), base.JoinTags(m.Tags), m.Generation, doc, base.Micros(c.Now), digestOf(m), m.Title, title.Fold(m.Title)); err != nil {
		return row, old, err
	}
	env, err := c.Surroundings(row)
	if err != nil {
		return row, old, err
	}
	if err := c.applyJudgement(&row, monitor.EditMonitor(m, old.Monitor, old.State, env, c.Now), nil); err != nil {
		return row, old, err
	}
	if anew := row.State.Verdict == monitor.VerdictNew && old.State.Verdict != monitor.VerdictNew; anew && row.State.PausedAt.IsZero() {
		if err := c.checkSoon(&row); err != nil {
			return row, old, err
		}
	}
	return row, old, c.Audit("update", "monitor", m.Namespace, m.Name, "", old.Redacted(), m.Redacted())
}

// DeleteMonitor deletes a monitor, its task, its schedule and its records, except its incidents.
func (s *Store) DeleteMonitor(ctx context.Context, namespace, name string) error {
	return s.write(ctx, "delete monitor", func(c *Change) error {
		row, err := s.ReadMonitor(ctx, c.Tx, namespace, name, false)
		if err != nil {
			return err
		}
		return c.DeleteMonitor(row)
	})
}

// DeleteMonitor deletes a monitor with its schedule and task. A monitor on which others depend fails with [core.Conflict].
func (c *Change) DeleteMonitor(row MonitorRow) error {
	if err := c.checkDependents(row.Monitor); err != nil {
		return err
	}
	if row.Heartbeat == nil {
		t, err := c.tasks().LockTask(row.Namespace, task.OwnedName(row.Name)) // the task before the schedule, as an edit does
		if err != nil {
			return err
		}
		sc, err := c.s.schedules.ReadSchedule(c.Ctx, c.Tx, row.Namespace, task.OwnedName(row.Name), true)
		if err != nil {
			return err
		}
		if err := c.schedules().DeleteSchedule(sc); err != nil {
			return err
		}
		if err := c.tasks().DeleteTask(t); err != nil {
			return err
		}
	}
	now, err := c.s.ReadMonitor(c.Ctx, c.Tx, row.Namespace, row.Name, true)
	if err != nil {
		return err
	}
	if now.ID != row.ID { // deleted and created again by another transaction: the rows locked above belong to the new monitor
		return noMonitor(row.Namespace, row.Name)
	}
	if err := c.Expect("monitor", now.Name, now.Version(), now.UpdatedAt); err != nil {
		return err
	}
	if err := c.withdrawAdded(now, schedule.ReasonDeleted, "monitor "+row.Name+" deleted"); err != nil {
		return err
	}
	if id := now.State.Incident; id != 0 {
		if err := c.s.Hooks.Dropped(c, now.Monitor, monitor.IncidentEnd{ID: id, At: c.Now, By: "deleted"}); err != nil {
			return err
		}
	}
	for _, query := range []string{
		`update belfry.incidents set ended_at = $2, ended_by = 'deleted' where monitor_id = $1 and ended_at = 0`,
		`update belfry.alerts set state = 'suppressed', reason = 'the monitor was deleted', ended_at = $2
			where monitor_id = $1 and state = 'pending' and type in ('reminder', 'changed', 'certificate')`, // starts and ends are decided when they are taken for delivery
	} {
		if _, err := c.Tx.Exec(c.Ctx, query, row.ID, base.Micros(c.Now)); err != nil {
			return err
		}
	}
	if err := c.s.Hooks.Tell(c, now.Monitor, monitor.DeleteMonitor(now.Monitor, now.State, c.Now), 0); err != nil {
		return err
	}
	// Results are deleted with their hours: looking for them here would take long.
	for _, query := range []string{
		`delete from belfry.spans where monitor_id = $1`, `delete from belfry.rollups where monitor_id = $1`,
		`delete from belfry.page_versions where monitor_id = $1`, `delete from belfry.page_texts where monitor_id = $1`,
		`delete from belfry.monitors where id = $1`,
	} {
		if _, err := c.Tx.Exec(c.Ctx, query, row.ID); err != nil {
			return err
		}
	}
	return c.Audit("delete", "monitor", row.Namespace, row.Name, "", WrittenMonitor(row.Redacted()), nil)
}

// checkDependents rejects the deletion of a monitor that others depend on.
func (c *Change) checkDependents(m monitor.Monitor) error {
	others, err := base.Collect(c.Ctx, c.Tx, c.s.ScanMonitor, `
		select `+MonitorColumns+`
		from belfry.monitors m
		where m.namespace = $1 and m.doc like $2
		order by m.name`, m.Namespace, `%"depends_on":[%"`+m.Name+`"%`)
	if err != nil {
		return err
	}
	for _, o := range others {
		for _, name := range o.DependsOn {
			if name == m.Name {
				return core.Errorf(core.Conflict, "monitor %q depends on monitor %q", o.Name, m.Name).WithHint("edit it first")
			}
		}
	}
	return nil
}

// Monitor returns one monitor and its state.
func (s *Store) Monitor(ctx context.Context, namespace, name string) (v view.MonitorView, err error) {
	err = s.DB().Read(ctx, func(tx base.Tx) error {
		row, err := s.ReadMonitor(ctx, tx, namespace, name, false)
		v = row.view()
		return err
	})
	return v, err
}

// ApplyMonitors creates and updates the monitors of a manifest, parents first, and returns a change for each.
func (c *Change) ApplyMonitors(m view.Manifest) ([]view.Change, error) {
	var changes []view.Change
	for _, i := range ParentsFirst(m.Monitors) {
		mon := m.Monitors[i]
		old, err := c.s.ReadMonitor(c.Ctx, c.Tx, mon.Namespace, mon.Name, false)
		isNew := core.CodeOf(err) == core.NotFound
		if err != nil && !isNew {
			return nil, err
		}
		var row MonitorRow
		if isNew {
			row, err = c.insertMonitor(mon)
		} else {
			row, _, err = c.updateMonitor(mon)
		}
		if err != nil {
			return nil, base.Under(fmt.Sprintf("monitors[%d]", i), err)
		}
		ch := base.Changed("monitor", mon.Namespace, mon.Name, isNew, WrittenMonitor(old.Redacted()), WrittenMonitor(row.Redacted()))
		if !isNew {
			ch = documents.WithSecrets(ch, base.Differences(WrittenMonitor(old.Monitor), WrittenMonitor(row.Monitor)), nil)
		}
		changes = append(changes, ch)
	}
	return changes, nil
}

// ParentsFirst returns an order in which monitors come after the monitors that they depend on, as far as that is possible.
func ParentsFirst(all []monitor.Monitor) []int {
	return base.OrderBy(len(all), func(i int) string { return all[i].Namespace + "/" + all[i].Name }, func(i int) (names []string) {
		for _, name := range all[i].DependsOn {
			names = append(names, all[i].Namespace+"/"+name)
		}
		return names
	})
}

// FreeOfHeartbeats rejects the deletion of a calendar that a heartbeat refers to, because a heartbeat has no schedule.
func (c *Change) FreeOfHeartbeats(cal schedule.Calendar) error {
	beats, err := base.Collect(c.Ctx, c.Tx, c.s.ScanMonitor, `
		select `+MonitorColumns+`
		from belfry.monitors m
		where m.namespace = $1 and m.kind = 'heartbeat' and m.doc like $2
		order by m.name`, cal.Namespace, `%"`+cal.Name+`"%`)
	if err != nil {
		return err
	}
	for _, m := range beats {
		if slices.Contains(m.Schedule().Calendars(), cal.Name) {
			return core.Errorf(core.Conflict, "monitor %q refers to calendar %q", m.Name, cal.Name).WithHint("edit the monitor first")
		}
	}
	return nil
}

func (s *Store) sealedMonitor(m monitor.Monitor) (string, error) {
	sealed, err := base.SealIn(s.Store, base.PurposeOf("monitor", m.Namespace, m.Name), m)
	return MonitorDoc(sealed), err
}

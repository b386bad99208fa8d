package store

import (
	"context"
	"crypto/rand"
	"encoding/hex"
	"fmt"
	"slices"
	"time"

	"github.com/belfry-run/belfry/core"
	"github.com/belfry-run/belfry/monitor"
	"github.com/belfry-run/belfry/schedule"
	"github.com/belfry-run/belfry/task"
	"github.com/belfry-run/belfry/view"
)

// monitorRow is a monitor, its state, and what only the store needs.
type monitorRow struct {
	monitor.Monitor
	state      monitor.State
	scheduleID int64
	beatKey    string
	nextAt     int64 // of its schedule
	againAt    int64 // of a check beside the schedule

	wakeAt  time.Time // when changed
	changed bool      // its state has to be written
}

const monitorColumns = `m.id, m.namespace, m.name, m.generation, m.doc, m.schedule_id, coalesce(m.beat_key, ''), m.state, m.created_at, m.updated_at,
	coalesce((select s.next_at from belfry.schedules s where s.id = m.schedule_id), 0),
	coalesce((select min(j.due_at) from belfry.jobs j where j.schedule_id = m.schedule_id and j.schedule_id > 0 and j.state = 'scheduled'), 0)`

func (s *Store) scanMonitor(rows Rows) (m monitorRow, err error) {
	var id, generation, created, updated int64
	var namespace, name, doc string
	if err = rows.Scan(&id, &namespace, &name, &generation, &doc, &m.scheduleID, &m.beatKey, scanDoc(&m.state), &created, &updated, &m.nextAt, &m.againAt); err != nil {
		return m, err
	}
	m.Monitor, err = s.monitorDocs.decodeWith(id, doc, func(m monitor.Monitor) (monitor.Monitor, bool) {
		return openIn(s, purposeOf("monitor", namespace, name), m)
	})
	m.ID, m.Namespace, m.Name, m.Generation = id, namespace, name, generation
	m.CreatedAt, m.UpdatedAt = instant(created), instant(updated)
	return m, err
}

// monitorDoc is the monitor as written, without what the store adds.
func monitorDoc(m monitor.Monitor) string { return text(writtenMonitor(m)) }

func writtenMonitor(m monitor.Monitor) monitor.Monitor {
	m.ID, m.Generation = 0, 0
	m.CreatedAt, m.UpdatedAt = instant(0), instant(0)
	return m
}

func (m monitorRow) view() view.MonitorView {
	v := view.MonitorView{Monitor: own(m.Redacted()), Status: m.state.Status(), State: m.state, NextAt: instant(m.nextAt)}
	if m.againAt > 0 && (m.nextAt == 0 || m.againAt < m.nextAt) {
		v.NextAt = instant(m.againAt)
	}
	if m.beatKey != "" {
		v.Beat = "/beat/" + m.beatKey
		v.NextAt = m.state.ExpectAt
	}
	return v
}

var errHeartbeat = core.InvalidField("heartbeat", "", "cannot be added to a monitor that checks, nor taken away", "delete the monitor and create another")

func noMonitor(namespace, name string) error {
	return core.Errorf(core.NotFound, "no monitor %q in namespace %q", name, namespace).WithHint("see: belfry monitor list")
}

// monitor reads one row; with lock, nobody else changes it before this
// transaction ends. Whoever locks schedules or jobs too locks them before: a
// check that ends holds its job when it comes for its monitor.
func (s *Store) monitor(ctx context.Context, tx Tx, namespace, name string, lock bool) (monitorRow, error) {
	suffix := ""
	if lock {
		suffix = s.sql.ForUpdate("m")
	}
	row, found, err := first(ctx, tx, s.scanMonitor, `
		select `+monitorColumns+`
		from belfry.monitors m
		where m.namespace = $1 and m.name = $2`+suffix, namespace, name)
	if err == nil && !found {
		err = noMonitor(namespace, name)
	}
	return row, err
}

// refuseOwned refuses a change of what belongs to a monitor.
func refuseOwned(noun, name string) error {
	if monitor, owned := task.OwnerOf(name); owned {
		return core.Errorf(core.Conflict, "%s %q belongs to monitor %q", noun, name, monitor).WithHint("change the monitor: belfry monitor show %s", monitor)
	}
	return nil
}

// CreateMonitor saves a new monitor, with the task and the schedule that
// belong to it.
func (s *Store) CreateMonitor(ctx context.Context, m monitor.Monitor) (out view.MonitorView, err error) {
	m = m.WithDefaults()
	err = s.write(ctx, "create monitor", func(c *change) error {
		row, err := c.insertMonitor(m)
		out = row.view()
		return err
	})
	return out, err
}

func (c *change) insertMonitor(m monitor.Monitor) (row monitorRow, err error) {
	if err := c.checkMonitor(m); err != nil {
		return row, err
	}
	if _, err := c.s.monitor(c.ctx, c.tx, m.Namespace, m.Name, false); core.CodeOf(err) != core.NotFound {
		if err == nil {
			err = monitorThere(m)
		}
		return row, err
	}
	ids, err := c.sql.NextIDs(c.ctx, c.tx, "definition", 1)
	if err != nil {
		return row, err
	}
	m.ID, m.Generation, m.CreatedAt, m.UpdatedAt = ids[0], 1, c.now, c.now
	row = monitorRow{Monitor: m}
	if m.Heartbeat != nil {
		row.beatKey = newBeatKey()
	} else if row.scheduleID, row.nextAt, err = c.startOwned(m); err != nil {
		return row, err
	}
	env, err := c.surroundings(row)
	if err != nil {
		return row, err
	}
	j := monitor.Enroll(m, env, c.now)
	doc, err := c.s.sealedMonitor(m)
	if err != nil {
		return row, err
	}
	n, err := c.tx.Exec(c.ctx, `
		insert into belfry.monitors (id, namespace, name, kind, tags, generation, doc, schedule_id, beat_key, beat_digest, status, state, wake_at, created_at, updated_at)
		values ($1, $2, $3, $4, $5, 1, $6, $7, nullif($8, ''), nullif($13, ''), $9, $10, $11, $12, $12)
		on conflict (namespace, name) do nothing`, m.ID, m.Namespace, m.Name, string(m.Kind()), joinTags(m.Tags), doc, row.scheduleID, row.beatKey,
		string(j.State.Status()), text(j.State), micros(j.WakeAt), micros(c.now), digestOf(m))
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
	return row, c.audit("create", "monitor", m.Namespace, m.Name, "", nil, writtenMonitor(m.Redacted()))
}

func monitorThere(m monitor.Monitor) error {
	return core.Errorf(core.Conflict, "there is a monitor %q in namespace %q already", m.Name, m.Namespace).
		WithHint("update it, or choose another name")
}

// newBeatKey is what makes the URL of a heartbeat hard to guess: 128 bits.
func newBeatKey() string {
	var b [16]byte
	_, _ = rand.Read(b[:]) // never fails
	return hex.EncodeToString(b[:])
}

// checkMonitor says what is wrong with a monitor, here and now.
func (c *change) checkMonitor(m monitor.Monitor) error {
	if err := m.Validate(c.now); err != nil {
		return err
	}
	for i, name := range m.DependsOn {
		if _, err := c.s.monitor(c.ctx, c.tx, m.Namespace, name, false); err != nil {
			return core.InvalidField(fmt.Sprintf("depends_on[%d]", i), name, "is not a monitor in namespace "+m.Namespace, "create it first, or apply both in one file")
		}
	}
	if m.Heartbeat != nil { // its schedule is not saved, which would hold them
		if err := c.freeDigest(m); err != nil {
			return err
		}
		return lockCalendars(c, m.Namespace, m.Schedule().Calendars()...)
	}
	return under("check", c.s.vet(m.Check))
}

func digestOf(m monitor.Monitor) string {
	if m.Heartbeat == nil {
		return ""
	}
	return m.Heartbeat.TokenDigest
}

// freeDigest refuses a token that another heartbeat takes.
func (c *change) freeDigest(m monitor.Monitor) error {
	digest := digestOf(m)
	if digest == "" {
		return nil
	}
	_, taken, err := first(c.ctx, c.tx, scanInt, `
		select 1
		from belfry.monitors
		where beat_digest = $1 and not (namespace = $2 and name = $3)`, digest, m.Namespace, m.Name)
	if err == nil && taken {
		err = core.InvalidField("heartbeat.token_digest", digest, "is that of another heartbeat", "a token is for one monitor: delete the other, or leave it out")
	}
	return err
}

// startOwned makes the task and the schedule of a monitor.
func (c *change) startOwned(m monitor.Monitor) (schedule, next int64, err error) {
	if _, err := c.insertTask(m.Task(), ""); err != nil {
		return 0, 0, err
	}
	sc, err := c.insertSchedule(m.Schedule(), false)
	return sc.ID, micros(sc.NextAt), err
}

// UpdateMonitor replaces a monitor. Its verdict and its history stay.
func (s *Store) UpdateMonitor(ctx context.Context, m monitor.Monitor) (out view.MonitorView, err error) {
	m = m.WithDefaults()
	err = s.write(ctx, "update monitor", func(c *change) error {
		row, _, err := c.updateMonitor(m)
		out = row.view()
		return err
	})
	return out, err
}

func (c *change) updateMonitor(m monitor.Monitor) (row, old monitorRow, err error) {
	if m.Heartbeat == nil {
		// Its task first, whose edits come one after the other: what is kept of the
		// monitor could else be what another edit has just replaced.
		if _, err := c.lockTask(m.Namespace, task.OwnedName(m.Name)); err != nil && core.CodeOf(err) != core.NotFound {
			return row, old, err
		}
	}
	if old, err = c.s.monitor(c.ctx, c.tx, m.Namespace, m.Name, false); err != nil {
		return row, old, err
	}
	m.Check = m.Check.KeepSecrets(old.Check)
	if monitorDoc(old.Monitor) == monitorDoc(m) {
		return old, old, nil
	}
	if err := c.checkMonitor(m); err != nil {
		return row, old, err
	}
	if (m.Heartbeat == nil) != (old.Heartbeat == nil) {
		return row, old, errHeartbeat
	}
	if m.Heartbeat == nil {
		if _, err := c.updateTask(m.Task()); err != nil {
			return row, old, err
		}
		if _, err := c.updateSchedule(m.Schedule()); err != nil {
			return row, old, err
		}
	}
	if old, err = c.s.monitor(c.ctx, c.tx, m.Namespace, m.Name, true); err != nil {
		return row, old, err
	}
	if err := c.expect("monitor", m.Name, old.Version(), old.UpdatedAt); err != nil {
		return row, old, err
	}
	row = old
	m.ID, m.Generation, m.CreatedAt, m.UpdatedAt = old.ID, old.Generation+1, old.CreatedAt, c.now
	row.Monitor = m
	doc, err := c.s.sealedMonitor(m)
	if err != nil {
		return row, old, err
	}
	if _, err := c.tx.Exec(c.ctx, `
		update belfry.monitors
		set kind = $2, tags = $3, generation = $4, doc = $5, updated_at = $6, beat_digest = nullif($7, '')
		where id = $1`, m.ID, string(m.Kind()), joinTags(m.Tags), m.Generation, doc, micros(c.now), digestOf(m)); err != nil {
		return row, old, err
	}
	env, err := c.surroundings(row)
	if err != nil {
		return row, old, err
	}
	if err := c.applyJudgement(&row, monitor.EditMonitor(m, old.Monitor, old.state, env, c.now), nil); err != nil {
		return row, old, err
	}
	if anew := row.state.Verdict == monitor.VerdictNew && old.state.Verdict != monitor.VerdictNew; anew && row.state.PausedAt.IsZero() {
		if err := c.checkSoon(&row); err != nil {
			return row, old, err
		}
	}
	return row, old, c.audit("update", "monitor", m.Namespace, m.Name, "", old.Redacted(), m.Redacted())
}

// DeleteMonitor removes a monitor, its task and its schedule, and all that was
// recorded of it but its incidents.
func (s *Store) DeleteMonitor(ctx context.Context, namespace, name string) error {
	return s.write(ctx, "delete monitor", func(c *change) error {
		row, err := s.monitor(ctx, c.tx, namespace, name, false)
		if err != nil {
			return err
		}
		return c.deleteMonitor(row)
	})
}

func (c *change) deleteMonitor(row monitorRow) error {
	if err := c.checkDependents(row.Monitor); err != nil {
		return err
	}
	if row.Heartbeat == nil {
		t, err := c.lockTask(row.Namespace, task.OwnedName(row.Name)) // before its schedule, as an edit does
		if err != nil {
			return err
		}
		sc, err := c.s.schedule(c.ctx, c.tx, row.Namespace, task.OwnedName(row.Name), true)
		if err != nil {
			return err
		}
		if err := c.deleteSchedule(sc); err != nil {
			return err
		}
		if err := c.deleteTask(t); err != nil {
			return err
		}
	}
	now, err := c.s.monitor(c.ctx, c.tx, row.Namespace, row.Name, true)
	if err != nil {
		return err
	}
	if now.ID != row.ID { // deleted by another, and made anew: what was locked above belongs to that one
		return noMonitor(row.Namespace, row.Name)
	}
	if err := c.expect("monitor", now.Name, now.Version(), now.UpdatedAt); err != nil {
		return err
	}
	if err := c.withdrawAdded(now, schedule.ReasonDeleted, "monitor "+row.Name+" deleted"); err != nil {
		return err
	}
	for _, query := range []string{
		`update belfry.incidents set ended_at = $2, ended_by = 'deleted' where monitor_id = $1 and ended_at = 0`,
		`update belfry.alerts set state = 'suppressed', reason = 'the monitor was deleted', ended_at = $2 where monitor_id = $1 and state = 'pending'`,
	} {
		if _, err := c.tx.Exec(c.ctx, query, row.ID, micros(c.now)); err != nil {
			return err
		}
	}
	// Results leave with their hours: to look for them here would take long.
	for _, query := range []string{
		`delete from belfry.spans where monitor_id = $1`, `delete from belfry.rollups where monitor_id = $1`,
		`delete from belfry.page_versions where monitor_id = $1`, `delete from belfry.page_texts where monitor_id = $1`,
		`delete from belfry.monitors where id = $1`,
	} {
		if _, err := c.tx.Exec(c.ctx, query, row.ID); err != nil {
			return err
		}
	}
	return c.audit("delete", "monitor", row.Namespace, row.Name, "", writtenMonitor(row.Redacted()), nil)
}

// checkDependents refuses to take a monitor away that others depend on.
func (c *change) checkDependents(m monitor.Monitor) error {
	others, err := collect(c.ctx, c.tx, c.s.scanMonitor, `
		select `+monitorColumns+`
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

// Monitor is one monitor and how its target is.
func (s *Store) Monitor(ctx context.Context, namespace, name string) (v view.MonitorView, err error) {
	err = s.db.Read(ctx, func(tx Tx) error {
		row, err := s.monitor(ctx, tx, namespace, name, false)
		v = row.view()
		return err
	})
	return v, err
}

func (c *change) applyMonitors(m view.Manifest) ([]view.Change, error) {
	var changes []view.Change
	for _, i := range parentsFirst(m.Monitors) {
		mon := m.Monitors[i]
		old, err := c.s.monitor(c.ctx, c.tx, mon.Namespace, mon.Name, false)
		isNew := core.CodeOf(err) == core.NotFound
		if err != nil && !isNew {
			return nil, err
		}
		var row monitorRow
		if isNew {
			row, err = c.insertMonitor(mon)
		} else {
			row, _, err = c.updateMonitor(mon)
		}
		if err != nil {
			return nil, under(fmt.Sprintf("monitors[%d]", i), err)
		}
		ch := changed("monitor", mon.Namespace, mon.Name, isNew, writtenMonitor(old.Redacted()), writtenMonitor(row.Redacted()))
		if !isNew {
			ch = withSecrets(ch, differences(writtenMonitor(old.Monitor), writtenMonitor(row.Monitor)), nil)
		}
		changes = append(changes, ch)
	}
	return changes, nil
}

// parentsFirst is the order in which monitors come behind those that they
// depend on, as far as that goes.
func parentsFirst(all []monitor.Monitor) []int {
	return orderBy(len(all), func(i int) string { return all[i].Namespace + "/" + all[i].Name }, func(i int) (names []string) {
		for _, name := range all[i].DependsOn {
			names = append(names, all[i].Namespace+"/"+name)
		}
		return names
	})
}

// orderBy is the order in which n things come behind those that they name. What
// goes in a circle keeps its place.
func orderBy(n int, name func(i int) string, needs func(i int) []string) []int {
	place := make(map[string]int, n)
	for i := range n {
		place[name(i)] = i
	}
	order := make([]int, 0, n)
	done := make([]bool, n)
	var put func(i int)
	put = func(i int) {
		if done[i] {
			return
		}
		done[i] = true
		for _, need := range needs(i) {
			if p, ok := place[need]; ok {
				put(p)
			}
		}
		order = append(order, i)
	}
	for i := range n {
		put(i)
	}
	return order
}

// freeOfHeartbeats refuses to delete a calendar that a heartbeat names, which has no schedule.
func (c *change) freeOfHeartbeats(cal schedule.Calendar) error {
	beats, err := collect(c.ctx, c.tx, c.s.scanMonitor, `
		select `+monitorColumns+`
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

func (s *Store) initMonitors() { s.judged = newJudged() }

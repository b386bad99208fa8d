package store

import (
	"context"
	"crypto/rand"
	"encoding/hex"
	"fmt"
	"strconv"
	"strings"
	"time"

	"github.com/belfry-run/belfry"
)

// monitorRow is a monitor, its state, and what only the store needs.
type monitorRow struct {
	belfry.Monitor
	state      belfry.MonitorState
	scheduleID int64
	beatKey    string
	nextAt     int64 // of its schedule
	againAt    int64 // of a check beside the schedule

	wakeAt  time.Time // when changed
	changed bool      // its state has to be written
}

const monitorColumns = `m.id, m.namespace, m.name, m.generation, m.doc, m.schedule_id, coalesce(m.beat_key, ''), m.state, m.created_at, m.updated_at,
	coalesce((select s.next_at from schedules s where s.id = m.schedule_id), 0),
	coalesce((select min(j.due_at) from jobs j where j.schedule_id = m.schedule_id and j.schedule_id > 0 and j.state = 'scheduled'), 0)`

func (s *Store) scanMonitor(rows Rows) (m monitorRow, err error) {
	var id, generation, created, updated int64
	var namespace, name, doc string
	if err = rows.Scan(&id, &namespace, &name, &generation, &doc, &m.scheduleID, &m.beatKey, scanDoc{&m.state}, &created, &updated, &m.nextAt, &m.againAt); err != nil {
		return m, err
	}
	m.Monitor, err = s.monitorDocs.decode(id, doc)
	m.ID, m.Namespace, m.Name, m.Generation = id, namespace, name, generation
	m.CreatedAt, m.UpdatedAt = instant(created), instant(updated)
	return m, err
}

// monitorDoc is the monitor as written, without what the store adds.
func monitorDoc(m belfry.Monitor) string { return text(writtenMonitor(m)) }

func writtenMonitor(m belfry.Monitor) belfry.Monitor {
	m.ID, m.Generation = 0, 0
	m.CreatedAt, m.UpdatedAt = instant(0), instant(0)
	return m
}

func (m monitorRow) view() belfry.MonitorView {
	v := belfry.MonitorView{Monitor: own(m.Redacted()), Status: m.state.Status(), State: m.state, NextAt: instant(m.nextAt)}
	if m.againAt > 0 && (m.nextAt == 0 || m.againAt < m.nextAt) {
		v.NextAt = instant(m.againAt)
	}
	if m.beatKey != "" {
		v.Beat = "/beat/" + m.beatKey
		v.NextAt = m.state.ExpectAt
	}
	return v
}

func noMonitor(namespace, name string) error {
	return belfry.Errorf(belfry.NotFound, "no monitor %q in namespace %q", name, namespace).WithHint("see: belfry monitor list")
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
		from monitors m
		where m.namespace = $1 and m.name = $2`+suffix, namespace, name)
	if err == nil && !found {
		err = noMonitor(namespace, name)
	}
	return row, err
}

// refuseOwned refuses a change of what belongs to a monitor.
func refuseOwned(noun, name string) error {
	if monitor, owned := belfry.OwnerOf(name); owned {
		return belfry.Errorf(belfry.Conflict, "%s %q belongs to monitor %q", noun, name, monitor).WithHint("change the monitor: belfry monitor show %s", monitor)
	}
	return nil
}

// CreateMonitor saves a new monitor, with the task and the schedule that
// belong to it.
func (s *Store) CreateMonitor(ctx context.Context, m belfry.Monitor) (out belfry.MonitorView, err error) {
	m = m.WithDefaults()
	err = s.write(ctx, "create monitor", func(c *change) error {
		row, err := c.insertMonitor(m)
		out = row.view()
		return err
	})
	return out, err
}

func (c *change) insertMonitor(m belfry.Monitor) (row monitorRow, err error) {
	if err := c.checkMonitor(m); err != nil {
		return row, err
	}
	if _, err := c.s.monitor(c.ctx, c.tx, m.Namespace, m.Name, false); belfry.CodeOf(err) != belfry.NotFound {
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
	j := belfry.Enroll(m, env, c.now)
	n, err := c.tx.Exec(c.ctx, `
		insert into monitors (id, namespace, name, kind, tags, generation, doc, schedule_id, beat_key, status, state, wake_at, created_at, updated_at)
		values ($1, $2, $3, $4, $5, 1, $6, $7, nullif($8, ''), $9, $10, $11, $12, $12)
		on conflict (namespace, name) do nothing`, m.ID, m.Namespace, m.Name, string(m.Kind()), joinTags(m.Tags), monitorDoc(m), row.scheduleID, row.beatKey,
		string(j.State.Status()), text(j.State), micros(j.WakeAt), micros(c.now))
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

func monitorThere(m belfry.Monitor) error {
	return belfry.Errorf(belfry.Conflict, "there is a monitor %q in namespace %q already", m.Name, m.Namespace).
		WithHint("update it, or choose another name")
}

// newBeatKey is what makes the URL of a heartbeat hard to guess: 128 bits.
func newBeatKey() string {
	var b [16]byte
	_, _ = rand.Read(b[:]) // never fails
	return hex.EncodeToString(b[:])
}

// checkMonitor says what is wrong with a monitor, here and now.
func (c *change) checkMonitor(m belfry.Monitor) error {
	if err := m.Validate(c.now); err != nil {
		return err
	}
	for i, name := range m.DependsOn {
		if _, err := c.s.monitor(c.ctx, c.tx, m.Namespace, name, false); err != nil {
			return belfry.InvalidField(fmt.Sprintf("depends_on[%d]", i), name, "is not a monitor in namespace "+m.Namespace, "create it first, or apply both in one file")
		}
	}
	if m.Heartbeat != nil {
		return nil
	}
	return under("check", c.s.vet(m.Check))
}

// startOwned makes the task and the schedule of a monitor.
func (c *change) startOwned(m belfry.Monitor) (schedule, next int64, err error) {
	if _, err := c.insertTask(m.Task(), ""); err != nil {
		return 0, 0, err
	}
	sc, err := c.insertSchedule(m.Schedule())
	return sc.ID, micros(sc.NextAt), err
}

// UpdateMonitor replaces a monitor. Its verdict and its history stay.
func (s *Store) UpdateMonitor(ctx context.Context, m belfry.Monitor) (out belfry.MonitorView, err error) {
	m = m.WithDefaults()
	err = s.write(ctx, "update monitor", func(c *change) error {
		row, _, err := c.updateMonitor(m)
		out = row.view()
		return err
	})
	return out, err
}

func (c *change) updateMonitor(m belfry.Monitor) (row, old monitorRow, err error) {
	if m.Heartbeat == nil {
		// Its task first, whose edits come one after the other: what is kept of the
		// monitor could else be what another edit has just replaced.
		if _, err := c.lockTask(m.Namespace, belfry.OwnedName(m.Name)); err != nil && belfry.CodeOf(err) != belfry.NotFound {
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
		return row, old, belfry.InvalidField("heartbeat", "", "cannot be added to a monitor that checks, nor taken away", "delete the monitor and create another")
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
	row = old
	m.ID, m.Generation, m.CreatedAt, m.UpdatedAt = old.ID, old.Generation+1, old.CreatedAt, c.now
	row.Monitor = m
	if _, err := c.tx.Exec(c.ctx, `
		update monitors
		set kind = $2, tags = $3, generation = $4, doc = $5, updated_at = $6
		where id = $1`, m.ID, string(m.Kind()), joinTags(m.Tags), m.Generation, monitorDoc(m), micros(c.now)); err != nil {
		return row, old, err
	}
	env, err := c.surroundings(row)
	if err != nil {
		return row, old, err
	}
	if err := c.applyJudgement(&row, belfry.EditMonitor(m, old.Monitor, old.state, env, c.now), nil); err != nil {
		return row, old, err
	}
	if anew := row.state.Verdict == belfry.VerdictNew && old.state.Verdict != belfry.VerdictNew; anew && row.state.PausedAt.IsZero() {
		if err := c.checkSoon(&row); err != nil {
			return row, old, err
		}
	}
	return row, old, c.audit("update", "monitor", m.Namespace, m.Name, "", writtenMonitor(old.Redacted()), writtenMonitor(m.Redacted()))
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
		t, err := c.lockTask(row.Namespace, belfry.OwnedName(row.Name)) // before its schedule, as an edit does
		if err != nil {
			return err
		}
		sc, err := c.s.schedule(c.ctx, c.tx, row.Namespace, belfry.OwnedName(row.Name), true)
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
	if err := c.withdrawAdded(now, belfry.ReasonDeleted, "monitor "+row.Name+" deleted"); err != nil {
		return err
	}
	for _, query := range []string{
		`update incidents set ended_at = $2, ended_by = 'deleted' where monitor_id = $1 and ended_at = 0`,
		`update alerts set state = 'suppressed', reason = 'the monitor was deleted', ended_at = $2 where monitor_id = $1 and state = 'pending'`,
	} {
		if _, err := c.tx.Exec(c.ctx, query, row.ID, micros(c.now)); err != nil {
			return err
		}
	}
	// Results leave with their hours: to look for them here would take long.
	for _, query := range []string{
		`delete from spans where monitor_id = $1`, `delete from rollups where monitor_id = $1`,
		`delete from page_versions where monitor_id = $1`, `delete from page_texts where monitor_id = $1`,
		`delete from monitors where id = $1`,
	} {
		if _, err := c.tx.Exec(c.ctx, query, row.ID); err != nil {
			return err
		}
	}
	return c.audit("delete", "monitor", row.Namespace, row.Name, "", writtenMonitor(row.Redacted()), nil)
}

// checkDependents refuses to take a monitor away that others depend on.
func (c *change) checkDependents(m belfry.Monitor) error {
	others, err := collect(c.ctx, c.tx, c.s.scanMonitor, `
		select `+monitorColumns+`
		from monitors m
		where m.namespace = $1 and m.doc like $2
		order by m.name`, m.Namespace, `%"depends_on":[%"`+m.Name+`"%`)
	if err != nil {
		return err
	}
	for _, o := range others {
		for _, name := range o.DependsOn {
			if name == m.Name {
				return belfry.Errorf(belfry.Conflict, "monitor %q depends on monitor %q", o.Name, m.Name).WithHint("edit it first")
			}
		}
	}
	return nil
}

// PauseMonitor stops a monitor, until an instant or, if it is zero, until it is
// resumed. Time that is paused does not count for uptime.
func (s *Store) PauseMonitor(ctx context.Context, namespace, name string, until time.Time, reason string) (out belfry.MonitorView, err error) {
	if len(reason) > belfry.MaxDescription {
		return out, belfry.InvalidField("reason", "", fmt.Sprintf("has more than %d bytes", belfry.MaxDescription), "")
	}
	err = s.write(ctx, "pause monitor", func(c *change) error {
		if !until.IsZero() && !until.After(c.now) {
			return belfry.InvalidField("until", until.Format(time.RFC3339), "has passed", "leave it out to pause until it is resumed")
		}
		row, err := s.monitor(ctx, c.tx, namespace, name, false)
		if err != nil {
			return err
		}
		if row.Heartbeat == nil {
			if _, err := c.pauseSchedule(namespace, belfry.OwnedName(name), reason); err != nil {
				return err
			}
		}
		if row, err = s.monitor(ctx, c.tx, namespace, name, true); err != nil {
			return err
		}
		if err := c.withdrawAdded(row, belfry.ReasonPaused, "monitor paused: "+reason); err != nil {
			return err
		}
		if err := c.applyJudgement(&row, belfry.PauseMonitor(row.Monitor, row.state, belfry.Micro(until), belfry.ActorOf(ctx), reason, c.now), nil); err != nil {
			return err
		}
		out = row.view()
		return c.audit("pause", "monitor", namespace, name, reason, nil, nil)
	})
	return out, err
}

// withdrawAdded ends the checks that verdicts have asked for while the schedule
// of a monitor was being stopped. They are written under the monitor's lock, so
// whoever has got it at last sees all of them. Those that somebody holds are
// not waited for, because a check that ends holds its job when it comes for its
// monitor: such a job runs, or ends when it is claimed.
func (c *change) withdrawAdded(row monitorRow, reason belfry.Reason, note string) error {
	if row.scheduleID == 0 {
		return nil
	}
	ids, err := collect(c.ctx, c.tx, scanInt, `
		select id
		from jobs
		where schedule_id = $1 and (select number from leases where job_id = id) is null
		order by id`+c.sql.SkipLocked("jobs"), row.scheduleID)
	if err != nil {
		return err
	}
	return c.withdrawJobs(ids, reason, note)
}

// ResumeMonitor takes up a paused monitor. What it held before is forgotten: it
// is new, and its next check says how its target is.
func (s *Store) ResumeMonitor(ctx context.Context, namespace, name string) (out belfry.MonitorView, err error) {
	err = s.write(ctx, "resume monitor", func(c *change) error {
		row, err := c.resumeMonitor(namespace, name)
		out = row.view()
		return err
	})
	return out, err
}

func (c *change) resumeMonitor(namespace, name string) (row monitorRow, err error) {
	if row, err = c.s.monitor(c.ctx, c.tx, namespace, name, false); err != nil {
		return row, err
	}
	if row.Heartbeat == nil {
		if _, err := c.resumeSchedule(namespace, belfry.OwnedName(name), false); err != nil {
			return row, err
		}
	}
	if row, err = c.s.monitor(c.ctx, c.tx, namespace, name, true); err != nil {
		return row, err
	}
	if row.state.PausedAt.IsZero() {
		return row, nil
	}
	env, err := c.surroundings(row)
	if err != nil {
		return row, err
	}
	if err := c.applyJudgement(&row, belfry.ResumeMonitor(row.Monitor, row.state, env, c.now), nil); err != nil {
		return row, err
	}
	if err := c.checkSoon(&row); err != nil {
		return row, err
	}
	return row, c.audit("resume", "monitor", namespace, name, "", nil, nil)
}

// CheckMonitor asks for a check now, beside the plan. Its result counts like
// others.
func (s *Store) CheckMonitor(ctx context.Context, namespace, name string) (j belfry.Job, err error) {
	err = s.write(ctx, "check monitor", func(c *change) error {
		row, err := c.checkable(namespace, name)
		if err != nil {
			return err
		}
		if j, err = c.checkAt(row, c.now); err != nil {
			return err
		}
		return c.audit("check", "monitor", namespace, name, fmt.Sprintf("job %d", j.ID), nil, nil)
	})
	return j, err
}

// checkable is a monitor that may be checked now. Its schedule is locked before
// it is judged whether it may: a pause or a deletion that runs beside us either
// sees the check and withdraws it, or is seen by us.
func (c *change) checkable(namespace, name string) (row monitorRow, err error) {
	if row, err = c.s.monitor(c.ctx, c.tx, namespace, name, false); err != nil {
		return row, err
	}
	if row.Heartbeat != nil {
		return row, belfry.Errorf(belfry.Conflict, "monitor %q is a heartbeat: it waits to be called", name).WithHint("call its URL, see: belfry monitor show %s", name)
	}
	_, err = c.s.schedule(c.ctx, c.tx, namespace, belfry.OwnedName(name), true)
	if belfry.CodeOf(err) == belfry.NotFound {
		return row, noMonitor(namespace, name) // deleted just now
	}
	if err != nil {
		return row, err
	}
	row, err = c.s.monitor(c.ctx, c.tx, namespace, name, false)
	if err == nil && !row.state.PausedAt.IsZero() {
		err = belfry.Errorf(belfry.Conflict, "monitor %q is paused", name).WithHint("belfry monitor resume %s", name)
	}
	return row, err
}

// soon is within which a monitor is checked that has no verdict. Many that are
// made at once spread over it.
const soon = 30 * time.Second

// checkSoon has a monitor checked that would else have no verdict for long.
func (c *change) checkSoon(row *monitorRow) error {
	next := instant(row.nextAt)
	if row.scheduleID == 0 || len(row.Within)+len(row.Blackout) > 0 || !next.IsZero() && next.Sub(c.now) <= 2*soon {
		return nil
	}
	j, err := c.checkAt(*row, c.now.Add(time.Second+time.Duration(row.ID*7919%29_000)*time.Millisecond))
	row.againAt = micros(j.DueAt)
	return err
}

// checkAt writes the job of a check beside the plan. Its caller has locked the
// schedule or the monitor, so neither goes away meanwhile, nor their task.
func (c *change) checkAt(row monitorRow, at time.Time) (belfry.Job, error) {
	sc, err := c.s.schedule(c.ctx, c.tx, row.Namespace, belfry.OwnedName(row.Name), false)
	if err != nil {
		return belfry.Job{}, err
	}
	tasks, err := c.s.tasksByID(c.ctx, c.tx, []int64{sc.TaskID})
	if err != nil {
		return belfry.Job{}, err
	}
	ids, err := c.sql.NextIDs(c.ctx, c.tx, "job", 1)
	if err != nil {
		return belfry.Job{}, err
	}
	j := c.scheduledJob(sc, tasks[sc.TaskID], belfry.Occurrence{JobID: ids[0], DueAt: belfry.Micro(at)})
	_, err = c.insertJobs([]*insertion{{jobRow: j}})
	return j.Job, err
}

// Monitor is one monitor and how its target is.
func (s *Store) Monitor(ctx context.Context, namespace, name string) (v belfry.MonitorView, err error) {
	err = s.db.Read(ctx, func(tx Tx) error {
		row, err := s.monitor(ctx, tx, namespace, name, false)
		v = row.view()
		return err
	})
	return v, err
}

// CheckOf is what a monitor does each time, with its secrets: for who does it
// once to see what comes of it.
func (s *Store) CheckOf(ctx context.Context, namespace, monitor string) (t belfry.Task, err error) {
	err = s.db.Read(ctx, func(tx Tx) error {
		row, err := s.monitor(ctx, tx, namespaceOr(namespace), monitor, false)
		if err == nil && row.Heartbeat != nil {
			err = belfry.Errorf(belfry.Conflict, "monitor %q is a heartbeat: it waits to be called", monitor)
		}
		t = own(row.Task())
		return err
	})
	return t, err
}

func monitorWhere(f belfry.MonitorFilter) (*where, int, error) {
	w, limit, err := nameWhere(f.Namespace, f.Paging)
	if err != nil {
		return nil, 0, err
	}
	if f.Status != "" {
		w.and("status = ?", string(f.Status))
	}
	if f.Kind != "" {
		w.and("kind = ?", string(f.Kind))
	}
	if f.Tag != "" {
		w.and("replace(tags, ?, '') <> tags", ","+f.Tag+",")
	}
	if f.Search != "" {
		if len(f.Search) > belfry.MaxMonitorSearch {
			return nil, 0, belfry.InvalidField("search", strconv.Itoa(len(f.Search)), fmt.Sprintf("has more than %d bytes", belfry.MaxMonitorSearch), "")
		}
		w.and("replace(lower(name), ?, '') <> lower(name)", strings.ToLower(f.Search))
	}
	return w, limit, nil
}

// CountMonitors counts what a filter finds. It looks at no more monitors than
// it counts, but where a filter leaves most of them out.
func (s *Store) CountMonitors(ctx context.Context, f belfry.MonitorFilter) (out belfry.MonitorCount, err error) {
	f.Paging = belfry.Paging{}
	w, _, err := monitorWhere(f)
	if err != nil {
		return out, err
	}
	out.Statuses = map[belfry.Status]int{}
	err = s.db.Read(ctx, func(tx Tx) error {
		type line struct {
			status belfry.Status
			n      int
		}
		lines, err := collect(ctx, tx, func(r Rows) (l line, err error) { return l, r.Scan(&l.status, &l.n) }, `
			select status, count(*)
			from (select status from monitors where `+w.sql()+` limit `+strconv.Itoa(belfry.CountLimit+1)+`) counted
			group by status`, w.args...)
		for _, l := range lines {
			out.Statuses[l.status] += l.n
			out.Count += l.n
		}
		return err
	})
	if out.More = out.Count > belfry.CountLimit; out.More {
		out.Count = belfry.CountLimit
	}
	return out, err
}

// Monitors lists monitors by namespace and name.
func (s *Store) Monitors(ctx context.Context, f belfry.MonitorFilter) (p belfry.Page[belfry.MonitorView], err error) {
	w, limit, err := monitorWhere(f)
	if err != nil {
		return p, err
	}
	err = s.db.Read(ctx, func(tx Tx) error {
		rows, err := collect(ctx, tx, s.scanMonitor, `
			select `+monitorColumns+`
			from monitors m
			where `+w.sql()+`
			order by namespace, name
			limit `+strconv.Itoa(limit+1), w.args...)
		all := make([]belfry.MonitorView, len(rows))
		for i, r := range rows {
			all[i] = r.view()
		}
		p = page(all, limit, func(v belfry.MonitorView) string { return encodeCursor(v.Namespace, v.Name) })
		return err
	})
	return p, err
}

func (c *change) applyMonitors(m belfry.Manifest) ([]belfry.Change, error) {
	var changes []belfry.Change
	for _, i := range parentsFirst(m.Monitors) {
		mon := m.Monitors[i]
		old, err := c.s.monitor(c.ctx, c.tx, mon.Namespace, mon.Name, false)
		isNew := belfry.CodeOf(err) == belfry.NotFound
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
		changes = append(changes, changed("monitor", mon.Namespace, mon.Name, isNew, writtenMonitor(old.Redacted()), writtenMonitor(row.Redacted())))
	}
	return changes, nil
}

// parentsFirst is the order in which monitors come behind those that they
// depend on, as far as that goes.
func parentsFirst(all []belfry.Monitor) []int {
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

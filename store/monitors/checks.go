package monitors

import (
	"slices"
	"time"

	"github.com/belfry-run/belfry/core"
	"github.com/belfry-run/belfry/job"
	"github.com/belfry-run/belfry/monitor"
	"github.com/belfry-run/belfry/store/base"
	"github.com/belfry-run/belfry/store/jobs"
	"github.com/belfry-run/belfry/task"
)

// checked is an ended check of a monitor.
type checked struct {
	scheduleID int64
	jobID      int64
	delay      time.Duration // from the nominal time of the check to its start
	monitor.Observation
}

// SettleChecks settles attempts that carry check results. Their jobs leave no row among the finished jobs: the result is their
// record. An attempt that is not a check is returned in other.
func (c *Change) SettleChecks(session string, fs []job.Finish) (states map[job.Ref]job.State, other []job.Finish, err error) {
	states = make(map[job.Ref]job.State, len(fs))
	if len(fs) == 0 {
		return states, nil, nil
	}
	byRef, err := c.jobs().LockAttempts(session, fs)
	if err != nil {
		return nil, nil, err
	}
	var all []checked
	var gone []int64
	for _, f := range fs {
		j, ok := byRef[f.Ref]
		switch {
		case !ok:
		case j.Trigger != job.TriggerCheck:
			f.Check = nil
			other = append(other, f)
		default:
			gone = append(gone, j.ID)
			states[f.Ref] = job.Succeeded
			all = append(all, checkedOf(j, *f.Check, f.StartedIn.D(), c.Now))
			c.Wake(base.TopicCapacity(j.Queue))
			c.Observe(func(o base.Observer) { o.Settled(j.Queue, job.OutcomeOK, job.Succeeded, c.Now.Sub(j.ClaimedAt)) })
		}
	}
	if len(gone) == 0 {
		return states, other, nil
	}
	for _, query := range []string{`delete from belfry.jobs where ` + c.SQL.In("id", 1), `delete from belfry.leases where ` + c.SQL.In("job_id", 1)} {
		if _, err := c.Tx.Exec(c.Ctx, query, c.SQL.List(gone)); err != nil {
			return nil, nil, err
		}
	}
	if err := c.followChecks(all); err != nil {
		return nil, nil, err
	}
	return states, other, c.judge(all)
}

// checkLate is the longest delay after which a check still counts from its nominal time. A check that waited longer, for a
// worker or because no node ran, says nothing of that time: it counts from the moment of its look.
const checkLate = 10 * time.Second

func checkedOf(j jobs.JobRow, m task.CheckResult, startedIn time.Duration, ended time.Time) checked {
	// The worker reports the start, so it is kept between claim and end. A start in the future would be newer than all later
	// checks.
	at, started := j.Nominal, core.Sooner(j.ClaimedAt.Add(max(0, startedIn)), ended)
	if at.IsZero() {
		at = j.DueAt
	}
	if started.Sub(at) > checkLate {
		at = started
	}
	return checked{j.ScheduleID, j.ID, max(0, started.Sub(j.DueAt)), monitor.Observation{CheckResult: m, At: at}}
}

// JudgeEnds judges checks whose attempts have an end but no check result. These are checks of kinds without a look, such as
// commands, and checks that failed on the side of Belfry.
func (c *Change) JudgeEnds(ends []jobs.Ending) error {
	var all []checked
	for _, e := range ends {
		if e.Settled.LeavesResult(e.Row.Job) {
			m, _ := e.Settled.CheckResult(e.Row.Kind)
			all = append(all, checkedOf(e.Row, m, e.Fin.StartedIn.D(), c.Now))
		}
	}
	return c.judge(all)
}

// judge judges checks with [monitor.Judge] and writes the outcome: results, states and their consequences.
//
// A transition locks monitors last, once and in one order. So a batch of finishes gathers its checks until its jobs and
// schedules are done.
func (c *Change) judge(all []checked) error {
	if g := base.Kept[gathered](c.Change); g.gathers {
		g.checks = append(g.checks, all...)
		return nil
	}
	if len(all) == 0 {
		return nil
	}
	ids := make([]int64, len(all))
	for i, o := range all {
		ids[i] = o.scheduleID
	}
	rows, err := base.Collect(c.Ctx, c.Tx, c.s.ScanMonitor, `
		select `+MonitorColumns+`
		from belfry.monitors m
		where m.schedule_id > 0 and `+c.SQL.In("m.schedule_id", 1)+`
		order by m.id`+c.SQL.ForUpdate("m"), c.SQL.List(base.Unique(ids)))
	if err != nil {
		return err
	}
	bySchedule := make(map[int64]*MonitorRow, len(rows))
	for i := range rows {
		bySchedule[rows[i].scheduleID] = &rows[i]
	}
	slices.SortStableFunc(all, func(a, b checked) int { return a.At.Compare(b.At) })
	var results []resultRow
	for _, o := range all {
		row := bySchedule[o.scheduleID]
		if row == nil {
			continue // the monitor was deleted meanwhile
		}
		o.CheckResult = o.Bounded()
		results = append(results, resultRowOf(row.ID, o))
		env, err := c.Surroundings(*row)
		if err != nil {
			// As in lapse, the cause is an unknown time zone. The jobs of the batch have ended all the same: an error here
			// would make the worker report all of them again and again, in vain.
			c.s.Opt.Logger.Error("monitor cannot be computed, its check is kept and not judged", "monitor", row.Name, "namespace", row.Namespace, "error", err)
			continue
		}
		if err := c.TakeJudgement(row, monitor.Judge(row.Monitor, row.State, o.Observation, env, c.Now), &o.Observation); err != nil {
			return err
		}
	}
	if err := c.writeResults(results); err != nil {
		return err
	}
	return c.SaveMonitors(rows)
}

// gathered holds the checks that are judged at the end of a batch.
type gathered struct {
	gathers bool
	checks  []checked
}

// GatherChecks postpones the judgement of checks from now on to JudgeGathered.
func (c *Change) GatherChecks() { base.Kept[gathered](c.Change).gathers = true }

// JudgeGathered judges the checks that this transaction has gathered, in one batch, and ends the gathering.
func (c *Change) JudgeGathered() error {
	g := base.Kept[gathered](c.Change)
	g.gathers = false
	return c.judge(g.checks)
}

// followChecks plans the next check of monitors whose interval counts from the end of the last check. All other monitors have
// their next time already.
func (c *Change) followChecks(all []checked) error {
	ids := make([]int64, len(all))
	for i, o := range all {
		ids[i] = o.scheduleID
	}
	waiting, err := base.Collect(c.Ctx, c.Tx, base.ScanInt, `
		select s.id
		from belfry.schedules s
		where s.next_at = 0 and `+c.SQL.In("s.id", 1), c.SQL.List(base.Unique(ids)))
	if err != nil || len(waiting) == 0 {
		return err
	}
	return c.schedules().Follow(waiting)
}

// Surroundings returns the inputs of a verdict besides the monitor: the maintenance windows and the times of its schedule.
func (c *Change) Surroundings(row MonitorRow) (env monitor.JudgeContext, err error) {
	if env.Windows, err = c.WindowsOf(row.Monitor); err != nil {
		return env, err
	}
	// If the time of a heartbeat passed before this node started, another node would have recorded the miss, provided that any
	// node could hear the heartbeat.
	env.ListeningSince = c.s.AvailableSince(c.Now)
	sc := row.Schedule()
	sc.ID = -row.ID // keeps the plans of monitors apart from the plans of schedules
	plan, err := c.s.schedules.PlanOf(c.Ctx, c.Tx, sc)
	if err != nil {
		return env, err
	}
	env.Next = func(after time.Time) time.Time {
		if next := sc.Upcoming(plan, after, 1); len(next) > 0 {
			return next[0]
		}
		return time.Time{}
	}
	return env, nil
}

// WindowsOf returns the maintenance windows of a monitor that are active or next. A transition reads them once.
func (c *Change) WindowsOf(m monitor.Monitor) ([]monitor.ActiveWindow, error) {
	read := base.Kept[windowsRead](c.Change)
	known, ok := read.of[m.Namespace]
	if !ok {
		all, err := Windows.All(c.Ctx, c.Tx, m.Namespace)
		if err != nil {
			return nil, err
		}
		for _, w := range all {
			plan, err := c.s.WindowPlan(w)
			if err != nil {
				c.s.Opt.Logger.Error("maintenance window cannot be computed", "window", w.Name, "namespace", w.Namespace, "error", err)
				continue
			}
			known = append(known, window{w, plan})
		}
		if read.of == nil {
			read.of = map[string][]window{}
		}
		read.of[m.Namespace] = known
	}
	var out []monitor.ActiveWindow
	for _, w := range known {
		if w.Off || !w.Concerns(m) {
			continue
		}
		out = append(out, w.plan.Upcoming(c.Now, 2)...) // an active window is the first of them
	}
	return out, nil
}

// windowsRead holds the windows that a transition has read, by namespace.
type windowsRead struct{ of map[string][]window }

// window is a maintenance window with its compiled plan.
type window struct {
	monitor.Window
	plan monitor.WindowPlan
}

// TakeJudgement applies a judgement, except the monitor's own row, which SaveMonitors writes.
func (c *Change) TakeJudgement(row *MonitorRow, j monitor.Judgement, o *monitor.Observation) error {
	state := j.State
	if err := c.writeSpans(row.ID, j.Spans); err != nil {
		return err
	}
	if j.Closed != nil {
		if err := c.closeIncident(*j.Closed); err != nil {
			return err
		}
		if j.State.Verdict != monitor.VerdictUp {
			if err := c.s.Hooks.Dropped(c, row.Monitor, *j.Closed); err != nil {
				return err
			}
		}
	}
	incident := row.State.Incident
	if j.Opened != nil {
		id, err := c.openIncident(*row, *j.Opened)
		if err != nil {
			return err
		}
		state.Incident, incident = id, id
	}
	if j.Version != nil && o != nil && o.Page != nil {
		if err := c.writeVersion(*row, *j.Version, o.Page); err != nil {
			return err
		}
	}
	earlier := !j.WakeAt.IsZero() && (row.State.WakeAt.IsZero() || j.WakeAt.Before(row.State.WakeAt))
	row.State, row.wakeAt, row.changed = state, j.WakeAt, true
	c.publishJudged(*row, o)
	if o != nil {
		c.Observe(func(to base.Observer) { to.Checked(row.Kind(), o.Outcome, o.Latency.D()) })
	}
	if err := c.showChange(*row, j, o); err != nil {
		return err
	}
	if err := c.s.Hooks.Tell(c, row.Monitor, j.Notifications, incident); err != nil {
		return err
	}
	if earlier { // a later wake-up needs no wake now: the engine finds it when it looks at the earlier time
		c.Wake(base.TopicEngine)
	}
	if j.AgainAt.IsZero() || row.scheduleID == 0 {
		return nil
	}
	// A check that already waits serves as the additional check, unless it comes later: the first one of a new monitor may. A
	// running check does not: it may have looked before this one, and then proves nothing.
	_, waits, err := base.First(c.Ctx, c.Tx, base.ScanInt, `
		select id
		from belfry.jobs
		where schedule_id = $1 and due_at <= $2 and `+c.s.Unleased()+`
		limit 1`, row.scheduleID, base.Micros(j.AgainAt))
	if err != nil || waits {
		return err
	}
	_, err = c.checkAt(*row, j.AgainAt)
	return err
}

// applyJudgement applies a judgement and writes the monitor's row.
func (c *Change) applyJudgement(row *MonitorRow, j monitor.Judgement, o *monitor.Observation) error {
	if err := c.TakeJudgement(row, j, o); err != nil {
		return err
	}
	return c.SaveMonitors([]MonitorRow{*row})
}

// monitorStateRow is the changing part of a monitor in a batch.
type monitorStateRow struct {
	ID     int64  `json:"id"`
	Status string `json:"status"`
	State  string `json:"state"`
	WakeAt int64  `json:"wake_at"`
}

// SaveMonitors writes the states of the changed monitors. Rows without a change cost nothing.
func (c *Change) SaveMonitors(rows []MonitorRow) error {
	var batch []monitorStateRow
	var ids []int64
	for _, r := range rows {
		if r.changed {
			batch = append(batch, monitorStateRow{r.ID, string(r.State.Status()), base.Text(r.State), base.Micros(r.wakeAt)})
			ids = append(ids, r.ID)
		}
	}
	if len(batch) == 0 {
		return nil
	}
	from, args := c.SQL.ManyTable(2, "t", base.BatchOf(batch))
	_, err := c.Tx.Exec(c.Ctx, `
		update belfry.monitors
		set status = t.status, state = t.state, wake_at = t.wake_at
		from `+from+`
		where belfry.monitors.id = t.id and `+c.SQL.Among("belfry.monitors.id", 1), append([]any{c.SQL.List(ids)}, args...)...)
	return err
}

// WakeMonitors makes the engine look soon at the monitors of a namespace, or at all if it is "". It is called after a change of
// a maintenance window or a time zone.
func WakeMonitors(c *base.Change, namespace string) error {
	c.Wake(base.TopicEngine)
	w := &base.Where{Args: []any{base.Micros(c.Now)}}
	w.Equals("m.namespace", namespace)
	_, err := c.Tx.Exec(c.Ctx, `
		update belfry.monitors
		set wake_at = $1
		where id in (
			select m.id
			from belfry.monitors m
			where `+w.Sql()+`
			order by m.id`+c.SQL.ForUpdate("m")+`)`, w.Args...)
	return err
}

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

// checked is a monitor's check that ended.
type checked struct {
	scheduleID int64
	jobID      int64
	delay      time.Duration // from its time to its start
	monitor.Observation
}

// SettleChecks settles attempts that bring the results of checks. Their jobs leave no
// row among the finished ones: the result is their record. An attempt that is not a check
// is settled like any other that went well.
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
			c.Wake(base.TopicPlace(j.Queue))
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

// checkLate is how late a check may begin and still count from its time. One
// that waited longer, for a worker or because no node lived, says nothing of
// its time: it counts from when the target was looked at.
const checkLate = 10 * time.Second

func checkedOf(j jobs.JobRow, m task.CheckResult, startedIn time.Duration, ended time.Time) checked {
	// A start by the worker's word is between its claim and its end: one in the future would be newer than all checks to come.
	at, started := j.Nominal, core.Sooner(j.ClaimedAt.Add(max(0, startedIn)), ended)
	if at.IsZero() {
		at = j.DueAt
	}
	if started.Sub(at) > checkLate {
		at = started
	}
	return checked{j.ScheduleID, j.ID, max(0, started.Sub(j.DueAt)), monitor.Observation{CheckResult: m, At: at}}
}

// JudgeEnds judges checks whose attempts brought nothing but their end: those
// of kinds that do not look, such as commands, and those that went wrong on
// our side.
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

// judge asks [monitor.Judge] what checks mean for their monitors and writes the
// answers: results, states, and what follows from them.
//
// Monitors are locked last in a transition, once and in one order. So a batch
// of finishes gathers what it has seen until its jobs and schedules are done.
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
			continue // deleted meanwhile
		}
		o.CheckResult = o.Bounded()
		results = append(results, resultRowOf(row.ID, o))
		env, err := c.Surroundings(*row)
		if err != nil {
			// See lapse. Jobs have ended all the same, of this monitor and of all
			// others in the batch, and would be reported in vain again and again.
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

// gathered are checks that are judged at the end of a batch.
type gathered struct {
	gathers bool
	checks  []checked
}

// GatherChecks has what is seen from now on judged by judgeGathered.
func (c *Change) GatherChecks() { base.Kept[gathered](c.Change).gathers = true }

func (c *Change) JudgeGathered() error {
	g := base.Kept[gathered](c.Change)
	g.gathers = false
	return c.judge(g.checks)
}

// followChecks goes on with monitors whose next check counts from the end of
// the last one. Of all others the next time stands already.
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

// Surroundings is what a verdict depends on besides the monitor: windows of
// maintenance, and the times of its schedule.
func (c *Change) Surroundings(row MonitorRow) (env monitor.JudgeContext, err error) {
	if env.Windows, err = c.WindowsOf(row.Monitor); err != nil {
		return env, err
	}
	// A heartbeat whose time passed before this node lived would have been
	// missed by another one, if there was any that could hear it.
	env.ListeningSince = c.s.HearsSince(c.Now)
	sc := row.Schedule()
	sc.ID = -row.ID // plans keeps those of monitors apart from those of schedules
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

// WindowsOf are the windows that concern a monitor and are under way or come
// next. They are read once in a transition.
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
				c.s.Opt.Logger.Error("window of maintenance cannot be computed", "window", w.Name, "namespace", w.Namespace, "error", err)
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
		out = append(out, w.plan.Upcoming(c.Now, 2)...) // one under way is the first of them
	}
	return out, nil
}

// windowsRead are those that a transition has read, by namespace.
type windowsRead struct{ of map[string][]window }

// window is a window of maintenance made ready to compute with.
type window struct {
	monitor.Window
	plan monitor.WindowPlan
}

// TakeJudgement takes over a judgement, but for the monitor's own
// row, which saveMonitors writes.
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
	if earlier { // what is later than it was is found when the engine looks for what it was
		c.Wake(base.TopicEngine)
	}
	if j.AgainAt.IsZero() || row.scheduleID == 0 {
		return nil
	}
	// A check that waits already is as good as another one. One that was begun
	// is not: it may have looked before this one, and then says nothing.
	_, waits, err := base.First(c.Ctx, c.Tx, base.ScanInt, `
		select id
		from belfry.jobs
		where schedule_id = $1 and `+c.s.Unleased()+`
		limit 1`, row.scheduleID)
	if err != nil || waits {
		return err
	}
	_, err = c.checkAt(*row, j.AgainAt)
	return err
}

// applyJudgement takes over an answer and writes the monitor's row.
func (c *Change) applyJudgement(row *MonitorRow, j monitor.Judgement, o *monitor.Observation) error {
	if err := c.TakeJudgement(row, j, o); err != nil {
		return err
	}
	return c.SaveMonitors([]MonitorRow{*row})
}

// monitorStateRow is the changing part of a monitor as a batch carries it.
type monitorStateRow struct {
	ID     int64  `json:"id"`
	Status string `json:"status"`
	State  string `json:"state"`
	WakeAt int64  `json:"wake_at"`
}

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

// WakeMonitors has the monitors of a namespace, or of all if it is "", looked at
// soon, because a window of maintenance came, went or changed, or a time zone did.
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

package store

import (
	"slices"
	"time"

	"github.com/belfry-run/belfry/core"
	"github.com/belfry-run/belfry/job"
	"github.com/belfry-run/belfry/monitor"
	"github.com/belfry-run/belfry/task"
)

// checked is a monitor's check that ended.
type checked struct {
	scheduleID int64
	jobID      int64
	delay      time.Duration // from its time to its start
	monitor.Observation
}

// settleChecks settles attempts that bring what they saw. Their jobs leave no
// row among the finished ones: the result is their record. What is not a check
// at all is settled like any other attempt that went well.
func (c *change) settleChecks(session string, fs []job.Finish) (states map[job.Ref]job.State, other []job.Finish, err error) {
	states = make(map[job.Ref]job.State, len(fs))
	if len(fs) == 0 {
		return states, nil, nil
	}
	byRef, err := c.lockAttempts(session, fs)
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
			all = append(all, checkedOf(j, *f.Check, f.StartedIn.D()))
			c.wake(topicPlace(j.Queue))
			c.observe(func(o Observer) { o.Settled(j.Queue, job.OutcomeOK, job.Succeeded, c.now.Sub(j.ClaimedAt)) })
		}
	}
	if len(gone) == 0 {
		return states, other, nil
	}
	for _, query := range []string{`delete from belfry.jobs where ` + c.sql.In("id", 1), `delete from belfry.leases where ` + c.sql.In("job_id", 1)} {
		if _, err := c.tx.Exec(c.ctx, query, c.sql.List(gone)); err != nil {
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
// its time: it counts from when somebody looked.
const checkLate = 10 * time.Second

func checkedOf(j jobRow, m task.Measure, startedIn time.Duration) checked {
	at, started := j.Nominal, j.ClaimedAt.Add(startedIn)
	if at.IsZero() {
		at = j.DueAt
	}
	if started.Sub(at) > checkLate {
		at = started
	}
	return checked{j.ScheduleID, j.ID, max(0, started.Sub(j.DueAt)), monitor.Observation{Measure: m, At: at}}
}

// judgeEnds judges checks whose attempts brought nothing but their end: those
// of kinds that do not look, such as commands, and those that went wrong on
// our side.
func (c *change) judgeEnds(ends []ending) error {
	var all []checked
	for _, e := range ends {
		if e.leavesResult() {
			m, _ := measureOfEnd(e)
			all = append(all, checkedOf(e.row, m, e.fin.StartedIn.D()))
		}
	}
	return c.judge(all)
}

// leavesResult reports that what the end of an attempt says is kept as a result
// of its monitor: a target that is down is no job that failed.
func (e ending) leavesResult() bool {
	if e.row.Trigger != job.TriggerCheck || e.row.State != job.Running || !e.settled.State.Final() {
		return false
	}
	_, seen := measureOfEnd(e)
	return seen
}

// forgetChecks takes checks away of which a result is kept, with what their
// attempts have written.
func (c *change) forgetChecks(jobs []int64) error {
	if len(jobs) == 0 {
		return nil
	}
	for _, query := range []string{
		`delete from belfry.jobs where ` + c.sql.In("id", 1),
		`delete from belfry.attempts where ` + c.sql.In("job_id", 1),
		`delete from belfry.logs where ` + c.sql.In("job_id", 1),
	} {
		if _, err := c.tx.Exec(c.ctx, query, c.sql.List(jobs)); err != nil {
			return err
		}
	}
	return nil
}

// measureOfEnd is what the end of an attempt says about a target.
func measureOfEnd(e ending) (m task.Measure, seen bool) {
	m.Message, _ = core.CleanText(e.settled.Error, task.MaxCheckMessage)
	byItself := e.row.Kind == task.KindCommand || e.row.Kind == task.KindProgram || e.row.Kind == task.KindFunc
	switch {
	case e.settled.State == job.Canceled || e.settled.State == job.Skipped:
		return m, false // somebody did not want it
	case e.settled.Outcome == job.OutcomeOK:
		m.Outcome = task.CheckOK
	case e.settled.Outcome == job.OutcomeLost:
		m.Outcome, m.Code = task.CheckError, task.CodeLost
	case byItself && e.settled.Outcome == job.OutcomeTimeout:
		m.Outcome, m.Code = task.CheckFail, task.CodeTimeout
	case byItself:
		m.Outcome, m.Code = task.CheckFail, task.CodeReported
	default:
		m.Outcome, m.Code = task.CheckError, task.CodeInternal
	}
	return m, true
}

// judge asks the root what checks mean for their monitors and writes the
// answers: results, states, and what follows from them.
//
// Monitors are locked last in a transition, once and in one order. So a batch
// of finishes gathers what it has seen until its jobs and schedules are done.
func (c *change) judge(all []checked) error {
	if g := kept[gathered](c); g.gathers {
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
	rows, err := collect(c.ctx, c.tx, c.s.scanMonitor, `
		select `+monitorColumns+`
		from belfry.monitors m
		where m.schedule_id > 0 and `+c.sql.In("m.schedule_id", 1)+`
		order by m.id`+c.sql.ForUpdate("m"), c.sql.List(unique(ids)))
	if err != nil {
		return err
	}
	bySchedule := make(map[int64]*monitorRow, len(rows))
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
		o.Measure = o.Bounded()
		results = append(results, resultRowOf(row.ID, o))
		env, err := c.surroundings(*row)
		if err != nil {
			// See lapse. Jobs have ended all the same, of this monitor and of all
			// others in the batch, and would be reported in vain again and again.
			c.s.opt.Logger.Error("monitor cannot be computed, its check is kept and not judged", "monitor", row.Name, "namespace", row.Namespace, "error", err)
			continue
		}
		if err := c.takeJudgement(row, monitor.Judge(row.Monitor, row.state, o.Observation, env, c.now), &o.Observation); err != nil {
			return err
		}
	}
	if err := c.writeResults(results); err != nil {
		return err
	}
	return c.saveMonitors(rows)
}

// gathered are checks that are judged at the end of a batch.
type gathered struct {
	gathers bool
	checks  []checked
}

// gatherChecks has what is seen from now on judged by judgeGathered.
func (c *change) gatherChecks() { kept[gathered](c).gathers = true }

func (c *change) judgeGathered() error {
	g := kept[gathered](c)
	g.gathers = false
	return c.judge(g.checks)
}

// followChecks goes on with monitors whose next check counts from the end of
// the last one. Of all others the next time stands already.
func (c *change) followChecks(all []checked) error {
	ids := make([]int64, len(all))
	for i, o := range all {
		ids[i] = o.scheduleID
	}
	waiting, err := collect(c.ctx, c.tx, scanInt, `
		select s.id
		from belfry.schedules s
		where s.next_at = 0 and `+c.sql.In("s.id", 1), c.sql.List(unique(ids)))
	if err != nil || len(waiting) == 0 {
		return err
	}
	return c.follow(waiting)
}

// surroundings is what a verdict depends on besides the monitor: windows of
// maintenance, and the times of its schedule.
func (c *change) surroundings(row monitorRow) (env monitor.JudgeContext, err error) {
	if env.Windows, err = c.windowsOf(row.Monitor); err != nil {
		return env, err
	}
	// A heartbeat whose time passed before this node lived would have been
	// missed by another one, if there was any that could hear it.
	env.ListeningSince = c.s.hearsSince(c.now)
	sc := row.Schedule()
	sc.ID = -row.ID // plans keeps those of monitors apart from those of schedules
	plan, err := c.s.planOf(c.ctx, c.tx, sc)
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

// windowsOf are the windows that concern a monitor and are under way or come
// next. They are read once in a transition.
func (c *change) windowsOf(m monitor.Monitor) ([]monitor.ActiveWindow, error) {
	read := kept[windowsRead](c)
	known, ok := read.of[m.Namespace]
	if !ok {
		all, err := windows.all(c.ctx, c.tx, m.Namespace)
		if err != nil {
			return nil, err
		}
		for _, w := range all {
			plan, err := c.s.windowPlans.of(w)
			if err != nil {
				c.s.opt.Logger.Error("window of maintenance cannot be computed", "window", w.Name, "namespace", w.Namespace, "error", err)
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
		out = append(out, w.plan.Upcoming(c.now, 2)...) // one under way is the first of them
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

// takeJudgement takes over an answer of the root, but for the monitor's own
// row, which saveMonitors writes.
func (c *change) takeJudgement(row *monitorRow, j monitor.Judgement, o *monitor.Observation) error {
	state := j.State
	if err := c.writeSpans(row.ID, j.Spans); err != nil {
		return err
	}
	if j.Closed != nil {
		if err := c.closeIncident(*j.Closed); err != nil {
			return err
		}
	}
	incident := row.state.Incident
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
	earlier := !j.WakeAt.IsZero() && (row.state.WakeAt.IsZero() || j.WakeAt.Before(row.state.WakeAt))
	row.state, row.wakeAt, row.changed = state, j.WakeAt, true
	c.toldJudged(*row, o)
	if o != nil {
		c.observe(func(to Observer) { to.Checked(row.Kind(), o.Outcome, o.Latency.D()) })
	}
	if err := c.showChange(*row, j, o); err != nil {
		return err
	}
	if err := c.s.monitorHooks.Tell(c, row.Monitor, j.Notices, incident); err != nil {
		return err
	}
	if earlier { // what is later than it was is found when the engine looks for what it was
		c.wake(topicEngine)
	}
	if j.AgainAt.IsZero() || row.scheduleID == 0 {
		return nil
	}
	// A check that waits already is as good as another one. One that was begun
	// is not: it may have looked before this one, and then says nothing.
	_, waits, err := first(c.ctx, c.tx, scanInt, `
		select id
		from belfry.jobs
		where schedule_id = $1 and `+c.s.unleased()+`
		limit 1`, row.scheduleID)
	if err != nil || waits {
		return err
	}
	_, err = c.checkAt(*row, j.AgainAt)
	return err
}

// applyJudgement takes over an answer and writes the monitor's row.
func (c *change) applyJudgement(row *monitorRow, j monitor.Judgement, o *monitor.Observation) error {
	if err := c.takeJudgement(row, j, o); err != nil {
		return err
	}
	return c.saveMonitors([]monitorRow{*row})
}

// monitorStateRow is the changing part of a monitor as a batch carries it.
type monitorStateRow struct {
	ID     int64  `json:"id"`
	Status string `json:"status"`
	State  string `json:"state"`
	WakeAt int64  `json:"wake_at"`
}

func (c *change) saveMonitors(rows []monitorRow) error {
	var batch []monitorStateRow
	var ids []int64
	for _, r := range rows {
		if r.changed {
			batch = append(batch, monitorStateRow{r.ID, string(r.state.Status()), text(r.state), micros(r.wakeAt)})
			ids = append(ids, r.ID)
		}
	}
	if len(batch) == 0 {
		return nil
	}
	from, args := c.sql.Table(2, "t", BatchOf(batch))
	_, err := c.tx.Exec(c.ctx, `
		update belfry.monitors
		set status = t.status, state = t.state, wake_at = t.wake_at
		from `+from+`
		where belfry.monitors.id = t.id and `+c.sql.Among("belfry.monitors.id", 1), append([]any{c.sql.List(ids)}, args...)...)
	return err
}

// wakeMonitors has the monitors of a namespace, or of all if it is "", looked at
// soon, because a window of maintenance came, went or changed, or a time zone did.
func wakeMonitors(c *change, namespace string) error {
	c.wake(topicEngine)
	w := &where{args: []any{micros(c.now)}}
	w.equals("m.namespace", namespace)
	_, err := c.tx.Exec(c.ctx, `
		update belfry.monitors
		set wake_at = $1
		where id in (
			select m.id
			from belfry.monitors m
			where `+w.sql()+`
			order by m.id`+c.sql.ForUpdate("m")+`)`, w.args...)
	return err
}

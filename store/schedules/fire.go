package schedules

import (
	"context"
	"slices"
	"time"

	"github.com/belfry-run/belfry/core"
	"github.com/belfry-run/belfry/job"
	"github.com/belfry-run/belfry/schedule"
	"github.com/belfry-run/belfry/store/base"
	"github.com/belfry-run/belfry/store/jobs"
	"github.com/belfry-run/belfry/store/locks"
	"github.com/belfry-run/belfry/task"
)

// fireBatch bounds the schedules that fire in one transaction.
const fireBatch = 500

// FireDue fires due schedules, up to a batch. Every node may call it at the same time: it skips schedules that another node has
// locked.
func (s *Store) FireDue(ctx context.Context) (out job.Fired, err error) {
	err = s.write(ctx, "fire", func(c *Change) error {
		out = job.Fired{Now: c.Now}
		from := c.LookFrom(&s.Due)
		begun := time.Now()
		// The cast is for SQLite. It would compare a bare parameter with the condition of the index, and plan anew for each
		// value.
		rows, err := base.Collect(ctx, c.Tx, ScanSchedule, `
			select `+ScheduleColumns+`
			from belfry.schedules s
			where s.next_at > cast($3 as bigint) and s.next_at > 0 and s.next_at <= $1
			order by s.next_at
			limit $2 + 0`+s.SQL.SkipLocked("s"), base.Micros(c.Now), fireBatch, from.After)
		if err != nil {
			return err
		}
		from.Took = time.Since(begun)
		rows, left, err := leaveHeld(c, rows)
		if err != nil {
			return err
		}
		out.Schedules = len(rows)
		if err := c.fire(rows, &out); err != nil {
			return err
		}
		begun = time.Now()
		next, _, err := base.First(ctx, c.Tx, base.ScanInt, `select next_at from belfry.schedules where next_at > cast($1 as bigint) and next_at > 0 order by next_at limit 1`, from.After)
		if out.NextAt = base.Instant(next); left && !out.NextAt.After(c.Now) {
			out.NextAt = c.Now.Add(locks.Rest)
		}
		from.Took += time.Since(begun)
		c.Looked(&s.Due, from, next)
		return err
	})
	return out, err
}

// leaveHeld removes due schedules whose policy ends earlier runs, if another transaction is changing such a run. They fire in
// the next pass. The other transaction may last long or wait for the schedule, so the rest of the batch does not wait for it.
func leaveHeld(c *Change, rows []ScheduleRow) (others []ScheduleRow, left bool, err error) {
	var ids []int64
	for _, r := range rows {
		if r.Overlap == schedule.OverlapCancelOther || r.Overlap == schedule.OverlapTerminateOther {
			ids = append(ids, r.ID)
		}
	}
	if len(ids) == 0 || !c.s.Far { // SQLite has one writer
		return rows, false, nil
	}
	type run struct{ job, schedule int64 }
	query := `
		select id, schedule_id
		from belfry.jobs
		where schedule_id > 0 and trigger <> 'backfill' and ` + c.SQL.In("schedule_id", 1) + `
		order by id`
	runs := func(query string) ([]run, error) {
		return base.Collect(c.Ctx, c.Tx, func(rows base.Rows) (r run, err error) { return r, rows.Scan(&r.job, &r.schedule) }, query, c.SQL.List(ids))
	}
	held, err := runs(query + c.SQL.SkipLocked("jobs"))
	if err != nil {
		return nil, false, err
	}
	mine := make(map[int64]bool, len(held))
	for _, r := range held {
		mine[r.job] = true
	}
	all, err := runs(query)
	if err != nil {
		return nil, false, err
	}
	busy := map[int64]bool{}
	for _, r := range all {
		if !mine[r.job] {
			busy[r.schedule] = true
		}
	}
	return slices.DeleteFunc(rows, func(r ScheduleRow) bool { return busy[r.ID] }), len(busy) > 0, nil
}

func (c *Change) fire(rows []ScheduleRow, out *job.Fired) error {
	if len(rows) == 0 {
		return nil
	}
	facts, err := c.Facts(rows)
	if err != nil {
		return err
	}
	tasks, err := c.tasksOf(rows)
	if err != nil {
		return err
	}
	all := make([]Decided, 0, len(rows))
	for _, row := range rows {
		plan, err := c.s.PlanOf(c.Ctx, c.Tx, row.Schedule)
		t, there := tasks[row.TaskID]
		if err == nil && !there {
			err = core.Errorf(core.Internal, "it has no task")
		}
		if err != nil {
			// Rules are validated when they are saved, so the cause is a time zone that this machine does not know. The
			// schedule must not hold up the others.
			if err := c.postpone(row, err); err != nil {
				return err
			}
			continue
		}
		known := facts[row.ID]
		if _, owned := task.OwnerOf(row.Name); !owned { // the monitor counts its own checks
			if err := capacityFor(c, row, t, len(rows), true, &known); err != nil {
				return err
			}
		}
		f := schedule.Fire(row.Schedule, plan, known, c.Now)
		out.Jobs += jobsOf(f)
		if known.Limited {
			if err := take(c, row, t, jobsOf(f)); err != nil {
				return err
			}
		}
		all = append(all, Decided{Row: row, Out: f})
	}
	if err := c.applyFirings(all); err != nil {
		return err
	}
	return c.s.bounds.In(c.Change).DropPicked() // the consequences of an end start from the new state
}

// postpone delays a schedule that cannot be computed by a minute, and logs the error. A rule that counts from the finish
// continues from the new time.
func (c *Change) postpone(row ScheduleRow, cause error) error {
	c.s.Opt.Logger.Error("schedule cannot be computed, trying again in a minute", "schedule", row.Name, "namespace", row.Namespace, "error", cause)
	next, finish := c.Now.Add(time.Minute), row.FinishAt
	if fromFinish(row.Schedule) {
		finish = next
	}
	_, err := c.Tx.Exec(c.Ctx, `update belfry.schedules set next_at = $2, finish_at = $3 where id = $1`, row.ID, base.Micros(next), base.Micros(finish))
	return err
}

func jobsOf(f schedule.Firing) (n int) {
	for _, list := range [][]schedule.Occurrence{f.Occurrences, f.Unbuffered} {
		for _, o := range list {
			if o.Decision == schedule.DecidedJob {
				n++
			}
		}
	}
	return n
}

// maxActive bounds the live jobs of a schedule that a decision looks at. It exceeds the number that any overlap policy except
// allow can lead to.
const maxActive = 2000

// ignoresJobs reports that the decisions of a schedule do not depend on its live jobs. Its backlog, which may be long, need not
// be read.
func ignoresJobs(s schedule.Schedule) bool {
	return s.Overlap == schedule.OverlapAllow && !fromFinish(s)
}

func fromFinish(s schedule.Schedule) bool {
	return slices.ContainsFunc(s.Rules, func(r schedule.Rule) bool { return r.Anchor == schedule.AnchorFinish })
}

// Facts reads the facts on which the decisions about these schedules depend.
func (c *Change) Facts(rows []ScheduleRow) (map[int64]schedule.Facts, error) {
	var ids, blocked []int64
	for _, r := range rows {
		ids = append(ids, r.ID)
		if !ignoresJobs(r.Schedule) {
			blocked = append(blocked, r.ID)
		}
	}
	in := c.SQL.List(ids)
	type activeJob struct{ schedule, job int64 }
	active, err := base.Collect(c.Ctx, c.Tx, func(r base.Rows) (a activeJob, err error) {
		return a, r.Scan(&a.schedule, &a.job)
	}, `
		select schedule_id, id
		from (
			select schedule_id, id, row_number() over (partition by schedule_id order by id) as place
			from belfry.jobs
			where schedule_id > 0 and trigger <> 'backfill' and `+c.SQL.In("schedule_id", 1)+`) as numbered
		where place <= $2
		order by id`, c.SQL.List(blocked), maxActive)
	if err != nil {
		return nil, err
	}
	buffered, err := base.Collect(c.Ctx, c.Tx, scanOccurrence, `
		select `+occurrenceColumns+`
		from belfry.occurrences
		where decision = 'buffered' and `+c.SQL.In("schedule_id", 1)+`
		order by schedule_id, nominal`, in)
	if err != nil {
		return nil, err
	}
	facts := make(map[int64]schedule.Facts, len(rows))
	for _, a := range active {
		f := facts[a.schedule]
		f.Active = append(f.Active, a.job)
		facts[a.schedule] = f
	}
	for _, o := range buffered {
		f := facts[o.ScheduleID]
		f.Buffered = append(f.Buffered, o)
		facts[o.ScheduleID] = f
	}
	return facts, nil
}

// Decided is a schedule with the decision of [schedule.Fire].
type Decided struct {
	Row ScheduleRow
	Out schedule.Firing
}

// occurrenceRow is an occurrence in a batch.
type occurrenceRow struct {
	ScheduleID int64  `json:"schedule_id"`
	Nominal    int64  `json:"nominal"`
	Until      int64  `json:"until"`
	Count      int    `json:"count"`
	Decision   string `json:"decision"`
	Reason     string `json:"reason"`
	Note       string `json:"note"`
	JobID      int64  `json:"job_id"`
	DueAt      int64  `json:"due_at"`
	DecidedAt  int64  `json:"decided_at"`
}

func occurrenceRowOf(o schedule.Occurrence) occurrenceRow {
	return occurrenceRow{o.ScheduleID, base.Micros(o.Nominal), base.Micros(o.Until), o.Count, string(o.Decision), string(o.Reason), o.Note,
		o.JobID, base.Micros(o.DueAt), base.Micros(o.DecidedAt)}
}

// identity identifies an occurrence.
type identity struct{ schedule, nominal int64 }

// applyFirings writes complete decisions: the occurrences, their jobs, the jobs that end, and the new states of the schedules.
func (c *Change) applyFirings(all []Decided) error {
	if err := c.numberJobs(all); err != nil {
		return err
	}
	mine, err := c.writeOccurrences(all)
	if err != nil {
		return err
	}
	if err := c.startJobs(all, mine); err != nil {
		return err
	}
	if err := c.SaveStates(all); err != nil {
		return err
	}
	return c.endOthers(all) // the consequences of an end start from the new state
}

// numberJobs assigns an id to every job that was decided.
func (c *Change) numberJobs(all []Decided) error {
	n := 0
	for _, d := range all {
		n += jobsOf(d.Out)
	}
	if n == 0 {
		return nil
	}
	ids, err := c.SQL.NextIDs(c.Ctx, c.Tx, "job", n)
	if err != nil {
		return err
	}
	for _, d := range all {
		for _, list := range [][]schedule.Occurrence{d.Out.Occurrences, d.Out.Unbuffered} {
			for i := range list {
				if list[i].Decision == schedule.DecidedJob {
					list[i].JobID, ids = ids[0], ids[1:]
				}
			}
		}
	}
	return nil
}

// writeOccurrences writes the decisions and returns the occurrences that this transaction decided. An occurrence that already
// has a row was decided before. The unique index has the last word on a nominal time.
func (c *Change) writeOccurrences(all []Decided) (map[identity]bool, error) {
	var fresh, unbuffered []occurrenceRow
	var skipped []parted
	mine := map[identity]bool{}
	for _, d := range all {
		_, owned := task.OwnerOf(d.Row.Name)
		for _, o := range d.Out.Occurrences {
			if owned && o.Decision == schedule.DecidedJob {
				// The check result records a check under its nominal time. A row here would repeat it: 10,000 monitors would
				// write 14 million rows a day. The high-water mark prevents a second fire.
				mine[identity{o.ScheduleID, base.Micros(o.Nominal)}] = true
				c.Observe(fired(o, c.Now))
				continue
			}
			parts, err := c.splitAround(d.Row, o)
			if err != nil {
				return nil, err
			}
			for _, part := range parts {
				fresh = append(fresh, occurrenceRowOf(part))
			}
			if o.Decision == schedule.DecidedSkipped {
				skipped = append(skipped, parted{d.Row.Schedule, parts})
			}
			c.Observe(fired(o, c.Now))
		}
		for _, o := range d.Out.Unbuffered {
			unbuffered = append(unbuffered, occurrenceRowOf(o))
		}
	}
	scan := func(r base.Rows) (id identity, err error) { return id, r.Scan(&id.schedule, &id.nominal) }
	if len(fresh) > 0 {
		from, args := c.SQL.Table(1, "t", base.BatchOf(fresh))
		ids, err := base.Collect(c.Ctx, c.Tx, scan, `
			insert into belfry.occurrences (`+occurrenceColumns+`)
			select `+occurrenceColumns+`
			from `+from+`
			where true
			on conflict (schedule_id, nominal) do nothing
			returning schedule_id, nominal`, args...)
		if err != nil {
			return nil, err
		}
		for _, id := range ids {
			mine[id] = true
		}
		if err := c.notifyMissed(skipped, mine); err != nil {
			return nil, err
		}
	}
	if len(unbuffered) > 0 {
		from, args := c.SQL.Table(1, "t", base.BatchOf(unbuffered))
		ids, err := base.Collect(c.Ctx, c.Tx, scan, `
			update belfry.occurrences
			set decision = t.decision, reason = t.reason, note = t.note, job_id = t.job_id, decided_at = t.decided_at
			from `+from+`
			where belfry.occurrences.schedule_id = t.schedule_id and belfry.occurrences.nominal = t.nominal and belfry.occurrences.decision = 'buffered'
			returning belfry.occurrences.schedule_id, belfry.occurrences.nominal`, args...)
		if err != nil {
			return nil, err
		}
		for _, id := range ids {
			mine[id] = true
		}
	}
	return mine, nil
}

func fired(o schedule.Occurrence, now time.Time) func(base.Observer) {
	return func(to base.Observer) { to.Fired(o.Decision, o.Reason, o.Count, now.Sub(o.DueAt)) }
}

// splitAround splits a row that stands for several nominal times around the times that already have a row, because a backfill
// was faster.
func (c *Change) splitAround(row ScheduleRow, o schedule.Occurrence) ([]schedule.Occurrence, error) {
	if o.Count == 1 {
		return []schedule.Occurrence{o}, nil
	}
	there, err := base.Collect(c.Ctx, c.Tx, base.ScanInt, `
		select nominal
		from belfry.occurrences
		where schedule_id = $1 and nominal >= $2 and nominal <= $3
		order by nominal`, o.ScheduleID, base.Micros(o.Nominal), base.Micros(o.Until))
	if err != nil || len(there) == 0 {
		return []schedule.Occurrence{o}, err
	}
	plan, err := c.s.PlanOf(c.Ctx, c.Tx, row.Schedule)
	if err != nil {
		return nil, err
	}
	taken := make([]time.Time, len(there))
	for i, us := range there {
		taken[i] = base.Instant(us)
	}
	return o.Without(row.Schedule, plan, taken), nil
}

// startJobs creates the jobs of the occurrences in mine.
func (c *Change) startJobs(all []Decided, mine map[identity]bool) error {
	var taskIDs []int64
	for _, d := range all {
		if jobsOf(d.Out) > 0 {
			taskIDs = append(taskIDs, d.Row.TaskID)
		}
	}
	if len(taskIDs) == 0 {
		return nil
	}
	tasks, err := c.tasks().TasksByID(taskIDs)
	if err != nil {
		return err
	}
	var ins []*jobs.Insertion
	for _, d := range all {
		task, ok := tasks[d.Row.TaskID]
		if !ok && jobsOf(d.Out) > 0 {
			return core.Errorf(core.Internal, "schedule %q has no task", d.Row.Name)
		}
		for _, list := range [][]schedule.Occurrence{d.Out.Unbuffered, d.Out.Occurrences} {
			for _, o := range list {
				if o.Decision == schedule.DecidedJob && mine[identity{o.ScheduleID, base.Micros(o.Nominal)}] {
					ins = append(ins, &jobs.Insertion{JobRow: c.ScheduledJob(d.Row, task, o)})
				}
			}
		}
	}
	err = c.jobs().InsertJobs(ins)
	return err
}

// ScheduledJob returns the row of the job of an occurrence. It writes nothing.
func (c *Change) ScheduledJob(row ScheduleRow, t task.Task, o schedule.Occurrence) jobs.JobRow {
	j := c.jobs().NewJob(o.JobID, job.NewJob{Input: row.Input}, t)
	j.Trigger, j.Schedule, j.ScheduleID, j.Generation = job.TriggerSchedule, row.Name, row.ID, row.Generation
	if _, owned := task.OwnerOf(row.Name); owned {
		j.Trigger = job.TriggerCheck
	}
	j.Nominal, j.DueAt = o.Nominal, o.DueAt
	j.State = job.StateFor(o.DueAt.After(c.Now))
	return j
}

// endOthers ends the jobs that a decision replaces.
func (c *Change) endOthers(all []Decided) error {
	var cancel, terminate []int64
	for _, d := range all {
		cancel = append(cancel, d.Out.Cancel...)
		terminate = append(terminate, d.Out.Terminate...)
	}
	if len(cancel)+len(terminate) == 0 {
		return nil
	}
	locks.Backwards(c.Change)
	if err := c.jobs().HoldNow(slices.Concat(cancel, terminate)); err != nil {
		return err
	}
	if len(terminate) > 0 {
		if err := c.jobs().Terminate(terminate); err != nil {
			return err
		}
	}
	if len(cancel) == 0 {
		return nil
	}
	rows, err := c.jobs().LockJobs(cancel)
	if err != nil {
		return err
	}
	return c.jobs().CancelRows(rows, schedule.ReasonReplaced, "a later run of its schedule takes its place")
}

package schedules

import (
	"context"
	"errors"
	"slices"
	"strconv"
	"time"

	"github.com/belfry-run/belfry/access"
	"github.com/belfry-run/belfry/core"
	"github.com/belfry-run/belfry/schedule"
	"github.com/belfry-run/belfry/store/base"
	"github.com/belfry-run/belfry/store/jobs"
)

const backfillColumns = `b.id, b.namespace, b.schedule_id, b.doc, b.state, b.done, b.made, b.left_out, b.created_at, b.created_by, b.ended_at`

func scanBackfill(rows base.Rows) (b schedule.Backfill, err error) {
	var r schedule.Backfill
	err = rows.Scan(&r.ID, &r.Namespace, &r.ScheduleID, base.ScanDoc(&b), &r.State, base.ScanTime(&r.Done), &r.Made, &r.LeftOut,
		base.ScanTime(&r.CreatedAt), &r.CreatedBy, base.ScanTime(&r.EndedAt))
	b.ID, b.Namespace, b.ScheduleID, b.State, b.Done = r.ID, r.Namespace, r.ScheduleID, r.State, r.Done
	b.Made, b.LeftOut, b.CreatedAt, b.CreatedBy, b.EndedAt = r.Made, r.LeftOut, r.CreatedAt, r.CreatedBy, r.EndedAt
	return b, err
}

// StartBackfill starts a backfill. A schedule has at most one unfinished backfill.
func (s *Store) StartBackfill(ctx context.Context, b schedule.Backfill) (out schedule.Backfill, err error) {
	b = b.WithDefaults()
	err = s.write(ctx, "start backfill", func(c *Change) error {
		if err := b.Validate(c.Now); err != nil {
			return err
		}
		row, err := s.ReadSchedule(ctx, c.Tx, b.Namespace, b.Schedule, true)
		if err != nil {
			return err
		}
		first, found, err := s.backfillOf(ctx, c.Tx, row.ID, b.Key)
		switch {
		case err != nil:
			return err
		case found && !b.Repeats(first):
			return core.Errorf(core.Conflict, "idempotency key %q belongs to backfill %d, which was asked for with other settings", b.Key, first.ID).
				WithHint("use another key for another backfill, or repeat the first request")
		case found:
			out = first
			return nil
		}
		plan, err := s.PlanOf(ctx, c.Tx, row.Schedule)
		if err != nil {
			return err
		}
		if plan.Times == nil {
			return core.InvalidField("schedule", b.Schedule, "has no planned times that could be run again", "enqueue jobs of its task instead")
		}
		ids, err := s.SQL.NextIDs(ctx, c.Tx, "definition", 1)
		if err != nil {
			return err
		}
		doc := base.Text(b)
		b.ID, b.ScheduleID, b.State, b.CreatedAt, b.CreatedBy = ids[0], row.ID, schedule.BackfillActive, c.Now, access.ActorOf(ctx)
		n, err := c.Tx.Exec(ctx, `
			insert into belfry.backfills (id, namespace, schedule_id, doc, state, created_at, created_by)
			values ($1, $2, $3, $4, $5, $6, $7)
			on conflict do nothing`, b.ID, b.Namespace, b.ScheduleID, doc, string(b.State), base.Micros(c.Now), b.CreatedBy)
		if err != nil {
			return err
		}
		if n == 0 {
			return core.Errorf(core.Conflict, "schedule %q has a backfill under way", b.Schedule).
				WithHint("wait for it, or cancel it: belfry backfill list")
		}
		out = b
		c.Wake(base.TopicEngine)
		return c.Audit("backfill", "schedule", b.Namespace, b.Schedule, b.Note, nil, b)
	})
	return out, err
}

// backfillOf returns the backfill of a schedule that was requested with an idempotency key.
func (s *Store) backfillOf(ctx context.Context, tx base.Tx, id int64, key string) (b schedule.Backfill, found bool, err error) {
	if key == "" {
		return b, false, nil
	}
	all, err := base.Collect(ctx, tx, scanBackfill, `select `+backfillColumns+` from belfry.backfills b where b.schedule_id = $1 order by b.id desc limit 1000`, id)
	if i := slices.IndexFunc(all, func(b schedule.Backfill) bool { return b.Key == key }); i >= 0 {
		return all[i], true, nil
	}
	return b, false, err
}

// Backfill returns one backfill.
func (s *Store) Backfill(ctx context.Context, namespace string, id int64) (b schedule.Backfill, err error) {
	err = s.DB().Read(ctx, func(tx base.Tx) error {
		b, err = s.backfill(ctx, tx, namespace, id, "")
		return err
	})
	return b, err
}

func (s *Store) backfill(ctx context.Context, tx base.Tx, namespace string, id int64, lock string) (schedule.Backfill, error) {
	b, found, err := base.First(ctx, tx, scanBackfill, `select `+backfillColumns+` from belfry.backfills b where b.id = $1`+lock, id)
	if err == nil && (!found || namespace != core.AnyNamespace && b.Namespace != namespace) {
		err = core.Errorf(core.NotFound, "no backfill %d", id).WithHint("see: belfry backfill list")
	}
	return b, err
}

// Backfills lists backfills, newest first.
func (s *Store) Backfills(ctx context.Context, f schedule.BackfillFilter) (p core.Page[schedule.Backfill], err error) {
	before, err := base.DecodeIDCursor(f.Cursor)
	if err != nil {
		return p, err
	}
	w := &base.Where{}
	if f.Namespace == "" {
		f.Namespace = core.DefaultNamespace
	}
	w.Namespace("b.namespace", f.Namespace)
	if f.Schedule != "" {
		w.And("b.schedule_id in (select id from belfry.schedules where name = ?)", f.Schedule)
	}
	if before > 0 {
		w.And("b.id < ?", before)
	}
	limit := f.Bound()
	err = s.DB().Read(ctx, func(tx base.Tx) error {
		p, err = base.CollectPage(ctx, tx, limit, scanBackfill, func(b schedule.Backfill) string { return base.EncodeCursor(strconv.FormatInt(b.ID, 10)) }, `
			select `+backfillColumns+`
			from belfry.backfills b
			where `+w.Sql()+`
			order by b.id desc
			limit `+strconv.Itoa(limit+1), w.Args...)
		return err
	})
	return p, err
}

// SetBackfill pauses, resumes or cancels a backfill. Jobs that it created stay.
func (s *Store) SetBackfill(ctx context.Context, namespace string, id int64, state schedule.BackfillState) (b schedule.Backfill, err error) {
	action := map[schedule.BackfillState]string{schedule.BackfillActive: "resume", schedule.BackfillPaused: "pause", schedule.BackfillCanceled: "cancel"}[state]
	if action == "" {
		return b, core.InvalidField("state", string(state), "cannot be asked for", "one of active, paused, canceled")
	}
	err = s.write(ctx, action+" backfill", func(c *Change) error {
		b, err = s.backfill(ctx, c.Tx, namespace, id, s.SQL.ForUpdate("b"))
		if err != nil || b.State == state {
			return err
		}
		if b.State == schedule.BackfillCompleted || b.State == schedule.BackfillCanceled {
			return core.Errorf(core.Conflict, "backfill %d is %s", id, b.State)
		}
		b.State = state
		if state == schedule.BackfillCanceled {
			b.EndedAt = c.Now
		}
		if err := c.saveBackfill(b); err != nil {
			return err
		}
		c.Wake(base.TopicEngine)
		return c.Audit(action, "backfill", b.Namespace, strconv.FormatInt(id, 10), "", nil, b)
	})
	return b, err
}

func (c *Change) saveBackfill(b schedule.Backfill) error {
	_, err := c.Tx.Exec(c.Ctx, `
		update belfry.backfills
		set state = $2, done = $3, made = $4, left_out = $5, ended_at = $6
		where id = $1`, b.ID, string(b.State), base.Micros(b.Done), b.Made, b.LeftOut, base.Micros(b.EndedAt))
	return err
}

// Refill advances every active backfill by one step and reports whether there may be more to do at once. Every node may call
// it: the row is the lock.
func (s *Store) Refill(ctx context.Context) (more bool, _ error) {
	var after int64
	var failed error
	for {
		var found, made bool
		before := after
		err := s.write(ctx, "refill", func(c *Change) error {
			found, made = false, false
			b, ok, err := base.First(ctx, c.Tx, scanBackfill, `
				select `+backfillColumns+`
				from belfry.backfills b
				where b.state = 'active' and b.id > $1
				order by b.id
				limit 1`+s.SQL.SkipLocked("b"), before)
			if err != nil || !ok {
				return err
			}
			found, after = true, b.ID
			made, err = c.refill(b)
			return err
		})
		failed = errors.Join(failed, err)
		if !found || ctx.Err() != nil {
			return more, failed
		}
		more = more || err == nil && made // a backfill that cannot continue holds up no other
	}
}

// refill applies the next step of a locked backfill, as package schedule decides it.
func (c *Change) refill(b schedule.Backfill) (made bool, err error) {
	row, found, err := base.First(c.Ctx, c.Tx, ScanSchedule, `
		select `+ScheduleColumns+`
		from belfry.schedules s
		where s.id = $1`+c.SQL.ForUpdate("s"), b.ScheduleID)
	if err != nil {
		return false, err
	}
	if !found {
		b.State, b.EndedAt = schedule.BackfillCanceled, c.Now // the schedule was deleted
		return false, c.saveBackfill(b)
	}
	plan, err := c.s.PlanOf(c.Ctx, c.Tx, row.Schedule)
	if err != nil {
		return false, err
	}
	running, _, err := base.First(c.Ctx, c.Tx, base.ScanInt, `
		select count(*)
		from (select 1 from belfry.jobs where schedule_id = $1 and schedule_id > 0 and trigger = 'backfill' limit $2) as bounded`, row.ID, schedule.BackfillStep)
	if err != nil || b.Overlap == schedule.OverlapAllow && running >= schedule.BackfillStep {
		return false, err // as many jobs wait as one pass creates; more would only lengthen the queue
	}
	tasks, err := c.tasksOf([]ScheduleRow{row})
	if err != nil {
		return false, err
	}
	t, known, room := tasks[row.TaskID], schedule.Facts{}, schedule.BackfillStep
	if err := capacityFor(c, row, t, schedule.BackfillStep, false, &known); err != nil {
		return false, err
	}
	if known.Limited {
		if room = known.Room; room == 0 {
			return false, nil // the backfill continues when there is room
		}
	}
	ran, err := c.ranOf(row, b, plan)
	if err != nil {
		return false, err
	}
	r := schedule.Fill(b, row.Schedule, plan, ran, int(running), room, c.Now)
	if err := c.startRefill(row, plan, r.Run); err != nil {
		return false, err
	}
	if known.Limited {
		if err := take(c, row, t, len(r.Run)); err != nil {
			return false, err
		}
	}
	return r.State == schedule.BackfillActive && !r.Done.Equal(b.Done), c.saveBackfill(r.Backfill)
}

// ranOf returns which of the next nominal times already have a job.
func (c *Change) ranOf(row ScheduleRow, b schedule.Backfill, plan schedule.Plan) (map[time.Time]bool, error) {
	ran := map[time.Time]bool{}
	if !b.OnlyMissing {
		return ran, nil
	}
	var asked []int64
	for _, t := range b.Candidates(row.Schedule, plan) {
		asked = append(asked, base.Micros(t))
	}
	times, err := base.Collect(c.Ctx, c.Tx, base.ScanInt, `
		select nominal
		from belfry.occurrences
		where schedule_id = $1 and decision <> 'skipped' and `+c.SQL.In("nominal", 2), row.ID, c.SQL.List(asked))
	for _, us := range times {
		ran[base.Instant(us)] = true
	}
	return ran, err
}

// startRefill creates the jobs of a backfill. A skipped nominal time now has a job. The record of a nominal time that already
// had a job keeps that job.
func (c *Change) startRefill(row ScheduleRow, plan schedule.Plan, run []time.Time) error {
	if len(run) == 0 {
		return nil
	}
	tasks, err := c.tasks().TasksByID([]int64{row.TaskID})
	if err != nil {
		return err
	}
	ids, err := c.SQL.NextIDs(c.Ctx, c.Tx, "job", len(run))
	if err != nil {
		return err
	}
	ins := make([]*jobs.Insertion, len(run))
	rows := make([]occurrenceRow, len(run))
	for i, t := range run {
		o := schedule.Occurrence{ScheduleID: row.ID, Nominal: t, Count: 1, Decision: schedule.DecidedJob, Note: "backfilled", JobID: ids[i], DueAt: c.Now, DecidedAt: c.Now}
		j := c.ScheduledJob(row, tasks[row.TaskID], o)
		j.Trigger = schedule.TriggerBackfill
		ins[i], rows[i] = &jobs.Insertion{JobRow: j}, occurrenceRowOf(o)
	}
	if err := c.splitRanges(row, plan, run); err != nil {
		return err
	}
	from, args := c.SQL.Table(1, "t", base.BatchOf(rows))
	if _, err := c.Tx.Exec(c.Ctx, `
		insert into belfry.occurrences (`+occurrenceColumns+`)
		select `+occurrenceColumns+`
		from `+from+`
		where true
		on conflict (schedule_id, nominal) do update
		set decision = excluded.decision, reason = '', note = excluded.note, job_id = excluded.job_id, decided_at = excluded.decided_at
		where belfry.occurrences.decision = 'skipped'`, args...); err != nil {
		return err
	}
	err = c.jobs().InsertJobs(ins)
	return err
}

// splitRanges removes nominal times from rows that stand for several. Such a row may begin before the first nominal time of the
// backfill. It is then one of the last rows before that time.
func (c *Change) splitRanges(row ScheduleRow, plan schedule.Plan, run []time.Time) error {
	ranges, err := base.Collect(c.Ctx, c.Tx, scanOccurrence, `
		select `+occurrenceColumns+`
		from belfry.occurrences
		where schedule_id = $1 and until > 0 and nominal >= $2 and nominal <= $3
		order by nominal`, row.ID, base.Micros(run[0]), base.Micros(run[len(run)-1]))
	if err != nil {
		return err
	}
	before, err := base.Collect(c.Ctx, c.Tx, scanOccurrence, `
		select `+occurrenceColumns+`
		from belfry.occurrences
		where schedule_id = $1 and nominal < $2
		order by nominal desc
		limit 10`, row.ID, base.Micros(run[0]))
	if err != nil {
		return err
	}
	var rest []occurrenceRow
	var split []int64
	for _, o := range append(before, ranges...) {
		if o.Until.Before(run[0]) {
			continue
		}
		split = append(split, base.Micros(o.Nominal))
		for _, piece := range o.Without(row.Schedule, plan, run) {
			rest = append(rest, occurrenceRowOf(piece))
		}
	}
	if len(split) == 0 {
		return nil
	}
	if _, err := c.Tx.Exec(c.Ctx, `delete from belfry.occurrences where schedule_id = $1 and `+c.SQL.In("nominal", 2),
		row.ID, c.SQL.List(split)); err != nil {
		return err
	}
	return c.insertRest(rest)
}

// insertRest writes the remaining parts of the rows that were split.
func (c *Change) insertRest(rest []occurrenceRow) error {
	if len(rest) == 0 {
		return nil
	}
	from, args := c.SQL.Table(1, "t", base.BatchOf(rest))
	_, err := c.Tx.Exec(c.Ctx, `
		insert into belfry.occurrences (`+occurrenceColumns+`)
		select `+occurrenceColumns+`
		from `+from+`
		where true
		on conflict (schedule_id, nominal) do nothing`, args...)
	return err
}

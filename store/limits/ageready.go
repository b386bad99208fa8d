package limits

import (
	"cmp"
	"context"
	"math"
	"slices"
	"time"

	"github.com/belfry-run/belfry/core"
	"github.com/belfry-run/belfry/job"
	"github.com/belfry-run/belfry/store/base"
	"github.com/belfry-run/belfry/store/turns"
)

// aging are the ready jobs of a queue that should be raised, and the priorities of all its ready and running jobs, highest
// first.
type aging struct {
	ids        []int64
	priorities []int
}

// mostPriorities is the number of possible priorities: -1000 to 1000.
const mostPriorities = 2001

// prioritiesText seeks from each priority of a queue to the next.
const prioritiesText = `
	with recursive lanes (priority) as (
		select (select priority from belfry.jobs where queue = $1 and state = 'ready' order by priority desc limit 1)
		union all
		select (select j.priority from belfry.jobs j where j.queue = $1 and j.state = 'ready' and j.priority < lanes.priority order by j.priority desc limit 1)
		from lanes
		where lanes.priority is not null
	)
	select priority from lanes where priority is not null limit $2 + 0`

// agedReady reads the ready jobs of a queue that should be raised. Jobs of the highest priority are never raised.
func (s *Store) agedReady(ctx context.Context, q job.Queue, from agePosition, now time.Time) (to agePosition, a aging, more bool, err error) {
	seen := 0
	err = s.readByIndex(ctx, func(tx base.Tx) error {
		a.priorities, err = base.Collect(ctx, tx, scanSmall, prioritiesText, q.Name, mostPriorities)
		if err != nil || len(a.priorities) < 2 {
			return err
		}
		look := func(where string, args ...any) error {
			_, err := base.Collect(ctx, tx, func(rows base.Rows) (none struct{}, err error) {
				var id, turn, readyAt, dueAt, createdAt int64
				var priority, aged int
				if err := rows.Scan(&id, &priority, &turn, &aged, &readyAt, &dueAt, &createdAt); err != nil {
					return none, err
				}
				if seen++; len(a.ids) == ageBatch {
					return none, nil
				}
				if raised(q, priority, aged, a.above(priority), a.priorities[0], now.Sub(waitingSince(readyAt, dueAt, createdAt))) > aged {
					a.ids = append(a.ids, id)
				}
				to = agePosition{priority: priority, turn: turn, id: id, some: true}
				return none, nil
			}, `
				select id, priority, turn, aged, ready_at, due_at, created_at
				from belfry.jobs
				where queue = $1 and state = 'ready' and `+where+` and `+s.UnleasedOfMany()+` and kind not in ('cycle', 'workflow')
				order by priority desc, turn, id
				limit $2 + 0`, append([]any{q.Name, ageLook - seen}, args...)...)
			return err
		}
		behind := a.priorities[0]
		if from.some && from.priority < behind {
			behind = from.priority
			if err := look(`priority = $3 and (turn, id) > ($4, $5)`, from.priority, from.turn, from.id); err != nil {
				return err
			}
		}
		if seen == ageLook || len(a.ids) == ageBatch {
			return nil
		}
		return look(`priority < $3`, behind)
	})
	more = len(a.ids) == ageBatch
	if seen < ageLook && !more {
		to = agePosition{}
	}
	return to, a, more, err
}

// above returns the next higher priority; math.MaxInt if there is none.
func (a aging) above(priority int) int {
	above := math.MaxInt
	for _, p := range a.priorities { // the highest first
		if p <= priority {
			break
		}
		above = p
	}
	return above
}

func scanSmall(rows base.Rows) (n int, err error) { return n, rows.Scan(&n) }

// raise raises ready jobs of a queue. A raised job gets a turn after the jobs that already have its new priority.
func (s *Store) raise(ctx context.Context, q job.Queue, a aging) error {
	if len(a.ids) == 0 {
		return nil
	}
	slices.Sort(a.ids)
	return s.Write(ctx, "age", func(b *base.Change) (err error) {
		c := s.In(b)
		micros, _, err := base.First(c.Ctx, c.Tx, base.ScanInt, `select ageing from belfry.queues where name = $1`, q.Name)
		if q.Ageing = core.Duration(micros * 1000); err != nil || q.Ageing == 0 { // ageing was turned off since
			return err
		}
		// The jobs are locked before their leases are read: a claim that was under way has committed its leases by then. The
		// state is checked row by row, because a condition on it could make the planner walk along all ready jobs.
		locked, err := base.Collect(ctx, c.Tx, base.ScanInt, `
			select id
			from belfry.jobs
			where `+c.SQL.In("id", 1)+`
			order by id`+c.SQL.SkipLocked("jobs"), c.SQL.List(a.ids))
		if err != nil || len(locked) == 0 {
			return err
		}
		rows, err := c.toRaise(q, locked, a)
		if err != nil || len(rows) == 0 {
			return err
		}
		c.Wake(base.TopicQueue(q.Name)) // claims have skipped the locked jobs meanwhile
		return c.saveAged(rows, `, turn = t.turn`)
	})
}

// toRaise returns the locked jobs that are raised, with their new turns.
func (c *Change) toRaise(q job.Queue, locked []int64, a aging) ([]agedRow, error) {
	type waiting struct {
		turns.Entry
		since time.Time
		aged  int
	}
	special, err := c.s.queues.In(c.Change).Special([]string{q.Name}, nil)
	if err != nil {
		return nil, err
	}
	all, err := base.Collect(c.Ctx, c.Tx, func(rows base.Rows) (w *waiting, err error) {
		w = &waiting{Entry: turns.Entry{Job: &job.Job{}}}
		var input *string
		var readyAt, dueAt, createdAt int64
		j := w.Job
		err = rows.Scan(&j.ID, &j.Namespace, &j.Task, (*string)(&j.Kind), &j.Queue, &j.Priority, (*string)(&j.State), &input, &w.aged, &readyAt, &dueAt, &createdAt)
		j.Input, w.since = base.RawJSON(input), waitingSince(readyAt, dueAt, createdAt)
		w.Keep(special.Queues[q.Name])
		return w, err
	}, `
		select id, namespace, task, kind, queue, priority, state, input, aged, ready_at, due_at, created_at
		from belfry.jobs
		where `+c.SQL.In("id", 1)+` and `+c.s.Unleased(), c.SQL.List(locked))
	if err != nil {
		return nil, err
	}
	slices.SortFunc(all, func(a, b *waiting) int { // the longest wait gets the first turn
		return cmp.Or(a.since.Compare(b.since), cmp.Compare(a.Job.ID, b.Job.ID))
	})
	var rows []agedRow
	var entries []*turns.Entry
	for _, w := range all {
		j := w.Job
		aged := raised(q, j.Priority, w.aged, a.above(j.Priority), a.priorities[0], c.Now.Sub(w.since))
		if j.State != job.Ready || j.Queue != q.Name || aged <= w.aged {
			continue
		}
		j.Priority += aged - w.aged
		w.ReadyAt = base.Micros(c.Now) + int64(len(rows)) // after all jobs that claims have read, whenever this job became ready
		rows, entries = append(rows, agedRow{ID: j.ID, Priority: j.Priority, Aged: aged}), append(entries, &w.Entry)
	}
	if len(rows) == 0 {
		return nil, nil
	}
	if err := c.turns().Place(special.Queues, entries); err != nil {
		return nil, err
	}
	for i, e := range entries {
		rows[i].Turn = e.Turn
	}
	return rows, nil
}

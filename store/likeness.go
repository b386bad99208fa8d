package store

import (
	"slices"
	"sync"

	"github.com/belfry-run/belfry/job"
	"github.com/belfry-run/belfry/task"
)

// Most jobs of a queue are much like the one before: of its task, and new. So a
// claim has the database compare them with the last that it took, reads of those
// that are alike what is their own, and the others by a second statement. To read
// a column takes more than to compare it.

// likeness remembers of each queue a job that all of its last claim were like.
type likeness struct{ jobs sync.Map } // *jobRow by the queue's name

func (l *likeness) like(queue string) *jobRow {
	if v, ok := l.jobs.Load(queue); ok {
		return v.(*jobRow) //nolint:forcetypeassert // only note stores
	}
	return nil
}

// note is told of the jobs of a claim. Few are read soon enough as they are, and
// if the next differed from them it would have to be asked for twice.
func (l *likeness) note(queue string, rows []jobRow) {
	if len(rows) == 0 {
		return
	}
	like := rows[0]
	like.Input = nil // its own
	switch {
	case !like.fresh() || slices.ContainsFunc(rows, func(j jobRow) bool { return !j.likeOf(&like) }):
		l.jobs.Delete(queue)
	case len(rows) >= likeFrom:
		l.jobs.Store(queue, &like)
	}
}

// likeFrom is how many jobs of a claim are worth to be compared with.
const likeFrom = 10

// fresh reports that nothing has happened to a job, and that nothing but its
// task tells it from others.
func (j *jobRow) fresh() bool {
	return j.Reason == "" && j.Note == "" && j.Error == "" && j.Schedule == "" && j.ScheduleID == 0 && j.ActiveKey == "" && j.Key == "" &&
		j.Generation == 0 && j.Nominal.IsZero() && j.Attempt == 0 && j.Failures == 0 && j.Infra == 0 && j.Snoozes == 0 && j.Lease == 0
}

// likeOf reports that two jobs differ in their own alone.
func (j *jobRow) likeOf(o *jobRow) bool {
	return j.fresh() && j.Namespace == o.Namespace && j.TaskID == o.TaskID && j.Task == o.Task && j.Kind == o.Kind && j.Queue == o.Queue &&
		j.Priority == o.Priority && j.Trigger == o.Trigger && j.MaxAttempts == o.MaxAttempts && j.Timeout == o.Timeout && slices.Equal(j.Tags, o.Tags)
}

// selectLike is selectReady of jobs that may be like another. It adds its
// parameters to args.
func selectLike(like *jobRow, args []any) (string, []any) {
	w := &where{args: args}
	w.and("namespace = ?", like.Namespace)
	w.and("task_id = ?", like.TaskID)
	w.and("task = ?", like.Task)
	w.and("kind = ?", string(like.Kind))
	w.and("queue = ?", like.Queue)
	w.and("priority = ?", like.Priority)
	w.and("origin = ?", string(like.Trigger))
	w.and("tags = ?", joinTags(like.Tags))
	w.and("max_attempts = ?", like.MaxAttempts)
	w.and("timeout = ?", like.Timeout.D().Microseconds())
	return `
		select id, input, due_at, created_at, ready_at, case when ` + w.sql() + `
			and reason = '' and note = '' and error = '' and schedule = '' and active_key is null and idem_key = ''
			and schedule_id | generation | nominal | attempt | failures | infra | snoozes | lease = 0 then 2
			when ` + readyShares + ` then 1 else 0 end as same, timeout
		from belfry.jobs`, w.args
}

// scanLike scans what selectLike reads, and more columns behind those of each.
// Of a job that differs that is only its id, and [change.others] has to follow.
func scanLike(like *jobRow, differ *[]int64, more ...any) func(Rows, *jobRow) error {
	var input *string
	var id, dueAt, createdAt, readyAt, same int64
	places := append([]any{&id, &input, &dueAt, &createdAt, &readyAt, &same, new(int64)}, more...)
	return func(rows Rows, j *jobRow) error {
		input = nil
		err := rows.Scan(places...)
		*j = *like
		j.ID, j.State, j.Input, j.Tags = id, job.Ready, rawJSON(input), slices.Clone(like.Tags)
		j.DueAt, j.CreatedAt, j.readyAt = instant(dueAt), instant(createdAt), readyAt
		if same < 2 {
			*differ = append(*differ, id)
		}
		return err
	}
}

// others reads those of the jobs that differ from what they were taken for.
func (c *change) others(rows []jobRow, differ []int64) error {
	if len(differ) == 0 {
		return nil
	}
	others, err := collectInto(c.ctx, c.tx, nil, scanReady(), selectReady+` where `+c.sql.In("id", 1), c.sql.List(differ))
	byID := make(map[int64]int, len(others))
	for i := range others {
		byID[others[i].ID] = i
	}
	for i := range rows {
		if k, ok := byID[rows[i].ID]; ok {
			rows[i] = others[k]
		}
	}
	return err
}

// pick reads ready jobs, in the order of the query behind the columns.
func (c *change) pick(rows []jobRow, like *jobRow, query func(columns string) string, args []any) ([]jobRow, error) {
	if like == nil {
		return collectInto(c.ctx, c.tx, rows, scanReady(), query(selectReady), args...)
	}
	var differ []int64
	columns, args := selectLike(like, args)
	rows, err := collectInto(c.ctx, c.tx, rows, scanLike(like, &differ), query(columns), args...)
	if err != nil {
		return rows, err
	}
	return rows, c.others(rows, differ)
}

// readyShares is the condition that the lease of a job may share a row with
// others, on what [selectReady] reads: nothing follows from its end.
const readyShares = `kind <> 'program' and schedule_id = 0 and origin = 'enqueue'`

// shares is the same on what [selectLike] reads.
func (j *jobRow) shares() string {
	if j.Kind == task.KindProgram || j.Trigger != job.TriggerEnqueue {
		return "same = 1"
	}
	return "same > 0"
}

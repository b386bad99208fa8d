package jobs

import (
	"slices"
	"sync"

	"github.com/belfry-run/belfry/job"
	"github.com/belfry-run/belfry/store/base"
	"github.com/belfry-run/belfry/task"
)

// Most jobs of a queue are much like the one before: of its task, and new. So a
// claim has the database compare them with the last that it took, reads of those
// that are alike what is their own, and the others by a second statement. To read
// a column takes more than to compare it.

// likeness remembers of each queue a job that all of its last claim were like.
type likeness struct{ jobs sync.Map } // *jobRow by the queue's name

func (l *likeness) like(queue string) *JobRow {
	if v, ok := l.jobs.Load(queue); ok {
		return v.(*JobRow) //nolint:forcetypeassert // only note stores
	}
	return nil
}

// note is told of the jobs of a claim. Few are read soon enough as they are, and
// if the next differed from them it would have to be asked for twice.
func (l *likeness) note(queue string, rows []JobRow) {
	if len(rows) == 0 {
		return
	}
	like := rows[0]
	like.Input = nil // its own
	switch {
	case !like.fresh() || slices.ContainsFunc(rows, func(j JobRow) bool { return !j.likeOf(&like) }):
		l.jobs.Delete(queue)
	case len(rows) >= likeFrom:
		l.jobs.Store(queue, &like)
	}
}

// likeFrom is how many jobs of a claim are worth to be compared with.
const likeFrom = 10

// fresh reports that nothing has happened to a job, and that nothing but its
// task tells it from others.
func (j *JobRow) fresh() bool {
	return j.Reason == "" && j.Note == "" && j.Error == "" && j.Schedule == "" && j.ScheduleID == 0 && j.ActiveKey == "" && j.Key == "" &&
		j.Generation == 0 && j.Nominal.IsZero() && j.Attempt == 0 && j.Failures == 0 && j.Infra == 0 && j.Snoozes == 0 && j.Lease == 0
}

// likeOf reports that two jobs differ in their own alone.
func (j *JobRow) likeOf(o *JobRow) bool {
	return j.fresh() && j.Namespace == o.Namespace && j.TaskID == o.TaskID && j.Task == o.Task && j.Kind == o.Kind && j.Queue == o.Queue &&
		j.Priority == o.Priority && j.Trigger == o.Trigger && j.MaxAttempts == o.MaxAttempts && j.Timeout == o.Timeout && slices.Equal(j.Tags, o.Tags)
}

// selectLike is selectReady of jobs that may be like another. It adds its
// parameters to args.
func selectLike(like *JobRow, args []any) (string, []any) {
	w := &base.Where{Args: args}
	w.And("namespace = ?", like.Namespace)
	w.And("task_id = ?", like.TaskID)
	w.And("task = ?", like.Task)
	w.And("kind = ?", string(like.Kind))
	w.And("queue = ?", like.Queue)
	w.And("priority = ?", like.Priority)
	w.And("origin = ?", string(like.Trigger))
	w.And("tags = ?", base.JoinTags(like.Tags))
	w.And("max_attempts = ?", like.MaxAttempts)
	w.And("timeout = ?", like.Timeout.D().Microseconds())
	return `
		select id, input, due_at, created_at, ready_at, case when ` + w.Sql() + `
			and reason = '' and note = '' and error = '' and schedule = '' and active_key is null and idem_key = ''
			and schedule_id | generation | nominal | attempt | failures | infra | snoozes | lease = 0 then 2
			when ` + readyShares + ` then 1 else 0 end as same, timeout
		from belfry.jobs`, w.Args
}

// scanLike scans what selectLike reads, and more columns behind those of each.
// Of a job that differs that is only its id, and [base.Change.others] has to follow.
func scanLike(like *JobRow, differ *[]int64, more ...any) func(base.Rows, *JobRow) error {
	var input *string
	var id, dueAt, createdAt, readyAt, same int64
	places := append([]any{&id, &input, &dueAt, &createdAt, &readyAt, &same, new(int64)}, more...)
	return func(rows base.Rows, j *JobRow) error {
		input = nil
		err := rows.Scan(places...)
		*j = *like
		j.ID, j.State, j.Input, j.Tags = id, job.Ready, base.RawJSON(input), slices.Clone(like.Tags)
		j.DueAt, j.CreatedAt, j.readyAt = base.Instant(dueAt), base.Instant(createdAt), readyAt
		if same < 2 {
			*differ = append(*differ, id)
		}
		return err
	}
}

// others reads those of the jobs that differ from what they were taken for.
func (c *Change) others(rows []JobRow, differ []int64) error {
	if len(differ) == 0 {
		return nil
	}
	others, err := base.CollectInto(c.Ctx, c.Tx, nil, ScanReady(), SelectReady+` where `+c.SQL.In("id", 1), c.SQL.List(differ))
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
func (c *Change) pick(rows []JobRow, like *JobRow, query func(columns string) string, args []any) ([]JobRow, error) {
	if like == nil {
		return base.CollectInto(c.Ctx, c.Tx, rows, ScanReady(), query(SelectReady), args...)
	}
	var differ []int64
	columns, args := selectLike(like, args)
	rows, err := base.CollectInto(c.Ctx, c.Tx, rows, scanLike(like, &differ), query(columns), args...)
	if err != nil {
		return rows, err
	}
	return rows, c.others(rows, differ)
}

// readyShares is the condition that the lease of a job may share a row with
// others, on what [SelectReady] reads: nothing follows from its end.
const readyShares = `kind <> 'program' and schedule_id = 0 and origin = 'enqueue'`

// shares is the same on what [selectLike] reads.
func (j *JobRow) shares() string {
	if j.Kind == task.KindProgram || j.Trigger != job.TriggerEnqueue {
		return "same = 1"
	}
	return "same > 0"
}

// Package newjobs inserts the rows of new jobs. [Insert] writes a part of a batch with one statement, and [Move] corrects the rows whose
// state was decided only after the insertion. Packages jobs and schedules use it, within their own transactions.
package newjobs

import (
	"slices"

	"github.com/belfry-run/belfry/job"
	"github.com/belfry-run/belfry/store/base"
)

// Row is a new job in a batch.
type Row struct {
	ID          int64   `json:"id"`
	Namespace   string  `json:"namespace"`
	TaskID      int64   `json:"task_id"`
	Task        string  `json:"task"`
	Kind        string  `json:"kind"`
	Queue       string  `json:"queue"`
	Priority    int     `json:"priority"`
	State       string  `json:"state"`
	Input       *string `json:"input"`
	Tags        string  `json:"tags"`
	Trigger     string  `json:"trigger"`
	Schedule    string  `json:"schedule"`
	ScheduleID  int64   `json:"schedule_id"`
	Generation  int64   `json:"generation"`
	Nominal     int64   `json:"nominal"`
	DueAt       int64   `json:"due_at"`
	ReadyAt     int64   `json:"ready_at"`
	Turn        int64   `json:"turn"`
	CreatedAt   int64   `json:"created_at"`
	MaxAttempts int     `json:"max_attempts"`
	Timeout     int64   `json:"timeout"`
	ActiveKey   *string `json:"active_key"`
	IdemKey     string  `json:"idem_key"`
	Requirement int64   `json:"requirement"`
	Limited     int     `json:"limited"`
	Reason      string  `json:"reason"`
	Metered     int     `json:"metered"`
	Bounded     int     `json:"bounded"`
}

// RowOf returns the row of a job, without the values that the database sets.
func RowOf(j *job.Job, taskID int64) Row {
	r := Row{
		ID: j.ID, Namespace: j.Namespace, TaskID: taskID, Task: j.Task, Kind: string(j.Kind), Queue: j.Queue, Priority: j.Priority,
		State: string(j.State), Input: base.JsonText(j.Input), Tags: base.JoinTags(j.Tags), Trigger: string(j.Trigger),
		Schedule: j.Schedule, ScheduleID: j.ScheduleID, Generation: j.Generation, Nominal: base.Micros(j.Nominal),
		DueAt: base.Micros(j.DueAt), CreatedAt: base.Micros(j.CreatedAt), MaxAttempts: j.MaxAttempts, Timeout: j.Timeout.D().Microseconds(), IdemKey: j.Key, Reason: string(j.Reason),
	}
	if j.ActiveKey != "" {
		r.ActiveKey = &j.ActiveKey
	}
	return r
}

// partBytes bounds the inputs that one statement sends.
const partBytes = 1 << 20

// Parts splits a batch into parts of up to partBytes of inputs, or one job. PostgreSQL ends a transaction whose next statement does
// not arrive within 5 s, as if its node was frozen: a statement of 20 MB took longer from a busy machine.
func Parts(rows []Row) (parts [][]Row) {
	begin, size := 0, 0
	for i := range rows {
		of := 0
		if rows[i].Input != nil {
			of = len(*rows[i].Input)
		}
		if size += of; size > partBytes && i > begin {
			parts = append(parts, rows[begin:i])
			begin, size = i, of
		}
	}
	return append(parts, rows[begin:])
}

// Insert returns the statement that inserts new jobs, and its parameters.
func Insert(d base.Dialect, rows []Row) (insert string, args []any) {
	from, args := table(d, rows)
	return `
		insert into belfry.jobs (id, namespace, task_id, task, kind, queue, priority, state, input, tags, trigger, schedule, schedule_id,
			generation, nominal, due_at, ready_at, turn, created_at, max_attempts, timeout, active_key, idem_key, requirement, limited, reason, metered, bounded)
		select id, namespace, task_id, task, kind, queue, priority, state, input, tags, trigger, schedule, schedule_id,
			generation, nominal, due_at, ready_at, turn, created_at, max_attempts, timeout, active_key, idem_key, requirement, limited, reason, metered, bounded
		from ` + from + `
		where true`, args
}

// table returns a from-item of new jobs and its parameters. Jobs of most batches have one task and differ only in their input,
// so their common values are sent once.
func table(d base.Dialect, rows []Row) (from string, args []any) {
	if len(rows) == 1 || slices.ContainsFunc(rows, func(r Row) bool { return !r.likeOf(rows[0]) }) {
		return base.Spread(d, 1, rows)
	}
	own := make([]ownRow, len(rows))
	for i := range rows {
		own[i] = ownRow{rows[i].ID, rows[i].Input}
	}
	shared, args := base.Constants(1, rows[0], "id", "input")
	table, batch := d.Table(len(args)+1, "t", base.BatchOf(own))
	return "(select id, input, " + shared + " from " + table + ") as t", append(args, batch...)
}

// ownRow holds the values of a new job that differ within a batch of similar jobs.
type ownRow struct {
	ID    int64   `json:"id"`
	Input *string `json:"input"`
}

// likeOf reports that two rows differ only in the values of ownRow.
func (r Row) likeOf(o Row) bool {
	r.ID, r.Input = o.ID, o.Input
	return r == o
}

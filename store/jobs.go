package store

import (
	"context"
	"encoding/json"
	"slices"
	"sort"
	"strconv"
	"strings"

	"github.com/belfry-run/belfry"
)

// jobColumns are the columns that a live job and a finished one share.
const jobColumns = `id, namespace, task_id, task, kind, queue, priority, state, reason, note, error, input, tags, origin,
	schedule, schedule_id, generation, nominal, due_at, created_at, claimed_at, deadline_at, cancel_at,
	attempt, failures, snoozes, max_attempts, timeout, lease, session, active_key, idem_key`

const (
	selectLive = `select ` + jobColumns + `, 0, null from jobs`
	selectDone = `select ` + jobColumns + `, finished_at, output from jobs_done`
)

// jobRow is a job with what only the store needs.
type jobRow struct {
	belfry.Job
	TaskID int64
}

func scanJob(rows Rows) (j jobRow, err error) {
	var tags, activeKey json.RawMessage
	var timeout int64
	err = rows.Scan(&j.ID, &j.Namespace, &j.TaskID, &j.Task, &j.Kind, &j.Queue, &j.Priority, &j.State, &j.Reason, &j.Note, &j.Error,
		scanJSON{&j.Input}, scanJSON{&tags}, &j.Trigger,
		&j.Schedule, &j.ScheduleID, &j.Generation, scanTime{&j.Nominal}, scanTime{&j.DueAt}, scanTime{&j.CreatedAt},
		scanTime{&j.ClaimedAt}, scanTime{&j.DeadlineAt}, scanTime{&j.CancelAt},
		&j.Attempt, &j.Failures, &j.Snoozes, &j.MaxAttempts, &timeout, &j.Lease, &j.Session, scanJSON{&activeKey}, &j.Key,
		scanTime{&j.FinishedAt}, scanJSON{&j.Output})
	j.Timeout = belfry.Duration(timeout * 1000)
	j.ActiveKey = string(activeKey)
	j.Tags = splitTags(string(tags))
	return j, err
}

// Tags are kept as one text, with a comma on both ends so that one of them can
// be found by its whole name.
func joinTags(tags []string) string {
	if len(tags) == 0 {
		return ""
	}
	return "," + strings.Join(tags, ",") + ","
}

func splitTags(s string) []string {
	if s == "" {
		return nil
	}
	return strings.Split(strings.Trim(s, ","), ",")
}

// idTable is a batch of ids as a from-item.
func (s *Store) idTable(n int) string { return s.sql.Table(n, "t", Col{"id", Int}) }

type idOnly struct {
	ID int64 `json:"id"`
}

func idRows(ids []int64) string {
	rows := make([]idOnly, len(ids))
	for i, id := range ids {
		rows[i].ID = id
	}
	return text(rows)
}

// jobsByID finds jobs, live or finished, in the order of their ids.
func (s *Store) jobsByID(ctx context.Context, tx Tx, ids []int64) ([]jobRow, error) {
	if len(ids) == 0 {
		return nil, nil
	}
	in := ` where id in (select id from ` + s.idTable(1) + `)`
	live, err := collect(ctx, tx, scanJob, selectLive+in, idRows(ids))
	if err != nil {
		return nil, err
	}
	if len(live) < len(ids) {
		done, err := collect(ctx, tx, scanJob, selectDone+in, idRows(ids))
		if err != nil {
			return nil, err
		}
		live = append(live, done...)
	}
	slices.SortFunc(live, func(a, b jobRow) int { return int(a.ID - b.ID) })
	return live, nil
}

func noJob(id int64) error {
	return belfry.Errorf(belfry.NotFound, "no job %d", id).
		WithHint("it may be older than retention; see: belfry job list")
}

func (s *Store) job(ctx context.Context, tx Tx, namespace string, id int64) (jobRow, error) {
	found, err := s.jobsByID(ctx, tx, []int64{id})
	if err != nil {
		return jobRow{}, err
	}
	if len(found) == 0 || namespace != belfry.AnyNamespace && found[0].Namespace != namespace {
		return jobRow{}, noJob(id)
	}
	return found[0], nil
}

// Job is one job, live or finished.
func (s *Store) Job(ctx context.Context, namespace string, id int64) (j belfry.Job, err error) {
	err = s.db.Read(ctx, func(tx Tx) error {
		row, err := s.job(ctx, tx, namespace, id)
		j = row.Job
		return err
	})
	return j, err
}

// Jobs lists jobs, newest first.
func (s *Store) Jobs(ctx context.Context, f belfry.JobFilter) (p belfry.Page[belfry.Job], err error) {
	if err := f.Validate(); err != nil {
		return p, err
	}
	before, err := decodeIDCursor(f.Cursor)
	if err != nil {
		return p, err
	}
	limit := f.Bound()
	err = s.db.Read(ctx, func(tx Tx) error {
		rows, err := s.findJobs(ctx, tx, f, before, limit+1, "desc")
		if err != nil {
			return err
		}
		jobs := make([]belfry.Job, len(rows))
		for i, r := range rows {
			jobs[i] = r.Job
		}
		p = page(jobs, limit, func(last belfry.Job) string { return encodeCursor(strconv.FormatInt(last.ID, 10)) })
		return nil
	})
	return p, err
}

// findJobs reads both tables, each in its own order and no further than the
// limit, and merges. With order asc, beyond is the id to begin after.
func (s *Store) findJobs(ctx context.Context, tx Tx, f belfry.JobFilter, beyond int64, limit int, order string) ([]jobRow, error) {
	var live, final []belfry.JobState
	for _, st := range f.States {
		if st.Final() {
			final = append(final, st)
		} else {
			live = append(live, st)
		}
	}
	var all []jobRow
	for _, part := range []struct {
		from   string
		states []belfry.JobState
	}{{selectLive, live}, {selectDone, final}} {
		if len(f.States) > 0 && len(part.states) == 0 {
			continue
		}
		w := jobWhere(f, part.states)
		if beyond > 0 && order == "desc" {
			w.and("id < ?", beyond)
		} else if beyond > 0 {
			w.and("id > ?", beyond)
		}
		rows, err := collect(ctx, tx, scanJob, part.from+` where `+w.sql()+` order by id `+order+` limit `+strconv.Itoa(limit), w.args...)
		if err != nil {
			return nil, err
		}
		all = append(all, rows...)
	}
	sort.Slice(all, func(i, k int) bool { return (all[i].ID > all[k].ID) == (order == "desc") })
	return all[:min(len(all), limit)], nil
}

func jobWhere(f belfry.JobFilter, states []belfry.JobState) *where {
	w := &where{}
	if f.Namespace == "" {
		f.Namespace = belfry.DefaultNamespace
	}
	w.namespace("namespace", f.Namespace)
	if len(states) > 0 {
		quoted := make([]string, len(states))
		for i, st := range states {
			quoted[i] = "'" + string(st) + "'" // validated: one of our own words, so that partial indexes apply
		}
		if len(quoted) == 1 { // SQLite does not see that a list of one is that one
			w.conds = append(w.conds, "state = "+quoted[0])
		} else {
			w.conds = append(w.conds, "state in ("+strings.Join(quoted, ", ")+")")
		}
	}
	if f.Task != "" {
		w.and("task = ?", f.Task)
	}
	if f.Schedule != "" {
		w.and("schedule = ?", f.Schedule)
		w.conds = append(w.conds, "schedule_id > 0")
	}
	if f.Queue != "" {
		w.and("queue = ?", f.Queue)
	}
	if f.Tag != "" {
		w.and("replace(tags, ?, '') <> tags", ","+f.Tag+",")
	}
	if !f.Since.IsZero() {
		w.and("created_at >= ?", micros(f.Since))
	}
	if !f.Until.IsZero() {
		w.and("created_at < ?", micros(f.Until))
	}
	return w
}

// Attempts lists the ended attempts of a job, oldest first.
func (s *Store) Attempts(ctx context.Context, namespace string, id int64) (all []belfry.Attempt, err error) {
	err = s.db.Read(ctx, func(tx Tx) error {
		if _, err := s.job(ctx, tx, namespace, id); err != nil {
			return err
		}
		all, err = collect(ctx, tx, scanAttempt, `
			select job_id, number, lease, session, worker, claimed_at, started_at, ended_at, outcome, error, exit_code, signal, log_cut
			from attempts
			where job_id = $1
			order by number, lease`, id)
		return err
	})
	if all == nil {
		all = []belfry.Attempt{}
	}
	return all, err
}

func scanAttempt(rows Rows) (a belfry.Attempt, err error) {
	var exit *int64
	var cut int64
	err = rows.Scan(&a.JobID, &a.Number, &a.Lease, &a.Session, &a.Worker, scanTime{&a.ClaimedAt}, scanTime{&a.StartedAt}, scanTime{&a.EndedAt},
		&a.Outcome, &a.Error, &exit, &a.Signal, &cut)
	if exit != nil {
		code := int(*exit)
		a.ExitCode = &code
	}
	a.LogCut = cut != 0
	return a, err
}

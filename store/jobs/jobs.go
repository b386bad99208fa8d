package jobs

import (
	"context"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/belfry-run/belfry/core"
	"github.com/belfry-run/belfry/job"
	"github.com/belfry-run/belfry/store/base"
	"github.com/belfry-run/belfry/store/marks"
	"github.com/belfry-run/belfry/task"
)

// SelectLive reads live jobs with their leases; selectHeld reads live jobs whose leases are not in packs. SelectReady reads jobs
// without leases; it combines the counters, which are 0 for most jobs, into one text. SelectDone reads finished jobs.
// A live job is running if it has a lease; job_id is not null then.
const (
	SelectLive = SelectLeased + `
		from belfry.live`
	selectHeld = SelectLeased + `
		from belfry.jobs
		left join belfry.leases on job_id = id`
	SelectLeased = `
		select id, namespace, task_id, task, kind, queue, priority - aged, case when job_id is null then state else 'running' end,
			reason, case when cancel_at > 0 then cancel_note else note end, error, input, tags, trigger, schedule, schedule_id, generation, nominal,
			due_at, created_at, coalesce(claimed_at, 0), coalesce(deadline_at, 0), coalesce(cancel_at, 0),
			case when job_id is null then attempt else attempt + 1 end, failures, infra, snoozes, max_attempts, timeout,
			coalesce(number, lease), coalesce(session, ''), active_key, idem_key, 0, null, coalesce(ahead, 0), limited, aged`
	SelectReady = `
		select id, namespace, task_id, task, kind, queue, priority, reason, note, error, input, tags, trigger, schedule, schedule_id,
			due_at, created_at, max_attempts, timeout, active_key, idem_key, turn,
			case when generation | nominal | attempt | failures | infra | snoozes | lease | aged = 0 then case when limited = 0 then null else '0,0,0,0,0,0,0,1,0' end
				else generation || ',' || nominal || ',' || attempt || ',' || failures || ',' || infra || ',' || snoozes || ',' || lease || ',' || limited || ',' || aged end as numbers
		from belfry.jobs`
	SelectDone = `
		select id, namespace, task_id, task, kind, queue, priority, state, reason, note, error, input, tags, trigger, schedule, schedule_id,
			generation, nominal, due_at, created_at, claimed_at, 0, cancel_at, attempt, failures, infra, snoozes, max_attempts, timeout,
			lease, session, active_key, idem_key, finished_at, output, 0, limited, 0
		from belfry.jobs_done`
)

var values = strings.NewReplacer(" input,", " null,", " output,", " null,")

// HeadsOf returns one of these queries without the inputs and outputs of jobs, which may be large.
func HeadsOf(query string) string { return values.Replace(query) }

// DoneColumns are the columns of a finished job, in the order in which statements write them.
const DoneColumns = `id, namespace, task_id, task, kind, queue, priority, state, reason, note, error, input, tags, trigger,
	schedule, schedule_id, generation, nominal, due_at, created_at, claimed_at, cancel_at,
	attempt, failures, snoozes, max_attempts, timeout, lease, session, active_key, idem_key, finished_at, output,
	outcome, worker, started_at, exit_code, signal, log_cut, infra, limited`

// JobRow is a job with the fields that only the store needs.
type JobRow struct {
	job.Job
	TaskID  int64
	Limited bool // the job is under limit keys

	turn        int64            // of a job that was read to be claimed; its Priority includes ageing
	dropped     bool             // its input was read, and had no room in the claim
	requirement task.Requirement // of a new job
	gates       []job.Gate       // of a new job
}

// ScanJob reads one row of the columns of a job.
func ScanJob(rows base.Rows) (j JobRow, err error) {
	var t jobTexts
	var claimed, deadline, cancel, finished, ahead, limited int64
	err = rows.Scan(&j.ID, &j.Namespace, &j.TaskID, &j.Task, (*string)(&j.Kind), &j.Queue, &j.Priority, (*string)(&j.State),
		(*string)(&j.Reason), &j.Note, &j.Error, &t.input, &t.tags, (*string)(&j.Trigger), &j.Schedule, &j.ScheduleID, &j.Generation,
		&t.nominal, &t.dueAt, &t.createdAt, &claimed, &deadline, &cancel, &j.Attempt, &j.Failures, &j.Infra, &j.Snoozes, &j.MaxAttempts, &t.timeout,
		&j.Lease, &j.Session, &t.activeKey, &j.Key, &finished, &t.output, &ahead, &limited, &j.Aged)
	j.Ahead, j.Limited = ahead != 0, limited != 0
	j.ClaimedAt, j.DeadlineAt, j.CancelAt, j.FinishedAt = base.Instant(claimed), base.Instant(deadline), base.Instant(cancel), base.Instant(finished)
	t.complete(&j)
	return j, err
}

// ScanReady scans ready jobs, and more columns after those of each job. A claim reads many rows, so all of them use the same
// scan destinations. Inputs without room are dropped; room may be nil.
func ScanReady(room *marks.Room, more ...any) func(base.Rows, *JobRow) error {
	var j JobRow
	var t jobTexts
	var numbers *string
	places := append([]any{&j.ID, &j.Namespace, &j.TaskID, &j.Task, (*string)(&j.Kind), &j.Queue, &j.Priority,
		(*string)(&j.Reason), &j.Note, &j.Error, &t.input, &t.tags, (*string)(&j.Trigger), &j.Schedule, &j.ScheduleID,
		&t.dueAt, &t.createdAt, &j.MaxAttempts, &t.timeout, &t.activeKey, &j.Key, &j.turn, &numbers}, more...)
	return func(rows base.Rows, row *JobRow) error {
		j, t, numbers = JobRow{}, jobTexts{}, nil
		err := rows.Scan(places...)
		if err == nil && numbers != nil {
			err = t.count(&j, *numbers)
		}
		*row = j
		row.State = job.Ready
		t.complete(row)
		if row.dropped = !room.Takes(len(row.Input)); row.dropped {
			row.Input = nil
		}
		return err
	}
}

// jobTexts are the columns of a job that are stored in another form than [job.Job] has.
type jobTexts struct {
	input, activeKey, output           *string
	tags                               string
	nominal, dueAt, createdAt, timeout int64
}

func (t *jobTexts) complete(j *JobRow) {
	j.Input, j.Output = base.RawJSON(t.input), base.RawJSON(t.output)
	j.Tags = splitTags(t.tags)
	j.Nominal, j.DueAt, j.CreatedAt = base.Instant(t.nominal), base.Instant(t.dueAt), base.Instant(t.createdAt)
	j.Timeout = core.Duration(t.timeout * 1000)
	if t.activeKey != nil {
		j.ActiveKey = *t.activeKey
	}
}

// count parses the counters of [SelectReady].
func (t *jobTexts) count(j *JobRow, numbers string) error {
	var all [9]int64
	parts := strings.Split(numbers, ",")
	for i := range all {
		var err error
		if len(parts) != len(all) {
			return fmt.Errorf("%d numbers of a job", len(parts))
		}
		if all[i], err = strconv.ParseInt(parts[i], 10, 64); err != nil {
			return fmt.Errorf("a number of a job: %w", err)
		}
	}
	j.Generation, t.nominal, j.Attempt, j.Failures = all[0], all[1], int(all[2]), int(all[3])
	j.Infra, j.Snoozes, j.Lease, j.Limited, j.Aged = int(all[4]), int(all[5]), all[6], all[7] != 0, int(all[8])
	return nil
}

func splitTags(s string) []string {
	if s == "" {
		return nil
	}
	return strings.Split(strings.Trim(s, ","), ",")
}

// JobsByID finds jobs, live or finished, in the order of their ids. A job may end or be retried between two queries, so jobs that
// were found in neither table are looked for among the live jobs once more.
func (s *Store) JobsByID(ctx context.Context, tx base.Tx, ids []int64) (found []JobRow, err error) {
	seen := make(map[int64]bool, len(ids))
	looks := []string{SelectLive, SelectDone, SelectLive}
	for left := ids; len(looks) > 0 && len(left) > 0; looks = looks[1:] {
		rows, err := base.Collect(ctx, tx, ScanJob, looks[0]+` where `+s.SQL.In("id", 1), s.SQL.List(left))
		if err != nil {
			return nil, err
		}
		for _, j := range rows {
			seen[j.ID] = true
		}
		found = append(found, rows...)
		left = slices.DeleteFunc(slices.Clone(left), func(id int64) bool { return seen[id] })
	}
	slices.SortFunc(found, func(a, b JobRow) int { return int(a.ID - b.ID) })
	return found, nil
}

func noJob(id int64) error {
	return core.Errorf(core.NotFound, "no job %d", id).
		WithHint("it may be older than retention; see: belfry job list")
}

// ReadJob reads a job, active or ended. A job of another namespace fails with [core.NotFound], as a missing one does.
func (s *Store) ReadJob(ctx context.Context, tx base.Tx, namespace string, id int64) (JobRow, error) {
	found, err := s.JobsByID(ctx, tx, []int64{id})
	if err != nil {
		return JobRow{}, err
	}
	if len(found) == 0 || namespace != core.AnyNamespace && found[0].Namespace != namespace {
		return JobRow{}, noJob(id)
	}
	return found[0], nil
}

// LastAttempt are the columns of a finished job that describe its last attempt.
const LastAttempt = `id, attempt, lease, session, worker, claimed_at, started_at, finished_at, outcome, error, exit_code, signal, log_cut`

package windows

import (
	"time"

	"github.com/belfry-run/belfry/job"
	"github.com/belfry-run/belfry/store/base"
	"github.com/belfry-run/belfry/store/keys"
)

// sharedJob is the job that debounced requests share.
type sharedJob struct {
	id      int64     // of the job
	there   bool      // the job existed before this batch
	first   time.Time // time of the first request
	last    time.Time // time of the last request before this batch
	places  []int     // requests of this batch, in order
	asked   Request   // the last request
	due     time.Time
	was     time.Time // due time before this batch
	joined  int64
	blocked bool // the job was not created, because another one has its active key
}

// shareJobs finds the jobs of debounced requests, and computes when they start.
func (t *Taken) shareJobs(requests []Request) error {
	named := map[[2]string]*sharedJob{}
	var perhaps []int64
	for i, r := range requests {
		if r.Window.Debounce == nil {
			continue
		}
		name := [2]string{r.Namespace, r.Window.Name}
		s := named[name]
		if s == nil {
			s = &sharedJob{id: r.ID}
			if id, is := t.Instead[i]; is {
				s.id = id
				perhaps = append(perhaps, id)
			}
			named[name] = s
			t.shares = append(t.shares, s)
		}
		s.places, s.asked, t.of[i] = append(s.places, i), r, s
	}
	if len(t.shares) == 0 {
		return nil
	}
	if err := t.lockWaiting(perhaps); err != nil {
		return err
	}
	var moved []keys.Row
	for _, s := range t.shares {
		first := requests[s.places[0]]
		claimed := s.id
		if !s.there {
			s.id, s.first = first.ID, t.c.Now
		}
		s.due = startOf(s, t.c.Now)
		for _, i := range s.places {
			if t.Instead[i] = s.id; !s.there && i == s.places[0] {
				delete(t.Instead, i)
			}
		}
		if !s.there {
			copyRequest(first.Job, s.asked.Job, s.due)
		}
		if s.there || s.id != claimed || !s.due.Equal(t.c.Now.Add(first.Window.Length)) {
			moved = append(moved, keys.Row{Namespace: first.Namespace, Name: first.Window.Name, JobID: s.id, ExpiresAt: base.Micros(s.due)})
		}
	}
	return keys.Move(t.c, moved)
}

// startOf returns the start of a shared job. It is not before the start that the last request asks for.
func startOf(s *sharedJob, now time.Time) time.Time {
	last := now
	if s.last.After(last) { // another node made a request while this one waited
		last = s.last
	}
	due := s.asked.Window.Debounce.StartAt(s.first, last)
	if s.asked.DueAt.After(due) {
		due = s.asked.DueAt
	}
	return due
}

// copyRequest copies the request of a later job to a new job.
func copyRequest(j, last *job.Job, due time.Time) {
	j.Input, j.Tags, j.Priority, j.MaxAttempts, j.Timeout = last.Input, last.Tags, last.Priority, last.MaxAttempts, last.Timeout
	j.DueAt, j.State = due, job.Scheduled
}

// waits is the condition for jobs that wait for their start. Workflow and cycle runs in progress wait too, and so do jobs that
// wait for a limit. Of the waiting jobs, only a program that waits for its upload still has its start ahead.
const waits = `attempt = 0 and (state = 'scheduled' or state = 'waiting' and kind = 'program' and limited = 0)`

// lockWaiting locks the jobs that still wait for their windows: none of them starts until the transition ends.
func (t *Taken) lockWaiting(ids []int64) error {
	if len(ids) == 0 {
		return nil
	}
	type found struct{ id, first, due, last int64 }
	all, err := base.Collect(t.c.Ctx, t.c.Tx, func(rows base.Rows) (f found, err error) {
		return f, rows.Scan(&f.id, &f.first, &f.due, &f.last)
	}, `
		select id, created_at, due_at, coalesce((select last_at from belfry.debounced d where d.job_id = j.id), 0)
		from belfry.jobs j
		where `+t.c.SQL.In("id", 1)+` and `+waits+`
		order by id`+t.c.SQL.ForUpdate("j"), t.c.SQL.List(ids))
	if err != nil {
		return err
	}
	byID := make(map[int64]found, len(all))
	for _, f := range all {
		byID[f.id] = f
	}
	for _, s := range t.shares {
		if f, is := byID[s.id]; is {
			s.there, s.first, s.was, s.last = true, base.Instant(f.first), base.Instant(f.due), base.Instant(f.last)
		}
	}
	return nil
}

// There returns the jobs of this batch that existed before, and that [Taken.Finish] changes.
func (t *Taken) There() (ids []int64) {
	for _, s := range t.shares {
		if s.there {
			ids = append(ids, s.id)
		}
	}
	return ids
}

// change is the update of an existing job in a batch.
type change struct {
	ID          int64   `json:"id"`
	Priority    int     `json:"priority"`
	Input       *string `json:"input"`
	Tags        string  `json:"tags"`
	DueAt       int64   `json:"due_at"`
	MaxAttempts int     `json:"max_attempts"`
	Timeout     int64   `json:"timeout"`
}

// joining is the number of requests of a batch that joined a job.
type joining struct {
	JobID  int64 `json:"job_id"`
	Joined int64 `json:"joined"`
	LastAt int64 `json:"last_at"`
}

// finish updates the existing jobs to their last requests, and counts the requests that joined.
func (t *Taken) finish() error {
	var changes []change
	var joins []joining
	byID := map[int64]*sharedJob{}
	for _, s := range t.shares {
		if s.blocked {
			continue
		}
		byID[s.id] = s
		n := len(s.places) - 1
		if s.there {
			n++
			j := s.asked.Job
			changes = append(changes, change{
				ID: s.id, Priority: j.Priority, Input: base.JsonText(j.Input), Tags: base.JoinTags(j.Tags),
				DueAt: base.Micros(s.due), MaxAttempts: j.MaxAttempts, Timeout: j.Timeout.D().Microseconds(),
			})
		}
		last := t.c.Now
		if s.last.After(last) {
			last = s.last
		}
		joins = append(joins, joining{s.id, int64(n), base.Micros(last)})
	}
	if err := t.change(changes, byID); err != nil || len(joins) == 0 {
		return err
	}
	from, args := t.c.SQL.Table(1, "t", base.BatchOf(joins))
	counted, err := base.Collect(t.c.Ctx, t.c.Tx, func(rows base.Rows) (j joining, err error) {
		return j, rows.Scan(&j.JobID, &j.Joined)
	}, `
		insert into belfry.debounced (job_id, joined, last_at)
		select job_id, joined, last_at
		from `+from+`
		where true
		on conflict (job_id) do update
		set joined = belfry.debounced.joined + excluded.joined, last_at = excluded.last_at
		returning job_id, joined`, args...)
	for _, j := range counted {
		byID[j.JobID].joined = j.Joined
	}
	return err
}

func (t *Taken) change(changes []change, byID map[int64]*sharedJob) error {
	if len(changes) == 0 {
		return nil
	}
	c, ids := t.c, make([]int64, len(changes))
	for i := range changes {
		ids[i] = changes[i].ID
	}
	from, args := c.SQL.ManyTable(2, "t", base.BatchOf(changes))
	if _, err := c.Tx.Exec(c.Ctx, `
		update belfry.jobs
		set priority = t.priority, input = t.input, tags = t.tags, due_at = t.due_at, max_attempts = t.max_attempts, timeout = t.timeout
		from `+from+`
		where belfry.jobs.id = t.id and `+c.SQL.Among("belfry.jobs.id", 1), append([]any{c.SQL.List(ids)}, args...)...); err != nil {
		return err
	}
	c.Wake(base.TopicJobs)
	for _, id := range ids {
		if s := byID[id]; s.due.Before(s.was) { // an engine sleeps for longer
			c.Wake(base.TopicEngine)
		}
	}
	return nil
}

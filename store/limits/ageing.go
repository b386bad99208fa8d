package limits

import (
	"context"
	"errors"
	"sync"
	"time"

	"github.com/belfry-run/belfry/job"
	"github.com/belfry-run/belfry/store/base"
	"github.com/belfry-run/belfry/store/queues"
)

// A pass of ageing looks at so many jobs of each queue and of its lines under limits, raises so many, and goes on behind them
// the next time. It looks beside the transitions and locks nothing; what it raises it looks at again under its lock.
const (
	ageLook  = 5000
	ageBatch = 500
)

// How long passes rest. One that has more to raise takes no more than a fifth of the time of a writer.
const (
	ageIdle   = 5 * time.Second // without a queue with ageing
	ageOn     = time.Second     // while not all jobs have been looked at
	ageMost   = time.Minute
	ageShare  = 60 // of the period, when all have
	ageMore   = 50 * time.Millisecond
	ageBehind = 4 // times as long as it took
)

// ages is where the passes of this process go on, by queue. Another process looks for itself.
type ages struct {
	mu sync.Mutex
	at map[string]agesOf
}

// agesOf is behind which jobs the next pass looks; the zero value: it begins anew.
type agesOf struct {
	priority int // of ready ones
	turn, id int64
	line     int64 // the id of one that waits for a limit
	some     bool  // it goes on at priority
}

// AgeJobs raises jobs that have waited for long in queues with ageing ([job.Queue.Ageing]): those that are ready, and those
// that wait for a limit, in the line of its key. It is bounded, and answers when to go on. Every node may call it at any time.
func (s *Store) AgeJobs(ctx context.Context) (rest time.Duration, err error) {
	var aging []job.Queue
	err = s.DB().Read(ctx, func(tx base.Tx) (err error) {
		aging, err = base.Collect(ctx, tx, queues.ScanQueue, `select `+queues.QueueColumns+` from belfry.queues where ageing > 0 order by name`)
		return err
	})
	if err != nil || len(aging) == 0 {
		return ageIdle, err
	}
	now, err := s.Now(ctx)
	if err != nil {
		return ageIdle, err
	}
	s.ages.mu.Lock()
	defer s.ages.mu.Unlock()
	before := s.ages.at
	s.ages.at = make(map[string]agesOf, len(aging)) // and those that are gone are forgotten
	rest = ageMost
	for _, q := range aging {
		begun := time.Now()
		to, more, fault := s.age(ctx, q, before[q.Name], now)
		err = errors.Join(err, fault)
		s.ages.at[q.Name] = to
		next := max(min(q.Ageing.D()/ageShare, ageMost), ageOn)
		switch {
		case more:
			next = ageMore
		case to != agesOf{}:
			next = ageOn
		}
		rest = min(rest, max(next, min(ageBehind*time.Since(begun), ageMost)))
	}
	return rest, err
}

// age is a pass of one queue. More: it has raised as many as one raises, or could not look at all.
func (s *Store) age(ctx context.Context, q job.Queue, from agesOf, now time.Time) (to agesOf, more bool, err error) {
	to, ready, more, err := s.agedReady(ctx, q, from, now)
	if err != nil {
		return from, false, err
	}
	if err := s.raise(ctx, q, ready); err != nil {
		return from, false, err
	}
	lines, end, err := s.agedInLines(ctx, q, from, now)
	if err != nil {
		return from, false, err
	}
	to.line = end.line
	return to, more || len(lines) == ageBatch, s.raiseInLines(ctx, lines)
}

// readBeside reads beside the claims, by the way they go.
func (s *Store) readBeside(ctx context.Context, fn func(tx base.Tx) error) error {
	return s.DB().Read(ctx, func(tx base.Tx) error {
		if walks := s.SQL.Walks(); walks != "" {
			if _, err := tx.Exec(ctx, walks); err != nil {
				return err
			}
		}
		return fn(tx)
	})
}

// waitsSince is since when a job waits, for ageing: since it was due, or made if that was later. Where the clock was set
// back, that it is ready came before.
func waitsSince(readyAt int64, dueAt, createdAt int64) time.Time {
	since := max(dueAt, createdAt)
	if readyAt > 0 {
		since = min(since, readyAt)
	}
	return base.Instant(since)
}

// raised is by how many priorities a job is raised after this, which has its priority of now with those that it has aged by.
func raised(q job.Queue, priority, aged, above, best int, waited time.Duration) int {
	return job.Aging{Given: priority - aged, Aged: aged, Waited: waited, Above: above, Best: best}.Raise(q.Ageing)
}

// agedRow is what becomes of a job, as a batch carries it.
type agedRow struct {
	ID       int64 `json:"id"`
	Priority int   `json:"priority"`
	Aged     int   `json:"aged"`
	Turn     int64 `json:"turn"`
}

// saveAged raises jobs, and lowers none.
func (c *Change) saveAged(rows []agedRow, turn string) error {
	from, args := c.SQL.ManyTable(2, "t", base.BatchOf(rows))
	ids := make([]int64, len(rows))
	for i, r := range rows {
		ids[i] = r.ID
	}
	_, err := c.Tx.Exec(c.Ctx, `
		update belfry.jobs
		set priority = case when t.priority > belfry.jobs.priority then t.priority else belfry.jobs.priority end, aged = case when t.priority > belfry.jobs.priority then t.aged else belfry.jobs.aged end`+turn+`
		from `+from+`
		where belfry.jobs.id = t.id and `+c.SQL.Among("belfry.jobs.id", 1), append([]any{c.SQL.List(ids)}, args...)...)
	return err
}

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

// A pass of ageing reads up to ageLook ready jobs and up to ageLook waiting jobs of each queue, and raises up to ageBatch of
// either. The next pass goes on after them. A pass reads without locks; a job to be raised is read again under its lock.
const (
	ageLook  = 5000
	ageBatch = 500
)

// The delays between passes. A pass that has more jobs to raise uses at most a fifth of the time of a writer.
const (
	ageIdle   = 5 * time.Second       // no queue has ageing
	ageOn     = time.Second           // not all jobs have been read; also the shortest delay when all have
	ageMost   = time.Minute           // the longest delay
	ageShare  = 60                    // all jobs have been read: this part of the period of ageing
	ageMore   = 50 * time.Millisecond // more jobs have to be raised
	ageBehind = 4                     // at least this many times the duration of the pass
)

// agePositions are the positions of the passes of this process, by queue. Each process has its own.
type agePositions struct {
	mu sync.Mutex
	at map[string]agePosition
}

// agePosition is the position after which the next pass of a queue reads; zero: at the beginning.
type agePosition struct {
	priority int // of the last ready job
	turn, id int64
	waiting  int64 // id of the last job that waits for a limit
	some     bool  // priority is set
}

// AgeJobs raises the priority of jobs that have waited long in queues with ageing ([job.Queue.Ageing]): of ready jobs, and of
// jobs that wait for a limit. One call is bounded; rest is the delay before the next. Every node may call it at any time.
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
	s.ages.at = make(map[string]agePosition, len(aging)) // drops queues without ageing
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
		case to != agePosition{}:
			next = ageOn
		}
		rest = min(rest, max(next, min(ageBehind*time.Since(begun), ageMost)))
	}
	return rest, err
}

// age is the pass of one queue. more reports that a batch was full.
func (s *Store) age(ctx context.Context, q job.Queue, from agePosition, now time.Time) (to agePosition, more bool, err error) {
	to, ready, more, err := s.agedReady(ctx, q, from, now)
	if err != nil {
		return from, false, err
	}
	if err := s.raise(ctx, q, ready); err != nil {
		return from, false, err
	}
	lines, end, err := s.agedWaiting(ctx, q, from, now)
	if err != nil {
		return from, false, err
	}
	to.waiting = end.waiting
	return to, more || len(lines) == ageBatch, s.raiseWaiting(ctx, lines)
}

// readByIndex reads with the planner set to walk along an index, as claims do.
func (s *Store) readByIndex(ctx context.Context, fn func(tx base.Tx) error) error {
	return s.DB().Read(ctx, func(tx base.Tx) error {
		if walks := s.SQL.Walks(); walks != "" {
			if _, err := tx.Exec(ctx, walks); err != nil {
				return err
			}
		}
		return fn(tx)
	})
}

// waitingSince returns the instant since which a job waits, for ageing: the later of its due time and its creation. If the
// clock was set back, the job may have become ready earlier; then that instant counts.
func waitingSince(readyAt int64, dueAt, createdAt int64) time.Time {
	since := max(dueAt, createdAt)
	if readyAt > 0 {
		since = min(since, readyAt)
	}
	return base.Instant(since)
}

// raised returns by how many priorities a job should be raised in total. priority includes the aged priorities so far.
func raised(q job.Queue, priority, aged, above, best int, waited time.Duration) int {
	return job.Aging{Given: priority - aged, Aged: aged, Waited: waited, Above: above, Best: best}.Raise(q.Ageing)
}

// agedRow is the new state of a job, as a row of a batch.
type agedRow struct {
	ID       int64 `json:"id"`
	Priority int   `json:"priority"`
	Aged     int   `json:"aged"`
	Turn     int64 `json:"turn"`
}

// saveAged raises the priorities of jobs. It lowers none.
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

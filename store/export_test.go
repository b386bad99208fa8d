package store

import (
	"context"
	"time"

	"github.com/belfry-run/belfry/job"
	"github.com/belfry-run/belfry/store/base"
	"github.com/belfry-run/belfry/store/jobs"
)

// FailRecorded makes every lookup of recorded attempts fail.
func (s *Store) FailRecorded(err error) {
	s.jobStore.Hooks.Recorded = func(context.Context, string, []job.Finish, []job.Finished) error { return err }
}

// WaitingClaims returns how many claims have waited for jobs of one queue for long enough to be carried out within an enqueue.
func (s *Store) WaitingClaims(queue string) (n int) {
	hub := s.jobStore.Hub
	hub.Mu.Lock()
	defer hub.Mu.Unlock()
	if b := hub.Topics[base.TopicQueue(queue)]; b != nil {
		for _, w := range b.Claims {
			if time.Since(w.Since) >= jobs.Calm {
				n++
			}
		}
	}
	return n
}

// WaitsSince returns when the last waiting claim for jobs of one queue began to wait.
func (s *Store) WaitsSince(queue string) (since time.Time) {
	hub := s.jobStore.Hub
	hub.Mu.Lock()
	defer hub.Mu.Unlock()
	if b := hub.Topics[base.TopicQueue(queue)]; b != nil && len(b.Claims) > 0 {
		since = b.Claims[len(b.Claims)-1].Since
	}
	return since
}

// SeesNothingEarlier makes the looks of the claims that wait for jobs of one queue older by so much.
func (s *Store) SeesNothingEarlier(queue string, by time.Duration) {
	hub := s.jobStore.Hub
	hub.Mu.Lock()
	defer hub.Mu.Unlock()
	for _, w := range hub.Topics[base.TopicQueue(queue)].Claims {
		w.Seen.At = w.Seen.At.Add(-by)
	}
}

// LooksBack makes the next claims leave looks everywhere to a look back, which is due.
func (s *Store) LooksBack() { s.jobStore.Marks.Overdue() }

// LooksUnderWay reports whether a look back is under way.
func (s *Store) LooksUnderWay() bool { return s.jobStore.Marks.Looking() }

// StartAtMarks makes the passes of FireDue and Promote start at their marks from now on, or at the beginning.
func (s *Store) StartAtMarks(start bool) {
	for _, m := range []*base.DueMark{&s.scheduleStore.Due, &s.limitStore.Delayed} {
		m.Mu.Lock()
		m.LookAgain = time.Time{}
		if start {
			m.LookAgain = time.Now().Add(time.Hour)
		}
		m.Mu.Unlock()
	}
}

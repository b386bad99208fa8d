package worker

import (
	"slices"
	"testing"
	"time"

	"github.com/belfry-run/belfry/job"
	"github.com/belfry-run/belfry/worker/internal/lease"
)

// The memory that a long job keeps is bounded by the slots of its consumer.
func TestAClaimIsHeldInPieces(t *testing.T) {
	for _, c := range []struct{ slots, jobs, groups, most int }{
		{1, 1, 1, 1},
		{10, 1000, 1, 1000},
		{65, 1000, 1, 1000},
		{66, 1000, 2, 992},
		{1000, 1000, 16, 65},
		{100_000, 3, 3, 1},
	} {
		s := &session{worker: &workerRun{}, lostCtx: t.Context(), held: map[*attemptGroup]bool{}}
		consumer := newConsumer(s, "q", c.slots)
		s.lease = lease.New(time.Now(), time.Hour, func() {}, func() {})
		defer s.lease.Stop()
		claim := job.Claim{Lease: 7, Jobs: make([]job.LeasedJob, c.jobs)}
		for i := range claim.Jobs {
			claim.Jobs[i].Job.ID = int64(i + 1)
		}
		attempts := s.holdJobs(consumer, claim, true)
		if len(attempts) != c.jobs || len(s.held) != c.groups || s.heldCount() != c.jobs {
			t.Errorf("%d slots: %d attempts in %d groups, which hold %d", c.slots, len(attempts), len(s.held), s.heldCount())
		}
		for g := range s.held {
			if len(g.attempts) > c.most {
				t.Errorf("%d slots: a group of %d", c.slots, len(g.attempts))
			}
		}
		if shared := attempts[0].run.Job == &claim.Jobs[0].Job; shared != (c.groups == 1) {
			t.Errorf("%d slots: shares the memory of the whole claim: %t", c.slots, shared)
		}

		last := job.Ref{JobID: int64(c.jobs), Lease: 7}
		s.cancel([]job.Ref{{JobID: last.JobID, Lease: 8}, {JobID: last.JobID + 1, Lease: 7}})
		if slices.ContainsFunc(attempts, func(a *attempt) bool { return a.cause != nil }) {
			t.Errorf("%d slots: canceled who was not meant", c.slots)
		}
		s.cancel([]job.Ref{last})
		if a := attempts[c.jobs-1]; a.run.Ref() != last || a.cause != ErrCanceled { //nolint:errorlint // compares identity
			t.Errorf("%d slots: %+v was canceled because of %v", c.slots, a.run.Ref(), a.cause)
		}
		for i, a := range attempts {
			s.release(a)
			s.release(a) // a second release has no effect
			if left := c.jobs - i - 1; s.heldCount() != left {
				t.Fatalf("%d slots: %d are held, want %d", c.slots, s.heldCount(), left)
			}
			if i == c.jobs/2 {
				if refs := s.heldJobs(); len(refs) != s.heldCount() || slices.Contains(refs, job.Holding{Ref: a.run.Ref(), Waiting: !a.hasBegun()}) {
					t.Errorf("%d slots: %d are held and %d listed", c.slots, s.heldCount(), len(refs))
				}
			}
		}
		if len(s.held) != 0 {
			t.Errorf("%d slots: %d groups are left", c.slots, len(s.held))
		}
	}
}

package worker

import (
	"slices"
	"testing"
	"time"

	"github.com/belfry-run/belfry/job"
	"github.com/belfry-run/belfry/worker/internal/lease"
)

// What a long job keeps in memory is bounded by the slots of its lane.
func TestAClaimIsHeldInPieces(t *testing.T) {
	for _, c := range []struct{ slots, jobs, pieces, most int }{
		{1, 1, 1, 1},
		{10, 1000, 1, 1000},
		{65, 1000, 1, 1000},
		{66, 1000, 2, 992},
		{1000, 1000, 16, 65},
		{100_000, 3, 3, 1},
	} {
		l := &life{worker: &shift{}, gone: t.Context(), held: map[*piece]bool{}}
		lane := newLane(l, "q", c.slots)
		l.lease = lease.New(time.Now(), time.Hour, func() {}, func() {})
		defer l.lease.Stop()
		claim := job.Claim{Lease: 7, Jobs: make([]job.LeasedJob, c.jobs)}
		for i := range claim.Jobs {
			claim.Jobs[i].Job.ID = int64(i + 1)
		}
		attempts := l.hold(lane, claim, true)
		if len(attempts) != c.jobs || len(l.held) != c.pieces || l.holding() != c.jobs {
			t.Errorf("%d slots: %d attempts in %d pieces, which hold %d", c.slots, len(attempts), len(l.held), l.holding())
		}
		for p := range l.held {
			if len(p.attempts) > c.most {
				t.Errorf("%d slots: a piece of %d", c.slots, len(p.attempts))
			}
		}
		if shared := attempts[0].run.Job == &claim.Jobs[0].Job; shared != (c.pieces == 1) {
			t.Errorf("%d slots: shares the memory of the whole claim: %t", c.slots, shared)
		}

		last := job.Ref{JobID: int64(c.jobs), Lease: 7}
		l.cancel([]job.Ref{{JobID: last.JobID, Lease: 8}, {JobID: last.JobID + 1, Lease: 7}})
		if slices.ContainsFunc(attempts, func(a *attempt) bool { return a.cause != nil }) {
			t.Errorf("%d slots: canceled who was not meant", c.slots)
		}
		l.cancel([]job.Ref{last})
		if a := attempts[c.jobs-1]; a.run.Ref() != last || a.cause != ErrCanceled { //nolint:errorlint // it is this one
			t.Errorf("%d slots: %+v was canceled because of %v", c.slots, a.run.Ref(), a.cause)
		}
		for i, a := range attempts {
			l.release(a)
			l.release(a) // a second time is nothing
			if left := c.jobs - i - 1; l.holding() != left {
				t.Fatalf("%d slots: %d are held, want %d", c.slots, l.holding(), left)
			}
			if i == c.jobs/2 {
				if refs := l.refs(); len(refs) != l.holding() || slices.Contains(refs, job.Holding{Ref: a.run.Ref(), Waiting: !a.hasBegun()}) {
					t.Errorf("%d slots: %d are held and %d listed", c.slots, l.holding(), len(refs))
				}
			}
		}
		if len(l.held) != 0 {
			t.Errorf("%d slots: %d pieces are left", c.slots, len(l.held))
		}
	}
}

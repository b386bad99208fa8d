package leasertest

import (
	"context"
	"slices"
	"time"

	"github.com/belfry-run/belfry/job"
)

// Renew implements [job.Leaser].
func (b *Leaser) Renew(ctx context.Context, id string, has job.Holdings) (r job.Renewal, err error) {
	if err := b.before(ctx, "renew"); err != nil {
		return r, err
	}
	b.mu.Lock()
	b.releaseLost()
	if s := b.sessions[id]; s == nil || s.over {
		r.Lost = true
	} else {
		s.expires = time.Now().Add(b.ttl())
		r.Drain = s.drain
		if len(has.Queues) > 0 {
			s.info.Queues = has.Queues
		}
		r.Queues = served(b, s.info)
		b.reconcile(id, has, &r)
	}
	b.mu.Unlock()
	return r, b.after(ctx, "renew")
}

func (b *Leaser) reconcile(id string, has job.Holdings, r *job.Renewal) {
	for _, j := range b.jobs {
		ref := job.Ref{JobID: j.ID, Lease: j.Lease}
		i := slices.IndexFunc(has.Attempts, func(h job.Holding) bool { return h.Ref == ref })
		j.Ahead = j.Ahead && (i < 0 || has.Attempts[i].Waiting)
		if j.Session != id || j.State != job.Running {
			continue
		}
		settled := time.Since(j.ClaimedAt) > job.ClaimSettled
		if settled { // by session, with numbers that rise with time
			r.Settled = max(r.Settled, j.Lease)
		}
		if i < 0 && settled && j.Lease <= has.Settled {
			b.settle(j, job.Finish{Ref: ref, Outcome: job.OutcomeHandedBack})
		} else if !j.CancelAt.IsZero() {
			r.Cancel = append(r.Cancel, ref)
		}
	}
}

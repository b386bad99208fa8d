package worker_test

import (
	"context"
	"testing"
	"time"

	"github.com/belfry-run/belfry/internal/leasertest"
	"github.com/belfry-run/belfry/job"
	"github.com/belfry-run/belfry/worker"
)

// elsewhen is a server whose clock is ahead of the worker's.
type elsewhen struct {
	*leasertest.Leaser
	ahead time.Duration
}

func (e elsewhen) Claim(ctx context.Context, r job.ClaimRequest) (job.Claim, error) {
	c, err := e.Leaser.Claim(ctx, r)
	for i := range c.Jobs {
		c.Jobs[i].Job.ClaimedAt = c.Jobs[i].Job.ClaimedAt.Add(e.ahead)
	}
	return c, err
}

func TestARunTellsTheTimeOfItsServer(t *testing.T) {
	for name, ahead := range map[string]time.Duration{"ahead": 26 * time.Hour, "behind": -26 * time.Hour} {
		t.Run(name, func(t *testing.T) {
			inBubble(t, func(f *fixture) {
				f.options.Leaser = elsewhen{f.leaser, ahead}
				var told, now time.Time
				f.writes(0, func(_ context.Context, r *worker.Run) {
					time.Sleep(7 * time.Second)
					told, now = r.Now(), time.Now()
				})
				if f.runOnce() != 1 || !told.Equal(now.Add(ahead)) {
					t.Errorf("it is %s here, and %s by the run", now, told)
				}
			})
		})
	}
}

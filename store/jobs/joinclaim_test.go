package jobs

import (
	"errors"
	"testing"

	"github.com/belfry-run/belfry/job"
	"github.com/belfry-run/belfry/store/base"
)

func TestAWaitingClaimIsAnsweredOnceWithCommittedJobs(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		what func(a *joinedClaim)
		jobs int
	}{
		"the enqueue was committed":       {func(a *joinedClaim) { a.end(nil) }, 1},
		"the enqueue failed":              {func(a *joinedClaim) { a.end(errors.New("no")) }, 0},
		"it began again":                  {func(a *joinedClaim) { a.begin(); a.end(nil) }, 0},
		"it began again, and then failed": {func(a *joinedClaim) { a.begin(); a.begin(); a.end(errors.New("no")) }, 0},
	} {
		h := base.NewHub()
		w := h.Wait(h.Topic("q"), job.ClaimRequest{}, base.Nothing{})
		a := &joinedClaim{claim: w, tried: true, took: map[int64]bool{7: true}}
		a.answer.Jobs = []job.LeasedJob{{Job: job.Job{ID: 7}}}
		c.what(a)
		if told := <-w.Answer; len(told.Jobs) != c.jobs {
			t.Errorf("%s: the claim got %d jobs, want %d", name, len(told.Jobs), c.jobs)
		}
		if len(w.Answer) > 0 || a.claim != nil || a.took != nil {
			t.Errorf("%s: got state %+v after the end, want none", name, a)
		}
	}
}

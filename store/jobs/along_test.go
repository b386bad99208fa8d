package jobs

import (
	"errors"
	"testing"

	"github.com/belfry-run/belfry/job"
	"github.com/belfry-run/belfry/store/base"
)

func TestAClaimIsToldOnceAndOnlyOfWhatWasCommitted(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		what func(a *along)
		jobs int
	}{
		"it was committed":                    {func(a *along) { a.end(nil) }, 1},
		"it failed":                           {func(a *along) { a.end(errors.New("no")) }, 0},
		"it was begun again":                  {func(a *along) { a.begin(); a.end(nil) }, 0},
		"it was begun again, and then failed": {func(a *along) { a.begin(); a.begin(); a.end(errors.New("no")) }, 0},
	} {
		h := base.NewHub()
		w := h.Wait(h.Bell("q"), job.ClaimRequest{}, base.Nothing{})
		a := &along{claim: w, tried: true, took: map[int64]bool{7: true}}
		a.answer.Jobs = []job.LeasedJob{{Job: job.Job{ID: 7}}}
		c.what(a)
		if told := <-w.Answer; len(told.Jobs) != c.jobs {
			t.Errorf("when %s the claim got %d jobs, want %d", name, len(told.Jobs), c.jobs)
		}
		if len(w.Answer) > 0 || a.claim != nil || a.took != nil {
			t.Errorf("when %s something is left: %+v", name, a)
		}
	}
}

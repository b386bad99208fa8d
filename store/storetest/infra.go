package storetest

import (
	"time"

	"github.com/belfry-run/belfry"
)

func init() {
	addBroker("what the machine spoils spends a retry of its own, a lost worker the first at once", func(d *desk) {
		d.task("t", attempts(1), func(t *belfry.Task) { t.Retry.Infra = 2 })
		id := d.one("t")
		counts := func(state belfry.JobState, attempt, failures, infra int) {
			d.Helper()
			j := must(d.ad.Job(d.ctx, "default", id))(d)
			want(d, "state", j.State, state)
			want(d, "attempts", j.Attempt, attempt)
			want(d, "failures", j.Failures, failures)
			want(d, "spoiled attempts", j.Infra, infra)
		}
		d.claimOne(d.session("t"))
		d.ad.Move(lost)
		must(d.ad.ReleaseLost(d.ctx))(d)
		counts(belfry.JobReady, 1, 0, 1)
		s := d.session("t")
		spoiled := func(f *belfry.Finish) { f.Infra = true }
		d.finish(s, d.claimOne(s), belfry.OutcomeError, spoiled)
		counts(belfry.JobScheduled, 2, 0, 2)
		d.ad.Move(time.Minute)
		must(d.ad.Promote(d.ctx))(d)
		s = d.session("t")
		d.finish(s, d.claimOne(s), belfry.OutcomeError, spoiled)
		counts(belfry.JobFailed, 3, 1, 2)
		must(d.ad.RedriveJobs(d.ctx, "default", belfry.Selection{IDs: []int64{id}}))(d)
		counts(belfry.JobReady, 3, 0, 0)
		d.finish(s, d.claimOne(s), belfry.OutcomeOK)
		counts(belfry.JobSucceeded, 4, 0, 0)
	})
}

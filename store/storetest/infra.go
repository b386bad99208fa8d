package storetest

import (
	"time"

	"github.com/belfry-run/belfry/job"
	"github.com/belfry-run/belfry/task"
	"github.com/belfry-run/belfry/view"
)

func init() {
	addLeaser("a fault of the machine uses a retry of its own, a lost worker the first at once", caseAFaultOfTheMachineUsesARetryOfItsOwn)
}

func caseAFaultOfTheMachineUsesARetryOfItsOwn(d *leaserBench) {
	d.task("t", attempts(1), func(t *task.Task) { t.Retry.Infra = 2 })
	id := d.one("t")
	counts := func(state job.State, attempt, failures, infra int) {
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
	counts(job.Ready, 1, 0, 1)
	s := d.session("t")
	spoiled := func(f *job.Finish) { f.Infra = true }
	d.finish(s, d.claimOne(s), job.OutcomeError, spoiled)
	counts(job.Scheduled, 2, 0, 2)
	d.ad.Move(time.Minute)
	must(d.ad.Promote(d.ctx))(d)
	s = d.session("t")
	d.finish(s, d.claimOne(s), job.OutcomeError, spoiled)
	counts(job.Failed, 3, 1, 2)
	must(d.ad.RetryJobs(d.ctx, "default", view.Selection{IDs: []int64{id}}))(d)
	counts(job.Ready, 3, 0, 0)
	d.finish(s, d.claimOne(s), job.OutcomeOK)
	counts(job.Succeeded, 4, 0, 0)
}

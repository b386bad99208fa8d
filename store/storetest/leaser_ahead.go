package storetest

import (
	"fmt"
	"slices"
	"time"

	"github.com/belfry-run/belfry/core"
	"github.com/belfry-run/belfry/job"
	"github.com/belfry-run/belfry/task"
)

// claimAhead claims n jobs, all but slots of which would have to wait.
func (d *leaserBench) claimAhead(session string, n, slots int) job.Claim {
	d.Helper()
	return must(d.br.Claim(d.ctx, job.ClaimRequest{
		Session: session, Want: map[string]int{"default": n}, Ahead: map[string]int{"default": n - slots},
	}))(d)
}

func idsOf(c job.Claim) (ids []int64) {
	for _, j := range c.Jobs {
		ids = append(ids, j.Job.ID)
	}
	return ids
}

func waiting(c job.Claim) (has job.Holdings) {
	for _, j := range c.Jobs {
		has.Attempts = append(has.Attempts, job.Holding{Ref: refOf(j), Waiting: true})
	}
	return has
}

func init() {
	addLeaser("jobs that were claimed ahead are handed back when their worker is lost, and no attempt of theirs is counted", caseJobsThatWereClaimedAheadAreHandedBackWhen)
	addLeaser("a job that was claimed ahead is lost with its worker once a renewal said that it has begun", caseAJobThatWasClaimedAheadIsLostWith)
	addLeaser("a job claimed for a free slot is lost with its worker", caseAJobClaimedForAFreeSlotIsLost)
	addLeaser("a job that is lost must not be tried again, or had a try, is not claimed ahead, and nothing behind it", caseAJobThatIsLostMustNotBeTried)
	addLeaser("of many jobs a claim ahead leaves the first that must not wait, and all have their turn", caseOfManyJobsAClaimAheadLeavesTheFirst)
	addLeaser("a job that an enqueue brings to a claim that waits is leased ahead only if it may wait", caseAJobThatAnEnqueueBringsToAClaim)
}

func caseJobsThatWereClaimedAheadAreHandedBackWhen(d *leaserBench) {
	for _, jobs := range []int{3, 120} { // leases of their own, and leases that share a row
		name := fmt.Sprintf("ahead-%d", jobs)
		d.task(name)
		ids := d.enqueue(slices.Repeat([]job.NewJob{{Task: name}}, jobs)...)
		s := d.session(name)
		want(d, "jobs claimed", len(d.claimAhead(s, jobs, 0).Jobs), jobs)
		want(d, "claimed ahead", d.job(ids[0]).Ahead, true)
		d.Move(lost)
		want(d, "released", must(d.ad.ReleaseLost(d.ctx))(d).Jobs, jobs)
		j := d.wantState(ids[0], job.Ready)
		want(d, "failures", j.Failures+j.Infra, 0)
		want(d, "outcomes", d.outcomes(ids[0]), "handed_back")
		want(d, "started", must(d.ad.Attempts(d.ctx, core.AnyNamespace, ids[0]))(d)[0].StartedAt.IsZero(), true)
		s = d.session(name)
		c := d.claim(s, jobs)
		want(d, "jobs claimed again", len(c.Jobs), jobs)
		want(d, "claimed ahead again", d.job(ids[0]).Ahead, false)
		for _, j := range c.Jobs {
			d.finish(s, refOf(j), job.OutcomeOK)
		}
		d.wantState(ids[0], job.Succeeded)
	}
}

func caseAJobThatWasClaimedAheadIsLostWith(d *leaserBench) {
	d.task("told")
	ids := d.enqueue(slices.Repeat([]job.NewJob{{Task: "told"}}, 2)...)
	s := d.session("told")
	holding := waiting(d.claimAhead(s, 2, 0))
	must(d.br.Renew(d.ctx, s, holding))(d)
	want(d, "waits", d.job(ids[0]).Ahead, true)
	holding.Attempts[0].Waiting = false
	d.Move(job.ClaimSettled + time.Second)
	for range 2 { // the first renewal splits the pack, if there is one
		must(d.br.Renew(d.ctx, s, holding))(d)
	}
	want(d, "job is claimed ahead after its start", d.job(ids[0]).Ahead, false)
	d.Move(lost)
	must(d.ad.ReleaseLost(d.ctx))(d)
	want(d, "outcomes of what began", d.outcomes(ids[0]), "lost")
	want(d, "failures of what began", d.job(ids[0]).Failures, 1)
	want(d, "outcomes of what waited", d.outcomes(ids[1]), "handed_back")
}

func caseAJobClaimedForAFreeSlotIsLost(d *leaserBench) {
	d.task("slot")
	ids := d.enqueue(slices.Repeat([]job.NewJob{{Task: "slot"}}, 2)...)
	s := d.session("slot")
	want(d, "jobs claimed", len(d.claimAhead(s, 5, 2).Jobs), 2)
	d.Move(lost)
	must(d.ad.ReleaseLost(d.ctx))(d)
	want(d, "outcomes", d.outcomes(ids[0]), "lost")
	want(d, "failures", d.job(ids[0]).Failures, 1)
}

func caseAJobThatIsLostMustNotBeTried(d *leaserBench) {
	d.task("often")
	d.task("single", attempts(1))
	d.task("final", func(t *task.Task) { t.Retry.OnLost = task.OnLostFail })
	d.task("tried", func(t *task.Task) { t.Retry.Delay = core.Duration(time.Second) })
	s := d.session("often", "single", "final", "tried")
	tried := d.one("tried")
	d.finish(s, d.claimOne(s), job.OutcomeError)
	d.Move(time.Minute)
	must(d.br.Renew(d.ctx, s, job.Held()))(d)
	must(d.ad.Promote(d.ctx))(d)
	first := []int64{tried, d.one("single"), d.one("final")}
	for i, id := range first {
		want(d, "claimed ahead", len(d.claimAhead(s, 10, 0).Jobs), 0)
		behind := d.one("often")
		want(d, "claimed ahead, of two", len(d.claimAhead(s, 10, 0).Jobs), 0)
		c := d.claimAhead(s, 10, 1)
		want(d, "claimed for a slot", c.Jobs[0].Job.ID, id)
		d.finish(s, refOf(c.Jobs[0]), job.OutcomeOK)
		if rest := first[i+1:]; len(rest) == 0 {
			want(d, "claimed with it", len(c.Jobs), 4)
			want(d, "second job is claimed ahead", d.job(behind).Ahead, true)
			continue
		}
		want(d, "claimed with it", len(c.Jobs), 1)
		want(d, "jobs of the next claim", len(d.claimAhead(s, 10, 0).Jobs), 0)
	}
}

func caseOfManyJobsAClaimAheadLeavesTheFirst(d *leaserBench) {
	d.task("usual")
	d.task("single", attempts(1))
	s := d.session("usual", "single")
	for range 4 { // claims learn the usual number
		d.enqueue(slices.Repeat([]job.NewJob{{Task: "usual"}}, 12)...)
		for _, j := range d.claimAhead(s, 12, 6).Jobs {
			d.finish(s, refOf(j), job.OutcomeOK)
		}
	}
	ids := d.enqueue(slices.Repeat([]job.NewJob{{Task: "usual"}}, 30)...)
	ids = append(ids, d.one("single"))
	ids = append(ids, d.enqueue(slices.Repeat([]job.NewJob{{Task: "usual"}}, 30)...)...)
	c := d.claimAhead(s, 100, 20)
	want(d, "up to the one", slices.Equal(idsOf(c), ids[:30]), true)
	c = d.claimAhead(s, 100, 1)
	want(d, "from the one", slices.Equal(idsOf(c), ids[30:]), true)
	want(d, "single job is claimed ahead", d.job(ids[30]).Ahead && len(c.Jobs) == 1, false)
}

func caseAJobThatAnEnqueueBringsToAClaim(d *leaserBench) {
	d.task("single", attempts(1))
	d.task("often")
	s := d.session("single", "often")
	for _, c := range []struct {
		task string
		jobs int
		wait core.Duration // of a claim that gets something, it ends with that
	}{{"single", 0, core.Duration(300 * time.Millisecond)}, {"often", 1, job.MaxClaimWait}} {
		answer := make(chan job.Claim, 1)
		go func() {
			c, _ := d.br.Claim(d.ctx, job.ClaimRequest{
				Session: s, Want: map[string]int{"default": 1}, Ahead: map[string]int{"default": 1}, Wait: c.wait,
			})
			answer <- c
		}()
		id := d.one(c.task)
		want(d, "claimed ahead of "+c.task, len((<-answer).Jobs), c.jobs)
		if c.jobs == 0 {
			want(d, "claimed for a slot", d.claimOne(s).JobID, id)
		}
	}
}

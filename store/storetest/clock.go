package storetest

import (
	"fmt"
	"time"

	"github.com/belfry-run/belfry/core"
	"github.com/belfry-run/belfry/job"
	"github.com/belfry-run/belfry/store"
	"github.com/belfry-run/belfry/task"
)

func init() {
	addNodes("a clock that is set forward takes no job from a worker that lives, whichever node looks first", caseAClockThatIsSetForwardTakesNoJob)
	addNodes("rows written after the clock was set stay unchanged, also when a node notices late", caseRowsAfterAClockStepStayUnchanged)
	addNodes("a renewal that comes first after the clock was set forward ends nothing", caseARenewalThatComesFirstAfterTheClockWas)
	addNodes("a clock that is set while a claim is being committed ends nothing of it", caseAClockThatIsSetWhileAClaimIs)
	addNodes("a clock that is set forward while a claim's answer is under way takes no job back, also on a node that has just started", caseAClockThatIsSetForwardWhileAClaims)
	addNodes("a clock that is set twice between two looks of a node is followed by both steps, whichever node stops in between", caseAClockThatIsSetTwiceBetweenTwoLooks)
	addNodes("running jobs stay with their workers when the clock is set forward, also those with a time from before", caseRunningJobsStayWhenTheClockIsSetForward)
	addNodes("a clock that is set back stalls no retry, and is followed once for all nodes", caseAClockThatIsSetBackStallsNoRetry)
	addNodes("jobs ready before the clock was set back are claimed, and before newer ones", caseJobsReadyBeforeAStepBackAreClaimedFirst)
	addNodes("a clock that was set back while no node ran is followed by the first that starts", caseAClockThatWasSetBackWhileNoNodeRan)
	addNodes("sessions end later by as much as the clock was set forward", caseSessionsEndLaterByAsMuch)
	addNodes("a rule from the finish goes on however often the clock is set back", caseARuleFromTheFinishGoesOnHoweverOften)
}

func follow(b *bench, nodes []*store.Store) {
	b.Helper()
	for _, st := range nodes {
		ok(b, st.FollowClock(b.ctx))
	}
}

func caseAClockThatIsSetForwardTakesNoJob(b *bench, nodes []*store.Store) {
	b.task("t")
	j := b.enqueue(job.NewJob{Task: "t"})
	s := b.session("t")
	c := b.claim(s, 1)
	follow(b, nodes)
	b.clock.Set(time.Hour)
	for _, st := range nodes {
		r := must(st.ReleaseLost(b.ctx))(b)
		want(b, "released", r.Jobs, 0)
	}
	r := b.renew(s, c.Jobs...)
	want(b, "lost", r.Lost, false)
	want(b, "attempts to cancel", len(r.Cancel), 0)
	b.wantState(j.ID, job.Running)
	want(b, "released once it is lost", b.lose(), 1)
}

func caseRowsAfterAClockStepStayUnchanged(b *bench, nodes []*store.Store) {
	b.task("t")
	for range 2 {
		b.enqueue(job.NewJob{Task: "t"})
	}
	old := b.session("t")
	before := b.claim(old, 1)
	follow(b, nodes)
	for _, step := range []time.Duration{-time.Hour, time.Hour} {
		b.clock.Set(step)
		fresh := b.session("t") // before any node has noticed
		c := b.claim(fresh, 1)
		follow(b, nodes)
		want(b, "released", b.release(), 0)
		want(b, "fresh session is lost", b.renew(fresh, c.Jobs...).Lost, false)
		want(b, "old session is lost", b.renew(old, before.Jobs...).Lost, false)
		for _, j := range c.Jobs {
			b.finish(fresh, j, job.OutcomeOK)
			b.enqueue(job.NewJob{Task: "t"})
		}
		ok(b, b.st.CloseSession(b.ctx, fresh.ID))
	}
	want(b, "released once it is lost", b.lose(), 1)
}

func caseARenewalThatComesFirstAfterTheClockWas(b *bench, nodes []*store.Store) {
	b.task("t", func(t *task.Task) { t.Timeout = core.Duration(time.Minute) })
	j := b.enqueue(job.NewJob{Task: "t"})
	s := b.session("t")
	c := b.claim(s, 1)
	follow(b, nodes)
	b.clock.Set(time.Hour)
	want(b, "attempts to cancel", len(b.renew(s, c.Jobs...).Cancel), 0)
	b.wantState(j.ID, job.Running)
}

func caseAClockThatIsSetWhileAClaimIs(b *bench, nodes []*store.Store) {
	b.task("t")
	s := b.session("t")
	follow(b, nodes)
	b.renew(s)
	for range 2 {
		b.enqueue(job.NewJob{Task: "t"})
	}
	late, held := b.claim(s, 1).Jobs[0], b.claim(s, 1).Jobs[0]
	b.sql(`update belfry.leases set session = 'not to be seen yet' where job_id = $1`, late.Job.ID)
	b.clock.Set(time.Hour)
	want(b, "attempts to cancel", len(b.renew(s, held).Cancel), 0)
	b.sql(`update belfry.leases set session = $2 where job_id = $1`, late.Job.ID, s.ID)
	want(b, "attempts to cancel after the late claim arrived", len(b.renew(s, late, held).Cancel), 0)
}

func caseAClockThatIsSetForwardWhileAClaims(b *bench, nodes []*store.Store) {
	b.task("t")
	unsure := store.New(b.st.DB(), store.Options{Clock: b.clock.Now, Monotonic: b.clock.Mono}) // could not look when it opened
	for _, st := range append(nodes, unsure) {
		for _, other := range nodes { // as each node does every second
			ok(b, other.FollowClock(b.ctx))
		}
		j := b.enqueue(job.NewJob{Task: "t"})
		s := b.session("t")
		c := b.claim(s, 1)
		b.clock.Set(24 * time.Hour)
		must(st.Renew(b.ctx, s.ID, job.Held()))(b)
		b.wantState(j.ID, job.Running)
		b.finish(s, c.Jobs[0], job.OutcomeOK)
	}
}

func caseAClockThatIsSetTwiceBetweenTwoLooks(b *bench, _ []*store.Store) {
	other := store.New(b.st.DB(), store.Options{Clock: b.clock.Now, Monotonic: b.clock.Mono})
	dies := store.New(b.st.DB(), store.Options{Clock: b.clock.Now, Monotonic: b.clock.Mono})
	b.task("t", func(t *task.Task) { t.Timeout = core.Duration(time.Minute) })
	for _, steps := range [][2]time.Duration{{time.Hour, 2 * time.Hour}, {-time.Hour, -2 * time.Hour}, {3 * time.Hour, -time.Hour}, {-time.Hour, time.Hour}} {
		b.enqueue(job.NewJob{Task: "t"})
		s := b.session("t")
		c := b.claim(s, 1)
		follow(b, []*store.Store{dies, other})
		b.clock.Set(steps[0])
		ok(b, dies.FollowClock(b.ctx))
		b.clock.Set(steps[1])
		at := b.clock.Now().UnixMicro()
		for range 2 { // that the clock was set back again shows only after a while
			ok(b, other.FollowClock(b.ctx))
			b.clock.Move(31 * time.Second)
		}
		want(b, "claimed", b.count(`select max(claimed_at) from belfry.leases`), at)
		want(b, "renewed", b.count(`select max(renewed_at) from belfry.sessions where ended_at = 0`), at)
		b.finish(s, c.Jobs[0], job.OutcomeOK)
		ok(b, b.st.CloseSession(b.ctx, s.ID))
	}
	want(b, "followed by", b.count(`select total from belfry.clock`), (4*time.Hour).Microseconds()-(2*time.Hour).Microseconds())
}

func caseRunningJobsStayWhenTheClockIsSetForward(b *bench, nodes []*store.Store) {
	b.task("t", func(t *task.Task) { t.Timeout = core.Duration(time.Minute) })
	b.enqueue(job.NewJob{Task: "t"})
	s := b.session("t")
	for range 10 { // so long that the nodes could give up a session that does not renew
		follow(b, nodes)
		for _, st := range nodes {
			must(st.ReleaseLost(b.ctx))(b)
		}
		b.clock.Move(4 * time.Second)
		b.renew(s)
	}
	c := b.claim(s, 1)
	follow(b, nodes)
	b.clock.Set(time.Hour)
	follow(b, nodes)
	// A claim and a renewal that commit now read the clock before the step.
	b.sql(`update belfry.leases set claimed_at = claimed_at - $1, deadline_at = deadline_at - $1`, time.Hour.Microseconds())
	b.sql(`update belfry.sessions set renewed_at = renewed_at - $1, expires_at = expires_at - $1`, time.Hour.Microseconds())
	for _, st := range nodes {
		want(b, "released", must(st.ReleaseLost(b.ctx))(b).Jobs, 0)
		must(st.Renew(b.ctx, s.ID, job.Held()))(b) // its commit is in progress too
		r := must(st.Renew(b.ctx, s.ID, job.Held(refOf(c.Jobs[0]))))(b)
		want(b, "attempts to cancel", len(r.Cancel), 0)
	}
	b.clock.Move(3 * time.Minute) // beyond the job's deadline
	want(b, "attempts to cancel after the deadline", len(b.renew(s, c.Jobs...).Cancel), 1)
	want(b, "released once it is lost", b.lose(), 0)
}

func caseAClockThatIsSetBackStallsNoRetry(b *bench, nodes []*store.Store) {
	b.task("t", func(t *task.Task) {
		t.Retry = task.Retry{MaxAttempts: 2, Backoff: task.BackoffFixed, Delay: core.Duration(time.Minute), Jitter: -1}
	})
	j := b.enqueue(job.NewJob{Task: "t"})
	s := b.session("t")
	c := b.claim(s, 1)
	b.finish(s, c.Jobs[0], job.OutcomeError)
	follow(b, nodes)
	due := b.job(j.ID).DueAt
	b.clock.Set(-time.Hour)
	follow(b, nodes)
	follow(b, nodes)
	want(b, "due", b.job(j.ID).DueAt, due.Add(-time.Hour))
	b.clock.Move(time.Minute)
	want(b, "promoted", b.promote(), 1)
	want(b, "claimed", len(b.claim(s, 1).Jobs), 1)
}

func caseAClockThatWasSetBackWhileNoNodeRan(b *bench, nodes []*store.Store) {
	b.task("t", func(t *task.Task) {
		t.Retry = task.Retry{MaxAttempts: 2, Backoff: task.BackoffFixed, Delay: core.Duration(time.Minute), Jitter: -1}
	})
	j := b.enqueue(job.NewJob{Task: "t"})
	s := b.session("t")
	b.finish(s, b.claim(s, 1).Jobs[0], job.OutcomeError)
	follow(b, nodes)
	due := b.job(j.ID).DueAt
	b.clock.Set(-time.Hour)
	for range 2 { // the second call finds the clock followed
		fresh := store.New(b.st.DB(), store.Options{Clock: b.clock.Now, Monotonic: b.clock.Mono})
		ok(b, fresh.FollowClock(b.ctx))
		want(b, "due", b.job(j.ID).DueAt, due.Add(-time.Hour))
	}
}

func caseSessionsEndLaterByAsMuch(b *bench, nodes []*store.Store) {
	s := b.session("t")
	follow(b, nodes)
	const ends, renewed = `select expires_at from belfry.sessions where id = $1`, `select renewed_at from belfry.sessions where id = $1`
	end, renewal := b.count(ends, s.ID), b.count(renewed, s.ID)
	b.clock.Set(time.Hour)
	follow(b, nodes)
	want(b, "end", b.count(ends, s.ID)-end, time.Hour.Microseconds())
	want(b, "renewal", b.count(renewed, s.ID)-renewal, time.Hour.Microseconds())
}

func caseJobsReadyBeforeAStepBackAreClaimedFirst(b *bench, nodes []*store.Store) {
	b.task("t")
	s := b.session("t")
	b.enqueue(job.NewJob{Task: "t"})
	b.claim(s, 1) // the mark is at this job
	b.clock.Move(time.Minute)
	first := b.enqueue(job.NewJob{Task: "t"})
	follow(b, nodes)
	b.clock.Set(-time.Hour)
	follow(b, nodes)
	second := b.enqueue(job.NewJob{Task: "t"})
	for _, id := range []int64{first.ID, second.ID} {
		c := b.claim(s, 1)
		want(b, "claimed", len(c.Jobs), 1)
		want(b, "job", c.Jobs[0].Job.ID, id)
	}
}

func caseARuleFromTheFinishGoesOnHoweverOften(b *bench, nodes []*store.Store) {
	b.task("t")
	b.schedule("loop", "t", afterFinish(time.Minute))
	s := b.session("t")
	for i := range 5 {
		b.clock.Move(time.Minute)
		b.fire()
		c := b.claim(s, 1)
		want(b, fmt.Sprint("jobs after step ", i), len(c.Jobs), 1)
		b.clock.Move(time.Second)
		b.finish(s, c.Jobs[0], job.OutcomeOK)
		follow(b, nodes)
		b.clock.Set(-time.Hour)
		follow(b, nodes)
		b.renew(s)
	}
}

package storetest

import (
	"encoding/json"
	"fmt"
	"strings"
	"time"

	"github.com/belfry-run/belfry/access"
	"github.com/belfry-run/belfry/core"
	"github.com/belfry-run/belfry/job"
	"github.com/belfry-run/belfry/schedule"
	"github.com/belfry-run/belfry/task"
)

// schedules is a bench with schedules that fire.
type schedules struct{ *bench }

// overlapping creates a schedule of every minute whose first run is in progress.
func (b schedules) overlapping(o schedule.Overlap, change ...func(*schedule.Schedule)) (job.Session, job.LeasedJob) {
	b.Helper()
	b.task("tick", func(t *task.Task) { t.Retry.MaxAttempts = 1 })
	b.schedule("tick", "tick", append([]func(*schedule.Schedule){every(time.Minute), overlap(o)}, change...)...)
	return b.underWay()
}

// underWay fires, and claims the only ready job.
func (b schedules) underWay() (job.Session, job.LeasedJob) {
	b.Helper()
	b.fire()
	s := b.session("tick")
	c := b.claim(s, 5)
	want(b, "under way", len(c.Jobs), 1)
	return s, c.Jobs[0]
}

// next moves the clock by a minute and fires.
func (b schedules) next() {
	b.Helper()
	b.clock.Move(time.Minute)
	b.fire()
}

func init() {
	add("overlap skip: a run whose predecessor has not ended is a row that names it", caseOverlapSkipARunWhosePredecessorHasNotEnded)
	add("overlap skip: a lost worker frees the slot", caseOverlapSkipALostWorkerFreesTheSlot)
	add("overlap allow: runs go side by side", caseOverlapAllow)
	add("overlap buffer_one: one run waits, the next finds the buffer full, and it starts however the run before ends", caseOverlapBufferOne)
	add("overlap buffer_all: runs wait in their order, up to the bound", caseOverlapBufferAll)
	add("overlap buffer_all: runs that wait are kept for as long as they wait", caseOverlapBufferAllIsKept)
	add("overlap cancel_other: the run under way is asked to end, and the newest starts when it has", caseOverlapCancelOtherThe)
	add("overlap cancel_other: a run that has not started is simply replaced", caseOverlapCancelOtherA)
	add("overlap terminate_other: the run before ends here and now, and its worker is stale", caseOverlapTerminateOther)
	add("an edit of the overlap policy reaches the runs that wait already", caseAnEditOfTheOverlapPolicyReachesTheRuns)
	add("pausing and resuming a hundred times leaves one loop, of either anchor", casePausingAndResumingAHundredTimesLeavesOneLoop)
	add("a pause withdraws what waits with its reason, keeps who and why, and lets what runs go on", caseAPauseWithdrawsWhatWaitsWithItsReason)
	add("a pause withdraws a waiting job as skipped, and one that was tried before as canceled", caseAPauseWithdrawsAWaitingJobAsSkipped)
	add("a schedule that is created paused fires after it is resumed, and not before", caseAScheduleThatIsCreatedPausedFiresAfterIt)
	add("resuming leaves one row for the times of the pause, or makes up for them if asked", caseResumingLeavesOneRowForTheTimesOfThe)
	add("an edit that keeps the times keeps the cadence, the generation and the jobs that wait", caseAnEditThatKeepsTheTimesKeepsTheCadence)
	add("an edit of the times withdraws what waits, fires what was due before under the old rule, and never the past under the new", caseAnEditOfTheTimesWithdrawsWhatWaits)
	add("an edit of the times empties the buffer with the reason and lets what runs go on", caseAnEditOfTheTimesEmptiesTheBufferWith)
	add("an edit of a paused schedule leaves it paused", caseAnEditOfAPausedScheduleLeavesItPaused)
	add("a completed schedule that is given new times begins again", caseACompletedScheduleThatIsGivenNewTimesBegins)
	add("deleting a schedule withdraws what waits and lets what runs go on", caseDeletingAScheduleWithdrawsWhatWaitsAndLetsWhat)
	add("bad schedules are refused with the field and the value, and leave nothing", caseBadSchedulesAreRefusedWithTheFieldAndThe)
}

func caseOverlapSkipARunWhosePredecessorHasNotEnded(b *bench) {
	s, j := schedules{b}.overlapping(schedule.OverlapSkip)
	schedules{b}.next()
	os := b.occurrences("tick")
	if len(os) != 2 || os[1].Reason != schedule.ReasonOverlap || os[1].Note != fmt.Sprintf("job %d", j.Job.ID) || os[1].JobID != 0 {
		b.Fatalf("occurrences: got %+v, want the second skipped because of the first job", os)
	}
	b.finish(s, j, job.OutcomeOK)
	schedules{b}.next()
	want(b, "occurrences", schedules{b}.said("tick"), "0s job, 1m skipped overlap, 2m job")
}

func caseOverlapSkipALostWorkerFreesTheSlot(b *bench) {
	schedules{b}.overlapping(schedule.OverlapSkip)
	schedules{b}.next()
	b.release()
	schedules{b}.next()
	want(b, "occurrences", schedules{b}.said("tick"), "0s job, 1m skipped overlap, 2m job")
}

func caseOverlapAllow(b *bench) {
	schedules{b}.overlapping(schedule.OverlapAllow)
	schedules{b}.next()
	schedules{b}.next()
	want(b, "occurrences", schedules{b}.said("tick"), "0s job, 1m job, 2m job")
	want(b, "live", len(b.jobsOf("tick", job.Ready, job.Running)), 3)
}

func caseOverlapBufferOne(b *bench) {
	b.task("tick", func(t *task.Task) { t.Retry.MaxAttempts = 1 })
	b.schedule("tick", "tick", every(time.Minute), overlap(schedule.OverlapBufferOne))
	s, j := schedules{b}.underWay()
	for i, end := range []func(){
		func() { b.finish(s, j, job.OutcomeOK) },
		func() { b.finish(s, j, job.OutcomeError) },
		func() { b.clock.Move(lost); b.release() },
		func() { b.cancel(j.Job.ID); b.finish(s, j, job.OutcomeError) },
		func() { ok(b, b.st.CloseSession(b.ctx, s.ID)); b.cancel(j.Job.ID) },
	} {
		schedules{b}.next()
		schedules{b}.next()
		b.renew(s, j)
		os := b.occurrences("tick")
		if last := os[len(os)-1]; last.Reason != schedule.ReasonBufferFull || os[len(os)-2].Decision != schedule.DecidedBuffered {
			b.Fatalf("round %d: got occurrences %s, want a buffered one before one for the full buffer", i, schedules{b}.said("tick"))
		}
		want(b, "live jobs", b.count(`select count(*) from belfry.jobs`), 1)
		end()
		ready := b.jobsOf("tick", job.Ready)
		if len(ready) != 1 || !ready[0].Nominal.Equal(os[len(os)-2].Nominal) {
			b.Fatalf("round %d: got ready jobs %+v, want the buffered run", i, ready)
		}
		want(b, "the row says so", b.occurrences("tick")[len(os)-2].JobID, ready[0].ID)
		s, j = schedules{b}.underWay()
	}
}

func caseOverlapBufferAll(b *bench) {
	s, j := schedules{b}.overlapping(schedule.OverlapBufferAll, func(s *schedule.Schedule) { s.BufferMax = 3 })
	for range 5 {
		schedules{b}.next()
		b.renew(s, j)
	}
	want(b, "occurrences", schedules{b}.said("tick"), "0s job, 1m buffered, 2m buffered, 3m buffered, 4m skipped buffer_full, 5m skipped buffer_full")
	for n := 1; n <= 3; n++ {
		b.finish(s, j, job.OutcomeOK)
		want(b, "live jobs", b.count(`select count(*) from belfry.jobs`), 1)
		s, j = schedules{b}.underWay()
		want(b, "nominal", j.Job.Nominal, Epoch.Add(time.Duration(n)*time.Minute))
	}
}

func caseOverlapBufferAllIsKept(b *bench) {
	b.task("tick")
	b.schedule("tick", "tick", every(time.Minute), overlap(schedule.OverlapBufferAll))
	b.fire()
	first := b.jobsOf("tick")[0].ID
	schedules{b}.next()
	schedules{b}.next()
	b.clock.Move(100 * 24 * time.Hour)
	b.rollUp()
	for must(b.st.Prune(b.ctx))(b) {
	}
	want(b, "occurrences", schedules{b}.said("tick"), "1m buffered, 2m buffered")
	b.cancel(first)
	want(b, "occurrences after the end of the run before", schedules{b}.said("tick"), "1m job, 2m buffered")
}

func caseOverlapCancelOtherThe(b *bench) {
	s, j := schedules{b}.overlapping(schedule.OverlapCancelOther)
	nudged := b.st.Nudged(s.ID)
	schedules{b}.next()
	<-nudged
	if got := b.renew(s, j).Cancel; len(got) != 1 || got[0] != refOf(j) {
		b.Fatalf("attempts to cancel: got %+v, want the replaced run", got)
	}
	schedules{b}.next()
	want(b, "occurrences", schedules{b}.said("tick"), "0s job, 1m skipped replaced, 2m buffered")
	want(b, "end", b.finish(s, j, job.OutcomeCanceled).State, job.Canceled)
	want(b, "occurrences", schedules{b}.said("tick"), "0s job, 1m skipped replaced, 2m job")
	if old := b.job(j.Job.ID); !strings.Contains(old.Note, "later run") {
		b.Fatalf("replaced job: got %+v, want a note of the later run", old)
	}
	want(b, "live jobs", b.count(`select count(*) from belfry.jobs`), 1)
}

func caseOverlapCancelOtherA(b *bench) {
	b.task("tick")
	b.schedule("tick", "tick", every(time.Minute), overlap(schedule.OverlapCancelOther))
	b.fire()
	first := b.jobsOf("tick")[0].ID
	schedules{b}.next()
	old := b.wantState(first, job.Skipped)
	want(b, "reason", old.Reason, schedule.ReasonReplaced)
	ready := b.jobsOf("tick", job.Ready)
	if len(ready) != 1 || !ready[0].Nominal.Equal(Epoch.Add(time.Minute)) {
		b.Fatalf("ready jobs of %s: got %+v, want the later run", schedules{b}.said("tick"), ready)
	}
}

func caseOverlapTerminateOther(b *bench) {
	s, j := schedules{b}.overlapping(schedule.OverlapTerminateOther)
	schedules{b}.next()
	old := b.wantState(j.Job.ID, job.Canceled)
	want(b, "reason", old.Reason, schedule.ReasonReplaced)
	if as := must(b.st.Attempts(b.ctx, "default", j.Job.ID))(b); len(as) != 1 || as[0].Outcome != job.OutcomeCanceled || as[0].Lease != j.Job.Lease {
		b.Fatalf("attempts: got %+v, want 1 that is canceled", as)
	}
	if got := b.renew(s, j).Cancel; len(got) != 1 || got[0] != refOf(j) {
		b.Fatalf("attempts to cancel: got %+v, want the terminated run", got)
	}
	want(b, "late finish is stale", b.finish(s, j, job.OutcomeOK).Stale, true)
	want(b, "occurrences", schedules{b}.said("tick"), "0s job, 1m job")
	want(b, "ready", len(b.jobsOf("tick", job.Ready)), 1)
}

func caseAnEditOfTheOverlapPolicyReachesTheRuns(b *bench) {
	s, j := schedules{b}.overlapping(schedule.OverlapBufferAll)
	schedules{b}.next()
	schedules{b}.next()
	sc := b.get("tick")
	sc.Overlap = schedule.OverlapAllow
	must(b.st.UpdateSchedule(b.ctx, sc))(b)
	want(b, "occurrences", schedules{b}.said("tick"), "0s job, 1m job, 2m job")
	want(b, "state of the first run", b.finish(s, j, job.OutcomeOK).State, job.Succeeded)
}

func casePausingAndResumingAHundredTimesLeavesOneLoop(b *bench) {
	b.task("tick")
	b.schedule("plan", "tick", every(time.Minute))
	b.schedule("loop", "tick", afterFinish(time.Minute))
	b.fire()
	for range 100 {
		for _, name := range []string{"plan", "loop"} {
			must(b.st.PauseSchedule(b.ctx, "default", name, "again"))(b)
			must(b.st.ResumeSchedule(b.ctx, "default", name, false))(b)
		}
		b.fire()
	}
	s := b.session("tick")
	for range 5 {
		b.clock.Move(time.Minute)
		b.fire()
		b.renew(s)
		c := b.claim(s, 10)
		if len(c.Jobs) > 2 {
			b.Fatalf("jobs at once: got %d, want at most 1", len(c.Jobs))
		}
		for _, j := range c.Jobs {
			b.finish(s, j, job.OutcomeOK)
		}
	}
	want(b, "runs of the plan", len(b.jobsOf("plan", job.Succeeded)), 5)
	want(b, "runs of the loop", len(b.jobsOf("loop", job.Succeeded)), 5)
	want(b, "generation", b.get("plan").Generation, 101)
}

func caseAPauseWithdrawsWhatWaitsWithItsReason(b *bench) {
	s, j := schedules{b}.overlapping(schedule.OverlapBufferAll)
	schedules{b}.next()
	must(b.st.TriggerSchedule(b.ctx, "default", "tick", job.RunNow{}))(b)
	ctx := access.WithActor(b.ctx, "ada")
	sc := must(b.st.PauseSchedule(ctx, "default", "tick", "the disk is full"))(b)
	if sc.State != schedule.Paused || sc.PausedBy != "ada" || sc.PausedReason != "the disk is full" || !sc.PausedAt.Equal(b.clock.Now()) || !sc.NextAt.IsZero() || sc.Generation != 2 {
		b.Fatalf("paused schedule: got %+v, want who paused it, why and when", sc)
	}
	want(b, "answer and row", jsonOf(b.get("tick")), jsonOf(sc))
	want(b, "occurrences", schedules{b}.said("tick"), "0s job, 1m skipped paused")
	if o := b.occurrences("tick")[1]; !strings.Contains(o.Note, "the disk is full") {
		b.Fatalf("occurrence: got %+v, want the reason of the pause", o)
	}
	again := must(b.st.PauseSchedule(access.WithActor(b.ctx, "eve"), "default", "tick", "me too"))(b)
	want(b, "pausing again changes nothing", jsonOf(again), jsonOf(sc))
	schedules{b}.next()
	want(b, "occurrences of the paused schedule", schedules{b}.said("tick"), "0s job, 1m skipped paused")
	want(b, "the running one", b.finish(s, j, job.OutcomeOK).State, job.Succeeded)
	want(b, "the manual one is not withdrawn", len(b.jobsOf("tick", job.Ready)), 1)
}

func caseAPauseWithdrawsAWaitingJobAsSkipped(b *bench) {
	b.task("tick", func(t *task.Task) { t.Retry.MaxAttempts = 5 })
	b.schedule("fresh", "tick", every(time.Minute))
	b.schedule("tried", "tick", every(time.Minute))
	b.fire()
	s := b.session("tick")
	for _, j := range b.claim(s, 5).Jobs {
		if j.Job.Schedule == "tried" {
			b.finish(s, j, job.OutcomeError)
		} else {
			b.finish(s, j, job.OutcomeHandedBack)
		}
	}
	b.sql(`update belfry.jobs set attempt = 0 where schedule = 'fresh'`)
	for name, state := range map[string]job.State{"fresh": job.Skipped, "tried": job.Canceled} {
		must(b.st.PauseSchedule(b.ctx, "default", name, "why not"))(b)
		j := b.jobsOf(name)[0]
		if j.State != state || j.Reason != schedule.ReasonPaused || !strings.Contains(j.Note, "why not") || j.FinishedAt.IsZero() {
			b.Fatalf("withdrawn job: got %+v, want the reason of the pause", j)
		}
	}
}

func caseAScheduleThatIsCreatedPausedFiresAfterIt(b *bench) {
	b.task("tick")
	paused := func(s *schedule.Schedule) { s.State, s.PausedReason = schedule.Paused, "not yet" }
	after := func(s *schedule.Schedule) {
		s.Rules = []schedule.Rule{{Every: core.Duration(time.Minute), Anchor: schedule.AnchorFinish}}
	}
	ctx := b.ctx
	b.ctx = access.WithActor(ctx, "ann")
	b.schedule("loop", "tick", after, paused)
	sc := b.schedule("tick", "tick", every(time.Minute), paused, overlap(schedule.OverlapAllow))
	b.ctx = ctx
	want(b, "state", fmt.Sprintf("%s %v %s %s", sc.State, sc.NextAt.IsZero(), sc.PausedBy, sc.PausedReason), "paused true ann not yet")
	want(b, "kept", jsonOf(b.get("tick")), jsonOf(sc))
	audit := must(b.st.Audit(b.ctx, access.AuditFilter{Namespace: "default", Noun: "schedule", Name: "tick"}))(b).Items
	want(b, "audit", fmt.Sprintf("%d %s %s", len(audit), audit[0].Action, audit[0].Note), "1 create not yet")
	b.clock.Move(3 * time.Minute)
	want(b, "fired while paused", b.fire().Schedules, 0)
	must(b.st.ResumeSchedule(b.ctx, "default", "tick", false))(b)
	must(b.st.ResumeSchedule(b.ctx, "default", "loop", false))(b)
	b.fire()
	want(b, "loop", schedules{b}.said("loop"), "3m job")
	want(b, "tick", schedules{b}.said("tick"), "1m skipped paused x3")
	b.clock.Move(time.Minute)
	b.fire()
	want(b, "tick", schedules{b}.said("tick"), "1m skipped paused x3, 4m job")
	wantCode(b, second(b.st.CreateSchedule(b.ctx, schedule.Schedule{Name: "long", Task: "tick", State: schedule.Paused, PausedReason: strings.Repeat("x", core.MaxDescription+1)})), core.Invalid)
}

func caseResumingLeavesOneRowForTheTimesOfThe(b *bench) {
	b.task("tick")
	for _, name := range []string{"quiet", "eager"} {
		b.schedule(name, "tick", every(time.Minute), overlap(schedule.OverlapAllow), catchup(schedule.CatchupAll), func(s *schedule.Schedule) { s.CatchupMax = 2 })
	}
	b.fire()
	for _, name := range []string{"quiet", "eager"} {
		must(b.st.PauseSchedule(b.ctx, "default", name, ""))(b)
	}
	b.clock.Move(5*time.Minute + time.Second)
	want(b, "fired while paused", b.fire().Schedules, 0)
	sc := must(b.st.ResumeSchedule(b.ctx, "default", "quiet", false))(b)
	want(b, "next time", sc.NextAt, Epoch.Add(6*time.Minute))
	want(b, "reason is gone", sc.PausedReason+sc.PausedBy, "")
	must(b.st.ResumeSchedule(b.ctx, "default", "eager", true))(b)
	want(b, "quiet", schedules{b}.said("quiet"), "0s job, 1m skipped paused x5")
	o := b.occurrences("quiet")[1]
	want(b, "end of the missed times", o.Until, Epoch.Add(5*time.Minute))
	want(b, "eager", schedules{b}.said("eager"), "0s job, 1m skipped catchup_max x3, 4m job, 5m job")
	want(b, "resuming again changes nothing", jsonOf(must(b.st.ResumeSchedule(b.ctx, "default", "quiet", true))(b)), jsonOf(sc))
}

func caseAnEditThatKeepsTheTimesKeepsTheCadence(b *bench) {
	b.task("tick")
	b.schedule("tick", "tick", every(time.Minute))
	b.fire()
	b.clock.Move(20 * time.Second)
	before := b.get("tick")
	sc := before
	sc.Description, sc.CatchupMax, sc.Input = "edited", 7, json.RawMessage(`{"n":1}`)
	sc = must(b.st.UpdateSchedule(b.ctx, sc))(b)
	want(b, "next time", sc.NextAt, before.NextAt)
	want(b, "high water", sc.HighWater, before.HighWater)
	want(b, "generation", sc.Generation, before.Generation)
	want(b, "waiting jobs", len(b.jobsOf("tick", job.Ready)), 1)
	want(b, "row", jsonOf(b.get("tick")), jsonOf(sc))
	same := must(b.st.UpdateSchedule(b.ctx, sc))(b)
	want(b, "an edit of nothing", jsonOf(same), jsonOf(sc))
}

func caseAnEditOfTheTimesWithdrawsWhatWaits(b *bench) {
	b.task("tick")
	b.schedule("tick", "tick", every(10*time.Minute))
	b.fire()
	waiting := b.jobsOf("tick")[0].ID
	b.clock.Move(25 * time.Minute)
	sc := b.get("tick")
	sc.Rules[0].Every = core.Duration(time.Minute)
	sc.Overlap = schedule.OverlapAllow
	sc = must(b.st.UpdateSchedule(b.ctx, sc))(b)
	want(b, "generation", sc.Generation, 2)
	want(b, "next time", sc.NextAt, Epoch.Add(26*time.Minute))
	old := b.wantState(waiting, job.Skipped)
	want(b, "reason", old.Reason, schedule.ReasonEdited)
	want(b, "decided under the old rule", schedules{b}.said("tick"), "0s job, 10m skipped catchup_latest, 20m skipped overlap")
	want(b, "fired at once", b.fire().Jobs, 0)
	b.clock.Move(time.Minute)
	b.fire()
	want(b, "occurrences after the resume", schedules{b}.said("tick"), "0s job, 10m skipped catchup_latest, 20m skipped overlap, 26m job")
	want(b, "generation of the job", b.jobsOf("tick", job.Ready)[0].Generation, 2)
}

func caseAnEditOfTheTimesEmptiesTheBufferWith(b *bench) {
	s, j := schedules{b}.overlapping(schedule.OverlapBufferOne)
	schedules{b}.next()
	sc := b.get("tick")
	sc.Rules = []schedule.Rule{{Cron: "0 13 * * *"}}
	must(b.st.UpdateSchedule(b.ctx, sc))(b)
	want(b, "occurrences", schedules{b}.said("tick"), "0s job, 1m skipped edited")
	want(b, "the running one", b.finish(s, j, job.OutcomeOK).State, job.Succeeded)
	want(b, "live jobs", b.count(`select count(*) from belfry.jobs`), 0)
	want(b, "next time", b.get("tick").NextAt, Epoch.Add(time.Hour))
}

func caseAnEditOfAPausedScheduleLeavesItPaused(b *bench) {
	b.task("tick")
	b.schedule("tick", "tick", every(time.Minute))
	must(b.st.PauseSchedule(b.ctx, "default", "tick", "wait"))(b)
	sc := b.get("tick")
	sc.Rules[0].Every = core.Duration(2 * time.Minute)
	sc = must(b.st.UpdateSchedule(b.ctx, sc))(b)
	if sc.State != schedule.Paused || sc.PausedReason != "wait" || !sc.NextAt.IsZero() {
		b.Fatalf("edited schedule: got %+v, want it still paused", sc)
	}
	schedules{b}.next()
	want(b, "occurrences", schedules{b}.said("tick"), "0s job") // due at the pause, which withdraws it
	want(b, "live jobs", b.count(`select count(*) from belfry.jobs`), 0)
}

func caseACompletedScheduleThatIsGivenNewTimesBegins(b *bench) {
	b.task("once")
	b.schedule("once", "once", at(Epoch.Add(time.Minute)))
	schedules{b}.next()
	want(b, "state", b.get("once").State, schedule.Completed)
	_, err := b.st.PauseSchedule(b.ctx, "default", "once", "")
	wantCode(b, err, core.Conflict, "completed")
	sc := b.get("once")
	sc.Rules = []schedule.Rule{{At: []time.Time{Epoch.Add(5 * time.Minute)}}}
	sc = must(b.st.UpdateSchedule(b.ctx, sc))(b)
	want(b, "state", sc.State, schedule.Active)
	want(b, "next time", sc.NextAt, Epoch.Add(5*time.Minute))
}

func caseDeletingAScheduleWithdrawsWhatWaitsAndLetsWhat(b *bench) {
	b.task("tick")
	b.schedule("tick", "tick", every(time.Minute), overlap(schedule.OverlapAllow))
	s, j := schedules{b}.underWay()
	schedules{b}.next()
	waiting := b.jobsOf("tick", job.Ready)[0].ID
	ok(b, b.st.DeleteSchedule(b.ctx, "default", "tick"))
	want(b, "reason", b.wantState(waiting, job.Skipped).Reason, schedule.ReasonDeleted)
	want(b, "the running one", b.finish(s, j, job.OutcomeOK).State, job.Succeeded)
	schedules{b}.next()
	want(b, "live jobs", b.count(`select count(*) from belfry.jobs`), 0)
	wantCode(b, b.st.DeleteSchedule(b.ctx, "default", "tick"), core.NotFound, "tick")
	_, err := b.st.Schedule(b.ctx, "default", "tick")
	wantCode(b, err, core.NotFound, "tick")
}

func caseBadSchedulesAreRefusedWithTheFieldAndThe(b *bench) {
	b.task("tick")
	for field, change := range map[string]func(*schedule.Schedule){
		"rules[0].cron":  cron("61 * * * *"),
		"rules":          cron("0 0 30 2 *"),
		"zone":           func(s *schedule.Schedule) { s.Zone = "Mars/Olympus" },
		"rules[0].every": every(-time.Second),
		"task":           func(s *schedule.Schedule) { s.Task = "nobody" },
		"end":            func(s *schedule.Schedule) { s.End = Epoch.Add(-time.Hour) },
		"overlap":        overlap("sometimes"),
		"catchup":        catchup("always"),
		"name":           func(s *schedule.Schedule) { s.Name = "no spaces" },
		"rules[0]":       func(s *schedule.Schedule) { s.Rules = []schedule.Rule{{Cron: "* * * * *", Every: 5}} },
		"input":          func(s *schedule.Schedule) { s.Input = json.RawMessage(`{`) },
	} {
		sc := schedule.Schedule{Name: "bad", Task: "tick"}
		change(&sc)
		_, err := b.st.CreateSchedule(b.ctx, sc)
		wantCode(b, err, core.Invalid, field)
	}
	_, err := b.st.CreateSchedule(b.ctx, schedule.Schedule{Name: "past", Task: "tick", Rules: []schedule.Rule{{At: []time.Time{Epoch.Add(-time.Hour)}}}})
	wantCode(b, err, core.Invalid, "never match")
	want(b, "schedules", b.count(`select count(*) from belfry.schedules`), 0)
	want(b, "audit rows", b.count(`select count(*) from belfry.audit where noun = 'schedule'`), 0)
	b.schedule("twin", "tick", cron("* * * * *"))
	_, err = b.st.CreateSchedule(b.ctx, schedule.Schedule{Name: "twin", Task: "tick"})
	wantCode(b, err, core.Conflict, "twin")
	_, err = b.st.UpdateSchedule(b.ctx, schedule.Schedule{Name: "nobody", Task: "tick"})
	wantCode(b, err, core.NotFound, "nobody")
}

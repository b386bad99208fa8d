package storetest

import (
	"time"

	"github.com/belfry-run/belfry/core"
	"github.com/belfry-run/belfry/job"
	"github.com/belfry-run/belfry/schedule"
	"github.com/belfry-run/belfry/task"
)

func init() {
	add("a clock set back by an hour fires nothing twice, and what was put off does not wait an hour more", caseAClockSetBackByAnHourFiresNothing)
	add("a clock set back does not lose the session of a worker, and lost ones are still noticed in time", caseAClockSetBackDoesNotLoseTheSession)
	add("a claim that never arrived is handed back in time though the clock was set back meanwhile", caseAClaimThatNeverArrivedIsHandedBackIn)
	add("a schedule that a clock far ahead left quiet goes on when it is paused and resumed, and repeats nothing", caseAScheduleGoesOnAfterAClockFarAhead)
	add("a clock set forward by an hour is missed runs like any others", caseAClockSetForwardByAnHourIsMissed)
}

func caseAClockSetBackByAnHourFiresNothing(b *bench) {
	b.task("tick", func(t *task.Task) { t.Retry.Delay = core.Duration(time.Minute) })
	b.schedule("plan", "tick", every(10*time.Minute), overlap(schedule.OverlapAllow))
	b.schedule("loop", "tick", afterFinish(5*time.Minute))
	b.fire()
	s := b.session("tick")
	c := b.claim(s, 5)
	want(b, "claimed", len(c.Jobs), 2)
	for _, j := range c.Jobs {
		if j.Job.Schedule == "plan" {
			b.finish(s, j, job.OutcomeError)
		} else {
			b.finish(s, j, job.OutcomeOK)
		}
	}
	b.clock.Move(-time.Hour)
	ok(b, b.st.ShiftClock(b.ctx, -time.Hour))
	want(b, "released", b.release(), 0)
	want(b, "fired at once", b.fire().Jobs, 0)
	want(b, "quiet", must(b.st.Health(b.ctx))(b).QuietUntil, Epoch)
	want(b, "quiet in the overview", must(b.st.Overview(b.ctx, "default"))(b).QuietUntil, Epoch)
	b.clock.Move(time.Minute)
	want(b, "the retry's delay", b.promote(), 1)
	b.clock.Move(4 * time.Minute)
	f := b.fire()
	want(b, "the loop's interval", f.Jobs, 1)
	schedules{b}.fireTo(Epoch.Add(9 * time.Minute))
	want(b, "plan", schedules{b}.said("plan"), "0s job")
	b.clock.Move(time.Minute)
	b.fire()
	want(b, "plan at its next time", schedules{b}.said("plan"), "0s job, 10m job")
	want(b, "no longer quiet", must(b.st.Health(b.ctx))(b).QuietUntil, time.Time{})
}

func caseAScheduleGoesOnAfterAClockFarAhead(b *bench) {
	b.task("tick")
	b.schedule("tick", "tick", every(10*time.Minute), overlap(schedule.OverlapAllow))
	b.fire()
	b.clock.Move(400 * 24 * time.Hour)
	want(b, "while the clock is ahead", b.fire().Jobs, 1)
	b.clock.Move(-400*24*time.Hour - time.Minute)
	ok(b, b.st.ShiftClock(b.ctx, -400*24*time.Hour))
	look := must(b.st.Look(b.ctx, schedule.LookQuery{Name: "tick", N: 1}))(b)
	want(b, "the preview", look.Coming[0].Nominal, must(b.st.Schedule(b.ctx, "default", "tick"))(b).NextAt)
	must(b.st.PauseSchedule(b.ctx, "default", "tick", ""))(b)
	want(b, "next", must(b.st.ResumeSchedule(b.ctx, "default", "tick", false))(b).NextAt, Epoch)
	want(b, "no longer quiet", must(b.st.Health(b.ctx))(b).QuietUntil, time.Time{})
	b.clock.Move(time.Minute)
	b.fire()
	want(b, "jobs, with the time that has run", len(b.jobsOf("tick")), 2)
	b.clock.Move(10 * time.Minute)
	b.fire()
	want(b, "jobs after the next", len(b.jobsOf("tick")), 3)
}

func caseAClockSetBackDoesNotLoseTheSession(b *bench) {
	b.task("tick")
	b.enqueue(job.NewJob{Task: "tick"})
	s := b.session("tick")
	c := b.claim(s, 1)
	b.clock.Move(-time.Hour)
	ok(b, b.st.ShiftClock(b.ctx, -time.Hour))
	want(b, "lost", b.renew(s, c.Jobs...).Lost, false)
	b.clock.Move(lost)
	want(b, "released", b.release(), 1)
}

func caseAClaimThatNeverArrivedIsHandedBackIn(b *bench) {
	b.task("tick")
	j := b.enqueue(job.NewJob{Task: "tick"})
	s := b.session("tick")
	b.claim(s, 1)
	b.clock.Move(-time.Hour)
	ok(b, b.st.ShiftClock(b.ctx, -time.Hour))
	b.clock.Move(job.ClaimSettled + time.Second)
	b.renew(s)
	b.renew(s)
	b.wantState(j.ID, job.Ready)
}

func caseAClockSetForwardByAnHourIsMissed(b *bench) {
	b.task("tick")
	b.schedule("tick", "tick", every(10*time.Minute), overlap(schedule.OverlapAllow))
	b.fire()
	b.clock.Move(time.Hour)
	want(b, "jobs", b.fire().Jobs, 1)
	b.clock.Move(-time.Hour)
	ok(b, b.st.ShiftClock(b.ctx, -time.Hour))
	for range 6 {
		want(b, "jobs while the clock repeats the hour", b.fire().Jobs, 0)
		b.clock.Move(10 * time.Minute)
	}
	want(b, "occurrences", schedules{b}.said("tick"), "0s job, 10m skipped catchup_latest x5, 1h job")
	b.clock.Move(10 * time.Minute)
	want(b, "jobs after it", b.fire().Jobs, 1)
}

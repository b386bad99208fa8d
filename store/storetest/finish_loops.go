package storetest

import (
	"time"

	"github.com/belfry-run/belfry/core"
	"github.com/belfry-run/belfry/job"
	"github.com/belfry-run/belfry/task"
)

func init() {
	add("a finish loop survives every way in which its run can end", caseAFinishLoopSurvivesEachEndOfItsRun)
	add("a finish loop survives edits and pauses during its run", caseAFinishLoopSurvivesEditsAndPauses)
}

// finishLoop is a bench with the schedule loop, whose next run follows 10 minutes after the end of the last.
type finishLoop struct{ *bench }

func newFinishLoop(b *bench) finishLoop {
	b.task("loop", func(t *task.Task) { t.Retry.MaxAttempts = 1; t.Timeout = core.Duration(time.Second) })
	b.schedule("loop", "loop", afterFinish(10*time.Minute))
	return finishLoop{b}
}

// start fires the schedule and claims its job.
func (b finishLoop) start() (job.Session, job.LeasedJob) {
	b.Helper()
	want(b.bench, "fired", b.fire().Jobs, 1)
	s := b.session("loop")
	c := b.claim(s, 5)
	want(b.bench, "claimed", len(c.Jobs), 1)
	return s, c.Jobs[0]
}

// goesOn expects the next run 10 minutes after now, and moves there.
func (b finishLoop) goesOn(how string) {
	b.Helper()
	sc := b.get("loop")
	want(b.bench, how+": next", sc.NextAt, b.clock.Now().Add(10*time.Minute))
	b.clock.Move(10 * time.Minute)
}

// again expects the next run at once, with a nominal time of its own.
func (b finishLoop) again(how string) {
	b.Helper()
	if next := b.get("loop").NextAt; next.Sub(b.clock.Now()).Abs() > time.Millisecond {
		b.Fatalf("next run %s: got %s, want now, %s", how, next, b.clock.Now())
	}
	b.clock.Move(time.Millisecond)
}

func caseAFinishLoopSurvivesEachEndOfItsRun(b *bench) {
	l := newFinishLoop(b)
	for _, o := range []job.Outcome{job.OutcomeOK, job.OutcomeError, job.OutcomeTimeout, job.OutcomeCanceled} {
		s, j := l.start()
		b.finish(s, j, o)
		l.goesOn(string(o))
	}
	l.start()
	b.clock.Move(lost)
	b.release()
	l.goesOn("lost")

	s, j := l.start()
	for range 4 {
		b.clock.Move(20 * time.Second)
		b.renew(s, j)
	}
	l.goesOn("deadline")

	s, j = l.start()
	b.cancel(j.Job.ID)
	b.finish(s, j, job.OutcomeCanceled)
	l.goesOn("canceled while running")

	want(b, "fired", b.fire().Jobs, 1)
	b.cancel(b.jobsOf("loop", job.Ready)[0].ID)
	l.goesOn("canceled while waiting")

	s, j = l.start()
	b.finish(s, j, job.OutcomeSnoozed, func(f *job.Finish) { f.Snooze = core.Duration(time.Hour) })
	want(b, "next while snoozed", b.get("loop").NextAt, time.Time{})
	b.cancel(j.Job.ID)
	l.goesOn("canceled while snoozed")
}

func caseAFinishLoopSurvivesEditsAndPauses(b *bench) {
	l := newFinishLoop(b)
	s, j := l.start()
	b.task("other")
	sc := b.get("loop")
	sc.Task = "other"
	must(b.st.UpdateSchedule(b.ctx, sc))(b)
	b.finish(s, j, job.OutcomeOK)
	sc = b.get("loop")
	sc.Task = "loop"
	must(b.st.UpdateSchedule(b.ctx, sc))(b)
	l.goesOn("task of the schedule changed")

	s, j = l.start()
	must(b.st.UpdateTask(b.ctx, task.Task{Name: "loop", Kind: task.KindFunc, Description: "edited", Retry: task.Retry{MaxAttempts: 1}, Timeout: core.Duration(time.Second)}))(b)
	b.finish(s, j, job.OutcomeError)
	l.goesOn("task edited")

	want(b, "fired", b.fire().Jobs, 1)
	must(b.st.PauseSchedule(b.ctx, "default", "loop", "withdrawn"))(b)
	must(b.st.ResumeSchedule(b.ctx, "default", "loop", false))(b)
	l.again("withdrawn by a pause")

	s, j = l.start()
	must(b.st.PauseSchedule(b.ctx, "default", "loop", "while it runs"))(b)
	b.finish(s, j, job.OutcomeOK)
	must(b.st.ResumeSchedule(b.ctx, "default", "loop", false))(b)
	l.again("ended during a pause")

	want(b, "fired", b.fire().Jobs, 1)
	sc = b.get("loop")
	sc.Rules[0].Every = core.Duration(11 * time.Minute)
	must(b.st.UpdateSchedule(b.ctx, sc))(b)
	l.again("withdrawn by an edit")
}

package storetest

import (
	"strings"
	"time"

	"github.com/belfry-run/belfry/core"
	"github.com/belfry-run/belfry/cycle"
	"github.com/belfry-run/belfry/job"
	"github.com/belfry-run/belfry/schedule"
	"github.com/belfry-run/belfry/task"
	"github.com/belfry-run/belfry/view"
)

func init() {
	add("a cycle that takes as long as it may fails, its member is asked to end, and the others do not run", caseACycleThatTakesAsLongAsItMay)
	add("a cycle whose member no worker can run ends at its timeout, and a clock that is set does not end it", caseACycleWhoseMemberNoWorkerCanRunEnds)
	add("a second run of a cycle is refused, or skipped with a reason, on every path", caseASecondRunOfACycleIsRefused)
	add("a cycle within another waits for a run of it that was started by hand", caseACycleWithinAnotherWaitsForARunOf)
}

func caseACycleThatTakesAsLongAsItMay(b *bench) {
	r := b.ring("all", task.Member{Task: "a"}, task.Member{Task: "b"}, task.Member{Task: "c"})
	t := must(b.st.Task(b.ctx, "default", "all"))(b)
	want(b, "timeout of a cycle", t.Timeout, task.DefaultCycleTimeout)
	t.Timeout = core.Duration(time.Minute)
	must(b.st.UpdateTask(b.ctx, t))(b)
	late := r.run("all")
	r.finish(r.session, r.claim(r.session, 1).Jobs[0], job.OutcomeOK)
	held := r.claim(r.session, 1).Jobs[0]
	want(b, "member", held.Job.Task, "b")
	b.clock.Move(59 * time.Second)
	want(b, "ended before its time", must(b.st.EndLateCycles(b.ctx))(b).Jobs, 0)
	want(b, "next look", must(b.st.StartCycles(b.ctx))(b).NextAt.Equal(Epoch.Add(time.Minute)), true)
	b.clock.Move(time.Second)
	want(b, "ended", must(b.st.EndLateCycles(b.ctx))(b).Jobs, 1)
	j := b.wantState(late.ID, job.Failed)
	want(b, "reason", j.Reason, cycle.ReasonTimeout)
	if !strings.Contains(j.Error, "longer than its timeout of 1m") {
		b.Fatalf("error of the late cycle: got %q, want its timeout", j.Error)
	}
	want(b, "results", r.output(late.ID), "a ok; b failed; c skipped")
	want(b, "asked to end", b.count(`select count(*) from belfry.leases where cancel_at > 0 and job_id = $1`, held.Job.ID), 1)
	r.finish(r.session, held, job.OutcomeCanceled)
	want(b, "work after the cycle", r.works(well), "")
	second := r.run("all") // the first run leaves nothing behind
	want(b, "order", r.works(well), "a b c")
	b.wantState(second.ID, job.Succeeded)
}

func caseACycleWhoseMemberNoWorkerCanRunEnds(b *bench) {
	r := b.ring("all", task.Member{Task: "nobody"})
	late := r.run("all")
	b.clock.Move(time.Hour)
	ok(b, b.st.ShiftClock(b.ctx, 0))
	b.clock.Set(48 * time.Hour)
	ok(b, b.st.ShiftClock(b.ctx, 48*time.Hour))
	want(b, "ended by a clock", must(b.st.EndLateCycles(b.ctx))(b).Jobs, 0)
	b.clock.Move(23 * time.Hour)
	want(b, "ended", must(b.st.EndLateCycles(b.ctx))(b).Jobs, 1)
	want(b, "results", r.output(late.ID), "nobody failed")
	want(b, "jobs that still wait", b.count(`select count(*) from belfry.jobs`), 0)
}

func caseASecondRunOfACycleIsRefused(b *bench) {
	r := b.ring("all", task.Member{Task: "a"}, task.Member{Task: "b"})
	old := r.run("all")
	r.works(well)
	b.wantState(old.ID, job.Succeeded)
	canceled := r.run("all")
	must(b.st.CancelJobs(b.ctx, "default", view.Selection{IDs: []int64{canceled.ID}}))(b)
	b.schedule("first", "all", every(time.Hour), func(s *schedule.Schedule) { s.Overlap = schedule.OverlapAllow })

	_, err := b.st.Enqueue(b.ctx, []job.NewJob{{Task: "all"}, {Task: "all"}})
	wantCode(b, err, core.Conflict, "twice in one call")
	run := b.enqueue(job.NewJob{Task: "all", Key: "k"})
	const says = "is under way, as job"
	refused := func(what string) {
		b.Helper()
		_, err := b.st.Enqueue(b.ctx, []job.NewJob{{Task: "a"}, {Task: "all"}})
		wantCode(b, err, core.Conflict, says)
		want(b, what+": jobs of a refused batch", b.count(`select count(*) from belfry.jobs where task = 'a' and trigger <> 'cycle'`), 0)
		_, err = b.st.RunCycle(b.ctx, "default", "all")
		wantCode(b, err, core.Conflict, says)
		_, err = b.st.TriggerSchedule(b.ctx, "default", "first", job.RunNow{})
		wantCode(b, err, core.Conflict, says)
		_, err = b.st.RunJobAgain(b.ctx, "default", old.ID, job.RunAgain{})
		wantCode(b, err, core.Conflict, says)
		sel := must(b.st.RetryJobs(b.ctx, "default", view.Selection{IDs: []int64{canceled.ID}}))(b)
		want(b, what+": brought back", len(sel.IDs), 0)
		want(b, what+": why not", sel.Left[canceled.ID], "another run of the cycle is under way")
		want(b, what+": the same again", b.enqueue(job.NewJob{Task: "all", Key: "k"}).ID, run.ID)
	}
	refused("about to begin")
	must(b.st.StartCycles(b.ctx))(b)
	refused("under way")

	later := b.enqueue(job.NewJob{Task: "all", Delay: core.Duration(time.Minute)})
	b.clock.Move(time.Hour)
	b.fire()
	must(b.st.Promote(b.ctx))(b)
	must(b.st.StartCycles(b.ctx))(b)
	scheduled := b.jobsOf("first", job.Skipped)
	want(b, "skipped of the schedule", len(scheduled), 1)
	for _, j := range append(scheduled, b.job(later.ID)) {
		want(b, "state", j.State, job.Skipped)
		want(b, "reason", j.Reason, schedule.ReasonOverlap)
	}
	want(b, "order", r.works(well), "a b")
	b.wantState(run.ID, job.Succeeded)
}

func caseACycleWithinAnotherWaitsForARunOf(b *bench) {
	r := b.ring("inner", task.Member{Task: "a"}, task.Member{Task: "b"})
	must(b.st.CreateTask(b.ctx, task.Task{Name: "outer", Cycle: &task.Cycle{Members: []task.Member{{Task: "inner"}, {Task: "c"}}}}))(b)
	inner, outer := r.run("inner"), r.run("outer")
	must(b.st.StartCycles(b.ctx))(b)
	want(b, "runs of the inner one", b.count(`select count(*) from belfry.cycle_runs`), 2)
	want(b, "order", r.works(well), "a b a b c")
	b.wantState(inner.ID, job.Succeeded)
	b.wantState(outer.ID, job.Succeeded)
}

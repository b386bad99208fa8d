package storetest

import (
	"strings"
	"time"

	"github.com/belfry-run/belfry"
)

func init() {
	add("a cycle that takes as long as it may fails, its member is asked to end, and the others do not run", func(b *bench) {
		r := b.ring("all", belfry.Member{Task: "a"}, belfry.Member{Task: "b"}, belfry.Member{Task: "c"})
		task := must(b.st.Task(b.ctx, "default", "all"))(b)
		want(b, "timeout of a cycle", task.Timeout, belfry.DefaultCycleTimeout)
		task.Timeout = belfry.Duration(time.Minute)
		must(b.st.UpdateTask(b.ctx, task))(b)
		late := r.run("all")
		r.finish(r.session, r.claim(r.session, 1).Jobs[0], belfry.OutcomeOK)
		held := r.claim(r.session, 1).Jobs[0]
		want(b, "member", held.Job.Task, "b")
		b.clock.Move(59 * time.Second)
		want(b, "ended before its time", must(b.st.EndLateCycles(b.ctx))(b).Jobs, 0)
		want(b, "next look", must(b.st.StartCycles(b.ctx))(b).NextAt.Equal(Epoch.Add(time.Minute)), true)
		b.clock.Move(time.Second)
		want(b, "ended", must(b.st.EndLateCycles(b.ctx))(b).Jobs, 1)
		j := b.wantState(late.ID, belfry.JobFailed)
		want(b, "reason", j.Reason, belfry.ReasonTimeout)
		if !strings.Contains(j.Error, "longer than its timeout of 1m") {
			b.Fatal(j.Error)
		}
		want(b, "results", r.output(late.ID), "a ok; b failed; c skipped")
		want(b, "asked to end", b.count(`select count(*) from belfry.leases where cancel_at > 0 and job_id = $1`, held.Job.ID), 1)
		r.finish(r.session, held, belfry.OutcomeCanceled)
		want(b, "behind it", r.works(well), "")
		second := r.run("all") // nothing of it is left behind
		want(b, "order", r.works(well), "a b c")
		b.wantState(second.ID, belfry.JobSucceeded)
	})

	add("a cycle whose member no worker can run ends at its timeout, and a clock that is set does not end it", func(b *bench) {
		r := b.ring("all", belfry.Member{Task: "nobody"})
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
	})

	add("a second run of a cycle is refused, or skipped with a reason, on every path", func(b *bench) {
		r := b.ring("all", belfry.Member{Task: "a"}, belfry.Member{Task: "b"})
		old := r.run("all")
		r.works(well)
		b.wantState(old.ID, belfry.JobSucceeded)
		canceled := r.run("all")
		must(b.st.CancelJobs(b.ctx, "default", belfry.Selection{IDs: []int64{canceled.ID}}))(b)
		b.schedule("first", "all", every(time.Hour), func(s *belfry.Schedule) { s.Overlap = belfry.OverlapAllow })

		_, err := b.st.Enqueue(b.ctx, []belfry.NewJob{{Task: "all"}, {Task: "all"}})
		wantCode(b, err, belfry.Conflict, "twice in one call")
		run := b.enqueue(belfry.NewJob{Task: "all", Key: "k"})
		const says = "is under way, as job"
		refused := func(what string) {
			b.Helper()
			_, err := b.st.Enqueue(b.ctx, []belfry.NewJob{{Task: "a"}, {Task: "all"}})
			wantCode(b, err, belfry.Conflict, says)
			want(b, what+": jobs of a refused batch", b.count(`select count(*) from belfry.jobs where task = 'a' and origin <> 'cycle'`), 0)
			_, err = b.st.RunCycle(b.ctx, "default", "all")
			wantCode(b, err, belfry.Conflict, says)
			_, err = b.st.TriggerSchedule(b.ctx, "default", "first", nil)
			wantCode(b, err, belfry.Conflict, says)
			_, err = b.st.RerunJob(b.ctx, "default", old.ID, belfry.Rerun{})
			wantCode(b, err, belfry.Conflict, says)
			sel := must(b.st.RedriveJobs(b.ctx, "default", belfry.Selection{IDs: []int64{canceled.ID}}))(b)
			want(b, what+": brought back", len(sel.IDs), 0)
			want(b, what+": why not", sel.Left[canceled.ID], "another run of the cycle is under way")
			want(b, what+": the same again", b.enqueue(belfry.NewJob{Task: "all", Key: "k"}).ID, run.ID)
		}
		refused("about to begin")
		must(b.st.StartCycles(b.ctx))(b)
		refused("under way")

		later := b.enqueue(belfry.NewJob{Task: "all", Delay: belfry.Duration(time.Minute)})
		b.clock.Move(time.Hour)
		b.fire()
		must(b.st.Promote(b.ctx))(b)
		must(b.st.StartCycles(b.ctx))(b)
		scheduled := b.jobsOf("first", belfry.JobSkipped)
		want(b, "skipped of the schedule", len(scheduled), 1)
		for _, j := range append(scheduled, b.job(later.ID)) {
			want(b, "state", j.State, belfry.JobSkipped)
			want(b, "reason", j.Reason, belfry.ReasonOverlap)
		}
		want(b, "order", r.works(well), "a b")
		b.wantState(run.ID, belfry.JobSucceeded)
	})

	add("a cycle within another waits for a run of it that somebody asked for", func(b *bench) {
		r := b.ring("inner", belfry.Member{Task: "a"}, belfry.Member{Task: "b"})
		must(b.st.CreateTask(b.ctx, belfry.Task{Name: "outer", Cycle: &belfry.Cycle{Members: []belfry.Member{{Task: "inner"}, {Task: "c"}}}}))(b)
		inner, outer := r.run("inner"), r.run("outer")
		must(b.st.StartCycles(b.ctx))(b)
		want(b, "runs of the inner one", b.count(`select count(*) from belfry.cycle_runs`), 2)
		want(b, "order", r.works(well), "a b a b c")
		b.wantState(inner.ID, belfry.JobSucceeded)
		b.wantState(outer.ID, belfry.JobSucceeded)
	})
}

package storetest

import (
	"fmt"
	"slices"
	"time"

	"github.com/belfry-run/belfry/flow"
	"github.com/belfry-run/belfry/job"
	"github.com/belfry-run/belfry/schedule"
	"github.com/belfry-run/belfry/store/leftovers"
	"github.com/belfry-run/belfry/task"
	"github.com/belfry-run/belfry/view"
)

func init() {
	add("a task with many jobs that wait is deleted in parts, and none of them begins", leftoversOfDeletedTask)
	add("first limits hold back a backlog in parts, and are never exceeded meanwhile", leftoversOfLimits)
	add("first limits of a workflow hold back a backlog of runs in parts, and are never exceeded meanwhile", leftoversOfLimitsOfRuns)
	add("runs of a paused schedule that wait for its backlog to end do not begin", leftoversOfRunsOfPausedSchedule)
	add("runs of a workflow whose labels were edited begin at once, however many wait", leftoversOfLabelsOfRuns)
	add("limits that go while a backlog is held back leave nothing behind", leftoversOfLimitsGone)
	add("a backlog follows an edit of its task in parts, and no worker of before gets it", leftoversOfEditedTask)
	add("a backlog follows new requirements in parts, and no worker without them gets it", leftoversOfRequirements)
	add("a schedule with many jobs that wait is paused in parts, and its later ones stay", leftoversOfPausedSchedule)
	add("a bulk action is done in parts, and all of them are in its answer", bulkInParts)
}

// backlog is more jobs of a task than one step of a change follows.
const backlog = 2*leftovers.AtOnce + leftovers.AtOnce/2

func backlogOf(b *bench, name string) {
	b.Helper()
	must(b.st.Enqueue(b.ctx, slices.Repeat([]job.NewJob{{Task: name}}, backlog)))(b)
}

// followAll follows all leftovers of changes, and calls between after each part. Some leftovers wait until other transactions
// have ended, also those of other tests.
func followAll(b *bench, between func()) {
	b.Helper()
	for deadline := time.Now().Add(3 * time.Minute); ; {
		if must(b.st.FollowLeft(b.ctx))(b) {
			between()
		} else if b.count(`select count(*) from belfry.leftovers`) == 0 {
			return
		}
		if time.Now().After(deadline) {
			b.Fatal("the changes are not followed in time")
		}
	}
}

func leasedJobs(b *bench) int64 {
	b.Helper()
	return b.count(`select count(*) from belfry.live where job_id is not null`)
}

func leftoversOfDeletedTask(b *bench) {
	skipped := func() int64 {
		return b.count(`select count(*) from belfry.jobs_done where task = 't' and state = 'skipped' and reason = 'deleted'`)
	}
	b.task("other")
	for _, limits := range [][]flow.Limit{nil, {{Running: 1}}} {
		b.task("t", func(t *task.Task) { t.Limits = limits })
		backlogOf(b, "t")
		s, before := b.session("t", "other"), skipped()
		ok(b, b.st.DeleteTask(b.ctx, "default", "t"))
		want(b, "ended with the task", skipped()-before, leftovers.AtOnce)
		other := b.enqueue(job.NewJob{Task: "other"})
		for len(b.claim(s, 300).Jobs) == 0 { // the jobs are first in the queue, and a claim that meets them ends them
			b.promote()
		}
		b.wantState(other.ID, job.Running)
		followAll(b, func() { b.promote() })
		want(b, "left", b.count(`select count(*) from belfry.jobs where task = 't'`), 0)
		want(b, "attempts", b.count(`select count(*) from belfry.attempts`), 0)
	}
}

func leftoversOfLimits(b *bench) {
	const most = 3
	limit := flow.Limit{Running: most}
	for name, hold := range map[string]func(){
		"task": func() {
			must(b.st.UpdateTask(b.ctx, task.Task{Name: "work", Queue: "default", Limits: []flow.Limit{limit}}))(b)
		},
		"queue":     func() { queueLimits(b, "default", limit) },
		"namespace": func() { namespaceLimits(b, "default", limit) },
	} {
		b.task("work")
		backlogOf(b, "work")
		hold()
		s := b.session("work")
		var got []job.LeasedJob
		look := func() {
			got = append(got, b.claim(s, 200).Jobs...)
			if n := leasedJobs(b); n > most {
				b.Fatalf("%s: got %d running jobs, want at most %d", name, n, most)
			}
			b.promote()
		}
		for range 20 {
			look()
		}
		want(b, name+": run", leasedJobs(b), most)
		for _, j := range got { // the other jobs come after them
			b.finish(s, j, job.OutcomeOK)
		}
		got = nil
		followAll(b, look)
		for range backlog {
			if b.promote(); b.count(`select count(*) from belfry.jobs where state = 'scheduled'`) == 0 {
				break
			}
		}
		look()
		want(b, name+": run at last", leasedJobs(b), most)
		want(b, name+": wait", b.count(`select count(*) from belfry.jobs where state = 'waiting' and limited = 1`), backlog-2*most)
		queueLimits(b, "default")
		namespaceLimits(b, "default")
		ok(b, b.st.DeleteTask(b.ctx, "default", "work"))
		followAll(b, func() {})
		for _, j := range got {
			b.finish(s, j, job.OutcomeOK)
		}
	}
}

// runsOf creates a backlog of runs that wait to begin.
func runsOf(b *bench) task.Task {
	b.Helper()
	b.task("t")
	w := b.task("w", func(t *task.Task) {
		t.Kind, t.Workflow = task.KindWorkflow, &task.Workflow{Steps: []task.Step{{Name: "only", Task: "t"}}}
	})
	backlogOf(b, "w")
	return w
}

func leftoversOfLimitsOfRuns(b *bench) {
	const most = 3
	w := runsOf(b)
	w.Limits = []flow.Limit{{Running: most}}
	must(b.st.UpdateTask(b.ctx, w))(b)
	look := func() {
		must(b.st.StartWorkflows(b.ctx))(b)
		if n := b.count(`select count(*) from belfry.workflow_runs where ended_at = 0`); n > most {
			b.Fatalf("runs under way: got %d, want at most %d", n, most)
		}
		b.promote()
	}
	for range 20 {
		look()
	}
	followAll(b, look)
	for range backlog {
		if look(); b.count(`select count(*) from belfry.jobs where state in ('ready', 'scheduled') and kind = 'workflow'`) == 0 {
			break
		}
	}
	want(b, "under way", b.count(`select count(*) from belfry.workflow_runs where ended_at = 0`), most)
	want(b, "wait", b.count(`select count(*) from belfry.jobs where state = 'waiting' and reason = 'limit' and kind = 'workflow'`), backlog-most)
}

func leftoversOfRunsOfPausedSchedule(b *bench) {
	runsOf(b)
	sc := b.schedule("s", "w", every(time.Hour), func(s *schedule.Schedule) { s.Overlap = schedule.OverlapAllow })
	b.sql(`update belfry.jobs set schedule_id = $1, schedule = 's', generation = 1, trigger = 'schedule'`, sc.ID)
	must(b.st.PauseSchedule(b.ctx, "default", "s", "too much"))(b)
	for range 20 {
		must(b.st.StartWorkflows(b.ctx))(b)
	}
	followAll(b, func() { must(b.st.StartWorkflows(b.ctx))(b) })
	want(b, "runs", b.count(`select count(*) from belfry.workflow_runs`), 0)
	want(b, "jobs", b.count(`select count(*) from belfry.jobs`), 0)
}

// No worker takes a run, so labels do not hold it back.
func leftoversOfLabelsOfRuns(b *bench) {
	w := runsOf(b)
	w.Requirements.Labels = map[string]string{"gpu": "true"}
	must(b.st.UpdateTask(b.ctx, w))(b)
	for range backlog {
		if must(b.st.StartWorkflows(b.ctx))(b).Jobs == 0 {
			break
		}
	}
	want(b, "runs", b.count(`select count(*) from belfry.workflow_runs`), backlog)
}

func leftoversOfLimitsGone(b *bench) {
	b.task("work")
	backlogOf(b, "work")
	queueLimits(b, "default", flow.Limit{Running: 1})
	want(b, "held back at once", readyJobs(b), backlog-leftovers.AtOnce)
	must(b.st.FollowLeft(b.ctx))(b)
	queueLimits(b, "default")
	want(b, "changes left", b.count(`select count(*) from belfry.leftovers`), 0)
	for range backlog {
		if b.promote(); readyJobs(b) == backlog {
			break
		}
	}
	s := b.session("work")
	for n := 0; n < backlog; {
		got := len(b.claim(s, 500).Jobs)
		if n += got; got == 0 {
			b.Fatalf("claimable jobs: got %d of %d", n, backlog)
		}
	}
}

// leftBehind claims for a worker that must get nothing while a backlog follows an edit, and then for one that can run it.
func leftBehind(b *bench, before, after job.Session) {
	b.Helper()
	ran := 0
	look := func() {
		want(b, "for a worker that cannot run them", len(b.claim(before, 300).Jobs), 0)
		ran += len(b.claim(after, 100).Jobs)
	}
	for range 10 {
		look()
	}
	followAll(b, look)
	for range backlog {
		if look(); ran == backlog {
			return
		}
	}
	b.Fatalf("jobs that ran: got %d, want %d", ran, backlog)
}

func leftoversOfEditedTask(b *bench) {
	b.task("t")
	backlogOf(b, "t")
	must(b.st.UpdateTask(b.ctx, task.Task{Name: "t", Command: &task.Command{Argv: []string{"date"}}}))(b)
	leftBehind(b, b.session("t"), must(b.st.OpenSession(b.ctx, job.WorkerInfo{
		Name: "shell", Kinds: []task.Kind{task.KindCommand}, Queues: map[string]int{"default": 10},
	}))(b))
	want(b, "jobs of the former kind", b.count(`select count(*) from belfry.jobs where kind <> 'command'`), 0)
}

func leftoversOfRequirements(b *bench) {
	b.task("t")
	backlogOf(b, "t")
	must(b.st.UpdateTask(b.ctx, task.Task{Name: "t", Requirements: task.Requirements{Labels: map[string]string{"disk": "big"}}}))(b)
	leftBehind(b, b.session("t"), must(b.st.OpenSession(b.ctx, job.WorkerInfo{
		Name: "big", Kinds: []task.Kind{task.KindFunc}, Funcs: []string{"t"}, Queues: map[string]int{"default": 10}, Has: task.Has{Labels: map[string]string{"disk": "big"}},
	}))(b))
}

func leftoversOfPausedSchedule(b *bench) {
	b.task("t")
	sc := b.schedule("s", "t", every(time.Hour), func(s *schedule.Schedule) { s.Overlap = schedule.OverlapAllow })
	backlogOf(b, "t")
	b.sql(`update belfry.jobs set schedule_id = $1, schedule = 's', generation = 1, trigger = 'schedule'`, sc.ID)
	by := b.enqueue(job.NewJob{Task: "t"}) // a job without a schedule
	must(b.st.PauseSchedule(b.ctx, "default", "s", "too much"))(b)
	skipped := func() int64 {
		return b.count(`select count(*) from belfry.jobs_done where state = 'skipped' and reason = 'paused'`)
	}
	want(b, "ended with the pause", skipped(), leftovers.AtOnce)
	must(b.st.ResumeSchedule(b.ctx, "default", "s", false))(b)
	later := must(b.st.Enqueue(b.ctx, []job.NewJob{{Task: "t"}}))(b)[0].Job
	b.sql(`update belfry.jobs set schedule_id = $1, schedule = 's', generation = 2, trigger = 'schedule' where id = $2`, sc.ID, later.ID)
	s := b.session("t")
	var got []int64
	look := func() {
		for _, j := range b.claim(s, 300).Jobs {
			got = append(got, j.Job.ID)
		}
	}
	look()
	followAll(b, look)
	for range 20 {
		look()
	}
	slices.Sort(got)
	want(b, "began", len(got), 2)
	if got[0] != by.ID || got[1] != later.ID {
		b.Fatalf("jobs that began: got %v, want %d and %d", got, by.ID, later.ID)
	}
	want(b, "ended in all, with the run of the pause itself", skipped(), backlog+1)
}

func bulkInParts(b *bench) {
	const many, atOnce = 1200, 500
	b.task("t")
	must(b.st.Enqueue(b.ctx, slices.Repeat([]job.NewJob{{Task: "t"}}, many)))(b)
	running := b.claim(b.session("t"), 3)
	all := view.Selection{Filter: &job.Filter{Task: "t"}}
	want(b, "canceled", len(must(b.st.CancelJobs(b.ctx, "default", all))(b).IDs), many)
	want(b, "have ended", b.count(`select count(*) from belfry.jobs_done where state = 'canceled'`), many-int64(len(running.Jobs)))
	all.Filter.States = []job.State{job.Canceled}
	want(b, "retried", len(must(b.st.RetryJobs(b.ctx, "default", all))(b).IDs), many-len(running.Jobs))
	for _, action := range []string{"cancel", "retry"} {
		want(b, action+"s at once", b.count(`select count(*) from belfry.audit where action = $1 and name = $2`, action, fmt.Sprint(atOnce, " jobs")), many/atOnce)
		want(b, action+"s in all", b.count(`select count(*) from belfry.audit where action = $1`, action), many/atOnce+1)
	}
}

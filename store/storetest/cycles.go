package storetest

import (
	"encoding/json"
	"fmt"
	"strings"
	"time"

	"github.com/belfry-run/belfry/access"
	"github.com/belfry-run/belfry/alert"
	"github.com/belfry-run/belfry/core"
	"github.com/belfry-run/belfry/cycle"
	"github.com/belfry-run/belfry/job"
	"github.com/belfry-run/belfry/schedule"
	"github.com/belfry-run/belfry/task"
	"github.com/belfry-run/belfry/view"
)

// cycleBench is a bench with a cycle of three members and their worker.
type cycleBench struct {
	*bench
	session job.Session
}

func (b *bench) ring(cycle string, members ...task.Member) cycleBench {
	b.Helper()
	r := cycleBench{bench: b}
	for _, m := range members {
		if _, err := b.st.Task(b.ctx, "default", m.Task); err != nil {
			b.task(m.Task, func(t *task.Task) { t.Retry.MaxAttempts = 1 })
		}
	}
	must(b.st.CreateTask(b.ctx, task.Task{Name: cycle, Cycle: &task.Cycle{Members: members}}))(b)
	r.session = must(b.st.OpenSession(b.ctx, job.WorkerInfo{
		Name: "tester", Kinds: []task.Kind{task.KindFunc}, Funcs: []string{"a", "b", "c", "d", "e"}, Queues: map[string]int{"default": 10}, TTL: job.MaxSessionTTL,
	}))(b)
	return r
}

func (r cycleBench) run(cycle string) job.Job {
	r.Helper()
	j := r.enqueue(job.NewJob{Task: cycle})
	must(r.st.StartCycles(r.ctx))(r)
	return j
}

// works runs all jobs as they become ready, and returns their order.
func (r cycleBench) works(outcome func(task string) job.Outcome) (order string) {
	r.Helper()
	for {
		must(r.st.StartCycles(r.ctx))(r)
		jobs := r.claim(r.session, 10).Jobs
		if len(jobs) == 0 {
			return strings.TrimSpace(order)
		}
		var names []string
		for _, j := range jobs {
			names = append(names, j.Job.Task)
		}
		order += strings.Join(names, "+") + " "
		r.clock.Move(time.Second)
		for _, j := range jobs {
			r.finish(r.session, j, outcome(j.Job.Task))
		}
	}
}

func well(string) job.Outcome { return job.OutcomeOK }

func (r cycleBench) output(id int64) (out string) {
	r.Helper()
	var o cycle.Output
	ok(r, json.Unmarshal(r.job(id).Output, &o))
	for _, m := range o.Members {
		out += fmt.Sprintf("%s %s; ", m.Task, m.State)
	}
	return strings.TrimSuffix(out, "; ")
}

func (r cycleBench) status(cycle string) cycle.Status {
	r.Helper()
	return must(r.st.CycleStatus(r.ctx, "default", cycle))(r)
}

func hourly(t string) task.Member {
	return task.Member{Task: t, Every: core.Duration(time.Hour)}
}

func init() {
	add("a cycle runs its members one after another, and its progress goes when it ends", caseACycleRunsItsMembersOneAfterAnother)
	add("a member that fails lets the others run, unless the cycle is to stop", caseAMemberThatFailsLetsTheOthersRun)
	add("members of different intervals run when each is due, and a cycle with nothing due ends at once", caseMembersOfDifferentIntervalsRunWhenEachIsDue)
	add("a cycle that looks often runs a member no sooner than its interval", caseACycleThatLooksOftenRunsAMemberNo)
	add("two cycles never run a member at the same time, nor twice within its interval", caseTwoCyclesNeverRunAMemberAtTheSame)
	add("a cycle goes on after the worker of a member was lost", caseACycleGoesOnAfterTheWorkerOfA)
	add("a cycle that is canceled ends its member, and one under way survives a pause and an edit", caseACycleThatIsCanceledEndsItsMember)
	add("a member can be left out of the run under way, and made due again", caseAMemberCanBeLeftOutOfTheRun)
	add("a member that is retried holds back cycles that have it, and counts", caseAMemberThatIsRetriedHoldsBackCyclesThat)
	add("a cycle may be a member, but not of itself", caseACycleMayBeAMember)
	add("a pause between members is kept, and a clock that is set runs no member twice", caseAPauseBetweenMembersIsKept)
	add("a cycle is told once, with a line for each member", caseACycleIsToldOnce)
	add("cycles are listed by name, with their status", caseCyclesAreListedByName)
	add("a cycle is run beside its plan, once at a time, and canceled by its name", caseACycleIsRunBesideItsPlan)
	add("why a cycle waits is told by its member", caseWhyACycleWaitsIsToldByItsMember)
}

func caseACycleRunsItsMembersOneAfterAnother(b *bench) {
	r := b.ring("all", task.Member{Task: "a"}, task.Member{Task: "b"}, task.Member{Task: "c"})
	j := r.run("all")
	b.wantState(j.ID, job.Waiting)
	s := r.status("all")
	want(b, "current", s.Run.Current, "a")
	want(b, "remaining", strings.Join(s.Run.Remaining(), ","), "b,c")
	want(b, "members that wait for a worker at once", b.count(`select count(*) from belfry.jobs where trigger = 'cycle'`), 1)
	want(b, "order", r.works(well), "a b c")
	b.wantState(j.ID, job.Succeeded)
	want(b, "results", r.output(j.ID), "a ok; b ok; c ok")
	want(b, "progress", b.count(`select count(*) from belfry.cycle_runs`), 0)
	want(b, "last", r.status("all").Last.OK, 3)
}

func caseAMemberThatFailsLetsTheOthersRun(b *bench) {
	r := b.ring("all", task.Member{Task: "a"}, task.Member{Task: "b", OnFailure: task.FailureStop}, task.Member{Task: "c"})
	fails := func(name string) func(string) job.Outcome {
		return func(task string) job.Outcome {
			if task == name {
				return job.OutcomeError
			}
			return job.OutcomeOK
		}
	}
	first := r.run("all")
	want(b, "order", r.works(fails("a")), "a b c")
	want(b, "results", r.output(first.ID), "a failed; b ok; c ok")
	b.wantState(first.ID, job.Failed)
	second := r.run("all")
	want(b, "order", r.works(fails("b")), "a b")
	want(b, "results", r.output(second.ID), "a ok; b failed; c skipped")
	if j := b.wantState(second.ID, job.Failed); !strings.Contains(j.Error, "1 of 3 members failed: b") {
		b.Fatalf("error of the cycle: got %q, want the failed member b", j.Error)
	}
}

func caseMembersOfDifferentIntervalsRunWhenEachIsDue(b *bench) {
	r := b.ring("all", hourly("a"), task.Member{Task: "b", Every: core.Duration(24 * time.Hour)})
	b.schedule("all", "all", func(s *schedule.Schedule) {
		s.Rules = []schedule.Rule{{Every: core.Duration(30 * time.Minute)}}
		s.Start = Epoch
	})
	runs := map[string]int{}
	for range 25*2 + 1 {
		b.fire()
		for _, name := range strings.Fields(r.works(well)) {
			runs[name]++
		}
		next := b.get("all").NextAt
		b.clock.Move(next.Sub(b.clock.Now()))
	}
	want(b, "runs of the hourly one", runs["a"], 26)
	want(b, "runs of the daily one", runs["b"], 2)
	skipped := b.jobsOf("all", job.Skipped)
	want(b, "cycles with nothing due", len(skipped), 25)
	want(b, "why", skipped[0].Reason, cycle.ReasonNothingDue)
	s := r.status("all")
	if s.Members[0].Due && s.Members[1].Due || !strings.Contains(s.Members[1].Why, "due again at") {
		b.Fatalf("members: got %+v, want the second due again later", s.Members)
	}
}

func caseACycleThatLooksOftenRunsAMemberNo(b *bench) {
	r := b.ring("all", hourly("a"))
	b.schedule("all", "all", every(5*time.Minute))
	runs := 0
	for range 12*24 + 1 {
		b.fire()
		runs += len(strings.Fields(r.works(well)))
		next := b.get("all").NextAt
		b.clock.Move(next.Sub(b.clock.Now()))
	}
	want(b, "runs in a day", runs, 25)
}

func caseTwoCyclesNeverRunAMemberAtTheSame(b *bench) {
	r := b.ring("one", hourly("a"), task.Member{Task: "b"})
	r.ring("two", hourly("a"), task.Member{Task: "b"}, task.Member{Task: "c"})
	one, two := r.run("one"), r.run("two")
	want(b, "jobs of members", b.count(`select count(*) from belfry.jobs where trigger = 'cycle'`), 1)
	want(b, "waits", r.status("two").Run.WaitsFor > 0, true)
	order := r.works(well)
	want(b, "results of the one", r.output(one.ID), "a ok; b ok")
	want(b, "results of the other", r.output(two.ID), "a skipped; b ok; c ok")
	if strings.Contains(order, "a+") || strings.Contains(order, "b+b") {
		b.Fatalf("order: got %q, want no member beside itself", order)
	}
	// The cycle that was waited for fails: the other runs the member.
	b.clock.Move(2 * time.Hour)
	r.run("one")
	two = r.run("two")
	times := 0
	r.works(func(task string) job.Outcome {
		if task == "a" {
			if times++; times == 1 {
				return job.OutcomeError
			}
		}
		return job.OutcomeOK
	})
	want(b, "runs of it", times, 2)
	want(b, "results of the other", r.output(two.ID), "a ok; b ok; c ok")
}

func caseACycleGoesOnAfterTheWorkerOfA(b *bench) {
	r := b.ring("all", task.Member{Task: "a"}, task.Member{Task: "b", MaxAttempts: 2}, task.Member{Task: "c"})
	j := r.run("all")
	r.finish(r.session, r.claim(r.session, 1).Jobs[0], job.OutcomeOK)
	want(b, "claimed", r.claim(r.session, 1).Jobs[0].Job.Task, "b")
	b.clock.Move(job.MaxSessionTTL.D() + job.LostGrace + time.Second)
	b.release()
	r.session = must(b.st.OpenSession(b.ctx, job.WorkerInfo{Name: "next", Kinds: []task.Kind{task.KindFunc}, Funcs: []string{"a", "b", "c"}, Queues: map[string]int{"default": 10}}))(b)
	b.clock.Move(time.Minute)
	b.promote()
	b.renew(r.session)
	want(b, "order", r.works(well), "b c")
	want(b, "results", r.output(j.ID), "a ok; b ok; c ok")
}

func caseACycleThatIsCanceledEndsItsMember(b *bench) {
	r := b.ring("all", task.Member{Task: "a"}, task.Member{Task: "b"})
	b.schedule("all", "all", every(time.Hour))
	b.clock.Move(time.Hour)
	b.fire()
	must(b.st.StartCycles(b.ctx))(b)
	must(b.st.PauseSchedule(b.ctx, "default", "all", ""))(b)
	must(b.st.UpdateTask(b.ctx, task.Task{Name: "all", Cycle: &task.Cycle{Members: []task.Member{{Task: "b"}}}}))(b)
	want(b, "order", r.works(well), "a b")
	j := r.run("all")
	held := r.claim(r.session, 1).Jobs[0]
	want(b, "the edit counts", held.Job.Task, "b")
	b.cancel(j.ID)
	b.wantState(j.ID, job.Canceled)
	want(b, "progress", b.count(`select count(*) from belfry.cycle_runs`), 0)
	if renewal := b.renew(r.session, held); len(renewal.Cancel) != 1 {
		b.Fatalf("renewal: got %+v, want 1 job to cancel", renewal)
	}
	b.finish(r.session, held, job.OutcomeCanceled)
	want(b, "members held", b.count(`select count(*) from belfry.member_timing where running_job > 0`), 0)
	r.run("all")
	want(b, "order", r.works(well), "b")
}

func caseAMemberCanBeLeftOutOfTheRun(b *bench) {
	r := b.ring("all", hourly("a"), hourly("b"), hourly("c"))
	j := r.run("all")
	must(b.st.SkipMember(access.WithActor(b.ctx, "ann"), "default", "all", "c"))(b)
	must(b.st.SkipMember(b.ctx, "default", "all", "a"))(b)
	want(b, "order", r.works(well), "b")
	want(b, "results", r.output(j.ID), "a skipped; b ok; c skipped")
	wantCode(b, second(b.st.SkipMember(b.ctx, "default", "all", "a")), core.Conflict, "not under way")
	want(b, "b is due", r.status("all").Members[1].Due, false)
	want(b, "reset", strings.Join(must(b.st.ResetTiming(b.ctx, "default", "all", "b"))(b), ","), "b")
	want(b, "b is due", r.status("all").Members[1].Due, true)
	want(b, "reason why the member is due", r.status("all").Members[1].Why, "its timing was reset at "+b.clock.Now().UTC().Format("2006-01-02 15:04:05 MST")+", and it has not succeeded since")
	must(b.st.ResetTiming(b.ctx, "default", "all"))(b)
	want(b, "reason why a member without a success is due", r.status("all").Members[2].Why, "it has never succeeded")
	wantCode(b, second(b.st.ResetTiming(b.ctx, "default", "all", "x")), core.NotFound)
	wantCode(b, second(b.st.CycleStatus(b.ctx, "default", "a")), core.Conflict, "no cycle")
}

func caseAMemberThatIsRetriedHoldsBackCyclesThat(b *bench) {
	r := b.ring("all", hourly("a"), hourly("b"))
	j := r.run("all")
	failed := r.claim(r.session, 1).Jobs[0]
	r.finish(r.session, failed, job.OutcomeError)
	r.works(well)
	b.wantState(j.ID, job.Failed)
	b.clock.Move(2 * time.Hour)
	want(b, "retried", len(b.retry(failed.Job.ID).IDs), 1)
	r.run("all")
	want(b, "waits", r.status("all").Run.WaitsFor, failed.Job.ID)
	want(b, "order", r.works(well), "a b")
	want(b, "last", r.status("all").Last.Skipped, 1)
	// A member that a cycle runs is not retried.
	b.clock.Move(2 * time.Hour)
	r.run("all")
	second := r.claim(r.session, 1).Jobs[0]
	r.finish(r.session, second, job.OutcomeError)
	r.works(well)
	r.run("all")
	if left := b.retry(second.Job.ID).Left[second.Job.ID]; !strings.Contains(left, "a cycle runs its task now") {
		b.Fatalf("reason not to retry: got %q, want that a cycle runs the task", left)
	}
}

func caseACycleMayBeAMember(b *bench) {
	r := b.ring("inner", task.Member{Task: "a"}, task.Member{Task: "b"})
	r.ring("outer", task.Member{Task: "inner"}, task.Member{Task: "c"})
	j := r.run("outer")
	want(b, "order", r.works(well), "a b c")
	want(b, "results", r.output(j.ID), "inner ok; c ok")
	wantCode(b, second(b.st.UpdateTask(b.ctx, task.Task{Name: "inner", Cycle: &task.Cycle{Members: []task.Member{{Task: "outer"}}}})), core.Invalid, "cycle.members[0].task")
	wantCode(b, second(b.st.CreateTask(b.ctx, task.Task{Name: "x", Cycle: &task.Cycle{Members: []task.Member{{Task: "nobody"}}}})), core.Invalid, "nobody")
	wantCode(b, b.st.DeleteTask(b.ctx, "default", "a"), core.Conflict, "inner")
}

func caseAPauseBetweenMembersIsKept(b *bench) {
	r := b.ring("all", hourly("a"), hourly("b"))
	must(b.st.UpdateTask(b.ctx, task.Task{Name: "all", Cycle: &task.Cycle{Stagger: core.Duration(10 * time.Minute), Members: []task.Member{hourly("a"), hourly("b")}}}))(b)
	j := r.run("all")
	want(b, "order", r.works(well), "a")
	want(b, "jobs that wait for their time", b.count(`select count(*) from belfry.jobs where state = 'scheduled' and trigger = 'cycle'`), 1)
	b.clock.Move(10 * time.Minute)
	b.promote()
	want(b, "order", r.works(well), "b")
	want(b, "results", r.output(j.ID), "a ok; b ok")
	b.clock.Set(time.Hour)
	ok(b, b.st.ShiftClock(b.ctx, time.Hour))
	j = r.run("all")
	b.wantState(j.ID, job.Skipped)
	b.clock.Set(-2 * time.Hour)
	ok(b, b.st.ShiftClock(b.ctx, -2*time.Hour))
	j = r.run("all")
	b.wantState(j.ID, job.Skipped)
	b.clock.Move(56 * time.Minute)
	r.run("all")
	if order := r.works(well); !strings.HasPrefix(order, "a") {
		b.Fatalf("order: got %q, want a first", order)
	}
}

func caseACycleIsToldOnce(b *bench) {
	alerts{b}.channel("hook", func(rule *alert.Rule) {
		rule.On, rule.Group = []alert.NotificationType{alert.NotificationCycleEnded}, -1
	})
	alerts{b}.channel("pager", func(rule *alert.Rule) {
		rule.On, rule.Group = []alert.NotificationType{alert.NotificationJobFailed}, -1
	})
	r := b.ring("all", task.Member{Task: "a", MaxAttempts: 1}, task.Member{Task: "b"})
	r.run("all")
	r.works(func(task string) job.Outcome {
		if task == "a" {
			return job.OutcomeError
		}
		return job.OutcomeOK
	})
	messages := must(b.st.TakeAlerts(b.ctx, "", 32))(b).Messages
	want(b, "messages", len(messages), 2)
	for _, m := range messages {
		if !strings.Contains(m.Message.Text, "a: failed") || !strings.Contains(m.Message.Text, "b: ok") || !strings.Contains(m.Message.Title, "all") {
			b.Fatalf("message: got %+v, want the results of a and b of all", m.Message)
		}
	}
}

func caseCyclesAreListedByName(b *bench) {
	r := b.ring("two", hourly("a"), hourly("b"))
	r.ring("one", hourly("a"), task.Member{Task: "c"})
	r.ring("three", task.Member{Task: "b"})
	r.run("two")
	want(b, "order", r.works(well), "a b")
	j := r.run("one")
	list := func(cursor string) (names string, p core.Page[cycle.Status]) {
		p = must(b.st.Cycles(b.ctx, view.DocumentFilter{Paging: core.Paging{Limit: 2, Cursor: cursor}}))(b)
		for _, s := range p.Items {
			names += s.Task.Name + " "
		}
		return names, p
	}
	names, p := list("")
	want(b, "first page", names, "one three ")
	one := p.Items[0]
	want(b, "run of the cycle", one.Run.JobID, j.ID)
	want(b, "current", one.Run.Current, "c")
	want(b, "done", one.Done, 1)
	want(b, "a is due in the one", one.Members[0].Due, false)
	want(b, "c runs", strings.Contains(one.Members[1].Why, "it runs now"), true)
	want(b, "b is due in the three", p.Items[1].Members[0].Due, true)
	names, p = list(p.Next)
	want(b, "second page", names, "two ")
	want(b, "last", p.Items[0].Last.OK, 2)
	want(b, "next page", p.Next, "")
}

func caseACycleIsRunBesideItsPlan(b *bench) {
	r := b.ring("all", hourly("a"), task.Member{Task: "b"})
	wantCode(b, second(b.st.CancelCycle(b.ctx, "default", "all", "")), core.Conflict, "not under way")
	wantCode(b, second(b.st.RunCycle(b.ctx, "default", "a")), core.Conflict, "no cycle")
	wantCode(b, second(b.st.RunCycle(b.ctx, "default", "none")), core.NotFound)
	ready := must(b.st.RunCycle(b.ctx, "", "all"))(b)
	want(b, "trigger", ready.Trigger, job.TriggerManual)
	wantCode(b, second(b.st.RunCycle(b.ctx, "default", "all")), core.Conflict, "under way")
	want(b, "canceled before it began", must(b.st.CancelCycle(b.ctx, "default", "all", ""))(b).IDs[0], ready.ID)
	b.wantState(ready.ID, job.Canceled)
	j := must(b.st.RunCycle(b.ctx, "default", "all"))(b)
	must(b.st.StartCycles(b.ctx))(b)
	wantCode(b, second(b.st.RunCycle(b.ctx, "default", "all")), core.Conflict, fmt.Sprintf("job %d", j.ID))
	want(b, "canceled", must(b.st.CancelCycle(b.ctx, "default", "all", "enough"))(b).IDs[0], j.ID)
	if done := b.wantState(j.ID, job.Canceled); !strings.Contains(done.Note, "enough") {
		b.Fatalf("note of the canceled cycle: got %q, want \"enough\"", done.Note)
	}
	want(b, "order", r.works(well), "")
}

func caseWhyACycleWaitsIsToldByItsMember(b *bench) {
	r := b.ring("one", hourly("a"))
	r.ring("two", hourly("a"))
	why := func(id int64, summary, next string) {
		b.Helper()
		w := must(b.st.Why(b.ctx, "default", id))(b)
		if !strings.Contains(w.Summary, summary) || !strings.Contains(w.Next, next) {
			b.Fatalf("why: got %+v, want the wait of the member", w)
		}
	}
	one := must(b.st.RunCycle(b.ctx, "default", "one"))(b)
	why(one.ID, "a node with the role engine begins it", "belfry cycle show one")
	must(b.st.PauseQueue(b.ctx, "default", ""))(b)
	why(one.ID, "queue is paused", "belfry queue resume")
	must(b.st.ResumeQueue(b.ctx, "default"))(b)
	must(b.st.StartCycles(b.ctx))(b)
	two := r.run("two")
	why(one.ID, "0 of 1 members are done, and it is at a: job", "belfry cycle show one")
	why(two.ID, "a waits for a member of another run", "belfry cycle show two")
	r.claim(r.session, 1)
	why(one.ID, "is running since", "belfry cycle show one")
	want(b, "check", must(b.st.Why(b.ctx, "default", one.ID))(b).Checks[0].OK, true)
}

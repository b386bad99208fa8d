package storetest

import (
	"encoding/json"
	"fmt"
	"strings"
	"time"

	"github.com/belfry-run/belfry"
)

// ring is a bench with a cycle of three members and a worker for them.
type ring struct {
	*bench
	session belfry.Session
}

func (b *bench) ring(cycle string, members ...belfry.Member) ring {
	b.Helper()
	r := ring{bench: b}
	for _, m := range members {
		if _, err := b.st.Task(b.ctx, "default", m.Task); err != nil {
			b.task(m.Task, func(t *belfry.Task) { t.Retry.MaxAttempts = 1 })
		}
	}
	must(b.st.CreateTask(b.ctx, belfry.Task{Name: cycle, Cycle: &belfry.Cycle{Members: members}}))(b)
	r.session = must(b.st.OpenSession(b.ctx, belfry.WorkerInfo{
		Name: "tester", Kinds: []belfry.Kind{belfry.KindFunc}, Funcs: []string{"a", "b", "c", "d", "e"}, Queues: map[string]int{"default": 10}, TTL: belfry.MaxSessionTTL,
	}))(b)
	return r
}

func (r ring) run(cycle string) belfry.Job {
	r.Helper()
	j := r.enqueue(belfry.NewJob{Task: cycle})
	must(r.st.StartCycles(r.ctx))(r)
	return j
}

// works runs what there is to run, as it comes, and answers the order.
func (r ring) works(outcome func(task string) belfry.Outcome) (order string) {
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

func well(string) belfry.Outcome { return belfry.OutcomeOK }

func (r ring) output(id int64) (out string) {
	r.Helper()
	var o belfry.CycleOutput
	ok(r, json.Unmarshal(r.job(id).Output, &o))
	for _, m := range o.Members {
		out += fmt.Sprintf("%s %s; ", m.Task, m.State)
	}
	return strings.TrimSuffix(out, "; ")
}

func (r ring) status(cycle string) belfry.CycleStatus {
	r.Helper()
	return must(r.st.CycleStatus(r.ctx, "default", cycle))(r)
}

func hourly(task string) belfry.Member {
	return belfry.Member{Task: task, Every: belfry.Duration(time.Hour)}
}

func init() {
	add("a cycle runs its members one after another, and its progress goes when it ends", func(b *bench) {
		r := b.ring("all", belfry.Member{Task: "a"}, belfry.Member{Task: "b"}, belfry.Member{Task: "c"})
		j := r.run("all")
		b.wantState(j.ID, belfry.JobWaiting)
		s := r.status("all")
		want(b, "current", s.Run.Current, "a")
		want(b, "remaining", strings.Join(s.Run.Remaining(), ","), "b,c")
		want(b, "members that wait for a worker at once", b.count(`select count(*) from belfry.jobs where origin = 'cycle'`), 1)
		want(b, "order", r.works(well), "a b c")
		b.wantState(j.ID, belfry.JobSucceeded)
		want(b, "results", r.output(j.ID), "a ok; b ok; c ok")
		want(b, "progress", b.count(`select count(*) from belfry.cycle_runs`), 0)
		want(b, "last", r.status("all").Last.OK, 3)
	})

	add("a member that fails lets the others run, unless the cycle is to stop", func(b *bench) {
		r := b.ring("all", belfry.Member{Task: "a"}, belfry.Member{Task: "b", OnFailure: belfry.FailureStop}, belfry.Member{Task: "c"})
		fails := func(name string) func(string) belfry.Outcome {
			return func(task string) belfry.Outcome {
				if task == name {
					return belfry.OutcomeError
				}
				return belfry.OutcomeOK
			}
		}
		first := r.run("all")
		want(b, "order", r.works(fails("a")), "a b c")
		want(b, "results", r.output(first.ID), "a failed; b ok; c ok")
		b.wantState(first.ID, belfry.JobFailed)
		second := r.run("all")
		want(b, "order", r.works(fails("b")), "a b")
		want(b, "results", r.output(second.ID), "a ok; b failed; c skipped")
		if j := b.wantState(second.ID, belfry.JobFailed); !strings.Contains(j.Error, "1 of 3 members failed: b") {
			b.Fatal(j.Error)
		}
	})

	add("members of different intervals run when each is due, and a cycle with nothing due ends at once", func(b *bench) {
		r := b.ring("all", hourly("a"), belfry.Member{Task: "b", Every: belfry.Duration(24 * time.Hour)})
		b.schedule("all", "all", func(s *belfry.Schedule) {
			s.Rules = []belfry.Rule{{Every: belfry.Duration(30 * time.Minute)}}
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
		skipped := b.jobsOf("all", belfry.JobSkipped)
		want(b, "cycles with nothing due", len(skipped), 25)
		want(b, "why", skipped[0].Reason, belfry.ReasonNothingDue)
		s := r.status("all")
		if s.Members[0].Due && s.Members[1].Due || !strings.Contains(s.Members[1].Why, "due again at") {
			b.Fatalf("%+v", s.Members)
		}
	})

	add("a cycle that looks often runs a member no sooner than its interval", func(b *bench) {
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
	})

	add("two cycles never run a member at the same time, nor twice within its interval", func(b *bench) {
		r := b.ring("one", hourly("a"), belfry.Member{Task: "b"})
		r.ring("two", hourly("a"), belfry.Member{Task: "b"}, belfry.Member{Task: "c"})
		one, two := r.run("one"), r.run("two")
		want(b, "jobs of members", b.count(`select count(*) from belfry.jobs where origin = 'cycle'`), 1)
		want(b, "waits", r.status("two").Run.WaitsFor > 0, true)
		order := r.works(well)
		want(b, "results of the one", r.output(one.ID), "a ok; b ok")
		want(b, "results of the other", r.output(two.ID), "a skipped; b ok; c ok")
		if strings.Contains(order, "a+") || strings.Contains(order, "b+b") {
			b.Fatal(order)
		}
		// The one that was waited for fails: the other runs it.
		b.clock.Move(2 * time.Hour)
		r.run("one")
		two = r.run("two")
		times := 0
		r.works(func(task string) belfry.Outcome {
			if task == "a" {
				if times++; times == 1 {
					return belfry.OutcomeError
				}
			}
			return belfry.OutcomeOK
		})
		want(b, "runs of it", times, 2)
		want(b, "results of the other", r.output(two.ID), "a ok; b ok; c ok")
	})

	add("a cycle goes on after the worker of a member was lost", func(b *bench) {
		r := b.ring("all", belfry.Member{Task: "a"}, belfry.Member{Task: "b", MaxAttempts: 2}, belfry.Member{Task: "c"})
		j := r.run("all")
		r.finish(r.session, r.claim(r.session, 1).Jobs[0], belfry.OutcomeOK)
		want(b, "claimed", r.claim(r.session, 1).Jobs[0].Job.Task, "b")
		b.clock.Move(belfry.MaxSessionTTL.D() + belfry.LostGrace + time.Second)
		b.release()
		r.session = must(b.st.OpenSession(b.ctx, belfry.WorkerInfo{Name: "next", Kinds: []belfry.Kind{belfry.KindFunc}, Funcs: []string{"a", "b", "c"}, Queues: map[string]int{"default": 10}}))(b)
		b.clock.Move(time.Minute)
		b.promote()
		b.renew(r.session)
		want(b, "order", r.works(well), "b c")
		want(b, "results", r.output(j.ID), "a ok; b ok; c ok")
	})

	add("a cycle that is canceled ends its member, and one under way survives a pause and an edit", func(b *bench) {
		r := b.ring("all", belfry.Member{Task: "a"}, belfry.Member{Task: "b"})
		b.schedule("all", "all", every(time.Hour))
		b.clock.Move(time.Hour)
		b.fire()
		must(b.st.StartCycles(b.ctx))(b)
		must(b.st.PauseSchedule(b.ctx, "default", "all", ""))(b)
		must(b.st.UpdateTask(b.ctx, belfry.Task{Name: "all", Cycle: &belfry.Cycle{Members: []belfry.Member{{Task: "b"}}}}))(b)
		want(b, "order", r.works(well), "a b")
		j := r.run("all")
		held := r.claim(r.session, 1).Jobs[0]
		want(b, "the edit counts", held.Job.Task, "b")
		b.cancel(j.ID)
		b.wantState(j.ID, belfry.JobCanceled)
		want(b, "progress", b.count(`select count(*) from belfry.cycle_runs`), 0)
		if renewal := b.renew(r.session, held); len(renewal.Cancel) != 1 {
			b.Fatalf("%+v", renewal)
		}
		b.finish(r.session, held, belfry.OutcomeCanceled)
		want(b, "members held", b.count(`select count(*) from belfry.member_timing where running_job > 0`), 0)
		r.run("all")
		want(b, "order", r.works(well), "b")
	})

	add("a member can be left out of the run under way, and made due again", func(b *bench) {
		r := b.ring("all", hourly("a"), hourly("b"), hourly("c"))
		j := r.run("all")
		must(b.st.SkipMember(belfry.WithActor(b.ctx, "ann"), "default", "all", "c"))(b)
		must(b.st.SkipMember(b.ctx, "default", "all", "a"))(b)
		want(b, "order", r.works(well), "b")
		want(b, "results", r.output(j.ID), "a skipped; b ok; c skipped")
		wantCode(b, second(b.st.SkipMember(b.ctx, "default", "all", "a")), belfry.Conflict, "not under way")
		want(b, "b is due", r.status("all").Members[1].Due, false)
		want(b, "reset", strings.Join(must(b.st.ResetTiming(b.ctx, "default", "all", "b"))(b), ","), "b")
		want(b, "b is due", r.status("all").Members[1].Due, true)
		want(b, "and why", r.status("all").Members[1].Why, "its timing was reset at "+b.clock.Now().UTC().Format("2006-01-02 15:04:05 MST")+", and it has not succeeded since")
		must(b.st.ResetTiming(b.ctx, "default", "all"))(b)
		want(b, "what never succeeded", r.status("all").Members[2].Why, "it has never succeeded")
		wantCode(b, second(b.st.ResetTiming(b.ctx, "default", "all", "x")), belfry.NotFound)
		wantCode(b, second(b.st.CycleStatus(b.ctx, "default", "a")), belfry.Conflict, "no cycle")
	})

	add("a member that is redriven holds back cycles that have it, and counts", func(b *bench) {
		r := b.ring("all", hourly("a"), hourly("b"))
		j := r.run("all")
		failed := r.claim(r.session, 1).Jobs[0]
		r.finish(r.session, failed, belfry.OutcomeError)
		r.works(well)
		b.wantState(j.ID, belfry.JobFailed)
		b.clock.Move(2 * time.Hour)
		want(b, "redriven", len(b.redrive(failed.Job.ID).IDs), 1)
		r.run("all")
		want(b, "waits", r.status("all").Run.WaitsFor, failed.Job.ID)
		want(b, "order", r.works(well), "a b")
		want(b, "last", r.status("all").Last.Skipped, 1)
		// While a cycle runs it, it is not redriven.
		b.clock.Move(2 * time.Hour)
		r.run("all")
		second := r.claim(r.session, 1).Jobs[0]
		r.finish(r.session, second, belfry.OutcomeError)
		r.works(well)
		r.run("all")
		if left := b.redrive(second.Job.ID).Left[second.Job.ID]; !strings.Contains(left, "a cycle runs its task now") {
			b.Fatal(left)
		}
	})

	add("a cycle may be a member, but not of itself", func(b *bench) {
		r := b.ring("inner", belfry.Member{Task: "a"}, belfry.Member{Task: "b"})
		r.ring("outer", belfry.Member{Task: "inner"}, belfry.Member{Task: "c"})
		j := r.run("outer")
		want(b, "order", r.works(well), "a b c")
		want(b, "results", r.output(j.ID), "inner ok; c ok")
		wantCode(b, second(b.st.UpdateTask(b.ctx, belfry.Task{Name: "inner", Cycle: &belfry.Cycle{Members: []belfry.Member{{Task: "outer"}}}})), belfry.Invalid, "cycle.members[0].task")
		wantCode(b, second(b.st.CreateTask(b.ctx, belfry.Task{Name: "x", Cycle: &belfry.Cycle{Members: []belfry.Member{{Task: "nobody"}}}})), belfry.Invalid, "nobody")
		wantCode(b, b.st.DeleteTask(b.ctx, "default", "a"), belfry.Conflict, "inner")
	})

	add("a pause between members is kept, and a clock that is set runs no member twice", func(b *bench) {
		r := b.ring("all", hourly("a"), hourly("b"))
		must(b.st.UpdateTask(b.ctx, belfry.Task{Name: "all", Cycle: &belfry.Cycle{Stagger: belfry.Duration(10 * time.Minute), Members: []belfry.Member{hourly("a"), hourly("b")}}}))(b)
		j := r.run("all")
		want(b, "order", r.works(well), "a")
		want(b, "jobs that wait for their time", b.count(`select count(*) from belfry.jobs where state = 'scheduled' and origin = 'cycle'`), 1)
		b.clock.Move(10 * time.Minute)
		b.promote()
		want(b, "order", r.works(well), "b")
		want(b, "results", r.output(j.ID), "a ok; b ok")
		b.clock.Set(time.Hour)
		ok(b, b.st.ShiftClock(b.ctx, time.Hour))
		j = r.run("all")
		b.wantState(j.ID, belfry.JobSkipped)
		b.clock.Set(-2 * time.Hour)
		ok(b, b.st.ShiftClock(b.ctx, -2*time.Hour))
		j = r.run("all")
		b.wantState(j.ID, belfry.JobSkipped)
		b.clock.Move(56 * time.Minute)
		r.run("all")
		if order := r.works(well); !strings.HasPrefix(order, "a") {
			b.Fatal(order)
		}
	})

	add("a cycle is told once, with a line for each member", func(b *bench) {
		b.channel("hook", func(rule *belfry.AlertRule) {
			rule.On, rule.Group = []belfry.NoticeType{belfry.NoticeCycleEnded}, -1
		})
		b.channel("pager", func(rule *belfry.AlertRule) { rule.On, rule.Group = []belfry.NoticeType{belfry.NoticeJobFailed}, -1 })
		r := b.ring("all", belfry.Member{Task: "a", MaxAttempts: 1}, belfry.Member{Task: "b"})
		r.run("all")
		r.works(func(task string) belfry.Outcome {
			if task == "a" {
				return belfry.OutcomeError
			}
			return belfry.OutcomeOK
		})
		messages := must(b.st.TakeAlerts(b.ctx, "", 32))(b).Messages
		want(b, "messages", len(messages), 2)
		for _, m := range messages {
			if !strings.Contains(m.Message.Text, "a: failed") || !strings.Contains(m.Message.Text, "b: ok") || !strings.Contains(m.Message.Title, "all") {
				b.Fatalf("%+v", m.Message)
			}
		}
	})

	add("cycles are listed by name, with their status", func(b *bench) {
		r := b.ring("two", hourly("a"), hourly("b"))
		r.ring("one", hourly("a"), belfry.Member{Task: "c"})
		r.ring("three", belfry.Member{Task: "b"})
		r.run("two")
		want(b, "order", r.works(well), "a b")
		j := r.run("one")
		list := func(cursor string) (names string, p belfry.Page[belfry.CycleStatus]) {
			p = must(b.st.Cycles(b.ctx, belfry.DocumentFilter{Paging: belfry.Paging{Limit: 2, Cursor: cursor}}))(b)
			for _, s := range p.Items {
				names += s.Task.Name + " "
			}
			return names, p
		}
		names, p := list("")
		want(b, "first page", names, "one three ")
		one := p.Items[0]
		want(b, "its run", one.Run.JobID, j.ID)
		want(b, "current", one.Run.Current, "c")
		want(b, "done", one.Done, 1)
		want(b, "a is due in the one", one.Members[0].Due, false)
		want(b, "c runs", strings.Contains(one.Members[1].Why, "it runs now"), true)
		want(b, "b is due in the three", p.Items[1].Members[0].Due, true)
		names, p = list(p.Next)
		want(b, "second page", names, "two ")
		want(b, "last", p.Items[0].Last.OK, 2)
		want(b, "next page", p.Next, "")
	})

	add("a cycle is run beside its plan, once at a time, and canceled by its name", func(b *bench) {
		r := b.ring("all", hourly("a"), belfry.Member{Task: "b"})
		wantCode(b, second(b.st.CancelCycle(b.ctx, "default", "all", "")), belfry.Conflict, "not under way")
		wantCode(b, second(b.st.RunCycle(b.ctx, "default", "a")), belfry.Conflict, "no cycle")
		wantCode(b, second(b.st.RunCycle(b.ctx, "default", "none")), belfry.NotFound)
		ready := must(b.st.RunCycle(b.ctx, "", "all"))(b)
		want(b, "trigger", ready.Trigger, belfry.TriggerManual)
		wantCode(b, second(b.st.RunCycle(b.ctx, "default", "all")), belfry.Conflict, "under way")
		want(b, "canceled before it began", must(b.st.CancelCycle(b.ctx, "default", "all", ""))(b).IDs[0], ready.ID)
		b.wantState(ready.ID, belfry.JobCanceled)
		j := must(b.st.RunCycle(b.ctx, "default", "all"))(b)
		must(b.st.StartCycles(b.ctx))(b)
		wantCode(b, second(b.st.RunCycle(b.ctx, "default", "all")), belfry.Conflict, fmt.Sprintf("job %d", j.ID))
		want(b, "canceled", must(b.st.CancelCycle(b.ctx, "default", "all", "enough"))(b).IDs[0], j.ID)
		if done := b.wantState(j.ID, belfry.JobCanceled); !strings.Contains(done.Note, "enough") {
			b.Fatal(done.Note)
		}
		want(b, "order", r.works(well), "")
	})

	add("why a cycle waits is told by its member", func(b *bench) {
		r := b.ring("one", hourly("a"))
		r.ring("two", hourly("a"))
		why := func(id int64, summary, next string) {
			b.Helper()
			w := must(b.st.Why(b.ctx, "default", id))(b)
			if !strings.Contains(w.Summary, summary) || !strings.Contains(w.Next, next) {
				b.Fatalf("%+v", w)
			}
		}
		one := must(b.st.RunCycle(b.ctx, "default", "one"))(b)
		why(one.ID, "a node with the role engine begins it", "belfry cycle show one")
		must(b.st.PauseQueue(b.ctx, "default", ""))(b)
		why(one.ID, "queue is not paused", "belfry queue resume")
		must(b.st.ResumeQueue(b.ctx, "default"))(b)
		must(b.st.StartCycles(b.ctx))(b)
		two := r.run("two")
		why(one.ID, "0 of 1 members are done, and it is at a: job", "belfry cycle show one")
		why(two.ID, "waits until another cycle has run a", "belfry cycle show two")
		r.claim(r.session, 1)
		why(one.ID, "is running since", "belfry cycle show one")
		want(b, "check", must(b.st.Why(b.ctx, "default", one.ID))(b).Checks[0].OK, true)
	})
}

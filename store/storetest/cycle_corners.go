package storetest

import (
	"strings"
	"time"

	"github.com/belfry-run/belfry/core"
	"github.com/belfry-run/belfry/job"
	"github.com/belfry-run/belfry/store"
	"github.com/belfry-run/belfry/task"
)

// remake replaces the members of a cycle.
func (r cycleBench) remake(cycle string, members ...task.Member) error {
	_, err := r.st.UpdateTask(r.ctx, task.Task{Name: cycle, Cycle: &task.Cycle{Members: members}})
	return err
}

func members(names ...string) (all []task.Member) {
	for _, n := range names {
		all = append(all, task.Member{Task: n})
	}
	return all
}

func init() {
	add("a member waits until that of a canceled run has ended", caseAMemberWaitsUntilThatOfACanceledRunHasEnded)
	add("leaving out a later member does not stop a cycle that waits for another one", caseLeavingOutALaterMemberDoesNotStopA)
	add("a member that is waited for can be left out, and the cycle goes on at once", caseAMemberThatIsWaitedForCanBeLeft)
	add("a ring of cycles is refused, however long it is", caseARingOfCyclesIsRefused)
	add("a cycle that was turned around under way waits for none that waits for it", caseACycleThatWasTurnedAroundUnderWayWaits)
	add("the interval of a member counts from when its run began, not from when it had its turn", caseTheIntervalOfAMemberCountsFromWhenIts)

	for name, by := range map[string]time.Duration{"forward": time.Hour, "back": -time.Hour} {
		add("a clock set "+name+" in the first run of a member leaves its interval as it is", func(b *bench) {
			r := b.ring("all", hourly("a"))
			r.run("all")
			held := r.claim(r.session, 1).Jobs[0]
			b.clock.Move(time.Minute)
			b.clock.Set(by)
			ok(b, b.st.ShiftClock(b.ctx, by))
			b.clock.Move(time.Minute)
			r.finish(r.session, held, job.OutcomeOK)
			b.wantState(r.run("all").ID, job.Skipped)
			b.clock.Move(52 * time.Minute)
			b.wantState(r.run("all").ID, job.Skipped)
			b.clock.Move(2 * time.Minute)
			r.run("all")
			want(b, "order", r.works(well), "a")
		})
	}
	add("a member that is deleted under way is passed over", caseAMemberThatIsDeletedUnderWayIsPassed)
	add("a cycle whose task becomes another kind under way ends as it began, and can be canceled", caseACycleWhoseTaskBecomesAnotherKindUnderWay)
	add("a cycle that is retried begins again, with the members that are due", caseACycleThatIsRetriedBeginsAgain)
	addNodes("a clock that is set is noticed before a member is said to be due", caseAClockThatIsSetIsNoticedBeforeA)
}

func caseLeavingOutALaterMemberDoesNotStopA(b *bench) {
	r := b.ring("one", members("a", "b")...)
	r.ring("two", members("a", "b", "c")...)
	r.run("one")
	two := r.run("two")
	must(b.st.SkipMember(b.ctx, "default", "two", "c"))(b)
	want(b, "waits", r.status("two").Run.WaitsFor > 0, true)
	r.works(well)
	want(b, "results", r.output(two.ID), "a ok; b ok; c skipped")
}

func caseAMemberThatIsWaitedForCanBeLeft(b *bench) {
	r := b.ring("one", members("a")...)
	r.ring("two", members("a", "b")...)
	r.run("one")
	two := r.run("two")
	must(b.st.SkipMember(b.ctx, "default", "two", "a"))(b)
	want(b, "current", r.status("two").Run.Current, "b")
	want(b, "order", r.works(well), "a+b")
	want(b, "results", r.output(two.ID), "a skipped; b ok")
}

func caseARingOfCyclesIsRefused(b *bench) {
	r := b.ring("c1", members("a")...)
	r.ring("c2", members("c1")...)
	r.ring("c3", members("b", "c2")...)
	wantCode(b, r.remake("c1", members("a", "c3")...), core.Invalid, "cycle.members[1].task", "has this one for a member")
	ok(b, r.remake("c3", members("c1", "c2")...)) // a shared member is not a loop
}

func caseACycleThatWasTurnedAroundUnderWayWaits(b *bench) {
	r := b.ring("inner", members("a")...)
	r.ring("middle", members("inner", "b")...)
	r.ring("outer", members("middle", "c")...)
	outer := r.run("outer")
	must(b.st.StartCycles(b.ctx))(b) // middle starts; inner is ready and has not begun
	ok(b, r.remake("middle", members("b")...))
	ok(b, r.remake("inner", members("middle", "a")...))
	want(b, "order", r.works(well), "a b c")
	want(b, "results", r.output(outer.ID), "middle ok; c ok")
}

func caseTheIntervalOfAMemberCountsFromWhenIts(b *bench) {
	r := b.ring("all", hourly("a"))
	r.run("all")
	b.clock.Move(50 * time.Minute) // no worker runs
	want(b, "order", r.works(well), "a")
	b.clock.Move(10 * time.Minute)
	want(b, "state", b.job(r.run("all").ID).State, job.Skipped)
	b.clock.Move(46 * time.Minute)
	r.run("all")
	want(b, "order", r.works(well), "a")
	// A second attempt is not a second run: the interval counts from the first.
	b.clock.Move(time.Hour)
	must(b.st.UpdateTask(b.ctx, task.Task{Name: "a", Kind: task.KindFunc, Retry: task.Retry{MaxAttempts: 2, Jitter: -1}}))(b)
	began := b.clock.Now()
	r.run("all")
	r.finish(r.session, r.claim(r.session, 1).Jobs[0], job.OutcomeError)
	b.clock.Move(20 * time.Minute)
	b.promote()
	want(b, "order", r.works(well), "a")
	want(b, "start", r.status("all").Members[0].Timing.StartedAt.UTC(), began)
}

func caseAMemberWaitsUntilThatOfACanceledRunHasEnded(b *bench) {
	r := b.ring("all", members("a", "b")...)
	j := r.run("all")
	r.finish(r.session, r.claim(r.session, 1).Jobs[0], job.OutcomeOK)
	ending := r.claim(r.session, 1).Jobs[0]
	want(b, "runs", ending.Job.Task, "b")
	b.cancel(j.ID)
	b.wantState(j.ID, job.Canceled)
	next := r.run("all")
	want(b, "claimed beside it", len(r.claim(r.session, 1).Jobs), 0)
	want(b, "waits for", r.status("all").Run.WaitsFor, ending.Job.ID)
	r.finish(r.session, ending, job.OutcomeCanceled)
	want(b, "order", r.works(well), "a b")
	b.wantState(next.ID, job.Succeeded)
}

func caseAMemberThatIsDeletedUnderWayIsPassed(b *bench) {
	r := b.ring("all", members("a", "b", "c")...)
	j := r.run("all")
	ok(b, r.remake("all", members("c")...))
	ok(b, b.st.DeleteTask(b.ctx, "default", "b"))
	r.finish(r.session, r.claim(r.session, 1).Jobs[0], job.OutcomeOK)
	held := r.claim(r.session, 1).Jobs[0]
	want(b, "task of the next member", held.Job.Task, "c")
	ok(b, r.remake("all", members("a")...))
	ok(b, b.st.DeleteTask(b.ctx, "default", "c")) // while it runs
	r.finish(r.session, held, job.OutcomeError)
	want(b, "results", r.output(j.ID), "a ok; b skipped; c failed")
	j = r.run("all")
	want(b, "order", r.works(well), "a")
	b.wantState(j.ID, job.Succeeded)
}

func caseACycleWhoseTaskBecomesAnotherKindUnderWay(b *bench) {
	r := b.ring("all", members("a", "b")...)
	for _, cancel := range []bool{false, true} {
		ok(b, r.remake("all", members("a", "b")...))
		j := r.run("all")
		must(b.st.UpdateTask(b.ctx, task.Task{Name: "all", Kind: task.KindFunc}))(b)
		if !cancel {
			want(b, "order", r.works(well), "a b")
			want(b, "results", r.output(j.ID), "a ok; b ok")
			continue
		}
		b.cancel(j.ID)
		want(b, "order", r.works(well), "")
		want(b, "progress", b.count(`select count(*) from belfry.cycle_runs`), 0)
	}
}

func caseACycleThatIsRetriedBeginsAgain(b *bench) {
	r := b.ring("all", hourly("a"), task.Member{Task: "b", OnFailure: task.FailureStop}, task.Member{Task: "c"})
	j := r.run("all")
	r.works(func(task string) job.Outcome {
		if task == "b" {
			return job.OutcomeError
		}
		return job.OutcomeOK
	})
	b.wantState(j.ID, job.Failed)
	woken := b.st.Woken()
	b.retry(j.ID)
	select {
	case <-woken:
	default:
		b.Fatal("the engine is not woken for a ready cycle")
	}
	want(b, "order", r.works(well), "b c")
	want(b, "results", r.output(j.ID), "a skipped; b ok; c ok")
}

func caseAClockThatIsSetIsNoticedBeforeA(b *bench, nodes []*store.Store) {
	r := b.ring("all", hourly("a"), task.Member{Task: "b"})
	for _, st := range nodes {
		ok(b, st.FollowClock(b.ctx))
	}
	order := r.works(well)
	r.run("all")
	order += r.works(well)
	for range 3 {
		b.clock.Move(time.Minute)
		b.clock.Set(2 * time.Hour)
		r.run("all") // no node has noticed the step yet
		order += " " + r.works(well)
		b.clock.Move(time.Second)
		j := b.enqueue(job.NewJob{Task: "all"})
		must(nodes[len(nodes)-1].StartCycles(b.ctx))(b)
		b.clock.Set(-2 * time.Hour) // the settling of b is the first to see the new clock
		order += " " + r.works(well)
		b.wantState(j.ID, job.Succeeded)
	}
	want(b, "order", strings.Join(strings.Fields(order), " "), "a b b b b b b b")
}

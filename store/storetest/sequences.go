package storetest

import (
	"fmt"
	"math/rand/v2"
	"strings"
	"time"

	"github.com/belfry-run/belfry/alert"
	"github.com/belfry-run/belfry/core"
	"github.com/belfry-run/belfry/flow"
	"github.com/belfry-run/belfry/job"
	"github.com/belfry-run/belfry/task"
)

func init() {
	add("jobs of a sequence run one at a time in their order, and one that is tried again keeps its place", sequenceOrder)
	add("a failed job stops its sequence until it is retried or the sequence is resumed", sequenceStops)
	add("a failed job of a sequence lets the others go on, or skips those that wait, as its task says", sequenceAfterFailure)
	add("sequences keep their order under random histories, beside limits", sequenceHistories)
}

func inSequence(after flow.AfterFailure, ls ...flow.Limit) func(*task.Task) {
	return func(t *task.Task) {
		t.Sequence, t.Limits = &flow.Sequence{Key: "input.customer", OnFailure: after}, ls
		t.Retry.MaxAttempts, t.Retry.Delay = 2, core.Duration(time.Minute)
	}
}

// next claims all ready jobs, which must be the jobs with these ids.
func (b *bench) next(s job.Session, ids ...int64) []job.LeasedJob {
	b.Helper()
	b.consistent()
	c := b.claim(s, 10)
	got := []int64{}
	for _, j := range c.Jobs {
		got = append(got, j.Job.ID)
	}
	want(b, "ready", fmt.Sprint(got), fmt.Sprint(ids))
	return c.Jobs
}

func three(b *bench, priority int) (ids []int64) {
	for range 3 {
		c := customer("a")
		c.Priority = new(priority)
		ids = append(ids, b.enqueue(c).ID)
	}
	return ids
}

func sequenceOrder(b *bench) {
	b.task("work", inSequence(flow.SequenceStops))
	s := b.session("work")
	ids := append(three(b, 0), three(b, 9)...)
	first := b.next(s, ids[0])[0]
	other := b.enqueue(customer("b")).ID
	b.finish(s, b.next(s, other)[0], job.OutcomeOK)
	b.finish(s, first, job.OutcomeError) // the job waits for its retry, and the others wait for it
	b.next(s, []int64{}...)
	b.clock.Move(time.Minute)
	b.renew(s)
	b.promote()
	b.finish(s, b.next(s, ids[0])[0], job.OutcomeOK)
	snoozed := b.next(s, ids[1])[0]
	b.finish(s, snoozed, job.OutcomeSnoozed, func(f *job.Finish) { f.Snooze = core.Duration(time.Second) })
	b.next(s, []int64{}...)
	b.clock.Move(time.Second)
	b.promote()
	lost := b.next(s, ids[1])[0]
	b.clock.Move(2 * time.Minute)
	b.release()
	s = b.session("work")
	for range 2 {
		b.clock.Move(time.Minute)
		b.renew(s)
		b.promote()
	}
	b.finish(s, b.next(s, lost.Job.ID)[0], job.OutcomeOK)
	b.cancel(ids[3])
	for _, id := range []int64{ids[2], ids[4], ids[5]} {
		b.finish(s, b.next(s, id)[0], job.OutcomeOK)
	}
	want(b, "left", b.count(`select count(*) from belfry.limit_jobs`), 0)
}

func failForGood(f *job.Finish) { f.NoRetry = true }

func sequenceStops(b *bench) {
	alerts{b}.channel("hook")
	b.task("work", inSequence(flow.SequenceStops))
	s := b.session("work")
	ids := three(b, 0)
	b.finish(s, b.next(s, ids[0])[0], job.OutcomeError, failForGood)
	told := must(b.st.Alerts(b.ctx, alert.Filter{}))(b).Items
	if len(told) != 1 || !strings.Contains(told[0].Notification.Text, "its sequence is stopped: retry it, or go on without it by belfry task resume work KEY") {
		b.Errorf("alerts: got %+v, want 1 that names the stopped sequence", told)
	}
	b.next(s, []int64{}...)
	use := must(b.st.LimitUse(b.ctx, "default", "work"))(b)
	want(b, "use", fmt.Sprint(use[0].Name, use[0].Keys), fmt.Sprint("sequence", "[{a 0 2 "+time.Time{}.String()+" "+fmt.Sprint(ids[0])+"}]"))
	w := must(b.st.Why(b.ctx, "default", ids[1]))(b)
	want(b, "why", w.Next, fmt.Sprintf("retry it: belfry job retry %d; or go on without it: belfry task resume work a", ids[0]))
	b.clock.Move(time.Hour)
	b.renew(s)
	for range 3 {
		b.promote()
	}
	s = b.session("work")
	b.next(s, []int64{}...)
	b.retry(ids[0])
	b.promote()
	b.finish(s, b.next(s, ids[0])[0], job.OutcomeOK)
	b.finish(s, b.next(s, ids[1])[0], job.OutcomeError, failForGood)
	b.next(s, []int64{}...)
	want(b, "note of a job that has stopped its sequence", b.job(ids[1]).Note, "its sequence is stopped: retry it, or go on without it by belfry task resume work KEY")
	want(b, "resumed", must(b.st.ResumeSequence(b.ctx, "default", "work", "a"))(b), true)
	want(b, "note of a job whose sequence was resumed", b.job(ids[1]).Note, "its sequence was stopped, and resumed without it")
	want(b, "resumed again", must(b.st.ResumeSequence(b.ctx, "default", "work", "a"))(b), false)
	b.promote()
	b.finish(s, b.next(s, ids[2])[0], job.OutcomeError, failForGood)
	last := b.enqueue(customer("a"))
	b.wantState(last.ID, job.Waiting)
	b.sql(`delete from belfry.jobs_done where id = $1`, ids[2])
	w = must(b.st.Why(b.ctx, "default", last.ID))(b)
	want(b, "why, when the job has been removed", w.Next, fmt.Sprintf("job %d is no longer kept; go on without it: belfry task resume work a", ids[2]))
	b.cancel(last.ID)
	want(b, "stopped", b.count(`select count(*) from belfry.limit_keys where stopped_by > 0`), 1)
}

func sequenceAfterFailure(b *bench) {
	t := b.task("work", inSequence(flow.SequenceGoesOn))
	s := b.session("work")
	ids := three(b, 0)
	b.finish(s, b.next(s, ids[0])[0], job.OutcomeError, failForGood)
	second := b.next(s, ids[1])[0]
	t.Sequence = &flow.Sequence{Key: "input.customer", OnFailure: flow.SequenceSkips}
	must(b.st.UpdateTask(b.ctx, t))(b)
	b.promote()
	b.finish(s, second, job.OutcomeError, failForGood)
	b.promote()
	j := b.wantState(ids[2], job.Skipped)
	want(b, "reason", string(j.Reason)+": "+j.Note, fmt.Sprintf("sequence: job %d of its sequence failed", ids[1]))
	want(b, "keys, which are needed again soon", b.count(`select count(*) from belfry.limit_keys`), 1)
	again := b.enqueue(customer("a"))
	b.finish(s, b.next(s, again.ID)[0], job.OutcomeOK)
	b.consistent()
}

func sequenceHistories(b *bench) {
	seed := rand.Uint64()
	b.Logf("seed %d", seed)
	r := rand.New(rand.NewPCG(seed, 2))
	b.task("work", inSequence(flow.SequenceGoesOn, flow.Limit{Name: "all", Running: 2}, flow.Limit{Name: "rate", Rate: "5/s", Burst: 2}))
	s := b.session("work")
	key, began := map[int64]int{}, map[int]int64{} // the sequence of each job, and the last started job of each sequence
	done := map[int64]bool{}
	var held []job.LeasedJob
	left := 50
	for step := 0; step < 1500 && (left > 0 || b.count(`select count(*) from belfry.jobs`) > 0); step++ {
		switch n := r.IntN(6); {
		case n == 0 && left > 0:
			k := r.IntN(3)
			c := customer(k)
			c.Priority = new(r.IntN(3))
			key[b.enqueue(c).ID] = k
			left--
		case n < 3:
			for _, j := range b.claim(s, 1+r.IntN(3)).Jobs {
				id, k := j.Job.ID, key[j.Job.ID]
				if last := began[k]; last > id || last != 0 && last != id && !done[last] {
					b.Fatalf("step %d: job %d of sequence %d began after job %d, which has ended: %v", step, id, k, last, done[last])
				}
				began[k] = id
				held = append(held, j)
			}
		case n < 5 && len(held) > 0:
			outcome := []job.Outcome{job.OutcomeOK, job.OutcomeOK, job.OutcomeError, job.OutcomeSnoozed, job.OutcomeHandedBack}[r.IntN(5)]
			f := b.finish(s, held[0], outcome, func(f *job.Finish) { f.Snooze = core.Duration(time.Second) })
			done[held[0].Job.ID] = f.State.Final()
			held = held[1:]
		default:
			b.clock.Move(time.Duration(1+r.IntN(20)) * time.Second)
			b.renew(s, held...)
			b.promote()
		}
		b.consistent()
	}
	want(b, "left", b.count(`select count(*) from belfry.jobs`), 0)
}

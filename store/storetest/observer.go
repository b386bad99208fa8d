package storetest

import (
	"context"
	"fmt"
	"maps"
	"sync"
	"time"

	"github.com/belfry-run/belfry/alert"
	"github.com/belfry-run/belfry/core"
	"github.com/belfry-run/belfry/job"
	"github.com/belfry-run/belfry/schedule"
	"github.com/belfry-run/belfry/task"
)

// tally counts the calls of a store's observer.
type tally struct {
	mu     sync.Mutex
	counts map[string]int
}

func newTally() *tally { return &tally{counts: map[string]int{}} }

func (t *tally) add(what string, n int) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.counts[what] += n
}

func (t *tally) of(what string) int {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.counts[what]
}

func (t *tally) Claimed(_ string, n int)               { t.add("claimed", n) }
func (*tally) Waited(string, task.Kind, time.Duration) {}
func (t *tally) Settled(_ string, o job.Outcome, s job.State, ran time.Duration) {
	t.add("attempt "+string(o), 1)
	t.add("job "+string(s), 1)
	if ran >= 0 {
		t.add("ran", 1)
	}
}
func (t *tally) Fired(decision schedule.Decision, reason core.Reason, times int, _ time.Duration) {
	t.add("fired "+string(decision)+" "+string(reason), times)
}
func (t *tally) Stale(n int)               { t.add("stale", n) }
func (t *tally) Lost(n int)                { t.add("lost", n) }
func (*tally) Released(int, time.Duration) {}
func (t *tally) Checked(kind task.Kind, o task.CheckOutcome, latency time.Duration) {
	t.add("check "+string(kind)+" "+string(o), 1)
	t.add("latency "+string(kind), int(latency/time.Millisecond))
}
func (t *tally) Tried(channel string, became alert.State) {
	t.add("tried "+channel+" "+string(became), 1)
}
func (t *tally) Delivered(result string, events int) { t.add("delivered "+result, events) }
func (t *tally) OverQuota(namespace, quota string)   { t.add("over "+namespace+" "+quota, 1) }
func (t *tally) KeptOut(queue string, why core.Reason, jobs int) {
	t.add(string(why)+" "+queue, jobs)
}
func (t *tally) Took(name string, _ time.Duration, failed bool) {
	t.add("took "+name, 1)
	if failed {
		t.add("faults", 1)
	}
}

func init() {
	add("a refused call does not count as a fault of the store", caseARefusedCallIsNoFault)
	add("counters of attempts equal their records for each outcome", caseCountersOfAttemptsEqualTheirRecords)
}

func caseARefusedCallIsNoFault(b *bench) {
	_, err := b.st.UpdateTask(b.ctx, task.Task{Name: "none", Kind: task.KindFunc})
	wantCode(b, err, core.NotFound, "none")
	_, err = b.st.CreateTask(b.ctx, task.Task{Name: "not a name", Kind: task.KindFunc})
	wantCode(b, err, core.Invalid, "name")
	b.task("t")
	_, err = b.st.CreateTask(b.ctx, task.Task{Name: "t", Kind: task.KindFunc})
	wantCode(b, err, core.Conflict, "t")
	left, leave := context.WithCancel(b.ctx)
	leave()
	_, err = b.st.CreateTask(left, task.Task{Name: "u", Kind: task.KindFunc})
	want(b, "call of a client that has left gets an error", err != nil, true)
	b.sql(`drop table belfry.secrets`)
	want(b, "faults", b.tally.of("faults"), 0)
	_, err = b.st.SetSecret(b.ctx, "default", "s", "v")
	want(b, "call without the table gets an error", err != nil, true)
	want(b, "faults", b.tally.of("faults"), 1)
}

func caseCountersOfAttemptsEqualTheirRecords(b *bench) {
	b.task("work", attempts(2))
	s := b.session("work")
	for _, outcome := range []job.Outcome{job.OutcomeOK, job.OutcomeError, job.OutcomeTimeout, job.OutcomeCanceled, job.OutcomeSnoozed, job.OutcomeHandedBack} {
		b.enqueue(job.NewJob{Task: "work"})
		b.finish(s, b.claim(s, 1).Jobs[0], outcome, func(f *job.Finish) {
			if f.StartedIn = core.Duration(time.Millisecond); outcome == job.OutcomeSnoozed {
				f.Snooze = core.Duration(time.Hour)
			}
		})
	}
	b.claim(s, 1) // the handed-back job, which is then lost
	b.enqueue(job.NewJob{Task: "work"})
	must(b.st.Claim(b.ctx, job.ClaimRequest{Session: s.ID, Want: map[string]int{"default": 1}, Ahead: map[string]int{"default": 1}}))(b)
	b.clock.Move(lost)
	b.release()

	// A run that the next one terminates reports its end when it learns of that.
	b.task("loop")
	b.schedule("loop", "loop", every(time.Hour), func(s *schedule.Schedule) { s.Overlap = schedule.OverlapTerminateOther })
	s = b.session("loop")
	b.clock.Move(time.Hour)
	b.fire()
	first := b.claim(s, 1).Jobs[0]
	b.clock.Move(time.Hour)
	must(b.st.Renew(b.ctx, s.ID, job.Held(refOf(first))))(b)
	b.fire()
	want(b, "attempts to cancel", len(must(b.st.Renew(b.ctx, s.ID, job.Held(refOf(first))))(b).Cancel), 1)
	want(b, "too late", b.finish(s, first, job.OutcomeCanceled).Stale, true)
	want(b, "stale finishes after a reported cancel", b.tally.of("stale"), 0)
	want(b, "late success is stale", b.finish(s, first, job.OutcomeOK).Stale, true)
	want(b, "counted stale finishes", b.tally.of("stale"), 1)

	record := map[string]int{}
	for _, j := range must(b.st.Jobs(b.ctx, job.Filter{Paging: core.Paging{Limit: 1000}}))(b).Items {
		for _, a := range must(b.st.Attempts(b.ctx, "default", j.ID))(b) {
			record["attempt "+string(a.Outcome)]++
			if a.Outcome != job.OutcomeHandedBack || !a.StartedAt.IsZero() {
				record["ran"]++
			}
		}
	}
	counted := maps.Clone(b.tally.counts)
	maps.DeleteFunc(counted, func(what string, _ int) bool {
		return what != "ran" && len(what) > 7 && what[:7] != "attempt" || len(what) <= 7 && what != "ran"
	})
	if fmt.Sprint(counted) != fmt.Sprint(record) {
		b.Errorf("observed %v, want the record %v", counted, record)
	}
	want(b, "attempts that were canceled", record["attempt canceled"], 2)
}

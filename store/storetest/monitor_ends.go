package storetest

import (
	"math"
	"strings"
	"time"

	"github.com/belfry-run/belfry/core"
	"github.com/belfry-run/belfry/job"
	"github.com/belfry-run/belfry/monitor"
	"github.com/belfry-run/belfry/task"
)

func init() {
	add("a worker cannot have more kept of a check than an honest one reports", caseAWorkerCannotHaveMoreKeptOfACheck)
	add("a check that begins up to 10 s late counts from its time, and a later one from its begin", caseACheckThatBeginsLateCountsFromItsTime)
	add("a check never begins after its end, also when its worker reports so", caseACheckHasNotBegunAfterItsEnd)
	add("a check that ends although its monitor can no longer be computed is kept, and holds up no other", caseACheckThatEndsAlthoughItsMonitorCannotBe)
}

func caseAWorkerCannotHaveMoreKeptOfACheck(b *bench) {
	w := b.checker()
	b.monitor("site")
	long := strings.Repeat("x", 1<<20)
	w.turn("site", task.CheckResult{
		Outcome: task.CheckFail, Code: task.CodeStatus, Message: long, Hops: []task.Hop{{URL: long}},
		Conditions: []task.ConditionResult{{Text: long, Value: long}}, Snapshot: &task.Snapshot{Status: long, Headers: map[string]string{"X": long}},
	})
	w.turn("site", task.CheckResult{Outcome: task.CheckFail, Snapshot: &task.Snapshot{Status: long, Headers: map[string]string{"X": long}}})
	want(b, "incidents", len(w.incidents("site")), 1)
	if n := b.count(`select max(length(detail)) from belfry.results`) + b.count(`select max(length(doc)) from belfry.incidents`); n > 100_000 {
		b.Fatalf("stored detail of a check: got %d bytes, want at most 100,000", n)
	}
}

func caseACheckThatBeginsLateCountsFromItsTime(b *bench) {
	w := b.checker()
	b.monitor("site")
	for _, row := range []struct{ late, from time.Duration }{{10 * time.Second, 0}, {10*time.Second + 1000, 10*time.Second + 1000}} {
		b.clock.Move(max(0, w.nextCheck("site").Sub(b.clock.Now())))
		planned := w.nextCheck("site")
		b.fire()
		b.promote()
		b.clock.Move(planned.Add(row.late).Sub(b.clock.Now()))
		for _, j := range w.checks() {
			began := b.clock.Now()
			b.clock.Move(3 * time.Second) // the check takes time of its own
			w.finish(w.session, j, job.OutcomeOK, func(f *job.Finish) { f.Check = &passed })
			r := w.results("site")[0]
			want(b, "time", r.At, planned.Add(row.from))
			want(b, "latency", r.Latency, passed.Latency)
			want(b, "delay", r.QueueDelay.D(), began.Sub(j.Job.DueAt))
		}
	}
	want(b, "results", len(w.results("site")), 2)
}

func caseACheckHasNotBegunAfterItsEnd(b *bench) {
	w := b.checker()
	b.monitor("site", func(m *monitor.Monitor) { m.Confirm.Failures = 1 })
	w.turn("site", passed)
	b.clock.Move(w.nextCheck("site").Sub(b.clock.Now()))
	for _, in := range []time.Duration{1000 * time.Hour, math.MaxInt64, -1000 * time.Hour, math.MinInt64} {
		must(b.st.CheckMonitor(b.ctx, "default", "site"))(b)
		b.fire()
		b.promote()
		began := b.clock.Now()
		b.clock.Move(20 * time.Second)
		for _, j := range w.checks() {
			b.clock.Move(time.Second)
			w.finish(w.session, j, job.OutcomeOK, func(f *job.Finish) { f.Check, f.StartedIn = &passed, core.Duration(in) })
		}
		if at := w.results("site")[0].At; at.Before(began) || at.After(b.clock.Now()) {
			b.Fatalf("%s: got a check result at %s, want it between its request at %s and its end at %s", in, at, began, b.clock.Now())
		}
	}
	want(b, "status after the next failure", w.turn("site", failed).Status, monitor.StatusDown)
}

func caseACheckThatEndsAlthoughItsMonitorCannotBe(b *bench) {
	w := b.checker()
	b.monitor("nowhere")
	b.monitor("sound")
	b.clock.Move(time.Minute)
	b.fire()
	b.promote()
	var ends []job.Finish
	for _, j := range w.checks() {
		ends = append(ends, job.Finish{Ref: job.Ref{JobID: j.Job.ID, Lease: j.Job.Lease}, Outcome: job.OutcomeOK, Check: &passed})
	}
	b.sql(`update belfry.monitors set doc = replace(doc, '"UTC"', '"Nowhere/None"') where name = 'nowhere'`)
	for _, f := range must(b.st.Finish(b.ctx, w.session.ID, ends))(b) {
		want(b, "state", f.State, job.Succeeded)
	}
	want(b, "status of monitor sound", w.look("sound").Status, monitor.StatusUp)
	want(b, "status of monitor nowhere", w.look("nowhere").Status, monitor.StatusNew)
	want(b, "results of nowhere", len(w.results("nowhere")), 1)
}

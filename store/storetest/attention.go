package storetest

import (
	"fmt"
	"strings"
	"time"

	"github.com/belfry-run/belfry/core"
	"github.com/belfry-run/belfry/job"
	"github.com/belfry-run/belfry/monitor"
	"github.com/belfry-run/belfry/schedule"
	"github.com/belfry-run/belfry/store/base"
	"github.com/belfry-run/belfry/task"
	"github.com/belfry-run/belfry/view"
	"github.com/belfry-run/belfry/workflow"
)

// The overview of a day must equal the known history of this day.
func caseAnOverviewListsFaults(b *bench) {
	for _, name := range []string{"bad", "mended", "good"} {
		b.task(name, func(t *task.Task) { t.Retry.MaxAttempts = 1 })
	}
	b.schedule("hours", "good", every(time.Hour), func(s *schedule.Schedule) { s.Start = Epoch.Add(time.Hour) })
	s := b.session("bad", "mended", "good")
	run := func(name string, took time.Duration, outcome job.Outcome) {
		b.enqueue(job.NewJob{Task: name})
		j := b.claim(s, 1).Jobs[0]
		b.clock.Move(took)
		b.finish(s, j, outcome)
	}
	for range 3 {
		run("bad", time.Second, job.OutcomeError)
	}
	run("mended", time.Second, job.OutcomeError)
	run("mended", time.Second, job.OutcomeOK)
	for _, took := range []time.Duration{9 * time.Second, time.Second, 5 * time.Second} {
		run("good", took, job.OutcomeOK)
	}
	b.enqueue(job.NewJob{Task: "good"})
	b.claim(s, 1)
	b.clock.Move(3 * time.Minute)
	for must(b.st.RollJobs(b.ctx))(b) {
	}
	o := must(b.st.Overview(b.ctx, "default"))(b)
	if len(o.Failing) != 1 {
		b.Fatalf("failing tasks: got %+v, want 1", o.Failing)
	}
	f := o.Failing[0]
	want(b, "failing task", fmt.Sprint(f.Task, " ", f.Jobs, " ", f.Error, " ", f.First.Sub(Epoch), " ", f.Last.Sub(Epoch)), "bad 3 it broke 1s 3s")
	want(b, "usual", o.Running[0].Usual.D(), 5*time.Second)
	var day job.MinuteTotals
	for _, part := range o.Day {
		want(b, "begin of a part", part.Minute.Unix()%(view.DayStep*60), int64(0))
		day.Add(part)
	}
	want(b, "the day", fmt.Sprint(day.OK, day.Failed, day.Started, day.Ran), "4 4 8 20s")
	starts := 0
	for _, q := range o.Starts {
		want(b, "begin of a quarter", q.At.Minute()%15, 0)
		starts += q.Starts
	}
	ahead := 0
	for _, h := range o.Ahead.Hours {
		ahead += h.Starts
	}
	want(b, "quarters have what hours have", starts, ahead)
	want(b, "late and lost", len(o.Late)+len(o.Lost), 0)

	must(b.st.OpenSession(b.ctx, job.WorkerInfo{Name: "theirs", Namespace: "team", Kinds: []task.Kind{task.KindFunc}, Funcs: []string{"good"}, Queues: map[string]int{"default": 1}}))(b)
	b.clock.Move(2 * time.Hour)
	must(b.st.ReleaseLost(b.ctx))(b)
	want(b, "lost for all", len(must(b.st.Overview(b.ctx, core.AnyNamespace))(b).Lost), 2)
	o = must(b.st.Overview(b.ctx, "default"))(b)
	if len(o.Late) != 1 || o.Late[0].Schedule != "hours" || len(o.Lost) != 1 || o.Lost[0].Name != "tester" || o.Lost[0].Session != s.ID {
		b.Fatalf("late schedules: got %+v, lost workers: got %+v, want hours and tester", o.Late, o.Lost)
	}
	b.session("good")
	o = must(b.st.Overview(b.ctx, "other"))(b)
	want(b, "overview of another namespace", len(o.Failing)+len(o.Day)+len(o.Late)+len(o.Lost)+len(o.Starts), 0)
}

// Whether a task has succeeded since its last failure is a matter of when its jobs ended, and not of when they were created.
func caseAnOverviewListsRetriedFaults(b *bench) {
	b.task("t", func(t *task.Task) { t.Retry.MaxAttempts = 1 })
	b.task("u", func(t *task.Task) { t.Retry.MaxAttempts = 1 })
	s := b.session("t", "u")
	end := func(o job.Outcome) {
		b.Helper()
		b.clock.Move(time.Second)
		b.finish(s, b.claim(s, 1).Jobs[0], o)
	}
	run := func(name string, o job.Outcome) int64 {
		b.Helper()
		j := b.enqueue(job.NewJob{Task: name})
		end(o)
		return j.ID
	}
	failing := func() (text string) {
		for _, f := range must(b.st.Overview(b.ctx, "default"))(b).Failing {
			text += fmt.Sprint(f.Task, " ", f.Jobs, " since ", f.First.Sub(Epoch), ", last ", f.Last.Sub(Epoch), " job ", f.JobID, "; ")
		}
		return text
	}
	first := run("t", job.OutcomeError)
	run("t", job.OutcomeOK)
	want(b, "failed before a success", failing(), "")
	b.retry(first)
	end(job.OutcomeError)
	want(b, "failed after a success of a newer job", failing(), fmt.Sprintf("t 1 since 3s, last 3s job %d; ", first))

	other := run("u", job.OutcomeError)
	second := run("t", job.OutcomeError)
	b.retry(first)
	end(job.OutcomeError)
	want(b, "failed last", failing(), fmt.Sprintf("t 2 since 5s, last 6s job %d; u 1 since 4s, last 4s job %d; ", first, other))
	b.retry(first)
	end(job.OutcomeOK)
	want(b, "succeeded after the failure of a newer job", failing(), fmt.Sprintf("u 1 since 4s, last 4s job %d; ", other))
	b.retry(second)
	end(job.OutcomeError)
	want(b, "failed again", failing(), fmt.Sprintf("t 1 since 8s, last 8s job %d; u 1 since 4s, last 4s job %d; ", second, other))
	// Newer jobs of a task of the same name hide no success, if they are of another namespace.
	run("u", job.OutcomeOK)
	endOthers(b, "u", 250)
	want(b, "beside another namespace", failing(), fmt.Sprintf("t 1 since 8s, last 8s job %d; ", second))
}

// What happens in another namespace changes nothing in the overview of this one, whatever the names of its tasks.
func caseAnOverviewIsNotOfABusyNamespace(b *bench) {
	b.task("t", func(t *task.Task) { t.Retry.MaxAttempts = 1 })
	s := b.session("t")
	failed := b.enqueue(job.NewJob{Task: "t"})
	b.clock.Move(time.Second)
	b.finish(s, b.claim(s, 1).Jobs[0], job.OutcomeError)
	b.enqueue(job.NewJob{Task: "t"})
	good := b.claim(s, 1).Jobs[0]
	b.clock.Move(7 * time.Second)
	b.finish(s, good, job.OutcomeOK)
	b.retry(failed.ID)
	b.finish(s, b.claim(s, 1).Jobs[0], job.OutcomeError)
	b.enqueue(job.NewJob{Task: "t"})
	b.claim(s, 1)
	said := func(when string) {
		b.Helper()
		o := must(b.st.Overview(b.ctx, "default"))(b)
		if len(o.Failed) != 1 || len(o.Failing) != 1 || len(o.Running) != 1 || o.MoreFailing {
			b.Fatalf("%s: got %d failed, %d failing, %d running, more: %v, want 1 of each and no more", when, len(o.Failed), len(o.Failing), len(o.Running), o.MoreFailing)
		}
		want(b, when, fmt.Sprint(o.Failed[0].ID, o.Failing[0].JobID, o.Running[0].Usual), fmt.Sprint(failed.ID, failed.ID, core.Duration(7*time.Second)))
	}
	said("alone")
	failOthers(b, "u", base.LookFirst+100)
	endOthers(b, "t", 250)
	said("beside another namespace")
}

// failOthers has jobs of a task of another namespace fail.
func failOthers(b *bench, name string, n int) {
	b.Helper()
	must(b.st.CreateTask(b.ctx, task.Task{Namespace: "other", Name: name, Kind: task.KindFunc, Retry: task.Retry{MaxAttempts: 1}}))(b)
	all := make([]job.NewJob, n)
	for i := range all {
		all[i] = job.NewJob{Namespace: "other", Task: name}
	}
	must(b.st.Enqueue(b.ctx, all))(b)
	s := must(b.st.OpenSession(b.ctx, job.WorkerInfo{
		Name: "other", Namespace: "other", Kinds: []task.Kind{task.KindFunc}, Funcs: []string{name}, Queues: map[string]int{"default": n},
	}))(b)
	for ended := 0; ended < n; {
		var ends []job.Finish
		for _, j := range b.claim(s, n).Jobs {
			ends = append(ends, job.Finish{Ref: job.Ref{JobID: j.Job.ID, Lease: j.Job.Lease}, Outcome: job.OutcomeError})
		}
		if len(ends) == 0 {
			b.Fatalf("%d of %d jobs were claimed", ended, n)
		}
		must(b.st.Finish(b.ctx, s.ID, ends))(b)
		ended += len(ends)
	}
}

// endOthers ends jobs of a task of another namespace.
func endOthers(b *bench, name string, n int) {
	b.Helper()
	all := make([]job.NewJob, n)
	for i := range all {
		all[i] = job.NewJob{Namespace: "other", Task: name, Kind: task.KindFunc}
	}
	var ids []int64
	for _, e := range must(b.st.Enqueue(b.ctx, all))(b) {
		ids = append(ids, e.Job.ID)
	}
	must(b.st.CancelJobs(b.ctx, "other", view.Selection{IDs: ids}))(b)
}

// A run is listed while a step waits for an approval, and not while it waits for a signal.
func caseAnOverviewListsApprovals(b *bench) {
	f := newGraph(b, "w", task.Workflow{Steps: []task.Step{
		{Name: "early", Signal: "begin"},
		{Name: "sure", Approval: "Is it good?", Timeout: core.Duration(time.Hour), Needs: []string{"early"}},
		{Name: "paid", Approval: "Is it paid?", Needs: []string{"early"}},
		step("ship", "a", "sure", "paid"),
	}})
	said := func(namespace string) string {
		b.Helper()
		o := must(b.st.Overview(b.ctx, namespace))(b)
		text := fmt.Sprint(len(o.Approvals), o.MoreApprovals)
		for _, a := range o.Approvals[:min(len(o.Approvals), 2)] {
			text += fmt.Sprint("; ", a.Namespace, " ", a.RunID, " ", a.Workflow, " ", a.Step, " ", a.Approval, " ", a.Since.Sub(Epoch), " ", a.Until.Sub(Epoch), " ", a.More)
		}
		return text
	}
	send := func(id int64, name string, reject bool) {
		b.Helper()
		must(b.st.SendSignal(b.ctx, "default", id, workflow.Signal{Name: name, Reject: reject}))(b)
		f.engine()
	}
	first := f.run("w", "")
	want(b, "while it waits for a signal", said("default"), "0 false")
	b.clock.Move(time.Minute)
	send(first.ID, "begin", false)
	one := fmt.Sprintf("default %d w sure Is it good? 1m0s 1h1m0s 1", first.ID)
	want(b, "of its namespace", said("default"), "1 false; "+one)
	want(b, "of all namespaces", said(core.AnyNamespace), "1 false; "+one)
	want(b, "of another namespace", said("other"), "0 false")
	const note = "waits for approval of sure"
	want(b, "note of the job", must(b.st.Job(b.ctx, "default", first.ID))(b).Note, note)
	want(b, "note in a list", must(b.st.Jobs(b.ctx, job.Filter{}))(b).Items[0].Note, note)
	b.clock.Move(time.Minute)
	second := f.run("w", "")
	send(second.ID, "begin", false)
	two := fmt.Sprintf("default %d w sure Is it good? 2m0s 1h2m0s 1", second.ID)
	want(b, "the longest wait first", said("default"), "2 false; "+one+"; "+two)
	send(first.ID, "sure", false)
	want(b, "the other step", said("default"), fmt.Sprintf("2 false; default %d w paid Is it paid? 1m0s 24h1m0s 0; %s", first.ID, two))
	send(first.ID, "paid", true)
	want(b, "answered", said("default"), "1 false; "+two)
	b.clock.Set(-5 * time.Hour)
	ok(b, b.st.ShiftClock(b.ctx, -5*time.Hour))
	moved := must(b.st.WorkflowRun(b.ctx, "default", second.ID))(b).Run.Steps[1]
	want(b, "the clock is set", fmt.Sprint(moved.Since.Sub(Epoch), " ", moved.Until.Sub(Epoch)), "-4h58m0s -3h58m0s")
	want(b, "the clock is set", said("default"), fmt.Sprintf("1 false; default %d w sure Is it good? -4h58m0s -3h58m0s 1", second.ID))
	b.cancel(second.ID)
	f.engine()
	want(b, "canceled", said("default"), "0 false")
	for range 21 {
		b.clock.Move(time.Second)
		send(f.run("w", "").ID, "begin", false)
	}
	want(b, "at most 20", said("default")[:8], "20 true;")
	b.clock.Move(25 * time.Hour)
	f.engine()
	want(b, "timed out", said(core.AnyNamespace), "0 false")
}

// No number of outages in maintenance hides one that is not.
func caseAnOverviewListsOutages(b *bench) {
	const rows = 20 // of the list
	down := func(name, tag string) {
		b.Helper()
		v := b.monitor(name, func(m *monitor.Monitor) {
			m.Check, m.Heartbeat, m.Every, m.Tags = task.Task{}, &monitor.Heartbeat{}, core.Duration(time.Hour), []string{tag}
		})
		key := strings.TrimPrefix(v.Beat, "/beat/")
		must(b.st.Beat(b.ctx, key, monitor.Call{Kind: monitor.CallSuccess}))(b)
		must(b.st.LapseMonitors(b.ctx))(b)
		b.clock.Move(time.Second)
		must(b.st.Beat(b.ctx, key, monitor.Call{Kind: monitor.CallFail}))(b)
	}
	outages := func() string {
		b.Helper()
		o := must(b.st.Overview(b.ctx, "default"))(b)
		names := ""
		for _, i := range o.Incidents {
			names += i.Monitor[:1]
		}
		return fmt.Sprint(names, " ", o.MoreIncidents)
	}
	down("real", "web")
	must(b.st.SaveWindow(b.ctx, monitor.Window{Name: "deploy", Tags: []string{"planned"}, From: b.clock.Now(), To: b.clock.Now().Add(time.Hour)}))(b)
	for i := range rows + 5 {
		down(fmt.Sprint("planned", i), "planned")
	}
	want(b, "outages beside maintenance", outages(), "r"+strings.Repeat("p", rows-1)+" false")
	for i := range rows - 1 {
		down(fmt.Sprint("real", i), "web")
	}
	want(b, "as many as the list has", outages(), strings.Repeat("r", rows)+" false")
	down("real-last", "web")
	want(b, "more", outages(), strings.Repeat("r", rows)+" true")
}

func caseAnOverviewSaysThatMoreNeedsAttention(b *bench) {
	const rows = 20 // of each list
	names := make([]string, rows+1)
	for i := range names {
		names[i] = fmt.Sprint("t", i)
		b.task(names[i], func(t *task.Task) { t.Retry.MaxAttempts = 1 })
	}
	s := b.session(names...)
	said := func() string {
		b.Helper()
		o := must(b.st.Overview(b.ctx, "default"))(b)
		return fmt.Sprint(len(o.Failing), " ", o.MoreFailing, ", ", len(o.Late), " ", o.MoreLate)
	}
	fail := func(name string) {
		b.Helper()
		b.enqueue(job.NewJob{Task: name})
		b.finish(s, b.claim(s, 1).Jobs[0], job.OutcomeError)
	}
	for i, name := range names {
		if i == rows {
			want(b, "as many failing tasks as the list has", said(), "20 false, 0 false")
		}
		fail(name)
	}
	want(b, "more failing tasks", said(), "20 true, 0 false")
	for i, name := range names {
		if i == rows {
			b.clock.Move(2 * time.Hour)
			want(b, "as many late schedules as the list has", said(), "20 true, 20 false")
		}
		b.schedule(name, name, every(time.Hour))
	}
	b.clock.Move(2 * time.Hour)
	want(b, "more late schedules", said(), "20 true, 20 true")
}

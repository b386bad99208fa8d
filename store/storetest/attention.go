package storetest

import (
	"fmt"
	"time"

	"github.com/belfry-run/belfry/core"
	"github.com/belfry-run/belfry/job"
	"github.com/belfry-run/belfry/schedule"
	"github.com/belfry-run/belfry/task"
	"github.com/belfry-run/belfry/view"
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

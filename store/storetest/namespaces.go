package storetest

import (
	"strings"
	"time"

	"github.com/belfry-run/belfry/access"
	"github.com/belfry-run/belfry/core"
	"github.com/belfry-run/belfry/job"
	"github.com/belfry-run/belfry/monitor"
	"github.com/belfry-run/belfry/schedule"
	"github.com/belfry-run/belfry/task"
	"github.com/belfry-run/belfry/view"
)

func init() {
	add("namespaces are listed with their contents", caseNamespacesAreListedByWhatTheyHold)
	add("a namespace uses the queues and priorities that it may use, by whatever way", caseANamespaceUsesTheQueuesAndPrioritiesThatIt)
	add("limits of a namespace that leave out one of its tasks are refused, and can be taken back", caseLimitsOfANamespaceThatLeaveOutOneOf)
}

// The names are those of existing objects, each once, with limits or without.
func caseNamespacesAreListedByWhatTheyHold(b *bench) {
	for _, t := range []task.Task{{Namespace: "c", Name: "one"}, {Namespace: "a", Name: "one"}, {Namespace: "a", Name: "two"}, {Name: "one"}} {
		t.Kind = task.KindFunc
		must(b.st.CreateTask(b.ctx, t))(b)
	}
	must(b.st.CreateMonitor(b.ctx, monitor.Monitor{Namespace: "b", Name: "beat", Heartbeat: &monitor.Heartbeat{}, Every: core.Duration(time.Hour)}))(b)
	must(b.st.SaveNamespace(b.ctx, access.Namespace{Name: "empty", Queues: []string{"default"}}))(b)
	var names []string
	for _, n := range must(b.st.AllNamespaces(b.ctx))(b) {
		names = append(names, n.Name)
	}
	want(b, "names", strings.Join(names, " "), "a b c default empty")
}

func caseANamespaceUsesTheQueuesAndPrioritiesThatIt(b *bench) {
	const queueSays, prioritySays = `is not allowed in namespace "a"`, `must be at most 5 in namespace "a"`
	must(b.st.SaveQueue(b.ctx, job.Queue{Name: "render"}))(b)
	must(b.st.SaveQueue(b.ctx, job.Queue{Name: "other"}))(b)
	most, high := 5, 6
	t := func(name, queue string, priority int) task.Task {
		return task.Task{Namespace: "a", Name: name, Kind: task.KindFunc, Queue: queue, Priority: priority}
	}
	m := func(name, queue string, priority int) monitor.Monitor {
		return monitor.Monitor{Namespace: "a", Name: name, Check: task.Task{Kind: task.KindHTTP, HTTP: &task.HTTP{URL: "https://example.com"}, Queue: queue, Priority: priority}}
	}
	must(b.st.CreateTask(b.ctx, t("t", "render", 5)))(b)
	must(b.st.CreateMonitor(b.ctx, m("m", "", 0)))(b)
	old := must(b.st.Enqueue(b.ctx, []job.NewJob{{Namespace: "a", Task: "t", Queue: "other", Priority: &high}}))(b)[0].Job
	must(b.st.CancelJobs(b.ctx, "a", view.Selection{IDs: []int64{old.ID}}))(b)
	saved := must(b.st.SaveNamespace(b.ctx, access.Namespace{Name: "a", Queues: []string{"render", "render"}, MaxPriority: &most}))(b)
	want(b, "queues", len(saved.Queues), 1)
	want(b, "another namespace has limits", must(b.st.Namespace(b.ctx, "b"))(b).Limited(), false)
	want(b, "with limits", len(must(b.st.Namespaces(b.ctx))(b)), 1)

	refused := func(says string, queue string, priority int) {
		b.Helper()
		_, err := b.st.CreateTask(b.ctx, t("new", queue, priority))
		wantCode(b, err, core.Invalid, says)
		_, err = b.st.UpdateTask(b.ctx, t("t", queue, priority))
		wantCode(b, err, core.Invalid, says)
		_, err = b.st.Enqueue(b.ctx, []job.NewJob{{Namespace: "a", Task: "t"}, {Namespace: "a", Task: "t", Queue: queue, Priority: &priority}})
		wantCode(b, err, core.Invalid, says)
		_, err = b.st.Enqueue(b.ctx, []job.NewJob{{Namespace: "a", Task: task.CanaryTask, Kind: task.KindFunc, Queue: queue, Priority: &priority}})
		wantCode(b, err, core.Invalid, says)
		_, err = b.st.CreateMonitor(b.ctx, m("new", queue, priority))
		wantCode(b, err, core.Invalid, says)
		_, err = b.st.UpdateMonitor(b.ctx, m("m", queue, priority))
		wantCode(b, err, core.Invalid, says)
		for _, dry := range []bool{false, true} {
			_, err = b.st.Apply(b.ctx, view.Manifest{Tasks: []task.Task{t("new", queue, priority)}}, view.ApplyOptions{Namespace: "a", DryRun: dry})
			wantCode(b, err, core.Invalid, says)
			_, err = b.st.Apply(b.ctx, view.Manifest{Monitors: []monitor.Monitor{m("new", queue, priority)}}, view.ApplyOptions{Namespace: "a", DryRun: dry})
			wantCode(b, err, core.Invalid, says)
		}
	}
	refused(queueSays, "other", 0)
	refused(prioritySays, "render", high)
	_, err := b.st.Enqueue(b.ctx, []job.NewJob{{Namespace: "a", Task: "implied", Kind: task.KindFunc}})
	wantCode(b, err, core.Invalid, queueSays) // the default queue belongs to no namespace
	wantCode(b, b.st.EnsureFuncs(b.ctx, "a", []string{"registered"}), core.Invalid, queueSays)

	must(b.st.Enqueue(b.ctx, []job.NewJob{{Namespace: "a", Task: "t"}, {Namespace: "a", Task: "t", Queue: "render", Priority: &most}}))(b)
	again := must(b.st.RunJobAgain(b.ctx, "a", old.ID, job.RunAgain{}))(b).Job
	want(b, "queue of the job that runs again", again.Queue, "render")
	want(b, "priority of the job", again.Priority, 5)
	must(b.st.CreateTask(b.ctx, task.Task{Namespace: "b", Name: "t", Kind: task.KindFunc, Queue: "other", Priority: high}))(b)
	must(b.st.UpdateMonitor(b.ctx, m("m", "", 5)))(b)
}

func caseLimitsOfANamespaceThatLeaveOutOneOf(b *bench) {
	must(b.st.SaveQueue(b.ctx, job.Queue{Name: "render"}))(b)
	must(b.st.CreateTask(b.ctx, task.Task{Namespace: "a", Name: "t", Kind: task.KindFunc, Queue: "render", Priority: 7}))(b)
	must(b.st.CreateTask(b.ctx, task.Task{Namespace: "a", Name: "u", Kind: task.KindFunc, Queue: "render"}))(b)
	must(b.st.CreateSchedule(b.ctx, schedule.Schedule{Namespace: "a", Name: "s", Task: "t", Rules: []schedule.Rule{{Every: core.Duration(time.Hour)}}}))(b)
	save := func(most int, queues ...string) error {
		_, err := b.st.SaveNamespace(b.ctx, access.Namespace{Name: "a", Queues: queues, MaxPriority: &most})
		return err
	}
	wantCode(b, save(7, "default"), core.Conflict, `task "t" uses queue "render"`)
	wantCode(b, save(6, "render"), core.Conflict, `task "t" has the priority 7`)
	wantCode(b, save(7, "nowhere"), core.Invalid, "is not a queue")
	wantCode(b, save(7, task.ChecksQueue), core.Invalid, "is reserved")
	wantCode(b, save(1001), core.Invalid, "is outside")
	must(b.st.UpdateTask(b.ctx, task.Task{Namespace: "a", Name: "t", Kind: task.KindFunc, Queue: "render", Priority: -2}))(b)
	wantCode(b, save(-1, "render"), core.Conflict, `task "u" has the priority 0`)
	if err := save(0, "render"); err != nil {
		b.Fatal(err)
	}
	must(b.st.SaveNamespace(b.ctx, access.Namespace{Name: "a"}))(b)
	want(b, "with limits", len(must(b.st.Namespaces(b.ctx))(b)), 0)
	want(b, "changes in the audit", len(must(b.st.Audit(b.ctx, access.AuditFilter{Namespace: "a", Noun: "namespace"}))(b).Items), 2)
}

package storetest

import (
	"time"

	"github.com/belfry-run/belfry"
)

func init() {
	add("a namespace uses the queues and priorities that it may use, by whatever way", func(b *bench) {
		const queueSays, prioritySays = `is not allowed in namespace "a"`, `must be at most 5 in namespace "a"`
		must(b.st.SaveQueue(b.ctx, belfry.Queue{Name: "render"}))(b)
		must(b.st.SaveQueue(b.ctx, belfry.Queue{Name: "other"}))(b)
		most, high := 5, 6
		task := func(name, queue string, priority int) belfry.Task {
			return belfry.Task{Namespace: "a", Name: name, Kind: belfry.KindFunc, Queue: queue, Priority: priority}
		}
		monitor := func(name, queue string, priority int) belfry.Monitor {
			return belfry.Monitor{Namespace: "a", Name: name, Check: belfry.Task{Kind: belfry.KindHTTP, HTTP: &belfry.HTTP{URL: "https://example.com"}, Queue: queue, Priority: priority}}
		}
		must(b.st.CreateTask(b.ctx, task("t", "render", 5)))(b)
		must(b.st.CreateMonitor(b.ctx, monitor("m", "", 0)))(b)
		old := must(b.st.Enqueue(b.ctx, []belfry.NewJob{{Namespace: "a", Task: "t", Queue: "other", Priority: &high}}))(b)[0].Job
		must(b.st.CancelJobs(b.ctx, "a", belfry.Selection{IDs: []int64{old.ID}}))(b)
		saved := must(b.st.SaveNamespace(b.ctx, belfry.Namespace{Name: "a", Queues: []string{"render", "render"}, MaxPriority: &most}))(b)
		want(b, "queues", len(saved.Queues), 1)
		want(b, "of another namespace", must(b.st.Namespace(b.ctx, "b"))(b).Limited(), false)
		want(b, "with limits", len(must(b.st.Namespaces(b.ctx))(b)), 1)

		refused := func(says string, queue string, priority int) {
			b.Helper()
			_, err := b.st.CreateTask(b.ctx, task("new", queue, priority))
			wantCode(b, err, belfry.Invalid, says)
			_, err = b.st.UpdateTask(b.ctx, task("t", queue, priority))
			wantCode(b, err, belfry.Invalid, says)
			_, err = b.st.Enqueue(b.ctx, []belfry.NewJob{{Namespace: "a", Task: "t"}, {Namespace: "a", Task: "t", Queue: queue, Priority: &priority}})
			wantCode(b, err, belfry.Invalid, says)
			_, err = b.st.Enqueue(b.ctx, []belfry.NewJob{{Namespace: "a", Task: belfry.CanaryTask, Kind: belfry.KindFunc, Queue: queue, Priority: &priority}})
			wantCode(b, err, belfry.Invalid, says)
			_, err = b.st.CreateMonitor(b.ctx, monitor("new", queue, priority))
			wantCode(b, err, belfry.Invalid, says)
			_, err = b.st.UpdateMonitor(b.ctx, monitor("m", queue, priority))
			wantCode(b, err, belfry.Invalid, says)
			for _, dry := range []bool{false, true} {
				_, err = b.st.Apply(b.ctx, belfry.Manifest{Tasks: []belfry.Task{task("new", queue, priority)}}, belfry.ApplyOptions{Namespace: "a", DryRun: dry})
				wantCode(b, err, belfry.Invalid, says)
				_, err = b.st.Apply(b.ctx, belfry.Manifest{Monitors: []belfry.Monitor{monitor("new", queue, priority)}}, belfry.ApplyOptions{Namespace: "a", DryRun: dry})
				wantCode(b, err, belfry.Invalid, says)
			}
		}
		refused(queueSays, "other", 0)
		refused(prioritySays, "render", high)
		_, err := b.st.Enqueue(b.ctx, []belfry.NewJob{{Namespace: "a", Task: "implied", Kind: belfry.KindFunc}})
		wantCode(b, err, belfry.Invalid, queueSays) // the default queue is none of its own
		wantCode(b, b.st.EnsureFuncs(b.ctx, "a", []string{"registered"}), belfry.Invalid, queueSays)

		must(b.st.Enqueue(b.ctx, []belfry.NewJob{{Namespace: "a", Task: "t"}, {Namespace: "a", Task: "t", Queue: "render", Priority: &most}}))(b)
		again := must(b.st.RerunJob(b.ctx, "a", old.ID, belfry.Rerun{}))(b).Job
		want(b, "queue of the job that runs again", again.Queue, "render")
		want(b, "its priority", again.Priority, 5)
		must(b.st.CreateTask(b.ctx, belfry.Task{Namespace: "b", Name: "t", Kind: belfry.KindFunc, Queue: "other", Priority: high}))(b)
		must(b.st.UpdateMonitor(b.ctx, monitor("m", "", 5)))(b)
	})

	add("limits of a namespace that leave out one of its tasks are refused, and can be taken back", func(b *bench) {
		must(b.st.SaveQueue(b.ctx, belfry.Queue{Name: "render"}))(b)
		must(b.st.CreateTask(b.ctx, belfry.Task{Namespace: "a", Name: "t", Kind: belfry.KindFunc, Queue: "render", Priority: 7}))(b)
		must(b.st.CreateTask(b.ctx, belfry.Task{Namespace: "a", Name: "u", Kind: belfry.KindFunc, Queue: "render"}))(b)
		must(b.st.CreateSchedule(b.ctx, belfry.Schedule{Namespace: "a", Name: "s", Task: "t", Rules: []belfry.Rule{{Every: belfry.Duration(time.Hour)}}}))(b)
		save := func(most int, queues ...string) error {
			_, err := b.st.SaveNamespace(b.ctx, belfry.Namespace{Name: "a", Queues: queues, MaxPriority: &most})
			return err
		}
		wantCode(b, save(7, "default"), belfry.Conflict, `task "t" uses queue "render"`)
		wantCode(b, save(6, "render"), belfry.Conflict, `task "t" has the priority 7`)
		wantCode(b, save(7, "nowhere"), belfry.Invalid, "is not a queue")
		wantCode(b, save(7, belfry.ChecksQueue), belfry.Invalid, "is reserved")
		wantCode(b, save(1001), belfry.Invalid, "is outside")
		must(b.st.UpdateTask(b.ctx, belfry.Task{Namespace: "a", Name: "t", Kind: belfry.KindFunc, Queue: "render", Priority: -2}))(b)
		wantCode(b, save(-1, "render"), belfry.Conflict, `task "u" has the priority 0`)
		if err := save(0, "render"); err != nil {
			b.Fatal(err)
		}
		must(b.st.SaveNamespace(b.ctx, belfry.Namespace{Name: "a"}))(b)
		want(b, "with limits", len(must(b.st.Namespaces(b.ctx))(b)), 0)
		want(b, "changes in the audit", len(must(b.st.Audit(b.ctx, belfry.AuditFilter{Namespace: "a", Noun: "namespace"}))(b).Items), 2)
	})
}

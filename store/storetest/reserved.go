package storetest

import (
	"time"

	"github.com/belfry-run/belfry/core"
	"github.com/belfry-run/belfry/job"
	"github.com/belfry-run/belfry/monitor"
	"github.com/belfry-run/belfry/schedule"
	"github.com/belfry-run/belfry/task"
	"github.com/belfry-run/belfry/view"
)

func init() {
	add("queues of Belfry's own take no other task and no other job, by whatever way", caseQueuesOfBelfrysOwnTakeNoOtherTaskAnd)
}

func caseQueuesOfBelfrysOwnTakeNoOtherTaskAnd(b *bench) {
	const says = "is reserved"
	t := func(name, queue string) task.Task {
		return task.Task{Name: name, Kind: task.KindFunc, Queue: queue}
	}
	must(b.st.CreateTask(b.ctx, t("t", "")))(b)
	must(b.st.CreateSchedule(b.ctx, schedule.Schedule{Name: "s", Task: "t", Rules: []schedule.Rule{{Every: core.Duration(time.Hour)}}}))(b)
	for _, queue := range []string{task.ChecksQueue, job.SystemQueue} {
		_, err := b.st.CreateTask(b.ctx, t("new", queue))
		wantCode(b, err, core.Invalid, says, queue)
		_, err = b.st.UpdateTask(b.ctx, t("t", queue))
		wantCode(b, err, core.Invalid, says, queue)
		_, err = b.st.Enqueue(b.ctx, []job.NewJob{{Task: "t"}, {Task: "t", Queue: queue}})
		wantCode(b, err, core.Invalid, says, queue)
		_, err = b.st.Enqueue(b.ctx, []job.NewJob{{Task: "implied", Kind: task.KindFunc, Queue: queue}})
		wantCode(b, err, core.Invalid, says, queue)
		_, err = b.st.Apply(b.ctx, view.Manifest{Tasks: []task.Task{t("applied", queue)}}, view.ApplyOptions{})
		wantCode(b, err, core.Invalid, says)
		must(b.st.Enqueue(b.ctx, []job.NewJob{{Task: task.CanaryTask, Kind: task.KindFunc, Queue: queue}}))(b)
	}
	_, err := b.st.UpdateTask(b.ctx, task.Task{Name: task.CanaryTask, Kind: task.KindHTTP, HTTP: &task.HTTP{URL: "https://example.com"}})
	wantCode(b, err, core.Invalid, says)
	want(b, "jobs that were made", len(must(b.st.Jobs(b.ctx, job.Filter{Task: "t"}))(b).Items), 0)
	must(b.st.CreateMonitor(b.ctx, monitor.Monitor{Name: "m", Check: task.Task{Kind: task.KindHTTP, HTTP: &task.HTTP{URL: "https://example.com"}}}))(b)
}

package storetest

import (
	"time"

	"github.com/belfry-run/belfry"
)

func init() {
	add("queues of Belfry's own take no other task and no other job, by whatever way", func(b *bench) {
		const says = "is reserved"
		task := func(name, queue string) belfry.Task {
			return belfry.Task{Name: name, Kind: belfry.KindFunc, Queue: queue}
		}
		must(b.st.CreateTask(b.ctx, task("t", "")))(b)
		must(b.st.CreateSchedule(b.ctx, belfry.Schedule{Name: "s", Task: "t", Rules: []belfry.Rule{{Every: belfry.Duration(time.Hour)}}}))(b)
		for _, queue := range []string{belfry.ChecksQueue, belfry.SystemQueue} {
			_, err := b.st.CreateTask(b.ctx, task("new", queue))
			wantCode(b, err, belfry.Invalid, says, queue)
			_, err = b.st.UpdateTask(b.ctx, task("t", queue))
			wantCode(b, err, belfry.Invalid, says, queue)
			_, err = b.st.Enqueue(b.ctx, []belfry.NewJob{{Task: "t"}, {Task: "t", Queue: queue}})
			wantCode(b, err, belfry.Invalid, says, queue)
			_, err = b.st.Enqueue(b.ctx, []belfry.NewJob{{Task: "implied", Kind: belfry.KindFunc, Queue: queue}})
			wantCode(b, err, belfry.Invalid, says, queue)
			_, err = b.st.Apply(b.ctx, belfry.Manifest{Tasks: []belfry.Task{task("applied", queue)}}, belfry.ApplyOptions{})
			wantCode(b, err, belfry.Invalid, says)
			must(b.st.Enqueue(b.ctx, []belfry.NewJob{{Task: belfry.CanaryTask, Kind: belfry.KindFunc, Queue: queue}}))(b)
		}
		_, err := b.st.UpdateTask(b.ctx, belfry.Task{Name: belfry.CanaryTask, Kind: belfry.KindHTTP, HTTP: &belfry.HTTP{URL: "https://example.com"}})
		wantCode(b, err, belfry.Invalid, says)
		want(b, "jobs that were made", len(must(b.st.Jobs(b.ctx, belfry.JobFilter{Task: "t"}))(b).Items), 0)
		must(b.st.CreateMonitor(b.ctx, belfry.Monitor{Name: "m", Check: belfry.Task{Kind: belfry.KindHTTP, HTTP: &belfry.HTTP{URL: "https://example.com"}}}))(b)
	})
}

package storetest

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/belfry-run/belfry/core"
	"github.com/belfry-run/belfry/job"
	"github.com/belfry-run/belfry/store"
	"github.com/belfry-run/belfry/task"
)

func init() {
	add("a sample of queues counts what waits and runs, by namespace, and the oldest of all priorities", caseASampleOfQueues)
	add("samples of queues fold into steps and hours, with a gap where none was taken", caseSamplesFold)
	add("samples of queues count up to a limit, and say that there is more", caseSamplesCountUpToALimit)
	add("samples of queues are pruned, minutes before hours", caseSamplesArePruned)
	addNodes("nodes that sample queues at once keep one sample of a minute", caseNodesSampleOnce)
}

// sampled returns samples of queues as text: start, ready, oldest, running.
func sampled(b *bench, q job.SampleQuery) (text string) {
	b.Helper()
	for _, item := range must(b.st.QueueSamples(b.ctx, q))(b).Items {
		text += item.Queue + ":"
		for _, p := range item.Points {
			more := ""
			if p.More {
				more = "+"
			}
			text += fmt.Sprintf(" %s %d%s %s %d;", p.At.Format("15:04"), p.Ready, more, p.Oldest, p.Running)
		}
		text += "\n"
	}
	return text
}

func takeSample(b *bench) {
	b.Helper()
	must(b.st.SampleQueues(b.ctx))(b)
}

func caseASampleOfQueues(b *bench) {
	must(b.st.SaveQueue(b.ctx, job.Queue{Name: "slow"}))(b)
	must(b.st.SaveQueue(b.ctx, job.Queue{Name: "idle"}))(b)
	b.task("t")
	b.task("u", func(t *task.Task) { t.Namespace, t.Queue = "other", "slow" })
	b.task("s", func(t *task.Task) { t.Queue = "slow" })
	low := -5
	b.enqueue(job.NewJob{Task: "t", Priority: &low}) // the oldest job, after all others
	b.clock.Move(10 * time.Second)
	for range 5 {
		b.enqueue(job.NewJob{Task: "t"})
	}
	b.enqueue(job.NewJob{Task: "s"})
	b.clock.Move(5 * time.Second)
	for range 3 {
		b.enqueue(job.NewJob{Namespace: "other", Task: "u"})
	}
	b.enqueue(job.NewJob{Task: "t", DueAt: b.clock.Now().Add(time.Hour)}) // scheduled, so it does not wait for a worker
	s := b.session("t")
	want(b, "claimed", len(b.claim(s, 2).Jobs), 2)
	b.clock.Move(25 * time.Second)
	takeSample(b)
	b.clock.Move(5 * time.Second)
	b.enqueue(job.NewJob{Task: "t"})
	takeSample(b) // in the same minute
	want(b, "together", sampled(b, job.SampleQuery{Namespace: core.AnyNamespace}), "default: 12:00 4 40s 2;\nslow: 12:00 4 30s 0;\n")
	want(b, "samples of namespace default", sampled(b, job.SampleQuery{}), "default: 12:00 4 40s 2;\nslow: 12:00 1 30s 0;\n")
	want(b, "samples of namespace other", sampled(b, job.SampleQuery{Namespace: "other"}), "slow: 12:00 3 25s 0;\n")
	want(b, "samples of namespace nobody", sampled(b, job.SampleQuery{Namespace: "nobody", Queues: []string{"slow", "idle"}}), "idle: 12:00 0 0s 0;\nslow: 12:00 0 0s 0;\n")
	want(b, "rows of a queue in which nothing is", b.count(`select count(*) from belfry.queue_samples where queue = 'idle'`), 0)
	stats := must(b.st.Queue(b.ctx, "default"))(b)
	want(b, "ready, as the queue says", stats.Ready, 5)
	_, err := b.st.QueueSamples(b.ctx, job.SampleQuery{Within: 1000 * time.Hour})
	wantCode(b, err, core.Invalid, "within")
	for _, step := range []time.Duration{time.Second, 90 * time.Second, 90 * time.Minute} {
		_, err = b.st.QueueSamples(b.ctx, job.SampleQuery{Step: step})
		wantCode(b, err, core.Invalid, "step")
	}
	_, err = b.st.QueueSamples(b.ctx, job.SampleQuery{Within: 72 * time.Hour, Step: 10 * time.Minute})
	wantCode(b, err, core.Invalid, "48 hours")
}

func caseSamplesFold(b *bench) {
	b.task("t")
	for i := range 90 { // waiting jobs: 1, 2, ... 90
		b.enqueue(job.NewJob{Task: "t"})
		if i < 20 || i >= 30 {
			takeSample(b)
		}
		b.clock.Move(time.Minute)
	}
	q := job.SampleQuery{Queues: []string{task.DefaultQueue}, Within: 2 * time.Hour}
	minutes := must(b.st.QueueSamples(b.ctx, q))(b).Items[0].Points
	want(b, "minutes", len(minutes), 80)
	for _, p := range minutes {
		n := int64(p.At.Sub(Epoch)/time.Minute) + 1
		want(b, p.At.String(), p, job.QueueSample{At: p.At, Ready: n, Oldest: core.Duration(p.At.Sub(Epoch))})
	}
	q.Step = 30 * time.Minute
	want(b, "half hours", sampled(b, q), "default: 12:00 20 19m 0; 12:30 60 59m 0; 13:00 90 1h29m 0;\n")
	q.Step = time.Hour
	want(b, "hours", sampled(b, q), "default: 12:00 60 59m 0; 13:00 90 1h29m 0;\n")
	b.clock.Move(-3 * time.Hour)
	want(b, "by a clock that was set back", sampled(b, job.SampleQuery{Queues: []string{task.DefaultQueue}}), "default:\n")
}

func caseSamplesCountUpToALimit(b *bench) {
	b.task("t")
	for range 11 {
		must(b.st.Enqueue(b.ctx, slices.Repeat([]job.NewJob{{Task: "t"}}, 910)))(b)
	}
	takeSample(b)
	b.clock.Move(time.Minute)
	s := b.session("t")
	for range 3 {
		want(b, "claimed", len(b.claim(s, 4).Jobs), 4)
	}
	takeSample(b)
	text := sampled(b, job.SampleQuery{})
	want(b, "over the limit", text, "default: 12:00 10000+ 0s 0; 12:01 9998 1m 12;\n")
}

func caseSamplesArePruned(b *bench) {
	b.task("t")
	b.enqueue(job.NewJob{Task: "t"})
	takeSample(b)
	rows := func() int64 {
		return b.count(`select count(*) from belfry.queue_samples`)*100 + b.count(`select count(*) from belfry.sampled`)
	}
	prune := func() {
		b.Helper()
		for must(b.st.Prune(b.ctx))(b) {
		}
	}
	want(b, "by minute and hour, of the namespace and together", rows(), 402)
	b.clock.Move(job.KeepSamples - time.Minute)
	prune()
	want(b, "kept for two days", rows(), 402)
	b.clock.Move(2 * time.Minute)
	prune()
	want(b, "hours only", rows(), 201)
	b.clock.Move(job.KeepSampleHours - job.KeepSamples)
	prune()
	want(b, "after 35 days", rows(), 0)
}

func caseNodesSampleOnce(b *bench, nodes []*store.Store) {
	b.task("t")
	var wanted strings.Builder
	wanted.WriteString("default:")
	for i := range 5 {
		b.enqueue(job.NewJob{Task: "t"})
		b.crowd(nodes, 3, func(ctx context.Context, st *store.Store, _ int) error {
			_, err := st.SampleQueues(ctx)
			return err
		})
		fmt.Fprintf(&wanted, " 12:%02d %d %s 0;", i, i+1, core.Duration(time.Duration(i)*time.Minute))
		b.clock.Move(time.Minute)
	}
	want(b, "samples", sampled(b, job.SampleQuery{}), wanted.String()+"\n")
	want(b, "minutes", b.count(`select count(*) from belfry.sampled where span = 60`), 5)
	// Between a node's count and its write another node takes the sample: the late write changes nothing.
	late := store.New(racingDatabase{b.st.DB(), func() {
		must(b.st.SampleQueues(b.ctx))(b)
		b.sql(`update belfry.queue_samples set ready = 0 where at = (select max(at) from belfry.queue_samples where span = 60) and span = 60`)
	}}, store.Options{Clock: b.clock.Now, Monotonic: b.clock.Mono})
	must(late.SampleQueues(b.ctx))(b)
	want(b, "samples of the first node", sampled(b, job.SampleQuery{}), wanted.String()+" 12:05 0 5m 0;\n")
}

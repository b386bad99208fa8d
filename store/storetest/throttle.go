package storetest

import (
	"context"
	"encoding/json"
	"fmt"
	"sync/atomic"
	"time"

	"github.com/belfry-run/belfry/core"
	"github.com/belfry-run/belfry/flow"
	"github.com/belfry-run/belfry/job"
	"github.com/belfry-run/belfry/store"
	"github.com/belfry-run/belfry/task"
)

func init() {
	add("a throttled task makes one job of a key in a window, which answers for the others", throttleWindow)
	add("a throttle and the keys of requests answer the same job, and a refused one takes no window", throttleAndKeys)
	add("windows of throttles are forgotten a little after their end", throttleForgotten)
	add("throttles that cannot be are refused by their field", throttlesThatCannotBe)
	addNodes("nodes that enqueue for a throttled task at the same moment make one job of a key", throttleOverNodes)
}

func throttled(key string, window time.Duration) func(*task.Task) {
	return func(t *task.Task) { t.Throttle = &flow.Throttle{Key: key, Window: core.Duration(window)} }
}

func askedBy(name string) job.NewJob {
	return job.NewJob{Task: "t", Input: json.RawMessage(fmt.Sprintf(`{"customer":%q}`, name))}
}

func throttleWindow(b *bench) {
	b.task("t", throttled("input.customer", time.Minute))
	b.task("u", throttled("input.customer", time.Minute))
	s := b.session("t")
	first := b.ask(askedBy("a"))
	want(b, "first request", fmt.Sprint(first.Existing, first.Reason), "false")
	again := b.ask(askedBy("a"))
	want(b, "later request", fmt.Sprint(again.Existing, again.Job.ID, again.Reason), fmt.Sprint(true, first.Job.ID, "throttled"))
	want(b, "another key", b.ask(askedBy("b")).Existing, false)
	other := askedBy("a")
	other.Task = "u"
	want(b, "another task", b.ask(other).Existing, false)
	want(b, "counted", b.tally.of("throttled default"), 1)

	// The window is that of the first request, whatever happens to its job, and later requests do not move it.
	leased := b.claim(s, 1)
	b.finish(s, leased.Jobs[0], job.OutcomeOK)
	b.clock.Move(59 * time.Second)
	again = b.ask(askedBy("a"))
	want(b, "request after the job's end", fmt.Sprint(again.Job.ID, again.Job.State, again.Reason), fmt.Sprint(first.Job.ID, job.Succeeded, "throttled"))
	b.clock.Move(time.Second)
	next := b.ask(askedBy("a"))
	want(b, "after the window", next.Existing, false)

	// In a batch, the first request of a key counts.
	b.clock.Move(time.Minute)
	out := must(b.st.Enqueue(b.ctx, []job.NewJob{askedBy("a"), askedBy("b"), askedBy("a"), askedBy("")}))(b)
	want(b, "answers to a batch", fmt.Sprint(out[0].Existing, out[1].Existing, out[2].Existing, out[3].Existing), "false false true false")
	want(b, "job of the throttled request", out[2].Job.ID, out[0].Job.ID)
	want(b, "windows of jobs without throttle", b.count(`select count(*) from belfry.job_keys where name not like '%throttle%'`), 0)
}

func throttleAndKeys(b *bench) {
	b.task("t", throttled("input.customer", time.Minute))
	first := b.ask(askedBy("a"))
	keyed := askedBy("a")
	keyed.Key = "k"
	for range 2 { // a repeated request gets the same answer
		want(b, "under a key", b.ask(keyed).Job.ID, first.Job.ID)
	}
	b.clock.Move(2 * time.Minute)
	want(b, "under the key, after the window", b.ask(keyed).Job.ID, first.Job.ID)

	// If an active key is held, its job stands in the window too.
	active := askedBy("c")
	active.ActiveKey = "x"
	held := b.ask(active)
	b.clock.Move(2 * time.Minute)
	want(b, "held", b.ask(active).Job.ID, held.Job.ID)
	want(b, "in the window of a job that was not made", b.ask(askedBy("c")).Job.ID, held.Job.ID)

	// The holder also answers the keys of requests for which the job that was not created would have stood.
	blocked, behind := askedBy("f"), askedBy("f")
	blocked.ActiveKey, behind.Key = "x", "behind"
	batch := must(b.st.Enqueue(b.ctx, []job.NewJob{blocked, behind}))(b)
	want(b, "jobs of throttled keys, at once and later", fmt.Sprint(batch[1].Job.ID, b.ask(behind).Job.ID), fmt.Sprint(held.Job.ID, held.Job.ID))

	// In a batch with a key twice, both requests get the job that was created before.
	two := askedBy("a")
	two.Key = "two"
	made := b.ask(askedBy("a"))
	out := must(b.st.Enqueue(b.ctx, []job.NewJob{two, two}))(b)
	want(b, "twice", fmt.Sprint(out[0].Job.ID, out[1].Job.ID), fmt.Sprint(made.Job.ID, made.Job.ID))

	bound(b, "narrow", 1, "")
	full := askedBy("d")
	full.Queue = "narrow"
	ok(b, askFor(b, 1, full))
	full.Input = askedBy("e").Input
	wantCode(b, askFor(b, 1, full), core.QueueFull)
	full.Queue = ""
	want(b, "after a refusal", b.ask(full).Existing, false)
}

func throttleForgotten(b *bench) {
	b.task("t", throttled("input.customer", time.Minute))
	b.ask(askedBy("a"))
	keys := func() int64 { return b.count(`select count(*) from belfry.job_keys`) }
	b.clock.Move(time.Minute)
	must(b.st.Prune(b.ctx))(b)
	want(b, "windows at their end, which a transaction of before may still look at", keys(), 1)
	b.clock.Move(10 * time.Second)
	must(b.st.Prune(b.ctx))(b)
	want(b, "windows that are over", keys(), 0)
}

func throttlesThatCannotBe(b *bench) {
	for field, t := range map[string]flow.Throttle{
		"throttle.window": {},
		"100ms to 31d":    {Window: 1},
		"31d":             {Window: flow.MaxThrottleWindow + 1},
		"throttle.key":    {Window: core.Duration(time.Minute), Key: "customer"},
	} {
		_, err := b.st.CreateTask(b.ctx, task.Task{Name: "t", Kind: task.KindFunc, Throttle: &t})
		wantCode(b, err, core.Invalid, field)
	}
}

func throttleOverNodes(b *bench, nodes []*store.Store) {
	b.task("t", throttled("input.customer", time.Hour))
	var made atomic.Int64
	b.crowd(nodes, 10, func(ctx context.Context, st *store.Store, i int) error {
		out, err := st.Enqueue(ctx, []job.NewJob{askedBy("a"), askedBy("b"), askedBy(fmt.Sprint(i % 3))})
		for _, e := range out {
			if !e.Existing {
				made.Add(1)
			}
		}
		return err
	})
	want(b, "jobs", b.count(`select count(*) from belfry.jobs`), 5)
	want(b, "made", made.Load(), 5)
}

package storetest

import (
	"context"
	"fmt"
	"math/rand/v2"
	"slices"
	"time"

	"github.com/belfry-run/belfry/access"
	"github.com/belfry-run/belfry/core"
	"github.com/belfry-run/belfry/flow"
	"github.com/belfry-run/belfry/job"
	"github.com/belfry-run/belfry/store"
	"github.com/belfry-run/belfry/task"
)

func init() {
	add("a limit of a queue holds for all of its tasks, and for no other queue", limitOfQueue)
	add("a limit of a namespace holds for all of its queues, and for no other namespace", limitOfNamespace)
	add("limits of a task, its queue and its namespace hold together", limitsOfAll)
	add("the first limits of a queue and of a namespace hold back what is ready, and without them all are let in", limitOfQueueFirst)
	add("a retry that waited while limits came or went is counted as they are then", limitOfQueueRetry)
	add("the engine's own jobs and checks of monitors are not held by a namespace", limitOfNamespaceExempt)
	add("limits of many queues and namespaces all hold", limitOfManyQueues)
	add("limits of queues and namespaces hold under random histories", limitOfQueueHistories)
	addNodes("limits of queues and namespaces are never exceeded by many nodes", limitOfQueueNodes)
}

func queueLimits(b *bench, name string, ls ...flow.Limit) {
	b.Helper()
	must(b.st.SaveQueue(b.ctx, job.Queue{Name: name, Limits: ls}))(b)
}

func namespaceLimits(b *bench, name string, ls ...flow.Limit) {
	b.Helper()
	must(b.st.SaveNamespace(b.ctx, access.Namespace{Name: name, Limits: ls}))(b)
}

func readyJobs(b *bench) int64 {
	b.Helper()
	return b.count(`select count(*) from belfry.jobs where state = 'ready'`)
}

// taskIn creates a task of a namespace with a queue.
func taskIn(b *bench, namespace, name, queue string, change ...func(*task.Task)) {
	b.Helper()
	b.task(name, append(change, func(t *task.Task) { t.Namespace, t.Queue = namespace, queue })...)
}

// sessionIn opens a session that runs every task of some queues.
func sessionIn(b *bench, queues ...string) job.Session {
	b.Helper()
	w := job.WorkerInfo{Name: "tester", Kinds: []task.Kind{task.KindFunc}, Funcs: []string{"a", "b", "c", "narrow", "wide", "else", "work", "third"}, Queues: map[string]int{}}
	for _, q := range queues {
		w.Queues[q] = 10
	}
	return must(b.st.OpenSession(b.ctx, w))(b)
}

func claimIn(b *bench, s job.Session, queue string, n int) job.Claim {
	b.Helper()
	return must(b.st.Claim(b.ctx, job.ClaimRequest{Session: s.ID, Want: map[string]int{queue: n}}))(b)
}

func limitOfQueue(b *bench) {
	queueLimits(b, "narrow", flow.Limit{Running: 3}, flow.Limit{Name: "each", Key: "input.customer", Running: 2})
	taskIn(b, "default", "a", "narrow")
	taskIn(b, "default", "b", "narrow")
	taskIn(b, "default", "c", "default")
	for range 4 {
		for _, name := range []string{"a", "b", "c"} {
			must(b.st.Enqueue(b.ctx, []job.NewJob{{Task: name, Input: []byte(`{"customer":"` + name + `"}`)}}))(b)
		}
	}
	in := func(queue string) int64 {
		return b.count(`select count(*) from belfry.jobs where state = 'ready' and queue = $1`, queue)
	}
	want(b, "ready in the queue with limits", in("narrow"), 3)
	want(b, "ready in the other", in("default"), 4)
	b.consistent()
	// A job names its own queue.
	must(b.st.Enqueue(b.ctx, []job.NewJob{{Task: "c", Queue: "narrow"}}))(b)
	want(b, "ready with one of another task", in("narrow"), 3)
	use := must(b.st.QueueLimitUse(b.ctx, "narrow"))(b)
	want(b, "limits", len(use), 2)
	want(b, "use of the limit", fmt.Sprint(use[0].Name, " ", use[0].Keys[0].Running, use[0].Keys[0].Waiting), "1 3 6")
	waiting := must(b.st.Jobs(b.ctx, job.Filter{States: []job.State{job.Waiting}, Paging: core.Paging{Limit: 1}}))(b).Items[0]
	why := must(b.st.Why(b.ctx, "default", waiting.ID))(b)
	want(b, "why names the queue", slices.ContainsFunc(why.Checks, func(c core.Check) bool {
		return c.Name == "limit 1 of queue narrow has room" && !c.OK && c.Detail != ""
	}), true)
	left := 0
	s := sessionIn(b, "narrow", "default")
	for c := claimIn(b, s, "narrow", 10); len(c.Jobs) > 0; c = claimIn(b, s, "narrow", 10) {
		for _, j := range c.Jobs {
			b.finish(s, j, job.OutcomeOK)
			left++
			if n := in("narrow"); n > 3 {
				b.Fatalf("ready jobs of the queue: got %d, want at most 3", n)
			}
			b.consistent()
		}
	}
	want(b, "ran", left, 9)
	_, err := b.st.SaveQueue(b.ctx, job.Queue{Name: "system", Limits: []flow.Limit{{Running: 1}}})
	wantCode(b, err, core.Invalid, "limits")
	_, err = b.st.SaveQueue(b.ctx, job.Queue{Name: "narrow", Limits: []flow.Limit{{Running: 0}}})
	wantCode(b, err, core.Invalid, "limits[0].running")
}

func limitOfNamespace(b *bench) {
	queueLimits(b, "other")
	namespaceLimits(b, "team", flow.Limit{Running: 2})
	taskIn(b, "team", "a", "default")
	taskIn(b, "team", "b", "other")
	taskIn(b, "default", "c", "default")
	for range 3 {
		must(b.st.Enqueue(b.ctx, []job.NewJob{{Namespace: "team", Task: "a"}, {Namespace: "team", Task: "b"}, {Task: "c"}}))(b)
	}
	want(b, "ready of the namespace", b.count(`select count(*) from belfry.jobs where state = 'ready' and namespace = 'team'`), 2)
	want(b, "ready of another", b.count(`select count(*) from belfry.jobs where state = 'ready' and namespace = 'default'`), 3)
	b.consistent()
	use := must(b.st.NamespaceLimitUse(b.ctx, "team"))(b)
	want(b, "use of the limit", fmt.Sprint(use[0].Keys[0].Running, use[0].Keys[0].Waiting), "2 4")
	namespaceLimits(b, "team")
	b.promote()
	want(b, "ready without it", readyJobs(b), 9)
	b.consistent()
}

func limitsOfAll(b *bench) {
	queueLimits(b, "q", flow.Limit{Running: 4})
	namespaceLimits(b, "default", flow.Limit{Running: 5})
	taskIn(b, "default", "narrow", "q", limited(flow.Limit{Running: 1}))
	taskIn(b, "default", "wide", "q")
	taskIn(b, "default", "else", "default")
	for range 6 {
		must(b.st.Enqueue(b.ctx, []job.NewJob{{Task: "narrow"}, {Task: "wide"}, {Task: "else"}}))(b)
	}
	of := func(where string) int64 {
		return b.count(`select count(*) from belfry.jobs where state = 'ready'` + where)
	}
	want(b, "all", of(``), 5)
	s := sessionIn(b, "q", "default")
	left := 0
	for range 100 {
		c := must(b.st.Claim(b.ctx, job.ClaimRequest{Session: s.ID, Want: map[string]int{"q": 2, "default": 1}}))(b)
		for _, j := range c.Jobs {
			b.finish(s, j, job.OutcomeOK)
			left++
			if all, q, narrow := of(``), of(` and queue = 'q'`), of(` and task = 'narrow'`); all > 5 || q > 4 || narrow > 1 {
				b.Fatalf("ready jobs: got %d of the namespace, %d of the queue, %d of the task; want at most 5, 4 and 1", all, q, narrow)
			}
			b.consistent()
		}
		b.promote()
		b.clock.Move(30 * time.Millisecond)
	}
	want(b, "ran", left, 18)
}

func limitOfQueueFirst(b *bench) {
	for _, set := range []func(ls ...flow.Limit){
		func(ls ...flow.Limit) { queueLimits(b, "default", ls...) },
		func(ls ...flow.Limit) { namespaceLimits(b, "default", ls...) },
	} {
		b.task("work")
		for range 10 {
			b.enqueue(customer("a"))
		}
		s := b.session("work")
		running := b.claim(s, 3)
		set(flow.Limit{Running: 2})
		b.promote()
		want(b, "claimed under the first limit", len(b.claim(s, 100).Jobs), 2)
		b.consistent()
		for _, j := range running.Jobs {
			b.finish(s, j, job.OutcomeOK)
		}
		want(b, "claimed after those from before it", len(b.claim(s, 100).Jobs), 0)
		set()
		b.promote()
		want(b, "claimed without it", len(b.claim(s, 100).Jobs), 5)
		b.consistent()
		b.clock.Move(lost)
		b.release()
		ok(b, b.st.DeleteTask(b.ctx, "default", "work"))
	}
}

func limitOfQueueRetry(b *bench) {
	b.task("work", func(t *task.Task) { t.Retry.MaxAttempts = 9; t.Retry.Delay = core.Duration(time.Minute) })
	s := b.session("work")
	fail := func() {
		b.Helper()
		c := b.claim(s, 10)
		want(b, "claimed", len(c.Jobs), 1)
		b.finish(s, c.Jobs[0], job.OutcomeError)
		b.consistent()
	}
	later := func() {
		b.clock.Move(time.Hour)
		b.renew(s)
		b.promote()
		b.consistent()
	}
	b.enqueue(customer("a"))
	fail()
	queueLimits(b, "default", flow.Limit{Running: 1}) // while the job waits for a retry
	later()
	b.enqueue(customer("b"))
	want(b, "ready", readyJobs(b), 1)
	fail()
	want(b, "ready jobs while one waits for its retry", readyJobs(b), 1)
	queueLimits(b, "default") // removes the limit while one of its jobs waits for a retry
	b.promote()
	later()
	want(b, "ready without it", readyJobs(b), 2)
	queueLimits(b, "default", flow.Limit{Running: 1})
	b.promote()
	want(b, "ready under another", readyJobs(b), 1)
	b.consistent()
}

func limitOfNamespaceExempt(b *bench) {
	namespaceLimits(b, "default", flow.Limit{Running: 1})
	b.task("work")
	b.task("third")
	must(b.st.CreateTask(b.ctx, task.Task{Name: "cycle", Cycle: &task.Cycle{Members: []task.Member{{Task: "work"}, {Task: "third"}}}}))(b)
	b.enqueue(job.NewJob{Task: "work"})
	b.enqueue(job.NewJob{Task: "cycle"})
	must(b.st.StartCycles(b.ctx))(b)
	s := b.session("work", "third")
	for range 10 {
		c := b.claim(s, 5)
		if len(c.Jobs) > 1 {
			b.Fatalf("jobs of a sequence at once: got %d, want at most 1", len(c.Jobs))
		}
		for _, j := range c.Jobs {
			b.finish(s, j, job.OutcomeOK)
		}
		b.promote()
		must(b.st.StartCycles(b.ctx))(b)
		b.consistent()
	}
	want(b, "left", b.count(`select count(*) from belfry.jobs`), 0)
}

func limitOfManyQueues(b *bench) {
	const many = 40
	for i := range many {
		name := fmt.Sprintf("q%02d", i)
		queueLimits(b, name, flow.Limit{Running: 1})
		namespaceLimits(b, name, flow.Limit{Running: 3})
		taskIn(b, name, "one", name)
		taskIn(b, name, "other", "default")
	}
	for i := range many {
		name := fmt.Sprintf("q%02d", i)
		must(b.st.Enqueue(b.ctx, slices.Repeat([]job.NewJob{{Namespace: name, Task: "one"}, {Namespace: name, Task: "other"}}, 4)))(b)
	}
	b.promote()
	want(b, "ready in queues", b.count(`select count(*) from belfry.jobs where state = 'ready' and queue <> 'default'`), many)
	want(b, "ready in namespaces", readyJobs(b), 3*many)
	b.consistent()
}

func limitOfQueueHistories(b *bench) {
	seed := rand.Uint64()
	b.Logf("seed %d", seed)
	r := rand.New(rand.NewPCG(seed, 1))
	queueLimits(b, "other")
	retry := func(t *task.Task) { t.Retry.MaxAttempts = 3; t.Retry.Delay = core.Duration(10 * time.Second) }
	taskIn(b, "default", "work", "default", retry)
	taskIn(b, "default", "else", "other", retry)
	taskIn(b, "default", "third", "default", retry, limited(flow.Limit{Name: "own", Running: 2}))
	start := func() job.Session { return sessionIn(b, "default", "other") }
	claim := func(s job.Session, n int) []job.LeasedJob {
		return must(b.st.Claim(b.ctx, job.ClaimRequest{Session: s.ID, Want: map[string]int{"default": n, "other": n}}))(b).Jobs
	}
	var ofQueue, ofNamespace []flow.Limit
	h, unsure := &limitRun{bench: b, r: r, s: start()}, true
	for step := range 100 {
		switch n := r.IntN(20); {
		case n < 6:
			var ns []job.NewJob
			for range 1 + r.IntN(8) {
				c := customer(r.IntN(4))
				c.Task = []string{"work", "else", "third"}[r.IntN(3)]
				c.Priority = new(r.IntN(3))
				if r.IntN(5) == 0 {
					c.Delay = core.Duration(time.Duration(r.IntN(30)) * time.Second)
				}
				ns = append(ns, c)
			}
			must(b.st.Enqueue(b.ctx, ns))(b)
		case n < 10:
			h.held = append(h.held, claim(h.s, 1+r.IntN(6))...)
		case n < 15 && len(h.held) > 0:
			h.settleSome()
		case n < 16:
			h.cancelOne()
		case n < 17 && step%3 == 0: // the worker is lost
			b.clock.Move(2 * time.Minute)
			b.release()
			h.held, h.s = nil, start()
		case n < 18: // limits are added, changed and removed
			unsure = true
			if ofQueue = nil; r.IntN(3) > 0 {
				ofQueue = []flow.Limit{{Name: "each", Key: "input.customer", Running: 1 + r.IntN(2)}}
			}
			queueLimits(b, "default", ofQueue...)
			if ofNamespace = nil; r.IntN(3) > 0 {
				ofNamespace = []flow.Limit{{Name: "all", Running: 3 + r.IntN(5)}}
			}
			namespaceLimits(b, "default", ofNamespace...)
		case n < 19:
			h.retryOne()
		default:
			b.clock.Move(time.Duration(r.IntN(8)) * time.Second)
			b.renew(h.s, h.held...)
		}
		b.promote()
		b.consistent()
		within := true
		for i, ls := range [][]flow.Limit{ofQueue, ofNamespace} {
			if name := []string{"each", "all"}[i]; len(ls) > 0 && b.most(name) > int64(ls[0].Running) {
				if within = false; !unsure {
					b.Fatalf("step %d: got %d admitted jobs under limit %s, want at most %d", step, b.most(name), name, ls[0].Running)
				}
			}
		}
		if within { // the jobs admitted before a change have ended
			unsure = false
		}
		if len(ofQueue)+len(ofNamespace) == 0 {
			if n := b.count(`select count(*) from belfry.jobs where state = 'waiting' and task <> 'third'`); n > 0 {
				b.Fatalf("step %d: got %d jobs that wait for deleted limits, want 0", step, n)
			}
		}
	}
	h.drain(func() []job.LeasedJob { return claim(h.s, 100) })
}

func limitOfQueueNodes(b *bench, nodes []*store.Store) {
	const each = 4
	queueLimits(b, "default", flow.Limit{Name: "each", Key: "input.customer", Running: 2})
	namespaceLimits(b, "default", flow.Limit{Name: "all", Running: 5})
	b.task("work")
	sessions := make([]job.Session, each*len(nodes))
	for i := range sessions {
		sessions[i] = b.session("work")
	}
	claims := make([]job.Claim, len(sessions))
	turn := func(asks int) {
		b.crowd(nodes, each, func(ctx context.Context, st *store.Store, i int) (err error) {
			var fs []job.Finish
			for _, j := range claims[i].Jobs {
				fs = append(fs, job.Finish{Ref: refOf(j), Outcome: job.OutcomeOK})
			}
			claims[i] = job.Claim{}
			if len(fs) > 0 {
				if _, err := st.Finish(ctx, sessions[i].ID, fs); err != nil {
					return err
				}
			}
			for k := range asks {
				if _, err := st.Enqueue(ctx, []job.NewJob{customer((i + k) % 3), customer(k % 3)}); err != nil {
					return err
				}
			}
			claims[i], err = st.Claim(ctx, job.ClaimRequest{Session: sessions[i].ID, Want: map[string]int{"default": 2}})
			return err
		})
		if all, one := b.most("all"), b.most("each"); all > 5 || one > 2 {
			b.Fatalf("admitted jobs: got %d in all and %d of one key", all, one)
		}
		b.consistent()
	}
	for range 6 {
		turn(2)
	}
	for range 400 {
		b.clock.Move(30 * time.Millisecond)
		b.promote()
		if turn(0); b.count(`select count(*) from belfry.jobs`) == 0 {
			return
		}
	}
	b.Fatalf("jobs left: got %d, want 0", b.count(`select count(*) from belfry.jobs`))
}

package storetest

import (
	"cmp"
	"context"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"time"

	"github.com/belfry-run/belfry/core"
	"github.com/belfry-run/belfry/flow"
	"github.com/belfry-run/belfry/job"
	"github.com/belfry-run/belfry/store"
	"github.com/belfry-run/belfry/task"
)

func init() {
	add("a job of a quiet key in a fair queue is among the next, however many of another wait", fairQuiet)
	add("a fair queue takes the jobs that its rule says, under random histories", fairHistories)
	add("weights say how many turns a key has", fairWeights)
	add("retries, jobs that are due, and jobs that are handed back have their turns in a fair queue", fairAgain)
	add("a higher priority goes before all turns in a fair queue, and costs a lower one none", fairPriority)
	add("what waits when a queue becomes fair, or ceases to be, goes first", fairEras)
	add("jobs of limited tasks take turns in a fair queue", fairLimited)
	add("keys of a fair queue whose turn has passed are forgotten", fairForgotten)
	add("a claim takes no jobs of a fair queue ahead of free slots", fairAhead)
	add("a request whose active key is held costs its key no turn in a fair queue", fairNotMade)
	add("a queue is fair by a key and weights that can be, and its jobs without a key share one", fairRefused)
	txCases["a job of a fair queue that was enqueued in a transaction takes its turn"] = fairTx
	addNodes("a fair queue is fair across nodes and restarts", fairNodes)
	addNodes("batches of mixed keys at the same moment all get their turns in a fair queue", fairCrowd)
}

func makeFair(b *bench, f *flow.Fair) job.Queue {
	b.Helper()
	return must(b.st.SaveQueue(b.ctx, job.Queue{Name: "default", Fair: f}))(b)
}

// ofCustomer enqueues n jobs of a customer, and returns their ids.
func ofCustomer(b *bench, st *store.Store, id string, n int, change ...func(*job.NewJob)) (ids []int64) {
	b.Helper()
	for n > 0 {
		ns := make([]job.NewJob, min(n, core.MaxBatch))
		for i := range ns {
			ns[i] = customer(id)
			for _, fn := range change {
				fn(&ns[i])
			}
		}
		for _, e := range must(st.Enqueue(b.ctx, ns))(b) {
			ids = append(ids, e.Job.ID)
		}
		n -= len(ns)
	}
	return ids
}

// takes claims n jobs, ends them, and returns their ids in order.
func takes(b *bench, st *store.Store, s job.Session, n int) (ids []int64) {
	b.Helper()
	c := must(st.Claim(b.ctx, job.ClaimRequest{Session: s.ID, Want: map[string]int{"default": n}}))(b)
	var fs []job.Finish
	for _, j := range c.Jobs {
		ids = append(ids, j.Job.ID)
		fs = append(fs, job.Finish{Ref: job.Ref{JobID: j.Job.ID, Lease: j.Job.Lease}, Outcome: job.OutcomeOK})
	}
	if len(fs) > 0 {
		must(st.Finish(b.ctx, s.ID, fs))(b)
	}
	return ids
}

func fairNotMade(b *bench) {
	b.task("work")
	makeFair(b, &flow.Fair{Key: "input.customer"})
	held := func(n *job.NewJob) { n.ActiveKey = "k" }
	first := ofCustomer(b, b.st, "a", 1, held)
	want(b, "asked for by another", fmt.Sprint(ofCustomer(b, b.st, "b", 2, held)), fmt.Sprint([]int64{first[0], first[0]}))
	want(b, "keys with turns", b.count(`select count(*) from belfry.turn_keys`), 1)
}

func fairQuiet(b *bench) {
	b.task("work")
	makeFair(b, &flow.Fair{Key: "input.customer"})
	s := b.session("work")
	ofCustomer(b, b.st, "noisy", 3000)
	takes(b, b.st, s, 100)
	for range 20 {
		quiet := ofCustomer(b, b.st, "quiet", 1)
		ofCustomer(b, b.st, "noisy", 9)
		if next := takes(b, b.st, s, 3); !slices.Contains(next, quiet[0]) {
			b.Fatalf("next jobs: got %[2]v, want job %[1]d of the quiet key among them", quiet[0], next)
		}
	}
	w := must(b.st.Why(b.ctx, "default", ofCustomer(b, b.st, "noisy", 1)[0]))(b)
	var detail string
	for _, c := range w.Checks {
		if c.Name == "no job goes first" {
			detail = c.Detail
		}
	}
	if want := `turns are by input.customer, whose value is "noisy"`; !strings.Contains(detail, want) {
		b.Fatalf("job why: got %q, want %q", detail, want)
	}
}

// fairLine is a model of a fair queue of one priority.
type fairLine struct {
	fair    flow.Fair
	reached int64
	next    map[string]int64
	waiting []fairJob
}

type fairJob struct{ turn, id int64 }

func (l *fairLine) join(value string, ids []int64) {
	cost := l.fair.Cost(value)
	first, after := flow.Turns(l.reached, l.next[value], cost, len(ids))
	l.next[value] = after
	for i, id := range ids {
		l.waiting = append(l.waiting, fairJob{first + cost*int64(i), id})
	}
}

func (l *fairLine) take(n int) (ids []int64) {
	slices.SortFunc(l.waiting, func(a, b fairJob) int { return cmp.Or(cmp.Compare(a.turn, b.turn), cmp.Compare(a.id, b.id)) })
	n = min(n, len(l.waiting))
	for _, w := range l.waiting[:n] {
		ids = append(ids, w.id)
		l.reached = max(l.reached, w.turn)
	}
	l.waiting = slices.Delete(l.waiting, 0, n)
	return ids
}

func fairHistories(b *bench) {
	b.task("work")
	r := rand.New(rand.NewPCG(7, uint64(len(b.Name()))))
	rule := flow.Fair{Key: "input.customer", Weights: map[string]int{"a": 2, "b": 7}}
	makeFair(b, &rule)
	l := fairLine{fair: rule, next: map[string]int64{}}
	s := b.session("work")
	for range 150 {
		switch value := string("abcde"[r.IntN(5)]); r.IntN(4) {
		case 0:
			l.join(value, ofCustomer(b, b.st, value, 1+r.IntN(30)))
		case 1:
			l.join(value, ofCustomer(b, b.st, value, 1))
		case 2:
			must(b.st.Prune(b.ctx))(b)
		default:
			n := 1 + r.IntN(20)
			if got, want := takes(b, b.st, s, n), l.take(n); !slices.Equal(got, want) {
				b.Fatalf("jobs taken: got %v, want %v", got, want)
			}
		}
	}
}

func fairWeights(b *bench) {
	b.task("work")
	makeFair(b, &flow.Fair{Key: "input.customer", Weights: map[string]int{"gold": 3}})
	s := b.session("work")
	gold := ofCustomer(b, b.st, "gold", 200)
	ofCustomer(b, b.st, "tin", 200)
	share := func(n int) (of int) {
		for _, id := range takes(b, b.st, s, n) {
			if slices.Contains(gold, id) {
				of++
			}
		}
		return of
	}
	for range 5 {
		if n := share(40); n < 29 || n > 31 {
			b.Fatalf("jobs of key gold among 40: got %d, want 30", n)
		}
	}
	makeFair(b, &flow.Fair{Key: "input.customer"}) // applies to jobs that become ready from now on
	takes(b, b.st, s, 400)
	gold = ofCustomer(b, b.st, "gold", 50)
	ofCustomer(b, b.st, "tin", 50)
	if n := share(40); n < 19 || n > 21 {
		b.Fatalf("jobs of key gold without a weight among 40: got %d, want 20", n)
	}
}

func fairAgain(b *bench) {
	b.task("work", func(t *task.Task) {
		t.Retry = task.Retry{MaxAttempts: 5, Delay: core.Duration(time.Millisecond), Jitter: -1}
	})
	makeFair(b, &flow.Fair{Key: "input.customer"})
	s := b.session("work")
	noisy := ofCustomer(b, b.st, "noisy", 50)
	next := func(n int) []job.LeasedJob {
		b.clock.Move(time.Second)
		b.promote()
		return b.claim(s, n).Jobs
	}
	j := next(1)[0]
	b.finish(s, j, job.OutcomeHandedBack)
	if again := next(1)[0]; again.Job.ID != j.Job.ID {
		b.Fatalf("claimed job: got %d, want %d, which was handed back", again.Job.ID, j.Job.ID)
	} else {
		b.finish(s, again, job.OutcomeError)
	}
	// A retry waits for the turn of its key, after the key's other jobs.
	quiet := ofCustomer(b, b.st, "quiet", 1)[0]
	js := next(2)
	if js[0].Job.ID != quiet && js[1].Job.ID != quiet {
		b.Fatalf("claimed jobs: got %d and %d, want %d among them", js[0].Job.ID, js[1].Job.ID, quiet)
	}
	for _, j := range js {
		if b.finish(s, j, job.OutcomeError); j.Job.ID == noisy[0] {
			b.Fatal("the retry of a noisy key is claimed first")
		}
	}
	// The retry of the quiet key is among the next jobs.
	js = next(3)
	if !slices.ContainsFunc(js, func(j job.LeasedJob) bool { return j.Job.ID == quiet }) {
		b.Fatalf("claimed jobs: got %v, want the retry of the quiet key among them", js)
	}
	for _, j := range js {
		b.finish(s, j, job.OutcomeOK)
	}
	// So is a delayed job, and a job from a caller's transaction.
	later := ofCustomer(b, b.st, "quiet", 1, func(n *job.NewJob) { n.Delay = core.Duration(time.Minute) })[0]
	b.clock.Move(2 * time.Minute)
	js = next(3)
	if !slices.ContainsFunc(js, func(j job.LeasedJob) bool { return j.Job.ID == later }) {
		b.Fatalf("claimed jobs: got %v, want the delayed job of the quiet key among them", js)
	}
	for _, j := range js {
		b.finish(s, j, job.OutcomeOK)
	}
	var left []int64
	for js = next(20); len(js) > 0; js = next(20) {
		for _, j := range js {
			left = append(left, j.Job.ID)
			b.finish(s, j, job.OutcomeOK)
		}
	}
	if i := slices.Index(left, noisy[0]); i < 0 || i < len(left)-3 {
		b.Fatalf("the retry of the noisy key: got place %d of %v, want the last", i, left)
	}
}

func fairPriority(b *bench) {
	b.task("work")
	makeFair(b, &flow.Fair{Key: "input.customer"})
	s := b.session("work")
	first := func(n *job.NewJob) { five := 5; n.Priority = &five }
	ofCustomer(b, b.st, "noisy", 100)
	high := ofCustomer(b, b.st, "noisy", 20, first)
	other := ofCustomer(b, b.st, "quiet", 1, first)
	got := takes(b, b.st, s, 21)
	slices.Sort(got)
	if !slices.Equal(got, append(high, other...)) {
		b.Fatalf("first jobs taken: got %v, want those of priority 5", got)
	}
	quiet := ofCustomer(b, b.st, "quiet", 1)[0]
	if next := takes(b, b.st, s, 2); !slices.Contains(next, quiet) {
		b.Fatalf("next jobs taken: got %v, want %d among them", next, quiet)
	}
}

func fairEras(b *bench) {
	b.task("work")
	s := b.session("work")
	// A job of the same priority waits in each era.
	var want, got []int64
	add := func(value string, n int) { want = append(want, ofCustomer(b, b.st, value, n)...) }
	add("a", 3)
	makeFair(b, &flow.Fair{Key: "input.customer"})
	add("a", 3)
	makeFair(b, nil)
	b.clock.Move(-time.Hour)
	add("b", 2)
	must(b.st.SaveQueue(b.ctx, job.Queue{Name: "default", Description: "as it was"}))(b)
	add("b", 2)
	makeFair(b, &flow.Fair{Key: "task"})
	add("c", 4)
	for ids := takes(b, b.st, s, 4); len(ids) > 0; ids = takes(b, b.st, s, 4) {
		got = append(got, ids...)
	}
	if !slices.Equal(got, want) {
		b.Fatalf("jobs taken: got %v, want %v", got, want)
	}
	makeFair(b, nil)
	takes(b, b.st, s, 1)
	if id := ofCustomer(b, b.st, "d", 1)[0]; !slices.Equal(takes(b, b.st, s, 2), []int64{id}) {
		b.Fatal("the job enqueued after the queue was fair is not claimed")
	}
	for _, j := range must(b.st.Queues(b.ctx))(b) {
		if j.Name == "default" && j.Fair != nil {
			b.Fatal("queue default is still fair")
		}
	}
}

func fairLimited(b *bench) {
	b.task("work", limited(flow.Limit{Running: 4}))
	makeFair(b, &flow.Fair{Key: "input.customer"})
	s := b.session("work")
	ofCustomer(b, b.st, "noisy", 20)
	quiet := ofCustomer(b, b.st, "quiet", 1)
	var got []int64
	for ids := takes(b, b.st, s, 4); len(ids) > 0; ids = takes(b, b.st, s, 4) {
		got = append(got, ids...)
	}
	want(b, "jobs", len(got), 21)
	b.consistent()
	if !slices.Contains(got, quiet[0]) {
		b.Fatal("the job of the quiet key is not among those claimed")
	}
}

func fairTx(b *bench, begin func() UserTx) {
	b.task("work")
	makeFair(b, &flow.Fair{Key: "input.customer"})
	s := b.session("work")
	ofCustomer(b, b.st, "noisy", 100)
	takes(b, b.st, s, 10)
	tx := begin()
	es := must(b.st.EnqueueTx(b.ctx, tx.Tx, []job.NewJob{customer("quiet"), customer("noisy")}))(b)
	ok(b, tx.Commit())
	b.promote()
	if next := takes(b, b.st, s, 4); !slices.Contains(next, es[0].Job.ID) || slices.Contains(next, es[1].Job.ID) {
		b.Fatalf("next jobs: got %v, want %d among them and not %d", next, es[0].Job.ID, es[1].Job.ID)
	}
}

func fairAhead(b *bench) {
	b.task("work")
	makeFair(b, &flow.Fair{Key: "input.customer"})
	s := b.session("work")
	ofCustomer(b, b.st, "noisy", 20)
	claim := func(wanted, ahead int) job.Claim {
		return must(b.st.Claim(b.ctx, job.ClaimRequest{Session: s.ID, Want: map[string]int{"default": wanted}, Ahead: map[string]int{"default": ahead}}))(b)
	}
	c := claim(15, 10)
	want(b, "jobs of a claim with five free slots", len(c.Jobs), 5)
	if !c.Jobs[0].InTurn {
		b.Fatal("the claim does not tell the worker to claim none ahead")
	}
	want(b, "jobs of a claim without a free slot", len(claim(10, 10).Jobs), 0)
	want(b, "jobs of a claim with slots for more than there are", len(claim(100, 50).Jobs), 15)
}

func fairForgotten(b *bench) {
	b.task("work")
	makeFair(b, &flow.Fair{Key: "input.customer"})
	s := b.session("work")
	for i := range 30 {
		ofCustomer(b, b.st, fmt.Sprint(i), 2)
	}
	keys := func() int64 { return b.count(`select count(*) from belfry.turn_keys`) }
	must(b.st.Prune(b.ctx))(b)
	want(b, "keys with jobs", keys(), 30)
	takes(b, b.st, s, 60)
	ofCustomer(b, b.st, "far", 5)
	takes(b, b.st, s, 5)
	if must(b.st.Prune(b.ctx))(b); keys() > 2 {
		b.Fatalf("keys after the prune: got %d, want at most 2", keys())
	}
	must(b.st.SaveQueue(b.ctx, job.Queue{Name: "other", Fair: &flow.Fair{Key: "task"}}))(b)
	other := b.enqueue(job.NewJob{Task: "work", Queue: "other"})
	want(b, "keys of other", b.count(`select count(*) from belfry.turn_keys where queue = 'other'`), 1)
	b.cancel(other.ID)
	ok(b, b.st.DeleteQueue(b.ctx, "other"))
	want(b, "keys of a queue that was deleted", b.count(`select count(*) from belfry.turn_keys where queue = 'other'`), 0)
}

func fairRefused(b *bench) {
	_, err := b.st.SaveQueue(b.ctx, job.Queue{Name: "default", Fair: &flow.Fair{Key: "output.x"}})
	wantCode(b, err, core.Invalid, "fair.key", "names")
	_, err = b.st.SaveQueue(b.ctx, job.Queue{Name: "default", Fair: &flow.Fair{Key: "task", Weights: map[string]int{"a": 0}}})
	wantCode(b, err, core.Invalid, "fair.weights", "1 to 100")
	b.task("work")
	makeFair(b, &flow.Fair{Key: "input.customer.name"})
	must(b.st.Enqueue(b.ctx, []job.NewJob{customer("text"), {Task: "work", Input: []byte(`{"customer":{"name":["list"]}}`)}, {Task: "work"}}))(b)
	want(b, "keys", b.count(`select count(*) from belfry.turn_keys where value = ''`), 1)
	want(b, "jobs", len(takes(b, b.st, b.session("work"), 10)), 3)
}

func fairNodes(b *bench, nodes []*store.Store) {
	b.task("work")
	makeFair(b, &flow.Fair{Key: "input.customer"})
	s := b.session("work")
	ofCustomer(b, nodes[0], "noisy", 2000)
	far := 0
	for i := range 30 {
		takes(b, nodes[0], s, 20)
		quiet := ofCustomer(b, nodes[1], "quiet", 1)[0]
		var got []int64
		for len(got) < 40 && !slices.Contains(got, quiet) {
			ids := takes(b, nodes[i%2], s, 4)
			if len(ids) == 0 {
				b.Fatal("a claim got no job while jobs wait")
			}
			got = append(got, ids...)
		}
		if !slices.Contains(got, quiet) {
			far++
		}
	}
	if far > 0 {
		b.Fatalf("jobs of a quiet key that waited for more than 40 others: got %d of 30, want 0", far)
	}
	want(b, "jobs in the end", b.count(`select count(*) from belfry.jobs where state = 'ready' and turn <= 0`), 0)
}

func fairCrowd(b *bench, nodes []*store.Store) {
	b.task("work")
	makeFair(b, &flow.Fair{Key: "input.customer"})
	s := b.session("work")
	const each, batch = 20, 12
	b.crowd(nodes, each, func(ctx context.Context, st *store.Store, i int) error {
		ns := make([]job.NewJob, batch)
		for k := range ns {
			ns[k] = customer((k*7 + i*5) % 11)
		}
		_, err := st.Enqueue(ctx, ns)
		return err
	})
	total := each * len(nodes) * batch
	want(b, "turns that two jobs of a key share", b.count(`select count(*) - count(distinct turn || '/' || input) from belfry.jobs`), 0)
	got := 0
	for ids := takes(b, nodes[0], s, 50); len(ids) > 0; ids = takes(b, nodes[got%len(nodes)], s, 50) {
		got += len(ids)
	}
	want(b, "jobs", got, total)
}

package store_test

import (
	"context"
	"errors"
	"math/rand/v2"
	"runtime"
	"sync"
	"testing"
	"time"

	"github.com/belfry-run/belfry/core"
	"github.com/belfry-run/belfry/job"
	"github.com/belfry-run/belfry/store"
	"github.com/belfry-run/belfry/store/internal/both"
	"github.com/belfry-run/belfry/store/postgres"
	"github.com/belfry-run/belfry/store/sqlite"
	"github.com/belfry-run/belfry/task"
)

// heard makes claims look again only when they are woken.
var heard = store.Options{Poll: time.Hour}

// waits is a session with a claim that waits.
type waits struct {
	session string
	got     chan job.Claim
	err     error
}

func openWaiting(t *testing.T, st *store.Store, funcs ...string) string {
	t.Helper()
	s, err := st.OpenSession(t.Context(), job.WorkerInfo{Name: "w", Kinds: []task.Kind{task.KindFunc}, Funcs: funcs, Queues: map[string]int{"default": 10}})
	if err != nil {
		t.Fatal(err)
	}
	return s.ID
}

// claimAndWait begins a claim, and returns when it waits behind those before it.
func claimAndWait(ctx context.Context, t *testing.T, st *store.Store, session string, n int) *waits {
	t.Helper()
	before := st.WaitingClaims("default")
	w := &waits{session: session, got: make(chan job.Claim, 1)}
	go func() {
		var c job.Claim
		c, w.err = st.Claim(ctx, job.ClaimRequest{Session: session, Want: map[string]int{"default": n}, Wait: core.Duration(time.Minute)})
		w.got <- c
	}()
	for st.WaitingClaims("default") <= before {
		runtime.Gosched()
		if t.Context().Err() != nil {
			t.Fatal("the claim does not wait")
		}
	}
	return w
}

func enqueueFuncs(t *testing.T, st *store.Store, n int, like job.NewJob) {
	t.Helper()
	jobs := make([]job.NewJob, n)
	like.Kind = task.KindFunc
	for i := range jobs {
		jobs[i] = like
	}
	if es, err := st.Enqueue(t.Context(), jobs); err != nil || len(es) != n {
		t.Fatalf("enqueue: %+v %v", es, err)
	}
}

// wentAlong reports whether jobs were leased by the transaction that made them. On SQLite both then have its instant; on
// PostgreSQL, while the jobs run, both have its number.
func wentAlong(t *testing.T, st *store.Store, c job.Claim) bool {
	t.Helper()
	if db, ok := st.DB().(*postgres.DB); ok {
		ids := make([]int64, len(c.Jobs))
		for i, j := range c.Jobs {
			ids[i] = j.Job.ID
		}
		var n int
		if err := db.Pool().QueryRow(t.Context(), `select count(*) from belfry.jobs j join belfry.leases l on l.job_id = j.id where j.id = any($1) and j.xmin = l.xmin`, ids).Scan(&n); err != nil {
			t.Fatal(err)
		}
		return n == len(ids) && n > 0
	}
	for _, j := range c.Jobs {
		if !j.Job.ClaimedAt.Equal(j.Job.CreatedAt) {
			return false
		}
	}
	return len(c.Jobs) > 0
}

// recorded compares the answer of a claim with the stored jobs, and ends the jobs.
func recorded(t *testing.T, st *store.Store, session string, c job.Claim) {
	t.Helper()
	for _, j := range c.Jobs {
		if j.Task == nil || j.Task.Name != j.Job.Task {
			t.Errorf("job %d was leased with task %+v, want task %s", j.Job.ID, j.Task, j.Job.Task)
		}
		now, err := st.Job(t.Context(), core.DefaultNamespace, j.Job.ID)
		if err != nil || now.State != job.Running || now.Lease != c.Lease || now.Session != session || now.Attempt != 1 || !now.ClaimedAt.Equal(j.Job.ClaimedAt) {
			t.Errorf("stored job %d: got %+v and error %v, want it running under lease %d", j.Job.ID, now, err, c.Lease)
		}
		done, err := st.Finish(t.Context(), session, []job.Finish{{Ref: job.Ref{JobID: j.Job.ID, Lease: c.Lease}, Outcome: job.OutcomeOK}})
		if err != nil || done[0].Stale {
			t.Errorf("finish: %+v %v", done, err)
		}
	}
}

func TestAClaimThatWaitsGoesAlongWithAnEnqueue(t *testing.T) {
	t.Parallel()
	both.Run(t, func(t *testing.T, st *store.Store) {
		if err := st.EnsureFuncs(t.Context(), "", []string{"t"}); err != nil {
			t.Fatal(err)
		}
		session := openWaiting(t, st, "t")
		for i := range 12 { // the first does not know yet who waits
			w := claimAndWait(t.Context(), t, st, session, 3)
			n := 1 + i%3
			enqueueFuncs(t, st, n, job.NewJob{Task: "t", Input: []byte(`{"i":1}`)})
			c := <-w.got
			if w.err != nil || len(c.Jobs) != n {
				t.Fatalf("claimed %d of %d: %v", len(c.Jobs), n, w.err)
			}
			if i > 0 && !wentAlong(t, st, c) {
				t.Errorf("round %d: claimed %s after it was made", i, c.Jobs[0].Job.ClaimedAt.Sub(c.Jobs[0].Job.CreatedAt))
			}
			if string(c.Jobs[0].Job.Input) != `{"i":1}` {
				t.Errorf("input %s", c.Jobs[0].Job.Input)
			}
			recorded(t, st, session, c)
		}
	})
}

// twoWaiting opens two sessions of workers that run some functions each, in a process that knows the queue of their jobs. Each
// has a waiting claim for two jobs; the claim of the first session waits longer.
func twoWaiting(t *testing.T, st *store.Store, first, second []string) [2]*waits {
	t.Helper()
	if err := st.EnsureFuncs(t.Context(), "", []string{"t", "u"}); err != nil {
		t.Fatal(err)
	}
	session := openWaiting(t, st, "t", "u")
	for _, task := range []string{"t", "u"} {
		w := claimAndWait(t.Context(), t, st, session, 1)
		enqueueFuncs(t, st, 1, job.NewJob{Task: task})
		recorded(t, st, session, <-w.got)
	}
	if err := st.CloseSession(t.Context(), session); err != nil {
		t.Fatal(err)
	}
	return [2]*waits{
		claimAndWait(t.Context(), t, st, openWaiting(t, st, first...), 2),
		claimAndWait(t.Context(), t, st, openWaiting(t, st, second...), 2),
	}
}

// expect expects an answer with n jobs, and reports whether an enqueue carried out the claim.
func (w *waits) expect(t *testing.T, st *store.Store, n int) (joined bool) {
	t.Helper()
	c := <-w.got
	if w.err != nil || len(c.Jobs) != n {
		t.Fatalf("claim: got %d jobs and error %v, want %d jobs", len(c.Jobs), w.err, n)
	}
	joined = wentAlong(t, st, c)
	recorded(t, st, w.session, c)
	return joined
}

func TestAnEnqueueCarriesOutTheLongestWaitingClaimAndWakesNoOther(t *testing.T) {
	t.Parallel()
	both.With(t, heard, func(t *testing.T, st *store.Store) {
		w := twoWaiting(t, st, []string{"t"}, []string{"t"})
		since := st.WaitsSince("default")
		enqueueFuncs(t, st, 1, job.NewJob{Task: "t"})
		if !w[0].expect(t, st, 1) {
			t.Error("the enqueue did not carry out the first waiting claim")
		}
		if woken := st.WaitsSince("default"); !woken.Equal(since) {
			t.Errorf("the other claim waits since %s, want %s: it was woken", woken, since)
		}
		enqueueFuncs(t, st, 1, job.NewJob{Task: "t"})
		if !w[1].expect(t, st, 1) {
			t.Error("the enqueue did not carry out the second waiting claim")
		}
	})
}

func TestJobsThatACarriedOutClaimLeavesAreForOthers(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		first   []string
		enqueue int
		task    string
		got     []int // jobs of each claim; 0: it goes on waiting
	}{
		"more than the claim wants": {[]string{"t"}, 3, "t", []int{2, 1}},
		"jobs it cannot run":        {[]string{"u"}, 1, "t", []int{0, 1}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			both.With(t, heard, func(t *testing.T, st *store.Store) {
				w := twoWaiting(t, st, c.first, []string{"t"})
				enqueueFuncs(t, st, c.enqueue, job.NewJob{Task: c.task})
				for i, n := range c.got {
					if n > 0 {
						w[i].expect(t, st, n)
					} else if len(w[i].got) > 0 {
						t.Errorf("claim %d got an answer, want it to go on waiting", i)
					}
				}
			})
		})
	}
}

// silently makes a job in a transaction of the caller, which wakes no claim.
func silently(t *testing.T, st *store.Store, n job.NewJob) {
	t.Helper()
	var tx any
	var commit func() error
	switch db := st.DB().(type) {
	case *sqlite.DB:
		own, err := db.SQL().Begin()
		if err != nil {
			t.Fatal(err)
		}
		tx, commit = own, own.Commit
	case *postgres.DB:
		own, err := db.Pool().Begin(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		tx, commit = own, func() error { return own.Commit(t.Context()) }
	}
	_, err := st.EnqueueTx(t.Context(), tx, []job.NewJob{n})
	if err := errors.Join(err, commit()); err != nil {
		t.Fatal(err)
	}
}

// Other jobs of the queue come first if they are ready for longer.
func TestAClaimWithinAnEnqueueKeepsTheOrderOfTheQueue(t *testing.T) {
	t.Parallel()
	both.With(t, heard, func(t *testing.T, st *store.Store) {
		w := twoWaiting(t, st, []string{"t", "u"}, []string{"t", "u"})
		high := 9
		silently(t, st, job.NewJob{Task: "t", Kind: task.KindFunc, Input: []byte("2")})
		silently(t, st, job.NewJob{Task: "u", Kind: task.KindFunc, Input: []byte("1"), Priority: &high})
		enqueueFuncs(t, st, 1, job.NewJob{Task: "t", Input: []byte("3")})
		seen := ""
		for _, w := range w {
			for _, j := range (<-w.got).Jobs {
				seen += string(j.Job.Input)
			}
		}
		if seen != "123" && seen != "312" { // the carried-out claim may take the first job, of another task, and then both claims have jobs
			t.Errorf("order of claimed jobs: got %q, want 123 or 312", seen)
		}
	})
}

func TestAnEnqueueSucceedsBesideAClaimThatCannotTakeItsJob(t *testing.T) {
	t.Parallel()
	for name, spoil := range map[string]func(ctx context.Context, st *store.Store, session string) error{
		"because its session has ended": func(ctx context.Context, st *store.Store, session string) error { return st.CloseSession(ctx, session) },
		"because it drains":             func(ctx context.Context, st *store.Store, session string) error { return st.DrainWorker(ctx, session) },
		"because the queue is paused": func(ctx context.Context, st *store.Store, _ string) error {
			_, err := st.PauseQueue(ctx, "default", "")
			return err
		},
		"because a limit is reached": func(ctx context.Context, st *store.Store, session string) error {
			q := job.Queue{Name: "default", Concurrency: 10, GlobalLimit: 1}
			if _, err := st.SaveQueue(ctx, q); err != nil {
				return err
			}
			if _, err := st.Enqueue(ctx, []job.NewJob{{Task: "t", Kind: task.KindFunc}}); err != nil {
				return err
			}
			_, err := st.Claim(ctx, job.ClaimRequest{Session: session, Want: map[string]int{"default": 1}})
			return err
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			both.With(t, heard, func(t *testing.T, st *store.Store) {
				ctx, cancel := context.WithCancel(t.Context())
				defer cancel()
				if err := st.EnsureFuncs(ctx, "", []string{"t"}); err != nil {
					t.Fatal(err)
				}
				session := openWaiting(t, st, "t")
				before := claimAndWait(ctx, t, st, session, 1)
				enqueueFuncs(t, st, 1, job.NewJob{Task: "t"})
				recorded(t, st, session, <-before.got)
				ended := name == "because its session has ended"
				var w *waits
				if ended { // a claim without a session does not begin to wait
					w = claimAndWait(ctx, t, st, session, 1)
				}
				if err := spoil(ctx, st, session); err != nil {
					t.Fatal(err)
				}
				if !ended {
					w = claimAndWait(ctx, t, st, session, 1)
				}
				es, err := st.Enqueue(ctx, []job.NewJob{{Task: "t", Kind: task.KindFunc}})
				if err != nil {
					t.Fatal(err)
				}
				if now, err := st.Job(ctx, core.DefaultNamespace, es[0].Job.ID); err != nil || now.State != job.Ready || now.Attempt != 0 {
					t.Errorf("enqueued job: got %+v and error %v, want it ready", now, err)
				}
				if !ended {
					cancel()
				}
				if c := <-w.got; len(c.Jobs) != 0 || ended && core.CodeOf(w.err) != core.Unauthorized {
					t.Errorf("waiting claim: got %+v and error %v, want no job", c, w.err)
				}
			})
		})
	}
}

func TestARefusedEnqueueLeavesTheClaimThatWaits(t *testing.T) {
	t.Parallel()
	both.Run(t, func(t *testing.T, st *store.Store) {
		w := twoWaiting(t, st, []string{"t"}, []string{"t"})
		if _, err := st.Enqueue(t.Context(), []job.NewJob{{Task: "t"}, {Task: "missing"}}); core.CodeOf(err) != core.NotFound {
			t.Fatalf("enqueue of a missing task: got error %v, want not found", err)
		}
		if n := st.WaitingClaims("default"); n != 2 {
			t.Errorf("got %d waiting claims after a refused enqueue, want 2", n)
		}
		enqueueFuncs(t, st, 1, job.NewJob{Task: "t"})
		if !w[0].expect(t, st, 1) {
			t.Error("the enqueue did not carry out the first waiting claim")
		}
	})
}

// Claims wait and give up while jobs are enqueued. Each job is in the answer of the claim that has its lease, or still ready.
func TestEnqueuesWhileClaimsGiveUpLoseNoJob(t *testing.T) {
	t.Parallel()
	both.Run(t, func(t *testing.T, st *store.Store) {
		w := twoWaiting(t, st, []string{"t"}, []string{"t"})
		ctx, cancel := context.WithCancel(t.Context())
		var claimants, makers sync.WaitGroup
		var mu sync.Mutex
		held := map[int64]int64{} // lease by job
		note := func(c job.Claim) {
			mu.Lock()
			defer mu.Unlock()
			for _, j := range c.Jobs {
				if held[j.Job.ID] != 0 {
					t.Errorf("job %d was claimed twice", j.Job.ID)
				}
				held[j.Job.ID] = c.Lease
			}
		}
		for _, w := range w {
			claimants.Go(func() { note(<-w.got) })
		}
		for range 4 {
			session := openWaiting(t, st, "t")
			claimants.Go(func() {
				for ctx.Err() == nil {
					c, err := st.Claim(t.Context(), job.ClaimRequest{Session: session, Want: map[string]int{"default": 2}, Wait: core.Duration(rand.N(3 * time.Millisecond))})
					if err != nil {
						t.Error(err)
					}
					note(c)
				}
			})
		}
		const calls, each = 100, 2
		for range each {
			makers.Go(func() {
				for range calls {
					if _, err := st.Enqueue(t.Context(), []job.NewJob{{Task: "t", Kind: task.KindFunc}}); err != nil {
						t.Error(err)
					}
				}
			})
		}
		makers.Wait()
		cancel()
		claimants.Wait()
		jobs, err := st.Jobs(t.Context(), job.Filter{Paging: core.Paging{Limit: 2 * calls * each}})
		if err != nil {
			t.Fatal(err)
		}
		running := 0
		for _, j := range jobs.Items {
			if j.State == job.Running {
				running++
				if held[j.ID] != j.Lease {
					t.Errorf("job %d: stored lease %d, want lease %d of the answer to its claim", j.ID, j.Lease, held[j.ID])
				}
			}
		}
		if running != len(held) {
			t.Errorf("got %d running jobs, want the %d jobs in answers to claims", running, len(held))
		}
	})
}

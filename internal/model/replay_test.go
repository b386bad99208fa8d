package model

import (
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strconv"
	"testing"
	"time"

	"github.com/belfry-run/belfry/core"
	"github.com/belfry-run/belfry/internal/model/check"
	"github.com/belfry-run/belfry/internal/pgtest"
	"github.com/belfry-run/belfry/internal/portion"
	"github.com/belfry-run/belfry/job"
	"github.com/belfry-run/belfry/schedule"
	"github.com/belfry-run/belfry/store"
	"github.com/belfry-run/belfry/store/postgres"
	"github.com/belfry-run/belfry/store/sqlite"
	"github.com/belfry-run/belfry/store/storetest"
	"github.com/belfry-run/belfry/task"
	"github.com/belfry-run/belfry/view"
)

func TestMain(m *testing.M) { os.Exit(pgtest.Main(m)) }

// replayed are the worlds whose steps are all taken with the real store. Their workers
// are Loose, so that the store gets every possible call. The two parts of a claim are
// one step here; only the model has steps between them.
var replayed = map[string]Config{
	"sessions of one worker":  {Workers: 1, Jobs: 1, Attempts: 2, Loose: true, TTL: 2, Close: true, Errors: true, Cancel: true, Ask: true},
	"a worker that crashes":   {Workers: 1, Jobs: 1, Attempts: 1, Loose: true, TTL: 1, Crash: true, Ask: true},
	"sessions of two workers": {Workers: 2, Jobs: 1, Attempts: 1, Loose: true, TTL: 1, Ask: true},
	"two jobs in one claim":   {Workers: 2, Jobs: 2, Attempts: 1, Loose: true, Ask: true},
	"retries":                 {Workers: 2, Jobs: 1, Attempts: 2, Loose: true, Errors: true, Cancel: true, Ask: true},
	"a queue with a limit":    {Workers: 2, Jobs: 2, Attempts: 1, Loose: true, Limit: 1, Cancel: true, Ask: true},
	"a plan that skips":       {Workers: 1, Attempts: 2, Loose: true, Errors: true, Pause: true, Plan: 2},
	"a plan that buffers":     {Workers: 1, Attempts: 1, Loose: true, Cancel: true, Pause: true, Plan: 2, Overlap: BufferOne},
	"a loop":                  {Workers: 2, Attempts: 2, Loose: true, Errors: true, Cancel: true, Pause: true, Loop: true},
}

// TestReplaySQLite takes every step of every replayed world with SQLite.
func TestReplaySQLite(t *testing.T) {
	for name, packFrom := range packed {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			replaySQLite(t, store.Options{PackFrom: packFrom})
		})
	}
}

func replaySQLite(t *testing.T, with store.Options) {
	replayAll(t, with.PackFrom, func(t *testing.T, o store.Options) *store.Store {
		t.Helper()
		o.PackFrom, o.Claims = with.PackFrom, with.Claims
		st, err := sqlite.Open(t.Context(), filepath.Join(t.TempDir(), "belfry.db"), sqlite.Options{Options: o, Synchronous: "NORMAL"})
		if err != nil {
			t.Fatal(err)
		}
		return st
	}, func(tours [][]int32) [][]int32 { return tours })
}

// TestClaimPathsReplay takes every step on the plain claim path, and on the fast path
// without its mechanisms.
func TestClaimPathsReplay(t *testing.T) {
	for _, path := range storetest.ClaimPaths[:2] { // packs are replayed with every model
		t.Run(path.Name+", SQLite", func(t *testing.T) {
			t.Parallel()
			replaySQLite(t, path.Options)
		})
		t.Run(path.Name+", PostgreSQL", func(t *testing.T) {
			t.Parallel()
			replayPostgres(t, modelSeed(t), path.Options)
		})
	}
}

// packed is the number of jobs from which the leases of a claim share a row: either no
// claim reaches it, or all claims do.
var packed = map[string]int{"rows": 0, "packs": 1}

// sampled is the number of steps of each world that are taken with PostgreSQL.
const sampled = 400

// TestReplayPostgres takes some of the same tours with PostgreSQL, different ones each
// time.
func TestReplayPostgres(t *testing.T) {
	seed := modelSeed(t)
	for name, packFrom := range packed {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			replayPostgres(t, seed, store.Options{PackFrom: packFrom})
		})
	}
}

// modelSeed chooses the tours.
func modelSeed(t *testing.T) uint64 {
	t.Helper()
	seed := uint64(time.Now().UnixNano())
	if text := os.Getenv("BELFRY_MODEL_SEED"); text != "" {
		var err error
		if seed, err = strconv.ParseUint(text, 10, 64); err != nil {
			t.Fatalf("BELFRY_MODEL_SEED=%q is not a whole number", text)
		}
	}
	t.Logf("BELFRY_MODEL_SEED=%d repeats these tours", seed)
	return seed
}

// replayPostgres keeps the leases of a claim in a row each, or in one.
func replayPostgres(t *testing.T, seed uint64, with store.Options) {
	replayAll(t, with.PackFrom, func(t *testing.T, o store.Options) *store.Store {
		t.Helper()
		o.PackFrom, o.Claims = with.PackFrom, with.Claims
		st, err := postgres.Open(t.Context(), pgtest.Migrated(t, postgres.Migrate), postgres.Options{Options: o, MaxConns: 2})
		if err != nil {
			t.Fatal(err)
		}
		return st
	}, func(tours [][]int32) (some [][]int32) {
		steps := 0
		for _, i := range rand.New(rand.NewPCG(seed, 0)).Perm(len(tours)) {
			if steps >= sampled {
				break
			}
			some, steps = append(some, tours[i]), steps+len(tours[i])
		}
		return some
	})
}

// mayPack reports whether leases of the world may share a row.
func (c Config) mayPack() bool { return c.Jobs > 0 && c.Limit == 0 }

func replayAll(t *testing.T, packFrom int, open func(*testing.T, store.Options) *store.Store, pick func([][]int32) [][]int32) {
	for _, name := range portion.Names(t, replayed) {
		c := replayed[name]
		if packFrom > 0 && !c.mayPack() {
			continue // the same as with rows
		}
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			g, err := check.Explore(c.Spec())
			if err != nil {
				t.Fatal(err)
			}
			all := tours(g, 200)
			some := pick(all)
			clock := storetest.NewClock()
			st := open(t, store.Options{Clock: clock.Now, SessionTTL: c.sessionTTL()})
			defer func() {
				if err := st.Close(); err != nil {
					t.Error(err)
				}
			}()
			begun, steps, compared := time.Now(), 0, make([]bool, len(g.Edges))
			for i, tour := range some {
				r := newReplay(t, c, st, clock, i)
				r.tour(g, tour, compared)
				steps += len(tour)
			}
			t.Logf("%d states, %d steps; %d of %d tours with %d steps, %v", len(g.States), len(g.Edges), len(some), len(all), steps, time.Since(begun).Round(time.Millisecond))
		})
	}
}

// tick is the length of a tick. Sessions are given up [job.LostGrace] after their end,
// and leases that were not named are handed back after [job.ClaimSettled]. With these
// lengths both happen at ticks, as in the model.
const tick = 10 * time.Second

func (c Config) sessionTTL() time.Duration {
	return time.Duration(max(c.TTL, 1))*tick - job.LostGrace - time.Microsecond
}

var _ [settledAfter]struct{} = [job.ClaimSettled / tick]struct{}{}

// replay is one tour with the real store: the objects of the model in it, and the
// expected rows.
type replay struct {
	*testing.T
	Config
	st    *store.Store
	clock *storetest.Clock
	base  time.Time
	name  string // name of the namespace and of all objects in it
	did   []string

	jobs     [MaxJobs]int64
	known    map[int64]bool // jobs of the schedule
	leases   [MaxJobs]realLease
	attempts [MaxJobs][]job.Attempt
	sessions [MaxWorkers]string
	opened   []string
	refs     [MaxWorkers][MaxJobs]job.Ref
	under    [MaxWorkers][MaxJobs]string // sessions of the leases in refs
	highest  int64                       // highest lease number
}

// realLease is the expected lease of a job in the store.
type realLease struct {
	session string
	ref     job.Ref
}

func newReplay(t *testing.T, c Config, st *store.Store, clock *storetest.Clock, n int) *replay {
	clock.Move(time.Hour)
	r := &replay{T: t, Config: c, st: st, clock: clock, base: clock.Now(), name: fmt.Sprint("tour-", n), known: map[int64]bool{}}
	queue := task.DefaultQueue
	if c.Limit > 0 {
		queue = "limited"
		r.must(st.SaveQueue(t.Context(), job.Queue{Name: queue, Concurrency: 10, GlobalLimit: c.Limit}))
	}
	r.must(st.CreateTask(t.Context(), task.Task{
		Namespace: r.name, Name: "t", Kind: task.KindFunc, Queue: queue, Timeout: task.MaxTimeout,
		Retry: task.Retry{MaxAttempts: int(c.Attempts), Backoff: task.BackoffFixed, Delay: core.Duration(tick), Jitter: -1},
	}))
	for j := range c.Jobs {
		r.ask(j)
	}
	if c.TTL == 0 {
		for w := range c.Workers {
			r.open(w)
		}
	}
	if c.Plan > 0 || c.Loop {
		r.must(st.CreateSchedule(t.Context(), r.rules()))
	}
	return r
}

// ask enqueues a job. Earlier jobs in the order have the higher priority.
func (r *replay) ask(j int) {
	priority := 100 - j
	made, err := r.st.Enqueue(r.Context(), []job.NewJob{{Namespace: r.name, Task: "t", Priority: &priority}})
	r.ok(err)
	r.jobs[j], r.attempts[j] = made[0].Job.ID, nil
}

func (r *replay) rules() schedule.Schedule {
	s := schedule.Schedule{Namespace: r.name, Name: "s", Task: "t"}
	if r.Loop {
		s.Rules = []schedule.Rule{{Every: core.Duration(tick), Anchor: schedule.AnchorFinish}}
		return s
	}
	s.Rules = []schedule.Rule{{Every: core.Duration(tick)}}
	s.Start, s.End = r.at(1), r.at(uint8(r.Plan))
	if r.Overlap == BufferOne {
		s.Overlap = schedule.OverlapBufferOne
	}
	return s
}

// at returns the instant n ticks after the start of the tour.
func (r *replay) at(n uint8) time.Time { return r.base.Add(time.Duration(n) * tick) }

func (r *replay) ok(err error) {
	r.Helper()
	if err != nil {
		r.fatal("%v", err)
	}
}

func (r *replay) must(_ any, err error) {
	r.Helper()
	r.ok(err)
}

// fatal ends the test with the whole tour so far.
func (r *replay) fatal(format string, args ...any) {
	r.Helper()
	text := ""
	for i, did := range r.did {
		text += fmt.Sprintf("\n%4d. %s", i+1, did)
	}
	r.Fatalf("%s: "+format+"%s", append(append([]any{r.name}, args...), text)...)
}

// tour takes the steps, and compares after each step that was not compared before. At
// its end it leaves no live rows that could affect the next tour.
func (r *replay) tour(g *check.Graph[State, Act], way []int32, compared []bool) {
	at := g.States[0]
	for _, edge := range way {
		e := g.Edges[edge]
		act, to := g.Acts[e.Act], g.States[e.To]
		r.did = append(r.did, act.String())
		r.take(at, act, to)
		if !compared[edge] {
			r.compare(to)
			compared[edge] = true
		}
		at = to
	}
	r.tidy()
}

func (r *replay) tidy() {
	ctx := r.Context()
	for _, s := range r.opened {
		r.ok(r.st.CloseSession(ctx, s))
	}
	if r.Plan > 0 || r.Loop {
		r.ok(r.st.DeleteSchedule(ctx, r.name, "s"))
	}
	r.must(r.st.CancelJobs(ctx, r.name, view.Selection{Filter: &job.Filter{Namespace: r.name}}))
}

package jobs_test

import (
	"path/filepath"
	"strconv"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/belfry-run/belfry/core"
	"github.com/belfry-run/belfry/job"
	"github.com/belfry-run/belfry/store"
	"github.com/belfry-run/belfry/store/sqlite"
	"github.com/belfry-run/belfry/task"
)

// emptying is a session that claims, by a clock of its own, from a store that
// counts its transitions.
type emptying struct {
	t       *testing.T
	st      *store.Store
	session string
	seen    *counting
	next    int
}

// What else is told of claims does not matter here.
func (c *counting) Claimed(string, int) {}

func (c *counting) Waited(string, task.Kind, time.Duration) {}

func emptyingSession(t *testing.T, run func(e *emptying)) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		seen := &counting{took: map[string]int{}}
		st, err := sqlite.Open(t.Context(), filepath.Join(t.TempDir(), "belfry.db"), sqlite.Options{Options: store.Options{Observer: seen, Poll: time.Second}})
		if err != nil {
			t.Fatal(err)
		}
		defer func() { _ = st.Close() }()
		if err := st.EnsureFuncs(t.Context(), "", []string{"t"}); err != nil {
			t.Fatal(err)
		}
		s, err := st.OpenSession(t.Context(), job.WorkerInfo{Name: "w", Kinds: []task.Kind{task.KindFunc}, Funcs: []string{"t"}, Queues: map[string]int{"default": 10}})
		if err != nil {
			t.Fatal(err)
		}
		run(&emptying{t: t, st: st, session: s.ID, seen: seen})
	})
}

func (e *emptying) enqueue(n int) {
	e.t.Helper()
	jobs := make([]job.NewJob, n)
	for i := range jobs {
		e.next++
		jobs[i] = job.NewJob{Task: "t", Kind: task.KindFunc, Input: []byte(strconv.Itoa(e.next))}
	}
	if _, err := e.st.Enqueue(e.t.Context(), jobs); err != nil {
		e.t.Fatal(err)
	}
}

// claim asks for at most n jobs and answers how many it got.
func (e *emptying) claim(n int, wait time.Duration) int {
	e.t.Helper()
	c, err := e.st.Claim(e.t.Context(), job.ClaimRequest{Session: e.session, Want: map[string]int{"default": n}, Wait: core.Duration(wait)})
	if err != nil || c.Jobs == nil {
		e.t.Fatalf("claim: %v %v", c, err)
	}
	return len(c.Jobs)
}

// looks expects so many looks at the ready jobs so far.
func (e *emptying) looks(want int, when string) {
	e.t.Helper()
	e.seen.mu.Lock()
	defer e.seen.mu.Unlock()
	if got := e.seen.took["claim"]; got != want {
		e.t.Errorf("%s there were %d looks, want %d", when, got, want)
	}
}

func TestAClaimThatTookAllIsFollowedByAWait(t *testing.T) {
	emptyingSession(t, func(e *emptying) {
		e.enqueue(2)
		if n := e.claim(5, time.Minute); n != 2 {
			t.Fatalf("claimed %d", n)
		}
		got := 0
		var waiting sync.WaitGroup
		waiting.Go(func() { got = e.claim(5, time.Minute) })
		synctest.Wait()
		e.looks(1, "while nothing was enqueued")
		time.Sleep(100 * time.Millisecond) // it goes along with what comes
		e.enqueue(1)
		waiting.Wait()
		e.looks(1, "once a job was there, which the enqueue leased")
		if got != 1 {
			t.Errorf("claimed %d", got)
		}
	})
}

func TestAClaimThatWaitsUnheardLooksAgain(t *testing.T) {
	emptyingSession(t, func(e *emptying) {
		e.enqueue(1)
		e.claim(5, time.Minute)
		began := time.Now()
		e.claim(5, 3*time.Second)
		if waited := time.Since(began); waited != 3*time.Second {
			t.Errorf("it waited %s", waited)
		}
		e.looks(3, "after three seconds of a poll and a fifth")
	})
}

func TestAClaimLooksAtOnce(t *testing.T) {
	for name, before := range map[string]struct {
		do    func(e *emptying)
		wait  time.Duration
		looks int
	}{
		"where the last took as many as it asked for": {func(e *emptying) { e.enqueue(2); e.claim(2, time.Minute) }, time.Minute, 2},
		"where jobs came since":                       {func(e *emptying) { e.enqueue(1); e.claim(2, time.Minute); e.enqueue(1) }, time.Minute, 2},
		"where it must not wait":                      {func(e *emptying) { e.enqueue(1); e.claim(2, time.Minute) }, 0, 2},
		"where the last was long ago":                 {func(e *emptying) { e.enqueue(1); e.claim(2, time.Minute); time.Sleep(time.Second) }, time.Minute, 2},
		"where the last waited and heard nothing":     {func(e *emptying) { e.enqueue(1); e.claim(2, time.Minute); e.claim(2, time.Millisecond) }, time.Minute, 2},
		"where the last was of another session": {func(e *emptying) {
			e.enqueue(1)
			own := e.session
			s, err := e.st.OpenSession(e.t.Context(), job.WorkerInfo{Name: "other", Kinds: []task.Kind{task.KindFunc}, Funcs: []string{"t"}, Queues: map[string]int{"default": 10}})
			if err != nil {
				e.t.Fatal(err)
			}
			e.session = s.ID
			e.claim(2, time.Minute)
			e.session = own
		}, time.Minute, 2},
		"where a limit over all workers was in the way": {func(e *emptying) {
			if _, err := e.st.SaveQueue(e.t.Context(), job.Queue{Name: "default", Concurrency: 10, GlobalLimit: 1}); err != nil {
				e.t.Fatal(err)
			}
			e.enqueue(2)
			e.claim(2, time.Minute)
		}, time.Minute, 3}, // the second after it has asked to hear of free places
	} {
		t.Run(name, func(t *testing.T) {
			emptyingSession(t, func(e *emptying) {
				before.do(e)
				e.looks(1, "before")
				var waiting sync.WaitGroup
				waiting.Go(func() { e.claim(2, before.wait) })
				synctest.Wait()
				e.looks(before.looks, "after")
				waiting.Wait()
			})
		})
	}
}

package store_test

import (
	"context"
	"errors"
	"path/filepath"
	"slices"
	"strconv"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/belfry-run/belfry/access"
	"github.com/belfry-run/belfry/core"
	"github.com/belfry-run/belfry/job"
	"github.com/belfry-run/belfry/store"
	"github.com/belfry-run/belfry/store/base"
	"github.com/belfry-run/belfry/store/sqlite"
)

// counting counts transitions by name.
type counting struct {
	store.Observer
	mu   sync.Mutex
	took map[string]int
}

func (c *counting) Took(name string, _ time.Duration, _ bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.took[name]++
}

// enqueue is a call of Enqueue whose transaction has to wait.
type enqueue struct {
	actor   string
	jobs    []job.NewJob
	givesUp bool // before the transaction begins
	out     []job.Enqueued
	err     error
}

// whileTheWriterIsBusy makes calls one after the other while the only writer is busy, and returns how many transitions they took.
func whileTheWriterIsBusy(t *testing.T, calls ...*enqueue) (transitions int) {
	t.Helper()
	seen := &counting{took: map[string]int{}}
	synctest.Test(t, func(t *testing.T) {
		st, err := sqlite.Open(t.Context(), filepath.Join(t.TempDir(), "belfry.db"), sqlite.Options{Options: store.Options{Observer: seen}})
		if err != nil {
			t.Fatal(err)
		}
		defer func() { _ = st.Close() }()
		if err := st.EnsureFuncs(t.Context(), "", []string{"t"}); err != nil {
			t.Fatal(err)
		}
		goOn := make(chan struct{})
		var all sync.WaitGroup
		all.Go(func() {
			_ = st.DB().Write(t.Context(), func(base.Tx, base.Moment) error {
				<-goOn
				return nil
			})
		})
		var givenUp []context.CancelFunc
		for _, c := range calls {
			synctest.Wait()
			ctx, cancel := context.WithCancel(access.WithActor(t.Context(), c.actor))
			defer cancel()
			if c.givesUp {
				givenUp = append(givenUp, cancel)
			}
			all.Go(func() { c.out, c.err = st.Enqueue(ctx, c.jobs) })
		}
		synctest.Wait()
		for _, cancel := range givenUp {
			cancel()
		}
		synctest.Wait()
		close(goOn)
		all.Wait()
	})
	return seen.took["enqueue"]
}

func jobs(n int) []job.NewJob {
	list := make([]job.NewJob, n)
	for i := range list {
		list[i] = job.NewJob{Task: "t", Tags: []string{strconv.Itoa(n)}}
	}
	return list
}

// The first call waits for the writer. Later calls join its transaction, instead of beginning one that would also have to wait.
func TestCallsJoinATransactionThatHasNotBegun(t *testing.T) {
	for name, c := range map[string]struct {
		calls       []*enqueue
		transitions int
	}{
		"by one actor":                     {[]*enqueue{{actor: "ann", jobs: jobs(1)}, {actor: "ann", jobs: jobs(2)}, {actor: "ann", jobs: jobs(3)}}, 1},
		"by two actors":                    {[]*enqueue{{actor: "ann", jobs: jobs(1)}, {actor: "bob", jobs: jobs(2)}, {actor: "bob", jobs: jobs(3)}}, 2},
		"as many as fit":                   {[]*enqueue{{actor: "ann", jobs: jobs(1)}, {actor: "ann", jobs: jobs(core.MaxBatch - 1)}, {actor: "ann", jobs: jobs(2)}}, 2},
		"after a call of the largest size": {[]*enqueue{{actor: "ann", jobs: jobs(core.MaxBatch)}, {actor: "ann", jobs: jobs(2)}}, 2},
	} {
		t.Run(name, func(t *testing.T) {
			if n := whileTheWriterIsBusy(t, c.calls...); n != c.transitions {
				t.Errorf("got %d transitions, want %d", n, c.transitions)
			}
			for i, call := range c.calls {
				want := strconv.Itoa(len(call.jobs))
				if call.err != nil || len(call.out) != len(call.jobs) || slices.ContainsFunc(call.out, func(e job.Enqueued) bool { return e.Job.Tags[0] != want }) {
					t.Errorf("call %d: got %d jobs (%+v) and error %v, want its own %s jobs", i, len(call.out), call.out, call.err, want)
				}
			}
		})
	}
}

func TestARefusedOrCanceledCallDoesNotEndOthers(t *testing.T) {
	first := &enqueue{jobs: jobs(1), givesUp: true}
	bad := &enqueue{jobs: []job.NewJob{{Task: "no-such"}}}
	good := &enqueue{jobs: jobs(2)}
	last := &enqueue{jobs: jobs(3), givesUp: true}
	whileTheWriterIsBusy(t, first, bad, good, last)
	if good.err != nil || len(good.out) != 2 {
		t.Errorf("good call: got %d jobs and error %v, want 2 jobs", len(good.out), good.err)
	}
	if core.CodeOf(bad.err) != core.NotFound {
		t.Errorf("refused call: got error %v, want not found", bad.err)
	}
	if first.err != nil || len(first.out) != 1 {
		t.Errorf("call that had begun when its caller gave up: got %d jobs and error %v, want 1 job", len(first.out), first.err)
	}
	if !errors.Is(last.err, context.Canceled) || last.out != nil {
		t.Errorf("call whose caller gave up before it began: got %d jobs and error %v, want a canceled context", len(last.out), last.err)
	}
}

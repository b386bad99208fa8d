package store_test

import (
	"context"
	"path/filepath"
	"reflect"
	"runtime"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/belfry-run/belfry/core"
	"github.com/belfry-run/belfry/job"
	"github.com/belfry-run/belfry/store"
	"github.com/belfry-run/belfry/store/base"
	"github.com/belfry-run/belfry/store/internal/both"
	"github.com/belfry-run/belfry/store/sqlite"
	"github.com/belfry-run/belfry/task"
)

// noted is a database that records the statements of transitions.
type noted struct {
	base.DB
	mu    sync.Mutex
	asked []string
}

func (n *noted) Write(ctx context.Context, fn func(base.Tx, base.Moment) error) error {
	return n.DB.Write(ctx, func(tx base.Tx, at base.Moment) error { return fn(notedTx{tx, n}, at) })
}

type notedTx struct {
	base.Tx
	n *noted
}

func (t notedTx) Query(ctx context.Context, query string, args ...any) (base.Rows, error) {
	t.n.mu.Lock()
	t.n.asked = append(t.n.asked, query)
	t.n.mu.Unlock()
	return t.Tx.Query(ctx, query, args...)
}

// looked reports whether a statement has looked for ready jobs since the last call.
func (n *noted) looked() (looked bool) {
	n.mu.Lock()
	defer n.mu.Unlock()
	for _, query := range n.asked {
		looked = looked || strings.Contains(query, "from belfry.jobs") && strings.Contains(query, "where state = 'ready'")
	}
	n.asked = nil
	return looked
}

func openNoted(t *testing.T) (*noted, *store.Store) {
	t.Helper()
	under, err := sqlite.Open(t.Context(), filepath.Join(t.TempDir(), "belfry.db"), sqlite.Options{})
	if err != nil {
		t.Fatal(err)
	}
	n := &noted{DB: under.DB()}
	st := store.New(n, heard)
	t.Cleanup(func() { _ = st.Close() })
	if err := st.EnsureFuncs(t.Context(), "", []string{"t"}); err != nil {
		t.Fatal(err)
	}
	return n, st
}

// A claim that found no job, and was not woken since, gets new jobs without a query for them.
func TestHandedOverJobsNeedNoLook(t *testing.T) {
	t.Parallel()
	n, st := openNoted(t)
	session := openWaiting(t, st, "t")
	for i := range 5 {
		w := claimAndWait(t.Context(), t, st, session, 3)
		n.looked()
		enqueueFuncs(t, st, 1+i%3, job.NewJob{Task: "t"})
		if !w.expect(t, st, 1+i%3) {
			t.Error("the enqueue did not carry out the waiting claim")
		}
		if n.looked() {
			t.Errorf("round %d: a statement looked for ready jobs, want none", i)
		}
	}
	w := claimAndWait(t.Context(), t, st, session, 3)
	n.looked()
	enqueueFuncs(t, st, 4, job.NewJob{Task: "t"})
	w.expect(t, st, 3) // for more jobs than the claim wants, it looks for them
	if !n.looked() {
		t.Error("no statement looked for ready jobs, want one")
	}
	if c, err := st.Claim(t.Context(), job.ClaimRequest{Session: session, Want: map[string]int{"default": 3}}); err != nil || len(c.Jobs) != 1 {
		t.Errorf("next claim: got %+v and error %v, want 1 job", c, err)
	}
}

// A claim looks for jobs if it may have missed some.
func TestAClaimThatMayHaveMissedSomethingLooks(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		job   job.NewJob
		spoil func(ctx context.Context, st *store.Store) error
	}{
		"another program wrote to the file": {job.NewJob{Task: "t"}, func(ctx context.Context, st *store.Store) error {
			db := st.DB().(*noted).DB.(*sqlite.DB).SQL()
			_, err := db.ExecContext(ctx, "create table own (x)")
			return err
		}},
		"the last look was long ago": {job.NewJob{Task: "t"}, func(_ context.Context, st *store.Store) error {
			st.SeesNothingEarlier("default", heard.Poll)
			return nil
		}},
		"the queue has a limit": {job.NewJob{Task: "t"}, func(ctx context.Context, st *store.Store) error {
			_, err := st.SaveQueue(ctx, job.Queue{Name: "default", Concurrency: 10, GlobalLimit: 5})
			return err
		}},
		"the job has a requirement": {job.NewJob{Task: "needy"}, func(ctx context.Context, st *store.Store) error {
			_, err := st.UpdateTask(ctx, task.Task{Name: "needy", Kind: task.KindFunc, Requirements: task.Requirements{Labels: map[string]string{"x": "y"}}})
			return err
		}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			n, st := openNoted(t)
			ctx, cancel := context.WithCancel(t.Context())
			session := openWaiting(t, st, "t", "needy")
			w := claimAndWait(ctx, t, st, session, 3)
			if err := c.spoil(ctx, st); err != nil {
				t.Fatal(err)
			}
			for st.WaitingClaims("default") == 0 { // the claim may have been woken, and then waits again
				runtime.Gosched()
			}
			n.looked()
			enqueueFuncs(t, st, 1, c.job)
			if !n.looked() {
				t.Error("no statement looked for ready jobs, want one")
			}
			cancel()
			<-w.got
		})
	}
}

// A claim gets a handed-over job as it would have read it.
func TestAJobThatIsHandedOverIsAsInTheRecord(t *testing.T) {
	t.Parallel()
	both.With(t, heard, func(t *testing.T, st *store.Store) {
		seven := 7
		if _, err := st.CreateTask(t.Context(), task.Task{
			Name: "t", Kind: task.KindFunc, Priority: 2, Timeout: core.Duration(90 * time.Second), Tags: []string{"a"}, Input: []byte(`{"of": "task"}`),
			Retry: task.Retry{MaxAttempts: 4},
		}); err != nil {
			t.Fatal(err)
		}
		session := openWaiting(t, st, "t")
		input := []byte(`[1,  2]`)
		for name, job := range map[string]job.NewJob{
			"as its task says": {},
			"with its own":     {Input: input, Tags: []string{"b", "c"}, Priority: &seven, MaxAttempts: 2, Timeout: core.Duration(time.Second + 7*time.Nanosecond)},
		} {
			w := claimAndWait(t.Context(), t, st, session, 2)
			job.Task = "t"
			enqueueFuncs(t, st, 1, job)
			c := <-w.got
			if w.err != nil || len(c.Jobs) != 1 {
				t.Fatalf("%s: claim: got %+v and error %v, want 1 job", name, c, w.err)
			}
			want, err := st.Job(t.Context(), core.DefaultNamespace, c.Jobs[0].Job.ID)
			if err != nil {
				t.Fatal(err)
			}
			if got := c.Jobs[0].Job; !reflect.DeepEqual(got, want) {
				t.Errorf("%s: leased job: got\n%+v\nwant the stored job\n%+v", name, got, want)
			}
			if name == "with its own" {
				if input[0] = '{'; c.Jobs[0].Job.Input[0] != '[' {
					t.Error("the input of the leased job shares memory with the input of the enqueue")
				}
				if input[0] = '['; c.Jobs[0].Task == nil {
					t.Error("the leased job has no task")
				}
			}
			recorded(t, st, session, c)
		}
	})
}

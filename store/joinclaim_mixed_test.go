package store_test

import (
	"fmt"
	"testing"

	"github.com/belfry-run/belfry/job"
	"github.com/belfry-run/belfry/store"
	"github.com/belfry-run/belfry/store/internal/both"
	"github.com/belfry-run/belfry/task"
)

// A batch of new and existing jobs is answered as a whole, with and without a waiting claim.
func TestABatchOfNewAndExistingJobs(t *testing.T) {
	t.Parallel()
	free := job.NewJob{Task: "t", Kind: task.KindFunc}
	with := func(key, active string) job.NewJob {
		n := free
		n.Key, n.ActiveKey = key, active
		return n
	}
	for name, batch := range map[string]struct {
		ask  []job.NewJob
		same []int // index of the job in the answer to each; -1: the finished job, -2: the job with the active key
	}{
		"new and a key that is taken": {[]job.NewJob{free, with("done", "")}, []int{0, -1}},
		"a key that is taken and new": {[]job.NewJob{with("done", ""), free}, []int{-1, 1}},
		"two new beside a key that is taken twice": {
			[]job.NewJob{free, with("done", ""), free, with("done", "")}, []int{0, -1, 2, -1},
		},
		"a new key twice":                    {[]job.NewJob{with("a", ""), with("a", "")}, []int{0, 0}},
		"new and a new key twice":            {[]job.NewJob{free, with("a", ""), with("a", "")}, []int{0, 1, 1}},
		"new and an active key that is held": {[]job.NewJob{free, with("", "held")}, []int{0, -2}},
		"new and a free active key":          {[]job.NewJob{free, with("", "b")}, []int{0, 1}},
		"an active key twice":                {[]job.NewJob{free, with("", "b"), with("", "b")}, []int{0, 1, 1}},
		"a new key for what is active":       {[]job.NewJob{with("c", "held"), free, with("c", "held")}, []int{-2, 1, -2}},
		"all of it": {
			[]job.NewJob{with("done", ""), free, with("a", ""), with("", "held"), with("a", ""), with("", "b")},
			[]int{-1, 1, 2, -2, 2, 5},
		},
	} {
		for _, waiting := range []bool{false, true} {
			t.Run(fmt.Sprintf("%s, a claim waits %v", name, waiting), func(t *testing.T) {
				t.Parallel()
				both.With(t, heard, func(t *testing.T, st *store.Store) {
					mixed(t, st, batch.ask, batch.same, waiting)
				})
			})
		}
	}
}

func mixed(t *testing.T, st *store.Store, ask []job.NewJob, same []int, waiting bool) {
	t.Helper()
	ctx := t.Context()
	if err := st.EnsureFuncs(ctx, "", []string{"t"}); err != nil {
		t.Fatal(err)
	}
	session := openWaiting(t, st, "t")
	// A process learns the queue of a task from its last job.
	w := claimAndWait(ctx, t, st, session, 1)
	enqueueFuncs(t, st, 1, job.NewJob{Task: "t"})
	recorded(t, st, session, <-w.got)
	there := map[int]int64{}
	for place, n := range map[int]job.NewJob{
		-1: {Task: "t", Kind: task.KindFunc, Key: "done"}, -2: {Task: "t", Kind: task.KindFunc, ActiveKey: "held"},
	} {
		w := claimAndWait(ctx, t, st, session, 1)
		es, err := st.Enqueue(ctx, []job.NewJob{n})
		if err != nil {
			t.Fatal(err)
		}
		there[place] = es[0].Job.ID
		if c := <-w.got; place == -1 {
			recorded(t, st, session, c)
		} else if len(c.Jobs) != 1 {
			t.Fatalf("claim of the job with an active key: got %d jobs and error %v, want 1 job", len(c.Jobs), w.err)
		}
	}
	if waiting {
		w = claimAndWait(ctx, t, st, session, 9)
	}
	es, err := st.Enqueue(ctx, ask)
	if err != nil || len(es) != len(ask) {
		t.Fatalf("enqueue: got %d answers and error %v, want %d answers", len(es), err, len(ask))
	}
	fresh := 0
	for i, e := range es {
		want, ok := there[same[i]]
		if !ok {
			want = es[same[i]].Job.ID
		}
		if e.Job.ID != want || e.Existing != (same[i] != i) {
			t.Errorf("answer %d: got job %d, existing %v, want job %d, existing %v", i, e.Job.ID, e.Existing, want, same[i] != i)
		}
		if same[i] == i {
			fresh++
		}
	}
	claimed := 0
	if waiting {
		c := <-w.got
		if claimed = len(c.Jobs); claimed == 0 || w.err != nil {
			t.Fatalf("waiting claim: got %d jobs and error %v, want at least 1 job", claimed, w.err)
		}
		recorded(t, st, session, c)
	}
	rest, err := st.Claim(ctx, job.ClaimRequest{Session: session, Want: map[string]int{"default": 9}})
	if err != nil || claimed+len(rest.Jobs) != fresh {
		t.Errorf("claims: got %d and %d jobs and error %v, want %d new jobs in all", claimed, len(rest.Jobs), err, fresh)
	}
	recorded(t, st, session, rest)
}

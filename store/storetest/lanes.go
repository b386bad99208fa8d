package storetest

import (
	"fmt"
	"testing"
	"time"

	"github.com/belfry-run/belfry/job"
	"github.com/belfry-run/belfry/store"
	"github.com/belfry-run/belfry/store/base"
	"github.com/belfry-run/belfry/task"
)

func init() {
	add("among jobs that a session cannot run, it gets its own in the order of the queue", caseAmongJobsThatASessionCannotRun)
}

func caseAmongJobsThatASessionCannotRun(b *bench) {
	for _, name := range []string{"a", "b", "z"} {
		b.task(name)
	}
	s := b.session("a", "b")
	job := func(task string, priority int) int64 {
		b.clock.Move(time.Millisecond)
		return b.enqueue(job.NewJob{Task: task, Priority: &priority}).ID
	}
	took := func(n int) (ids []int64) {
		for _, j := range b.claim(s, n).Jobs {
			ids = append(ids, j.Job.ID)
		}
		return ids
	}
	job("z", 9)
	job("z", 5)
	want(b, "jobs of other tasks claimed", len(took(5)), 0)
	a5, b5, b7, a7, a1 := job("a", 5), job("b", 5), job("b", 7), job("a", 7), job("a", 1)
	want(b, "the first two", fmt.Sprint(took(2)), fmt.Sprint([]int64{b7, a7}))
	job("z", 8)
	b6 := job("b", 6)
	want(b, "next two jobs", fmt.Sprint(took(2)), fmt.Sprint([]int64{b6, a5}))
	want(b, "remaining jobs", fmt.Sprint(took(5)), fmt.Sprint([]int64{b5, a1}))
	want(b, "further jobs", len(took(5)), 0)
	want(b, "jobs of the other tasks", len(b.claim(b.session("z"), 10).Jobs), 3)
	for _, name := range manyTasks(200) { // before its own task, among and after the others
		b.task(name)
		job(name, 9)
	}
	a2, b3 := job("a", 2), job("b", 3)
	want(b, "among those of many tasks", fmt.Sprint(took(5)), fmt.Sprint([]int64{b3, a2}))
	want(b, "jobs of many tasks", len(b.claim(b.session(manyTasks(200)...), 300).Jobs), 200)
	want(b, "job of a queue that is no longer mixed", fmt.Sprint(job("a", 3)), fmt.Sprint(took(5)[0]))
}

// manyTasks returns so many names of tasks.
func manyTasks(n int) (names []string) {
	for i := range n {
		names = append(names, fmt.Sprintf("%c%d", "Aabz"[i%4], i))
	}
	return names
}

// copied has the columns that copies of a job share.
const copied = `namespace, task_id, kind, queue, priority, state, tags, trigger, due_at, ready_at, turn, created_at, max_attempts, timeout`

// CannotRun compares the costs of transitions beside few and beside many jobs that a session cannot run. The costs may double,
// and grow by slack. cost is a counter that only grows, and is read while no store is open. series returns a from-item of the
// numbers 1 to n as n.
func CannotRun(t *testing.T, open func() *store.Store, many int, slack int64, cost func() int64, series func(n int) string) {
	t.Helper()
	ctx := t.Context()
	check := func(err error) {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
	}
	with := func(do func(st *store.Store)) {
		st := open()
		do(st)
		check(st.Close())
	}
	var other int64
	with(func(st *store.Store) {
		for _, name := range []string{"own", "others"} {
			_, err := st.CreateTask(ctx, task.Task{Name: name})
			check(err)
		}
		made, err := st.Enqueue(ctx, []job.NewJob{{Task: "others"}})
		check(err)
		other = made[0].Job.ID
	})
	next := other + 1_000_000_000
	// fill adds jobs of a task, whose name is an expression of n.
	fill := func(n int, task string) {
		with(func(st *store.Store) {
			check(st.DB().Write(ctx, func(tx base.Tx, _ base.Moment) error {
				_, err := tx.Exec(ctx, fmt.Sprintf(`insert into belfry.jobs (id, task, %s) select %d + n, %s, %s from belfry.jobs, %s where id = %d`, copied, next, task, copied, series(n), other))
				return err
			}))
		})
		next += int64(n)
	}
	work := func(st *store.Store) {
		s, err := st.OpenSession(ctx, job.WorkerInfo{Name: "w", Kinds: []task.Kind{task.KindFunc}, Funcs: []string{"own"}, Queues: map[string]int{"default": 10}})
		check(err)
		for range 10 {
			for _, task := range []string{"others", "own"} {
				_, err := st.Enqueue(ctx, []job.NewJob{{Task: task}})
				check(err)
			}
			c, err := st.Claim(ctx, job.ClaimRequest{Session: s.ID, Want: map[string]int{"default": 10}})
			check(err)
			if len(c.Jobs) != 1 || c.Jobs[0].Job.Task != "own" {
				t.Fatalf("claim: got %+v, want the session's own job", c.Jobs)
			}
			none, err := st.Claim(ctx, job.ClaimRequest{Session: s.ID, Want: map[string]int{"default": 10}})
			check(err)
			if len(none.Jobs) > 0 {
				t.Fatalf("second claim: got %+v, want none", none.Jobs)
			}
			ref := job.Ref{JobID: c.Jobs[0].Job.ID, Lease: c.Lease}
			_, err = st.Renew(ctx, s.ID, job.Held(ref))
			check(err)
			_, err = st.PauseQueue(ctx, "default", "")
			check(err)
			_, err = st.ResumeQueue(ctx, "default")
			check(err)
			_, err = st.Finish(ctx, s.ID, []job.Finish{{Ref: ref, Outcome: job.OutcomeOK}})
			check(err)
		}
	}
	passed := func() int64 {
		before := cost()
		with(work)
		return cost() - before
	}
	fill(1000, `task`)
	few := passed()
	for _, more := range []struct{ task, what string }{
		{`task`, "of one task"},
		{`'others-' || (n % 500)`, "of 500 tasks"},
	} {
		fill(many, more.task)
		beside := passed()
		t.Logf("%d beside a thousand, %d beside %d more %s", few, beside, many, more.what)
		if few == 0 || beside > 2*few+slack {
			t.Errorf("cost of transitions beside jobs that the session cannot run: got %d beside a thousand and %d beside %d more %s, want at most twice as much", few, beside, many, more.what)
		}
	}
}

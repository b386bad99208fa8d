package interleave

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"

	"github.com/belfry-run/belfry/core"
	"github.com/belfry-run/belfry/internal/pgtest"
	"github.com/belfry-run/belfry/job"
	"github.com/belfry-run/belfry/schedule"
	"github.com/belfry-run/belfry/store"
	"github.com/belfry-run/belfry/store/postgres"
	"github.com/belfry-run/belfry/store/storetest"
	"github.com/belfry-run/belfry/task"
	"github.com/belfry-run/belfry/view"
)

// world is a database with two nodes, in which pairs of transitions are played one after the other.
type world struct {
	t       testing.TB
	ctx     context.Context
	clock   *storetest.Clock
	nodes   [2]*store.Store
	watch   *pgx.Conn
	session string           // has the lease of the running job; its time is over, but it is not given up
	other   string           // claims
	jobs    map[string]int64 // by role
	lease   int64
	leases  map[string]int64 // lease numbers by role, in flows

	start, rest func() // called before and after a pair
	more        string // query for additional rows
}

// late is the time without passes of an engine: longer than a session lives.
const late = 90 * time.Second

func newWorld(t testing.TB) *world {
	w := &world{t: t, ctx: t.Context(), clock: storetest.NewClock()}
	url := pgtest.Migrated(t, postgres.Migrate)
	pgtest.NoDeadlocks(t, url)
	for i := range w.nodes {
		cfg, err := pgxpool.ParseConfig(url)
		w.must(err)
		cfg.MaxConns, cfg.ConnConfig.Tracer = 2, gate{}
		pool, err := pgxpool.NewWithConfig(w.ctx, cfg)
		w.must(err)
		t.Cleanup(pool.Close)
		w.nodes[i], err = postgres.New(w.ctx, pool, postgres.Options{Options: store.Options{Clock: w.clock.Now}, Wakeups: "poll"})
		w.must(err)
		st := w.nodes[i]
		t.Cleanup(func() { _ = st.Close() })
	}
	var err error
	w.watch, err = pgx.Connect(w.ctx, url)
	w.must(err)
	t.Cleanup(func() { _ = w.watch.Close(context.Background()) })
	w.start, w.rest = w.begin, func() {}
	return w
}

func (w *world) must(err error) {
	w.t.Helper()
	if err != nil {
		w.t.Fatal(err)
	}
}

// begin creates the initial state: a running job, a ready one, a delayed one that is due, a failed one, and a due schedule.
func (w *world) begin() {
	w.t.Helper()
	w.clear()
	w.clock.Move(2*time.Hour - late) // on the minute
	st := w.nodes[0]
	_, err := st.CreateTask(w.ctx, task.Task{Name: "t", Kind: task.KindFunc, Retry: task.Retry{MaxAttempts: 3, Delay: core.Duration(time.Second), Backoff: task.BackoffFixed}})
	w.must(err)
	_, err = st.CreateSchedule(w.ctx, schedule.Schedule{Name: "s", Task: "t", Rules: []schedule.Rule{{Cron: "* * * * *"}}})
	w.must(err)
	w.session = w.open("one")
	w.jobs = map[string]int64{"failed": w.enqueue(job.NewJob{})}
	failed := w.claim(st)
	_, err = st.Finish(w.ctx, w.session, []job.Finish{{Ref: failed, Outcome: job.OutcomeError, Error: "no", NoRetry: true}})
	w.must(err)
	w.jobs["running"] = w.enqueue(job.NewJob{})
	w.lease = w.claim(st).Lease
	w.jobs["ready"] = w.enqueue(job.NewJob{ActiveKey: "a"})
	w.jobs["delayed"] = w.enqueue(job.NewJob{Delay: core.Duration(time.Minute)})
	w.clock.Move(late)
	w.other = w.open("two")
}

// clear removes the rows of the previous pair.
func (w *world) clear() {
	w.t.Helper()
	_, err := w.watch.Exec(w.ctx, `
		delete from belfry.jobs; delete from belfry.jobs_done; delete from belfry.attempts; delete from belfry.leases; delete from belfry.packs;
		delete from belfry.sessions; delete from belfry.schedules; delete from belfry.occurrences; delete from belfry.tasks; delete from belfry.job_keys;
		delete from belfry.runs_again; delete from belfry.audit; update belfry.queues set paused_at = 0`)
	w.must(err)
}

func (w *world) open(name string) string { return w.openFor(name, "default") }

func (w *world) openFor(name string, queues ...string) string {
	w.t.Helper()
	slots := map[string]int{}
	for _, q := range queues {
		slots[q] = 10
	}
	s, err := w.nodes[0].OpenSession(w.ctx, job.WorkerInfo{Name: name, Kinds: []task.Kind{task.KindFunc}, Funcs: []string{"k", "line", "t"}, Queues: slots})
	w.must(err)
	return s.ID
}

func (w *world) enqueue(n job.NewJob) int64 {
	w.t.Helper()
	n.Task = "t"
	es, err := w.nodes[0].Enqueue(w.ctx, []job.NewJob{n})
	w.must(err)
	return es[0].Job.ID
}

func (w *world) claim(st *store.Store) job.Ref {
	w.t.Helper()
	got, err := st.Claim(w.ctx, job.ClaimRequest{Session: w.session, Want: map[string]int{"default": 1}})
	w.must(err)
	if len(got.Jobs) != 1 {
		w.t.Fatalf("%d jobs claimed", len(got.Jobs))
	}
	return job.Ref{JobID: got.Jobs[0].Job.ID, Lease: got.Lease}
}

// role returns the role name of a job. Jobs that were created by transitions have none.
func (w *world) role(id int64) string {
	for name, known := range w.jobs {
		if known == id {
			return name
		}
	}
	return "new"
}

// transition is a transition of the store. Its answer is a text that depends only on the state of the world.
type transition struct {
	name string
	do   func(ctx context.Context, w *world, st *store.Store) (answer any, err error)
}

var transitions = []transition{
	{"enqueue", func(ctx context.Context, w *world, st *store.Store) (any, error) {
		es, err := st.Enqueue(ctx, []job.NewJob{{Task: "t", Key: "k"}})
		return w.enqueued(es), err
	}},
	{"enqueue with an active key", func(ctx context.Context, w *world, st *store.Store) (any, error) {
		es, err := st.Enqueue(ctx, []job.NewJob{{Task: "t", ActiveKey: "a"}})
		return w.enqueued(es), err
	}},
	{"claim", func(ctx context.Context, w *world, st *store.Store) (any, error) {
		got, err := st.Claim(ctx, job.ClaimRequest{Session: w.other, Want: map[string]int{"default": 2}})
		var roles []string
		for _, j := range got.Jobs {
			roles = append(roles, w.role(j.Job.ID))
			if j.Job.Lease <= w.lease {
				return nil, fmt.Errorf("lease %d after %d", j.Job.Lease, w.lease)
			}
		}
		slices.Sort(roles)
		return roles, err
	}},
	finish("succeed", job.Finish{Outcome: job.OutcomeOK}),
	finish("fail", job.Finish{Outcome: job.OutcomeError, Error: "no"}),
	finish("hand back", job.Finish{Outcome: job.OutcomeHandedBack}),
	{"renew", func(ctx context.Context, w *world, st *store.Store) (any, error) {
		r, err := st.Renew(ctx, w.session, job.Held(job.Ref{JobID: w.jobs["running"], Lease: w.lease}))
		return fmt.Sprint(r.Lost, len(r.Cancel)), err
	}},
	{"release lost", func(ctx context.Context, _ *world, st *store.Store) (any, error) { return st.ReleaseLost(ctx) }},
	{"cancel what runs", func(ctx context.Context, w *world, st *store.Store) (any, error) { return w.cancel(ctx, st, "running") }},
	{"cancel what is ready", func(ctx context.Context, w *world, st *store.Store) (any, error) { return w.cancel(ctx, st, "ready") }},
	{"pause", func(ctx context.Context, _ *world, st *store.Store) (any, error) {
		q, err := st.PauseQueue(ctx, "default", "")
		return !q.PausedAt.IsZero(), err
	}},
	{"resume", func(ctx context.Context, _ *world, st *store.Store) (any, error) {
		q, err := st.ResumeQueue(ctx, "default")
		return !q.PausedAt.IsZero(), err
	}},
	{"fire", func(ctx context.Context, _ *world, st *store.Store) (any, error) {
		f, err := st.FireDue(ctx)
		return f.Jobs, err
	}},
	{"promote", func(ctx context.Context, _ *world, st *store.Store) (any, error) {
		p, err := st.Promote(ctx)
		return p.Jobs, err
	}},
	{"retry", func(ctx context.Context, w *world, st *store.Store) (any, error) {
		s, err := st.RetryJobs(ctx, "default", view.Selection{IDs: []int64{w.jobs["failed"]}})
		return len(s.IDs), err
	}},
	{"run again", func(ctx context.Context, w *world, st *store.Store) (any, error) {
		e, err := st.RunJobAgain(ctx, "default", w.jobs["failed"], job.RunAgain{})
		return w.enqueued([]job.Enqueued{e}), err
	}},
	{"delete task", func(ctx context.Context, _ *world, st *store.Store) (any, error) {
		return nil, st.DeleteTask(ctx, "default", "t")
	}},
}

func finish(name string, f job.Finish) transition {
	return transition{name, func(ctx context.Context, w *world, st *store.Store) (any, error) {
		f := f
		f.Ref = job.Ref{JobID: w.jobs["running"], Lease: w.lease}
		out, err := st.Finish(ctx, w.session, []job.Finish{f})
		if err != nil {
			return nil, err
		}
		return fmt.Sprint(out[0].Stale, out[0].State), nil
	}}
}

func (w *world) enqueued(es []job.Enqueued) string {
	var all []string
	for _, e := range es {
		all = append(all, fmt.Sprint(w.role(e.Job.ID), e.Existing))
	}
	return strings.Join(all, ", ")
}

func (w *world) cancel(ctx context.Context, st *store.Store, role string) (any, error) {
	s, err := st.CancelJobs(ctx, "default", view.Selection{IDs: []int64{w.jobs[role]}})
	return len(s.IDs), err
}

// rows returns the final rows without numbers that differ from run to run.
func (w *world) rows() string {
	w.t.Helper()
	rows, err := w.watch.Query(w.ctx, `
		select id, concat_ws(' ', case when job_id is null then state else 'running' end, reason, trigger, 'attempt', attempt, 'failures', failures, infra,
			(select s.name from belfry.sessions s where s.id = l.session), case when cancel_at > 0 then 'to end' end, active_key, idem_key)
		from belfry.live l
		union all
		select id, concat_ws(' ', 'done', state, reason, trigger, 'attempt', attempt, 'failures', failures, infra, outcome, active_key, idem_key) from belfry.jobs_done
		union all
		select job_id, concat_ws(' ', 'an attempt', number, outcome) from belfry.attempts
		union all
		select 0, concat_ws(' ', 'session', name, ended_at > 0, lost, renewed_at < expires_at - ttl) from belfry.sessions
		union all
		select 0, concat_ws(' ', 'occurrences', count(*)) from belfry.occurrences
		union all
		select 0, concat_ws(' ', 'schedule', state, runs) from belfry.schedules
		union all
		select 0, concat_ws(' ', 'queue', name, paused_at > 0) from belfry.queues where name = 'default'
		union all
		select 0, concat_ws(' ', 'key', regexp_replace(name, '[0-9]+', '')) from belfry.job_keys
		union all
		select 0, concat_ws(' ', 'task', name) from belfry.tasks`+w.more)
	w.must(err)
	all, err := pgx.CollectRows(rows, func(r pgx.CollectableRow) (string, error) {
		var id int64
		var text string
		err := r.Scan(&id, &text)
		if id > 0 {
			text = w.role(id) + ": " + text
		}
		return text, err
	})
	w.must(err)
	slices.Sort(all)
	return strings.Join(all, "\n")
}

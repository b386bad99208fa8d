package storetest

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"time"

	"github.com/belfry-run/belfry/core"
	"github.com/belfry-run/belfry/flow"
	"github.com/belfry-run/belfry/job"
	"github.com/belfry-run/belfry/task"
)

func init() {
	add("limits hold under random histories of enqueues, ends, losses, cancels and edits", limitHistories)
}

// limitRun is a random history of jobs under limits, with the jobs that its one session holds.
type limitRun struct {
	*bench
	r    *rand.Rand
	s    job.Session
	held []job.LeasedJob
}

// settleSome ends some of the held jobs, each in a random way.
func (h *limitRun) settleSome() {
	h.Helper()
	some := 1 + h.r.IntN(len(h.held))
	var fs []job.Finish
	for _, j := range h.held[:some] {
		outcome := []job.Outcome{job.OutcomeOK, job.OutcomeOK, job.OutcomeError, job.OutcomeHandedBack, job.OutcomeSnoozed}[h.r.IntN(5)]
		fs = append(fs, job.Finish{Ref: refOf(j), Outcome: outcome, Error: "x", Snooze: core.Duration(time.Second)})
	}
	must(h.st.Finish(h.ctx, h.s.ID, fs))(h.bench)
	h.held = h.held[some:]
}

// oneOf returns a random job in one of the states, if there is one.
func (h *limitRun) oneOf(limit int, states ...job.State) (id int64, found bool) {
	h.Helper()
	p := must(h.st.Jobs(h.ctx, job.Filter{States: states, Paging: core.Paging{Limit: limit}}))(h.bench)
	if len(p.Items) == 0 {
		return 0, false
	}
	return p.Items[h.r.IntN(len(p.Items))].ID, true
}

func (h *limitRun) cancelOne() {
	h.Helper()
	if id, found := h.oneOf(1000, job.Ready, job.Waiting, job.Scheduled, job.Running); found {
		h.cancel(id)
	}
}

func (h *limitRun) retryOne() {
	h.Helper()
	if id, found := h.oneOf(20, job.Failed, job.Canceled); found {
		h.retry(id)
	}
}

// drain runs all jobs to their end, and expects that none is left and that no limit counts one.
func (h *limitRun) drain(claim func() []job.LeasedJob) {
	h.Helper()
	for range 2000 {
		if h.count(`select count(*) from belfry.jobs`) == 0 {
			break
		}
		for _, j := range slices.Concat(h.held, claim()) {
			h.finish(h.s, j, job.OutcomeOK)
		}
		h.held = nil
		h.clock.Move(15 * time.Second)
		h.renew(h.s)
		h.promote()
	}
	want(h.bench, "left", h.count(`select count(*) from belfry.jobs`)+h.count(`select count(*) from belfry.limit_jobs`), 0)
}

func limitHistories(b *bench) {
	seed := rand.Uint64()
	b.Logf("seed %d", seed)
	r := rand.New(rand.NewPCG(seed, 1))
	running, all := 2, 7
	t := b.task("work", limited(flow.Limit{Name: "all", Running: all}, flow.Limit{Name: "each", Key: "input.customer", Running: running}),
		func(t *task.Task) { t.Retry.MaxAttempts = 3; t.Retry.Delay = core.Duration(10 * time.Second) })
	h := &limitRun{bench: b, r: r, s: b.session("work")}
	lowered := int64(0) // running jobs above a limit that was lowered
	for step := range 120 {
		switch n := r.IntN(20); {
		case n < 6:
			var ns []job.NewJob
			for range 1 + r.IntN(8) {
				c := customer(r.IntN(4))
				c.Priority = new(r.IntN(3))
				if r.IntN(5) == 0 {
					c.Delay = core.Duration(time.Duration(r.IntN(30)) * time.Second)
				}
				if r.IntN(6) == 0 {
					c.ActiveKey = fmt.Sprint(r.IntN(3))
				}
				ns = append(ns, c)
			}
			must(b.st.Enqueue(b.ctx, ns))(b)
		case n < 10:
			h.held = append(h.held, b.claim(h.s, 1+r.IntN(12)).Jobs...)
		case n < 15 && len(h.held) > 0:
			h.settleSome()
		case n < 16:
			h.cancelOne()
		case n < 17 && step%3 == 0: // the worker is lost
			b.clock.Move(2 * time.Minute)
			b.release()
			h.held, h.s = nil, b.session("work")
		case n < 18:
			running, all = 1+r.IntN(3), 4+r.IntN(6)
			t.Limits = []flow.Limit{{Name: "all", Running: all}, {Name: "each", Key: "input.customer", Running: running}}
			t = must(b.st.UpdateTask(b.ctx, t))(b)
			lowered = 10
		case n < 19:
			h.retryOne()
		default:
			b.clock.Move(time.Duration(r.IntN(8)) * time.Second)
			b.renew(h.s, h.held...)
		}
		if r.IntN(2) == 0 {
			b.promote()
		}
		b.consistent()
		if lowered == 0 {
			if n := b.most("each"); n > int64(running) {
				b.Fatalf("step %d: got %d admitted jobs of one key, want at most %d", step, n, running)
			}
			if n := b.most("all"); n > int64(all) {
				b.Fatalf("step %d: got %d admitted jobs, want at most %d", step, n, all)
			}
		} else if b.most("each") <= int64(running) && b.most("all") <= int64(all) {
			lowered = 0
		}
		// No job waits if there is room.
		b.promote()
		if n := b.count(`
			select count(*)
			from belfry.jobs j
			where j.limited = 1 and j.state = 'waiting' and (select count(*) from belfry.limit_jobs l where l.job_id = j.id and (
				select count(*) from belfry.limit_jobs o where o.key_id = l.key_id and o.stage = 2) >= (select case when k.name = 'all' then cast($1 as bigint) else cast($2 as bigint) end from belfry.limit_keys k where k.id = l.key_id)) = 0`,
			int64(all), int64(running)); n > 0 {
			b.Fatalf("step %d: got %d waiting jobs whose limits all have room, want 0", step, n)
		}
	}
	h.drain(func() []job.LeasedJob { return b.claim(h.s, 100).Jobs })
}

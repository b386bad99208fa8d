package storetest

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/belfry-run/belfry/core"
	"github.com/belfry-run/belfry/flow"
	"github.com/belfry-run/belfry/job"
	"github.com/belfry-run/belfry/store"
	"github.com/belfry-run/belfry/store/base"
	"github.com/belfry-run/belfry/task"
)

func init() {
	add("a limit by key lets in as many jobs of a key as it says, and the next when one ends", limitByKey)
	add("a job waits until all of its limits have room", limitsTogether)
	add("every way in which a job leaves its place lets in the next", limitEnds)
	add("a rate lets jobs begin evenly, within one in a hundred", limitRate)
	add("a rate admits at most its burst while no job begins", limitRateBacklog)
	add("a changed limit takes effect on those that wait, and a removed one lets all in", limitChanged)
	add("a first limit holds back the jobs of its task that are ready already", limitFirst)
	add("keys that nothing needs are forgotten", limitKeysForgotten)
	addNodes("enqueues and ends at the same moment never exceed a limit, and leave no job waiting", limitNodes)
}

func limited(ls ...flow.Limit) func(*task.Task) {
	return func(t *task.Task) { t.Limits = ls }
}

func customer(id any) job.NewJob {
	return job.NewJob{Task: "work", Input: []byte(base.Text(map[string]string{"customer": fmt.Sprint(id)}))}
}

// consistent fails unless the stored counts of limits agree with the jobs.
func (b *bench) consistent() {
	b.Helper()
	for what, query := range map[string]string{
		"jobs that are ready and under a key that says otherwise":        `select count(*) from belfry.limit_jobs l join belfry.jobs j on j.id = l.job_id where j.state = 'ready' and l.stage <> 2`,
		"jobs that wait for a limit and wait nowhere, or more than once": `select count(*) from belfry.jobs j where j.limited = 1 and j.state = 'waiting' and (j.kind <> 'workflow' or j.reason <> '') and (select count(*) from belfry.limit_jobs l where l.job_id = j.id and l.stage = 1) <> 1`,
		"jobs that wait for a limit without saying so":                   `select count(*) from belfry.jobs where limited = 1 and state = 'waiting' and reason <> 'limit' and kind <> 'workflow'`,
		"places of jobs that are gone or wait for a retry":               `select count(*) from belfry.limit_jobs l where (select count(*) from belfry.jobs j where j.id = l.job_id and j.limited = 1 and (j.state in ('ready', 'waiting') or (select k.name from belfry.limit_keys k where k.id = l.key_id) = 'sequence')) = 0`,
		"jobs that say they have a place and have none":                  `select count(*) from belfry.jobs j where j.limited = 1 and j.state <> 'scheduled' and (select count(*) from belfry.limit_jobs l where l.job_id = j.id) = 0`,
	} {
		if n := b.count(query); n > 0 {
			b.Fatalf("got %d %s, want 0", n, what)
		}
	}
}

// most returns the largest number of ready or running jobs of one key.
func (b *bench) most(name string) int64 {
	return b.count(`select coalesce(max(n), 0) from (select count(*) as n from belfry.limit_jobs l join belfry.limit_keys k on k.id = l.key_id join belfry.jobs j on j.id = l.job_id where k.name = $1 and j.state = 'ready' group by k.id) as counted`, name)
}

func limitByKey(b *bench) {
	b.task("work", limited(flow.Limit{Key: "input.customer", Running: 2}))
	s := b.session("work")
	var ns []job.NewJob
	for i := range 9 {
		ns = append(ns, customer(i%3))
	}
	must(b.st.Enqueue(b.ctx, ns))(b)
	first := b.claim(s, 10)
	want(b, "claimed of three keys", len(first.Jobs), 6)
	want(b, "claimed with no room", len(b.claim(s, 10).Jobs), 0)
	b.consistent()
	waits := b.enqueue(customer(0))
	j := b.wantState(waits.ID, job.Waiting)
	want(b, "reason", j.Reason, core.Reason("limit"))
	b.finish(s, first.Jobs[0], job.OutcomeOK)
	next := b.claim(s, 10)
	want(b, "claimed when one has ended", len(next.Jobs), 1)
	want(b, "key of the next job", string(next.Jobs[0].Job.Input), string(first.Jobs[0].Job.Input))
	b.finish(s, first.Jobs[3], job.OutcomeError, func(f *job.Finish) { f.NoRetry = true })
	want(b, "claimed when one has failed", len(b.claim(s, 10).Jobs), 1)
	high := must(b.st.Enqueue(b.ctx, []job.NewJob{{Task: "work", Input: []byte(`{"customer":"1"}`), Priority: new(5)}}))(b)[0].Job
	b.finish(s, first.Jobs[1], job.OutcomeOK)
	want(b, "next job of a key, by priority", b.claim(s, 10).Jobs[0].Job.ID, high.ID)
	b.consistent()
	// A key without a value, and a long key.
	for _, input := range []string{`{}`, `null`, `{"customer":null}`, `{"customer":{"a":1}}`} {
		must(b.st.Enqueue(b.ctx, []job.NewJob{{Task: "work", Input: []byte(input)}}))(b)
	}
	want(b, "jobs without a value share a key", b.count(`select count(*) from belfry.limit_jobs l join belfry.limit_keys k on k.id = l.key_id where k.value = ''`), 4)
	must(b.st.Enqueue(b.ctx, []job.NewJob{customer(strings.Repeat("k", 10_000)), customer(strings.Repeat("k", 10_001)), customer("a\x00b")}))(b)
	want(b, "the longest key", b.count(`select max(length(value)) from belfry.limit_keys`) <= flow.MaxKeyValue, true)
	want(b, "long keys that differ", b.count(`select count(*) from belfry.limit_keys where value like 'kkk%'`), 2)
}

func limitsTogether(b *bench) {
	b.task("work", limited(flow.Limit{Name: "all", Running: 3}, flow.Limit{Name: "each", Key: "input.customer", Running: 1}))
	s := b.session("work")
	for range 4 {
		b.enqueue(customer("a"))
	}
	for _, c := range []string{"b", "c", "d", "e"} {
		b.enqueue(customer(c))
	}
	c := b.claim(s, 10)
	want(b, "claimed", len(c.Jobs), 3)
	b.consistent()
	b.finish(s, c.Jobs[0], job.OutcomeOK) // the job of key a
	next := b.claim(s, 10)
	want(b, "claimed when one has ended", len(next.Jobs), 1)
	for len(next.Jobs) > 0 {
		b.consistent()
		if n := b.most("each"); n > 1 {
			b.Fatalf("jobs of a customer in: got %d, want at most 1", n)
		}
		if n := b.most("all"); n > 3 {
			b.Fatalf("jobs of the task in: got %d, want at most 3", n)
		}
		b.finish(s, next.Jobs[0], job.OutcomeOK)
		next = b.claim(s, 10)
	}
	for _, j := range c.Jobs[1:] {
		b.finish(s, j, job.OutcomeOK)
		for k := b.claim(s, 10); len(k.Jobs) > 0; k = b.claim(s, 10) {
			b.finish(s, k.Jobs[0], job.OutcomeOK)
		}
	}
	want(b, "left", b.count(`select count(*) from belfry.jobs`), 0)
}

func limitEnds(b *bench) {
	b.task("work", limited(flow.Limit{Running: 1}), func(t *task.Task) { t.Retry.MaxAttempts = 5; t.Retry.Delay = core.Duration(time.Minute) })
	s := b.session("work")
	one := func() job.LeasedJob {
		b.Helper()
		b.consistent()
		c := b.claim(s, 10)
		want(b, "claimed", len(c.Jobs), 1)
		return c.Jobs[0]
	}
	for range 12 {
		b.enqueue(customer("a"))
	}
	b.finish(s, one(), job.OutcomeOK)
	retries := one()
	b.finish(s, retries, job.OutcomeError)
	b.wantState(retries.Job.ID, job.Scheduled)
	snoozes := one()
	b.finish(s, snoozes, job.OutcomeSnoozed, func(f *job.Finish) { f.Snooze = core.Duration(time.Hour) })
	ends := one()
	b.cancel(ends.Job.ID)
	b.finish(s, ends, job.OutcomeCanceled)
	handed := one()
	b.finish(s, handed, job.OutcomeHandedBack)
	back := one()
	want(b, "a job that was handed back keeps its place", back.Job.ID, handed.Job.ID)
	b.clock.Move(time.Minute)
	b.promote()
	j := b.wantState(retries.Job.ID, job.Waiting)
	want(b, "reason of a retry that waits", j.Reason, core.Reason("limit"))
	b.finish(s, back, job.OutcomeOK)
	tried := one()
	want(b, "the retry, which is the oldest, is next", tried.Job.ID, retries.Job.ID)
	// A ready job without a claim is canceled, and a waiting one.
	b.finish(s, tried, job.OutcomeOK)
	ready := must(b.st.Jobs(b.ctx, job.Filter{States: []job.State{job.Ready}}))(b).Items
	want(b, "ready", len(ready), 1)
	waiting := must(b.st.Jobs(b.ctx, job.Filter{States: []job.State{job.Waiting}}))(b).Items
	b.cancel(ready[0].ID, waiting[0].ID)
	lost := one()
	b.clock.Move(2 * time.Minute)
	b.release()
	s = b.session("work")
	b.promote()
	for range 20 {
		c := b.claim(s, 10)
		if len(c.Jobs) == 0 {
			b.clock.Move(time.Hour)
			b.promote()
			s = b.session("work")
			continue
		}
		want(b, "claimed at once", len(c.Jobs), 1)
		b.finish(s, c.Jobs[0], job.OutcomeOK)
		b.consistent()
	}
	b.wantState(lost.Job.ID, job.Succeeded)
	want(b, "left", b.count(`select count(*) from belfry.jobs`), 0)
	again := b.retry(ends.Job.ID)
	want(b, "brought back", len(again.IDs), 1)
	b.promote()
	b.finish(s, one(), job.OutcomeOK)
}

func limitRate(b *bench) {
	b.task("work", limited(flow.Limit{Key: "input.customer", Rate: "100/1m", Burst: 5}))
	s := b.session("work")
	var ns []job.NewJob
	for range 200 {
		ns = append(ns, customer("a"))
	}
	must(b.st.Enqueue(b.ctx, ns))(b)
	began := 0
	run := func() {
		for {
			c := b.claim(s, 100)
			if len(c.Jobs) == 0 {
				return
			}
			for _, j := range c.Jobs {
				began++
				b.finish(s, j, job.OutcomeOK)
			}
		}
	}
	run()
	want(b, "begun at once", began, 5)
	for range 600 {
		b.clock.Move(100 * time.Millisecond)
		if b.promote() > 0 {
			run()
		}
		if b.clock.Now().Sub(Epoch)%(20*time.Second) == 0 {
			b.renew(s)
		}
	}
	if began < 104 || began > 106 {
		b.Fatalf("jobs begun in a minute at a rate of 100 a minute with burst 5: got %d, want 104 to 106", began)
	}
	b.consistent()
	p := must(b.st.Promote(b.ctx))(b)
	if p.NextAt.IsZero() || p.NextAt.Sub(b.clock.Now()) > time.Second {
		b.Fatalf("next admission: got %v, want it within a second of %v", p.NextAt, b.clock.Now())
	}
}

func limitRateBacklog(b *bench) {
	b.task("work", limited(flow.Limit{Rate: "60/1m", Burst: 3}))
	for range 50 {
		b.enqueue(customer("a"))
	}
	for range 120 {
		b.clock.Move(time.Second)
		b.promote()
	}
	want(b, "ready", b.count(`select count(*) from belfry.jobs where state = 'ready'`), 3)
	waiting := must(b.st.Jobs(b.ctx, job.Filter{States: []job.State{job.Waiting}, Paging: core.Paging{Limit: 1}}))(b).Items[0]
	why := must(b.st.Why(b.ctx, "default", waiting.ID))(b)
	want(b, "why names the jobs that no worker has started", slices.ContainsFunc(why.Checks, func(c core.Check) bool {
		return !c.OK && strings.HasSuffix(c.Detail, "its turn comes when workers have started the jobs before it: 3 are ready or running")
	}), true)
	s := b.session("work")
	want(b, "claimed", len(b.claim(s, 100).Jobs), 3)
	b.clock.Move(time.Second)
	b.promote()
	if n := len(b.claim(s, 100).Jobs); n > 3 {
		b.Fatalf("%d began a second after others", n)
	}
}

func limitChanged(b *bench) {
	t := b.task("work", limited(flow.Limit{Key: "input.customer", Running: 2}))
	s := b.session("work")
	for i := range 60 {
		b.enqueue(customer(i % 3))
	}
	ready := func() int64 { return b.count(`select count(*) from belfry.jobs where state = 'ready'`) }
	want(b, "ready", ready(), 6)
	t.Limits = []flow.Limit{{Key: "input.customer", Running: 12}}
	t = must(b.st.UpdateTask(b.ctx, t))(b)
	b.promote()
	want(b, "ready when the limit was raised", ready(), 36)
	b.consistent()
	t.Limits = []flow.Limit{{Key: "input.customer", Running: 1}}
	t = must(b.st.UpdateTask(b.ctx, t))(b)
	b.promote()
	want(b, "ready when it was lowered", ready(), 36)
	for _, j := range b.claim(s, 30).Jobs {
		b.finish(s, j, job.OutcomeOK)
	}
	want(b, "ready when most of these have ended", ready(), 6)
	t.Limits = nil
	must(b.st.UpdateTask(b.ctx, t))(b)
	b.promote()
	want(b, "ready when it was removed", ready(), 30)
	b.consistent()
	for c := b.claim(s, 100); len(c.Jobs) > 0; c = b.claim(s, 100) {
		for _, j := range c.Jobs {
			b.finish(s, j, job.OutcomeOK)
		}
	}
	want(b, "left", b.count(`select count(*) from belfry.jobs`)+b.count(`select count(*) from belfry.limit_jobs`), 0)
}

func limitFirst(b *bench) {
	t := b.task("work")
	for range 20 {
		b.enqueue(customer("a"))
	}
	s := b.session("work")
	running := b.claim(s, 3)
	t.Limits = []flow.Limit{{Running: 2}}
	must(b.st.UpdateTask(b.ctx, t))(b)
	b.promote()
	want(b, "claimed under the new limit", len(b.claim(s, 100).Jobs), 2)
	b.consistent()
	for _, j := range running.Jobs {
		b.finish(s, j, job.OutcomeOK)
	}
	want(b, "claimed after those from before it", len(b.claim(s, 100).Jobs), 0)
	must(b.st.Enqueue(b.ctx, []job.NewJob{customer("a")}))(b)
	ok(b, b.st.DeleteTask(b.ctx, "default", "work"))
	b.promote()
	want(b, "left but those that run", b.count(`select count(*) from belfry.jobs`), 2)
	b.consistent()
}

func limitKeysForgotten(b *bench) {
	b.task("work", limited(flow.Limit{Key: "input.customer", Running: 1}, flow.Limit{Name: "rate", Key: "input.customer", Rate: "1/5m"}))
	s := b.session("work")
	var ns []job.NewJob
	for i := range 300 {
		ns = append(ns, customer(i))
	}
	must(b.st.Enqueue(b.ctx, ns))(b)
	for c := b.claim(s, 100); len(c.Jobs) > 0; c = b.claim(s, 100) {
		for _, j := range c.Jobs {
			b.finish(s, j, job.OutcomeOK)
		}
	}
	keys := func() int64 { return b.count(`select count(*) from belfry.limit_keys`) }
	want(b, "keys", keys(), 600)
	b.clock.Move(2 * time.Minute)
	for range 5 {
		b.promote()
	}
	want(b, "keys that a rate needs", keys(), 300)
	b.clock.Move(10 * time.Minute)
	for range 5 {
		b.promote()
	}
	want(b, "keys in the end", keys(), 0)
}

func limitNodes(b *bench, nodes []*store.Store) {
	const keys, each = 3, 4
	b.task("work", limited(flow.Limit{Name: "all", Running: 5}, flow.Limit{Name: "each", Key: "input.customer", Running: 2}))
	sessions := make([]job.Session, each*len(nodes))
	for i := range sessions {
		sessions[i] = b.session("work")
	}
	claims := make([]job.Claim, len(sessions))
	turn := func(asks int) {
		b.crowd(nodes, each, func(ctx context.Context, st *store.Store, i int) (err error) {
			var fs []job.Finish
			for _, j := range claims[i].Jobs {
				fs = append(fs, job.Finish{Ref: refOf(j), Outcome: job.OutcomeOK})
			}
			claims[i] = job.Claim{}
			if len(fs) > 0 {
				if _, err := st.Finish(ctx, sessions[i].ID, fs); err != nil {
					return err
				}
			}
			for k := range asks {
				if _, err := st.Enqueue(ctx, []job.NewJob{customer((i + k) % keys), customer(k % keys)}); err != nil {
					return err
				}
			}
			claims[i], err = st.Claim(ctx, job.ClaimRequest{Session: sessions[i].ID, Want: map[string]int{"default": 2}})
			return err
		})
		if all, one := b.most("all"), b.most("each"); all > 5 || one > 2 {
			b.Fatalf("admitted jobs: got %d in all and %d of one key, want at most 5 and 2", all, one)
		}
		b.consistent()
	}
	for range 8 {
		turn(2)
	}
	for range 400 {
		b.clock.Move(30 * time.Millisecond)
		b.promote()
		if turn(0); b.count(`select count(*) from belfry.jobs`) == 0 {
			return
		}
	}
	b.Fatalf("jobs left: got %d, want 0", b.count(`select count(*) from belfry.jobs`))
}

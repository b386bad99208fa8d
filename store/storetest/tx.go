package storetest

import (
	"encoding/json"
	"testing"
	"time"

	"github.com/belfry-run/belfry/core"
	"github.com/belfry-run/belfry/job"
	"github.com/belfry-run/belfry/schedule"
	"github.com/belfry-run/belfry/store"
	"github.com/belfry-run/belfry/store/base"
	"github.com/belfry-run/belfry/task"
)

// UserTx is a transaction that a user of the library began on the store's database.
type UserTx struct {
	Tx       any // the form that is passed to the store
	Exec     func(statement string) error
	Commit   func() error
	Rollback func() error
}

// RunTx runs the cases of transactional enqueue and finish. begin begins a user's transaction.
func RunTx(t *testing.T, open Open, begin func(t *testing.T, st *store.Store) UserTx) {
	for name, fn := range txCases {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			b := newBench(t, open)
			b.sql(`create table things (n integer)`)
			fn(b, func() UserTx { return begin(t, b.st) })
		})
	}
}

var txCases = map[string]func(*bench, func() UserTx){
	"who waits for what a transaction has settled is woken by the report of its worker": func(b *bench, begin func() UserTx) {
		b.task("t")
		must(b.st.SaveQueue(b.ctx, job.Queue{Name: "default", GlobalLimit: 1}))(b)
		s := b.session("t")
		b.enqueue(job.NewJob{Task: "t"})
		b.enqueue(job.NewJob{Task: "t"})
		j := b.claim(s, 1).Jobs[0]
		tx := begin()
		done := job.Finish{Ref: refOf(j), Outcome: job.OutcomeOK}
		must(b.st.FinishTx(b.ctx, tx.Tx, done))(b)
		ok(b, tx.Commit())
		engine, watchers, place := b.st.Woken(), b.st.Hub.On(base.TopicJobs), b.st.Hub.On(base.TopicCapacity("default"))
		again := must(b.st.Finish(b.ctx, s.ID, []job.Finish{done}))(b)[0]
		want(b, "the report", words(again.Stale, again.State), "false succeeded")
		for what, woken := range map[string]<-chan struct{}{"the engine": engine, "those who watch": watchers, "claims that wait for a place": place} {
			select {
			case <-woken:
			default:
				b.Errorf("the commit does not wake %s", what)
			}
		}
	},
	"a job asked for in a transaction exists when it commits, with what else it wrote": func(b *bench, begin func() UserTx) {
		b.task("t")
		tx := begin()
		ok(b, tx.Exec(`insert into things (n) values (1)`))
		es := must(b.st.EnqueueTx(b.ctx, tx.Tx, []job.NewJob{{Task: "t", Input: json.RawMessage(`{"n":1}`), Tags: []string{"a"}, Key: "k", ActiveKey: "a"},
			{Task: "fresh", Kind: task.KindFunc}, {Task: "t", Input: json.RawMessage(`{"n":1}`), Tags: []string{"a"}, Key: "k", ActiveKey: "a"}}))(b)
		want(b, "jobs before the commit", b.count(`select count(*) from belfry.jobs`), 0)
		ok(b, tx.Commit())
		b.st.Wake("default")
		want(b, "things", b.count(`select count(*) from things`), 1)
		want(b, "jobs", b.count(`select count(*) from belfry.jobs`), 2)
		want(b, "answer and row", jsonOf(b.job(es[0].Job.ID)), jsonOf(es[0].Job))
		want(b, "third job is an existing one", es[2].Existing, true)
		want(b, "claimed", len(b.claim(b.session("t", "fresh"), 5).Jobs), 2)
	},
	"a job asked for in a transaction is nowhere when it rolls back": func(b *bench, begin func() UserTx) {
		b.task("t")
		tx := begin()
		ok(b, tx.Exec(`insert into things (n) values (1)`))
		must(b.st.EnqueueTx(b.ctx, tx.Tx, []job.NewJob{{Task: "t", Key: "k", ActiveKey: "a"}, {Task: "fresh", Kind: task.KindFunc}}))(b)
		ok(b, tx.Rollback())
		for _, table := range []string{"belfry.jobs", "things", "belfry.job_keys"} {
			want(b, table, b.count(`select count(*) from `+table), 0)
		}
		want(b, "tasks", b.count(`select count(*) from belfry.tasks`), 1)
		want(b, "the keys are free", b.ask(job.NewJob{Task: "t", Key: "k", ActiveKey: "a"}).Existing, false)
	},
	"a transaction whose enqueue was refused can still roll back, and the store goes on": func(b *bench, begin func() UserTx) {
		b.task("t")
		tx := begin()
		_, err := b.st.EnqueueTx(b.ctx, tx.Tx, []job.NewJob{{Task: "nobody"}})
		wantCode(b, err, core.NotFound, "nobody")
		ok(b, tx.Rollback())
		b.enqueue(job.NewJob{Task: "t"})
		_, err = b.st.EnqueueTx(b.ctx, "not a transaction", []job.NewJob{{Task: "t"}})
		wantCode(b, err, core.Invalid, "string")
		want(b, "jobs", b.count(`select count(*) from belfry.jobs`), 1)
	},
	"a finish in a transaction counts when it commits, with what else it wrote": func(b *bench, begin func() UserTx) {
		b.task("t")
		b.schedule("loop", "t", afterFinish(1e9))
		b.fire()
		s := b.session("t")
		j := b.claim(s, 1).Jobs[0]
		tx := begin()
		ok(b, tx.Exec(`insert into things (n) values (1)`))
		f := must(b.st.FinishTx(b.ctx, tx.Tx, job.Finish{Ref: refOf(j), Outcome: job.OutcomeOK, Output: json.RawMessage(`1`)}))(b)
		want(b, "answer", f.State, job.Succeeded)
		b.wantState(j.Job.ID, job.Running)
		ok(b, tx.Commit())
		b.wantState(j.Job.ID, job.Succeeded)
		want(b, "things", b.count(`select count(*) from things`), 1)
		want(b, "the loop goes on", b.get("loop").NextAt.IsZero(), false)
		want(b, "repeated finish", b.finish(s, j, job.OutcomeOK), job.Finished{Ref: refOf(j), State: job.Succeeded})
		want(b, "otherwise is stale", b.finish(s, j, job.OutcomeError).Stale, true)
	},
	"a finish in a transaction that rolls back leaves the job running, to be finished again": func(b *bench, begin func() UserTx) {
		b.task("t")
		b.enqueue(job.NewJob{Task: "t"})
		s := b.session("t")
		j := b.claim(s, 1).Jobs[0]
		tx := begin()
		ok(b, tx.Exec(`insert into things (n) values (1)`))
		must(b.st.FinishTx(b.ctx, tx.Tx, job.Finish{Ref: refOf(j), Outcome: job.OutcomeOK}))(b)
		ok(b, tx.Rollback())
		b.wantState(j.Job.ID, job.Running)
		want(b, "attempts", len(must(b.st.Attempts(b.ctx, "default", j.Job.ID))(b)), 0)
		want(b, "things", b.count(`select count(*) from things`), 0)
		want(b, "finish", b.finish(s, j, job.OutcomeError).State, job.Scheduled)
	},
	"the events of a finish in a transaction are there when it commits, and never when it rolls back": func(b *bench, begin func() UserTx) {
		h := hooked{b}
		h.hook("all")
		b.task("t")
		b.schedule("loop", "t", afterFinish(1e9), func(sc *schedule.Schedule) { sc.End = Epoch.Add(time.Hour) })
		b.fire()
		s := b.session("t")
		f := job.Finish{Ref: refOf(b.claim(s, 1).Jobs[0]), Outcome: job.OutcomeOK}
		b.clock.Move(2 * time.Hour)
		for range 2 {
			tx := begin()
			must(b.st.FinishTx(b.ctx, tx.Tx, f))(b)
			ok(b, tx.Rollback())
			want(b, "events", h.types("all"), "")
		}
		tx := begin()
		must(b.st.FinishTx(b.ctx, tx.Tx, f))(b)
		ok(b, tx.Commit())
		want(b, "events", h.types("all"), "job.succeeded schedule.completed")
	},
	"a finish in a transaction under a lost lease is a conflict, so that the handler rolls back": func(b *bench, begin func() UserTx) {
		b.task("t")
		b.enqueue(job.NewJob{Task: "t"})
		s := b.session("t")
		j := b.claim(s, 1).Jobs[0]
		b.clock.Move(lost)
		b.release()
		tx := begin()
		ok(b, tx.Exec(`insert into things (n) values (1)`))
		f, err := b.st.FinishTx(b.ctx, tx.Tx, job.Finish{Ref: refOf(j), Outcome: job.OutcomeOK})
		wantCode(b, err, core.Conflict, "lease", "roll back")
		want(b, "stale", f.Stale, true)
		ok(b, tx.Rollback())
		want(b, "things", b.count(`select count(*) from things`), 0)
		b.wantState(j.Job.ID, job.Scheduled)
	},
}

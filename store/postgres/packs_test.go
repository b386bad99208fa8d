package postgres_test

import (
	"context"
	"strings"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/belfry-run/belfry/core"
	"github.com/belfry-run/belfry/job"
	"github.com/belfry-run/belfry/store"
	"github.com/belfry-run/belfry/store/base"
	"github.com/belfry-run/belfry/store/postgres"
	"github.com/belfry-run/belfry/store/storetest"
	"github.com/belfry-run/belfry/view"
)

func TestPacks(t *testing.T) { storetest.RunPacks(t, openPacking) }

// packing is one whose transactions can be made to wait for somebody's.
type packing struct{ *storetest.Packing }

func newPacking(t *testing.T, jobs int) *packing {
	t.Helper()
	clock := storetest.NewClock()
	return &packing{storetest.NewPacking(t, openPacking(t, store.Options{Clock: clock.Now}), clock, jobs)}
}

// waits until a transaction of the store waits for a lock.
func (p *packing) waits() {
	for waiting := int64(0); waiting == 0; {
		waiting = number(p.T, p.Store, "select count(*) from pg_stat_activity where datname = current_database() and wait_event_type = 'Lock'")
	}
}

// begin is a transaction of somebody else.
func (p *packing) begin() (exec func(sql string, args ...any), commit func()) {
	p.Helper()
	tx, err := p.Store.DB().(*postgres.DB).Pool().Begin(p.Context())
	if err != nil {
		p.Fatal(err)
	}
	p.Cleanup(func() { _ = tx.Rollback(context.Background()) })
	return func(sql string, args ...any) {
			p.Helper()
			if _, err := tx.Exec(p.Context(), sql, args...); err != nil {
				p.Fatalf("%s: %v", sql, err)
			}
		}, func() {
			p.Helper()
			if err := tx.Commit(p.Context()); err != nil {
				p.Fatal(err)
			}
		}
}

// takenApart is what taking a pack apart does to one that is locked.
const takenApart = `
	with gone as (delete from belfry.packs where number = $1)
	insert into belfry.leases (job_id, number, session, claimed_at, deadline_at)
	select job_id, number, session, claimed_at, deadline_at
	from belfry.packed
	where number = $1`

// A success that waits for somebody who takes its pack apart removes the row of
// its lease as well, which was made when its job seemed to be there.
func TestASuccessThatFindsItsPackGoneLeavesNoLease(t *testing.T) {
	t.Parallel()
	for _, jobs := range []int{3, 60} {
		p := newPacking(t, jobs)
		exec, commit := p.begin()
		exec(`select from belfry.packs where number = $1 for update`, p.Lease)
		ended := make(chan int, 1)
		go func() { ended <- p.Finish(job.OutcomeOK, p.Jobs[1:]...) }()
		p.waits()
		exec(takenApart, p.Lease)
		commit()
		if stale := <-ended; stale != 0 {
			t.Errorf("%d are stale", stale)
		}
		p.Holds(0, 1)
	}
}

// Whoever takes a pack apart waits for a success in it, and makes no lease for
// its job.
func TestAPackThatWasWaitedForIsTakenApartAsItIsThen(t *testing.T) {
	t.Parallel()
	p := newPacking(t, 60)
	exec, commit := p.begin()
	exec(`delete from belfry.jobs where id = $1`, p.Jobs[1])
	exec(`update belfry.packs set living = living - 1`)
	canceled := make(chan error, 1)
	go func() {
		_, err := p.Store.CancelJobs(context.WithoutCancel(t.Context()), "default", view.Selection{IDs: p.Jobs[:1]})
		canceled <- err
	}()
	p.waits()
	commit()
	if err := <-canceled; err != nil {
		t.Fatal(err)
	}
	p.Holds(0, 59)
}

// finishedAround lets all jobs succeed while somebody holds one of them, who
// takes the pack apart when it has been read, and does more.
func (p *packing) finishedAround(j int64, more func(exec func(string, ...any))) (stale int) {
	p.Helper()
	exec, commit := p.begin()
	exec(`select from belfry.jobs where id = $1 for update`, j)
	ended := make(chan int, 1)
	go func() { ended <- p.Finish(job.OutcomeOK, p.Jobs...) }()
	p.waits()
	exec(takenApart, p.Lease)
	more(exec)
	commit()
	return <-ended
}

// A cancel that came before a success is in the record, however close.
func TestASuccessKnowsOfTheCancelBeforeIt(t *testing.T) {
	t.Parallel()
	p := newPacking(t, 60)
	stale := p.finishedAround(p.Jobs[3], func(exec func(string, ...any)) {
		exec(`update belfry.leases set cancel_at = 77 where job_id = $1`, p.Jobs[3])
	})
	if stale != 0 {
		t.Errorf("%d are stale", stale)
	}
	p.Holds(0, 0)
	if n := number(t, p.Store, "select cancel_at from belfry.jobs_done where cancel_at > 0"); n != 77 {
		t.Errorf("canceled at %d", n)
	}
}

// A job that was put back while its success waited for it keeps its place: the
// success is stale, and the others are not.
func TestASuccessOfAJobThatWasPutBackMeanwhileIsStale(t *testing.T) {
	t.Parallel()
	p := newPacking(t, 60)
	stale := p.finishedAround(p.Jobs[3], func(exec func(string, ...any)) {
		exec(`update belfry.jobs set lease = $2, attempt = 1 where id = $1`, p.Jobs[3], p.Lease)
		exec(`delete from belfry.leases where job_id = $1`, p.Jobs[3])
	})
	if stale != 1 {
		t.Errorf("%d are stale", stale)
	}
	p.Holds(0, 0)
	if n := number(t, p.Store, "select count(*) from belfry.jobs"); n != 1 {
		t.Errorf("%d jobs are left", n)
	}
	if n := number(t, p.Store, "select count(*) * 1000 + count(distinct id) from belfry.jobs_done where id <> $1", p.Jobs[3]); n != 59*1000+59 {
		t.Errorf("of 59 jobs there are %d rows of %d in the history", n/1000, n%1000)
	}
	if n := number(t, p.Store, "select count(*) from belfry.jobs_done where id = $1", p.Jobs[3]); n != 0 {
		t.Errorf("the job that was put back is in the history %d times", n)
	}
}

// The same in a transaction that is not ours, where what was written has the
// number of a savepoint. Whoever owns it may commit what else is in it.
func TestAStaleSuccessInACallersSavepointLeavesNothing(t *testing.T) {
	t.Parallel()
	p := newPacking(t, 60)
	exec, commit := p.begin()
	exec(`select from belfry.jobs where id = $1 for update`, p.Jobs[3])
	tx, err := p.Store.DB().(*postgres.DB).Pool().Begin(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = tx.Rollback(context.Background()) })
	if _, err := tx.Exec(t.Context(), "savepoint s"); err != nil {
		t.Fatal(err)
	}
	ended := make(chan error, 1)
	go func() {
		_, err := p.Store.FinishTx(context.WithoutCancel(t.Context()), tx, job.Finish{Ref: job.Ref{JobID: p.Jobs[3], Lease: p.Lease}, Outcome: job.OutcomeOK})
		ended <- err
	}()
	p.waits()
	exec(takenApart, p.Lease)
	exec(`update belfry.jobs set lease = $2, attempt = 1 where id = $1`, p.Jobs[3], p.Lease)
	exec(`delete from belfry.leases where job_id = $1`, p.Jobs[3])
	commit()
	if err := <-ended; core.CodeOf(err) != core.Conflict {
		t.Fatal(err)
	}
	if err := tx.Commit(t.Context()); err != nil {
		t.Fatal(err)
	}
	if n := number(t, p.Store, "select count(*) from belfry.jobs_done"); n != 0 {
		t.Errorf("%d rows in the history", n)
	}
}

// A retry keeps the number of its last lease, which may be newer than another
// lease in the batch.
func TestARetryIsSettledTogetherWithOlderLeases(t *testing.T) {
	t.Parallel()
	p := newPacking(t, 60)
	first := p.Lease
	p.Finish(job.OutcomeHandedBack, p.Jobs[:30]...)
	c, err := p.Store.Claim(t.Context(), job.ClaimRequest{Session: p.Session, Want: map[string]int{"default": 30}})
	if err != nil || len(c.Jobs) != 30 {
		t.Fatal(len(c.Jobs), err)
	}
	p.Holds(1, 30)
	p.Lease = c.Lease
	again := p.Enqueue(job.NewJob{})
	d, err := p.Store.Claim(t.Context(), job.ClaimRequest{Session: p.Session, Want: map[string]int{"default": 1}})
	if err != nil || len(d.Jobs) != 1 || d.Jobs[0].Job.ID != again {
		t.Fatal(d.Jobs, err)
	}
	fs := []job.Finish{{Ref: job.Ref{JobID: again, Lease: d.Lease}, Outcome: job.OutcomeOK}}
	for i, id := range p.Jobs {
		lease := first
		if i < 30 {
			lease = c.Lease
		}
		fs = append(fs, job.Finish{Ref: job.Ref{JobID: id, Lease: lease}, Outcome: job.OutcomeOK})
	}
	out, err := p.Store.Finish(t.Context(), p.Session, fs)
	if err != nil {
		t.Fatal(err)
	}
	for _, f := range out {
		if f.Stale {
			t.Errorf("%+v", f)
		}
	}
	p.Holds(0, 0)
}

// What a claim has picked by a view that is older than another claim is looked
// at once more under the locks.
func TestUnleasedSeesClaimsCommittedMeanwhile(t *testing.T) {
	t.Parallel()
	p := newPacking(t, 3)
	free := p.Enqueue(job.NewJob{})
	rows, err := p.Store.DB().(*postgres.DB).Pool().Query(t.Context(), `select * from belfry.unleased($1) as t (id)`, append([]int64{free}, p.Jobs...))
	if err != nil {
		t.Fatal(err)
	}
	ids, err := pgx.CollectRows(rows, pgx.RowTo[int64])
	if err != nil || len(ids) != 1 || ids[0] != free {
		t.Errorf("%v, %v", ids, err)
	}
	var volatile string
	if err := p.Store.DB().(*postgres.DB).Pool().QueryRow(t.Context(), `select provolatile::text from pg_proc where proname = 'unleased'`).Scan(&volatile); err != nil || volatile != "v" {
		t.Errorf("it is %q, and looks as its caller does, %v", volatile, err)
	}
}

// meddler is a database in which something happens before a statement.
type meddler struct {
	*postgres.DB
	before func(query string)
}

func (m meddler) WriteAhead(ctx context.Context, ahead []base.Statement, fn func(tx base.Tx, at base.Moment) error) error {
	return m.DB.WriteAhead(ctx, ahead, func(tx base.Tx, at base.Moment) error { return fn(meddled{tx, m.before}, at) })
}

type meddled struct {
	base.Tx
	before func(query string)
}

func (m meddled) Query(ctx context.Context, query string, args ...any) (base.Rows, error) {
	m.before(query)
	return m.Tx.Query(ctx, query, args...)
}

// A few successes are looked for among the rows of leases first, and then in
// packs. One whose pack is taken apart in between is good.
func TestAJobWhosePackIsSplitBetweenTwoReadsIsFound(t *testing.T) {
	t.Parallel()
	for _, jobs := range []int{3, 60} {
		p := newPacking(t, jobs)
		exec, commit := p.begin()
		done := false
		p.Store = store.New(meddler{p.Store.DB().(*postgres.DB), func(query string) {
			if !done && strings.Contains(query, "from belfry.packs where number") {
				done = true
				exec(takenApart, p.Lease)
				commit()
			}
		}}, store.Options{Clock: p.Clock.Now})
		fs := make([]job.Finish, len(p.Jobs))
		for i, id := range p.Jobs {
			fs[i] = job.Finish{Ref: job.Ref{JobID: id, Lease: p.Lease}, Outcome: job.OutcomeOK}
		}
		out, err := p.Store.Finish(t.Context(), p.Session, fs)
		if err != nil || !done {
			t.Fatal(done, err)
		}
		for _, f := range out {
			if f.Stale {
				t.Errorf("of %d: %+v", jobs, f)
			}
		}
	}
}

// A handler that settles its job in a transaction of its own may take its time:
// those of the same claim do not wait for it, nor does their session.
func TestAFinishInACallersTransactionDelaysNoOtherFinish(t *testing.T) {
	t.Parallel()
	for _, level := range []pgx.TxIsoLevel{pgx.ReadCommitted, pgx.RepeatableRead} {
		p := newPacking(t, 60)
		pool := p.Store.DB().(*postgres.DB).Pool()
		tx, err := pool.BeginTx(t.Context(), pgx.TxOptions{IsoLevel: level})
		if err != nil {
			t.Fatal(err)
		}
		if _, err := tx.Exec(t.Context(), "select"); err != nil { // its view is from here on
			t.Fatal(err)
		}
		finish := func(i int) {
			t.Helper()
			if _, err := p.Store.FinishTx(t.Context(), tx, job.Finish{Ref: job.Ref{JobID: p.Jobs[i], Lease: p.Lease}, Outcome: job.OutcomeOK}); err != nil {
				t.Fatalf("%s: %v", level, err)
			}
		}
		finish(0)
		ctx, cancel := context.WithTimeout(t.Context(), 2*time.Minute)
		defer cancel()
		if _, err := p.Store.Finish(ctx, p.Session, []job.Finish{{Ref: job.Ref{JobID: p.Jobs[1], Lease: p.Lease}, Outcome: job.OutcomeOK}}); err != nil {
			t.Fatal(err)
		}
		if _, err := p.Store.CancelJobs(ctx, "default", view.Selection{IDs: p.Jobs[2:3]}); err != nil {
			t.Fatal(err)
		}
		p.Clock.Move(job.ClaimSettled + time.Second)
		var held []job.Ref
		for _, id := range p.Jobs {
			held = append(held, job.Ref{JobID: id, Lease: p.Lease})
		}
		renewal, err := p.Store.Renew(ctx, p.Session, job.Held(held...))
		if err != nil {
			t.Fatal(err)
		}
		finish(59) // whose lease has a row by now, which the older view does not see
		if err := tx.Commit(t.Context()); err != nil {
			t.Fatalf("%s: %v", level, err)
		}
		p.Clock.Move(job.ClaimSettled + time.Second)
		has := job.Held(held[2:59]...)
		has.Settled = renewal.Settled
		if _, err := p.Store.Renew(ctx, p.Session, has); err != nil {
			t.Fatal(err)
		}
		p.Holds(0, 57)
		if n := number(t, p.Store, "select count(*) from belfry.jobs_done where state = 'succeeded'"); n != 3 {
			t.Errorf("%s: %d have succeeded", level, n)
		}
	}
}

package postgres_test

import (
	"context"
	"strings"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/belfry-run/belfry"
	"github.com/belfry-run/belfry/store"
	"github.com/belfry-run/belfry/store/postgres"
	"github.com/belfry-run/belfry/store/storetest"
)

// packing is a store with a worker that has claimed jobs in one pack.
type packing struct {
	*testing.T
	st      *store.Store
	clock   *storetest.Clock
	session string
	lease   int64
	jobs    []int64 // ascending
}

func newPacking(t *testing.T, jobs int) *packing {
	t.Helper()
	p := &packing{T: t, clock: storetest.NewClock()}
	p.st = openPacking(t, store.Options{Clock: p.clock.Now})
	for range jobs {
		p.jobs = append(p.jobs, enqueue(t, p.st, "t"))
	}
	s, err := p.st.OpenSession(t.Context(), belfry.WorkerInfo{Name: "w", Kinds: []belfry.Kind{belfry.KindFunc}, Funcs: []string{"t"}, Queues: map[string]int{"default": jobs}})
	if err != nil {
		t.Fatal(err)
	}
	p.session = s.ID
	c, err := p.st.Claim(t.Context(), belfry.ClaimRequest{Session: s.ID, Want: map[string]int{"default": jobs}})
	if err != nil || len(c.Jobs) != jobs {
		t.Fatalf("claimed %d of %d, %v", len(c.Jobs), jobs, err)
	}
	p.lease = c.Lease
	p.holds(1, 0)
	return p
}

// holds says how many packs and rows of leases there are.
func (p *packing) holds(packs, rows int64) {
	p.Helper()
	if n := number(p.T, p.st, "select count(*) from packs"); n != packs {
		p.Errorf("%d packs, want %d", n, packs)
	}
	if n := number(p.T, p.st, "select count(*) from leases"); n != rows {
		p.Errorf("%d rows of leases, want %d", n, rows)
	}
}

func (p *packing) finish(outcome belfry.Outcome, jobs ...int64) (stale int) {
	p.Helper()
	fs := make([]belfry.Finish, len(jobs))
	for i, id := range jobs {
		fs[i] = belfry.Finish{Ref: belfry.Ref{JobID: id, Lease: p.lease}, Outcome: outcome}
	}
	out, err := p.st.Finish(context.WithoutCancel(p.Context()), p.session, fs)
	if err != nil {
		p.Fatal(err)
	}
	for _, f := range out {
		if f.Stale {
			stale++
		}
	}
	return stale
}

// waits until a transaction of the store waits for a lock.
func (p *packing) waits() {
	for waiting := int64(0); waiting == 0; {
		waiting = number(p.T, p.st, "select count(*) from pg_stat_activity where datname = current_database() and wait_event_type = 'Lock'")
	}
}

// begin is a transaction of somebody else.
func (p *packing) begin() (exec func(sql string, args ...any), commit func()) {
	p.Helper()
	tx, err := p.st.DB().(*postgres.DB).Pool().Begin(p.Context())
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
	with gone as (delete from packs where number = $1)
	insert into leases (job_id, number, session, claimed_at, deadline_at)
	select job_id, number, session, claimed_at, deadline_at
	from packed
	where number = $1`

func TestAPackLastsUntilItsLastJobHasSucceeded(t *testing.T) {
	t.Parallel()
	for _, jobs := range []int{3, 60} {
		p := newPacking(t, jobs)
		job, err := p.st.Job(t.Context(), "default", p.jobs[1])
		if err != nil || job.State != belfry.JobRunning || job.Session != p.session || job.Lease != p.lease || job.Attempt != 1 {
			t.Errorf("%+v, %v", job, err)
		}
		if want := job.ClaimedAt.Add(job.Timeout.D() + belfry.DeadlineGrace); !job.DeadlineAt.Equal(want) {
			t.Errorf("its deadline is %v, want %v", job.DeadlineAt, want)
		}
		if stale := p.finish(belfry.OutcomeOK, p.jobs[1:]...); stale != 0 {
			t.Errorf("%d of the first are stale", stale)
		}
		p.holds(1, 0)
		if stale := p.finish(belfry.OutcomeOK, p.jobs...); stale != jobs-1 {
			t.Errorf("%d are stale the second time, want %d", stale, jobs-1)
		}
		p.holds(0, 0)
		if n := number(t, p.st, "select count(*) from jobs_done where state = 'succeeded' and lease > 0 and worker = 'w' and claimed_at > 0"); n != int64(jobs) {
			t.Errorf("%d of %d are in the history as they should be", n, jobs)
		}
	}
}

func TestAPackIsTakenApartForWhatIsNoSuccess(t *testing.T) {
	t.Parallel()
	const jobs = 60
	one := func(p *packing) belfry.Selection { return belfry.Selection{IDs: p.jobs[:1]} }
	for name, c := range map[string]struct {
		do   func(p *packing) error
		rows int64 // of leases after it
	}{
		"an error":    {func(p *packing) error { p.finish(belfry.OutcomeError, p.jobs[0]); return nil }, jobs - 1},
		"handed back": {func(p *packing) error { p.finish(belfry.OutcomeHandedBack, p.jobs[0]); return nil }, jobs - 1},
		"a cancel": {func(p *packing) error {
			_, err := p.st.CancelJobs(p.Context(), "default", one(p))
			return err
		}, jobs},
		"a renewal that comes later": {func(p *packing) error {
			p.clock.Move(belfry.ClaimSettled + time.Second)
			refs := make([]belfry.Ref, jobs)
			for i, id := range p.jobs {
				refs[i] = belfry.Ref{JobID: id, Lease: p.lease}
			}
			r, err := p.st.Renew(p.Context(), p.session, refs)
			if len(r.Cancel) > 0 {
				p.Errorf("%d were taken away", len(r.Cancel))
			}
			return err
		}, jobs},
		"a clock that is set":    {func(p *packing) error { return p.st.ShiftClock(p.Context(), -time.Hour) }, jobs},
		"the end of its session": {func(p *packing) error { return p.st.CloseSession(p.Context(), p.session) }, 0},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			p := newPacking(t, jobs)
			if err := c.do(p); err != nil {
				t.Fatal(err)
			}
			p.holds(0, c.rows)
			if stale := p.finish(belfry.OutcomeOK, p.jobs...); int64(stale) != jobs-c.rows {
				t.Errorf("%d are stale then, want %d", stale, jobs-c.rows)
			}
			p.holds(0, 0)
		})
	}
}

// A success and a failure in one batch meet in one pack.
func TestABatchOfAPackMayHoldFailures(t *testing.T) {
	t.Parallel()
	p := newPacking(t, 60)
	var fs []belfry.Finish
	for i, id := range p.jobs {
		fs = append(fs, belfry.Finish{Ref: belfry.Ref{JobID: id, Lease: p.lease}, Outcome: []belfry.Outcome{belfry.OutcomeOK, belfry.OutcomeError}[i%2]})
	}
	out, err := p.st.Finish(t.Context(), p.session, fs)
	if err != nil {
		t.Fatal(err)
	}
	for _, f := range out {
		if f.Stale {
			t.Errorf("%+v", f)
		}
	}
	p.holds(0, 0)
	if n := number(t, p.st, "select count(*) from jobs where state = 'scheduled' and lease > 0"); n != 30 {
		t.Errorf("%d wait for a retry", n)
	}
}

func TestAFinishUnderAPackThatHasNotTheJobIsStale(t *testing.T) {
	t.Parallel()
	p := newPacking(t, 60)
	other := enqueue(t, p.st, "t")
	if stale := p.finish(belfry.OutcomeOK, append([]int64{other}, p.jobs...)...); stale != 1 {
		t.Errorf("%d are stale, want the one that nobody has claimed", stale)
	}
	if n := number(t, p.st, "select count(*) from jobs where state = 'ready'"); n != 1 {
		t.Errorf("%d jobs are ready", n)
	}
}

// A success that waits for somebody who takes its pack apart removes the row of
// its lease as well, which was made when its job seemed to be there.
func TestASuccessThatFindsItsPackGoneLeavesNoLease(t *testing.T) {
	t.Parallel()
	for _, jobs := range []int{3, 60} {
		p := newPacking(t, jobs)
		exec, commit := p.begin()
		exec(`select from packs where number = $1 for update`, p.lease)
		ended := make(chan int, 1)
		go func() { ended <- p.finish(belfry.OutcomeOK, p.jobs[1:]...) }()
		p.waits()
		exec(takenApart, p.lease)
		commit()
		if stale := <-ended; stale != 0 {
			t.Errorf("%d are stale", stale)
		}
		p.holds(0, 1)
	}
}

// Whoever takes a pack apart waits for a success in it, and makes no lease for
// its job.
func TestAPackThatWasWaitedForIsTakenApartAsItIsThen(t *testing.T) {
	t.Parallel()
	p := newPacking(t, 60)
	exec, commit := p.begin()
	exec(`delete from jobs where id = $1`, p.jobs[1])
	exec(`update packs set living = living - 1`)
	canceled := make(chan error, 1)
	go func() {
		_, err := p.st.CancelJobs(context.WithoutCancel(t.Context()), "default", belfry.Selection{IDs: p.jobs[:1]})
		canceled <- err
	}()
	p.waits()
	commit()
	if err := <-canceled; err != nil {
		t.Fatal(err)
	}
	p.holds(0, 59)
}

// finishedAround lets all jobs succeed while somebody holds one of them, who
// takes the pack apart when it has been read, and does more.
func (p *packing) finishedAround(job int64, more func(exec func(string, ...any))) (stale int) {
	p.Helper()
	exec, commit := p.begin()
	exec(`select from jobs where id = $1 for update`, job)
	ended := make(chan int, 1)
	go func() { ended <- p.finish(belfry.OutcomeOK, p.jobs...) }()
	p.waits()
	exec(takenApart, p.lease)
	more(exec)
	commit()
	return <-ended
}

// A cancel that came before a success is in the record, however close.
func TestASuccessKnowsOfTheCancelBeforeIt(t *testing.T) {
	t.Parallel()
	p := newPacking(t, 60)
	stale := p.finishedAround(p.jobs[3], func(exec func(string, ...any)) {
		exec(`update leases set cancel_at = 77 where job_id = $1`, p.jobs[3])
	})
	if stale != 0 {
		t.Errorf("%d are stale", stale)
	}
	p.holds(0, 0)
	if n := number(t, p.st, "select cancel_at from jobs_done where cancel_at > 0"); n != 77 {
		t.Errorf("canceled at %d", n)
	}
}

// A job that was put back while its success waited for it keeps its place: the
// success is stale, and the others are not.
func TestASuccessOfAJobThatWasPutBackMeanwhileIsStale(t *testing.T) {
	t.Parallel()
	p := newPacking(t, 60)
	stale := p.finishedAround(p.jobs[3], func(exec func(string, ...any)) {
		exec(`update jobs set lease = $2, attempt = 1 where id = $1`, p.jobs[3], p.lease)
		exec(`delete from leases where job_id = $1`, p.jobs[3])
	})
	if stale != 1 {
		t.Errorf("%d are stale", stale)
	}
	p.holds(0, 0)
	if n := number(t, p.st, "select count(*) from jobs"); n != 1 {
		t.Errorf("%d jobs are left", n)
	}
}

// A retry keeps the number of its last lease, which may be newer than another
// lease in the batch.
func TestARetryIsSettledTogetherWithOlderLeases(t *testing.T) {
	t.Parallel()
	p := newPacking(t, 60)
	first := p.lease
	p.finish(belfry.OutcomeHandedBack, p.jobs[:30]...)
	c, err := p.st.Claim(t.Context(), belfry.ClaimRequest{Session: p.session, Want: map[string]int{"default": 30}})
	if err != nil || len(c.Jobs) != 30 {
		t.Fatal(len(c.Jobs), err)
	}
	p.holds(1, 30)
	p.lease = c.Lease
	again := enqueue(t, p.st, "t")
	d, err := p.st.Claim(t.Context(), belfry.ClaimRequest{Session: p.session, Want: map[string]int{"default": 1}})
	if err != nil || len(d.Jobs) != 1 || d.Jobs[0].Job.ID != again {
		t.Fatal(d.Jobs, err)
	}
	fs := []belfry.Finish{{Ref: belfry.Ref{JobID: again, Lease: d.Lease}, Outcome: belfry.OutcomeOK}}
	for i, id := range p.jobs {
		lease := first
		if i < 30 {
			lease = c.Lease
		}
		fs = append(fs, belfry.Finish{Ref: belfry.Ref{JobID: id, Lease: lease}, Outcome: belfry.OutcomeOK})
	}
	out, err := p.st.Finish(t.Context(), p.session, fs)
	if err != nil {
		t.Fatal(err)
	}
	for _, f := range out {
		if f.Stale {
			t.Errorf("%+v", f)
		}
	}
	p.holds(0, 0)
}

// What a claim has picked by a view that is older than another claim is looked
// at once more under the locks.
func TestUnleasedSeesWhatWasCommittedMeanwhile(t *testing.T) {
	t.Parallel()
	p := newPacking(t, 3)
	free := enqueue(t, p.st, "t")
	rows, err := p.st.DB().(*postgres.DB).Pool().Query(t.Context(), `select * from unleased($1) as t (id)`, append([]int64{free}, p.jobs...))
	if err != nil {
		t.Fatal(err)
	}
	ids, err := pgx.CollectRows(rows, pgx.RowTo[int64])
	if err != nil || len(ids) != 1 || ids[0] != free {
		t.Errorf("%v, %v", ids, err)
	}
	var volatile string
	if err := p.st.DB().(*postgres.DB).Pool().QueryRow(t.Context(), `select provolatile::text from pg_proc where proname = 'unleased'`).Scan(&volatile); err != nil || volatile != "v" {
		t.Errorf("it is %q, and looks as its caller does, %v", volatile, err)
	}
}

// meddler is a database in which something happens before a statement.
type meddler struct {
	*postgres.DB
	before func(query string)
}

func (m meddler) Write(ctx context.Context, fn func(tx store.Tx, at store.Moment) error) error {
	return m.DB.Write(ctx, func(tx store.Tx, at store.Moment) error { return fn(meddled{tx, m.before}, at) })
}

type meddled struct {
	store.Tx
	before func(query string)
}

func (m meddled) Query(ctx context.Context, query string, args ...any) (store.Rows, error) {
	m.before(query)
	return m.Tx.Query(ctx, query, args...)
}

// A few successes are looked for among the rows of leases first, and then in
// packs. One whose pack is taken apart in between is good.
func TestAPackThatIsTakenApartBetweenTwoLooksHidesNobody(t *testing.T) {
	t.Parallel()
	for _, jobs := range []int{3, 60} {
		p := newPacking(t, jobs)
		exec, commit := p.begin()
		done := false
		p.st = store.New(meddler{p.st.DB().(*postgres.DB), func(query string) {
			if !done && strings.Contains(query, "from packs where number") {
				done = true
				exec(takenApart, p.lease)
				commit()
			}
		}}, store.Options{Clock: p.clock.Now})
		fs := make([]belfry.Finish, len(p.jobs))
		for i, id := range p.jobs {
			fs[i] = belfry.Finish{Ref: belfry.Ref{JobID: id, Lease: p.lease}, Outcome: belfry.OutcomeOK}
		}
		out, err := p.st.Finish(t.Context(), p.session, fs)
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

// Of two successes of a job, under a lease that ended and under the one it has
// in a pack, the second counts.
func TestTheLeaseInAPackCountsBesideAnOlderOne(t *testing.T) {
	t.Parallel()
	for _, jobs := range []int{3, 60} {
		p := newPacking(t, jobs)
		old := p.lease
		p.finish(belfry.OutcomeHandedBack, p.jobs...)
		c, err := p.st.Claim(t.Context(), belfry.ClaimRequest{Session: p.session, Want: map[string]int{"default": jobs}})
		if err != nil || len(c.Jobs) != jobs {
			t.Fatal(len(c.Jobs), err)
		}
		p.holds(1, 0)
		var fs []belfry.Finish
		for _, id := range p.jobs {
			for _, lease := range []int64{old, c.Lease} {
				fs = append(fs, belfry.Finish{Ref: belfry.Ref{JobID: id, Lease: lease}, Outcome: belfry.OutcomeOK})
			}
		}
		out, err := p.st.Finish(t.Context(), p.session, fs)
		if err != nil {
			t.Fatal(err)
		}
		for _, f := range out {
			if f.Stale != (f.Ref.Lease == old) {
				t.Errorf("of %d: %+v", jobs, f)
			}
		}
		p.holds(0, 0)
	}
}

// A handler that settles its job in a transaction of its own may take its time:
// those of the same claim do not wait for it, nor does their session.
func TestAFinishInSomebodysTransactionHoldsUpNobody(t *testing.T) {
	t.Parallel()
	for _, level := range []pgx.TxIsoLevel{pgx.ReadCommitted, pgx.RepeatableRead} {
		p := newPacking(t, 60)
		pool := p.st.DB().(*postgres.DB).Pool()
		tx, err := pool.BeginTx(t.Context(), pgx.TxOptions{IsoLevel: level})
		if err != nil {
			t.Fatal(err)
		}
		if _, err := tx.Exec(t.Context(), "select"); err != nil { // its view is from here on
			t.Fatal(err)
		}
		finish := func(i int) {
			t.Helper()
			if _, err := p.st.FinishTx(t.Context(), tx, belfry.Finish{Ref: belfry.Ref{JobID: p.jobs[i], Lease: p.lease}, Outcome: belfry.OutcomeOK}); err != nil {
				t.Fatalf("%s: %v", level, err)
			}
		}
		finish(0)
		ctx, cancel := context.WithTimeout(t.Context(), 20*time.Second)
		defer cancel()
		if _, err := p.st.Finish(ctx, p.session, []belfry.Finish{{Ref: belfry.Ref{JobID: p.jobs[1], Lease: p.lease}, Outcome: belfry.OutcomeOK}}); err != nil {
			t.Fatal(err)
		}
		if _, err := p.st.CancelJobs(ctx, "default", belfry.Selection{IDs: p.jobs[2:3]}); err != nil {
			t.Fatal(err)
		}
		p.clock.Move(belfry.ClaimSettled + time.Second)
		var held []belfry.Ref
		for _, id := range p.jobs {
			held = append(held, belfry.Ref{JobID: id, Lease: p.lease})
		}
		if _, err := p.st.Renew(ctx, p.session, held); err != nil {
			t.Fatal(err)
		}
		finish(59) // whose lease has a row by now, which the older view does not see
		if err := tx.Commit(t.Context()); err != nil {
			t.Fatalf("%s: %v", level, err)
		}
		p.clock.Move(belfry.ClaimSettled + time.Second)
		if _, err := p.st.Renew(ctx, p.session, held[2:59]); err != nil {
			t.Fatal(err)
		}
		p.holds(0, 57)
		if n := number(t, p.st, "select count(*) from jobs_done where state = 'succeeded'"); n != 3 {
			t.Errorf("%s: %d have succeeded", level, n)
		}
	}
}

package sqlite_test

import (
	"context"
	"path/filepath"
	"slices"
	"testing"
	"time"

	"github.com/belfry-run/belfry"
	"github.com/belfry-run/belfry/store"
	"github.com/belfry-run/belfry/store/sqlite"
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
	clock := storetest.NewClock()
	return newPackingOn(t, openPacking(t, store.Options{Clock: clock.Now}), clock, jobs)
}

func newPackingOn(t *testing.T, st *store.Store, clock *storetest.Clock, jobs int) *packing {
	t.Helper()
	p := &packing{T: t, st: st, clock: clock}
	for range jobs {
		p.jobs = append(p.jobs, p.enqueue(belfry.NewJob{}))
	}
	s, err := st.OpenSession(t.Context(), belfry.WorkerInfo{Name: "w", Kinds: []belfry.Kind{belfry.KindFunc}, Funcs: []string{"t"}, Queues: map[string]int{"default": jobs}})
	if err != nil {
		t.Fatal(err)
	}
	p.session = s.ID
	claimed := p.claim(jobs)
	if len(claimed) != jobs {
		t.Fatalf("claimed %d of %d", len(claimed), jobs)
	}
	p.holds(1, 0)
	return p
}

func (p *packing) enqueue(n belfry.NewJob) int64 {
	p.Helper()
	n.Task, n.Kind = "t", belfry.KindFunc
	es, err := p.st.Enqueue(p.Context(), []belfry.NewJob{n})
	if err != nil {
		p.Fatal(err)
	}
	return es[0].Job.ID
}

// claim keeps the lease.
func (p *packing) claim(jobs int) (ids []int64) {
	p.Helper()
	c, err := p.st.Claim(p.Context(), belfry.ClaimRequest{Session: p.session, Want: map[string]int{"default": jobs}})
	if err != nil {
		p.Fatal(err)
	}
	for _, j := range c.Jobs {
		ids = append(ids, j.Job.ID)
	}
	p.lease = c.Lease
	return ids
}

// holds says how many packs and rows of leases there are.
func (p *packing) holds(packs, rows int) {
	p.Helper()
	if n := count(p.T, p.st, "select count(*) from packs"); n != packs {
		p.Errorf("%d packs, want %d", n, packs)
	}
	if n := count(p.T, p.st, "select count(*) from leases"); n != rows {
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

func TestAPackLastsUntilItsLastJobHasSucceeded(t *testing.T) {
	t.Parallel()
	const jobs = 3
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
	if stale := p.finish(belfry.OutcomeOK, p.jobs[1:]...); stale != jobs-1 {
		t.Errorf("%d are stale the second time, want %d", stale, jobs-1)
	}
	p.holds(1, 0)
	if stale := p.finish(belfry.OutcomeOK, p.jobs...); stale != jobs-1 {
		t.Errorf("%d are stale the third time, want %d", stale, jobs-1)
	}
	p.holds(0, 0)
	if n := count(t, p.st, "select count(*) from jobs_done where state = 'succeeded' and lease > 0 and worker = 'w' and claimed_at > 0"); n != jobs {
		t.Errorf("%d of %d are in the history as they should be", n, jobs)
	}
}

func TestAPackIsTakenApartForWhatIsNoSuccess(t *testing.T) {
	t.Parallel()
	const jobs = 20
	one := func(p *packing) belfry.Selection { return belfry.Selection{IDs: p.jobs[:1]} }
	for name, c := range map[string]struct {
		do   func(p *packing) error
		rows int // of leases after it
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
			if stale := p.finish(belfry.OutcomeOK, p.jobs...); stale != jobs-c.rows {
				t.Errorf("%d are stale then, want %d", stale, jobs-c.rows)
			}
			p.holds(0, 0)
		})
	}
}

// A success and a failure in one batch meet in one pack.
func TestABatchOfAPackMayHoldFailures(t *testing.T) {
	t.Parallel()
	p := newPacking(t, 6)
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
	if n := count(t, p.st, "select count(*) from jobs where state = 'scheduled' and lease > 0"); n != 3 {
		t.Errorf("%d wait for a retry", n)
	}
}

// One batch may have jobs of several packs, and of none.
func TestABatchMayHoldSeveralPacks(t *testing.T) {
	t.Parallel()
	p := newPacking(t, 3)
	fs := refsOf(p)
	p.enqueue(belfry.NewJob{})
	p.enqueue(belfry.NewJob{})
	p.jobs = p.claim(2)
	fs = append(refsOf(p), fs[1:]...)
	if _, err := p.st.CancelJobs(t.Context(), "default", belfry.Selection{IDs: p.jobs[:1]}); err != nil {
		t.Fatal(err)
	}
	p.holds(1, 2)
	out, err := p.st.Finish(t.Context(), p.session, fs)
	if err != nil {
		t.Fatal(err)
	}
	for _, f := range out {
		if f.Stale || f.State != belfry.JobSucceeded {
			t.Errorf("%+v", f)
		}
	}
	p.holds(1, 0)
}

func refsOf(p *packing) (fs []belfry.Finish) {
	for _, id := range p.jobs {
		fs = append(fs, belfry.Finish{Ref: belfry.Ref{JobID: id, Lease: p.lease}, Outcome: belfry.OutcomeOK})
	}
	return fs
}

func TestAFinishUnderAPackThatHasNotTheJobIsStale(t *testing.T) {
	t.Parallel()
	p := newPacking(t, 6)
	other := p.enqueue(belfry.NewJob{})
	if stale := p.finish(belfry.OutcomeOK, append([]int64{other}, p.jobs...)...); stale != 1 {
		t.Errorf("%d are stale, want the one that nobody has claimed", stale)
	}
	if n := count(t, p.st, "select count(*) from jobs where state = 'ready'"); n != 1 {
		t.Errorf("%d jobs are ready", n)
	}
}

// Jobs that lie between those of a pack are claimed, and those in it are not.
func TestAClaimSeesWhatLiesInTheReachOfAPack(t *testing.T) {
	t.Parallel()
	high := 5
	p := newPacking(t, 1)
	between := []int64{p.enqueue(belfry.NewJob{}), p.enqueue(belfry.NewJob{})}
	p.enqueue(belfry.NewJob{Priority: &high})
	p.claim(1)
	p.holds(2, 0)
	if got := p.claim(10); !slices.Equal(got, between) {
		t.Errorf("claimed %v, want %v", got, between)
	}
	p.holds(3, 0)
	if got := p.claim(10); len(got) > 0 {
		t.Errorf("claimed %v twice", got)
	}
}

// Of two successes of a job, under a lease that ended and under the one it has
// in a pack, the second counts.
func TestTheLeaseInAPackCountsBesideAnOlderOne(t *testing.T) {
	t.Parallel()
	const jobs = 3
	p := newPacking(t, jobs)
	old := p.lease
	p.finish(belfry.OutcomeHandedBack, p.jobs...)
	p.claim(jobs)
	p.holds(1, 0)
	var fs []belfry.Finish
	for _, id := range p.jobs {
		for _, lease := range []int64{old, p.lease} {
			fs = append(fs, belfry.Finish{Ref: belfry.Ref{JobID: id, Lease: lease}, Outcome: belfry.OutcomeOK})
		}
	}
	out, err := p.st.Finish(t.Context(), p.session, fs)
	if err != nil {
		t.Fatal(err)
	}
	for _, f := range out {
		if f.Stale != (f.Lease == old) {
			t.Errorf("%+v", f)
		}
	}
	p.holds(0, 0)
}

// What nobody but the file knows of a pack is enough to go on with it.
func TestAPackOutlivesItsProcess(t *testing.T) {
	t.Parallel()
	path, clock := filepath.Join(t.TempDir(), "belfry.db"), storetest.NewClock()
	options := sqlite.Options{Options: store.Options{Clock: clock.Now, PackFrom: 1}, Synchronous: "NORMAL"}
	p := newPackingOn(t, openAt(t, path, options), clock, 4)
	if err := p.st.Close(); err != nil {
		t.Fatal(err)
	}
	p.st = openAt(t, path, options)
	lease := p.lease
	if got := p.claim(10); len(got) > 0 {
		t.Errorf("claimed %v twice", got)
	}
	p.lease = lease
	p.finish(belfry.OutcomeOK, p.jobs[:2]...)
	p.finish(belfry.OutcomeError, p.jobs[2])
	p.holds(0, 1)
	if stale := p.finish(belfry.OutcomeOK, p.jobs...); stale != 3 {
		t.Errorf("%d are stale, want 3", stale)
	}
}

// Leases by which something is counted or followed have rows.
func TestOnlyPlainJobsArePacked(t *testing.T) {
	t.Parallel()
	p := newPacking(t, 1)
	if _, err := p.st.SaveQueue(t.Context(), belfry.Queue{Name: "default", GlobalLimit: 10}); err != nil {
		t.Fatal(err)
	}
	p.enqueue(belfry.NewJob{})
	p.claim(1)
	p.holds(1, 1)
}

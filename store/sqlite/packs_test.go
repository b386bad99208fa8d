package sqlite_test

import (
	"path/filepath"
	"testing"

	"github.com/belfry-run/belfry/job"
	"github.com/belfry-run/belfry/store"
	"github.com/belfry-run/belfry/store/sqlite"
	"github.com/belfry-run/belfry/store/storetest"
)

func TestPacks(t *testing.T) { storetest.RunPacks(t, openPacking) }

// What nobody but the file knows of a pack is enough to go on with it.
func TestAPackOutlivesItsProcess(t *testing.T) {
	t.Parallel()
	path, clock := filepath.Join(t.TempDir(), "belfry.db"), storetest.NewClock()
	options := sqlite.Options{Options: store.Options{Clock: clock.Now, PackFrom: 1}, Synchronous: "NORMAL"}
	p := storetest.NewPacking(t, openAt(t, path, options), clock, 4)
	if err := p.Store.Close(); err != nil {
		t.Fatal(err)
	}
	p.Store = openAt(t, path, options)
	lease := p.Lease
	if got := p.Claim(10); len(got) > 0 {
		t.Errorf("claimed %v twice", got)
	}
	p.Lease = lease
	p.Finish(job.OutcomeOK, p.Jobs[:2]...)
	p.Finish(job.OutcomeError, p.Jobs[2])
	p.Holds(0, 1)
	if stale := p.Finish(job.OutcomeOK, p.Jobs...); stale != 1 { // the error; the first two are repeated
		t.Errorf("%d are stale, want 1", stale)
	}
}

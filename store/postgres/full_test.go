package postgres_test

import (
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/belfry-run/belfry/core"
	"github.com/belfry-run/belfry/internal/pgtest"
	"github.com/belfry-run/belfry/job"
	"github.com/belfry-run/belfry/store"
	"github.com/belfry-run/belfry/store/postgres"
	"github.com/belfry-run/belfry/task"
)

// answers is what clients of a database were answered.
type answers struct {
	mu             sync.Mutex
	made, finished map[int64]bool
	asked          map[int64]bool // to be finished, whatever the answer
	refusals       map[string]bool
}

// ask enqueues a job, claims one and finishes it, and returns the first refusal.
func (k *answers) ask(t *testing.T, st *store.Store, session string) error {
	es, err := st.Enqueue(t.Context(), []job.NewJob{{Task: "t", Kind: task.KindFunc}})
	if err != nil {
		return err
	}
	k.note(k.made, es[0].Job.ID)
	got, err := st.Claim(t.Context(), job.ClaimRequest{Session: session, Want: map[string]int{"default": 1}})
	if err != nil || len(got.Jobs) == 0 {
		return err
	}
	id := got.Jobs[0].Job.ID
	k.note(k.asked, id)
	out, err := st.Finish(t.Context(), session, []job.Finish{{Ref: job.Ref{JobID: id, Lease: got.Lease}, Outcome: job.OutcomeOK}})
	if err == nil && out[0].Stale {
		t.Errorf("a finish of job %d: %+v", id, out[0])
	}
	if err == nil {
		k.note(k.finished, id)
	}
	return err
}

func (k *answers) note(in map[int64]bool, id int64) {
	k.mu.Lock()
	defer k.mu.Unlock()
	in[id] = true
}

// The disk of the server's log is full: PostgreSQL panics, and its recovery has no room either. What was acknowledged is
// there when the disk has room again, and the store goes on by itself.
func TestPostgresFailoverOfAServerWithAFullLogDisk(t *testing.T) {
	t.Parallel()
	disk, why := pgtest.SmallDisk(t, "64m")
	if why != "" {
		t.Fatal(why + "; be root, or let sudo know you first: sudo -v")
	}
	server := pgtest.NewServer(t, pgtest.Options{LogDisk: disk, Settings: map[string]string{"min_wal_size": "32MB", "max_wal_size": "32MB"}})
	st := openAt(t, server.URL("postgres"), postgres.Options{Wakeups: "poll"})
	session := worker(t, st, "t")
	k := &answers{made: map[int64]bool{}, finished: map[int64]bool{}, asked: map[int64]bool{}, refusals: map[string]bool{}}
	const clients, after = 4, 10
	var refused, all sync.WaitGroup
	healed := make(chan struct{})
	for range clients {
		refused.Add(1)
		all.Go(func() {
			once := sync.OnceFunc(refused.Done)
			defer once()
			for n := 0; n < after && t.Context().Err() == nil; {
				err := k.ask(t, st, session)
				select {
				case <-healed:
					n++
					continue
				default:
				}
				if err == nil {
					continue
				}
				if code := core.CodeOf(err); code != core.Unavailable && code != core.Unknown {
					t.Errorf("a client was refused with code %q: %v", code, err)
					return
				}
				k.mu.Lock()
				k.refusals[string(core.CodeOf(err))+": "+err.Error()] = true
				k.mu.Unlock()
				once()
			}
		})
	}
	ballast := filepath.Join(disk, "ballast")
	pgtest.FillDisk(t, ballast)
	gone := make(chan struct{})
	go func() { refused.Wait(); close(gone) }()
	for full := false; !full; {
		_ = server.Exec(`select pg_switch_wal()`) // the rest of a file of the log is room too
		select {
		case <-gone:
			full = true
		default:
		}
	}
	if log := server.Log(); !strings.Contains(log, "PANIC") || !strings.Contains(log, "No space left on device") {
		t.Errorf("the server did not panic for want of room:\n%s", log)
	}
	if err := os.Remove(ballast); err != nil {
		t.Fatal(err)
	}
	if err := server.Restart(); err != nil {
		t.Fatal(err)
	}
	if _, err := st.Enqueue(t.Context(), []job.NewJob{{Task: "t", Kind: task.KindFunc}}); err != nil {
		t.Errorf("the first call after the disk has room: %v", err)
	}
	close(healed)
	all.Wait()
	t.Logf("%d jobs made, %d finished; refusals: %q", len(k.made), len(k.finished), slices.Sorted(maps.Keys(k.refusals)))
	if len(k.made) == 0 || len(k.finished) == 0 {
		t.Error("too little happened to prove anything")
	}
	for id := range k.made {
		j, err := st.Job(t.Context(), core.AnyNamespace, id)
		switch {
		case err != nil:
			t.Errorf("job %d, which was acknowledged: %v", id, err)
		case k.finished[id] && j.State != job.Succeeded:
			t.Errorf("job %d, whose end was acknowledged, is %s", id, j.State)
		case j.State == job.Succeeded && !k.asked[id]:
			t.Errorf("job %d succeeded, and no client said so", id)
		}
	}
}

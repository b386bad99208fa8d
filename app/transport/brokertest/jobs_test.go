package brokertest

import (
	"context"
	"fmt"
	"log/slog"
	"net/http/httptest"
	"path/filepath"
	"slices"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/belfry-run/belfry/access"
	"github.com/belfry-run/belfry/app/httpapi"
	"github.com/belfry-run/belfry/app/transport"
	"github.com/belfry-run/belfry/core"
	"github.com/belfry-run/belfry/httpapi/client"
	"github.com/belfry-run/belfry/internal/pgtest"
	"github.com/belfry-run/belfry/job"
	"github.com/belfry-run/belfry/store"
	"github.com/belfry-run/belfry/store/postgres"
	"github.com/belfry-run/belfry/store/sqlite"
	"github.com/belfry-run/belfry/task"
	"github.com/belfry-run/belfry/worker"
)

const jobs = 2000

// brisk deliveries soon for what was not heard.
var brisk = store.Options{TicketRetry: 300 * time.Millisecond}

// stores opens each kind of database.
var stores = map[string]func(t *testing.T) *store.Store{
	"sqlite": func(t *testing.T) *store.Store {
		st, err := sqlite.Open(t.Context(), filepath.Join(t.TempDir(), "belfry.db"), sqlite.Options{Options: brisk})
		must(t, err)
		return st
	},
	"postgres": func(t *testing.T) *store.Store {
		st, err := postgres.Open(t.Context(), pgtest.Migrated(t, postgres.Migrate), postgres.Options{Options: brisk})
		must(t, err)
		return st
	},
}

// Two nodes ring, three workers listen, one of them over HTTP, and the broker
// loses, doubles, replays and reorders messages.
func TestJobsBehindAnUnrulyBrokerAreRecordedOnceEach(t *testing.T) {
	t.Parallel()
	for kind, newPlace := range places {
		for database, open := range stores {
			t.Run(kind+" "+database, func(t *testing.T) {
				t.Parallel()
				p := newPlace(t, brief)
				must(t, p.client(t).Setup(t.Context()))
				st := open(t)
				t.Cleanup(func() { _ = st.Close() })
				runJobs(t, st, p)
			})
		}
	}
}

func runJobs(t *testing.T, st *store.Store, p *place) {
	loop(t, st.Run)
	_, err := st.SaveQueue(t.Context(), job.Queue{Name: "render", Concurrency: 50})
	must(t, err)
	_, err = st.CreateTask(t.Context(), task.Task{Name: "work", Kind: task.KindFunc, Queue: "render"})
	must(t, err)
	ids := enqueue(t, st)
	unruly := newUnruly(p.client(t), 1)
	for range 2 {
		loop(t, transport.Dispatcher{Queue: "render", Store: st, Publisher: unruly, Poll: 50 * time.Millisecond, Logger: p.log.logger()}.Run)
	}
	var ran seen
	for i, b := range []job.Leaser{st, st, overHTTP(t, st)} {
		listen(t, fmt.Sprint("worker-", i), b, newUnruly(p.client(t), uint64(i)+2), &ran, p.log.logger())
	}
	eventually(t, "all jobs are done", func() bool {
		all, err := st.Queues(t.Context())
		must(t, err)
		at := slices.IndexFunc(all, func(q job.QueueStats) bool { return q.Name == "render" })
		return all[at].Ready+all[at].Scheduled+all[at].Running == 0
	})
	for _, id := range ids {
		checkRecord(t, st, id, &ran)
	}
	if n := ran.twice.Load(); n > 0 {
		t.Errorf("%d jobs ran under two leases at a time", n)
	}
	unruly.mu.Lock()
	defer unruly.mu.Unlock()
	t.Logf("on their way in %d messages were lost, %d doubled and %d replayed", unruly.lost, unruly.doubled, unruly.replayed)
}

// overHTTP is the store for a worker that has a token and no database.
func overHTTP(t *testing.T, st *store.Store) job.Leaser {
	t.Helper()
	_, secret, err := st.CreateToken(t.Context(), access.Token{Name: "far", Namespace: core.AnyNamespace, Scopes: []access.Scope{access.ScopeWorker}})
	must(t, err)
	server, err := httpapi.New(httpapi.Options{Service: st, Auth: st, Attempts: st})
	must(t, err)
	front := httptest.NewServer(server.Handler())
	t.Cleanup(func() {
		server.Close()
		front.Close()
	})
	client, err := client.New(front.URL, secret, client.Options{})
	must(t, err)
	t.Cleanup(client.CloseIdleConnections)
	return client
}

// loop runs something for as long as the test does.
func loop(t *testing.T, run func(context.Context) error) {
	t.Helper()
	ctx, cancel := context.WithCancel(context.Background())
	ended := make(chan error, 1)
	go func() { ended <- run(ctx) }()
	t.Cleanup(func() {
		cancel()
		if err := <-ended; err != nil {
			t.Error(err)
		}
	})
}

// seen is what the handlers saw.
type seen struct {
	now   sync.Map // jobs that run
	times sync.Map // job to how often it ran
	twice atomic.Int32
}

func listen(t *testing.T, name string, b job.Leaser, broker worker.Broker, ran *seen, log *slog.Logger) {
	t.Helper()
	handlers := &worker.Handlers{}
	worker.Handle(handlers, "work", func(ctx context.Context, _ struct{}) (struct{}, error) {
		j, _ := worker.JobFrom(ctx)
		if _, running := ran.now.LoadOrStore(j.ID, true); running {
			ran.twice.Add(1)
		}
		n, _ := ran.times.LoadOrStore(j.ID, new(atomic.Int32))
		n.(*atomic.Int32).Add(1)
		time.Sleep(time.Millisecond) // so that another could be seen beside it
		ran.now.Delete(j.ID)
		return struct{}{}, nil
	})
	w, err := worker.New(worker.Options{
		Leaser: b, Name: name, Handlers: handlers, Queues: map[string]int{"render": 20},
		Brokers: map[string]worker.Broker{"render": broker}, Logger: log,
	})
	must(t, err)
	loop(t, w.Run)
}

func enqueue(t *testing.T, st *store.Store) (ids []int64) {
	t.Helper()
	batch := make([]job.NewJob, jobs)
	for i := range batch {
		batch[i].Task = "work"
	}
	made, err := st.Enqueue(t.Context(), batch)
	must(t, err)
	for _, e := range made {
		ids = append(ids, e.Job.ID)
	}
	return ids
}

// checkRecord wants one attempt, which succeeded and which a handler saw.
func checkRecord(t *testing.T, st *store.Store, id int64, ran *seen) {
	t.Helper()
	attempts, err := st.Attempts(t.Context(), core.AnyNamespace, id)
	must(t, err)
	if len(attempts) != 1 || attempts[0].Outcome != job.OutcomeOK {
		t.Errorf("job %d has attempts %+v", id, attempts)
	}
	if n, ok := ran.times.Load(id); !ok || n.(*atomic.Int32).Load() != 1 {
		t.Errorf("job %d ran: %v", id, n)
	}
}

package bench

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/belfry-run/belfry"
	"github.com/belfry-run/belfry/engine"
	"github.com/belfry-run/belfry/internal/pgtest"
	"github.com/belfry-run/belfry/store"
	"github.com/belfry-run/belfry/store/postgres"
	"github.com/belfry-run/belfry/store/sqlite"
	"github.com/belfry-run/belfry/worker"
)

func TestMain(m *testing.M) { os.Exit(pgtest.Main(m)) }

// idle is how many schedules sleep beside the one that is measured.
const idle = 100_000

// databases are opened with their default durability.
var databases = []struct {
	name string
	open func(b *testing.B) (*store.Store, error)
}{
	{"sqlite", func(b *testing.B) (*store.Store, error) {
		return sqlite.Open(b.Context(), filepath.Join(b.TempDir(), "belfry.db"), sqlite.Options{})
	}},
	{"postgres", func(b *testing.B) (*store.Store, error) {
		srv := pgtest.NewServer(b, pgtest.Options{Durable: true})
		return postgres.Open(b.Context(), srv.New(b), postgres.Options{})
	}},
}

// BenchmarkNode shows the start lag of a schedule that runs every second
// beside 100,000 idle ones, and the share of a core that the node takes while
// nothing at all is due.
func BenchmarkNode(b *testing.B) {
	for _, db := range databases {
		b.Run(db.name, func(b *testing.B) {
			st, err := db.open(b)
			if err != nil {
				b.Fatal(err)
			}
			defer st.Close() //nolint:errcheck // the benchmark is over
			fill(b, st)
			var h worker.Handlers
			var lags lags
			worker.Handle(&h, "measure", func(ctx context.Context, _ struct{}) (struct{}, error) {
				j, _ := worker.JobFrom(ctx)
				lags.add(time.Since(j.Nominal))
				return struct{}{}, nil
			})
			stop := run(b, st, &h)
			defer stop()

			const rest = 10 * time.Second
			time.Sleep(2 * time.Second) // what starting costs is not idling
			before := cpu()
			time.Sleep(rest)
			idleCPU := float64(cpu()-before) / float64(rest)

			b.ResetTimer()
			if _, err := st.CreateSchedule(b.Context(), belfry.Schedule{Name: "measure", Task: "measure", Rules: []belfry.Rule{{Cron: "* * * * * *"}}}); err != nil {
				b.Fatal(err)
			}
			const samples = 20
			for lags.len() < samples*max(1, b.N) {
				time.Sleep(100 * time.Millisecond)
			}
			if err := st.DeleteSchedule(b.Context(), "default", "measure"); err != nil {
				b.Fatal(err)
			}
			b.ReportMetric(lags.at(0.5), "lag-p50-ms")
			b.ReportMetric(lags.at(0.99), "lag-p99-ms")
			b.ReportMetric(idleCPU*100, "idle-%-of-a-core")
		})
	}
}

// fill saves the idle schedules, due a day and more from now.
func fill(b *testing.B, st *store.Store) {
	b.Helper()
	const step = 10_000
	start := time.Now().Add(24 * time.Hour).UTC()
	for from := 0; from < idle; from += step {
		m := belfry.Manifest{Tasks: []belfry.Task{{Name: "idle", Kind: belfry.KindFunc}}}
		for i := from; i < from+step; i++ {
			m.Schedules = append(m.Schedules, belfry.Schedule{Name: fmt.Sprintf("idle-%06d", i), Task: "idle", Start: start, Rules: []belfry.Rule{{Cron: "0 3 * * *"}}})
		}
		if _, err := st.Apply(b.Context(), m, belfry.ApplyOptions{}); err != nil {
			b.Fatal(err)
		}
	}
}

// run starts what a node runs and returns what stops it.
func run(b *testing.B, st *store.Store, h *worker.Handlers) (stop func()) {
	b.Helper()
	e, err := engine.New(engine.Options{Store: st})
	if err != nil {
		b.Fatal(err)
	}
	w, err := worker.New(worker.Options{Broker: st, Handlers: h, Queues: map[string]int{"default": 0, "checks": 0, "system": 0}})
	if err != nil {
		b.Fatal(err)
	}
	ctx, cancel := context.WithCancel(b.Context())
	var loops sync.WaitGroup
	for _, loop := range []func(context.Context) error{st.Run, e.Run, w.Run} {
		loops.Go(func() {
			if err := loop(ctx); err != nil {
				b.Error(err)
			}
		})
	}
	return func() { cancel(); loops.Wait() }
}

// cpu is what this process has used so far. PostgreSQL's own share is not in it.
func cpu() time.Duration {
	var u syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &u); err != nil {
		return 0
	}
	return time.Duration(u.Utime.Nano() + u.Stime.Nano())
}

type lags struct {
	mu  sync.Mutex
	all []time.Duration
}

func (l *lags) add(d time.Duration) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.all = append(l.all, d)
}

func (l *lags) len() int {
	l.mu.Lock()
	defer l.mu.Unlock()
	return len(l.all)
}

// at is a quantile in milliseconds.
func (l *lags) at(q float64) float64 {
	l.mu.Lock()
	defer l.mu.Unlock()
	slices.Sort(l.all)
	return float64(l.all[int(q*float64(len(l.all)-1))]) / float64(time.Millisecond)
}

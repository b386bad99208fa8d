package worker_test

import (
	"bytes"
	"context"
	"fmt"
	"log/slog"
	"math/rand/v2"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/belfry-run/belfry/core"
	"github.com/belfry-run/belfry/internal/leasertest"
	"github.com/belfry-run/belfry/job"
	"github.com/belfry-run/belfry/task"
	"github.com/belfry-run/belfry/worker"
)

// fixture is a server and a worker in a bubble with a fake clock.
type fixture struct {
	*testing.T
	leaser   *leasertest.Leaser
	handlers *worker.Handlers
	options  worker.Options
	logged   *buffer
	watch    *counts
	ran      *worker.Worker // the worker of runOnce
}

// inBubble runs a test under a fake clock and checks at its end that the
// worker kept the server's contract.
func inBubble(t *testing.T, test func(f *fixture)) {
	t.Helper()
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		f := &fixture{T: t, leaser: leasertest.New(), handlers: &worker.Handlers{}, logged: &buffer{}, watch: &counts{ended: map[job.Outcome]int{}}}
		f.options = worker.Options{
			Leaser: f.leaser, Handlers: f.handlers, Name: "test", Queues: map[string]int{"default": 4},
			Logger:   slog.New(slog.NewTextHandler(f.logged, &slog.HandlerOptions{Level: slog.LevelDebug})),
			Observer: f.watch,
		}
		test(f)
		for _, breach := range f.leaser.Breaches() {
			t.Errorf("the worker broke the contract: %s", breach)
		}
		if t.Failed() {
			t.Log("\n" + f.logged.String())
		}
	})
}

// handle registers a handler without input and output.
func (f *fixture) handle(name string, fn func(ctx context.Context) error) {
	worker.Handle(f.handlers, name, func(ctx context.Context, _ struct{}) (struct{}, error) { return struct{}{}, fn(ctx) })
}

// serve runs a worker until stop, which returns what Run returned.
func (f *fixture) serve() (stop func() error) {
	f.Helper()
	w, err := worker.New(f.options)
	if err != nil {
		f.Fatal(err)
	}
	ctx, cancel := context.WithCancel(f.Context())
	ended := make(chan error, 1)
	go func() { ended <- w.Run(ctx) }()
	return func() error {
		cancel()
		return <-ended
	}
}

func (f *fixture) runOnce() int {
	f.Helper()
	w, err := worker.New(f.options)
	if err != nil {
		f.Fatal(err)
	}
	f.ran = w
	n, err := w.RunOnce(f.Context())
	if err != nil {
		f.Fatal(err)
	}
	return n
}

func (f *fixture) enqueue(task string) int64 {
	return f.leaser.Enqueue(job.NewJob{Task: task}).ID
}

func (f *fixture) job(id int64) job.Job {
	j, err := f.leaser.Job(f.Context(), "", id)
	if err != nil {
		f.Fatal(err)
	}
	return j
}

func (f *fixture) wantState(id int64, want job.State) {
	f.Helper()
	if j := f.job(id); j.State != want {
		f.Errorf("job %d is %s (%s %s), want %s", id, j.State, j.Reason, j.Error, want)
	}
}

func (f *fixture) wantOutcomes(id int64, want ...job.Outcome) {
	f.Helper()
	var got []job.Outcome
	for _, a := range f.leaser.Attempts(id) {
		got = append(got, a.Outcome)
	}
	if len(got) != len(want) {
		f.Errorf("job %d had attempts %v, want %v", id, got, want)
		return
	}
	for i := range got {
		if got[i] != want[i] {
			f.Errorf("job %d had attempts %v, want %v", id, got, want)
			return
		}
	}
}

func (f *fixture) wantLogged(text string) {
	f.Helper()
	if !strings.Contains(f.logged.String(), text) {
		f.Errorf("the worker's log does not say %q", text)
	}
}

func (f *fixture) wantNotLogged(text string) {
	f.Helper()
	if strings.Contains(f.logged.String(), text) {
		f.Errorf("the worker's log says %q", text)
	}
}

// settle waits until all goroutines are blocked, without letting time pass.
func settle() { synctest.Wait() }

// pass lets time pass, then settles.
func pass(d time.Duration) {
	time.Sleep(d)
	synctest.Wait()
}

// buffer is a bytes.Buffer that is safe for concurrent use.
type buffer struct {
	mu sync.Mutex
	b  bytes.Buffer
}

func (b *buffer) Write(p []byte) (int, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.b.Write(p)
}

func (b *buffer) String() string {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.b.String()
}

func (b *buffer) count(text string) int { return strings.Count(b.String(), text) }

// counts is an observer that counts.
type counts struct {
	worker.NoObserver
	mu    sync.Mutex
	ended map[job.Outcome]int
	stale int
	lost  int
}

func (c *counts) Ended(_ string, _ task.Kind, o job.Outcome, _ time.Duration) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.ended[o]++
}

func (c *counts) Reported(_, stale int, _ time.Duration, _ error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.stale += stale
}

func (c *counts) Lost(int) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.lost++
}

func (c *counts) get() (stale, lost int) {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.stale, c.lost
}

// on returns a hook that fails the named calls with err.
func on(err error, calls ...string) func(context.Context, string) error {
	return func(_ context.Context, call string) error {
		for _, c := range calls {
			if c == call {
				return err
			}
		}
		return nil
	}
}

var errAway = core.Errorf(core.Unavailable, "the database is away")

// inBubbleNamed is inBubble as a numbered subtest.
func inBubbleNamed(t *testing.T, name string, n uint64, test func(f *fixture)) {
	t.Helper()
	t.Run(fmt.Sprint(name, n), func(t *testing.T) { inBubble(t, test) })
}

// handleTirelessly adds a task that is retried until it succeeds. It fails the test
// if two attempts of a job run at the same time.
func (f *fixture) handleTirelessly(name string, do func(context.Context) error) {
	f.Helper()
	f.leaser.AddTask(task.Task{Name: name, Retry: task.Retry{MaxAttempts: 100, Backoff: task.BackoffFixed, Delay: core.Duration(time.Second)}})
	var running sync.Map
	f.handle(name, func(ctx context.Context) error {
		j, _ := worker.JobFrom(ctx)
		if _, twice := running.LoadOrStore(j.ID, true); twice {
			f.Errorf("job %d runs twice at the same time", j.ID)
		}
		defer running.Delete(j.ID)
		return do(ctx)
	})
}

// dice is a seeded random source that is safe for concurrent use.
type dice struct {
	mu  sync.Mutex
	rnd *rand.Rand
}

func newDice(seed, what uint64) *dice { return &dice{rnd: rand.New(rand.NewPCG(seed, what))} }

// roll returns a number from 0 to n-1.
func (d *dice) roll(n int) int {
	d.mu.Lock()
	defer d.mu.Unlock()
	return d.rnd.IntN(n)
}

func (d *dice) shuffle(n int, swap func(i, j int)) {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.rnd.Shuffle(n, swap)
}

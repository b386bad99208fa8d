package load

import (
	"context"
	"errors"
	"os"
	"os/exec"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"
)

// asChild makes the test binary act as the process that Remote drives.
const asChild = "BELFRY_LOAD_CHILD"

func TestMain(m *testing.M) {
	if os.Getenv(asChild) != "" {
		if err := Serve(newMemory(), os.Stdin, os.Stdout); err != nil {
			os.Stderr.WriteString(err.Error())
			os.Exit(1)
		}
		os.Exit(0)
	}
	os.Exit(m.Run())
}

// memory is a queue in memory for tests. Job 13 cannot be enqueued.
type memory struct {
	jobs      chan int64
	unsettled atomic.Int64
	calls     sync.Map // number of jobs in a call
}

func newMemory() *memory { return &memory{jobs: make(chan int64, 100_000)} }

var errUnlucky = errors.New("that one is not taken")

func (m *memory) Enqueue(ctx context.Context, job int64) error {
	return m.EnqueueMany(ctx, []int64{job})
}

func (m *memory) EnqueueMany(_ context.Context, jobs []int64) error {
	m.calls.Store(len(jobs), true)
	m.unsettled.Add(int64(len(jobs)))
	for _, job := range jobs {
		if job == 13 && len(jobs) == 13 {
			return errUnlucky
		}
		m.jobs <- job
	}
	return nil
}

func (m *memory) EnqueueFast(ctx context.Context, jobs []int64) error {
	m.calls.Store("fast", true)
	return m.EnqueueMany(ctx, jobs)
}

func (m *memory) Work(ctx context.Context, ran func(int64)) (func() error, error) {
	ctx, cancel := context.WithCancel(ctx)
	var loop sync.WaitGroup
	loop.Go(func() {
		for {
			select {
			case job := <-m.jobs:
				ran(job)
				ran(job) // a repeated run does not count
				m.unsettled.Add(-1)
			case <-ctx.Done():
				return
			}
		}
	})
	return func() error { cancel(); loop.Wait(); return nil }, nil
}

func (m *memory) Unsettled(context.Context) (bool, error) { return m.unsettled.Load() > 0, nil }
func (m *memory) Close() error                            { return nil }

// both runs a test on a queue in this process and on one in another process.
func both(t *testing.T, test func(t *testing.T, d Driver)) {
	t.Run("local", func(t *testing.T) { test(t, NewLocal(newMemory())) })
	t.Run("remote", func(t *testing.T) {
		cmd := exec.Command(os.Args[0])
		cmd.Env = append(os.Environ(), asChild+"=1")
		r, err := StartRemote(cmd)
		if err != nil {
			t.Fatal(err)
		}
		test(t, r)
	})
}

func TestADriverPutsAQueueUnderLoad(t *testing.T) {
	both(t, func(t *testing.T, d Driver) {
		ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
		defer cancel()
		in, err := d.Insert(ctx, Insert{Jobs: 1001, Callers: 3, Batch: 10})
		if err != nil || in.Jobs != 1001 || in.Took <= 0 {
			t.Fatalf("insert: got %+v, error %v", in, err)
		}
		burnt, err := d.BurnDown(ctx)
		if err != nil || burnt.Jobs != 1001 || burnt.Started <= 0 || burnt.Settled < burnt.Started {
			t.Fatalf("burn-down: got %+v, error %v", burnt, err)
		}
		if err := d.Stop(ctx); err != nil {
			t.Fatal(err)
		}
		in, err = d.EndToEnd(ctx, Insert{Jobs: 500, For: time.Minute, Callers: 2, Batch: 1})
		if err != nil || in.Jobs != 500 {
			t.Fatalf("end to end: got %+v, error %v", in, err)
		}
		if err := d.Start(ctx); err != nil {
			t.Fatal(err)
		}
		for _, o := range []Offer{
			{Rate: 2000, For: 50 * time.Millisecond, Callers: 4, Jitter: true, Patience: time.Minute},
			{Rate: 20_000, For: 50 * time.Millisecond, Callers: 4, Gap: 5 * time.Millisecond, Patience: time.Minute},
		} {
			got, err := d.Offer(ctx, o)
			if err != nil || got.Jobs != int(o.Rate*o.For.Seconds()) || got.Missing != 0 {
				t.Fatalf("offer: got %+v, error %v", got, err)
			}
			for _, l := range []Latency{got.FromCall, got.FromDue} {
				if l.P50 <= 0 || l.P99 < l.P50 || l.Max < l.P99 {
					t.Errorf("latency: got %+v", l)
				}
			}
		}
		if err := d.Close(); err != nil {
			t.Fatal(err)
		}
	})
}

func TestInsertStopsWhenItsTimeIsOver(t *testing.T) {
	l := NewLocal(newMemory())
	in, err := l.Insert(t.Context(), Insert{Jobs: 1000, For: time.Nanosecond, Callers: 1, Batch: 1})
	if err != nil || in.Jobs == 1000 {
		t.Errorf("insert: got %+v, error %v", in, err)
	}
}

func TestFastIsAskedForInBulkOnly(t *testing.T) {
	m := newMemory()
	l := NewLocal(m)
	if _, err := l.Insert(t.Context(), Insert{Jobs: 1, Callers: 1, Batch: 1, Fast: true}); err != nil {
		t.Fatal(err)
	}
	if _, fast := m.calls.Load("fast"); fast {
		t.Error("fast insert with batch 1: got a fast call, want single calls")
	}
	if _, err := l.Insert(t.Context(), Insert{Jobs: 10, Callers: 1, Batch: 10, Fast: true}); err != nil {
		t.Fatal(err)
	}
	if _, fast := m.calls.Load("fast"); !fast {
		t.Error("fast insert with batch 10: got the ordinary call, want the fast one")
	}
}

func TestAFaultOfTheQueueIsReported(t *testing.T) {
	both(t, func(t *testing.T, d Driver) {
		_, err := d.Insert(t.Context(), Insert{Jobs: 26, Callers: 1, Batch: 13})
		if err == nil || !strings.Contains(err.Error(), errUnlucky.Error()) {
			t.Errorf("insert with job 13: got error %v", err)
		}
		if err := d.Close(); err != nil {
			t.Error(err)
		}
	})
}

func TestABurnDownThatDoesNotEndSaysHowFarItCame(t *testing.T) {
	both(t, func(t *testing.T, d Driver) {
		if _, err := d.Insert(t.Context(), Insert{Jobs: 26, Callers: 1, Batch: 13}); err == nil {
			t.Fatal("insert with job 13: got no error, want one")
		}
		ctx, cancel := context.WithTimeout(t.Context(), 100*time.Millisecond)
		defer cancel()
		if _, err := d.BurnDown(ctx); err == nil || !strings.Contains(err.Error(), "13 of 26 jobs have run") {
			t.Errorf("burn-down: got error %v, want how many jobs have run", err)
		}
		if err := d.Close(); err != nil {
			t.Error(err)
		}
	})
}

func TestAProcessThatEndsSaysWhy(t *testing.T) {
	_, err := StartRemote(exec.Command("/bin/sh", "-c", "echo the disk is full >&2; exit 3"))
	if err == nil || !strings.Contains(err.Error(), "the disk is full") {
		t.Errorf("got %v", err)
	}
}

func TestRanks(t *testing.T) {
	list := make([]int64, 100)
	for i := range list {
		list[i] = int64(100 - i)
	}
	if got, want := latency(list), (Latency{50, 99, 100}); got != want {
		t.Errorf("latency of 1 to 100: got %+v, want %+v", got, want)
	}
	if got, want := latency([]int64{7}), (Latency{7, 7, 7}); got != want {
		t.Errorf("latency of one job: got %+v, want %+v", got, want)
	}
}

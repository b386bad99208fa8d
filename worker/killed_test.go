//go:build unix

package worker_test

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/belfry-run/belfry/core"
	"github.com/belfry-run/belfry/internal/pgtest"
	"github.com/belfry-run/belfry/job"
	"github.com/belfry-run/belfry/store"
	"github.com/belfry-run/belfry/store/postgres"
	"github.com/belfry-run/belfry/store/sqlite"
	"github.com/belfry-run/belfry/task"
	"github.com/belfry-run/belfry/worker"
)

const (
	diesIn   = "BELFRY_WORKER_DIES_IN" // the database of a process that a job kills
	ranIn    = "BELFRY_WORKER_RAN_IN"  // the file in which jobs write their numbers
	poison   = 5
	slots    = 2
	allDoses = 20
)

// openStore opens a database for a program with a clock that is ahead.
func openStore(ctx context.Context, database string, ahead time.Duration) (*store.Store, error) {
	o := store.Options{Clock: func() time.Time { return time.Now().Add(ahead) }}
	if ahead == 0 {
		o.Clock = nil
	}
	if strings.HasPrefix(database, "postgres") {
		return postgres.Open(ctx, database, postgres.Options{Options: o})
	}
	return sqlite.Open(ctx, database, sqlite.Options{Options: o, Synchronous: "NORMAL"})
}

// doses returns handlers of a task that record which jobs ran.
func doses(file string, die bool) *worker.Handlers {
	h := &worker.Handlers{}
	worker.Handle(h, "dose", func(_ context.Context, n int) (int, error) {
		f, err := os.OpenFile(file, os.O_APPEND|os.O_CREATE|os.O_WRONLY, 0o600)
		if err != nil {
			return 0, err
		}
		defer f.Close()
		if _, err := fmt.Fprintln(f, n); err != nil {
			return 0, err
		}
		if die && n == poison {
			_ = syscall.Kill(os.Getpid(), syscall.SIGKILL)
		}
		return n, nil
	})
	return h
}

// runUntilKilled is the program of a user that one of its jobs kills.
func runUntilKilled() {
	ctx := context.Background()
	st, err := openStore(ctx, os.Getenv(diesIn), 0)
	if err != nil {
		panic(err)
	}
	r, err := worker.NewRunner(worker.RunnerOptions{
		Leaser: st, Handlers: doses(os.Getenv(ranIn), true), Concurrency: slots, Prefetch: 10, Lease: time.Second,
	})
	if err != nil {
		panic(err)
	}
	if err := r.Start(ctx); err != nil {
		panic(err)
	}
	select {}
}

// A job that waited in a killed worker has used no attempt and is as new. Only jobs
// with a slot may be lost.
func TestAJobThatDidNotBeginCostsNothingWhenItsWorkerIsKilled(t *testing.T) {
	for name, database := range map[string]func(t *testing.T) string{
		"sqlite":   func(t *testing.T) string { t.Helper(); return filepath.Join(t.TempDir(), "belfry.db") },
		"postgres": func(t *testing.T) string { t.Helper(); return pgtest.New(t) },
	} {
		for policy, retry := range map[string]task.Retry{
			"single tries":         {MaxAttempts: 1},
			"a lost job has ended": {OnLost: task.OnLostFail},
			"as usual":             {},
		} {
			t.Run(name+", "+policy, func(t *testing.T) {
				t.Parallel()
				killed(t, database(t), retry)
			})
		}
	}
}

func killed(t *testing.T, database string, retry task.Retry) {
	file := filepath.Join(t.TempDir(), "ran")
	st, err := openStore(t.Context(), database, 0)
	if err != nil {
		t.Fatal(err)
	}
	if _, err = st.CreateTask(t.Context(), task.Task{Name: "dose", Kind: task.KindFunc, Retry: retry}); err != nil {
		t.Fatal(err)
	}
	var jobs []job.NewJob
	for n := range allDoses {
		jobs = append(jobs, job.NewJob{Task: "dose", Input: json.RawMessage(fmt.Sprint(n + 1))})
	}
	if _, err = st.Enqueue(t.Context(), jobs); err != nil {
		t.Fatal(err)
	}
	if err := st.Close(); err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	child := exec.CommandContext(ctx, os.Args[0]) //nolint:gosec // this very program
	child.Env = append(os.Environ(), diesIn+"="+database, ranIn+"="+file)
	if out, err := child.CombinedOutput(); err == nil || ctx.Err() != nil {
		t.Fatalf("the program was not killed: %v\n%s", err, out)
	}
	ran := readRan(t, file)

	if st, err = openStore(t.Context(), database, time.Hour); err != nil {
		t.Fatal(err)
	}
	defer st.Close()
	if _, err := st.ReleaseLost(t.Context()); err != nil { // on SQLite, opening it did that already
		t.Fatal(err)
	}
	held, err := st.Jobs(t.Context(), job.Filter{States: []job.State{job.Running}})
	if err != nil || len(held.Items) > 0 {
		t.Fatalf("%d jobs are still held by the dead: %v", len(held.Items), err)
	}
	all, err := st.Jobs(t.Context(), job.Filter{Paging: core.Paging{Limit: 100}})
	if err != nil {
		t.Fatal(err)
	}
	unknown := map[string]bool{} // jobs that had a slot and may have been about to write
	for _, j := range all.Items {
		if !slices.Contains(ran, string(j.Input)) && (j.State != job.Ready || j.Failures > 0) {
			unknown[string(j.Input)] = true
			t.Logf("job %s has not written and is %s after %d failures: %s", j.Input, j.State, j.Failures, j.Error)
		}
	}
	if len(unknown) >= slots { // the job that killed the worker has written
		t.Errorf("%d jobs that have not begun were charged for it", len(unknown))
	}
	r, err := worker.NewRunner(worker.RunnerOptions{Leaser: st, Handlers: doses(file, false), Concurrency: slots})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := r.RunOnce(t.Context()); err != nil {
		t.Fatal(err)
	}
	again := readRan(t, file)
	for n := range allDoses {
		times := 0
		for _, line := range again {
			if line == fmt.Sprint(n+1) {
				times++
			}
		}
		if final := retry.MaxAttempts == 1 || retry.OnLost == task.OnLostFail; times == 0 && !unknown[fmt.Sprint(n+1)] || final && times > 1 {
			t.Errorf("job %d has run %d times", n+1, times)
		}
	}
}

func readRan(t *testing.T, file string) []string {
	t.Helper()
	text, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	return strings.Fields(string(text))
}

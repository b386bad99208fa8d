package worker_test

import (
	"bytes"
	"context"
	"errors"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/belfry-run/belfry/core"
	"github.com/belfry-run/belfry/job"
	"github.com/belfry-run/belfry/store/sqlite"
	"github.com/belfry-run/belfry/task"
	"github.com/belfry-run/belfry/worker"
)

func (f *fixture) runner() *worker.Runner {
	r, err := worker.NewRunner(worker.RunnerOptions{Leaser: f.leaser, Handlers: f.handlers, Concurrency: 2, Grace: time.Second})
	if err != nil {
		f.Fatal(err)
	}
	return r
}

func TestARunnerStartsStopsAndStartsAgain(t *testing.T) {
	inBubble(t, func(f *fixture) {
		f.handle("work", func(context.Context) error { return nil })
		r := f.runner()
		if err := r.Stop(f.Context()); err != nil {
			t.Errorf("stopped early: %v", err)
		}
		for range 3 {
			if err := r.Start(f.Context()); err != nil {
				t.Fatal(err)
			}
			if err := r.Start(f.Context()); core.CodeOf(err) != core.Conflict {
				t.Errorf("started twice: %v", err)
			}
			if _, err := r.RunOnce(f.Context()); core.CodeOf(err) != core.Conflict {
				t.Errorf("RunOnce beside Start: %v", err)
			}
			id := f.enqueue("work")
			synctest.Wait()
			f.wantState(id, job.Succeeded)
			for range 2 {
				if err := r.Stop(f.Context()); err != nil || r.IsRunning() {
					t.Errorf("stopped: %v, running %v", err, r.IsRunning())
				}
			}
		}
		f.enqueue("work")
		if n, err := r.RunOnce(f.Context()); n != 1 || err != nil {
			t.Errorf("ran %d, %v", n, err)
		}
	})
}

func TestRunnerMakesItsQueue(t *testing.T) {
	t.Parallel()
	st, err := sqlite.Open(t.Context(), sqlite.Memory, sqlite.Options{})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = st.Close() })
	var handlers worker.Handlers
	work := worker.Handle(&handlers, "work", func(context.Context, struct{}) (struct{}, error) { return struct{}{}, nil })
	r, err := worker.NewRunner(worker.RunnerOptions{Leaser: st, Handlers: &handlers, Queue: "mail"})
	if err != nil {
		t.Fatal(err)
	}
	if n, err := r.RunOnce(t.Context()); n != 0 || err != nil {
		t.Fatalf("ran %d, %v", n, err)
	}
	j, err := work.New(struct{}{})
	if err != nil {
		t.Fatal(err)
	}
	j.Queue = "mail"
	if _, err := st.Enqueue(t.Context(), []job.NewJob{j}); err != nil {
		t.Fatal(err)
	}
	if n, err := r.RunOnce(t.Context()); n != 1 || err != nil {
		t.Errorf("ran %d, %v", n, err)
	}
}

func TestStopIsBoundedByItsContext(t *testing.T) {
	inBubble(t, func(f *fixture) {
		f.handle("work", func(ctx context.Context) error { time.Sleep(5 * time.Second); return nil })
		r := f.runner()
		_ = r.Start(f.Context())
		f.enqueue("work")
		synctest.Wait()
		ctx, cancel := context.WithTimeout(f.Context(), time.Millisecond)
		defer cancel()
		if err := r.Stop(ctx); !errors.Is(err, context.DeadlineExceeded) || !r.IsRunning() {
			t.Errorf("%v, running %v", err, r.IsRunning())
		}
		if err := r.Stop(f.Context()); err != nil || r.IsRunning() {
			t.Errorf("%v, running %v", err, r.IsRunning())
		}
	})
}

func TestDirectRunsATaskWithoutAStore(t *testing.T) {
	inBubble(t, func(f *fixture) {
		worker.Handle(f.handlers, "greet", func(ctx context.Context, in struct{ Name string }) (string, error) {
			worker.Logger(ctx).Info("greeting")
			if in.Name == "" {
				<-ctx.Done()
				return "", context.Cause(ctx)
			}
			return "hello " + in.Name, nil
		})
		executors := map[task.Kind]worker.Executor{task.KindFunc: f.handlers}
		task := task.Task{Name: "greet", Timeout: core.Duration(time.Minute)}
		var out, log bytes.Buffer
		fin := worker.Direct(f.Context(), executors, task, []byte(`{"Name":"you"}`), &out, &log)
		if fin.Outcome != job.OutcomeOK || string(fin.Output) != `"hello you"` || !strings.Contains(log.String(), "msg=greeting") {
			t.Errorf("%+v %s", fin, &log)
		}
		if fin := worker.Direct(f.Context(), executors, task, nil, &out, &log); fin.Outcome != job.OutcomeTimeout {
			t.Errorf("%+v", fin)
		}
		ctx, cancel := context.WithTimeout(f.Context(), time.Second)
		defer cancel()
		if fin := worker.Direct(ctx, executors, task, nil, &out, &log); fin.Outcome != job.OutcomeCanceled {
			t.Errorf("%+v", fin)
		}
		if fin := worker.Direct(ctx, nil, task, nil, &out, &log); !fin.NoRetry || !strings.Contains(fin.Error, "cannot run here") {
			t.Errorf("%+v", fin)
		}
	})
}

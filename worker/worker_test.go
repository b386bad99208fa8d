package worker_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"runtime"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/belfry-run/belfry/core"
	"github.com/belfry-run/belfry/internal/leasertest"
	"github.com/belfry-run/belfry/job"
	"github.com/belfry-run/belfry/schedule"
	"github.com/belfry-run/belfry/worker"
)

func TestAJobRunsAndItsResultIsReported(t *testing.T) {
	inBubble(t, func(f *fixture) {
		type pair struct{ A, B int }
		sum := worker.Handle(f.handlers, "sum", func(_ context.Context, in pair) (int, error) { return in.A + in.B, nil })
		stop := f.serve()
		n, err := sum.New(pair{2, 3})
		if err != nil {
			t.Fatal(err)
		}
		begun := time.Now()
		out, err := sum.Wait(f.Context(), f.leaser, f.leaser.Enqueue(n))
		if err != nil || out != 5 {
			t.Errorf("got %d, %v", out, err)
		}
		if took := time.Since(begun); took > 20*time.Millisecond {
			t.Errorf("took %s on an idle worker", took)
		}
		if err := stop(); err != nil {
			t.Error(err)
		}
		if f.leaser.Calls("close") != 1 {
			t.Error("the session was not closed")
		}
	})
}

func TestSlotsBoundALaneAndAreRefilledAtOnce(t *testing.T) {
	inBubble(t, func(f *fixture) {
		var running, most atomic.Int32
		f.handle("work", func(context.Context) error {
			if n := running.Add(1); n > most.Load() {
				most.Store(n)
			}
			time.Sleep(time.Millisecond)
			running.Add(-1)
			return nil
		})
		for range 40 {
			f.enqueue("work")
		}
		begun := time.Now()
		if n := f.runOnce(); n != 40 {
			t.Errorf("ran %d jobs", n)
		}
		if took := time.Since(begun); took != 10*time.Millisecond || most.Load() != 4 {
			t.Errorf("40 jobs of 1ms in 4 slots took %s with up to %d at the same time", took, most.Load())
		}
	})
}

func TestABusyLaneDoesNotHoldUpAnother(t *testing.T) {
	inBubble(t, func(f *fixture) {
		f.options.Queues = map[string]int{"slow": 1, "fast": 1}
		f.handle("work", func(ctx context.Context) error {
			if j, _ := worker.JobFrom(ctx); j.Queue == "slow" {
				<-ctx.Done()
			}
			return nil
		})
		for range 5 {
			f.leaser.Enqueue(job.NewJob{Task: "work", Queue: "slow"})
		}
		stop := f.serve()
		settle()
		j := f.leaser.Enqueue(job.NewJob{Task: "work", Queue: "fast"})
		settle()
		f.wantState(j.ID, job.Succeeded)
		_ = stop()
	})
}

func TestConcurrentHandlersKeepTheirOwnValues(t *testing.T) {
	inBubble(t, func(f *fixture) {
		f.options.Queues["default"] = 50
		type in struct {
			ID   int
			Tags []string
			Map  map[string]int
		}
		task := worker.Handle(f.handlers, "own", func(ctx context.Context, v in) (string, error) {
			v.Map["seen"]++
			v.Tags[0] += "!"
			time.Sleep(time.Duration(v.ID%7) * time.Millisecond)
			worker.Logger(ctx).Info("mine", "id", v.ID)
			return fmt.Sprint(v.ID, v.Tags, v.Map), nil
		})
		ids := map[int64]int{}
		for i := range 200 {
			n, _ := task.New(in{i, []string{fmt.Sprint("t", i)}, map[string]int{"n": i}})
			ids[f.leaser.Enqueue(n).ID] = i
		}
		f.runOnce()
		for id, i := range ids {
			out, err := task.Result(f.job(id))
			if want := fmt.Sprint(i, []string{fmt.Sprint("t", i, "!")}, map[string]int{"n": i, "seen": 1}); err != nil || strings.ReplaceAll(out, " ", "") != strings.ReplaceAll(want, " ", "") {
				t.Errorf("job %d: %q, want %q (%v)", id, out, want, err)
			}
			if text := f.leaser.Text(id); !strings.Contains(text, fmt.Sprintf("id=%d\n", i)) || strings.Count(text, "\n") != 1 {
				t.Errorf("job %d logged %q", id, text)
			}
		}
	})
}

func TestAPanicIsAFailedAttemptWithItsStack(t *testing.T) {
	inBubble(t, func(f *fixture) {
		f.handle("panic", func(context.Context) error { return explode(nil) })
		f.handle("exit", func(context.Context) error { runtime.Goexit(); return nil })
		bad, exit := f.enqueue("panic"), f.enqueue("exit")
		stop := f.serve()
		settle()
		f.wantOutcomes(bad, job.OutcomeError)
		f.wantOutcomes(exit, job.OutcomeError)
		f.wantState(bad, job.Scheduled) // waits for its retry
		said := f.job(bad).Error
		if !strings.HasPrefix(said, "panic: runtime error: invalid memory address") || !strings.Contains(said, "worker_test.explode") {
			t.Errorf("the error does not name the panic and where it was: %s", said)
		}
		if first, _, _ := strings.Cut(said[strings.Index(said, "\n\n"):], "("); strings.Contains(first, "debug.Stack") {
			t.Errorf("the stack begins with the recovery: %s", said)
		}
		if said := f.job(exit).Error; !strings.Contains(said, "Goexit") {
			t.Error(said)
		}
		_ = stop()
	})
}

//go:noinline
func explode(p *struct{ x int }) error { p.x++; return nil }

func TestAnAttemptEndsAtItsTimeout(t *testing.T) {
	inBubble(t, func(f *fixture) {
		f.handle("sleep", func(ctx context.Context) error {
			<-ctx.Done()
			if !errors.Is(context.Cause(ctx), worker.ErrTimeout) {
				t.Error("cause is", context.Cause(ctx))
			}
			return ctx.Err()
		})
		id := f.leaser.Enqueue(job.NewJob{Task: "sleep", Timeout: core.Duration(90 * time.Second), MaxAttempts: 1}).ID
		begun := time.Now()
		f.runOnce()
		if took := time.Since(begun); took != 90*time.Second {
			t.Errorf("ended after %s", took)
		}
		f.wantOutcomes(id, job.OutcomeTimeout)
		if said := f.job(id).Error; said != "ran longer than its timeout of 1m30s" {
			t.Error(said)
		}
	})
}

func TestAHandlerThatIgnoresItsContextGivesItsSlotUp(t *testing.T) {
	inBubble(t, func(f *fixture) {
		f.options.Queues["default"] = 1
		release := make(chan struct{})
		f.handle("deaf", func(context.Context) error { <-release; return nil })
		f.handle("next", func(context.Context) error { return nil })
		deaf := f.leaser.Enqueue(job.NewJob{Task: "deaf", Timeout: core.Duration(time.Second), MaxAttempts: 1}).ID
		next := f.enqueue("next")
		begun := time.Now()
		f.runOnce()
		if took := time.Since(begun); took != 11*time.Second {
			t.Errorf("took %s, want the timeout and ten seconds", took)
		}
		f.wantOutcomes(deaf, job.OutcomeTimeout)
		f.wantState(next, job.Succeeded)
		f.wantLogged("left behind")
		if n := f.ran.LeftBehind(); n != 1 {
			t.Errorf("%d attempts are left behind, want 1", n)
		}
		close(release)
		settle()
		if n := f.ran.LeftBehind(); n != 0 {
			t.Errorf("%d attempts are left behind, and all have ended", n)
		}
	})
}

func TestACancelRequestEndsARunningJob(t *testing.T) {
	for name, nudges := range map[string]bool{"at the next renewal": false, "at once with a nudge": true} {
		t.Run(name, func(t *testing.T) {
			inBubble(t, func(f *fixture) {
				if nudges {
					f.options.Leaser = leasertest.Nudging{Leaser: f.leaser}
				}
				f.handle("sleep", func(ctx context.Context) error {
					<-ctx.Done()
					return context.Cause(ctx)
				})
				id := f.enqueue("sleep")
				stop := f.serve()
				pass(time.Second)
				f.leaser.Cancel(id)
				begun := time.Now()
				for !f.job(id).State.Final() {
					pass(time.Millisecond)
				}
				f.wantState(id, job.Canceled)
				f.wantOutcomes(id, job.OutcomeCanceled)
				if took := time.Since(begun); nudges != (took < 100*time.Millisecond) || took > 10*time.Second {
					t.Errorf("took %s", took)
				}
				_ = stop()
			})
		})
	}
}

func TestAHandlersErrorDecidesTheNextState(t *testing.T) {
	inBubble(t, func(f *fixture) {
		f.handle("snooze", func(context.Context) error { return fmt.Errorf("busy: %w", worker.Snooze(time.Minute)) })
		f.handle("never", func(context.Context) error {
			return fmt.Errorf("order: %w", worker.NoRetry(errors.New("no such order")))
		})
		f.handle("cancel", func(context.Context) error { return worker.ErrCanceled })
		worker.Handle(f.handlers, "typed", func(context.Context, struct{ N int }) (int, error) { return 1, nil })
		worker.Handle(f.handlers, "huge", func(context.Context, struct{}) (string, error) { return strings.Repeat("x", 2<<20), nil })
		snooze, never, cancel, huge := f.enqueue("snooze"), f.enqueue("never"), f.enqueue("cancel"), f.enqueue("huge")
		typed := f.leaser.Enqueue(job.NewJob{Task: "typed", Input: json.RawMessage(`{"N":"four","unknown":1}`)}).ID
		unknown := f.enqueue("nobody")
		f.runOnce()
		if j := f.job(snooze); j.State != job.Scheduled || j.Failures != 0 || time.Until(j.DueAt) != time.Minute {
			t.Errorf("%+v", j)
		}
		for id, want := range map[int64]string{
			never: "order: no such order", typed: `field "N": a JSON string cannot be a int`,
			huge: "over the limit", unknown: `no handler "nobody", it has: cancel, huge, never`,
		} {
			if j := f.job(id); j.State != job.Failed || j.Reason != schedule.ReasonNoRetry || !strings.Contains(j.Error, want) {
				t.Errorf("job %d: %s %s %q, want %q", id, j.State, j.Reason, j.Error, want)
			}
		}
		f.wantState(cancel, job.Canceled)
	})
}

func TestAHandlerSettlesItsJobInItsOwnTransaction(t *testing.T) {
	inBubble(t, func(f *fixture) {
		worker.Handle(f.handlers, "pay", func(ctx context.Context, _ struct{}) (int, error) {
			worker.Logger(ctx).Info("paying")
			fin, err := worker.FinishFor(ctx, 42)
			if err != nil {
				return 0, err
			}
			if answer := f.leaser.FinishTx(fin); answer.Stale {
				t.Error("the job's own finish is stale")
			}
			return 42, nil
		})
		id := f.enqueue("pay")
		f.runOnce()
		f.wantOutcomes(id, job.OutcomeOK)
		if text := f.leaser.Text(id); !strings.Contains(text, "paying") {
			t.Errorf("the log was not delivered before the job was settled: %q", text)
		}
		f.wantNotLogged("level=WARN")
		if string(f.job(id).Output) != "42" {
			t.Errorf("%s", f.job(id).Output)
		}
	})
	if _, err := worker.FinishFor(context.Background(), 1); err == nil {
		t.Error("FinishFor works outside of an attempt")
	}
}

func TestRunOnceDrainsAllQueuesAndFollowingJobs(t *testing.T) {
	inBubble(t, func(f *fixture) {
		f.options.Queues = map[string]int{"a": 2, "b": 2}
		var mu sync.Mutex
		left := 20
		f.handle("chain", func(ctx context.Context) error {
			time.Sleep(10 * time.Millisecond)
			mu.Lock()
			defer mu.Unlock()
			if left--; left > 0 { // into the other queue, whose consumer may have ended already
				j, _ := worker.JobFrom(ctx)
				f.leaser.Enqueue(job.NewJob{Task: "chain", Queue: map[string]string{"a": "b", "b": "a"}[j.Queue]})
			}
			return nil
		})
		later := f.leaser.Enqueue(job.NewJob{Task: "chain", Queue: "a", Delay: core.Duration(time.Hour)}).ID
		f.leaser.Enqueue(job.NewJob{Task: "chain", Queue: "a"})
		if n := f.runOnce(); n != 20 {
			t.Errorf("ran %d jobs", n)
		}
		f.wantState(later, job.Ready)
		if n := f.runOnce(); n != 0 {
			t.Errorf("ran %d jobs when nothing was ready", n)
		}
	})
}

func TestRunOnceReturnsWhenTheServerFails(t *testing.T) {
	inBubble(t, func(f *fixture) {
		for _, call := range []string{"open", "claim"} {
			f.leaser.Before = on(errAway, call)
			f.handlers = &worker.Handlers{}
			f.options.Handlers = f.handlers
			f.handle("x", func(context.Context) error { return nil })
			w, err := worker.New(f.options)
			if err != nil {
				t.Fatal(err)
			}
			if _, err := w.RunOnce(f.Context()); core.CodeOf(err) != core.Unavailable {
				t.Errorf("%s: %v", call, err)
			}
		}
	})
}

func TestADrainedWorkerFinishesAndClaimsNoMore(t *testing.T) {
	inBubble(t, func(f *fixture) {
		f.options.Leaser = leasertest.Nudging{Leaser: f.leaser}
		f.handle("work", func(context.Context) error { time.Sleep(time.Minute); return nil })
		first := f.enqueue("work")
		stop := f.serve()
		settle()
		f.leaser.Drain(true)
		pass(time.Second)
		second := f.enqueue("work")
		pass(2 * time.Minute)
		f.wantState(first, job.Succeeded)
		f.wantState(second, job.Ready)
		f.leaser.Drain(false)
		pass(2 * time.Minute)
		f.wantState(second, job.Succeeded)
		_ = stop()
	})
}

func TestAnIdleWorkerAsksOncePerPoll(t *testing.T) {
	inBubble(t, func(f *fixture) {
		f.handle("x", func(context.Context) error { return nil })
		stop := f.serve()
		pass(100 * time.Second)
		_ = stop()
		if n := f.leaser.Calls("claim"); n < 95 || n > 105 {
			t.Errorf("%d claims in 100s with a poll of 1s", n)
		}
	})
}

func TestAServerThatAnswersEmptyAtOnceIsNotAskedInALoop(t *testing.T) {
	inBubble(t, func(f *fixture) {
		f.options.Leaser = hasty{f.leaser}
		f.handle("x", func(context.Context) error { return nil })
		stop := f.serve()
		pass(100 * time.Second)
		_ = stop()
		if n := f.leaser.Calls("claim"); n > 250 {
			t.Errorf("%d claims in 100s", n)
		}
	})
}

// hasty is a server whose claims never wait.
type hasty struct{ *leasertest.Leaser }

func (h hasty) Claim(ctx context.Context, r job.ClaimRequest) (job.Claim, error) {
	r.Wait = 0
	return h.Leaser.Claim(ctx, r)
}

func TestOptionsAreCheckedWithTheirNames(t *testing.T) {
	t.Parallel()
	ok := worker.Options{Leaser: leasertest.New(), Handlers: &worker.Handlers{}}
	if _, err := worker.New(ok); err != nil {
		t.Fatal(err)
	}
	for field, spoil := range map[string]func(*worker.Options){
		"leaser":      func(o *worker.Options) { o.Leaser = nil },
		"executors":   func(o *worker.Options) { o.Handlers = nil },
		"poll":        func(o *worker.Options) { o.Poll = time.Minute },
		"prefetch":    func(o *worker.Options) { o.Prefetch = 1001 },
		"patience":    func(o *worker.Options) { o.Patience = -1 },
		"queues":      func(o *worker.Options) { o.Queues = map[string]int{"no good": 1} },
		"queues.main": func(o *worker.Options) { o.Queues = map[string]int{"main": -1} },
	} {
		o := ok
		spoil(&o)
		_, err := worker.New(o)
		var e *core.Error
		if !errors.As(err, &e) || len(e.Fields) != 1 || e.Fields[0].Field != field {
			t.Errorf("%s: %v", field, err)
		}
	}
}

func TestRegisteringTwiceIsAMistake(t *testing.T) {
	t.Parallel()
	for _, name := range []string{"twice", "", "no good"} {
		func() {
			defer func() {
				if recover() == nil {
					t.Errorf("%q was registered", name)
				}
			}()
			h := &worker.Handlers{}
			for range 2 {
				worker.Handle(h, name, func(context.Context, int) (int, error) { return 0, nil })
			}
		}()
	}
}

func TestAResultSaysWhyThereIsNone(t *testing.T) {
	t.Parallel()
	task := worker.TaskOf[int, int]{Name: "t"}
	for want, j := range map[string]job.Job{
		"job 7 (t) is failed (attempt 3): exhausted: boom": {ID: 7, Task: "t", State: job.Failed, Reason: schedule.ReasonExhausted, Attempt: 3, Error: "boom"},
		"job 7 is of task \"u\", not of \"t\"":             {ID: 7, Task: "u", State: job.Succeeded},
		"output of job 7 is not what task \"t\" returns":   {ID: 7, Task: "t", State: job.Succeeded, Output: json.RawMessage(`"x"`)},
	} {
		if _, err := task.Result(j); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%v, want %s", err, want)
		}
	}
	if _, err := task.New(0); err != nil {
		t.Error(err)
	}
}

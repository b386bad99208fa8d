package worker_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/belfry-run/belfry/core"
	"github.com/belfry-run/belfry/job"
	"github.com/belfry-run/belfry/task"
	"github.com/belfry-run/belfry/worker"
)

// steady enqueues a job with many attempts, one second apart.
func (f *fixture) steady(name string, fn func(ctx context.Context) error) int64 {
	f.leaser.AddTask(task.Task{Name: name, Retry: task.Retry{MaxAttempts: 50, Backoff: task.BackoffFixed, Delay: core.Duration(time.Second)}})
	f.handle(name, fn)
	return f.enqueue(name)
}

func (f *fixture) wantSteps(id int64, want string) {
	f.Helper()
	var got []string
	for _, s := range f.leaser.Recorded(id) {
		got = append(got, fmt.Sprintf("%s=%s", s.Name, s.Result))
	}
	if strings.Join(got, " ") != want {
		f.Errorf("recorded: %v, want %s", got, want)
	}
}

type receipt struct {
	ID     int
	hidden string
}

func TestAStepRunsOnceOverAttempts(t *testing.T) {
	inBubble(t, func(f *fixture) {
		var charged, shipped, attempts int
		id := f.steady("order", func(ctx context.Context) error {
			attempts++
			r, err := worker.Step(ctx, "charge", func(context.Context) (receipt, error) {
				charged++
				return receipt{charged, "x"}, nil
			})
			if err != nil {
				return err
			}
			if r.ID != 1 || r.hidden != "" {
				t.Errorf("attempt %d got %+v", attempts, r)
			}
			if attempts == 1 {
				return errors.New("the shop is closed")
			}
			_, err = worker.Step(ctx, "ship", func(context.Context) (string, error) {
				if shipped++; shipped < 3 {
					return "", errors.New("no parcel")
				}
				return "sent", nil
			})
			return err
		})
		stop := f.serve()
		pass(time.Minute)
		_ = stop()
		f.wantState(id, job.Succeeded)
		if charged != 1 || shipped != 3 || attempts != 4 {
			t.Errorf("charged %d, shipped %d, attempts %d", charged, shipped, attempts)
		}
		f.wantSteps(id, `charge={"ID":1} ship="sent"`)
		if n := f.leaser.Calls("steps"); n != 3 {
			t.Errorf("the record was read %d times, and the first attempt needs none", n)
		}
	})
}

func TestASleepFreesItsSlotAndIsNoFailure(t *testing.T) {
	inBubble(t, func(f *fixture) {
		f.options.Queues["default"] = 1
		var woke time.Time
		var rounds int
		f.leaser.AddTask(task.Task{Name: "nap", Retry: task.Retry{MaxAttempts: 1}})
		f.handle("nap", func(ctx context.Context) error {
			rounds++
			if err := worker.Sleep(ctx, "three months", 90*24*time.Hour); err != nil {
				return fmt.Errorf("wrapped: %w", err)
			}
			woke = time.Now()
			return worker.Sleep(ctx, "nothing", 0)
		})
		begun := time.Now()
		id := f.enqueue("nap")
		f.handle("other", func(context.Context) error { return nil })
		stop := f.serve()
		pass(time.Second)
		other := f.enqueue("other")
		pass(time.Second)
		f.wantState(other, job.Succeeded)
		if j := f.job(id); j.State != job.Scheduled || j.Error != `sleeps in step "three months"` {
			t.Errorf("%s %q", j.State, j.Error)
		}
		_ = stop() // no worker is needed during the sleep
		for range 4 {
			pass(31 * 24 * time.Hour)
			f.runOnce()
		}
		f.wantState(id, job.Succeeded)
		if took := woke.Sub(begun); took < 90*24*time.Hour || rounds != 4 {
			t.Errorf("woke after %s in %d rounds", took, rounds)
		}
		f.wantOutcomes(id, job.OutcomeSnoozed, job.OutcomeSnoozed, job.OutcomeSnoozed, job.OutcomeOK)
		if j := f.job(id); j.Failures != 0 {
			t.Errorf("%d failures", j.Failures)
		}
	})
}

func TestASleepHoldsForAnyHandlerError(t *testing.T) {
	inBubble(t, func(f *fixture) {
		ran := false
		id := f.steady("nap", func(ctx context.Context) error {
			_ = worker.Sleep(ctx, "nap", time.Hour)
			_, err := worker.Step(ctx, "after", func(context.Context) (int, error) { ran = true; return 1, nil })
			_ = err
			return nil
		})
		f.runOnce()
		f.wantOutcomes(id, job.OutcomeSnoozed)
		if ran {
			t.Error("a step ran in a sleep")
		}
	})
}

// Each case is a handler that replaces one with steps a (int) and b (string), and the error of its second attempt.
func TestAChangedHandlerIsNoticed(t *testing.T) {
	number := func(context.Context) (int, error) { return 1, nil }
	word := func(context.Context) (string, error) { return "x", nil }
	first := func(ctx context.Context) error {
		if _, err := worker.Step(ctx, "a", number); err != nil {
			return err
		}
		if _, err := worker.Step(ctx, "b", word); err != nil {
			return err
		}
		return errors.New("stop here")
	}
	for name, c := range map[string]struct {
		edit func(ctx context.Context) error
		want string
	}{
		"another name": {func(ctx context.Context) error { _, err := worker.Step(ctx, "x", number); return err },
			`step 1 of job 1 is recorded as step "a" by attempt 1, and the handler asks for "x" (the code`},
		"another order":  {func(ctx context.Context) error { _, err := worker.Step(ctx, "b", word); return err }, `the handler asks for "b"`},
		"another type":   {func(ctx context.Context) error { _, err := worker.Step(ctx, "a", word); return err }, `asks for a string where a int was recorded`},
		"another kind":   {func(ctx context.Context) error { return worker.Sleep(ctx, "a", time.Hour) }, `asks for a sleep`},
		"a wait instead": {func(ctx context.Context) error { _, _, err := worker.WaitSignal[int](ctx, "a", time.Hour); return err }, `asks for a signal`},
		"one is never met": {func(ctx context.Context) error { _, err := worker.Step(ctx, "a", number); return err },
			`step 2 of job 1 is recorded as step "b" by attempt 1, and the handler ended without it (the code of the handler has changed since: bring the steps back in their order, put new ones behind worker.Version, or forget those that are recorded: belfry job reset-steps 1 --from 'b')`},
		"none is met": {func(context.Context) error { return nil }, ""},
		"its error is ignored": {func(ctx context.Context) error { _, _ = worker.Step(ctx, "x", number); return nil },
			`the handler asks for "x"`},
	} {
		t.Run(name, func(t *testing.T) {
			inBubble(t, func(f *fixture) {
				attempts := 0
				id := f.steady("t", func(ctx context.Context) error {
					if attempts++; attempts == 1 {
						return first(ctx)
					}
					return c.edit(ctx)
				})
				f.runOnce()
				pass(time.Second)
				f.runOnce()
				j := f.job(id)
				if c.want == "" { // without any step the record is not read
					f.wantState(id, job.Succeeded)
				} else if !strings.Contains(j.Error, c.want) || j.Failures != 2 {
					t.Errorf("%s: %s", j.State, j.Error)
				}
				f.wantSteps(id, `a=1 b="x"`)
			})
		})
	}
}

func TestAVersionLetsOldJobsPass(t *testing.T) {
	inBubble(t, func(f *fixture) {
		version, checked := 0, 0
		handler := func(ctx context.Context) error {
			if _, err := worker.Step(ctx, "a", func(context.Context) (int, error) { return 1, nil }); err != nil {
				return err
			}
			if version > 0 {
				v, err := worker.Version(ctx, "check stock", version)
				if err != nil {
					return err
				}
				if v >= 1 {
					if _, err := worker.Step(ctx, "stock", func(context.Context) (int, error) { checked++; return 1, nil }); err != nil {
						return err
					}
				}
			}
			if _, err := worker.Step(ctx, "b", func(context.Context) (int, error) { return 1, nil }); err != nil {
				return err
			}
			if j, _ := worker.JobFrom(ctx); j.Attempt == 1 {
				return errors.New("once more")
			}
			return nil
		}
		old := f.steady("t", handler)
		f.runOnce()
		version = 1
		fresh := f.enqueue("t")
		f.runOnce()
		version = 2
		pass(time.Second)
		f.runOnce()
		f.wantState(old, job.Succeeded)
		f.wantState(fresh, job.Succeeded)
		f.wantSteps(old, "a=1 b=1")
		f.wantSteps(fresh, "a=1 check stock=1 stock=1 b=1")
		if checked != 1 {
			t.Errorf("checked %d times", checked)
		}
	})
}

func TestStepsAreNotMisused(t *testing.T) {
	one := func(context.Context) (int, error) { return 1, nil }
	for name, c := range map[string]struct {
		do   func(ctx context.Context) error
		want string
	}{
		"twice": {func(ctx context.Context) error {
			_, _ = worker.Step(ctx, "a", one)
			_, err := worker.Step(ctx, "a", one)
			return err
		}, `is met twice`},
		"one in another": {func(ctx context.Context) error {
			_, err := worker.Step(ctx, "a", func(ctx context.Context) (int, error) { return worker.Step(ctx, "b", one) })
			return err
		}, `step "b" of job 1 begins while step "a" runs`},
		"still running": {func(ctx context.Context) error {
			go func() {
				_, _ = worker.Step(ctx, "a", func(context.Context) (int, error) { time.Sleep(time.Second); return 1, nil })
			}()
			time.Sleep(time.Millisecond)
			return nil
		}, `ended while step "a" runs`},
		"without a name": {func(ctx context.Context) error { _, err := worker.Step(ctx, "", one); return err }, "name"},
		"too large": {func(ctx context.Context) error {
			_, err := worker.Step(ctx, "a", func(context.Context) (string, error) { return strings.Repeat("x", job.MaxStepResult), nil })
			return err
		}, "over the limit"},
		"no JSON": {func(ctx context.Context) error {
			_, err := worker.Step(ctx, "a", func(context.Context) (chan int, error) { return nil, nil })
			return err
		}, "is not JSON"},
	} {
		t.Run(name, func(t *testing.T) {
			inBubble(t, func(f *fixture) {
				id := f.steady("t", c.do)
				f.runOnce()
				pass(2 * time.Second)
				if j := f.job(id); !strings.Contains(j.Error, c.want) || j.State == job.Succeeded {
					t.Errorf("%s: %s", j.State, j.Error)
				}
			})
		})
	}
	if _, err := worker.Step(t.Context(), "a", one); core.CodeOf(err) != core.Internal {
		t.Error(err)
	}
}

// A recorded result that the type of the handler no longer fits is a change of code: later attempts with the old code go on.
func TestAResultThatTheHandlerCannotReadIsAChangeOfCode(t *testing.T) {
	inBubble(t, func(f *fixture) {
		attempts, ran := 0, 0
		type order struct{ ID int }
		id := f.steady("t", func(ctx context.Context) error {
			if attempts++; attempts == 2 {
				type order struct{ ID string } // the same name, other fields
				got, err := worker.Step(ctx, "a", func(context.Context) (order, error) { ran++; return order{"x"}, nil })
				if err == nil || got.ID != "" {
					t.Errorf("%+v %v", got, err)
				}
				return nil
			}
			got, err := worker.Step(ctx, "a", func(context.Context) (order, error) { ran++; return order{7}, nil })
			if attempts > 1 && (err != nil || got.ID != 7) {
				t.Errorf("%+v %v", got, err)
			}
			if attempts == 1 {
				return errors.New("again")
			}
			return err
		})
		f.runOnce()
		pass(2 * time.Second)
		f.runOnce()
		if said := f.job(id).Error; !strings.Contains(said, `step 1 of job 1 is recorded as step "a" by attempt 1, and the handler cannot read its result as worker_test.order`) ||
			!strings.Contains(said, "belfry job reset-steps 1 --from 'a'") {
			t.Error(said)
		}
		pass(2 * time.Second)
		f.runOnce()
		f.wantState(id, job.Succeeded)
		if ran != 1 || attempts != 3 {
			t.Errorf("ran %d times in %d attempts", ran, attempts)
		}
	})
}

func TestARecordWithALostAnswerIsSentAgain(t *testing.T) {
	inBubble(t, func(f *fixture) {
		lost, ran := 0, 0
		f.leaser.After = func(_ context.Context, call string) error {
			if call == "save step" && lost < 3 {
				lost++
				return core.Errorf(core.Unknown, "the answer was lost")
			}
			return nil
		}
		id := f.steady("t", func(ctx context.Context) error {
			_, err := worker.Step(ctx, "a", func(context.Context) (int, error) { ran++; return 1, nil })
			return err
		})
		f.runOnce()
		f.wantState(id, job.Succeeded)
		if ran != 1 || lost != 3 {
			t.Errorf("ran %d times, %d answers lost", ran, lost)
		}
		f.wantSteps(id, "a=1")
	})
}

func TestARecordThatCannotBeMadeIsUnknown(t *testing.T) {
	inBubble(t, func(f *fixture) {
		f.leaser.AddTask(task.Task{Name: "t", Timeout: core.Duration(10 * time.Second)})
		down := true
		f.leaser.Before = func(_ context.Context, call string) error {
			if call == "save step" && down {
				return core.Errorf(core.Unavailable, "the server is away")
			}
			return nil
		}
		f.handle("t", func(ctx context.Context) error {
			_, err := worker.Step(ctx, "a", func(context.Context) (int, error) { return 1, nil })
			return err
		})
		id := f.enqueue("t")
		f.runOnce()
		if j := f.job(id); !strings.Contains(j.Error, `step "a" of job 1 is done, and it is unknown whether that is recorded`) {
			t.Error(j.Error)
		}
	})
}

func TestAStepOfALostLeaseIsNotRecorded(t *testing.T) {
	inBubble(t, func(f *fixture) {
		var second error
		held := make(chan struct{})
		id := f.steady("t", func(ctx context.Context) error {
			j, _ := worker.JobFrom(ctx)
			_, err := worker.Step(ctx, "a", func(context.Context) (int, error) {
				if j.Attempt == 1 {
					f.leaser.FinishTx(job.Finish{Ref: job.Ref{JobID: j.ID, Lease: j.Lease}, Outcome: job.OutcomeLost})
				}
				return j.Attempt, nil
			})
			if j.Attempt == 1 {
				_, second = worker.Step(ctx, "b", func(context.Context) (int, error) { t.Error("b ran"); return 1, nil })
				close(held)
			}
			return err
		})
		stop := f.serve()
		<-held
		pass(time.Minute)
		_ = stop()
		f.wantSteps(id, "a=2")
		f.wantState(id, job.Succeeded)
		if !errors.Is(second, worker.ErrLost) {
			t.Error(second)
		}
	})
}

func TestProgressIsWrittenOnceASecondAndTheLastCounts(t *testing.T) {
	inBubble(t, func(f *fixture) {
		middle := 0.0
		f.handle("t", func(ctx context.Context) error {
			for i := range 1000 {
				if err := worker.Progress(ctx, job.Progress{Percent: float64(i+1) / 10, Counters: map[string]int64{"rows": int64(i)}}); err != nil {
					return err
				}
				time.Sleep(10 * time.Millisecond)
				if j, _ := worker.JobFrom(ctx); i == 500 {
					middle = f.job(j.ID).Progress.Percent
				}
			}
			return worker.Progress(ctx, job.Progress{Percent: 101})
		})
		id := f.enqueue("t")
		f.runOnce()
		j := f.job(id)
		if !strings.Contains(j.Error, "percent") || j.Progress == nil || j.Progress.Percent != 100 || j.Progress.Counters["rows"] != 999 {
			t.Errorf("%s %+v", j.Error, j.Progress)
		}
		if n := f.leaser.Calls("progress"); n < 10 || n > 12 {
			t.Errorf("written %d times in 10 s", n)
		}
		if middle < 40 || middle > 50.2 {
			t.Errorf("%v in the middle", middle)
		}
	})
}

func TestProgressThatCannotBeWrittenHoldsUpNothing(t *testing.T) {
	inBubble(t, func(f *fixture) {
		f.leaser.Before = func(ctx context.Context, call string) error {
			if call == "progress" {
				<-ctx.Done()
				return ctx.Err()
			}
			return nil
		}
		f.handle("t", func(ctx context.Context) error { return worker.Progress(ctx, job.Progress{Percent: 1}) })
		id := f.enqueue("t")
		begun := time.Now()
		f.runOnce()
		f.wantState(id, job.Succeeded)
		if took := time.Since(begun); took > 5*time.Second {
			t.Errorf("took %s", took)
		}
	})
}

func TestAWaitForASignalFreesItsSlotAndGoesOnAtOnce(t *testing.T) {
	type payment struct{ Amount int }
	inBubble(t, func(f *fixture) {
		f.options.Queues["default"] = 1
		begun, rounds := time.Now(), 0
		id := f.steady("order", func(ctx context.Context) error {
			rounds++
			p, came, err := worker.WaitSignal[payment](ctx, "paid", 90*24*time.Hour)
			if err != nil {
				return fmt.Errorf("wrapped: %w", err)
			}
			if !came || p.Amount != 5 {
				t.Errorf("%+v %t", p, came)
			}
			if rounds == 2 {
				return errors.New("the shop is closed")
			}
			_, came, err = worker.WaitSignal[payment](ctx, "early", time.Hour)
			if !came || err != nil {
				t.Errorf("early: %t %v", came, err)
			}
			_, came, err = worker.WaitSignal[payment](ctx, "never", time.Hour)
			if err != nil {
				return err
			}
			if came || time.Since(begun) < time.Hour {
				t.Errorf("never: %t after %s", came, time.Since(begun))
			}
			return nil
		})
		f.handle("other", func(context.Context) error { return nil })
		stop := f.serve()
		pass(time.Second)
		other := f.enqueue("other")
		pass(time.Second)
		f.wantState(other, job.Succeeded)
		if j := f.job(id); j.State != job.Scheduled || j.Error != `waits for signal "paid"` {
			t.Errorf("%s %q", j.State, j.Error)
		}
		f.leaser.SignalJob(id, job.Signal{Name: "early"})
		f.leaser.SignalJob(id, job.Signal{Name: "paid", Input: []byte(`{"Amount": 5}`)})
		f.leaser.SignalJob(id, job.Signal{Name: "paid", Input: []byte(`{"Amount": 6}`)})
		pass(2 * time.Second)
		if rounds != 3 {
			t.Errorf("%d rounds after the signal", rounds)
		}
		pass(2 * time.Hour)
		_ = stop()
		f.wantState(id, job.Succeeded)
		f.wantSteps(id, `paid={"Amount": 5} early=null never=`)
		f.wantOutcomes(id, job.OutcomeSnoozed, job.OutcomeError, job.OutcomeSnoozed, job.OutcomeOK)
	})
}

func TestAHandlerMakesALinkToItsSignal(t *testing.T) {
	inBubble(t, func(f *fixture) {
		var mailed []string
		id := f.steady("order", func(ctx context.Context) error {
			if _, err := worker.Step(ctx, "ask", func(ctx context.Context) (string, error) {
				if _, err := worker.SignalLink(ctx, job.Link{Name: "approved", Valid: -1}); core.CodeOf(err) != core.Invalid {
					t.Errorf("a link that cannot be: %v", err)
				}
				link, err := worker.SignalLink(ctx, job.Link{Name: "approved", For: "Ann"})
				mailed = append(mailed, link.For+" "+link.Path)
				return "Ann", err
			}); err != nil {
				return err
			}
			_, _, err := worker.WaitSignal[int](ctx, "approved", time.Hour)
			return err
		})
		stop := f.serve()
		pass(time.Second)
		f.leaser.SignalJob(id, job.Signal{Name: "approved", Input: []byte(`1`)})
		pass(time.Second)
		_ = stop()
		f.wantState(id, job.Succeeded)
		f.wantSteps(id, `ask="Ann" approved=1`)
		if strings.Join(mailed, ", ") != "Ann /answer/approved" {
			t.Errorf("mailed %q", mailed)
		}
	})
	if _, err := worker.SignalLink(t.Context(), job.Link{Name: "a"}); err == nil || !strings.Contains(err.Error(), "SignalLink outside of an attempt") {
		t.Error(err)
	}
}

func TestASignalBetweenTheWaitAndItsEndIsNotSleptOver(t *testing.T) {
	inBubble(t, func(f *fixture) {
		var id int64
		id = f.steady("order", func(ctx context.Context) error {
			_, _, err := worker.WaitSignal[int](ctx, "go", 24*time.Hour)
			f.leaser.SignalJob(id, job.Signal{Name: "go", Input: []byte(`1`)})
			return err
		})
		stop := f.serve()
		pass(time.Second)
		_ = stop()
		f.wantState(id, job.Succeeded)
	})
}

func TestASignalThatDoesNotFitEndsTheJob(t *testing.T) {
	inBubble(t, func(f *fixture) {
		id := f.steady("order", func(ctx context.Context) error {
			_, _, err := worker.WaitSignal[int](ctx, "go", 24*time.Hour)
			return err
		})
		f.leaser.SignalJob(id, job.Signal{Name: "go", Input: []byte(`"one"`)})
		f.runOnce()
		f.wantState(id, job.Failed)
		if said := f.job(id).Error; !strings.Contains(said, `signal "go" does not fit its type`) || !strings.Contains(said, "reset-steps "+fmt.Sprint(id)+" --from 'go'") {
			t.Error(said)
		}
	})
}

func TestAStepEnqueuesAJobOnceOverAttempts(t *testing.T) {
	inBubble(t, func(f *fixture) {
		var ids []int64
		ran := 0
		f.handle("child", func(context.Context) error { ran++; return nil })
		lost := true
		f.leaser.After = func(_ context.Context, call string) error {
			if call == "save step" && lost { // lose one answer
				lost = false
				return core.Errorf(core.Unavailable, "no answer")
			}
			return nil
		}
		id := f.steady("order", func(ctx context.Context) error {
			child, err := worker.Spawn(ctx, "bill", job.NewJob{Task: "child"})
			if err != nil {
				return err
			}
			if ids = append(ids, child); len(ids) < 3 {
				return errors.New("not yet")
			}
			return nil
		})
		stop := f.serve()
		pass(time.Minute)
		_ = stop()
		f.wantState(id, job.Succeeded)
		if ran != 1 || len(ids) != 3 || ids[0] != ids[2] {
			t.Errorf("ran %d, ids %d", ran, ids)
		}
	})
}

func TestAJobForWhichThereIsNoRoomIsEnqueuedByALaterAttempt(t *testing.T) {
	inBubble(t, func(f *fixture) {
		f.handle("child", func(context.Context) error { return nil })
		refused := 2
		f.leaser.Before = func(_ context.Context, call string) error {
			if call == "save step" && refused > 0 {
				refused--
				return core.Errorf(core.OverQuota, "full")
			}
			return nil
		}
		id := f.steady("order", func(ctx context.Context) error {
			_, err := worker.Spawn(ctx, "bill", job.NewJob{Task: "child"})
			return err
		})
		stop := f.serve()
		pass(time.Minute)
		_ = stop()
		f.wantState(id, job.Succeeded)
		f.wantOutcomes(id, job.OutcomeError, job.OutcomeError, job.OutcomeOK)
	})
}

func TestAWaitForAJobFreesItsSlotAndGoesOnAtItsEnd(t *testing.T) {
	inBubble(t, func(f *fixture) {
		f.options.Queues["default"] = 1
		rounds, bills := 0, 0
		f.leaser.AddTask(task.Task{Name: "bill", Retry: task.Retry{MaxAttempts: 1}})
		f.handle("bill", func(context.Context) error {
			if bills++; bills == 2 {
				return errors.New("no paper")
			}
			return nil
		})
		var ends []job.Ended
		id := f.steady("order", func(ctx context.Context) error {
			rounds++
			ends = nil
			for i := range 2 {
				child, err := worker.Spawn(ctx, fmt.Sprint("bill ", i), job.NewJob{Task: "bill", Delay: core.Duration(time.Hour)})
				if err != nil {
					return err
				}
				end, err := worker.Await(ctx, fmt.Sprint("billed ", i), child)
				if err != nil {
					return fmt.Errorf("wrapped: %w", err)
				}
				ends = append(ends, end)
			}
			return nil
		})
		stop := f.serve()
		pass(time.Second)
		if j := f.job(id); j.State != job.Scheduled || j.Error != `waits for a job in step "billed 0"` {
			t.Errorf("%s %q", j.State, j.Error)
		}
		pass(3 * time.Hour)
		_ = stop()
		f.wantState(id, job.Succeeded)
		if rounds != 3 || bills != 2 || len(ends) != 2 || ends[0].State != job.Succeeded || ends[1].State != job.Failed || ends[1].Error != "no paper" {
			t.Errorf("%d rounds, %d bills, %+v", rounds, bills, ends)
		}
	})
}

func TestAWaitForAnotherJobThanBeforeIsAChange(t *testing.T) {
	inBubble(t, func(f *fixture) {
		f.handle("bill", func(context.Context) error { return nil })
		rounds := 0
		id := f.steady("order", func(ctx context.Context) error {
			one, err := worker.Spawn(ctx, "one", job.NewJob{Task: "bill"})
			if err != nil {
				return err
			}
			two, err := worker.Spawn(ctx, "two", job.NewJob{Task: "bill", Delay: core.Duration(time.Minute)})
			if err != nil {
				return err
			}
			if rounds++; rounds > 1 {
				two = one
			}
			_, err = worker.Await(ctx, "billed", two)
			return err
		})
		stop := f.serve()
		pass(90 * time.Second)
		_ = stop()
		if said := f.job(id).Error; !strings.Contains(said, "the handler waits for job ") {
			t.Error(said)
		}
	})
}

package worker_test

import (
	"context"
	"errors"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/belfry-run/belfry/core"
	"github.com/belfry-run/belfry/internal/leasertest"
	"github.com/belfry-run/belfry/job"
	"github.com/belfry-run/belfry/task"
	"github.com/belfry-run/belfry/worker"
)

func TestShutdownGivesRunningJobsTheirGraceAndHandsTheRestBack(t *testing.T) {
	inBubble(t, func(f *fixture) {
		f.options.Queues["default"] = 2
		f.options.Prefetch = 3
		f.handle("quick", func(ctx context.Context) error { time.Sleep(10 * time.Second); return nil })
		f.handle("slow", func(ctx context.Context) error {
			<-ctx.Done()
			if !errors.Is(context.Cause(ctx), worker.ErrShutdown) {
				t.Error("cause is", context.Cause(ctx))
			}
			return errors.New("was disturbed")
		})
		quick, slow := f.enqueue("quick"), f.enqueue("slow")
		reserved := []int64{f.enqueue("quick"), f.enqueue("quick"), f.enqueue("quick")}
		untouched := f.enqueue("quick")
		stop := f.serve()
		pass(time.Second)
		begun := time.Now()
		go func() {
			pass(time.Second)
			for _, id := range reserved { // at once, not after the grace
				f.wantOutcomes(id, job.OutcomeHandedBack)
				f.wantState(id, job.Ready)
			}
		}()
		if err := stop(); err != nil {
			t.Error(err)
		}
		if took := time.Since(begun); took != 30*time.Second {
			t.Errorf("took %s, want the grace", took)
		}
		f.wantState(quick, job.Succeeded)
		f.wantOutcomes(slow, job.OutcomeHandedBack)
		f.wantState(slow, job.Ready)
		f.wantState(untouched, job.Ready)
		if j := f.job(slow); j.Failures != 0 {
			t.Error("handing back counted as a failure")
		}
		f.wantNotLogged("level=WARN")
	})
}

func TestShutdownIsNotHeldUpByAHandlerThatIgnoresIt(t *testing.T) {
	inBubble(t, func(f *fixture) {
		f.options.Grace = -1
		release := make(chan struct{})
		f.handle("deaf", func(context.Context) error { <-release; return nil })
		id := f.enqueue("deaf")
		stop := f.serve()
		pass(time.Second)
		begun := time.Now()
		_ = stop()
		if took := time.Since(begun); took != 10*time.Second {
			t.Errorf("took %s, want the patience", took)
		}
		f.wantOutcomes(id, job.OutcomeHandedBack)
		close(release)
		settle()
	})
}

// A result that could not be reported before the end of its job and its worker is
// still reported.
func TestAResultIsReportedAlthoughEverythingAroundItHasEnded(t *testing.T) {
	inBubble(t, func(f *fixture) {
		var away atomic.Bool
		f.leaser.Before = func(_ context.Context, call string) error {
			if away.Load() && call == "finish" {
				return errAway
			}
			return nil
		}
		f.handle("work", func(ctx context.Context) error { <-ctx.Done(); return nil })
		id := f.enqueue("work")
		f.options.Grace = -1
		stop := f.serve()
		pass(time.Second)
		away.Store(true)
		go func() {
			pass(12 * time.Second) // long after the attempt's context, and the worker's, have ended
			away.Store(false)
		}()
		if err := stop(); err != nil {
			t.Error(err)
		}
		f.wantOutcomes(id, job.OutcomeOK)
		if f.leaser.Calls("close") != 1 {
			t.Error("the session was not closed")
		}
	})
}

func TestASessionWithUnreportedResultsIsNotClosed(t *testing.T) {
	inBubble(t, func(f *fixture) {
		f.leaser.Before = on(errAway, "finish")
		f.handle("work", func(context.Context) error { return nil })
		f.enqueue("work")
		stop := f.serve()
		pass(time.Second)
		if err := stop(); core.CodeOf(err) != core.Unavailable {
			t.Errorf("the shutdown was clean: %v", err)
		}
		if f.leaser.Calls("close") != 0 {
			t.Error("the session was closed, so a job that has run is handed back")
		}
		f.wantLogged("result was not reported and is lost")
	})
}

// A worker fences itself, for each way in which renewals can fail.
func TestAWorkerThatCannotRenewStopsItsJobsBeforeItsLeaseEnds(t *testing.T) {
	stall := func(ctx context.Context) error { <-ctx.Done(); return ctx.Err() }
	for name, fail := range map[string]func(context.Context) error{
		"error": func(context.Context) error { return errAway },
		"stall": stall,
	} {
		t.Run(name, func(t *testing.T) {
			inBubble(t, func(f *fixture) {
				var away atomic.Bool
				f.leaser.Before = func(ctx context.Context, _ string) error {
					if away.Load() {
						return fail(ctx)
					}
					return nil
				}
				var stopped time.Time
				runs := 0
				f.handle("work", func(ctx context.Context) error {
					if runs++; runs > 1 {
						return nil
					}
					<-ctx.Done()
					stopped = time.Now()
					if !errors.Is(context.Cause(ctx), worker.ErrLost) {
						t.Error("cause is", context.Cause(ctx))
					}
					return nil // even a success is not reported, because another worker may have the job
				})
				id := f.enqueue("work")
				begun := time.Now()
				stop := f.serve()
				pass(35 * time.Second) // renewed every 5 s, with a jitter of a tenth
				away.Store(true)
				pass(40 * time.Second)
				if at := stopped.Sub(begun); at < 51*time.Second || at > 57*time.Second {
					t.Errorf("stopped at %s, want 22s after the last renewal, between 29.5s and 35s", at)
				}
				pass(5 * time.Minute)
				claims, opens := f.leaser.Calls("claim"), f.leaser.Calls("open")
				pass(time.Minute)
				if n := f.leaser.Calls("claim") - claims; n != 0 {
					t.Errorf("%d claims without a session", n)
				}
				if n := f.leaser.Calls("open") - opens; n < 2 || n > 12 {
					t.Errorf("%d tries a minute to open a session", n)
				}
				away.Store(false)
				pass(time.Minute)
				f.wantState(id, job.Succeeded)
				f.wantOutcomes(id, job.OutcomeLost, job.OutcomeOK)
				if err := stop(); err != nil {
					t.Error(err)
				}
				if _, lost := f.watch.get(); lost != 1 {
					t.Errorf("%d sessions counted as lost", lost)
				}
			})
		})
	}
}

func TestALateRenewalDoesNotRevive(t *testing.T) {
	inBubble(t, func(f *fixture) {
		var slow atomic.Bool
		// The server accepts the call, and its answer arrives after the end of the
		// lease. The call ignores its context, like a suspended process.
		f.leaser.After = func(_ context.Context, call string) error {
			if call == "renew" && slow.Load() {
				time.Sleep(time.Minute)
			}
			return nil
		}
		ended := make(chan error, 2)
		f.handle("work", func(ctx context.Context) error { <-ctx.Done(); ended <- context.Cause(ctx); return nil })
		f.enqueue("work")
		stop := f.serve()
		pass(time.Second)
		slow.Store(true)
		pass(40 * time.Second)
		select {
		case cause := <-ended:
			if !errors.Is(cause, worker.ErrLost) {
				t.Error(cause)
			}
		default:
			t.Error("the job runs on although no renewal was answered")
		}
		slow.Store(false)
		pass(time.Minute)
		f.options.Grace = -1
		_ = stop()
	})
}

func TestALostSessionStopsEverythingAndAnotherOneGoesOn(t *testing.T) {
	inBubble(t, func(f *fixture) {
		var running atomic.Int32
		f.handle("work", func(ctx context.Context) error {
			if running.Add(1) != 1 {
				t.Error("two attempts at the same time")
			}
			defer running.Add(-1)
			select {
			case <-ctx.Done():
				time.Sleep(time.Second) // the handler takes a moment to stop
				return ctx.Err()
			case <-time.After(10 * time.Minute):
				return nil
			}
		})
		id := f.enqueue("work")
		stop := f.serve()
		pass(5 * time.Second)
		f.leaser.Lose()
		pass(20 * time.Minute)
		f.wantOutcomes(id, job.OutcomeLost, job.OutcomeOK)
		f.wantLogged("session was given up by the server")
		if err := stop(); err != nil {
			t.Error(err)
		}
	})
}

func TestJobsThatArriveAfterTheSessionWasLostAreHandedBack(t *testing.T) {
	inBubble(t, func(f *fixture) {
		var hold atomic.Bool
		var once sync.Once
		f.leaser.Before = func(_ context.Context, call string) error {
			if hold.Load() && call == "renew" {
				return errAway
			}
			return nil
		}
		// The claim has leased the job; its answer arrives after the fence.
		f.leaser.After = func(_ context.Context, call string) error {
			if call == "claim" {
				once.Do(func() {
					hold.Store(true)
					time.Sleep(31 * time.Second)
					hold.Store(false)
				})
			}
			return nil
		}
		var ran atomic.Int32
		f.handle("work", func(context.Context) error { ran.Add(1); return nil })
		id := f.enqueue("work")
		stop := f.serve()
		pass(31*time.Second + time.Millisecond)
		f.wantOutcomes(id, job.OutcomeHandedBack)
		if ran.Load() != 0 {
			t.Error("it ran under a session that is lost")
		}
		pass(time.Minute)
		f.wantState(id, job.Succeeded)
		if j := f.job(id); j.Failures != 0 || ran.Load() != 1 {
			t.Errorf("failures %d, ran %d", j.Failures, ran.Load())
		}
		_ = stop()
	})
}

func TestACommandsKillGraceEndsWithTheSession(t *testing.T) {
	inBubble(t, func(f *fixture) {
		var away atomic.Bool
		f.leaser.Before = func(context.Context, string) error {
			if away.Load() {
				return errAway
			}
			return nil
		}
		told := make(chan time.Duration, 1)
		f.options.Executors = map[task.Kind]worker.Executor{task.KindCommand: executor(func(ctx context.Context, r *worker.Run) job.Finish {
			<-ctx.Done() // a timeout, with five minutes to stop
			begun := time.Now()
			<-r.Lost()
			told <- time.Since(begun)
			return r.Failed("killed")
		})}
		f.leaser.AddTask(task.Task{Name: "cmd", Timeout: core.Duration(time.Second), Command: &task.Command{
			Argv: []string{"x"}, KillGrace: core.Duration(5 * time.Minute),
		}, Retry: task.Retry{MaxAttempts: 1}})
		f.enqueue("cmd")
		stop := f.serve()
		pass(2 * time.Second)
		away.Store(true)
		pass(30 * time.Second)
		select {
		case after := <-told:
			if after > 27*time.Second {
				t.Errorf("told after %s", after)
			}
		default:
			t.Error("not told that the session was lost")
		}
		away.Store(false)
		pass(30 * time.Second)
		_ = stop()
	})
}

type executor func(context.Context, *worker.Run) job.Finish

func (e executor) Execute(ctx context.Context, r *worker.Run) job.Finish { return e(ctx, r) }

func TestAWorkerStartsBeforeItsServer(t *testing.T) {
	inBubble(t, func(f *fixture) {
		var away atomic.Bool
		away.Store(true)
		f.leaser.Before = func(context.Context, string) error {
			if away.Load() {
				return errAway
			}
			return nil
		}
		f.handle("work", func(context.Context) error { return nil })
		id := f.enqueue("work")
		stop := f.serve()
		pass(10 * time.Minute)
		away.Store(false)
		pass(20 * time.Second)
		f.wantState(id, job.Succeeded)
		_ = stop()
	})
}

func TestAWorkerStopsWhileItsServerIsAway(t *testing.T) {
	inBubble(t, func(f *fixture) {
		f.leaser.Before = on(errAway, "open")
		f.handle("work", func(context.Context) error { return nil })
		stop := f.serve()
		pass(time.Minute)
		begun := time.Now()
		if err := stop(); err != nil || time.Since(begun) > time.Second {
			t.Errorf("%v after %s", err, time.Since(begun))
		}
	})
}

// Hours of faults: calls fail before and after their effect or stall, answers are
// lost, sessions are given up. Every job must end, and no two attempts of a job may
// run at the same time.
func TestJobsUnderRandomFaultsAreRecordedOnce(t *testing.T) {
	for seed := range uint64(10) {
		inBubbleNamed(t, "seed", seed, func(f *fixture) {
			roll := newDice(seed, 7).roll
			var calm, down atomic.Bool
			fault := func(ctx context.Context, _ string) error {
				switch {
				case down.Load():
					return errAway
				case calm.Load():
					return nil
				}
				switch roll(12) {
				case 0:
					return errAway
				case 1:
					<-ctx.Done()
					return ctx.Err()
				case 2:
					time.Sleep(time.Duration(roll(2000)) * time.Millisecond)
				}
				return nil
			}
			f.leaser.Before, f.leaser.After = fault, fault
			f.options.Prefetch = int(seed % 3)
			f.handleTirelessly("work", func(ctx context.Context) error {
				worker.Logger(ctx).Info("line")
				_ = sleepIn(ctx, time.Duration(roll(60_000))*time.Millisecond)
				return ctx.Err()
			})
			stopA, stopB := f.serve(), f.serve()
			var ids []int64
			for range 100 {
				ids = append(ids, f.leaser.Enqueue(job.NewJob{Task: "work"}).ID)
				pass(time.Duration(roll(10_000)) * time.Millisecond)
				if roll(15) == 0 { // long enough to lose the session
					down.Store(true)
					pass(time.Duration(20+roll(40)) * time.Second)
					down.Store(false)
				}
			}
			calm.Store(true)
			pass(30 * time.Minute)
			for _, id := range ids {
				f.wantState(id, job.Succeeded)
			}
			if err := errors.Join(stopA(), stopB()); err != nil {
				t.Error(err)
			}
		})
	}
}

func sleepIn(ctx context.Context, d time.Duration) error {
	select {
	case <-ctx.Done():
	case <-time.After(d):
	}
	return ctx.Err()
}

var _ job.Leaser = (*leasertest.Leaser)(nil)

package worker_test

import (
	"context"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/belfry-run/belfry/core"
	"github.com/belfry-run/belfry/internal/leasertest"
	"github.com/belfry-run/belfry/job"
	"github.com/belfry-run/belfry/worker"
)

// refusing is a server that refuses certain log pieces or results.
type refusing struct {
	*leasertest.Leaser
	refuse refusal
}

type refusal struct {
	logs    func([]job.LogPiece) error
	results func([]job.Finish) error
}

func errorsFor(logs func([]job.LogPiece) error) refusal { return refusal{logs: logs} }

func (r refusing) Append(ctx context.Context, s string, ls []job.LogPiece) error {
	if r.refuse.logs != nil {
		if err := r.refuse.logs(ls); err != nil {
			return err
		}
	}
	return r.Leaser.Append(ctx, s, ls)
}

func (r refusing) Finish(ctx context.Context, s string, fs []job.Finish) ([]job.Finished, error) {
	if r.refuse.results != nil {
		if err := r.refuse.results(fs); err != nil {
			return nil, err
		}
	}
	return r.Leaser.Finish(ctx, s, fs)
}

func TestResultsCollectWhileACallIsUnderWay(t *testing.T) {
	inBubble(t, func(f *fixture) {
		f.options.Queues["default"] = 100
		f.leaser.After = func(_ context.Context, call string) error {
			if call == "finish" {
				time.Sleep(10 * time.Millisecond)
			}
			return nil
		}
		var n atomic.Int32
		f.handle("work", func(context.Context) error {
			time.Sleep(time.Duration(n.Add(1)) * 100 * time.Microsecond) // one job ends every 100 µs
			return nil
		})
		for range 100 {
			f.enqueue("work")
		}
		begun := time.Now()
		f.runOnce()
		if took := time.Since(begun); took > 25*time.Millisecond {
			t.Errorf("took %s", took)
		}
		sizes := []int{}
		for _, b := range f.leaser.Batches() {
			sizes = append(sizes, len(b))
		}
		if len(sizes) != 2 || sizes[0] != 1 {
			t.Errorf("batches of %v, want the first at once and the rest together", sizes)
		}
	})
}

// crowd lets a thousand jobs end one after the other. A call takes 10 ms and ends
// with the result of finish, which gets the number of the call and of the calls
// under way.
func crowd(f *fixture, each time.Duration, finish func(call, under int32) error) {
	f.options.Queues["default"] = 1000
	var calls, under, n atomic.Int32
	f.leaser.After = func(_ context.Context, call string) error {
		if call != "finish" {
			return nil
		}
		number, now := calls.Add(1), under.Add(1)
		defer under.Add(-1)
		time.Sleep(10 * time.Millisecond)
		return finish(number, now)
	}
	f.handle("work", func(context.Context) error {
		time.Sleep(time.Duration(n.Add(1)) * each)
		return nil
	})
	for range 1000 {
		f.enqueue("work")
	}
}

func TestManyResultsHaveASecondCall(t *testing.T) {
	inBubble(t, func(f *fixture) {
		var most atomic.Int32
		crowd(f, time.Microsecond, func(_, under int32) error {
			most.Store(max(most.Load(), under))
			return nil
		})
		f.runOnce()
		sizes := []int{}
		for _, b := range f.leaser.Batches() {
			sizes = append(sizes, len(b))
		}
		if !slices.Equal(sizes, []int{1, 500, 499}) || most.Load() != 2 {
			t.Errorf("batches of %v, %d under way at most", sizes, most.Load())
		}
	})
}

func TestOneCallIsTriedWhileCallsFail(t *testing.T) {
	inBubble(t, func(f *fixture) {
		crowd(f, 100*time.Microsecond, func(call, under int32) error {
			if call > 20 {
				return nil
			}
			if under > 1 { // the first call failed before many results waited
				f.Errorf("call %d has %d beside it", call, under-1)
			}
			return errAway
		})
		stop := f.serve()
		pass(5 * time.Minute)
		for id := int64(1); id <= 1000; id++ {
			f.wantState(id, job.Succeeded)
			f.wantOutcomes(id, job.OutcomeOK)
		}
		_ = stop()
	})
}

func TestAResultIsTriedAgainWhenItsAnswerWasLost(t *testing.T) {
	inBubble(t, func(f *fixture) {
		var lost atomic.Int32
		f.leaser.After = func(_ context.Context, call string) error {
			if call == "finish" && lost.Add(1) <= 3 {
				return errAway
			}
			return nil
		}
		f.handle("work", func(context.Context) error { return nil })
		id := f.enqueue("work")
		f.runOnce()
		f.wantState(id, job.Succeeded)
		f.wantOutcomes(id, job.OutcomeOK)
		if stale, _ := f.watch.get(); stale != 0 {
			t.Errorf("%d stale answers counted, and the worker said nothing new", stale)
		}
		f.wantNotLogged("result came too late")
	})
}

func TestAResultIsGivenUpAfterTenMinutes(t *testing.T) {
	inBubble(t, func(f *fixture) {
		f.leaser.Before = on(errAway, "finish")
		f.handle("work", func(context.Context) error { return nil })
		for range 100 {
			f.enqueue("work")
		}
		stop := f.serve()
		pass(9 * time.Minute)
		f.wantNotLogged("is lost")
		held := 0
		for id := int64(1); id <= 100; id++ {
			if f.job(id).State == job.Running {
				held++
			}
		}
		if held != 8 {
			t.Errorf("the worker holds %d jobs it cannot report, want twice its 4 slots", held)
		}
		pass(2 * time.Minute)
		f.wantLogged("result was not reported and is lost")
		if n := strings.Count(f.logged.String(), "call fails"); n != 1 {
			t.Errorf("the outage was logged %d times", n)
		}
		f.leaser.Before = nil
		_ = stop()
	})
}

func TestARefusedResultStillEndsItsJob(t *testing.T) {
	inBubble(t, func(f *fixture) {
		f.options.Leaser = refusing{f.leaser, refusal{results: func(fs []job.Finish) error {
			for _, r := range fs {
				if strings.Contains(string(r.Output), "poison") {
					return core.Errorf(core.TooLarge, "more than this server takes")
				}
			}
			return nil
		}}}
		worker.Handle(f.handlers, "echo", func(_ context.Context, in string) (string, error) { return in, nil })
		good := f.leaser.Enqueue(job.NewJob{Task: "echo", Input: []byte(`"good"`)}).ID
		poison := f.leaser.Enqueue(job.NewJob{Task: "echo", Input: []byte(`"poison"`)}).ID
		f.runOnce()
		f.wantState(good, job.Succeeded)
		if j := f.job(poison); j.State != job.Failed || !strings.Contains(j.Error, "its result (ok) was refused: more than this server takes") {
			t.Errorf("%s %s", j.State, j.Error)
		}
	})
}

func TestAStaleAnswerIsCountedAndNotAnError(t *testing.T) {
	inBubble(t, func(f *fixture) {
		f.handle("work", func(ctx context.Context) error {
			j, _ := worker.JobFrom(ctx)
			f.leaser.FinishTx(job.Finish{Ref: job.Ref{JobID: j.ID, Lease: j.Lease}, Outcome: job.OutcomeLost})
			return nil
		})
		id := f.leaser.Enqueue(job.NewJob{Task: "work", MaxAttempts: 1}).ID
		stop := f.serve()
		pass(time.Second)
		f.wantOutcomes(id, job.OutcomeLost)
		if stale, _ := f.watch.get(); stale != 1 {
			t.Errorf("%d stale answers counted", stale)
		}
		f.wantLogged(`level=WARN msg="result came too late and was discarded"`)
		f.wantNotLogged("level=ERROR")
		_ = stop()
	})
}

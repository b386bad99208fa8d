package batch_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"runtime"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"pgregory.net/rapid"

	"github.com/belfry-run/belfry/internal/leaks"
	"github.com/belfry-run/belfry/internal/leasertest"
	"github.com/belfry-run/belfry/job"
	"github.com/belfry-run/belfry/task"
	"github.com/belfry-run/belfry/worker"
	"github.com/belfry-run/belfry/worker/batch"
)

func TestMain(m *testing.M) { leaks.Main(m) }

type jobs = []*batch.Job[int, int]

// fixture is a server and a worker with a handler of batches, in a bubble with a fake clock.
type fixture struct {
	testing.TB
	leaser   *leasertest.Leaser
	handlers *worker.Handlers
	options  worker.Options
	face     worker.TaskOf[int, int]
}

const slots = 4

// renewed is the longest time until a worker gets a message of its server.
const renewed = 11 * time.Second

func inBubble(t *testing.T, o batch.Options, fn func(ctx context.Context, jobs jobs) error, test func(f *fixture)) {
	t.Helper()
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		f := newFixture(t, o, fn)
		test(f)
		for _, breach := range f.leaser.Breaches() {
			t.Errorf("the worker broke the contract: %s", breach)
		}
	})
}

func newFixture(t testing.TB, o batch.Options, fn func(ctx context.Context, jobs jobs) error) *fixture {
	f := &fixture{TB: t, leaser: leasertest.New(), handlers: &worker.Handlers{}}
	f.face = batch.Handle(f.handlers, "t", o, fn)
	f.options = worker.Options{Leaser: f.leaser, Handlers: f.handlers, Name: "test", Queues: map[string]int{"default": slots}}
	return f
}

// serve runs a worker until stop.
func (f *fixture) serve() (stop func()) {
	f.Helper()
	w, err := worker.New(f.options)
	if err != nil {
		f.Fatal(err)
	}
	ctx, cancel := context.WithCancel(context.Background())
	ended := make(chan error, 1)
	go func() { ended <- w.Run(ctx) }()
	return func() {
		f.Helper()
		cancel()
		if err := <-ended; err != nil {
			f.Error(err)
		}
	}
}

// ask enqueues jobs with these inputs and a single attempt.
func (f *fixture) ask(inputs ...int) (ids []int64) {
	f.Helper()
	for _, in := range inputs {
		n, err := f.face.New(in)
		if err != nil {
			f.Fatal(err)
		}
		n.MaxAttempts = 1
		ids = append(ids, f.leaser.Enqueue(n).ID)
	}
	return ids
}

// want compares the results of jobs: the state and the output, or the beginning of the error.
func (f *fixture) want(ids []int64, outcomes ...string) {
	f.Helper()
	synctest.Wait()
	for i, id := range ids {
		j, err := f.leaser.Job(context.Background(), "default", id)
		if err != nil {
			f.Fatal(err)
		}
		got := strings.TrimSpace(fmt.Sprintln(j.State, string(j.Output)+j.Error))
		if outcomes[i] == string(j.State) || strings.HasPrefix(got, outcomes[i]) && outcomes[i] != "" {
			continue
		}
		f.Errorf("job %d: %q, want %q", id, got, outcomes[i])
	}
}

func inputs(jobs jobs) (all []int) {
	for _, j := range jobs {
		all = append(all, j.In)
	}
	slices.Sort(all)
	return all
}

// double succeeds each job with twice its input.
func double(jobs jobs) {
	for _, j := range jobs {
		j.Succeed(2 * j.In)
	}
}

func TestABatchBeginsWhenItIsFullOrHasWaited(t *testing.T) {
	var got []string
	begin := time.Time{}
	inBubble(t, batch.Options{Size: 3, Wait: time.Second}, func(_ context.Context, jobs jobs) error {
		got = append(got, fmt.Sprint(len(jobs), " after ", time.Since(begin).Round(100*time.Millisecond)))
		double(jobs)
		return nil
	}, func(f *fixture) {
		begin = time.Now()
		ids := f.ask(1, 2, 3, 4)
		stop := f.serve()
		time.Sleep(500 * time.Millisecond)
		ids = append(ids, f.ask(5)...)
		time.Sleep(time.Second)
		stop()
		f.want(ids, "succeeded 2", "succeeded 4", "succeeded 6", "succeeded 8", "succeeded 10")
		if want := []string{"3 after 0s", "2 after 1s"}; !slices.Equal(got, want) {
			t.Errorf("batches: %q, want %q", got, want)
		}
	})
}

func TestAJobWithoutAResultFails(t *testing.T) {
	for name, c := range map[string]struct {
		fn   func(jobs jobs) error
		want string
	}{
		"it gets none":        {func(jobs) error { return nil }, "failed its batch gave it no result"},
		"the batch fails":     {func(jobs) error { return errors.New("no room") }, "failed no room"},
		"the batch panics":    {func(jobs) error { panic("boom") }, "failed panic: boom\n\n"},
		"its goroutine ends":  {func(jobs) error { runtime.Goexit(); return nil }, "failed the handler of its batch ended its goroutine"},
		"no error for it":     {func(js jobs) error { js[0].Fail(nil); return nil }, "failed failed without an error"},
		"another is canceled": {func(jobs) error { return fmt.Errorf("insert: %w", worker.ErrCanceled) }, "failed insert: canceled"},
	} {
		t.Run(name, func(t *testing.T) {
			inBubble(t, batch.Options{Wait: time.Second}, func(_ context.Context, jobs jobs) error {
				slices.SortFunc(jobs, func(a, b *batch.Job[int, int]) int { return b.In - a.In })
				jobs[0].Succeed(7)
				jobs[0].Fail(errors.New("a second result does not count"))
				return c.fn(jobs[1:])
			}, func(f *fixture) {
				ids := f.ask(1, 2)
				stop := f.serve()
				time.Sleep(2 * time.Second)
				stop()
				f.want(ids, c.want, "succeeded 7")
			})
		})
	}
}

func TestErrorsInABatchDecideAsErrorsOfSingleJobs(t *testing.T) {
	inBubble(t, batch.Options{Size: 4}, func(_ context.Context, jobs jobs) error {
		for _, j := range jobs {
			worker.Logger(j.Context()).Info("seen", "input", j.In)
			switch j.In {
			case 1:
				j.Fail(worker.NoRetry(errors.New("bad")))
			case 2:
				j.Fail(worker.Snooze(time.Hour))
			case 3:
				j.Fail(worker.ErrCanceled)
			case 4:
				j.Fail(errors.New("try again"))
			}
		}
		return nil
	}, func(f *fixture) {
		var ids []int64
		for in := range 4 {
			n, _ := f.face.New(in + 1)
			ids = append(ids, f.leaser.Enqueue(n).ID)
		}
		stop := f.serve()
		time.Sleep(time.Second)
		stop()
		f.want(ids, "failed bad", "scheduled", "canceled", "scheduled try again")
		for i, id := range ids {
			if text := f.leaser.Text(id); !strings.Contains(text, fmt.Sprint("input=", i+1)) || strings.Count(text, "seen") != 1 {
				t.Errorf("log of job %d: %q", id, text)
			}
		}
	})
}

func TestABadInputIsInNoBatch(t *testing.T) {
	inBubble(t, batch.Options{}, func(_ context.Context, jobs jobs) error {
		double(jobs)
		return nil
	}, func(f *fixture) {
		bad := f.leaser.Enqueue(job.NewJob{Task: "t", Input: json.RawMessage(`"text"`)}).ID
		ids := append(f.ask(4), bad)
		stop := f.serve()
		time.Sleep(time.Second)
		stop()
		f.want(ids, "succeeded 8", `failed input does not fit handler "t"`)
	})
}

func TestTheEndOfOneJobDoesNotStopTheOthers(t *testing.T) {
	var seen error
	inBubble(t, batch.Options{Size: 2}, func(ctx context.Context, jobs jobs) error {
		for _, j := range jobs {
			if j.In == 1 {
				<-j.Context().Done()
				seen = context.Cause(j.Context())
				time.Sleep(time.Second)
				if ctx.Err() != nil {
					t.Error("the batch has ended with one of its jobs")
				}
				j.Fail(context.Cause(j.Context()))
			}
		}
		time.Sleep(time.Minute)
		double(jobs)
		return ctx.Err()
	}, func(f *fixture) {
		ids := f.ask(1, 2)
		stop := f.serve()
		time.Sleep(time.Second)
		f.leaser.Cancel(ids[0])
		time.Sleep(renewed)
		synctest.Wait()
		if !errors.Is(seen, worker.ErrCanceled) {
			t.Error(seen)
		}
		f.want(ids, "canceled", "running")
		time.Sleep(2 * time.Minute)
		stop()
		f.want(ids, "canceled", "succeeded 4")
	})
}

func TestAJobThatEndsBeforeItsBatchIsLeftOut(t *testing.T) {
	var got []int
	inBubble(t, batch.Options{Size: 3, Wait: 40 * time.Second}, func(_ context.Context, jobs jobs) error {
		got = append(got, inputs(jobs)...)
		double(jobs)
		return nil
	}, func(f *fixture) {
		ids := f.ask(1, 2)
		stop := f.serve()
		time.Sleep(time.Second)
		f.leaser.Cancel(ids[0])
		time.Sleep(renewed)
		f.want(ids, "canceled", "running")
		f.leaser.Cancel(ids[1])
		time.Sleep(renewed)
		ids = append(ids, f.ask(3)...)
		time.Sleep(30 * time.Second) // the wait of the jobs that left has ended, that of the third has not
		f.want(ids, "canceled", "canceled", "running")
		time.Sleep(11 * time.Second)
		stop()
		f.want(ids, "canceled", "canceled", "succeeded 6")
		if !slices.Equal(got, []int{3}) {
			t.Errorf("batches of %v", got)
		}
	})
}

func TestABatchEndsWithTheLastOfItsJobs(t *testing.T) {
	for name, c := range map[string]struct {
		end   func(f *fixture, stop func(), ids []int64)
		cause error
		want  string
	}{
		"timeout": {func(*fixture, func(), []int64) { time.Sleep(2 * time.Hour) }, worker.ErrTimeout, "failed ran longer than its timeout"},
		"cancel": {func(f *fixture, _ func(), ids []int64) {
			for _, id := range ids {
				f.leaser.Cancel(id)
			}
		}, worker.ErrCanceled, "canceled"},
		"shutdown": {func(_ *fixture, stop func(), _ []int64) { stop() }, worker.ErrShutdown, "ready"},
		"loss":     {func(f *fixture, _ func(), _ []int64) { f.leaser.Lose() }, worker.ErrLost, "failed"},
	} {
		t.Run(name, func(t *testing.T) {
			var cause error
			inBubble(t, batch.Options{Size: 3}, func(ctx context.Context, jobs jobs) error {
				for _, j := range jobs {
					if j.In == 3 { // the batch ignores this job from here on
						j.Succeed(0)
					}
				}
				<-ctx.Done()
				cause = context.Cause(ctx)
				return cause
			}, func(f *fixture) {
				ids := f.ask(1, 2, 3)
				stop := f.serve()
				time.Sleep(time.Second)
				f.want(ids, "running", "running", "succeeded 0")
				stopped := false
				c.end(f, func() { stop(); stopped = true }, ids[:2])
				time.Sleep(renewed)
				synctest.Wait()
				if !errors.Is(cause, c.cause) {
					t.Errorf("cause %v, want %v", cause, c.cause)
				}
				time.Sleep(time.Second)
				f.want(ids, c.want, c.want, "succeeded 0")
				if !stopped {
					stop()
				}
			})
		})
	}
}

func TestJobsThatWaitAreHandedBackAtTheEndOfTheirWorker(t *testing.T) {
	inBubble(t, batch.Options{Wait: time.Minute}, func(context.Context, jobs) error {
		t.Error("a batch began")
		return nil
	}, func(f *fixture) {
		ids := f.ask(1)
		f.options.Grace = time.Second
		stop := f.serve()
		time.Sleep(time.Second)
		stop()
		f.want(ids, "ready")
	})
}

func TestABatchThatIgnoresTheEndOfItsJobsIsLeftBehind(t *testing.T) {
	inBubble(t, batch.Options{Size: 2}, func(_ context.Context, jobs jobs) error {
		time.Sleep(time.Hour)
		double(jobs)
		return nil
	}, func(f *fixture) {
		ids := f.ask(1, 2)
		stop := f.serve()
		time.Sleep(time.Second)
		f.leaser.Cancel(ids[0])
		time.Sleep(renewed + 11*time.Second) // plus the patience
		f.want(ids, "canceled", "running")
		time.Sleep(time.Hour - time.Minute)
		stop()
		time.Sleep(time.Hour)
		f.want(ids, "canceled", "succeeded 4")
	})
}

func TestBatchesAreOfOneNamespace(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		var mu sync.Mutex
		var got []string
		var handlers worker.Handlers
		batch.Handle(&handlers, "t", batch.Options{Size: 2, Wait: time.Second}, func(ctx context.Context, jobs jobs) error {
			mu.Lock()
			defer mu.Unlock()
			got = append(got, fmt.Sprint(jobs[0].Job().Namespace, inputs(jobs)))
			if _, some := worker.JobFrom(ctx); some {
				t.Error("the context of the batch has a job")
			}
			double(jobs)
			return nil
		})
		var all sync.WaitGroup
		for in, namespace := range map[int]string{1: "a", 2: "b", 3: "a"} {
			all.Go(func() {
				f := worker.Direct(t.Context(), map[task.Kind]worker.Executor{task.KindFunc: &handlers}, task.Task{Namespace: namespace, Name: "t", Kind: task.KindFunc},
					fmt.Append(nil, in), io.Discard, io.Discard)
				if string(f.Output) != fmt.Sprint(2*in) {
					t.Errorf("%+v", f)
				}
			})
		}
		all.Wait()
		slices.Sort(got)
		if want := []string{"a[1 3]", "b[2]"}; !slices.Equal(got, want) {
			t.Errorf("%q", got)
		}
	})
}

func TestBadOptionsPanic(t *testing.T) {
	t.Parallel()
	for text, o := range map[string]batch.Options{
		`size "-1": is outside 1 to 1000`:         {Size: -1},
		`size "1001": is outside 1 to 1000`:       {Size: 1001},
		`wait "-1ns": is outside 1ms to 1m0s`:     {Wait: -1},
		`wait "1m0.001s": is outside 1ms to 1m0s`: {Wait: time.Minute + time.Millisecond},
	} {
		func() {
			defer func() {
				if said := fmt.Sprint(recover()); !strings.Contains(said, text) {
					t.Errorf("%q, want %q", said, text)
				}
			}()
			batch.Handle(&worker.Handlers{}, "t", o, func(context.Context, jobs) error { return nil })
		}()
	}
}

// Whatever a handler does, each job ends once with its own result.
func TestEachJobGetsItsOwnResult(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(r *rapid.T) {
		n := rapid.IntRange(1, 30).Draw(r, "jobs")
		o := batch.Options{Size: rapid.IntRange(1, 6).Draw(r, "size"), Wait: time.Duration(rapid.IntRange(1, 500).Draw(r, "wait")) * time.Millisecond}
		plan := rapid.SliceOfN(rapid.SampledFrom([]string{"ok", "fail", "nothing", "later", "cancel"}), n, n).Draw(r, "plan")
		end := rapid.SampledFrom([]string{"return", "error", "panic"}).Draw(r, "end")
		pauses := rapid.SliceOfN(rapid.IntRange(0, 300), n, n).Draw(r, "pauses")
		synctest.Test(t, func(t *testing.T) {
			var mu sync.Mutex
			calls := map[int]int{}
			f := newFixture(t, o, func(_ context.Context, jobs jobs) error {
				if len(jobs) > o.Size || len(jobs) > slots || len(jobs) == 0 {
					t.Errorf("a batch of %d", len(jobs))
				}
				for _, j := range jobs {
					mu.Lock()
					calls[j.In]++
					mu.Unlock()
					switch plan[j.In] {
					case "ok":
						j.Succeed(2 * j.In)
					case "fail":
						j.Fail(fmt.Errorf("no %d", j.In))
					case "later":
						time.Sleep(10 * time.Millisecond)
						j.Succeed(3 * j.In)
					case "cancel":
						j.Fail(worker.ErrCanceled)
					}
				}
				switch end {
				case "error":
					return errors.New("all")
				case "panic":
					panic("all")
				}
				return nil
			})
			stop := f.serve()
			var ids []int64
			var want []string
			for in, p := range plan {
				ids = append(ids, f.ask(in)...)
				want = append(want, map[string]string{
					"ok": fmt.Sprint("succeeded ", 2*in), "fail": fmt.Sprint("failed no ", in), "later": fmt.Sprint("succeeded ", 3*in), "cancel": "canceled",
					"nothing": map[string]string{"return": "failed its batch gave it no result", "error": "failed all", "panic": "failed panic: all"}[end],
				}[p])
				time.Sleep(time.Duration(pauses[in]) * time.Millisecond)
			}
			time.Sleep(time.Minute)
			stop()
			f.want(ids, want...)
			for in := range plan {
				if calls[in] != 1 || len(f.leaser.Attempts(ids[in])) != 1 {
					t.Errorf("job %d was in %d batches and ended %d times", in, calls[in], len(f.leaser.Attempts(ids[in])))
				}
			}
			for _, breach := range f.leaser.Breaches() {
				t.Errorf("the worker broke the contract: %s", breach)
			}
		})
	})
}

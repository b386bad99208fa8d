package worker_test

import (
	"bytes"
	"context"
	"fmt"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/belfry-run/belfry/core"
	"github.com/belfry-run/belfry/job"
	"github.com/belfry-run/belfry/task"
	"github.com/belfry-run/belfry/worker"
)

// writes registers an executor of kind command that writes.
func (f *fixture) writes(limit int, write func(ctx context.Context, r *worker.Run)) int64 {
	f.options.Executors = map[task.Kind]worker.Executor{task.KindCommand: executor(func(ctx context.Context, r *worker.Run) job.Finish {
		write(ctx, r)
		return job.Finish{Outcome: job.OutcomeOK}
	})}
	f.leaser.AddTask(task.Task{Name: "cmd", Command: &task.Command{Argv: []string{"x"}, OutputLimit: limit}})
	return f.enqueue("cmd")
}

func (f *fixture) attempt(id int64) job.Finish {
	f.Helper()
	all := f.leaser.Attempts(id)
	if len(all) != 1 {
		f.Fatalf("job %d had %d attempts", id, len(all))
	}
	return all[0]
}

func TestOutputArrivesInOrderAndBeforeTheResult(t *testing.T) {
	inBubble(t, func(f *fixture) {
		id := f.writes(0, func(_ context.Context, r *worker.Run) {
			for i := range 1000 {
				_, _ = fmt.Fprintf(r.Stdout, "out %d\n", i)
				time.Sleep(3 * time.Millisecond)
				if i%100 == 0 {
					_, _ = fmt.Fprintf(r.Stderr, "err %d\n", i)
				}
			}
		})
		f.runOnce()
		want := ""
		for i := range 1000 {
			want += fmt.Sprintf("out %d\n", i)
			if i%100 == 0 {
				want += fmt.Sprintf("err %d\n", i)
			}
		}
		if got := f.leaser.Text(id); got != want {
			t.Errorf("got %d bytes, want %d", len(got), len(want))
		}
		if n := f.leaser.Calls("append"); n < 10 || n > 14 {
			t.Errorf("%d calls for 3s of output, want one each 250ms", n)
		}
		if f.attempt(id).LogCut {
			t.Error("marked as cut")
		}
	})
}

func TestOutputIsVisibleWhileTheJobRuns(t *testing.T) {
	inBubble(t, func(f *fixture) {
		id := f.writes(0, func(ctx context.Context, r *worker.Run) {
			_, _ = r.Stdout.Write([]byte("half a line and half a \xc3"))
			time.Sleep(time.Second)
			_, _ = r.Stdout.Write([]byte("\xa9 character\n"))
		})
		stop := f.serve()
		pass(300 * time.Millisecond)
		if got := f.leaser.Text(id); got != "half a line and half a " {
			t.Errorf("%q", got)
		}
		pass(time.Second)
		if got := f.leaser.Text(id); got != "half a line and half a é character\n" {
			t.Errorf("%q", got)
		}
		_ = stop()
	})
}

func TestHugeOutputIsCutAndMarked(t *testing.T) {
	inBubble(t, func(f *fixture) {
		line := strings.Repeat("x", 99) + "\n"
		id := f.writes(500_000, func(_ context.Context, r *worker.Run) {
			for range 50_000 { // 5 MB
				_, _ = r.Stdout.Write([]byte(line))
			}
			_, _ = r.Stderr.Write([]byte("late"))
		})
		f.runOnce()
		got := f.leaser.Text(id)
		kept, rest, _ := strings.Cut(got, "belfry: ")
		end := strings.Repeat(line, 40) + "late" // whole lines of the last 4 KiB, and the whole other stream
		if len(kept) != 500_000 || !strings.HasSuffix(kept, "\n") || rest != "4496000 bytes of output over the limit of 500000 were cut\n"+end {
			t.Errorf("kept %d, then %q", len(kept), rest)
		}
		if !f.attempt(id).LogCut {
			t.Error("not marked as cut")
		}
	})
}

func TestForeignBytesAreMadeFit(t *testing.T) {
	inBubble(t, func(f *fixture) {
		id := f.writes(0, func(_ context.Context, r *worker.Run) {
			_, _ = r.Stdout.Write([]byte("a\x00b\xffc"))
			_, _ = r.Stdout.Write([]byte(strings.Repeat("\xff-", 100_000)))
			_, _ = r.Stderr.Write([]byte("\x00\x00"))
			_, _ = r.Stdout.Write([]byte("begun \xe2\x82")) // an incomplete character
		})
		f.runOnce()
		want := "ab\uFFFDc" + strings.Repeat("\uFFFD-", 100_000) + "begun \uFFFD"
		if got := f.leaser.Text(id); got != want {
			t.Errorf("got %d bytes, want %d: …%q", len(got), len(want), got[max(0, len(got)-20):])
		}
	})
}

func TestManySmallWritesToBothStreamsMakeFewPieces(t *testing.T) {
	inBubble(t, func(f *fixture) {
		id := f.writes(0, func(_ context.Context, r *worker.Run) {
			for range 10_000 {
				_, _ = r.Stdout.Write([]byte("o"))
				_, _ = r.Stderr.Write([]byte("e"))
			}
		})
		f.runOnce()
		out, err := 0, 0
		pieces := f.leaser.Log(job.Ref{JobID: id, Lease: f.job(id).Lease})
		for _, p := range pieces {
			if p.Stream == job.Stdout {
				out += len(p.Text)
			} else {
				err += len(p.Text)
			}
		}
		if out != 10_000 || err != 10_000 || len(pieces) > 200 {
			t.Errorf("%d and %d bytes in %d pieces", out, err, len(pieces))
		}
	})
}

func TestALogThatCannotBeDeliveredHoldsItsJobUpForSecondsOnly(t *testing.T) {
	stall := func(ctx context.Context) error { <-ctx.Done(); return ctx.Err() }
	for name, fail := range map[string]func(context.Context) error{
		"error": func(context.Context) error { return errAway },
		"stall": stall,
	} {
		t.Run(name, func(t *testing.T) {
			inBubble(t, func(f *fixture) {
				f.leaser.Before = func(ctx context.Context, call string) error {
					if call == "append" {
						return fail(ctx)
					}
					return nil
				}
				var wrote time.Duration
				id := f.writes(4<<20, func(_ context.Context, r *worker.Run) {
					begun := time.Now()
					for range 30 {
						_, _ = r.Stdout.Write(bytes.Repeat([]byte("x"), 100<<10))
					}
					wrote = time.Since(begun)
				})
				begun := time.Now()
				f.runOnce()
				if wrote != 10*time.Second || time.Since(begun) > 25*time.Second {
					t.Errorf("writing took %s, all %s", wrote, time.Since(begun))
				}
				if a := f.attempt(id); a.Outcome != job.OutcomeOK || !a.LogCut {
					t.Errorf("%+v", a)
				}
			})
		})
	}
}

func TestALogGoesOnAfterAnOutage(t *testing.T) {
	inBubble(t, func(f *fixture) {
		var away atomic.Bool
		away.Store(true)
		f.leaser.Before = func(_ context.Context, call string) error {
			if away.Load() && call == "append" {
				return errAway
			}
			return nil
		}
		id := f.writes(0, func(_ context.Context, r *worker.Run) {
			_, _ = r.Stdout.Write([]byte("before\n"))
			time.Sleep(time.Hour)
			_, _ = r.Stdout.Write([]byte("after\n"))
		})
		stop := f.serve()
		pass(30 * time.Minute)
		away.Store(false)
		pass(time.Hour)
		if got := f.leaser.Text(id); got != "before\nafter\n" || f.attempt(id).LogCut {
			t.Errorf("%q", got)
		}
		_ = stop()
	})
}

func TestARefusedLogDoesNotTakeOthersWithIt(t *testing.T) {
	inBubble(t, func(f *fixture) {
		bad := errorsFor(func(ls []job.LogPiece) error {
			for _, l := range ls {
				if strings.Contains(l.Text, "poison") {
					return core.Errorf(core.Invalid, "cannot keep this")
				}
			}
			return nil
		})
		f.options.Leaser = refusing{f.leaser, bad}
		worker.Handle(f.handlers, "say", func(ctx context.Context, what string) (int, error) {
			worker.Logger(ctx).Info("said", "what", what)
			time.Sleep(time.Second)
			return 0, nil
		})
		good := f.leaser.Enqueue(job.NewJob{Task: "say", Input: []byte(`"hello"`)}).ID
		poison := f.leaser.Enqueue(job.NewJob{Task: "say", Input: []byte(`"poison"`)}).ID
		begun := time.Now()
		f.runOnce()
		if took := time.Since(begun); took > 2*time.Second {
			t.Errorf("took %s", took)
		}
		if !strings.Contains(f.leaser.Text(good), "hello") || f.attempt(good).LogCut {
			t.Error("the good log did not arrive")
		}
		if text := f.leaser.Text(poison); !f.attempt(poison).LogCut || !strings.Contains(text, "could not be delivered") {
			t.Errorf("the refused log is not marked: %q", text)
		}
	})
}

func TestASessionsLossDoesNotWaitForLogs(t *testing.T) {
	inBubble(t, func(f *fixture) {
		f.leaser.Before = on(errAway, "append")
		f.handle("work", func(ctx context.Context) error {
			worker.Logger(ctx).Info("line")
			<-ctx.Done()
			return nil
		})
		f.enqueue("work")
		stop := f.serve()
		pass(time.Second)
		f.leaser.Lose()
		pass(12 * time.Second) // until the renewal that tells the worker
		if n := f.leaser.Calls("open"); n != 2 {
			t.Errorf("%d sessions", n)
		}
		f.options.Grace = -1
		_ = stop()
	})
}

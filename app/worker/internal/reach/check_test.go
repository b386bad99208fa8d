package reach

import (
	"context"
	"errors"
	"testing"
	"testing/synctest"
	"time"

	"github.com/belfry-run/belfry/core"
	"github.com/belfry-run/belfry/internal/leaks"
	"github.com/belfry-run/belfry/monitor"
	"github.com/belfry-run/belfry/task"
	"github.com/belfry-run/belfry/worker"
)

func TestMain(m *testing.M) { leaks.Main(m) }

func ok(context.Context) *Fault { return nil }

func TestALookSaysThatTheProcessHadNoTime(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		n := New(Options{})
		starve := func() { n.pulse.note(n.pulse.lastWake.Load() + int64(wakeEvery+wakeLate+1)) }
		run := func(how func(*Check)) task.CheckResult {
			time.Sleep(time.Second) // so that what was before is over
			c := n.Begin(t.Context(), task.Task{})
			m := c.Run(t.Context(), func(context.Context) *Fault { how(c); return nil })
			synctest.Wait()
			return m
		}
		if m := run(func(*Check) {}); m.Starved || m.Outcome != task.CheckOK {
			t.Errorf("%+v", m)
		}
		if m := run(func(*Check) { starve() }); !m.Starved || m.Outcome != task.CheckOK {
			t.Errorf("%+v", m)
		}
		if m := run(func(c *Check) { c.StopStarvationWatch(); starve() }); m.Starved {
			t.Errorf("starved by what is not measured: %+v", m)
		}
	})
}

func TestAPanicIsOurs(t *testing.T) {
	t.Parallel()
	c := New(Options{}).Begin(t.Context(), task.Task{})
	c.Secrets.Add("verysecret")
	m := c.Run(t.Context(), func(context.Context) *Fault { panic("at verysecret") })
	if m.Outcome != task.CheckError || m.Code != task.CodeInternal || m.Message != "the check ended in a panic: at (secret)" {
		t.Errorf("%+v", m)
	}
}

func TestALookWithoutADeadlineHasTheTasks(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		for given, want := range map[core.Duration]core.Duration{
			0: task.DefaultCheckTimeout, core.Duration(time.Second): core.Duration(time.Second), 10 * monitor.MaxCheckTimeout: monitor.MaxCheckTimeout,
		} {
			ctx, cancel := Bounded(t.Context(), task.Task{Timeout: given})
			begun := time.Now()
			<-ctx.Done()
			if took := core.Duration(time.Since(begun)); took != want || !errors.Is(context.Cause(ctx), worker.ErrTimeout) || CutShort(ctx) != nil {
				t.Errorf("%s for %s: %v", took, given, context.Cause(ctx))
			}
			again, end := Bounded(ctx, task.Task{})
			if again != ctx {
				t.Error("what has a deadline has another")
			}
			end()
			cancel()
		}
	})
	if (New(Options{}).Begin(t.Context(), task.Task{})).Run(t.Context(), ok).Outcome != task.CheckOK {
		t.Error("a look without a fault is not ok")
	}
}

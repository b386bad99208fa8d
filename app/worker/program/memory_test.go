package program_test

import (
	"context"
	"strings"
	"testing"

	"github.com/belfry-run/belfry/app/worker/program"
	"github.com/belfry-run/belfry/job"
	"github.com/belfry-run/belfry/task"
)

// Programs that run at once never may use more memory together than the worker offers. One for which there is no room is
// handed back, and nothing else is claimed until it has room.
func TestProgramsAtOnceStayWithinTheMemoryThatIsOffered(t *testing.T) {
	t.Parallel()
	w := newWorld(t, func(o *program.Options) { o.Memory = 100 << 20 })
	sized := func(p task.Program, mib int64) task.Program {
		p.Limits.Memory = mib << 20
		return p
	}
	if has := w.exe.Has(); has.Memory != 100<<20 {
		t.Errorf("it offers %d bytes", has.Memory)
	}
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	ready, started := make(chan struct{}), readyWriter{}
	started.cancel = func() {
		select {
		case <-ready:
		default:
			close(ready)
		}
	}
	ended := make(chan job.Finish)
	stays := sized(w.being(t, "stubborn"), 64)
	stays.KillGrace = 1
	go func() {
		ended <- direct(ctx, w.exe, task.Task{Name: "prog", Program: &stays}, &started)
	}()
	<-ready
	if w.exe.Full() {
		t.Error("it is full before anything was refused")
	}
	large := sized(w.being(t, "exit", "0"), 64)
	f := direct(t.Context(), w.exe, task.Task{Name: "prog", Program: &large}, &lockedBuffer{})
	if f.Outcome != job.OutcomeHandedBack || !strings.Contains(f.Error, "64 MiB (limits.memory), and programs that run here have 64 MiB of 100 MiB") {
		t.Errorf("%+v", f)
	}
	if !w.exe.Full() {
		t.Error("it claims on, though one was refused")
	}
	small := sized(w.being(t, "exit", "0"), 32)
	if f := direct(t.Context(), w.exe, task.Task{Name: "prog", Program: &small}, &lockedBuffer{}); f.Outcome != job.OutcomeOK {
		t.Errorf("one that was claimed before and has room: %+v", f)
	}
	if !w.exe.Full() {
		t.Error("a small one that ended has made room for the large one")
	}
	cancel()
	<-ended
	if w.exe.Full() {
		t.Error("it is full though nothing runs")
	}
	if r := w.run(t, large); r.Outcome != job.OutcomeOK {
		t.Errorf("%+v", r.Finish)
	}
	huge := sized(large, 101)
	if r := w.run(t, huge); r.Outcome != job.OutcomeError || !r.Infra || !strings.Contains(r.Error, "memory of 101 MiB for a program (it offers 100 MiB)") {
		t.Errorf("%+v", r.Finish)
	}
}

package sandbox

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"runtime"
	"sync"
	"syscall"
	"time"

	"golang.org/x/sys/unix"

	"github.com/belfry-run/belfry/app/worker/sandbox/internal/cgroup"
	"github.com/belfry-run/belfry/app/worker/sandbox/internal/child"
	"github.com/belfry-run/belfry/app/worker/sandbox/scratch"
)

// outputWait is how long output may stay open after the last process has ended.
const outputWait = 2 * time.Second

// killWait is the time limit of the init to kill all processes. After that the
// init itself is killed, and the end of the program is unknown.
//
// With a pid namespace, the end of the init ends all processes. Without one, only
// the init can find orphans, so it gets the time that a busy machine may need.
const (
	killWait      = 5 * time.Second
	killWaitAlone = time.Minute
)

// Run is a program that was started.
type Run struct {
	cmd             *exec.Cmd // its init
	slot            *slot
	groups          *cgroup.Group
	control, report *os.File
	done            chan struct{}
	watched         string // folder for temporary files, if only a watch limits its size
	most            int64  // maximum bytes of watched

	mu     sync.Mutex
	killed bool
	result Result
	err    error
}

// begin starts the init, and a goroutine that waits for its end and cleans up,
// also without a call of Wait.
func (r *Run) begin(ctx context.Context) error {
	started := make(chan error)
	go func() {
		// The kernel kills the init when the thread that started it ends, so the
		// thread must live as long as the init.
		runtime.LockOSThread()
		defer runtime.UnlockOSThread()
		err := r.cmd.Start()
		started <- err
		if err != nil {
			return
		}
		defer context.AfterFunc(ctx, r.Kill)()
		unwatch := r.watch()
		err = r.cmd.Wait()
		unwatch()
		r.conclude(err)
	}()
	return <-started
}

// recordApplied records the isolation that the set-up copy reports.
func (r *Run) recordApplied(d *child.Done) {
	r.mu.Lock()
	defer r.mu.Unlock()
	a := &r.result.Applied
	a.Layers, a.Landlock = d.Layers, d.Landlock
	if d.Proc != "" {
		a.Missing = append(a.Missing, Finding{Layer: "proc", Detail: d.Proc})
	}
}

// watch kills the run if its folder becomes too large. unwatch ends the watch
// after the run.
func (r *Run) watch() (unwatch func()) {
	if r.watched == "" {
		return func() {}
	}
	ended := make(chan struct{})
	var watching sync.WaitGroup
	watching.Go(func() {
		if !scratch.Watch(ended, r.watched, r.most, scratch.Entries(r.most)) {
			return
		}
		r.mu.Lock()
		r.result.TmpOver = true
		r.mu.Unlock()
		r.Kill()
	})
	return func() {
		close(ended)
		watching.Wait()
	}
}

// Applied returns the isolation of the program.
func (r *Run) Applied() Applied {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.result.Applied
}

// Wait returns when the program and all processes that it started have ended, and
// all resources are removed. An error means that the end of the program is
// unknown, or that a resource could not be removed; the next [Open] tries again.
func (r *Run) Wait() (Result, error) {
	<-r.done
	return r.result, r.err
}

// Signal sends a signal to the program's process group. After the end of the run
// it does nothing.
func (r *Run) Signal(s syscall.Signal) error {
	if s <= 0 || s > 64 {
		return fmt.Errorf("sandbox: signal %d is none", s)
	}
	_, err := r.control.Write([]byte{byte(s)})
	if errors.Is(err, os.ErrClosed) {
		return nil
	}
	return child.IgnoreBroken(err)
}

// followUntil tells the init each new time of [Spec.Until]. After a time has passed, the init ignores later ones.
func (r *Run) followUntil(s Spec) {
	for {
		end, moved := s.until()
		if end.IsZero() {
			return
		}
		_, _ = r.control.Write(child.UntilMessage(end)) // if the init does not read it, it keeps its previous time
		select {
		case <-r.done:
			return
		case <-moved:
		}
	}
}

// Kill kills all processes of the run at once. It does not wait for their end.
func (r *Run) Kill() {
	r.mu.Lock()
	first := !r.killed
	r.killed = true
	r.mu.Unlock()
	select {
	case <-r.done:
		return
	default:
	}
	_ = r.Signal(syscall.SIGKILL)
	if dir, has := r.groups.By[LayerKill]; has {
		cgroup.Kill(dir)
	}
	if first {
		go r.killInit()
	}
}

// Stop sends SIGTERM to the program, and kills the run if it has not ended within
// the grace. It returns when the run has ended or was killed; [Run.Wait] returns
// which.
func (r *Run) Stop(grace time.Duration) {
	_ = r.Signal(syscall.SIGTERM)
	timer := time.NewTimer(grace)
	defer timer.Stop()
	select {
	case <-r.done:
	case <-timer.C:
		r.Kill()
	}
}

// Done is closed when the run has ended and Wait would return.
func (r *Run) Done() <-chan struct{} { return r.done }

// killInit ends with the run.
func (r *Run) killInit() {
	wait := killWaitAlone
	if r.cmd.SysProcAttr.Cloneflags&unix.CLONE_NEWPID != 0 {
		wait = killWait
	}
	timer := time.NewTimer(wait)
	defer timer.Stop()
	select {
	case <-r.done:
	case <-timer.C:
		_ = r.cmd.Process.Kill()
	}
}

// conclude sets the result of a run whose init has ended.
func (r *Run) conclude(err error) {
	cgroup.KillAll(r.slot.Groups)
	counted := r.groups.Count()
	cleared := r.slot.clear()
	freed := r.slot.free()
	var end *child.Ending
	_ = json.NewDecoder(r.report).Decode(&end)
	_, _ = r.control.Close(), r.report.Close()

	r.mu.Lock()
	defer r.mu.Unlock()
	defer close(r.done)
	r.result.OOM, r.result.PIDsRefused = counted.Oom > 0, counted.PidsRefused
	r.result.Usage.MemoryPeak = counted.MemoryPeak
	r.err = errors.Join(cleared, freed)
	defer func() {
		if counted.User+counted.System > 0 {
			r.result.Usage.User, r.result.Usage.System = counted.User, counted.System
		}
	}()
	switch {
	case end != nil && end.Failed && !r.result.OOM && !r.killed:
		r.result.ExitCode = -1
		r.err = errors.Join(&Fault{Step: "gvisor", Text: "runsc did not run it, for the reason that it wrote to its output"}, r.err)
	case end != nil && !end.Failed:
		r.result.ended(*end)
		r.result.Expired = end.Expired
	case end != nil, r.killed:
		r.result.ExitCode, r.result.Signal = -1, "SIGKILL"
	default:
		r.result.ExitCode = -1
		r.err = errors.Join(&Fault{Step: StepInit, Text: "it ended before the program did", Err: err}, r.err)
	}
}

func (r *Result) ended(e child.Ending) {
	r.ExitCode = e.Status.ExitStatus() // -1 after a signal
	if e.Status.Signaled() {
		r.Signal = child.SignalName(e.Status.Signal())
	}
	r.Usage.User, r.Usage.System, r.Usage.MaxRSS = e.User, e.System, e.MaxRSS
}

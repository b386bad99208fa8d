//go:build linux || darwin

package e2e

import (
	"bytes"
	"errors"
	"os/exec"
	"path/filepath"
	"regexp"
	"runtime"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"
)

// patience is the timeout for events that come soon, and after tens of seconds on a machine with ten times as much to do.
const patience = 2 * time.Minute

// eventually repeats a condition until it holds. A condition that does not hold
// returns the reason.
func eventually(t testing.TB, within time.Duration, what string, holds func() (ok bool, why string)) {
	t.Helper()
	deadline := time.NewTimer(within)
	defer deadline.Stop()
	again := time.NewTicker(25 * time.Millisecond)
	defer again.Stop()
	for {
		ok, why := holds()
		if ok {
			return
		}
		select {
		case <-again.C:
		case <-deadline.C:
			t.Fatalf("%[2]s: not within %[1]s\n%[3]s", within, what, why)
		}
	}
}

// output collects the output of a process, and wakes its waiters.
type output struct {
	mu   sync.Mutex
	text bytes.Buffer
	more chan struct{} // closed and replaced with every write
}

func newOutput() *output { return &output{more: make(chan struct{})} }

func (o *output) Write(p []byte) (int, error) {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.text.Write(p)
	close(o.more)
	o.more = make(chan struct{})
	return len(p), nil
}

func (o *output) read() (string, <-chan struct{}) {
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.text.String(), o.more
}

func (o *output) String() string {
	text, _ := o.read()
	return text
}

// scene holds the running test, or the running step of a test with several steps.
// A failure must be one of the running step.
type scene struct{ testing.TB }

// process is a running belfry.
type process struct {
	t      *scene
	name   string
	cmd    *exec.Cmd
	stdout *output
	stderr *output
	done   chan struct{}
	err    error // valid after done
}

// starts has commands for one goroutine that never leaves its thread. The kernel kills
// a child when the thread that started it ends, so no process outlives the tests.
var starts = make(chan startRequest)

type startRequest struct {
	cmd  *exec.Cmd
	done chan error
}

func start() {
	runtime.LockOSThread()
	for r := range starts {
		r.done <- r.cmd.Start()
	}
}

// launch starts a program and kills it when the test ends.
func launch(t *scene, name, dir string, env, argv []string, stdin string) *process {
	t.Helper()
	return launchWith(t, endWithUs(), name, dir, env, argv, stdin)
}

func launchWith(t *scene, attr *syscall.SysProcAttr, name, dir string, env, argv []string, stdin string) *process {
	t.Helper()
	p := &process{t: t, name: name, stdout: newOutput(), stderr: newOutput(), done: make(chan struct{})}
	p.cmd = exec.Command(argv[0], argv[1:]...)
	p.cmd.Dir, p.cmd.Env = dir, env
	p.cmd.Stdin = strings.NewReader(stdin)
	p.cmd.Stdout, p.cmd.Stderr = p.stdout, p.stderr
	p.cmd.WaitDelay = 5 * time.Second // for children that hold its output open
	p.cmd.SysProcAttr = attr
	started := make(chan error)
	starts <- startRequest{p.cmd, started}
	if err := <-started; err != nil {
		t.Fatalf("start %s: %v", name, err)
	}
	go func() {
		p.err = p.cmd.Wait()
		close(p.done)
	}()
	now := t.TB
	now.Cleanup(func() {
		p.kill()
		for _, trouble := range []string{"DATA RACE", "\npanic: ", "\nfatal error: "} {
			if strings.Contains("\n"+p.stderr.String(), trouble) {
				now.Errorf("%s: %s", name, strings.TrimSpace(trouble))
			}
		}
		if now.Failed() {
			now.Logf("%s (%s)\nstdout:\n%s\nstderr:\n%s", name, strings.Join(argv[1:], " "), tail(p.stdout.String()), tail(p.stderr.String()))
		}
	})
	return p
}

func tail(text string) string {
	const most = 6000
	if len(text) > most {
		return "…" + text[len(text)-most:]
	}
	return text
}

// signal sends a signal to the process alone.
func (p *process) signal(s syscall.Signal) {
	p.t.Helper()
	if err := p.cmd.Process.Signal(s); err != nil {
		p.t.Fatalf("send %v to %s: %v", s, p.name, err)
	}
}

// kill sends kill -9 and waits for the end. It may be called after the end.
func (p *process) kill() {
	_ = p.cmd.Process.Kill()
	<-p.done
}

// ended waits for the end of the process and returns its exit code, -1 if a
// signal ended it.
func (p *process) ended(within time.Duration) int {
	p.t.Helper()
	select {
	case <-p.done:
	case <-time.After(within):
		p.t.Fatalf("%s has not ended after %s", p.name, within)
	}
	var exit *exec.ExitError
	// A machine that stops for longer than the delay leaves its last output unread, which is no fault of the process.
	if p.err != nil && !errors.As(p.err, &exit) && !errors.Is(p.err, exec.ErrWaitDelay) {
		p.t.Fatalf("%s: %v", p.name, p.err)
	}
	return p.cmd.ProcessState.ExitCode()
}

func (p *process) running() bool {
	select {
	case <-p.done:
		return false
	default:
		return true
	}
}

// says waits until the output matches, and returns the match with its groups.
func (p *process) says(o *output, within time.Duration, pattern string) []string {
	p.t.Helper()
	want := regexp.MustCompile("(?m)" + pattern)
	deadline := time.NewTimer(within)
	defer deadline.Stop()
	for {
		text, more := o.read()
		if found := want.FindStringSubmatch(text); found != nil {
			return found
		}
		select {
		case <-more:
		case <-p.done:
			if found := want.FindStringSubmatch(o.String()); found != nil {
				return found
			}
			p.t.Fatalf("output of %s: the process ended, want %s in:\n%s%s", p.name, pattern, p.stdout, p.stderr)
		case <-deadline.C:
			p.t.Fatalf("output of %s: want %s within %s, got:\n%s", p.name, pattern, within, tail(text))
		}
	}
}

// logs waits for a line in the log.
func (p *process) logs(within time.Duration, pattern string) []string {
	p.t.Helper()
	return p.says(p.stderr, within, pattern)
}

func belfryPath() string { return filepath.Join(binDir, "belfry") }

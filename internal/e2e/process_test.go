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

// patience is how long a test waits for what should come soon, on a machine
// that is busy with other things.
const patience = 30 * time.Second

// eventually looks again and again until the condition holds. A condition
// that does not hold says why.
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
			t.Fatalf("after %s not so: %s\n%s", within, what, why)
		}
	}
}

// output collects what a process writes, and tells who waits for it.
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

// scene is the test that goes on: the step that is under way, in a test of
// several steps. What fails must fail that one.
type scene struct{ testing.TB }

// process is one belfry under way.
type process struct {
	t      *scene
	name   string
	cmd    *exec.Cmd
	stdout *output
	stderr *output
	done   chan struct{}
	err    error // valid after done
}

// starts are commands to be started by one goroutine that never leaves its
// thread: the kernel kills a child when the thread that started it ends, and
// that is how no process outlives the tests.
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
	p := &process{t: t, name: name, stdout: newOutput(), stderr: newOutput(), done: make(chan struct{})}
	p.cmd = exec.Command(argv[0], argv[1:]...)
	p.cmd.Dir, p.cmd.Env = dir, env
	p.cmd.Stdin = strings.NewReader(stdin)
	p.cmd.Stdout, p.cmd.Stderr = p.stdout, p.stderr
	p.cmd.WaitDelay = 5 * time.Second // for what it leaves behind that holds its output
	p.cmd.SysProcAttr = endWithUs()
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

// kill is kill -9, and waits for the end. A process that has ended stays so.
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
	if p.err != nil && !errors.As(p.err, &exit) {
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

// says waits until the output matches, and returns the match and its groups.
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
			p.t.Fatalf("%s has ended and never said %s:\n%s%s", p.name, pattern, p.stdout, p.stderr)
		case <-deadline.C:
			p.t.Fatalf("%s did not say %s within %s, but:\n%s", p.name, pattern, within, tail(text))
		}
	}
}

// logs waits for a line in the log.
func (p *process) logs(within time.Duration, pattern string) []string {
	p.t.Helper()
	return p.says(p.stderr, within, pattern)
}

func belfryPath() string { return filepath.Join(binDir, "belfry") }

//go:build linux

// Package process starts programs that end with this one, and reads the usage of programs, their children and the machine. It
// works on Linux, from /proc.
package process

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"sync"
	"syscall"
	"time"
)

// Build builds the program belfry into dir, without symbols, as releases are.
func Build(ctx context.Context, dir string) (path string, err error) {
	path = filepath.Join(dir, "belfry")
	cmd := exec.CommandContext(ctx, "go", "build", "-ldflags=-s", "-o", path, "github.com/belfry-run/belfry/cmd/belfry")
	cmd.Env = append(os.Environ(), "CGO_ENABLED=0", "GOWORK=") // the workspace applies in any folder
	if out, err := cmd.CombinedOutput(); err != nil {
		return "", fmt.Errorf("build belfry: %w\n%s", err, out)
	}
	return path, nil
}

// Process is a running program, Belfry or another.
type Process struct {
	Cmd    *exec.Cmd
	Stdout *bufio.Reader
	stderr *tail
	Done   chan struct{}
}

// starts has commands for one goroutine that never leaves its thread. The kernel kills a child when the thread that
// started it ends, so no node outlives this program.
var starts = sync.OnceValue(func() chan<- func() {
	c := make(chan func())
	go func() {
		runtime.LockOSThread()
		for start := range c {
			start()
		}
	}()
	return c
})

// Launch starts a program whose standard output the caller reads.
func Launch(cmd *exec.Cmd) (*Process, error) {
	p := &Process{Cmd: cmd, stderr: &tail{}, Done: make(chan struct{})}
	cmd.Stderr = p.stderr
	cmd.SysProcAttr = endWithUs()
	r, w, err := os.Pipe()
	if err != nil {
		return nil, err
	}
	cmd.Stdout = w
	p.Stdout = bufio.NewReaderSize(r, 1<<20)
	started := make(chan error)
	starts() <- func() { started <- cmd.Start() }
	err = errors.Join(<-started, w.Close())
	if err != nil {
		return nil, errors.Join(err, r.Close())
	}
	go func() {
		_ = cmd.Wait() // the error matters only after another error
		close(p.Done)
	}()
	return p, nil
}

// Start starts a program and discards its output. The kernel kills the program when this one ends.
func Start(cmd *exec.Cmd) (*Process, error) {
	p, err := Launch(cmd)
	if err != nil {
		return nil, err
	}
	go func() { _, _ = io.Copy(io.Discard, p.Stdout) }()
	return p, nil
}

// CPU returns the CPU time of the process and its children so far.
func (p *Process) CPU() (time.Duration, error) { return TreeCPU(p.Cmd.Process.Pid) }

// Memory returns the resident memory of the process, in bytes.
func (p *Process) Memory() (int64, error) { return residentBytes(p.Cmd.Process.Pid) }

// Kill sends kill -9 and waits until the process is gone.
func (p *Process) Kill() {
	_ = p.Cmd.Process.Kill()
	<-p.Done
}

// Stop asks the process to end and waits until it has ended.
func (p *Process) Stop() error {
	err := p.Cmd.Process.Signal(syscall.SIGTERM)
	select {
	case <-p.Done:
	case <-time.After(40 * time.Second): // longer than a node's grace
		p.Kill()
		return p.Trouble(errors.New("the program did not stop"))
	}
	return err
}

// Trouble adds the last output of the process to an error.
func (p *Process) Trouble(err error) error {
	return fmt.Errorf("%w; the node said:\n%s", err, p.stderr)
}

// tail is a writer that keeps the last bytes.
type tail struct {
	mu   sync.Mutex
	text []byte
}

func (t *tail) Write(p []byte) (int, error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.text = append(t.text, p...)
	t.text = t.text[max(0, len(t.text)-4096):]
	return len(p), nil
}

func (t *tail) String() string {
	t.mu.Lock()
	defer t.mu.Unlock()
	return string(t.text)
}

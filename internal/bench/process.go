//go:build linux

package bench

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"runtime"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"time"
)

// Build builds the program belfry into dir.
func Build(ctx context.Context, dir string) (path string, err error) {
	path = filepath.Join(dir, "belfry")
	cmd := exec.CommandContext(ctx, "go", "build", "-o", path, "github.com/belfry-run/belfry/cmd/belfry")
	cmd.Env = append(os.Environ(), "CGO_ENABLED=0", "GOWORK=") // the program is of the workspace, whoever measures it
	if out, err := cmd.CombinedOutput(); err != nil {
		return "", fmt.Errorf("build belfry: %w\n%s", err, out)
	}
	return path, nil
}

// process is a node under way.
type process struct {
	cmd    *exec.Cmd
	stdout *bufio.Reader
	stderr *tail
	done   chan struct{}
}

// starts are commands to be started by one goroutine that never leaves its thread: the kernel kills a child when the
// thread that started it ends, and that is how no node outlives this program.
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

// launch starts a program whose standard output we read.
func launch(cmd *exec.Cmd) (*process, error) {
	p := &process{cmd: cmd, stderr: &tail{}, done: make(chan struct{})}
	cmd.Stderr = p.stderr
	cmd.SysProcAttr = endWithUs()
	r, w, err := os.Pipe()
	if err != nil {
		return nil, err
	}
	cmd.Stdout = w
	p.stdout = bufio.NewReaderSize(r, 1<<20)
	started := make(chan error)
	starts() <- func() { started <- cmd.Start() }
	err = errors.Join(<-started, w.Close())
	if err != nil {
		return nil, errors.Join(err, r.Close())
	}
	go func() {
		_ = cmd.Wait() // what it says matters only when something else went wrong
		close(p.done)
	}()
	return p, nil
}

// kill is kill -9. It returns when the process is gone.
func (p *process) kill() {
	_ = p.cmd.Process.Kill()
	<-p.done
}

// stop asks it to end, and returns when it has.
func (p *process) stop() error {
	err := p.cmd.Process.Signal(syscall.SIGTERM)
	select {
	case <-p.done:
	case <-time.After(40 * time.Second): // over a node's grace
		p.kill()
		return p.trouble(errors.New("the program did not stop"))
	}
	return err
}

// trouble adds what the process said last to an error about it.
func (p *process) trouble(err error) error {
	return fmt.Errorf("%w; the node said:\n%s", err, p.stderr)
}

// tail keeps the end of what is written to it.
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

// served is belfry serve.
type served struct {
	*process
	url, token string
}

var listening = regexp.MustCompile(`http://[0-9.:]+`)

// serve starts the built program on this database and waits until it is ready.
func (s *Site) serve(belfry string, args ...string) (*served, error) {
	token := filepath.Join(s.folder, "token")
	cmd := exec.Command(belfry, append([]string{"serve", "--database", s.URL, "--listen", "127.0.0.1:0", "--token-file", token}, args...)...)
	cmd.Dir = s.folder
	// Nothing measured runs programs on a node, and trying out its sandbox would
	// be part of every start.
	cmd.Env = append(os.Environ(), "BELFRY_REFUSE_PROGRAMS=true")
	p, err := launch(cmd)
	if err != nil {
		return nil, err
	}
	b := &served{process: p}
	for b.url == "" {
		line, err := p.stdout.ReadString('\n')
		if err != nil {
			p.kill()
			return nil, p.trouble(fmt.Errorf("belfry serve did not get ready: %w", err))
		}
		b.url = listening.FindString(line)
	}
	go func() { _, _ = io.Copy(io.Discard, p.stdout) }()
	secret, err := os.ReadFile(token)
	b.token = strings.TrimSpace(string(secret))
	if err != nil {
		p.kill()
	}
	return b, err
}

// metric reads one number of /metrics.
func (b *served) metric(ctx context.Context, name string) (float64, error) {
	r, err := http.NewRequestWithContext(ctx, http.MethodGet, b.url+"/metrics", nil)
	if err != nil {
		return 0, err
	}
	r.Header.Set("Authorization", "Bearer "+b.token)
	answer, err := http.DefaultClient.Do(r)
	if err != nil {
		return 0, err
	}
	defer answer.Body.Close() //nolint:errcheck // it was read
	text, err := io.ReadAll(answer.Body)
	if err != nil {
		return 0, err
	}
	for line := range bytes.Lines(text) {
		if value, ok := bytes.CutPrefix(line, []byte(name+" ")); ok {
			return strconv.ParseFloat(string(bytes.TrimSpace(value)), 64)
		}
	}
	return 0, fmt.Errorf("no %s in /metrics (%s)", name, answer.Status)
}

package program_test

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"io"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"github.com/belfry-run/belfry/app/worker/program"
	"github.com/belfry-run/belfry/app/worker/sandbox"
	"github.com/belfry-run/belfry/app/worker/sandbox/scratch"
	"github.com/belfry-run/belfry/core"
	"github.com/belfry-run/belfry/job"
	"github.com/belfry-run/belfry/task"
	"github.com/belfry-run/belfry/worker"
)

// store is artifacts in memory and on disk, by digest.
type store struct {
	mu     sync.Mutex
	held   map[string]string // files
	opened int
	kept   map[string]string // uploaded outputs
	refuse error             // of uploads
	asked  func()            // by an upload
}

func (s *store) Open(_ context.Context, name string) (io.ReadCloser, error) {
	_, digest, _ := strings.Cut(name, "/")
	s.mu.Lock()
	defer s.mu.Unlock()
	s.opened++
	file, is := s.held[digest]
	if !is {
		return nil, core.Errorf(core.NotFound, "there is no artifact %s", digest)
	}
	return os.Open(file)
}

func (s *store) Upload(_ context.Context, _ program.Attempt, o task.Output, content io.Reader) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.asked != nil {
		s.asked()
	}
	if s.refuse != nil {
		return s.refuse
	}
	text, err := io.ReadAll(content)
	s.kept[o.Name] = string(text)
	return err
}

// add makes a file an artifact.
func (s *store) add(t testing.TB, file string) task.Program {
	t.Helper()
	f, err := os.Open(file)
	must(t, err)
	defer func() { _ = f.Close() }()
	hash := sha256.New()
	n, err := io.Copy(hash, f)
	must(t, err)
	digest := hex.EncodeToString(hash.Sum(nil))
	s.mu.Lock()
	defer s.mu.Unlock()
	s.held[digest] = file
	return task.Program{SHA256: digest, Size: n}
}

func (s *store) addBytes(t testing.TB, content string) task.Program {
	t.Helper()
	file := filepath.Join(t.TempDir(), "artifact")
	must(t, os.WriteFile(file, []byte(content), 0o600))
	return s.add(t, file)
}

// world is a worker's machine for one test.
type world struct {
	*store
	dir string
	exe *program.Executor
}

func newStore() *store { return &store{held: map[string]string{}, kept: map[string]string{}} }

func newWorld(t testing.TB, change ...func(*program.Options)) *world {
	t.Helper()
	w := &world{store: newStore(), dir: public(t)}
	w.exe = w.open(t, change...)
	return w
}

func (w *world) open(t testing.TB, change ...func(*program.Options)) *program.Executor {
	t.Helper()
	o := program.Options{StateDir: w.dir, Source: w.store, Uploader: w.store}
	for _, c := range change {
		c(&o)
	}
	exe, err := program.Open(t.Context(), o)
	must(t, err)
	t.Cleanup(func() { must(t, exe.Close()) })
	return exe
}

// without leaves layers out, so that a weaker tier is the strongest.
func without(tier task.Isolation, layers ...sandbox.Layer) func(*program.Options) {
	return func(o *program.Options) { o.Sandbox.Without, o.MinIsolation = layers, tier }
}

// eachTier runs a test under each tier that programs may have by default.
func eachTier(t *testing.T, test func(t *testing.T, w *world)) {
	t.Run("namespaces", func(t *testing.T) { test(t, newWorld(t, without(task.IsolationNamespaces))) })
	t.Run("confined", func(t *testing.T) {
		test(t, newWorld(t, without(task.IsolationConfined, sandbox.LayerNamespaces)))
	})
}

// public is a folder that everybody may pass through.
func public(t testing.TB) string {
	t.Helper()
	dir, err := os.MkdirTemp("", "belfry-program-")
	must(t, err)
	must(t, os.Chmod(dir, 0o711))
	t.Cleanup(func() { must(t, scratch.Remove(dir)) })
	return dir
}

func must(t testing.TB, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

// being is this test binary as a program; its name selects what it does.
func (w *world) being(t testing.TB, name string, args ...string) task.Program {
	t.Helper()
	self, err := os.Executable()
	must(t, err)
	p := w.add(t, self)
	p.Args = append([]string{"be", name, w.mark()}, args...)
	return p
}

// ran is the result of an attempt.
type ran struct {
	job.Finish
	out, err string
}

type lockedBuffer struct {
	mu sync.Mutex
	bytes.Buffer
}

func (b *lockedBuffer) Write(p []byte) (int, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.Buffer.Write(p)
}

func (b *lockedBuffer) text() string {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.String()
}

func (w *world) run(t testing.TB, p task.Program) ran {
	t.Helper()
	return w.runTask(t.Context(), t, task.Task{Name: "prog", Program: &p}, "")
}

func (w *world) runTask(ctx context.Context, t testing.TB, tk task.Task, input string) ran {
	t.Helper()
	var out, errs lockedBuffer
	f := worker.Direct(ctx, map[task.Kind]worker.Executor{task.KindProgram: w.exe}, tk, json.RawMessage(input), &out, &errs)
	w.nothingIsLeft(t)
	return ran{f, out.text(), errs.text()}
}

// nothingIsLeft checks that no resource of a run is left.
func (w *world) nothingIsLeft(t testing.TB) {
	t.Helper()
	homes, err := filepath.Glob(filepath.Join(w.dir, "runs", "*", "*"))
	must(t, err)
	for _, left := range homes {
		t.Errorf("%s is left", left)
	}
	mounts, err := os.ReadFile("/proc/self/mounts")
	must(t, err)
	if strings.Contains(string(mounts), w.dir) {
		t.Errorf("a mount is left:\n%s", mounts)
	}
	if others := processes(t, w.mark()); len(others) > 0 {
		t.Errorf("processes are left: %v", others)
	}
}

// mark is in the command line of whatever a test starts there.
func (w *world) mark() string { return filepath.Base(w.dir) }

// processes are those whose command line or environment has a mark.
func processes(t testing.TB, mark string) (found []string) {
	t.Helper()
	entries, err := os.ReadDir("/proc")
	must(t, err)
	for _, e := range entries {
		line, err := os.ReadFile("/proc/" + e.Name() + "/cmdline")
		if err != nil || !bytes.Contains(line, []byte(mark)) || e.Name() == "self" {
			continue
		}
		found = append(found, e.Name()+": "+strings.ReplaceAll(string(line), "\x00", " "))
	}
	return found
}

// readyWriter cancels when a program prints that it is ready.
type readyWriter struct {
	lockedBuffer
	cancel func()
}

func (w *readyWriter) Write(p []byte) (int, error) {
	n, err := w.lockedBuffer.Write(p)
	if strings.Contains(w.text(), "ready") {
		w.cancel()
	}
	return n, err
}

func direct(ctx context.Context, exe worker.Executor, t task.Task, out io.Writer) job.Finish {
	return worker.Direct(ctx, map[task.Kind]worker.Executor{task.KindProgram: exe}, t, nil, out, io.Discard)
}

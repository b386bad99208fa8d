package program

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"

	"github.com/belfry-run/belfry/app/worker/sandbox"
	"github.com/belfry-run/belfry/app/worker/sandbox/scratch"
	"github.com/belfry-run/belfry/internal/home"
	"github.com/belfry-run/belfry/task"
	"github.com/belfry-run/belfry/worker"
)

// folder is what one run has on the worker's disk: the program, and the folder
// for its output.
type folder struct {
	dir     string
	bounded bool // the kernel limits its output
}

// Where a program with a root of its own sees them.
const (
	programInside = "/belfry/program"
	outputInside  = "/belfry/output"
)

func (f *folder) program() string { return filepath.Join(f.dir, "program") }
func (f *folder) output() string  { return filepath.Join(f.dir, "output") }

// newFolder makes the folder of a run. Its output is limited in size by the
// kernel where this worker may have that.
func (e *Executor) newFolder(r *worker.Run) (*folder, error) {
	f := &folder{dir: filepath.Join(e.home.Dir, fmt.Sprintf("%d-%d-%d", r.Job.ID, r.Lease, e.runs.Add(1)))}
	err := os.Mkdir(f.dir, 0o711)
	if err == nil {
		err = os.Mkdir(f.output(), 0o700)
	}
	if err == nil && e.bounds {
		l := r.Task.Program.Limits
		err = scratch.Bound(f.output(), l.OutputSize, maxEntries(l))
		f.bounded = err == nil
	}
	if err != nil {
		return nil, errors.Join(unable("a folder for the run cannot be made: %v", err), clearFolder(f.dir))
	}
	return f, nil
}

// inspect reads what the program is.
func (f *folder) inspect() (sandbox.Program, error) {
	file, err := os.Open(f.program())
	if err != nil {
		return sandbox.Program{}, unable("the program cannot be read: %v", err)
	}
	defer func() { _ = file.Close() }() // only read
	return sandbox.Inspect(file)
}

// clearFolder removes the folder of a run and all that the program put there.
func clearFolder(dir string) error {
	if err := scratch.Unbound(filepath.Join(dir, "output")); err != nil {
		return fmt.Errorf("unmount the output of %s: %w", dir, err)
	}
	return scratch.Remove(dir)
}

// clearHome removes all that an ended worker had, and says how many runs.
func clearHome(h *home.Home) (runs int, err error) {
	entries, err := os.ReadDir(h.Dir)
	if err != nil && !errors.Is(err, os.ErrNotExist) {
		return 0, errors.Join(err, h.Close())
	}
	for _, entry := range entries {
		err = errors.Join(err, clearFolder(filepath.Join(h.Dir, entry.Name())))
	}
	return len(entries), errors.Join(err, h.Close())
}

// watch returns when done is closed, or true as soon as the output is over its
// limits.
func (f *folder) watch(done <-chan struct{}, l task.Limits) (over bool) {
	return scratch.Watch(done, f.output(), l.OutputSize, maxEntries(l))
}

// maxEntries bounds files and folders: each output may stand in a few of them.
func maxEntries(l task.Limits) int { return 4*l.Outputs + 16 }

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

// folder is the folder of one run on the worker's disk: the program, and the
// folder for its output.
type folder struct {
	dir     string
	bounded bool // the kernel limits the size of the output
}

// Paths in the root of a program that has its own.
const (
	programInside = "/belfry/program"
	outputInside  = "/belfry/output"
)

func (f *folder) program() string { return filepath.Join(f.dir, "program") }
func (f *folder) output() string  { return filepath.Join(f.dir, "output") }

// newFolder creates the folder of a run. The kernel limits the size of the
// output if the worker has the rights for that.
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

// inspect reads the format of the program.
func (f *folder) inspect() (sandbox.Program, error) {
	file, err := os.Open(f.program())
	if err != nil {
		return sandbox.Program{}, unable("the program cannot be read: %v", err)
	}
	defer func() { _ = file.Close() }() // only read
	return sandbox.Inspect(file)
}

// clearFolder removes the folder of a run with all files of the program.
func clearFolder(dir string) error {
	if err := scratch.Unbound(filepath.Join(dir, "output")); err != nil {
		return fmt.Errorf("unmount the output of %s: %w", dir, err)
	}
	return scratch.Remove(dir)
}

// clearHome removes the folders of an ended worker, and returns the number of runs.
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

// watch returns false when done is closed, or true as soon as the output exceeds
// a limit.
func (f *folder) watch(done <-chan struct{}, l task.Limits) (over bool) {
	return scratch.Watch(done, f.output(), l.OutputSize, maxEntries(l))
}

// maxEntries limits files and folders: each output may be in a few nested folders.
func maxEntries(l task.Limits) int { return 4*l.Outputs + 16 }

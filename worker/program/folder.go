package program

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"time"

	"github.com/belfry-run/belfry"
	"github.com/belfry-run/belfry/worker"
	"github.com/belfry-run/belfry/worker/internal/home"
	"github.com/belfry-run/belfry/worker/sandbox"
)

// folder is what one run has on the worker's disk: the program, and the folder
// for its output.
type folder struct {
	dir   string
	quota bool // the kernel limits its output
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
func (e *Executor) newFolder(r worker.Run) (*folder, error) {
	f := &folder{dir: filepath.Join(e.home.Dir, fmt.Sprintf("%d-%d-%d", r.Job.ID, r.Lease, e.runs.Add(1)))}
	err := os.Mkdir(f.dir, 0o711)
	if err == nil {
		err = os.Mkdir(f.output(), 0o700)
	}
	if err == nil && e.quotas {
		l := r.Task.Program.Limits
		err = quota(f.output(), l.OutputSize, maxEntries(l))
		f.quota = err == nil
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
	if err := unquota(filepath.Join(dir, "output")); err != nil {
		return fmt.Errorf("unmount the output of %s: %w", dir, err)
	}
	return sandbox.Remove(dir)
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

// sizeLook is how often the size of an output folder is looked at that the
// kernel does not limit. In between a program may write over its limit.
const sizeLook = 200 * time.Millisecond

// watch returns when done is closed, or true as soon as the output is over its
// limits.
func (f *folder) watch(done <-chan struct{}, l belfry.Limits) (over bool) {
	tick := time.NewTicker(sizeLook)
	defer tick.Stop()
	for {
		select {
		case <-done:
			return false
		case <-tick.C:
			if f.isOver(l) {
				return true
			}
		}
	}
}

var errOver = errors.New("over")

// isOver looks no further than the limits. It follows no link, also none that
// is put in the way while it looks.
func (f *folder) isOver(l belfry.Limits) bool {
	root, err := os.OpenRoot(f.output())
	if err != nil {
		return false
	}
	defer func() { _ = root.Close() }()
	var size int64
	entries := 0
	err = fs.WalkDir(root.FS(), ".", func(_ string, d fs.DirEntry, err error) error {
		if err != nil {
			return nil // it is gone again
		}
		if info, err := d.Info(); err == nil && info.Mode().IsRegular() {
			size += info.Size()
		}
		if entries++; size > l.OutputSize || entries > maxEntries(l) {
			return errOver
		}
		return nil
	})
	return errors.Is(err, errOver)
}

// maxEntries bounds files and folders: each output may stand in a few of them.
func maxEntries(l belfry.Limits) int { return 4*l.Outputs + 16 }

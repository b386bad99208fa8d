package process

import (
	"errors"
	"fmt"
	"io/fs"
	"os"

	"github.com/belfry-run/belfry/job"
	"github.com/belfry-run/belfry/worker"
)

// workDir returns the directory of the task, or a temporary one that cleanUp
// removes.
func (e *Executor) workDir(r *worker.Run, given string) (dir string, cleanUp func(), err error) {
	if given != "" {
		info, err := os.Stat(given)
		if err == nil && !info.IsDir() {
			err = &fs.PathError{Op: "chdir", Path: given, Err: errors.New("not a directory")}
		}
		return given, func() {}, err
	}
	dir, err = os.MkdirTemp(e.options.TempDir, fmt.Sprintf("belfry-job-%d-", r.Job.ID))
	return dir, func() { removeDir(r, dir) }, err
}

func removeDir(r *worker.Run, dir string) {
	if err := os.RemoveAll(dir); err != nil {
		_, _ = fmt.Fprintf(r.Log, "belfry: the working directory was not removed: %v\n", err)
	}
}

// dirFailed returns the result for an unusable directory. A missing directory is
// a permanent error; a full disk may have room later.
func dirFailed(r *worker.Run, err error) job.Finish {
	if worker.MachineFault(err) {
		return r.Unable(fmt.Errorf("working directory: %w", err))
	}
	f := r.Failed("working directory: %v", err)
	f.NoRetry = r.Task.Command.Dir != ""
	return f
}

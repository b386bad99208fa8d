// Package pod splits a worker for one attempt over two processes that share a
// folder, such as the containers of a Kubernetes pod that share a volume.
//
// [Claim] runs in the first process, which is trusted and has the worker's token.
// It claims exactly one job of kind program, fetches its artifact, and writes a
// handover: the job, and a token for this attempt alone. [Run] runs in the second
// process. It reads the handover and deletes it first. Then it renews the lease,
// runs the program in the strongest sandbox that works there, and reports the
// result.
//
// The worker's token never reaches the second process, and the attempt's token
// is in no file by the time the program starts.
package pod

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"

	"github.com/belfry-run/belfry/app/worker/sandbox/scratch"
	"github.com/belfry-run/belfry/core"
	"github.com/belfry-run/belfry/job"
)

// Handover is the data that the first process leaves to the second.
type Handover struct {
	Server  string        `json:"server"`
	Session job.Session   `json:"session"`
	Lease   int64         `json:"lease"`
	Leased  job.LeasedJob `json:"leased"` // with the attempt's token
}

// Ref names the attempt.
func (h Handover) Ref() job.Ref { return job.Ref{JobID: h.Leased.Job.ID, Lease: h.Lease} }

// unstarted returns the result of an attempt that did not start: released if its
// process was told to stop, and otherwise a fault of the machine.
func (h Handover) unstarted(ctx context.Context, why error) job.Finish {
	if ctx.Err() != nil {
		return job.Finish{Ref: h.Ref(), Outcome: job.OutcomeHandedBack}
	}
	text, _ := core.CleanText(why.Error(), core.MaxError)
	return job.Finish{Ref: h.Ref(), Outcome: job.OutcomeError, Error: text, Infra: true}
}

const fileName = "attempt.json"

// StateDir returns the folder of both processes for the cache and for runs.
func StateDir(dir string) string { return filepath.Join(dir, "state") }

// write writes the handover atomically, readable by this user alone.
func (h Handover) write(dir string) error {
	text, err := json.Marshal(h)
	if err != nil {
		return err
	}
	file := filepath.Join(dir, fileName)
	temp := file + ".new"
	_ = os.Remove(temp) // an old file would keep its mode
	f, err := os.OpenFile(temp, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o600)
	if err != nil {
		return err
	}
	_, err = f.Write(text)
	if err := errors.Join(err, f.Sync(), f.Close()); err != nil {
		return err
	}
	return os.Rename(temp, file)
}

// take reads the handover, and deletes it.
func take(dir string) (h Handover, err error) {
	file := filepath.Join(dir, fileName)
	info, err := os.Lstat(file)
	if errors.Is(err, fs.ErrNotExist) {
		return h, core.Errorf(core.NotFound, "nothing was handed over in %s", dir).
			WithHint("run belfry worker init with the same --dir first; it exits with 8 when there is nothing to do")
	}
	if err != nil {
		return h, err
	}
	if !info.Mode().IsRegular() || info.Mode().Perm()&0o077 != 0 {
		return h, core.Errorf(core.Forbidden, "%s can be read by others than its owner", file).WithHint("both containers must run as one user")
	}
	text, err := os.ReadFile(file)
	if err := errors.Join(err, os.Remove(file)); err != nil {
		return h, err
	}
	if err := json.Unmarshal(text, &h); err != nil {
		return h, fmt.Errorf("read %s: %w", file, err)
	}
	return h, nil
}

// Clear deletes all files in the folder, but not the folder itself, which may be
// a volume.
func Clear(dir string) error {
	entries, err := os.ReadDir(dir)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	for _, e := range entries {
		err = errors.Join(err, scratch.Remove(filepath.Join(dir, e.Name())))
	}
	return err
}

// Fetcher puts the artifact of a job into the folder from which it will run.
type Fetcher interface {
	Prefetch(ctx context.Context, j job.LeasedJob) error
}

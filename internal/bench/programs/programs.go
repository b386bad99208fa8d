//go:build linux

// Package programs measures the start latency of uploaded programs on remote workers, and the time to a retry after a kill. It
// needs root, for the sandbox.
package programs

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"sync"
	"time"

	"github.com/belfry-run/belfry/access"
	"github.com/belfry-run/belfry/app/worker/sandbox"
	"github.com/belfry-run/belfry/app/worker/sandbox/scratch"
	"github.com/belfry-run/belfry/core"
	"github.com/belfry-run/belfry/httpapi/client"
	"github.com/belfry-run/belfry/internal/bench/database"
	"github.com/belfry-run/belfry/internal/bench/node"
	"github.com/belfry-run/belfry/internal/bench/process"
	"github.com/belfry-run/belfry/internal/bench/report"
	"github.com/belfry-run/belfry/internal/signed"
	"github.com/belfry-run/belfry/job"
	"github.com/belfry-run/belfry/task"
	"github.com/belfry-run/belfry/view"
)

// Options has the parameters of uploaded programs on remote workers.
type Options struct {
	Workers []int         // processes of belfry worker beside one server, each with two slots
	Probes  int           // jobs whose start is measured
	Lines   int           // the most probes at the same time, never more than workers
	Ahead   time.Duration // the time from the enqueue of a job to its due time
}

// Promised has the measures that users of programs are promised.
type Promised struct {
	Start report.Quantiles // from the due time to the program's start
	Again time.Duration    // from kill -9 of the worker to the claim of the second attempt
}

// visitor is the uploaded program. With an argument it does not end by itself.
const visitor = `package main

import (
	"os"
	"time"
)

func main() {
	if len(os.Args) > 1 {
		time.Sleep(time.Hour)
	}
}
`

// Run starts a server and n workers with default settings, and measures both promises.
func Run(ctx context.Context, d *database.Database, belfryPath string, n int, p Options) (out Promised, err error) {
	s, err := d.NewSite(ctx)
	if err != nil {
		return out, err
	}
	defer func() { err = errors.Join(err, s.Close()) }()
	f := &fleet{Site: s, belfry: belfryPath, workers: map[string]*process.Process{}}
	if f.dir, err = os.MkdirTemp("", "belfry-bench-fleet-"); err != nil {
		return out, err
	}
	defer func() { err = errors.Join(err, scratch.Remove(f.dir)) }()
	if err := os.Chmod(f.dir, 0o711); err != nil { //nolint:gosec // programs with a user of their own pass through
		return out, err
	}
	server, err := node.Serve(s, belfryPath, "--roles", "api,engine", "--artifacts", filepath.Join(f.dir, "artifacts"))
	if err != nil {
		return out, err
	}
	defer func() { err = errors.Join(err, server.Stop()) }()
	f.url = server.URL
	if f.api, err = client.New(server.URL, server.Token, client.Options{}); err != nil {
		return out, err
	}
	defer f.api.CloseIdleConnections()
	defer func() { err = errors.Join(err, f.end()) }()
	if err := f.prepare(ctx, n); err != nil {
		return out, err
	}
	if out.Start, err = f.startLags(ctx, p); err != nil {
		return out, err
	}
	out.Again, err = f.killOne(ctx)
	return out, err
}

// fleet has the workers of one server.
type fleet struct {
	*database.Site
	belfry, url, dir string
	api              *client.Client
	workers          map[string]*process.Process // by name
}

// end stops the workers. The folder that is removed afterwards names what they left on the machine.
func (f *fleet) end() error {
	for _, w := range f.workers {
		_ = w.Stop()
	}
	return sandbox.Sweep(sandbox.Options{StateDir: filepath.Join(f.dir, "state", "sandbox")})
}

// prepare uploads the program and waits until all workers serve.
func (f *fleet) prepare(ctx context.Context, n int) error {
	source, file := filepath.Join(f.dir, "main.go"), filepath.Join(f.dir, "visitor")
	if err := os.WriteFile(source, []byte(visitor), 0o600); err != nil {
		return err
	}
	build := exec.CommandContext(ctx, "go", "build", "-o", file, source)
	build.Env = append(os.Environ(), "CGO_ENABLED=0")
	if said, err := build.CombinedOutput(); err != nil {
		return fmt.Errorf("build the program: %w\n%s", err, said)
	}
	program, err := f.upload(ctx, file)
	if err != nil {
		return err
	}
	for name, args := range map[string][]string{"visit": nil, "stay": {"stay"}} {
		g := program
		g.Args = args
		if _, err := f.api.CreateTask(ctx, task.Task{Name: name, Kind: task.KindProgram, Program: &g}); err != nil {
			return err
		}
	}
	_, secret, err := f.api.CreateToken(ctx, access.Token{Name: "fleet", Namespace: core.AnyNamespace, Scopes: []access.Scope{access.ScopeWorker}})
	if err != nil {
		return err
	}
	if err := os.WriteFile(filepath.Join(f.dir, "token"), []byte(secret), 0o600); err != nil {
		return err
	}
	for range n {
		if err := f.work(); err != nil {
			return err
		}
	}
	return f.allServe(ctx, n)
}

func (f *fleet) allServe(ctx context.Context, n int) error {
	return f.until(ctx, fmt.Sprintf("%d workers serve", n), func() (bool, error) {
		ws, err := f.api.Workers(ctx, false)
		return len(ws) == n, err
	})
}

func (f *fleet) upload(ctx context.Context, file string) (g task.Program, err error) {
	content, err := os.Open(file)
	if err != nil {
		return g, err
	}
	defer func() { _ = content.Close() }() // only read
	sum := sha256.New()
	if g.Size, err = io.Copy(sum, content); err != nil {
		return g, err
	}
	g.SHA256, g.Arch = hex.EncodeToString(sum.Sum(nil)), runtime.GOARCH
	up, err := f.api.CreateArtifact(ctx, task.Artifact{Namespace: core.DefaultNamespace, SHA256: g.SHA256, Size: g.Size})
	if err != nil {
		return g, err
	}
	link, err := signed.At(f.url, *up.Link)
	if err != nil {
		return g, err
	}
	if err := signed.Send(ctx, http.DefaultClient, link, io.NewSectionReader(content, 0, g.Size)); err != nil {
		return g, err
	}
	_, err = f.api.ConfirmArtifact(ctx, core.DefaultNamespace, g.SHA256)
	return g, err
}

// work starts one more worker. All workers are on one machine and share its state folder.
func (f *fleet) work() error {
	name := fmt.Sprintf("worker-%d", len(f.workers)+1)
	cmd := exec.Command(f.belfry, "worker", "--server", f.url, "--token-file", filepath.Join(f.dir, "token"), "--name", name,
		"--state-dir", filepath.Join(f.dir, "state"), "--queues", "default=2", "--only-queues", "default")
	cmd.Dir = f.dir
	p, err := process.Start(cmd)
	if err != nil {
		return err
	}
	f.workers[name] = p
	return nil
}

// until repeats a condition until it holds.
func (f *fleet) until(ctx context.Context, what string, holds func() (bool, error)) error {
	for {
		ok, err := holds()
		if ok || err != nil {
			return err
		}
		select {
		case <-ctx.Done():
			return fmt.Errorf("%s: %w", what, ctx.Err())
		case <-time.After(50 * time.Millisecond):
		}
	}
}

// startLags measures jobs in a few parallel lines, at most one for each worker. In a line, each job is enqueued when the
// one before has ended. A worker has two slots, so one is always free.
func (f *fleet) startLags(ctx context.Context, p Options) (q report.Quantiles, err error) {
	lines := min(len(f.workers), p.Lines)
	lags, errs := make([][]time.Duration, lines), make([]error, lines)
	var running sync.WaitGroup
	for i := range lines {
		running.Go(func() {
			for len(lags[i]) < p.Probes/lines && errs[i] == nil && ctx.Err() == nil {
				var lag time.Duration
				lag, errs[i] = f.startLag(ctx, p.Ahead)
				lags[i] = append(lags[i], lag)
			}
		})
	}
	running.Wait()
	return report.QuantilesOf(slices.Concat(lags...)), errors.Join(errs...)
}

// startLag measures the time from the due time of a job to its start.
func (f *fleet) startLag(ctx context.Context, ahead time.Duration) (time.Duration, error) {
	made, err := f.api.Enqueue(ctx, []job.NewJob{{Task: "visit", DueAt: time.Now().Add(ahead)}})
	if err != nil {
		return 0, err
	}
	id := made[0].Job.ID
	if err := f.until(ctx, fmt.Sprintf("job %d ends", id), func() (bool, error) {
		j, err := f.api.Job(ctx, core.DefaultNamespace, id)
		if err == nil && j.State != job.Succeeded && j.State.Final() {
			err = fmt.Errorf("job %d is %s: %s", id, j.State, j.Error)
		}
		return j.State == job.Succeeded, err
	}); err != nil {
		return 0, err
	}
	as, err := f.api.Attempts(ctx, core.DefaultNamespace, id)
	if err != nil {
		return 0, err
	}
	return as[0].StartedAt.Sub(made[0].Job.DueAt), nil
}

// killOne kills the worker of a running job. Another worker replaces it, at once if it was the only one, and removes what
// the dead worker has left.
func (f *fleet) killOne(ctx context.Context) (again time.Duration, err error) {
	made, err := f.api.Enqueue(ctx, []job.NewJob{{Task: "stay"}})
	if err != nil {
		return 0, err
	}
	id, worker := made[0].Job.ID, ""
	if err := f.until(ctx, "the job runs", func() (bool, error) {
		j, err := f.api.Job(ctx, core.DefaultNamespace, id)
		if err != nil || j.State != job.Running {
			return false, err
		}
		ws, err := f.api.Workers(ctx, false)
		for _, w := range ws {
			if w.Session == j.Session {
				worker = w.Name
			}
		}
		return worker != "", err
	}); err != nil {
		return 0, err
	}
	killed := time.Now()
	f.workers[worker].Kill()
	alone := len(f.workers) == 1
	if alone {
		if err := f.work(); err != nil {
			return 0, err
		}
	}
	err = f.until(ctx, "the second attempt runs", func() (bool, error) {
		j, err := f.api.Job(ctx, core.DefaultNamespace, id)
		again = j.ClaimedAt.Sub(killed)
		return j.State == job.Running && j.Attempt == 2, err
	})
	if err == nil {
		_, err = f.api.CancelJobs(ctx, core.DefaultNamespace, view.Selection{IDs: []int64{id}})
	}
	if err == nil && !alone {
		if err = f.work(); err == nil {
			err = f.allServe(ctx, len(f.workers)-1)
		}
	}
	delete(f.workers, worker)
	return again, err
}

package app

import (
	"context"
	"errors"
	"path/filepath"
	"strings"

	"github.com/belfry-run/belfry/app/worker/program"
	"github.com/belfry-run/belfry/core"
	"github.com/belfry-run/belfry/internal/signed"
	"github.com/belfry-run/belfry/task"
	"github.com/belfry-run/belfry/worker"
)

// programs runs uploaded programs, if this machine can.
type programs struct {
	executor *program.Executor
	spool    *worker.Spool
}

// openPrograms finds out whether this machine can run programs. If it cannot,
// the worker still runs other kinds. Jobs of programs wait for another worker,
// and "job why" says so.
func (w *Workers) openPrograms(ctx context.Context) *programs {
	if w.Config.RefusePrograms {
		return &programs{}
	}
	if w.Config.ProgramMemory == 0 { // a pod has two containers, and the first does not know the memory of the second
		w.Config.ProgramMemory = program.MachineMemory()
	}
	if w.Config.ProgramCPU == 0 {
		w.Config.ProgramCPU = program.MachineCPU()
	}
	p, err := w.tryPrograms(ctx)
	switch {
	case errors.Is(err, program.ErrWeak), errors.Is(err, program.ErrNoInit):
		w.Logger.Info("uploaded programs do not run here", "why", err)
	case err != nil && ctx.Err() == nil:
		w.Logger.Warn("uploaded programs do not run here", "error", err)
	case err == nil:
		w.Logger.Info("uploaded programs run here", "isolation", p.executor.Isolation(), "network", p.executor.Has().Network,
			"memory", core.SizeText(w.Config.ProgramMemory), "cpu", w.Config.ProgramCPU)
		if why := p.executor.NoNetwork(); why != "" {
			w.Logger.Warn("programs get no network here, though allow_network is set: nothing keeps them from private addresses; unguarded_network lets them reach all", "why", why)
		}
		if open := p.executor.Unlimited(); len(open) > 0 {
			w.Logger.Warn("limits of programs are not held here for all processes of a run together; delegate control groups to this worker, or set require_limits to run none",
				"limits", strings.Join(open, ", "))
		}
		return p
	}
	return &programs{}
}

// tryPrograms opens the runner of programs. Programs get only the offers of the configuration.
func (w *Workers) tryPrograms(ctx context.Context) (*programs, error) {
	dir, err := w.Config.StateFolder(w.node)
	if err != nil {
		return nil, err
	}
	reach, err := w.Config.Addresses()
	if err != nil {
		return nil, err
	}
	roots, err := signed.Authorities(w.Config.CAFile)
	if err != nil {
		return nil, err
	}
	o := program.Options{
		StateDir: dir, Server: w.Server,
		AllowNetwork: w.Config.AllowNetwork, Reach: reach, UnguardedNetwork: w.Config.UnguardedNetwork, MinIsolation: task.Isolation(w.Config.MinIsolation), CacheSize: w.Config.CacheSize,
		RequireLimits: w.Config.RequireLimits, Memory: w.Config.ProgramMemory, CPU: w.Config.ProgramCPU,
	}
	if w.Config.CAFile != "" { // absolute, because a child process in another folder reads it
		if o.CAFile, err = filepath.Abs(w.Config.CAFile); err != nil {
			return nil, err
		}
	}
	o.Sandbox.Runsc = w.Config.Runsc
	if o.CacheSize == 0 {
		o.CacheSize = -1 // none
	}
	var keeper program.Keeper
	if w.Artifacts != nil {
		o.Source, keeper = w.Artifacts, w.Artifacts
	}
	if d, can := w.Leaser.(program.Declarer); can {
		o.Uploader = program.Declared(d, w.Server, roots, keeper)
	}
	ex, err := program.Open(ctx, o)
	if err != nil {
		return nil, err
	}
	spool, err := worker.OpenSpool(filepath.Join(dir, "spool"))
	if err != nil {
		return nil, errors.Join(err, ex.Close())
	}
	if n := ex.Cleared(); n > 0 {
		w.Logger.Warn("removed the remains of an earlier worker", "runs", n)
	}
	return &programs{executor: ex, spool: spool}, nil
}

func (p *programs) close() error {
	if p.executor == nil {
		return nil
	}
	return errors.Join(p.spool.Close(), p.executor.Close())
}

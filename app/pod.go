package app

import (
	"context"
	"errors"
	"maps"
	"slices"
	"time"

	"github.com/belfry-run/belfry/app/worker/pod"
	"github.com/belfry-run/belfry/job"
	"github.com/belfry-run/belfry/task"
	"github.com/belfry-run/belfry/worker"
)

// ClaimForPod claims one program job, fetches the program and hands it over in a folder,
// for RunForPod in another process. It reports false if no job came in time.
func (w *Workers) ClaimForPod(ctx context.Context, dir string, wait time.Duration) (found bool, err error) {
	queues, err := w.serving(ctx)
	if err != nil {
		return false, err
	}
	w.Config.StateDir = pod.StateDir(dir)
	p, err := w.tryPrograms(ctx)
	if err != nil {
		return false, err
	}
	defer func() { err = errors.Join(err, p.close()) }()
	for _, name := range slices.Collect(maps.Keys(queues)) {
		queues[name] = 1
	}
	has := p.executor.Has()
	has.Labels = w.Config.Labels
	return pod.Claim(ctx, pod.ClaimOptions{
		Leaser: w.Leaser, Fetcher: p.executor, Server: w.Server, Dir: dir, Wait: wait, Logger: w.Logger,
		Worker: job.WorkerInfo{
			Name: w.Config.NodeName(), Namespace: w.Namespace, Queues: queues, Version: w.Version, Has: has,
		},
	})
}

// RunForPod runs the job that ClaimForPod handed over in a folder, and clears the folder.
func (w *Workers) RunForPod(ctx context.Context, dir string, connect func(pod.Handover) (job.Leaser, error)) (err error) {
	var opened *programs
	defer func() {
		if opened != nil {
			err = errors.Join(err, opened.close())
		}
		err = errors.Join(err, pod.Clear(dir))
	}()
	w.Config.StateDir = pod.StateDir(dir)
	return pod.Run(ctx, pod.RunOptions{
		Dir: dir, Name: w.Config.NodeName(), Version: w.Version, Grace: graceOf(w.Config), Logger: w.Logger,
		Connect: func(h pod.Handover) (b job.Leaser, err error) {
			w.Leaser, err = connect(h)
			return w.Leaser, err
		},
		Executor: func(ctx context.Context, h pod.Handover) (worker.Executor, task.Has, error) {
			w.Server = h.Server
			p, err := w.tryPrograms(ctx)
			if err != nil {
				return nil, task.Has{}, err
			}
			opened = p
			return p.executor, p.executor.Has(), nil
		},
	})
}

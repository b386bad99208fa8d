package home

import (
	"context"
	"slices"
	"time"

	"github.com/belfry-run/belfry/access"
	"github.com/belfry-run/belfry/core"
	"github.com/belfry-run/belfry/job"
	"github.com/belfry-run/belfry/monitor"
	"github.com/belfry-run/belfry/schedule"
	"github.com/belfry-run/belfry/task"
	"github.com/belfry-run/belfry/view"
)

type sampleAPI interface {
	Apply(ctx context.Context, m view.Manifest, o view.ApplyOptions) (view.Applied, error)
	Workers(ctx context.Context, ended bool) ([]job.WorkerState, error)
	Enqueue(ctx context.Context, ns []job.NewJob) ([]job.Enqueued, error)
	Monitor(ctx context.Context, namespace, name string) (view.MonitorView, error)
	DeleteSchedule(ctx context.Context, namespace, name string) error
	DeleteMonitor(ctx context.Context, namespace, name string) error
	DeleteTask(ctx context.Context, namespace, name string) error
}

var sampleRoutes = routes{
	"GET /tour":            tour,
	"POST /-sample":        loadSample,
	"POST /-sample/remove": removeSample,
}

// tour shows what is special, by the sample, which can be loaded there: Home offers it only while it is empty.
func tour(p *page) error {
	loaded, err := p.hasSample()
	if err != nil {
		return err
	}
	return p.Show("tour", struct{ Sample bool }{loaded})
}

// sampleMark is the monitor that says that the sample is there. Nothing uses it, so it can be deleted last, and a removal
// that breaks off can be repeated.
const sampleMark = "sample-backup"

// sample is definitions that work on every node: without commands its job is the canary of the node's own worker, which
// needs no permission. With commands there is more to see: a log that grows, and a job that fails once and then succeeds.
func sample(commands bool) view.Manifest {
	minute := task.CanaryTask
	m := view.Manifest{}
	if commands {
		minute = "sample-hello"
		m.Tasks = []task.Task{
			{Name: "sample-hello", Description: "Writes a log while it runs", Tags: []string{"sample"}, Timeout: core.Duration(time.Minute),
				Command: &task.Command{Shell: `for i in 1 2 3 4 5; do echo "step $i of 5"; sleep 1; done; echo "all is done"`}},
			{Name: "sample-unlucky", Description: "Fails at its first attempt, and shows what a retry looks like", Tags: []string{"sample"}, Timeout: core.Duration(time.Minute),
				Retry:   task.Retry{MaxAttempts: 3, Delay: core.Duration(10 * time.Second)},
				Command: &task.Command{Shell: `echo "opening the archive"; if [ "$BELFRY_ATTEMPT" = 1 ]; then echo "the archive is locked by another process" >&2; exit 3; fi; echo "42 files packed"`}},
			{Name: "sample-nightly", Description: "Runs its members one after another", Tags: []string{"sample"},
				Cycle: &task.Cycle{Members: []task.Member{{Task: "sample-hello"}, {Task: "sample-unlucky"}}}},
		}
		m.Schedules = []schedule.Schedule{{Name: "sample-every-5-minutes", Task: "sample-unlucky", Rules: []schedule.Rule{{Every: core.Duration(5 * time.Minute)}}},
			{Name: "sample-nightly", Task: "sample-nightly", Zone: "Europe/Sofia", Rules: []schedule.Rule{{Cron: "30 3 * * MON-FRI"}}}}
	}
	if !commands {
		m.Tasks = []task.Task{{Name: task.CanaryTask, Kind: task.KindFunc}} // which a namespace without workers does not have yet
	}
	m.Schedules = append(m.Schedules, schedule.Schedule{Name: "sample-every-minute", Task: minute, Rules: []schedule.Rule{{Every: core.Duration(time.Minute)}}})
	m.Monitors = []monitor.Monitor{{Name: sampleMark, Description: "Waits for a call of your backup, and is down if none comes", Tags: []string{"sample"},
		Every: core.Duration(time.Hour), Heartbeat: &monitor.Heartbeat{Grace: core.Duration(10 * time.Minute)}}}
	return m
}

// loadSample creates the sample, and runs its tasks once, so that the pages have data at once.
func loadSample(p *page) error {
	if err := p.Allow(access.ScopeAdmin); err != nil {
		return err
	}
	ctx := p.R.Context()
	workers, err := p.api.Workers(ctx, false)
	if err != nil {
		return err
	}
	commands := slices.ContainsFunc(workers, func(w job.WorkerState) bool {
		_, serves := w.Queues[task.DefaultQueue]
		return serves && w.RunsIn(p.Namespace) && w.Runs(task.KindCommand)
	})
	m := sample(commands)
	if err := p.sampleIsFree(m); err != nil {
		return err
	}
	if _, err := p.api.Apply(ctx, m, view.ApplyOptions{Namespace: p.Namespace}); err != nil {
		return err
	}
	first := []job.NewJob{{Namespace: p.Namespace, Task: task.CanaryTask, Kind: task.KindFunc}}
	if commands {
		first = []job.NewJob{{Namespace: p.Namespace, Task: "sample-hello"}, {Namespace: p.Namespace, Task: "sample-unlucky"}}
	}
	if _, err := p.api.Enqueue(ctx, first); err != nil {
		return err
	}
	return p.DoneUndo(p.Link(), p.Link("-sample", "remove"), "The sample is loaded: %s", core.Plural(len(m.Schedules), "schedule"))
}

// sampleIsFree refuses to write over definitions of other people. Without the mark, all that has such a name is theirs.
func (p *page) sampleIsFree(m view.Manifest) error {
	if loaded, err := p.hasSample(); loaded || err != nil {
		return err
	}
	would, err := p.api.Apply(p.R.Context(), m, view.ApplyOptions{Namespace: p.Namespace, DryRun: true})
	if err != nil {
		return err
	}
	for _, c := range would.Changes {
		if c.Action == view.ActionUpdate {
			return core.Errorf(core.Conflict, "there is a %s %q already", c.Noun, c.Name).WithHint("rename or delete it, or load the sample in another namespace")
		}
	}
	return nil
}

// removeSample deletes the remaining definitions of the sample by name, if the sample is loaded. Jobs that ran stay
// in the history.
func removeSample(p *page) error {
	if err := p.Allow(access.ScopeAdmin); err != nil {
		return err
	}
	loaded, err := p.hasSample()
	if err != nil {
		return err
	}
	if !loaded {
		return p.Done(p.Link(), "There is no sample.")
	}
	ctx, m := p.R.Context(), sample(true)
	gone := func(err error) error {
		if core.CodeOf(err) == core.NotFound {
			return nil
		}
		return err
	}
	for _, s := range m.Schedules {
		if err := gone(p.api.DeleteSchedule(ctx, p.Namespace, s.Name)); err != nil {
			return err
		}
	}
	for _, t := range slices.Backward(m.Tasks) { // the cycle before its members
		if err := gone(p.api.DeleteTask(ctx, p.Namespace, t.Name)); err != nil {
			return err
		}
	}
	for _, w := range m.Monitors {
		if err := gone(p.api.DeleteMonitor(ctx, p.Namespace, w.Name)); err != nil {
			return err
		}
	}
	return p.Done(p.Link(), "The sample is removed. Its jobs stay in the history.")
}

// hasSample reports whether the sample is in the namespace that is shown.
func (p *page) hasSample() (bool, error) {
	if p.Namespace == core.AnyNamespace {
		return false, nil
	}
	mark, err := p.api.Monitor(p.R.Context(), p.Namespace, sampleMark)
	if core.CodeOf(err) == core.NotFound {
		return false, nil
	}
	return err == nil && slices.Contains(mark.Tags, "sample"), err
}

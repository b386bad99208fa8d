//go:build linux

package e2e

import (
	"context"
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"time"

	"github.com/belfry-run/belfry/core"
	"github.com/belfry-run/belfry/flow"
	"github.com/belfry-run/belfry/internal/history"
	"github.com/belfry-run/belfry/job"
	"github.com/belfry-run/belfry/task"
	"github.com/belfry-run/belfry/workflow"
)

// keyedLimit is the number of jobs of a key that may run at once, and itemsAtOnce that of items of a run.
const (
	keyedLimit  = 2
	itemsAtOnce = 2
)

// flowTasks have limits and sequences, and a workflow: a list, a pause and a signal before a join, and cleanup.
func flowTasks(tk func(name, pace, beats string) task.Task) []task.Task {
	keyed, line := tk("keyed", "0.1", "1 2 3"), tk("line", "0.1", "1")
	keyed.Limits = []flow.Limit{{Key: "input.k", Running: keyedLimit}}
	line.Sequence = &flow.Sequence{Key: "input.k", OnFailure: flow.SequenceGoesOn}
	// The timeout is longer than any step of a clock: a node that was down takes a step for time that has passed.
	order := task.Task{Name: "order", Timeout: task.MaxWorkflowTimeout, Workflow: &task.Workflow{Steps: []task.Step{
		{Name: "each", Task: "item", ForEach: "input.items", AtOnce: itemsAtOnce},
		{Name: "pause", Sleep: core.Duration(time.Second)},
		{Name: "word", Signal: "go", Timeout: core.Duration(4 * time.Second), OnFailure: task.FailureContinue},
		{Name: "join", Task: "joined", Needs: []string{"each", "pause", "word"}},
		{Name: "sweep", Task: "joined", Cleanup: true},
	}}}
	return []task.Task{keyed, line, tk("item", "0.1", "1 2"), tk("joined", "0", ""), order}
}

// flows enqueues jobs with limits and sequences, of two keys each.
func (l *load) flows(ctx context.Context, r *rand.Rand) {
	for i := range forever(ctx, 700*time.Millisecond) {
		name, n := "keyed", 1+r.IntN(5)
		if r.IntN(2) == 0 {
			name, n = "line", 1+r.IntN(2)
		}
		input := fmt.Sprintf(`{"k":"%c"}`, 'a'+rune(r.IntN(2)))
		var list []job.NewJob
		for k := range n {
			list = append(list, job.NewJob{Task: name, Input: json.RawMessage(input), Key: fmt.Sprintf("flow-%d-%d", i, k), KeyWindow: job.MaxKeyWindow})
		}
		l.insist(ctx, r, list...)
	}
}

// orders starts runs of a workflow, and sends signals to the latest of them.
func (l *load) orders(ctx context.Context, r *rand.Rand) {
	for range forever(ctx, 1500*time.Millisecond) {
		l.ask(ctx, r, job.NewJob{Task: "order", Input: json.RawMessage([]string{`{"items":[1,2,3,4]}`, `{"items":[1]}`, `{"items":[]}`}[r.IntN(3)])})
		l.signal(ctx, r)
	}
}

func (l *load) signal(ctx context.Context, r *rand.Rand) {
	l.mu.Lock()
	runs := l.runs[max(0, len(l.runs)-3):]
	l.mu.Unlock()
	if len(runs) == 0 {
		return
	}
	ctx, stop := context.WithTimeout(ctx, 5*time.Second)
	defer stop()
	api := l.c.places[r.IntN(len(l.c.places))].api
	_, err := api.SendSignal(ctx, "default", runs[r.IntN(len(runs))], workflow.Signal{Name: "go", ID: fmt.Sprint(r.IntN(2))})
	if code := core.CodeOf(err); err != nil && ctx.Err() == nil && !away(err) && code != core.Conflict && code != core.NotFound { // the run has ended, or has not begun
		l.mu.Lock()
		defer l.mu.Unlock()
		l.refused = append(l.refused, fmt.Sprintf("signal: %s: %v", code, err))
	}
}

// noteFlow records the group of a job, or its run. The caller holds the lock.
func (l *load) noteFlow(n job.NewJob, id int64) {
	switch n.Task {
	case "keyed", "line":
		l.groups[id] = string(n.Input)
	case "order":
		l.runs = append(l.runs, id)
	}
}

// flowLines adds the limits and sequences of jobs, and returns the step of each job.
func (c *chaos) flowLines(r record) map[int64]history.Job {
	c.t.Helper()
	c.recorder.Add(history.Limit{Task: "keyed", Running: keyedLimit})
	c.recorder.Add(history.Limit{Task: "line", Sequence: true})
	c.recorder.Add(history.Workflow{Task: "order", Steps: []history.WorkflowStep{
		{Name: "each", AtOnce: itemsAtOnce}, {Name: "join", Needs: []string{"each"}}, {Name: "sweep", Needs: []string{"each", "join"}},
	}})
	steps := map[int64]history.Job{}
	for run, j := range r.jobs {
		if j.Task != "order" {
			continue
		}
		for _, step := range []string{"each", "join", "sweep"} {
			page := must[core.Page[workflow.Item]](c.t)(c.places[0].api.WorkflowItems(c.t.Context(), "default", run, step, core.Paging{}))
			for _, i := range page.Items {
				steps[i.JobID] = history.Job{Run: run, Step: step, Item: i.Item}
			}
		}
	}
	return steps
}

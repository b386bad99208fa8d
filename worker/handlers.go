package worker

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"sync"

	"github.com/belfry-run/belfry/core"
	"github.com/belfry-run/belfry/job"
)

// Handlers maps names of tasks to the Go functions that run them. The zero value
// is ready to use, and safe for concurrent use.
type Handlers struct {
	mu     sync.RWMutex
	byName map[string]handler
}

// handler is a typed function with JSON as input and output.
type handler func(ctx context.Context, input json.RawMessage) (json.RawMessage, error)

// Handle registers fn as the handler of the task name and returns the typed task
// for enqueueing. Each call of fn gets a new In, decoded from the job's input. A
// job without input gets the zero value. Fields that In lacks are ignored, so
// that an older program runs the jobs of a newer one. The result of fn becomes
// the job's output.
//
// Handle panics if the name is invalid or registered already.
func Handle[In, Out any](h *Handlers, name string, fn func(ctx context.Context, in In) (Out, error)) TaskOf[In, Out] {
	h.add(name, func(ctx context.Context, input json.RawMessage) (json.RawMessage, error) {
		in, err := decodeInput[In](input)
		if err != nil {
			return nil, NoRetry(fmt.Errorf("input does not fit handler %q: %w", name, err))
		}
		out, err := fn(ctx, in)
		if err != nil {
			return nil, err
		}
		raw, err := encodeOutput(out)
		return raw, NoRetry(err)
	})
	return TaskOf[In, Out]{Name: name}
}

func (h *Handlers) add(name string, fn handler) {
	if err := core.ValidName("name", name); err != nil {
		panic("worker.Handle: " + err.Error())
	}
	h.mu.Lock()
	defer h.mu.Unlock()
	if _, twice := h.byName[name]; twice {
		panic(fmt.Sprintf("worker.Handle: %q is registered twice", name))
	}
	if h.byName == nil {
		h.byName = map[string]handler{}
	}
	h.byName[name] = fn
}

// Names returns the names of all handlers, sorted.
func (h *Handlers) Names() []string {
	h.mu.RLock()
	defer h.mu.RUnlock()
	return slices.Sorted(maps.Keys(h.byName))
}

// Execute implements [Executor].
func (h *Handlers) Execute(ctx context.Context, r *Run) job.Finish {
	h.mu.RLock()
	fn := h.byName[r.Job.Task]
	h.mu.RUnlock()
	if fn == nil {
		return r.Refused("this program has no handler %q, it has: %s", r.Job.Task, strings.Join(h.Names(), ", "))
	}
	out, err := fn(ctx, r.Input())
	if err = r.withSteps(err); err != nil {
		return fromError(r, err)
	}
	return job.Finish{Ref: r.Ref(), Outcome: job.OutcomeOK, Output: out}
}

func decodeInput[In any](input json.RawMessage) (in In, err error) {
	if len(input) == 0 {
		return in, nil
	}
	err = json.Unmarshal(input, &in)
	var wrong *json.UnmarshalTypeError
	if errors.As(err, &wrong) && wrong.Field != "" {
		return in, fmt.Errorf("field %q: a JSON %s cannot be a %s", wrong.Field, wrong.Value, wrong.Type)
	}
	return in, err
}

package job

import (
	"cmp"
	"strings"

	"github.com/belfry-run/belfry/core"
	"github.com/belfry-run/belfry/core/title"
	"github.com/belfry-run/belfry/schedule"
	"github.com/belfry-run/belfry/task"
)

// TaskTrial is the request for one run of a definition that is not saved.
type TaskTrial struct {
	Task task.Task `json:"task" doc:"A task as it would be saved, of any kind that a worker runs by itself; the name may be left out. With the name of a task that is there it is an edit of that one: a secret that is written as it was shown stays"`
	Key  string    `json:"key,omitempty" doc:"Idempotency key, a name of at most 64 bytes: a second trial with it is not made, the first is returned. Default: one of its own"`
}

// TriggerTrial is the trigger of jobs of a definition that is not saved.
const TriggerTrial schedule.Trigger = "trial"

// TrialKeyMost is the longest key of a trial, in bytes.
const TrialKeyMost = 64

// Hidden returns the hidden task with the definition of the trial, which has one
// attempt. It has no settings that join jobs of a task or make them wait for each
// other. old is the task that the definition edits, or the zero value.
func (t TaskTrial) Hidden(old task.Task) (task.Task, error) {
	var p core.Problems
	if core.CheckName(&p, "key", t.Key); len(t.Key) > TrialKeyMost {
		p.Addf("key", t.Key, "has more than %d bytes", TrialKeyMost)
	}
	tk := t.Task.KeepSecrets(old)
	tk.Name = cmp.Or(tk.Name, "unnamed")
	tk.Retry = task.Retry{MaxAttempts: 1, OnLost: task.OnLostFail, Infra: -1}
	tk.Limits, tk.Sequence, tk.Throttle, tk.Debounce = nil, nil, nil, nil
	tk = tk.WithDefaults()
	switch tk.Kind {
	case task.KindFunc:
		p.Add("task.kind", string(tk.Kind), "cannot be tried: a worker finds a Go handler by the name of its task", "create the task, and enqueue a job")
	case task.KindCycle, task.KindWorkflow:
		p.Add("task.kind", string(tk.Kind), "cannot be tried: its members keep their progress with it", "try its members, or create it and enqueue a job")
	default:
		p.Nest("task", tk.Validate())
	}
	called, _ := core.CleanText("Trial of "+cmp.Or(t.Task.Title, t.Task.Name, "a new task"), title.Max)
	tk.Name, tk.Title = task.TrialPrefix+t.Key, strings.TrimSpace(called)
	return tk, p.Err("trial")
}

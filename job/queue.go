package job

import (
	"fmt"
	"strconv"
	"time"

	"github.com/belfry-run/belfry/core"
	"github.com/belfry-run/belfry/core/title"
	"github.com/belfry-run/belfry/flow"
	"github.com/belfry-run/belfry/task"
)

// Queue is a lane of jobs. Queues do not wait for each other: each has its own
// slots on every worker, so a busy queue never delays another.
type Queue struct {
	Name        string `json:"name"`
	Title       string `json:"title,omitempty" doc:"What people call it, in any script; one line of at most 200 bytes; default: the name is shown"`
	Description string `json:"description,omitempty"`
	Priority    int    `json:"priority,omitempty" minimum:"-1000" maximum:"1000" doc:"Order in which a worker with few free slots serves its queues; higher first; default: 0"`
	Concurrency int    `json:"concurrency,omitempty" doc:"Jobs at the same time on each worker; default: 10"`
	GlobalLimit int    `json:"global_limit,omitempty" doc:"Jobs at the same time on all workers together; 0: no limit"`
	// Limits bound how many jobs of the queue run at once, or begin within a period, for each value of a key.
	Limits []flow.Limit `json:"limits,omitempty" maxItems:"4" doc:"How many of its jobs run at once or begin in a length of time, for each value of a key; default: no limits"`
	// Fair makes the jobs take turns between their keys; nil: the oldest job goes first.
	Fair *flow.Fair `json:"fair,omitempty" doc:"Has workers take jobs of each key in turn, so that a key with many jobs does not hold up the others; default: the oldest job goes first"`

	// MaxWaiting is the most waiting jobs, and OnFull the policy for more.
	MaxWaiting int    `json:"max_waiting,omitempty" minimum:"0" maximum:"100000" doc:"Most jobs that have not ended and do not run; default: no bound"`
	OnFull     OnFull `json:"on_full,omitempty" enum:"refuse,drop_oldest" doc:"What becomes of new jobs when as many wait: they are refused, or the oldest waiting ones of the lowest priority are dropped; default: refuse"`

	// Ageing is the waiting time for which a job is raised by one priority; 0: never.
	Ageing core.Duration `json:"ageing,omitempty" doc:"A job that has waited for so long is treated as one priority higher, and again after each further such time, up to the highest priority that waits; 10s to 31d; default: jobs do not age"`

	// TurnBase is the first turn of the queue. Only the store sets it.
	TurnBase int64 `json:"-"`

	PausedAt     time.Time `json:"paused_at,omitzero" readOnly:"true"`
	PausedBy     string    `json:"paused_by,omitempty" readOnly:"true"`
	PausedReason string    `json:"paused_reason,omitempty" readOnly:"true"`
	CreatedAt    time.Time `json:"created_at,omitzero" readOnly:"true"`
	UpdatedAt    time.Time `json:"updated_at,omitzero" readOnly:"true"`
}

const SystemQueue = "system" // only for Belfry's own work

// Defaults and limits of a queue.
const (
	DefaultConcurrency = 10
	MaxConcurrency     = 10_000
)

// FirstQueues returns the queues of a new database.
func FirstQueues() []Queue {
	return []Queue{
		{Name: task.DefaultQueue, Description: "Jobs that name no other queue", Concurrency: DefaultConcurrency},
		{Name: task.ChecksQueue, Description: "Monitors and other checks", Concurrency: 200, Priority: 50},
		{Name: SystemQueue, Description: "Belfry's own work, such as canary jobs", Concurrency: 5, Priority: 100},
	}
}

// WithDefaults returns a copy with the defaults of empty fields.
func (q Queue) WithDefaults() Queue {
	q.Concurrency = core.Or(q.Concurrency, DefaultConcurrency)
	q.Limits = flow.LimitsWithDefaults(q.Limits)
	q.Ageing -= q.Ageing % core.Duration(time.Microsecond) // the precision of the store
	if q.Bounded() {
		q.OnFull = core.Or(q.OnFull, OnFullRefuse)
	}
	return q
}

// Validate returns the problems of a queue that has its defaults as one error, or nil.
func (q Queue) Validate() error {
	var p core.Problems
	core.CheckName(&p, "name", q.Name)
	core.CheckPriority(&p, q.Priority)
	if q.Concurrency < 1 || q.Concurrency > MaxConcurrency {
		p.Addf("concurrency", q.Concurrency, "is outside 1 to %d", MaxConcurrency)
	}
	if q.GlobalLimit < 0 || q.GlobalLimit > 1_000_000 {
		p.Addf("global_limit", q.GlobalLimit, "is outside 0 to 1000000")
	}
	if flow.CheckLimits(&p, q.Limits); len(q.Limits) > 0 && (q.Name == SystemQueue || q.Name == task.ChecksQueue) {
		p.Add("limits", strconv.Itoa(len(q.Limits)), "cannot stand in a queue of Belfry's own work", "use global_limit")
	}
	if q.Fair != nil {
		p.Nest("fair", q.Fair.Validate())
	}
	q.checkBound(&p)
	q.checkAgeing(&p)
	title.Check(&p, "title", q.Title)
	if len(q.Description) > core.MaxDescription {
		p.Addf("description", q.Description, "has more than %d bytes", core.MaxDescription)
	}
	return p.Err(fmt.Sprintf("queue %q", q.Name))
}

// QueueStats is the current state of a queue. Depths are counted up to
// [core.CountLimit].
type QueueStats struct {
	Queue
	Ready     int       `json:"ready" doc:"Jobs that could start now; 10001 means more than 10000"`
	Scheduled int       `json:"scheduled" doc:"Jobs for later; 10001 means more than 10000"`
	Running   int       `json:"running"`
	OldestAt  time.Time `json:"oldest_at,omitzero" doc:"Since when the oldest ready job waits"`
}

// Version returns the version of the queue's settings. A pause does not change it.
func (q Queue) Version() string { return core.Version(0, q.UpdatedAt) }

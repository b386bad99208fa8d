package belfry

import (
	"fmt"
	"time"
)

// Queue is a lane of jobs. Lanes do not wait for each other: each has slots of
// its own on every worker, so a busy low lane never delays a high one.
type Queue struct {
	Name        string `json:"name"`
	Description string `json:"description,omitempty"`
	Priority    int    `json:"priority,omitempty" minimum:"-1000" maximum:"1000" doc:"Order in which a worker with few free slots serves its queues; higher first; default: 0"`
	Concurrency int    `json:"concurrency,omitempty" doc:"Jobs at the same time on each worker; default: 10"`
	GlobalLimit int    `json:"global_limit,omitempty" doc:"Jobs at the same time on all workers together; 0: no limit"`

	PausedAt     time.Time `json:"paused_at,omitzero" readOnly:"true"`
	PausedBy     string    `json:"paused_by,omitempty" readOnly:"true"`
	PausedReason string    `json:"paused_reason,omitempty" readOnly:"true"`
	CreatedAt    time.Time `json:"created_at,omitzero" readOnly:"true"`
	UpdatedAt    time.Time `json:"updated_at,omitzero" readOnly:"true"`
}

// Queues that exist from the start. Checks and Belfry's own work have lanes of
// their own, so that no flood of ordinary jobs can hold them up.
const (
	ChecksQueue = "checks" // of monitors alone: see [CheckReserved]
	SystemQueue = "system" // of Belfry's own work alone
)

// Defaults and limits of a queue.
const (
	DefaultConcurrency = 10
	MaxConcurrency     = 10_000
)

// FirstQueues are the queues of a new database.
func FirstQueues() []Queue {
	return []Queue{
		{Name: DefaultQueue, Description: "Jobs that name no other queue", Concurrency: DefaultConcurrency},
		{Name: ChecksQueue, Description: "Monitors and other checks", Concurrency: 200, Priority: 50},
		{Name: SystemQueue, Description: "Belfry's own work, such as canary jobs", Concurrency: 5, Priority: 100},
	}
}

// WithDefaults fills what was left out.
func (q Queue) WithDefaults() Queue {
	q.Concurrency = or(q.Concurrency, DefaultConcurrency)
	return q
}

// Validate says everything that is wrong with a queue that has its defaults.
func (q Queue) Validate() error {
	var p problems
	checkName(&p, "name", q.Name)
	checkPriority(&p, q.Priority)
	if q.Concurrency < 1 || q.Concurrency > MaxConcurrency {
		p.addf("concurrency", q.Concurrency, "is outside 1 to %d", MaxConcurrency)
	}
	if q.GlobalLimit < 0 || q.GlobalLimit > 1_000_000 {
		p.addf("global_limit", q.GlobalLimit, "is outside 0 to 1000000")
	}
	if len(q.Description) > MaxDescription {
		p.addf("description", len(q.Description), "has more than %d bytes", MaxDescription)
	}
	return p.err(fmt.Sprintf("queue %q", q.Name))
}

// QueueStats is what a queue looks like now. Depths are counted up to
// [CountLimit] and no further.
type QueueStats struct {
	Queue
	Ready     int       `json:"ready" doc:"Jobs that could start now; 10001 means more than 10000"`
	Scheduled int       `json:"scheduled" doc:"Jobs for later; 10001 means more than 10000"`
	Running   int       `json:"running"`
	OldestAt  time.Time `json:"oldest_at,omitzero" doc:"Since when the oldest ready job waits"`
}

// CountLimit is how far Belfry counts rows for people: a number over it is
// shown as "more than".
const CountLimit = 10_000

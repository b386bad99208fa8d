package access

import (
	"fmt"
	"slices"
	"time"

	"github.com/belfry-run/belfry/core"
	"github.com/belfry-run/belfry/flow"
	"github.com/belfry-run/belfry/job"
	"github.com/belfry-run/belfry/task"
)

// Namespace has the limits that an admin of the installation sets for a namespace. Its zero
// value allows everything.
type Namespace struct {
	Name        string   `json:"name"`
	Queues      []string `json:"queues" doc:"Queues that its tasks and jobs may use; empty: all"`
	MaxPriority *int     `json:"max_priority,omitempty" minimum:"-1000" maximum:"1000" doc:"Highest priority of its tasks and jobs; default: no limit"`
	Quota       Quota    `json:"quota,omitzero" doc:"How much it may use; default: no limits"`

	Limits []flow.Limit `json:"limits,omitempty" maxItems:"4" doc:"How many of its jobs run at once or begin in a length of time, for each value of a key; default: no limits"`

	UpdatedAt time.Time `json:"updated_at,omitzero" readOnly:"true"`
	UpdatedBy string    `json:"updated_by,omitempty" readOnly:"true"`
}

// MaxNamespaceQueues bounds the queues that a namespace may be limited to.
const MaxNamespaceQueues = 100

// WithDefaults brings the queues into one order, each once.
func (n Namespace) WithDefaults() Namespace {
	n.Queues = slices.Clone(n.Queues)
	slices.Sort(n.Queues)
	n.Queues = slices.Compact(n.Queues)
	n.Quota = n.Quota.WithDefaults()
	n.Limits = flow.LimitsWithDefaults(n.Limits)
	return n
}

// Same reports that another state of the namespace allows the same.
func (n Namespace) Same(o Namespace) bool {
	return slices.Equal(n.Queues, o.Queues) && (n.MaxPriority == nil) == (o.MaxPriority == nil) && (n.MaxPriority == nil || *n.MaxPriority == *o.MaxPriority) && n.Quota == o.Quota && slices.Equal(n.Limits, o.Limits)
}

// Limited reports that something is not allowed.
func (n Namespace) Limited() bool {
	return len(n.Queues) > 0 || n.MaxPriority != nil || !n.Quota.IsZero() || len(n.Limits) > 0
}

// Validate returns everything that is wrong with the limits of a namespace.
func (n Namespace) Validate() error {
	var p core.Problems
	core.CheckName(&p, "name", n.Name)
	p.AtMost("queues", len(n.Queues), MaxNamespaceQueues)
	for _, q := range n.Queues {
		core.CheckName(&p, "queues", q)
		if q == task.ChecksQueue || q == job.SystemQueue {
			p.Add("queues", q, "is reserved", "leave it out; checks of monitors use the queue checks in every namespace")
		}
	}
	if n.MaxPriority != nil && (*n.MaxPriority < core.MinPriority || *n.MaxPriority > core.MaxPriority) {
		p.Addf("max_priority", *n.MaxPriority, "is outside %d to %d", core.MinPriority, core.MaxPriority)
	}
	n.Quota.Check(&p)
	flow.CheckLimits(&p, n.Limits)
	return p.Err(fmt.Sprintf("namespace %q", n.Name))
}

// AllowQueue refuses a queue that jobs of a task may not use here. Checks of
// monitors always have the queue that is theirs.
func (n Namespace) AllowQueue(queue, t string) error {
	if len(n.Queues) == 0 || slices.Contains(n.Queues, queue) {
		return nil
	}
	if _, owned := task.OwnerOf(t); owned && queue == task.ChecksQueue {
		return nil
	}
	return core.InvalidField("queue", queue, fmt.Sprintf("is not allowed in namespace %q", n.Name),
		"use "+anyOf(n.Queues)+", or ask an admin of the installation: belfry namespace set "+n.Name+" --queue "+queue)
}

// AllowPriority refuses a priority that is too high here.
func (n Namespace) AllowPriority(priority int) error {
	if n.MaxPriority == nil || priority <= *n.MaxPriority {
		return nil
	}
	return core.InvalidField("priority", fmt.Sprint(priority), fmt.Sprintf("must be at most %d in namespace %q", *n.MaxPriority, n.Name),
		fmt.Sprintf("lower it, or ask an admin of the installation: belfry namespace set %s --max-priority %d", n.Name, priority))
}

// anyOf lists some names and says how many more there are.
func anyOf(names []string) string {
	const shown = 5
	text := ""
	for i, name := range names[:min(len(names), shown)] {
		if i > 0 {
			text += " or "
		}
		text += name
	}
	if more := len(names) - shown; more > 0 {
		text += fmt.Sprintf(" or one of %d more", more)
	}
	return text
}

// Version names a state of the namespace's limits; it is empty without any.
func (n Namespace) Version() string { return core.Version(0, n.UpdatedAt) }

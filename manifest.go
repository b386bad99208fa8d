package belfry

import (
	"fmt"
	"time"
)

// Manifest is a set of definitions as one file holds it. Applying it is one
// transaction: all of it, or nothing.
type Manifest struct {
	Queues    []Queue    `json:"queues,omitempty"`
	Calendars []Calendar `json:"calendars,omitempty"`
	Tasks     []Task     `json:"tasks,omitempty"`
	Schedules []Schedule `json:"schedules,omitempty"`
}

// MaxManifest bounds the definitions in one manifest.
const MaxManifest = 100_000

// WithDefaults fills what was left out, and gives what names no namespace the
// given one.
func (m Manifest) WithDefaults(namespace string) Manifest {
	var out Manifest
	for _, q := range m.Queues {
		out.Queues = append(out.Queues, q.WithDefaults())
	}
	for _, c := range m.Calendars {
		c.Namespace = or(c.Namespace, namespace)
		out.Calendars = append(out.Calendars, c.WithDefaults())
	}
	for _, t := range m.Tasks {
		t.Namespace = or(t.Namespace, namespace)
		out.Tasks = append(out.Tasks, t.WithDefaults())
	}
	for _, s := range m.Schedules {
		s.Namespace = or(s.Namespace, namespace)
		out.Schedules = append(out.Schedules, s.WithDefaults())
	}
	return out
}

// Validate says everything that is wrong inside the manifest, without regard
// to the time and to what exists: that a schedule can never run again, or names
// a task which exists nowhere, is found when it is applied. A manifest with a
// schedule that has run its course can so be applied again.
func (m Manifest) Validate() error {
	var p problems
	if n := len(m.Queues) + len(m.Calendars) + len(m.Tasks) + len(m.Schedules); n > MaxManifest {
		p.addf("manifest", n, "has more than %d definitions", MaxManifest)
		return p.err("manifest")
	}
	seen := map[string]bool{}
	once := func(path, key string) {
		if seen[key] {
			p.add(path, key, "is defined twice", "")
		}
		seen[key] = true
	}
	for i, q := range m.Queues {
		path := fmt.Sprintf("queues[%d]", i)
		once(path, "queue "+q.Name)
		p.nest(path, q.Validate())
	}
	for i, c := range m.Calendars {
		path := fmt.Sprintf("calendars[%d]", i)
		once(path, "calendar "+c.Namespace+"/"+c.Name)
		p.nest(path, c.Validate())
	}
	for i, t := range m.Tasks {
		path := fmt.Sprintf("tasks[%d]", i)
		once(path, "task "+t.Namespace+"/"+t.Name)
		p.nest(path, t.Validate())
	}
	for i, s := range m.Schedules {
		path := fmt.Sprintf("schedules[%d]", i)
		once(path, "schedule "+s.Namespace+"/"+s.Name)
		p.nest(path, s.Validate(time.Time{}))
	}
	return p.err("manifest")
}

// Change is one line of the plan of an apply.
type Change struct {
	Action    Action   `json:"action" enum:"create,update,delete,keep"`
	Noun      string   `json:"noun" enum:"queue,calendar,task,schedule"`
	Namespace string   `json:"namespace,omitempty"`
	Name      string   `json:"name"`
	Fields    []string `json:"fields,omitempty" doc:"For an update: what differs, as field: before -> after"`
}

// Action is what an apply does to one definition.
type Action string

// Deletes happen only when asked for with prune.
const (
	ActionCreate Action = "create"
	ActionUpdate Action = "update"
	ActionDelete Action = "delete"
	ActionKeep   Action = "keep"
)

// Applied is the answer to an apply.
type Applied struct {
	Changes []Change `json:"changes"`
	DryRun  bool     `json:"dry_run,omitempty"`
}

// ApplyOptions says how to apply a manifest.
type ApplyOptions struct {
	Namespace string `json:"namespace,omitempty" doc:"For definitions that name none, and the one that prune is about; default: default"`
	DryRun    bool   `json:"dry_run,omitempty" doc:"Only say what would change"`
	Prune     bool   `json:"prune,omitempty" doc:"Delete calendars, tasks and schedules of the namespace that the manifest does not name"`
}

package view

import (
	"slices"

	"github.com/belfry-run/belfry/core"
	"github.com/belfry-run/belfry/task"
)

// Named lists objects of one namespace by name, to query their titles. Queues belong to all namespaces.
type Named struct {
	Namespace                          string
	Tasks, Schedules, Monitors, Queues []string
	Channels, AlertRules, Hooks        []string
}

// MaxTitles is the most names of each noun in a [Named].
const MaxTitles = 200

// Task adds a task, or the monitor that owns it.
func (n *Named) Task(name string) {
	if owner, owned := task.OwnerOf(name); owned {
		n.Monitors = append(n.Monitors, owner)
		return
	}
	n.Tasks = append(n.Tasks, name)
}

// Schedule adds a schedule, or the monitor that owns it.
func (n *Named) Schedule(name string) {
	if owner, owned := task.OwnerOf(name); owned {
		n.Monitors = append(n.Monitors, owner)
		return
	}
	n.Schedules = append(n.Schedules, name)
}

// Validate returns the problems of the query as one error, or nil.
func (n Named) Validate() error {
	var p core.Problems
	for _, names := range []struct {
		field string
		of    []string
	}{{"task", n.Tasks}, {"schedule", n.Schedules}, {"monitor", n.Monitors}, {"queue", n.Queues}, {"channel", n.Channels}, {"alert_rule", n.AlertRules}, {"hook", n.Hooks}} {
		p.AtMost(names.field, len(names.of), MaxTitles)
	}
	return p.Err("titles")
}

// Title is the display title of an object.
type Title struct {
	Noun  string `json:"noun" enum:"task,schedule,monitor,queue,channel,alert_rule,hook"`
	Name  string `json:"name"`
	Title string `json:"title"`
}

// Titles are the titles of objects of one namespace. Objects without a title are left out.
type Titles []Title

func (t Titles) of(noun, name string) string {
	if i := slices.IndexFunc(t, func(o Title) bool { return o.Noun == noun && o.Name == name }); i >= 0 {
		return t[i].Title
	}
	return ""
}

// Task returns the title of a task, or of the monitor that owns it; "" if none.
func (t Titles) Task(name string) string {
	if owner, owned := task.OwnerOf(name); owned {
		return t.Monitor(owner)
	}
	return t.of("task", name)
}

// Schedule returns the title of a schedule, or of the monitor that owns it; "" if none.
func (t Titles) Schedule(name string) string {
	if owner, owned := task.OwnerOf(name); owned {
		return t.Monitor(owner)
	}
	return t.of("schedule", name)
}

// Monitor returns the title of a monitor; "" if none.
func (t Titles) Monitor(name string) string { return t.of("monitor", name) }

// Queue returns the title of a queue; "" if none.
func (t Titles) Queue(name string) string { return t.of("queue", name) }

// Channel returns the title of a channel; "" if none.
func (t Titles) Channel(name string) string { return t.of("channel", name) }

// AlertRule returns the title of an alert rule; "" if none.
func (t Titles) AlertRule(name string) string { return t.of("alert_rule", name) }

// Hook returns the title of a hook; "" if none.
func (t Titles) Hook(name string) string { return t.of("hook", name) }

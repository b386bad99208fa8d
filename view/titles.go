package view

import (
	"slices"

	"github.com/belfry-run/belfry/core"
	"github.com/belfry-run/belfry/task"
)

// Named are things of one namespace whose titles are asked for, by name. Queues belong to all namespaces.
type Named struct {
	Namespace                          string
	Tasks, Schedules, Monitors, Queues []string
}

// MaxTitles bounds the names of each noun in a [Named].
const MaxTitles = 200

// Task asks for the title of a task, or of the monitor that owns it.
func (n *Named) Task(name string) {
	if owner, owned := task.OwnerOf(name); owned {
		n.Monitors = append(n.Monitors, owner)
		return
	}
	n.Tasks = append(n.Tasks, name)
}

// Schedule asks for the title of a schedule, or of the monitor that owns it.
func (n *Named) Schedule(name string) {
	if owner, owned := task.OwnerOf(name); owned {
		n.Monitors = append(n.Monitors, owner)
		return
	}
	n.Schedules = append(n.Schedules, name)
}

// Validate says what is wrong with it.
func (n Named) Validate() error {
	var p core.Problems
	for _, names := range []struct {
		field string
		of    []string
	}{{"task", n.Tasks}, {"schedule", n.Schedules}, {"monitor", n.Monitors}, {"queue", n.Queues}} {
		if len(names.of) > MaxTitles {
			p.Addf(names.field, len(names.of), "has more than %d names", MaxTitles)
		}
	}
	return p.Err("titles")
}

// Title is what people call a thing.
type Title struct {
	Noun  string `json:"noun" enum:"task,schedule,monitor,queue"`
	Name  string `json:"name"`
	Title string `json:"title"`
}

// Titles are those of things of one namespace. A thing without one is left out.
type Titles []Title

func (t Titles) of(noun, name string) string {
	if i := slices.IndexFunc(t, func(o Title) bool { return o.Noun == noun && o.Name == name }); i >= 0 {
		return t[i].Title
	}
	return ""
}

// Task is the title of a task, or of the monitor that owns it; empty: none.
func (t Titles) Task(name string) string {
	if owner, owned := task.OwnerOf(name); owned {
		return t.Monitor(owner)
	}
	return t.of("task", name)
}

// Schedule is the title of a schedule, or of the monitor that owns it; empty: none.
func (t Titles) Schedule(name string) string {
	if owner, owned := task.OwnerOf(name); owned {
		return t.Monitor(owner)
	}
	return t.of("schedule", name)
}

// Monitor is the title of a monitor; empty: none.
func (t Titles) Monitor(name string) string { return t.of("monitor", name) }

// Queue is the title of a queue; empty: none.
func (t Titles) Queue(name string) string { return t.of("queue", name) }

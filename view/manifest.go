package view

import (
	"fmt"
	"time"

	"github.com/belfry-run/belfry/alert"
	"github.com/belfry-run/belfry/core"
	"github.com/belfry-run/belfry/hook"
	"github.com/belfry-run/belfry/job"
	"github.com/belfry-run/belfry/monitor"
	"github.com/belfry-run/belfry/public"
	"github.com/belfry-run/belfry/schedule"
	"github.com/belfry-run/belfry/task"
)

// Manifest is a set of definitions in one file. An apply is one transaction: all of
// it, or nothing.
type Manifest struct {
	Queues      []job.Queue         `json:"queues,omitempty"`
	Calendars   []schedule.Calendar `json:"calendars,omitempty"`
	Tasks       []task.Task         `json:"tasks,omitempty"`
	Schedules   []schedule.Schedule `json:"schedules,omitempty"`
	Channels    []alert.Channel     `json:"channels,omitempty"`
	AlertRules  []alert.Rule        `json:"alert_rules,omitempty"`
	Hooks       []hook.Hook         `json:"hooks,omitempty"`
	Monitors    []monitor.Monitor   `json:"monitors,omitempty"`
	Windows     []monitor.Window    `json:"windows,omitempty"`
	StatusPages []public.StatusPage `json:"status_pages,omitempty"`
}

// MaxManifest is the most definitions in one manifest, and MaxApply the most that
// one apply changes in its transaction.
const (
	MaxManifest = 100_000
	MaxApply    = 10_000
)

// Only returns the definitions of the manifest whose [Change.Key] is in keys.
func (m Manifest) Only(keys []string) Manifest {
	in := make(map[string]bool, len(keys))
	for _, k := range keys {
		in[k] = true
	}
	return Manifest{
		Queues: only(m.Queues, in, func(v job.Queue) Change { return Change{Noun: "queue", Name: v.Name} }),
		Calendars: only(m.Calendars, in, func(v schedule.Calendar) Change {
			return Change{Noun: "calendar", Namespace: v.Namespace, Name: v.Name}
		}),
		Tasks: only(m.Tasks, in, func(v task.Task) Change { return Change{Noun: "task", Namespace: v.Namespace, Name: v.Name} }),
		Schedules: only(m.Schedules, in, func(v schedule.Schedule) Change {
			return Change{Noun: "schedule", Namespace: v.Namespace, Name: v.Name}
		}),
		Channels:   only(m.Channels, in, func(v alert.Channel) Change { return Change{Noun: "channel", Namespace: v.Namespace, Name: v.Name} }),
		AlertRules: only(m.AlertRules, in, func(v alert.Rule) Change { return Change{Noun: "alert_rule", Namespace: v.Namespace, Name: v.Name} }),
		Hooks:      only(m.Hooks, in, func(v hook.Hook) Change { return Change{Noun: "hook", Namespace: v.Namespace, Name: v.Name} }),
		Monitors:   only(m.Monitors, in, func(v monitor.Monitor) Change { return Change{Noun: "monitor", Namespace: v.Namespace, Name: v.Name} }),
		Windows:    only(m.Windows, in, func(v monitor.Window) Change { return Change{Noun: "window", Namespace: v.Namespace, Name: v.Name} }),
		StatusPages: only(m.StatusPages, in, func(v public.StatusPage) Change {
			return Change{Noun: "status_page", Namespace: v.Namespace, Name: v.Name}
		}),
	}
}

func only[T any](all []T, keys map[string]bool, line func(T) Change) (out []T) {
	for _, v := range all {
		if keys[line(v).Key()] {
			out = append(out, v)
		}
	}
	return out
}

// WithDefaults returns a copy with the defaults of empty fields. Definitions
// without a namespace get the given one.
func (m Manifest) WithDefaults(namespace string) Manifest {
	var out Manifest
	for _, q := range m.Queues {
		out.Queues = append(out.Queues, q.WithDefaults())
	}
	for _, c := range m.Calendars {
		c.Namespace = core.Or(c.Namespace, namespace)
		out.Calendars = append(out.Calendars, c.WithDefaults())
	}
	for _, t := range m.Tasks {
		t.Namespace = core.Or(t.Namespace, namespace)
		out.Tasks = append(out.Tasks, t.WithDefaults())
	}
	for _, s := range m.Schedules {
		s.Namespace = core.Or(s.Namespace, namespace)
		out.Schedules = append(out.Schedules, s.WithDefaults())
	}
	for _, c := range m.Channels {
		c.Namespace = core.Or(c.Namespace, namespace)
		out.Channels = append(out.Channels, c.WithDefaults())
	}
	for _, a := range m.AlertRules {
		a.Namespace = core.Or(a.Namespace, namespace)
		out.AlertRules = append(out.AlertRules, a.WithDefaults())
	}
	for _, h := range m.Hooks {
		h.Namespace = core.Or(h.Namespace, namespace)
		out.Hooks = append(out.Hooks, h.WithDefaults())
	}
	for _, o := range m.Monitors {
		o.Namespace = core.Or(o.Namespace, namespace)
		out.Monitors = append(out.Monitors, o.WithDefaults())
	}
	for _, w := range m.Windows {
		w.Namespace = core.Or(w.Namespace, namespace)
		out.Windows = append(out.Windows, w.WithDefaults())
	}
	for _, s := range m.StatusPages {
		s.Namespace = core.Or(s.Namespace, namespace)
		out.StatusPages = append(out.StatusPages, s.WithDefaults())
	}
	return out
}

// Count returns the number of definitions of the manifest.
func (m Manifest) Count() int {
	return len(m.Queues) + len(m.Calendars) + len(m.Tasks) + len(m.Schedules) +
		len(m.Channels) + len(m.AlertRules) + len(m.Hooks) + len(m.Monitors) + len(m.Windows) + len(m.StatusPages)
}

// Validate returns the problems inside the manifest as one error, or nil. It ignores
// the time and existing definitions: the apply finds a schedule that can never run
// again or whose task does not exist. So a manifest with a completed schedule can
// be applied again.
func (m Manifest) Validate() error {
	var p core.Problems
	if n := m.Count(); n > MaxManifest {
		p.Addf("manifest", n, "has more than %d definitions", MaxManifest)
		return p.Err("manifest")
	}
	seen := map[string]bool{}
	check := func(list string, i int, key string, err error) {
		path := fmt.Sprintf("%s[%d]", list, i)
		if seen[key] {
			p.Add(path, key, "is defined twice", "")
		}
		seen[key] = true
		p.Nest(path, err)
	}
	for i, q := range m.Queues {
		check("queues", i, "queue "+q.Name, q.Validate())
	}
	for i, c := range m.Calendars {
		check("calendars", i, "calendar "+c.Namespace+"/"+c.Name, c.Validate())
	}
	for i, t := range m.Tasks {
		check("tasks", i, "task "+t.Namespace+"/"+t.Name, t.Validate())
	}
	for i, s := range m.Schedules {
		check("schedules", i, "schedule "+s.Namespace+"/"+s.Name, s.Validate(time.Time{}))
	}
	for i, c := range m.Channels {
		check("channels", i, "channel "+c.Namespace+"/"+c.Name, c.Validate(time.Time{}))
	}
	for i, a := range m.AlertRules {
		check("alert_rules", i, "alert rule "+a.Namespace+"/"+a.Name, a.Validate(time.Time{}))
	}
	for i, h := range m.Hooks {
		check("hooks", i, "hook "+h.Namespace+"/"+h.Name, h.Validate(time.Time{}))
	}
	for i, o := range m.Monitors {
		check("monitors", i, "monitor "+o.Namespace+"/"+o.Name, o.Validate(time.Time{}))
	}
	for i, w := range m.Windows {
		check("windows", i, "window "+w.Namespace+"/"+w.Name, w.Validate(time.Time{}))
	}
	for i, s := range m.StatusPages {
		check("status_pages", i, "status page "+s.Namespace+"/"+s.Name, s.Validate(time.Time{}))
	}
	return p.Err("manifest")
}

// Change is one line in the plan of an apply.
type Change struct {
	Action    Action   `json:"action" enum:"create,update,delete,keep"`
	Noun      string   `json:"noun" enum:"queue,calendar,task,schedule,channel,alert_rule,hook,monitor,window,status_page"`
	Namespace string   `json:"namespace,omitempty"`
	Name      string   `json:"name"`
	Fields    []string `json:"fields,omitempty" doc:"For an update: what differs, as field: before -> after"`
}

// Key returns the key of the definition of this line.
func (c Change) Key() string { return c.Noun + "/" + c.Namespace + "/" + c.Name }

// Action is what an apply does to one definition.
type Action string

// The actions. Deletes happen only with prune.
const (
	ActionCreate Action = "create"
	ActionUpdate Action = "update"
	ActionDelete Action = "delete"
	ActionKeep   Action = "keep"
)

// Applied is the result of an apply.
type Applied struct {
	Changes []Change `json:"changes"`
	DryRun  bool     `json:"dry_run,omitempty"`
}

// ApplyOptions sets how to apply a manifest.
type ApplyOptions struct {
	Namespace string `json:"namespace,omitempty" doc:"For definitions that name none, and the one that prune is about; default: default"`
	DryRun    bool   `json:"dry_run,omitempty" doc:"Only say what would change"`
	Prune     bool   `json:"prune,omitempty" doc:"Delete what the namespace has and the manifest does not name"`

	// CompareSecrets makes a dry run compare the secrets of the manifest with the
	// stored ones. Without it each secret counts as changed, so that a person who may
	// not read a secret cannot verify guesses. An apply always compares.
	CompareSecrets bool `json:"-"`
}

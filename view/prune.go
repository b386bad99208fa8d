package view

import (
	"slices"

	"github.com/belfry-run/belfry/core"
)

// CheckPrune refuses to prune by a manifest without definitions in the namespace, because that would delete everything there.
// The usual cause is a failed template. Queues do not count, as they belong to no namespace.
func (m Manifest) CheckPrune(o ApplyOptions) error {
	o.Namespace = core.Or(o.Namespace, core.DefaultNamespace)
	m = m.WithDefaults(o.Namespace)
	if !o.Prune || definesIn(o.Namespace, m) {
		return nil
	}
	return core.InvalidField("prune", "", "would delete everything in namespace "+o.Namespace+": the manifest names nothing that is to stay", "name what is to stay")
}

func definesIn(namespace string, m Manifest) bool {
	var all []string
	add := func(n int, of func(i int) string) {
		for i := range n {
			all = append(all, of(i))
		}
	}
	add(len(m.Calendars), func(i int) string { return m.Calendars[i].Namespace })
	add(len(m.Tasks), func(i int) string { return m.Tasks[i].Namespace })
	add(len(m.Schedules), func(i int) string { return m.Schedules[i].Namespace })
	add(len(m.Channels), func(i int) string { return m.Channels[i].Namespace })
	add(len(m.AlertRules), func(i int) string { return m.AlertRules[i].Namespace })
	add(len(m.Hooks), func(i int) string { return m.Hooks[i].Namespace })
	add(len(m.Monitors), func(i int) string { return m.Monitors[i].Namespace })
	add(len(m.Windows), func(i int) string { return m.Windows[i].Namespace })
	add(len(m.StatusPages), func(i int) string { return m.StatusPages[i].Namespace })
	return slices.Contains(all, namespace)
}

// Package logged writes values of workers for logs.
package logged

import (
	"log/slog"
	"maps"
	"slices"
)

// Queues are the slots of queues, in the order of their names. A log would write the map as Go does.
func Queues(slots map[string]int) slog.Value {
	all := make([]slog.Attr, 0, len(slots))
	for _, name := range slices.Sorted(maps.Keys(slots)) {
		all = append(all, slog.Int(name, slots[name]))
	}
	return slog.GroupValue(all...)
}

// Package logged formats values of workers for logs. Only logs use its texts;
// they are not parsed.
package logged

import (
	"log/slog"
	"maps"
	"slices"
)

// Queues formats the slots of queues in the order of their names. slog would print the map in Go syntax.
func Queues(slots map[string]int) slog.Value {
	all := make([]slog.Attr, 0, len(slots))
	for _, name := range slices.Sorted(maps.Keys(slots)) {
		all = append(all, slog.Int(name, slots[name]))
	}
	return slog.GroupValue(all...)
}

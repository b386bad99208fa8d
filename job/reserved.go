package job

import (
	"github.com/belfry-run/belfry/core"
	"github.com/belfry-run/belfry/task"
)

// CheckReserved returns an error if a task of a user names a reserved queue:
// checks is for checks of monitors, and system for Belfry's own work. Otherwise
// a namespace could occupy the slots of the checks of all namespaces. A canary
// may use every queue.
func CheckReserved(queue, t string, kind task.Kind) error {
	if t == task.CanaryTask {
		if kind != "" && kind != task.KindFunc {
			return core.InvalidField("name", t, "is reserved for canary jobs of Belfry", "choose another name")
		}
		return nil
	}
	switch _, owned := task.OwnerOf(t); {
	case queue == task.ChecksQueue && !owned:
		return core.InvalidField("queue", queue, "is reserved for checks of monitors", "leave it out, or create a queue: belfry queue create NAME")
	case queue == SystemQueue:
		return core.InvalidField("queue", queue, "is reserved for Belfry's own work", "leave it out, or create a queue: belfry queue create NAME")
	}
	return nil
}

package job

import (
	"github.com/belfry-run/belfry/core"
	"github.com/belfry-run/belfry/task"
)

// CheckReserved refuses a queue of Belfry's own to a task that is not: checks
// is for those of monitors, and system for its own work. A canary may go to
// each queue. A namespace could otherwise hold the slots of everybody's checks.
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

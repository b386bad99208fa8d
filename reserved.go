package belfry

// CanaryTask is the name of the task of kind func that every worker of Belfry
// handles. A job of it proves that its queue is alive from end to end.
const CanaryTask = "belfry.canary"

// CheckReserved refuses a queue of Belfry's own to a task that is not: checks
// is for those of monitors, and system for its own work. A canary may go to
// each queue. A namespace could otherwise hold the slots of everybody's checks.
func CheckReserved(queue, task string, kind Kind) error {
	if task == CanaryTask {
		if kind != "" && kind != KindFunc {
			return InvalidField("name", task, "is reserved for canary jobs of Belfry", "choose another name")
		}
		return nil
	}
	switch _, owned := OwnerOf(task); {
	case queue == ChecksQueue && !owned:
		return InvalidField("queue", queue, "is reserved for checks of monitors", "leave it out, or create a queue: belfry queue create NAME")
	case queue == SystemQueue:
		return InvalidField("queue", queue, "is reserved for Belfry's own work", "leave it out, or create a queue: belfry queue create NAME")
	}
	return nil
}

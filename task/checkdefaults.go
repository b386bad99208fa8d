package task

import (
	"time"

	"github.com/belfry-run/belfry/core"
)

const DefaultCheckTimeout = core.Duration(10 * time.Second)

// owned is how a name of what belongs to a monitor begins. No name that a
// person gives can hold the colon.
const owned = "monitor:"

// OwnedName is the name of the task and of the schedule that belong to a
// monitor.
func OwnedName(monitor string) string { return owned + monitor }

// OwnerOf is the monitor that a task or schedule of this name belongs to.
func OwnerOf(name string) (monitor string, isOwned bool) {
	if len(name) > len(owned) && name[:len(owned)] == owned {
		return name[len(owned):], true
	}
	return "", false
}

// CheckDefaults are a task's, with those of a check: it is quick, and what
// failed is looked at again by the monitor and not by the queue.
func (t Task) CheckDefaults() Task {
	t.Queue = core.Or(t.Queue, ChecksQueue)
	t.Timeout = core.Or(t.Timeout, DefaultCheckTimeout)
	t.Retry = Retry{MaxAttempts: 1, OnLost: OnLostFail}
	t = t.WithDefaults()
	t.Namespace = ""
	return t
}

package task

import (
	"time"

	"github.com/belfry-run/belfry/core"
)

const DefaultCheckTimeout = core.Duration(10 * time.Second)

// owned is the prefix of names of tasks and schedules of monitors. Names of users
// cannot contain the colon.
const owned = "monitor:"

// OwnedName returns the name of the task and schedule of a monitor.
func OwnedName(monitor string) string { return owned + monitor }

// OwnerOf returns the monitor that owns the task or schedule of this name, if one
// does.
func OwnerOf(name string) (monitor string, isOwned bool) {
	if len(name) > len(owned) && name[:len(owned)] == owned {
		return name[len(owned):], true
	}
	return "", false
}

// CheckDefaults returns the task with the defaults of a check: a short timeout and
// no retries by the queue, because the monitor repeats failed checks.
func (t Task) CheckDefaults() Task {
	t.Queue = core.Or(t.Queue, ChecksQueue)
	t.Timeout = core.Or(t.Timeout, DefaultCheckTimeout)
	t.Retry = Retry{MaxAttempts: 1, OnLost: OnLostFail}
	t = t.WithDefaults()
	t.Namespace = ""
	return t
}

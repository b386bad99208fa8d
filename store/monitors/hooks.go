package monitors

import (
	"github.com/belfry-run/belfry/alert"
	"github.com/belfry-run/belfry/monitor"
)

// Hooks are the actions of other packages within the transitions of monitors.
type Hooks struct {
	// Tell writes notifications about a monitor.
	Tell func(c *Change, m monitor.Monitor, notifications []alert.Notification, incident int64) error
	// Dropped notifies of an incident that was closed while its target was down, because the monitor was paused, deleted, or
	// pointed at another target.
	Dropped func(c *Change, m monitor.Monitor, end monitor.IncidentEnd) error
}

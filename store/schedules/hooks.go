package schedules

import (
	"github.com/belfry-run/belfry/schedule"
)

// Hooks are the actions of other packages within the transitions of schedules and calendars.
type Hooks struct {
	// Missed notifies of a nominal time that will never run, if the alert rules ask for it.
	Missed func(c *Change, s schedule.Schedule, o schedule.Occurrence) error
	// Changed records that a schedule was paused, resumed or completed. event is the type of the change.
	Changed func(c *Change, s schedule.Schedule, event string) error
	// CalendarSaved schedules another look at everything that waits for a calendar.
	CalendarSaved func(c *Change, cal schedule.Calendar) error
	// CalendarFree rejects the deletion of a calendar that is referenced by something other than a schedule.
	CalendarFree func(c *Change, cal schedule.Calendar) error
}

package schedules

import (
	"github.com/belfry-run/belfry/schedule"
)

// Hooks are what other rooms do within the transitions of schedules and calendars.
type Hooks struct {
	// Missed tells people of a nominal time that will never run, if they want to know.
	Missed func(c *Change, s schedule.Schedule, o schedule.Occurrence) error
	// Changed records that a schedule was paused, was resumed or is completed; event is its type.
	Changed func(c *Change, s schedule.Schedule, event string) error
	// CalendarSaved has looked at again what waits for a calendar.
	CalendarSaved func(c *Change, cal schedule.Calendar) error
	// CalendarFree refuses to delete a calendar that is named by what has no schedule.
	CalendarFree func(c *Change, cal schedule.Calendar) error
}

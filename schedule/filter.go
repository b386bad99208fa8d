package schedule

import (
	"github.com/belfry-run/belfry/core"
)

// Filter selects schedules, by name.
type Filter struct {
	core.Paging
	Namespace string // * for all
	State     State
	Task      string
	Tag       string // a tag of the task
	Part      string // a part of the name or title, ignoring case
}

// MaxLooked is the most schedules that are read for one page of a filter without
// an index: by a part of the name, by a task among paused schedules, or by a tag
// of more than 20 tasks.
const MaxLooked = 50_000

// OccurrenceFilter selects occurrences of one schedule, newest first.
type OccurrenceFilter struct {
	core.Paging
	Namespace string
	Schedule  string
	Decision  Decision
}

// CalendarFilter selects calendars, by name.
type CalendarFilter struct {
	core.Paging
	Namespace string // * for all
	Part      string // part of the name or title, ignoring case
}

// BackfillFilter selects backfills, newest first.
type BackfillFilter struct {
	core.Paging
	Namespace string // * for all
	Schedule  string
}

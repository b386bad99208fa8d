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
	Tag       string // of the task
	Part      string // of the name or title, whatever its case
}

// MaxLooked is how many schedules are looked at for one page of a filter that
// no index answers: by a part of the name, by a task among those that are
// paused, by a tag that more than 20 tasks have.
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
}

// BackfillFilter selects backfills, newest first.
type BackfillFilter struct {
	core.Paging
	Namespace string // * for all
	Schedule  string
}

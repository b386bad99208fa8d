package schedules

import (
	"context"

	"github.com/belfry-run/belfry/core"
	"github.com/belfry-run/belfry/job"
	"github.com/belfry-run/belfry/schedule"
)

// Schedules stores schedules.
type Schedules interface {
	CreateSchedule(ctx context.Context, s schedule.Schedule) (schedule.Schedule, error)
	UpdateSchedule(ctx context.Context, s schedule.Schedule) (schedule.Schedule, error)
	DeleteSchedule(ctx context.Context, namespace, name string) error
	Schedule(ctx context.Context, namespace, name string) (schedule.Schedule, error)
	Schedules(ctx context.Context, f schedule.Filter) (core.Page[schedule.Schedule], error)
	PauseSchedule(ctx context.Context, namespace, name, reason string) (schedule.Schedule, error)
	ResumeSchedule(ctx context.Context, namespace, name string, catchUp bool) (schedule.Schedule, error)
	// TriggerSchedule creates a job now, in addition to the schedule. A nil input
	// means the schedule's own.
	TriggerSchedule(ctx context.Context, namespace, name string, r job.RunNow) (job.Enqueued, error)
	Occurrences(ctx context.Context, f schedule.OccurrenceFilter) (core.Page[schedule.Occurrence], error)
}

// Calendars stores calendars, which restrict the times of schedules.
type Calendars interface {
	// SaveCalendar creates or replaces a calendar.
	SaveCalendar(ctx context.Context, c schedule.Calendar) (schedule.Calendar, error)
	DeleteCalendar(ctx context.Context, namespace, name string) error
	Calendar(ctx context.Context, namespace, name string) (schedule.Calendar, error)
	Calendars(ctx context.Context, f schedule.CalendarFilter) (core.Page[schedule.Calendar], error)
}

// Backfills runs past nominal times.
type Backfills interface {
	StartBackfill(ctx context.Context, b schedule.Backfill) (schedule.Backfill, error)
	// SetBackfill pauses (paused), resumes (active) or cancels (canceled) a backfill.
	SetBackfill(ctx context.Context, namespace string, id int64, state schedule.BackfillState) (schedule.Backfill, error)
	Backfill(ctx context.Context, namespace string, id int64) (schedule.Backfill, error)
	Backfills(ctx context.Context, f schedule.BackfillFilter) (core.Page[schedule.Backfill], error)
}

// Lookout returns the upcoming times of schedules.
type Lookout interface {
	Look(ctx context.Context, q schedule.LookQuery) (schedule.Look, error)
	Upcoming(ctx context.Context, a schedule.Ahead) ([]schedule.Coming, error)
	Forecast(ctx context.Context, a schedule.Ahead) (schedule.Forecast, error)
}

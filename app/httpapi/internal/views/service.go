package views

import (
	"context"
	"time"

	"github.com/belfry-run/belfry/job"
	"github.com/belfry-run/belfry/view"
)

// History returns statistics over time.
type History interface {
	// Overview returns the present state of all nouns in one answer.
	Overview(ctx context.Context, namespace string) (view.Overview, error)
	// JobMinutes returns the ended jobs of each of the last minutes, oldest first.
	JobMinutes(ctx context.Context, q job.MinuteQuery) ([]job.MinuteTotals, error)
	// QueueSamples returns the numbers of waiting jobs of queues over time.
	QueueSamples(ctx context.Context, q job.SampleQuery) (job.Samples, error)
	// Strips returns the recent occurrences of schedules. Unknown names are left out.
	Strips(ctx context.Context, q view.StripQuery) ([]view.Strip, error)
	// ScheduleDays returns the results of a schedule by day, in its zone.
	ScheduleDays(ctx context.Context, q view.DaysQuery) (view.ScheduleDays, error)
	// TaskDays returns the results of the jobs of tasks by day, in UTC.
	TaskDays(ctx context.Context, q view.TaskDaysQuery) (view.TaskDaysFound, error)
	// Titles returns the display titles of named objects of one namespace, without objects that have none.
	Titles(ctx context.Context, q view.Named) (view.Titles, error)
}

// Watcher returns events since a cursor. An empty cursor means from now on.
// Events can be lost: after a gap, a watcher must read its objects again.
type Watcher interface {
	Events(ctx context.Context, namespace, cursor string, wait time.Duration) ([]view.Event, string, error)
}

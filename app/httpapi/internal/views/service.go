package views

import (
	"context"
	"time"

	"github.com/belfry-run/belfry/job"
	"github.com/belfry-run/belfry/view"
)

// History says what became of things over time.
type History interface {
	// Overview is the state of things in one answer.
	Overview(ctx context.Context, namespace string) (view.Overview, error)
	// JobMinutes says what ended in each of the last minutes, oldest first.
	JobMinutes(ctx context.Context, q job.MinuteQuery) ([]job.MinuteTotals, error)
	// QueueSamples says how many jobs waited in queues over time.
	QueueSamples(ctx context.Context, q job.SampleQuery) (job.Samples, error)
	// Strips says how schedules went lately. Names that are none are left out.
	Strips(ctx context.Context, q view.StripQuery) ([]view.Strip, error)
	// ScheduleDays says what became of a schedule's runs, day by day in its zone.
	ScheduleDays(ctx context.Context, q view.DaysQuery) (view.ScheduleDays, error)
	// TaskDays says what became of the jobs of tasks, day by day in UTC.
	TaskDays(ctx context.Context, q view.TaskDaysQuery) (view.TaskDaysFound, error)
	// Titles are the display titles of named things of one namespace. A thing without one is left out.
	Titles(ctx context.Context, q view.Named) (view.Titles, error)
}

// Watcher tells what changed since a cursor. An empty cursor means from now
// on. Answers are hints: after a gap a watcher reads what it shows again.
type Watcher interface {
	Events(ctx context.Context, namespace, cursor string, wait time.Duration) ([]view.Event, string, error)
}

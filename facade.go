package belfry

import (
	"github.com/belfry-run/belfry/alert"
	"github.com/belfry-run/belfry/core"
	"github.com/belfry-run/belfry/job"
	"github.com/belfry-run/belfry/monitor"
	"github.com/belfry-run/belfry/schedule"
	"github.com/belfry-run/belfry/task"
	"github.com/belfry-run/belfry/view"
)

// The names that a program which embeds Belfry writes most. Each is the type of the package
// that it names; the rest of that package is used from there.
type (
	Task    = task.Task
	Kind    = task.Kind
	Retry   = task.Retry
	Command = task.Command
	HTTP    = task.HTTP
	Cycle   = task.Cycle
	Member  = task.Member

	Schedule = schedule.Schedule
	Rule     = schedule.Rule
	Calendar = schedule.Calendar
	Overlap  = schedule.Overlap
	Catchup  = schedule.Catchup

	Job       = job.Job
	NewJob    = job.NewJob
	JobFilter = job.Filter
	JobState  = job.State
	Attempt   = job.Attempt
	Outcome   = job.Outcome
	Finish    = job.Finish
	Queue     = job.Queue
	Leaser    = job.Leaser
	LogFilter = job.LogFilter

	Monitor   = monitor.Monitor
	AlertRule = alert.Rule
	Channel   = alert.Channel

	Manifest     = view.Manifest
	ApplyOptions = view.ApplyOptions
	Selection    = view.Selection
	CountOptions = view.CountOptions

	Duration    = core.Duration
	Error       = core.Error
	Code        = core.Code
	Page[T any] = core.Page[T]
)

// Names that those types are used with.
const (
	DefaultNamespace = core.DefaultNamespace
	AnyNamespace     = core.AnyNamespace
	DefaultQueue     = task.DefaultQueue

	KindFunc     = task.KindFunc
	KindCommand  = task.KindCommand
	KindHTTP     = task.KindHTTP
	KindCycle    = task.KindCycle
	KindWorkflow = task.KindWorkflow

	BackoffFixed = task.BackoffFixed

	ScheduleActive    = schedule.Active
	SchedulePaused    = schedule.Paused
	ScheduleCompleted = schedule.Completed

	JobScheduled = job.Scheduled
	JobReady     = job.Ready
	JobRunning   = job.Running
	JobSucceeded = job.Succeeded
	JobFailed    = job.Failed
	JobCanceled  = job.Canceled

	OutcomeOK    = job.OutcomeOK
	OutcomeError = job.OutcomeError

	Invalid      = core.Invalid
	NotFound     = core.NotFound
	Conflict     = core.Conflict
	Unauthorized = core.Unauthorized
)

// ParseDuration reads a span such as "90s", "1d12h" or "2w", and a number alone as seconds.
func ParseDuration(text string) (Duration, error) { return core.ParseDuration(text) }

// CodeOf returns the code of the first [Error] in a chain, or [core.Internal].
func CodeOf(err error) Code { return core.CodeOf(err) }

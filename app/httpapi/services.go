package httpapi

import (
	"context"
	"io"
	"net/netip"

	"github.com/belfry-run/belfry/app/httpapi/internal/access"
	"github.com/belfry-run/belfry/app/httpapi/internal/alerts"
	"github.com/belfry-run/belfry/app/httpapi/internal/api"
	"github.com/belfry-run/belfry/app/httpapi/internal/definitions"
	"github.com/belfry-run/belfry/app/httpapi/internal/health"
	"github.com/belfry-run/belfry/app/httpapi/internal/jobs"
	"github.com/belfry-run/belfry/app/httpapi/internal/monitors"
	"github.com/belfry-run/belfry/app/httpapi/internal/programs"
	"github.com/belfry-run/belfry/app/httpapi/internal/schedules"
	"github.com/belfry-run/belfry/app/httpapi/internal/tasks"
	"github.com/belfry-run/belfry/app/httpapi/internal/views"
	"github.com/belfry-run/belfry/app/httpapi/internal/workers"
	"github.com/belfry-run/belfry/cron"
	"github.com/belfry-run/belfry/job"
	"github.com/belfry-run/belfry/view"
)

// The services, per noun. The store has all of them, and so has the [client.Client],
// so that a command works the same on a local database and on a server.
//
// A namespace argument of [core.AnyNamespace] means all of them, where a
// thing is found by its id.

type (
	// Tasks keeps what to run.
	Tasks = tasks.Tasks
	// Artifacts keeps what programs are made of. Bytes go straight to where they
	// lie, by links.
	Artifacts = programs.Artifacts
	// KeptSecrets keeps values that programs get and that are never shown.
	KeptSecrets = programs.KeptSecrets
	// Schedules keeps when to run it.
	Schedules = schedules.Schedules
	// Calendars keeps when schedules stay away.
	Calendars = schedules.Calendars
	// Backfills runs nominal times that have passed.
	Backfills = schedules.Backfills
	// Lookout says what schedules will do.
	Lookout = schedules.Lookout
	// Cycles shows tasks that have members, and steers their runs. They are saved
	// like any other task.
	Cycles = tasks.Cycles
	// Workflows shows runs of workflows, and steers them.
	Workflows = tasks.Workflows
	// Links answers requests that bring the key of a link.
	Links = tasks.Links
	// Monitors keeps what is watched, and what was seen of it.
	Monitors = monitors.Monitors
	// Channels keeps ways to tell people. Answers have no secrets; where
	// [core.Redacted] is saved for one, it stays what it is.
	Channels = alerts.Channels
	// AlertRules keeps who is told of what.
	AlertRules = alerts.AlertRules
	// Windows keeps times of maintenance.
	Windows = monitors.Windows
	// StatusPages keeps what is shown to everyone.
	StatusPages = monitors.StatusPages
	// Announcements keeps what people announce on status pages.
	Announcements = monitors.Announcements
	// Subscribers shows the subscribers of status pages.
	Subscribers = monitors.Subscribers
	// Alerts shows what was to be told, and what came of it.
	Alerts = alerts.Alerts
	// Hooks keeps which programs get which events, and their events.
	Hooks = alerts.Hooks
	// Jobs keeps what was asked for and what came of it.
	Jobs = jobs.Jobs
	// Outputs keeps the files that programs leave.
	Outputs = jobs.Outputs
	// History says what became of things over time.
	History = views.History
	// Namespaces keeps what each namespace may do.
	Namespaces = access.Namespaces
	// Queues keeps the lanes.
	Queues = workers.Queues
	// Workers shows who runs jobs.
	Workers = workers.Workers
	// Tokens keeps who may do what.
	Tokens = access.Tokens
	// Definitions applies and exports whole sets of definitions.
	Definitions = definitions.Definitions
	// Audits shows who changed what.
	Audits = access.Audits
	// Watcher tells what changed since a cursor. An empty cursor means from now
	// on. Answers are hints: after a gap a watcher reads what it shows again.
	Watcher = views.Watcher
	// Health says whether the database answers and what state it is in.
	Health = health.Health
)

// Abilities that a node may have besides.
type (
	// Authenticator knows tokens by their secrets, and sessions by their tokens.
	Authenticator = api.Authenticator
	// Recorder keeps what happened at the API and changed no definition. It may be
	// the [Service].
	Recorder = api.Recorder
	// Attempts is what attempts may do by themselves, with a right to nothing else.
	Attempts = api.Attempts
	// Calls counts calls by the quotas of namespaces.
	Calls = api.Calls
	// Prober looks at targets on request, for no monitor. It is an
	// ability of nodes that run checks.
	Prober = monitors.Prober
	// Notifier tells people. An error says what went wrong, without secrets.
	Notifier = alerts.Notifier
	// PagePreview is what a [Prober] saw on a page.
	PagePreview = view.PagePreview
	// PageRemoval is a part that was left out of it.
	PageRemoval = view.PageRemoval
)

// Secrets hands out definitions with their secrets, for the server's own use.
// No answer has them.
type Secrets interface {
	alerts.Secrets
	monitors.Checks
}

// StatusOf is the HTTP status that the API answers an error with. One that a
// [client.Client] got keeps the status that it came with.
func StatusOf(err error) int { return api.StatusOf(err) }

// NetworkOf is where a request comes from that the server hands to its pages: an IPv4 address, or an IPv6 /64.
func NetworkOf(ctx context.Context) netip.Prefix { return api.NetworkOf(ctx) }

// ReadICS reads the days of an iCalendar file.
func ReadICS(r io.Reader, zone string) (cron.CalendarSpec, error) { return schedules.ReadICS(r, zone) }

// Documents are definitions that are saved as a whole, under a name.
type Documents interface {
	Channels
	AlertRules
	Windows
	StatusPages
}

// Service is everything the API serves. [job.Leaser] is the workers' part.
type Service interface {
	Tasks
	Artifacts
	KeptSecrets
	Schedules
	Calendars
	Backfills
	Lookout
	Cycles
	Workflows
	Monitors
	Documents
	Announcements
	Subscribers
	Alerts
	Hooks
	Jobs
	History
	Namespaces
	Queues
	Workers
	Tokens
	Definitions
	Audits
	Watcher
	Health
	job.Leaser
	job.StepKeeper
	job.ProgressKeeper
}

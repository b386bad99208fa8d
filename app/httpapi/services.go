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

// The services, per noun. The store and the [client.Client] implement all of them, so that a
// command works the same on a local database and on a server.
//
// Where an id identifies an object, a namespace argument of [core.AnyNamespace] means all
// namespaces.

type (
	// Tasks stores tasks.
	Tasks = tasks.Tasks
	// Artifacts stores the artifacts of programs. Bytes go directly to their blob
	// store, through links.
	Artifacts = programs.Artifacts
	// KeptSecrets stores secret values for programs. They are never shown.
	KeptSecrets = programs.KeptSecrets
	// Schedules stores schedules.
	Schedules = schedules.Schedules
	// Calendars stores calendars, which restrict the times of schedules.
	Calendars = schedules.Calendars
	// Backfills runs past nominal times.
	Backfills = schedules.Backfills
	// Lookout returns the upcoming times of schedules.
	Lookout = schedules.Lookout
	// Cycles shows cycles, which are tasks with members, and controls their runs.
	// Cycles are saved like other tasks.
	Cycles = tasks.Cycles
	// Workflows shows and controls runs of workflows.
	Workflows = tasks.Workflows
	// Links serves requests that the key of a link authorizes.
	Links = tasks.Links
	// Monitors stores monitors and their results.
	Monitors = monitors.Monitors
	// Channels stores channels. Answers have no secrets. Where [core.Redacted] is
	// saved, the stored secret stays.
	Channels = alerts.Channels
	// AlertRules stores alert rules.
	AlertRules = alerts.AlertRules
	// Windows stores maintenance windows.
	Windows = monitors.Windows
	// StatusPages stores public status pages.
	StatusPages = monitors.StatusPages
	// Announcements stores announcements on status pages.
	Announcements = monitors.Announcements
	// Subscribers lists the subscribers of status pages.
	Subscribers = monitors.Subscribers
	// Alerts lists alerts and their deliveries.
	Alerts = alerts.Alerts
	// Hooks stores hooks, which send events to programs, and their events.
	Hooks = alerts.Hooks
	// Jobs stores jobs and their results.
	Jobs = jobs.Jobs
	// Outputs stores the output files of programs.
	Outputs = jobs.Outputs
	// History returns statistics over time.
	History = views.History
	// Namespaces stores the limits of namespaces.
	Namespaces = access.Namespaces
	// Queues stores queues.
	Queues = workers.Queues
	// Workers lists workers.
	Workers = workers.Workers
	// Tokens stores tokens and join tokens.
	Tokens = access.Tokens
	// Definitions applies and exports whole sets of definitions.
	Definitions = definitions.Definitions
	// Audits lists the changes of the audit.
	Audits = access.Audits
	// Watcher returns events since a cursor. An empty cursor means from now on.
	// Events can be lost: after a gap, a watcher must read its objects again.
	Watcher = views.Watcher
	// Health returns the state of the database.
	Health = health.Health
)

// Optional abilities of a node.
type (
	// Authenticator looks up tokens by their secrets, and the tokens of sessions.
	Authenticator = api.Authenticator
	// Recorder writes audit rows of calls that changed no definition. It may be
	// the [Service].
	Recorder = api.Recorder
	// Attempts are the operations that the token of an attempt allows.
	Attempts = api.Attempts
	// Calls counts calls by the quotas of namespaces.
	Calls = api.Calls
	// Prober runs checks on request, without a monitor. Nodes that run checks
	// provide it.
	Prober = monitors.Prober
	// Notifier sends notifications. Its errors hold no secrets.
	Notifier = alerts.Notifier
	// PagePreview is the result of [Prober] for a page.
	PagePreview = view.PagePreview
	// PageRemoval is a part of the page that was left out.
	PageRemoval = view.PageRemoval
)

// Secrets returns definitions with their secrets, for the server's own use. No
// answer contains them.
type Secrets interface {
	alerts.Secrets
	monitors.Checks
}

// StatusOf returns the HTTP status of an error. An error that a
// [client.Client] received keeps its status.
func StatusOf(err error) int { return api.StatusOf(err) }

// NetworkOf returns the network of the client of a request: an IPv4 address, or an IPv6 /64.
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

// Service is all that the API serves. [job.Leaser] is the part for workers.
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

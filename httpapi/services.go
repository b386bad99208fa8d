package httpapi

import (
	"context"
	"encoding/json"
	"time"

	"github.com/belfry-run/belfry/access"
	"github.com/belfry-run/belfry/alert"
	"github.com/belfry-run/belfry/core"
	"github.com/belfry-run/belfry/cycle"
	"github.com/belfry-run/belfry/httpapi/wire"
	"github.com/belfry-run/belfry/job"
	"github.com/belfry-run/belfry/monitor"
	"github.com/belfry-run/belfry/schedule"
	"github.com/belfry-run/belfry/task"
	"github.com/belfry-run/belfry/view"
)

// The services, per noun. The store has all of them, and so has the [client.Client],
// so that a command works the same on a local database and on a server.
//
// A namespace argument of [core.AnyNamespace] means all of them, where a
// thing is found by its id.

// Tasks keeps what to run.
type Tasks interface {
	CreateTask(ctx context.Context, t task.Task) (task.Task, error)
	UpdateTask(ctx context.Context, t task.Task) (task.Task, error)
	DeleteTask(ctx context.Context, namespace, name string) error
	Task(ctx context.Context, namespace, name string) (task.Task, error)
	Tasks(ctx context.Context, f task.Filter) (core.Page[task.Task], error)
}

// Artifacts keeps what programs are made of. Bytes go straight to where they
// lie, by links.
type Artifacts interface {
	// CreateArtifact announces bytes by digest and size, and answers a link to
	// send them unless they are there.
	CreateArtifact(ctx context.Context, a task.Artifact) (task.Upload, error)
	// ArtifactUpload is another link for one that was announced.
	ArtifactUpload(ctx context.Context, namespace, digest string) (task.Upload, error)
	// ConfirmArtifact compares what was sent, and lets jobs go that waited for it.
	// It is idempotent.
	ConfirmArtifact(ctx context.Context, namespace, digest string) (task.Artifact, error)
	Artifact(ctx context.Context, namespace, digest string) (task.Artifact, error)
	Artifacts(ctx context.Context, f view.DocumentFilter) (core.Page[task.Artifact], error)
	// DeleteArtifact refuses one that a task runs.
	DeleteArtifact(ctx context.Context, namespace, digest string) error
}

// KeptSecrets keeps values that programs get and nobody sees.
type KeptSecrets interface {
	SetSecret(ctx context.Context, namespace, name string, value core.Secret) (task.KeptSecret, error)
	KeptSecrets(ctx context.Context, f view.DocumentFilter) (core.Page[task.KeptSecret], error)
	// DeleteSecret refuses one that a task uses.
	DeleteSecret(ctx context.Context, namespace, name string) error
	// RotateSecrets changes the key that they are sealed with.
	RotateSecrets(ctx context.Context) (task.ResealedSecrets, error)
}

// Schedules keeps when to run it.
type Schedules interface {
	CreateSchedule(ctx context.Context, s schedule.Schedule) (schedule.Schedule, error)
	UpdateSchedule(ctx context.Context, s schedule.Schedule) (schedule.Schedule, error)
	DeleteSchedule(ctx context.Context, namespace, name string) error
	Schedule(ctx context.Context, namespace, name string) (schedule.Schedule, error)
	Schedules(ctx context.Context, f schedule.Filter) (core.Page[schedule.Schedule], error)
	PauseSchedule(ctx context.Context, namespace, name, reason string) (schedule.Schedule, error)
	ResumeSchedule(ctx context.Context, namespace, name string, catchUp bool) (schedule.Schedule, error)
	// TriggerSchedule makes a job now, beside the plan. A nil input means the
	// schedule's own.
	TriggerSchedule(ctx context.Context, namespace, name string, input json.RawMessage) (job.Job, error)
	Occurrences(ctx context.Context, f schedule.OccurrenceFilter) (core.Page[schedule.Occurrence], error)
}

// Calendars keeps when schedules stay away.
type Calendars interface {
	// SaveCalendar creates or replaces a calendar.
	SaveCalendar(ctx context.Context, c schedule.Calendar) (schedule.Calendar, error)
	DeleteCalendar(ctx context.Context, namespace, name string) error
	Calendar(ctx context.Context, namespace, name string) (schedule.Calendar, error)
	Calendars(ctx context.Context, f schedule.CalendarFilter) (core.Page[schedule.Calendar], error)
}

// Backfills runs nominal times that have passed.
type Backfills interface {
	StartBackfill(ctx context.Context, b schedule.Backfill) (schedule.Backfill, error)
	// SetBackfill pauses (paused), resumes (active) or cancels (canceled) one.
	SetBackfill(ctx context.Context, namespace string, id int64, state schedule.BackfillState) (schedule.Backfill, error)
	Backfill(ctx context.Context, namespace string, id int64) (schedule.Backfill, error)
	Backfills(ctx context.Context, f schedule.BackfillFilter) (core.Page[schedule.Backfill], error)
}

// Lookout says what schedules will do.
type Lookout interface {
	Look(ctx context.Context, q schedule.LookQuery) (schedule.Look, error)
	Upcoming(ctx context.Context, a schedule.Ahead) ([]schedule.Coming, error)
	Forecast(ctx context.Context, a schedule.Ahead) (schedule.Forecast, error)
}

// Cycles shows tasks that have members, and steers their runs. They are saved
// like any other task.
type Cycles interface {
	CycleStatus(ctx context.Context, namespace, name string) (cycle.Status, error)
	Cycles(ctx context.Context, f view.DocumentFilter) (core.Page[cycle.Status], error)
	// RunCycle makes a job of a cycle now, beside its plan, unless one is under
	// way or about to be.
	RunCycle(ctx context.Context, namespace, name string) (job.Job, error)
	// CancelCycle ends the run under way, and the member that runs.
	CancelCycle(ctx context.Context, namespace, name, note string) (view.Selected, error)
	// SkipMember leaves a member out of the run under way.
	SkipMember(ctx context.Context, namespace, cycle, member string) (cycle.Run, error)
	// ResetTiming forgets when members last succeeded, in whatever cycle, and
	// answers which. Without names it is all members of the cycle.
	ResetTiming(ctx context.Context, namespace, cycle string, members ...string) ([]string, error)
}

// Monitors keeps what is watched, and what was seen of it.
type Monitors interface {
	CreateMonitor(ctx context.Context, m monitor.Monitor) (view.MonitorView, error)
	UpdateMonitor(ctx context.Context, m monitor.Monitor) (view.MonitorView, error)
	DeleteMonitor(ctx context.Context, namespace, name string) error
	Monitor(ctx context.Context, namespace, name string) (view.MonitorView, error)
	Monitors(ctx context.Context, f view.MonitorFilter) (core.Page[view.MonitorView], error)
	// PauseMonitor stops a monitor until an instant or, if it is zero, until it
	// is resumed.
	PauseMonitor(ctx context.Context, namespace, name string, until time.Time, reason string) (view.MonitorView, error)
	ResumeMonitor(ctx context.Context, namespace, name string) (view.MonitorView, error)
	// CheckMonitor asks for a check now, beside the plan.
	CheckMonitor(ctx context.Context, namespace, name string) (job.Job, error)
	Results(ctx context.Context, f view.ResultFilter) (core.Page[view.CheckResult], error)
	Series(ctx context.Context, q view.SeriesQuery) (monitor.Series, error)
	Uptime(ctx context.Context, namespace, monitor string) (view.UptimeReport, error)
	// CountMonitors counts what a filter finds, as far as [core.CountLimit].
	CountMonitors(ctx context.Context, f view.MonitorFilter) (view.MonitorCount, error)
	// Bars is how targets were lately; names that are none are left out.
	Bars(ctx context.Context, q monitor.BarsQuery) ([]monitor.Bars, error)
	// Timeline is what held of a target, from an instant on; a zero one means
	// all that is known.
	Timeline(ctx context.Context, namespace, monitor string, from time.Time) ([]monitor.Span, error)
	Incidents(ctx context.Context, f view.IncidentFilter) (core.Page[monitor.Incident], error)
	Incident(ctx context.Context, namespace string, id int64) (monitor.Incident, error)
	PageVersions(ctx context.Context, f view.VersionFilter) (core.Page[monitor.PageVersion], error)
	// PageVersion is one version with its text; 0 is the newest, -1 the baseline.
	PageVersion(ctx context.Context, namespace, monitor string, seq int64) (monitor.PageVersion, error)
	// AcceptPage makes a version the baseline, by the same numbers.
	AcceptPage(ctx context.Context, namespace, monitor string, seq int64) (monitor.PageVersion, error)
	// Beat takes a call of a heartbeat's URL, which holds the key.
	Beat(ctx context.Context, key string, call monitor.Call) (view.Beaten, error)
}

// Channels keeps ways to tell people. Answers have no secrets; where
// [core.Redacted] is saved for one, it stays what it is.
type Channels interface {
	SaveChannel(ctx context.Context, d alert.Channel) (alert.Channel, error)
	DeleteChannel(ctx context.Context, namespace, name string) error
	Channel(ctx context.Context, namespace, name string) (alert.Channel, error)
	Channels(ctx context.Context, f view.DocumentFilter) (core.Page[alert.Channel], error)
}

// AlertRules keeps who is told of what.
type AlertRules interface {
	SaveAlertRule(ctx context.Context, d alert.Rule) (alert.Rule, error)
	DeleteAlertRule(ctx context.Context, namespace, name string) error
	AlertRule(ctx context.Context, namespace, name string) (alert.Rule, error)
	AlertRules(ctx context.Context, f view.DocumentFilter) (core.Page[alert.Rule], error)
}

// Windows keeps times of maintenance.
type Windows interface {
	SaveWindow(ctx context.Context, d monitor.Window) (monitor.Window, error)
	DeleteWindow(ctx context.Context, namespace, name string) error
	Window(ctx context.Context, namespace, name string) (monitor.Window, error)
	Windows(ctx context.Context, f view.DocumentFilter) (core.Page[monitor.Window], error)
}

// StatusPages keeps what is shown to everyone.
type StatusPages interface {
	SaveStatusPage(ctx context.Context, d monitor.StatusPage) (monitor.StatusPage, error)
	DeleteStatusPage(ctx context.Context, namespace, name string) error
	StatusPage(ctx context.Context, namespace, name string) (monitor.StatusPage, error)
	StatusPages(ctx context.Context, f view.DocumentFilter) (core.Page[monitor.StatusPage], error)
}

// Documents are definitions that are saved as a whole, under a name.
type Documents interface {
	Channels
	AlertRules
	Windows
	StatusPages
}

// Alerts shows what was to be told, and what came of it.
type Alerts interface {
	Alerts(ctx context.Context, f alert.Filter) (core.Page[alert.Alert], error)
	// AlertTries lists the attempts to deliver the message that an alert went
	// with, oldest first.
	AlertTries(ctx context.Context, namespace string, alert int64) ([]alert.Try, error)
}

// Jobs keeps what was asked for and what came of it.
type Jobs interface {
	Enqueue(ctx context.Context, ns []job.NewJob) ([]job.Enqueued, error)
	Job(ctx context.Context, namespace string, id int64) (job.Job, error)
	// Jobs lists jobs, newest first. Terms that no index answers are looked for
	// in so many rows at a time: then a page may have fewer jobs than its limit,
	// or none, and a cursor to go on with.
	Jobs(ctx context.Context, f job.Filter) (core.Page[job.Job], error)
	// CountJobs counts what a filter finds, as far as a cap.
	CountJobs(ctx context.Context, f job.Filter, o view.CountOptions) (job.Count, error)
	Attempts(ctx context.Context, namespace string, id int64) ([]job.Attempt, error)
	Logs(ctx context.Context, namespace string, id int64, f job.LogFilter) (core.Page[job.LogLine], error)
	// LogText answers a part of a job's log by byte, its last lines, or the lines
	// that a search finds.
	LogText(ctx context.Context, namespace string, id int64, q job.LogQuery) (job.LogText, error)
	CancelJobs(ctx context.Context, namespace string, s view.Selection) (view.Selected, error)
	// RetryJobs makes failed and canceled jobs ready again, under the task
	// as it is now and with all their attempts back.
	RetryJobs(ctx context.Context, namespace string, s view.Selection) (view.Selected, error)
	// RunJobAgain makes a new job of a finished one, with the same input or another.
	RunJobAgain(ctx context.Context, namespace string, id int64, r job.RunAgain) (job.Enqueued, error)
	Why(ctx context.Context, namespace string, id int64) (job.Why, error)
	Outputs
}

// Outputs keeps the files that programs leave.
type Outputs interface {
	// Outputs lists the files that the attempts of a job left.
	Outputs(ctx context.Context, namespace string, job int64) ([]task.JobOutput, error)
	// OutputLink is where one is to be fetched, of the newest attempt unless a
	// lease is named.
	OutputLink(ctx context.Context, namespace string, job int64, name string, lease int64) (task.SignedRequest, error)
	// DeclareOutput announces one of an attempt that runs, and answers where its
	// bytes are to be sent, or nil when they are there.
	DeclareOutput(ctx context.Context, session string, ref job.Ref, o task.Output) (*task.SignedRequest, error)
}

// History says what became of things over time.
type History interface {
	// Overview is the state of things in one answer.
	Overview(ctx context.Context, namespace string) (view.Overview, error)
	// JobMinutes says what ended in each of the last minutes, oldest first.
	JobMinutes(ctx context.Context, q job.MinuteQuery) ([]job.MinuteTotals, error)
	// Strips says how schedules went lately. Names that are none are left out.
	Strips(ctx context.Context, q view.StripQuery) ([]view.Strip, error)
	// ScheduleDays says what became of a schedule's runs, day by day in its zone.
	ScheduleDays(ctx context.Context, q view.DaysQuery) (view.ScheduleDays, error)
}

// Namespaces keeps what each namespace may do.
type Namespaces interface {
	// SaveNamespace replaces the limits of a namespace. Its tasks must fit them.
	SaveNamespace(ctx context.Context, n access.Namespace) (access.Namespace, error)
	Namespace(ctx context.Context, name string) (access.Namespace, error)
	// Namespaces lists those that have limits.
	Namespaces(ctx context.Context) ([]access.Namespace, error)
}

// Queues keeps the lanes.
type Queues interface {
	// SaveQueue creates or replaces a queue. A pause is kept.
	SaveQueue(ctx context.Context, q job.Queue) (job.Queue, error)
	DeleteQueue(ctx context.Context, name string) error
	Queue(ctx context.Context, name string) (job.QueueStats, error)
	Queues(ctx context.Context) ([]job.QueueStats, error)
	PauseQueue(ctx context.Context, name, reason string) (job.Queue, error)
	ResumeQueue(ctx context.Context, name string) (job.Queue, error)
}

// Workers shows who runs jobs.
type Workers interface {
	// Workers lists living sessions, and with ended also those that ended
	// within retention.
	Workers(ctx context.Context, ended bool) ([]job.WorkerState, error)
	// DrainWorker asks a worker to finish what it runs and claim no more.
	DrainWorker(ctx context.Context, session string) error
}

// Tokens keeps who may do what.
type Tokens interface {
	// CreateToken also returns the secret, which cannot be had again.
	CreateToken(ctx context.Context, t access.Token) (access.Token, string, error)
	RevokeToken(ctx context.Context, id int64) error
	Tokens(ctx context.Context) ([]access.Token, error)
	// CreateJoinToken also returns the secret, which cannot be had again.
	CreateJoinToken(ctx context.Context, t access.JoinToken) (access.JoinToken, string, error)
	RevokeJoinToken(ctx context.Context, id int64) error
	JoinTokens(ctx context.Context) ([]access.JoinToken, error)
	// Join makes a token for the worker of a machine, and its secret, for
	// whoever has the secret of a join token. Others get Unauthorized.
	Join(ctx context.Context, secret, machine string) (access.Token, string, error)
}

// Definitions applies and exports whole sets of definitions.
type Definitions interface {
	// Apply makes the database as the manifest says, in one transaction. What
	// the manifest does not name is left alone, unless prune is set: then all
	// but queues that it does not name is deleted from the namespace.
	// A dry run changes nothing and answers the same plan.
	Apply(ctx context.Context, m view.Manifest, o wire.ApplyOptions) (view.Applied, error)
	Export(ctx context.Context, namespace string) (view.Manifest, error)
}

// Audits shows who changed what.
type Audits interface {
	Audit(ctx context.Context, f access.AuditFilter) (core.Page[access.Audit], error)
}

// Watcher tells what changed since a cursor. An empty cursor means from now
// on. Answers are hints: after a gap a watcher reads what it shows again.
type Watcher interface {
	Events(ctx context.Context, namespace, cursor string, wait time.Duration) ([]view.Event, string, error)
}

// Authenticator knows tokens by their secrets, and sessions by their tokens.
type Authenticator interface {
	// Authenticate answers the token of a secret, or an Unauthorized error
	// that says whether it is unknown, expired or revoked.
	Authenticate(ctx context.Context, secret string) (access.Token, error)
	// SessionOwner answers the ID of the token that opened a worker's session,
	// whether it has ended or not; 0 for a node's own. A session that does not
	// exist is NotFound.
	SessionOwner(ctx context.Context, session string) (token int64, err error)
}

// Health says whether the database answers and what state it is in.
type Health interface {
	Health(ctx context.Context) (view.Health, error)
	// DatabaseHealth is what an operator asks when jobs get slow.
	DatabaseHealth(ctx context.Context) (view.DatabaseHealth, error)
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
	Monitors
	Documents
	Alerts
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
}

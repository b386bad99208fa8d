package httpapi

import (
	"context"
	"encoding/json"
	"time"

	"github.com/belfry-run/belfry"
)

// The services, per noun. The store has all of them, and so has the [Client],
// so that a command works the same on a local database and on a server.
//
// A namespace argument of [belfry.AnyNamespace] means all of them, where a
// thing is found by its id.

// Tasks keeps what to run.
type Tasks interface {
	CreateTask(ctx context.Context, t belfry.Task) (belfry.Task, error)
	UpdateTask(ctx context.Context, t belfry.Task) (belfry.Task, error)
	DeleteTask(ctx context.Context, namespace, name string) error
	Task(ctx context.Context, namespace, name string) (belfry.Task, error)
	Tasks(ctx context.Context, f belfry.TaskFilter) (belfry.Page[belfry.Task], error)
}

// Artifacts keeps what programs are made of. Bytes go straight to where they
// lie, by links.
type Artifacts interface {
	// CreateArtifact announces bytes by digest and size, and answers a link to
	// send them unless they are there.
	CreateArtifact(ctx context.Context, a belfry.Artifact) (belfry.Upload, error)
	// ArtifactUpload is another link for one that was announced.
	ArtifactUpload(ctx context.Context, namespace, digest string) (belfry.Upload, error)
	// ConfirmArtifact compares what was sent, and lets jobs go that waited for it.
	// It is idempotent.
	ConfirmArtifact(ctx context.Context, namespace, digest string) (belfry.Artifact, error)
	Artifact(ctx context.Context, namespace, digest string) (belfry.Artifact, error)
	Artifacts(ctx context.Context, f belfry.DocumentFilter) (belfry.Page[belfry.Artifact], error)
	// DeleteArtifact refuses one that a task runs.
	DeleteArtifact(ctx context.Context, namespace, digest string) error
}

// KeptSecrets keeps values that programs get and nobody sees.
type KeptSecrets interface {
	SetSecret(ctx context.Context, namespace, name string, value belfry.Secret) (belfry.KeptSecret, error)
	KeptSecrets(ctx context.Context, f belfry.DocumentFilter) (belfry.Page[belfry.KeptSecret], error)
	// DeleteSecret refuses one that a task uses.
	DeleteSecret(ctx context.Context, namespace, name string) error
	// RotateSecrets changes the key that they are sealed with.
	RotateSecrets(ctx context.Context) (belfry.ResealedSecrets, error)
}

// Schedules keeps when to run it.
type Schedules interface {
	CreateSchedule(ctx context.Context, s belfry.Schedule) (belfry.Schedule, error)
	UpdateSchedule(ctx context.Context, s belfry.Schedule) (belfry.Schedule, error)
	DeleteSchedule(ctx context.Context, namespace, name string) error
	Schedule(ctx context.Context, namespace, name string) (belfry.Schedule, error)
	Schedules(ctx context.Context, f belfry.ScheduleFilter) (belfry.Page[belfry.Schedule], error)
	PauseSchedule(ctx context.Context, namespace, name, reason string) (belfry.Schedule, error)
	ResumeSchedule(ctx context.Context, namespace, name string, catchUp bool) (belfry.Schedule, error)
	// TriggerSchedule makes a job now, beside the plan. A nil input means the
	// schedule's own.
	TriggerSchedule(ctx context.Context, namespace, name string, input json.RawMessage) (belfry.Job, error)
	Occurrences(ctx context.Context, f belfry.OccurrenceFilter) (belfry.Page[belfry.Occurrence], error)
}

// Calendars keeps when schedules stay away.
type Calendars interface {
	// SaveCalendar creates or replaces a calendar.
	SaveCalendar(ctx context.Context, c belfry.Calendar) (belfry.Calendar, error)
	DeleteCalendar(ctx context.Context, namespace, name string) error
	Calendar(ctx context.Context, namespace, name string) (belfry.Calendar, error)
	Calendars(ctx context.Context, f belfry.CalendarFilter) (belfry.Page[belfry.Calendar], error)
}

// Backfills runs nominal times that have passed.
type Backfills interface {
	StartBackfill(ctx context.Context, b belfry.Backfill) (belfry.Backfill, error)
	// SetBackfill pauses (paused), resumes (active) or cancels (canceled) one.
	SetBackfill(ctx context.Context, namespace string, id int64, state belfry.BackfillState) (belfry.Backfill, error)
	Backfill(ctx context.Context, namespace string, id int64) (belfry.Backfill, error)
	Backfills(ctx context.Context, f belfry.BackfillFilter) (belfry.Page[belfry.Backfill], error)
}

// Lookout says what schedules will do.
type Lookout interface {
	Look(ctx context.Context, q belfry.LookQuery) (belfry.Look, error)
	Upcoming(ctx context.Context, a belfry.Ahead) ([]belfry.Coming, error)
	Forecast(ctx context.Context, a belfry.Ahead) (belfry.Forecast, error)
}

// Cycles shows tasks that have members, and steers their runs. They are saved
// like any other task.
type Cycles interface {
	CycleStatus(ctx context.Context, namespace, name string) (belfry.CycleStatus, error)
	Cycles(ctx context.Context, f belfry.DocumentFilter) (belfry.Page[belfry.CycleStatus], error)
	// RunCycle makes a job of a cycle now, beside its plan, unless one is under
	// way or about to be.
	RunCycle(ctx context.Context, namespace, name string) (belfry.Job, error)
	// CancelCycle ends the run under way, and the member that runs.
	CancelCycle(ctx context.Context, namespace, name, note string) (belfry.Selected, error)
	// SkipMember leaves a member out of the run under way.
	SkipMember(ctx context.Context, namespace, cycle, member string) (belfry.CycleRun, error)
	// ResetTiming forgets when members last succeeded, in whatever cycle, and
	// answers which. Without names it is all members of the cycle.
	ResetTiming(ctx context.Context, namespace, cycle string, members ...string) ([]string, error)
}

// Monitors keeps what is watched, and what was seen of it.
type Monitors interface {
	CreateMonitor(ctx context.Context, m belfry.Monitor) (belfry.MonitorView, error)
	UpdateMonitor(ctx context.Context, m belfry.Monitor) (belfry.MonitorView, error)
	DeleteMonitor(ctx context.Context, namespace, name string) error
	Monitor(ctx context.Context, namespace, name string) (belfry.MonitorView, error)
	Monitors(ctx context.Context, f belfry.MonitorFilter) (belfry.Page[belfry.MonitorView], error)
	// PauseMonitor stops a monitor until an instant or, if it is zero, until it
	// is resumed.
	PauseMonitor(ctx context.Context, namespace, name string, until time.Time, reason string) (belfry.MonitorView, error)
	ResumeMonitor(ctx context.Context, namespace, name string) (belfry.MonitorView, error)
	// CheckMonitor asks for a check now, beside the plan.
	CheckMonitor(ctx context.Context, namespace, name string) (belfry.Job, error)
	Results(ctx context.Context, f belfry.ResultFilter) (belfry.Page[belfry.CheckResult], error)
	Series(ctx context.Context, q belfry.SeriesQuery) (belfry.Series, error)
	Uptime(ctx context.Context, namespace, monitor string) (belfry.UptimeReport, error)
	// CountMonitors counts what a filter finds, as far as [belfry.CountLimit].
	CountMonitors(ctx context.Context, f belfry.MonitorFilter) (belfry.MonitorCount, error)
	// Bars is how targets were lately; names that are none are left out.
	Bars(ctx context.Context, q belfry.BarsQuery) ([]belfry.MonitorBars, error)
	// Timeline is what held of a target, from an instant on; a zero one means
	// all that is known.
	Timeline(ctx context.Context, namespace, monitor string, from time.Time) ([]belfry.Span, error)
	Incidents(ctx context.Context, f belfry.IncidentFilter) (belfry.Page[belfry.Incident], error)
	Incident(ctx context.Context, namespace string, id int64) (belfry.Incident, error)
	PageVersions(ctx context.Context, f belfry.VersionFilter) (belfry.Page[belfry.PageVersion], error)
	// PageVersion is one version with its text; 0 is the newest, -1 the baseline.
	PageVersion(ctx context.Context, namespace, monitor string, seq int64) (belfry.PageVersion, error)
	// AcceptPage makes a version the baseline, by the same numbers.
	AcceptPage(ctx context.Context, namespace, monitor string, seq int64) (belfry.PageVersion, error)
	// Beat takes a call of a heartbeat's URL, which holds the key.
	Beat(ctx context.Context, key string, call belfry.Call) (belfry.Beaten, error)
}

// Channels keeps ways to tell people. Answers have no secrets; where
// [belfry.Redacted] is saved for one, it stays what it is.
type Channels interface {
	SaveChannel(ctx context.Context, d belfry.Channel) (belfry.Channel, error)
	DeleteChannel(ctx context.Context, namespace, name string) error
	Channel(ctx context.Context, namespace, name string) (belfry.Channel, error)
	Channels(ctx context.Context, f belfry.DocumentFilter) (belfry.Page[belfry.Channel], error)
}

// AlertRules keeps who is told of what.
type AlertRules interface {
	SaveAlertRule(ctx context.Context, d belfry.AlertRule) (belfry.AlertRule, error)
	DeleteAlertRule(ctx context.Context, namespace, name string) error
	AlertRule(ctx context.Context, namespace, name string) (belfry.AlertRule, error)
	AlertRules(ctx context.Context, f belfry.DocumentFilter) (belfry.Page[belfry.AlertRule], error)
}

// Windows keeps times of maintenance.
type Windows interface {
	SaveWindow(ctx context.Context, d belfry.Window) (belfry.Window, error)
	DeleteWindow(ctx context.Context, namespace, name string) error
	Window(ctx context.Context, namespace, name string) (belfry.Window, error)
	Windows(ctx context.Context, f belfry.DocumentFilter) (belfry.Page[belfry.Window], error)
}

// StatusPages keeps what is shown to everyone.
type StatusPages interface {
	SaveStatusPage(ctx context.Context, d belfry.StatusPage) (belfry.StatusPage, error)
	DeleteStatusPage(ctx context.Context, namespace, name string) error
	StatusPage(ctx context.Context, namespace, name string) (belfry.StatusPage, error)
	StatusPages(ctx context.Context, f belfry.DocumentFilter) (belfry.Page[belfry.StatusPage], error)
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
	Alerts(ctx context.Context, f belfry.AlertFilter) (belfry.Page[belfry.Alert], error)
	// AlertTries lists the attempts to deliver the message that an alert went
	// with, oldest first.
	AlertTries(ctx context.Context, namespace string, alert int64) ([]belfry.AlertTry, error)
}

// Jobs keeps what was asked for and what came of it.
type Jobs interface {
	Enqueue(ctx context.Context, ns []belfry.NewJob) ([]belfry.Enqueued, error)
	Job(ctx context.Context, namespace string, id int64) (belfry.Job, error)
	// Jobs lists jobs, newest first. Terms that no index answers are looked for
	// in so many rows at a time: then a page may have fewer jobs than its limit,
	// or none, and a cursor to go on with.
	Jobs(ctx context.Context, f belfry.JobFilter) (belfry.Page[belfry.Job], error)
	// CountJobs counts what a filter finds, as far as a cap.
	CountJobs(ctx context.Context, f belfry.JobFilter, o belfry.CountOptions) (belfry.JobCount, error)
	Attempts(ctx context.Context, namespace string, id int64) ([]belfry.Attempt, error)
	Logs(ctx context.Context, namespace string, id int64, f belfry.LogFilter) (belfry.Page[belfry.LogLine], error)
	// LogText answers a part of a job's log by byte, its last lines, or the lines
	// that a search finds.
	LogText(ctx context.Context, namespace string, id int64, q belfry.LogQuery) (belfry.LogText, error)
	CancelJobs(ctx context.Context, namespace string, s belfry.Selection) (belfry.Selected, error)
	// RedriveJobs makes failed and canceled jobs ready again, under the task
	// as it is now and with all their attempts back.
	RedriveJobs(ctx context.Context, namespace string, s belfry.Selection) (belfry.Selected, error)
	// RerunJob makes a new job of a finished one, with the same input or another.
	RerunJob(ctx context.Context, namespace string, id int64, r belfry.Rerun) (belfry.Enqueued, error)
	Why(ctx context.Context, namespace string, id int64) (belfry.Why, error)
	Outputs
}

// Outputs keeps the files that programs leave.
type Outputs interface {
	// Outputs lists the files that the attempts of a job left.
	Outputs(ctx context.Context, namespace string, job int64) ([]belfry.JobOutput, error)
	// OutputLink is where one is to be fetched, of the newest attempt unless a
	// lease is named.
	OutputLink(ctx context.Context, namespace string, job int64, name string, lease int64) (belfry.SignedRequest, error)
	// DeclareOutput announces one of an attempt that runs, and answers where its
	// bytes are to be sent, or nil when they are there.
	DeclareOutput(ctx context.Context, session string, ref belfry.Ref, o belfry.Output) (*belfry.SignedRequest, error)
}

// History says what became of things over time.
type History interface {
	// Overview is the state of things in one answer.
	Overview(ctx context.Context, namespace string) (belfry.Overview, error)
	// JobMinutes says what ended in each of the last minutes, oldest first.
	JobMinutes(ctx context.Context, q belfry.MinuteQuery) ([]belfry.JobMinute, error)
	// Strips says how schedules went lately. Names that are none are left out.
	Strips(ctx context.Context, q belfry.StripQuery) ([]belfry.Strip, error)
	// ScheduleDays says what became of a schedule's runs, day by day in its zone.
	ScheduleDays(ctx context.Context, q belfry.DaysQuery) (belfry.ScheduleDays, error)
}

// Namespaces keeps what each namespace may do.
type Namespaces interface {
	// SaveNamespace replaces the limits of a namespace. Its tasks must fit them.
	SaveNamespace(ctx context.Context, n belfry.Namespace) (belfry.Namespace, error)
	Namespace(ctx context.Context, name string) (belfry.Namespace, error)
	// Namespaces lists those that have limits.
	Namespaces(ctx context.Context) ([]belfry.Namespace, error)
}

// Queues keeps the lanes.
type Queues interface {
	// SaveQueue creates or replaces a queue. A pause is kept.
	SaveQueue(ctx context.Context, q belfry.Queue) (belfry.Queue, error)
	DeleteQueue(ctx context.Context, name string) error
	Queue(ctx context.Context, name string) (belfry.QueueStats, error)
	Queues(ctx context.Context) ([]belfry.QueueStats, error)
	PauseQueue(ctx context.Context, name, reason string) (belfry.Queue, error)
	ResumeQueue(ctx context.Context, name string) (belfry.Queue, error)
}

// Workers shows who runs jobs.
type Workers interface {
	// Workers lists living sessions, and with ended also those that ended
	// within retention.
	Workers(ctx context.Context, ended bool) ([]belfry.WorkerState, error)
	// DrainWorker asks a worker to finish what it runs and claim no more.
	DrainWorker(ctx context.Context, session string) error
}

// Tokens keeps who may do what.
type Tokens interface {
	// CreateToken also returns the secret, which cannot be had again.
	CreateToken(ctx context.Context, t belfry.Token) (belfry.Token, string, error)
	RevokeToken(ctx context.Context, id int64) error
	Tokens(ctx context.Context) ([]belfry.Token, error)
	// CreateJoinToken also returns the secret, which cannot be had again.
	CreateJoinToken(ctx context.Context, t belfry.JoinToken) (belfry.JoinToken, string, error)
	RevokeJoinToken(ctx context.Context, id int64) error
	JoinTokens(ctx context.Context) ([]belfry.JoinToken, error)
	// Join makes a token for the worker of a machine, and its secret, for
	// whoever has the secret of a join token. Others get Unauthorized.
	Join(ctx context.Context, secret, machine string) (belfry.Token, string, error)
}

// Definitions applies and exports whole sets of definitions.
type Definitions interface {
	// Apply makes the database as the manifest says, in one transaction. What
	// the manifest does not name is left alone, unless prune is set: then all
	// but queues that it does not name is deleted from the namespace.
	// A dry run changes nothing and answers the same plan.
	Apply(ctx context.Context, m belfry.Manifest, o ApplyOptions) (belfry.Applied, error)
	Export(ctx context.Context, namespace string) (belfry.Manifest, error)
}

// ApplyOptions says how to apply.
type ApplyOptions = belfry.ApplyOptions

// Audits shows who changed what.
type Audits interface {
	Audit(ctx context.Context, f belfry.AuditFilter) (belfry.Page[belfry.Audit], error)
}

// Watcher tells what changed since a cursor. An empty cursor means from now
// on. Answers are hints: after a gap a watcher reads what it shows again.
type Watcher interface {
	Events(ctx context.Context, namespace, cursor string, wait time.Duration) ([]belfry.Event, string, error)
}

// Authenticator knows tokens by their secrets, and sessions by their tokens.
type Authenticator interface {
	// Authenticate answers the token of a secret, or an Unauthorized error
	// that says whether it is unknown, expired or revoked.
	Authenticate(ctx context.Context, secret string) (belfry.Token, error)
	// SessionOwner answers the ID of the token that opened a worker's session,
	// whether it has ended or not; 0 for a node's own. A session that does not
	// exist is NotFound.
	SessionOwner(ctx context.Context, session string) (token int64, err error)
}

// Health says whether the database answers and what state it is in.
type Health interface {
	Health(ctx context.Context) (belfry.Health, error)
	// DatabaseHealth is what an operator asks when jobs get slow.
	DatabaseHealth(ctx context.Context) (belfry.DatabaseHealth, error)
}

// Service is everything the API serves. [belfry.Broker] is the workers' part.
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
	belfry.Broker
}

package client

import (
	"context"
	"encoding/json"
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"time"

	"github.com/belfry-run/belfry/access"
	"github.com/belfry-run/belfry/core"
	"github.com/belfry-run/belfry/httpapi/wire"
	"github.com/belfry-run/belfry/job"
	"github.com/belfry-run/belfry/schedule"
	"github.com/belfry-run/belfry/task"
	"github.com/belfry-run/belfry/view"
)

// words is query parameters from pairs of name and value, without empty values.
func words(pairs ...string) url.Values {
	v := url.Values{}
	for i := 0; i < len(pairs); i += 2 {
		if pairs[i+1] != "" {
			v.Set(pairs[i], pairs[i+1])
		}
	}
	return v
}

func paged(p core.Paging, v url.Values) url.Values {
	if p.Limit > 0 {
		v.Set("limit", strconv.Itoa(p.Bound()))
	}
	if p.Cursor != "" {
		v.Set("cursor", p.Cursor)
	}
	return v
}

func timeText(t time.Time) string {
	if t.IsZero() {
		return ""
	}
	return t.UTC().Format(time.RFC3339Nano)
}

// named is the path of a thing with a name, and of what may be done to it.
func named(noun, name string, more ...string) string {
	return strings.Join(append([]string{"/v1/" + noun, url.PathEscape(name)}, more...), "/")
}

func numbered(noun string, id int64, more ...string) string {
	return named(noun, strconv.FormatInt(id, 10), more...)
}

// checked refuses a name that would make another path.
func checked(field, name string) error { return core.ValidName(field, name) }

// CreateTask implements [httpapi.Tasks].
func (c *Client) CreateTask(ctx context.Context, t task.Task) (task.Task, error) {
	return put[task.Task](ctx, c, http.MethodPost, "/v1/tasks", nil, t)
}

// UpdateTask implements [httpapi.Tasks].
func (c *Client) UpdateTask(ctx context.Context, t task.Task) (task.Task, error) {
	if err := checked("name", t.Name); err != nil {
		return task.Task{}, err
	}
	return put[task.Task](ctx, c, http.MethodPut, named("tasks", t.Name), nil, t)
}

// DeleteTask implements [httpapi.Tasks].
func (c *Client) DeleteTask(ctx context.Context, namespace, name string) error {
	if err := checked("name", name); err != nil {
		return err
	}
	return c.delete(ctx, named("tasks", name), words("namespace", namespace))
}

// Task implements [httpapi.Tasks].
func (c *Client) Task(ctx context.Context, namespace, name string) (task.Task, error) {
	if err := checked("name", name); err != nil {
		return task.Task{}, err
	}
	return get[task.Task](ctx, c, named("tasks", name), words("namespace", namespace))
}

// Tasks implements [httpapi.Tasks].
func (c *Client) Tasks(ctx context.Context, f task.Filter) (core.Page[task.Task], error) {
	return get[core.Page[task.Task]](ctx, c, "/v1/tasks",
		paged(f.Paging, words("namespace", f.Namespace, "kind", string(f.Kind), "tag", f.Tag, "part", f.Part)))
}

// CreateSchedule implements [httpapi.Schedules].
func (c *Client) CreateSchedule(ctx context.Context, s schedule.Schedule) (schedule.Schedule, error) {
	var query url.Values
	if s.State == schedule.Paused {
		query = words("paused", "true", "reason", s.PausedReason)
	}
	return put[schedule.Schedule](ctx, c, http.MethodPost, "/v1/schedules", query, s)
}

// UpdateSchedule implements [httpapi.Schedules].
func (c *Client) UpdateSchedule(ctx context.Context, s schedule.Schedule) (schedule.Schedule, error) {
	if err := checked("name", s.Name); err != nil {
		return schedule.Schedule{}, err
	}
	return put[schedule.Schedule](ctx, c, http.MethodPut, named("schedules", s.Name), nil, s)
}

// DeleteSchedule implements [httpapi.Schedules].
func (c *Client) DeleteSchedule(ctx context.Context, namespace, name string) error {
	if err := checked("name", name); err != nil {
		return err
	}
	return c.delete(ctx, named("schedules", name), words("namespace", namespace))
}

// Schedule implements [httpapi.Schedules].
func (c *Client) Schedule(ctx context.Context, namespace, name string) (schedule.Schedule, error) {
	if err := checked("name", name); err != nil {
		return schedule.Schedule{}, err
	}
	return get[schedule.Schedule](ctx, c, named("schedules", name), words("namespace", namespace))
}

// Schedules implements [httpapi.Schedules].
func (c *Client) Schedules(ctx context.Context, f schedule.Filter) (core.Page[schedule.Schedule], error) {
	return get[core.Page[schedule.Schedule]](ctx, c, "/v1/schedules",
		paged(f.Paging, words("namespace", f.Namespace, "state", string(f.State), "task", f.Task, "tag", f.Tag, "part", f.Part)))
}

// PauseSchedule implements [httpapi.Schedules].
func (c *Client) PauseSchedule(ctx context.Context, namespace, name, reason string) (schedule.Schedule, error) {
	return act[schedule.Schedule](ctx, c, namespace, name, "pause", wire.PauseReason{Reason: reason})
}

// ResumeSchedule implements [httpapi.Schedules].
func (c *Client) ResumeSchedule(ctx context.Context, namespace, name string, catchUp bool) (schedule.Schedule, error) {
	return act[schedule.Schedule](ctx, c, namespace, name, "resume", wire.ResumeOptions{CatchUp: catchUp})
}

// TriggerSchedule implements [httpapi.Schedules].
func (c *Client) TriggerSchedule(ctx context.Context, namespace, name string, input json.RawMessage) (job.Job, error) {
	return act[job.Job](ctx, c, namespace, name, "trigger", wire.TriggerInput{Input: input})
}

func act[T any](ctx context.Context, c *Client, namespace, schedule, verb string, body any) (T, error) {
	if err := checked("name", schedule); err != nil {
		var zero T
		return zero, err
	}
	return put[T](ctx, c, http.MethodPost, named("schedules", schedule, verb), words("namespace", namespace), body)
}

// Occurrences implements [httpapi.Schedules].
func (c *Client) Occurrences(ctx context.Context, f schedule.OccurrenceFilter) (core.Page[schedule.Occurrence], error) {
	if err := checked("schedule", f.Schedule); err != nil {
		return core.Page[schedule.Occurrence]{}, err
	}
	return get[core.Page[schedule.Occurrence]](ctx, c, named("schedules", f.Schedule, "occurrences"),
		paged(f.Paging, words("namespace", f.Namespace, "decision", string(f.Decision))))
}

// Enqueue implements [httpapi.Jobs]. It is repeated when the server cannot be reached
// only if every job has an idempotency key.
func (c *Client) Enqueue(ctx context.Context, ns []job.NewJob) ([]job.Enqueued, error) {
	if len(ns) == 0 {
		return nil, nil
	}
	again := true
	for _, n := range ns {
		again = again && n.Key != ""
	}
	var done wire.EnqueuedBatch
	err := c.do(ctx, ask{method: http.MethodPost, path: "/v1/jobs", body: wire.NewJobBatch{Jobs: ns}, again: again}, &done)
	return done.Jobs, err
}

// Job implements [httpapi.Jobs].
func (c *Client) Job(ctx context.Context, namespace string, id int64) (job.Job, error) {
	return get[job.Job](ctx, c, numbered("jobs", id), words("namespace", namespace))
}

// Jobs implements [httpapi.Jobs].
func (c *Client) Jobs(ctx context.Context, f job.Filter) (core.Page[job.Job], error) {
	return get[core.Page[job.Job]](ctx, c, "/v1/jobs", paged(f.Paging, words("namespace", f.Namespace, "q", f.String())))
}

// CountJobs implements [httpapi.Jobs].
func (c *Client) CountJobs(ctx context.Context, f job.Filter, o view.CountOptions) (job.Count, error) {
	q := words("namespace", f.Namespace, "q", f.String(), "cap", numberText(o.Cap))
	if o.ByState {
		q.Set("by", "state")
	}
	return get[job.Count](ctx, c, "/v1/jobs/count", q)
}

// Attempts implements [httpapi.Jobs].
func (c *Client) Attempts(ctx context.Context, namespace string, id int64) ([]job.Attempt, error) {
	return items[job.Attempt](ctx, c, numbered("jobs", id, "attempts"), words("namespace", namespace))
}

// Outputs implements [httpapi.Outputs].
func (c *Client) Outputs(ctx context.Context, namespace string, job int64) ([]task.JobOutput, error) {
	return items[task.JobOutput](ctx, c, numbered("jobs", job, "outputs"), words("namespace", namespace))
}

// OutputLink implements [httpapi.Outputs]. A link that is a path alone belongs to the
// server.
func (c *Client) OutputLink(ctx context.Context, namespace string, job int64, name string, lease int64) (task.SignedRequest, error) {
	query := words("namespace", namespace)
	if lease > 0 {
		query.Set("lease", strconv.FormatInt(lease, 10))
	}
	return get[task.SignedRequest](ctx, c, numbered("jobs", job, "outputs", url.PathEscape(name)), query)
}

// DeclareOutput implements [httpapi.Outputs].
func (c *Client) DeclareOutput(ctx context.Context, session string, ref job.Ref, o task.Output) (*task.SignedRequest, error) {
	if err := checked("session", session); err != nil {
		return nil, err
	}
	var place wire.OutputPlace
	err := c.do(ctx, ask{method: http.MethodPost, path: named("sessions", session, "outputs"), body: wire.SessionOutput{Ref: ref, Output: o}, again: true}, &place)
	return place.Link, err
}

// items reads a list that has no pages.
func items[T any](ctx context.Context, c *Client, path string, query url.Values) ([]T, error) {
	p, err := get[core.Page[T]](ctx, c, path, query)
	return p.Items, err
}

// Logs implements [httpapi.Jobs].
func (c *Client) Logs(ctx context.Context, namespace string, id int64, f job.LogFilter) (core.Page[job.LogLine], error) {
	return get[core.Page[job.LogLine]](ctx, c, numbered("jobs", id, "logs"),
		paged(f.Paging, words("namespace", namespace, "attempt", numberText(f.Attempt))))
}

// numberText leaves out a zero, which means the default.
func numberText(n int) string {
	if n == 0 {
		return ""
	}
	return strconv.Itoa(n)
}

// CancelJobs implements [httpapi.Jobs].
func (c *Client) CancelJobs(ctx context.Context, namespace string, s view.Selection) (view.Selected, error) {
	return put[view.Selected](ctx, c, http.MethodPost, "/v1/jobs/cancel", words("namespace", namespace), s)
}

// RetryJobs implements [httpapi.Jobs].
func (c *Client) RetryJobs(ctx context.Context, namespace string, s view.Selection) (view.Selected, error) {
	return put[view.Selected](ctx, c, http.MethodPost, "/v1/jobs/retry", words("namespace", namespace), s)
}

// RunJobAgain implements [httpapi.Jobs]. It is repeated when the server cannot be reached
// only with an idempotency key.
func (c *Client) RunJobAgain(ctx context.Context, namespace string, id int64, r job.RunAgain) (e job.Enqueued, err error) {
	err = c.do(ctx, ask{method: http.MethodPost, path: numbered("jobs", id, "run-again"), query: words("namespace", namespace), body: r, again: r.Key != ""}, &e)
	return e, err
}

// Why implements [httpapi.Jobs].
func (c *Client) Why(ctx context.Context, namespace string, id int64) (job.Why, error) {
	return get[job.Why](ctx, c, numbered("jobs", id, "why"), words("namespace", namespace))
}

// SaveNamespace implements [httpapi.Namespaces].
func (c *Client) SaveNamespace(ctx context.Context, n access.Namespace) (access.Namespace, error) {
	if err := checked("name", n.Name); err != nil {
		return access.Namespace{}, err
	}
	return put[access.Namespace](ctx, c, http.MethodPut, named("namespaces", n.Name), nil, n)
}

// Namespace implements [httpapi.Namespaces].
func (c *Client) Namespace(ctx context.Context, name string) (access.Namespace, error) {
	if err := checked("name", name); err != nil {
		return access.Namespace{}, err
	}
	return get[access.Namespace](ctx, c, named("namespaces", name), nil)
}

// Namespaces implements [httpapi.Namespaces].
func (c *Client) Namespaces(ctx context.Context) ([]access.Namespace, error) {
	return items[access.Namespace](ctx, c, "/v1/namespaces", nil)
}

// SaveQueue implements [httpapi.Queues].
func (c *Client) SaveQueue(ctx context.Context, q job.Queue) (job.Queue, error) {
	if err := checked("name", q.Name); err != nil {
		return job.Queue{}, err
	}
	return put[job.Queue](ctx, c, http.MethodPut, named("queues", q.Name), nil, q)
}

// DeleteQueue implements [httpapi.Queues].
func (c *Client) DeleteQueue(ctx context.Context, name string) error {
	if err := checked("name", name); err != nil {
		return err
	}
	return c.delete(ctx, named("queues", name), nil)
}

// Queue implements [httpapi.Queues].
func (c *Client) Queue(ctx context.Context, name string) (job.QueueStats, error) {
	if err := checked("name", name); err != nil {
		return job.QueueStats{}, err
	}
	return get[job.QueueStats](ctx, c, named("queues", name), nil)
}

// Queues implements [httpapi.Queues].
func (c *Client) Queues(ctx context.Context) ([]job.QueueStats, error) {
	return items[job.QueueStats](ctx, c, "/v1/queues", nil)
}

// PauseQueue implements [httpapi.Queues].
func (c *Client) PauseQueue(ctx context.Context, name, reason string) (job.Queue, error) {
	if err := checked("name", name); err != nil {
		return job.Queue{}, err
	}
	return put[job.Queue](ctx, c, http.MethodPost, named("queues", name, "pause"), nil, wire.PauseReason{Reason: reason})
}

// ResumeQueue implements [httpapi.Queues].
func (c *Client) ResumeQueue(ctx context.Context, name string) (job.Queue, error) {
	if err := checked("name", name); err != nil {
		return job.Queue{}, err
	}
	return put[job.Queue](ctx, c, http.MethodPost, named("queues", name, "resume"), nil, nil)
}

// Workers implements [httpapi.Workers].
func (c *Client) Workers(ctx context.Context, ended bool) ([]job.WorkerState, error) {
	return items[job.WorkerState](ctx, c, "/v1/workers", flags("ended", ended))
}

// flags is query parameters that are either there or not.
func flags(name string, on bool) url.Values {
	if !on {
		return nil
	}
	return words(name, "true")
}

// DrainWorker implements [httpapi.Workers].
func (c *Client) DrainWorker(ctx context.Context, session string) error {
	if err := checked("session", session); err != nil {
		return err
	}
	return c.do(ctx, ask{method: http.MethodPost, path: named("workers", session, "drain")}, nil)
}

// CreateToken implements [httpapi.Tokens].
func (c *Client) CreateToken(ctx context.Context, t access.Token) (access.Token, string, error) {
	made, err := put[wire.NewToken](ctx, c, http.MethodPost, "/v1/tokens", nil, t)
	return made.Token, made.Secret, err
}

// RevokeToken implements [httpapi.Tokens].
func (c *Client) RevokeToken(ctx context.Context, id int64) error {
	return c.delete(ctx, numbered("tokens", id), nil)
}

// Whoami answers the token that the client calls with.
func (c *Client) Whoami(ctx context.Context) (access.Token, error) {
	return get[access.Token](ctx, c, "/v1/whoami", nil)
}

// Tokens implements [httpapi.Tokens].
func (c *Client) Tokens(ctx context.Context) ([]access.Token, error) {
	return items[access.Token](ctx, c, "/v1/tokens", nil)
}

// CreateJoinToken implements [httpapi.Tokens].
func (c *Client) CreateJoinToken(ctx context.Context, t access.JoinToken) (access.JoinToken, string, error) {
	made, err := put[wire.NewJoinToken](ctx, c, http.MethodPost, "/v1/join-tokens", nil, t)
	return made.Token, made.Secret, err
}

// RevokeJoinToken implements [httpapi.Tokens].
func (c *Client) RevokeJoinToken(ctx context.Context, id int64) error {
	return c.delete(ctx, numbered("join-tokens", id), nil)
}

// JoinTokens implements [httpapi.Tokens].
func (c *Client) JoinTokens(ctx context.Context) ([]access.JoinToken, error) {
	return items[access.JoinToken](ctx, c, "/v1/join-tokens", nil)
}

// Join implements [httpapi.Tokens]. It needs no token of the client's. It is not
// repeated: whether a call without an answer counted is not known.
func (c *Client) Join(ctx context.Context, secret, machine string) (access.Token, string, error) {
	var made wire.NewToken
	err := c.do(ctx, ask{method: http.MethodPost, path: "/v1/join", body: wire.Joining{Name: machine}, token: secret}, &made)
	return made.Token, made.Secret, err
}

// Apply implements [httpapi.Definitions].
func (c *Client) Apply(ctx context.Context, m view.Manifest, o wire.ApplyOptions) (view.Applied, error) {
	query := words("namespace", o.Namespace)
	if o.DryRun {
		query.Set("dry_run", "true")
	}
	if o.Prune {
		query.Set("prune", "true")
	}
	var done view.Applied
	err := c.do(ctx, ask{method: http.MethodPost, path: "/v1/apply", query: query, body: m, timeout: wire.ApplyTimeout + 30*time.Second, again: o.DryRun}, &done)
	return done, err
}

// Export implements [httpapi.Definitions].
func (c *Client) Export(ctx context.Context, namespace string) (view.Manifest, error) {
	var m view.Manifest
	err := c.do(ctx, ask{method: http.MethodGet, path: "/v1/export", query: words("namespace", namespace), timeout: wire.ApplyTimeout + 30*time.Second, again: true}, &m)
	return m, err
}

// Audit implements [httpapi.Audits].
func (c *Client) Audit(ctx context.Context, f access.AuditFilter) (core.Page[access.Audit], error) {
	return get[core.Page[access.Audit]](ctx, c, "/v1/audit",
		paged(f.Paging, words("namespace", f.Namespace, "noun", f.Noun, "name", f.Name,
			"actor", f.Actor, "since", timeText(f.Since), "until", timeText(f.Until))))
}

// Events implements [httpapi.Watcher]. [Client.Watch] does the same without an end.
func (c *Client) Events(ctx context.Context, namespace, cursor string, wait time.Duration) ([]view.Event, string, error) {
	wait = min(max(wait, 0), job.MaxClaimWait.D())
	var e wire.EventPage
	err := c.do(ctx, ask{
		method: http.MethodGet, path: "/v1/events/poll", timeout: wait + ClaimMargin, again: true,
		query: words("namespace", namespace, "cursor", cursor, "wait", wait.String()),
	}, &e)
	return e.Events, e.Next, err
}

// Health implements [httpapi.Health].
func (c *Client) Health(ctx context.Context) (view.Health, error) {
	return get[view.Health](ctx, c, "/v1/health", nil)
}

// DatabaseHealth implements [httpapi.Health].
func (c *Client) DatabaseHealth(ctx context.Context) (view.DatabaseHealth, error) {
	return get[view.DatabaseHealth](ctx, c, "/v1/database", nil)
}

package client

import (
	"context"
	"net/http"
	"net/url"
	"strconv"
	"strings"

	"github.com/belfry-run/belfry/core"
	"github.com/belfry-run/belfry/httpapi/wire"
	"github.com/belfry-run/belfry/job"
	"github.com/belfry-run/belfry/task"
	"github.com/belfry-run/belfry/view"
)

// JobCalls are the calls about jobs, their logs and outputs, and queues.
type JobCalls struct{ server *server }

// Job implements [httpapi.Jobs].
func (c JobCalls) Job(ctx context.Context, namespace string, id int64) (job.Job, error) {
	return get[job.Job](ctx, c.server, numbered("jobs", id), words("namespace", namespace))
}

// Jobs implements [httpapi.Jobs].
func (c JobCalls) Jobs(ctx context.Context, f job.Filter) (core.Page[job.Job], error) {
	return get[core.Page[job.Job]](ctx, c.server, "/v1/jobs", paged(f.Paging, words("namespace", f.Namespace, "q", f.String())))
}

// CountJobs implements [httpapi.Jobs].
func (c JobCalls) CountJobs(ctx context.Context, f job.Filter, o view.CountOptions) (job.Count, error) {
	q := words("namespace", f.Namespace, "q", f.String(), "cap", numberText(o.Cap))
	if o.ByState {
		q.Set("by", "state")
	}
	return get[job.Count](ctx, c.server, "/v1/jobs/count", q)
}

// Attempts implements [httpapi.Jobs].
func (c JobCalls) Attempts(ctx context.Context, namespace string, id int64) ([]job.Attempt, error) {
	return items[job.Attempt](ctx, c.server, numbered("jobs", id, "attempts"), words("namespace", namespace))
}

// Outputs implements [httpapi.Outputs].
func (c JobCalls) Outputs(ctx context.Context, namespace string, job int64) ([]task.JobOutput, error) {
	return items[task.JobOutput](ctx, c.server, numbered("jobs", job, "outputs"), words("namespace", namespace))
}

// OutputLink implements [httpapi.Outputs]. A link without a host is relative to the
// server.
func (c JobCalls) OutputLink(ctx context.Context, namespace string, job int64, name string, lease int64) (task.SignedRequest, error) {
	query := words("namespace", namespace)
	if lease > 0 {
		query.Set("lease", strconv.FormatInt(lease, 10))
	}
	return get[task.SignedRequest](ctx, c.server, numbered("jobs", job, "outputs", url.PathEscape(name)), query)
}

// DeclareOutput implements [httpapi.Outputs].
func (c JobCalls) DeclareOutput(ctx context.Context, session string, ref job.Ref, o task.Output) (*task.SignedRequest, error) {
	if err := checked("session", session); err != nil {
		return nil, err
	}
	var place wire.OutputPlace
	err := c.server.do(ctx, ask{method: http.MethodPost, path: named("sessions", session, "outputs"), body: wire.SessionOutput{Ref: ref, Output: o}, again: true}, &place)
	return place.Link, err
}

// Logs implements [httpapi.Jobs].
func (c JobCalls) Logs(ctx context.Context, namespace string, id int64, f job.LogFilter) (core.Page[job.LogLine], error) {
	return get[core.Page[job.LogLine]](ctx, c.server, numbered("jobs", id, "logs"),
		paged(f.Paging, words("namespace", namespace, "attempt", numberText(f.Attempt))))
}

// CancelJobs implements [httpapi.Jobs].
func (c JobCalls) CancelJobs(ctx context.Context, namespace string, s view.Selection) (view.Selected, error) {
	return put[view.Selected](ctx, c.server, http.MethodPost, "/v1/jobs/cancel", words("namespace", namespace), s)
}

// RetryJobs implements [httpapi.Jobs]. If the server cannot be reached, it is repeated
// only with an idempotency key.
func (c JobCalls) RetryJobs(ctx context.Context, namespace string, s view.Selection) (out view.Selected, err error) {
	err = c.server.do(ctx, ask{method: http.MethodPost, path: "/v1/jobs/retry", query: words("namespace", namespace), body: s, again: s.Key != ""}, &out)
	return out, err
}

// RunJobAgain implements [httpapi.Jobs]. If the server cannot be reached, it is repeated
// only with an idempotency key.
func (c JobCalls) RunJobAgain(ctx context.Context, namespace string, id int64, r job.RunAgain) (e job.Enqueued, err error) {
	err = c.server.do(ctx, ask{method: http.MethodPost, path: numbered("jobs", id, "run-again"), query: words("namespace", namespace), body: r, again: r.Key != ""}, &e)
	return e, err
}

// Why implements [httpapi.Jobs].
func (c JobCalls) Why(ctx context.Context, namespace string, id int64) (job.Why, error) {
	return get[job.Why](ctx, c.server, numbered("jobs", id, "why"), words("namespace", namespace))
}

// SaveQueue implements [httpapi.Queues].
func (c JobCalls) SaveQueue(ctx context.Context, q job.Queue) (job.Queue, error) {
	if err := checked("name", q.Name); err != nil {
		return job.Queue{}, err
	}
	return put[job.Queue](ctx, c.server, http.MethodPut, named("queues", q.Name), nil, q)
}

// DeleteQueue implements [httpapi.Queues].
func (c JobCalls) DeleteQueue(ctx context.Context, name string) error {
	if err := checked("name", name); err != nil {
		return err
	}
	return c.server.delete(ctx, named("queues", name), nil)
}

// Queue implements [httpapi.Queues].
func (c JobCalls) Queue(ctx context.Context, name string) (job.QueueStats, error) {
	if err := checked("name", name); err != nil {
		return job.QueueStats{}, err
	}
	return get[job.QueueStats](ctx, c.server, named("queues", name), nil)
}

// Queues implements [httpapi.Queues].
func (c JobCalls) Queues(ctx context.Context) ([]job.QueueStats, error) {
	return items[job.QueueStats](ctx, c.server, "/v1/queues", nil)
}

// QueueList returns the queues. For a token with only the scope worker, the server does not count their jobs.
func (c JobCalls) QueueList(ctx context.Context) ([]job.Queue, error) {
	all, err := c.Queues(ctx)
	queues := make([]job.Queue, len(all))
	for i, q := range all {
		queues[i] = q.Queue
	}
	return queues, err
}

// QueueLimitUse implements [httpapi.Queues].
func (c JobCalls) QueueLimitUse(ctx context.Context, name string) ([]view.LimitUse, error) {
	if err := core.ValidName("name", name); err != nil {
		return nil, err
	}
	return get[[]view.LimitUse](ctx, c.server, named("queues", name, "limits"), nil)
}

// PauseQueue implements [httpapi.Queues].
func (c JobCalls) PauseQueue(ctx context.Context, name, reason string) (job.Queue, error) {
	if err := checked("name", name); err != nil {
		return job.Queue{}, err
	}
	return put[job.Queue](ctx, c.server, http.MethodPost, named("queues", name, "pause"), nil, wire.PauseReason{Reason: reason})
}

// ResumeQueue implements [httpapi.Queues].
func (c JobCalls) ResumeQueue(ctx context.Context, name string) (job.Queue, error) {
	if err := checked("name", name); err != nil {
		return job.Queue{}, err
	}
	return put[job.Queue](ctx, c.server, http.MethodPost, named("queues", name, "resume"), nil, nil)
}

// JobMinutes implements [httpapi.History].
func (c JobCalls) JobMinutes(ctx context.Context, q job.MinuteQuery) ([]job.MinuteTotals, error) {
	return items[job.MinuteTotals](ctx, c.server, "/v1/minutes", words("namespace", q.Namespace, "queue", q.Queue, "within", spanText(q.Within)))
}

// QueueSamples implements [httpapi.History].
func (c JobCalls) QueueSamples(ctx context.Context, q job.SampleQuery) (job.Samples, error) {
	return get[job.Samples](ctx, c.server, "/v1/queue-samples", words("namespace", q.Namespace, "queue", strings.Join(q.Queues, ","),
		"within", spanText(q.Within), "step", spanText(q.Step)))
}

// LogText implements [httpapi.Jobs].
func (c JobCalls) LogText(ctx context.Context, namespace string, id int64, q job.LogQuery) (job.LogText, error) {
	v := words("namespace", namespace, "attempt", numberText(q.Attempt), "stream", string(q.Stream), "offset", numberText(int(q.Offset)),
		"limit", numberText(q.Limit), "tail", numberText(q.Tail), "grep", q.Grep)
	if q.Regexp {
		v.Set("regexp", "true")
	}
	return get[job.LogText](ctx, c.server, numbered("jobs", id, "log"), v)
}

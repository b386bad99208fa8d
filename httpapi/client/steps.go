package client

import (
	"context"
	"net/http"
	"strconv"

	"github.com/belfry-run/belfry/core"
	"github.com/belfry-run/belfry/httpapi/wire"
	"github.com/belfry-run/belfry/job"
)

var (
	_ job.StepKeeper = WorkerCalls{}
	_ job.StepKeeper = (*AttemptClient)(nil)

	_ job.ProgressKeeper = WorkerCalls{}
	_ job.ProgressKeeper = (*AttemptClient)(nil)
)

// Steps implements [job.StepKeeper].
func (c WorkerCalls) Steps(ctx context.Context, session string, ref job.Ref) (job.StepList, error) {
	if err := checked("session", session); err != nil {
		return job.StepList{}, err
	}
	return get[job.StepList](ctx, c.server, named("sessions", session, "steps", strconv.FormatInt(ref.JobID, 10), strconv.FormatInt(ref.Lease, 10)), nil)
}

// SaveStep implements [job.StepKeeper]. It is repeated if the server cannot be reached.
func (c WorkerCalls) SaveStep(ctx context.Context, session string, ref job.Ref, s job.NewStep) (out job.SavedStep, err error) {
	if err := checked("session", session); err != nil {
		return out, err
	}
	err = c.server.do(ctx, ask{method: http.MethodPost, path: named("sessions", session, "steps"), body: wire.SessionStep{Ref: ref, NewStep: s}, again: true}, &out)
	return out, err
}

// LinkSignal implements [job.StepKeeper].
func (c WorkerCalls) LinkSignal(ctx context.Context, session string, ref job.Ref, l job.Link) (out job.NewLink, err error) {
	if err := checked("session", session); err != nil {
		return out, err
	}
	return put[job.NewLink](ctx, c.server, http.MethodPost, named("sessions", session, "links"), nil, wire.SessionLink{Ref: ref, Link: l})
}

// LinkSignal implements [job.StepKeeper].
func (a *AttemptClient) LinkSignal(ctx context.Context, session string, ref job.Ref, l job.Link) (out job.NewLink, err error) {
	if err := a.only(session); err != nil {
		return out, err
	}
	if ref != a.ref {
		return out, core.Errorf(core.Conflict, "the lease %d on job %d is that of another attempt", ref.Lease, ref.JobID)
	}
	return put[job.NewLink](ctx, a.server, http.MethodPost, a.path("links"), nil, l)
}

// MakeSignalLink implements [httpapi.Jobs].
func (c JobCalls) MakeSignalLink(ctx context.Context, namespace string, id int64, l job.Link) (job.NewLink, error) {
	return put[job.NewLink](ctx, c.server, http.MethodPost, numbered("jobs", id, "links"), words("namespace", namespace), l)
}

// DeleteSignalLinks implements [httpapi.Jobs].
func (c JobCalls) DeleteSignalLinks(ctx context.Context, namespace string, id int64, name string) (job.Unlinked, error) {
	return put[job.Unlinked](ctx, c.server, http.MethodDelete, numbered("jobs", id, "links"), words("namespace", namespace, "name", name), nil)
}

// JobSteps implements [httpapi.Jobs].
func (c JobCalls) JobSteps(ctx context.Context, namespace string, id int64) ([]job.Step, error) {
	return items[job.Step](ctx, c.server, numbered("jobs", id, "steps"), words("namespace", namespace))
}

// SignalJob implements [httpapi.Jobs]. It is repeated if the server cannot be reached, because the first signal of a name counts.
func (c JobCalls) SignalJob(ctx context.Context, namespace string, id int64, sig job.Signal) (sent job.SentSignal, err error) {
	err = c.server.do(ctx, ask{method: http.MethodPost, path: numbered("jobs", id, "signals"), query: words("namespace", namespace), body: sig, again: true}, &sent)
	return sent, err
}

// ResetSteps implements [httpapi.Jobs].
func (c JobCalls) ResetSteps(ctx context.Context, namespace string, id int64, r job.StepReset) (int, error) {
	out, err := put[wire.StepsForgotten](ctx, c.server, http.MethodPost, numbered("jobs", id, "reset-steps"), words("namespace", namespace), r)
	return out.Steps, err
}

// Steps implements [job.StepKeeper].
func (a *AttemptClient) Steps(ctx context.Context, session string, ref job.Ref) (out job.StepList, err error) {
	if err := a.only(session); err != nil || ref != a.ref {
		return job.StepList{Stale: true}, nil //nolint:nilerr // an ended attempt is an answer, not an error
	}
	out, err = get[job.StepList](ctx, a.server, a.path("steps"), nil)
	if isOver(err) {
		return job.StepList{Stale: true}, nil
	}
	return out, err
}

// SaveStep implements [job.StepKeeper].
func (a *AttemptClient) SaveStep(ctx context.Context, session string, ref job.Ref, s job.NewStep) (out job.SavedStep, err error) {
	if err := a.only(session); err != nil || ref != a.ref {
		return job.SavedStep{Stale: true}, nil //nolint:nilerr // an ended attempt is an answer, not an error
	}
	err = a.server.do(ctx, ask{method: http.MethodPost, path: a.path("steps"), body: s, again: true}, &out)
	if isOver(err) {
		return job.SavedStep{Stale: true}, nil
	}
	return out, err
}

// isOver reports whether the token of the attempt has ended.
func isOver(err error) bool { return core.CodeOf(err) == core.Unauthorized }

// SaveProgress implements [job.ProgressKeeper], in as many requests as needed.
func (c WorkerCalls) SaveProgress(ctx context.Context, session string, ps []job.AttemptProgress) error {
	if err := checked("session", session); err != nil {
		return err
	}
	for chunk := range chunks(ps, sizeOfProgress) {
		if err := c.server.do(ctx, ask{method: http.MethodPost, path: named("sessions", session, "progress"), body: wire.SessionProgress{Attempts: chunk}}, nil); err != nil {
			return err
		}
	}
	return nil
}

func sizeOfProgress(p job.AttemptProgress) int {
	n := jsonSize(p.Message) + 150
	for name := range p.Counters {
		n += jsonSize(name) + 25
	}
	return n
}

// SaveProgress implements [job.ProgressKeeper].
func (a *AttemptClient) SaveProgress(ctx context.Context, session string, ps []job.AttemptProgress) error {
	if err := a.only(session); err != nil {
		return nil //nolint:nilerr // progress under a stale lease is dropped without an error
	}
	for _, p := range ps {
		if p.Ref != a.ref {
			continue
		}
		if err := a.server.do(ctx, ask{method: http.MethodPost, path: a.path("progress"), body: p.Progress}, nil); err != nil && !isOver(err) {
			return err
		}
	}
	return nil
}

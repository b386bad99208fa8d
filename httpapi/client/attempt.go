package client

import (
	"context"
	"fmt"
	"net/http"
	"sync"
	"sync/atomic"
	"time"

	"github.com/belfry-run/belfry/core"
	"github.com/belfry-run/belfry/httpapi/wire"
	"github.com/belfry-run/belfry/job"
	"github.com/belfry-run/belfry/task"
)

// AttemptClient is a [job.Leaser] for a single attempt. The session and the job
// come from the worker that claimed them. The client holds only the token of the
// attempt, so a thief of the token can act only on this attempt.
//
// OpenSession renews first, so that the time of the session counts from then.
// Claim returns the job once; later calls wait without a result. Renew is the
// heartbeat of the attempt, and takes over new tokens. CloseSession does nothing:
// a session that was opened with Once ends with the report.
type AttemptClient struct {
	server  *server
	session job.Session
	job     job.LeasedJob
	ref     job.Ref

	seq     atomic.Int64
	claimed atomic.Bool
	over    atomic.Bool // whether the report was answered

	mu    sync.Mutex
	token string
}

var _ job.Leaser = (*AttemptClient)(nil)

// NewAttemptClient returns a client for a claimed attempt. It does not call the
// server.
func NewAttemptClient(server string, session job.Session, j job.LeasedJob, o Options) (*AttemptClient, error) {
	if j.Token == "" {
		return nil, core.InvalidField("token", "", "is missing", "only programs that were claimed through a server have one")
	}
	client, err := New(server, j.Token, o)
	if err != nil {
		return nil, err
	}
	a := &AttemptClient{
		server: client.server, session: session, job: j, token: j.Token,
		ref: job.Ref{JobID: j.Job.ID, Lease: j.Job.Lease},
	}
	a.server.fresh = a.Current
	// Sequence numbers must grow across a restart of this process.
	a.seq.Store(time.Now().UnixMicro())
	return a, nil
}

// Current returns the current token of the attempt. A renewal may change it.
func (a *AttemptClient) Current() string {
	a.mu.Lock()
	defer a.mu.Unlock()
	return a.token
}

func (a *AttemptClient) path(more string) string {
	return fmt.Sprintf("/v1/attempts/%d/%d/%s", a.ref.JobID, a.ref.Lease, more)
}

// only refuses calls for another session.
func (a *AttemptClient) only(session string) error {
	if session == a.session.ID {
		return nil
	}
	return core.Errorf(core.Unauthorized, "session %s has ended", wire.Shorten(session))
}

// OpenSession returns the session of the worker, if it can be renewed.
func (a *AttemptClient) OpenSession(ctx context.Context, _ job.WorkerInfo) (job.Session, error) {
	beat, err := a.beat(ctx)
	if err != nil {
		return job.Session{}, err
	}
	if beat.TTL > 0 {
		a.session.TTL = beat.TTL
	}
	return a.session, nil
}

// Claim returns the job at the first claim from its queue.
func (a *AttemptClient) Claim(ctx context.Context, c job.ClaimRequest) (job.Claim, error) {
	empty := job.Claim{Jobs: []job.LeasedJob{}}
	if err := a.only(c.Session); err != nil {
		return empty, err
	}
	if c.Want[a.job.Job.Queue] > 0 && a.claimed.CompareAndSwap(false, true) {
		return job.Claim{Lease: a.ref.Lease, Jobs: []job.LeasedJob{a.job}}, nil
	}
	return empty, wire.Pause(ctx, min(c.Wait, job.MaxClaimWait).D())
}

// Renew is the attempt's heartbeat.
func (a *AttemptClient) Renew(ctx context.Context, session string, _ job.Holdings) (job.Renewal, error) {
	if err := a.only(session); err != nil {
		return job.Renewal{Lost: true}, nil //nolint:nilerr // an ended session is an answer, not an error
	}
	if a.over.Load() {
		return job.Renewal{Drain: true}, nil
	}
	beat, err := a.beat(ctx)
	switch {
	case core.CodeOf(err) == core.Unauthorized && !a.over.Load():
		return job.Renewal{Lost: true}, nil
	case err != nil:
		return job.Renewal{}, err
	}
	out := job.Renewal{Drain: beat.Action == job.BeatDrain}
	if beat.Action == job.BeatCancel {
		out.Cancel = []job.Ref{a.ref}
	}
	return out, nil
}

// beat sends a heartbeat. It is never repeated under the same number, because a
// lost call may have arrived.
func (a *AttemptClient) beat(ctx context.Context) (job.AttemptBeat, error) {
	var out job.AttemptBeat
	err := a.server.do(ctx, ask{
		method: http.MethodPost, path: a.path("beat"), timeout: renewTimeout, renewal: true, body: wire.BeatNumber{Seq: a.seq.Add(1)},
	}, &out)
	if core.CodeOf(err) == core.Conflict {
		// The clock of this machine was set back before a restart of this process.
		// The number may be far ahead.
		a.seq.Add(time.Hour.Microseconds())
	}
	if err == nil && out.Token != "" {
		a.mu.Lock()
		a.token = out.Token
		a.mu.Unlock()
	}
	return out, err
}

// Finish reports the result of the attempt. A lost lease is stale, as with any
// broker. So is a report that differs from an accepted one.
func (a *AttemptClient) Finish(ctx context.Context, session string, fs []job.Finish) ([]job.Finished, error) {
	if err := a.only(session); err != nil {
		return nil, err
	}
	out := make([]job.Finished, len(fs))
	for i, f := range fs {
		out[i] = job.Finished{Ref: f.Ref, Stale: true}
		if f.Ref != a.ref {
			continue
		}
		var done job.Finished
		err := a.server.do(ctx, ask{method: http.MethodPost, path: a.path("finish"), body: f, again: true}, &done)
		switch core.CodeOf(err) {
		case "":
			out[i] = done
		case core.Conflict, core.Unauthorized:
		default:
			return nil, err
		}
		a.over.Store(true)
	}
	return out, nil
}

// Append stores pieces of the attempt's log.
func (a *AttemptClient) Append(ctx context.Context, session string, ls []job.LogPiece) error {
	if err := a.only(session); err != nil {
		return err
	}
	for chunk := range chunks(ls, sizeOfPiece) {
		err := a.server.do(ctx, ask{method: http.MethodPost, path: a.path("logs"), body: wire.AttemptLog{Pieces: chunk}, again: true}, nil)
		if core.CodeOf(err) == core.Unauthorized {
			return nil // pieces under a stale lease are dropped without an error
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// CloseSession implements [job.Leaser].
func (a *AttemptClient) CloseSession(context.Context, string) error { return nil }

// DeclareOutput announces an output file of the attempt. It returns the request to
// send the file, or nil if its bytes are stored already.
func (a *AttemptClient) DeclareOutput(ctx context.Context, session string, ref job.Ref, o task.Output) (*task.SignedRequest, error) {
	if err := a.only(session); err != nil || ref != a.ref {
		return nil, core.Errorf(core.Unauthorized, "this is another attempt")
	}
	var place wire.OutputPlace
	err := a.server.do(ctx, ask{method: http.MethodPost, path: a.path("outputs"), body: o, again: true}, &place)
	return place.Link, err
}

// ArtifactLink returns a new link to the program.
func (a *AttemptClient) ArtifactLink(ctx context.Context) (task.SignedRequest, error) {
	return get[task.SignedRequest](ctx, a.server, a.path("artifact"), nil)
}

// Server returns the address of the server.
func (a *AttemptClient) Server() string { return a.server.base }

// CloseIdleConnections closes unused connections.
func (a *AttemptClient) CloseIdleConnections() { a.server.closeIdleConnections() }

package client

import (
	"context"
	"net/http"
	"unicode/utf8"

	"github.com/belfry-run/belfry/core"
	"github.com/belfry-run/belfry/httpapi/wire"
	"github.com/belfry-run/belfry/job"
)

// WorkerCalls are the calls of workers, as a [job.Leaser], and about workers.
type WorkerCalls struct{ server *server }

// Workers implements [httpapi.Workers].
func (c WorkerCalls) Workers(ctx context.Context, ended bool) ([]job.WorkerState, error) {
	return items[job.WorkerState](ctx, c.server, "/v1/workers", flags("ended", ended))
}

// DrainWorker implements [httpapi.Workers].
func (c WorkerCalls) DrainWorker(ctx context.Context, session string) error {
	if err := checked("session", session); err != nil {
		return err
	}
	return c.server.do(ctx, ask{method: http.MethodPost, path: named("workers", session, "drain")}, nil)
}

// maxChunk is the most bytes of JSON of finishes or logs in one request. A larger
// finish or piece of log goes alone: by its own limits it stays below the server's
// default limit of a body.
const maxChunk = 2 << 20

// OpenSession implements [job.Leaser].
func (c WorkerCalls) OpenSession(ctx context.Context, w job.WorkerInfo) (job.Session, error) {
	return put[job.Session](ctx, c.server, http.MethodPost, "/v1/sessions", nil, w)
}

// Claim implements [job.Leaser]. It gives up 10 s after its wait, and is never
// repeated: the call of a lost answer may have leased jobs, which the next renewal
// hands back.
func (c WorkerCalls) Claim(ctx context.Context, req job.ClaimRequest) (job.Claim, error) {
	if err := checked("session", req.Session); err != nil {
		return job.Claim{}, err
	}
	wait := min(max(req.Wait, 0), job.MaxClaimWait)
	var claim job.Claim
	err := c.server.do(ctx, ask{
		method: http.MethodPost, path: named("sessions", req.Session, "claim"), timeout: wait.D() + claimMargin,
		body: wire.SessionClaim{Tickets: req.Tickets, Want: req.Want, Ahead: req.Ahead, Without: req.Without, Wait: wait},
	}, &claim)
	return claim, err
}

// Renew implements [job.Leaser], on a separate connection.
func (c WorkerCalls) Renew(ctx context.Context, session string, has job.Holdings) (job.Renewal, error) {
	if err := checked("session", session); err != nil {
		return job.Renewal{}, err
	}
	var renewal job.Renewal
	err := c.server.do(ctx, ask{
		method: http.MethodPost, path: named("sessions", session, "renew"), timeout: renewTimeout,
		body: has, again: true, renewal: true,
	}, &renewal)
	return renewal, err
}

// Finish implements [job.Leaser]. Results that exceed one request go in several. If
// one of these fails, all may be sent again.
func (c WorkerCalls) Finish(ctx context.Context, session string, fs []job.Finish) ([]job.Finished, error) {
	if err := checked("session", session); err != nil {
		return nil, err
	}
	var all []job.Finished
	for chunk := range chunks(fs, sizeOfFinish) {
		var done wire.SessionFinished
		err := c.server.do(ctx, ask{
			method: http.MethodPost, path: named("sessions", session, "finish"), body: wire.SessionFinish{Attempts: chunk}, again: true,
		}, &done)
		if err == nil && len(done.Attempts) != len(chunk) {
			err = core.Errorf(core.Internal, "the server answered %d finishes with %d", len(chunk), len(done.Attempts))
		}
		if err != nil {
			return nil, err
		}
		all = append(all, done.Attempts...)
	}
	return all, nil
}

func sizeOfFinish(f job.Finish) int {
	n := len(f.Output) + jsonSize(f.Error) + 300
	if f.Check != nil || f.Sandboxed != nil { // page texts and lists of files can be long
		seen, _ := encode(job.Finish{Check: f.Check, Sandboxed: f.Sandboxed}) // an error comes again when it is sent
		n += len(seen)
	}
	return n
}

// Append implements [job.Leaser], in as many requests as needed.
func (c WorkerCalls) Append(ctx context.Context, session string, ls []job.LogPiece) error {
	if err := checked("session", session); err != nil {
		return err
	}
	for chunk := range chunks(ls, sizeOfPiece) {
		err := c.server.do(ctx, ask{
			method: http.MethodPost, path: named("sessions", session, "logs"), body: wire.SessionLog{Pieces: chunk}, again: true,
		}, nil)
		if err != nil {
			return err
		}
	}
	return nil
}

func sizeOfPiece(l job.LogPiece) int { return jsonSize(l.Text) + 200 }

// CloseSession implements [job.Leaser].
func (c WorkerCalls) CloseSession(ctx context.Context, session string) error {
	if err := checked("session", session); err != nil {
		return err
	}
	return c.server.do(ctx, ask{method: http.MethodDelete, path: named("sessions", session), again: true}, nil)
}

// chunks splits a list into parts whose sizes add up to at most maxChunk. A larger
// item is a part of its own.
func chunks[T any](all []T, size func(T) int) func(yield func([]T) bool) {
	return func(yield func([]T) bool) {
		begin, sum := 0, 0
		for i, item := range all {
			n := size(item)
			if i > begin && (sum+n > maxChunk || i-begin >= core.MaxBatch) {
				if !yield(all[begin:i]) {
					return
				}
				begin, sum = i, 0
			}
			sum += n
		}
		if begin < len(all) {
			yield(all[begin:])
		}
	}
}

// jsonSize returns an upper estimate of the length of a text as JSON.
func jsonSize(s string) int {
	n, foreign := len(s), 1
	if !utf8.ValidString(s) {
		foreign = 6 // each may become \ufffd
	}
	for i := range len(s) {
		switch c := s[i]; {
		case c < ' ':
			n += 5 // \u0001
		case c == '"' || c == '\\':
			n++
		case c >= utf8.RuneSelf:
			n += foreign - 1
		}
	}
	return n
}

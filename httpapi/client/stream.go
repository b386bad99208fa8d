package client

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"mime"
	"net/http"
	"net/url"
	"os"
	"time"

	"github.com/belfry-run/belfry/core"
	"github.com/belfry-run/belfry/httpapi/wire"
	"github.com/belfry-run/belfry/job"
	"github.com/belfry-run/belfry/view"
)

// maxStreamWait is the longest pause between two tries to reopen a stream.
const maxStreamWait = 5 * time.Second

// errEnded tells the reader of a followed log that it has ended.
var errEnded = errors.New("the log has ended")

// FollowLogs calls each for the lines of a job's log, from the first line until the
// job has ended. After the first connection it reconnects until ctx ends, and
// passes no line twice. It ends if each returns an error.
func (c JobCalls) FollowLogs(ctx context.Context, namespace string, id int64, each func(job.LogLine) error) error {
	query := words("namespace", namespace)
	query.Set("follow", "true")
	err := c.server.stream(ctx, numbered("jobs", id, "logs"), query, func(e wire.SSEEvent) error {
		if e.Name == "end" {
			return errEnded
		}
		return pass(e, "log", each)
	})
	if errors.Is(err, errEnded) {
		return nil
	}
	return err
}

// Watch calls each for all changes from now on, until ctx ends. After the first
// connection it reconnects, and may then pass the last events again. It ends if
// each returns an error.
func (c ViewCalls) Watch(ctx context.Context, namespace string, each func(view.Event) error) error {
	return c.server.stream(ctx, "/v1/events", words("namespace", namespace), func(e wire.SSEEvent) error {
		return pass(e, "", each)
	})
}

// pass decodes the data of an event and calls each. It ignores events with other
// names, which are for newer clients.
func pass[T any](e wire.SSEEvent, name string, each func(T) error) error {
	if name != "" && e.Name != name {
		return nil
	}
	var v T
	if err := json.Unmarshal(e.Data, &v); err != nil {
		return core.Errorf(core.Internal, "an event cannot be read: %w", err).WithHint("are client and server of the same version?")
	}
	return each(v)
}

// stream keeps a stream open, and continues after the last event.
func (c *server) stream(ctx context.Context, path string, query url.Values, each func(wire.SSEEvent) error) error {
	last, wait, connected := "", c.opts.RetryWait, false
	for {
		began := time.Now()
		opened, err := c.streamOnce(ctx, path, query, &last, each)
		connected = connected || opened
		if time.Since(began) > maxStreamWait { // only a stream that lasted resets the pause
			wait = c.opts.RetryWait
		}
		var stopped *eachError
		switch {
		case errors.As(err, &stopped):
			return stopped.err
		case ctx.Err() != nil:
			return context.Cause(ctx)
		case !connected, core.CodeOf(err) != core.Unavailable:
			return err
		}
		if wire.Pause(ctx, wait) != nil {
			return context.Cause(ctx)
		}
		wait = min(2*wait, maxStreamWait)
	}
}

// eachError is an error of the callback, not of the stream.
type eachError struct{ err error }

func (e *eachError) Error() string { return e.err.Error() }

func (e *eachError) Unwrap() error { return e.err }

// streamOnce reads one connection to its end. It always returns an error.
func (c *server) streamOnce(ctx context.Context, path string, query url.Values, last *string, each func(wire.SSEEvent) error) (opened bool, err error) {
	reading, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	idle := time.AfterFunc(c.opts.StreamIdle, func() { cancel(os.ErrDeadlineExceeded) })
	defer idle.Stop()
	req, err := http.NewRequestWithContext(reading, http.MethodGet, c.base+path+"?"+query.Encode(), nil)
	if err != nil {
		return false, err
	}
	req.Header.Set("Accept", wire.SseType)
	req.Header.Set("User-Agent", c.opts.UserAgent)
	if c.token != "" {
		req.Header.Set("Authorization", "Bearer "+c.token)
	}
	if *last != "" {
		req.Header.Set("Last-Event-ID", *last)
	}
	resp, err := c.calls.Do(req)
	if err != nil {
		return false, c.unreachable(ctx, err, c.opts.StreamIdle)
	}
	defer resp.Body.Close()
	if resp.StatusCode != http.StatusOK {
		data, _ := io.ReadAll(io.LimitReader(resp.Body, 1<<20))
		return false, c.refusal(resp, data)
	}
	if kind, _, _ := mime.ParseMediaType(resp.Header.Get("Content-Type")); kind != wire.SseType {
		return false, c.notBelfry(resp)
	}
	return true, c.readEvents(ctx, resp.Body, last, func() { idle.Reset(c.opts.StreamIdle) }, each)
}

func (c *server) readEvents(ctx context.Context, body io.Reader, last *string, alive func(), each func(wire.SSEEvent) error) error {
	events := wire.NewSSEReader(body, alive)
	for {
		e, err := events.Next()
		if err != nil {
			if errors.Is(err, wire.ErrEventSize) {
				return core.Errorf(core.TooLarge, "an event is over the limit of %s", core.SizeText(wire.MaxEvent))
			}
			return c.unreachable(ctx, fmt.Errorf("the stream broke off: %w", err), c.opts.StreamIdle)
		}
		if e.Name == "error" {
			var p wire.Problem
			if json.Unmarshal(e.Data, &p) != nil || p.Code == "" {
				return core.Errorf(core.Internal, "the server ended the stream with an error that cannot be read")
			}
			return p.AsError()
		}
		if len(e.Data) > 0 {
			if err := each(e); err != nil {
				return &eachError{err}
			}
		}
		if e.HasID {
			*last = e.ID // only now, after the event was passed on
		}
	}
}

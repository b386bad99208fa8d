package api

import (
	"bytes"
	"context"
	"encoding/json"
	"net/http"
	"strings"
	"sync"
	"time"

	"github.com/belfry-run/belfry/httpapi/wire"
	"github.com/belfry-run/belfry/view"
)

// streamLife is how long a stream lasts before its reader must reconnect.
const streamLife = 15 * time.Minute

// Stream counts a stream of the caller's token, and calls look once, so that its error is answered as a usual problem.
// It returns the function that sends the stream.
func (a *API) Stream(ctx context.Context, look func() error, send func(ctx context.Context, out *Sse) error) (func(http.ResponseWriter), error) {
	token := CallOf(ctx).Token
	if err := a.Streams.Take(token.ID, a.Options.MaxStreams); err != nil {
		return nil, err
	}
	if err := look(); err != nil {
		a.Streams.Free(token.ID)
		return nil, err
	}
	return func(w http.ResponseWriter) {
		defer a.Streams.Free(token.ID)
		ctx, cancel := a.WhileGood(ctx)
		defer cancel()
		out := NewSSE(w)
		a.End(ctx, out, send(ctx, out))
	}, nil
}

// WhileGood returns ctx, which also ends with the server, with streamLife, when
// the caller's token expires, and at most 20 s after the token is revoked.
func (a *API) WhileGood(ctx context.Context) (context.Context, context.CancelFunc) {
	end := time.Now().Add(streamLife)
	if expires := CallOf(ctx).Token.ExpiresAt; !expires.IsZero() && expires.Before(end) {
		end = expires
	}
	ctx, release := a.Until(ctx)
	ctx, cancel := context.WithDeadline(ctx, end)
	var looking sync.WaitGroup
	if r := CallOf(ctx).r; r != nil {
		looking.Go(func() {
			for wire.Pause(ctx, cachedFor) == nil {
				if !a.Guard.stillGood(ctx, r) {
					cancel()
				}
			}
		})
	}
	return ctx, func() { cancel(); release(); looking.Wait() }
}

// End sends the reason why a stream ends, unless the reader ended it.
func (a *API) End(ctx context.Context, out *Sse, err error) {
	if err == nil || ctx.Err() != nil || out.broken {
		return
	}
	_ = out.Send("error", "", a.Fail(ctx, err)) // if this fails, the connection still ends
}

// Sse writes server-sent events. It flushes each event, within sendTimeout.
type Sse struct {
	w       http.ResponseWriter
	control *http.ResponseController
	broken  bool
}

// NewSSE begins a stream.
func NewSSE(w http.ResponseWriter) *Sse {
	w.Header().Set("Content-Type", wire.SseType)
	w.Header().Set("X-Accel-Buffering", "no") // keeps nginx from buffering events
	w.WriteHeader(http.StatusOK)
	return &Sse{w: w, control: http.NewResponseController(w)}
}

func (s *Sse) write(b []byte) error {
	_ = s.control.SetWriteDeadline(time.Now().Add(sendTimeout))
	_, err := s.w.Write(b)
	if err == nil {
		err = s.control.Flush()
	}
	s.broken = err != nil
	return err
}

// Send writes one event. An id with a line break or NUL is left out.
func (s *Sse) Send(event, id string, data any) error {
	var b bytes.Buffer
	if id != "" && !strings.ContainsAny(id, "\r\n\x00") {
		b.WriteString("id: " + id + "\n")
	}
	b.WriteString("event: " + event + "\ndata: ")
	enc := json.NewEncoder(&b)
	enc.SetEscapeHTML(false)
	if err := enc.Encode(data); err != nil { // its only newline is at the end
		return err
	}
	b.WriteByte('\n')
	return s.write(b.Bytes())
}

// Group writes events that share one cursor. Only the last carries it: after a
// break within the group the reader gets the whole group again.
func (s *Sse) Group(evs []view.Event, cursor string) error {
	for i, e := range evs {
		id := ""
		if i == len(evs)-1 {
			id = cursor
		}
		if err := s.Send(e.Type, id, e); err != nil {
			return err
		}
	}
	return nil
}

// Mark sends an id to resume from, without an event.
func (s *Sse) Mark(id string) error {
	if id == "" || strings.ContainsAny(id, "\r\n\x00") {
		return s.Beat()
	}
	return s.write([]byte("id: " + id + "\n\n"))
}

// Beat sends a keep-alive comment.
func (s *Sse) Beat() error { return s.write([]byte(": beat\n\n")) }

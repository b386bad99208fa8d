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

// streamLife is how long a stream lasts before its reader must come back.
const streamLife = 15 * time.Minute

// Stream takes a place among the streams of the caller's token, looks once, so that what cannot be streamed is refused in
// the usual way, and answers what sends from there on.
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

// WhileGood is ctx that also ends with the server, with streamLife and with
// the caller's token: when it expires, and at most 20 s after it was revoked.
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
			for wire.Pause(ctx, believed) == nil {
				if !a.Guard.stillGood(ctx, r) {
					cancel()
				}
			}
		})
	}
	return ctx, func() { cancel(); release(); looking.Wait() }
}

// End tells the reader why a stream ends, where it is not the reader who ended it.
func (a *API) End(ctx context.Context, out *Sse, err error) {
	if err == nil || ctx.Err() != nil || out.broken {
		return
	}
	_ = out.Send("error", "", a.Fail(ctx, err)) // if it cannot be told, the connection ends all the same
}

// Sse writes server-sent events, each at once and within sendTimeout.
type Sse struct {
	w       http.ResponseWriter
	control *http.ResponseController
	broken  bool
}

// NewSSE begins a stream.
func NewSSE(w http.ResponseWriter) *Sse {
	w.Header().Set("Content-Type", wire.SseType)
	w.Header().Set("X-Accel-Buffering", "no") // nginx would hold pieces back
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

// Send writes one event. An id that cannot stand in a line is left out.
func (s *Sse) Send(event, id string, data any) error {
	var b bytes.Buffer
	if id != "" && !strings.ContainsAny(id, "\r\n\x00") {
		b.WriteString("id: " + id + "\n")
	}
	b.WriteString("event: " + event + "\ndata: ")
	enc := json.NewEncoder(&b)
	enc.SetEscapeHTML(false)
	if err := enc.Encode(data); err != nil { // ends in the one newline that it holds
		return err
	}
	b.WriteByte('\n')
	return s.write(b.Bytes())
}

// Group writes events that share one cursor. Only the last carries it: who is
// cut off in between gets the whole group again.
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

// Mark gives the reader an id to come back with, without an event.
func (s *Sse) Mark(id string) error {
	if id == "" || strings.ContainsAny(id, "\r\n\x00") {
		return s.Beat()
	}
	return s.write([]byte("id: " + id + "\n\n"))
}

// Beat shows that the stream lives.
func (s *Sse) Beat() error { return s.write([]byte(": beat\n\n")) }

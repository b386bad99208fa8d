package httpapi

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"reflect"
	"strconv"
	"strings"
	"time"

	"github.com/belfry-run/belfry/access"
	"github.com/belfry-run/belfry/core"
	"github.com/belfry-run/belfry/httpapi/wire"
	"github.com/belfry-run/belfry/job"
	"github.com/belfry-run/belfry/view"
)

func (s *Server) watchRoutes() {
	type watching struct {
		Namespace string `query:"namespace" doc:"Default: the token's namespace, or default; * for all"`
		Cursor    string `query:"cursor" doc:"Id of the last event seen; default: from now on"`
		Last      string `header:"Last-Event-ID" doc:"The same, as browsers send it; wins over cursor"`
	}
	stream(s, endpoint{
		id: "event-watch", method: http.MethodGet, path: "/v1/events", scope: access.ScopeRead, timeout: -1,
		summary: "Stream what changes, as server-sent events",
		doc: "Each event is of type job, change or check, with the JSON of an Event as its data. " +
			"The last of a group carries an id to come back with. Events are hints: after a gap, read again what you show.",
	}, map[string]reflect.Type{wire.SseType: reflect.TypeFor[view.Event]()},
		func(ctx context.Context, c *call, in *watching) (func(http.ResponseWriter), error) {
			ns, err := inNamespace(c.token, "namespace", in.Namespace)
			if err != nil {
				return nil, err
			}
			return s.watch(ctx, ns, cmp.Or(in.Last, in.Cursor))
		})

	type polling struct {
		Namespace string `query:"namespace" doc:"Default: the token's namespace, or default; * for all"`
		Cursor    string `query:"cursor" doc:"Next of the answer before; default: from now on"`
		Wait      string `query:"wait" doc:"How long to wait when there is nothing, such as 10s; at most 30s; default: not at all"`
	}
	serve(s, endpoint{
		id: "event-poll", method: http.MethodGet, path: "/v1/events/poll", scope: access.ScopeRead,
		timeout: job.MaxClaimWait.D() + 10*time.Second,
		summary: "Answer what changed since a cursor",
	}, func(ctx context.Context, c *call, in *polling) (wire.EventPage, error) {
		ns, err := inNamespace(c.token, "namespace", in.Namespace)
		if err != nil {
			return wire.EventPage{}, err
		}
		wait, err := parseWait(in.Wait)
		if err != nil {
			return wire.EventPage{}, err
		}
		return s.poll(ctx, ns, in.Cursor, wait)
	})
}

func parseWait(text string) (time.Duration, error) {
	if text == "" {
		return 0, nil
	}
	d, err := core.ParseDuration(text)
	if err != nil {
		return 0, core.InvalidField("wait", wire.Shorten(text), "is not a duration", "such as 10s")
	}
	if d < 0 {
		return 0, core.InvalidField("wait", wire.Shorten(text), "is negative", "")
	}
	return min(d, job.MaxClaimWait).D(), nil
}

func (s *Server) poll(ctx context.Context, ns, cursor string, wait time.Duration) (wire.EventPage, error) {
	waiting, cancel := s.until(ctx)
	defer cancel()
	evs, next, err := s.service.Events(waiting, ns, cursor, wait)
	if err != nil && s.stopping.Err() != nil && ctx.Err() == nil && waiting.Err() != nil {
		return wire.EventPage{Events: []view.Event{}, Next: cursor}, nil
	}
	return wire.EventPage{Events: list(evs), Next: next}, err
}

// watch looks once, so that a bad cursor is refused in the usual way, and
// answers what streams from there on.
func (s *Server) watch(ctx context.Context, ns, cursor string) (func(http.ResponseWriter), error) {
	token := callOf(ctx).token
	if err := s.streams.take(token.ID, s.opts.MaxStreams); err != nil {
		return nil, err
	}
	evs, next, err := s.service.Events(ctx, ns, cursor, 0)
	if err != nil {
		s.streams.free(token.ID)
		return nil, err
	}
	return func(w http.ResponseWriter) {
		defer s.streams.free(token.ID)
		ctx, cancel := s.whileGood(ctx)
		defer cancel()
		out := newSSE(w)
		s.end(ctx, out, s.sendEvents(ctx, out, ns, evs, next))
	}, nil
}

// streamLife is how long a stream lasts before its reader must come back, and
// with it how long a token that was revoked goes on being read with.
const streamLife = 15 * time.Minute

// whileGood is ctx that also ends with the server, with streamLife and with
// the caller's token.
func (s *Server) whileGood(ctx context.Context) (context.Context, context.CancelFunc) {
	end := time.Now().Add(streamLife)
	if expires := callOf(ctx).token.ExpiresAt; !expires.IsZero() && expires.Before(end) {
		end = expires
	}
	ctx, release := s.until(ctx)
	ctx, cancel := context.WithDeadline(ctx, end)
	return ctx, func() { cancel(); release() }
}

func (s *Server) sendEvents(ctx context.Context, out *sse, ns string, evs []view.Event, cursor string) error {
	if len(evs) == 0 {
		if err := out.mark(cursor); err != nil {
			return err
		}
	}
	for {
		if err := out.group(evs, cursor); err != nil {
			return err
		}
		asked := time.Now()
		var next string
		var err error
		if evs, next, err = s.service.Events(ctx, ns, cursor, s.beat); err != nil {
			return err
		}
		if len(evs) == 0 {
			if err := out.beat(); err != nil {
				return err
			}
			// Whoever answers at once that there is nothing must not make us spin.
			if err := wire.Pause(ctx, min(s.beat, s.look)-time.Since(asked)); err != nil {
				return err
			}
		}
		cursor = next
	}
}

// end tells the reader why a stream ends, where it is not the reader who ended it.
func (s *Server) end(ctx context.Context, out *sse, err error) {
	if err == nil || ctx.Err() != nil || out.broken {
		return
	}
	_ = out.send("error", "", s.fail(ctx, err)) // if it cannot be told, the connection ends all the same
}

// sse writes server-sent events, each at once and within sendTimeout.
type sse struct {
	w       http.ResponseWriter
	control *http.ResponseController
	broken  bool
}

func newSSE(w http.ResponseWriter) *sse {
	w.Header().Set("Content-Type", wire.SseType)
	w.Header().Set("X-Accel-Buffering", "no") // nginx would hold pieces back
	w.WriteHeader(http.StatusOK)
	return &sse{w: w, control: http.NewResponseController(w)}
}

func (s *sse) write(b []byte) error {
	_ = s.control.SetWriteDeadline(time.Now().Add(sendTimeout))
	_, err := s.w.Write(b)
	if err == nil {
		err = s.control.Flush()
	}
	s.broken = err != nil
	return err
}

// send writes one event. An id that cannot stand in a line is left out.
func (s *sse) send(event, id string, data any) error {
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

// group writes events that share one cursor. Only the last carries it: who is
// cut off in between gets the whole group again.
func (s *sse) group(evs []view.Event, cursor string) error {
	for i, e := range evs {
		id := ""
		if i == len(evs)-1 {
			id = cursor
		}
		if err := s.send(e.Type, id, e); err != nil {
			return err
		}
	}
	return nil
}

// mark gives the reader an id to come back with, without an event.
func (s *sse) mark(id string) error {
	if id == "" || strings.ContainsAny(id, "\r\n\x00") {
		return s.beat()
	}
	return s.write([]byte("id: " + id + "\n\n"))
}

// beat shows that the stream lives.
func (s *sse) beat() error { return s.write([]byte(": beat\n\n")) }

// ended is the last event of a followed log.
type ended struct {
	State job.State `json:"state"`
}

func (s *Server) jobLogRoute() {
	type reading struct {
		ID        int64  `path:"id"`
		Namespace string `query:"namespace" doc:"Default: the token's namespace, or default; * for wherever it is"`
		Attempt   int    `query:"attempt" minimum:"0" doc:"Only this attempt; default: all"`
		Limit     int    `query:"limit" minimum:"0" maximum:"1000" doc:"Items per page; default: 50; not with follow"`
		Cursor    string `query:"cursor" doc:"Next of the page before; with follow: id of the last event"`
		Follow    bool   `query:"follow" doc:"Stream server-sent events until the job ends: log, with a LogLine, and a last one named end"`
		Last      string `header:"Last-Event-ID" doc:"With follow: the same as cursor, as browsers send it; wins over it"`
	}
	stream(s, endpoint{
		id: "job-logs", method: http.MethodGet, path: "/v1/jobs/{id}/logs", scope: access.ScopeRead, timeout: -1,
		summary: "Read or follow a job's log, oldest first",
	}, map[string]reflect.Type{
		"application/json": reflect.TypeFor[core.Page[job.LogLine]](),
		wire.SseType:       reflect.TypeFor[job.LogLine](),
	}, func(ctx context.Context, c *call, in *reading) (func(http.ResponseWriter), error) {
		ns, err := (&jobByID{in.ID, in.Namespace}).resolve(c)
		if err != nil {
			return nil, err
		}
		if in.Follow {
			return s.follow(ctx, ns, in.ID, in.Attempt, cmp.Or(in.Last, in.Cursor))
		}
		ctx, cancel := context.WithTimeout(ctx, handleTimeout)
		defer cancel()
		lines, err := page(s.service.Logs(ctx, ns, in.ID, job.LogFilter{
			Paging: core.Paging{Limit: in.Limit, Cursor: in.Cursor}, Attempt: in.Attempt,
		}))
		if err != nil {
			return nil, err
		}
		return func(w http.ResponseWriter) {
			w.Header().Set("Content-Type", "application/json")
			enc := json.NewEncoder(w)
			enc.SetEscapeHTML(false)
			_ = enc.Encode(lines) // the reader has left
		}, nil
	})
}

// position is how far a log was read: the page, and the last piece seen of it.
// Within a job pieces are ordered by lease and number, and both only grow.
type position struct {
	lease  int64
	seq    int
	cursor string
}

func (p position) String() string { return fmt.Sprintf("%d.%d.%s", p.lease, p.seq, p.cursor) }

func parsePosition(text string) (position, error) {
	if text == "" {
		return position{seq: -1}, nil
	}
	lease, rest, _ := strings.Cut(text, ".")
	seq, cursor, found := strings.Cut(rest, ".")
	l, errL := strconv.ParseInt(lease, 10, 64)
	n, errN := strconv.Atoi(seq)
	if !found || errL != nil || errN != nil || l < 0 || n < -1 {
		return position{}, core.InvalidField("cursor", wire.Shorten(text), "is not the id of an event of this stream", "leave it out to begin anew")
	}
	return position{lease: l, seq: n, cursor: cursor}, nil
}

// passed reports whether a piece was seen.
func (p position) passed(l job.LogLine) bool {
	return l.Lease < p.lease || l.Lease == p.lease && l.Seq <= p.seq
}

// followPage is how many pieces are read at once, and so the most that is read
// again for nothing at each look: the last page has no cursor for its end.
const followPage = 50

// follow answers what streams a log from a position on.
func (s *Server) follow(ctx context.Context, ns string, id int64, attempt int, from string) (func(http.ResponseWriter), error) {
	at, err := parsePosition(from)
	if err != nil {
		return nil, err
	}
	token := callOf(ctx).token
	if err := s.streams.take(token.ID, s.opts.MaxStreams); err != nil {
		return nil, err
	}
	f := &follower{s: s, namespace: ns, id: id, attempt: attempt, at: at}
	if err := f.read(ctx); err != nil { // refuses a job that is not there
		s.streams.free(token.ID)
		return nil, err
	}
	return func(w http.ResponseWriter) {
		defer s.streams.free(token.ID)
		ctx, cancel := s.whileGood(ctx)
		defer cancel()
		out := newSSE(w)
		s.end(ctx, out, f.run(ctx, out))
	}, nil
}

// follower sends the log of one job.
type follower struct {
	s         *Server
	namespace string
	id        int64
	attempt   int
	at        position
	job       job.Job
	lines     core.Page[job.LogLine]
}

// read looks at the job first and at its log after that, so that a job that
// had ended then has nothing to say that is not in these lines or after them.
func (f *follower) read(ctx context.Context) (err error) {
	ctx, cancel := context.WithTimeout(ctx, handleTimeout)
	defer cancel()
	if f.job, err = f.s.service.Job(ctx, f.namespace, f.id); err != nil {
		return err
	}
	f.lines, err = f.s.service.Logs(ctx, f.namespace, f.id, job.LogFilter{
		Paging: core.Paging{Limit: followPage, Cursor: f.at.cursor}, Attempt: f.attempt,
	})
	return err
}

func (f *follower) run(ctx context.Context, out *sse) error {
	if err := out.beat(); err != nil { // sends the headers
		return err
	}
	beaten := time.Now()
	for {
		sent, more, err := f.send(out)
		if err != nil {
			return err
		}
		switch {
		case more:
		case f.over():
			return out.send("end", "", ended{State: f.job.State})
		default:
			if sent == 0 && time.Since(beaten) >= f.s.beat {
				if err := out.beat(); err != nil {
					return err
				}
				beaten = time.Now()
			}
			if err := wire.Pause(ctx, f.s.look); err != nil {
				return err
			}
		}
		if err := f.read(ctx); err != nil {
			return err
		}
	}
}

// send passes on what is new, and reports whether there is more to read now.
func (f *follower) send(out *sse) (sent int, more bool, err error) {
	for _, l := range f.lines.Items {
		if f.at.passed(l) {
			continue
		}
		f.at.lease, f.at.seq = l.Lease, l.Seq
		if err := out.send("log", f.at.String(), l); err != nil {
			return sent, false, err
		}
		sent++
	}
	more = f.lines.Next != "" && f.lines.Next != f.at.cursor
	if more {
		f.at.cursor = f.lines.Next
	}
	return sent, more && len(f.lines.Items) > 0, nil
}

// over reports that nothing more can come.
func (f *follower) over() bool {
	return f.job.State.Final() || f.attempt > 0 && f.job.Attempt > f.attempt
}

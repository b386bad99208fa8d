package jobs

import (
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
	"github.com/belfry-run/belfry/app/httpapi/internal/api"
	"github.com/belfry-run/belfry/core"
	"github.com/belfry-run/belfry/httpapi/wire"
	"github.com/belfry-run/belfry/job"
)

// ended is the last event of a followed log.
type ended struct {
	State job.State `json:"state"`
}

func (s *server) jobLogRoute() {
	type reading struct {
		ID        int64  `path:"id"`
		Namespace string `query:"namespace" doc:"Default: the token's namespace, or default; * for wherever it is"`
		Attempt   int    `query:"attempt" minimum:"0" doc:"Only this attempt; default: all"`
		Limit     int    `query:"limit" minimum:"0" maximum:"1000" doc:"Items per page; default: 50; not with follow"`
		Cursor    string `query:"cursor" doc:"Next of the page before; with follow: id of the last event"`
		Follow    bool   `query:"follow" doc:"Stream server-sent events until the job ends: log, with a LogLine, and a last one named end"`
		Last      string `header:"Last-Event-ID" doc:"With follow: the same as cursor, as browsers send it; wins over it"`
	}
	api.Stream(s.API, api.Endpoint{
		Id: "job-logs", Method: http.MethodGet, Path: "/v1/jobs/{id}/logs", Scope: access.ScopeRead, Timeout: -1,
		Summary: "Read or follow a job's log, oldest first",
	}, map[string]reflect.Type{
		"application/json": reflect.TypeFor[core.Page[job.LogLine]](),
		wire.SseType:       reflect.TypeFor[job.LogLine](),
	}, func(ctx context.Context, c *api.Call, in *reading) (func(http.ResponseWriter), error) {
		ns, err := (&jobByID{in.ID, in.Namespace}).resolve(c)
		if err != nil {
			return nil, err
		}
		if in.Follow {
			return s.follow(ctx, ns, in.ID, in.Attempt, cmp.Or(in.Last, in.Cursor))
		}
		give, err := s.HoldPage(ctx)
		if err != nil {
			return nil, err
		}
		ctx, cancel := context.WithTimeout(ctx, api.HandleTimeout)
		defer cancel()
		lines, err := api.Page(s.service.Logs(ctx, ns, in.ID, job.LogFilter{
			Paging: core.Paging{Limit: in.Limit, Cursor: in.Cursor}, Attempt: in.Attempt,
		}))
		if err != nil {
			give()
			return nil, err
		}
		return func(w http.ResponseWriter) {
			defer give()
			w.Header().Set("Content-Type", "application/json")
			enc := json.NewEncoder(w)
			enc.SetEscapeHTML(false)
			_ = enc.Encode(lines) // fails only if the client has disconnected
		}, nil
	})
}

// position is a position in a log: the page, and the last sent piece of it.
// Within a job, pieces are ordered by lease and number, and both only grow.
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

// passed reports whether a piece was sent before.
func (p position) passed(l job.LogLine) bool {
	return l.Lease < p.lease || l.Lease == p.lease && l.Seq <= p.seq
}

// followPage is how many pieces are read at once. At most so many are read again
// at each look, because the last page has no cursor for its end.
const followPage = 50

// follow returns the function that streams a log from a position on.
func (s *server) follow(ctx context.Context, ns string, id int64, attempt int, from string) (func(http.ResponseWriter), error) {
	at, err := parsePosition(from)
	if err != nil {
		return nil, err
	}
	f := &follower{s: s, namespace: ns, id: id, attempt: attempt, at: at}
	return s.Stream(ctx, func() error { return f.read(ctx) }, f.run) // the first read refuses an unknown job
}

// follower sends the log of one job.
type follower struct {
	s         *server
	namespace string
	id        int64
	attempt   int
	at        position
	job       job.Job
	lines     core.Page[job.LogLine]
}

// read reads the job first, and then its log. So if the job has ended, the log
// has no pieces beyond these pages.
func (f *follower) read(ctx context.Context) (err error) {
	ctx, cancel := context.WithTimeout(ctx, api.HandleTimeout)
	defer cancel()
	if f.job, err = f.s.service.Job(ctx, f.namespace, f.id); err != nil {
		return err
	}
	f.lines, err = f.s.service.Logs(ctx, f.namespace, f.id, job.LogFilter{
		Paging: core.Paging{Limit: followPage, Cursor: f.at.cursor}, Attempt: f.attempt,
	})
	return err
}

func (f *follower) run(ctx context.Context, out *api.Sse) error {
	if err := out.Beat(); err != nil { // sends the headers
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
			return out.Send("end", "", ended{State: f.job.State})
		default:
			if sent == 0 && time.Since(beaten) >= f.s.Beat {
				if err := out.Beat(); err != nil {
					return err
				}
				beaten = time.Now()
			}
			if err := wire.Pause(ctx, f.s.Look); err != nil {
				return err
			}
		}
		if err := f.read(ctx); err != nil {
			return err
		}
	}
}

// send sends the new pieces, and reports whether there is more to read now.
func (f *follower) send(out *api.Sse) (sent int, more bool, err error) {
	for _, l := range f.lines.Items {
		if f.at.passed(l) {
			continue
		}
		f.at.lease, f.at.seq = l.Lease, l.Seq
		if err := out.Send("log", f.at.String(), l); err != nil {
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

// over reports whether no more pieces can come.
func (f *follower) over() bool {
	return f.job.State.Final() || f.attempt > 0 && f.job.Attempt > f.attempt
}

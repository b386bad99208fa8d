package jobs

import (
	"context"
	"io"
	"net/http"
	"reflect"
	"strconv"
	"time"

	"github.com/belfry-run/belfry/access"
	"github.com/belfry-run/belfry/app/httpapi/internal/api"
	"github.com/belfry-run/belfry/core"
	"github.com/belfry-run/belfry/job"
)

// logTextRoutes serve logs by byte.
func (s *server) logTextRoutes() {
	type reading struct {
		ID        int64      `path:"id"`
		Namespace string     `query:"namespace" doc:"Default: the token's namespace, or default; * for wherever it is"`
		Attempt   int        `query:"attempt" minimum:"0" doc:"Only this attempt; default: all"`
		Stream    job.Stream `query:"stream" doc:"Only stdout, stderr or log; default: all"`
		Offset    int64      `query:"offset" doc:"From which byte on; negative: so many before the end"`
		Limit     int        `query:"limit" minimum:"0" maximum:"1048576" doc:"Bytes; default: 65536"`
		Tail      int        `query:"tail" minimum:"0" doc:"Instead of an offset: the last lines, as far as the limit"`
		Grep      string     `query:"grep" doc:"Answer the lines that have this text, up to 1000 of the next 8 MiB"`
		Regexp    bool       `query:"regexp" doc:"Grep is an expression of Go's regexp"`
	}
	api.Serve(s.API, api.Endpoint{
		Id: "job-log", Method: http.MethodGet, Path: "/v1/jobs/{id}/log", Scope: access.ScopeRead,
		Summary: "Read or search a job's log as text, by byte",
	}, func(ctx context.Context, c *api.Call, in *reading) (job.LogText, error) {
		ns, err := (&jobByID{in.ID, in.Namespace}).resolve(c)
		if err != nil {
			return job.LogText{}, err
		}
		if err := api.OneOf("stream", in.Stream, job.Stdout, job.Stderr, job.Log); err != nil {
			return job.LogText{}, err
		}
		return s.service.LogText(ctx, ns, in.ID, job.LogQuery{
			Attempt: in.Attempt, Stream: in.Stream, Offset: in.Offset, Limit: in.Limit, Tail: in.Tail, Grep: in.Grep, Regexp: in.Regexp,
		})
	})

	type downloading struct {
		ID        int64      `path:"id"`
		Namespace string     `query:"namespace" doc:"Default: the token's namespace, or default; * for wherever it is"`
		Attempt   int        `query:"attempt" minimum:"0" doc:"Only this attempt; default: all"`
		Stream    job.Stream `query:"stream" doc:"Only stdout, stderr or log; default: all"`
	}
	api.Stream(s.API, api.Endpoint{
		Id: "job-log-download", Method: http.MethodGet, Path: "/v1/jobs/{id}/log.txt", Scope: access.ScopeRead, Timeout: -1,
		Summary: "Download a job's log as it is now",
	}, map[string]reflect.Type{"text/plain": reflect.TypeFor[string]()}, func(ctx context.Context, c *api.Call, in *downloading) (func(http.ResponseWriter), error) {
		ns, err := (&jobByID{in.ID, in.Namespace}).resolve(c)
		if err != nil {
			return nil, err
		}
		if err := api.OneOf("stream", in.Stream, job.Stdout, job.Stderr, job.Log); err != nil {
			return nil, err
		}
		if err := s.Streams.Take(c.Token.ID, s.Options.MaxStreams); err != nil { // a slow reader takes as long as that of a stream
			return nil, err
		}
		q := job.LogQuery{Attempt: in.Attempt, Stream: in.Stream, Limit: job.MaxLogText}
		part, err := s.service.LogText(ctx, ns, in.ID, q)
		if err != nil {
			s.Streams.Free(c.Token.ID)
			return nil, err
		}
		return func(w http.ResponseWriter) {
			defer s.Streams.Free(c.Token.ID)
			s.sendLog(ctx, w, ns, in.ID, q, part)
		}, nil
	})
}

// sendLog sends a log part by part, up to its end at the start of the call. A
// slow reader gets the whole log if each part arrives in time.
func (s *server) sendLog(ctx context.Context, w http.ResponseWriter, ns string, id int64, q job.LogQuery, part job.LogText) {
	ctx, cancel := s.WhileGood(ctx)
	defer cancel()
	w.Header().Set("Content-Type", "text/plain; charset=utf-8")
	w.Header().Set("Content-Disposition", `attachment; filename="job-`+strconv.FormatInt(id, 10)+`.log"`)
	w.Header().Set("X-Content-Type-Options", "nosniff")
	control := http.NewResponseController(w)
	for end := part.Size; ; {
		_ = control.SetWriteDeadline(time.Now().Add(api.WriteTimeout))
		if _, err := io.WriteString(w, part.Text); err != nil || part.Next >= end {
			return // the reader has disconnected, or has the whole log
		}
		q.Offset = part.Next
		var err error
		if part, err = s.service.LogText(ctx, ns, id, q); err == nil && part.Next <= q.Offset {
			err = core.Errorf(core.NotFound, "the rest of the log of job %d is gone", id)
		}
		if err != nil {
			s.Fail(ctx, err)
			panic(http.ErrAbortHandler) // a truncated log must not look complete
		}
	}
}

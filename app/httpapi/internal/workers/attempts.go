package workers

import (
	"context"
	"net/http"

	"github.com/belfry-run/belfry/app/httpapi/internal/api"
	"github.com/belfry-run/belfry/app/internal/attempttoken"
	"github.com/belfry-run/belfry/core"
	"github.com/belfry-run/belfry/httpapi/wire"
	"github.com/belfry-run/belfry/job"
	"github.com/belfry-run/belfry/task"
)

// equip adds the tokens of attempts to claimed programs. A program without one
// still runs on a worker that has a token of its own.
func (s *server) equip(ctx context.Context, session string, jobs []job.LeasedJob) {
	if s.Signing.From == nil {
		return
	}
	for i := range jobs {
		j := &jobs[i]
		if j.Job.Kind != task.KindProgram {
			continue
		}
		r := attempttoken.Right{Ref: job.Ref{JobID: j.Job.ID, Lease: j.Job.Lease}, Session: session, Namespace: j.Job.Namespace}
		token, err := s.Signing.Token(ctx, r)
		if err != nil {
			s.Options.Logger.Warn("cannot create the token of an attempt", "job", j.Job.ID, "error", err)
			continue
		}
		j.Token = token
		s.Signing.Note(session, r.Ref)
	}
}

// renewTokens renews the tokens of a session's attempts at half of the token's
// life, unless an attempt was asked to end. An attempt with a token from another
// node, or from before a restart, gets a new token with its first renewal at
// this node.
func (s *server) renewTokens(ctx context.Context, session string, holding []job.Holding, out *job.Renewal) {
	if s.Signing.From == nil || out.Lost {
		return
	}
	due := s.Signing.Due(session, holding)
	if len(due) == 0 {
		return
	}
	err := s.createTokens(ctx, session, due, out)
	s.tokensMu.Lock()
	defer s.tokensMu.Unlock()
	s.tokens.Saw(err)
}

func (s *server) createTokens(ctx context.Context, session string, due []job.Ref, out *job.Renewal) error {
	running, err := s.Signing.From.RunningPrograms(ctx, session, due)
	if err != nil {
		return err
	}
	for _, ref := range due {
		if namespace, runs := running[ref]; runs {
			token, err := s.Signing.Token(ctx, attempttoken.Right{Ref: ref, Session: session, Namespace: namespace})
			if err != nil {
				return err
			}
			if out.Tokens == nil {
				out.Tokens = map[int64]string{}
			}
			out.Tokens[ref.JobID] = token
		}
		s.Signing.Note(session, ref)
	}
	return nil
}

// attemptOf names an attempt in a path.
type attemptOf struct {
	Job   int64 `path:"job" minimum:"1"`
	Lease int64 `path:"lease" minimum:"1"`
}

func (in *attemptOf) ref() job.Ref { return job.Ref{JobID: in.Job, Lease: in.Lease} }

// attemptRoutes serves untrusted programs, which hold only the token of their
// attempt.
func (s *server) attemptRoutes() {
	const path = "/v1/attempts/{job}/{lease}"
	api.ServeBody(s.API, api.Endpoint{
		Id: "attempt-beat", Method: http.MethodPost, Path: path + "/beat", Attempt: true,
		Summary: "Keep an attempt alive, and learn what it is to do",
		Doc:     "Renews its session. A number that was seen before is a conflict and renews nothing.",
	}, func(ctx context.Context, c *api.Call, in *attemptOf, body wire.BeatNumber) (job.AttemptBeat, error) {
		out, err := s.Signing.From.BeatAttempt(ctx, c.Right.Session, in.ref(), body.Seq)
		if err != nil || out.Action == job.BeatCancel {
			return out, err
		}
		now, err := s.Signing.Now(ctx)
		if err == nil && c.Right.Stale(now) {
			out.Token, err = s.Signing.Token(ctx, c.Right)
		}
		return out, err
	})

	api.ServeBody(s.API, api.Endpoint{
		Id: "attempt-logs", Method: http.MethodPost, Path: path + "/logs", Attempt: true, Foreign: true,
		Summary: "Keep pieces of an attempt's log",
		Doc:     "The same pieces may be sent again.",
	}, func(ctx context.Context, c *api.Call, in *attemptOf, body wire.AttemptLog) (api.None, error) {
		for i := range body.Pieces {
			body.Pieces[i].Ref = in.ref()
		}
		if err := checkEach("pieces", body.Pieces); err != nil {
			return api.None{}, err
		}
		if err := s.Signing.From.CheckAttempt(ctx, c.Right.Session, in.ref()); err != nil {
			return api.None{}, err
		}
		return api.None{}, s.service.Append(ctx, c.Right.Session, body.Pieces)
	})

	api.ServeBody(s.API, api.Endpoint{
		Id: "attempt-finish", Method: http.MethodPost, Path: path + "/finish", Attempt: true, Foreign: true,
		Summary: "Report what came of an attempt",
		Doc:     "The same report may be sent again. Another one is a conflict, and so is one whose lease was lost: it changes nothing, and is noted in the audit.",
	}, func(ctx context.Context, c *api.Call, in *attemptOf, f job.Finish) (job.Finished, error) {
		f.Ref = in.ref()
		done, err := s.Signing.From.FinishAttempt(ctx, c.Right.Session, f)
		if err == nil && done.Stale {
			err = core.Errorf(core.Conflict, "the lease %d on job %d was lost before", in.Lease, in.Job).
				WithHint("stop: the report changes nothing, and another worker may have the job")
		}
		return done, err
	})

	api.Serve(s.API, api.Endpoint{
		Id: "attempt-artifact", Method: http.MethodGet, Path: path + "/artifact", Attempt: true,
		Summary: "A fresh link to the program that an attempt runs",
	}, func(ctx context.Context, c *api.Call, in *attemptOf) (task.SignedRequest, error) {
		return s.Signing.From.ArtifactLink(ctx, c.Right.Session, in.ref())
	})

	api.ServeBody(s.API, api.Endpoint{
		Id: "attempt-output", Method: http.MethodPost, Path: path + "/outputs", Attempt: true,
		Summary: "Announce a file that an attempt leaves, and get a link to send it",
		Doc:     "The report of the attempt must name it, or it is forgotten.",
	}, func(ctx context.Context, c *api.Call, in *attemptOf, o task.Output) (wire.OutputPlace, error) {
		link, err := s.service.DeclareOutput(ctx, c.Right.Session, in.ref(), o)
		return wire.OutputPlace{Link: link}, err
	})
}

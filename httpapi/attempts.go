package httpapi

import (
	"context"
	"crypto/ed25519"
	"fmt"
	"net/http"
	"strconv"
	"sync"
	"time"

	"github.com/belfry-run/belfry/access"
	"github.com/belfry-run/belfry/core"
	"github.com/belfry-run/belfry/httpapi/wire"
	"github.com/belfry-run/belfry/internal/attempttoken"
	"github.com/belfry-run/belfry/job"
	"github.com/belfry-run/belfry/task"
)

// Attempts is what attempts may do by themselves, with a right to nothing else.
// The store has it. Every call but SigningKeys and Now looks up whether the
// attempt still runs under just this lease, and is [core.Unauthorized]
// otherwise.
type Attempts interface {
	Now(ctx context.Context) (time.Time, error)
	SigningKeys(ctx context.Context) ([]access.SigningKey, error)
	CheckAttempt(ctx context.Context, session string, ref job.Ref) error
	// RunningPrograms answers those of some attempts that run programs under the
	// session and were not asked to end, with their namespaces, and no error for
	// the others.
	RunningPrograms(ctx context.Context, session string, refs []job.Ref) (map[job.Ref]string, error)
	BeatAttempt(ctx context.Context, session string, ref job.Ref, seq int64) (job.AttemptBeat, error)
	// FinishAttempt answers Stale, and no error, when the lease was lost.
	FinishAttempt(ctx context.Context, session string, f job.Finish) (job.Finished, error)
	ArtifactLink(ctx context.Context, session string, ref job.Ref) (task.SignedRequest, error)
}

// signing knows the keys of attempts' tokens.
type signing struct {
	from Attempts

	mu    sync.Mutex
	keys  []access.SigningKey
	again time.Time // by the monotonic clock

	ahead time.Duration // of the clock that decides, to ours

	issued map[holder]time.Time // when a token was last made, or none was due
}

// holder is an attempt of a session, as its worker says.
type holder struct {
	session string
	ref     job.Ref
}

const (
	// keysFor is how long keys are not asked for again: a key that another node
	// made is known here by then, or is asked for when a token names it.
	keysFor = time.Minute
	// keysFloor bounds how often names that nobody knows make us ask.
	keysFloor = time.Second
	// keyKnown is how old a key is before it signs, if there is an older one: every
	// node has read it by then. One that had just asked would refuse its tokens.
	keyKnown  = 2 * keysFor
	maxIssued = 10_000
)

// current are the keys, the newest first.
func (g *signing) current(ctx context.Context, fresh bool) ([]access.SigningKey, error) {
	if g.from == nil {
		return nil, core.Errorf(core.Unavailable, "this server gives no tokens to attempts")
	}
	g.mu.Lock()
	defer g.mu.Unlock()
	now := time.Now()
	if len(g.keys) > 0 && now.Before(g.again) && (!fresh || now.Before(g.again.Add(keysFloor-keysFor))) {
		return g.keys, nil
	}
	keys, err := g.from.SigningKeys(ctx)
	if err != nil {
		return nil, err
	}
	decided, err := g.from.Now(ctx)
	if err != nil {
		return nil, err
	}
	g.keys, g.ahead, g.again = keys, time.Until(decided), now.Add(keysFor)
	return keys, nil
}

// now is the time by the clock that decides, as it was compared with ours when
// the keys were read.
func (g *signing) now(ctx context.Context) (time.Time, error) {
	if _, err := g.current(ctx, false); err != nil {
		return time.Time{}, err
	}
	g.mu.Lock()
	defer g.mu.Unlock()
	return time.Now().Add(g.ahead), nil
}

// public finds a key by its name.
func (g *signing) public(ctx context.Context, id string) (ed25519.PublicKey, error) {
	for _, fresh := range []bool{false, true} {
		keys, err := g.current(ctx, fresh)
		if err != nil {
			return nil, err
		}
		for _, k := range keys {
			if k.ID == id {
				public, _ := ed25519.NewKeyFromSeed(k.Seed).Public().(ed25519.PublicKey)
				return public, nil
			}
		}
	}
	return nil, core.Errorf(core.NotFound, "no key signs under this name")
}

// token makes a token.
func (g *signing) token(ctx context.Context, r attempttoken.Right) (string, error) {
	keys, err := g.current(ctx, false)
	if err != nil {
		return "", err
	}
	now, err := g.now(ctx)
	if err != nil {
		return "", err
	}
	for i, k := range keys {
		if now.Sub(k.CreatedAt) >= keyKnown || i == len(keys)-1 {
			return attempttoken.Sign(k, r, now)
		}
	}
	return "", core.Errorf(core.Unavailable, "there is no key to sign tokens with")
}

// right is what the token of a request gives.
func (g *signing) right(ctx context.Context, r *http.Request) (attempttoken.Right, error) {
	text, err := bearerOf(r, attempttoken.MaxLen)
	if err != nil {
		return attempttoken.Right{}, err
	}
	now, err := g.now(ctx)
	if err != nil {
		return attempttoken.Right{}, err
	}
	return attempttoken.Verify(text, func(id string) (ed25519.PublicKey, error) { return g.public(ctx, id) }, now)
}

// equip gives programs that were claimed the tokens of their attempts. One
// without still runs on a worker that has its own.
func (s *Server) equip(ctx context.Context, session string, jobs []job.LeasedJob) {
	if s.signing.from == nil {
		return
	}
	for i := range jobs {
		j := &jobs[i]
		if j.Job.Kind != task.KindProgram {
			continue
		}
		r := attempttoken.Right{Ref: job.Ref{JobID: j.Job.ID, Lease: j.Job.Lease}, Session: session, Namespace: j.Job.Namespace}
		token, err := s.signing.token(ctx, r)
		if err != nil {
			s.opts.Logger.Warn("an attempt gets no token", "job", j.Job.ID, "error", err)
			continue
		}
		j.Token = token
		s.signing.note(holder{session, r.Ref})
	}
}

// note remembers who has a token since when.
func (g *signing) note(h holder) {
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.issued == nil {
		g.issued = map[holder]time.Time{}
	}
	if len(g.issued) >= maxIssued {
		dropOne(g.issued)
	}
	g.issued[h] = time.Now()
}

// renewTokens gives new tokens to those of a session's attempts that got theirs
// half its life ago, and that were not asked to end. Those whose token another
// node made, before its restart perhaps, get one with the first renewal that
// comes here.
func (s *Server) renewTokens(ctx context.Context, session string, holding []job.Holding, out *job.Renewal) {
	if s.signing.from == nil || out.Lost {
		return
	}
	due := s.signing.due(session, holding)
	if len(due) == 0 {
		return
	}
	running, err := s.signing.from.RunningPrograms(ctx, session, due)
	for _, ref := range due {
		var token string
		namespace, runs := running[ref]
		if err == nil && runs {
			token, err = s.signing.token(ctx, attempttoken.Right{Ref: ref, Session: session, Namespace: namespace})
		}
		if err != nil {
			s.opts.Logger.Warn("attempts get no new tokens", "session", session, "error", err)
			return
		}
		if token != "" {
			if out.Tokens == nil {
				out.Tokens = map[int64]string{}
			}
			out.Tokens[ref.JobID] = token
		}
		s.signing.note(holder{session, ref})
	}
}

func (g *signing) due(session string, holding []job.Holding) (due []job.Ref) {
	g.mu.Lock()
	defer g.mu.Unlock()
	for _, h := range holding {
		if at, known := g.issued[holder{session, h.Ref}]; !known || time.Since(at) > attempttoken.Life/2 {
			due = append(due, h.Ref)
		}
	}
	return due
}

// attemptOf names an attempt in a path.
type attemptOf struct {
	Job   int64 `path:"job" minimum:"1"`
	Lease int64 `path:"lease" minimum:"1"`
}

func (in *attemptOf) ref() job.Ref { return job.Ref{JobID: in.Job, Lease: in.Lease} }

// attemptRoutes are for programs of strangers: whoever runs one holds the token
// of its attempt and nothing else.
func (s *Server) attemptRoutes() {
	const path = "/v1/attempts/{job}/{lease}"
	serveBody(s, endpoint{
		id: "attempt-beat", method: http.MethodPost, path: path + "/beat", attempt: true,
		summary: "Keep an attempt alive, and learn what it is to do",
		doc:     "Renews its session. A number that was seen before is a conflict and renews nothing.",
	}, func(ctx context.Context, c *call, in *attemptOf, body wire.BeatNumber) (job.AttemptBeat, error) {
		out, err := s.signing.from.BeatAttempt(ctx, c.right.Session, in.ref(), body.Seq)
		if err != nil || out.Action == job.BeatCancel {
			return out, err
		}
		now, err := s.signing.now(ctx)
		if err == nil && c.right.Stale(now) {
			out.Token, err = s.signing.token(ctx, c.right)
		}
		return out, err
	})

	serveBody(s, endpoint{
		id: "attempt-logs", method: http.MethodPost, path: path + "/logs", attempt: true,
		summary: "Keep pieces of an attempt's log",
		doc:     "The same pieces may be sent again.",
	}, func(ctx context.Context, c *call, in *attemptOf, body wire.AttemptLog) (none, error) {
		for i := range body.Pieces {
			body.Pieces[i].Ref = in.ref()
		}
		if err := checkEach("pieces", body.Pieces); err != nil {
			return none{}, err
		}
		if err := s.signing.from.CheckAttempt(ctx, c.right.Session, in.ref()); err != nil {
			return none{}, err
		}
		return none{}, s.service.Append(ctx, c.right.Session, body.Pieces)
	})

	serveBody(s, endpoint{
		id: "attempt-finish", method: http.MethodPost, path: path + "/finish", attempt: true,
		summary: "Report what came of an attempt",
		doc:     "The same report may be sent again. Another one is a conflict, and so is one whose lease was lost: it changes nothing, and is noted in the audit.",
	}, func(ctx context.Context, c *call, in *attemptOf, f job.Finish) (job.Finished, error) {
		f.Ref = in.ref()
		done, err := s.signing.from.FinishAttempt(ctx, c.right.Session, f)
		if err == nil && done.Stale {
			err = core.Errorf(core.Conflict, "the lease %d on job %d was lost before", in.Lease, in.Job).
				WithHint("stop: the report changes nothing, and another worker may have the job")
		}
		return done, err
	})

	serve(s, endpoint{
		id: "attempt-artifact", method: http.MethodGet, path: path + "/artifact", attempt: true,
		summary: "A fresh link to the program that an attempt runs",
	}, func(ctx context.Context, c *call, in *attemptOf) (task.SignedRequest, error) {
		return s.signing.from.ArtifactLink(ctx, c.right.Session, in.ref())
	})

	serveBody(s, endpoint{
		id: "attempt-output", method: http.MethodPost, path: path + "/outputs", attempt: true,
		summary: "Announce a file that an attempt leaves, and get a link to send it",
		doc:     "The report of the attempt must name it, or it is forgotten.",
	}, func(ctx context.Context, c *call, in *attemptOf, o task.Output) (wire.OutputPlace, error) {
		link, err := s.service.DeclareOutput(ctx, c.right.Session, in.ref(), o)
		return wire.OutputPlace{Link: link}, err
	})
}

// authorizeAttempt finds out which attempt asks, and that it asks about itself.
func (s *Server) authorizeAttempt(ctx context.Context, r *http.Request) (context.Context, error) {
	right, err := s.signing.right(ctx, r)
	if err == nil {
		asked := job.Ref{JobID: number(r.PathValue("job")), Lease: number(r.PathValue("lease"))}
		if asked != right.Ref {
			err = core.Errorf(core.Unauthorized, "the token is for another attempt than that of job %d under lease %d", asked.JobID, asked.Lease)
		}
	}
	if err != nil {
		return ctx, notLetIn(err)
	}
	c := callOf(ctx)
	c.right = right
	return access.WithActor(ctx, fmt.Sprintf("attempt:%d/%d", right.Ref.JobID, right.Ref.Lease)), nil
}

func number(text string) int64 {
	n, err := strconv.ParseInt(text, 10, 64)
	if err != nil {
		return 0
	}
	return n
}

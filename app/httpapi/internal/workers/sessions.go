package workers

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"net/http"
	"slices"
	"sync"
	"time"

	"github.com/belfry-run/belfry/access"
	"github.com/belfry-run/belfry/app/httpapi/internal/api"
	"github.com/belfry-run/belfry/core"
	"github.com/belfry-run/belfry/httpapi/wire"
	"github.com/belfry-run/belfry/job"
)

// sessionByID names a worker's session.
type sessionByID struct {
	ID string `path:"id" doc:"As it was answered when the session was opened"`
}

// sessionRoutes serves the sessions of remote workers.
func (s *server) sessionRoutes() {
	api.ServeBody(s.API, api.Endpoint{
		Id: "session-open", Method: http.MethodPost, Path: "/v1/sessions", Scope: access.ScopeWorker, Created: true,
		Summary: "Begin a worker's session",
		Doc:     "A token for one namespace opens sessions for it alone. The session belongs to the token that opens it: calls of other tokens are refused, and revoking the token ends the session.",
	}, func(ctx context.Context, c *api.Call, _ *struct{}, w job.WorkerInfo) (_ job.Session, err error) {
		if own := c.Token.Namespace; own != core.AnyNamespace || w.Namespace != "" {
			ns, err := api.InNamespace(c.Token, "namespace", w.Namespace)
			if err != nil {
				return job.Session{}, err
			}
			w.Namespace = ns
		}
		w.Has, w.Remote, w.Token = c.Token.Label(w.Has), true, c.Token.ID
		if w.Queues, err = s.atTheServer(w.Queues, w.ByTicket); err != nil {
			return job.Session{}, err
		}
		session, err := s.service.OpenSession(ctx, w)
		if err == nil {
			s.sessions.put(session.ID, w.Token)
		}
		return session, err
	})

	api.Serve(s.API, api.Endpoint{
		Id: "session-close", Method: http.MethodDelete, Path: "/v1/sessions/{id}", Scope: access.ScopeWorker,
		Summary: "End a session",
		Doc:     "Jobs it still holds are handed back.",
	}, func(ctx context.Context, c *api.Call, in *sessionByID) (api.None, error) {
		if err := s.ownSession(ctx, c.Token, in.ID); err != nil {
			return api.None{}, err
		}
		return api.None{}, s.service.CloseSession(ctx, in.ID)
	})

	s.leaseRoutes()
	s.reportRoutes()
}

// leaseRoutes serves the claim and the renewal of leases.
func (s *server) leaseRoutes() {
	api.ServeBody(s.API, api.Endpoint{
		Id: "session-claim", Method: http.MethodPost, Path: "/v1/sessions/{id}/claim", Scope: access.ScopeWorker,
		Timeout: job.MaxClaimWait.D() + 10*time.Second, Waits: true,
		Summary: "Lease ready jobs, and wait for some when there are none",
		Doc:     "The answer may be empty, and has at most 256 jobs, or one of each queue if more are asked for, of each queue with at most 2 MiB of inputs and tasks, or one job, and of no further queue after 2 MiB of inputs: claim again for more.",
	}, func(ctx context.Context, c *api.Call, in *sessionByID, body wire.SessionClaim) (job.Claim, error) {
		if err := s.ownSession(ctx, c.Token, in.ID); err != nil {
			return job.Claim{}, err
		}
		if body.Wait < 0 {
			return job.Claim{}, core.InvalidField("wait", body.Wait.String(), "is negative", "")
		}
		req := job.ClaimRequest{Session: in.ID, Tickets: body.Tickets, Want: body.Want, Ahead: body.Ahead, Without: body.Without, Wait: min(body.Wait, job.MaxClaimWait), Remote: true}
		if err := req.Validate(); err != nil {
			return job.Claim{}, err
		}
		if len(req.Tickets) == 0 {
			var err error
			if req.Want, err = s.atTheServer(req.Want, nil); err != nil {
				return job.Claim{}, err
			}
			req.Want, req.Ahead = atOnce(req.Want, req.Ahead)
		}
		claim, err := s.claim(ctx, req)
		if ctx.Err() != nil && len(claim.Jobs) > 0 {
			return job.Claim{}, errors.Join(ctx.Err(), s.handBack(ctx, in.ID, claim))
		}
		s.equip(ctx, in.ID, claim.Jobs)
		return claim, err
	})

	api.ServeBody(s.API, api.Endpoint{
		Id: "session-renew", Method: http.MethodPost, Path: "/v1/sessions/{id}/renew", Scope: access.ScopeWorker,
		Summary: "Keep a session alive, and learn which of its jobs are to end",
	}, func(ctx context.Context, c *api.Call, in *sessionByID, has job.Holdings) (job.Renewal, error) {
		if err := s.ownSession(ctx, c.Token, in.ID); err != nil {
			return job.Renewal{}, err
		}
		if len(has.Queues) > 0 { // queues that are left out must not end the session
			if queues, err := s.atTheServer(has.Queues, has.ByTicket); err == nil {
				has.Queues = queues
			} else {
				has.Queues, has.ByTicket = nil, nil
			}
		}
		out, err := s.service.Renew(ctx, in.ID, has)
		if err == nil {
			s.renewTokens(ctx, in.ID, has.Attempts, &out)
		}
		return out, err
	})
}

// reportRoutes serves what workers report of attempts: results, logs and files.
func (s *server) reportRoutes() {
	api.ServeBody(s.API, api.Endpoint{
		Id: "session-finish", Method: http.MethodPost, Path: "/v1/sessions/{id}/finish", Scope: access.ScopeWorker, Foreign: true,
		Summary: "Settle attempts",
		Doc:     "An attempt whose lease was lost is answered with stale: true. The same question may be asked again.",
	}, func(ctx context.Context, c *api.Call, in *sessionByID, body wire.SessionFinish) (wire.SessionFinished, error) {
		if err := s.ownSession(ctx, c.Token, in.ID); err != nil {
			return wire.SessionFinished{}, err
		}
		if err := checkEach("attempts", body.Attempts); err != nil {
			return wire.SessionFinished{}, err
		}
		done, err := s.finish(ctx, in.ID, body.Attempts)
		return wire.SessionFinished{Attempts: api.List(done)}, err
	})

	api.ServeBody(s.API, api.Endpoint{
		Id: "session-logs", Method: http.MethodPost, Path: "/v1/sessions/{id}/logs", Scope: access.ScopeWorker, Foreign: true,
		Summary: "Keep pieces of attempts' logs",
		Doc:     "Pieces under a stale lease and pieces seen before are dropped. The same pieces may be sent again.",
	}, func(ctx context.Context, c *api.Call, in *sessionByID, body wire.SessionLog) (api.None, error) {
		if err := s.ownSession(ctx, c.Token, in.ID); err != nil {
			return api.None{}, err
		}
		if err := checkEach("pieces", body.Pieces); err != nil {
			return api.None{}, err
		}
		return api.None{}, s.service.Append(ctx, in.ID, body.Pieces)
	})

	api.ServeBody(s.API, api.Endpoint{
		Id: "session-output", Method: http.MethodPost, Path: "/v1/sessions/{id}/outputs", Scope: access.ScopeWorker,
		Summary: "Announce a file that an attempt leaves, and get a link to send it",
		Doc:     "The report of the attempt must name it, or it is forgotten.",
	}, func(ctx context.Context, c *api.Call, in *sessionByID, o wire.SessionOutput) (wire.OutputPlace, error) {
		if err := s.ownSession(ctx, c.Token, in.ID); err != nil {
			return wire.OutputPlace{}, err
		}
		link, err := s.service.DeclareOutput(ctx, in.ID, o.Ref, o.Output)
		return wire.OutputPlace{Link: link}, err
	})
}

// maxRead is the most attempts of one settling that did not end ok. The store reads their jobs, each with an input of up to
// [core.MaxInput]: a report of 2,500 of them took a node 765 MB.
const maxRead = 64

// finish settles attempts, in parts whose jobs have room in memory. A report that is repeated after an error is answered with what
// is recorded of its first parts.
func (s *server) finish(ctx context.Context, session string, fs []job.Finish) (done []job.Finished, err error) {
	for {
		n, read := 0, 0
		for n < len(fs) && read < maxRead {
			if fs[n].Outcome != job.OutcomeOK {
				read++
			}
			n++
		}
		some, err := s.service.Finish(ctx, session, fs[:n])
		if err != nil {
			return nil, err
		}
		done = append(done, some...)
		if fs = fs[n:]; len(fs) == 0 {
			return done, nil
		}
	}
}

// atTheServer returns queues without those whose jobs are claimed with tickets
// alone, unless the worker claims them with tickets.
func (s *server) atTheServer(queues map[string]int, byTicket []string) (map[string]int, error) {
	kept, left := maps.Clone(queues), ""
	for _, name := range s.byTicket {
		if _, asked := queues[name]; asked && !slices.Contains(byTicket, name) {
			delete(kept, name)
			left = name
		}
	}
	if left != "" && len(kept) == 0 {
		return nil, core.InvalidField("queues", left, "has a broker, and its jobs are claimed by its tickets alone",
			"start the worker with --brokers "+left+"=ADDRESS, as the nodes have it")
	}
	return kept, nil
}

// maxClaim is the most jobs of one claim.
const maxClaim = 256

// atOnce cuts what a claim wants to [maxClaim] jobs, with an equal part for each queue and at least one job. What is cut are
// first the jobs that the worker would claim ahead.
func atOnce(want, ahead map[string]int) (_, _ map[string]int) {
	asked := 0
	for _, n := range want {
		asked += n
	}
	if asked <= maxClaim {
		return want, ahead
	}
	want, ahead = maps.Clone(want), maps.Clone(ahead)
	most := max(1, maxClaim/len(want))
	for queue, n := range want {
		if n <= most {
			continue
		}
		want[queue] = most
		if left := ahead[queue] - (n - most); left > 0 {
			ahead[queue] = left
		} else {
			delete(ahead, queue)
		}
	}
	return want, ahead
}

// checkEach returns the faults of the items in a batch, with their index.
func checkEach[T interface{ Validate() error }](field string, items []T) error {
	if n := len(items); n > core.MaxBatch {
		return job.TooMany(field, n)
	}
	for i, item := range items {
		err := item.Validate()
		var e *core.Error
		if !errors.As(err, &e) {
			continue
		}
		for j := range e.Fields {
			e.Fields[j].Field = fmt.Sprintf("%s[%d].%s", field, i, e.Fields[j].Field)
		}
		return e
	}
	return nil
}

// claim waits for jobs until the worker disconnects or the server stops. It then
// returns the jobs leased so far, or an empty claim.
func (s *server) claim(ctx context.Context, req job.ClaimRequest) (job.Claim, error) {
	waiting, cancel := s.Until(ctx)
	defer cancel()
	claim, err := s.service.Claim(waiting, req)
	if err != nil && s.Stopping.Err() != nil && ctx.Err() == nil && waiting.Err() != nil {
		claim, err = job.Claim{}, nil
	}
	claim.Jobs = api.List(claim.Jobs)
	return claim, err
}

// handBack releases jobs that were leased for a worker that disconnected before
// the answer. So they need not wait for a renewal that does not name them.
func (s *server) handBack(ctx context.Context, session string, claim job.Claim) error {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), api.HandleTimeout)
	defer cancel()
	fs := make([]job.Finish, len(claim.Jobs))
	for i, j := range claim.Jobs {
		fs[i] = job.Finish{Ref: job.Ref{JobID: j.Job.ID, Lease: j.Job.Lease}, Outcome: job.OutcomeHandedBack, Error: "the worker left before its claim was answered"}
	}
	_, err := s.service.Finish(ctx, session, fs)
	return err
}

// ownSession refuses a token access to sessions that other tokens opened, and to
// those of nodes. IDs of sessions are not secret: every token with the scope
// read sees them.
func (s *server) ownSession(ctx context.Context, t access.Token, id string) error {
	owner, known := s.sessions.get(id)
	if !known {
		var err error
		owner, err = s.Options.Auth.SessionOwner(ctx, id)
		if core.CodeOf(err) == core.NotFound {
			return nil // the session has no owner; the service answers as for an ended one
		}
		if err != nil {
			return err
		}
		s.sessions.put(id, owner)
	}
	if owner == 0 || owner != t.ID {
		return core.Errorf(core.Forbidden, "session %q belongs to another token", wire.Shorten(id)).
			WithHint("open a session with this token: a session ends with the token that opened it")
	}
	return nil
}

// sessionOwners caches the tokens that opened sessions of workers. They never
// change.
type sessionOwners struct {
	mu     sync.Mutex
	tokens map[string]int64
}

// maxSessions limits the sessions whose owners are cached.
const maxSessions = 4096

func (o *sessionOwners) get(id string) (token int64, known bool) {
	o.mu.Lock()
	defer o.mu.Unlock()
	token, known = o.tokens[id]
	return token, known
}

func (o *sessionOwners) put(id string, token int64) {
	o.mu.Lock()
	defer o.mu.Unlock()
	if o.tokens == nil {
		o.tokens = map[string]int64{}
	}
	if len(o.tokens) >= maxSessions {
		api.DropOne(o.tokens)
	}
	o.tokens[id] = token
}

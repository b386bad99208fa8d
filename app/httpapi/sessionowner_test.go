package httpapi

import (
	"strings"
	"testing"

	"github.com/belfry-run/belfry/access"
	"github.com/belfry-run/belfry/core"
	"github.com/belfry-run/belfry/httpapi/client"
	"github.com/belfry-run/belfry/job"
	"github.com/belfry-run/belfry/task"
)

// sessionCalls are all calls that name a session.
func sessionCalls(t *testing.T, c *client.Client, session string) map[string]error {
	t.Helper()
	ctx, ref := t.Context(), job.Ref{JobID: 1, Lease: 1}
	_, claim := c.Claim(ctx, job.ClaimRequest{Session: session, Want: map[string]int{"default": 1}})
	_, renew := c.Renew(ctx, session, job.Held())
	_, finish := c.Finish(ctx, session, []job.Finish{{Ref: ref, Outcome: job.OutcomeOK}})
	_, output := c.DeclareOutput(ctx, session, ref, task.Output{Name: "o", Size: 1, SHA256: strings.Repeat("ab", 32)})
	_, steps := c.Steps(ctx, session, ref)
	_, step := c.SaveStep(ctx, session, ref, job.NewStep{Number: 1, Name: "a"})
	_, link := c.LinkSignal(ctx, session, ref, job.Link{Name: "a"})
	return map[string]error{
		"link":     link,
		"progress": c.SaveProgress(ctx, session, []job.AttemptProgress{{Ref: ref}}),
		"steps":    steps, "step": step,
		"claim": claim, "renew": renew, "finish": finish, "output": output,
		"append": c.Append(ctx, session, []job.LogPiece{{Ref: ref, Stream: job.Log, Text: "x"}}),
		"close":  c.CloseSession(ctx, session),
	}
}

// A session is acted on by the token that opened it and by no other: not by one
// of the same namespace, nor by one of all namespaces, nor by any token when a
// node opened it for itself.
func TestSessionBelongsToTheTokenThatOpenedIt(t *testing.T) {
	t.Parallel()
	b := setup(t)
	b.tokens.sessions = map[string]int64{"own": 2, "same": 7, "every": 1, "node": 0}
	for _, c := range []struct {
		token, session string
		want           core.Code
	}{
		{"team", "own", ""},
		{"team", "ended", ""}, // nobody has it: the service says so
		{"team", "same", core.Forbidden},
		{"team", "every", core.Forbidden},
		{"team", "node", core.Forbidden},
		{"root", "every", ""},
		{"root", "own", core.Forbidden},
		{"root", "node", core.Forbidden},
	} {
		for call, err := range sessionCalls(t, b.as(t, c.token), c.session) {
			if core.CodeOf(err) != c.want {
				t.Errorf("%s of session %s by %s: %v, want %q", call, c.session, c.token, err, c.want)
			}
		}
	}
}

// Two workers with a token each, on a real store: the second can neither forge,
// read nor end what the first does, on whichever node it asks.
func TestAWorkersTokenDoesNotReachAnothersSession(t *testing.T) {
	t.Parallel()
	onEachDatabase(t, func(t *testing.T, s *strangers) {
		ctx := t.Context()
		_, secret, err := s.st.CreateToken(ctx, access.Token{Name: "thief", Namespace: core.AnyNamespace, Scopes: []access.Scope{access.ScopeWorker, access.ScopeRead}})
		if err != nil {
			t.Fatal(err)
		}
		thief, err := client.New(s.url, secret, client.Options{})
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(thief.CloseIdleConnections)
		own := s.open()
		node, err := s.st.OpenSession(ctx, job.WorkerInfo{Name: "node", Kinds: []task.Kind{task.KindProgram}, Queues: map[string]int{"default": 1}})
		if err != nil {
			t.Fatal(err)
		}
		for _, session := range []string{own.ID, node.ID} {
			for range s.nodes { // each of them looks for itself
				for call, err := range sessionCalls(t, thief, session) {
					if core.CodeOf(err) != core.Forbidden {
						t.Errorf("%s: %v", call, err)
					}
				}
			}
		}
		if r, err := s.worker.Renew(ctx, own.ID, job.Held()); err != nil || r.Lost {
			t.Errorf("the session afterwards: %+v, %v", r, err)
		}
	})
}

// Revoking a token ends its sessions in the same transaction, frees what they
// hold, and lets the token open no other, whatever a node still believes.
func TestRevokingATokenEndsItsSessions(t *testing.T) {
	t.Parallel()
	onEachDatabase(t, func(t *testing.T, s *strangers) {
		ctx := t.Context()
		own := s.open()
		if _, err := s.st.Enqueue(ctx, []job.NewJob{{Task: "p"}}); err != nil {
			t.Fatal(err)
		}
		claim, err := s.worker.Claim(ctx, job.ClaimRequest{Session: own.ID, Want: map[string]int{"default": 1}})
		if err != nil || len(claim.Jobs) != 1 {
			t.Fatal(claim, err)
		}
		nudged := s.st.Nudged(own.ID)
		who, err := s.worker.Whoami(ctx)
		if err != nil {
			t.Fatal(err)
		}
		if err := s.st.RevokeToken(ctx, who.ID); err != nil {
			t.Fatal(err)
		}
		<-nudged
		workers, err := s.st.Workers(ctx, false)
		if err != nil || len(workers) != 0 {
			t.Errorf("living sessions: %+v, %v", workers, err)
		}
		j, err := s.st.Job(ctx, "default", claim.Jobs[0].Job.ID)
		if err != nil || j.State == job.Running {
			t.Errorf("the job is %s, %v", j.State, err)
		}
		if r, err := s.worker.Renew(ctx, own.ID, job.Held()); err == nil && !r.Lost {
			t.Errorf("a renewal afterwards: %+v", r)
		}
		_, err = s.worker.OpenSession(ctx, job.WorkerInfo{Name: "w", Kinds: []task.Kind{task.KindProgram}, Queues: map[string]int{"default": 1}})
		if core.CodeOf(err) != core.Unauthorized {
			t.Errorf("another session: %v", err)
		}
	})
}

package httpapi

import (
	"context"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"path/filepath"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/belfry-run/belfry/access"
	"github.com/belfry-run/belfry/alert"
	"github.com/belfry-run/belfry/app/httpapi/internal/api"
	"github.com/belfry-run/belfry/app/internal/attempttoken"
	"github.com/belfry-run/belfry/core"
	"github.com/belfry-run/belfry/httpapi/client"
	"github.com/belfry-run/belfry/internal/pgtest"
	"github.com/belfry-run/belfry/job"
	"github.com/belfry-run/belfry/monitor"
	"github.com/belfry-run/belfry/schedule"
	"github.com/belfry-run/belfry/store"
	"github.com/belfry-run/belfry/store/postgres"
	"github.com/belfry-run/belfry/store/sqlite"
	"github.com/belfry-run/belfry/store/storetest"
	"github.com/belfry-run/belfry/task"
	"github.com/belfry-run/belfry/view"
)

// place is a store of bytes that has everything.
type place struct{}

func (place) SignPut(_ context.Context, digest string, size int64, _ time.Duration) (task.SignedRequest, error) {
	return task.SignedRequest{Method: "PUT", URL: fmt.Sprintf("/%s/%d", digest, size)}, nil
}

func (place) SignGet(_ context.Context, digest string, _ time.Duration) (task.SignedRequest, error) {
	return task.SignedRequest{Method: "GET", URL: "/" + digest}, nil
}

func (place) Has(_ context.Context, digest string, _ int64) (bool, error) {
	return !strings.HasSuffix(digest, strings.Repeat("f", 64)), nil
}

func (place) Verify(context.Context, string, int64) error { return nil }

// strangers are nodes, reached in turns, whose programs are run by who holds no
// more than the right to their attempts.
type strangers struct {
	*testing.T
	st     *store.Store
	clock  *storetest.Clock
	nodes  []*Server
	url    string
	worker *client.Client
	secret string // of the worker's token
}

func newStrangers(t *testing.T, change ...func(*Options)) *strangers {
	t.Helper()
	return newStrangersAt(t, func(o store.Options) []*store.Store { return []*store.Store{openSQLite(t, o)} }, change...)
}

func openSQLite(t *testing.T, o store.Options) *store.Store {
	t.Helper()
	st, err := sqlite.Open(t.Context(), filepath.Join(t.TempDir(), "belfry.db"), sqlite.Options{Synchronous: "NORMAL", Options: o})
	if err != nil {
		t.Fatal(err)
	}
	return st
}

// newStrangersAt makes a node of each store, all of one database.
func newStrangersAt(t *testing.T, open func(store.Options) []*store.Store, change ...func(*Options)) *strangers {
	t.Helper()
	s := &strangers{T: t, clock: storetest.NewClock()}
	stores := open(store.Options{Clock: s.clock.Now, Bytes: place{}})
	s.st = stores[0]
	_, secret, err := s.st.CreateToken(t.Context(), access.Token{Name: "worker", Namespace: "*", Scopes: []access.Scope{access.ScopeWorker}})
	if err != nil {
		t.Fatal(err)
	}
	s.secret = secret
	for _, st := range stores {
		o := Options{Service: st, Auth: st, Attempts: st, Logger: slog.New(slog.DiscardHandler)}
		for _, c := range change {
			c(&o)
		}
		node, err := New(o)
		if err != nil {
			t.Fatal(err)
		}
		s.nodes = append(s.nodes, node)
	}
	var turn atomic.Uint64
	front := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		s.nodes[turn.Add(1)%uint64(len(s.nodes))].Handler().ServeHTTP(w, r)
	}))
	s.url = front.URL
	if s.worker, err = client.New(front.URL, secret, client.Options{}); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		s.worker.CloseIdleConnections()
		for _, node := range s.nodes {
			node.Close()
		}
		front.Close()
		for _, st := range stores {
			if err := st.Close(); err != nil {
				t.Error(err)
			}
		}
	})
	digest := strings.Repeat("ab", 32)
	if _, err := s.st.CreateArtifact(t.Context(), task.Artifact{SHA256: digest, Size: 1}); err != nil {
		t.Fatal(err)
	}
	if _, err := s.st.ConfirmArtifact(t.Context(), "default", digest); err != nil {
		t.Fatal(err)
	}
	if _, err := s.st.CreateTask(t.Context(), task.Task{Name: "p", Kind: task.KindProgram, Retry: task.Retry{Jitter: -1},
		Program: &task.Program{SHA256: strings.Repeat("ab", 32), Size: 1}}); err != nil {
		t.Fatal(err)
	}
	return s
}

// move moves the clock that decides, and lets the server see that.
func (s *strangers) move(d time.Duration) {
	s.clock.Move(d)
	for _, node := range s.nodes {
		node.api.Signing.Mu.Lock()
		node.api.Signing.Again = time.Time{}
		node.api.Signing.Mu.Unlock()
	}
}

// age makes all nodes believe that they made their tokens half a life ago.
func (s *strangers) age() {
	for _, node := range s.nodes {
		node.api.Signing.Mu.Lock()
		for h, at := range node.api.Signing.Issued {
			node.api.Signing.Issued[h] = at.Add(-attempttoken.Life/2 - time.Second)
		}
		node.api.Signing.Mu.Unlock()
	}
}

func (s *strangers) renew(session job.Session, refs ...job.Ref) map[int64]string {
	s.Helper()
	r, err := s.worker.Renew(s.Context(), session.ID, job.Held(refs...))
	if err != nil || r.Lost {
		s.Fatalf("%+v, %v", r, err)
	}
	return r.Tokens
}

func (s *strangers) beat(token string, ref job.Ref, seq int) int {
	s.Helper()
	return s.status(token, "POST", fmt.Sprintf("/v1/attempts/%d/%d/beat", ref.JobID, ref.Lease), fmt.Sprintf(`{"seq":%d}`, seq))
}

// claimed is a job of a program with its own client.
func (s *strangers) claimed() (job.Session, job.LeasedJob, *client.AttemptClient) {
	s.Helper()
	ctx := s.Context()
	if _, err := s.st.Enqueue(ctx, []job.NewJob{{Task: "p"}}); err != nil {
		s.Fatal(err)
	}
	session, job := s.take()
	a, err := client.NewAttemptClient(s.url, session, job, client.Options{})
	if err != nil {
		s.Fatal(err)
	}
	s.Cleanup(a.CloseIdleConnections)
	return session, job, a
}

func (s *strangers) take() (job.Session, job.LeasedJob) {
	s.Helper()
	session := s.open()
	claim, err := s.worker.Claim(s.Context(), job.ClaimRequest{Session: session.ID, Want: map[string]int{"default": 1}})
	if err != nil || len(claim.Jobs) != 1 {
		s.Fatal(claim, err)
	}
	return session, claim.Jobs[0]
}

// open is a session of the worker.
func (s *strangers) open() job.Session {
	s.Helper()
	session, err := s.worker.OpenSession(s.Context(), job.WorkerInfo{Name: "pod", Once: true, Kinds: []task.Kind{task.KindProgram},
		Queues: map[string]int{"default": 1}, Has: task.Has{Arch: "amd64", Isolation: task.IsolationGVisor}})
	if err != nil {
		s.Fatal(err)
	}
	return session
}

// status is what a request with a bearer is answered with.
func (s *strangers) status(token, method, path, body string) int {
	s.Helper()
	r, err := http.NewRequestWithContext(s.Context(), method, s.url+path, strings.NewReader(body))
	if err != nil {
		s.Fatal(err)
	}
	if body != "" {
		r.Header.Set("Content-Type", "application/json")
	}
	r.Header.Set("Authorization", "Bearer "+token)
	answer, err := http.DefaultClient.Do(r)
	if err != nil {
		s.Fatal(err)
	}
	defer answer.Body.Close()
	_, _ = io.Copy(io.Discard, answer.Body)
	return answer.StatusCode
}

// A worker runs what it is given: to ask for more is another right, and one that no attempt has.
func TestAStepEnqueuesNoJobWithoutTheRight(t *testing.T) {
	t.Parallel()
	s := newStrangers(t)
	session, j, a := s.claimed()
	ref := job.Ref{JobID: j.Job.ID, Lease: j.Job.Lease}
	step := job.NewStep{Number: 1, Name: "more", Kind: job.StepSpawn, Job: &job.NewJob{Task: "p"}}
	for who, keeper := range map[string]job.StepKeeper{"worker": s.worker, "attempt": a} {
		if _, err := keeper.SaveStep(t.Context(), session.ID, ref, step); core.CodeOf(err) != core.Forbidden {
			t.Errorf("%s: %v", who, err)
		}
	}
	if steps, err := s.st.JobSteps(t.Context(), core.AnyNamespace, ref.JobID); err != nil || len(steps) != 0 {
		t.Error(steps, err)
	}
}

func TestAnAttemptLivesOnItsOwnTokenAlone(t *testing.T) {
	t.Parallel()
	s := newStrangers(t)
	ctx := t.Context()
	_, j, a := s.claimed()
	ref := job.Ref{JobID: j.Job.ID, Lease: j.Job.Lease}
	session, err := a.OpenSession(ctx, job.WorkerInfo{})
	if err != nil {
		t.Fatal(err)
	}
	claim, err := a.Claim(ctx, job.ClaimRequest{Session: session.ID, Want: map[string]int{"default": 1}})
	if err != nil || len(claim.Jobs) != 1 || claim.Lease != ref.Lease {
		t.Fatal(claim, err)
	}
	if again, err := a.Claim(ctx, job.ClaimRequest{Session: session.ID, Want: map[string]int{"default": 1}}); err != nil || len(again.Jobs) != 0 {
		t.Fatal("the job is handed out twice", err)
	}
	first := a.Current()
	for range 40 { // for a quarter of an hour and more
		s.move(25 * time.Second)
		r, err := a.Renew(ctx, session.ID, job.Held(ref))
		if err != nil || r.Lost || len(r.Cancel) > 0 {
			t.Fatal(r, err)
		}
		if _, err := s.st.ReleaseLost(ctx); err != nil {
			t.Fatal(err)
		}
	}
	if a.Current() == first {
		t.Error("the token was never renewed")
	}
	if got := s.status(first, "POST", fmt.Sprintf("/v1/attempts/%d/%d/beat", ref.JobID, ref.Lease), `{"seq":9000000000000000}`); got != 401 {
		t.Errorf("the first token is answered %d after its end", got)
	}
	piece := job.LogPiece{Ref: job.Ref{JobID: 99, Lease: 99}, Stream: job.Stdout, Text: "hello", At: s.clock.Now()}
	if err := a.Append(ctx, session.ID, []job.LogPiece{piece, piece}); err != nil {
		t.Fatal(err)
	}
	logs, err := s.st.Logs(ctx, "default", ref.JobID, job.LogFilter{})
	if err != nil || len(logs.Items) != 1 || logs.Items[0].Text != "hello" {
		t.Errorf("log %+v, %v", logs, err)
	}
	link, err := a.ArtifactLink(ctx)
	if err != nil || link.URL != "/default/"+strings.Repeat("ab", 32) {
		t.Error(link, err)
	}
	out := task.Output{Name: "a/b.txt", Size: 3, SHA256: strings.Repeat("f", 64)}
	if link, err := a.DeclareOutput(ctx, session.ID, ref, out); err != nil || link == nil || link.URL != "/default/"+out.SHA256+"/3" {
		t.Error(link, err)
	}
	there := task.Output{Name: "there", Size: 3, SHA256: strings.Repeat("e", 64)}
	if link, err := a.DeclareOutput(ctx, session.ID, ref, there); err != nil || link != nil {
		t.Error(link, err)
	}
	for range 2 { // as after an answer that was lost
		if saved, err := a.SaveStep(ctx, session.ID, ref, job.NewStep{Number: 1, Name: "a", Result: json.RawMessage(`1`)}); err != nil || saved.Stale || saved.Step.Number != 1 {
			t.Error(saved, err)
		}
	}
	if steps, err := a.Steps(ctx, session.ID, ref); err != nil || steps.Stale || len(steps.Steps) != 1 || steps.Steps[0].Name != "a" {
		t.Error(steps, err)
	}
	if made, err := a.LinkSignal(ctx, session.ID, ref, job.Link{Name: "paid"}); err != nil || !strings.HasPrefix(made.Path, job.AnswerPath) {
		t.Error(made, err)
	}
	if _, err := a.LinkSignal(ctx, session.ID, job.Ref{JobID: ref.JobID + 1, Lease: ref.Lease}, job.Link{Name: "paid"}); core.CodeOf(err) != core.Conflict {
		t.Errorf("a link to another job: %v", err)
	}
	report := []job.Finish{{Ref: ref, Outcome: job.OutcomeOK, Sandboxed: &task.Sandboxed{Isolation: task.IsolationGVisor, Outputs: []task.Output{there}}}}
	for range 2 {
		done, err := a.Finish(ctx, session.ID, report)
		if err != nil || len(done) != 1 || done[0].Stale || done[0].State != job.Succeeded {
			t.Fatal(done, err)
		}
	}
	body := fmt.Sprintf(`{"outcome":"error","job_id":%d}`, ref.JobID)
	if got := s.status(a.Current(), "POST", fmt.Sprintf("/v1/attempts/%d/%d/finish", ref.JobID, ref.Lease), body); got != 409 {
		t.Errorf("another report is answered %d", got)
	}
	for _, use := range []struct{ method, what, body string }{
		{"POST", "beat", `{"seq":9000000000000000}`}, {"POST", "logs", `{"pieces":[]}`}, {"GET", "artifact", ""},
		{"GET", "steps", ""}, {"POST", "steps", `{"number":2,"name":"b"}`}, {"POST", "links", `{"name":"a"}`},
		{"POST", "outputs", fmt.Sprintf(`{"name":"x","size":1,"sha256":%q}`, out.SHA256)},
	} {
		if got := s.status(a.Current(), use.method, fmt.Sprintf("/v1/attempts/%d/%d/%s", ref.JobID, ref.Lease, use.what), use.body); got != 401 {
			t.Errorf("%s after the end is answered %d", use.what, got)
		}
	}
	if got, err := s.st.Outputs(ctx, "default", ref.JobID); err != nil || len(got) != 1 || got[0].Output != there {
		t.Error(got, err)
	}
	if ws, err := s.st.Workers(ctx, true); err != nil || len(ws) != 1 || ws[0].Lost || ws[0].EndedAt.IsZero() {
		t.Error("the session did not end with its job", ws, err)
	}
}

func TestATokenOfAnAttemptOpensNoOtherDoor(t *testing.T) {
	t.Parallel()
	s := newStrangers(t)
	_, one, a := s.claimed()
	_, two, b := s.claimed()
	keys, err := s.st.SigningKeys(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	path := func(j job.LeasedJob, lease int64) string {
		return fmt.Sprintf("/v1/attempts/%d/%d/beat", j.Job.ID, lease)
	}
	mine := path(one, one.Job.Lease)
	forged := func(k access.SigningKey, session string, at time.Time) string {
		token, err := attempttoken.Sign(k, attempttoken.Right{Ref: job.Ref{JobID: one.Job.ID, Lease: one.Job.Lease}, Session: session}, at)
		if err != nil {
			t.Fatal(err)
		}
		return token
	}
	own := strings.Split(a.Current(), ".")
	none := base64.RawURLEncoding.EncodeToString([]byte(`{"alg":"none","typ":"JWT"}`)) + "." + own[1] + "."
	for name, c := range map[string]struct {
		token, method, path, body string
	}{
		"its own beat under another job":     {b.Current(), "POST", mine, `{"seq":1}`},
		"under another lease":                {a.Current(), "POST", path(one, two.Job.Lease), `{"seq":1}`},
		"a worker's token":                   {s.secret, "POST", mine, `{"seq":1}`},
		"no algorithm":                       {none, "POST", mine, `{"seq":1}`},
		"a key of somebody else":             {forged(access.SigningKey{ID: keys[0].ID, Seed: make([]byte, 32)}, one.Job.Session, s.clock.Now()), "POST", mine, `{"seq":1}`},
		"a key that nobody knows":            {forged(access.SigningKey{ID: "x", Seed: make([]byte, 32)}, one.Job.Session, s.clock.Now()), "POST", mine, `{"seq":1}`},
		"another session under our own key":  {forged(keys[0], two.Job.Session, s.clock.Now()), "POST", mine, `{"seq":1}`},
		"an old one":                         {forged(keys[0], one.Job.Session, s.clock.Now().Add(-16*time.Minute)), "POST", mine, `{"seq":1}`},
		"one from a clock ten minutes ahead": {forged(keys[0], one.Job.Session, s.clock.Now().Add(10*time.Minute)), "POST", mine, `{"seq":1}`},
		"jobs":                               {a.Current(), "GET", "/v1/jobs", ""},
		"its own job":                        {a.Current(), "GET", fmt.Sprintf("/v1/jobs/%d", one.Job.ID), ""},
		"claims":                             {a.Current(), "POST", "/v1/sessions/" + one.Job.Session + "/claim", `{"want":{"default":1}}`},
		"finishes of its session":            {a.Current(), "POST", "/v1/sessions/" + one.Job.Session + "/finish", `{"attempts":[]}`},
		"its session's end":                  {a.Current(), "DELETE", "/v1/sessions/" + one.Job.Session, ""},
		"tokens":                             {a.Current(), "POST", "/v1/tokens", `{"name":"x","scopes":["admin"]}`},
	} {
		if got := s.status(c.token, c.method, c.path, c.body); got != 401 {
			t.Errorf("%s: %d", name, got)
		}
	}
	if got := s.status(a.Current(), "POST", mine, `{"seq":1}`); got != 200 {
		t.Errorf("its own beat: %d", got)
	}
	if got := s.status(a.Current(), "POST", mine, `{"seq":1}`); got != 409 {
		t.Errorf("the same beat again: %d", got)
	}
}

func TestAZombieIsToldAndItsReportRefused(t *testing.T) {
	t.Parallel()
	s := newStrangers(t)
	ctx := t.Context()
	session, j, a := s.claimed()
	ref := job.Ref{JobID: j.Job.ID, Lease: j.Job.Lease}
	s.move(36 * time.Second)
	if _, err := s.st.ReleaseLost(ctx); err != nil {
		t.Fatal(err)
	}
	s.take()
	if r, err := a.Renew(ctx, session.ID, job.Held()); err != nil || !r.Lost {
		t.Errorf("%+v, %v", r, err)
	}
	done, err := a.Finish(ctx, session.ID, []job.Finish{{Ref: ref, Outcome: job.OutcomeOK}})
	if err != nil || !done[0].Stale {
		t.Errorf("%+v, %v", done, err)
	}
	if got := s.status(a.Current(), "POST", fmt.Sprintf("/v1/attempts/%d/%d/finish", ref.JobID, ref.Lease), `{"outcome":"ok"}`); got != 409 {
		t.Errorf("a late report is answered %d", got)
	}
	audit, err := s.st.Audit(ctx, access.AuditFilter{Noun: "job"})
	if err != nil || len(audit.Items) != 1 || audit.Items[0].Actor != fmt.Sprintf("attempt:%d/%d", ref.JobID, ref.Lease) {
		t.Errorf("%+v, %v", audit, err)
	}
}

func TestAnAttemptIsToldToEndAndToDrain(t *testing.T) {
	t.Parallel()
	s := newStrangers(t)
	ctx := t.Context()
	session, leased, a := s.claimed()
	if err := s.st.DrainWorker(ctx, session.ID); err != nil {
		t.Fatal(err)
	}
	if r, err := a.Renew(ctx, session.ID, job.Held()); err != nil || !r.Drain || len(r.Cancel) != 0 {
		t.Errorf("%+v, %v", r, err)
	}
	if _, err := s.st.CancelJobs(ctx, "default", view.Selection{IDs: []int64{leased.Job.ID}}); err != nil {
		t.Fatal(err)
	}
	if r, err := a.Renew(ctx, session.ID, job.Held()); err != nil || len(r.Cancel) != 1 || r.Cancel[0].JobID != leased.Job.ID {
		t.Errorf("%+v, %v", r, err)
	}
}

func TestRenewalsBringNewTokensOfRunningAttempts(t *testing.T) {
	t.Parallel()
	s := newStrangers(t)
	session, j, _ := s.claimed()
	ref := job.Ref{JobID: j.Job.ID, Lease: j.Job.Lease}
	if got := s.renew(session, ref); len(got) != 0 {
		t.Fatal(got)
	}
	s.age()
	got := s.renew(session, ref)
	if code := s.beat(got[ref.JobID], ref, 1); code != 200 {
		t.Errorf("the new token is answered %d", code)
	}
	s.age()
	if _, err := s.worker.Finish(t.Context(), session.ID, []job.Finish{{Ref: ref, Outcome: job.OutcomeOK}}); err != nil {
		t.Fatal(err)
	}
	if got := s.renew(session, ref); len(got) != 0 {
		t.Errorf("an attempt that ended gets a token: %v", got)
	}
}

// twoNodes are on PostgreSQL.
func twoNodes(t *testing.T, o store.Options) []*store.Store {
	url := pgtest.Migrated(t, postgres.Migrate)
	var nodes []*store.Store
	for range 2 {
		st, err := postgres.Open(t.Context(), url, postgres.Options{Options: o})
		if err != nil {
			t.Fatal(err)
		}
		nodes = append(nodes, st)
	}
	return nodes
}

// startedAgain is one on SQLite in two lives, which know nothing of each other.
func startedAgain(t *testing.T, o store.Options) []*store.Store {
	st := openSQLite(t, o)
	return []*store.Store{st, st}
}

// onEachDatabase runs a test with two nodes that are asked in turns.
func onEachDatabase(t *testing.T, fn func(t *testing.T, s *strangers)) {
	for name, open := range map[string]func(*testing.T, store.Options) []*store.Store{"sqlite": startedAgain, "postgres": twoNodes} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			fn(t, newStrangersAt(t, func(o store.Options) []*store.Store { return open(t, o) }))
		})
	}
}

func TestTokensAreRenewedThroughWhicheverNode(t *testing.T) {
	t.Parallel()
	for name, open := range map[string]func(*testing.T, store.Options) []*store.Store{
		"one database of two nodes":     twoNodes,
		"a node that was started again": startedAgain,
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := newStrangersAt(t, func(o store.Options) []*store.Store { return open(t, o) })
			session, j, a := s.claimed()
			ref := job.Ref{JobID: j.Job.ID, Lease: j.Job.Lease}
			other, _, _ := s.claimed()
			if got := s.renew(other, ref); len(got) != 0 {
				t.Errorf("another session gets a token of it: %v", got)
			}
			seq := 0
			last := j.Token
			for round := range 3 {
				var tokens []string
				for range 2 * len(s.nodes) {
					if token := s.renew(session, ref)[ref.JobID]; token != "" {
						tokens = append(tokens, token)
					}
				}
				if round > 0 && len(tokens) == 0 || len(tokens) > len(s.nodes) {
					t.Fatalf("round %d: %d tokens", round, len(tokens))
				}
				for _, token := range append(tokens, last) {
					for range s.nodes {
						seq++
						if code := s.beat(token, ref, seq); code != 200 {
							t.Errorf("round %d: a token is answered %d", round, code)
						}
					}
					last = token
				}
				s.age()
			}
			for range 40 { // the attempt by itself, for a quarter of an hour and more
				s.move(25 * time.Second)
				if r, err := a.Renew(t.Context(), session.ID, job.Held()); err != nil || r.Lost {
					t.Fatalf("%+v, %v", r, err)
				}
			}
		})
	}
}

func TestANewKeySignsWhenEveryNodeKnowsIt(t *testing.T) {
	t.Parallel()
	s := newStrangers(t)
	signer := func() string {
		t.Helper()
		_, job, _ := s.claimed()
		head, _, _ := strings.Cut(job.Token, ".")
		text, err := base64.RawURLEncoding.DecodeString(head)
		if err != nil {
			t.Fatal(err)
		}
		return string(text)
	}
	first := signer()
	s.move(31 * 24 * time.Hour)
	if now := signer(); now != first {
		t.Errorf("a key that was just made signs: %s after %s", now, first)
	}
	s.move(api.KeyKnown)
	if now := signer(); now == first {
		t.Errorf("the first key signs on: %s", now)
	}
}

// answersTo is what each operation that reads answers to a token, by its name.
func (s *strangers) answersTo(secret string) map[string]string {
	s.Helper()
	all := map[string]string{}
	doc := s.nodes[0].api.Huma.OpenAPI()
	for path, item := range doc.Paths {
		op := api.OperationsOf(item)[http.MethodGet]
		if op == nil || aboutAll[op.OperationID] != "" {
			continue
		}
		address, _, _ := asked(path, op)
		req, err := http.NewRequestWithContext(s.Context(), http.MethodGet, s.url+address, nil)
		if err != nil {
			s.Fatal(err)
		}
		req.Header.Set("Authorization", "Bearer "+secret)
		req.Header.Set("X-Request-Id", "the-same-each-time")
		resp, err := http.DefaultClient.Do(req)
		if err != nil {
			s.Fatal(err)
		}
		body, err := io.ReadAll(resp.Body)
		_ = resp.Body.Close()
		if err != nil {
			s.Fatal(err)
		}
		all[op.OperationID] = resp.Status + " " + string(body)
	}
	return all
}

// something makes definitions and jobs in a namespace.
func (s *strangers) something(namespace string, jobs int) {
	s.Helper()
	ctx := s.Context()
	must := func(_ any, err error) {
		s.Helper()
		if err != nil {
			s.Fatal(err)
		}
	}
	must(s.st.CreateTask(ctx, task.Task{Namespace: namespace, Name: "1", Kind: task.KindFunc}))
	must(s.st.CreateSchedule(ctx, schedule.Schedule{Namespace: namespace, Name: "1", Task: "1", Rules: []schedule.Rule{{Every: core.Duration(time.Hour)}}}))
	must(s.st.SaveCalendar(ctx, schedule.Calendar{Namespace: namespace, Name: "1"}))
	must(s.st.CreateMonitor(ctx, monitor.Monitor{Namespace: namespace, Name: "1", Check: task.Task{TCP: &task.TCP{Address: "db.example:22"}}}))
	must(s.st.SaveChannel(ctx, alert.Channel{Namespace: namespace, Name: "1", Webhook: &alert.WebhookChannel{URL: "https://hooks.example/x"}}))
	_, _, err := s.st.CreateToken(ctx, access.Token{Namespace: namespace, Name: "another", Scopes: []access.Scope{access.ScopeRead}})
	must(nil, err)
	must(s.st.Enqueue(ctx, slices.Repeat([]job.NewJob{{Namespace: namespace, Task: "1"}}, jobs)))
	must(s.st.Enqueue(ctx, []job.NewJob{{Namespace: namespace, Task: "1", Delay: core.Duration(time.Hour)}}))
}

package httpapi

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/belfry-run/belfry/access"
	"github.com/belfry-run/belfry/app/httpapi/internal/api"
	"github.com/belfry-run/belfry/core"
	"github.com/belfry-run/belfry/httpapi/wire"
	"github.com/belfry-run/belfry/job"
	"github.com/belfry-run/belfry/schedule"
	"github.com/belfry-run/belfry/task"
	"github.com/belfry-run/belfry/view"
)

func TestTokensThatAreAdmitted(t *testing.T) {
	t.Parallel()
	b := setup(t)
	past := time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)
	b.tokens.set("expired", access.Token{Name: "old", Namespace: "*", Scopes: access.Scopes, ExpiresAt: past})
	b.tokens.set("revoked", access.Token{Name: "gone", Namespace: "*", Scopes: access.Scopes, RevokedAt: past})
	b.tokens.set("operator", access.Token{Name: "operator", Namespace: "*", Scopes: []access.Scope{access.ScopeOperate}})
	b.tokens.set("admin", access.Token{Name: "admin", Namespace: "*", Scopes: []access.Scope{access.ScopeAdmin}})
	b.tokens.set("worker", access.Token{Name: "worker", Namespace: "*", Scopes: []access.Scope{access.ScopeWorker}})
	for _, c := range []struct {
		header, method, path, body string
		status                     int
		says                       string
	}{
		{"", "GET", "/v1/tasks", "", 401, "no token was given"},
		{"Basic cm9vdDp4", "GET", "/v1/tasks", "", 401, "holds no bearer token"},
		{"Bearer", "GET", "/v1/tasks", "", 401, "holds no bearer token"},
		{"Bearer nobody", "GET", "/v1/tasks", "", 401, "unknown"},
		{"Bearer " + strings.Repeat("x", 600), "GET", "/v1/tasks", "", 401, "unknown"},
		{"Bearer expired", "GET", "/v1/tasks", "", 401, "expired at 2026-01-02 03:04:05 UTC"},
		{"Bearer revoked", "GET", "/v1/tasks", "", 401, "was revoked"},
		{"bearer root", "GET", "/v1/tasks", "", 200, ""},
		{"Bearer reader", "GET", "/v1/tasks", "", 200, ""},
		{"Bearer reader", "POST", "/v1/jobs", `{"task":"t"}`, 403, "needs the scope operate"},
		{"Bearer reader", "POST", "/v1/tasks", `{"name":"t"}`, 403, "needs the scope admin"},
		{"Bearer reader", "POST", "/v1/apply", `{}`, 403, "needs the scope admin"},
		{"Bearer reader", "POST", "/v1/apply?dry_run=true", `{}`, 200, ""},
		{"Bearer reader", "POST", "/v1/apply?dry_run=true&prune=true", `{"queues":[{"name":"q"}]}`, 422, "would delete everything in namespace default"},
		{"Bearer reader", "POST", "/v1/apply?dry_run=true&prune=true", `{"queues":[{"name":"q"}],"tasks":[{"name":"t","kind":"func"}]}`, 200, ""},
		{"Bearer reader", "GET", "/v1/tokens", "", 403, "needs the scope admin"},
		{"Bearer reader", "POST", "/v1/look", `{"name":"s"}`, 200, ""},
		{"Bearer reader", "GET", "/v1/upcoming", "", 200, ""},
		{"Bearer reader", "GET", "/v1/forecast", "", 200, ""},
		{"Bearer reader", "GET", "/v1/schedules/s/next", "", 200, ""},
		{"Bearer reader", "GET", "/v1/calendars", "", 200, ""},
		{"Bearer reader", "GET", "/v1/backfills/1", "", 200, ""},
		{"Bearer reader", "POST", "/v1/backfills", `{"schedule":"s"}`, 403, "needs the scope operate"},
		{"Bearer reader", "POST", "/v1/schedules/s/backfill", `{}`, 403, "needs the scope operate"},
		{"Bearer reader", "POST", "/v1/backfills/1/cancel", "", 403, "needs the scope operate"},
		{"Bearer operator", "POST", "/v1/backfills", `{"schedule":"s"}`, 201, ""},
		{"Bearer operator", "POST", "/v1/backfills/1/pause", "", 200, ""},
		{"Bearer operator", "PUT", "/v1/calendars/c", `{}`, 403, "needs the scope admin"},
		{"Bearer operator", "DELETE", "/v1/calendars/c", "", 403, "needs the scope admin"},
		{"Bearer operator", "POST", "/v1/calendars/c/ics", "x", 403, "needs the scope admin"},
		{"Bearer admin", "PUT", "/v1/calendars/c", `{}`, 200, ""},
		{"Bearer worker", "POST", "/v1/look", `{"name":"s"}`, 403, "needs the scope read"},
		{"", "POST", "/v1/look", `{"name":"s"}`, 401, "no token was given"},
		{"Bearer operator", "POST", "/v1/jobs", `{"task":"t"}`, 200, ""},
		{"Bearer operator", "POST", "/v1/queues/q/pause", "", 200, ""},
		{"Bearer operator", "DELETE", "/v1/queues/q", "", 403, "needs the scope admin"},
		{"Bearer admin", "DELETE", "/v1/queues/q", "", 204, ""},
		{"Bearer admin", "POST", "/v1/sessions", `{"name":"w"}`, 403, "needs the scope worker"},
		{"Bearer worker", "POST", "/v1/sessions", `{"name":"w"}`, 201, ""},
		{"Bearer worker", "GET", "/v1/tasks", "", 403, "needs the scope read"},
		{"Bearer reader", "GET", "/v1/cycles", "", 200, ""},
		{"Bearer reader", "GET", "/v1/cycles/c/members/a1", "", 200, ""},
		{"Bearer reader", "GET", "/v1/cycles/c/members/a2", "", 404, "has no member"},
		{"Bearer reader", "POST", "/v1/cycles/c/run", "", 403, "needs the scope operate"},
		{"Bearer reader", "POST", "/v1/cycles/c/cancel", "", 403, "needs the scope operate"},
		{"Bearer reader", "POST", "/v1/cycles/c/reset-timing", "", 403, "needs the scope operate"},
		{"Bearer reader", "POST", "/v1/cycles/c/members/a1/skip", "", 403, "needs the scope operate"},
		{"Bearer worker", "GET", "/v1/cycles/c", "", 403, "needs the scope read"},
		{"Bearer operator", "POST", "/v1/cycles/c/run", "", 201, ""},
		{"Bearer operator", "POST", "/v1/cycles/c/reset-timing", `{"members":["a1"]}`, 200, ""},
		{"Bearer operator", "POST", "/v1/cycles/c/members/a1/skip", "", 200, ""},
		{"Bearer reader", "GET", "/v1/tasks?kind=cycle", "", 200, ""},
		{"Bearer reader", "GET", "/v1/monitors", "", 200, ""},
		{"Bearer reader", "POST", "/v1/windows/preview", `{"from":"2099-01-01T00:00:00Z","to":"2099-01-02T00:00:00Z"}`, 200, ""},
		{"Bearer reader", "POST", "/v1/monitors", `{"name":"m"}`, 403, "needs the scope admin"},
		{"Bearer operator", "POST", "/v1/checks/try", `{"check":{"http":{"url":"https://x"}}}`, 403, "needs the scope admin"},
		{"Bearer operator", "POST", "/v1/checks/try", `{"monitor":"m"}`, 200, ""},
		{"Bearer operator", "POST", "/v1/channels/c/test", "", 200, `"ok":true`},
		{"Bearer operator", "POST", "/v1/hooks/h/test", "", 200, `"ok":true`},
		{"", "GET", "/v1/events", "", 401, "no token was given"},
		{"", "GET", "/v1/nowhere", "", 404, "nothing at"},
		{"", "GET", "/healthz", "", 200, ""},
		{"", "GET", "/openapi.json", "", 200, ""},
		{"", "GET", "/docs", "", 200, ""},
	} {
		name := fmt.Sprintf("%.20s %s %s", c.header, c.method, c.path)
		status, h, body := b.raw(t, c.method, c.path, c.body, "Authorization", c.header)
		if status != c.status || !strings.Contains(body, c.says) {
			t.Errorf("%s: %d %s", name, status, body)
		}
		if got := h.Get("WWW-Authenticate"); (got != "") != (c.status == 401) {
			t.Errorf("%s: WWW-Authenticate is %q", name, got)
		}
	}
}

func TestATokenOfOneNamespaceStaysThere(t *testing.T) {
	t.Parallel()
	b := setup(t)
	for _, c := range []struct {
		method, path, body string
		status             int
		namespace          string // that reached the service
	}{
		{"GET", "/v1/tasks/n", "", 200, "team-a"},
		{"GET", "/v1/tasks/n?namespace=team-a", "", 200, "team-a"},
		{"GET", "/v1/tasks/n?namespace=team-b", "", 403, ""},
		{"GET", "/v1/jobs/1?namespace=*", "", 403, ""},
		{"GET", "/v1/jobs/1", "", 200, "team-a"},
		{"GET", "/v1/export", "", 200, "team-a"},
		{"GET", "/v1/export?namespace=default", "", 403, ""},
		{"DELETE", "/v1/schedules/n", "", 204, "team-a"},
		{"GET", "/v1/calendars/c", "", 200, "team-a"},
		{"GET", "/v1/calendars?namespace=*", "", 403, ""},
		{"DELETE", "/v1/calendars/c?namespace=team-b", "", 403, ""},
		{"PUT", "/v1/calendars/c", `{"namespace":"team-b"}`, 403, ""},
		{"POST", "/v1/calendars/c/ics?namespace=team-b", "x", 403, ""},
		{"POST", "/v1/apply", `{"calendars":[{"name":"c","namespace":"team-b"}]}`, 403, ""},
		{"GET", "/v1/cycles/c", "", 200, "team-a"},
		{"GET", "/v1/cycles?namespace=*", "", 403, ""},
		{"GET", "/v1/cycles/c/members/a1", "", 200, "team-a"},
		{"GET", "/v1/cycles/c/members/a1?namespace=team-b", "", 403, ""},
		{"POST", "/v1/cycles/c/run", "", 201, "team-a"},
		{"POST", "/v1/cycles/c/run?namespace=team-b", "", 403, ""},
		{"POST", "/v1/cycles/c/cancel?namespace=team-b", "", 403, ""},
		{"POST", "/v1/cycles/c/members/a1/skip?namespace=team-b", "", 403, ""},
		{"POST", "/v1/cycles/c/reset-timing?namespace=*", "", 403, ""},
		{"GET", "/v1/monitors/m", "", 200, "team-a"},
		{"GET", "/v1/monitors/m?namespace=team-b", "", 403, ""},
		{"POST", "/v1/monitors", `{"name":"m","namespace":"team-b"}`, 403, ""},
		{"POST", "/v1/monitors/m/check?namespace=team-b", "", 403, ""},
		{"POST", "/v1/monitors/m/pause", "", 200, "team-a"},
		{"GET", "/v1/monitors/m/uptime?namespace=*", "", 403, ""},
		{"GET", "/v1/monitors/m/results?namespace=team-b", "", 403, ""},
		{"GET", "/v1/monitors/m/diff?namespace=team-b", "", 403, ""},
		{"POST", "/v1/monitors/m/versions/newest/accept", "", 200, "team-a"},
		{"GET", "/v1/incidents/1", "", 200, "team-a"},
		{"GET", "/v1/incidents/1?namespace=*", "", 403, ""},
		{"GET", "/v1/incidents?namespace=team-b", "", 403, ""},
		{"POST", "/v1/incidents/1/acknowledge", "", 200, "team-a"},
		{"POST", "/v1/incidents/1/acknowledge?namespace=team-b", "", 403, ""},
		{"POST", "/v1/incidents/1/unacknowledge?namespace=*", "", 403, ""},
		{"POST", "/v1/incidents/1/assign", `{"to":"ann"}`, 200, "team-a"},
		{"POST", "/v1/incidents/1/assign?namespace=team-b", "", 403, ""},
		{"POST", "/v1/incidents/1/unassign?namespace=*", "", 403, ""},
		{"POST", "/v1/incidents/1/updates", `{"text":"x"}`, 201, "team-a"},
		{"POST", "/v1/incidents/1/updates?namespace=team-b", `{"text":"x"}`, 403, ""},
		{"POST", "/v1/status-pages/p/announcements?namespace=team-b", `{"title":"x"}`, 403, ""},
		{"POST", "/v1/status-pages/p/announcements", `{"title":"x","namespace":"team-b"}`, 422, ""},
		{"PUT", "/v1/status-pages/p/announcements/1?namespace=team-b", `{"title":"x"}`, 403, ""},
		{"POST", "/v1/status-pages/p/announcements/1/end?namespace=*", "", 403, ""},
		{"GET", "/v1/alerts/1/tries", "", 200, "team-a"},
		{"GET", "/v1/alerts?namespace=*", "", 403, ""},
		{"GET", "/v1/channels/c", "", 200, "team-a"},
		{"PUT", "/v1/channels/c", `{"namespace":"team-b"}`, 403, ""},
		{"POST", "/v1/channels/c/test?namespace=team-b", "", 403, ""},
		{"DELETE", "/v1/alert-rules/r?namespace=team-b", "", 403, ""},
		{"GET", "/v1/hooks/h", "", 200, "team-a"},
		{"PUT", "/v1/hooks/h", `{"namespace":"team-b"}`, 403, ""},
		{"GET", "/v1/hooks/h/events?namespace=team-b", "", 403, ""},
		{"GET", "/v1/hooks/h/status?namespace=team-b", "", 403, ""},
		{"POST", "/v1/hooks/h/replay?namespace=team-b", "{}", 403, ""},
		{"POST", "/v1/hooks/h/test?namespace=team-b", "", 403, ""},
		{"POST", "/v1/hooks/h/resume?namespace=team-b", "", 403, ""},
		{"PUT", "/v1/windows/w?namespace=team-b", `{}`, 403, ""},
		{"GET", "/v1/windows/w/next?namespace=team-b", "", 403, ""},
		{"DELETE", "/v1/status-pages/p", "", 204, "team-a"},
		{"GET", "/v1/status-pages?namespace=*", "", 403, ""},
		{"POST", "/v1/checks/try", `{"monitor":"m","namespace":"team-b"}`, 403, ""},
		{"POST", "/v1/checks/try?namespace=team-b", `{"check":{"http":{"url":"https://x"}}}`, 403, ""},
		{"POST", "/v1/apply", `{"monitors":[{"name":"m","namespace":"team-b"}]}`, 403, ""},
		{"POST", "/v1/apply", `{"channels":[{"name":"c","namespace":"team-b"}]}`, 403, ""},
		{"POST", "/v1/apply", `{"alert_rules":[{"name":"c","namespace":"team-b"}]}`, 403, ""},
		{"POST", "/v1/apply", `{"windows":[{"name":"c","namespace":"team-b"}]}`, 403, ""},
		{"POST", "/v1/apply", `{"status_pages":[{"name":"c","namespace":"team-b"}]}`, 403, ""},
		{"GET", "/v1/backfills/1", "", 200, "team-a"},
		{"GET", "/v1/backfills?namespace=team-b", "", 403, ""},
		{"POST", "/v1/backfills", `{"schedule":"s","namespace":"team-b"}`, 403, ""},
		{"POST", "/v1/schedules/s/backfill?namespace=team-b", `{}`, 403, ""},
		{"POST", "/v1/backfills/1/resume", "", 200, "team-a"},
		{"POST", "/v1/backfills/1/resume?namespace=*", "", 403, ""},
		{"POST", "/v1/look", `{"name":"s","namespace":"team-b"}`, 403, ""},
		{"POST", "/v1/look", `{"draft":{"namespace":"team-b"}}`, 403, ""},
		{"GET", "/v1/schedules/s/next?namespace=team-b", "", 403, ""},
		{"GET", "/v1/upcoming?namespace=*", "", 403, ""},
		{"GET", "/v1/forecast?namespace=team-b", "", 403, ""},
		{"GET", "/v1/events/poll?namespace=*", "", 403, ""},
		{"GET", "/v1/events?namespace=team-b", "", 403, ""},
		{"GET", "/v1/audit?namespace=*", "", 403, ""},
		{"POST", "/v1/tasks", `{"name":"t","namespace":"team-b"}`, 403, ""},
		{"POST", "/v1/jobs", `{"jobs":[{"task":"t"},{"task":"t","namespace":"team-b"}]}`, 403, ""},
		{"POST", "/v1/jobs/cancel", `{"filter":{"namespace":"team-b"}}`, 403, ""},
		{"POST", "/v1/jobs/cancel?namespace=team-b", `{"ids":[1]}`, 403, ""},
		{"POST", "/v1/jobs/retry", `{"ids":[1]}`, 200, "team-a"},
		{"POST", "/v1/apply", `{"tasks":[{"name":"t","namespace":"team-b"}]}`, 403, ""},
		{"POST", "/v1/apply?dry_run=true", `{"schedules":[{"name":"t","namespace":"team-b"}]}`, 403, ""},
		{"POST", "/v1/apply?namespace=team-b", `{}`, 403, ""},
		{"POST", "/v1/apply", `{"queues":[{"name":"q"}]}`, 403, ""},
		{"PUT", "/v1/queues/q", `{}`, 403, ""},
		{"DELETE", "/v1/queues/q", "", 403, ""},
		{"POST", "/v1/queues/q/pause", "", 403, ""},
		{"POST", "/v1/workers/s1/drain", "", 403, ""},
		{"POST", "/v1/tokens", `{"name":"t","scopes":["admin"],"namespace":"*"}`, 403, ""},
		{"POST", "/v1/sessions", `{"name":"w","namespace":"team-b"}`, 403, ""},
		{"POST", "/v1/sessions", `{"name":"w","namespace":"*"}`, 403, ""},
	} {
		b.fake.mu.Lock()
		b.got = nil
		b.fake.mu.Unlock()
		kind := ""
		if c.body != "" {
			kind = map[bool]string{true: wire.IcsType, false: "application/json"}[strings.HasSuffix(strings.Split(c.path, "?")[0], "/ics")]
		}
		status, _, body := b.raw(t, c.method, c.path, c.body, "Authorization", "Bearer team", "Content-Type", kind)
		if status != c.status {
			t.Errorf("%s %s %s: %d %s", c.method, c.path, c.body, status, body)
			continue
		}
		if got := b.last(); c.namespace == "" && got != nil || c.namespace != "" && got[1] != c.namespace {
			t.Errorf("%s %s %s reached the service as %v", c.method, c.path, c.body, got)
		}
	}
	team := b.as(t, "team")
	if _, err := team.Jobs(t.Context(), job.Filter{}); err != nil || b.last()[1].(job.Filter).Namespace != "team-a" {
		t.Errorf("jobs: %v %v", err, b.last())
	}
	if _, err := team.CancelJobs(t.Context(), "", view.Selection{Filter: &job.Filter{}}); err != nil {
		t.Error(err)
	}
	if s := b.last()[2].(view.Selection); s.Filter.Namespace != "team-a" {
		t.Errorf("a filter without a namespace reached the service with %q", s.Filter.Namespace)
	}
	if _, err := team.CreateTask(t.Context(), task.Task{Name: "t"}); err != nil || b.last()[1].(task.Task).Namespace != "team-a" {
		t.Errorf("create: %v %v", err, b.last())
	}
	if _, err := team.Look(t.Context(), schedule.LookQuery{Draft: &schedule.Schedule{}}); err != nil {
		t.Error(err)
	}
	if q := b.last()[1].(schedule.LookQuery); q.Namespace != "team-a" || q.Draft.Namespace != "team-a" {
		t.Errorf("a draft reached the service as %+v", q)
	}
	if _, err := team.Upcoming(t.Context(), schedule.Ahead{}); err != nil || b.last()[1].(schedule.Ahead).Namespace != "team-a" {
		t.Errorf("upcoming: %v %v", err, b.last())
	}
	_, err := team.Apply(t.Context(), view.Manifest{Tasks: []task.Task{{Name: "t"}}}, view.ApplyOptions{})
	if err != nil || b.last()[2].(view.ApplyOptions).Namespace != "team-a" {
		t.Errorf("apply: %v %v", err, b.last())
	}
}

func TestAWorkerOfOneNamespaceStaysThere(t *testing.T) {
	t.Parallel()
	b := setup(t)
	worker := job.WorkerInfo{Name: "w", Kinds: []task.Kind{"func"}, Queues: map[string]int{"q": 1}}
	b.when("OpenSession", func(context.Context, []any) (any, error) { return job.Session{ID: "own"}, nil })
	three := func() []job.WorkerState {
		return []job.WorkerState{
			{Session: "theirs", WorkerInfo: job.WorkerInfo{Namespace: "team-b"}},
			{Session: "ours", WorkerInfo: job.WorkerInfo{Namespace: "team-a"}},
			{Session: "for-all", WorkerInfo: job.WorkerInfo{Namespace: "*"}},
		}
	}
	b.when("Workers", func(context.Context, []any) (any, error) { return three(), nil })
	b.when("Overview", func(context.Context, []any) (any, error) { return view.Overview{Workers: three()}, nil })
	team := b.as(t, "team")
	if _, err := team.OpenSession(t.Context(), worker); err != nil || b.last()[1].(job.WorkerInfo).Namespace != "team-a" {
		t.Errorf("open: %v %v", err, b.last())
	}
	workers, err := team.Workers(t.Context(), false)
	overview, errOverview := team.Overview(t.Context(), "")
	for _, seen := range [][]job.WorkerState{workers, overview.Workers} {
		if errors.Join(err, errOverview) != nil || len(seen) != 2 || seen[0].Session != "ours" || seen[1].Session != "for-all" {
			t.Errorf("a token of one namespace sees %+v, %v, %v", seen, err, errOverview)
		}
	}
	// A worker for all keeps what it said.
	if _, err := b.client.OpenSession(t.Context(), worker); err != nil || b.last()[1].(job.WorkerInfo).Namespace != "" {
		t.Errorf("open for all: %v %v", err, b.last())
	}
}

func TestTheActorIsTheToken(t *testing.T) {
	t.Parallel()
	b := setup(t)
	actor := make(chan string, 1)
	b.when("Queues", func(ctx context.Context, _ []any) (any, error) {
		actor <- access.ActorOf(ctx)
		return []job.QueueStats{}, nil
	})
	if _, err := b.as(t, "reader").Queues(t.Context()); err != nil {
		t.Fatal(err)
	}
	if got := <-actor; got != "token:reader" {
		t.Errorf("the actor is %q", got)
	}
}

func TestAGoodTokenIsBelievedUntilItIsRevokedHere(t *testing.T) {
	t.Parallel()
	b := setup(t)
	for range 5 {
		if _, err := b.client.Queues(t.Context()); err != nil {
			t.Fatal(err)
		}
	}
	if n := b.tokens.looks(); n != 1 {
		t.Errorf("asked %d times about one token", n)
	}
	b.tokens.set("root", access.Token{Name: "root", Namespace: "*", Scopes: access.Scopes, RevokedAt: time.Now()})
	if err := b.client.RevokeToken(t.Context(), 1); err != nil {
		t.Fatal(err)
	}
	_, err := b.client.Queues(t.Context())
	if core.CodeOf(err) != core.Unauthorized || !strings.Contains(err.Error(), "revoked") {
		t.Errorf("after it was revoked: %v", err)
	}
}

func TestGuessingIsSlowedDownAndOthersAreNot(t *testing.T) {
	t.Parallel()
	b := setup(t)
	if _, err := b.client.Queues(t.Context()); err != nil {
		t.Fatal(err)
	}
	status := 0
	var h map[string][]string
	for i := 0; i < 2*api.FailuresAtOnce && status != 429; i++ {
		status, h, _ = b.raw(t, "GET", "/v1/tasks", "", "Authorization", fmt.Sprintf("Bearer guess-%d", i))
	}
	if status != 429 || h["Retry-After"] == nil {
		t.Fatalf("guessing ends in %d %v", status, h)
	}
	if p := b.refused(t, 429, "GET", "/v1/tasks", "", "Authorization", "Bearer guess-again"); p.Code != core.Unavailable {
		t.Errorf("%+v", p)
	}
	if _, err := b.as(t, "reader").Queues(t.Context()); err != nil {
		t.Errorf("a good token that was not seen before, from the same address: %v", err)
	}
	b.server.api.Guard.Mu.Lock()
	for key, belief := range b.server.api.Guard.Good {
		belief.Until = time.Now() // it must be asked about again
		b.server.api.Guard.Good[key] = belief
	}
	b.server.api.Guard.Mu.Unlock()
	if _, err := b.client.Queues(t.Context()); err != nil {
		t.Errorf("a token that was good before, from the same address: %v", err)
	}
}

func TestAnUnreachableTokenStoreIsNotTheCallersFault(t *testing.T) {
	t.Parallel()
	b := setup(t)
	b.tokens.err = errors.New("connection refused")
	b.refused(t, 500, "GET", "/v1/tasks", "")
	b.tokens.err = core.Errorf(core.Unavailable, "the database is away")
	b.refused(t, 503, "GET", "/v1/tasks", "")
}

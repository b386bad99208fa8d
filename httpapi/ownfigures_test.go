package httpapi

import (
	"io"
	"maps"
	"net/http"
	"slices"
	"testing"
	"time"

	"github.com/belfry-run/belfry/access"
	"github.com/belfry-run/belfry/alert"
	"github.com/belfry-run/belfry/core"
	"github.com/belfry-run/belfry/job"
	"github.com/belfry-run/belfry/monitor"
	"github.com/belfry-run/belfry/schedule"
	"github.com/belfry-run/belfry/task"
)

// aboutAll are the operations whose answers may change with what others do.
var aboutAll = map[string]string{
	"event-watch": "is a stream",
	"event-poll":  "its cursor is drawn from sequences that all share",
}

// answersTo is what each operation that reads answers to a token, by its name.
func (s *strangers) answersTo(secret string) map[string]string {
	s.Helper()
	all := map[string]string{}
	doc := s.nodes[0].api.OpenAPI()
	for path, item := range doc.Paths {
		op := operationsOf(item)[http.MethodGet]
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

func TestLoadOfAnotherNamespaceChangesNoAnswer(t *testing.T) {
	t.Parallel()
	s := newStrangers(t)
	ctx := t.Context()
	_, secret, err := s.st.CreateToken(ctx, access.Token{Namespace: "team-a", Name: "all", Scopes: access.Scopes})
	if err != nil {
		t.Fatal(err)
	}
	shared, err := s.st.OpenSession(ctx, job.WorkerInfo{Name: "shared", Namespace: core.AnyNamespace, Kinds: []task.Kind{task.KindFunc}, Funcs: []string{"1"}, Queues: map[string]int{"default": 10}})
	if err != nil {
		t.Fatal(err)
	}
	s.something("team-a", 3)
	s.answersTo(secret) // which writes when the token was used
	before := s.answersTo(secret)
	_, start, err := s.st.Events(ctx, "team-a", "", 0)
	if err != nil {
		t.Fatal(err)
	}

	s.something("team-b", 1500)
	if _, err := s.st.OpenSession(ctx, job.WorkerInfo{Name: "theirs", Namespace: "team-b", Kinds: []task.Kind{task.KindFunc}, Funcs: []string{"1"}, Queues: map[string]int{"default": 10}}); err != nil {
		t.Fatal(err)
	}
	high := core.MaxPriority
	if _, err := s.st.Enqueue(ctx, slices.Repeat([]job.NewJob{{Namespace: "team-b", Task: "1", Priority: &high}}, 10)); err != nil {
		t.Fatal(err)
	}
	claim, err := s.st.Claim(ctx, job.ClaimRequest{Session: shared.ID, Want: map[string]int{"default": 10}})
	if err != nil || len(claim.Jobs) != 10 || claim.Jobs[0].Job.Namespace != "team-b" {
		t.Fatalf("the load is not what it should be: %v %v", claim, err)
	}
	if _, err := s.st.Finish(ctx, shared.ID, []job.Finish{{Ref: job.Ref{JobID: claim.Jobs[0].Job.ID, Lease: claim.Lease}, Outcome: job.OutcomeError, Error: "x"}}); err != nil {
		t.Fatal(err)
	}

	after := s.answersTo(secret)
	for _, id := range slices.Sorted(maps.Keys(before)) {
		if before[id] != after[id] {
			t.Errorf("%s changes with the load of another namespace:\n%.3000s\n%.3000s", id, before[id], after[id])
		}
	}
	if len(before) < 50 {
		t.Errorf("%d operations were asked", len(before))
	}
	events, _, err := s.st.Events(ctx, "team-a", start, 0)
	if err != nil || len(events) > 0 {
		t.Errorf("events of others: %v %v", events, err)
	}
}

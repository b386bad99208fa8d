package httpapi

import (
	"maps"
	"slices"
	"testing"

	"github.com/belfry-run/belfry/access"
	"github.com/belfry-run/belfry/core"
	"github.com/belfry-run/belfry/job"
	"github.com/belfry-run/belfry/task"
)

// aboutAll are the operations whose answers may change with what others do.
var aboutAll = map[string]string{
	"event-watch": "is a stream",
	"hook-stream": "is a stream",
	"event-poll":  "its cursor is drawn from sequences that all share",
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

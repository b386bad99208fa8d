package httpapi

import (
	"testing"

	"github.com/belfry-run/belfry"
)

func TestJobsOfAQueueWithABrokerAreClaimedByItsTicketsAlone(t *testing.T) {
	t.Parallel()
	s := newStrangers(t)
	ctx := t.Context()
	if _, err := s.st.SaveQueue(ctx, belfry.Queue{Name: "render"}); err != nil {
		t.Fatal(err)
	}
	s.nodes[0].opts.ByTicket = []string{"render"}
	open := func(byTicket []string, queues ...string) (belfry.Session, error) {
		w := belfry.WorkerInfo{Name: "w", Kinds: []belfry.Kind{belfry.KindProgram}, Queues: map[string]int{}, ByTicket: byTicket,
			Has: belfry.Has{Arch: "amd64", Isolation: belfry.IsolationGVisor}}
		for _, q := range queues {
			w.Queues[q] = 1
		}
		return s.worker.OpenSession(ctx, w)
	}
	must := func(session belfry.Session, err error) belfry.Session {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
		return session
	}
	claim := func(session belfry.Session, queue string, ts ...belfry.Ticket) (belfry.Claim, error) {
		return s.worker.Claim(ctx, belfry.ClaimRequest{Session: session.ID, Want: map[string]int{queue: 1}, Tickets: ts})
	}
	if _, err := s.st.Enqueue(ctx, []belfry.NewJob{{Task: "p", Queue: "render"}, {Task: "p"}}); err != nil {
		t.Fatal(err)
	}
	if _, err := open(nil, "render"); belfry.CodeOf(err) != belfry.Invalid {
		t.Errorf("a worker of that queue alone: %v", err)
	}
	waits := must(open(nil, "render", "default"))
	if _, served := waits.Queues["render"]; served || waits.Queues["default"] != 1 {
		t.Errorf("a worker that waits at the server serves %v", waits.Queues)
	}
	if c, err := claim(waits, "default"); err != nil || len(c.Jobs) != 1 {
		t.Errorf("%+v, %v", c, err)
	}
	rung := must(open([]string{"render"}, "render", "default"))
	if rung.Queues["render"] != 1 || rung.Queues["default"] != 1 {
		t.Errorf("a worker with the broker serves %v", rung.Queues)
	}
	if _, err := claim(rung, "render"); belfry.CodeOf(err) != belfry.Invalid {
		t.Errorf("a claim without a ticket: %v", err)
	}
	tickets, err := s.st.MakeTickets(ctx, "render", 10)
	if err != nil || len(tickets) != 1 {
		t.Fatal(tickets, err)
	}
	if c, err := claim(rung, "render", tickets...); err != nil || len(c.Jobs) != 1 || c.Jobs[0].Job.Queue != "render" {
		t.Errorf("%+v, %v", c, err)
	}
}

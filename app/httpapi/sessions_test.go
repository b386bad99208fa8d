package httpapi

import (
	"context"
	"slices"
	"strings"
	"testing"

	"github.com/belfry-run/belfry/core"
	"github.com/belfry-run/belfry/job"
	"github.com/belfry-run/belfry/task"
)

func TestJobsOfAQueueWithABrokerAreClaimedByItsTicketsAlone(t *testing.T) {
	t.Parallel()
	s := newStrangers(t, func(o *Options) { o.ByTicket = []string{"render"} })
	ctx := t.Context()
	if _, err := s.st.SaveQueue(ctx, job.Queue{Name: "render"}); err != nil {
		t.Fatal(err)
	}
	open := func(byTicket []string, queues ...string) (job.Session, error) {
		w := job.WorkerInfo{Name: "w", Kinds: []task.Kind{task.KindProgram}, Queues: map[string]int{}, ByTicket: byTicket,
			Has: task.Has{Arch: "amd64", Isolation: task.IsolationGVisor}}
		for _, q := range queues {
			w.Queues[q] = 1
		}
		return s.worker.OpenSession(ctx, w)
	}
	must := func(session job.Session, err error) job.Session {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
		return session
	}
	claim := func(session job.Session, queue string, ts ...job.Ticket) (job.Claim, error) {
		return s.worker.Claim(ctx, job.ClaimRequest{Session: session.ID, Want: map[string]int{queue: 1}, Tickets: ts})
	}
	if _, err := s.st.Enqueue(ctx, []job.NewJob{{Task: "p", Queue: "render"}, {Task: "p"}}); err != nil {
		t.Fatal(err)
	}
	if _, err := open(nil, "render"); core.CodeOf(err) != core.Invalid {
		t.Errorf("a worker of that queue alone: %v", err)
	}
	waits := must(open(nil, "render", "default"))
	if _, served := waits.Queues["render"]; served || waits.Queues["default"] != 1 {
		t.Errorf("a worker that waits at the server serves %v", waits.Queues)
	}
	if c, err := claim(waits, "default"); err != nil || len(c.Jobs) != 1 {
		t.Errorf("%+v, %v", c, err)
	}
	withBroker := must(open([]string{"render"}, "render", "default"))
	if withBroker.Queues["render"] != 1 || withBroker.Queues["default"] != 1 {
		t.Errorf("a worker with the broker serves %v", withBroker.Queues)
	}
	if _, err := claim(withBroker, "render"); core.CodeOf(err) != core.Invalid {
		t.Errorf("a claim without a ticket: %v", err)
	}
	tickets, err := s.st.MakeTickets(ctx, "render", 10)
	if err != nil || len(tickets) != 1 {
		t.Fatal(tickets, err)
	}
	if c, err := claim(withBroker, "render", tickets...); err != nil || len(c.Jobs) != 1 || c.Jobs[0].Job.Queue != "render" {
		t.Errorf("%+v, %v", c, err)
	}
}

// The store reads the jobs of attempts that did not end ok, and their inputs are large.
func TestAReportOfManyFailuresIsSettledInParts(t *testing.T) {
	t.Parallel()
	b := setup(t)
	var parts []int
	b.when("Finish", func(_ context.Context, args []any) (any, error) {
		fs := args[1].([]job.Finish)
		done, failed := make([]job.Finished, len(fs)), 0
		for i, f := range fs {
			if done[i].Ref = f.Ref; f.Outcome != job.OutcomeOK {
				failed++
			}
		}
		parts = append(parts, failed)
		return done, nil
	})
	fs := make([]job.Finish, 600)
	for i := range fs {
		fs[i] = job.Finish{Ref: job.Ref{JobID: int64(i + 1), Lease: 5}, Outcome: job.OutcomeOK}
		if i%3 == 0 {
			fs[i].Outcome, fs[i].Error = job.OutcomeError, "x"
		}
	}
	done, err := b.client.Finish(t.Context(), "s", fs)
	if err != nil || len(done) != len(fs) || !slices.Equal(parts, []int{64, 64, 64, 8}) {
		t.Fatalf("%d answers, parts %v, %v", len(done), parts, err)
	}
	for i := range done {
		if done[i].JobID != int64(i+1) {
			t.Fatalf("answer %d is of job %d", i, done[i].JobID)
		}
	}
}

// The answer to a claim repeats the task with each job.
func TestAClaimOverHTTPBringsABoundedNumberOfBytes(t *testing.T) {
	t.Parallel()
	s := newStrangers(t)
	ctx := t.Context()
	if _, err := s.st.CreateTask(ctx, task.Task{Name: "large", Command: &task.Command{Shell: "true #" + strings.Repeat("x", 200<<10)}}); err != nil {
		t.Fatal(err)
	}
	jobs := make([]job.NewJob, 50)
	for i := range jobs {
		jobs[i].Task = "large"
	}
	if _, err := s.st.Enqueue(ctx, jobs); err != nil {
		t.Fatal(err)
	}
	session, err := s.worker.OpenSession(ctx, job.WorkerInfo{Name: "w", Kinds: []task.Kind{task.KindCommand}, Queues: map[string]int{"default": 300}})
	if err != nil {
		t.Fatal(err)
	}
	seen := map[int64]bool{}
	for claims := 0; len(seen) < len(jobs); claims++ {
		c, err := s.worker.Claim(ctx, job.ClaimRequest{Session: session.ID, Want: map[string]int{"default": 300}})
		if err != nil || len(c.Jobs) == 0 || len(c.Jobs)*(200<<10) > 2<<20 {
			t.Fatalf("claim %d brought %d jobs, %v", claims, len(c.Jobs), err)
		}
		for _, j := range c.Jobs {
			if seen[j.Job.ID] || j.Job.Attempt != 1 {
				t.Errorf("job %d was leased before, now for attempt %d", j.Job.ID, j.Job.Attempt)
			}
			seen[j.Job.ID] = true
		}
	}
}

// Inputs are large: an answer with all jobs that a claim may want would fill the memory of the node.
func TestAClaimOverHTTPBringsABoundedNumberOfJobs(t *testing.T) {
	t.Parallel()
	s := newStrangers(t)
	ctx := t.Context()
	jobs := make([]job.NewJob, 300)
	for i := range jobs {
		jobs[i].Task = "p"
	}
	if _, err := s.st.Enqueue(ctx, jobs); err != nil {
		t.Fatal(err)
	}
	session, err := s.worker.OpenSession(ctx, job.WorkerInfo{Name: "w", Kinds: []task.Kind{task.KindProgram}, Queues: map[string]int{"default": 300},
		Has: task.Has{Arch: "amd64", Isolation: task.IsolationGVisor}})
	if err != nil {
		t.Fatal(err)
	}
	var got []int
	seen := map[int64]bool{}
	for range 3 {
		c, err := s.worker.Claim(ctx, job.ClaimRequest{Session: session.ID, Want: map[string]int{"default": core.MaxBatch}})
		if err != nil {
			t.Fatal(err)
		}
		for _, j := range c.Jobs {
			seen[j.Job.ID] = true
		}
		got = append(got, len(c.Jobs))
	}
	if !slices.Equal(got, []int{256, 44, 0}) || len(seen) != len(jobs) {
		t.Errorf("claims brought %v, %d jobs in all", got, len(seen))
	}
}

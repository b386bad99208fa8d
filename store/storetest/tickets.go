package storetest

import (
	"fmt"
	"slices"
	"time"

	"github.com/belfry-run/belfry/job"
	"github.com/belfry-run/belfry/store"
	"github.com/belfry-run/belfry/task"
	"github.com/belfry-run/belfry/view"
)

func (b *bench) tickets(n int) []job.Ticket {
	b.Helper()
	return must(b.st.MakeTickets(b.ctx, "default", n))(b)
}

// show claims with tickets.
func (b *bench) show(s job.Session, ts ...job.Ticket) (jobs, void []int64, c job.Claim) {
	b.Helper()
	c = must(b.st.Claim(b.ctx, job.ClaimRequest{Session: s.ID, Tickets: ts, Want: map[string]int{"default": len(ts)}}))(b)
	for _, j := range c.Jobs {
		jobs = append(jobs, j.Job.ID)
	}
	slices.Sort(c.VoidTickets)
	return jobs, c.VoidTickets, c
}

func init() {
	add("tickets bring just the jobs they are for, each once", caseTicketsBringJustTheJobsTheyAreFor)
	add("a ticket that is not redeemed is sent again, the same and at growing distances", caseATicketThatNobodyShowsIsMadeAgain)
	add("a ticket is kept for later when its queue, its worker or its requirement says so", caseATicketIsKeptForLaterWhenItsQueue)
	add("a ticket of a job that ended or waits for its retry is void", caseATicketOfAJobThatEndedOrWaits)
	addNodes("two nodes that make tickets do not ring twice for one job", caseTwoNodesThatMakeTicketsDoNotRingTwice)
}

func caseTicketsBringJustTheJobsTheyAreFor(b *bench) {
	b.task("t")
	var ids []int64
	for range 4 {
		ids = append(ids, b.enqueue(job.NewJob{Task: "t"}).ID)
	}
	ts := b.tickets(3)
	want(b, "tickets", len(ts), 3)
	want(b, "tickets for the rest", len(b.tickets(10)), 1)
	want(b, "tickets for nothing more", len(b.tickets(10)), 0)
	s := b.session("t")
	wrong := job.Ticket{JobID: ts[2].JobID, Secret: ts[1].Secret}
	jobs, void, _ := b.show(s, ts[1], ts[0], ts[1], wrong, job.Ticket{JobID: 999, Secret: "x"})
	want(b, "jobs", fmt.Sprint(jobs), fmt.Sprint(ids[:2]))
	want(b, "void tickets", fmt.Sprint(void), fmt.Sprint([]int64{ids[2], 999}))
	jobs, void, _ = b.show(s, ts[0], ts[1], ts[2])
	want(b, "jobs of tickets shown again", fmt.Sprint(jobs), fmt.Sprint(ids[2:3]))
	want(b, "void tickets", fmt.Sprint(void), fmt.Sprint(ids[:2]))
	c := b.claim(s, 10)
	want(b, "job for who asks without one", len(c.Jobs), 1)
}

func caseATicketThatNobodyShowsIsMadeAgain(b *bench) {
	b.task("t")
	b.enqueue(job.NewJob{Task: "t"})
	first := b.tickets(1)[0]
	want(b, "times", first.Made, 1)
	for i, wait := range []time.Duration{30 * time.Second, time.Minute, 2 * time.Minute} {
		b.clock.Move(wait - time.Millisecond)
		want(b, "tickets too early", len(b.tickets(1)), 0)
		b.clock.Move(time.Millisecond)
		again := b.tickets(1)
		want(b, "tickets", len(again), 1)
		want(b, "ticket", again[0], job.Ticket{JobID: first.JobID, Secret: first.Secret, Made: int64(i) + 2})
	}
	s := b.session("t")
	jobs, _, c := b.show(s, first)
	want(b, "jobs", len(jobs), 1)
	b.finish(s, c.Jobs[0], job.OutcomeHandedBack)
	_, void, _ := b.show(s, first)
	want(b, "a used ticket is void, though its job is ready again", len(void), 1)
	next := b.tickets(1)
	want(b, "tickets for the next claim", len(next), 1)
	if next[0].Secret == first.Secret {
		b.Error("one ticket served two claims")
	}
	jobs, _, _ = b.show(s, next[0])
	want(b, "jobs", len(jobs), 1)
}

func caseATicketIsKeptForLaterWhenItsQueue(b *bench) {
	b.task("t")
	b.task("gpu", requires(map[string]string{"gpu": "true"}))
	b.enqueue(job.NewJob{Task: "t"})
	b.enqueue(job.NewJob{Task: "gpu"})
	ts := b.tickets(2)
	s := b.session("t", "gpu")
	must(b.st.PauseQueue(b.ctx, "default", "x"))(b)
	jobs, void, _ := b.show(s, ts...)
	want(b, "jobs and void of a paused queue", len(jobs)+len(void), 0)
	want(b, "tickets of a paused queue", len(b.tickets(2)), 0)
	must(b.st.ResumeQueue(b.ctx, "default"))(b)
	must(b.st.SaveQueue(b.ctx, job.Queue{Name: "default", GlobalLimit: 1}))(b)
	jobs, void, c := b.show(s, ts...)
	want(b, "jobs and void where the requirement is not met", fmt.Sprint(len(jobs), len(void)), "1 0")
	gpu := must(b.st.OpenSession(b.ctx, job.WorkerInfo{Name: "gpu", Kinds: []task.Kind{task.KindFunc}, Funcs: []string{"gpu"},
		Queues: map[string]int{"default": 10}, Has: task.Has{Labels: map[string]string{"gpu": "true"}}}))(b)
	jobs, void, _ = b.show(gpu, ts[1])
	want(b, "jobs and void at the limit", len(jobs)+len(void), 0)
	b.finish(s, c.Jobs[0], job.OutcomeOK)
	ok(b, b.st.DrainWorker(b.ctx, s.ID))
	jobs, void, _ = b.show(s, ts[1])
	want(b, "jobs and void of a worker that drains", len(jobs)+len(void), 0)
	jobs, void, _ = b.show(gpu, ts...)
	want(b, "jobs and void", fmt.Sprint(len(jobs), void), fmt.Sprint(1, []int64{ts[0].JobID}))
}

func caseATicketOfAJobThatEndedOrWaits(b *bench) {
	b.task("t")
	for range 3 {
		b.enqueue(job.NewJob{Task: "t"})
	}
	ts := b.tickets(3)
	s := b.session("t")
	must(b.st.CancelJobs(b.ctx, "default", view.Selection{IDs: []int64{ts[0].JobID}}))(b)
	b.finish(s, b.claim(s, 1).Jobs[0], job.OutcomeError)
	b.claim(s, 1)
	jobs, void, _ := b.show(s, ts...)
	want(b, "jobs and void", fmt.Sprint(len(jobs), len(void)), "0 3")
	b.clock.Move(time.Minute)
	must(b.st.Promote(b.ctx))(b)
	want(b, "tickets for the retry", len(b.tickets(3)), 1)
}

func caseTwoNodesThatMakeTicketsDoNotRingTwice(b *bench, nodes []*store.Store) {
	b.task("t")
	const n = 60
	for range n {
		b.enqueue(job.NewJob{Task: "t"})
	}
	must(b.st.SigningKeys(b.ctx))(b)
	results := make(chan []job.Ticket, len(nodes))
	for _, st := range nodes {
		go func() {
			var all []job.Ticket
			for {
				ts, err := st.MakeTickets(b.ctx, "default", 7)
				if err != nil || len(ts) == 0 {
					results <- all
					return
				}
				all = append(all, ts...)
			}
		}()
	}
	seen := map[int64]int{}
	for range nodes {
		for _, t := range <-results {
			seen[t.JobID]++
		}
	}
	for id, times := range seen {
		want(b, fmt.Sprint("rings for ", id), times, 1)
	}
}

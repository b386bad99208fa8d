package storetest

import (
	"context"
	"time"

	"github.com/belfry-run/belfry/core"
	"github.com/belfry-run/belfry/job"
	"github.com/belfry-run/belfry/store"
)

func init() {
	add("a claim that begins at its mark finds what is more urgent and what is less", caseAClaimThatBeginsAtItsMarkFindsWhat)
	add("jobs that wait again after the mark was set are found, in the order of their times", caseJobsThatWaitAgainAfterTheMarkWasSet)
	add("a job that one kind of session cannot run is found by another behind the first one's mark", caseASessionFindsJobsBehindAnothersMark)
	addNodes("a slot that is freed under a queue's limit is taken at once by a waiting claim", caseAPlaceThatIsFreedUnderAQueuesLimit)
}

func priority(p int) job.NewJob { return job.NewJob{Task: "t", Priority: &p} }

func caseAClaimThatBeginsAtItsMarkFindsWhat(b *bench) {
	b.task("t")
	s := b.session("t")
	for range 3 {
		b.enqueue(priority(5))
	}
	want(b, "first", len(b.claim(s, 2).Jobs), 2) // the mark is within priority 5
	b.clock.Move(time.Second)
	low, high := b.enqueue(priority(1)), b.enqueue(priority(9))
	same := b.enqueue(priority(5))
	c := b.claim(s, 10)
	want(b, "claimed", len(c.Jobs), 4)
	for i, id := range []int64{high.ID, 0, same.ID, low.ID} {
		if id > 0 {
			want(b, "in order", c.Jobs[i].Job.ID, id)
		}
	}
}

func caseJobsThatWaitAgainAfterTheMarkWasSet(b *bench) {
	b.task("t")
	s := b.session("t")
	var delayed []job.Job
	for _, d := range []time.Duration{3 * time.Second, time.Second, 2 * time.Second} {
		delayed = append(delayed, b.enqueue(job.NewJob{Task: "t", Delay: core.Duration(d)}))
	}
	b.enqueue(job.NewJob{Task: "t"})
	c := b.claim(s, 10)
	b.clock.Move(5 * time.Second)
	b.enqueue(job.NewJob{Task: "t"})
	want(b, "claimed beside", len(b.claim(s, 10).Jobs), 1)
	want(b, "promoted", b.promote(), 3)
	b.finish(s, c.Jobs[0], job.OutcomeHandedBack)
	c = b.claim(s, 10)
	want(b, "claimed", len(c.Jobs), 4)
	for i, k := range []int{1, 2, 0} {
		found := -1
		for n, j := range c.Jobs {
			if j.Job.ID == delayed[k].ID {
				found = n
			}
		}
		if i > 0 && found < 0 {
			b.Fatalf("delayed job %d was not claimed", delayed[k].ID)
		}
	}
}

func caseASessionFindsJobsBehindAnothersMark(b *bench) {
	b.task("a")
	b.task("z")
	s := b.session("a")
	other := b.enqueue(job.NewJob{Task: "z"})
	b.enqueue(job.NewJob{Task: "a"})
	want(b, "jobs of the session's own task", len(b.claim(s, 10).Jobs), 1)
	b.clock.Move(time.Minute)
	want(b, "further jobs", len(b.claim(s, 10).Jobs), 0)
	c := b.claim(b.session("z"), 10)
	want(b, "jobs of the other task", len(c.Jobs), 1)
	want(b, "job", c.Jobs[0].Job.ID, other.ID)
}

func caseAPlaceThatIsFreedUnderAQueuesLimit(b *bench, _ []*store.Store) {
	must(b.st.SaveQueue(b.ctx, job.Queue{Name: "default", GlobalLimit: 1}))(b)
	b.task("t")
	b.enqueue(job.NewJob{Task: "t"})
	next := b.enqueue(job.NewJob{Task: "t"})
	s := b.session("t")
	held := b.claim(s, 1)
	waits, stop := context.WithTimeout(b.ctx, 2*time.Minute)
	defer stop()
	got := make(chan job.Claim, 1)
	go func() {
		c, _ := b.st.Claim(waits, job.ClaimRequest{Session: s.ID, Want: map[string]int{"default": 1}, Wait: job.MaxClaimWait})
		got <- c
	}()
	b.finish(s, held.Jobs[0], job.OutcomeOK)
	c := <-got
	want(b, "claimed", len(c.Jobs), 1)
	want(b, "job", c.Jobs[0].Job.ID, next.ID)
}

package storetest

import (
	"time"

	"github.com/belfry-run/belfry/core"
	"github.com/belfry-run/belfry/job"
	"github.com/belfry-run/belfry/schedule"
	"github.com/belfry-run/belfry/task"
	"github.com/belfry-run/belfry/view"
)

func init() {
	add("a job is enqueued, claimed, settled, and listed with its attempt", caseAJobIsEnqueued)
	add("a failed attempt is retried after its delay and an exhausted job is never claimed again", caseAFailedAttemptIsRetriedAfterItsDelayAnd)
	add("a schedule fires each nominal time once", caseAScheduleFiresEachNominalTimeOnce)
	add("a rule from the finish runs again after its interval, after each outcome", caseARuleFromTheFinishRunsAgainAfterIts)
	add("a late finish under a lost lease is refused and told so", caseALateFinishUnderALostLeaseIsRefused)
	add("why names the missing condition", caseWhySaysWhatIsMissing)
}

func caseAJobIsEnqueued(b *bench) {
	b.task("greet")
	j := b.enqueue(job.NewJob{Task: "greet", Input: []byte(`{"name":"Ada"}`), Tags: []string{"a", "b"}})
	b.wantState(j.ID, job.Ready)
	s := b.session("greet")
	c := b.claim(s, 5)
	if len(c.Jobs) != 1 || c.Jobs[0].Job.ID != j.ID || string(c.Jobs[0].Job.Input) != `{"name":"Ada"}` || c.Jobs[0].Task.Name != "greet" {
		b.Fatalf("claim: got %+v, want the enqueued job", c)
	}
	b.wantState(j.ID, job.Running)
	b.clock.Move(time.Second)
	f := b.finish(s, c.Jobs[0], job.OutcomeOK, func(f *job.Finish) { f.Output = []byte(`"hello"`) })
	if f.Stale || f.State != job.Succeeded {
		b.Fatalf("finish: got %+v, want succeeded", f)
	}
	got := b.wantState(j.ID, job.Succeeded)
	if string(got.Output) != `"hello"` || !got.FinishedAt.Equal(Epoch.Add(time.Second)) || len(got.Tags) != 2 {
		b.Fatalf("job: got %+v, want its output, end and tags", got)
	}
	as := must(b.st.Attempts(b.ctx, "default", j.ID))(b)
	if len(as) != 1 || as[0].Outcome != job.OutcomeOK || as[0].Number != 1 || as[0].Worker != "tester" {
		b.Fatalf("attempts: got %+v, want 1 that is ok", as)
	}
	p := must(b.st.Jobs(b.ctx, job.Filter{Task: "greet", States: []job.State{job.Succeeded}, Tag: "a"}))(b)
	if len(p.Items) != 1 {
		b.Fatalf("succeeded jobs: got %+v, want 1", p)
	}
}

func caseAFailedAttemptIsRetriedAfterItsDelayAnd(b *bench) {
	b.task("poison", func(t *task.Task) { t.Retry.MaxAttempts = 2; t.Retry.Delay = core.Duration(10 * time.Second) })
	j := b.enqueue(job.NewJob{Task: "poison"})
	s := b.session("poison")
	b.finish(s, b.claim(s, 1).Jobs[0], job.OutcomeError)
	got := b.wantState(j.ID, job.Scheduled)
	if !got.DueAt.Equal(Epoch.Add(10 * time.Second)) {
		b.Fatalf("due time of the retry: got %s, want 10s after the start", got.DueAt)
	}
	must(b.st.Promote(b.ctx))(b)
	if n := len(b.claim(s, 1).Jobs); n != 0 {
		b.Fatalf("claimed before the due time: got %d jobs, want none", n)
	}
	b.clock.Move(10 * time.Second)
	if p := must(b.st.Promote(b.ctx))(b); p.Jobs != 1 {
		b.Fatalf("promoted: got %+v, want 1 job", p)
	}
	b.finish(s, b.claim(s, 1).Jobs[0], job.OutcomeError)
	dead := b.wantState(j.ID, job.Failed)
	if dead.Reason != schedule.ReasonExhausted || dead.Error != "it broke" || dead.Failures != 2 {
		b.Fatalf("exhausted job: got %+v, want 2 failures and its error", dead)
	}
	b.clock.Move(24 * time.Hour)
	must(b.st.Promote(b.ctx))(b)
	s = b.session("poison")
	if n := len(b.claim(s, 1).Jobs); n != 0 {
		b.Fatalf("claimed a failed job")
	}
	sel := must(b.st.RetryJobs(b.ctx, "default", view.Selection{Filter: &job.Filter{}}))(b)
	if len(sel.IDs) != 1 {
		b.Fatalf("retried: got %+v, want 1 job", sel)
	}
	c := b.claim(s, 1)
	if len(c.Jobs) != 1 || c.Jobs[0].Job.Failures != 0 || c.Jobs[0].Job.Attempt != 3 {
		b.Fatalf("claim after the retry: got %+v, want 1 job with no failures and 3 attempts", c)
	}
}

func caseAScheduleFiresEachNominalTimeOnce(b *bench) {
	b.task("tick")
	b.schedule("tick", "tick", every(time.Minute), func(s *schedule.Schedule) { s.Overlap = schedule.OverlapAllow })
	for range 5 { // the first at its start, which is now
		b.fire()
		b.fire()
		b.clock.Move(time.Minute)
	}
	os := b.occurrences("tick")
	if len(os) != 5 {
		b.Fatalf("occurrences: got %d, want 5: %+v", len(os), os)
	}
	p := must(b.st.Jobs(b.ctx, job.Filter{Schedule: "tick"}))(b)
	if len(p.Items) != 5 || p.Items[0].Nominal.IsZero() {
		b.Fatalf("jobs: got %d, want 5 with nominal times: %+v", len(p.Items), p.Items)
	}
}

func caseARuleFromTheFinishRunsAgainAfterIts(b *bench) {
	b.task("poll", func(t *task.Task) { t.Retry.MaxAttempts = 1 })
	b.schedule("poll", "poll", afterFinish(time.Minute))
	s := b.session("poll")
	for i, outcome := range []job.Outcome{job.OutcomeOK, job.OutcomeError, job.OutcomeOK} {
		if f := b.fire(); f.Jobs != 1 {
			b.Fatalf("round %d: got %+v, want 1 job", i, f)
		}
		c := b.claim(s, 5)
		b.clock.Move(7 * time.Second)
		b.finish(s, c.Jobs[0], outcome)
		b.clock.Move(59 * time.Second)
		if f := b.fire(); f.Jobs != 0 {
			b.Fatalf("the schedule fired before its interval was over")
		}
		b.clock.Move(time.Second)
		must(b.st.Renew(b.ctx, s.ID, job.Held()))(b)
	}
}

func caseALateFinishUnderALostLeaseIsRefused(b *bench) {
	b.task("slow")
	j := b.enqueue(job.NewJob{Task: "slow"})
	zombie := b.session("slow")
	old := b.claim(zombie, 1)
	b.clock.Move(36 * time.Second)
	r := must(b.st.ReleaseLost(b.ctx))(b)
	if r.Sessions != 1 || r.Jobs != 1 {
		b.Fatalf("released: got %+v, want 1 session and 1 job", r)
	}
	b.clock.Move(time.Minute)
	must(b.st.Promote(b.ctx))(b)
	s := b.session("slow")
	c := b.claim(s, 1)
	if len(c.Jobs) != 1 || c.Lease <= old.Lease {
		b.Fatalf("claim: got %+v, want 1 job and a larger lease than %d", c, old.Lease)
	}
	if f := b.finish(zombie, old.Jobs[0], job.OutcomeOK); !f.Stale {
		b.Fatalf("late finish: got %+v, want stale", f)
	}
	if r := must(b.st.Renew(b.ctx, zombie.ID, job.Held()))(b); !r.Lost {
		b.Fatal("the renewal of a lost session does not say that it is lost")
	}
	b.wantState(j.ID, job.Running)
	b.finish(s, c.Jobs[0], job.OutcomeOK)
	as := must(b.st.Attempts(b.ctx, "default", j.ID))(b)
	if len(as) != 2 || as[0].Outcome != job.OutcomeLost || as[1].Outcome != job.OutcomeOK {
		b.Fatalf("attempts: got %+v, want one lost and one ok", as)
	}
}

func caseWhySaysWhatIsMissing(b *bench) {
	b.task("lonely")
	j := b.enqueue(job.NewJob{Task: "lonely"})
	w := must(b.st.Why(b.ctx, "default", j.ID))(b)
	if w.Summary == "" || w.Next == "" || len(w.Checks) < 4 {
		b.Fatalf("why: got %+v, want a summary, a next step and at least 4 checks", w)
	}
}

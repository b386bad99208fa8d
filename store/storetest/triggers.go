package storetest

import (
	"encoding/json"
	"fmt"
	"time"

	"github.com/belfry-run/belfry/access"
	"github.com/belfry-run/belfry/core"
	"github.com/belfry-run/belfry/job"
	"github.com/belfry-run/belfry/schedule"
	"github.com/belfry-run/belfry/task"
)

func init() {
	add("a trigger runs beside the plan and moves none of it", caseATriggerRunsBesideThePlanAndMovesNone)
	add("a trigger that is repeated with its idempotency key makes no second job", caseATriggerThatIsRepeatedMakesNoSecond)
}

func caseATriggerRunsBesideThePlanAndMovesNone(b *bench) {
	b.task("tick", func(t *task.Task) { t.Input = json.RawMessage(`"task"`) })
	b.schedule("tick", "tick", every(time.Minute), func(s *schedule.Schedule) { s.Input = json.RawMessage(`"schedule"`); s.MaxRuns = 5 })
	s, j := schedules{b}.underWay()
	before := b.get("tick")
	m := must(b.st.TriggerSchedule(b.ctx, "default", "tick", job.RunNow{Input: json.RawMessage(`"hand"`)}))(b).Job
	if m.Trigger != job.TriggerManual || m.Schedule != "tick" || !m.Nominal.IsZero() || string(m.Input) != `"hand"` {
		b.Fatalf("triggered job: got %+v, want a manual one with its own input", m)
	}
	m = must(b.st.TriggerSchedule(b.ctx, "default", "tick", job.RunNow{}))(b).Job
	want(b, "input of the scheduled job", string(m.Input), `"schedule"`)
	want(b, "schedule", jsonOf(b.get("tick")), jsonOf(before))
	want(b, "claimed beside", len(b.claim(s, 5).Jobs), 2)
	b.finish(s, j, job.OutcomeOK)
	want(b, "occurrences", schedules{b}.said("tick"), "0s job")
	_, err := b.st.TriggerSchedule(b.ctx, "default", "nobody", job.RunNow{})
	wantCode(b, err, core.NotFound, "nobody")
	_, err = b.st.TriggerSchedule(b.ctx, "default", "tick", job.RunNow{Input: json.RawMessage(`{`)})
	wantCode(b, err, core.Invalid, "input")
}

func caseATriggerThatIsRepeatedMakesNoSecond(b *bench) {
	must(b.st.SaveQueue(b.ctx, job.Queue{Name: "narrow", MaxWaiting: 1}))(b)
	b.task("tick", func(t *task.Task) { t.Queue = "narrow" })
	for _, name := range []string{"tick", "tock"} {
		b.schedule(name, "tick", every(time.Hour), func(s *schedule.Schedule) { s.Start = Epoch.Add(time.Hour) })
	}
	trigger := func(name string, r job.RunNow) (job.Enqueued, error) {
		return b.st.TriggerSchedule(b.ctx, "default", name, r)
	}
	first := must(trigger("tick", job.RunNow{Key: "k"}))(b)
	want(b, "made", fmt.Sprintf("%v %s %s", first.Existing, first.Job.Key, first.Job.Schedule), "false k tick")
	_, err := trigger("tick", job.RunNow{Key: "other"})
	wantCode(b, err, core.QueueFull, "narrow")
	// The schedule's own input is edited in between: the request stays the same.
	sc := b.get("tick")
	sc.Input = json.RawMessage(`"edited"`)
	must(b.st.UpdateSchedule(b.ctx, sc))(b)
	again := must(trigger("tick", job.RunNow{Key: "k"}))(b)
	want(b, "repeated trigger", fmt.Sprintf("%v %v %s", again.Existing, again.Job.ID == first.Job.ID, again.Job.Schedule), "true true tick")
	want(b, "jobs", b.count(`select count(*) from belfry.jobs`), 1)
	want(b, "audit", len(must(b.st.Audit(b.ctx, access.AuditFilter{Noun: "schedule", Name: "tick"}))(b).Items), 3) // besides its creation and its edit
	// The key is refused for another schedule, another input, and an enqueue.
	_, err = trigger("tock", job.RunNow{Key: "k"})
	wantCode(b, err, core.Conflict, "idempotency key")
	_, err = trigger("tick", job.RunNow{Key: "k", Input: json.RawMessage(`1`)})
	wantCode(b, err, core.Conflict, "idempotency key")
	_, err = b.st.Enqueue(b.ctx, []job.NewJob{{Task: "tick", Key: "k"}})
	wantCode(b, err, core.Conflict, "idempotency key")
	// A person who triggers twice gets two jobs, whatever throttle the task has.
	b.task("rare", throttled("input.customer", time.Hour))
	b.schedule("rare", "rare", every(time.Hour), func(s *schedule.Schedule) {
		s.Start, s.Input = Epoch.Add(time.Hour), json.RawMessage(`{"customer": "a"}`)
	})
	one, two := must(trigger("rare", job.RunNow{}))(b), must(trigger("rare", job.RunNow{}))(b)
	want(b, "asked for twice", fmt.Sprint(one.Existing, two.Existing, one.Job.ID != two.Job.ID), "false false true")
}

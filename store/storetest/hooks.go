package storetest

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/belfry-run/belfry/core"
	"github.com/belfry-run/belfry/hook"
	"github.com/belfry-run/belfry/job"
	"github.com/belfry-run/belfry/monitor"
	"github.com/belfry-run/belfry/schedule"
	"github.com/belfry-run/belfry/store"
	"github.com/belfry-run/belfry/task"
	"github.com/belfry-run/belfry/view"
)

func init() {
	add("each end of a job is one event of a hook, whichever way it ended", caseEachEndIsOneEvent)
	add("workflows and cycles have events of their own, and their steps and members those of jobs", caseWorkflowsAndCyclesHaveEvents)
	add("monitors and schedules have events, and checks have none", caseMonitorsAndSchedulesHaveEvents)
	add("a schedule that is revived or resumed is said to be before it is completed again", caseEventsOfSchedules)
	add("missed runs are told of once, without those that a backfill made", caseMissedRunsAreThoseOfThePass)
	add("without a hook no event is recorded, and from the save of one on each is", caseEventsBeginWithTheSave)
	add("a hook gets the events of its namespace and filter alone", caseAHookGetsItsOwnEvents)
	add("secrets of hooks are sealed, never shown, and stay with their host", caseSecretsOfHooks)
	add("a clock that is set back delays no delivery", caseAClockSetBackDelaysNoDelivery)
	add("hooks are applied, compared, pruned and exported", caseHooksAreApplied)
	addNodes("each event is recorded and delivered once by many nodes, also those of a hook saved on another", caseHooksOverNodes)
}

// hooked is a bench with hooks.
type hooked struct{ *bench }

func (b hooked) hook(name string, change ...func(*hook.Hook)) hook.Hook {
	b.Helper()
	h := hook.Hook{Name: name, URL: "https://hooks.example.com/x", Secret: "0123456789abcdef"}
	for _, fn := range change {
		fn(&h)
	}
	return must(b.st.SaveHook(b.ctx, h))(b)
}

// events returns the events of a hook, oldest first.
func (b hooked) events(name string) []hook.Recorded {
	b.Helper()
	p := must(b.st.HookEvents(b.ctx, hook.Filter{Hook: name, Paging: core.Paging{Limit: 1000}}))(b)
	slices.Reverse(p.Items)
	return p.Items
}

// types returns the types of a hook's events.
func (b hooked) types(name string) string {
	b.Helper()
	var types []string
	for _, e := range b.events(name) {
		types = append(types, e.Type)
	}
	return strings.Join(types, " ")
}

// deliver takes the events that are due now, settles them, and returns their ids by hook.
func (b hooked) deliver(r view.DeliveryResult) map[string][]int64 {
	b.Helper()
	got := map[string][]int64{}
	for _, t := range must(b.st.TakeEvents(b.ctx, 32))(b).Messages {
		var p hook.Payload
		ok(b, json.Unmarshal(t.Message.Body, &p))
		for i, e := range p.Events {
			want(b, "id of the event", e.ID, t.Alerts[i])
			got[hook.NameOf(t.Channel)] = append(got[hook.NameOf(t.Channel)], e.ID)
		}
		ok(b, b.st.SettleEvents(b.ctx, t, r))
	}
	return got
}

// jobEnd is the end of a job.
type jobEnd struct {
	id    int64
	state job.State
}

// eachEndOnce returns the ends in the events of a hook, which must be those of all finished jobs.
func (b hooked) eachEndOnce(name string) (ends []jobEnd) {
	b.Helper()
	for _, e := range b.events(name) {
		if e.Type != hook.JobRetrying {
			want(b.bench, "type", e.Type, "job."+string(e.Job.State))
			ends = append(ends, jobEnd{e.Job.ID, e.Job.State})
		}
	}
	var done []jobEnd
	for _, j := range must(b.st.Jobs(b.ctx, job.Filter{States: []job.State{job.Succeeded, job.Failed, job.Canceled, job.Skipped}, Paging: core.Paging{Limit: 1000}}))(b.bench).Items {
		done = append(done, jobEnd{j.ID, j.State})
	}
	byID := func(a, c jobEnd) int { return int(a.id - c.id) }
	slices.SortFunc(ends, byID)
	slices.SortFunc(done, byID)
	if !slices.Equal(ends, done) {
		b.Fatalf("events:\ngot %v\nwant the ends %v", ends, done)
	}
	return ends
}

func caseEachEndIsOneEvent(b *bench) {
	h := hooked{b}
	h.hook("all", func(d *hook.Hook) { d.On = []string{"job.*"} })
	b.task("t", func(t *task.Task) { t.Retry.MaxAttempts = 2 })
	b.task("once", func(t *task.Task) { t.Retry.MaxAttempts = 1 })
	must(b.st.CreateTask(b.ctx, task.Task{Name: "lost", Kind: task.KindFunc, Retry: task.Retry{MaxAttempts: 1}}))(b)
	s := b.session("t", "once")
	many := func(name string, n int) (ids []int64) {
		for range n {
			ids = append(ids, b.enqueue(job.NewJob{Task: name}).ID)
		}
		return ids
	}
	settle := func(outcome func(i int) job.Outcome) {
		held := b.claim(s, 60).Jobs
		var fs []job.Finish
		for i, j := range held {
			fs = append(fs, job.Finish{Ref: refOf(j), Outcome: outcome(i)})
		}
		must(b.st.Finish(b.ctx, s.ID, fs))(b)
		must(b.st.Finish(b.ctx, s.ID, fs))(b) // repeated, since the answer was lost
	}
	s = must(b.st.OpenSession(b.ctx, job.WorkerInfo{Name: "tester", Kinds: []task.Kind{task.KindFunc}, Funcs: []string{"t", "once"}, Queues: map[string]int{"default": 100}}))(b)
	many("once", 60) // enough for a pack
	settle(func(int) job.Outcome { return job.OutcomeOK })
	many("once", 3)
	settle(func(i int) job.Outcome {
		return []job.Outcome{job.OutcomeOK, job.OutcomeError, job.OutcomeTimeout}[i]
	})
	many("t", 1)
	settle(func(int) job.Outcome { return job.OutcomeError }) // the jobs are retried
	b.clock.Move(time.Hour)
	b.renew(s)
	s = must(b.st.OpenSession(b.ctx, job.WorkerInfo{Name: "tester", Kinds: []task.Kind{task.KindFunc}, Funcs: []string{"t", "once"}, Queues: map[string]int{"default": 100}}))(b)
	b.promote()
	settle(func(int) job.Outcome { return job.OutcomeOK })
	b.cancel(many("once", 2)...)
	for range 3 {
		many("once", 1)
	}
	must(b.st.CancelJobs(b.ctx, "default", view.Selection{Filter: &job.Filter{Task: "once"}}))(b)
	bound(b, "narrow", 2, job.OnFullDropOldest)
	for range 4 {
		b.enqueue(job.NewJob{Task: "once", Queue: "narrow"})
	}
	many("lost", 1)
	lost := b.session("lost")
	want(b, "claimed", len(b.claim(lost, 1).Jobs), 1)
	b.lose()
	b.task("slow", func(t *task.Task) { t.Retry.MaxAttempts, t.Timeout = 1, core.Duration(time.Minute) })
	many("slow", 1)
	slow := b.session("slow")
	hung := b.claim(slow, 1).Jobs
	for range 20 { // the worker continues past the deadline
		b.clock.Move(10 * time.Second)
		b.renew(slow, hung...)
	}
	b.release()
	b.wantState(hung[0].Job.ID, job.Failed)
	b.task("gone")
	many("gone", 2)
	ok(b, b.st.DeleteTask(b.ctx, "default", "gone"))
	for _, name := range []string{"paused", "deleted"} {
		b.schedule(name, "once", every(time.Minute), overlap(schedule.OverlapAllow))
	}
	b.clock.Move(time.Minute)
	b.fire()
	must(b.st.PauseSchedule(b.ctx, "default", "paused", ""))(b)
	ok(b, b.st.DeleteSchedule(b.ctx, "default", "deleted"))
	for _, name := range []string{"paused", "deleted"} {
		want(b, "skipped of "+name, len(b.jobsOf(name, job.Skipped)), 1)
	}

	ends := h.eachEndOnce("all")
	want(b, "retries", strings.Count(h.types("all"), hook.JobRetrying), 1)
	for _, state := range []job.State{job.Succeeded, job.Failed, job.Canceled, job.Skipped} {
		if !slices.ContainsFunc(ends, func(e jobEnd) bool { return e.state == state }) {
			b.Errorf("no job ended as %s", state)
		}
	}
	// A job that a person retries ends once more.
	before := len(h.events("all"))
	failed := must(b.st.Jobs(b.ctx, job.Filter{States: []job.State{job.Failed}, Task: "once"}))(b).Items[0]
	b.retry(failed.ID)
	b.cancel(failed.ID)
	after := h.events("all")
	want(b, "events", len(after), before+1)
	want(b, "type of the last event", after[before].Type, "job.canceled")
}

func caseWorkflowsAndCyclesHaveEvents(b *bench) {
	h := hooked{b}
	h.hook("all")
	g := newGraph(b, "flow", task.Workflow{Steps: []task.Step{{Name: "first", Task: "a"}, {Name: "then", Task: "b", Needs: []string{"first"}}}})
	g.run("flow", "")
	g.works(nil)
	want(b, "events", h.types("all"), "job.succeeded job.succeeded workflow.succeeded")
	want(b, "trigger", h.events("all")[0].Job.Trigger, job.TriggerStep)
	r := b.ring("ring", task.Member{Task: "c"})
	r.run("ring")
	r.works(func(string) job.Outcome { return job.OutcomeOK })
	want(b, "events", h.types("all"), "job.succeeded job.succeeded workflow.succeeded job.succeeded cycle.succeeded")
}

func caseMonitorsAndSchedulesHaveEvents(b *bench) {
	h := hooked{b}
	h.hook("all")
	w := b.checker()
	b.monitor("site")
	for w.look("site").Status != monitor.StatusDown {
		w.turn("site", failed)
	}
	down := h.events("all")
	want(b, "events", h.types("all"), "monitor.down")
	if e := down[0]; e.Monitor.Name != "site" || e.Monitor.Incident == 0 || e.Namespace != "default" || e.At.IsZero() {
		b.Fatalf("event of an incident: got %+v of %+v, want its monitor, namespace and incident", e, e.Monitor)
	}
	for w.look("site").Status == monitor.StatusDown {
		w.turn("site", passed)
	}
	want(b, "events", h.types("all"), "monitor.down monitor.up")

	b.task("t")
	b.schedule("tick", "t", every(time.Minute), func(sc *schedule.Schedule) { sc.Catchup = schedule.CatchupNone })
	must(b.st.PauseSchedule(b.ctx, "default", "tick", "for the night"))(b)
	must(b.st.PauseSchedule(b.ctx, "default", "tick", "again"))(b)
	must(b.st.ResumeSchedule(b.ctx, "default", "tick", false))(b)
	b.clock.Move(time.Hour)
	b.fire()
	must(b.st.PauseSchedule(b.ctx, "default", "tick", ""))(b)
	b.schedule("few", "t", every(time.Minute), func(sc *schedule.Schedule) { sc.MaxRuns = 1 })
	b.clock.Move(time.Minute)
	b.fire()
	b.settle("t", job.OutcomeOK)
	var types []string
	for _, e := range h.events("all")[2:] {
		if !strings.HasPrefix(e.Type, "monitor.") {
			types = append(types, e.Type)
		}
	}
	want(b, "events", strings.Join(types, " "), "schedule.paused schedule.resumed schedule.missed schedule.paused schedule.completed job.succeeded")
}

func caseEventsOfSchedules(b *bench) {
	h := hooked{b}
	h.hook("all", func(d *hook.Hook) { d.On = []string{"schedule.*"} })
	b.task("t")
	for _, name := range []string{"few", "also"} {
		b.schedule(name, "t", every(time.Minute), func(sc *schedule.Schedule) { sc.MaxRuns = 1 })
	}
	b.clock.Move(time.Minute)
	b.fire()
	want(b, "events", h.types("all"), "schedule.completed schedule.completed") // in one pass
	sc := b.get("few")
	sc.MaxRuns, sc.End = 3, b.clock.Now().Add(time.Minute)
	must(b.st.UpdateSchedule(b.ctx, sc))(b)
	want(b, "events", h.types("all"), "schedule.completed schedule.completed schedule.resumed")
	must(b.st.PauseSchedule(b.ctx, "default", "few", ""))(b)
	b.clock.Move(time.Hour)
	must(b.st.ResumeSchedule(b.ctx, "default", "few", false))(b)
	want(b, "state", b.get("few").State, schedule.Completed)
	want(b, "events", h.types("all"), "schedule.completed schedule.completed schedule.resumed schedule.paused schedule.resumed schedule.completed")
	b.schedule("later", "t", every(time.Minute), func(sc *schedule.Schedule) { sc.State = schedule.Paused })
	want(b, "events", len(h.events("all")), 6)
}

func caseMissedRunsAreThoseOfThePass(b *bench) {
	h := hooked{b}
	h.hook("all", func(d *hook.Hook) { d.On = []string{hook.ScheduleMissed} })
	backfills{b}.minutely(catchup(schedule.CatchupNone), overlap(schedule.OverlapAllow))
	b.clock.Move(6*time.Minute + 30*time.Second)
	backfills{b}.backfill("tick", 3*time.Minute, 3*time.Minute)
	backfills{b}.refill()
	b.fire()
	missed := h.events("all")
	if len(missed) != 1 || missed[0].Schedule.Count != 5 || !missed[0].Schedule.Nominal.Equal(Epoch.Add(time.Minute)) {
		b.Fatalf("missed runs: got %+v, want 1 event for 5 runs, of %s", missed, schedules{b}.said("tick"))
	}
	b.clock.Move(time.Minute)
	for _, j := range b.jobsOf("tick", live...) {
		b.cancel(j.ID)
	}
	backfills{b}.refill()
	backfills{b}.backfill("tick", 7*time.Minute, 7*time.Minute)
	backfills{b}.refill()
	b.fire()
	want(b, "events", len(h.events("all")), 1)
}

func caseEventsBeginWithTheSave(b *bench) {
	h := hooked{b}
	b.task("t")
	for range 2 {
		b.enqueue(job.NewJob{Task: "t"})
		b.settle("t", job.OutcomeOK)
	}
	want(b, "events", b.count(`select count(*) from belfry.hook_events`), 0)
	for range 2 { // as often as it is created again
		h.hook("all")
		b.enqueue(job.NewJob{Task: "t"})
		b.settle("t", job.OutcomeOK)
		want(b, "events", h.types("all"), "job.succeeded")
		h.hook("all", func(d *hook.Hook) { d.On = []string{"job.failed"} })
		b.enqueue(job.NewJob{Task: "t"})
		b.settle("t", job.OutcomeOK)
		want(b, "events", h.types("all"), "job.succeeded")
		ok(b, b.st.DeleteHook(b.ctx, "default", "all"))
		b.enqueue(job.NewJob{Task: "t"})
		b.settle("t", job.OutcomeOK)
	}
	want(b, "events", b.count(`select count(*) from belfry.hook_events`), 2)
	want(b, "hooks", b.count(`select count(*) from belfry.hooks`), 0)
	_, err := b.st.HookEvents(b.ctx, hook.Filter{Hook: "all"})
	wantCode(b, err, core.NotFound, "all")
	_, err = b.st.SaveHook(b.ctx, hook.Hook{Name: "bad", URL: "https://a", Secret: "0123456789abcdef", On: []string{"job.dead"}})
	wantCode(b, err, core.Invalid, "on[0]")
}

func caseAHookGetsItsOwnEvents(b *bench) {
	h := hooked{b}
	h.hook("billing", func(d *hook.Hook) { d.Tasks, d.On = []string{"billing-*"}, []string{"*.succeeded"} })
	h.hook("failures", func(d *hook.Hook) { d.On = []string{"job.failed", "job.retrying"} })
	h.hook("tagged", func(d *hook.Hook) { d.Tags = []string{"red"} })
	h.hook("elsewhere", func(d *hook.Hook) { d.Namespace = "other" })
	b.task("billing-eu", func(t *task.Task) { t.Retry.MaxAttempts = 1; t.Tags = []string{"red"} })
	b.task("shipping")
	for _, run := range []struct {
		task    string
		outcome job.Outcome
	}{{"billing-eu", job.OutcomeOK}, {"billing-eu", job.OutcomeError}, {"shipping", job.OutcomeOK}} {
		b.enqueue(job.NewJob{Task: run.task})
		b.settle(run.task, run.outcome)
	}
	want(b, "events of hook billing", h.types("billing"), "job.succeeded")
	want(b, "events of hook failures", h.types("failures"), "job.failed")
	want(b, "events of hook tagged", h.types("tagged"), "job.succeeded job.failed")
	p := must(b.st.HookEvents(b.ctx, hook.Filter{Namespace: "other", Hook: "elsewhere"}))(b)
	want(b, "events of another namespace", len(p.Items), 0)
	for _, err := range []error{
		errOf(b.st.HookEvents(b.ctx, hook.Filter{Namespace: "other", Hook: "billing"})),
		errOf(b.st.HookStatus(b.ctx, "other", "billing")),
		errOf(b.st.ReplayHook(b.ctx, "other", "billing", hook.Replay{})),
		errOf(b.st.PauseHook(b.ctx, "other", "billing", true)),
		errOf(b.st.Hook(b.ctx, "other", "billing")),
	} {
		wantCode(b, err, core.NotFound, "billing")
	}
	only := must(b.st.HookEvents(b.ctx, hook.Filter{Hook: "tagged", Type: "*.failed"}))(b).Items
	if len(only) != 1 || only[0].Job.Error != "it broke" {
		b.Fatalf("failed events: got %+v, want 1 with its error", only)
	}
}

func errOf[T any](_ T, err error) error { return err }

func caseSecretsOfHooks(b *bench) {
	h := hooked{b}
	h.hook("all", func(d *hook.Hook) { d.Headers = map[string]core.Secret{"X-Team": "header-s3cret"} })
	shown := must(b.st.Hook(b.ctx, "default", "all"))(b)
	for _, secret := range []string{"0123456789abcdef", "header-s3cret", "hooks.example.com/x"} {
		if text, _ := json.Marshal(shown); strings.Contains(string(text), secret) {
			b.Errorf("hook as shown contains a secret: %s", text)
		}
		want(b, "documents with "+secret, b.count(`select count(*) from belfry.documents where doc like '%`+secret+`%'`), 0)
		want(b, "audit entries with "+secret, b.count(`select count(*) from belfry.audit where coalesce(before, '') || coalesce(after, '') || note like '%`+secret+`%'`), 0)
	}
	shown.Description = "for people"
	must(b.st.SaveHook(b.ctx, shown))(b)
	c := must(b.st.HookSecrets(b.ctx, "default", "all"))(b)
	want(b, "secret", c.Webhook.Secret, "0123456789abcdef")
	want(b, "header", c.Webhook.Headers["X-Team"], "header-s3cret")
	shown.URL = "https://elsewhere.example/"
	_, err := b.st.SaveHook(b.ctx, shown)
	wantCode(b, err, core.Invalid, "secret")
	must(b.st.RotateSecrets(b.ctx))(b)
	want(b, "secret under another key", must(b.st.HookSecrets(b.ctx, "default", "all"))(b).Webhook.Secret, "0123456789abcdef")
}

func caseAClockSetBackDelaysNoDelivery(b *bench) {
	h := hooked{b}
	h.hook("all")
	b.task("t")
	b.cancel(b.enqueue(job.NewJob{Task: "t"}).ID)
	h.deliver(view.DeliveryResult{Error: "answered 500"})
	b.clock.Set(-time.Hour)
	ok(b, b.st.ShiftClock(b.ctx, -time.Hour))
	b.clock.Move(5 * time.Second)
	want(b, "events", len(h.deliver(view.DeliveryResult{})["all"]), 1)
	b.cancel(b.enqueue(job.NewJob{Task: "t"}).ID)
	must(b.st.TakeEvents(b.ctx, 32))(b) // the node dies with the delivery
	b.clock.Set(-time.Hour)
	ok(b, b.st.ShiftClock(b.ctx, -time.Hour))
	b.clock.Move(view.AlertTaken)
	want(b, "events", len(h.deliver(view.DeliveryResult{})["all"]), 1)
}

func caseHooksAreApplied(b *bench) {
	h := hooked{b}
	b.task("t")
	m := view.Manifest{Hooks: []hook.Hook{{Name: "all", URL: "https://hooks.example.com/x", Secret: "0123456789abcdef", On: []string{"job.*"}}}}
	plan := func(m view.Manifest, o view.ApplyOptions) string {
		b.Helper()
		var lines []string
		for _, ch := range must(b.st.Apply(b.ctx, m, o))(b).Changes {
			if ch.Noun == "hook" && ch.Action != view.ActionKeep {
				lines = append(lines, fmt.Sprint(ch.Action, " ", ch.Name))
			}
		}
		return strings.Join(lines, ", ")
	}
	want(b, "plan", plan(m, view.ApplyOptions{DryRun: true}), "create all")
	want(b, "hooks", b.count(`select count(*) from belfry.hooks`), 0)
	want(b, "applied", plan(m, view.ApplyOptions{}), "create all")
	want(b, "applied again", plan(m, view.ApplyOptions{CompareSecrets: true}), "")
	exported := must(b.st.Export(b.ctx, "default"))(b)
	want(b, "exported", len(exported.Hooks), 1)
	want(b, "secret", exported.Hooks[0].Secret, core.Redacted)
	want(b, "exported and applied", plan(view.Manifest{Hooks: exported.Hooks}, view.ApplyOptions{}), "")
	m.Hooks[0].On = []string{"job.failed"}
	want(b, "plan", plan(m, view.ApplyOptions{}), "update all")
	b.cancel(b.enqueue(job.NewJob{Task: "t"}).ID)
	want(b, "events", h.types("all"), "")
	want(b, "pruned", plan(view.Manifest{Tasks: exported.Tasks}, view.ApplyOptions{Prune: true}), "delete all")
	want(b, "hooks", b.count(`select count(*) from belfry.hooks`), 0)
	m.Hooks[0].On = []string{"nothing"}
	_, err := b.st.Apply(b.ctx, m, view.ApplyOptions{})
	wantCode(b, err, core.Invalid, "hooks[0].on[0]")
}

func caseHooksOverNodes(b *bench, nodes []*store.Store) {
	const jobs = 40
	b.task("t")
	for _, st := range nodes { // each knows that there is no hook
		j := must(st.Enqueue(b.ctx, []job.NewJob{{Task: "t"}}))(b)[0].Job
		must(st.CancelJobs(b.ctx, "default", view.Selection{IDs: []int64{j.ID}}))(b)
	}
	hooked{b}.hook("all")
	b.crowd(nodes, jobs, func(ctx context.Context, st *store.Store, _ int) error {
		out, err := st.Enqueue(ctx, []job.NewJob{{Task: "t"}})
		if err == nil {
			_, err = st.CancelJobs(ctx, "default", view.Selection{IDs: []int64{out[0].Job.ID}})
		}
		return err
	})
	want(b, "events", b.count(`select count(*) from belfry.hook_events`), int64(jobs*len(nodes)))
	got := map[int64]int{}
	var mu sync.Mutex
	for range 3 {
		b.crowd(nodes, 3, func(ctx context.Context, st *store.Store, i int) error {
			taken, err := st.TakeEvents(ctx, 32)
			if err != nil {
				return err
			}
			for _, t := range taken.Messages {
				mu.Lock()
				for _, id := range t.Alerts {
					got[id]++
				}
				mu.Unlock()
				if err := nodes[(i+1)%len(nodes)].SettleEvents(ctx, t, view.DeliveryResult{}); err != nil {
					return err
				}
			}
			return nil
		})
	}
	want(b, "delivered", len(got), jobs*len(nodes))
	for id, n := range got {
		want(b, fmt.Sprint("deliveries of ", id), n, 1)
	}
	must(nodes[len(nodes)-1].PauseHook(b.ctx, "default", "all", true))(b)
	ok(b, nodes[0].DeleteHook(b.ctx, "default", "all"))
	for _, st := range nodes {
		j := must(st.Enqueue(b.ctx, []job.NewJob{{Task: "t"}}))(b)[0].Job
		must(st.CancelJobs(b.ctx, "default", view.Selection{IDs: []int64{j.ID}}))(b)
	}
	want(b, "events", b.count(`select count(*) from belfry.hook_events`), int64(jobs*len(nodes)))
}

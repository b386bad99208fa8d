package storetest

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/belfry-run/belfry/alert"
	"github.com/belfry-run/belfry/core"
	"github.com/belfry-run/belfry/hook"
	"github.com/belfry-run/belfry/job"
	"github.com/belfry-run/belfry/view"
)

func init() {
	add("events are delivered in the order of their ids, in batches, and again until they are taken", caseEventsAreDeliveredInOrder)
	add("receivers that fail hold up no other hook, however often events are taken", caseAFailingHookHoldsUpNoOther)
	add("hooks that always have events take turns", caseHooksTakeTurns)
	add("a delivery to what a hook was before says nothing of what it is", caseAFailureOfBeforeDisablesNoHook)
	add("texts of a hook are for people: with others it waits for its next try, and stays disabled", caseTextsOfAHookEnableNothing)
	add("a namespace has a bound of hooks, and all of them get the ends of many jobs", caseANamespaceHasABoundOfHooks)
	add("a hook is disabled after a day of failures or by 410 Gone, with an alert, and its events wait", caseAHookIsDisabled)
	add("a paused hook keeps its events until it is resumed", caseAPausedHookKeepsItsEvents)
	add("events that were taken can be delivered again, under their ids", caseEventsAreReplayed)
	add("the state of all hooks is listed by name, with what waits", caseHooksAreListedWithTheirState)
	add("events are kept for three days and up to a number, and what was never delivered is counted", caseEventsAreKeptForAWhile)
}

func caseEventsAreDeliveredInOrder(b *bench) {
	h := hooked{b}
	h.hook("all")
	b.task("t")
	var ids []int64
	for range 250 {
		ids = append(ids, b.enqueue(job.NewJob{Task: "t"}).ID)
	}
	b.cancel(ids...)
	var got []int64
	for _, batch := range []int{hook.MaxBatch, hook.MaxBatch, 50} {
		first := must(b.st.TakeEvents(b.ctx, 32))(b).Messages
		want(b, "messages", len(first), 1)
		want(b, "events", len(first[0].Alerts), batch)
		want(b, "taken by another meanwhile", len(must(b.st.TakeEvents(b.ctx, 32))(b).Messages), 0)
		ok(b, b.st.SettleEvents(b.ctx, first[0], view.DeliveryResult{Error: "answered 500", Took: core.Duration(time.Second)}))
		want(b, "deliveries before the next try", len(must(b.st.TakeEvents(b.ctx, 32))(b).Messages), 0)
		status := must(b.st.HookStatus(b.ctx, "default", "all"))(b)
		if status.State != hook.Failing || status.Reason != "answered 500" || status.Tries != 1 || status.Pending != 250-len(got) || status.NextTryAt.Sub(b.clock.Now()) != 5*time.Second {
			b.Fatalf("status of a failing hook: got %+v, want 1 try and the next in 5 seconds", status)
		}
		b.clock.Move(5 * time.Second)
		again := must(b.st.TakeEvents(b.ctx, 32))(b).Messages
		want(b, "messages", len(again), 1)
		want(b, "key", again[0].Message.Key, first[0].Message.Key)
		want(b, "body", string(again[0].Message.Body), string(first[0].Message.Body))
		want(b, "tries", again[0].Tries, 1)
		ok(b, b.st.SettleEvents(b.ctx, again[0], view.DeliveryResult{}))
		got = append(got, again[0].Alerts...)
	}
	want(b, "events", len(got), 250)
	if !slices.IsSorted(got) || len(slices.Compact(slices.Clone(got))) != 250 {
		b.Fatalf("delivered events: got %v, want 250 in order", got)
	}
	status := must(b.st.HookStatus(b.ctx, "default", "all"))(b)
	if status.State != hook.Active || status.Pending != 0 || status.Reason != "" || len(status.Deliveries) != 6 || status.Deliveries[5].Error != "answered 500" || status.Deliveries[5].Events != 100 {
		b.Fatalf("status of the mended hook: got %+v, want 6 tries, the first one failed", status)
	}
	want(b, "sent", b.tally.of("delivered sent"), 250)
	want(b, "failed", b.tally.of("delivered failed"), 250)
	// Another node takes over from a dead one.
	b.cancel(b.enqueue(job.NewJob{Task: "t"}).ID)
	first := must(b.st.TakeEvents(b.ctx, 32))(b)
	b.clock.Move(view.AlertTaken)
	second := must(b.st.TakeEvents(b.ctx, 32))(b)
	want(b, "key", second.Messages[0].Message.Key, first.Messages[0].Message.Key)
	// The stop of a node frees its own delivery alone, and counts no try.
	ok(b, b.st.SettleEvents(b.ctx, first.Messages[0], view.DeliveryResult{Error: "context canceled", Cut: true}))
	want(b, "messages that another node has", len(must(b.st.TakeEvents(b.ctx, 32))(b).Messages), 0)
	ok(b, b.st.SettleEvents(b.ctx, second.Messages[0], view.DeliveryResult{Error: "context canceled", Cut: true}))
	second = must(b.st.TakeEvents(b.ctx, 32))(b)
	want(b, "messages after a stop", len(second.Messages), 1)
	want(b, "tries after a stop", must(b.st.HookStatus(b.ctx, "default", "all"))(b).Tries, 0)
	// A late failure report of the first delivery does not count for the second. A late success does.
	ok(b, b.st.SettleEvents(b.ctx, first.Messages[0], view.DeliveryResult{Error: "late"}))
	want(b, "tries", must(b.st.HookStatus(b.ctx, "default", "all"))(b).Tries, 0)
	ok(b, b.st.SettleEvents(b.ctx, first.Messages[0], view.DeliveryResult{}))
	want(b, "pending", must(b.st.HookStatus(b.ctx, "default", "all"))(b).Pending, 0)
	ok(b, b.st.SettleEvents(b.ctx, second.Messages[0], view.DeliveryResult{}))
}

func caseAFailingHookHoldsUpNoOther(b *bench) {
	h := hooked{b}
	const dead = alert.MaxChannelsFailing + 8
	for i := range dead {
		h.hook(fmt.Sprintf("dead%02d", i))
	}
	b.task("t")
	b.cancel(b.enqueue(job.NewJob{Task: "t"}).ID)
	for failed := 0; failed < dead; {
		n := len(h.deliver(view.DeliveryResult{Error: "no route to host"}))
		if failed += n; n == 0 {
			b.Fatalf("the deliveries stop after %d failed events", failed)
		}
	}
	h.hook("good")
	b.cancel(b.enqueue(job.NewJob{Task: "t"}).ID)
	b.clock.Move(5 * time.Second)
	// Their receivers hang. However often due events are taken, these hooks get only their share.
	taken := map[string]int{}
	for range 10 {
		for i, m := range must(b.st.TakeEvents(b.ctx, 256))(b).Messages {
			if len(taken) == 0 && i == 0 {
				want(b, "hook of the first delivery", hook.NameOf(m.Channel), "good")
			}
			taken[hook.NameOf(m.Channel)]++
		}
	}
	want(b, "hooks", len(taken), 1+alert.MaxChannelsFailing)
}

func caseHooksTakeTurns(b *bench) {
	h := hooked{b}
	b.task("t")
	for _, name := range []string{"a", "b", "c"} {
		h.hook(name)
	}
	for range 3 {
		b.cancel(b.enqueue(job.NewJob{Task: "t"}).ID)
	}
	// With one place, and receivers that always have more events, no namespace waits for ever.
	got := map[string]int{}
	for range 6 {
		b.cancel(b.enqueue(job.NewJob{Task: "t"}).ID)
		b.clock.Move(time.Second)
		for _, m := range must(b.st.TakeEvents(b.ctx, 2))(b).Messages {
			got[hook.NameOf(m.Channel)]++
			ok(b, b.st.SettleEvents(b.ctx, m, view.DeliveryResult{}))
		}
	}
	want(b, "hooks", len(got), 3)
	want(b, "turns", got["a"], got["c"])
}

// A delivery is in progress when its hook is saved with another address. A failure of the old address does not count for the
// new one.
func caseAFailureOfBeforeDisablesNoHook(b *bench) {
	h := hooked{b}
	d := h.hook("all")
	b.task("t")
	b.cancel(b.enqueue(job.NewJob{Task: "t"}).ID)
	old := must(b.st.TakeEvents(b.ctx, 32))(b).Messages[0]
	d.Description, d.Secret = "mended", core.Secret(strings.Repeat("s", 40))
	must(b.st.SaveHook(b.ctx, d))(b)
	ok(b, b.st.SettleEvents(b.ctx, old, view.DeliveryResult{Error: "answered 410", Gone: true}))
	got := must(b.st.HookStatus(b.ctx, "default", "all"))(b)
	want(b, "state", got.State, hook.Active)
	want(b, "delivered again at once", len(h.deliver(view.DeliveryResult{})), 1)
}

// A save of a title or description fixes no receiver, so failures go on being counted.
func caseTextsOfAHookEnableNothing(b *bench) {
	h := hooked{b}
	h.hook("all")
	b.task("t")
	b.cancel(b.enqueue(job.NewJob{Task: "t"}).ID)
	h.deliver(view.DeliveryResult{Error: "answered 500"})
	before := must(b.st.HookStatus(b.ctx, "default", "all"))(b)
	want(b, "tries", before.Tries, 1)
	texts := 0
	rename := func() {
		b.Helper()
		texts++
		h.hook("all", func(d *hook.Hook) { d.Title, d.Description = fmt.Sprint("Фактури ", texts), "for people" })
	}
	rename()
	after := must(b.st.HookStatus(b.ctx, "default", "all"))(b)
	want(b, "state", after.State, hook.Failing)
	want(b, "tries of the hook with a title", after.Tries, 1)
	want(b, "next try", after.NextTryAt, before.NextTryAt)
	want(b, "deliveries before the next try", len(must(b.st.TakeEvents(b.ctx, 32))(b).Messages), 0)
	b.clock.Move(5 * time.Second)
	again := must(b.st.TakeEvents(b.ctx, 32))(b).Messages[0]
	rename() // during a delivery, whose failure counts
	ok(b, b.st.SettleEvents(b.ctx, again, view.DeliveryResult{Error: "answered 500"}))
	want(b, "tries", must(b.st.HookStatus(b.ctx, "default", "all"))(b).Tries, 2)
	b.clock.Move(time.Hour)
	h.deliver(view.DeliveryResult{Error: "answered 410 Gone", Gone: true})
	rename()
	want(b, "state", must(b.st.HookStatus(b.ctx, "default", "all"))(b).State, hook.Disabled)
	h.hook("all", func(d *hook.Hook) { d.On = []string{"job.*"} })
	want(b, "state of the hook with other events", must(b.st.HookStatus(b.ctx, "default", "all"))(b).State, hook.Active)
	want(b, "hooks", len(h.deliver(view.DeliveryResult{})), 1)
}

func caseANamespaceHasABoundOfHooks(b *bench) {
	h := hooked{b}
	for i := range hook.MaxHooks {
		h.hook(fmt.Sprint("hook", i))
	}
	h.hook("hook7") // an existing hook is saved
	if _, err := b.st.SaveHook(b.ctx, hook.Hook{Name: "more", URL: "https://more.example/", Secret: core.Secret(strings.Repeat("s", 32)), On: []string{"job.*"}}); core.CodeOf(err) != core.Conflict {
		b.Errorf("one hook too many: got error %v, want code conflict", err)
	}
	// All of these hooks get the end of each of many jobs.
	b.task("t")
	const n = 300
	jobs := must(b.st.Enqueue(b.ctx, slices.Repeat([]job.NewJob{{Task: "t", Input: json.RawMessage(`"` + strings.Repeat("x", 1000) + `"`)}}, n)))(b)
	s := b.session("t")
	var ends []job.Finish
	for _, j := range b.claim(s, n).Jobs {
		ends = append(ends, job.Finish{Ref: job.Ref{JobID: j.Job.ID, Lease: j.Job.Lease}, Outcome: job.OutcomeError, Error: strings.Repeat("e", 500), NoRetry: true})
	}
	want(b, "claimed", len(ends), len(jobs))
	must(b.st.Finish(b.ctx, s.ID, ends))(b)
	want(b, "events", b.count(`select count(*) from belfry.hook_events where type = 'job.failed'`), n*hook.MaxHooks)
}

func caseAHookIsDisabled(b *bench) {
	alerts{b}.channel("ops", func(r *alert.Rule) { r.Group = -1 })
	h := hooked{b}
	h.hook("all")
	b.task("t")
	b.cancel(b.enqueue(job.NewJob{Task: "t"}).ID)
	began := b.clock.Now()
	tries := 0
	for must(b.st.HookStatus(b.ctx, "default", "all"))(b).State != hook.Disabled {
		want(b, "hooks", len(h.deliver(view.DeliveryResult{Error: "answered 500"})), 1)
		if tries++; tries > 200 {
			b.Fatal("the hook is not disabled after 200 tries")
		}
		b.clock.Move(max(0, must(b.st.TakeEvents(b.ctx, 32))(b).NextAt.Sub(b.clock.Now())))
	}
	if d := b.clock.Now().Sub(began); d < 20*time.Hour || d > 30*time.Hour {
		b.Errorf("disabled after %s, want 20 to 30 hours", d)
	}
	status := must(b.st.HookStatus(b.ctx, "default", "all"))(b)
	if status.Reason != "answered 500" || status.DisabledAt.IsZero() || status.Pending != 1 || !status.FailingAt.Equal(began) {
		b.Fatalf("status of the disabled hook: got %+v, want its first failure and 1 pending event", status)
	}
	if titles := (alerts{b}).deliver(view.DeliveryResult{}); len(titles) != 1 || !strings.Contains(titles[0], "Hook all is disabled") {
		b.Fatalf("messages of the disabled hook: got %q, want 1", titles)
	}
	b.cancel(b.enqueue(job.NewJob{Task: "t"}).ID)
	b.clock.Move(time.Hour)
	want(b, "hooks", len(h.deliver(view.DeliveryResult{})), 0)
	must(b.st.PauseHook(b.ctx, "default", "all", false))(b)
	want(b, "events", len(h.deliver(view.DeliveryResult{})["all"]), 2)
	// The receiver wants no more events.
	h.hook("all", func(d *hook.Hook) { d.Title = "Фактури" })
	b.cancel(b.enqueue(job.NewJob{Task: "t"}).ID)
	h.deliver(view.DeliveryResult{Error: "answered 410 Gone", Gone: true})
	want(b, "state", must(b.st.HookStatus(b.ctx, "default", "all"))(b).State, hook.Disabled)
	want(b, "alerts", strings.Join((alerts{b}).deliver(view.DeliveryResult{}), ", "), "Hook Фактури (all) is disabled after 1 failed delivery")
	h.hook("all", func(d *hook.Hook) { d.URL = "https://hooks.example.com/y" })
	want(b, "events after it was mended", len(h.deliver(view.DeliveryResult{})["all"]), 1)
}

func caseAPausedHookKeepsItsEvents(b *bench) {
	h := hooked{b}
	saved := h.hook("all")
	b.task("t")
	paused := must(b.st.PauseHook(b.ctx, "default", "all", true))(b)
	want(b, "generation", paused.Generation, saved.Generation+1)
	want(b, "secret", paused.Secret, core.Redacted)
	b.cancel(b.enqueue(job.NewJob{Task: "t"}).ID)
	want(b, "hooks", len(h.deliver(view.DeliveryResult{})), 0)
	want(b, "state", must(b.st.HookStatus(b.ctx, "default", "all"))(b).State, hook.Paused)
	must(b.st.PauseHook(b.ctx, "default", "all", true))(b)
	resumed := must(b.st.PauseHook(b.ctx, "default", "all", false))(b)
	want(b, "paused", resumed.Paused, false)
	want(b, "events", len(h.deliver(view.DeliveryResult{})["all"]), 1)
	c := must(b.st.HookSecrets(b.ctx, "default", "all"))(b)
	want(b, "secret", c.Webhook.Secret, "0123456789abcdef")
}

func caseEventsAreReplayed(b *bench) {
	h := hooked{b}
	h.hook("all")
	b.task("t")
	var sent []int64
	var at []time.Time
	for range 3 {
		b.clock.Move(time.Minute)
		at = append(at, b.clock.Now())
		b.cancel(b.enqueue(job.NewJob{Task: "t"}).ID)
		sent = append(sent, h.deliver(view.DeliveryResult{})["all"]...)
	}
	replay := func(r hook.Replay) []int64 {
		b.Helper()
		n := must(b.st.ReplayHook(b.ctx, "default", "all", r))(b).Events
		got := h.deliver(view.DeliveryResult{})["all"]
		want(b, "replayed", len(got), n)
		return got
	}
	for name, row := range map[string]struct {
		r    hook.Replay
		want []int64
	}{
		"all":           {hook.Replay{}, sent},
		"since":         {hook.Replay{Since: at[1]}, sent[1:]},
		"until":         {hook.Replay{Until: at[1]}, sent[:1]},
		"one":           {hook.Replay{ID: sent[1]}, sent[1:2]},
		"a type":        {hook.Replay{Type: "job.*"}, sent},
		"another type":  {hook.Replay{Type: "monitor.*"}, nil},
		"of the future": {hook.Replay{Since: at[2].Add(time.Hour)}, nil},
	} {
		if got := replay(row.r); !slices.Equal(got, row.want) {
			b.Errorf("%s: got %v, want %v", name, got, row.want)
		}
	}
	// A replay of more events than one step looks at delivers each one again, and is audited once.
	b.clock.Move(time.Minute)
	var many []int64
	for range 21 {
		var batch []job.NewJob
		for range 100 {
			batch = append(batch, job.NewJob{Task: "t"})
		}
		for _, e := range must(b.st.Enqueue(b.ctx, batch))(b) {
			many = append(many, e.Job.ID)
		}
	}
	for part := range slices.Chunk(many, 1000) {
		b.cancel(part...)
	}
	all := func() (n int) {
		for {
			got := h.deliver(view.DeliveryResult{})["all"]
			if n += len(got); len(got) == 0 {
				return n
			}
		}
	}
	want(b, "delivered", all(), len(many))
	audits := b.count(`select count(*) from belfry.audit where action = 'replay'`)
	want(b, "replayed", must(b.st.ReplayHook(b.ctx, "default", "all", hook.Replay{Since: b.clock.Now(), Type: "job.canceled"}))(b).Events, len(many))
	want(b, "replayed twice", must(b.st.ReplayHook(b.ctx, "default", "all", hook.Replay{Since: b.clock.Now()}))(b).Events, 0)
	want(b, "delivered", all(), len(many))
	want(b, "audit entries", b.count(`select count(*) from belfry.audit where action = 'replay'`), audits+1)
	want(b, "their notes", b.count(`select count(*) from belfry.audit where action = 'replay' and note like 'type job.canceled, since %'`), 1)
	_, err := b.st.ReplayHook(b.ctx, "default", "all", hook.Replay{Type: "nothing"})
	wantCode(b, err, core.Invalid, "type")
	_, err = b.st.ReplayHook(b.ctx, "default", "none", hook.Replay{})
	wantCode(b, err, core.NotFound, "none")
}

func caseEventsAreKeptForAWhile(b *bench) {
	h := hooked{b}
	h.hook("all")
	h.hook("paused", func(d *hook.Hook) { d.Paused = true })
	b.task("t")
	b.cancel(b.enqueue(job.NewJob{Task: "t"}).ID)
	h.deliver(view.DeliveryResult{})
	b.clock.Move(hook.Keep - time.Minute)
	must(b.st.Prune(b.ctx))(b)
	want(b, "events", b.count(`select count(*) from belfry.hook_events`), 2)
	b.cancel(b.enqueue(job.NewJob{Task: "t"}).ID)
	b.clock.Move(2 * time.Minute)
	must(b.st.Prune(b.ctx))(b)
	want(b, "events", b.count(`select count(*) from belfry.hook_events`), 2)
	want(b, "tries", b.count(`select count(*) from belfry.hook_tries`), 0)
	want(b, "dropped of all", must(b.st.HookStatus(b.ctx, "default", "all"))(b).Dropped, 0)
	want(b, "dropped of paused", must(b.st.HookStatus(b.ctx, "default", "paused"))(b).Dropped, 1)
	b.st.Opt.Keep.Events = 10
	for range 15 {
		b.cancel(b.enqueue(job.NewJob{Task: "t"}).ID)
	}
	must(b.st.Prune(b.ctx))(b)
	want(b, "events", len(h.events("paused")), 10)
	want(b, "dropped of paused", must(b.st.HookStatus(b.ctx, "default", "paused"))(b).Dropped, 7)
	ids := h.events("paused")
	if last := b.count(`select max(id) from belfry.hook_events`); ids[9].ID < last-1 {
		b.Errorf("newest kept event: got %d, want at least %d - 1", ids[9].ID, last)
	}
}

func caseHooksAreListedWithTheirState(b *bench) {
	h := hooked{b}
	for _, name := range []string{"b", "a", "c"} {
		h.hook(name, func(d *hook.Hook) { d.Paused = name == "c" })
	}
	must(b.st.SaveHook(b.ctx, hook.Hook{Namespace: "other", Name: "a", URL: "https://hooks.example.com/x", Secret: "0123456789abcdef"}))(b)
	b.task("t")
	happened := b.clock.Now()
	b.cancel(b.enqueue(job.NewJob{Task: "t"}).ID)
	b.clock.Move(time.Minute)
	failed := b.clock.Now()
	h.deliver(view.DeliveryResult{Error: "answered 500"})
	b.clock.Move(time.Minute)
	h.deliver(view.DeliveryResult{Error: "answered 501"})
	p := must(b.st.HookStatuses(b.ctx, view.DocumentFilter{Namespace: "default", Paging: core.Paging{Limit: 2}}))(b)
	want(b, "hooks", len(p.Items), 2)
	for i, name := range []string{"a", "b"} {
		st := p.Items[i]
		if st.Hook != name || st.State != hook.Failing || st.Pending != 1 || !st.OldestAt.Equal(happened) || st.Tries != 2 || !st.FailingAt.Equal(failed) || st.Reason != "answered 501" {
			b.Errorf("failing hook: got %+v, want 2 tries and 1 pending event", st)
		}
		want(b, "status read by name", must(b.st.HookStatus(b.ctx, "default", name))(b).Standing, st)
	}
	p = must(b.st.HookStatuses(b.ctx, view.DocumentFilter{Namespace: "default", Paging: core.Paging{Limit: 2, Cursor: p.Next}}))(b)
	if len(p.Items) != 1 || p.Next != "" || p.Items[0].Hook != "c" || p.Items[0].State != hook.Paused || p.Items[0].Pending != 1 || !p.Items[0].FailingAt.IsZero() {
		b.Errorf("second page: got %+v, want the paused hook c", p)
	}
	// The pages equal those of the list of hooks.
	one := must(b.st.ListHooks(b.ctx, view.DocumentFilter{Namespace: "*", Paging: core.Paging{Limit: 2}}))(b)
	p = must(b.st.HookStatuses(b.ctx, view.DocumentFilter{Namespace: "*", Paging: core.Paging{Limit: 2}}))(b)
	want(b, "cursor", p.Next, one.Next)
	want(b, "hooks of all namespaces", len(must(b.st.HookStatuses(b.ctx, view.DocumentFilter{Namespace: "*"}))(b).Items), 4)
	b.clock.Move(time.Hour)
	h.deliver(view.DeliveryResult{})
	st := must(b.st.HookStatus(b.ctx, "default", "a"))(b)
	if st.State != hook.Active || st.Pending != 0 || !st.FailingAt.IsZero() || !st.SentAt.Equal(b.clock.Now()) {
		b.Errorf("delivered hook: got %+v, want active without pending events", st)
	}
}

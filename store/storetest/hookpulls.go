package storetest

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"sync"
	"time"
	"unicode/utf8"

	"github.com/belfry-run/belfry/core"
	"github.com/belfry-run/belfry/hook"
	"github.com/belfry-run/belfry/job"
	"github.com/belfry-run/belfry/store"
	"github.com/belfry-run/belfry/store/base"
	"github.com/belfry-run/belfry/view"
)

func init() {
	add("events of a pulled hook come in one order, resumed and acknowledged by cursor", caseEventsArePulled)
	add("a pulled hook has no URL and a posted one no cursor, and neither becomes the other", caseAHookIsPulledOrPosted)
	add("a reader of a pulled hook that was away too long is told how many events it missed", caseMissedEventsOfAPulledHookAreCounted)
	add("events of a pulled hook that are removed before anything asked for them are missed too", caseEventsWithoutAPlaceAreMissed)
	add("of all readers that wait for events of a pulled hook, one writes when they come", caseOneReaderPlacesEvents)
	add("an answer with events of a pulled hook has a bound in bytes, and the next goes on", caseAnAnswerOfEventsIsBounded)
	add("events of a pulled hook are listed by state in pages, each once", caseEventsOfAPulledHookAreListed)
	addNodes("readers of a pulled hook on many nodes see one order, and all that is recorded meanwhile", casePulledOverNodes)
}

// pulled creates a pulled hook.
func (b hooked) pulled(name string) hook.Hook {
	b.Helper()
	return must(b.st.SaveHook(b.ctx, hook.Hook{Name: name, Pull: true}))(b)
}

func (b hooked) pull(name, after string) hook.Pulled {
	b.Helper()
	return must(b.st.PullEvents(b.ctx, "default", name, after, 0))(b)
}

func pulledIDs(p hook.Pulled) (ids []int64) {
	for _, e := range p.Events {
		ids = append(ids, e.ID)
	}
	return ids
}

func caseEventsArePulled(b *bench) {
	h := hooked{b}
	h.pulled("all")
	h.hook("posted")
	b.task("t")
	var jobs []int64
	for range 250 {
		jobs = append(jobs, b.enqueue(job.NewJob{Task: "t"}).ID)
	}
	b.cancel(jobs...)
	want(b, "deliveries of the other", len(h.deliver(view.DeliveryResult{})["posted"]), hook.MaxBatch)
	status := func() hook.Status { b.Helper(); return must(b.st.HookStatus(b.ctx, "default", "all"))(b) }
	want(b, "pending before", status().Pending, 250)
	var got, ended []int64
	var cursors []string
	after := ""
	for range 3 {
		p := h.pull("all", after)
		again := h.pull("all", after)
		want(b, "repeated pull", fmt.Sprint(pulledIDs(again), again.Next), fmt.Sprint(pulledIDs(p), p.Next))
		for _, e := range p.Events {
			got, ended, cursors = append(got, e.ID), append(ended, e.Job.ID), append(cursors, e.Cursor)
		}
		after = p.Next
	}
	slices.Sort(ended)
	want(b, "jobs", fmt.Sprint(ended), fmt.Sprint(jobs))
	p := h.pull("all", after)
	if len(p.Events) != 0 || p.Next != after || p.Missed != 0 {
		b.Errorf("pull after the last event: got %+v, want none", p)
	}
	// Pulls start from any cursor, and after the acknowledged events.
	want(b, "after the tenth", fmt.Sprint(pulledIDs(h.pull("all", cursors[9]))), fmt.Sprint(got[10:110]))
	want(b, "pending", status().Pending, 250)
	st := must(b.st.AckEvents(b.ctx, "default", "all", cursors[199]))(b)
	if st.Pending != 50 || !st.SentAt.Equal(b.clock.Now()) {
		b.Errorf("status after an acknowledgement: got %+v, want 50 pending events", st)
	}
	must(b.st.AckEvents(b.ctx, "default", "all", cursors[9]))(b) // from a reader that is behind
	want(b, "counted as sent", b.tally.of("delivered sent"), hook.MaxBatch+200)
	want(b, "pending", status().Pending, 50)
	want(b, "pull without a cursor", fmt.Sprint(pulledIDs(h.pull("all", ""))), fmt.Sprint(got[200:]))
	want(b, "all that are kept", fmt.Sprint(pulledIDs(h.pull("all", "0"))), fmt.Sprint(got[:100]))
	of := func(s hook.State) int {
		b.Helper()
		return len(must(b.st.HookEvents(b.ctx, hook.Filter{Hook: "all", State: s, Paging: core.Paging{Limit: 1000}}))(b).Items)
	}
	want(b, "events that are sent", of(hook.Sent), 200)
	want(b, "events that are pending", of(hook.Pending), 50)
	for _, e := range h.events("all") {
		if sent := slices.Index(got, e.ID) < 200; (e.State == hook.Sent) != sent {
			b.Fatalf("event %d is %s, want the first 200 acknowledged", e.ID, e.State)
		}
	}
	// A paused hook gets no new events, and earlier ones can be read again.
	must(b.st.PauseHook(b.ctx, "default", "all", true))(b)
	b.cancel(b.enqueue(job.NewJob{Task: "t"}).ID)
	want(b, "events while it is paused", len(h.pull("all", after).Events), 0)
	want(b, "events of the paused hook", len(h.pull("all", "0").Events), 100)
	want(b, "pending", status().Pending, 51)
	must(b.st.PauseHook(b.ctx, "default", "all", false))(b)
	want(b, "events once it is resumed", len(h.pull("all", after).Events), 1)
	// A waiting pull gets events that arrive meanwhile.
	after = h.pull("all", after).Next
	var waited hook.Pulled
	var all sync.WaitGroup
	all.Go(func() { waited = must(b.st.PullEvents(b.ctx, "default", "all", after, time.Minute))(b) })
	b.cancel(b.enqueue(job.NewJob{Task: "t"}).ID)
	all.Wait()
	want(b, "events that were waited for", len(waited.Events), 1)
	// A new hook of the same name starts anew.
	ok(b, b.st.DeleteHook(b.ctx, "default", "all"))
	h.pulled("all")
	_, err := b.st.PullEvents(b.ctx, "default", "all", after, 0)
	wantCode(b, err, core.Invalid, "after")
	want(b, "events of the new one", len(h.pull("all", "").Events), 0)
}

func caseAHookIsPulledOrPosted(b *bench) {
	h := hooked{b}
	a := h.pulled("pulled")
	h.hook("posted")
	for field, d := range map[string]hook.Hook{
		"url":    {Name: "pulled", Pull: true, URL: "https://hooks.example.com/x"},
		"secret": {Name: "pulled", Pull: true, Secret: "0123456789abcdef"},
		"pull":   {Name: "posted", Pull: true},
	} {
		_, err := b.st.SaveHook(b.ctx, d)
		wantCode(b, err, core.Invalid, field)
	}
	_, err := b.st.SaveHook(b.ctx, hook.Hook{Name: "pulled", URL: "https://hooks.example.com/x", Secret: "0123456789abcdef"})
	wantCode(b, err, core.Invalid, "pull")
	_, err = b.st.SaveHook(b.ctx, hook.Hook{Name: "other"})
	wantCode(b, err, core.Invalid, "url")
	for _, err := range []error{
		errOf(b.st.PullEvents(b.ctx, "default", "posted", "", 0)),
		errOf(b.st.AckEvents(b.ctx, "default", "posted", "1.0")),
		errOf(b.st.ReplayHook(b.ctx, "default", "pulled", hook.Replay{})),
		errOf(b.st.HookSecrets(b.ctx, "default", "pulled")),
	} {
		wantCode(b, err, core.Conflict)
	}
	for _, err := range []error{
		errOf(b.st.PullEvents(b.ctx, "other", "pulled", "", 0)),
		errOf(b.st.AckEvents(b.ctx, "other", "pulled", "1.0")),
	} {
		wantCode(b, err, core.NotFound)
	}
	mine := hook.Place{Hook: a.ID}.String()
	for _, wrong := range []string{"x", "-1", "1", "1.", ".1", "1.2.3", "+1.0", fmt.Sprint(a.ID, ".-1"), fmt.Sprint(a.ID, ".1"), fmt.Sprint(a.ID+1, ".0"), mine + " "} {
		_, err := b.st.PullEvents(b.ctx, "default", "pulled", wrong, 0)
		wantCode(b, err, core.Invalid, "after")
		_, err = b.st.AckEvents(b.ctx, "default", "pulled", wrong)
		wantCode(b, err, core.Invalid, "cursor")
	}
	_, err = b.st.AckEvents(b.ctx, "default", "pulled", strings.Repeat("é", 10_000))
	wantCode(b, err, core.Invalid, "cursor", "...")
	if text := err.Error(); len(text) > 1000 || !utf8.ValidString(text) {
		b.Errorf("error about a bad cursor: got %d bytes, want at most 1000 of valid UTF-8", len(text))
	}
	want(b, "events", len(h.pull("pulled", mine).Events), 0)
	saved := must(b.st.Hook(b.ctx, "default", "pulled"))(b)
	saved.Description = "for people"
	must(b.st.SaveHook(b.ctx, saved))(b)
	// Stored events decide, even if the lookup of one by name finds nothing.
	ok(b, b.st.DB().Write(b.ctx, func(tx base.Tx, _ base.Moment) error {
		return errOf(tx.Exec(b.ctx, `update belfry.hooks set name = 'elsewhere' where name = 'posted'`))
	}))
	_, err = b.st.SaveHook(b.ctx, hook.Hook{Name: "posted", Pull: true})
	wantCode(b, err, core.Invalid, "pull")
}

func caseMissedEventsOfAPulledHookAreCounted(b *bench) {
	h := hooked{b}
	h.pulled("all")
	b.task("t")
	end := func(n int) {
		for range n {
			b.cancel(b.enqueue(job.NewJob{Task: "t"}).ID)
		}
	}
	end(5)
	first := h.pull("all", "")
	want(b, "events", len(first.Events), 5)
	must(b.st.AckEvents(b.ctx, "default", "all", first.Events[1].Cursor))(b)
	b.clock.Move(hook.Keep - time.Hour)
	end(4)
	b.clock.Move(2 * time.Hour)
	must(b.st.Prune(b.ctx))(b)
	want(b, "dropped", must(b.st.HookStatus(b.ctx, "default", "all"))(b).Dropped, 3)
	p := h.pull("all", first.Events[0].Cursor)
	want(b, "missed", p.Missed, 4)
	want(b, "events", len(p.Events), 4)
	p = h.pull("all", "")
	want(b, "missed of those that are not acknowledged", p.Missed, 3)
	want(b, "missed by who takes what is there", h.pull("all", "0").Missed, 0)
	b.clock.Move(2 * hook.Keep)
	must(b.st.Prune(b.ctx))(b)
	p = h.pull("all", first.Events[4].Cursor)
	if p.Missed != 4 || len(p.Events) != 0 {
		b.Errorf("pull after event 5: got %+v, want 4 missed events", p)
	}
	want(b, "missed after that", h.pull("all", p.Next).Missed, 0)
	end(1)
	want(b, "events after that", len(h.pull("all", p.Next).Events), 1)
}

func caseEventsWithoutAPlaceAreMissed(b *bench) {
	h := hooked{b}
	h.pulled("all")
	h.hook("posted")
	b.task("t")
	end := func(n int) {
		for range n {
			b.cancel(b.enqueue(job.NewJob{Task: "t"}).ID)
		}
	}
	end(2)
	first := h.pull("all", "")
	must(b.st.AckEvents(b.ctx, "default", "all", first.Next))(b)
	end(5)
	b.clock.Move(hook.Keep + time.Hour)
	must(b.st.Prune(b.ctx))(b)
	p := h.pull("all", first.Next)
	want(b, "missed", p.Missed, 5)
	want(b, "missed of those that are not acknowledged", h.pull("all", "").Missed, 5)
	want(b, "missed after that", h.pull("all", p.Next).Missed, 0)
	want(b, "missed by a reader of what is kept", h.pull("all", "0").Missed, 0)
	// The remaining events come after the gap.
	end(3)
	b.clock.Move(hook.Keep - time.Hour)
	end(4)
	b.clock.Move(2 * time.Hour)
	must(b.st.Prune(b.ctx))(b)
	got := h.pull("all", p.Next)
	want(b, "missed", got.Missed, 3)
	want(b, "events", len(got.Events), 4)
	if ids := pulledIDs(got); !slices.IsSorted(ids) {
		b.Errorf("pulled ids: got %v, want them in order", ids)
	}
	want(b, "missed with those of before", h.pull("all", first.Next).Missed, 8)
	want(b, "dropped", must(b.st.HookStatus(b.ctx, "default", "all"))(b).Dropped, 8)
	want(b, "dropped of the posted one", must(b.st.HookStatus(b.ctx, "default", "posted"))(b).Dropped, 10)
}

func caseOneReaderPlacesEvents(b *bench) {
	h := hooked{b}
	h.pulled("all")
	b.task("t")
	const readers = 16
	got := make([]hook.Pulled, readers)
	errs := make([]error, readers)
	var reading sync.WaitGroup
	for i := range readers {
		reading.Go(func() { got[i], errs[i] = b.st.PullEvents(b.ctx, "default", "all", "", time.Minute) })
	}
	b.cancel(b.enqueue(job.NewJob{Task: "t"}).ID)
	reading.Wait()
	for i := range readers {
		ok(b, errs[i])
		want(b, "events", len(got[i].Events), 1)
	}
	want(b, "transitions that gave a place", b.tally.of("took place events"), 1)
}

func caseAnAnswerOfEventsIsBounded(b *bench) {
	h := hooked{b}
	h.pulled("all")
	b.task("t")
	for range 5 {
		b.cancel(b.enqueue(job.NewJob{Task: "t"}).ID)
	}
	ok(b, b.st.DB().Write(b.ctx, func(tx base.Tx, _ base.Moment) error {
		return errOf(tx.Exec(b.ctx, `update belfry.hook_events set event = $1`, `{"namespace":"`+strings.Repeat("x", hook.MaxPayload*2/5)+`"}`))
	}))
	after := ""
	for _, n := range []int{2, 2, 1, 0} {
		p := h.pull("all", after)
		if len(p.Events) != n || p.Missed != 0 {
			b.Fatalf("got %d events and %d missed, want %d and 0", len(p.Events), p.Missed, n)
		}
		after = p.Next
	}
}

func caseEventsOfAPulledHookAreListed(b *bench) {
	h := hooked{b}
	h.pulled("all")
	b.task("t")
	end := func(n int) {
		for range n {
			b.cancel(b.enqueue(job.NewJob{Task: "t"}).ID)
		}
	}
	end(11)
	placed := h.pull("all", "")
	must(b.st.AckEvents(b.ctx, "default", "all", placed.Events[4].Cursor))(b)
	end(5)
	listed := func(f hook.Filter, meanwhile func()) (ids []int64) {
		b.Helper()
		for f.Hook, f.Limit = "all", 3; ; meanwhile() {
			p := must(b.st.HookEvents(b.ctx, f))(b)
			for _, e := range p.Items {
				if ids = append(ids, e.ID); f.State != "" && e.State != f.State {
					b.Errorf("event %d is %s", e.ID, e.State)
				}
			}
			if f.Cursor = p.Next; p.Next == "" {
				return ids
			}
		}
	}
	calm := func() {}
	all := listed(hook.Filter{}, calm)
	want(b, "all", len(all), 16)
	want(b, "sent", fmt.Sprint(listed(hook.Filter{State: hook.Sent}, calm)), fmt.Sprint(all[11:]))
	want(b, "pending", fmt.Sprint(listed(hook.Filter{State: hook.Pending}, calm)), fmt.Sprint(all[:11]))
	want(b, "pending of a type", fmt.Sprint(listed(hook.Filter{State: hook.Pending, Type: "job.canceled"}, calm)), fmt.Sprint(all[:11]))
	want(b, "sent of another type", len(listed(hook.Filter{State: hook.Sent, Type: "job.failed"}, calm)), 0)
	want(b, "pending while they get their places", fmt.Sprint(listed(hook.Filter{State: hook.Pending}, func() { h.pull("all", placed.Next) })), fmt.Sprint(all[:11]))
}

func casePulledOverNodes(b *bench, nodes []*store.Store) {
	const each = 40
	h := hooked{b}
	h.pulled("all")
	b.task("t")
	seen := make([][]int64, len(nodes))
	read := func(ctx context.Context, i int) error { // reads the events of all nodes
		for after := ""; len(seen[i]) < each*len(nodes); {
			p, err := nodes[i].PullEvents(ctx, "default", "all", after, time.Minute)
			if err != nil || p.Missed != 0 || len(p.Events) == 0 {
				return fmt.Errorf("%+v, %w", p, err)
			}
			seen[i], after = append(seen[i], pulledIDs(p)...), p.Next
		}
		return nil
	}
	errs := make([]error, len(nodes))
	var reading sync.WaitGroup
	for i := range nodes {
		reading.Go(func() { errs[i] = read(b.ctx, i) })
	}
	b.crowd(nodes, each, func(ctx context.Context, st *store.Store, _ int) error {
		out, err := st.Enqueue(ctx, []job.NewJob{{Task: "t"}})
		if err == nil {
			_, err = st.CancelJobs(ctx, "default", view.Selection{IDs: []int64{out[0].Job.ID}})
		}
		return err
	})
	reading.Wait()
	for i, err := range errs {
		ok(b, err)
		if !slices.Equal(seen[i], seen[0]) {
			b.Errorf("events pulled on node %d: got %v, want those of the first node, %v", i, seen[i], seen[0])
		}
	}
	sorted := slices.Clone(seen[0])
	slices.Sort(sorted)
	want(b, "events", len(slices.Compact(sorted)), each*len(nodes))
}

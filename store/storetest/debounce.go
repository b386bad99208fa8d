package storetest

import (
	"encoding/json"
	"fmt"
	"strings"
	"time"

	"github.com/belfry-run/belfry/core"
	"github.com/belfry-run/belfry/flow"
	"github.com/belfry-run/belfry/job"
	"github.com/belfry-run/belfry/store"
	"github.com/belfry-run/belfry/task"
)

func init() {
	add("a debounced task makes one job of requests within a window of each other, and the last one counts", debounceWindow)
	add("a debounced job starts at the latest when its task says so, and no earlier than its last request asks", debounceMax)
	add("a debounced job that has begun, ended or been canceled is joined by no request", debounceBegun)
	add("a debounced run of a workflow, of a cycle or under a limit that has begun is joined by no request", debounceUnderWay)
	add("a debounced program that waits for its upload is joined", debounceUpload)
	add("a debounce and the keys of requests answer the same job, and a held active key is never debounced", debounceAndKeys)
	add("a debounced batch of unlike items makes one job of each key, queue and active key", debounceBatch)
	add("a debounce and the bound of its queue: a joined request takes no room, and is not dropped by its own batch", debounceAndBounds)
	add("an edit of a debounce concerns requests from then on, and a job that waits stays", debounceEdited)
	add("schedules, retries and steps are not debounced", debounceOthers)
	add("debounces that cannot be are refused by their field", debouncesThatCannotBe)
	addNodes("a debounced job keeps its window when the clock is set back", debounceClock)
}

func debounced(key string, window, most time.Duration) func(*task.Task) {
	return func(t *task.Task) {
		t.Debounce = &flow.Debounce{Key: key, Window: core.Duration(window), Max: core.Duration(most)}
	}
}

func numbered(customer string, n int) job.NewJob {
	return job.NewJob{Task: "t", Input: json.RawMessage(fmt.Sprintf(`{"customer":%q,"n":%d}`, customer, n))}
}

// words joins values with spaces.
func words(values ...any) string { return strings.TrimSpace(fmt.Sprintln(values...)) }

// dueIn returns the time until a job starts.
func dueIn(b *bench, j job.Job) time.Duration { return j.DueAt.Sub(b.clock.Now()) }

func debounceWindow(b *bench) {
	b.task("t", debounced("input.customer", 30*time.Second, 0))
	b.task("u", debounced("input.customer", 30*time.Second, 0))
	s := b.session("t")
	first := b.ask(numbered("a", 1))
	want(b, "first request", words(first.Existing, first.Reason, first.Joined, first.Job.State, dueIn(b, first.Job)), "false  0 scheduled 30s")
	want(b, "claimed in the window", len(b.claim(s, 10).Jobs), 0)
	b.clock.Move(20 * time.Second)
	next := numbered("a", 2)
	next.Priority, next.Tags, next.MaxAttempts, next.Timeout = new(7), []string{"x"}, 9, core.Duration(time.Minute)
	again := b.ask(next)
	want(b, "later request", words(again.Existing, again.Reason, again.Joined, again.Job.ID, again.Job.State, dueIn(b, again.Job)),
		words("true debounced 1", first.Job.ID, "scheduled 30s"))
	want(b, "settings of the debounced job", words(string(again.Job.Input), again.Job.Priority, again.Job.Tags, again.Job.MaxAttempts, again.Job.Timeout), `{"customer":"a","n":2} 7 [x] 9 1m`)
	want(b, "another key", b.ask(numbered("b", 1)).Existing, false)
	other := numbered("a", 3)
	other.Task = "u"
	want(b, "another task", b.ask(other).Existing, false)
	want(b, "counted", b.tally.of("debounced default"), 1)
	b.clock.Move(29 * time.Second)
	want(b, "made ready before the window ends", b.promote(), 0)
	shown := b.job(first.Job.ID)
	want(b, "shown", words(shown.Debounced.Joined, b.clock.Now().Sub(shown.Debounced.LastAt)), "1 29s")
	why := must(b.st.Why(b.ctx, "default", first.Job.ID))(b)
	if !strings.Contains(why.Summary, "1 request has joined") || !strings.Contains(why.Summary, `key "a" of input.customer`) {
		b.Fatalf("why: got %q, want the joined request and the key", why.Summary)
	}
	b.clock.Move(time.Second)
	want(b, "made ready after it", b.promote(), 3)
	leased := b.claim(s, 10).Jobs
	want(b, "claimed", words(len(leased), string(leased[0].Job.Input)), `2 {"customer":"a","n":2}`)
	b.finish(s, leased[0], job.OutcomeOK)
	ended := b.job(first.Job.ID)
	want(b, "kept after its end", words(ended.State, ended.Debounced.Joined), "succeeded 1")
	want(b, "after the window", b.ask(numbered("a", 4)).Existing, false)
}

func debounceMax(b *bench) {
	b.task("t", debounced("input.customer", 30*time.Second, time.Minute))
	first := b.ask(numbered("a", 0))
	var last job.Enqueued
	for i, due := range []time.Duration{30 * time.Second, 20 * time.Second} {
		b.clock.Move(20 * time.Second)
		last = b.ask(numbered("a", i+1))
		want(b, "due", dueIn(b, last.Job), due)
	}
	b.clock.Move(19 * time.Second)
	last = b.ask(numbered("a", 3))
	want(b, "request before the longest window ends", words(last.Job.ID, last.Joined, dueIn(b, last.Job)), words(first.Job.ID, 3, "1s"))
	b.clock.Move(time.Second)
	want(b, "at its end, before it is made ready", b.ask(numbered("a", 4)).Existing, false)
	want(b, "made ready", b.promote(), 1)

	// A request may ask for a later start, and the next one for an earlier one.
	later := numbered("z", 1)
	later.Delay = core.Duration(time.Hour)
	want(b, "delayed", dueIn(b, b.ask(later).Job), time.Hour)
	b.clock.Move(30 * time.Minute)
	joined := b.ask(later)
	want(b, "delayed again", words(joined.Joined, dueIn(b, joined.Job)), "1 1h0m0s")
	want(b, "a window at its longest adds no delay", dueIn(b, b.ask(numbered("z", 2)).Job) < time.Second, true)
	b.clock.Move(time.Second)
	want(b, "made ready, and the second of the others", b.promote(), 2)

	b.task("u", debounced("", time.Second, 0))
	ask := job.NewJob{Task: "u"}
	id := b.ask(ask).Job.ID
	for range 9 {
		b.clock.Move(999 * time.Millisecond)
		want(b, "job of one of ten windows", b.ask(ask).Job.ID, id)
	}
	b.clock.Move(999 * time.Millisecond)
	want(b, "the end of ten windows", dueIn(b, b.ask(ask).Job), 10*time.Millisecond)
}

func debounceBegun(b *bench) {
	b.task("t", debounced("input.customer", time.Second, 0), func(t *task.Task) { t.Retry.Delay = core.Duration(time.Hour) })
	s := b.session("t")
	begin := func(customer string) (job.Job, job.LeasedJob) {
		b.Helper()
		j := b.ask(numbered(customer, 1)).Job
		b.clock.Move(time.Second)
		want(b, "made ready", b.promote(), 1)
		return j, b.claim(s, 1).Jobs[0]
	}
	running, leased := begin("a")
	second := b.ask(numbered("a", 2))
	want(b, "request joins a running job", second.Existing, false)
	want(b, "input of the running job", string(b.job(running.ID).Input), `{"customer":"a","n":1}`)
	b.finish(s, leased, job.OutcomeError)
	want(b, "job of a request before the retry", b.ask(numbered("a", 3)).Job.ID, second.Job.ID)
	b.cancel(second.Job.ID)
	third := b.ask(numbered("a", 4))
	want(b, "request after a cancel", words(third.Existing, third.Joined, b.job(second.Job.ID).State), "false 0 canceled")
	want(b, "next request", words(b.ask(numbered("a", 5)).Job.ID == third.Job.ID, b.job(running.ID).State), "true scheduled")

	// A manually retried job is ready.
	b.retry(second.Job.ID)
	want(b, "brought back", string(b.job(second.Job.ID).State), "ready")
	want(b, "job of a request beside the retried one", b.ask(numbered("a", 6)).Job.ID, third.Job.ID)
	back := b.ask(numbered("b", 1)).Job
	b.cancel(back.ID)
	b.retry(back.ID)
	want(b, "after one that was brought back in its window", b.ask(numbered("b", 2)).Existing, false)
	want(b, "input of the retried job", string(b.job(back.ID).Input), `{"customer":"b","n":1}`)
}

// windowStays keeps the windows of keys from ending with the clock. So it is when a request on one node meets another node that
// makes the job ready at the same instant.
func windowStays(b *bench) {
	b.Helper()
	b.sql(`update belfry.job_keys set expires_at = expires_at + 3600000000`)
}

func debounceUnderWay(b *bench) {
	f := newGraph(b, "w", task.Workflow{Steps: []task.Step{{Name: "a", Task: "a"}}}, debounced("", time.Second, 0))
	b.ring("ring", task.Member{Task: "m"})
	ring := must(b.st.Task(b.ctx, "default", "ring"))(b)
	debounced("", time.Second, 0)(&ring)
	must(b.st.UpdateTask(b.ctx, ring))(b)
	b.task("one", debounced("", time.Second, 0), limited(flow.Limit{Running: 1}))
	b.task("rate", debounced("", time.Second, 0), limited(flow.Limit{Rate: "1/1h"}))
	for _, name := range []string{"w", "ring", "one", "rate"} {
		ask := job.NewJob{Task: name, Input: []byte(`1`)}
		if name == "one" || name == "rate" { // another job exists before
			b.enqueue(ask)
			b.clock.Move(time.Second)
			b.promote()
		}
		begun := b.ask(ask).Job
		want(b, name+": before", b.ask(ask).Job.ID, begun.ID)
		windowStays(b)
		b.clock.Move(time.Second)
		b.promote()
		f.engine()
		must(b.st.StartCycles(b.ctx))(b)
		b.wantState(begun.ID, job.Waiting)
		next := ask
		next.Input = []byte(`2`)
		e := b.ask(next)
		want(b, name+": after it has begun", words(e.Existing, e.Reason, e.Joined, e.Job.State), "false  0 scheduled")
		j := b.job(begun.ID)
		want(b, name+": what has begun", words(j.State, string(j.Input), j.Debounced.Joined), words(job.Waiting, 1, 1))
		want(b, name+": joins the new one", b.ask(next).Job.ID, e.Job.ID)
	}
}

// A job that waits for an upload still has its start ahead.
func debounceUpload(b *bench) {
	b.task("p", runs("bytes"), debounced("", time.Minute, 0))
	ask := func(n int) job.NewJob { return job.NewJob{Task: "p", Input: json.RawMessage(fmt.Sprint(n))} }
	first := b.ask(ask(1)).Job
	want(b, "state of the first job", first.State, job.Waiting)
	b.clock.Move(50 * time.Second)
	e := b.ask(ask(2))
	want(b, "later request", words(e.Job.ID, e.Joined, e.Job.State, string(e.Job.Input), dueIn(b, e.Job)), words(first.ID, "1 waiting 2 1m0s"))
	programs{b}.upload("bytes")
	want(b, "uploaded", b.job(first.ID).State, job.Scheduled)
	want(b, "joined then", words(b.ask(ask(3)).Joined, string(b.job(first.ID).Input)), "2 3")
}

func debounceAndKeys(b *bench) {
	b.task("t", debounced("input.customer", time.Minute, 0))
	b.task("plain")
	first := b.ask(numbered("a", 1))
	keyed := numbered("a", 2)
	keyed.Key = "k"
	want(b, "under a key", words(b.ask(keyed).Job.ID, b.job(first.Job.ID).Debounced.Joined), words(first.Job.ID, 1))
	b.ask(numbered("a", 3))
	again := b.ask(keyed) // the key was used before, so it does not join again
	want(b, "under the key again", words(again.Job.ID, string(again.Job.Input), again.Reason, b.job(first.Job.ID).Debounced.Joined),
		words(first.Job.ID, `{"customer":"a","n":3}`, "", 2))
	b.clock.Move(time.Minute)
	b.promote()
	want(b, "under the key, after the window", b.ask(keyed).Job.ID, first.Job.ID)

	// An active key that another job holds returns that job, which does not change.
	holder := b.enqueue(job.NewJob{Task: "plain", ActiveKey: "x", Delay: core.Duration(time.Hour), Input: []byte(`"kept"`)})
	active := numbered("c", 1)
	active.ActiveKey = "x"
	for range 2 {
		e := b.ask(active)
		want(b, "held", words(e.Job.ID, e.Existing, e.Reason, e.Joined), words(holder.ID, true, "", 0))
	}
	want(b, "holder of the active key", words(string(b.job(holder.ID).Input), dueIn(b, b.job(holder.ID))), `"kept" 1h0m0s`)
	two := must(b.st.Enqueue(b.ctx, []job.NewJob{active, active}))(b)
	want(b, "held, of a batch", words(two[0].Job.ID, two[1].Job.ID, two[1].Reason), words(holder.ID, holder.ID))
	one, other := active, active // their keys later return it too, also from a batch
	one.Key, other.Key = "one", "other"
	both := must(b.st.Enqueue(b.ctx, []job.NewJob{one, other}))(b)
	want(b, "held, of a batch under keys", words(both[0].Job.ID, both[1].Job.ID, b.ask(one).Job.ID, b.ask(other).Job.ID), words(holder.ID, holder.ID, holder.ID, holder.ID))
	b.cancel(holder.ID)
	mine := b.ask(active)
	want(b, "request joins when the active key is free", mine.Existing, false)
	want(b, "next request under the active key", words(b.ask(active).Reason, b.ask(active).Job.ID), words("debounced", mine.Job.ID))
	active.Input = numbered("d", 1).Input
	elsewhere := b.ask(active)
	want(b, "request with another value while the first holds the key", words(elsewhere.Job.ID, elsewhere.Reason), words(mine.Job.ID))
	want(b, "rows of windows", b.count(`select count(*) from belfry.job_keys where name like '%debounce%'`), 2)
}

func debounceBatch(b *bench) {
	b.task("t", debounced("input.customer", time.Minute, 0))
	b.task("plain")
	b.task("throttled", throttled("input.customer", time.Minute))
	ok(b, func() error { _, err := b.st.SaveQueue(b.ctx, job.Queue{Name: "other"}); return err }())
	there := b.ask(numbered("there", 0)).Job.ID
	elsewhere, active, plain, first := numbered("a", 3), numbered("a", 4), numbered("a", 5), numbered("a", 6)
	elsewhere.Queue, active.ActiveKey, plain.Task, first.Task = "other", "x", "plain", "throttled"
	elsewhere.Key = "k"
	later := numbered("b", 2)
	later.Delay = core.Duration(time.Hour)
	again := elsewhere
	out := must(b.st.Enqueue(b.ctx, []job.NewJob{
		numbered("a", 1), numbered("there", 1), elsewhere, numbered("a", 2), active, plain, first, numbered("b", 1), first, later, again, numbered("there", 2), numbered("", 1),
	}))(b)
	var text []string
	ids := map[int64]int{there: 100}
	for i, e := range out {
		if _, known := ids[e.Job.ID]; !known {
			ids[e.Job.ID] = i
		}
		text = append(text, (words(ids[e.Job.ID], string(e.Job.Input)[len(`{"customer":`):], e.Job.Queue[:1], dueIn(b, e.Job), e.Joined, e.Reason)))
	}
	wantText(b, "what came back", strings.Join(text, "\n"), `0 "a","n":2} d 1m0s 1
100 "there","n":2} d 1m0s 2 debounced
2 "a","n":3} o 1m0s 0
0 "a","n":2} d 1m0s 1 debounced
4 "a","n":4} d 1m0s 0
5 "a","n":5} d 0s 0
6 "a","n":6} d 0s 0
7 "b","n":2} d 1h0m0s 1
6 "a","n":6} d 0s 0 throttled
7 "b","n":2} d 1h0m0s 1 debounced
2 "a","n":3} o 1m0s 0
100 "there","n":2} d 1m0s 2 debounced
12 "","n":1} d 1m0s 0`)
	for _, e := range out {
		j := b.job(e.Job.ID)
		want(b, "stored job", words(string(j.Input), j.DueAt, j.State), words(string(e.Job.Input), e.Job.DueAt, e.Job.State))
	}
	long := must(b.st.Enqueue(b.ctx, []job.NewJob{numbered(strings.Repeat("k", 10_000), 1), numbered(strings.Repeat("k", 10_001), 1), numbered(strings.Repeat("k", 10_000), 2)}))(b)
	want(b, "long keys", words(long[0].Existing, long[1].Existing, long[2].Existing), "false false true")
}

func wantText(b *bench, what, got, wanted string) {
	b.Helper()
	if got != wanted {
		b.Fatalf("%s: got\n%s\nwant\n%s", what, got, wanted)
	}
}

func debounceAndBounds(b *bench) {
	b.task("t", debounced("input.customer", time.Minute, 0))
	bound(b, "narrow", 2, "")
	in := func(customer string, n int) job.NewJob {
		j := numbered(customer, n)
		j.Queue = "narrow"
		return j
	}
	first := b.ask(in("a", 1)).Job
	b.ask(in("b", 1))
	want(b, "joins a job of a full queue", b.ask(in("a", 2)).Job.ID, first.ID)
	// A rejected batch changes nothing, and takes no window.
	b.clock.Move(time.Second)
	_, err := b.st.Enqueue(b.ctx, []job.NewJob{in("a", 3), in("c", 1)})
	wantCode(b, err, core.QueueFull)
	j := b.job(first.ID)
	want(b, "after a refusal", words(string(j.Input), j.Debounced.Joined, dueIn(b, j)), `{"customer":"a","n":2} 1 59s`)
	want(b, "windows after a refusal", b.count(`select count(*) from belfry.job_keys`), 2)

	bound(b, "narrow", 2, job.OnFullDropOldest)
	out := must(b.st.Enqueue(b.ctx, []job.NewJob{in("a", 4), in("d", 1)}))(b)
	want(b, "joins what would be dropped", words(out[0].Job.ID, out[1].Existing, b.job(first.ID).State), words(first.ID, false, "scheduled"))
	b.ask(in("e", 1))
	want(b, "dropped by another", b.job(first.ID).State, job.Skipped)
	want(b, "next request joins", b.ask(in("a", 5)).Existing, false)
}

func debounceEdited(b *bench) {
	t := b.task("t", debounced("input.customer", time.Minute, 0))
	edit := func(d *flow.Debounce) {
		b.Helper()
		t.Debounce = d
		t = must(b.st.UpdateTask(b.ctx, t))(b)
	}
	first := b.ask(numbered("a", 1)).Job
	edit(&flow.Debounce{Key: "input.customer", Window: core.Duration(time.Hour)})
	want(b, "not moved by an edit", dueIn(b, b.job(first.ID)), time.Minute)
	want(b, "a longer window", dueIn(b, b.ask(numbered("a", 2)).Job), time.Hour)
	b.clock.Move(time.Minute)
	edit(&flow.Debounce{Key: "input.customer", Window: core.Duration(time.Second)})
	short := b.ask(numbered("a", 3))
	want(b, "a shorter one", words(short.Job.ID, dueIn(b, short.Job)), words(first.ID, "1ms"))
	b.clock.Move(time.Millisecond)
	want(b, "made ready", b.promote(), 1)

	second := b.ask(numbered("b", 1)).Job
	edit(&flow.Debounce{Key: "input.n", Window: core.Duration(time.Second)})
	want(b, "another key", b.ask(numbered("b", 1)).Existing, false)
	edit(nil)
	now := b.ask(numbered("b", 1))
	want(b, "job of a task without debounce", words(now.Existing, now.Job.State, b.job(second.ID).State), "false ready scheduled")
	b.clock.Move(time.Second)
	want(b, "promoted jobs", b.promote(), 2)
}

func debounceClock(b *bench, nodes []*store.Store) {
	b.task("t", debounced("", time.Minute, 0))
	b.task("plain")
	j := b.ask(job.NewJob{Task: "t"}).Job
	later := b.enqueue(job.NewJob{Task: "plain", Delay: core.Duration(time.Minute)})
	follow(b, nodes)
	b.clock.Set(-time.Hour)
	follow(b, nodes)
	follow(b, nodes)
	want(b, "window of the job", dueIn(b, b.job(j.ID)), time.Minute)
	want(b, "an instant", dueIn(b, b.job(later.ID)), time.Hour+time.Minute)
	b.clock.Move(30 * time.Second)
	joined := b.ask(job.NewJob{Task: "t"})
	want(b, "window after another request", words(joined.Job.ID, joined.Joined, dueIn(b, joined.Job)), words(j.ID, 1, "1m0s"))
	b.clock.Move(time.Minute)
	want(b, "made ready", b.promote(), 1)
	want(b, "next request joins", b.ask(job.NewJob{Task: "t"}).Existing, false)
}

func debounceOthers(b *bench) {
	b.task("t", debounced("", time.Minute, 0), func(t *task.Task) { t.Retry.Delay = core.Duration(time.Second) })
	s := b.session("t")
	b.schedule("s", "t", every(time.Minute))
	waits := b.ask(job.NewJob{Task: "t", Delay: core.Duration(time.Hour)}).Job
	b.clock.Move(time.Minute)
	want(b, "fired", b.fire().Jobs, 1)
	c := b.claim(s, 10)
	want(b, "run of a schedule", len(c.Jobs), 1)
	b.finish(s, c.Jobs[0], job.OutcomeError)
	b.clock.Move(2 * time.Second)
	want(b, "retries", b.promote(), 1)
	c = b.claim(s, 10)
	want(b, "a retry", words(len(c.Jobs), c.Jobs[0].Job.Attempt), "1 2")
	b.finish(s, c.Jobs[0], job.OutcomeOK)
	again := must(b.st.RunJobAgain(b.ctx, "default", c.Jobs[0].Job.ID, job.RunAgain{}))(b)
	want(b, "run again", words(again.Job.ID, again.Reason), words(waits.ID, "debounced"))
}

func debouncesThatCannotBe(b *bench) {
	minute := core.Duration(time.Minute)
	for field, d := range map[string]flow.Debounce{
		"debounce.window": {},
		"100ms to 31d":    {Window: 1},
		"window":          {Window: -minute},
		"31d":             {Window: flow.MaxDebounceWindow + 1},
		"debounce.max":    {Window: minute, Max: minute - 1},
		"max":             {Window: minute, Max: -minute},
		"1m, to 31d":      {Window: minute, Max: flow.MaxDebounceWindow + 1},
		"debounce.key":    {Window: minute, Key: "customer"},
		"500 bytes":       {Window: minute, Key: "input." + strings.Repeat("k", 10_000)},
	} {
		_, err := b.st.CreateTask(b.ctx, task.Task{Name: "t", Kind: task.KindFunc, Debounce: &d})
		wantCode(b, err, core.Invalid, field)
	}
	_, err := b.st.CreateTask(b.ctx, task.Task{Name: "t", Kind: task.KindFunc, Debounce: &flow.Debounce{Window: minute}, Throttle: &flow.Throttle{Window: minute}})
	wantCode(b, err, core.Invalid, "cannot stand beside throttle", "keep one of them")
}

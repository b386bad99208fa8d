package storetest

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/belfry-run/belfry/access"
	"github.com/belfry-run/belfry/core"
	"github.com/belfry-run/belfry/job"
	"github.com/belfry-run/belfry/schedule"
	"github.com/belfry-run/belfry/store/base"
	"github.com/belfry-run/belfry/task"
	"github.com/belfry-run/belfry/view"
)

// ask enqueues one job and returns the whole answer.
func (b *bench) ask(n job.NewJob) job.Enqueued {
	b.Helper()
	return must(b.st.Enqueue(b.ctx, []job.NewJob{n}))(b)[0]
}

// settle claims the only ready job and ends it.
func (b *bench) settle(funcName string, outcome job.Outcome) job.Job {
	b.Helper()
	s := b.session(funcName)
	c := b.claim(s, 1)
	want(b, "ready jobs", len(c.Jobs), 1)
	b.finish(s, c.Jobs[0], outcome)
	return b.job(c.Jobs[0].Job.ID)
}

func init() {
	add("a batch is enqueued whole or not at all", caseABatchIsEnqueuedWholeOrNotAtAll)
	add("inputs, batches and tags over their limits are refused, and at their limits accepted", caseInputsBatchesAndTagsOverTheirLimitsAreRefused)
	add("a new job takes missing fields from its task, and its own fields win", caseANewJobTakesMissingFieldsFromItsTask)
	add("a delayed job and one for an instant wait for their time", caseADelayedJobAndOneForAnInstantWait)
	add("a job for a handler without a task makes the task, once, and a job without either is refused", caseAJobForAHandlerWithoutATaskMakes)
	add("within its window an idempotency key answers the first job, ended or not, and afterwards a new one", caseWithinItsWindowAnIdempotencyKeyAnswersTheFirst)
	add("the same key twice in one batch makes one job", caseTheSameKeyTwiceInOneBatchMakesOne)
	add("jobs asked for at once with the same key are one job", caseJobsAskedForAtOnceWithTheSameKey)
	add("attempts asked for a run of a workflow or of a cycle are refused at their field", caseAttemptsOfARunAreRefused)
	add("batches with the same keys in different orders do not stand in each other's way", caseBatchesWithTheSameKeysInDifferentOrdersDo)
	add("an active key lets one job live, whatever it goes through, and is free again after its end", caseAnActiveKeyLetsOneJobLive)
	add("a job with both keys returns the job that has one of them, and the key keeps that answer", caseAJobAskedForWithBothKeysAnswersWhoever)
	add("bulk cancel and retry do what fits, say why not for the rest, and change nothing in a dry run", caseBulkCancelAndRetryDoWhatFits)
	add("an exhausted job is never claimed again by itself, and names its last error", caseAnExhaustedJobIsNeverClaimedAgainByItself)
	add("a job that must not start twice fails when its worker is lost", caseAJobThatMustNotStartTwiceFailsWhen)
	add("a worker says that an attempt was cut off, and on_lost decides", caseAWorkerSaysThatAnAttemptWasCutOff)
	add("more lost jobs than fit into one pass are all released", caseMoreLostJobsThanFitIntoOnePassAre)
	add("a session that is closed with more jobs than fit into one pass hands all of them back", caseAClosedSessionHandsBackAllItsJobs)
	add("all jobs of a lost session, however many, name what ended it", caseAllJobsOfALostSessionNameWhatEndedIt)
	add("every job ends in exactly one way, and the live table forgets it", caseEveryJobEndsInExactlyOneWay)
}

func caseABatchIsEnqueuedWholeOrNotAtAll(b *bench) {
	b.task("good")
	for name, bad := range map[string]job.NewJob{
		"task":         {Task: "nobody"},
		"input":        {Task: "good", Input: json.RawMessage(`{`)},
		"max_attempts": {Task: "good", MaxAttempts: 101},
		"delay":        {Task: "good", Delay: -1},
		"queue":        {Task: "good", Queue: "nowhere"},
		"kind":         {Task: "good", Kind: task.KindCommand},
		"key":          {Task: "good", Key: "nul\x00"},
		"active_key":   {Task: "good", ActiveKey: strings.Repeat("k", core.MaxKey+1)},
		"key_window":   {Task: "good", Key: "k", KeyWindow: job.MaxKeyWindow + 1},
		"due_at":       {Task: "good", DueAt: Epoch.Add(-time.Hour)},
		"priority":     {Task: "good", Priority: new(core.MaxPriority + 1)},
		"tags":         {Task: "good", Tags: []string{"no spaces"}},
		"timeout":      {Task: "good", Timeout: 1},
	} {
		_, err := b.st.Enqueue(b.ctx, []job.NewJob{{Task: "good", Key: "first"}, bad, {Task: "good"}})
		code := core.Invalid
		if name == "task" {
			code = core.NotFound
		}
		wantCode(b, err, code, name)
	}
	want(b, "jobs", b.count(`select count(*) from belfry.jobs`), 0)
	want(b, "keys", b.count(`select count(*) from belfry.job_keys`), 0)
	want(b, "an empty batch", len(must(b.st.Enqueue(b.ctx, nil))(b)), 0)
}

func caseInputsBatchesAndTagsOverTheirLimitsAreRefused(b *bench) {
	b.task("t")
	full := json.RawMessage(`"` + strings.Repeat("x", core.MaxInput-2) + `"`)
	j := b.enqueue(job.NewJob{Task: "t", Input: full})
	want(b, "input kept", len(b.job(j.ID).Input), core.MaxInput)
	_, err := b.st.Enqueue(b.ctx, []job.NewJob{{Task: "t", Input: append(full, ' ')}})
	wantCode(b, err, core.Invalid, "input", "limit")
	deep := func(n int) json.RawMessage { return json.RawMessage(strings.Repeat("[", n) + strings.Repeat("]", n)) }
	b.enqueue(job.NewJob{Task: "t", Input: deep(core.MaxJSONDepth)})
	_, err = b.st.Enqueue(b.ctx, []job.NewJob{{Task: "t", Input: deep(core.MaxJSONDepth + 1)}})
	wantCode(b, err, core.Invalid, "input", "levels deep")
	var tags []string
	for i := range core.MaxTags + 1 {
		tags = append(tags, fmt.Sprint("tag", i))
	}
	b.enqueue(job.NewJob{Task: "t", Tags: tags[1:]})
	_, err = b.st.Enqueue(b.ctx, []job.NewJob{{Task: "t", Tags: tags}})
	wantCode(b, err, core.Invalid, "tags")
	_, err = b.st.Enqueue(b.ctx, slices.Repeat([]job.NewJob{{Task: "t"}}, core.MaxBatch+1))
	wantCode(b, err, core.TooLarge)
	most := core.MaxBatch
	if testing.Short() {
		most /= 10
	}
	want(b, "a full batch", len(must(b.st.Enqueue(b.ctx, slices.Repeat([]job.NewJob{{Task: "t"}}, most)))(b)), most)
}

func caseANewJobTakesMissingFieldsFromItsTask(b *bench) {
	must(b.st.SaveQueue(b.ctx, job.Queue{Name: "q"}))(b)
	b.task("t", func(t *task.Task) {
		t.Priority, t.Queue, t.Timeout, t.Tags = 4, "q", core.Duration(time.Minute), []string{"of-task"}
		t.Input, t.Retry.MaxAttempts = json.RawMessage(`{"of":"task"}`), 7
	})
	j := b.enqueue(job.NewJob{Task: "t"})
	if j.Priority != 4 || j.Queue != "q" || j.Timeout != core.Duration(time.Minute) || string(j.Input) != `{"of":"task"}` || j.MaxAttempts != 7 || !slices.Equal(j.Tags, []string{"of-task"}) {
		b.Fatalf("job with the defaults of its task: got %+v", j)
	}
	zero := 0
	j = b.enqueue(job.NewJob{Task: "t", Priority: &zero, Queue: "default", Timeout: core.Duration(time.Second), Tags: []string{"own"}, Input: json.RawMessage(`1`), MaxAttempts: 1})
	if j.Priority != 0 || j.Queue != "default" || j.Timeout != core.Duration(time.Second) || string(j.Input) != `1` || j.MaxAttempts != 1 || !slices.Equal(j.Tags, []string{"own"}) {
		b.Fatalf("job with values of its own: got %+v", j)
	}
	want(b, "answer and row", jsonOf(b.job(j.ID)), jsonOf(j))
}

func caseADelayedJobAndOneForAnInstantWait(b *bench) {
	b.task("t")
	d := b.enqueue(job.NewJob{Task: "t", Delay: core.Duration(time.Minute)})
	a := b.enqueue(job.NewJob{Task: "t", DueAt: Epoch.Add(2*time.Minute + 1)}) // a nanosecond more than is stored
	now := b.enqueue(job.NewJob{Task: "t", DueAt: Epoch.Add(-time.Second)})
	want(b, "in the near past", now.State, job.Ready)
	want(b, "delay", d.DueAt, Epoch.Add(time.Minute))
	want(b, "instant", a.DueAt, Epoch.Add(2*time.Minute))
	p := must(b.st.Promote(b.ctx))(b)
	want(b, "jobs promoted too early", p.Jobs, 0)
	want(b, "next promotion", p.NextAt, Epoch.Add(time.Minute))
	for _, j := range []job.Job{d, a} {
		b.wantState(j.ID, job.Scheduled)
		b.clock.Move(time.Minute)
		want(b, "jobs promoted on time", b.promote(), 1)
		b.wantState(j.ID, job.Ready)
	}
}

func caseAJobForAHandlerWithoutATaskMakes(b *bench) {
	_, err := b.st.Enqueue(b.ctx, []job.NewJob{{Task: "nobody"}})
	wantCode(b, err, core.NotFound, "nobody", "belfry task list")
	es := must(b.st.Enqueue(b.ctx, []job.NewJob{{Task: "fresh", Kind: task.KindFunc}, {Task: "fresh", Kind: task.KindFunc}, {Task: "fresh", Namespace: "other", Kind: task.KindFunc}}))(b)
	want(b, "jobs", len(es), 3)
	want(b, "tasks", b.count(`select count(*) from belfry.tasks where name = 'fresh'`), 2)
	t := must(b.st.Task(b.ctx, "default", "fresh"))(b)
	want(b, "kind", t.Kind, task.KindFunc)
	errs := make([]error, 8)
	together(len(errs), func(i int) {
		_, errs[i] = b.st.Enqueue(b.ctx, []job.NewJob{{Task: "rush", Kind: task.KindFunc}})
	})
	for _, err := range errs {
		ok(b, err)
	}
	want(b, "tasks made at once", b.count(`select count(*) from belfry.tasks where name = 'rush'`), 1)
	want(b, "their jobs", b.count(`select count(*) from belfry.jobs where task = 'rush'`), len64(errs))
}

func caseWithinItsWindowAnIdempotencyKeyAnswersTheFirst(b *bench) {
	b.task("t")
	first := b.ask(job.NewJob{Task: "t", Key: "k", KeyWindow: core.Duration(time.Hour), Input: json.RawMessage(`1`)})
	want(b, "first", first.Existing, false)
	want(b, "key", first.Job.Key, "k")
	for _, other := range []job.NewJob{{Task: "t", Key: "k", Input: json.RawMessage(`2`)}, {Task: "t", Key: "k"}, {Task: "t", Key: "k", Input: json.RawMessage(`1`), Tags: []string{"x"}}} {
		_, err := b.st.Enqueue(b.ctx, []job.NewJob{other})
		wantCode(b, err, core.Conflict, fmt.Sprint("belongs to job ", first.Job.ID))
	}
	_, err := b.st.Enqueue(b.ctx, []job.NewJob{{Task: "t", Key: "new", Input: json.RawMessage(`1`)}, {Task: "t", Key: "new", Input: json.RawMessage(`2`)}})
	wantCode(b, err, core.Conflict, "new")
	asked := job.NewJob{Task: "t", Key: "k", Input: json.RawMessage(`1`)}
	again := b.ask(asked)
	want(b, "repeated request gets the existing job", again.Existing, true)
	want(b, "the first one", jsonOf(again.Job), jsonOf(first.Job))
	want(b, "in another namespace", b.ask(job.NewJob{Task: "t2", Kind: task.KindFunc, Namespace: "other", Key: "k"}).Existing, false)
	b.settle("t", job.OutcomeOK)
	b.clock.Move(time.Hour - time.Microsecond)
	again = b.ask(asked)
	want(b, "repeated request after the end gets the existing job", again.Existing, true)
	want(b, "state of the existing job", again.Job.State, job.Succeeded)
	want(b, "kept", again.Removed, false)
	b.sql(`delete from belfry.jobs_done`)
	again = b.ask(asked)
	want(b, "repeated request after the job's removal", fmt.Sprint(again.Job.ID, again.Job.Task, again.Existing, again.Removed), fmt.Sprint(first.Job.ID, "t", true, true))
	b.clock.Move(time.Microsecond)
	fresh := b.ask(asked)
	want(b, "after the window", fresh.Existing, false)
	if fresh.Job.ID == first.Job.ID {
		b.Fatal("the request after the window got the job of the first")
	}
	want(b, "now the new one has it", b.ask(asked).Job.ID, fresh.Job.ID)
	spelled := func(input string) job.NewJob {
		return job.NewJob{Task: "t", Key: "spelled", Input: json.RawMessage(input)}
	}
	first = b.ask(spelled(`{"a":"x","b":[1.50,{"x":null,"y":9007199254740993}]}`))
	again = b.ask(spelled(`{ "b": [1.50, {"y": 9007199254740993, "x": null}], "a": "\u0078" }`))
	want(b, "repeated request with another spelling", fmt.Sprint(again.Existing, again.Job.ID), fmt.Sprint(true, first.Job.ID))
	_, err = b.st.Enqueue(b.ctx, []job.NewJob{spelled(`{"a":"x","b":[1.50,{"x":null,"y":9007199254740992}]}`)})
	wantCode(b, err, core.Conflict, "spelled")
}

func caseAttemptsOfARunAreRefused(b *bench) {
	b.task("t")
	for _, t := range []task.Task{
		{Name: "steps", Workflow: &task.Workflow{Steps: []task.Step{{Name: "only", Task: "t"}}}},
		{Name: "members", Cycle: &task.Cycle{Members: []task.Member{{Task: "t"}}}},
	} {
		must(b.st.CreateTask(b.ctx, t))(b)
		_, err := b.st.Enqueue(b.ctx, []job.NewJob{{Task: t.Name, MaxAttempts: 3}})
		wantCode(b, err, core.Invalid, `max_attempts "3": must be left out`, "set max_attempts of its "+t.Name)
		j := b.enqueue(job.NewJob{Task: t.Name})
		b.cancel(j.ID)
		want(b, "run again without a key gets an existing job", must(b.st.RunJobAgain(b.ctx, "default", j.ID, job.RunAgain{}))(b).Existing, false)
	}
}

func caseTheSameKeyTwiceInOneBatchMakesOne(b *bench) {
	b.task("t")
	es := must(b.st.Enqueue(b.ctx, []job.NewJob{{Task: "t", Key: "k"}, {Task: "t", Key: "other"}, {Task: "t", Key: "k"}, {Task: "t", ActiveKey: "a"}, {Task: "t", ActiveKey: "a"}}))(b)
	for i, e := range es {
		want(b, fmt.Sprint("existing ", i), e.Existing, i == 2 || i == 4)
	}
	want(b, "key", es[2].Job.ID, es[0].Job.ID)
	want(b, "active key", es[4].Job.ID, es[3].Job.ID)
	want(b, "jobs", b.count(`select count(*) from belfry.jobs`), 3)
}

func caseJobsAskedForAtOnceWithTheSameKey(b *bench) {
	b.task("t")
	for _, n := range []job.NewJob{{Task: "t", Key: "k"}, {Task: "t", ActiveKey: "a"}, {Task: "t", Key: "both", ActiveKey: "both"}} {
		ids, errs := make([]int64, 12), make([]error, 12)
		together(len(ids), func(i int) {
			es, err := b.st.Enqueue(b.ctx, []job.NewJob{n})
			if errs[i] = err; err == nil {
				ids[i] = es[0].Job.ID
			}
		})
		for i := range ids {
			ok(b, errs[i])
			want(b, "id", ids[i], ids[0])
		}
	}
	want(b, "jobs", b.count(`select count(*) from belfry.jobs`), 3)
}

func caseBatchesWithTheSameKeysInDifferentOrdersDo(b *bench) {
	b.task("t")
	errs := make([]error, 8)
	together(len(errs), func(i int) {
		var ns []job.NewJob
		for k := range 20 {
			ns = append(ns, job.NewJob{Task: "t", Key: fmt.Sprint("k", k)})
		}
		if i%2 == 1 {
			slices.Reverse(ns)
		}
		_, errs[i] = b.st.Enqueue(b.ctx, ns)
	})
	for _, err := range errs {
		ok(b, err)
	}
	want(b, "jobs", b.count(`select count(*) from belfry.jobs`), 20)
}

func caseAnActiveKeyLetsOneJobLive(b *bench) {
	b.task("t", func(t *task.Task) { t.Retry.MaxAttempts = 3 })
	b.task("u")
	n := job.NewJob{Task: "t", ActiveKey: "a"}
	first := b.ask(n)
	held := func(state job.State) {
		b.Helper()
		e := b.ask(job.NewJob{Task: "u", ActiveKey: "a"})
		want(b, "existing", e.Existing, true)
		want(b, "holder", e.Job.ID, first.Job.ID)
		want(b, "state of the holder", e.Job.State, state)
	}
	held(job.Ready)
	s := b.session("t")
	c := b.claim(s, 1)
	held(job.Running)
	b.finish(s, c.Jobs[0], job.OutcomeError)
	held(job.Scheduled)
	b.clock.Move(10 * time.Second)
	b.promote()
	held(job.Ready)
	b.settle("t", job.OutcomeError)
	held(job.Scheduled)
	b.clock.Move(20 * time.Second)
	b.promote()
	want(b, "end", b.settle("t", job.OutcomeError).State, job.Failed)
	second := b.ask(n)
	want(b, "request after the key is free gets the old job", second.Existing, false)
	left := b.retry(first.Job.ID).Left
	if !strings.Contains(left[first.Job.ID], "active key") {
		b.Fatalf("reason not to retry: got %+v, want the active key", left)
	}
	b.wantState(first.Job.ID, job.Failed)
	b.cancel(second.Job.ID)
	want(b, "retried", len(b.retry(first.Job.ID).IDs), 1)
	held(job.Ready)
	want(b, "other namespaces", b.ask(job.NewJob{Task: "t", Kind: task.KindFunc, Namespace: "other", ActiveKey: "a"}).Existing, false)
}

func caseAJobAskedForWithBothKeysAnswersWhoever(b *bench) {
	b.task("t")
	live := b.ask(job.NewJob{Task: "t", ActiveKey: "a"})
	es := must(b.st.Enqueue(b.ctx, []job.NewJob{{Task: "t", Key: "k", ActiveKey: "a"}, {Task: "t", Key: "k", ActiveKey: "a"}, {Task: "t", Key: "k", ActiveKey: "a"}}))(b)
	for i, e := range es {
		want(b, fmt.Sprint("existing ", i), e.Existing, true)
		want(b, fmt.Sprint("holder ", i), jsonOf(e.Job), jsonOf(live.Job))
	}
	b.settle("t", job.OutcomeOK)
	e := b.ask(job.NewJob{Task: "t", Key: "k", ActiveKey: "a"})
	want(b, "the key outlives the job", e.Existing, true)
	want(b, "job of the idempotency key", e.Job.ID, live.Job.ID)
	e = b.ask(job.NewJob{Task: "t", Key: "k2", ActiveKey: "a"})
	want(b, "a new key", e.Existing, false)
}

func caseBulkCancelAndRetryDoWhatFits(b *bench) {
	b.task("t", func(t *task.Task) { t.Retry.MaxAttempts = 1 })
	dead := b.enqueue(job.NewJob{Task: "t", Tags: []string{"x"}}).ID
	b.settle("t", job.OutcomeError)
	done := b.enqueue(job.NewJob{Task: "t"}).ID
	b.settle("t", job.OutcomeOK)
	waits := b.enqueue(job.NewJob{Task: "t", Tags: []string{"x"}}).ID
	other := b.ask(job.NewJob{Task: "t", Kind: task.KindFunc, Namespace: "other"}).Job.ID
	dry := must(b.st.CancelJobs(b.ctx, "default", view.Selection{IDs: []int64{dead, waits, other, 1 << 40}, DryRun: true}))(b)
	if !slices.Equal(dry.IDs, []int64{waits}) || len(dry.Left) != 3 || !strings.Contains(dry.Left[dead], "failed") {
		b.Fatalf("dry run: got %+v, want the waiting job alone, and a reason for the others", dry)
	}
	b.wantState(waits, job.Ready)
	sel := must(b.st.CancelJobs(access.WithActor(b.ctx, "ada"), "default", view.Selection{Filter: &job.Filter{Tag: "x"}, Note: "no more"}))(b)
	want(b, "canceled", fmt.Sprint(sel.IDs), fmt.Sprint([]int64{waits}))
	j := b.wantState(waits, job.Canceled)
	want(b, "note", j.Note, "canceled by ada: no more")
	b.wantState(other, job.Ready)
	got := must(b.st.RetryJobs(b.ctx, "default", view.Selection{IDs: []int64{dead, done, waits}, DryRun: true}))(b)
	want(b, "dry retry", fmt.Sprint(got.IDs), fmt.Sprint([]int64{dead, waits}))
	b.wantState(dead, job.Failed)
	want(b, "bulk retry takes the dead", fmt.Sprint(must(b.st.RetryJobs(b.ctx, "default", view.Selection{Filter: &job.Filter{}}))(b).IDs), fmt.Sprint([]int64{dead}))
	b.wantState(waits, job.Canceled)
	_, err := b.st.CancelJobs(b.ctx, "default", view.Selection{})
	wantCode(b, err, core.Invalid, "ids")
}

func caseAnExhaustedJobIsNeverClaimedAgainByItself(b *bench) {
	b.task("poison", func(t *task.Task) { t.Retry.MaxAttempts = 5; t.Retry.Delay = core.Duration(time.Second) })
	b.schedule("tick", "poison", every(24*time.Hour))
	b.fire()
	tries := 0
	for range 200 {
		b.clock.Move(time.Minute)
		b.promote()
		s := b.session("poison")
		for _, j := range b.claim(s, 5).Jobs {
			tries++
			b.finish(s, j, job.OutcomeError)
		}
	}
	want(b, "tries", tries, 5)
	j := b.jobsOf("tick")[0]
	if j.State != job.Failed || j.Reason != schedule.ReasonExhausted || j.Error != "it broke" || j.FinishedAt.IsZero() {
		b.Fatalf("exhausted job: got %+v, want failed, with its last error", j)
	}
	b.clock.Move(24*time.Hour - 200*time.Minute)
	want(b, "jobs of the next occurrence", b.fire().Jobs, 1)
}

func caseAJobThatMustNotStartTwiceFailsWhen(b *bench) {
	b.task("once", func(t *task.Task) { t.Retry.OnLost = task.OnLostFail; t.Retry.MaxAttempts = 9 })
	j := b.enqueue(job.NewJob{Task: "once"})
	b.claim(b.session("once"), 1)
	b.clock.Move(lost)
	b.release()
	want(b, "reason", b.wantState(j.ID, job.Failed).Reason, schedule.ReasonLost)
}

// A worker that comes back after a power cut reports it itself, before its session ends.
func caseAWorkerSaysThatAnAttemptWasCutOff(b *bench) {
	cut := func(f *job.Finish) { f.Error, f.StartedIn = "cut off", core.Duration(time.Second) }
	for _, c := range []struct {
		onLost task.OnLost
		state  job.State
		reason core.Reason
	}{
		{task.OnLostFail, job.Failed, schedule.ReasonLost},
		{task.OnLostRetry, job.Ready, ""},
	} {
		name := string("cut-" + c.onLost)
		b.task(name, func(t *task.Task) { t.Retry.OnLost, t.Retry.Infra, t.Retry.MaxAttempts = c.onLost, 2, 5 })
		j := b.enqueue(job.NewJob{Task: name})
		s := b.session(name)
		b.finish(s, b.claim(s, 1).Jobs[0], job.OutcomeLost, cut)
		if got := b.wantState(j.ID, c.state); got.Reason != c.reason || got.Error != "cut off" {
			b.Errorf("job cut off, %s: got reason %s and error %q", name, got.Reason, got.Error)
		}
		as := must(b.st.Attempts(b.ctx, "default", j.ID))(b)
		if len(as) != 1 || as[0].Outcome != job.OutcomeLost || as[0].Error != "cut off" {
			b.Errorf("attempts of %s: got %+v, want 1, lost and cut off", name, as)
		}
	}
}

func caseMoreLostJobsThanFitIntoOnePassAre(b *bench) {
	b.task("t", func(t *task.Task) { t.Retry.MaxAttempts = 1 })
	const n = 600
	must(b.st.Enqueue(b.ctx, slices.Repeat([]job.NewJob{{Task: "t"}}, n)))(b)
	s := b.session("t")
	want(b, "claimed", len(b.claim(s, n).Jobs), n)
	b.clock.Move(lost)
	released := 0
	for more := true; more; {
		r := must(b.st.ReleaseLost(b.ctx))(b)
		released, more = released+r.Jobs, r.More
	}
	want(b, "released", released, n)
	want(b, "live", b.count(`select count(*) from belfry.jobs`), 0)
}

func caseAClosedSessionHandsBackAllItsJobs(b *bench) {
	b.task("t", func(t *task.Task) { t.Retry.OnLost = task.OnLostFail })
	const n = 1100
	must(b.st.Enqueue(b.ctx, slices.Repeat([]job.NewJob{{Task: "t"}}, n)))(b)
	handedBack := func() { // and not ended as lost, although their task says that it must not start twice
		b.Helper()
		for more := true; more; {
			more = must(b.st.ReleaseLost(b.ctx))(b).More
		}
		want(b, "ready", b.count(`select count(*) from belfry.jobs where state = 'ready' and failures + infra = 0`), n)
		want(b, "ended", b.count(`select count(*) from belfry.jobs_done`), 0)
	}
	s := b.session("t")
	want(b, "claimed", len(b.claim(s, n).Jobs), n)
	ok(b, b.st.CloseSession(b.ctx, s.ID))
	want(b, "leases", b.count(`select count(*) from belfry.running`), 0)
	handedBack()

	s = b.session("t")
	want(b, "claimed again", len(b.claim(s, n).Jobs), n)
	b.sql(`update belfry.sessions set ended_at = $2 where id = $1`, s.ID, base.Micros(b.clock.Now())) // its node stopped after that
	handedBack()
}

func caseAllJobsOfALostSessionNameWhatEndedIt(b *bench) {
	b.task("t", func(t *task.Task) { t.Retry.OnLost = task.OnLostFail })
	const n = 1100 // several passes
	for why, lose := range map[string]func(token int64){
		"its worker was lost: the session did not renew in time":                func(int64) { b.lose() },
		"its worker was lost: the token of its session was revoked":             func(token int64) { ok(b, b.st.RevokeToken(b.ctx, token)) },
		"its worker was lost: the node that it ran in has ended without a word": func(int64) { ok(b, b.st.TakeUp(b.ctx)) },
	} {
		w := job.WorkerInfo{Name: "tester", Kinds: []task.Kind{task.KindFunc}, Funcs: []string{"t"}, Queues: map[string]int{"default": n}}
		if strings.Contains(why, "token") {
			t, _, err := b.st.CreateToken(b.ctx, access.Token{Name: "worker", Scopes: []access.Scope{access.ScopeWorker}})
			ok(b, err)
			w.Token = t.ID
		}
		s := must(b.st.OpenSession(b.ctx, w))(b)
		must(b.st.Enqueue(b.ctx, slices.Repeat([]job.NewJob{{Task: "t"}}, n)))(b)
		for left := n; left > 0; {
			got := len(b.claim(s, left).Jobs)
			if left -= got; got == 0 {
				b.Fatalf("%d jobs are not claimed", left)
			}
		}
		lose(w.Token)
		for more := true; more; {
			more = must(b.st.ReleaseLost(b.ctx))(b).More
		}
		want(b, "jobs that say "+why, b.count(`select count(*) from belfry.jobs_done where error = '`+why+`'`), n)
	}
}

func caseEveryJobEndsInExactlyOneWay(b *bench) {
	b.task("t", func(t *task.Task) { t.Retry.MaxAttempts = 1 })
	b.schedule("s", "t", every(time.Hour))
	b.fire()
	must(b.st.PauseSchedule(b.ctx, "default", "s", ""))(b)
	for _, o := range []job.Outcome{job.OutcomeOK, job.OutcomeError, job.OutcomeCanceled} {
		b.enqueue(job.NewJob{Task: "t"})
		b.settle("t", o)
	}
	want(b, "live", b.count(`select count(*) from belfry.jobs`), 0)
	for _, st := range []string{"succeeded", "failed", "canceled", "skipped"} {
		want(b, st, b.count(`select count(*) from belfry.jobs_done where state = $1`, st), 1)
	}
}

func len64[T any](s []T) int64 { return int64(len(s)) }

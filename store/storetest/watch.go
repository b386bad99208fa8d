package storetest

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/belfry-run/belfry/access"
	"github.com/belfry-run/belfry/core"
	"github.com/belfry-run/belfry/job"
	"github.com/belfry-run/belfry/schedule"
	"github.com/belfry-run/belfry/store/base"
	"github.com/belfry-run/belfry/task"
	"github.com/belfry-run/belfry/view"
)

// watcher follows events as a stream does.
type watcher struct {
	b         *bench
	namespace string
	cursor    string
	jobs      map[int64][]job.State
	edits     []string
	checks    []string
}

func (b *bench) watch(namespace string) *watcher {
	b.Helper()
	events, cursor, err := b.st.Events(b.ctx, namespace, "", 0)
	ok(b, err)
	want(b, "events of the past", len(events), 0)
	return &watcher{b: b, namespace: namespace, cursor: cursor, jobs: map[int64][]job.State{}}
}

// look reads all events since the last look, page by page.
func (w *watcher) look() {
	w.b.Helper()
	for range 1000 {
		events, next, err := w.b.st.Events(w.b.ctx, w.namespace, w.cursor, 0)
		ok(w.b, err)
		w.cursor = next
		for _, e := range events {
			switch {
			case e.Job != nil:
				w.jobs[e.Job.ID] = append(w.jobs[e.Job.ID], e.Job.State)
			case e.Check != nil:
				w.checks = append(w.checks, fmt.Sprint(e.Check.Monitor, " ", e.Check.Outcome, " ", e.Check.Status))
			default:
				w.edits = append(w.edits, e.Edit.Action+" "+e.Edit.Noun+" "+e.Edit.Name)
			}
		}
		if len(events) == 0 {
			return
		}
	}
	w.b.Fatal("the event stream does not end")
}

func init() {
	add("a watch shows a job created, claimed and ended, once each, and nothing of the past", caseAWatchShowsEachChangeOfAJob)
	add("a watch misses nothing when hundreds of jobs change in one instant", caseAWatchMissesNoneOfHundreds)
	add("a watch shows the end of a job that was created, claimed and ended between two reads", caseAWatchShowsTheEndOfAShortJob)
	add("a watch shows the edits of its namespace and none of another", caseAWatchShowsTheEditsOfItsNamespace)
	add("a watch shows the assessed checks of its namespace, once each", caseAWatchShowsTheChecksOfItsNamespace)
	add("a waiting watch is woken by a change", caseAWaitingWatchIsWoken)
	add("a watch from a position that a restore has lost is refused, and one of an idle database goes on", caseAWatchOfALostTimeIsRefused)
	add("why names each thing that can stand in a job's way, and the way out", caseWhyNamesEachThingThatCanStandInA)
	add("a job that was put off after a failure says that it was put off", caseAJobThatWasPutOffSaysSo)
	add("a watch of one namespace shows its own changes and those of queues, and no token of another", caseAWatchOfOneNamespaceShowsNoOther)
	add("health says what database, schema and clock there are, and how late schedules are fired", caseHealthSaysWhatDatabase)
	add("every change leaves a row that says who, what, before and after, and a refused one leaves none", caseEveryChangeLeavesARowThatSaysWho)
	add("a token is shown once and kept as a hash; unknown, expired and revoked ones are told apart", caseATokenIsShownOnceAndKeptAsA)
	add("unusable tokens are pruned after a month", caseTokensThatNobodyCanUseAnyMoreArePruned)
}

func caseAWatchShowsEachChangeOfAJob(b *bench) {
	b.task("t")
	b.enqueue(job.NewJob{Task: "t"})
	b.settle("t", job.OutcomeOK)
	w := b.watch("default")
	j := b.enqueue(job.NewJob{Task: "t"})
	w.look()
	b.clock.Move(time.Second)
	s := b.session("t")
	c := b.claim(s, 1)
	w.look()
	b.clock.Move(time.Second)
	b.finish(s, c.Jobs[0], job.OutcomeOK)
	w.look()
	want(b, "states", fmt.Sprint(w.jobs), fmt.Sprint(map[int64][]job.State{j.ID: {job.Ready, job.Running, job.Succeeded}}))
}

func caseAWatchMissesNoneOfHundreds(b *bench) {
	const n = 500
	b.task("t")
	w := b.watch("default")
	must(b.st.Enqueue(b.ctx, slices.Repeat([]job.NewJob{{Task: "t"}}, n)))(b)
	w.look()
	s := b.session("t")
	c := b.claim(s, n)
	w.look()
	fs := make([]job.Finish, n)
	for i, j := range c.Jobs {
		fs[i] = job.Finish{Ref: refOf(j), Outcome: job.OutcomeOK}
	}
	must(b.st.Finish(b.ctx, s.ID, fs))(b)
	w.look()
	want(b, "jobs seen", len(w.jobs), n)
	for id, states := range w.jobs {
		if !slices.Equal(states, []job.State{job.Ready, job.Running, job.Succeeded}) {
			b.Fatalf("states of job %d: got %v, want ready, running, succeeded", id, states)
		}
	}
}

func caseAWatchShowsTheEndOfAShortJob(b *bench) {
	b.task("t")
	w := b.watch("default")
	var ids []int64
	for range 3 {
		ids = append(ids, b.enqueue(job.NewJob{Task: "t"}).ID)
		b.settle("t", job.OutcomeOK)
	}
	w.look()
	for _, id := range ids {
		if states := w.jobs[id]; len(states) == 0 || states[len(states)-1] != job.Succeeded {
			b.Fatalf("states of job %d: got %v, want succeeded at the end", id, states)
		}
	}
}

func caseAWatchShowsTheEditsOfItsNamespace(b *bench) {
	w, all := b.watch("default"), b.watch(core.AnyNamespace)
	b.task("t")
	b.task("u", func(t *task.Task) { t.Namespace = "other" })
	b.ask(job.NewJob{Task: "u", Namespace: "other"})
	w.look()
	all.look()
	want(b, "edits seen", strings.Join(w.edits, ","), "create task t")
	want(b, "jobs seen", len(w.jobs), 0)
	want(b, "all seen", strings.Join(all.edits, ","), "create task t,create task u")
	want(b, "all jobs seen", len(all.jobs), 1)
}

func caseAWatchShowsTheChecksOfItsNamespace(b *bench) {
	c := b.checker()
	b.monitor("site")
	c.turn("site", passed)
	w, other := b.watch("default"), b.watch("other")
	c.turn("site", passed)
	w.look()
	c.turn("site", failed)
	c.turn("site", failed)
	w.look()
	w.look()
	other.look()
	want(b, "checks seen", strings.Join(w.checks, ", "), "site ok up, site fail up, site fail down")
	want(b, "checks seen in another namespace", len(other.checks), 0)
	for range 300 { // more than are kept
		c.turn("site", passed)
	}
	w.checks = nil
	w.look()
	if n := len(w.checks); n < 200 || n > 300 {
		b.Errorf("events of the last 300 checks: got %d, want 200 to 300", n)
	}
}

func caseAWaitingWatchIsWoken(b *bench) {
	w := b.watch("default")
	got := make(chan int, 1)
	go func() {
		events, _, _ := b.st.Events(b.ctx, "default", w.cursor, 30*time.Second)
		got <- len(events)
	}()
	b.task("t")
	want(b, "events", <-got, 1)
	for _, cursor := range []string{"!", "bm9uZQ", "WyJhIiwiYiIsImMiLCJkIl0"} {
		_, _, err := b.st.Events(b.ctx, "default", cursor, 0)
		wantCode(b, err, core.Invalid, "cursor", "leave it out to begin now")
	}
}

func caseAWatchOfALostTimeIsRefused(b *bench) {
	b.task("t")
	b.enqueue(job.NewJob{Task: "t"})
	b.settle("t", job.OutcomeOK)
	w := b.watch("default")
	parts := must(base.DecodeCursor(w.cursor, 8))(b)
	for i, of := range map[int]string{0: "audit", 1: "jobs"} {
		ahead := slices.Clone(parts)
		ahead[i] = strconv.Itoa(must(strconv.Atoi(parts[i]))(b) + 5)
		_, _, err := b.st.Events(b.ctx, "default", base.EncodeCursor(ahead...), 0)
		b.Log("a position that is ahead in", of)
		wantCode(b, err, core.Invalid, "is ahead of the database", "it was restored")
	}
	b.clock.Move(500 * 24 * time.Hour) // beyond what is kept of jobs and of the audit
	for must(b.st.Prune(b.ctx))(b) {
	}
	w.look()
}

func caseAJobThatWasPutOffSaysSo(b *bench) {
	b.task("t", func(t *task.Task) { t.Retry.MaxAttempts, t.Retry.Delay = 3, core.Duration(time.Minute) })
	id := b.enqueue(job.NewJob{Task: "t"}).ID
	s := b.session("t")
	b.finish(s, b.claim(s, 1).Jobs[0], job.OutcomeError)
	retried := must(b.st.Why(b.ctx, "default", id))(b)
	want(b, "a retry is put off", retried.Job.Snoozed(), false)
	want(b, "a retry", strings.Contains(retried.Summary, "for its next try after 1 failed"), true)
	b.clock.Move(time.Minute)
	b.promote()
	s = b.session("t")
	b.finish(s, b.claim(s, 1).Jobs[0], job.OutcomeSnoozed, func(f *job.Finish) { f.Snooze = core.Duration(time.Hour) })
	asleep := must(b.st.Why(b.ctx, "default", id))(b)
	want(b, "it is put off", asleep.Job.Snoozed(), true)
	want(b, "put off", strings.Contains(asleep.Summary, "its last attempt put it off until then"), true)
	want(b, "a try", strings.Contains(asleep.Summary, "next try"), false)
}

func caseWhyNamesEachThingThatCanStandInA(b *bench) {
	must(b.st.SaveQueue(b.ctx, job.Queue{Name: "one", GlobalLimit: 1}))(b)
	b.task("t", func(t *task.Task) { t.Retry.MaxAttempts = 2; t.Retry.Delay = core.Duration(time.Hour) })
	b.task("shell", func(t *task.Task) { t.Kind = task.KindCommand; t.Command = &task.Command{Shell: "true"} })
	why := func(id int64, words ...string) job.Why {
		b.Helper()
		w := must(b.st.Why(b.ctx, "default", id))(b)
		for _, word := range words {
			if !strings.Contains(w.Summary+" | "+w.Next, word) {
				b.Fatalf("why of job %d: got %q, then %q, want %q", id, w.Summary, w.Next, word)
			}
		}
		return w
	}
	id := b.enqueue(job.NewJob{Task: "t"}).ID
	why(id, "Waiting: no worker is alive", "belfry serve")
	later := b.enqueue(job.NewJob{Task: "t", Delay: core.Duration(time.Hour)}).ID
	why(later, "its time has not come", "2026-03-02 13:00:00 UTC", "wait")
	must(b.st.OpenSession(b.ctx, job.WorkerInfo{Name: "w", Namespace: "other", Kinds: []task.Kind{task.KindFunc}, Queues: map[string]int{"checks": 1}}))(b)
	why(id, "no worker serves queue default")
	must(b.st.OpenSession(b.ctx, job.WorkerInfo{Name: "w", Namespace: "other", Kinds: []task.Kind{task.KindFunc}, Queues: map[string]int{"default": 1}}))(b)
	why(id, "no worker runs namespace default")
	must(b.st.OpenSession(b.ctx, job.WorkerInfo{Name: "w", Kinds: []task.Kind{task.KindHTTP}, Queues: map[string]int{"default": 1}}))(b)
	why(id, "no worker runs kind func")
	why(b.enqueue(job.NewJob{Task: "shell"}).ID, "no worker runs kind command", "--allow-commands")
	b.session("another")
	why(id, "no worker has handler t")
	s := b.session("t")
	w := why(id, "Nothing stands in its way")
	if len(w.Workers) != 1 || !strings.Contains(w.Workers[0], s.ID) {
		b.Fatalf("workers: got %v, want the session %s", w.Workers, s.ID)
	}
	var others []string
	for range job.ShownWorkers + 1 {
		others = append(others, b.session("t").ID)
	}
	w = why(id, "Nothing stands in its way")
	want(b, "workers that are named, and others", fmt.Sprint(len(w.Workers), w.More), fmt.Sprint(job.ShownWorkers, 2))
	for _, other := range others {
		ok(b, b.st.CloseSession(b.ctx, other))
	}
	ok(b, b.st.DrainWorker(b.ctx, s.ID))
	why(id, "all workers that fit drain")
	s = b.session("t")
	must(b.st.PauseQueue(access.WithActor(b.ctx, "ada"), "default", "rack move"))(b)
	why(id, "queue is paused", "ada", "rack move", "belfry queue resume default")
	must(b.st.ResumeQueue(b.ctx, "default"))(b)
	behind := b.enqueue(job.NewJob{Task: "t"}).ID
	why(behind, "other jobs go first", "2 ahead")

	c := b.claim(s, 1)
	why(id, "It runs", "attempt 1", "tester", fmt.Sprint("belfry job logs -f ", id))
	b.cancel(id)
	why(id, "asked to end")
	b.finish(s, c.Jobs[0], job.OutcomeCanceled)
	why(id, "was canceled", "belfry job retry")

	must(b.st.OpenSession(b.ctx, job.WorkerInfo{Name: "w", Kinds: []task.Kind{task.KindFunc}, Funcs: []string{"t"}, Queues: map[string]int{"one": 5}}))(b)
	must(b.st.Enqueue(b.ctx, []job.NewJob{{Task: "t", Queue: "one"}}))(b)
	limited := b.enqueue(job.NewJob{Task: "t", Queue: "one"}).ID
	must(b.st.Claim(b.ctx, job.ClaimRequest{Session: s.ID, Want: map[string]int{"one": 1}}))(b)
	why(limited, "queue is at its global limit", "1 of 1 running")

	c = b.claim(s, 1)
	b.finish(s, c.Jobs[0], job.OutcomeError)
	why(behind, "for its next try after 1 failed", "it broke")
	b.clock.Move(2 * time.Hour)
	why(behind, "which has passed", "engine")
	_, err := b.st.Why(b.ctx, "other", id)
	wantCode(b, err, core.NotFound)
}

func caseAWatchOfOneNamespaceShowsNoOther(b *bench) {
	cursors := map[string]string{}
	for _, ns := range []string{"default", core.AnyNamespace} {
		_, cursors[ns], _ = b.st.Events(b.ctx, ns, "", 0)
	}
	t, _, err := b.st.CreateToken(b.ctx, access.Token{Name: "secret-plan", Namespace: "other", Scopes: []access.Scope{access.ScopeRead}})
	ok(b, err)
	ok(b, b.st.RevokeToken(b.ctx, t.ID))
	own, _, err := b.st.CreateToken(b.ctx, access.Token{Name: "ours", Scopes: []access.Scope{access.ScopeRead}})
	ok(b, err)
	must(b.st.SaveQueue(b.ctx, job.Queue{Name: "heavy"}))(b)
	must(b.st.CreateTask(b.ctx, task.Task{Name: "theirs", Namespace: "other"}))(b)
	for ns, told := range map[string]string{"default": "create token 2, create queue heavy", core.AnyNamespace: "create token 1, revoke token 1, create token 2, create queue heavy, create task theirs"} {
		events, _, err := b.st.Events(b.ctx, ns, cursors[ns], 0)
		ok(b, err)
		var got []string
		for _, e := range events {
			got = append(got, strings.TrimSpace(fmt.Sprintf("%s %s %s", e.Edit.Action, e.Edit.Noun, strings.NewReplacer(fmt.Sprint(t.ID), "1", fmt.Sprint(own.ID), "2").Replace(e.Edit.Name))))
		}
		want(b, ns, strings.Join(got, ", "), told)
		want(b, "plans that "+ns+" is told", strings.Count(jsonOf(events), "secret-plan"), map[string]int{"default": 0, core.AnyNamespace: 2}[ns])
	}
}

func caseHealthSaysWhatDatabase(b *bench) {
	b.task("t")
	b.schedule("s", "t", every(time.Minute))
	b.session("t")
	b.clock.Move(90 * time.Second)
	h := must(b.st.Health(b.ctx))(b)
	if h.Database == "" || h.SchemaVersion == 0 || h.SchemaVersion != h.SchemaWanted || !h.Now.Equal(b.clock.Now()) || h.Workers != 0 && h.Workers != 1 || h.Wakeups == "" {
		b.Fatalf("health: got %+v, want the database, the schema and the time", h)
	}
	want(b, "lag", h.ScheduleLag, 90*time.Second)
	want(b, "workers that lived too long ago", h.Workers, 0)
	b.fire()
	want(b, "lag after firing", must(b.st.Health(b.ctx))(b).ScheduleLag, 0)
}

func caseEveryChangeLeavesARowThatSaysWho(b *bench) {
	ctx := access.WithActor(b.ctx, "ada")
	t := must(b.st.CreateTask(ctx, task.Task{Name: "t"}))(b)
	t2 := must(b.st.UpdateTask(ctx, task.Task{Name: "t", Description: "x"}))(b)
	sc := must(b.st.CreateSchedule(ctx, schedule.Schedule{Name: "s", Task: "t", Rules: []schedule.Rule{{Cron: "0 3 * * *"}}}))(b)
	sc2 := sc
	sc2.Description = "y"
	sc2 = must(b.st.UpdateSchedule(ctx, sc2))(b)
	must(b.st.PauseSchedule(ctx, "default", "s", "why not"))(b)
	must(b.st.PauseSchedule(ctx, "default", "s", "twice"))(b)
	must(b.st.ResumeSchedule(ctx, "default", "s", false))(b)
	must(b.st.TriggerSchedule(ctx, "default", "s", job.RunNow{}))(b)
	j := b.enqueue(job.NewJob{Task: "t"})
	must(b.st.CancelJobs(ctx, "default", view.Selection{IDs: []int64{j.ID}, Note: "oops"}))(b)
	must(b.st.RetryJobs(ctx, "default", view.Selection{IDs: []int64{j.ID}}))(b)
	ok(b, b.st.DeleteSchedule(ctx, "default", "s"))
	_, err := b.st.CreateTask(ctx, task.Task{Name: "t"})
	wantCode(b, err, core.Conflict)
	ok(b, b.st.DeleteTask(ctx, "default", "t"))
	p := must(b.st.Audit(b.ctx, access.AuditFilter{}))(b)
	slices.Reverse(p.Items)
	var got []string
	for _, a := range p.Items {
		want(b, "actor", a.Actor, "ada")
		want(b, "time", a.At, Epoch)
		got = append(got, a.Action+" "+a.Noun+" "+a.Name)
	}
	want(b, "rows", strings.Join(got, ", "), strings.Join([]string{"create task t", "update task t", "create schedule s", "update schedule s", "pause schedule s",
		"resume schedule s", "trigger schedule s", fmt.Sprint("cancel job ", j.ID), fmt.Sprint("retry job ", j.ID), "delete schedule s", "delete task t"}, ", "))
	for i, c := range []struct{ before, after any }{{nil, t}, {t, t2}, {nil, sc}, {sc, sc2}} {
		want(b, "definition before the change", string(p.Items[i].Before), docOf(c.before))
		want(b, "definition after the change", string(p.Items[i].After), docOf(c.after))
	}
	want(b, "note", p.Items[4].Note, "why not")
	want(b, "deleted", string(p.Items[10].Before), docOf(t2))
	want(b, "filter by noun and name", len(must(b.st.Audit(b.ctx, access.AuditFilter{Noun: "schedule", Name: "s"}))(b).Items), 6)

	must(b.st.SaveQueue(ctx, job.Queue{Name: "q"}))(b)
	must(b.st.SaveQueue(ctx, job.Queue{Name: "q"}))(b)
	must(b.st.SaveQueue(ctx, job.Queue{Name: "q", Priority: 1}))(b)
	must(b.st.PauseQueue(ctx, "q", ""))(b)
	must(b.st.ResumeQueue(ctx, "q"))(b)
	ok(b, b.st.DeleteQueue(ctx, "q"))
	ok(b, b.st.DrainWorker(ctx, b.session().ID))
	want(b, "queues and workers", len(must(b.st.Audit(b.ctx, access.AuditFilter{Namespace: core.AnyNamespace}))(b).Items), len(got)+6)
}

func caseATokenIsShownOnceAndKeptAsA(b *bench) {
	ctx := access.WithActor(b.ctx, "ada")
	t, secret, err := b.st.CreateToken(ctx, access.Token{Name: "ci", Scopes: []access.Scope{access.ScopeRead}, ExpiresAt: Epoch.Add(time.Hour)})
	ok(b, err)
	if !strings.HasPrefix(secret, "belfry_") || len(secret) < 40 || t.CreatedBy != "ada" || !t.LastUsedAt.IsZero() {
		b.Fatalf("token: got %+v with a secret of %d bytes", t, len(secret))
	}
	want(b, "rows with the secret", b.count(`select count(*) from belfry.tokens where hash = $1 or name = $1`, secret), 0)
	want(b, "audit rows with the secret", b.count(`select count(*) from belfry.audit where replace(after, $1, '') <> after`, secret), 0)
	got := must(b.st.Authenticate(b.ctx, secret))(b)
	want(b, "id", got.ID, t.ID)
	b.clock.Move(90 * time.Second)
	must(b.st.Authenticate(b.ctx, secret))(b)
	b.clock.Move(20 * time.Second)
	must(b.st.Authenticate(b.ctx, secret))(b)
	all := must(b.st.Tokens(b.ctx))(b)
	want(b, "last used, to the minute", all[0].LastUsedAt, Epoch.Add(time.Minute))
	_, err = b.st.Authenticate(b.ctx, secret+"x")
	wantCode(b, err, core.Unauthorized, "unknown")
	_, err = b.st.Authenticate(b.ctx, "")
	wantCode(b, err, core.Unauthorized, "unknown")
	b.clock.Move(time.Hour)
	_, err = b.st.Authenticate(b.ctx, secret)
	wantCode(b, err, core.Unauthorized, "expired", "ci")
	t, secret, err = b.st.CreateToken(ctx, access.Token{Name: "gone", Scopes: []access.Scope{access.ScopeAdmin}, Namespace: core.AnyNamespace})
	ok(b, err)
	ok(b, b.st.RevokeToken(ctx, t.ID))
	ok(b, b.st.RevokeToken(ctx, t.ID))
	_, err = b.st.Authenticate(b.ctx, secret)
	wantCode(b, err, core.Unauthorized, "revoked", "gone")
	wantCode(b, b.st.RevokeToken(ctx, 1<<40), core.NotFound)
	want(b, "tokens", len(must(b.st.Tokens(b.ctx))(b)), 2)
	want(b, "audit rows", b.count(`select count(*) from belfry.audit where noun = 'token'`), 3)
	_, _, err = b.st.CreateToken(ctx, access.Token{Name: "bad", Scopes: []access.Scope{"root"}, ExpiresAt: Epoch})
	wantCode(b, err, core.Invalid, "scopes", "expires_at")
}

func caseTokensThatNobodyCanUseAnyMoreArePruned(b *bench) {
	for _, t := range []access.Token{
		{Name: "good"}, {Name: "long", ExpiresAt: Epoch.Add(60 * 24 * time.Hour)},
		{Name: "expired", ExpiresAt: Epoch.Add(time.Hour)}, {Name: "revoked", ExpiresAt: Epoch.Add(60 * 24 * time.Hour)}, {Name: "gone"},
	} {
		t.Scopes = []access.Scope{access.ScopeRead}
		t, _, err := b.st.CreateToken(b.ctx, t)
		ok(b, err)
		if t.Name == "revoked" || t.Name == "gone" {
			ok(b, b.st.RevokeToken(b.ctx, t.ID))
		}
	}
	b.clock.Move(30*24*time.Hour - time.Minute)
	must(b.st.Prune(b.ctx))(b)
	want(b, "tokens within the month", len(must(b.st.Tokens(b.ctx))(b)), 5)
	b.clock.Move(2 * time.Hour)
	must(b.st.Prune(b.ctx))(b)
	var names []string
	for _, t := range must(b.st.Tokens(b.ctx))(b) {
		names = append(names, t.Name)
	}
	want(b, "tokens after it", strings.Join(names, " "), "good long")
}

func docOf(v any) string {
	if v == nil {
		return ""
	}
	return jsonOf(v)
}

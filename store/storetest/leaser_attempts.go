package storetest

import (
	"encoding/json"
	"fmt"
	"strings"
	"time"

	"github.com/belfry-run/belfry/core"
	"github.com/belfry-run/belfry/job"
	"github.com/belfry-run/belfry/store"
	"github.com/belfry-run/belfry/task"
)

func init() {
	addLeaser("snoozing and handing back do not count against the attempts", caseSnoozingAndHandingBackDoNotCountAgainstThe)
	add("the newest 100 attempts that were handed back are kept, and all others", caseAttemptsThatWereHandedBackAreBounded)
	addLeaser("the report of an attempt is kept", caseTheReportOfAnAttemptIsKept)
	addLeaser("bad finishes, logs, claims and sessions are refused with the field, and nothing of their batch is written", caseBadFinishesLogsClaimsAndSessionsAreRefusedWith)
	addLeaser("a log keeps its order and drops what came twice, in one call or in two", caseALogKeepsItsOrderAndDropsWhatCame)
	add("the log of an attempt ends where no task may let it go, and no other's does", caseTheLogOfAnAttemptEndsWhereNoTask)
	add("the log of an attempt is cut at the limit of its task", caseTheLogOfAnAttemptEndsWhereItsTask)
	addLeaser("a log takes any bytes and mends the time of a worker whose clock is off", caseALogTakesAnyBytesAndMendsTheTime)
}

func caseSnoozingAndHandingBackDoNotCountAgainstThe(d *leaserBench) {
	d.task("shy", attempts(1))
	id := d.one("shy")
	s := d.session("shy")
	d.finish(s, d.claimOne(s), job.OutcomeSnoozed, func(f *job.Finish) { f.Snooze = core.Duration(5 * time.Second) })
	j := d.wantState(id, job.Scheduled)
	want(d, "due", j.DueAt, Epoch.Add(5*time.Second))
	want(d, "snoozes", j.Snoozes, 1)
	want(d, "snoozed", j.Snoozed(), true)
	d.promote()
	want(d, "too early", len(d.claim(s, 1).Jobs), 0)
	d.Move(5 * time.Second)
	d.promote()
	want(d, "reason of a job that is due", d.wantState(id, job.Ready).Reason, "")
	d.finish(s, d.claimOne(s), job.OutcomeHandedBack)
	want(d, "failures", d.wantState(id, job.Ready).Failures, 0)
	want(d, "end", d.finish(s, d.claimOne(s), job.OutcomeError).State, job.Failed)
	want(d, "outcomes", d.outcomes(id), "snoozed handed_back error")
}

func caseAttemptsThatWereHandedBackAreBounded(b *bench) {
	b.task("t")
	other := b.enqueue(job.NewJob{Task: "t"})
	s := b.session("t")
	b.finish(s, b.claim(s, 1).Jobs[0], job.OutcomeHandedBack)
	b.cancel(other.ID)
	id := b.enqueue(job.NewJob{Task: "t"}).ID
	b.finish(s, b.claim(s, 1).Jobs[0], job.OutcomeHandedBack)
	b.finish(s, b.claim(s, 1).Jobs[0], job.OutcomeSnoozed, func(f *job.Finish) { f.Snooze = core.Duration(time.Second) })
	b.clock.Move(time.Second)
	b.promote()
	for range 120 {
		b.finish(s, b.claim(s, 1).Jobs[0], job.OutcomeHandedBack)
	}
	b.finish(s, b.claim(s, 1).Jobs[0], job.OutcomeOK)
	all := must(b.st.Attempts(b.ctx, "default", id))(b)
	want(b, "attempts", len(all), 102)
	want(b, "first", fmt.Sprint(all[0].Number, all[0].Outcome), "2snoozed")
	want(b, "oldest that was handed back", fmt.Sprint(all[1].Number, all[1].Outcome), "23handed_back")
	want(b, "newest that was handed back", fmt.Sprint(all[100].Number, all[100].Outcome), "122handed_back")
	want(b, "last", fmt.Sprint(all[101].Number, all[101].Outcome), "123ok")
	want(b, "attempts of the other job", len(must(b.st.Attempts(b.ctx, "default", other.ID))(b)), 1)
}

func caseTheReportOfAnAttemptIsKept(d *leaserBench) {
	d.task("exit", attempts(1))
	id := d.one("exit")
	s := d.session("exit")
	ref := d.claimOne(s)
	d.Move(3 * time.Second)
	code := 0xC0000005 // of Windows
	d.finish(s, ref, job.OutcomeError, func(f *job.Finish) {
		f.Error, f.ExitCode, f.Signal, f.LogCut = "it \x00broke\xff", &code, "SIG\x00TERM", true
		f.StartedIn, f.Output = core.Duration(time.Second), json.RawMessage(`{"half":"\u0000done"}`)
	})
	a := must(d.ad.Attempts(d.ctx, "default", id))(d)[0]
	if a.Error != "it broke\uFFFD" || *a.ExitCode != code || a.Signal != "SIGTERM" || !a.LogCut || a.Worker != "tester" || a.Session != s || a.Lease != ref.Lease {
		d.Fatalf("attempt: got %+v, want what the worker reported, as text", a)
	}
	if !a.ClaimedAt.Equal(Epoch) || !a.StartedAt.Equal(Epoch.Add(time.Second)) || !a.EndedAt.Equal(Epoch.Add(3*time.Second)) {
		d.Fatalf("times of the attempt: got %+v, want claim, start and end", a)
	}
	want(d, "output", string(d.job(id).Output), `{"half":"\u0000done"}`)
	id = d.one("exit")
	d.finish(s, d.claimOne(s), job.OutcomeOK, func(f *job.Finish) { f.ExitCode = &code })
	want(d, "exit code", *must(d.ad.Attempts(d.ctx, "default", id))(d)[0].ExitCode, code)
}

func caseBadFinishesLogsClaimsAndSessionsAreRefusedWith(d *leaserBench) {
	d.task("picky")
	id := d.one("picky")
	s := d.session("picky")
	ref := d.claimOne(s)
	for field, f := range map[string]job.Finish{
		"outcome": {Ref: ref, Outcome: "great"},
		"output":  {Ref: ref, Outcome: job.OutcomeOK, Output: json.RawMessage(`{"half"`)},
		"snooze":  {Ref: ref, Outcome: job.OutcomeSnoozed},
	} {
		if field == "output" && !canSend(f.Output) {
			continue // a client that cannot encode it has rejected it
		}
		_, err := d.br.Finish(d.ctx, s, []job.Finish{{Ref: ref, Outcome: job.OutcomeOK}, f})
		wantCode(d, err, core.Invalid, field)
	}
	big := json.RawMessage(`"` + strings.Repeat("x", core.MaxOutput) + `"`)
	_, err := d.br.Finish(d.ctx, s, []job.Finish{{Ref: ref, Outcome: job.OutcomeOK, Output: big}})
	wantCode(d, err, core.Invalid, "output")
	d.wantState(id, job.Running)
	good := job.LogPiece{Ref: ref, Stream: job.Log, At: Epoch, Text: "good"}
	for field, l := range map[string]job.LogPiece{
		"seq":    {Ref: ref, Seq: -1, Stream: job.Log, At: Epoch},
		"stream": {Ref: ref, Seq: 1, Stream: "stdwhat", At: Epoch},
		"text":   {Ref: ref, Seq: 1, Stream: job.Log, At: Epoch, Text: strings.Repeat("x", job.MaxLogPiece+1)},
	} {
		wantCode(d, d.br.Append(d.ctx, s, []job.LogPiece{good, l}), core.Invalid, field)
	}
	want(d, "log", d.texts(id), "")
	_, err = d.br.Claim(d.ctx, job.ClaimRequest{Session: s, Want: map[string]int{"default": core.MaxBatch + 1}})
	wantCode(d, err, core.Invalid, "want.default")
	for field, w := range map[string]job.WorkerInfo{
		"kinds":   {Name: "w", Queues: map[string]int{"default": 1}},
		"queues":  {Name: "w", Kinds: []task.Kind{task.KindFunc}, Queues: map[string]int{"nowhere": 1}},
		"name":    {Name: "a b", Kinds: []task.Kind{task.KindFunc}, Queues: map[string]int{"default": 1}},
		"funcs":   {Name: "w", Kinds: []task.Kind{task.KindFunc}, Funcs: []string{""}, Queues: map[string]int{"default": 1}},
		"version": {Name: "w", Kinds: []task.Kind{task.KindFunc}, Version: strings.Repeat("1", 129), Queues: map[string]int{"default": 1}},
	} {
		_, err := d.br.OpenSession(d.ctx, w)
		wantCode(d, err, core.Invalid, field)
	}
}

func caseALogKeepsItsOrderAndDropsWhatCame(d *leaserBench) {
	d.task("chatty", attempts(2))
	id := d.one("chatty")
	s := d.session("chatty")
	ref := d.claimOne(s)
	piece := func(seq int, text string) job.LogPiece {
		return job.LogPiece{Ref: ref, Seq: seq, Stream: job.Stdout, At: Epoch.Add(time.Duration(seq) * time.Millisecond), Text: text}
	}
	ok(d, d.br.Append(d.ctx, s, []job.LogPiece{piece(2, "c"), piece(0, "a"), piece(0, "a")}))
	ok(d, d.br.Append(d.ctx, s, []job.LogPiece{piece(0, "again"), piece(1, "b"), piece(3, "d")}))
	ok(d, d.br.Append(d.ctx, s, nil))
	want(d, "log", d.texts(id), "a|b|c|d")
	d.finish(s, ref, job.OutcomeError)
	ok(d, d.br.Append(d.ctx, s, []job.LogPiece{piece(4, "after the end")}))
	d.Move(20 * time.Second)
	d.promote()
	before := ref
	ref = d.claimOne(s)
	ok(d, d.br.Append(d.ctx, s, []job.LogPiece{piece(0, "second try")}))
	want(d, "log", d.texts(id), "a|b|c|d|second try")
	ok(d, d.br.Append(d.ctx, s, []job.LogPiece{{Ref: before, Seq: 9, Stream: job.Stdout, At: Epoch, Text: "under the lease before"}}))
	other := d.session("chatty")
	ok(d, d.br.Append(d.ctx, other, []job.LogPiece{piece(1, "not yours")}))
	want(d, "log", d.texts(id), "a|b|c|d|second try")
	lines := must(d.ad.Logs(d.ctx, "default", id, job.LogFilter{Attempt: 2}))(d).Items
	if len(lines) != 1 || lines[0].Attempt != 2 || lines[0].Stream != job.Stdout {
		d.Fatalf("log of attempt 2: got %+v, want 1 line of stdout", lines)
	}
}

func caseTheLogOfAnAttemptEndsWhereNoTask(b *bench) {
	b.task("t")
	b.enqueue(job.NewJob{Task: "t"})
	b.enqueue(job.NewJob{Task: "t"})
	s := b.session("t")
	c := b.claim(s, 2)
	write := func(st *store.Store, of, seq int, text string) error {
		return st.Append(b.ctx, s.ID, []job.LogPiece{{Ref: refOf(c.Jobs[of]), Seq: seq, Stream: job.Stdout, At: b.clock.Now(), Text: text}})
	}
	ok(b, write(b.st, 0, 0, "begin"))
	b.sql(`update belfry.logs set size = $1`, task.MaxLog-3)
	other := store.New(b.st.DB(), store.Options{Clock: b.clock.Now}) // a new store has to learn the length of the log
	ok(b, write(other, 0, 1, "abc"))
	wantCode(b, write(other, 0, 2, "d"), core.TooLarge, "the log of job")
	ok(b, write(other, 1, 0, "d"))
	want(b, "pieces", b.count(`select count(*) from belfry.logs`), 3)
}

func caseTheLogOfAnAttemptEndsWhereItsTask(b *bench) {
	s, ref := programs{b}.boxed(task.Limits{Log: 10})
	text := strings.Repeat("x", job.MaxLogPiece)
	write := func(seq int) error {
		return b.st.Append(b.ctx, s.ID, []job.LogPiece{{Ref: ref, Seq: seq, Stream: job.Stdout, At: b.clock.Now(), Text: text}})
	}
	seq := 0
	for ; seq < 1<<20/len(text); seq++ {
		ok(b, write(seq))
	}
	wantCode(b, write(seq), core.TooLarge, "the log of job", "1048586 bytes")
	want(b, "bytes", b.count(`select sum(size) from belfry.logs`), 1<<20)
	if kept := b.count(`select sum(octet_length(body)) from belfry.logs`); kept > 1<<16 {
		b.Fatalf("size of a stored megabyte of one letter: got %d bytes, want at most 64 KiB", kept)
	}
}

func caseALogTakesAnyBytesAndMendsTheTime(d *leaserBench) {
	d.task("dirty")
	id := d.one("dirty")
	s := d.session("dirty")
	ref := d.claimOne(s)
	ok(d, d.br.Append(d.ctx, s, []job.LogPiece{
		{Ref: ref, Seq: 0, Stream: job.Stderr, At: Epoch, Text: "bad \xff byte"},
		{Ref: ref, Seq: 1, Stream: job.Stderr, At: Epoch, Text: "nul\x00\x00"},
		{Ref: ref, Seq: 2, Stream: job.Stderr, At: time.Unix(0, 0), Text: "1970"},
		{Ref: ref, Seq: 3, Stream: job.Stderr, At: Epoch.Add(24 * time.Hour), Text: "tomorrow"},
		{Ref: ref, Seq: 4, Stream: job.Stderr, At: Epoch, Text: "snow \u2603 \U0001F514"},
	}))
	want(d, "log", d.texts(id), "bad \uFFFD byte|nul|1970|tomorrow|snow \u2603 \U0001F514")
	for _, l := range must(d.ad.Logs(d.ctx, "default", id, job.LogFilter{}))(d).Items {
		want(d, "time of "+l.Text, l.At, Epoch)
	}
}

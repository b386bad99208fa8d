package storetest

import (
	"bytes"
	"strings"
	"time"

	"github.com/belfry-run/belfry/access"
	"github.com/belfry-run/belfry/core"
	"github.com/belfry-run/belfry/job"
	"github.com/belfry-run/belfry/task"
	"github.com/belfry-run/belfry/view"
)

func init() {
	add("an attempt that speaks for itself keeps its session alive, and learns what it is to do", caseAnAttemptThatSpeaksForItselfKeepsItsSession)
	add("a replayed heartbeat does not keep a dead worker alive", caseAReplayedHeartbeatDoesNotKeepADeadWorker)
	add("an attempt beyond its deadline is ended at its own heartbeat", caseAnAttemptBeyondItsDeadlineIsEndedAtIts)
	add("an attempt reports once, the same again is answered the same, and another is refused", caseAnAttemptReportsOnce)
	add("a zombie's report is stale, changes nothing and leaves one row", caseAZombiesReportIsStale)
	add("a session for one attempt ends with its report, and is not lost", caseASessionForOneAttemptEndsWithItsReport)
	add("keys that sign are made when they are needed, and changed every month", caseKeysThatSignAreMadeWhenTheyAreNeeded)
}

func caseAnAttemptThatSpeaksForItselfKeepsItsSession(b *bench) {
	s, ref := programs{b}.boxed(task.Limits{})
	other := b.enqueue(job.NewJob{Task: "p"})
	held := refOf(b.claim(s, 1).Jobs[0])
	want(b, "second job of the session", held.JobID, other.ID)
	beat := func(seq int64) (job.AttemptBeat, error) { return b.st.BeatAttempt(b.ctx, s.ID, ref, seq) }
	for seq := range int64(4) {
		b.clock.Move(25 * time.Second)
		got := must(beat(seq))(b)
		want(b, "answer", got, job.AttemptBeat{Action: job.BeatContinue, TTL: job.DefaultSessionTTL})
		must(b.st.ReleaseLost(b.ctx))(b)
	}
	want(b, "job of the session that nobody named", must(b.st.Job(b.ctx, "default", other.ID))(b).State, job.Running)
	for _, replay := range []int64{3, 0} {
		_, err := beat(replay)
		wantCode(b, err, core.Conflict, "after heartbeat 3")
	}
	_, err := beat(-1)
	wantCode(b, err, core.Invalid)
	must(b.st.CancelJobs(b.ctx, "default", view.Selection{IDs: []int64{ref.JobID}}))(b)
	want(b, "asked to end", must(beat(5))(b).Action, job.BeatCancel)
	ok(b, b.st.DrainWorker(b.ctx, s.ID))
	want(b, "answer to a heartbeat for another job", must(b.st.BeatAttempt(b.ctx, s.ID, held, 0))(b).Action, job.BeatDrain)
}

func caseAReplayedHeartbeatDoesNotKeepADeadWorker(b *bench) {
	s, ref := programs{b}.boxed(task.Limits{})
	must(b.st.BeatAttempt(b.ctx, s.ID, ref, 1))(b)
	b.clock.Move(20 * time.Second)
	_, err := b.st.BeatAttempt(b.ctx, s.ID, ref, 1)
	wantCode(b, err, core.Conflict)
	b.clock.Move(16 * time.Second)
	want(b, "sessions given up", must(b.st.ReleaseLost(b.ctx))(b).Sessions, 1)
	_, err = b.st.BeatAttempt(b.ctx, s.ID, ref, 2)
	wantCode(b, err, core.Unauthorized)
}

func caseAnAttemptBeyondItsDeadlineIsEndedAtIts(b *bench) {
	t := program("p", task.IsolationNone)
	t.Timeout = core.Duration(time.Minute)
	programs{b}.readyProgram(t)
	s, ref := programs{b}.boxed(task.Limits{})
	for seq := range int64(36) { // the timeout of a minute, and the time for sending outputs
		b.clock.Move(20*time.Second + time.Millisecond)
		got := must(b.st.BeatAttempt(b.ctx, s.ID, ref, seq))(b)
		if over := seq == 35; (got.Action == job.BeatCancel) != over {
			b.Fatalf("heartbeat %d: got %+v, want continue", seq, got)
		}
	}
	want(b, "outcome", must(b.st.Attempts(b.ctx, "default", ref.JobID))(b)[0].Outcome, job.OutcomeTimeout)
	_, err := b.st.BeatAttempt(b.ctx, s.ID, ref, 9)
	wantCode(b, err, core.Unauthorized)
}

func caseAnAttemptReportsOnce(b *bench) {
	s, ref := programs{b}.boxed(task.Limits{})
	exit := 1
	f := job.Finish{Ref: ref, Outcome: job.OutcomeError, Error: "exit code 1", ExitCode: &exit, Sandboxed: &task.Sandboxed{Isolation: task.IsolationUser}}
	for range 3 {
		want(b, "answer", must(b.st.FinishAttempt(b.ctx, s.ID, f))(b), job.Finished{Ref: ref, State: job.Scheduled})
	}
	again := f
	again.Outcome, again.Error = job.OutcomeOK, ""
	_, err := b.st.FinishAttempt(b.ctx, s.ID, again)
	wantCode(b, err, core.Conflict, "reported already")
	_, err = b.st.FinishAttempt(b.ctx, "other", f)
	wantCode(b, err, core.Conflict)
	want(b, "attempts", len(must(b.st.Attempts(b.ctx, "default", ref.JobID))(b)), 1)
	b.clock.Move(time.Minute)
	must(b.st.Promote(b.ctx))(b)
	next := refOf(b.claim(s, 1).Jobs[0])
	want(b, "state after a repeated report", must(b.st.FinishAttempt(b.ctx, s.ID, f))(b).State, job.Scheduled)
	want(b, "lease of the next attempt", must(b.st.Job(b.ctx, "default", ref.JobID))(b).Lease, next.Lease)
}

func caseAZombiesReportIsStale(b *bench) {
	s, ref := programs{b}.boxed(task.Limits{})
	b.clock.Move(lost)
	must(b.st.ReleaseLost(b.ctx))(b)
	next := programs{b}.boxSession()
	now := refOf(b.claim(next, 1).Jobs[0])
	late := job.Finish{Ref: ref, Outcome: job.OutcomeOK}
	for range 3 {
		want(b, "answer", must(b.st.FinishAttempt(b.ctx, s.ID, late))(b), job.Finished{Ref: ref, Stale: true})
	}
	_, err := b.st.ArtifactLink(b.ctx, s.ID, ref)
	wantCode(b, err, core.Unauthorized)
	wantCode(b, b.st.CheckAttempt(b.ctx, s.ID, ref), core.Unauthorized)
	wantCode(b, b.st.CheckAttempt(b.ctx, s.ID, now), core.Unauthorized)
	ok(b, b.st.CheckAttempt(b.ctx, next.ID, now))
	want(b, "link", must(b.st.ArtifactLink(b.ctx, next.ID, now))(b).URL, "/artifacts/default/"+strings.Repeat("ab", 32))
	want(b, "state", must(b.st.Job(b.ctx, "default", ref.JobID))(b).State, job.Running)
	rows := must(b.st.Audit(b.ctx, access.AuditFilter{Noun: "job"}))(b).Items
	want(b, "rows", len(rows), 1)
	want(b, "row", rows[0].Action, "late finish")
}

func caseASessionForOneAttemptEndsWithItsReport(b *bench) {
	programs{b}.readyProgram(program("p", task.IsolationNone))
	b.enqueue(job.NewJob{Task: "p"})
	s := must(b.st.OpenSession(b.ctx, job.WorkerInfo{Name: "pod", Once: true, Kinds: []task.Kind{task.KindProgram},
		Queues: map[string]int{"default": 1}, Has: task.Has{Arch: "amd64", Isolation: task.IsolationNone}}))(b)
	ref := refOf(b.claim(s, 1).Jobs[0])
	must(b.st.FinishAttempt(b.ctx, s.ID, job.Finish{Ref: ref, Outcome: job.OutcomeOK}))(b)
	all := must(b.st.Workers(b.ctx, true))(b)
	if len(all) != 1 || all[0].EndedAt.IsZero() || all[0].Lost {
		b.Errorf("workers: got %+v, want 1 that has ended and is not lost", all)
	}
}

func caseKeysThatSignAreMadeWhenTheyAreNeeded(b *bench) {
	one := must(b.st.SigningKeys(b.ctx))(b)
	want(b, "keys", len(one), 1)
	again := must(b.st.SigningKeys(b.ctx))(b)
	if len(again) != 1 || again[0].ID != one[0].ID || !bytes.Equal(again[0].Seed, one[0].Seed) || len(again[0].Seed) != 32 {
		b.Fatal("signing key of the second call differs from the first")
	}
	b.clock.Move(30 * 24 * time.Hour)
	two := must(b.st.SigningKeys(b.ctx))(b)
	if len(two) != 2 || two[0].ID == one[0].ID || two[1].ID != one[0].ID {
		b.Fatal("the old key does not verify its signature")
	}
	b.clock.Move(30 * 24 * time.Hour)
	three := must(b.st.SigningKeys(b.ctx))(b)
	want(b, "keys a month later", len(three), 2+1)
	b.clock.Move(30 * 24 * time.Hour)
	want(b, "signing keys after another 30 days", len(must(b.st.SigningKeys(b.ctx))(b)), 3)
}

package storetest

import (
	"context"
	"fmt"
	"strings"
	"time"

	"github.com/belfry-run/belfry/access"
	"github.com/belfry-run/belfry/core"
	"github.com/belfry-run/belfry/job"
	"github.com/belfry-run/belfry/store"
	"github.com/belfry-run/belfry/task"
)

func init() {
	add("a quota of bytes of logs ends logs with a line that says why, and loses nothing else", caseAQuotaOfLogBytes)
	add("a log that ended at a quota goes on nowhere, and one that comes twice is counted once", caseALogThatEndedAtAQuota)
	add("a quota of bytes of logs counts what was there, and has room again when old logs are removed", caseAQuotaOfLogBytesCountsWhatWasThere)
	add("a quota of bytes of output files refuses new ones alone", caseAQuotaOfOutputBytes)
	add("pieces of log without a text are not kept, and how many there are of a log is bounded", casePiecesOfLogsAreBounded)
	addNodes("nodes that write logs at the same moment never go beyond a quota", caseNodesThatWriteLogsAtTheSameMoment)
}

func logPieceOf(b *bench, ref job.Ref, seq int, text string) job.LogPiece {
	return job.LogPiece{Ref: ref, Seq: seq, Stream: job.Stdout, At: b.clock.Now(), Text: text}
}

func logOf(b *bench, id int64) string {
	b.Helper()
	var all []string
	for _, l := range must(b.st.Logs(b.ctx, "default", id, job.LogFilter{}))(b).Items {
		all = append(all, l.Text)
	}
	return strings.Join(all, "|")
}

func logUse(b *bench) string {
	b.Helper()
	return fmt.Sprint(must(b.st.QuotaUse(b.ctx, "default"))(b))
}

// ownLogs returns the bytes of logs without the lines of the store.
func ownLogs(b *bench) int64 {
	b.Helper()
	return b.count(`select cast(coalesce(sum(size), 0) as bigint) from belfry.logs where seq < $1`, job.LastLogSeq)
}

func caseAQuotaOfLogBytes(b *bench) {
	b.task("t", func(t *task.Task) { t.Retry.MaxAttempts = 2 })
	setQuota(b, "default", access.Quota{LogBytes: 100})
	for range 3 {
		b.enqueue(job.NewJob{Task: "t"})
	}
	s := b.session("t")
	c := b.claim(s, 3)
	first, second := refOf(c.Jobs[0]), refOf(c.Jobs[1])
	ok(b, b.st.Append(b.ctx, s.ID, []job.LogPiece{logPieceOf(b, first, 0, strings.Repeat("x", 59)+"\n")}))
	want(b, "use", logUse(b), "[{log_bytes 100 60}]")
	want(b, "refusals that were told", b.tally.of("over default log_bytes"), 0)
	ok(b, b.st.Append(b.ctx, s.ID, []job.LogPiece{
		logPieceOf(b, first, 1, strings.Repeat("y", 19)+"\n"+strings.Repeat("z", 79)+"\n"),
		logPieceOf(b, first, 2, "of what comes later nothing is kept\n"),
		logPieceOf(b, second, 0, "has room\n"),
	}))
	kept := logOf(b, first.JobID)
	for _, part := range []string{"x\n|" + strings.Repeat("y", 19) + "\n|belfry: the log ends here, and the job goes on: ", `namespace "default" is over its quota log_bytes`, "100 B", "wait until retention removes older ones", "belfry namespace set default --max-log-bytes"} {
		if !strings.Contains(kept, part) {
			b.Fatalf("log: %q is missing in %q", part, kept)
		}
	}
	if strings.Contains(kept, "z") && strings.Contains(kept, "zzz") || strings.Contains(kept, "later") || !strings.HasSuffix(kept, "…\n") {
		b.Fatalf("log at the quota: got %q, want the text up to its end, and the last line", kept)
	}
	want(b, "refusals that were told", b.tally.of("over default log_bytes"), 2)
	want(b, "bytes of jobs", ownLogs(b), 80)
	ended := logOf(b, second.JobID)
	if !strings.HasPrefix(ended, "belfry: the log ends here") {
		b.Fatalf("second log: got %q, want the last line alone", ended)
	}
	// The last line of the first log exceeded the quota: the excess is reported as it is.
	use := must(b.st.QuotaUse(b.ctx, "default"))(b)
	want(b, "use", use[0].Used, b.count(`select cast(sum(size) as bigint) from belfry.logs`))

	for i, outcome := range []job.Outcome{job.OutcomeOK, job.OutcomeError, job.OutcomeOK} {
		want(b, "stale", b.finish(s, c.Jobs[i], outcome).Stale, false)
	}
	b.wantState(first.JobID, job.Succeeded)
	b.clock.Move(time.Minute)
	must(b.st.Promote(b.ctx))(b)
	again := refOf(b.claim(s, 1).Jobs[0])
	want(b, "the job that is tried again", again.JobID, second.JobID)
	ok(b, b.st.Append(b.ctx, s.ID, []job.LogPiece{logPieceOf(b, again, 0, "no")}))
	want(b, "lines", b.count(`select count(*) from belfry.logs where seq = $1`, job.LastLogSeq), 3)

	setQuota(b, "default", access.Quota{})
	want(b, "counts without a quota", b.count(`select count(*) from belfry.log_use`), 0)
	fresh := b.enqueue(job.NewJob{Task: "t"})
	ok(b, b.st.Append(b.ctx, s.ID, []job.LogPiece{logPieceOf(b, refOf(b.claim(s, 1).Jobs[0]), 0, "room")}))
	want(b, "log without a quota", logOf(b, fresh.ID), "room")
	want(b, "counts without a quota", b.count(`select count(*) from belfry.log_use`), 0)
}

func casePiecesOfLogsAreBounded(b *bench) {
	b.task("t")
	b.enqueue(job.NewJob{Task: "t"})
	s := b.session("t")
	ref := refOf(b.claim(s, 1).Jobs[0])
	ok(b, b.st.Append(b.ctx, s.ID, []job.LogPiece{logPieceOf(b, ref, 0, ""), logPieceOf(b, ref, 1, "a"), logPieceOf(b, ref, 2, "")}))
	ok(b, b.st.Append(b.ctx, s.ID, []job.LogPiece{logPieceOf(b, ref, 3, "")}))
	want(b, "rows", b.count(`select count(*) from belfry.logs`), 1)
	ok(b, b.st.Append(b.ctx, s.ID, []job.LogPiece{logPieceOf(b, ref, 1<<20-1, "b")}))
	wantCode(b, b.st.Append(b.ctx, s.ID, []job.LogPiece{logPieceOf(b, ref, 1<<20, "c")}), core.TooLarge, "more than 1048576 pieces")
	want(b, "log", logOf(b, ref.JobID), "a|b")
}

func caseALogThatEndedAtAQuota(b *bench) {
	b.task("t")
	b.task("u")
	setQuota(b, "default", access.Quota{LogBytes: 100})
	b.enqueue(job.NewJob{Task: "t"})
	s := b.session("t")
	ref := refOf(b.claim(s, 1).Jobs[0])
	piece := logPieceOf(b, ref, 0, strings.Repeat("a", 60))
	for range 3 { // repeated, since the answer was lost
		ok(b, b.st.Append(b.ctx, s.ID, []job.LogPiece{piece, piece}))
	}
	want(b, "log", logOf(b, ref.JobID), piece.Text)
	want(b, "use", logUse(b), "[{log_bytes 100 60}]")
	ok(b, b.st.Append(b.ctx, s.ID, []job.LogPiece{{Ref: job.Ref{JobID: ref.JobID, Lease: ref.Lease + 1000}, Seq: 1, Stream: job.Log, Text: "under a lease that never was"}}))
	want(b, "use", logUse(b), "[{log_bytes 100 60}]")
	for range 2 {
		ok(b, b.st.Append(b.ctx, s.ID, []job.LogPiece{piece, logPieceOf(b, ref, 1, strings.Repeat("b", 50))}))
	}
	log := logOf(b, ref.JobID)
	want(b, "refusals that were told", b.tally.of("over default log_bytes"), 1)
	setQuota(b, "default", access.Quota{LogBytes: 1 << 20})
	ok(b, b.st.Append(b.ctx, s.ID, []job.LogPiece{logPieceOf(b, ref, 2, "room again")}))
	setQuota(b, "default", access.Quota{})
	ok(b, b.st.Append(b.ctx, s.ID, []job.LogPiece{logPieceOf(b, ref, 3, "without a quota")}))
	want(b, "the log that has ended", logOf(b, ref.JobID), log)
	wantCode(b, b.st.Append(b.ctx, s.ID, []job.LogPiece{logPieceOf(b, ref, job.LastLogSeq, "forged")}), core.Invalid, "seq")
}

func caseAQuotaOfLogBytesCountsWhatWasThere(b *bench) {
	b.task("t")
	must(b.st.CreateTask(b.ctx, task.Task{Namespace: "other", Name: "t", Kind: task.KindFunc}))(b)
	s := b.session("t")
	write := func(namespace, text string) job.Ref {
		b.Helper()
		b.enqueue(job.NewJob{Namespace: namespace, Task: "t"})
		j := b.claim(s, 1).Jobs[0]
		ok(b, b.st.Append(b.ctx, s.ID, []job.LogPiece{logPieceOf(b, refOf(j), 0, text)}))
		b.finish(s, j, job.OutcomeOK)
		return refOf(j)
	}
	write("default", strings.Repeat("a", 30))
	write("other", strings.Repeat("b", 1000))
	b.enqueue(job.NewJob{Task: "t"})
	running := refOf(b.claim(s, 1).Jobs[0])
	ok(b, b.st.Append(b.ctx, s.ID, []job.LogPiece{logPieceOf(b, running, 0, strings.Repeat("c", 40))}))
	setQuota(b, "default", access.Quota{LogBytes: 100})
	want(b, "use of what was there", logUse(b), "[{log_bytes 100 70}]")
	setQuota(b, "default", access.Quota{LogBytes: 110, Waiting: 9})
	want(b, "use after an edit", logUse(b), "[{waiting 9 0} {log_bytes 110 70}]")
	write("other", strings.Repeat("b", 1000))
	full := write("default", strings.Repeat("d", 50))
	if log := logOf(b, full.JobID); !strings.HasPrefix(log, "belfry: the log ends here") {
		b.Fatalf("log: got %q, want its last line alone", log)
	}

	b.clock.Move(40 * 24 * time.Hour)
	b.rollUp()
	for must(b.st.Prune(b.ctx))(b) {
	}
	want(b, "logs", b.count(`select count(*) from belfry.logs`), 0)
	want(b, "use", logUse(b), "[{waiting 9 0} {log_bytes 110 0}]")
	s = b.session("t")
	fresh := write("default", strings.Repeat("e", 90))
	want(b, "the log of a new job", logOf(b, fresh.JobID), strings.Repeat("e", 90))
	want(b, "use", logUse(b), "[{waiting 9 0} {log_bytes 110 90}]")
}

func caseAQuotaOfOutputBytes(b *bench) {
	s, ref := programs{b}.boxed(task.Limits{Outputs: 9, OutputSize: 1000})
	setQuota(b, "default", access.Quota{OutputBytes: 100})
	declare := func(o task.Output) error { _, err := b.st.DeclareOutput(b.ctx, s.ID, ref, o); return err }
	ok(b, declare(output("a", "a", 60)))
	wantCode(b, declare(output("b", "b", 41)), core.OverQuota, `namespace "default" is over its quota output_bytes: it would have 101 B of 100 B`, "wait until retention removes older ones", "--max-output-bytes")
	ok(b, declare(output("c", "c", 40)))
	ok(b, declare(output("c", "c", 40))) // a repeated request
	wantCode(b, declare(output("c", "d", 41)), core.OverQuota)
	setQuota(b, "default", access.Quota{OutputBytes: 10})
	ok(b, declare(output("a", "a", 60)))
	wantCode(b, declare(output("e", "e", 1)), core.OverQuota, "it would have 101 B of 10 B")
	want(b, "use", logUse(b), "[{output_bytes 10 100}]")
	kept := output("a", "a", 60)
	programs{b}.put(kept)
	must(b.st.Finish(b.ctx, s.ID, []job.Finish{{Ref: ref, Outcome: job.OutcomeOK, Sandboxed: &task.Sandboxed{Outputs: []task.Output{kept}}}}))(b)
	want(b, "use of what the report names", logUse(b), "[{output_bytes 10 60}]")
}

func caseNodesThatWriteLogsAtTheSameMoment(b *bench, nodes []*store.Store) {
	b.task("t")
	setQuota(b, "default", access.Quota{LogBytes: 1000})
	const each = 10
	for range each * len(nodes) {
		b.enqueue(job.NewJob{Task: "t"})
	}
	s := b.session("t")
	c := b.claim(s, each*len(nodes))
	want(b, "jobs", len(c.Jobs), each*len(nodes))
	b.crowd(nodes, each, func(ctx context.Context, st *store.Store, i int) error {
		for seq := range 5 {
			if err := st.Append(ctx, s.ID, []job.LogPiece{logPieceOf(b, refOf(c.Jobs[i]), seq, strings.Repeat("x", 39)+"\n")}); err != nil {
				return err
			}
		}
		return nil
	})
	if kept := ownLogs(b); kept > 1000 || kept == 0 {
		b.Fatalf("stored bytes: got %d, want at most 1000", kept)
	}
	want(b, "counted bytes of logs", b.count(`select cast(sum(bytes) as bigint) from belfry.log_use`), b.count(`select cast(sum(size) as bigint) from belfry.logs`))
	if ended := b.count(`select count(*) from belfry.logs where seq = $1`, job.LastLogSeq); ended < int64(each*len(nodes)-25) {
		b.Fatalf("ended logs: got %d, want all but 25", ended)
	}
}

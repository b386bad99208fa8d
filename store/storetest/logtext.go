package storetest

import (
	"fmt"
	"strings"
	"time"

	"github.com/belfry-run/belfry/access"
	"github.com/belfry-run/belfry/core"
	"github.com/belfry-run/belfry/job"
	"github.com/belfry-run/belfry/task"
)

func init() {
	add("a log is read by byte, by its last lines and by what is in it", caseALogIsReadByByte)
	add("the audit is searched by actor and time", caseTheAuditIsSearchedByWhoAndWhen)
}

func caseALogIsReadByByte(b *bench) {
	b.task("t", func(t *task.Task) { t.Retry.MaxAttempts = 1 })
	j := b.enqueue(job.NewJob{Task: "t"})
	s := b.session("t")
	c := b.claim(s, 1)
	whole := ""
	var pieces []job.LogPiece
	for i := range 50 {
		text := fmt.Sprintf("line %d är here\nand", i)
		whole += text
		pieces = append(pieces, job.LogPiece{Ref: refOf(c.Jobs[0]), Seq: i, Stream: job.Stdout, At: b.clock.Now(), Text: text})
	}
	ok(b, b.st.Append(b.ctx, s.ID, pieces))
	read := func(q job.LogQuery) job.LogText {
		b.Helper()
		return must(b.st.LogText(b.ctx, "default", j.ID, q))(b)
	}
	size := int64(len(whole))
	for from := int64(0); from < size; from += 37 {
		t := read(job.LogQuery{Offset: from, Limit: 100})
		want(b, "text", t.Text, whole[from:min(size, from+100)])
		want(b, "next offset", t.Next, min(size, from+100))
		want(b, "size", t.Size, size)
	}
	want(b, "from the end", read(job.LogQuery{Offset: -10}).Text, whole[size-10:])
	want(b, "beyond the end", read(job.LogQuery{Offset: size + 10}).Next, size)
	want(b, "tail", read(job.LogQuery{Tail: 2}).Text, "andline 49 är here\nand")
	want(b, "all lines", read(job.LogQuery{Tail: 1000}).Text, whole)
	want(b, "another stream", read(job.LogQuery{Stream: job.Stderr}).Size, 0)
	want(b, "another attempt", read(job.LogQuery{Attempt: 2}).Size, 0)
	found := read(job.LogQuery{Grep: `line 4\d`, Regexp: true}).Found
	want(b, "found", len(found), 10)
	for _, f := range found {
		want(b, "at its offset", strings.HasPrefix(whole[f.Offset:], f.Line), true)
	}
	want(b, "by text", len(read(job.LogQuery{Grep: "line 7 "}).Found), 1)
	_, err := b.st.LogText(b.ctx, "default", j.ID, job.LogQuery{Grep: "(", Regexp: true})
	wantCode(b, err, core.Invalid, "grep")
	_, err = b.st.LogText(b.ctx, "other", j.ID, job.LogQuery{})
	wantCode(b, err, core.NotFound)
}

func caseTheAuditIsSearchedByWhoAndWhen(b *bench) {
	b.task("a")
	b.clock.Move(time.Minute)
	must(b.st.CreateTask(access.WithActor(b.ctx, "token:x"), task.Task{Name: "b", Kind: task.KindFunc}))(b)
	b.clock.Move(time.Minute)
	b.task("c")
	for text, f := range map[string]access.AuditFilter{
		"b": {Actor: "token:x"}, "cb": {Since: Epoch.Add(time.Minute)}, "a": {Until: Epoch.Add(time.Minute)},
		"": {Actor: "token:x", Until: Epoch.Add(time.Minute)},
	} {
		got := ""
		for _, a := range must(b.st.Audit(b.ctx, f))(b).Items {
			got += a.Name
		}
		want(b, "found", got, text)
	}
}

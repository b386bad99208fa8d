package storetest

import (
	"fmt"
	"strings"
	"time"

	"github.com/belfry-run/belfry"
)

func init() {
	add("a log is read by byte, by its last lines and by what is in it", func(b *bench) {
		b.task("t", func(t *belfry.Task) { t.Retry.MaxAttempts = 1 })
		j := b.enqueue(belfry.NewJob{Task: "t"})
		s := b.session("t")
		c := b.claim(s, 1)
		whole := ""
		var pieces []belfry.LogPiece
		for i := range 50 {
			text := fmt.Sprintf("line %d är here\nand", i)
			whole += text
			pieces = append(pieces, belfry.LogPiece{Ref: refOf(c.Jobs[0]), Seq: i, Stream: belfry.Stdout, At: b.clock.Now(), Text: text})
		}
		ok(b, b.st.Append(b.ctx, s.ID, pieces))
		read := func(q belfry.LogQuery) belfry.LogText {
			b.Helper()
			return must(b.st.LogText(b.ctx, "default", j.ID, q))(b)
		}
		size := int64(len(whole))
		for from := int64(0); from < size; from += 37 {
			t := read(belfry.LogQuery{Offset: from, Limit: 100})
			want(b, "text", t.Text, whole[from:min(size, from+100)])
			want(b, "next", t.Next, min(size, from+100))
			want(b, "size", t.Size, size)
		}
		want(b, "from the end", read(belfry.LogQuery{Offset: -10}).Text, whole[size-10:])
		want(b, "beyond the end", read(belfry.LogQuery{Offset: size + 10}).Next, size)
		want(b, "tail", read(belfry.LogQuery{Tail: 2}).Text, "andline 49 är here\nand")
		want(b, "all lines", read(belfry.LogQuery{Tail: 1000}).Text, whole)
		want(b, "another stream", read(belfry.LogQuery{Stream: belfry.Stderr}).Size, 0)
		want(b, "another attempt", read(belfry.LogQuery{Attempt: 2}).Size, 0)
		found := read(belfry.LogQuery{Grep: `line 4\d`, Regexp: true}).Found
		want(b, "found", len(found), 10)
		for _, f := range found {
			want(b, "at its offset", strings.HasPrefix(whole[f.Offset:], f.Line), true)
		}
		want(b, "by text", len(read(belfry.LogQuery{Grep: "line 7 "}).Found), 1)
		_, err := b.st.LogText(b.ctx, "default", j.ID, belfry.LogQuery{Grep: "(", Regexp: true})
		wantCode(b, err, belfry.Invalid, "grep")
		_, err = b.st.LogText(b.ctx, "other", j.ID, belfry.LogQuery{})
		wantCode(b, err, belfry.NotFound)
	})

	add("the audit is searched by who and when", func(b *bench) {
		b.task("a")
		b.clock.Move(time.Minute)
		must(b.st.CreateTask(belfry.WithActor(b.ctx, "token:x"), belfry.Task{Name: "b", Kind: belfry.KindFunc}))(b)
		b.clock.Move(time.Minute)
		b.task("c")
		for text, f := range map[string]belfry.AuditFilter{
			"b": {Actor: "token:x"}, "cb": {Since: Epoch.Add(time.Minute)}, "a": {Until: Epoch.Add(time.Minute)},
			"": {Actor: "token:x", Until: Epoch.Add(time.Minute)},
		} {
			got := ""
			for _, a := range must(b.st.Audit(b.ctx, f))(b).Items {
				got += a.Name
			}
			want(b, "found", got, text)
		}
	})
}

package storetest

import (
	"slices"
	"strings"
	"time"

	"github.com/belfry-run/belfry/access"
	"github.com/belfry-run/belfry/core"
)

// anHour is the idle timeout of sessions in these cases.
var anHour = access.WebSessionLimits{Idle: core.Duration(time.Hour), Life: core.Duration(3 * time.Hour)}

func init() {
	add("a web session lasts while it is used, and not beyond its life", caseAWebSessionLastsWhileItIsUsed)
	add("a web session that is not used ends, and is pruned", caseAWebSessionThatIsNotUsedEnds)
	add("a web session that is closed is over, and another is not", caseAWebSessionThatIsClosedIsOver)
	add("the audit has sign-ins, sign-outs and recorded requests", caseTheAuditHasSignIns)
}

func session(digit string) access.WebSession {
	return access.WebSession{Hash: strings.Repeat(digit, 64), Sealed: []byte{0, 1, 255}}
}

func ended(b *bench, w access.WebSession) {
	b.Helper()
	_, err := b.st.WebSession(b.ctx, w.Hash, anHour)
	wantCode(b, err, core.NotFound, "has ended", "sign in again")
}

func caseAWebSessionLastsWhileItIsUsed(b *bench) {
	w := must(b.st.OpenWebSession(b.ctx, session("a"), anHour))(b)
	want(b, "end of the session", w.ExpiresAt, Epoch.Add(time.Hour))
	for range 3 {
		b.clock.Move(55 * time.Minute)
		got := must(b.st.WebSession(b.ctx, w.Hash, anHour))(b)
		want(b, "sealed value of the session", string(got.Sealed), string(w.Sealed))
		want(b, "since when", got.CreatedAt, Epoch)
	}
	want(b, "last end of the session", must(b.st.WebSession(b.ctx, w.Hash, anHour))(b).ExpiresAt, Epoch.Add(3*time.Hour))
	b.clock.Move(15 * time.Minute)
	ended(b, w)
}

func caseAWebSessionThatIsNotUsedEnds(b *bench) {
	w := must(b.st.OpenWebSession(b.ctx, session("a"), anHour))(b)
	b.clock.Move(time.Hour)
	ended(b, w)
	must(b.st.Prune(b.ctx))(b)
	b.clock.Move(-30 * time.Minute)
	ended(b, w) // the session no longer exists
}

func caseAWebSessionThatIsClosedIsOver(b *bench) {
	one := must(b.st.OpenWebSession(b.ctx, session("a"), anHour))(b)
	other := must(b.st.OpenWebSession(b.ctx, session("b"), anHour))(b)
	for range 2 {
		ok(b, b.st.CloseWebSession(b.ctx, one.Hash))
	}
	ended(b, one)
	must(b.st.WebSession(b.ctx, other.Hash, anHour))(b)
}

func caseTheAuditHasSignIns(b *bench) {
	by := access.WithActor(b.ctx, "token:ann")
	w := must(b.st.OpenWebSession(by, session("a"), anHour))(b)
	for range 2 {
		ok(b, b.st.CloseWebSession(by, w.Hash))
	}
	ok(b, b.st.RecordAudit(b.ctx, []access.Audit{
		{Actor: "unknown", Action: "refuse", Noun: "token", Name: "192.0.2.1", Note: "3 times"},
		{Namespace: "team-a", Actor: "token:bob", Action: "enqueue", Noun: "task", Name: "t"},
	}))
	told := func(namespace string) (lines []string) {
		for _, a := range must(b.st.Audit(b.ctx, access.AuditFilter{Namespace: namespace}))(b).Items {
			lines = append(lines, strings.Join([]string{a.Actor, a.Action, a.Noun, a.Name, a.Note}, " "))
		}
		slices.Reverse(lines)
		return lines
	}
	want(b, "in all", strings.Join(told("*"), "; "), "token:ann sign in session  ; token:ann sign out session  ; unknown refuse token 192.0.2.1 3 times; token:bob enqueue task t ")
	want(b, "audit of namespace team-a", strings.Join(told("team-a"), "; "), "token:bob enqueue task t ")
}

package storetest

import (
	"context"
	"encoding/json"
	"strings"
	"time"

	"github.com/belfry-run/belfry/core"
	"github.com/belfry-run/belfry/job"
	"github.com/belfry-run/belfry/monitor"
	"github.com/belfry-run/belfry/store/base"
	"github.com/belfry-run/belfry/task"
	"github.com/belfry-run/belfry/workflow"
)

func init() {
	add("a link answers what it was made for without a token, until it expires, is taken back or the run ends", caseLinksAnswerWithoutAToken)
	add("the valid links of a run have a bound", caseLinksOfARunHaveABound)
	add("keys that are guessed do not wait for writers", caseGuessesDoNotWaitForWriters)
}

func keyOf(l job.NewLink) string { return strings.TrimPrefix(l.Path, job.AnswerPath) }

func caseLinksAnswerWithoutAToken(b *bench) {
	f := newGraph(b, "w", task.Workflow{Steps: []task.Step{{Name: "release", Approval: "Release?"}, {Name: "paid", Signal: "payment", Needs: []string{"release"}}, step("ship", "a", "paid")}})
	j := f.run("w", "")
	for field, l := range map[string]job.Link{
		"name": {Name: "ship"}, "valid": {Name: "release", Valid: core.Duration(job.MaxLinkFor + time.Second)}, "for": {Name: "release", For: strings.Repeat("x", 101)},
	} {
		_, err := b.st.MakeLink(b.ctx, "default", j.ID, l)
		wantCode(b, err, core.Invalid)
		want(b, field+" in "+err.Error(), strings.Contains(err.Error(), field), true)
	}
	_, err := b.st.MakeLink(b.ctx, "other", j.ID, job.Link{Name: "release"})
	wantCode(b, err, core.NotFound)
	ann := must(b.st.MakeLink(b.ctx, "default", j.ID, job.Link{Name: "release", For: "Ann"}))(b)
	want(b, "lifetime of the link", ann.ExpiresAt.Sub(f.clock.Now()), job.LinkFor)
	want(b, "keys kept", b.count(`select count(*) from belfry.links where secret_hash = $1`, keyOf(ann)), 0)
	_, err = b.st.Linked(b.ctx, "else")
	wantCode(b, err, core.NotFound)
	asks := must(b.st.Linked(b.ctx, keyOf(ann)))(b)
	want(b, "asks", asks, workflow.Linked{RunID: j.ID, Workflow: "w", Name: "release", Approval: "Release?", State: workflow.Waiting, ExpiresAt: ann.ExpiresAt})
	// An expired or revoked link answers nothing.
	short := must(b.st.MakeLink(b.ctx, "default", j.ID, job.Link{Name: "release", Valid: core.Duration(time.Minute)}))(b)
	back := must(b.st.MakeLink(b.ctx, "default", j.ID, job.Link{Name: "payment"}))(b)
	f.clock.Move(time.Minute)
	want(b, "taken back", must(b.st.DeleteLinks(b.ctx, "default", j.ID, "payment"))(b).Links, 1)
	for _, key := range []string{keyOf(short), keyOf(back), "", "else"} {
		_, err = b.st.SendByLink(b.ctx, key, workflow.Signal{})
		wantCode(b, err, core.NotFound)
	}
	want(b, "taken", must(b.st.SendByLink(b.ctx, keyOf(ann), workflow.Signal{Name: "payment", Note: "go"}))(b).Taken, true)
	_, err = b.st.SendByLink(b.ctx, keyOf(ann), workflow.Signal{Reject: true})
	wantCode(b, err, core.Conflict)
	s := must(b.st.WorkflowRun(b.ctx, "default", j.ID))(b)
	want(b, "states", f.states(j.ID), "release ok, paid waiting, ship pending")
	want(b, "author and note of the approval", s.Run.Steps[0].By+" "+s.Run.Steps[0].Note, "link:Ann go")
	want(b, "audit", b.count(`select count(*) from belfry.audit where action = 'approve' and actor = 'link:Ann'`), 1)
	// For a signal, every answer with its own id counts.
	pays := must(b.st.MakeLink(b.ctx, "default", j.ID, job.Link{Name: "payment"}))(b)
	_, err = b.st.SendByLink(b.ctx, keyOf(pays), workflow.Signal{Reject: true})
	wantCode(b, err, core.Invalid)
	pay := workflow.Signal{ID: "p1", Input: json.RawMessage(`{"amount": 5}`)}
	want(b, "taken", must(b.st.SendByLink(b.ctx, keyOf(pays), pay))(b), workflow.Sent{Taken: true})
	want(b, "twice", must(b.st.SendByLink(b.ctx, keyOf(pays), pay))(b), workflow.Sent{Existing: true})
	want(b, "work", f.works(nil), "a")
	b.wantState(j.ID, job.Succeeded)
	want(b, "ended", must(b.st.Linked(b.ctx, keyOf(pays)))(b).Open(), false)
	_, err = b.st.SendByLink(b.ctx, keyOf(pays), workflow.Signal{ID: "p2"})
	wantCode(b, err, core.Conflict)
	_, err = b.st.MakeLink(b.ctx, "default", j.ID, job.Link{Name: "payment"})
	wantCode(b, err, core.Conflict)
}

func caseLinksOfARunHaveABound(b *bench) {
	f := newGraph(b, "w", task.Workflow{Steps: []task.Step{{Name: "release", Approval: "Release?"}}})
	j := f.run("w", "")
	for range job.MaxLinks {
		must(b.st.MakeLink(b.ctx, "default", j.ID, job.Link{Name: "release", Valid: core.Duration(time.Hour)}))(b)
	}
	_, err := b.st.MakeLink(b.ctx, "default", j.ID, job.Link{Name: "release"})
	wantCode(b, err, core.TooLarge)
	f.clock.Move(time.Hour)
	must(b.st.MakeLink(b.ctx, "default", j.ID, job.Link{Name: "release"}))(b)
	want(b, "kept", b.count(`select count(*) from belfry.links`), 1)
}

// Visitors try keys without a token: an unknown key must not take the turn of a writer.
func caseGuessesDoNotWaitForWriters(b *bench) {
	const key = "0123456789abcdef0123456789abcdef0123456789a"
	ctx, cancel := context.WithTimeout(b.ctx, 2*time.Minute)
	defer cancel()
	ok(b, b.st.DB().Write(ctx, func(base.Tx, base.Moment) error {
		_, err := b.st.SendByLink(ctx, key, workflow.Signal{})
		wantCode(b, err, core.NotFound)
		_, err = b.st.ConfirmSubscription(ctx, key)
		wantCode(b, err, core.NotFound)
		_, err = b.st.Unsubscribe(ctx, key)
		wantCode(b, err, core.NotFound)
		_, _, err = b.st.Join(ctx, key, "machine")
		wantCode(b, err, core.Unauthorized)
		_, err = b.st.Beat(ctx, "0123456789abcdef0123456789abcdef", monitor.Call{Kind: monitor.CallSuccess})
		wantCode(b, err, core.NotFound)
		return nil
	}))
}

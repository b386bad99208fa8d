package storetest

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"
	"sync/atomic"
	"time"

	"github.com/belfry-run/belfry/core"
	"github.com/belfry-run/belfry/job"
	"github.com/belfry-run/belfry/store"
	"github.com/belfry-run/belfry/task"
	"github.com/belfry-run/belfry/view"
	"github.com/belfry-run/belfry/workflow"
)

func init() {
	add("a link sends one signal to a job without a token, until one has come, it expires, is taken back or the job ends", caseLinksSendASignalToAJob)
	add("a link to a signal of a job holds for its retries and for a reset of its steps", caseALinkHoldsForRetries)
	add("a link to a signal of a job is refused where no signal can come", caseLinksToNoSignal)
	addLeaser("the attempt that holds a job makes links to its signals, and no other", caseTheAttemptMakesLinks)
	addNodes("answers by links of one signal at the same moment: one counts, and the others are told", caseAnswersAtTheSameMoment)
}

// putOffForPaid creates a job that is snoozed while it waits a day for signal paid.
func putOffForPaid(b *bench, s job.Session) job.Ref {
	b.Helper()
	b.enqueue(job.NewJob{Task: "t"})
	j := b.claim(s, 1).Jobs[0]
	ref := refOf(j)
	must(b.st.SaveStep(b.ctx, s.ID, ref, job.NewStep{Number: 1, Name: "paid", Kind: job.StepSignal, Type: "int", Sleep: core.Duration(24 * time.Hour)}))(b)
	b.finish(s, j, job.OutcomeSnoozed, func(f *job.Finish) { f.Snooze = core.Duration(24 * time.Hour) })
	return ref
}

func caseLinksSendASignalToAJob(b *bench) {
	b.task("t")
	s := b.session("t")
	ref := putOffForPaid(b, s)
	id := ref.JobID
	_, err := b.st.MakeSignalLink(b.ctx, "other", id, job.Link{Name: "paid"})
	wantCode(b, err, core.NotFound)
	_, err = b.st.DeleteSignalLinks(b.ctx, "other", id, "")
	wantCode(b, err, core.NotFound)
	link := func(l job.Link) string {
		b.Helper()
		return keyOf(must(b.st.MakeSignalLink(b.ctx, "default", id, l))(b))
	}
	ann, second := link(job.Link{Name: "paid", For: "Ann"}), link(job.Link{Name: "paid"})
	short, back, early := link(job.Link{Name: "paid", Valid: core.Duration(time.Minute)}), link(job.Link{Name: "gone back"}), link(job.Link{Name: "not yet"})
	want(b, "keys kept", b.count(`select count(*) from belfry.links where secret_hash = $1`, ann), 0)
	want(b, "audit", b.count(`select count(*) from belfry.audit where action = 'link' and noun = 'job'`), 5)
	for range 3 { // as mail scanners do
		asks := must(b.st.Linked(b.ctx, ann))(b)
		want(b, "asks", asks, workflow.Linked{JobID: id, Task: "t", Name: "paid", ExpiresAt: Epoch.Add(job.LinkFor)})
		want(b, "link is open", asks.Open(), true)
	}
	want(b, "signals", b.count(`select count(*) from belfry.signals`), 0)
	b.clock.Move(time.Minute)
	want(b, "taken back", must(b.st.DeleteSignalLinks(b.ctx, "default", id, "gone back"))(b).Links, 1)
	for _, key := range []string{short, back, "", "else"} {
		_, err = b.st.SendByLink(b.ctx, key, workflow.Signal{})
		wantCode(b, err, core.NotFound)
		_, err = b.st.Linked(b.ctx, key)
		wantCode(b, err, core.NotFound)
	}
	_, err = b.st.SendByLink(b.ctx, ann, workflow.Signal{Reject: true})
	wantCode(b, err, core.Invalid, "reject")
	_, err = b.st.SendByLink(b.ctx, ann, workflow.Signal{Input: json.RawMessage(`"` + strings.Repeat("x", job.MaxSignal) + `"`)})
	wantCode(b, err, core.Invalid, "input")
	want(b, "signals", b.count(`select count(*) from belfry.signals`), 0)

	// The name of the signal comes from the link, not from the request.
	sent := must(b.st.SendByLink(b.ctx, ann, workflow.Signal{Name: "not yet", Input: json.RawMessage(`5`)}))(b)
	want(b, "sent", sent, workflow.Sent{Taken: true})
	for _, key := range []string{ann, second} {
		want(b, "twice", must(b.st.SendByLink(b.ctx, key, workflow.Signal{Input: json.RawMessage(`6`)}))(b), workflow.Sent{Existing: true})
		asks := must(b.st.Linked(b.ctx, key))(b)
		want(b, "answered", fmt.Sprint(asks.Answered, asks.Open()), "true false")
	}
	want(b, "the signal", b.count(`select count(*) from belfry.signals where name = 'paid' and input = '5' and by = 'link:Ann'`), 1)
	want(b, "audit", b.count(`select count(*) from belfry.audit where action = 'signal' and actor = 'link:Ann'`), 1)
	want(b, "kept for a step", must(b.st.SendByLink(b.ctx, early, workflow.Signal{}))(b), workflow.Sent{})
	want(b, "the signal", b.count(`select count(*) from belfry.signals where name = 'not yet' and input = 'null' and by = 'link'`), 1)

	last := link(job.Link{Name: "last"})
	must(b.st.Promote(b.ctx))(b)
	b.finish(s, b.claim(s, 1).Jobs[0], job.OutcomeOK)
	want(b, "ended", must(b.st.Linked(b.ctx, last))(b).Ended, true)
	_, err = b.st.SendByLink(b.ctx, last, workflow.Signal{})
	wantCode(b, err, core.Conflict, "has ended")
	b.clock.Move(40 * 24 * time.Hour)
	b.sql(`delete from belfry.jobs_done`)
	must(b.st.Prune(b.ctx))(b)
	want(b, "links of a job that is gone", b.count(`select count(*) from belfry.links`), 0)
}

func caseALinkHoldsForRetries(b *bench) {
	b.task("t", func(t *task.Task) { t.Retry.MaxAttempts = 1 })
	s := b.session("t")
	ref := putOffForPaid(b, s)
	id := ref.JobID
	key := keyOf(must(b.st.MakeSignalLink(b.ctx, "default", id, job.Link{Name: "paid"}))(b))
	must(b.st.SendByLink(b.ctx, key, workflow.Signal{Input: json.RawMessage(`1`)}))(b)
	must(b.st.Promote(b.ctx))(b)
	b.finish(s, b.claim(s, 1).Jobs[0], job.OutcomeError)
	b.wantState(id, job.Failed)
	must(b.st.ResetSteps(b.ctx, "default", id, job.StepReset{From: "paid"}))(b)
	_, err := b.st.SendByLink(b.ctx, key, workflow.Signal{})
	wantCode(b, err, core.Conflict, "has ended")
	must(b.st.RetryJobs(b.ctx, "default", view.Selection{IDs: []int64{id}}))(b)
	want(b, "open again", must(b.st.Linked(b.ctx, key))(b).Open(), true)
	want(b, "kept", must(b.st.SendByLink(b.ctx, key, workflow.Signal{Input: json.RawMessage(`2`)}))(b), workflow.Sent{})
	want(b, "the signal", b.count(`select count(*) from belfry.signals where input = '2'`), 1)
}

func caseLinksToNoSignal(b *bench) {
	b.task("t")
	s := b.session("t")
	b.enqueue(job.NewJob{Task: "t"})
	j := b.claim(s, 1).Jobs[0]
	ref := refOf(j)
	must(b.st.SaveStep(b.ctx, s.ID, ref, job.NewStep{Number: 1, Name: "charge", Kind: job.StepRun, Result: json.RawMessage(`1`)}))(b)
	link := func(name string) error {
		_, err := b.st.MakeSignalLink(b.ctx, "default", ref.JobID, job.Link{Name: name})
		return err
	}
	wantCode(b, link("charge"), core.Conflict, "waits for no signal")
	wantCode(b, link(""), core.Invalid, "name")
	wantCode(b, link(strings.Repeat("x", 129)), core.Invalid, "name")
	for field, l := range map[string]job.Link{"valid": {Name: "a", Valid: core.Duration(job.MaxLinkFor + time.Second)}, "for": {Name: "a", For: strings.Repeat("x", 101)}} {
		_, err := b.st.MakeSignalLink(b.ctx, "default", ref.JobID, l)
		wantCode(b, err, core.Invalid, field)
	}
	must(b.st.SignalJob(b.ctx, "default", ref.JobID, job.Signal{Name: "there"}))(b)
	wantCode(b, link("there"), core.Conflict, "was sent to job")
	_, err := b.st.MakeSignalLink(b.ctx, "default", 999, job.Link{Name: "a"})
	wantCode(b, err, core.NotFound)

	// A link whose wait is over no longer asks.
	must(b.st.SaveStep(b.ctx, s.ID, ref, job.NewStep{Number: 2, Name: "soon", Kind: job.StepSignal, Sleep: core.Duration(time.Minute)}))(b)
	key := keyOf(must(b.st.MakeSignalLink(b.ctx, "default", ref.JobID, job.Link{Name: "soon"}))(b))
	b.clock.Move(time.Minute)
	want(b, "late", must(b.st.Linked(b.ctx, key))(b).Late, true)
	_, err = b.st.SendByLink(b.ctx, key, workflow.Signal{})
	wantCode(b, err, core.Conflict, "waited for signal")
	wantCode(b, link("soon"), core.Conflict, "waited for signal")

	for range job.MaxLinks - 1 {
		ok(b, link("many"))
	}
	wantCode(b, link("many"), core.TooLarge, "has 100 links", "belfry job unlink")
	want(b, "taken back", must(b.st.DeleteSignalLinks(b.ctx, "default", ref.JobID, ""))(b).Links, job.MaxLinks)
	ok(b, link("many"))
	b.finish(s, j, job.OutcomeOK)
	wantCode(b, link("late"), core.Conflict, "has ended")

	g := newGraph(b, "w", task.Workflow{Steps: []task.Step{{Name: "release", Approval: "Release?"}}})
	run := g.run("w", "")
	_, err = b.st.MakeSignalLink(b.ctx, "default", run.ID, job.Link{Name: "release"})
	wantCode(b, err, core.Conflict, "is a run of a workflow", "belfry workflow link")
	_, err = b.st.DeleteSignalLinks(b.ctx, "default", run.ID, "")
	wantCode(b, err, core.Conflict, "belfry workflow unlink")
}

func caseTheAttemptMakesLinks(d *leaserBench) {
	d.task("t")
	d.one("t")
	s := d.session("t")
	ref := d.claimOne(s)
	made := must(d.keeper().LinkSignal(d.ctx, s, ref, job.Link{Name: "approved by finance", For: "Ann"}))(d)
	want(d, "link", fmt.Sprint(made.Name, " ", made.For, " ", strings.HasPrefix(made.Path, job.AnswerPath), made.ExpiresAt.UTC()), fmt.Sprint("approved by finance Ann true ", Epoch.Add(job.LinkFor)))
	_, err := d.keeper().LinkSignal(d.ctx, s, ref, job.Link{})
	wantCode(d, err, core.Invalid)
	other := d.session("t")
	for _, by := range []struct {
		session string
		ref     job.Ref
	}{{other, ref}, {s, job.Ref{JobID: ref.JobID, Lease: ref.Lease + 1000}}} {
		_, err := d.keeper().LinkSignal(d.ctx, by.session, by.ref, job.Link{Name: "a"})
		wantCode(d, err, core.Conflict, "was lost")
	}
	d.finish(s, ref, job.OutcomeOK)
	_, err = d.keeper().LinkSignal(d.ctx, s, ref, job.Link{Name: "a"})
	wantCode(d, err, core.Conflict)
}

func caseAnswersAtTheSameMoment(b *bench, nodes []*store.Store) {
	b.task("t")
	s := b.session("t")
	ref := putOffForPaid(b, s)
	var keys []string
	for range 3 {
		keys = append(keys, keyOf(must(b.st.MakeSignalLink(b.ctx, "default", ref.JobID, job.Link{Name: "paid"}))(b)))
	}
	var taken, existing atomic.Int64
	b.crowd(nodes, 8, func(ctx context.Context, st *store.Store, i int) error {
		sent, err := st.SendByLink(ctx, keys[i%len(keys)], workflow.Signal{Input: json.RawMessage(fmt.Sprint(i))})
		if sent.Taken {
			taken.Add(1)
		}
		if sent.Existing {
			existing.Add(1)
		}
		return err
	})
	want(b, "taken", taken.Load(), 1)
	want(b, "repeated signals that got the existing one", existing.Load(), int64(8*len(nodes)-1))
	want(b, "signals", b.count(`select count(*) from belfry.signals`), 1)
}

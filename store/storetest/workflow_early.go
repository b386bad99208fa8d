package storetest

import (
	"encoding/json"
	"fmt"
	"slices"
	"time"

	"github.com/belfry-run/belfry/core"
	"github.com/belfry-run/belfry/flow"
	"github.com/belfry-run/belfry/job"
	"github.com/belfry-run/belfry/store"
	"github.com/belfry-run/belfry/store/base"
	"github.com/belfry-run/belfry/task"
	"github.com/belfry-run/belfry/view"
	"github.com/belfry-run/belfry/workflow"
)

func init() {
	add("a signal to a run that has not begun is kept, and what would be refused later is refused", caseASignalBeforeTheRunBegins)
	add("what was sent to a run that was canceled before it began is there when it is retried, and leaves with the job", caseSignalsOfARunThatNeverBegan)
	add("a link to a run that has not begun answers it", caseALinkBeforeTheRunBegins)
	add("a run that was retried takes signals and links before it begins again", caseSignalsBeforeARetryBegins)
	add("a signal is sent anew with its id to a run that was retried and has not begun again", caseASignalSentAnewBeforeARetryBegins)
	add("an approval takes one answer, also before it is asked", caseOneAnswer)
	addNodes("signals that meet the begin of their run on other nodes are each taken", signalsMeetTheBegin)
	addNodes("signals that meet the cancel of a run that has not begun are kept or refused", signalsMeetTheCancel)
}

// early creates a workflow with a signal and an approval.
func early(b *bench, more ...func(*task.Task)) *workflowBench {
	return newGraph(b, "w", task.Workflow{Steps: []task.Step{
		{Name: "paid", Signal: "payment"}, {Name: "release", Approval: "Release?"},
		{Name: "ship", Task: "a", Needs: []string{"paid", "release"}, Input: map[string]string{"amount": "steps.paid.output.amount"}},
	}}, more...)
}

func caseASignalBeforeTheRunBegins(b *bench) {
	f := early(b)
	j := b.enqueue(job.NewJob{Task: "w"})
	later := b.enqueue(job.NewJob{Task: "w", Delay: core.Duration(time.Hour)})
	pay := workflow.Signal{Name: "payment", ID: "p1", Input: json.RawMessage(`{"amount": 5}`)}
	for _, id := range []int64{j.ID, later.ID} {
		want(b, "answer to an early signal", must(b.st.SendSignal(b.ctx, "default", id, pay))(b), workflow.Sent{})
		want(b, "twice", must(b.st.SendSignal(b.ctx, "default", id, pay))(b), workflow.Sent{Existing: true})
		want(b, "approval", must(b.st.SendSignal(b.ctx, "default", id, workflow.Signal{Name: "release", Note: "go"}))(b), workflow.Sent{})
		_, err := b.st.SendSignal(b.ctx, "default", id, workflow.Signal{Name: "nothing"})
		wantCode(b, err, core.Invalid, `is not a signal of workflow "w"`)
		_, err = b.st.SendSignal(b.ctx, "default", id, workflow.Signal{Name: "payment", Reject: true})
		wantCode(b, err, core.Invalid, "is for approvals")
		_, err = b.st.SendSignal(b.ctx, "other", id, pay)
		wantCode(b, err, core.NotFound, "is not a run")
	}
	want(b, "audit", b.count(`select count(*) from belfry.audit where action = 'signal'`), 2)
	want(b, "audit", b.count(`select count(*) from belfry.audit where action = 'approve'`), 2)
	f.engine()
	want(b, "states", f.states(j.ID), "paid ok, release ok, ship running")
	want(b, "twice", must(b.st.SendSignal(b.ctx, "default", j.ID, pay))(b), workflow.Sent{Existing: true})
	want(b, "work", f.works(nil), "a")
	want(b, "input", f.ran[0], `a{"amount":5}`)
	b.wantState(j.ID, job.Succeeded)
	b.clock.Move(time.Hour)
	b.promote()
	want(b, "work", f.works(nil), "a")
	b.wantState(later.ID, job.Succeeded)
	plain := b.enqueue(job.NewJob{Task: "a"})
	_, err := b.st.SendSignal(b.ctx, "default", plain.ID, pay)
	wantCode(b, err, core.NotFound, "is not a run")
	// A run that has begun keeps as many signals as one that has not.
	full := b.enqueue(job.NewJob{Task: "w"})
	for range workflow.MaxSignals {
		must(b.st.SendSignal(b.ctx, "default", full.ID, workflow.Signal{Name: "payment"}))(b)
	}
	_, err = b.st.SendSignal(b.ctx, "default", full.ID, workflow.Signal{Name: "payment"})
	wantCode(b, err, core.TooLarge)
}

func caseSignalsOfARunThatNeverBegan(b *bench) {
	f := early(b)
	j := b.enqueue(job.NewJob{Task: "w"})
	for _, name := range []string{"payment", "release"} {
		must(b.st.SendSignal(b.ctx, "default", j.ID, workflow.Signal{Name: name, Input: json.RawMessage(`{"amount": 5}`)}))(b)
	}
	b.cancel(j.ID)
	b.wantState(j.ID, job.Canceled)
	_, err := b.st.SendSignal(b.ctx, "default", j.ID, workflow.Signal{Name: "payment"})
	wantCode(b, err, core.Conflict, "ended before it began")
	_, err = b.st.WorkflowRun(b.ctx, "default", j.ID)
	wantCode(b, err, core.NotFound, "ended before it began")
	must(b.st.Prune(b.ctx))(b)
	b.retry(j.ID)
	want(b, "work", f.works(nil), "a")
	b.wantState(j.ID, job.Succeeded)
	gone := b.enqueue(job.NewJob{Task: "w"})
	must(b.st.SendSignal(b.ctx, "default", gone.ID, workflow.Signal{Name: "payment"}))(b)
	b.cancel(gone.ID)
	ok(b, b.st.Write(b.ctx, "forget", func(c *base.Change) error {
		_, err := c.Tx.Exec(b.ctx, `delete from belfry.jobs_done where id = $1`, gone.ID)
		return err
	}))
	must(b.st.Prune(b.ctx))(b)
	want(b, "signals of it", b.count(`select count(*) from belfry.workflow_signals where run_id = $1`, gone.ID), 0)
	want(b, "signals of the other", b.count(`select count(*) from belfry.workflow_signals where run_id = $1`, j.ID), 2)
}

func caseALinkBeforeTheRunBegins(b *bench) {
	f := early(b)
	j := b.enqueue(job.NewJob{Task: "w"})
	_, err := b.st.MakeLink(b.ctx, "default", j.ID, job.Link{Name: "ship"})
	wantCode(b, err, core.Invalid, "is not a signal")
	approves := must(b.st.MakeLink(b.ctx, "default", j.ID, job.Link{Name: "release", For: "Ann"}))(b)
	pays := must(b.st.MakeLink(b.ctx, "default", j.ID, job.Link{Name: "payment"}))(b)
	must(b.st.MakeLink(b.ctx, "default", j.ID, job.Link{Name: "payment"}))(b)
	asks := must(b.st.Linked(b.ctx, keyOf(approves)))(b)
	want(b, "asks", asks, workflow.Linked{RunID: j.ID, Workflow: "w", Name: "release", Approval: "Release?", State: workflow.Pending, ExpiresAt: approves.ExpiresAt})
	want(b, "link is open", asks.Open(), true)
	want(b, "approved", must(b.st.SendByLink(b.ctx, keyOf(approves), workflow.Signal{Note: "go"}))(b), workflow.Sent{})
	want(b, "paid", must(b.st.SendByLink(b.ctx, keyOf(pays), workflow.Signal{Input: json.RawMessage(`{"amount": 5}`)}))(b), workflow.Sent{})
	want(b, "taken back", must(b.st.DeleteLinks(b.ctx, "default", j.ID, "payment"))(b).Links, 2)
	f.engine()
	want(b, "states", f.states(j.ID), "paid ok, release ok, ship running")
	want(b, "author of the approval", must(b.st.WorkflowRun(b.ctx, "default", j.ID))(b).Run.Steps[1].By, "link:Ann")
	never := b.enqueue(job.NewJob{Task: "w"})
	late := must(b.st.MakeLink(b.ctx, "default", never.ID, job.Link{Name: "release"}))(b)
	b.cancel(never.ID)
	want(b, "ended", must(b.st.Linked(b.ctx, keyOf(late)))(b).Open(), false)
	_, err = b.st.SendByLink(b.ctx, keyOf(late), workflow.Signal{})
	wantCode(b, err, core.Conflict, "ended before it began")
	_, err = b.st.MakeLink(b.ctx, "default", never.ID, job.Link{Name: "release"})
	wantCode(b, err, core.Conflict, "ended before it began")
	_, err = b.st.DeleteLinks(b.ctx, "other", never.ID, "")
	wantCode(b, err, core.NotFound, "is not a run")
	for _, name := range []string{"", "release"} {
		if name != "" { // a retry makes its links valid again
			b.retry(never.ID)
			late = must(b.st.MakeLink(b.ctx, "default", never.ID, job.Link{Name: name}))(b)
			b.cancel(never.ID)
		}
		want(b, "taken back from a run that never began", must(b.st.DeleteLinks(b.ctx, "default", never.ID, name))(b).Links, 1)
		_, err = b.st.SendByLink(b.ctx, keyOf(late), workflow.Signal{})
		wantCode(b, err, core.NotFound)
	}
	want(b, "audit of it", b.count(`select count(*) from belfry.audit where action = 'unlink' and namespace = 'default' and name = $1`, fmt.Sprint(never.ID)), 2)
}

func caseSignalsBeforeARetryBegins(b *bench) {
	f := early(b, limited(flow.Limit{Running: 1}))
	j := f.run("w", "")
	must(b.st.SendSignal(b.ctx, "default", j.ID, workflow.Signal{Name: "payment", Input: json.RawMessage(`{"amount": 5}`)}))(b)
	must(b.st.SendSignal(b.ctx, "default", j.ID, workflow.Signal{Name: "release", Reject: true}))(b)
	b.wantState(j.ID, job.Failed)
	other := f.run("w", "")
	ok(b, retryRun(b, j.ID, workflow.Retrying{}))
	b.promote()
	want(b, "waits", b.job(j.ID).Reason, core.Reason("limit"))
	want(b, "states", f.states(j.ID), "paid ok, release pending, ship pending")
	want(b, "why", must(b.st.WorkflowRun(b.ctx, "default", j.ID))(b).Why, "it was retried, and has not begun again")
	wantCode(b, retryRun(b, j.ID, workflow.Retrying{}), core.Conflict, "has not begun again", "belfry job why")
	must(b.st.SendSignal(b.ctx, "default", j.ID, workflow.Signal{Name: "payment"}))(b)
	made := must(b.st.MakeLink(b.ctx, "default", j.ID, job.Link{Name: "release", For: "Ann"}))(b)
	want(b, "link is open", must(b.st.Linked(b.ctx, keyOf(made)))(b).Open(), true)
	want(b, "approved", must(b.st.SendByLink(b.ctx, keyOf(made), workflow.Signal{}))(b), workflow.Sent{})
	b.cancel(other.ID)
	want(b, "work", f.works(nil), "a")
	want(b, "input", f.ran[0], `a{"amount":5}`)
	b.wantState(j.ID, job.Succeeded)
	_, err := b.st.SendSignal(b.ctx, "default", j.ID, workflow.Signal{Name: "payment"})
	wantCode(b, err, core.Conflict, "has ended")
}

func caseASignalSentAnewBeforeARetryBegins(b *bench) {
	f := early(b, limited(flow.Limit{Running: 1}))
	j := f.run("w", "")
	send := func(name, id, input string) workflow.Sent {
		return must(b.st.SendSignal(b.ctx, "default", j.ID, workflow.Signal{Name: name, ID: id, Input: json.RawMessage(input)}))(b)
	}
	send("payment", "p1", `{"amount": 5}`)
	send("release", "r1", "")
	f.works(nil)
	b.wantState(j.ID, job.Succeeded)
	other := f.run("w", "")
	ok(b, retryRun(b, j.ID, workflow.Retrying{From: "paid"}))
	b.promote()
	want(b, "answer to the signal sent again", send("payment", "p1", `{"amount": 7}`), workflow.Sent{})
	want(b, "twice", send("payment", "p1", `{"amount": 9}`), workflow.Sent{Existing: true})
	want(b, "answer to a signal of a kept step", send("release", "r1", ""), workflow.Sent{Existing: true})
	b.cancel(other.ID)
	want(b, "work", f.works(nil), "a")
	want(b, "input", f.ran[len(f.ran)-1], `a{"amount":7}`)
	b.wantState(j.ID, job.Succeeded)
}

func caseOneAnswer(b *bench) {
	f := newGraph(b, "w", task.Workflow{Steps: []task.Step{{Name: "release", Approval: "Release?"}, step("ship", "a", "release"), {Name: "other", Signal: "s"}}})
	j := b.enqueue(job.NewJob{Task: "w"})
	answer := func(id string, reject bool) (workflow.Sent, error) {
		return b.st.SendSignal(b.ctx, "default", j.ID, workflow.Signal{Name: "release", ID: id, Reject: reject})
	}
	want(b, "first", must(answer("1", true))(b), workflow.Sent{})
	_, err := answer("2", false)
	wantCode(b, err, core.Conflict, "has an answer already")
	f.engine()
	want(b, "repeated", must(answer("1", true))(b), workflow.Sent{Existing: true})
	_, err = answer("2", false)
	wantCode(b, err, core.Conflict, "is failed already")
	must(b.st.SendSignal(b.ctx, "default", j.ID, workflow.Signal{Name: "s"}))(b)
	b.wantState(j.ID, job.Failed)
	ok(b, retryRun(b, j.ID, workflow.Retrying{}))
	f.engine()
	want(b, "states", f.states(j.ID), "release waiting, ship pending, other ok")
	want(b, "answer to the second approval", must(answer("2", false))(b), workflow.Sent{Taken: true})
	want(b, "work", f.works(nil), "a")
	b.wantState(j.ID, job.Succeeded)
}

func signalsMeetTheBegin(b *bench, nodes []*store.Store) {
	f := early(b)
	for range 20 {
		j := b.enqueue(job.NewJob{Task: "w"})
		errs := make([]error, 3)
		together(3, func(i int) {
			st := nodes[i%len(nodes)]
			switch i {
			case 0:
				_, errs[i] = st.StartWorkflows(b.ctx)
			case 1:
				_, errs[i] = st.SendSignal(b.ctx, "default", j.ID, workflow.Signal{Name: "payment", Input: json.RawMessage(`{"amount": 5}`)})
			case 2:
				_, errs[i] = st.SendSignal(b.ctx, "default", j.ID, workflow.Signal{Name: "release"})
			}
		})
		for _, err := range errs {
			ok(b, err)
		}
		f.engine()
		want(b, "states", f.states(j.ID), "paid ok, release ok, ship running")
		want(b, "work", f.works(nil), "a")
		b.wantState(j.ID, job.Succeeded)
	}
}

func signalsMeetTheCancel(b *bench, nodes []*store.Store) {
	early(b)
	for range 20 {
		j := b.enqueue(job.NewJob{Task: "w"})
		var err error
		together(2, func(i int) {
			if i == 0 {
				_, _ = nodes[0].CancelJobs(b.ctx, "default", view.Selection{IDs: []int64{j.ID}})
				return
			}
			_, err = nodes[1%len(nodes)].SendSignal(b.ctx, "default", j.ID, workflow.Signal{Name: "payment"})
		})
		b.wantState(j.ID, job.Canceled)
		kept := b.count(`select count(*) from belfry.workflow_signals where run_id = $1`, j.ID)
		if code := core.CodeOf(err); !slices.Contains([]core.Code{"", core.Conflict}, code) || (kept == 1) != (err == nil) {
			b.Fatalf("got %d stored signals and error %v, want one signal without an error, or a conflict", kept, err)
		}
	}
}

package workflows

import (
	"context"
	"fmt"
	"strconv"

	"github.com/google/uuid"

	"github.com/belfry-run/belfry/access"
	"github.com/belfry-run/belfry/core"
	"github.com/belfry-run/belfry/store/base"
	"github.com/belfry-run/belfry/store/keys"
	"github.com/belfry-run/belfry/store/limits"
	"github.com/belfry-run/belfry/workflow"
)

// lockRun locks a run of a namespace.
func (c *Change) lockRun(namespace string, id int64) (p progress, err error) {
	p, found, err := base.First(c.Ctx, c.Tx, scanProgress, selectRuns+` where job_id = $1`+c.SQL.ForUpdate("workflow_runs"), id)
	if err == nil && (!found || namespace != core.AnyNamespace && p.Namespace != namespace) {
		err = noRun(c.Ctx, c.Tx, namespace, id)
	}
	return p, err
}

// SendSignal sends a signal to a run. A signal is stored if no step waits for it yet, even before the run has begun. A signal
// whose id is already stored changes nothing. A run that has ended refuses signals with [core.Conflict].
func (s *Store) SendSignal(ctx context.Context, namespace string, id int64, sig workflow.Signal) (out workflow.Sent, err error) {
	if err := sig.Validate(); err != nil {
		return out, err
	}
	err = s.write(ctx, "send signal", func(c *Change) error {
		out, err = c.send(namespace, id, sig)
		return err
	})
	return out, err
}

func (c *Change) send(namespace string, id int64, sig workflow.Signal) (out workflow.Sent, err error) {
	p, begun, err := c.lockEarly(namespace, id)
	if err != nil {
		return out, err
	}
	if err := p.checkName(sig.Name); err != nil {
		return out, err
	}
	if begun && p.EndedAt.IsZero() { // a wait that has timed out takes no signal, even if the engine has not looked at it yet
		if err := c.advance(&p); err != nil {
			return out, err
		}
	}
	at := p.plan.Workflow.Find(sig.Name)
	approval := at >= 0 && p.plan.Workflow.Steps[at].Approval != ""
	if sig.Reject && !approval {
		return out, core.InvalidField("reject", "true", "is for approvals", fmt.Sprintf("%s is a signal", sig.Name))
	}
	if sig.ID != "" {
		if out.Existing, err = c.isRepeated(&p, sig); err != nil || out.Existing {
			return out, err
		}
	} else {
		sig.ID = uuid.NewString()
	}
	if !p.EndedAt.IsZero() {
		return out, hasEnded(id)
	}
	if approval {
		if err := c.checkUnanswered(&p, at); err != nil {
			return out, err
		}
	}
	var n, seq int64
	_, err = base.Collect(c.Ctx, c.Tx, func(r base.Rows) (none struct{}, err error) { return none, r.Scan(&n, &seq) },
		`select count(*), coalesce(max(seq), -1) + 1 from belfry.workflow_signals where run_id = $1`, id)
	if err != nil {
		return out, err
	}
	if n >= workflow.MaxSignals {
		return out, core.Errorf(core.TooLarge, "workflow run %d has %d signals, the most is %d", id, n, workflow.MaxSignals)
	}
	sig.By, sig.At = access.ActorOf(c.Ctx), c.Now
	if _, err := c.Tx.Exec(c.Ctx, `
		insert into belfry.workflow_signals (run_id, name, id, seq, step, at, doc)
		values ($1, $2, $3, $4, -1, $5, $6)`, id, sig.Name, sig.ID, seq, base.Micros(c.Now), base.Text(sig)); err != nil {
		return out, err
	}
	action, note := "signal", sig.Name
	if approval {
		if action = "approve"; sig.Reject {
			action = "reject"
		}
	}
	if sig.Note != "" {
		note += ": " + sig.Note
	}
	if err := c.Audit(action, "workflow-run", p.Namespace, strconv.FormatInt(id, 10), note, nil, nil); err != nil {
		return out, err
	}
	i := p.Waiting(p.plan, sig.Name)
	if i < 0 {
		return out, nil
	}
	out.Taken = true
	if err := c.takeSignal(&p, i); err != nil {
		return out, err
	}
	return out, c.advance(&p)
}

// isRepeated reports whether a signal with this id is already stored. If a retry will begin the step again that took the stored
// signal, that signal is deleted. The retry would forget it, and the new signal with it.
func (c *Change) isRepeated(p *progress, sig workflow.Signal) (bool, error) {
	step, found, err := base.First(c.Ctx, c.Tx, base.ScanInt, `select step from belfry.workflow_signals where run_id = $1 and name = $2 and id = $3`, p.JobID, sig.Name, sig.ID)
	if err != nil || !found || step < 0 || p.Steps[step].State.Final() {
		return found, err
	}
	_, err = c.Tx.Exec(c.Ctx, `delete from belfry.workflow_signals where run_id = $1 and name = $2 and id = $3`, p.JobID, sig.Name, sig.ID)
	return false, err
}

// checkUnanswered rejects a second answer to an approval: a stored answer would answer the same approval again after a retry.
func (c *Change) checkUnanswered(p *progress, at int) error {
	step := p.Steps[at]
	if step.State.Final() {
		return core.Errorf(core.Conflict, "approval %q is %s already", step.Name, step.State)
	}
	_, kept, err := base.First(c.Ctx, c.Tx, base.ScanInt, `select at from belfry.workflow_signals where run_id = $1 and name = $2 and step < 0`, p.JobID, step.Name)
	if err == nil && kept {
		err = core.Errorf(core.Conflict, "approval %q has an answer already, which counts when it is asked", step.Name)
	}
	return err
}

// takeSignal ends the wait of a step with the first signal that no step has taken.
func (c *Change) takeSignal(p *progress, i int) error {
	step := p.plan.Workflow.Steps[i]
	sig, found, err := base.First(c.Ctx, c.Tx, scanSignal, `
		select id, doc
		from belfry.workflow_signals
		where run_id = $1 and name = $2 and step < 0
		order by seq
		limit 1`, p.JobID, step.SignalName())
	if err != nil || !found {
		return err
	}
	if _, err := c.Tx.Exec(c.Ctx, `update belfry.workflow_signals set step = $4 where run_id = $1 and name = $2 and id = $3`, p.JobID, step.SignalName(), sig.ID, i); err != nil {
		return err
	}
	out := base.JsonText(sig.Input)
	if step.Approval != "" {
		text := base.Text(map[string]any{"approved": !sig.Reject, "by": sig.By, "note": sig.Note})
		out = &text
	}
	size := 0
	if out != nil {
		size = len(*out)
	}
	if _, err := c.Tx.Exec(c.Ctx, `
		insert into belfry.workflow_items (run_id, step, item, job_id, ended_at, state, output, size)
		values ($1, $2, 0, 0, $3, 'succeeded', $4, $5)`, p.JobID, i, base.Micros(c.Now), out, size); err != nil {
		return err
	}
	p.Answer(i, !sig.Reject, sig.By, sig.Note, p.now)
	return nil
}

func scanSignal(r base.Rows) (s workflow.Signal, err error) {
	var id string
	err = r.Scan(&id, base.ScanDoc(&s))
	s.ID = id
	return s, err
}

// PrepareRetry records how an ended run continues when its job is retried. A run that was retried with the same key already is
// existing, and is left as it is.
func (c *Change) PrepareRetry(namespace string, id int64, r workflow.Retrying) (existing bool, err error) {
	p, err := c.lockRun(namespace, id)
	if err != nil {
		return false, err
	}
	if r.Key != "" {
		key := keys.RetryOf(c.Change, p.Namespace, id, r.Key, keys.RetryAskedFor(r.From, r.Input))
		was, err := keys.TakeRetries(c.Change, []keys.Row{key})
		if err != nil || was[id] {
			return was[id], err
		}
	}
	return false, c.prepareRetry(&p, r)
}

func (c *Change) prepareRetry(p *progress, r workflow.Retrying) error {
	id := p.JobID
	if p.EndedAt.IsZero() {
		return core.Errorf(core.Conflict, "workflow run %d has not ended", id).WithHint("belfry workflow show %d", id)
	}
	if p.Parent != 0 {
		return core.Errorf(core.Conflict, "workflow run %d is a step of run %d, and is not retried alone", id, p.Parent).WithHint("belfry workflow retry %d", p.Parent)
	}
	if r.From != "" && p.plan.Workflow.Find(r.From) < 0 {
		return core.InvalidField("from", r.From, fmt.Sprintf("is not a step of workflow %q as it was when the run began", p.Workflow), "belfry workflow show "+strconv.FormatInt(id, 10))
	}
	p.From = r.From
	if len(r.Input) > 0 {
		p.plan.Input, p.Edited = r.Input, true
		if _, err := c.Tx.Exec(c.Ctx, `update belfry.workflow_runs set plan = $2 where job_id = $1`, id, base.Text(p.plan)); err != nil {
			return err
		}
	}
	return c.save(p, 0)
}

// ClearRetryStart clears the first step of runs that are retried. An earlier retry may have named one, and may have been
// canceled before it began.
func (c *Change) ClearRetryStart(ids []int64) error {
	runs, err := c.lockRuns(c.SQL.In("job_id", 1), ids)
	if err != nil {
		return err
	}
	for i := range runs {
		if p := &runs[i]; p.From != "" && !p.EndedAt.IsZero() {
			p.From = ""
			if err := c.save(p, 0); err != nil {
				return err
			}
		}
	}
	return nil
}

// resumeRetried continues an ended run with all steps that did not succeed. A success is repeated only on request.
func (c *Change) resumeRetried(p *progress) error {
	if err := limits.HandOver(c.Change, p.JobID); err != nil {
		return err
	}
	all, rest := p.Retry(p.plan, p.Edited, p.now)
	p.Edited = false
	var steps []int64
	for _, i := range all {
		steps = append(steps, int64(i))
	}
	for _, query := range []string{
		`delete from belfry.workflow_items where run_id = $1 and ` + c.SQL.In("step", 2),
		`delete from belfry.workflow_inputs where run_id = $1 and ` + c.SQL.In("step", 2),
		`delete from belfry.workflow_signals where run_id = $1 and step >= 0 and ` + c.SQL.In("step", 2),
	} {
		if _, err := c.Tx.Exec(c.Ctx, query, p.JobID, c.SQL.List(steps)); err != nil {
			return err
		}
	}
	for _, i := range rest {
		well, err := base.Collect(c.Ctx, c.Tx, base.ScanInt, `select item from belfry.workflow_items where run_id = $1 and step = $2 and state = 'succeeded'`, p.JobID, i)
		if err != nil {
			return err
		}
		kept := make(map[int64]bool, len(well))
		for _, item := range well {
			kept[item] = true
		}
		again := []int{}
		for item := range p.Steps[i].Total + p.Steps[i].Kept {
			if !kept[int64(item)] {
				again = append(again, item)
			}
		}
		if _, err := c.Tx.Exec(c.Ctx, `delete from belfry.workflow_items where run_id = $1 and step = $2 and state <> 'succeeded'`, p.JobID, i); err != nil {
			return err
		}
		p.RetryItems(i, again, len(well), p.now)
	}
	return nil
}

// WorkflowRun returns a run of a workflow, in progress or ended.
func (s *Store) WorkflowRun(ctx context.Context, namespace string, id int64) (out workflow.Status, err error) {
	now, err := s.Now(ctx)
	if err != nil {
		return out, err
	}
	err = s.DB().Read(ctx, func(tx base.Tx) error {
		p, found, err := base.First(ctx, tx, scanProgress, selectRuns+` where job_id = $1`, id)
		if err != nil {
			return err
		}
		if !found || namespace != core.AnyNamespace && p.Namespace != namespace {
			return noRun(ctx, tx, namespace, id)
		}
		due, _, err := base.First(ctx, tx, base.ScanInt, `select due_at from belfry.workflow_runs where job_id = $1`, id)
		if err != nil {
			return err
		}
		again, err := p.retried(ctx, tx, now)
		if err != nil {
			return err
		}
		out = workflow.Status{Run: p.Run, Plan: p.plan, NextAt: base.Instant(due), Why: p.Why(p.plan)}
		if again {
			out.Why = "it was retried, and has not begun again"
		}
		out.Signals, err = base.Collect(ctx, tx, scanSignal, `select id, doc from belfry.workflow_signals where run_id = $1 order by seq limit 100`, id)
		if err != nil || p.EndedAt.IsZero() {
			return err
		}
		j, err := s.jobs.ReadJob(ctx, tx, core.AnyNamespace, id)
		if core.CodeOf(err) == core.NotFound {
			return nil
		}
		out.Output = j.Output
		return err
	})
	return out, err
}

// WorkflowItems returns the jobs of a step, in the order of its list.
func (s *Store) WorkflowItems(ctx context.Context, namespace string, id int64, step string, p core.Paging) (page core.Page[workflow.Item], err error) {
	limit := p.Bound()
	after := int64(-1)
	if p.Cursor != "" {
		if after, err = base.DecodeIDCursor(p.Cursor); err != nil {
			return page, err
		}
	}
	err = s.DB().Read(ctx, func(tx base.Tx) error {
		run, found, err := base.First(ctx, tx, scanProgress, selectRuns+` where job_id = $1`, id)
		if err != nil {
			return err
		}
		if !found || namespace != core.AnyNamespace && run.Namespace != namespace {
			return noRun(ctx, tx, namespace, id)
		}
		at := run.plan.Workflow.Find(step)
		if at < 0 {
			return core.InvalidField("step", step, fmt.Sprintf("is not a step of workflow %q", run.Workflow), "")
		}
		items, err := base.Collect(ctx, tx, scanItem, `
			select item, job_id, state, error, attempts, started_at, ended_at
			from belfry.workflow_items
			where run_id = $1 and step = $2 and item > $3
			order by item
			limit `+strconv.Itoa(limit+1), id, at, after)
		page = base.Page(items, limit, func(last workflow.Item) string { return base.EncodeCursor(strconv.Itoa(last.Item)) })
		return err
	})
	return page, err
}

func scanItem(r base.Rows) (i workflow.Item, err error) {
	err = r.Scan(&i.Item, &i.JobID, &i.State, &i.Error, &i.Attempts, base.ScanTime(&i.StartedAt), base.ScanTime(&i.EndedAt))
	i.State = core.Or(i.State, "active")
	return i, err
}

// StatusIn returns the status of a run, without its signals and output.
func (s *Store) StatusIn(ctx context.Context, tx base.Tx, id int64) (workflow.Status, error) {
	p, _, err := base.First(ctx, tx, scanProgress, selectRuns+` where job_id = $1`, id)
	return workflow.Status{Run: p.Run, Plan: p.plan, Why: p.Why(p.plan)}, err
}

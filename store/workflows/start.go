package workflows

import (
	"cmp"
	"context"
	"fmt"
	"maps"
	"slices"
	"time"

	"github.com/belfry-run/belfry/core"
	"github.com/belfry-run/belfry/internal/expression"
	"github.com/belfry-run/belfry/job"
	"github.com/belfry-run/belfry/schedule"
	"github.com/belfry-run/belfry/store/base"
	"github.com/belfry-run/belfry/store/jobs"
	"github.com/belfry-run/belfry/store/locks"
	"github.com/belfry-run/belfry/task"
	"github.com/belfry-run/belfry/workflow"
)

// batch bounds the runs that begin, or continue by time, in one transaction.
const batch = 50

// progress is a run with the plan with which it began.
type progress struct {
	workflow.Run
	plan     workflow.Plan
	jobsLeft int       // number of jobs that this transaction may still create
	now      time.Time // see [Change.setNow]
	// clock is the total clock correction that the times of the run include. A read moves these times to the current total. A
	// writer with the old total may run while another node follows the clock: neither sees the other.
	clock time.Duration
}

func scanProgress(rows base.Rows) (p progress, err error) {
	p.jobsLeft = workflow.Piece
	var of, total int64
	err = rows.Scan(base.ScanDoc(&p.plan), base.ScanDoc(&p.Run), &of, &total)
	p.clock = time.Duration(total) * time.Microsecond
	p.Move(time.Duration(total-of) * time.Microsecond)
	return p, err
}

const selectRuns = `select plan, doc, clock, (select total from belfry.clock) from belfry.workflow_runs`

// setNow sets the current time of a locked run, on the clock of its other times.
func (c *Change) setNow(p *progress) error {
	by, total, err := c.ClockSet()
	p.now = c.Now.Add(-by + p.clock - total)
	return err
}

// readyRuns is the condition of workflow jobs whose runs may begin.
const readyRuns = `kind = 'workflow' and state = 'ready' and queue not in (select name from belfry.queues where paused_at > 0)`

// StartWorkflows begins the runs of workflows whose jobs are ready. It returns when [Store.WakeWorkflows] has to look at the
// next run in progress. Every node may call it at the same time. From then on the job of a workflow waits for its steps: no
// worker holds it, and no process keeps state of it.
func (s *Store) StartWorkflows(ctx context.Context) (out job.Promoted, err error) {
	err = s.write(ctx, "start workflows", func(c *Change) error {
		c.takeTurn()
		out = job.Promoted{Now: c.Now}
		rows, err := base.CollectInto(ctx, c.Tx, nil, jobs.ScanReady(nil), jobs.SelectReady+`
			where `+readyRuns+`
			order by ready_at, id
			limit $1 + 0`+s.SQL.SkipLocked("jobs"), batch)
		if err != nil {
			return err
		}
		next, _, err := base.First(ctx, c.Tx, base.ScanInt, `select due_at from belfry.workflow_runs where due_at > 0 order by due_at limit 1`)
		out.NextAt = base.Instant(next)
		if out.Jobs = len(rows); err == nil && out.Jobs == 0 {
			out.NextAt, err = locks.SoonIfHeld(c.Change, `select id from belfry.jobs where `+readyRuns, out.NextAt)
		}
		if err != nil || out.Jobs == 0 {
			return err
		}
		// A clock that was set is followed first. A node that follows it meanwhile does not see uncommitted runs, and would not
		// move their times.
		if _, err := c.Trusted(); err != nil {
			return err
		}
		engine := job.WorkerState{WorkerInfo: job.WorkerInfo{Kinds: []task.Kind{task.KindWorkflow}}} // the same as for a claim
		if rows, err = c.s.jobs.Hooks.CatchUp(c.jobs(), engine, rows, func([]jobs.JobRow) error { return nil }); err != nil {
			return err
		}
		if err := c.HoldRuns(rows, nil); err != nil {
			return err
		}
		for _, j := range rows {
			if err := c.start(j); err != nil {
				return err
			}
		}
		return nil
	})
	out.Rest = s.rest.left()
	return out, err
}

// start begins a run, or continues a run that was retried.
func (c *Change) start(j jobs.JobRow) error {
	p, again, err := base.First(c.Ctx, c.Tx, scanProgress, selectRuns+` where job_id = $1`+c.SQL.ForUpdate("workflow_runs"), j.ID)
	if err != nil {
		return err
	}
	if !again {
		tasks, err := c.tasks().TasksByID([]int64{j.TaskID})
		if err != nil {
			return err
		}
		t, ok := tasks[j.TaskID]
		if !ok || t.Workflow == nil {
			return c.jobs().End([]jobs.Ending{{Row: j, Settled: job.Withdraw(j.Job, schedule.ReasonDeleted, "its task is no longer a workflow")}}, true)
		}
		if p, err = c.newRun(j, *t.Workflow); err != nil {
			return err
		}
	}
	if _, err := c.Tx.Exec(c.Ctx, `update belfry.jobs set state = 'waiting', ready_at = 0, note = 'its steps run' where id = $1`, j.ID); err != nil {
		return err
	}
	c.Wake(base.TopicEngine) // the engine sleeps until the next run is due
	if again {
		if err := c.setNow(&p); err != nil {
			return err
		}
		if err := c.resumeRetried(&p); err != nil {
			return err
		}
	}
	if p.Depth > task.MaxWorkflowDepth {
		p.StopFor(schedule.ReasonNoRetry, fmt.Sprintf("it is a workflow within more than %d others", task.MaxWorkflowDepth), true)
	}
	return c.advance(&p)
}

func (c *Change) newRun(j jobs.JobRow, w task.Workflow) (p progress, err error) {
	if p.plan, err = planOf(w, j); err != nil {
		return p, err
	}
	_, total, err := c.ClockSet()
	if err != nil {
		return p, err
	}
	p.clock = total
	if err := c.setNow(&p); err != nil {
		return p, err
	}
	p.Run, p.jobsLeft = workflow.Begin(p.plan, workflow.Run{JobID: j.ID, Namespace: j.Namespace, Workflow: j.Task, Depth: 1}, p.now), workflow.Piece
	if j.Trigger == job.TriggerStep {
		above, found, err := base.First(c.Ctx, c.Tx, scanProgress, selectRuns+` where job_id = (select run_id from belfry.workflow_items where job_id > 0 and job_id = $1)`, j.ID)
		if err != nil {
			return p, err
		}
		if found {
			p.Depth, p.Parent = above.Depth+1, above.JobID
		}
	}
	_, err = c.Tx.Exec(c.Ctx, `
		insert into belfry.workflow_runs (job_id, task_id, namespace, due_at, clock, plan, doc)
		values ($1, $2, $3, 0, $4, $5, $6)`, j.ID, j.TaskID, j.Namespace, p.clock.Microseconds(), base.Text(p.plan), base.Text(p.Run))
	return p, err
}

// planOf freezes the workflow for a run.
func planOf(w task.Workflow, j jobs.JobRow) (p workflow.Plan, err error) {
	p = workflow.Plan{Workflow: w, Input: j.Input, Timeout: j.Timeout, Handles: make([][]int, len(w.Steps))}
	for i, s := range w.Steps {
		p.Handles[i] = []int{}
		if s.When == "" {
			continue
		}
		when, err := expression.RefsOf(s.When)
		if err != nil {
			return p, err
		}
		for _, name := range when.Ends {
			p.Handles[i] = append(p.Handles[i], w.Find(name))
		}
	}
	return p, nil
}

// WakeWorkflows continues the runs that are due. A pause or a wait is over, the timeout has passed, jobs are left that did not
// fit into one transaction, or jobs have to be asked to end. It returns how many runs it continued. If other transactions hold
// all due runs, it returns when to look again. If no run is due any longer, or the clock was set, it returns no time.
func (s *Store) WakeWorkflows(ctx context.Context) (out job.Promoted, err error) {
	err = s.write(ctx, "wake workflows", func(c *Change) error {
		c.takeTurn()
		out = job.Promoted{Now: c.Now}
		due, err := base.Collect(ctx, c.Tx, base.ScanInt, `
			select job_id
			from belfry.workflow_runs
			where due_at > 0 and due_at <= $1
			order by due_at, job_id
			limit $2 + 0`, base.Micros(c.Now), batch)
		if err != nil || len(due) == 0 {
			return err
		}
		if sure, err := c.Trusted(); err != nil || !sure {
			return err
		}
		asked, err := c.askToEnd(due)
		if err != nil {
			return err
		}
		runs, err := base.Collect(ctx, c.Tx, scanProgress, selectRuns+`
			where `+c.SQL.In("job_id", 2)+` and due_at > 0 and due_at <= $1
			order by job_id`+s.SQL.SkipLocked("workflow_runs"), base.Micros(c.Now), c.SQL.List(due))
		if err != nil {
			return err
		}
		if out.Jobs = len(runs) + asked; out.Jobs == 0 { // other transactions hold the runs
			out.NextAt = c.Now.Add(locks.Rest)
		}
		// The run that has waited longest goes first: a run with heavy expressions leaves no room for the others.
		slices.SortFunc(runs, func(a, b progress) int { return cmp.Compare(slices.Index(due, a.JobID), slices.Index(due, b.JobID)) })
		for i := range runs {
			if c.overLimit() {
				break
			}
			if err := c.advance(&runs[i]); err != nil {
				return err
			}
		}
		return nil
	})
	out.Rest = s.rest.left()
	return out, err
}

// askToEnd asks the jobs of steps of stopped runs to end, a bounded number at a time. These jobs are locked before their runs,
// as when a job is settled. It returns how many jobs were asked.
func (c *Change) askToEnd(due []int64) (asked int, err error) {
	runs, err := base.Collect(c.Ctx, c.Tx, scanProgress, selectRuns+` where stopping = 1 and `+c.SQL.In("job_id", 1)+` order by job_id`, c.SQL.List(due))
	if err != nil {
		return 0, err
	}
	var all, of []int64
	notes := map[int64]string{}
	for _, p := range runs {
		ids, err := base.Collect(c.Ctx, c.Tx, base.ScanInt, `
			select job_id
			from belfry.workflow_items
			where run_id = $1 and ended_at = 0 and asked = 0 and job_id > 0 and not (`+c.SQL.In("step", 2)+`)
			order by job_id
			limit $3 + 0`, p.JobID, c.SQL.List(p.keptSteps()), workflow.Piece)
		if err != nil {
			return 0, err
		}
		note := "its workflow was stopped"
		if p.Stop != nil {
			note = core.Or(p.Stop.Note, note)
		}
		for _, id := range ids {
			notes[id] = note
		}
		if len(ids) > 0 {
			all, of = append(all, ids...), append(of, p.JobID)
		}
	}
	if len(all) == 0 {
		return 0, nil
	}
	rows, err := c.jobs().LockJobs(all)
	if err != nil {
		return 0, err
	}
	if slices.ContainsFunc(rows, func(j jobs.JobRow) bool { return j.Kind == task.KindCycle }) {
		if err := locks.Cycles(c.Change); err != nil {
			return 0, err
		}
	}
	if _, err := c.lockRuns(c.SQL.In("job_id", 1), base.Unique(append(of, all...))); err != nil { // steps may be runs too
		return 0, err
	}
	if _, err := c.Tx.Exec(c.Ctx, `update belfry.workflow_items set asked = 1 where job_id > 0 and ended_at = 0 and `+c.SQL.In("job_id", 1), c.SQL.List(all)); err != nil {
		return 0, err
	}
	byNote := map[string][]jobs.JobRow{}
	for _, j := range rows {
		byNote[notes[j.ID]] = append(byNote[notes[j.ID]], j)
	}
	for _, note := range slices.Sorted(maps.Keys(byNote)) {
		if err := c.jobs().CancelRows(byNote[note], schedule.ReasonCanceled, note); err != nil {
			return 0, err
		}
	}
	return len(all), nil
}

// StopRuns stops the runs of jobs that are canceled: their steps are asked to end, and cleanup steps run before the jobs end.
func (c *Change) StopRuns(rows []jobs.JobRow, reason core.Reason, note string, hard bool) error {
	for _, j := range rows {
		p, found, err := base.First(c.Ctx, c.Tx, scanProgress, selectRuns+` where job_id = $1`+c.SQL.ForUpdate("workflow_runs"), j.ID)
		if err != nil {
			return err
		}
		if !found || !p.EndedAt.IsZero() {
			continue
		}
		p.StopFor(reason, note, hard)
		if _, err := c.Tx.Exec(c.Ctx, `update belfry.workflow_items set asked = 0 where run_id = $1 and ended_at = 0`, j.ID); err != nil {
			return err
		}
		if err := c.setNow(&p); err != nil {
			return err
		}
		if err := c.save(&p, base.Micros(p.now)); err != nil {
			return err
		}
		c.Wake(base.TopicEngine)
	}
	return nil
}

// save writes the progress of a run and the time of the next look at it. The approval that it waits for has columns of its
// own, because a list of them cannot read all plans.
func (c *Change) save(p *progress, due int64) error {
	asked, ask := int64(0), ""
	if a, waits := p.Asks(p.plan); waits {
		asked, ask = base.Micros(a.Since), base.Text(a)
	}
	stopping := base.Bit(p.Stopping(p.plan))
	_, err := c.Tx.Exec(c.Ctx, `
		update belfry.workflow_runs
		set due_at = $2, clock = $6, set_by = 0, stopping = $3, ended_at = $4, doc = $5, asked_at = $7, asked = $8
		where job_id = $1`,
		p.JobID, due, stopping, base.Micros(p.EndedAt), base.Text(p.Run), p.clock.Microseconds(), asked, ask)
	return err
}

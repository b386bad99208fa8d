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

// batch bounds the runs that begin, or go on by themselves, in one transaction.
const batch = 50

// progress is a run with what it was begun with.
type progress struct {
	workflow.Run
	plan workflow.Plan
	room int       // jobs that this transition may still write
	now  time.Time // see [Change.when]
	// clock is by how much the clock was followed for which all times of the run are. A run moves to that of now when it is
	// read: who writes it by the clock of before, while another follows that, does so unseen.
	clock time.Duration
}

func scanProgress(rows base.Rows) (p progress, err error) {
	p.room = workflow.Piece
	var of, total int64
	err = rows.Scan(base.ScanDoc(&p.plan), base.ScanDoc(&p.Run), &of, &total)
	p.clock = time.Duration(total) * time.Microsecond
	p.Move(time.Duration(total-of) * time.Microsecond)
	return p, err
}

const selectRuns = `select plan, doc, clock, (select total from belfry.clock) from belfry.workflow_runs`

// when notes the time of a locked run, by the clock that its other times are of.
func (c *Change) when(p *progress) error {
	by, total, err := c.ClockSet()
	p.now = c.Now.Add(-by + p.clock - total)
	return err
}

// StartWorkflows begins runs of workflows whose jobs are ready, and answers when the next run under way has to be
// looked at, for [Store.WakeWorkflows]. Every node may call it at the same time. The job of a workflow waits for its
// steps from then on: no worker has it, and nothing about it is kept in any process.
func (s *Store) StartWorkflows(ctx context.Context) (out job.Promoted, err error) {
	err = s.write(ctx, "start workflows", func(c *Change) error {
		out = job.Promoted{Now: c.Now}
		rows, err := base.CollectInto(ctx, c.Tx, nil, jobs.ScanReady(), jobs.SelectReady+`
			where kind = 'workflow' and state = 'ready' and queue not in (select name from belfry.queues where paused_at > 0)
			order by ready_at
			limit $1 + 0`+s.SQL.SkipLocked("jobs"), batch)
		if err != nil {
			return err
		}
		next, _, err := base.First(ctx, c.Tx, base.ScanInt, `select due_at from belfry.workflow_runs where due_at > 0 order by due_at limit 1`)
		out.NextAt = base.Instant(next)
		if out.Jobs = len(rows); err != nil || out.Jobs == 0 {
			return err
		}
		// A clock that was set is followed first. A node that follows it meanwhile does not see runs that are not committed, and
		// would leave their times where they are.
		if _, err := c.Trusted(); err != nil {
			return err
		}
		engine := job.WorkerState{WorkerInfo: job.WorkerInfo{Kinds: []task.Kind{task.KindWorkflow}}} // as a claim does
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
	return out, err
}

// start begins a run, or has one go on that was retried.
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
	c.Wake(base.TopicEngine) // which sleeps until the next run is late
	if again {
		if err := c.when(&p); err != nil {
			return err
		}
		if err := c.goOnAgain(&p); err != nil {
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
	if err := c.when(&p); err != nil {
		return p, err
	}
	p.Run, p.room = workflow.Begin(p.plan, workflow.Run{JobID: j.ID, Namespace: j.Namespace, Workflow: j.Task, Depth: 1}, p.now), workflow.Piece
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

// planOf freezes a workflow for a run.
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

// WakeWorkflows has runs go on whose time has come: a pause or a wait is over, they have taken as long as they may,
// there are more jobs to write than fitted into one transaction, or jobs are to be asked to end. It answers how many it
// did so with. If other transactions have all that are due, it says when to look again; if none is due any longer, or the clock was set, it says nothing.
func (s *Store) WakeWorkflows(ctx context.Context) (out job.Promoted, err error) {
	err = s.write(ctx, "wake workflows", func(c *Change) error {
		out = job.Promoted{Now: c.Now}
		due, err := base.Collect(ctx, c.Tx, base.ScanInt, `
			select job_id
			from belfry.workflow_runs
			where due_at > 0 and due_at <= $1
			order by due_at
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
		if out.Jobs = len(runs) + asked; out.Jobs == 0 { // other transactions have them
			out.NextAt = c.Now.Add(busyLook)
		}
		// The one that has waited for longest goes first: one with heavy expressions leaves the others no room.
		slices.SortFunc(runs, func(a, b progress) int { return cmp.Compare(slices.Index(due, a.JobID), slices.Index(due, b.JobID)) })
		for i := range runs {
			if c.full() {
				break
			}
			if err := c.advance(&runs[i]); err != nil {
				return err
			}
		}
		return nil
	})
	return out, err
}

// askToEnd asks the jobs of steps to end whose runs were stopped, a bounded part at a time. A transition that settles a job has
// it before he takes its run further; so do these. It answers how many were asked.
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
			limit $3 + 0`, p.JobID, c.SQL.List(p.spared()), workflow.Piece)
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

// StopRuns stops the runs of jobs that are to be canceled: their steps are asked to end, and cleanup runs before the
// jobs end.
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
		if err := c.when(&p); err != nil {
			return err
		}
		if err := c.save(&p, base.Micros(p.now)); err != nil {
			return err
		}
		c.Wake(base.TopicEngine)
	}
	return nil
}

// save writes the progress of a run, and when to look at it again.
func (c *Change) save(p *progress, due int64) error {
	stopping := base.Bit(p.Stopping(p.plan))
	_, err := c.Tx.Exec(c.Ctx, `update belfry.workflow_runs set due_at = $2, clock = $6, set_by = 0, stopping = $3, ended_at = $4, doc = $5 where job_id = $1`,
		p.JobID, due, stopping, base.Micros(p.EndedAt), base.Text(p.Run), p.clock.Microseconds())
	return err
}

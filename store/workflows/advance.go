package workflows

import (
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"

	"github.com/belfry-run/belfry/core"
	"github.com/belfry-run/belfry/internal/expression"
	"github.com/belfry-run/belfry/job"
	"github.com/belfry-run/belfry/store/base"
	"github.com/belfry-run/belfry/store/jobs"
	"github.com/belfry-run/belfry/store/limits"
	"github.com/belfry-run/belfry/store/locks"
	"github.com/belfry-run/belfry/task"
	"github.com/belfry-run/belfry/workflow"
)

const (
	// chunk is the number of inputs in one row of workflow_inputs.
	chunk = 100
	// maxInputs bounds the total size of a step's inputs, in bytes.
	maxInputs = 8 << 20
	// maxOutputs bounds the output of a step that expressions read, in bytes.
	maxOutputs = 4 << 20
)

// advance takes a run as far as possible in this transaction.
func (c *Change) advance(p *progress) error {
	if err := c.setNow(p); err != nil {
		return err
	}
	for {
		t := p.Next(p.plan, p.now, p.jobsLeft)
		if t.Done {
			return c.end(p)
		}
		begun := 0
		for _, i := range t.Ready {
			if c.overLimit() {
				break
			}
			begun++
			if err := c.begin(p, i); err != nil {
				return err
			}
		}
		for _, items := range t.Items {
			if err := c.write(p, items); err != nil {
				return err
			}
		}
		if begun+len(t.Items) > 0 {
			continue
		}
		due := base.Micros(t.Wake)
		if t.More || len(t.Ready) > 0 || p.Stopping(p.plan) && c.leftToAsk(p) {
			due = base.Micros(p.now)
		}
		if due > 0 {
			c.Wake(base.TopicEngine)
		}
		return c.save(p, due)
	}
}

// keptSteps returns the steps that continue although the run stops.
func (p *progress) keptSteps() []int64 {
	if p.Stop != nil && p.Stop.Hard {
		return []int64{} // an empty list: nil would exclude every step
	}
	return append([]int64{}, p.plan.CleanupSteps()...)
}

// leftToAsk reports that a stopping run still has jobs that were not asked to end.
func (c *Change) leftToAsk(p *progress) bool {
	_, left, err := base.First(c.Ctx, c.Tx, base.ScanInt, `
		select job_id
		from belfry.workflow_items
		where run_id = $1 and ended_at = 0 and asked = 0 and job_id > 0 and not (`+c.SQL.In("step", 2)+`)
		limit 1`, p.JobID, c.SQL.List(p.keptSteps()))
	return left || err != nil
}

// begin evaluates the expressions of a step and starts the step. A step fails if an expression cannot be evaluated.
func (c *Change) begin(p *progress, i int) error {
	step := p.plan.Workflow.Steps[i]
	texts := []string{step.When, step.ForEach}
	texts = slices.AppendSeq(texts, maps.Values(step.Matrix))
	texts = slices.AppendSeq(texts, maps.Values(step.Input))
	scope, fault, err := c.scope(p, texts)
	if err != nil {
		return err
	}
	if fault != nil {
		p.Fail(i, fault.Error(), p.now)
		return nil
	}
	defer c.addEffort(scope)
	if step.When != "" {
		switch holds, err := scope.Holds(step.When); {
		case err != nil:
			p.Fail(i, "when: "+err.Error(), p.now)
			return nil
		case !holds:
			p.Skip(i, "its condition does not hold: "+core.OneLine(step.When), p.now)
			return nil
		}
	}
	switch {
	case step.Sleep > 0:
		p.Wait(i, workflow.Sleeping, p.now.Add(step.Sleep.D()), p.now)
		return nil
	case step.Waits():
		p.Wait(i, workflow.Waiting, p.now.Add(step.Timeout.D()), p.now)
		return c.takeSignal(p, i)
	}
	inputs, fault := inputsOf(step, scope)
	if fault != nil {
		p.Fail(i, fault.Error(), p.now)
		return nil
	}
	if err := c.keepInputs(p.JobID, i, inputs); err != nil {
		return err
	}
	p.Start(i, len(inputs), p.now)
	return nil
}

// inputsOf returns the inputs of a step's jobs. A null input stands for the input of the task.
func inputsOf(step task.Step, scope *expression.Scope) (inputs []json.RawMessage, fault error) {
	if !step.Many() {
		if len(step.Input) == 0 {
			return []json.RawMessage{[]byte("null")}, nil
		}
		in, err := scope.Object(step.Input, nil, -1)
		if err == nil {
			err = fits(in)
		}
		if err != nil {
			return nil, fmt.Errorf("input: %w", err)
		}
		return []json.RawMessage{in}, nil
	}
	list, err := itemsOf(step, scope)
	if err != nil {
		return nil, err
	}
	size := 0
	for k, item := range list {
		var in json.RawMessage
		if len(step.Input) == 0 {
			in, err = expression.JSON(item)
		} else {
			in, err = scope.Object(step.Input, item, k)
		}
		if err == nil {
			err = fits(in)
		}
		if err != nil {
			return nil, fmt.Errorf("input of item %d: %w", k, err)
		}
		if size += len(in); size > maxInputs {
			return nil, fmt.Errorf("the inputs of its items take more than %d bytes", maxInputs)
		}
		inputs = append(inputs, in)
	}
	return inputs, nil
}

// itemsOf returns the items of for_each or matrix, for each of which the step runs its task.
func itemsOf(step task.Step, scope *expression.Scope) (list []any, err error) {
	field := "matrix"
	if len(step.Matrix) > 0 {
		list, err = scope.Product(step.Matrix, task.MaxItems)
	} else {
		field = "for_each"
		if list, err = scope.List(step.ForEach); err == nil && len(list) > task.MaxItems {
			err = fmt.Errorf("the list has %d items, the most is %d: split it, or give each job several", len(list), task.MaxItems)
		}
	}
	if err != nil {
		return nil, fmt.Errorf("%s: %w", field, err)
	}
	return list, nil
}

func fits(in json.RawMessage) error {
	if len(in) > core.MaxInput {
		return fmt.Errorf("has %d bytes, the most is %d", len(in), core.MaxInput)
	}
	if fault := core.JSONFault(in); fault != "" {
		return errors.New(fault)
	}
	return nil
}

type chunkRow struct {
	Chunk int    `json:"chunk"`
	Doc   string `json:"doc"`
}

// keepInputs stores the inputs of a step's jobs. Later transactions create the jobs from these rows alone.
func (c *Change) keepInputs(run int64, step int, inputs []json.RawMessage) error {
	var rows []chunkRow
	for from := 0; from < len(inputs); from += chunk {
		rows = append(rows, chunkRow{from / chunk, base.Text(inputs[from:min(from+chunk, len(inputs))])})
	}
	if len(rows) == 0 {
		return nil
	}
	from, args := c.SQL.Table(3, "t", base.BatchOf(rows))
	_, err := c.Tx.Exec(c.Ctx, `
		insert into belfry.workflow_inputs (run_id, step, chunk, doc)
		select $1, $2, t.chunk, t.doc
		from `+from, append([]any{run, step}, args...)...)
	return err
}

// inputs reads the inputs of items.
func (c *Change) inputs(run int64, step int, items []int) (map[int]json.RawMessage, error) {
	var chunks []int64
	for _, i := range items {
		chunks = append(chunks, int64(i/chunk))
	}
	rows, err := base.Collect(c.Ctx, c.Tx, func(r base.Rows) (row chunkRow, err error) { return row, r.Scan(&row.Chunk, &row.Doc) }, `
		select chunk, doc
		from belfry.workflow_inputs
		where run_id = $1 and step = $2 and `+c.SQL.In("chunk", 3), run, step, c.SQL.List(base.Unique(chunks)))
	if err != nil {
		return nil, err
	}
	all := make(map[int]json.RawMessage, len(items))
	for _, row := range rows {
		var list []json.RawMessage
		if err := json.Unmarshal([]byte(row.Doc), &list); err != nil {
			return nil, err
		}
		for k, in := range list {
			all[row.Chunk*chunk+k] = in
		}
	}
	return all, nil
}

type itemRow struct {
	Item  int   `json:"item"`
	JobID int64 `json:"job_id"`
}

// write creates the jobs of items and records the item of each job.
func (c *Change) write(p *progress, items workflow.Items) error {
	step, s := p.plan.Workflow.Steps[items.Step], &p.Steps[items.Step]
	name := base.TaskName{Namespace: p.Namespace, Name: step.Task}
	tasks, err := c.tasks().TasksByName([]base.TaskName{name})
	if err != nil {
		return err
	}
	t, there := tasks[name]
	if !there { // the task was deleted after the run began
		p.Lack(items.Step, fmt.Sprintf("task %q no longer exists", step.Task))
		return nil
	}
	places := make([]int, items.Count)
	for n := range places {
		places[n] = s.Item(s.Begun + n)
	}
	inputs, err := c.inputs(p.JobID, items.Step, places)
	if err != nil {
		return err
	}
	ids, err := c.SQL.NextIDs(c.Ctx, c.Tx, "job", len(places))
	if err != nil {
		return err
	}
	ins, rows := make([]*jobs.Insertion, len(places)), make([]itemRow, len(places))
	for n, place := range places {
		asked := job.NewJob{Timeout: step.Timeout, MaxAttempts: step.MaxAttempts}
		if in := inputs[place]; string(in) != "null" || step.Many() {
			asked.Input = in
		}
		j := c.jobs().NewJob(ids[n], asked, t)
		j.Trigger = job.TriggerStep
		ins[n], rows[n] = &jobs.Insertion{JobRow: j}, itemRow{place, j.ID}
	}
	// The items come first: a sequence that a job of the run stopped is taken over by those of the run.
	from, args := c.SQL.Table(3, "t", base.BatchOf(rows))
	if _, err := c.Tx.Exec(c.Ctx, `
		insert into belfry.workflow_items (run_id, step, item, job_id)
		select $1, $2, t.item, t.job_id
		from `+from, append([]any{p.JobID, items.Step}, args...)...); err != nil {
		return err
	}
	if err := c.jobs().InsertJobs(ins); err != nil {
		return err
	}
	s.Begun += len(places)
	p.jobsLeft -= len(places)
	if !step.Many() {
		s.JobID = ids[0]
	}
	return nil
}

// end ends the job of a run. The progress of the run is kept as long as the job. If another transaction holds one of the rows
// to lock, the next pass ends the run, because the other transaction may wait for this run.
func (c *Change) end(p *progress) error {
	if c.overLimit() && len(p.plan.Workflow.Output) > 0 {
		c.Wake(base.TopicEngine)
		return c.save(p, base.Micros(p.now))
	}
	if free, err := c.lockForEnd(p); err != nil {
		return err
	} else if !free {
		c.Wake(base.TopicEngine)
		return c.save(p, base.Micros(p.now.Add(locks.Rest)))
	}
	settled := p.Run.End(p.plan)
	p.EndedAt = p.now
	out := json.RawMessage(base.Text(p.Run.Output()))
	if len(p.plan.Workflow.Output) > 0 && settled.State == job.Succeeded {
		var texts []string
		for _, text := range p.plan.Workflow.Output {
			texts = append(texts, text)
		}
		scope, fault, err := c.scope(p, texts)
		if err != nil {
			return err
		}
		if fault == nil {
			defer c.addEffort(scope)
			if out, fault = scope.Object(p.plan.Workflow.Output, nil, -1); fault == nil && len(out) > core.MaxOutput {
				fault = fmt.Errorf("has %d bytes, the most is %d", len(out), core.MaxOutput)
			}
		}
		if fault != nil {
			out, settled = nil, job.Settlement{State: job.Failed, Reason: "output", Failures: 1, Error: "output: " + fault.Error()}
		}
	}
	if err := c.save(p, 0); err != nil {
		return err
	}
	rows, err := c.jobs().LockJobs([]int64{p.JobID})
	if err != nil || len(rows) == 0 { // the job was ended from outside
		return err
	}
	settled.DueAt = rows[0].DueAt
	settled.Error, _ = core.CleanText(settled.Error, core.MaxError)
	if p.Retries > 0 && settled.State == job.Succeeded {
		if err := limits.LetOn(c.Change, p.JobID); err != nil {
			return err
		}
	}
	return c.jobs().End([]jobs.Ending{{Row: rows[0], Settled: settled, Fin: job.Finish{Output: out}}}, true)
}

type endRow struct {
	JobID     int64   `json:"job_id"`
	State     string  `json:"state"`
	Error     string  `json:"error"`
	Output    *string `json:"output"`
	Size      int     `json:"size"`
	StartedAt int64   `json:"started_at"`
	Attempts  int     `json:"attempts"`
}

// ended is an item of a step that has just ended.
type ended struct {
	run, job   int64
	step, item int
}

// stepsEnded advances the workflow runs whose jobs ended: each run once, for all of its jobs in the batch.
func (c *Change) stepsEnded(ends []jobs.MemberEnd) error {
	if len(ends) == 0 {
		return nil
	}
	rows, byJob := make([]endRow, len(ends)), make(map[int64]*jobs.MemberEnd, len(ends))
	for i := range ends {
		e := &ends[i]
		byJob[e.JobID] = e
		rows[i] = endRow{JobID: e.JobID, State: string(e.State), StartedAt: base.Micros(e.ClaimedAt), Attempts: e.Attempts}
		rows[i].Error, _ = core.CleanText(e.Error, 1000)
		if e.State == job.Succeeded && len(e.Output) > 0 {
			if rows[i].Size = len(e.Output); rows[i].Size <= core.MaxInput {
				rows[i].Output = base.JsonText(e.Output)
			}
		}
	}
	ids := make([]int64, len(ends))
	for i := range ends {
		ids[i] = ends[i].JobID
	}
	// Runs are locked before their items, in the same order as by the transactions that stop runs.
	progresses, err := c.lockRuns(`job_id in (select run_id from belfry.workflow_items where job_id > 0 and `+c.SQL.In("job_id", 1)+`)`, ids)
	if err != nil || len(progresses) == 0 {
		return err
	}
	from, args := c.SQL.ManyTable(3, "t", base.BatchOf(rows))
	found, err := base.Collect(c.Ctx, c.Tx, func(r base.Rows) (e ended, err error) { return e, r.Scan(&e.run, &e.step, &e.item, &e.job) }, `
		update belfry.workflow_items
		set ended_at = $1, state = t.state, error = t.error, output = t.output, size = t.size, started_at = t.started_at, attempts = t.attempts
		from `+from+`
		where belfry.workflow_items.job_id = t.job_id and belfry.workflow_items.job_id > 0 and belfry.workflow_items.ended_at = 0
			and `+c.SQL.Among("belfry.workflow_items.job_id", 2)+`
		returning run_id, step, item, belfry.workflow_items.job_id`, append([]any{base.Micros(c.Now), c.SQL.List(ids)}, args...)...)
	if err != nil {
		return err
	}
	for i := range progresses {
		p := &progresses[i]
		if !p.EndedAt.IsZero() {
			continue
		}
		for _, e := range found {
			if e.run == p.JobID {
				p.ItemEnded(e.step, byJob[e.job].State, byJob[e.job].Error)
			}
		}
		if err := c.advance(p); err != nil {
			return err
		}
	}
	return nil
}

// Follow applies the ends of jobs to workflow runs. steps are the ends of the steps that succeeded.
func (c *Change) Follow(ends []jobs.Ending, steps []jobs.MemberEnd) error {
	var runs []jobs.JobRow
	note := ""
	for _, e := range ends {
		if !e.Settled.State.Final() {
			continue
		}
		if e.Row.Kind == task.KindWorkflow && e.Row.State == job.Waiting && e.Row.Reason == "" {
			runs, note = append(runs, e.Row), core.Or(e.Settled.Note, e.Settled.Error)
		}
		if e.Row.Trigger == job.TriggerStep {
			failure := core.Or(e.Settled.Error, e.Settled.Note)
			steps = append(steps, jobs.MemberEnd{JobID: e.Row.ID, TaskID: e.Row.TaskID, State: e.Settled.State, Attempts: e.Row.Attempt, ClaimedAt: e.Row.ClaimedAt, Error: failure, Output: e.Fin.Output})
		}
	}
	if err := c.HoldRuns(runs, stepIDs(steps)); err != nil {
		return err
	}
	// These jobs were ended from outside: all others have ended their run already.
	if err := c.StopRuns(runs, "canceled", core.Or(note, "its job ended"), true); err != nil {
		return err
	}
	return c.stepsEnded(steps)
}

// pruneBatch bounds the runs that one transaction removes.
const pruneBatch = 200

// PruneRuns removes runs whose jobs are past retention, the oldest first, and reports whether there may be more.
func (c *Change) PruneRuns() (more bool, err error) {
	const ended = `select job_id from belfry.workflow_runs where ended_at > 0 order by ended_at limit $1 + 0`
	old, err := base.Collect(c.Ctx, c.Tx, base.ScanInt, `
		select r.job_id
		from (`+ended+`) as r
		where not exists (select 1 from belfry.jobs_done d where d.id = r.job_id) and not exists (select 1 from belfry.jobs j where j.id = r.job_id)`, pruneBatch)
	if err != nil || len(old) == 0 {
		return false, err
	}
	for _, table := range []string{"workflow_items", "workflow_inputs", "workflow_signals"} {
		if _, err := c.Tx.Exec(c.Ctx, `delete from belfry.`+table+` where `+c.SQL.In("run_id", 1), c.SQL.List(old)); err != nil {
			return false, err
		}
	}
	_, err = c.Tx.Exec(c.Ctx, `delete from belfry.workflow_runs where `+c.SQL.In("job_id", 1), c.SQL.List(old))
	return len(old) == pruneBatch, err
}

package steps

import (
	"context"
	"encoding/json"
	"fmt"

	"github.com/belfry-run/belfry/access"
	"github.com/belfry-run/belfry/core"
	"github.com/belfry-run/belfry/job"
	"github.com/belfry-run/belfry/store/base"
	"github.com/belfry-run/belfry/task"
)

// kept is a stored signal.
type kept struct {
	job.SentSignal
	input string
}

func scanSignal(r base.Rows) (k kept, err error) {
	var taken int
	err = r.Scan(base.ScanTime(&k.At), &k.By, &taken, &k.input)
	k.Taken = taken != 0
	return k, err
}

func (c *Change) signalOf(id int64, name string) (kept, bool, error) {
	return base.First(c.Ctx, c.Tx, scanSignal, selectSignal, id, name)
}

func (c *Change) stepOf(id int64, name string) (row, bool, error) {
	return base.First(c.Ctx, c.Tx, scan, selectNamed, id, name)
}

const (
	selectSignal = `select at, by, taken, input from belfry.signals where job_id = $1 and name = $2`
	selectNamed  = `select ` + columns + ` from belfry.steps where job_id = $1 and name = $2`
)

// SignalJob sends a signal to a job. A signal is stored if no step waits for it yet. Of two signals with one name, the first
// counts.
func (s *Store) SignalJob(ctx context.Context, namespace string, id int64, sig job.Signal) (out job.SentSignal, err error) {
	sig = sig.WithDefaults()
	if err := sig.Validate(); err != nil {
		return out, err
	}
	err = s.write(ctx, "signal job", func(c *Change) error {
		out, err = c.signal(namespace, id, sig)
		return err
	})
	return out, err
}

func (c *Change) signal(namespace string, id int64, sig job.Signal) (out job.SentSignal, err error) {
	if err := c.hold(id); err != nil {
		return out, err
	}
	j, err := c.s.jobs.ReadJob(c.Ctx, c.Tx, namespace, id)
	if err != nil {
		return out, err
	}
	if was, found, err := c.signalOf(id, sig.Name); err != nil || found {
		was.Existing = found
		return was.SentSignal, err
	}
	wait, waits, err := c.stepOf(id, sig.Name)
	if err != nil {
		return out, err
	}
	if err := c.checkSignal(j.Job, sig.Name, wait, waits); err != nil {
		return out, err
	}
	n, _, err := base.First(c.Ctx, c.Tx, base.ScanInt, `select count(*) from belfry.signals where job_id = $1`, id)
	if err != nil {
		return out, err
	}
	if n >= job.MaxSignals {
		return out, core.Errorf(core.TooLarge, "job %d has %d signals, the most is %d", id, n, job.MaxSignals)
	}
	out = job.SentSignal{Taken: waits, At: c.Now, By: access.ActorOf(c.Ctx)}
	if _, err := c.Tx.Exec(c.Ctx, `insert into belfry.signals (job_id, name, at, by, taken, input) values ($1, $2, $3, $4, $5, $6)`,
		id, sig.Name, base.Micros(out.At), out.By, base.Bit(waits), string(sig.Input)); err != nil {
		return out, err
	}
	if err := c.Audit("signal", "job", j.Namespace, fmt.Sprint(id), sig.Name, nil, nil); err != nil {
		return out, err
	}
	c.Wake(base.TopicJobs)
	if !waits {
		return out, nil
	}
	if err := c.endWait(id, &wait, sig.Input); err != nil {
		return out, err
	}
	return out, c.wakeJob(j.Job, wait.told)
}

// checkSignal returns an error if the job cannot take a signal of this name, or if the recorded step of this name cannot.
func (c *Change) checkSignal(j job.Job, name string, step row, recorded bool) error {
	switch {
	case j.Kind == task.KindWorkflow:
		return core.Errorf(core.Conflict, "job %d is a run of a workflow", j.ID).WithHint("belfry workflow signal %d %s", j.ID, job.Step{Name: name}.Word())
	case j.Kind != task.KindFunc && j.Kind != task.KindProgram:
		return core.Errorf(core.Conflict, "job %d is of the kind %s, and waits for no signal", j.ID, j.Kind).WithHint("signals are for jobs of the kinds func and program")
	case j.State.Final():
		return core.Errorf(core.Conflict, "job %d has ended: it %s", j.ID, j.State).WithHint("see: belfry job show %d", j.ID)
	case recorded && step.Kind != job.StepSignal:
		return core.Errorf(core.Conflict, "step %q of job %d is of the kind %s, and waits for no signal", name, j.ID, step.Kind).WithHint("see: belfry job steps %d", j.ID)
	case recorded && (!step.EndedAt.IsZero() || !step.WakeAt.After(c.Now)):
		return core.Errorf(core.Conflict, "job %d waited for signal %q until %s", j.ID, name, core.Stamp(step.WakeAt)).WithHint("see: belfry job steps %d", j.ID)
	}
	return nil
}

// checkWait ends a wait if its signal has arrived or its time has passed. Otherwise it records the attempt that was told to
// wait on.
func (c *Change) checkWait(ref job.Ref, wait *row) error {
	told := int64(0)
	if wait.EndedAt.IsZero() {
		result, over, err := c.waitResult(ref.JobID, wait.Step)
		if err != nil {
			return err
		}
		if over {
			return c.endWait(ref.JobID, wait, result)
		}
		told = ref.Lease
	}
	if wait.told == told {
		return nil
	}
	wait.told = told
	_, err := c.Tx.Exec(c.Ctx, `update belfry.steps set told = $3 where job_id = $1 and number = $2`, ref.JobID, wait.Number, told)
	return err
}

// waitResult returns the result that ends a wait, if the wait is over. The result is nil if its time has passed.
func (c *Change) waitResult(id int64, wait job.Step) (result json.RawMessage, over bool, err error) {
	if wait.Kind == job.StepAwait {
		result, err = c.childResult(wait.Child)
		return result, result != nil, err
	}
	sig, found, err := c.signalOf(id, wait.Name)
	if err != nil || !found {
		return nil, !wait.WakeAt.After(c.Now), err
	}
	_, err = c.Tx.Exec(c.Ctx, `update belfry.signals set taken = 1 where job_id = $1 and name = $2`, id, wait.Name)
	return json.RawMessage(sig.input), true, err
}

// endWait writes the end of a wait with its result, which is nil if the time has passed. The wait is the last step of its job.
func (c *Change) endWait(id int64, wait *row, result json.RawMessage) error {
	wait.EndedAt, wait.Result, wait.TimedOut = c.Now, result, result == nil
	c.Wake(base.TopicJobs)
	_, err := c.Tx.Exec(c.Ctx, `update belfry.steps set ended_at = $3, result = $4, total = total + $5 where job_id = $1 and number = $2`,
		id, wait.Number, base.Micros(wait.EndedAt), base.JsonText(result), len(result))
	return err
}

// wakeJob makes a job due if its last attempt ended in order to wait. A job that is scheduled for another reason, such as a
// retry, is left alone. If the attempt has not ended yet, [Change.EndWaits] handles the job.
func (c *Change) wakeJob(j job.Job, told int64) error {
	if told == 0 || j.State != job.Scheduled || j.Lease != told {
		return nil
	}
	_, off, err := base.First(c.Ctx, c.Tx, base.ScanInt, `select number from belfry.attempts where job_id = $1 and lease = $2 and outcome = 'snoozed'`, j.ID, told)
	if err != nil || !off {
		return err
	}
	c.Wake(base.TopicEngine)
	_, err = c.Tx.Exec(c.Ctx, `update belfry.jobs set due_at = $2 where id = $1 and state = 'scheduled' and due_at > $2`, j.ID, base.Micros(c.Now))
	return err
}

// EndWaits clears the snooze of attempts that end in order to wait, if their wait ended after they had asked.
func (c *Change) EndWaits(fs []job.Finish) error {
	off, ids := map[job.Ref]int{}, []int64(nil)
	for i, f := range fs {
		if f.Outcome == job.OutcomeSnoozed {
			off[f.Ref], ids = i, append(ids, f.JobID)
		}
	}
	if len(ids) == 0 {
		return nil
	}
	over, err := base.Collect(c.Ctx, c.Tx, func(r base.Rows) (ref job.Ref, err error) { return ref, r.Scan(&ref.JobID, &ref.Lease) }, `
		select job_id, told
		from belfry.steps
		where `+c.SQL.In("job_id", 1)+` and told > 0 and ended_at > 0`, c.SQL.List(ids))
	for _, ref := range over {
		if i, there := off[ref]; there {
			fs[i].Snooze = 0
		}
	}
	return err
}

// Waiting returns the wait for which a job is snoozed, if there is one.
func Waiting(ctx context.Context, tx base.Tx, j job.Job) (job.Step, bool, error) {
	v, found, err := base.First(ctx, tx, scan, `
		select `+columns+`
		from belfry.steps
		where job_id = $1 and ended_at = 0 and kind in ('signal', 'await') and told = $2
		order by number desc
		limit 1`, j.ID, j.Lease)
	return v.Step, found, err
}

package steps

import (
	"context"
	"encoding/json"
	"fmt"
	"strconv"
	"sync/atomic"
	"time"

	"github.com/belfry-run/belfry/core"
	"github.com/belfry-run/belfry/job"
	"github.com/belfry-run/belfry/store/base"
)

// row is a step with its internal columns.
type row struct {
	job.Step
	total int64 // bytes of the results up to and including this step
	told  int64 // of a wait: the lease of the last attempt that was told to wait on
}

// waits reports that the step is a wait, in progress or over.
func (r row) waits() bool { return r.Kind == job.StepSignal || r.Kind == job.StepAwait }

// asksAgain reports that n asks again whether this wait is over.
func (r row) asksAgain(n job.NewStep) bool {
	return r.waits() && r.Number == n.Number && r.Name == n.Name && r.Kind == n.Kind && r.Type == n.Type && (r.Kind != job.StepAwait || r.Child == n.Child)
}

const columns = `number, name, kind, type, lease, attempt, took, saved_at, wake_at, ended_at, told, child, total, result`

func scan(r base.Rows) (v row, err error) {
	var took int64
	var result *string
	err = r.Scan(&v.Number, &v.Name, (*string)(&v.Kind), &v.Type, &v.Lease, &v.Attempt, &took, base.ScanTime(&v.SavedAt), base.ScanTime(&v.WakeAt), base.ScanTime(&v.EndedAt), &v.told, &v.Child, &v.total, &result)
	v.Took = core.Duration(time.Duration(took) * time.Microsecond)
	if result != nil {
		v.Result = json.RawMessage(*result)
	}
	v.TimedOut = v.Kind == job.StepSignal && !v.EndedAt.IsZero() && result == nil
	return v, err
}

func list(ctx context.Context, tx base.Tx, id int64) ([]job.Step, error) {
	all, err := base.Collect(ctx, tx, func(r base.Rows) (job.Step, error) {
		v, err := scan(r)
		return v.Step, err
	}, `select `+columns+` from belfry.steps where job_id = $1 order by number`, id)
	if all == nil {
		all = []job.Step{}
	}
	return all, err
}

// holder is the attempt that holds a lease.
type holder struct {
	session string
	attempt int
}

// holderOf returns the session and the attempt that hold a lease.
func holderOf(ctx context.Context, tx base.Tx, session string, ref job.Ref) (h holder, held bool, err error) {
	h, held, err = base.First(ctx, tx, func(r base.Rows) (h holder, err error) { return h, r.Scan(&h.session, &h.attempt) }, `
		select session, attempt + 1
		from belfry.live
		where id = $1 and number = $2`, ref.JobID, ref.Lease)
	return h, held && h.session == session, err
}

// heldOnce reports that an ended attempt belonged to the session. Knowing the numbers of an attempt gives no right to its
// record.
func heldOnce(ctx context.Context, tx base.Tx, session string, ref job.Ref) (bool, error) {
	_, found, err := base.First(ctx, tx, base.ScanInt, `select number from belfry.attempts where job_id = $1 and lease = $2 and session = $3`, ref.JobID, ref.Lease, session)
	return found, err
}

// Steps lists the recorded steps of the job of an attempt, for the session that holds the attempt.
func (s *Store) Steps(ctx context.Context, session string, ref job.Ref) (out job.StepList, err error) {
	now, err := s.Now(ctx)
	if err != nil {
		return out, err
	}
	err = s.DB().Read(ctx, func(tx base.Tx) error {
		out = job.StepList{Now: now, Steps: []job.Step{}}
		_, held, err := holderOf(ctx, tx, session, ref)
		if out.Stale = !held; err != nil || !held {
			return err
		}
		out.Steps, err = list(ctx, tx, ref.JobID)
		return err
	})
	return out, err
}

// SaveStep records the next step of the job of an attempt, for the session that holds the attempt.
func (s *Store) SaveStep(ctx context.Context, session string, ref job.Ref, n job.NewStep) (out job.SavedStep, err error) {
	n = n.WithDefaults()
	if err := n.Validate(); err != nil {
		return out, err
	}
	err = s.write(ctx, "save step", func(c *Change) error {
		out, err = c.save(session, ref, n)
		return err
	})
	return out, err
}

// save checks the lease under the lock of its job: a transition that gives the job to another attempt waits, or is seen.
func (c *Change) save(session string, ref job.Ref, n job.NewStep) (out job.SavedStep, err error) {
	if lock := c.SQL.ForUpdate("jobs"); lock != "" {
		if _, err := c.Tx.Exec(c.Ctx, `select id from belfry.jobs where id = $1`+lock, ref.JobID); err != nil {
			return out, err
		}
	}
	h, out, settled, err := c.answered(session, ref, n)
	if err != nil || settled {
		return out, err
	}
	last, err := c.checkOrder(ref, n)
	if err != nil {
		return out, err
	}
	total, err := sizeWith(last, ref, n)
	if err != nil {
		return out, err
	}
	step := job.Step{Number: n.Number, Name: n.Name, Kind: n.Kind, Type: n.Type, Result: n.Result, Attempt: h.attempt, Lease: ref.Lease,
		Took: core.Duration(n.Took.D().Truncate(time.Microsecond)), SavedAt: c.Now}
	switch n.Kind {
	case job.StepSpawn:
		if step.Child, err = c.spawn(ref.JobID, *n.Job); err != nil {
			return out, err
		}
		step.Result = json.RawMessage(strconv.FormatInt(step.Child, 10))
		total += int64(len(step.Result))
	case job.StepAwait:
		if err := c.holdChild(ref.JobID, n.Child); err != nil {
			return out, err
		}
		step.Child = n.Child
	}
	if n.Kind == job.StepSleep || n.Kind == job.StepSignal {
		step.WakeAt = c.Now.Add(n.Sleep.D().Truncate(time.Microsecond))
	}
	_, err = c.Tx.Exec(c.Ctx, `
		insert into belfry.steps (job_id, `+columns+`)
		values ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, 0, 0, $11, $12, $13)`,
		ref.JobID, step.Number, step.Name, string(step.Kind), step.Type, step.Lease, step.Attempt, step.Took.D().Microseconds(),
		base.Micros(step.SavedAt), base.Micros(step.WakeAt), step.Child, total, base.JsonText(step.Result))
	c.Wake(base.TopicJobs)
	if err != nil || n.Kind != job.StepSignal && n.Kind != job.StepAwait {
		return job.SavedStep{Step: step}, err
	}
	wait := row{Step: step, total: total}
	err = c.checkWait(ref, &wait)
	return job.SavedStep{Step: wait.Step}, err
}

// answered answers a step that needs no new record: one that is recorded already, one that asks again about a wait, and one
// under a stale lease. Otherwise it returns the attempt that holds the lease.
func (c *Change) answered(session string, ref job.Ref, n job.NewStep) (h holder, out job.SavedStep, settled bool, err error) {
	was, recorded, err := base.First(c.Ctx, c.Tx, scan, `select `+columns+` from belfry.steps where job_id = $1 and number = $2`, ref.JobID, n.Number)
	if err != nil {
		return h, out, false, err
	}
	h, held, err := holderOf(c.Ctx, c.Tx, session, ref)
	if err != nil {
		return h, out, false, err
	}
	own := held
	if recorded && !held {
		if own, err = heldOnce(c.Ctx, c.Tx, session, ref); err != nil {
			return h, out, false, err
		}
	}
	if held && recorded && was.asksAgain(n) {
		err := c.checkWait(ref, &was)
		return h, job.SavedStep{Step: was.Step}, true, err
	}
	if own && recorded && was.Is(n, ref.Lease) {
		return h, job.SavedStep{Step: was.Step}, true, nil
	}
	if !held {
		return h, job.SavedStep{Stale: true}, true, nil
	}
	if recorded {
		return h, out, false, core.Errorf(core.Conflict, "step %d of job %d is recorded already, as %q", n.Number, ref.JobID, was.Name).
			WithHint("read the steps of the job before recording more")
	}
	return h, out, false, nil
}

// checkOrder refuses a step that skips a number, follows a wait that is not over, or repeats a name. It returns
// the last step, with no number if there is none.
func (c *Change) checkOrder(ref job.Ref, n job.NewStep) (last row, err error) {
	last, some, err := base.First(c.Ctx, c.Tx, scan, `select `+columns+` from belfry.steps where job_id = $1 order by number desc limit 1`, ref.JobID)
	if err != nil {
		return last, err
	}
	if some && last.waits() && last.EndedAt.IsZero() {
		return last, core.Errorf(core.Conflict, "step %d of job %d waits still", last.Number, ref.JobID).WithHint("end the attempt as put off, or ask for that step again until its wait is over")
	}
	if n.Number != last.Number+1 {
		return last, core.Errorf(core.Conflict, "step %d of job %d must be number %d", n.Number, ref.JobID, last.Number+1).
			WithHint("record steps in order, without a gap")
	}
	if some {
		first, twice, err := base.First(c.Ctx, c.Tx, base.ScanInt, `select number from belfry.steps where job_id = $1 and name = $2`, ref.JobID, n.Name)
		if err != nil {
			return last, err
		}
		if twice {
			return last, core.Errorf(core.Conflict, "step %d of job %d has the name %q already", first, ref.JobID, n.Name).WithHint("give each step of a job a name of its own")
		}
	}
	return last, nil
}

// sizeWith returns the size of the results of a job's steps with those of a new one, within the limit.
func sizeWith(last row, ref job.Ref, n job.NewStep) (total int64, err error) {
	total = last.total + int64(len(n.Result))
	reserved := total
	switch n.Kind { // the result of a wait is never rejected later, so its size is reserved now
	case job.StepSignal:
		reserved += job.MaxSignal
	case job.StepAwait:
		reserved += job.MaxStepResult
	}
	if reserved > job.MaxStepsSize {
		return 0, core.Errorf(core.TooLarge, "the results of the steps of job %d are over the limit of %d bytes together", ref.JobID, job.MaxStepsSize).
			WithHint("keep large results elsewhere and record where")
	}
	return total, nil
}

// JobSteps lists the steps of a job, in order.
func (s *Store) JobSteps(ctx context.Context, namespace string, id int64) (all []job.Step, err error) {
	err = s.DB().Read(ctx, func(tx base.Tx) error {
		if _, err := s.jobs.ReadJob(ctx, tx, namespace, id); err != nil {
			return err
		}
		all, err = list(ctx, tx, id)
		return err
	})
	return all, err
}

// ResetSteps deletes the steps of a job from one step on, or all, and returns their number. The next attempt runs these steps
// again. A running job is rejected.
func (s *Store) ResetSteps(ctx context.Context, namespace string, id int64, r job.StepReset) (forgotten int, err error) {
	if err := r.Validate(); err != nil {
		return 0, err
	}
	err = s.write(ctx, "reset steps", func(c *Change) error {
		if _, err := c.jobs().LockJobs([]int64{id}); err != nil {
			return err
		}
		j, err := s.jobs.ReadJob(ctx, c.Tx, namespace, id)
		if err != nil {
			return err
		}
		if j.State == job.Running {
			return core.Errorf(core.Conflict, "job %d is running", id).WithHint("cancel it or wait for its attempt to end")
		}
		from := int64(1)
		if r.From != "" {
			var found bool
			if from, found, err = base.First(ctx, c.Tx, base.ScanInt, `select number from belfry.steps where job_id = $1 and name = $2`, id, r.From); err != nil {
				return err
			}
			if !found {
				return core.Errorf(core.NotFound, "job %d has no step %q", id, r.From).WithHint("see: belfry job steps %d", id)
			}
		}
		waits, _, err := base.First(ctx, c.Tx, scan, `
			select `+columns+`
			from belfry.steps
			where job_id = $1 and number >= $2 and (kind in ('signal', 'await') and ended_at = 0 or kind = 'sleep' and wake_at > $3)`, id, from, base.Micros(c.Now))
		if err != nil {
			return err
		}
		if waits.Kind == job.StepSleep { // no attempt gets beyond the sleep, so the last attempt ended for it
			waits.told = j.Lease
		}
		if _, err := c.Tx.Exec(ctx, `
			delete from belfry.signals
			where job_id = $1 and taken = 1 and name in (select name from belfry.steps where job_id = $1 and number >= $2)`, id, from); err != nil {
			return err
		}
		n, err := c.Tx.Exec(ctx, `delete from belfry.steps where job_id = $1 and number >= $2`, id, from)
		if forgotten = int(n); err != nil || n == 0 {
			return err
		}
		if err := c.wakeJob(j.Job, waits.told); err != nil {
			return err
		}
		c.Wake(base.TopicJobs)
		return c.Audit("reset-steps", "job", j.Namespace, fmt.Sprint(id), r.Note, nil, map[string]any{"from": from, "steps": n})
	})
	return forgotten, err
}

// pruneStep is the number of jobs that one call of [Change.Prune] looks at in each table.
const pruneStep = 500

// Prune deletes the steps, progress, signals and links of jobs that no longer exist, and signals to runs that never began. Each
// call checks the next part of all jobs with such rows, whatever their age: a job that sleeps for months keeps its own. After
// one call there is nothing more to do until the next.
func (c *Change) Prune() (more bool, err error) {
	for i, t := range [...]struct{ table, key string }{
		{"belfry.steps", "job_id"}, {"belfry.progress", "job_id"}, {"belfry.signals", "job_id"}, {"belfry.links", "job_id"}, {"belfry.workflow_signals", "run_id"},
	} {
		if err := c.prune(&c.s.pruned[i], t.table, t.key); err != nil {
			return false, err
		}
	}
	return false, nil
}

func (c *Change) prune(pruned *atomic.Int64, table, key string) error {
	ids, err := base.Collect(c.Ctx, c.Tx, base.ScanInt, `
		select distinct `+key+`
		from `+table+`
		where `+key+` > $1
		order by `+key+`
		limit $2`, pruned.Load(), pruneStep)
	if err != nil || len(ids) == 0 {
		pruned.Store(0)
		return err
	}
	next := ids[len(ids)-1]
	if len(ids) < pruneStep {
		next = 0
	}
	_, err = c.Tx.Exec(c.Ctx, `
		delete from `+table+`
		where `+c.SQL.In(key, 1)+`
		and not exists (select 1 from belfry.jobs j where j.id = `+table+`.`+key+`)
		and not exists (select 1 from belfry.jobs_done d where d.id = `+table+`.`+key+`)`, c.SQL.List(ids))
	c.After(func() { pruned.Store(next) })
	return err
}

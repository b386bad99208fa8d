package search

import (
	"context"
	"fmt"

	"github.com/belfry-run/belfry/core"
	"github.com/belfry-run/belfry/job"
	"github.com/belfry-run/belfry/store/base"
)

// RunJobAgain creates a new job from a finished one, with the same input or another.
func (s *Store) RunJobAgain(ctx context.Context, namespace string, id int64, r job.RunAgain) (out job.Enqueued, err error) {
	err = s.write(ctx, "run-again", func(c *Change) error {
		old, err := s.jobs.ReadJob(ctx, c.Tx, namespace, id)
		if err != nil {
			return err
		}
		n, err := r.Of(old.Job)
		if err != nil {
			return err
		}
		if err := c.queues().CheckQueue("queue", n.Queue); core.CodeOf(err) == core.Invalid { // the queue was deleted, and the task names another one
			n.Queue = ""
		} else if err != nil {
			return err
		}
		if core.CodeOf(c.tasks().AllowJobs([]job.NewJob{n})) == core.Invalid { // no longer allowed: use the queue and priority of the task
			n.Queue, n.Priority = "", nil
		}
		made, err := c.jobs().Enqueue([]job.NewJob{n})
		if err != nil {
			return err
		}
		if out = made[0]; out.Existing {
			return nil
		}
		out.Job.RunAgainOf = id
		if _, err := c.Tx.Exec(ctx, `insert into belfry.runs_again (job_id, of_id, at) values ($1, $2, $3)`, out.Job.ID, id, base.Micros(c.Now)); err != nil {
			return err
		}
		return c.Audit("run-again", "job", old.Namespace, fmt.Sprint(id), r.Note, nil, []int64{out.Job.ID})
	})
	return out, err
}

// addRunAgain sets the job from which a job was created, and the jobs created from it.
func addRunAgain(ctx context.Context, tx base.Tx, j *job.Job) (err error) {
	if j.RunAgainOf, _, err = base.First(ctx, tx, base.ScanInt, `select of_id from belfry.runs_again where job_id = $1`, j.ID); err != nil {
		return err
	}
	j.RunAgainAs, err = base.Collect(ctx, tx, base.ScanInt, `select job_id from belfry.runs_again where of_id = $1 order by job_id desc limit 10`, j.ID)
	return err
}

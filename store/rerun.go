package store

import (
	"context"
	"fmt"

	"github.com/belfry-run/belfry/core"
	"github.com/belfry-run/belfry/job"
)

// RerunJob makes a new job of a finished one, with the same input or another.
func (s *Store) RerunJob(ctx context.Context, namespace string, id int64, r job.Rerun) (out job.Enqueued, err error) {
	err = s.write(ctx, "rerun", func(c *change) error {
		old, err := s.job(ctx, c.tx, namespace, id)
		if err != nil {
			return err
		}
		n, err := r.Of(old.Job)
		if err != nil {
			return err
		}
		if err := c.checkQueue("queue", n.Queue); core.CodeOf(err) == core.Invalid { // it is gone, and the task names another by now
			n.Queue = ""
		} else if err != nil {
			return err
		}
		if core.CodeOf(c.allowJobs([]job.NewJob{n})) == core.Invalid { // not any more: it runs as its task does
			n.Queue, n.Priority = "", nil
		}
		made, err := c.enqueue([]job.NewJob{n})
		if err != nil {
			return err
		}
		if out = made[0]; out.Existing {
			return nil
		}
		out.Job.RerunOf = id
		if _, err := c.tx.Exec(ctx, `insert into belfry.reruns (job_id, of_id, at) values ($1, $2, $3)`, out.Job.ID, id, micros(c.now)); err != nil {
			return err
		}
		return c.audit("rerun", "job", old.Namespace, fmt.Sprint(id), r.Note, nil, []int64{out.Job.ID})
	})
	return out, err
}

// addReruns says which job another was made from, and which were made from it.
func addReruns(ctx context.Context, tx Tx, j *job.Job) (err error) {
	if j.RerunOf, _, err = first(ctx, tx, scanInt, `select of_id from belfry.reruns where job_id = $1`, j.ID); err != nil {
		return err
	}
	j.Reruns, err = collect(ctx, tx, scanInt, `select job_id from belfry.reruns where of_id = $1 order by job_id desc limit 10`, j.ID)
	return err
}

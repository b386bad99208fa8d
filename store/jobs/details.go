package jobs

import (
	"context"
	"slices"

	"github.com/belfry-run/belfry/job"
	"github.com/belfry-run/belfry/store/base"
	"github.com/belfry-run/belfry/task"
)

// keepDetails writes down what attempts that have just ended say of themselves
// beyond their ends.
func (c *Change) keepDetails(fs []job.Finish, out []job.Finished) error {
	for i, f := range fs {
		if f.Sandboxed == nil || out[i].Stale {
			continue
		}
		doc := base.Text(f.Sandboxed)
		if _, err := c.Tx.Exec(c.Ctx, `
			insert into belfry.attempt_details (job_id, lease, at, doc)
			values ($1, $2, $3, $4)
			on conflict (job_id, lease) do nothing`, f.JobID, f.Lease, base.Micros(c.Now), doc); err != nil {
			return err
		}
		if err := c.s.Hooks.ConfirmOutputs(c, f); err != nil {
			return err
		}
	}
	return nil
}

// addDetails puts them into the attempts of a job.
func addDetails(ctx context.Context, tx base.Tx, j int64, attempts []job.Attempt) error {
	type detail struct {
		lease int64
		doc   *task.Sandboxed
	}
	all, err := base.Collect(ctx, tx, func(r base.Rows) (d detail, err error) {
		return d, r.Scan(&d.lease, base.ScanDoc(&d.doc))
	}, `
		select lease, doc
		from belfry.attempt_details
		where job_id = $1 and doc is not null`, j)
	for _, d := range all {
		if i := slices.IndexFunc(attempts, func(a job.Attempt) bool { return a.Lease == d.lease }); i >= 0 {
			attempts[i].Sandboxed = d.doc
		}
	}
	return err
}

package jobs

import (
	"github.com/belfry-run/belfry/job"
	"github.com/belfry-run/belfry/store/base"
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

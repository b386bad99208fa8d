// Package keys keeps the idempotency keys of jobs.
package keys

import (
	"cmp"
	"slices"

	"github.com/belfry-run/belfry/store/base"
)

// Row is a key, and the job that has it.
type Row struct {
	Namespace string `json:"namespace"`
	Name      string `json:"name"`
	JobID     int64  `json:"job_id"`
	ExpiresAt int64  `json:"expires_at"`
	Asked     string `json:"asked"`
}

// Take claims keys, each for its job, as far as no job has them already. It answers who has each.
func Take(c *base.Change, rows []Row) ([]Row, error) {
	// In one order, so that two batches with the same keys do not wait for each
	// other.
	slices.SortFunc(rows, func(a, b Row) int {
		return cmp.Or(cmp.Compare(a.Namespace, b.Namespace), cmp.Compare(a.Name, b.Name))
	})
	table, args := c.SQL.Table(2, "t", base.BatchOf(rows))
	// A second transaction with the same key waits here for the first.
	if _, err := c.Tx.Exec(c.Ctx, `
		insert into belfry.job_keys (namespace, name, job_id, expires_at, asked)
		select namespace, name, job_id, expires_at, asked
		from `+table+`
		where true
		on conflict (namespace, name) do update
		set job_id = excluded.job_id, expires_at = excluded.expires_at, asked = excluded.asked
		where belfry.job_keys.expires_at <= $1`, append([]any{base.Micros(c.Now)}, args...)...); err != nil {
		return nil, err
	}
	table, args = c.SQL.Table(1, "t", base.BatchOf(rows))
	return base.Collect(c.Ctx, c.Tx, func(r base.Rows) (k Row, err error) {
		return k, r.Scan(&k.Namespace, &k.Name, &k.JobID, &k.Asked)
	}, `
		select namespace, name, (select k.job_id from belfry.job_keys k where k.namespace = t.namespace and k.name = t.name),
			(select k.asked from belfry.job_keys k where k.namespace = t.namespace and k.name = t.name)
		from `+table, args...)
}

// Pass gives a key to another job.
func Pass(c *base.Change, namespace, name string, job int64) error {
	_, err := c.Tx.Exec(c.Ctx, `
		update belfry.job_keys
		set job_id = $3
		where namespace = $1 and name = $2`, namespace, name, job)
	return err
}

// Package keys keeps the idempotency keys of jobs. Package jobs uses it in the transaction that enqueues: a key is taken
// before its job is inserted, and a request with a key that is taken gets the existing job. A key outlives its job until its
// time is over. An active key, unlike an idempotency key, is free again when its job ends.
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

// Take claims each key for its job, unless another job has the key. It returns the jobs that have the keys.
func Take(c *base.Change, rows []Row) ([]Row, error) {
	// In one order, so that two batches with the same keys cannot deadlock.
	slices.SortFunc(rows, func(a, b Row) int {
		return cmp.Or(cmp.Compare(a.Namespace, b.Namespace), cmp.Compare(a.Name, b.Name))
	})
	table, args := c.SQL.Table(2, "t", base.BatchOf(rows))
	// A second transaction with the same key waits here for the first.
	if _, err := c.Tx.Exec(c.Ctx, claimKeys(table), append([]any{base.Micros(c.Now)}, args...)...); err != nil {
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

// claimKeys returns the statement that claims each key of a table for its job, unless another job has the key. $1 is the time.
func claimKeys(table string) string {
	return `
		insert into belfry.job_keys (namespace, name, job_id, expires_at, asked)
		select namespace, name, job_id, expires_at, asked
		from ` + table + `
		where true
		on conflict (namespace, name) do update
		set job_id = excluded.job_id, expires_at = excluded.expires_at, asked = excluded.asked
		where belfry.job_keys.expires_at <= $1`
}

// Pass gives a key to another job. An empty name is no key.
func Pass(c *base.Change, namespace, name string, job int64) error {
	if name == "" {
		return nil
	}
	_, err := c.Tx.Exec(c.Ctx, `
		update belfry.job_keys
		set job_id = $3
		where namespace = $1 and name = $2`, namespace, name, job)
	return err
}

// Asked is the idempotency key of a requested job.
type Asked struct {
	Namespace, Name string
	Job             int64
	Until           int64  // when the key expires
	Asked           string // [AskedFor] of the request; a different request with the key is refused
}

// Claim claims the keys of n jobs, unless another job has them, which may be an earlier one of the n. It returns, by index, the
// other jobs that have the keys.
func Claim(c *base.Change, n int, at func(i int) (Asked, bool)) (taken map[int]int64, err error) {
	taken = map[int]int64{}
	places, asked := map[[2]string]int{}, make([]Asked, n)
	var rows []Row
	for i := range n {
		a, has := at(i)
		if !has {
			continue
		}
		asked[i] = a
		key := [2]string{a.Namespace, a.Name}
		if k, dup := places[key]; dup {
			if asked[k].Asked != a.Asked {
				return nil, errOtherRequest(a.Name, asked[k].Job)
			}
			taken[i] = asked[k].Job
			continue
		}
		places[key] = i
		rows = append(rows, Row{Namespace: a.Namespace, Name: a.Name, JobID: a.Job, ExpiresAt: a.Until, Asked: a.Asked})
	}
	if len(rows) == 0 {
		return taken, nil
	}
	holders, err := Take(c, rows)
	if err != nil {
		return nil, err
	}
	first := map[int64]int64{} // id that requested a key -> id that has it
	for _, h := range holders {
		i := places[[2]string{h.Namespace, h.Name}]
		if h.JobID != asked[i].Job {
			if h.Asked != asked[i].Asked {
				return nil, errOtherRequest(h.Name, h.JobID)
			}
			taken[i] = h.JobID
			first[asked[i].Job] = h.JobID
		}
	}
	Follow(taken, first)
	return taken, nil
}

// Follow replaces, in taken, jobs that were not made by the jobs that exist instead.
func Follow(taken map[int]int64, instead map[int64]int64) {
	for i, id := range taken {
		if holder, ok := instead[id]; ok {
			taken[i] = holder
		}
	}
}

// Move gives keys that a transition holds to other jobs, with other expiry times.
func Move(c *base.Change, rows []Row) error {
	if len(rows) == 0 {
		return nil
	}
	table, args := c.SQL.Table(1, "t", base.BatchOf(rows))
	_, err := c.Tx.Exec(c.Ctx, `
		update belfry.job_keys
		set job_id = t.job_id, expires_at = t.expires_at
		from `+table+`
		where belfry.job_keys.namespace = t.namespace and belfry.job_keys.name = t.name`, args...)
	return err
}

// Free deletes a key that a transition holds.
func Free(c *base.Change, namespace, name string) error {
	_, err := c.Tx.Exec(c.Ctx, `delete from belfry.job_keys where namespace = $1 and name = $2`, namespace, name)
	return err
}

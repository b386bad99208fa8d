package keys

import "github.com/belfry-run/belfry/store/base"

// Active is the active key of a job.
type Active struct {
	Namespace string `json:"namespace"`
	Key       string `json:"name"`
}

// HeldBy returns the live jobs that hold some active keys. Keys without such a job are left out.
func HeldBy(c *base.Change, keys []Active) (map[Active]int64, error) {
	held := make(map[Active]int64, len(keys))
	if len(keys) == 0 {
		return held, nil
	}
	table, args := c.SQL.Table(1, "t", base.BatchOf(keys))
	_, err := base.Collect(c.Ctx, c.Tx, func(rows base.Rows) (none struct{}, err error) {
		var a Active
		var id int64
		if err = rows.Scan(&a.Namespace, &a.Key, &id); id > 0 {
			held[a] = id
		}
		return none, err
	}, `
		select namespace, name, coalesce((select j.id from belfry.jobs j where j.namespace = t.namespace and j.active_key = t.name), 0)
		from `+table, args...)
	return held, err
}

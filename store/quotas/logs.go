package quotas

import (
	"fmt"
	"maps"
	"slices"
	"time"

	"github.com/belfry-run/belfry/access"
	"github.com/belfry-run/belfry/store/base"
)

// keptLogs sums the bytes of logs of a namespace with such a quota.
const keptLogs = `select cast(coalesce(sum(bytes), 0) as bigint) from belfry.log_use where namespace = $1`

// countLogs counts the existing logs when a quota begins, and deletes the count when it ends. Logs of checks are not counted: they
// are deleted with the result.
func (c *Change) countLogs(namespace string, begins bool) error {
	_, err := c.Tx.Exec(c.Ctx, `delete from belfry.log_use where namespace = $1`, namespace)
	if err != nil || !begins {
		return err
	}
	_, err = c.Tx.Exec(c.Ctx, `
		insert into belfry.log_use (namespace, hour, bytes)
		select $1, l.at / `+fmt.Sprint(base.LogHour)+`, sum(l.size)
		from belfry.logs l
		where l.job_id in (
			select id from belfry.jobs where namespace = $1 and trigger <> 'check'
			union all
			select id from belfry.jobs_done where namespace = $1 and trigger <> 'check')
		group by 2`, namespace)
	return err
}

// FreeLogs returns the statements that free the quota of logs that were deleted, of all hours before $1. The first forgets the
// hours; the second counts again the pieces that stay there, because their jobs do, of the given rows. If the first finds nothing,
// the second has nothing to do.
func FreeLogs(rows string) (forget, recount string) {
	hour := fmt.Sprint(base.LogHour)
	return `delete from belfry.log_use where hour < $1`, `
		insert into belfry.log_use (namespace, hour, bytes)
		select k.namespace, k.hour, sum(k.size)
		from (
			select l.at / ` + hour + ` as hour, l.size, coalesce(
				(select j.namespace from belfry.jobs j where j.id = l.job_id and j.trigger <> 'check'),
				(select d.namespace from belfry.jobs_done d where d.id = l.job_id and d.trigger <> 'check')) as namespace
			from ` + rows + ` l
			where l.at < cast($1 as bigint) * ` + hour + `) k
		where exists (select 1 from belfry.quota_use u where u.owner = 'logs:' || k.namespace)
		group by k.namespace, k.hour
		on conflict (namespace, hour) do update
		set bytes = belfry.log_use.bytes + excluded.bytes`
}

// LogRoom is the capacity of a namespace for bytes of logs. Its row is locked until the transition ends. A namespace without this
// quota costs no query.
type LogRoom struct {
	namespace access.Namespace
	kept      int64
	added     map[int64]int64 // bytes by hour
}

// LogRoom returns the capacity of a namespace for bytes of logs, or nil without such a quota.
func (c *Change) LogRoom(namespace string) (*LogRoom, error) {
	n, has, err := c.of(namespace)
	if err != nil || !has || n.Quota.LogBytes == 0 {
		return nil, err
	}
	if _, found, err := c.lock(logsOf(namespace)); err != nil || !found {
		return nil, err
	}
	r := &LogRoom{namespace: n, added: map[int64]int64{}}
	r.kept, _, err = base.First(c.Ctx, c.Tx, base.ScanInt, keptLogs, namespace)
	return r, err
}

// Left returns the number of bytes that still fit.
func (r *LogRoom) Left() int64 { return max(0, r.namespace.Quota.LogBytes-r.kept) }

// Take counts bytes of an instant, even beyond the quota.
func (r *LogRoom) Take(bytes, at int64) {
	r.kept += bytes
	r.added[at/base.LogHour] += bytes
}

// Refuse returns the refusal of some bytes. It is reported to the observer after the commit.
func (c *Change) Refuse(r *LogRoom, bytes int64) error {
	err := refuse(r.namespace, access.QuotaLogBytes, r.namespace.Quota.LogBytes, r.kept+bytes, 0, time.Second)
	c.After(func() { c.s.TellOver(err) })
	return err
}

// Save writes the counted bytes.
func (c *Change) Save(r *LogRoom) error {
	for _, hour := range slices.Sorted(maps.Keys(r.added)) {
		_, err := c.Tx.Exec(c.Ctx, `
			insert into belfry.log_use (namespace, hour, bytes)
			values ($1, $2, $3)
			on conflict (namespace, hour) do update
			set bytes = belfry.log_use.bytes + excluded.bytes`, r.namespace.Name, hour, r.added[hour])
		if err != nil {
			return err
		}
	}
	return nil
}

func logsOf(namespace string) string { return "logs:" + namespace }

package quotas

import (
	"fmt"
	"maps"
	"slices"
	"time"

	"github.com/belfry-run/belfry/access"
	"github.com/belfry-run/belfry/store/base"
)

// keptLogs is how many bytes of logs a namespace with such a quota has.
const keptLogs = `select cast(coalesce(sum(bytes), 0) as bigint) from belfry.log_use where namespace = $1`

// countLogs counts what is there when a quota begins, and forgets the count when it ends. Logs of checks are not counted:
// they leave with the result.
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

// LogRoom is the quota of bytes of logs of a namespace, and what is left of it. Its row is locked until the transition ends. A
// namespace without the quota costs a look into memory.
type LogRoom struct {
	namespace access.Namespace
	kept      int64
	let       map[int64]int64 // bytes by hour
}

// LogRoom is the room of a namespace, or nil if it has no such quota.
func (c *Change) LogRoom(namespace string) (*LogRoom, error) {
	n, has, err := c.of(namespace)
	if err != nil || !has || n.Quota.LogBytes == 0 {
		return nil, err
	}
	if _, found, err := c.lock(logsOf(namespace)); err != nil || !found {
		return nil, err
	}
	r := &LogRoom{namespace: n, let: map[int64]int64{}}
	r.kept, _, err = base.First(c.Ctx, c.Tx, base.ScanInt, keptLogs, namespace)
	return r, err
}

// Left is the number of bytes that still fit.
func (r *LogRoom) Left() int64 { return max(0, r.namespace.Quota.LogBytes-r.kept) }

// Take counts bytes of an instant, whether there is room for them or not.
func (r *LogRoom) Take(bytes, at int64) {
	r.kept += bytes
	r.let[at/base.LogHour] += bytes
}

// Refuse is why there is no room for some bytes. The observer is told when the transition has ended.
func (c *Change) Refuse(r *LogRoom, bytes int64) error {
	err := refuse(r.namespace, access.QuotaLogBytes, r.namespace.Quota.LogBytes, r.kept+bytes, 0, time.Second)
	c.After(func() { c.s.TellOver(err) })
	return err
}

// Save writes down what was taken.
func (c *Change) Save(r *LogRoom) error {
	for _, hour := range slices.Sorted(maps.Keys(r.let)) {
		_, err := c.Tx.Exec(c.Ctx, `
			insert into belfry.log_use (namespace, hour, bytes)
			values ($1, $2, $3)
			on conflict (namespace, hour) do update
			set bytes = belfry.log_use.bytes + excluded.bytes`, r.namespace.Name, hour, r.let[hour])
		if err != nil {
			return err
		}
	}
	return nil
}

func logsOf(namespace string) string { return "logs:" + namespace }

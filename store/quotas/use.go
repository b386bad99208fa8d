package quotas

import (
	"context"

	"github.com/belfry-run/belfry/access"
	"github.com/belfry-run/belfry/job"
	"github.com/belfry-run/belfry/store/base"
)

// QuotaUse returns how much of its quotas a namespace uses. Quotas without a limit are left out.
func (s *Store) QuotaUse(ctx context.Context, namespace string) (all []access.QuotaUse, err error) {
	now, err := s.Now(ctx)
	if err != nil {
		return nil, err
	}
	err = s.DB().Read(ctx, func(tx base.Tx) error {
		all = nil
		n, found, err := base.First(ctx, tx, scanNamespace, `select doc from belfry.namespaces where name = $1`, namespace)
		if err != nil || !found {
			return err
		}
		add := func(quota string, limit int64, count func() (int64, error)) {
			if limit == 0 || err != nil {
				return
			}
			var used int64
			used, err = count()
			all = append(all, access.QuotaUse{Quota: quota, Limit: limit, Used: used})
		}
		counted := func(query string) func() (int64, error) {
			return func() (int64, error) {
				n, _, err := base.First(ctx, tx, base.ScanInt, query, namespace)
				return n, err
			}
		}
		add(access.QuotaWaiting, int64(n.Quota.Waiting), counted(waitingJobs))
		pace := n.Quota.EnqueuePace()
		add(access.QuotaEnqueueRate, burstOf(pace), func() (int64, error) {
			next, _, err := base.First(ctx, tx, base.ScanInt, `select next_at from belfry.quota_use where owner = $1`, ownerOf(namespace))
			return pace.Used(next, base.Micros(now)), err
		})
		calls := n.Quota.CallPace()
		add(access.QuotaCallRate, burstOf(calls), func() (int64, error) {
			next, now := s.calls.at(namespace)
			return calls.Used(next, now), nil
		})
		add(access.QuotaLogBytes, n.Quota.LogBytes, counted(keptLogs))
		for _, k := range keptBy(n.Quota) {
			add(k.quota, k.limit, counted(k.count))
		}
		return err
	})
	return all, err
}

func burstOf(p job.Pace) int64 {
	if p.IsZero() {
		return 0
	}
	return int64(p.Burst())
}

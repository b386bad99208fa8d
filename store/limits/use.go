package limits

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"time"

	"github.com/belfry-run/belfry/core"
	"github.com/belfry-run/belfry/flow"
	"github.com/belfry-run/belfry/job"
	"github.com/belfry-run/belfry/store/base"
	"github.com/belfry-run/belfry/task"
	"github.com/belfry-run/belfry/view"
)

// Bounds of what is shown.
const (
	shownKeys   = 20
	countedJobs = core.CountLimit
)

// LimitUse returns the present use of each limit of a task, and its busiest keys. It counts at most countedJobs jobs of a limit.
func (s *Store) LimitUse(ctx context.Context, namespace, name string) (all []view.LimitUse, err error) {
	return s.usesOf(ctx, func(tx base.Tx) ([]job.Gate, []flow.Limit, error) {
		t, err := s.tasks.ReadTask(ctx, tx, base.NamespaceOr(namespace), name)
		return job.GatesOf(t), t.Limits, err
	})
}

// QueueLimitUse is LimitUse for a queue.
func (s *Store) QueueLimitUse(ctx context.Context, name string) (all []view.LimitUse, err error) {
	return s.usesOf(ctx, func(tx base.Tx) ([]job.Gate, []flow.Limit, error) {
		q, err := s.queues.ReadQueue(ctx, tx, name)
		return job.GatesIn(job.QueueOwner(name), q.Limits), q.Limits, err
	})
}

// NamespaceLimitUse is LimitUse for a namespace.
func (s *Store) NamespaceLimitUse(ctx context.Context, name string) (all []view.LimitUse, err error) {
	return s.usesOf(ctx, func(tx base.Tx) ([]job.Gate, []flow.Limit, error) {
		n, err := s.tasks.ReadNamespace(ctx, tx, name)
		return job.GatesIn(job.NamespaceOwner(name), n.Limits), n.Limits, err
	})
}

func (s *Store) usesOf(ctx context.Context, read func(tx base.Tx) ([]job.Gate, []flow.Limit, error)) (all []view.LimitUse, err error) {
	err = s.DB().Read(ctx, func(tx base.Tx) error {
		all = []view.LimitUse{}
		gates, limits, err := read(tx)
		if err != nil {
			return err
		}
		for _, g := range gates {
			u, err := s.use(ctx, tx, g, limits)
			if err != nil {
				return err
			}
			all = append(all, u)
		}
		return nil
	})
	return all, err
}

func (s *Store) use(ctx context.Context, tx base.Tx, g job.Gate, limits []flow.Limit) (u view.LimitUse, err error) {
	u = view.LimitUse{Name: g.Name, Key: g.Key, Running: g.Running, Keys: []view.KeyUse{}}
	for _, l := range limits {
		if l.Name == g.Name {
			u.Rate, u.Burst = l.Rate, l.Burst
		}
	}
	keys, err := base.Collect(ctx, tx, func(rows base.Rows) (k view.KeyUse, err error) {
		return k, rows.Scan(&k.Value, &k.Running, &k.Waiting, base.ScanTime(&k.NextAt), &k.StoppedBy)
	}, fmt.Sprintf(`
		select k.value, counted.admitted, counted.waiting, k.next_at, k.stopped_by
		from (
			select key_id, sum(case when stage = 2 then 1 else 0 end) as admitted, sum(case when stage = 1 then 1 else 0 end) as waiting
			from (
				select j.key_id, j.stage
				from belfry.limit_jobs j
				where j.stage in (1, 2) and j.key_id in (select k.id from belfry.limit_keys k where k.owner = $1 and k.name = $2)
				limit %d) as bounded
			group by key_id
			order by 3 desc, 2 desc, key_id
			limit %d) as counted
		join belfry.limit_keys k on k.id = counted.key_id`, countedJobs+1, shownKeys+1), g.Owner, g.Name)
	if err != nil {
		return u, err
	}
	if g.Strict { // a stopped sequence may have no waiting jobs
		stopped, err := base.Collect(ctx, tx, func(rows base.Rows) (k view.KeyUse, err error) { return k, rows.Scan(&k.Value, &k.StoppedBy) }, fmt.Sprintf(`
			select value, stopped_by
			from belfry.limit_keys
			where owner = $1 and stopped_by > 0
			order by id
			limit %d`, shownKeys), g.Owner)
		if err != nil {
			return u, err
		}
		for _, k := range stopped {
			if !slices.ContainsFunc(keys, func(o view.KeyUse) bool { return o.Value == k.Value }) {
				keys = append(keys, k)
			}
		}
		u.OnFailure = string(g.OnFailure)
	}
	slices.SortStableFunc(keys, func(a, b view.KeyUse) int {
		return cmp.Or(cmp.Compare(min(b.StoppedBy, 1), min(a.StoppedBy, 1)), cmp.Compare(b.Waiting, a.Waiting), cmp.Compare(b.Running, a.Running), cmp.Compare(a.Value, b.Value))
	})
	if u.More = len(keys) > shownKeys; u.More {
		keys = keys[:shownKeys]
	}
	for i := range keys {
		if g.Pace.IsZero() {
			keys[i].NextAt = time.Time{}
		}
	}
	u.Keys = append(u.Keys, keys...)
	return u, nil
}

// JobLimit is a limit of a job, and the state of the job's key.
type JobLimit struct {
	Gate     job.Gate
	Gone     bool // the limit was deleted
	Value    string
	Waits    bool      // the job waits under this key
	Admitted int       // admitted jobs of the key
	Before   int       // waiting jobs of the key that are admitted before this job
	From     time.Time // of a rate: earliest start of the next job
	Stopped  int64     // of a sequence: the job whose failure stopped it
}

// LimitsOf returns the limits of a live job.
func (s *Store) LimitsOf(ctx context.Context, tx base.Tx, j job.Job, t task.Task) ([]JobLimit, error) {
	all, err := base.Collect(ctx, tx, func(rows base.Rows) (u JobLimit, err error) {
		var stage int64
		err = rows.Scan(&u.Gate.Owner, &u.Gate.Name, &u.Value, &stage, &u.Admitted, &u.Before, base.ScanTime(&u.From), &u.Stopped)
		u.Waits = stage == stageWaiting
		return u, err
	}, fmt.Sprintf(`
		select k.owner, k.name, k.value, j.stage,
			(select count(*) from (select 1 from belfry.limit_jobs a where a.key_id = k.id and a.stage = 2 limit %[1]d) as bounded),
			(select count(*) from (select 1 from belfry.limit_jobs w where w.key_id = k.id and w.stage = 1 and (w.priority > j.priority or w.priority = j.priority and w.job_id < j.job_id) limit %[1]d) as bounded),
			k.next_at, k.stopped_by
		from belfry.limit_jobs j
		join belfry.limit_keys k on k.id = j.key_id
		where j.job_id = $1
		order by k.id`, flow.MaxRunning+1), j.ID)
	if err != nil || len(all) == 0 {
		return all, err
	}
	n, err := s.tasks.ReadNamespace(ctx, tx, j.Namespace)
	if err != nil {
		return nil, err
	}
	q, err := s.queues.ReadQueue(ctx, tx, j.Queue)
	if err != nil {
		return nil, err
	}
	gates := slices.Concat(job.GatesOf(t), job.GatesIn(job.QueueOwner(j.Queue), q.Limits), job.GatesIn(job.NamespaceOwner(j.Namespace), n.Limits))
	for i := range all {
		at := slices.IndexFunc(gates, func(g job.Gate) bool { return g.Owner == all[i].Gate.Owner && g.Name == all[i].Gate.Name })
		if all[i].Gone = at < 0; !all[i].Gone {
			all[i].Gate = gates[at]
		}
	}
	return all, nil
}

package search

import (
	"github.com/belfry-run/belfry/access"
	"github.com/belfry-run/belfry/flow"
	"github.com/belfry-run/belfry/job"
	"github.com/belfry-run/belfry/store/base"
	"github.com/belfry-run/belfry/store/jobs"
	"github.com/belfry-run/belfry/store/leftovers"
	"github.com/belfry-run/belfry/store/limits"
	"github.com/belfry-run/belfry/task"
)

func (c *Change) limits() *limits.Change { return c.s.jobs.Limits().In(c.Change) }

// admitLater leaves retried jobs whose tasks have limits to the engine for admission.
func (c *Change) admitLater(moved []int64, tasks map[int64]task.Task, rows []jobs.JobRow) error {
	there := make(map[int64]bool, len(moved))
	for _, id := range moved {
		there[id] = true
	}
	holds, err := c.limits().HasLimits(len(rows), func(i int) (*job.Job, []job.Gate) { return &rows[i].Job, job.GatesOf(tasks[rows[i].TaskID]) })
	if err != nil {
		return err
	}
	var held []int64
	for i := range rows {
		if there[rows[i].ID] && holds[i] {
			held = append(held, rows[i].ID)
		}
	}
	return c.limits().AdmitAgain(held)
}

// FollowLimits applies a change of a task's limits. The first limits of a task hold back its ready jobs without a lease.
func (c *Change) FollowLimits(old, t task.Task) error {
	return c.followLimits(job.TaskOwner(t.ID), job.GatesOf(old), job.GatesOf(t))
}

// FollowQueueLimits is FollowLimits for a queue.
func (c *Change) FollowQueueLimits(q job.Queue, before []flow.Limit) error {
	owner := job.QueueOwner(q.Name)
	return c.followLimits(owner, job.GatesIn(owner, before), job.GatesIn(owner, q.Limits))
}

// FollowNamespaceLimits is FollowLimits for a namespace.
func (c *Change) FollowNamespaceLimits(n access.Namespace, before []flow.Limit) error {
	owner := job.NamespaceOwner(n.Name)
	return c.followLimits(owner, job.GatesIn(owner, before), job.GatesIn(owner, n.Limits))
}

func (c *Change) followLimits(owner string, before, after []job.Gate) error {
	if base.Text(before) == base.Text(after) {
		return nil
	}
	if err := c.limits().Changed(owner); err != nil {
		return err
	}
	switch left := c.s.leftovers.In(c.Change); {
	case len(after) == 0:
		return left.Forget(leftovers.Limited, owner)
	case len(before) == 0:
		return left.Follow(leftovers.Left{Kind: leftovers.Limited, Owner: owner})
	}
	return nil
}

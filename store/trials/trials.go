// Package trials runs definitions that are not saved: each stands in a hidden task for as long as its job may want it.
package trials

import (
	"cmp"
	"context"
	"crypto/rand"
	"fmt"
	"strings"
	"time"

	"github.com/belfry-run/belfry/core"
	"github.com/belfry-run/belfry/job"
	"github.com/belfry-run/belfry/store/base"
	"github.com/belfry-run/belfry/store/jobs"
	"github.com/belfry-run/belfry/store/tasks"
	"github.com/belfry-run/belfry/task"
)

// Bounds of the definitions that are tried and not saved.
const (
	keepTrials = 24 * time.Hour
	mostTrials = 100 // of a namespace
)

// Store runs definitions that are not saved.
type Store struct {
	*base.Store
	tasks *tasks.Store
	jobs  *jobs.Store
}

// New is the part of a store that runs them.
func New(b *base.Store, t *tasks.Store, j *jobs.Store) *Store { return &Store{b, t, j} }

// change is a transition under way, with what this package does in it.
type change struct {
	*base.Change
	s *Store
}

func (c *change) tasks() *tasks.Change { return c.s.tasks.In(c.Change) }

// TryTask makes a job of a definition that is not saved. The definition stands in
// a hidden task for as long as the job may want it.
func (s *Store) TryTask(ctx context.Context, t job.TaskTrial) (e job.Enqueued, err error) {
	t.Key = cmp.Or(t.Key, strings.ToLower(rand.Text()))
	t.Task.Namespace = cmp.Or(t.Task.Namespace, core.DefaultNamespace)
	err = base.AgainIfFreed(func() error {
		return s.Write(ctx, "try task", func(c *base.Change) (err error) {
			e, err = (&change{c, s}).try(t)
			return err
		})
	})
	return e, err
}

// try writes what TryTask is asked for.
func (c *change) try(t job.TaskTrial) (e job.Enqueued, err error) {
	var old task.Task
	if t.Task.Name != "" {
		if err := core.ValidName("task.name", t.Task.Name); err != nil {
			return e, err
		}
		name := base.TaskName{Namespace: t.Task.Namespace, Name: t.Task.Name}
		there, err := c.tasks().TasksByName([]base.TaskName{name})
		if err != nil {
			return e, err
		}
		old = there[name]
	}
	hidden, err := t.Hidden(old)
	if err == nil {
		err = c.dropTrials(hidden)
	}
	if err == nil {
		err = c.hide(hidden)
	}
	if err != nil {
		return e, err
	}
	return c.s.jobs.In(c.Change).EnqueueFor(job.TriggerTrial, job.NewJob{Namespace: hidden.Namespace, Task: hidden.Name, Key: hidden.Name})
}

// hide writes the task of a trial, or finds that the same one was asked for with
// its key.
func (c *change) hide(t task.Task) error {
	was, err := c.tasks().LockTask(t.Namespace, t.Name)
	switch {
	case core.CodeOf(err) == core.NotFound:
		_, err = c.tasks().InsertTask(t, "tried, not saved")
		return err
	case err != nil:
		return err
	case tasks.TaskDoc(was) != tasks.TaskDoc(t):
		return core.Errorf(core.Conflict, "key %q belongs to the trial of another definition", strings.TrimPrefix(t.Name, task.TrialPrefix)).WithHint("use another key for another trial")
	}
	return nil
}

// dropTrials deletes the tasks of earlier trials, but for this one's.
func (c *change) dropTrials(but task.Task) error {
	list := `
		select name
		from belfry.tasks
		where namespace = $1 and name > $2 and name < $3 and substr(name, 1, ` + fmt.Sprint(len(task.TrialPrefix)) + `) = $4 and name <> $5`
	within := []any{but.Namespace, "belfry.t", "belfry.u", task.TrialPrefix, but.Name} // bounds of an index, in the order of any language
	for _, which := range []struct {
		query string
		args  []any
	}{
		{list + ` and updated_at < $6`, append(within[:5:5], base.Micros(c.Now.Add(-keepTrials)))},
		{list + ` order by updated_at desc, id desc limit 1000 offset ` + fmt.Sprint(mostTrials-1), within},
	} {
		names, err := base.Collect(c.Ctx, c.Tx, base.ScanString, which.query, which.args...)
		if err != nil {
			return err
		}
		for _, name := range names {
			old, err := c.tasks().LockTask(but.Namespace, name)
			if core.CodeOf(err) == core.NotFound {
				continue // another trial was faster
			}
			if err == nil {
				err = c.tasks().DeleteTask(old)
			}
			if err != nil {
				return err
			}
		}
	}
	return nil
}

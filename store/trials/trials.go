// Package trials runs definitions that are not saved. Each one is stored in a hidden task as long as its job may need it.
package trials

import (
	"cmp"
	"context"
	"crypto/rand"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/belfry-run/belfry/core"
	"github.com/belfry-run/belfry/job"
	"github.com/belfry-run/belfry/store/base"
	"github.com/belfry-run/belfry/store/jobs"
	"github.com/belfry-run/belfry/store/tasks"
	"github.com/belfry-run/belfry/task"
)

// Bounds of the definitions that are tried without being saved.
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

// change is a transition in progress, with the methods of this package.
type change struct {
	*base.Change
	s *Store
}

func (c *change) tasks() *tasks.Change { return c.s.tasks.In(c.Change) }

// TryTask creates a job of a definition that is not saved. The definition is stored in a hidden task as long as the job may
// need it.
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

// try writes the task and the job of a trial.
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
		err = c.writeHidden(hidden)
	}
	if err != nil {
		return e, err
	}
	return c.s.jobs.In(c.Change).EnqueueFor(job.TriggerTrial, job.NewJob{Namespace: hidden.Namespace, Task: hidden.Name, Key: hidden.Name})
}

// writeHidden writes the task of a trial, or finds the task of an identical request with the same key.
func (c *change) writeHidden(t task.Task) error {
	was, err := c.tasks().LockTask(t.Namespace, t.Name)
	switch {
	case core.CodeOf(err) == core.NotFound:
		if was, err = c.tasks().InsertTask(t, tasks.Tried); err != nil { // or it is the task of a concurrent call
			return err
		}
	case err != nil:
		return err
	}
	if tasks.TaskDoc(was) != tasks.TaskDoc(t) {
		return core.Errorf(core.Conflict, "key %q belongs to the trial of another definition", strings.TrimPrefix(t.Name, task.TrialPrefix)).WithHint("use another key for another trial")
	}
	return nil
}

// olderTrials selects the abandoned trials of all namespaces, with a walk from namespace to namespace.
const olderTrials = `
	with recursive spaces (name) as (
		select (select namespace from belfry.tasks order by namespace limit 1)
		union all
		select (select t.namespace from belfry.tasks t where t.namespace > spaces.name order by t.namespace limit 1)
		from spaces
		where spaces.name is not null
	)
	select t.namespace, t.name
	from spaces
	join belfry.tasks t on t.namespace = spaces.name and t.name > $1 and t.name < $2
	where t.updated_at < $3 and substr(t.name, 1, $4 + 0) = $5
	order by t.namespace, t.name
	limit $6 + 0`

// Names of trials sort between these, in any collation.
const (
	fromTrials = "belfry.t"
	toTrials   = "belfry.u"
)

// PruneTrials deletes the tasks of trials that are over a day old, and ends their jobs that have not started. It deletes a
// bounded number, and reports whether there may be more.
func (s *Store) PruneTrials(ctx context.Context) (more bool, err error) {
	now, err := s.Now(ctx)
	if err != nil {
		return false, err
	}
	var old []base.TaskName
	err = s.DB().Read(ctx, func(tx base.Tx) error {
		old, err = base.Collect(ctx, tx, func(r base.Rows) (n base.TaskName, err error) { return n, r.Scan(&n.Namespace, &n.Name) },
			olderTrials, fromTrials, toTrials, base.Micros(now.Add(-keepTrials)), len(task.TrialPrefix), task.TrialPrefix, mostTrials)
		return err
	})
	if err != nil || len(old) == 0 {
		return false, err
	}
	return len(old) == mostTrials, s.Write(ctx, "prune trials", func(b *base.Change) error {
		return (&change{b, s}).drop(old)
	})
}

// drop deletes tasks of trials, except those that something else holds.
func (c *change) drop(all []base.TaskName) error {
	for _, n := range all {
		old, err := c.tasks().LockTask(n.Namespace, n.Name)
		if err == nil {
			err = c.tasks().DeleteTask(old)
		}
		if code := core.CodeOf(err); err != nil && code != core.NotFound && code != core.Conflict { // another trial was faster
			return err
		}
	}
	return nil
}

// dropTrials deletes the tasks of earlier trials, except this one's.
func (c *change) dropTrials(but task.Task) error {
	list := `
		select name
		from belfry.tasks
		where namespace = $1 and name > $2 and name < $3 and substr(name, 1, ` + fmt.Sprint(len(task.TrialPrefix)) + `) = $4 and name <> $5`
	within := []any{but.Namespace, fromTrials, toTrials, task.TrialPrefix, but.Name}
	for _, which := range []struct {
		query string
		args  []any
	}{
		{list + ` and updated_at < $6 order by name limit 1000`, append(within[:5:5], base.Micros(c.Now.Add(-keepTrials)))},
		{list + ` order by updated_at desc, id desc limit 1000 offset ` + fmt.Sprint(mostTrials-1), within},
	} {
		names, err := base.Collect(c.Ctx, c.Tx, base.ScanString, which.query, which.args...)
		if err != nil {
			return err
		}
		slices.Sort(names)
		old := make([]base.TaskName, len(names))
		for i, name := range names {
			old[i] = base.TaskName{Namespace: but.Namespace, Name: name}
		}
		if err := c.drop(old); err != nil {
			return err
		}
	}
	return nil
}

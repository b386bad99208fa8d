package tasks

import (
	"context"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/belfry-run/belfry/access"
	"github.com/belfry-run/belfry/core"
	"github.com/belfry-run/belfry/job"
	"github.com/belfry-run/belfry/store/base"
	"github.com/belfry-run/belfry/store/queues"
	"github.com/belfry-run/belfry/task"
)

func scanNamespace(rows base.Rows) (n access.Namespace, err error) {
	return n, rows.Scan(base.ScanDoc(&n))
}

// ReadNamespace returns the limits of a namespace. A namespace without a row has no limits.
func (s *Store) ReadNamespace(ctx context.Context, tx base.Tx, name string) (access.Namespace, error) {
	n, _, err := base.First(ctx, tx, scanNamespace, `select doc from belfry.namespaces where name = $1`, name)
	n.Name = name
	return n, err
}

// Namespace returns the limits of a namespace.
func (s *Store) Namespace(ctx context.Context, name string) (n access.Namespace, err error) {
	err = s.DB().Read(ctx, func(tx base.Tx) error {
		n, err = s.ReadNamespace(ctx, tx, name)
		return err
	})
	return n, err
}

// Namespaces lists the namespaces that have limits, by name.
func (s *Store) Namespaces(ctx context.Context) (all []access.Namespace, err error) {
	err = s.DB().Read(ctx, func(tx base.Tx) error {
		all, err = base.Collect(ctx, tx, scanNamespace, `select doc from belfry.namespaces order by name`)
		return err
	})
	return all, err
}

// maxNamespaces bounds a list of names.
const maxNamespaces = 200

// AllNamespaces lists the namespaces that have limits, tasks or monitors, by name. It finds at most 200 namespaces without
// limits, with one index step for each, however much they hold.
func (s *Store) AllNamespaces(ctx context.Context) (all []access.Namespace, err error) {
	if all, err = s.Namespaces(ctx); err != nil {
		return nil, err
	}
	known := map[string]bool{}
	for _, n := range all {
		known[n.Name] = true
	}
	err = s.DB().Read(ctx, func(tx base.Tx) error {
		for _, table := range []string{"tasks", "monitors"} {
			found, err := base.Collect(ctx, tx, base.ScanString, `
				with recursive names (name) as (
					select min(namespace) from belfry.`+table+`
					union all
					select (select min(namespace) from belfry.`+table+` where namespace > names.name) from names where names.name is not null
				)
				select name from names where name is not null limit `+strconv.Itoa(maxNamespaces))
			if err != nil {
				return err
			}
			for _, name := range found {
				if !known[name] {
					known[name] = true
					all = append(all, access.Namespace{Name: name})
				}
			}
		}
		return nil
	})
	slices.SortFunc(all, func(a, b access.Namespace) int { return strings.Compare(a.Name, b.Name) })
	return all, err
}

// SaveNamespace replaces the limits of a namespace. Its tasks must fit the new limits. Existing jobs keep their queue and
// priority.
func (s *Store) SaveNamespace(ctx context.Context, n access.Namespace) (access.Namespace, error) {
	n = n.WithDefaults()
	err := s.write(ctx, "save namespace", func(c *Change) error {
		if err := n.Validate(); err != nil {
			return err
		}
		// A task that is being saved holds its queue before it reads the limits. So either the task is here before these limits
		// are checked, or it sees them.
		if _, err := base.Collect(ctx, c.Tx, base.ScanString, `select name from belfry.queues order by name`+c.SQL.ForUpdate("queues")); err != nil {
			return err
		}
		for _, q := range n.Queues {
			if err := c.queues().CheckQueue("queues", q); err != nil {
				return err
			}
		}
		if err := c.tasksFit(n); err != nil {
			return err
		}
		old, err := s.ReadNamespace(ctx, c.Tx, n.Name)
		if err != nil {
			return err
		}
		if n.Same(old) {
			n = old
			return nil
		}
		if err := c.Expect("namespace", n.Name, old.Version(), old.UpdatedAt); err != nil {
			return err
		}
		n.UpdatedAt, n.UpdatedBy = c.Now, access.ActorOf(ctx)
		if n.Limited() {
			_, err = c.Tx.Exec(ctx, `
				insert into belfry.namespaces (name, doc, limits)
				values ($1, $2, $3)
				on conflict (name) do update
				set doc = excluded.doc, limits = excluded.limits`, n.Name, base.Text(n), queues.LimitsText(n.Limits))
		} else {
			_, err = c.Tx.Exec(ctx, `delete from belfry.namespaces where name = $1`, n.Name)
		}
		if err == nil && n.Quota != old.Quota {
			err = c.quotas().Saved(n)
		}
		if err == nil {
			c.queues().ForgetSpecial()
			err = s.Hooks.NamespaceSaved(c, n, old.Limits)
		}
		if err != nil {
			return err
		}
		return c.Audit("update", "namespace", n.Name, n.Name, "", old, n)
	})
	return n, err
}

// tasksFit rejects limits that exclude an existing task. Most tasks are in an allowed queue and have no priority of their own,
// so they are not read.
func (c *Change) tasksFit(n access.Namespace) error {
	var doubtful []string
	args := []any{n.Name}
	if len(n.Queues) > 0 {
		args = append(args, c.SQL.List(n.Queues))
		doubtful = append(doubtful, `not (`+c.SQL.In("queue", 2)+`)`)
	}
	switch {
	case n.MaxPriority != nil && *n.MaxPriority < 0:
		doubtful = append(doubtful, `1 = 1`)
	case n.MaxPriority != nil:
		doubtful = append(doubtful, `replace(doc, '"priority":', '') <> doc`)
	}
	if len(doubtful) == 0 {
		return nil
	}
	tasks, err := base.Collect(c.Ctx, c.Tx, c.s.ScanTask, `
		select `+TaskColumns+`
		from belfry.tasks
		where namespace = $1 and (`+strings.Join(doubtful, " or ")+`)
		order by name`, args...)
	if err != nil {
		return err
	}
	for _, t := range tasks {
		owner, owned := task.OwnerOf(t.Name)
		who := fmt.Sprintf("task %q", t.Name)
		if owned {
			who = fmt.Sprintf("monitor %q", owner)
		}
		if n.AllowQueue(t.Queue, t.Name) != nil {
			return core.Errorf(core.Conflict, "queues: %s uses queue %q", who, t.Queue).WithHint("allow the queue, or move it to another queue first")
		}
		if n.AllowPriority(t.Priority) != nil {
			return core.Errorf(core.Conflict, "max_priority: %s has the priority %d", who, t.Priority).WithHint("allow it, or lower the priority first")
		}
	}
	return nil
}

// mayUse rejects a queue or a priority that the namespace of a task may not use.
func (s *Store) mayUse(ctx context.Context, tx base.Tx, t task.Task) error {
	n, err := s.ReadNamespace(ctx, tx, t.Namespace)
	if err == nil {
		err = n.AllowQueue(t.Queue, t.Name)
	}
	if err == nil {
		err = n.AllowPriority(t.Priority)
	}
	return err
}

// AllowJobs rejects queues and priorities that jobs name themselves and their namespaces may not use. Those of tasks were
// checked when the task was saved.
func (c *Change) AllowJobs(ns []job.NewJob) error {
	known := map[string]access.Namespace{}
	for _, n := range ns {
		if n.Queue == "" && n.Priority == nil {
			continue
		}
		limits, there := known[n.Namespace]
		if !there {
			var err error
			if limits, err = c.s.ReadNamespace(c.Ctx, c.Tx, n.Namespace); err != nil {
				return err
			}
			known[n.Namespace] = limits
		}
		if n.Queue != "" {
			if err := limits.AllowQueue(n.Queue, n.Task); err != nil {
				return err
			}
		}
		if n.Priority != nil {
			if err := limits.AllowPriority(*n.Priority); err != nil {
				return err
			}
		}
	}
	return nil
}

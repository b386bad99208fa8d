package store

import (
	"context"
	"fmt"
	"strings"

	"github.com/belfry-run/belfry/core"
	"github.com/belfry-run/belfry/job"
	"github.com/belfry-run/belfry/task"
)

// taskName is how people name a task.
type taskName struct {
	Namespace string `json:"namespace"`
	Name      string `json:"name"`
}

const taskColumns = `id, namespace, name, generation, doc, created_at, updated_at`

func (s *Store) scanTask(rows Rows) (t task.Task, err error) {
	var id, generation, created, updated int64
	var namespace, name, doc string
	if err = rows.Scan(&id, &namespace, &name, &generation, &doc, &created, &updated); err != nil {
		return t, err
	}
	t, err = s.taskDocs.decodeWith(id, doc, func(t task.Task) (task.Task, bool) {
		return openIn(s, purposeOf("task", namespace, name), t)
	})
	t.ID, t.Namespace, t.Name, t.Generation = id, namespace, name, generation
	t.CreatedAt, t.UpdatedAt = instant(created), instant(updated)
	return t, err
}

// taskDoc is the task as written, without what the store adds.
func taskDoc(t task.Task) string {
	t.ID, t.Generation = 0, 0
	t.CreatedAt, t.UpdatedAt = instant(0), instant(0)
	return text(t)
}

func noTask(namespace, name string) error {
	return core.Errorf(core.NotFound, "no task %q in namespace %q", name, namespace).
		WithHint("see: belfry task list")
}

func (c *change) tasksByName(names []taskName) (map[taskName]task.Task, error) {
	if len(names) == 0 {
		return map[taskName]task.Task{}, nil
	}
	return c.s.taskNames.of(c, "tasks", unique(names), func(names []taskName) (map[taskName]task.Task, error) {
		if len(names) == 1 {
			t, found, err := first(c.ctx, c.tx, c.s.scanTask, `select `+taskColumns+` from belfry.tasks where namespace = $1 and name = $2`, names[0].Namespace, names[0].Name)
			if !found {
				return map[taskName]task.Task{}, err
			}
			return map[taskName]task.Task{names[0]: t}, err
		}
		from, args := c.sql.Table(1, "t", BatchOf(names))
		tasks, err := collect(c.ctx, c.tx, c.s.scanTask, `
			select `+taskColumns+`
			from belfry.tasks
			where (namespace, name) in (select namespace, name from `+from+`)`, args...)
		byName := make(map[taskName]task.Task, len(tasks))
		for _, t := range tasks {
			byName[taskName{Namespace: t.Namespace, Name: t.Name}] = t
		}
		return byName, err
	})
}

func (c *change) tasksByID(ids []int64) (map[int64]task.Task, error) {
	return c.s.taskIDs.of(c, "tasks", unique(ids), func(ids []int64) (map[int64]task.Task, error) {
		return c.s.tasksByID(c.ctx, c.tx, ids)
	})
}

func (s *Store) tasksByID(ctx context.Context, tx Tx, ids []int64) (map[int64]task.Task, error) {
	tasks, err := collect(ctx, tx, s.scanTask, `
		select `+taskColumns+`
		from belfry.tasks
		where `+s.sql.In("id", 1), s.sql.List(unique(ids)))
	byID := make(map[int64]task.Task, len(tasks))
	for _, t := range tasks {
		byID[t.ID] = t
	}
	return byID, err
}

func unique[T comparable](all []T) []T {
	seen := map[T]bool{}
	var out []T
	for i, v := range all {
		if i > 0 && v == all[i-1] { // as in most lists
			continue
		}
		if !seen[v] {
			seen[v] = true
			out = append(out, v)
		}
	}
	return out
}

func (s *Store) task(ctx context.Context, tx Tx, namespace, name string) (task.Task, error) {
	return s.taskWith(ctx, tx, namespace, name, "")
}

// lockTask is task, and nobody else changes or deletes it before this
// transaction ends.
func (c *change) lockTask(namespace, name string) (task.Task, error) {
	return c.s.taskWith(c.ctx, c.tx, namespace, name, c.sql.ForUpdate("tasks"))
}

func (s *Store) taskWith(ctx context.Context, tx Tx, namespace, name, suffix string) (task.Task, error) {
	t, found, err := first(ctx, tx, s.scanTask, `
		select `+taskColumns+`
		from belfry.tasks
		where namespace = $1 and name = $2`+suffix, namespace, name)
	if err == nil && !found {
		err = noTask(namespace, name)
	}
	return t, err
}

// CreateTask saves a new task.
func (s *Store) CreateTask(ctx context.Context, t task.Task) (task.Task, error) {
	t = t.WithDefaults()
	err := s.write(ctx, "create task", func(c *change) (err error) {
		if err := t.Validate(); err != nil {
			return err
		}
		t, err = c.insertTask(t, "")
		return err
	})
	return t, err
}

// vet asks who knows about settings that the root cannot judge, such as the
// expressions of conditions.
func (s *Store) vet(t task.Task) error { return s.vetting(t, true) }

// vetting is vet. Without secrets it is not known whether those are kept that
// stand for others.
func (s *Store) vetting(t task.Task, secrets bool) error {
	if secrets {
		if err := t.CheckSecrets(); err != nil {
			return err
		}
	}
	if s.opt.Vet == nil {
		return nil
	}
	return s.opt.Vet(t)
}

// insertTask writes a task that is valid.
func (c *change) insertTask(t task.Task, note string) (task.Task, error) {
	if err := c.s.vet(t); err != nil {
		return t, err
	}
	if err := c.checkCycle(t); err != nil {
		return t, err
	}
	if err := c.mayUseQueue(t); err != nil {
		return t, err
	}
	if err := c.s.taskHooks.Saving(c, t); err != nil {
		return t, err
	}
	demand, err := c.demandOf(t)
	if err != nil {
		return t, err
	}
	ids, err := c.sql.NextIDs(c.ctx, c.tx, "definition", 1)
	if err != nil {
		return t, err
	}
	t.ID, t.Generation, t.CreatedAt, t.UpdatedAt = ids[0], 1, c.now, c.now
	doc, err := c.s.sealedTask(t)
	if err != nil {
		return t, err
	}
	n, err := c.tx.Exec(c.ctx, `
		insert into belfry.tasks (id, namespace, name, kind, queue, tags, artifact, generation, doc, created_at, updated_at, demand)
		values ($1, $2, $3, $4, $5, $6, $9, 1, $7, $8, $8, $10)
		on conflict (namespace, name) do nothing`,
		t.ID, t.Namespace, t.Name, string(t.Kind), t.Queue, joinTags(t.Tags), doc, micros(c.now), artifactOf(t), demand)
	if err != nil {
		return t, err
	}
	if n == 0 {
		if note != "" { // someone else implied it at the same moment
			return c.s.task(c.ctx, c.tx, t.Namespace, t.Name)
		}
		return t, core.Errorf(core.Conflict, "there is a task %q in namespace %q already", t.Name, t.Namespace).
			WithHint("update it, or choose another name")
	}
	return t, c.audit("create", "task", t.Namespace, t.Name, note, nil, t.Redacted())
}

// mayUseQueue refuses a queue that is not there, or is not for such a task.
func (c *change) mayUseQueue(t task.Task) error {
	if err := job.CheckReserved(t.Queue, t.Name, t.Kind); err != nil {
		return err
	}
	if err := c.holdQueue("queue", t.Queue); err != nil {
		return err
	}
	return c.s.mayUse(c.ctx, c.tx, t) // behind the hold: see SaveNamespace
}

// UpdateTask replaces a task. Jobs that have not started run under the new
// one; attempts under way go on under the old.
func (s *Store) UpdateTask(ctx context.Context, t task.Task) (task.Task, error) {
	t = t.WithDefaults()
	err := s.write(ctx, "update task", func(c *change) (err error) {
		if err := t.Validate(); err != nil {
			return err
		}
		if t, err = c.updateTask(t); err == nil {
			t = own(t)
		}
		return err
	})
	return t, err
}

func (c *change) updateTask(t task.Task) (task.Task, error) {
	old, err := c.lockTask(t.Namespace, t.Name)
	if err != nil {
		return t, err
	}
	t = t.KeepSecrets(old)
	if taskDoc(old) == taskDoc(t) {
		return old, nil
	}
	if _, owned := task.OwnerOf(t.Name); !owned { // else it is the monitor that is edited
		if err := c.expect("task", t.Name, old.Version(), old.UpdatedAt); err != nil {
			return t, err
		}
	}
	if err := c.mayUseQueue(t); err != nil {
		return t, err
	}
	if err := c.s.vet(t); err != nil {
		return t, err
	}
	if err := c.checkCycle(t); err != nil {
		return t, err
	}
	if err := c.s.taskHooks.Saving(c, t); err != nil {
		return t, err
	}
	demand, err := c.demandOf(t)
	if err != nil {
		return t, err
	}
	t.ID, t.Generation, t.CreatedAt, t.UpdatedAt = old.ID, old.Generation+1, old.CreatedAt, c.now
	doc, err := c.s.sealedTask(t)
	if err != nil {
		return t, err
	}
	if _, err := c.tx.Exec(c.ctx, `
		update belfry.tasks
		set kind = $2, queue = $3, tags = $4, artifact = $7, generation = generation + 1, doc = $5, updated_at = $6, demand = $8
		where id = $1`, t.ID, string(t.Kind), t.Queue, joinTags(t.Tags), doc, micros(c.now), artifactOf(t), demand); err != nil {
		return t, err
	}
	if err := c.s.taskHooks.Saved(c, old, t, demand); err != nil {
		return t, err
	}
	return t, c.audit("update", "task", t.Namespace, t.Name, "", old.Redacted(), t.Redacted())
}

// DeleteTask removes a task that no schedule refers to. Its jobs that have not
// started are withdrawn; those that run are not retried.
func (s *Store) DeleteTask(ctx context.Context, namespace, name string) error {
	if err := refuseOwned("task", name); err != nil {
		return err
	}
	return s.write(ctx, "delete task", func(c *change) error {
		t, err := c.lockTask(namespace, name)
		if err == nil {
			err = c.expect("task", name, t.Version(), t.UpdatedAt)
		}
		if err != nil {
			return err
		}
		return c.deleteTask(t)
	})
}

func (c *change) deleteTask(t task.Task) error {
	user, used, err := first(c.ctx, c.tx, scanString, `select name from belfry.schedules where task_id = $1 order by name limit 1`, t.ID)
	if err != nil {
		return err
	}
	if used {
		return core.Errorf(core.Conflict, "schedule %q runs task %q", user, t.Name).WithHint("delete the schedule first")
	}
	if err := c.freeMember(t); err != nil {
		return err
	}
	if err := c.s.taskHooks.Deleting(c, t); err != nil {
		return err
	}
	if _, err := c.tx.Exec(c.ctx, `delete from belfry.tasks where id = $1`, t.ID); err != nil {
		return err
	}
	if err := c.s.taskHooks.Deleted(c, t); err != nil {
		return err
	}
	return c.audit("delete", "task", t.Namespace, t.Name, "", t.Redacted(), nil)
}

// Task is one task, without its secrets.
func (s *Store) Task(ctx context.Context, namespace, name string) (t task.Task, err error) {
	err = s.db.Read(ctx, func(tx Tx) error {
		t, err = s.task(ctx, tx, namespace, name)
		return err
	})
	return own(t.Redacted()), err
}

// Tasks lists tasks by namespace and name, without their secrets.
func (s *Store) Tasks(ctx context.Context, f task.Filter) (p core.Page[task.Task], err error) {
	w, limit, err := nameWhere(f.Namespace, f.Paging)
	if err != nil {
		return p, err
	}
	if f.Kind != "" {
		w.and("kind = ?", string(f.Kind))
	}
	if f.Tag != "" {
		w.and("replace(tags, ?, '') <> tags", ","+f.Tag+",")
	}
	if f.Part != "" {
		w.and("replace(lower(name), ?, '') <> lower(name)", strings.ToLower(f.Part))
	}
	w.notOwned("name")
	err = s.db.Read(ctx, func(tx Tx) error {
		tasks, err := collect(ctx, tx, s.scanTask, `
			select `+taskColumns+`
			from belfry.tasks
			where `+w.sql()+`
			order by namespace, name
			limit `+fmt.Sprint(limit+1), w.args...)
		for i := range tasks {
			tasks[i] = own(tasks[i].Redacted())
		}
		p = page(tasks, limit, func(t task.Task) string { return encodeCursor(t.Namespace, t.Name) })
		return err
	})
	return p, err
}

// nameWhere selects a namespace and, after a cursor, the names beyond it.
func nameWhere(namespace string, p core.Paging) (*where, int, error) {
	return pairWhere(namespace, "name", p)
}

// pairWhere is nameWhere for what is called by another column.
func pairWhere(namespace, column string, p core.Paging) (*where, int, error) {
	if namespace == "" {
		namespace = core.DefaultNamespace
	}
	after, err := decodeCursor(p.Cursor, 2)
	if err != nil {
		return nil, 0, err
	}
	w := &where{}
	w.namespace("namespace", namespace)
	w.pair(namespace, column, ">", after)
	return w, p.Bound(), nil
}

// pair compares namespace and name with those of a row. Within one namespace it
// is the name alone, or SQLite walks to it from the first.
func (w *where) pair(namespace, column, sign string, row []string) {
	switch {
	case row == nil:
	case row[0] == namespace:
		w.and(column+" "+sign+" ?", row[1])
	default:
		w.args = append(w.args, row[0], row[1])
		w.conds = append(w.conds, fmt.Sprintf("(namespace, %s) %s ($%d, $%d)", column, sign, len(w.args)-1, len(w.args)))
	}
}

// EnsureFuncs makes the tasks of Go handlers that have none yet, so that a
// program which registers handlers can be scheduled and enqueued for at once.
func (s *Store) EnsureFuncs(ctx context.Context, namespace string, names []string) error {
	if len(names) == 0 {
		return nil
	}
	if namespace == "" || namespace == core.AnyNamespace {
		namespace = core.DefaultNamespace
	}
	return s.write(ctx, "ensure funcs", func(c *change) error {
		asked := make([]taskName, len(names))
		for i, n := range names {
			asked[i] = taskName{Namespace: namespace, Name: n}
		}
		there, err := c.tasksByName(asked)
		if err != nil {
			return err
		}
		for _, a := range asked {
			if _, ok := there[a]; ok {
				continue
			}
			t := task.Task{Namespace: a.Namespace, Name: a.Name, Kind: task.KindFunc}.WithDefaults()
			if err := t.Validate(); err != nil {
				return err
			}
			if _, err := c.insertTask(t, "registered by a worker"); err != nil {
				return err
			}
		}
		return nil
	})
}

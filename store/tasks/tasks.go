package tasks

import (
	"cmp"
	"context"
	"fmt"
	"slices"

	"github.com/belfry-run/belfry/core"
	"github.com/belfry-run/belfry/core/title"
	"github.com/belfry-run/belfry/job"
	"github.com/belfry-run/belfry/store/base"
	"github.com/belfry-run/belfry/store/titles"
	"github.com/belfry-run/belfry/task"
)

// TaskColumns are the columns that [Store.ScanTask] reads, in its order.
const TaskColumns = `id, namespace, name, generation, doc, created_at, updated_at`

// ScanTask reads one row of [TaskColumns], with its secrets opened.
func (s *Store) ScanTask(rows base.Rows) (t task.Task, err error) {
	var id, generation, created, updated int64
	var namespace, name, doc string
	if err = rows.Scan(&id, &namespace, &name, &generation, &doc, &created, &updated); err != nil {
		return t, err
	}
	t, err = s.taskDocs.DecodeWith(id, doc, func(t task.Task) (task.Task, bool) {
		return base.OpenIn(s.Store, base.PurposeOf("task", namespace, name), t)
	})
	t.ID, t.Namespace, t.Name, t.Generation = id, namespace, name, generation
	t.CreatedAt, t.UpdatedAt = base.Instant(created), base.Instant(updated)
	return t, err
}

// TaskDoc returns the task as written, without the fields that the store sets.
func TaskDoc(t task.Task) string {
	t.ID, t.Generation = 0, 0
	t.CreatedAt, t.UpdatedAt = base.Instant(0), base.Instant(0)
	return base.Text(t)
}

// NoTask is the error of a task that does not exist: [core.NotFound].
func NoTask(namespace, name string) error {
	return core.Errorf(core.NotFound, "no task %q in namespace %q", name, namespace).
		WithHint("see: belfry task list")
}

// TasksByName returns the tasks that exist, by name. It may use tasks that this process has read before and that did not change.
func (c *Change) TasksByName(names []base.TaskName) (map[base.TaskName]task.Task, error) {
	if len(names) == 0 {
		return map[base.TaskName]task.Task{}, nil
	}
	return c.s.taskNames.Of(c.Change, "tasks", base.Unique(names), func(names []base.TaskName) (map[base.TaskName]task.Task, error) {
		if len(names) == 1 {
			t, found, err := base.First(c.Ctx, c.Tx, c.s.ScanTask, `select `+TaskColumns+` from belfry.tasks where namespace = $1 and name = $2`, names[0].Namespace, names[0].Name)
			if !found {
				return map[base.TaskName]task.Task{}, err
			}
			return map[base.TaskName]task.Task{names[0]: t}, err
		}
		from, args := c.SQL.Table(1, "t", base.BatchOf(names))
		tasks, err := base.Collect(c.Ctx, c.Tx, c.s.ScanTask, `
			select `+TaskColumns+`
			from belfry.tasks
			where (namespace, name) in (select namespace, name from `+from+`)`, args...)
		byName := make(map[base.TaskName]task.Task, len(tasks))
		for _, t := range tasks {
			byName[base.TaskName{Namespace: t.Namespace, Name: t.Name}] = t
		}
		return byName, err
	})
}

// TasksByID returns the tasks that exist, by ID. It may use tasks that this process has read before and that did not change.
func (c *Change) TasksByID(ids []int64) (map[int64]task.Task, error) {
	return c.s.taskIDs.Of(c.Change, "tasks", base.Unique(ids), func(ids []int64) (map[int64]task.Task, error) {
		return c.s.TasksByID(c.Ctx, c.Tx, ids)
	})
}

// TasksByID reads the tasks that exist, by ID.
func (s *Store) TasksByID(ctx context.Context, tx base.Tx, ids []int64) (map[int64]task.Task, error) {
	tasks, err := base.Collect(ctx, tx, s.ScanTask, `
		select `+TaskColumns+`
		from belfry.tasks
		where `+s.SQL.In("id", 1), s.SQL.List(base.Unique(ids)))
	byID := make(map[int64]task.Task, len(tasks))
	for _, t := range tasks {
		byID[t.ID] = t
	}
	return byID, err
}

// ReadTask reads a task in a transaction. A missing one fails with [core.NotFound].
func (s *Store) ReadTask(ctx context.Context, tx base.Tx, namespace, name string) (task.Task, error) {
	return s.taskWith(ctx, tx, namespace, name, "")
}

// AnyLimited reports that some task has limits.
func (c *Change) AnyLimited() (bool, error) {
	_, some, err := base.First(c.Ctx, c.Tx, base.ScanInt, `select id from belfry.tasks where limited = 1 limit 1`)
	return some, err
}

// LockTask reads a task. No other transaction changes or deletes it before this transaction ends.
func (c *Change) LockTask(namespace, name string) (task.Task, error) {
	return c.s.taskWith(c.Ctx, c.Tx, namespace, name, c.SQL.ForUpdate("tasks"))
}

func (s *Store) taskWith(ctx context.Context, tx base.Tx, namespace, name, suffix string) (task.Task, error) {
	t, found, err := base.First(ctx, tx, s.ScanTask, `
		select `+TaskColumns+`
		from belfry.tasks
		where namespace = $1 and name = $2`+suffix, namespace, name)
	if err == nil && !found {
		err = NoTask(namespace, name)
	}
	return t, err
}

// CreateTask saves a new task.
func (s *Store) CreateTask(ctx context.Context, t task.Task) (task.Task, error) {
	t = t.WithDefaults()
	err := s.write(ctx, "create task", func(c *Change) (err error) {
		if err := t.Validate(); err != nil {
			return err
		}
		t, err = c.InsertTask(t, "")
		return err
	})
	return t, err
}

// Vet checks the settings that package task cannot check, such as the expressions of conditions.
func (s *Store) Vet(t task.Task) error { return s.Vetting(t, true) }

// Vetting is [Store.Vet]. Without secrets it does not check redacted secrets, whose stored values are unknown.
func (s *Store) Vetting(t task.Task, secrets bool) error {
	if secrets {
		if err := t.CheckSecrets(); err != nil {
			return err
		}
	}
	if s.Opt.Vet == nil {
		return nil
	}
	return s.Opt.Vet(t)
}

// Tried is the note of a task that holds a definition on trial.
const Tried = "tried, not saved"

// InsertTask writes a valid task.
func (c *Change) InsertTask(t task.Task, note string) (task.Task, error) {
	if task.IsTrial(t.Name) && note != Tried {
		return t, reserved(t)
	}
	if err := c.s.Vet(t); err != nil {
		return t, err
	}
	if err := c.checkCycle(t); err != nil {
		return t, err
	}
	if err := c.mayUseQueue(t); err != nil {
		return t, err
	}
	if err := c.s.Hooks.Saving(c, t); err != nil {
		return t, err
	}
	requirement, err := c.requirementOf(t)
	if err != nil {
		return t, err
	}
	ids, err := c.SQL.NextIDs(c.Ctx, c.Tx, "definition", 1)
	if err != nil {
		return t, err
	}
	t.ID, t.Generation, t.CreatedAt, t.UpdatedAt = ids[0], 1, c.Now, c.Now
	doc, err := c.s.sealedTask(t)
	if err != nil {
		return t, err
	}
	n, err := c.Tx.Exec(c.Ctx, `
		insert into belfry.tasks (id, namespace, name, kind, queue, tags, artifact, generation, doc, created_at, updated_at, requirement, limited, title, sought)
		values ($1, $2, $3, $4, $5, $6, $9, 1, $7, $8, $8, $10, $11, $12, $13)
		on conflict (namespace, name) do nothing`,
		t.ID, t.Namespace, t.Name, string(t.Kind), t.Queue, base.JoinTags(t.Tags), doc, base.Micros(c.Now), ArtifactOf(t), requirement, base.Bit(t.Gated()), t.Title, title.Fold(t.Title))
	if err != nil {
		return t, err
	}
	if n == 0 {
		if note != "" { // another transaction implied the task at the same time
			return c.s.ReadTask(c.Ctx, c.Tx, t.Namespace, t.Name)
		}
		return t, core.Errorf(core.Conflict, "there is a task %q in namespace %q already", t.Name, t.Namespace).
			WithHint("update it, or choose another name")
	}
	return t, c.Audit("create", "task", t.Namespace, t.Name, note, nil, t.Redacted())
}

// mayUseQueue rejects a queue that does not exist, or that this task may not use.
func (c *Change) mayUseQueue(t task.Task) error {
	if err := job.CheckReserved(t.Queue, t.Name, t.Kind); err != nil {
		return err
	}
	if err := c.queues().HoldQueue("queue", t.Queue); err != nil {
		return err
	}
	return c.s.mayUse(c.Ctx, c.Tx, t) // after the hold: see SaveNamespace
}

// UpdateTask replaces a task. Jobs that have not started run under the new task. Running attempts continue under the old one.
func (s *Store) UpdateTask(ctx context.Context, t task.Task) (task.Task, error) {
	t = t.WithDefaults()
	err := s.write(ctx, "update task", func(c *Change) (err error) {
		if err := t.Validate(); err != nil {
			return err
		}
		if t, err = c.UpdateTask(t); err == nil {
			t = base.Own(t)
		}
		return err
	})
	return t, err
}

func reserved(t task.Task) error {
	return core.InvalidField("name", t.Name, "is reserved for definitions that are tried", "choose another name")
}

// UpdateTask replaces a task. A missing task fails with [core.NotFound], and the name of a trial is refused.
func (c *Change) UpdateTask(t task.Task) (task.Task, error) {
	if task.IsTrial(t.Name) {
		return t, reserved(t)
	}
	old, err := c.LockTask(t.Namespace, t.Name)
	if err != nil {
		return t, err
	}
	t = t.KeepSecrets(old)
	if TaskDoc(old) == TaskDoc(t) {
		return old, nil
	}
	if _, owned := task.OwnerOf(t.Name); !owned { // otherwise the edit is one of the monitor
		if err := c.Expect("task", t.Name, old.Version(), old.UpdatedAt); err != nil {
			return t, err
		}
	}
	if err := c.mayUseQueue(t); err != nil {
		return t, err
	}
	if err := c.s.Vet(t); err != nil {
		return t, err
	}
	if err := cmp.Or(c.checkCycle(t), c.checkAbove(old, t)); err != nil {
		return t, err
	}
	if err := c.s.Hooks.Saving(c, t); err != nil {
		return t, err
	}
	requirement, err := c.requirementOf(t)
	if err != nil {
		return t, err
	}
	t.ID, t.Generation, t.CreatedAt, t.UpdatedAt = old.ID, old.Generation+1, old.CreatedAt, c.Now
	doc, err := c.s.sealedTask(t)
	if err != nil {
		return t, err
	}
	if _, err := c.Tx.Exec(c.Ctx, `
		update belfry.tasks
		set kind = $2, queue = $3, tags = $4, artifact = $7, generation = generation + 1, doc = $5, updated_at = $6, requirement = $8, limited = $9, title = $10, sought = $11
		where id = $1`, t.ID, string(t.Kind), t.Queue, base.JoinTags(t.Tags), doc, base.Micros(c.Now), ArtifactOf(t), requirement, base.Bit(t.Gated()), t.Title, title.Fold(t.Title)); err != nil {
		return t, err
	}
	if err := c.s.Hooks.Saved(c, old, t); err != nil {
		return t, err
	}
	return t, c.Audit("update", "task", t.Namespace, t.Name, "", old.Redacted(), t.Redacted())
}

// DeleteTask deletes a task that no schedule refers to. Its jobs that have not started are withdrawn. Running jobs are not
// retried.
func (s *Store) DeleteTask(ctx context.Context, namespace, name string) error {
	if err := base.RefuseOwned("task", name); err != nil {
		return err
	}
	return s.write(ctx, "delete task", func(c *Change) error {
		t, err := c.LockTask(namespace, name)
		if err == nil {
			err = c.Expect("task", name, t.Version(), t.UpdatedAt)
		}
		if err != nil {
			return err
		}
		return c.DeleteTask(t)
	})
}

// DeleteTask deletes a task. A task that a schedule runs fails with [core.Conflict].
func (c *Change) DeleteTask(t task.Task) error {
	user, used, err := base.First(c.Ctx, c.Tx, base.ScanString, `select name from belfry.schedules where task_id = $1 order by name limit 1`, t.ID)
	if err != nil {
		return err
	}
	if used {
		return core.Errorf(core.Conflict, "schedule %q runs task %q", user, t.Name).WithHint("delete the schedule first")
	}
	if err := c.freeMember(t); err != nil {
		return err
	}
	if err := c.s.Hooks.Deleting(c, t); err != nil {
		return err
	}
	if _, err := c.Tx.Exec(c.Ctx, `delete from belfry.tasks where id = $1`, t.ID); err != nil {
		return err
	}
	if err := c.s.Hooks.Deleted(c, t); err != nil {
		return err
	}
	return c.Audit("delete", "task", t.Namespace, t.Name, "", t.Redacted(), nil)
}

// Task returns one task, without its secrets.
func (s *Store) Task(ctx context.Context, namespace, name string) (t task.Task, err error) {
	err = s.DB().Read(ctx, func(tx base.Tx) error {
		t, err = s.ReadTask(ctx, tx, namespace, name)
		return err
	})
	return base.Own(t.Redacted()), err
}

// Tasks lists tasks by namespace and name, without their secrets.
func (s *Store) Tasks(ctx context.Context, f task.Filter) (p core.Page[task.Task], err error) {
	w, limit, err := base.NameWhere(f.Namespace, f.Paging)
	if err != nil {
		return p, err
	}
	if f.Kind != "" {
		w.And("kind = ?", string(f.Kind))
	}
	if f.Tag != "" {
		w.And("replace(tags, ?, '') <> tags", ","+f.Tag+",")
	}
	if f.Part != "" {
		w.And(titles.Part(f.Part))
	}
	w.NotOwnedTask("name")
	err = s.DB().Read(ctx, func(tx base.Tx) error {
		p, err = base.CollectPage(ctx, tx, limit, s.ScanTask, func(t task.Task) string { return base.EncodeCursor(t.Namespace, t.Name) }, `
			select `+TaskColumns+`
			from belfry.tasks
			where `+w.Sql()+`
			order by namespace, name
			limit `+fmt.Sprint(limit+1), w.Args...)
		for i := range p.Items {
			p.Items[i] = base.Own(p.Items[i].Redacted())
		}
		return err
	})
	return p, err
}

// EnsureFuncs creates missing tasks for Go handlers, so that a program that registers handlers can schedule and enqueue at
// once.
func (s *Store) EnsureFuncs(ctx context.Context, namespace string, names []string) error {
	return s.write(ctx, "ensure funcs", func(c *Change) error { return c.EnsureFuncs(namespace, names, false) })
}

// EnsureFuncs is [Store.EnsureFuncs] in a transition. Bounded refuses tasks beyond [MaxEnsured].
func (c *Change) EnsureFuncs(namespace string, names []string, bounded bool) error {
	if len(names) == 0 {
		return nil
	}
	if namespace == "" || namespace == core.AnyNamespace {
		namespace = core.DefaultNamespace
	}
	asked := make([]base.TaskName, len(names))
	for i, n := range names {
		asked[i] = base.TaskName{Namespace: namespace, Name: n}
	}
	there, err := c.TasksByName(asked)
	if err != nil {
		return err
	}
	missing := slices.DeleteFunc(base.Unique(asked), func(a base.TaskName) bool { _, ok := there[a]; return ok })
	if bounded {
		if err := c.roomForFuncs(namespace, len(missing)); err != nil {
			return err
		}
	}
	for _, a := range missing {
		t := task.Task{Namespace: a.Namespace, Name: a.Name, Kind: task.KindFunc}.WithDefaults()
		if err := t.Validate(); err != nil {
			return err
		}
		if _, err := c.InsertTask(t, "registered by a worker"); err != nil {
			return err
		}
	}
	return nil
}

// MaxEnsured is the number of tasks in a namespace up to which workers with a token create tasks for their handlers. It does not
// bound tasks that are created in other ways.
const MaxEnsured = 10_000

// roomForFuncs refuses new tasks of a worker in a namespace with many: a token of a worker must not fill the database.
func (c *Change) roomForFuncs(namespace string, added int) error {
	if added == 0 {
		return nil
	}
	n, _, err := base.First(c.Ctx, c.Tx, base.ScanInt, `
		select count(*)
		from (select 1 from belfry.tasks where namespace = $1 limit $2) as t`, namespace, MaxEnsured)
	if err != nil || n+int64(added) <= MaxEnsured {
		return err
	}
	var p core.Problems
	p.Add("funcs", fmt.Sprint(added), fmt.Sprintf("new tasks in namespace %q, and workers create none beyond %d", namespace, MaxEnsured),
		"create the tasks with belfry apply, or delete unused ones with belfry task delete")
	return p.Err("worker")
}

// ArtifactOf returns the digest of the artifact of a task, or "".
func ArtifactOf(t task.Task) string {
	if t.Program == nil || t.Kind != task.KindProgram {
		return ""
	}
	return t.Program.SHA256
}

// sealedTask returns the stored form of a task, with sealed secrets.
func (s *Store) sealedTask(t task.Task) (string, error) {
	sealed, err := base.SealIn(s.Store, base.PurposeOf("task", t.Namespace, t.Name), t)
	return TaskDoc(sealed), err
}

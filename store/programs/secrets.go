package programs

import (
	"context"
	"maps"
	"slices"
	"strconv"

	"github.com/belfry-run/belfry/access"
	"github.com/belfry-run/belfry/core"
	"github.com/belfry-run/belfry/store/base"
	"github.com/belfry-run/belfry/store/tasks"
	"github.com/belfry-run/belfry/task"
	"github.com/belfry-run/belfry/view"
)

// purposeOfSecret binds sealed text to its row.
func purposeOfSecret(namespace, name string) string { return "secret/" + namespace + "/" + name }

const secretColumns = `namespace, name, created_at, updated_at, updated_by`

func scanSecret(rows base.Rows) (k task.KeptSecret, err error) {
	return k, rows.Scan(&k.Namespace, &k.Name, base.ScanTime(&k.CreatedAt), base.ScanTime(&k.UpdatedAt), &k.UpdatedBy)
}

// SetSecret stores a value under a name, in place of the previous one. Programs that start later get the new value.
func (s *Store) SetSecret(ctx context.Context, namespace, name string, value core.Secret) (k task.KeptSecret, err error) {
	if namespace == "" {
		namespace = core.DefaultNamespace
	}
	for field, text := range map[string]string{"namespace": namespace, "name": name} {
		if err := core.ValidName(field, text); err != nil {
			return k, err
		}
	}
	if err := task.CheckSecret(value); err != nil {
		return k, err
	}
	err = s.write(ctx, "set secret", func(c *Change) error {
		// Sealing happens inside the transition: after a key rotation, an earlier transition has committed, or seals with the
		// new key.
		key, sealed, err := s.Sealer().Seal(purposeOfSecret(namespace, name), []byte(value))
		if err != nil {
			return err
		}
		if _, err := c.Tx.Exec(ctx, `
			insert into belfry.secrets (namespace, name, key_name, sealed, created_at, updated_at, updated_by)
			values ($1, $2, $3, $4, $5, $5, $6)
			on conflict (namespace, name) do update
			set key_name = excluded.key_name, sealed = excluded.sealed, updated_at = excluded.updated_at, updated_by = excluded.updated_by`,
			namespace, name, key, sealed, base.Micros(c.Now), access.ActorOf(ctx)); err != nil {
			return err
		}
		k, _, err = base.First(ctx, c.Tx, scanSecret, `select `+secretColumns+` from belfry.secrets where namespace = $1 and name = $2`, namespace, name)
		if err != nil {
			return err
		}
		return c.Audit("set", "secret", namespace, name, "", nil, nil)
	})
	return k, err
}

// KeptSecrets lists secrets by name, with the tasks that use them. Values are never shown.
func (s *Store) KeptSecrets(ctx context.Context, f view.DocumentFilter) (p core.Page[task.KeptSecret], err error) {
	w, limit, err := base.NameWhere(f.Namespace, f.Paging)
	if err != nil {
		return p, err
	}
	err = s.DB().Read(ctx, func(tx base.Tx) error {
		all, err := base.Collect(ctx, tx, scanSecret, `
			select `+secretColumns+`
			from belfry.secrets
			where `+w.Sql()+`
			order by namespace, name
			limit `+strconv.Itoa(limit+1), w.Args...)
		if err != nil {
			return err
		}
		users, err := s.secretUsers(ctx, tx, f.Namespace)
		if err != nil {
			return err
		}
		for i, k := range all {
			tasks := users[base.TaskName{Namespace: k.Namespace, Name: k.Name}]
			all[i].Tasks = tasks[:min(len(tasks), shownTasks)]
		}
		p = base.Page(all, limit, func(k task.KeptSecret) string { return base.EncodeCursor(k.Namespace, k.Name) })
		return nil
	})
	return p, err
}

// secretUsers returns the tasks that use each secret.
func (s *Store) secretUsers(ctx context.Context, tx base.Tx, namespace string) (map[base.TaskName][]string, error) {
	if namespace == "" {
		namespace = core.DefaultNamespace
	}
	w := &base.Where{}
	w.Namespace("namespace", namespace)
	tasks, err := base.Collect(ctx, tx, s.tasks.ScanTask, `
		select `+tasks.TaskColumns+`
		from belfry.tasks
		where `+w.Sql()+` and artifact <> ''
		order by namespace, name`, w.Args...)
	users := map[base.TaskName][]string{}
	for _, t := range tasks {
		for _, name := range slices.Compact(slices.Sorted(maps.Values(t.Program.Secrets))) {
			of := base.TaskName{Namespace: t.Namespace, Name: name}
			users[of] = append(users[of], t.Name)
		}
	}
	return users, err
}

// DeleteSecret deletes a secret that no task uses.
func (s *Store) DeleteSecret(ctx context.Context, namespace, name string) error {
	return s.write(ctx, "delete secret", func(c *Change) error {
		users, err := s.secretUsers(ctx, c.Tx, namespace)
		if err != nil {
			return err
		}
		if tasks := users[base.TaskName{Namespace: namespace, Name: name}]; len(tasks) > 0 {
			return core.Errorf(core.Conflict, "task %q uses secret %q", tasks[0], name).WithHint("take it out of the task first")
		}
		n, err := c.Tx.Exec(ctx, `delete from belfry.secrets where namespace = $1 and name = $2`, namespace, name)
		if err != nil {
			return err
		}
		if n == 0 {
			return noSecret(namespace, name)
		}
		return c.Audit("delete", "secret", namespace, name, "", nil, nil)
	})
}

func noSecret(namespace, name string) error {
	return core.Errorf(core.NotFound, "no secret %q in namespace %q", name, namespace).WithHint("see: belfry secret list")
}

// sealedRow is a sealed text with its name.
type sealedRow struct{ namespace, name, key, text string }

func scanSealed(rows base.Rows) (r sealedRow, err error) {
	return r, rows.Scan(&r.namespace, &r.name, &r.key, &r.text)
}

// OpensSecret reports whether this node can open a secret.
func OpensSecret(s *base.Store, namespace, name, sealed string) bool {
	_, err := s.Sealer().Open(purposeOfSecret(namespace, name), sealed)
	return err == nil
}

// ResealSecrets seals up to [base.ResealBatch] secrets of other keys again, under the named key, and returns how many.
func ResealSecrets(c *Change, key string) (int, error) {
	rows, err := base.Collect(c.Ctx, c.Tx, scanSealed, `
		select namespace, name, key_name, sealed
		from belfry.secrets
		where key_name <> $1
		order by namespace, name
		limit `+strconv.Itoa(base.ResealBatch)+c.SQL.ForUpdate("secrets"), key)
	if err != nil {
		return 0, err
	}
	for _, r := range rows {
		purpose := purposeOfSecret(r.namespace, r.name)
		plain, err := c.s.Sealer().Open(purpose, r.text)
		if err != nil {
			return 0, err
		}
		sealed, err := c.SealWith(key, purpose, plain)
		if err != nil {
			return 0, err
		}
		if _, err := c.Tx.Exec(c.Ctx, `update belfry.secrets set key_name = $3, sealed = $4 where namespace = $1 and name = $2`, r.namespace, r.name, key, sealed); err != nil {
			return 0, err
		}
	}
	return len(rows), nil
}

// openSecrets returns the values of a namespace's secrets by name, and the names of missing secrets.
func (c *Change) openSecrets(namespace string, names []string) (values map[string]string, missing []string, err error) {
	rows, err := base.Collect(c.Ctx, c.Tx, scanSealed, `
		select namespace, name, key_name, sealed
		from belfry.secrets
		where namespace = $1 and `+c.SQL.In("name", 2), namespace, c.SQL.List(names))
	if err != nil {
		return nil, nil, err
	}
	values = make(map[string]string, len(rows))
	for _, r := range rows {
		plain, err := c.s.Sealer().Open(purposeOfSecret(namespace, r.name), r.text)
		if err != nil {
			return nil, nil, err
		}
		values[r.name] = string(plain)
	}
	for _, name := range names {
		if _, there := values[name]; !there {
			missing = append(missing, name)
		}
	}
	return values, missing, nil
}

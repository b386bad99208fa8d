package store

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strconv"

	"github.com/belfry-run/belfry/access"
	"github.com/belfry-run/belfry/core"
	"github.com/belfry-run/belfry/task"
	"github.com/belfry-run/belfry/view"
)

// Sealer hides small secrets, for a purpose each, under a key that is not in the
// database. Package seal of internal has it; app plugs it in.
type Sealer interface {
	// Seal answers the name of the key besides.
	Seal(purpose string, plain []byte) (key, sealed string, err error)
	Open(purpose, sealed string) ([]byte, error)
	// Rotate makes another key seal from now on, and answers its name. Those from
	// before still open until Forget.
	Rotate() (key string, err error)
	Forget() error
}

func (s *Store) sealer() Sealer {
	if s.opt.Sealer == nil {
		return noSealer{}
	}
	return s.opt.Sealer
}

// noSealer is that of a store that was given none.
type noSealer struct{}

var errNoSealer = core.Errorf(core.Conflict, "there is no key to seal secrets with").WithHint("set seal_key_file")

func (noSealer) Seal(string, []byte) (key, sealed string, err error) { return "", "", errNoSealer }
func (noSealer) Open(string, string) ([]byte, error)                 { return nil, errNoSealer }
func (noSealer) Rotate() (string, error)                             { return "", errNoSealer }
func (noSealer) Forget() error                                       { return errNoSealer }

// purposeOfSecret binds what is sealed to its row.
func purposeOfSecret(namespace, name string) string { return "secret/" + namespace + "/" + name }

const secretColumns = `namespace, name, created_at, updated_at, updated_by`

func scanSecret(rows Rows) (k task.KeptSecret, err error) {
	return k, rows.Scan(&k.Namespace, &k.Name, scanTime(&k.CreatedAt), scanTime(&k.UpdatedAt), &k.UpdatedBy)
}

// SetSecret keeps a value under a name, instead of the one before. Programs that
// start from now on get it.
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
	err = s.write(ctx, "set secret", func(c *change) error {
		// In here: after a rotation whoever has begun before has committed, or seals
		// with the new key.
		key, sealed, err := s.sealer().Seal(purposeOfSecret(namespace, name), []byte(value))
		if err != nil {
			return err
		}
		if _, err := c.tx.Exec(ctx, `
			insert into belfry.secrets (namespace, name, key_name, sealed, created_at, updated_at, updated_by)
			values ($1, $2, $3, $4, $5, $5, $6)
			on conflict (namespace, name) do update
			set key_name = excluded.key_name, sealed = excluded.sealed, updated_at = excluded.updated_at, updated_by = excluded.updated_by`,
			namespace, name, key, sealed, micros(c.now), access.ActorOf(ctx)); err != nil {
			return err
		}
		k, _, err = first(ctx, c.tx, scanSecret, `select `+secretColumns+` from belfry.secrets where namespace = $1 and name = $2`, namespace, name)
		if err != nil {
			return err
		}
		return c.audit("set", "secret", namespace, name, "", nil, nil)
	})
	return k, err
}

// KeptSecrets lists secrets by name, with the tasks that use them and without
// their values, which nothing shows.
func (s *Store) KeptSecrets(ctx context.Context, f view.DocumentFilter) (p core.Page[task.KeptSecret], err error) {
	w, limit, err := nameWhere(f.Namespace, f.Paging)
	if err != nil {
		return p, err
	}
	err = s.db.Read(ctx, func(tx Tx) error {
		all, err := collect(ctx, tx, scanSecret, `
			select `+secretColumns+`
			from belfry.secrets
			where `+w.sql()+`
			order by namespace, name
			limit `+strconv.Itoa(limit+1), w.args...)
		if err != nil {
			return err
		}
		users, err := s.secretUsers(ctx, tx, f.Namespace)
		if err != nil {
			return err
		}
		for i, k := range all {
			tasks := users[taskName{Namespace: k.Namespace, Name: k.Name}]
			all[i].Tasks = tasks[:min(len(tasks), shownTasks)]
		}
		p = page(all, limit, func(k task.KeptSecret) string { return encodeCursor(k.Namespace, k.Name) })
		return nil
	})
	return p, err
}

// secretUsers answers, by secret, the tasks that it is given to.
func (s *Store) secretUsers(ctx context.Context, tx Tx, namespace string) (map[taskName][]string, error) {
	if namespace == "" {
		namespace = core.DefaultNamespace
	}
	w := &where{}
	w.namespace("namespace", namespace)
	tasks, err := collect(ctx, tx, s.scanTask, `
		select `+taskColumns+`
		from belfry.tasks
		where `+w.sql()+` and artifact <> ''
		order by namespace, name`, w.args...)
	users := map[taskName][]string{}
	for _, t := range tasks {
		for _, name := range slices.Compact(slices.Sorted(maps.Values(t.Program.Secrets))) {
			of := taskName{Namespace: t.Namespace, Name: name}
			users[of] = append(users[of], t.Name)
		}
	}
	return users, err
}

// DeleteSecret forgets a secret that no task uses.
func (s *Store) DeleteSecret(ctx context.Context, namespace, name string) error {
	return s.write(ctx, "delete secret", func(c *change) error {
		users, err := s.secretUsers(ctx, c.tx, namespace)
		if err != nil {
			return err
		}
		if tasks := users[taskName{Namespace: namespace, Name: name}]; len(tasks) > 0 {
			return core.Errorf(core.Conflict, "task %q uses secret %q", tasks[0], name).WithHint("take it out of the task first")
		}
		n, err := c.tx.Exec(ctx, `delete from belfry.secrets where namespace = $1 and name = $2`, namespace, name)
		if err != nil {
			return err
		}
		if n == 0 {
			return noSecret(namespace, name)
		}
		return c.audit("delete", "secret", namespace, name, "", nil, nil)
	})
}

func noSecret(namespace, name string) error {
	return core.Errorf(core.NotFound, "no secret %q in namespace %q", name, namespace).WithHint("see: belfry secret list")
}

// resealers seal anew, a bounded number at a time, what is sealed with another
// key than this, and answer how many secrets of people that were. What is sealed
// in a table of its own adds itself here.
var resealers = []func(c *change, key string) (int, error){
	func(c *change, key string) (int, error) { return resealSecrets(c, key) },
	func(c *change, key string) (int, error) { return resealSigningKeys(c, key) },
}

// resealBatch bounds what is sealed anew in one transaction.
const resealBatch = 500

// RotateSecrets changes the key: a new one where the file is Belfry's own, or
// the one that its operator has put first. All that is sealed is sealed anew.
// It may be asked again when it was interrupted.
func (s *Store) RotateSecrets(ctx context.Context) (out task.ResealedSecrets, err error) {
	if out.Key, err = s.sealer().Rotate(); err != nil {
		return out, err
	}
	for _, reseal := range resealers {
		for n := resealBatch; n == resealBatch; out.Sealed += n {
			if err = s.write(ctx, "reseal", func(c *change) (err error) {
				n, err = reseal(c, out.Key)
				return err
			}); err != nil {
				return out, err
			}
		}
	}
	docs, err := s.resealDocs(ctx, out.Key)
	if out.Sealed += docs; err != nil {
		return out, err
	}
	if err := s.write(ctx, "rotate secrets", func(c *change) error {
		return c.audit("rotate", "secret", "", "", fmt.Sprintf("%d sealed with key %s", out.Sealed, out.Key), nil, nil)
	}); err != nil {
		return out, err
	}
	return out, s.sealer().Forget()
}

// sealedRow is something sealed, with what names it.
type sealedRow struct{ namespace, name, key, text string }

func scanSealed(rows Rows) (r sealedRow, err error) {
	return r, rows.Scan(&r.namespace, &r.name, &r.key, &r.text)
}

func resealSecrets(c *change, key string) (int, error) {
	rows, err := collect(c.ctx, c.tx, scanSealed, `
		select namespace, name, key_name, sealed
		from belfry.secrets
		where key_name <> $1
		order by namespace, name
		limit `+strconv.Itoa(resealBatch)+c.sql.ForUpdate("secrets"), key)
	if err != nil {
		return 0, err
	}
	for _, r := range rows {
		purpose := purposeOfSecret(r.namespace, r.name)
		plain, err := c.s.sealer().Open(purpose, r.text)
		if err != nil {
			return 0, err
		}
		sealed, err := c.sealWith(key, purpose, plain)
		if err != nil {
			return 0, err
		}
		if _, err := c.tx.Exec(c.ctx, `update belfry.secrets set key_name = $3, sealed = $4 where namespace = $1 and name = $2`, r.namespace, r.name, key, sealed); err != nil {
			return 0, err
		}
	}
	return len(rows), nil
}

// sealWith seals, if it is this key that does. With another one the next look
// would find the same again.
func (c *change) sealWith(key, purpose string, plain []byte) (sealed string, err error) {
	now, sealed, err := c.s.sealer().Seal(purpose, plain)
	if err == nil && now != key {
		err = core.Errorf(core.Conflict, "the key was changed meanwhile").WithHint("rotate again")
	}
	return sealed, err
}

// openSecrets answers the values of a namespace's secrets by their names, and
// those that are not there.
func (c *change) openSecrets(namespace string, names []string) (values map[string]string, missing []string, err error) {
	rows, err := collect(c.ctx, c.tx, scanSealed, `
		select namespace, name, key_name, sealed
		from belfry.secrets
		where namespace = $1 and `+c.sql.In("name", 2), namespace, c.sql.List(names))
	if err != nil {
		return nil, nil, err
	}
	values = make(map[string]string, len(rows))
	for _, r := range rows {
		plain, err := c.s.sealer().Open(purposeOfSecret(namespace, r.name), r.text)
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

package definitions

import (
	"context"
	"fmt"
	"strconv"

	"github.com/belfry-run/belfry/alert"
	"github.com/belfry-run/belfry/hook"
	"github.com/belfry-run/belfry/monitor"
	"github.com/belfry-run/belfry/store/base"
	"github.com/belfry-run/belfry/store/programs"
	"github.com/belfry-run/belfry/store/subscribers"
	"github.com/belfry-run/belfry/task"
)

// resealDocs seals the secrets of documents with a key, if they have another key or are not sealed yet. It returns the number
// of these documents.
func (s *Store) resealDocs(ctx context.Context, key string) (n int, err error) {
	for _, d := range []struct {
		noun, table, where string
		reseal             func(c *Change, namespace, name, doc string) (string, error)
	}{
		{"task", "tasks", `replace(doc, '"auth":', '') <> doc`, func(c *Change, namespace, name, doc string) (string, error) {
			return base.ResealDoc[task.Task](c.Change, key, base.PurposeOf("task", namespace, name), doc)
		}},
		{"monitor", "monitors", `replace(doc, '"auth":', '') <> doc`, func(c *Change, namespace, name, doc string) (string, error) {
			return base.ResealDoc[monitor.Monitor](c.Change, key, base.PurposeOf("monitor", namespace, name), doc)
		}},
		{"channel", "documents", `noun = 'channel'`, func(c *Change, namespace, name, doc string) (string, error) {
			return base.ResealDoc[alert.Channel](c.Change, key, base.PurposeOf("channel", namespace, name), doc)
		}},
		{"hook", "documents", `noun = 'hook'`, func(c *Change, namespace, name, doc string) (string, error) {
			return base.ResealDoc[hook.Hook](c.Change, key, base.PurposeOf("hook", namespace, name), doc)
		}},
	} {
		for beyond, more := int64(0), true; more; {
			if err := s.write(ctx, "reseal", func(c *Change) error {
				type row struct {
					id                   int64
					namespace, name, doc string
				}
				rows, err := base.Collect(ctx, c.Tx, func(r base.Rows) (v row, err error) {
					return v, r.Scan(&v.id, &v.namespace, &v.name, &v.doc)
				}, `
					select id, namespace, name, doc
					from `+base.Home+d.table+`
					where id > $1 and `+d.where+`
					order by id
					limit `+strconv.Itoa(base.ResealBatch)+c.SQL.ForUpdate(d.table), beyond)
				if err != nil {
					return err
				}
				for _, r := range rows {
					doc, err := d.reseal(c, r.namespace, r.name, r.doc)
					if err != nil {
						return err
					}
					if doc != r.doc {
						n++
						if _, err := c.Tx.Exec(ctx, `update `+base.Home+d.table+` set doc = $2 where id = $1`, r.id, doc); err != nil {
							return err
						}
					}
				}
				if more = len(rows) == base.ResealBatch; more {
					beyond = rows[len(rows)-1].id
				}
				return nil
			}); err != nil {
				return n, err
			}
		}
	}
	return n, nil
}

// resealers seal secrets with this key that are sealed with another one, a bounded number at a time, and return the number of
// users' secrets resealed. A package with secrets in its own table adds itself here.
var resealers = []func(c *Change, key string) (int, error){
	func(c *Change, key string) (int, error) { return programs.ResealSecrets(c.programs(), key) },
	func(c *Change, key string) (int, error) { return subscribers.Reseal(c.Change, key) },
	func(c *Change, key string) (int, error) { return programs.ResealSigningKeys(c.programs(), key) },
}

// RotateSecrets changes the key: a new key if the file is Belfry's own, or the key that the operator has put first. All secrets
// are sealed again. An interrupted rotation can be repeated.
func (s *Store) RotateSecrets(ctx context.Context) (out task.ResealedSecrets, err error) {
	if out.Key, err = s.Sealer().Rotate(); err != nil {
		return out, err
	}
	for _, reseal := range resealers {
		for n := base.ResealBatch; n == base.ResealBatch; out.Sealed += n {
			if err = s.write(ctx, "reseal", func(c *Change) (err error) {
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
	if err := s.write(ctx, "rotate secrets", func(c *Change) error {
		return c.Audit("rotate", "secret", "", "", fmt.Sprintf("%d sealed with key %s", out.Sealed, out.Key), nil, nil)
	}); err != nil {
		return out, err
	}
	return out, s.Sealer().Forget()
}

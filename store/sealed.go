package store

import (
	"context"
	"strconv"
	"strings"

	"github.com/belfry-run/belfry/alert"
	"github.com/belfry-run/belfry/core"
	"github.com/belfry-run/belfry/monitor"
	"github.com/belfry-run/belfry/task"
)

// sealedMark is before what is sealed inside a document. No secret begins with
// it that anybody types. Without a key secrets stand in documents as they are.
const sealedMark = "\x01sealed:"

// secretive is a definition that knows where its secrets are.
type secretive[T any] interface {
	MapSecrets(f func(path string, s core.Secret) core.Secret) T
}

// purposeOf binds what is sealed to its definition, and each secret to its place.
func purposeOf(noun, namespace, name string) string { return noun + "/" + namespace + "/" + name + "/" }

// sealIn seals the secrets of a definition for its document.
func sealIn[T secretive[T]](s *Store, purpose string, v T) (T, error) {
	if !s.seals() {
		return v, nil
	}
	var first error
	sealed := v.MapSecrets(func(path string, secret core.Secret) core.Secret {
		if secret == "" || first != nil {
			return secret
		}
		_, text, err := s.opt.Sealer.Seal(purpose+path, []byte(secret))
		first = err
		return core.Secret(sealedMark + text)
	})
	return sealed, first
}

// openIn opens the secrets of a definition that was read. One that cannot be
// opened becomes [core.Redacted], which no save takes for the secret: the
// definition can be read, and the secret is not lost while its key is away.
func openIn[T secretive[T]](s *Store, purpose string, v T) (opened T, all bool) {
	all = true
	opened = v.MapSecrets(func(path string, secret core.Secret) core.Secret {
		text, sealed := strings.CutPrefix(string(secret), sealedMark)
		if !sealed {
			return secret
		}
		plain, err := s.sealer().Open(purpose+path, text)
		if err != nil {
			all = false
			s.unopened.Do(func() {
				s.opt.Logger.Warn("a secret cannot be opened, and is not used", "secret", purpose+path, "error", err)
			})
			return core.Redacted
		}
		return core.Secret(plain)
	})
	return opened, all
}

// sealedTask and sealedMonitor are documents as they lie in the database.
func (s *Store) sealedTask(t task.Task) (string, error) {
	sealed, err := sealIn(s, purposeOf("task", t.Namespace, t.Name), t)
	return taskDoc(sealed), err
}

func (s *Store) sealedMonitor(m monitor.Monitor) (string, error) {
	sealed, err := sealIn(s, purposeOf("monitor", m.Namespace, m.Name), m)
	return monitorDoc(sealed), err
}

// resealDocs seals with a key what documents hold that is sealed with another
// one, or is not sealed yet, and answers how many documents that were.
func (s *Store) resealDocs(ctx context.Context, key string) (n int, err error) {
	for _, d := range []struct {
		noun, table, where string
		reseal             func(c *change, namespace, name, doc string) (string, error)
	}{
		{"task", "tasks", `replace(doc, '"auth":', '') <> doc`, func(c *change, namespace, name, doc string) (string, error) {
			return resealDoc[task.Task](c, key, purposeOf("task", namespace, name), doc)
		}},
		{"monitor", "monitors", `replace(doc, '"auth":', '') <> doc`, func(c *change, namespace, name, doc string) (string, error) {
			return resealDoc[monitor.Monitor](c, key, purposeOf("monitor", namespace, name), doc)
		}},
		{"channel", "documents", `noun = 'channel'`, func(c *change, namespace, name, doc string) (string, error) {
			return resealDoc[alert.Channel](c, key, purposeOf("channel", namespace, name), doc)
		}},
	} {
		for beyond, more := int64(0), true; more; {
			if err := s.write(ctx, "reseal", func(c *change) error {
				type row struct {
					id                   int64
					namespace, name, doc string
				}
				rows, err := collect(ctx, c.tx, func(r Rows) (v row, err error) {
					return v, r.Scan(&v.id, &v.namespace, &v.name, &v.doc)
				}, `
					select id, namespace, name, doc
					from `+Home+d.table+`
					where id > $1 and `+d.where+`
					order by id
					limit `+strconv.Itoa(resealBatch)+c.sql.ForUpdate(d.table), beyond)
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
						if _, err := c.tx.Exec(ctx, `update `+Home+d.table+` set doc = $2 where id = $1`, r.id, doc); err != nil {
							return err
						}
					}
				}
				if more = len(rows) == resealBatch; more {
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

// resealDoc is a document with its secrets sealed with a key.
func resealDoc[T secretive[T]](c *change, key, purpose, doc string) (string, error) {
	var v T
	if err := scanDoc(&v).Scan(doc); err != nil {
		return doc, err
	}
	var first error
	changed := false
	sealed := v.MapSecrets(func(path string, secret core.Secret) core.Secret {
		text, was := strings.CutPrefix(string(secret), sealedMark)
		if secret == "" || first != nil || was && sealedWith(text, key) {
			return secret
		}
		plain := []byte(secret)
		if was {
			if plain, first = c.s.sealer().Open(purpose+path, text); first != nil {
				return secret
			}
		}
		fresh, err := c.sealWith(key, purpose+path, plain)
		first, changed = err, true
		return core.Secret(sealedMark + fresh)
	})
	if first != nil || !changed {
		return doc, first
	}
	return text(sealed), nil
}

// sealedWith reports whether a sealed text names a key.
func sealedWith(sealed, key string) bool { return strings.Contains(sealed, "."+key+".") }

package views

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"

	"github.com/belfry-run/belfry/alert"
	"github.com/belfry-run/belfry/core"
	"github.com/belfry-run/belfry/hook"
	"github.com/belfry-run/belfry/monitor"
	"github.com/belfry-run/belfry/store/base"
	"github.com/belfry-run/belfry/store/programs"
	"github.com/belfry-run/belfry/store/subscribers"
	"github.com/belfry-run/belfry/task"
)

const (
	openBatch = 100
	openMost  = 10_000 // rows of a kind, so that the check takes seconds at most
)

// sealedRow is a row with sealed secrets.
type sealedRow struct {
	after           [2]string // its place in the order of reading
	namespace, name string
	text            string
}

func scanSealed(rows base.Rows) (r sealedRow, err error) {
	return r, rows.Scan(&r.after[0], &r.after[1], &r.namespace, &r.name, &r.text)
}

// sealedKinds are the kinds of rows with secrets of users.
var sealedKinds = []struct {
	noun, columns, order, table, where string
	opens                              func(s *base.Store, r sealedRow) (bool, error)
}{
	{"task", "namespace, name, namespace, name, doc", "namespace, name", "tasks", sealedDoc, opensDoc[task.Task]("task")},
	{"monitor", "namespace, name, namespace, name, doc", "namespace, name", "monitors", sealedDoc, opensDoc[monitor.Monitor]("monitor")},
	{"channel", "namespace, name, namespace, name, doc", "namespace, name", "documents", "noun = 'channel' and " + sealedDoc, opensDoc[alert.Channel]("channel")},
	{"hook", "namespace, name, namespace, name, doc", "namespace, name", "documents", "noun = 'hook' and " + sealedDoc, opensDoc[hook.Hook]("hook")},
	{"subscriber", "key_hash, page, namespace, page, doc", "key_hash, page", "subscribers", sealedDoc, func(s *base.Store, r sealedRow) (bool, error) {
		return subscribers.Opens(s, r.namespace, r.name, r.text)
	}},
	{"secret", "namespace, name, namespace, name, sealed", "namespace, name", "secrets", "sealed <> ''", func(s *base.Store, r sealedRow) (bool, error) {
		return programs.OpensSecret(s, r.namespace, r.name, r.text), nil
	}},
}

const sealedDoc = `doc like '%sealed:s1.%'`

func opensDoc[T interface {
	MapSecrets(f func(path string, s core.Secret) core.Secret) T
}](noun string) func(*base.Store, sealedRow) (bool, error) {
	return func(s *base.Store, r sealedRow) (bool, error) {
		var v T
		if err := base.ScanDoc(&v).Scan(r.text); err != nil {
			return false, err
		}
		_, all := base.OpenIn(s, base.PurposeOf(noun, r.namespace, r.name), v)
		return all, nil
	}
}

// secretsCheck opens the secrets of users, and reports those that this node cannot open. It reads in short transactions.
func (s *Store) secretsCheck(ctx context.Context) (check core.Check, err error) {
	check.Name = "secrets"
	var total, closed int
	var kinds []string
	keys := map[string]bool{} // of those that do not open
	limited := ""
	for _, k := range sealedKinds {
		n, left := 0, openMost
		var after [2]string
		for more := true; more && left > 0; left -= openBatch {
			var rows []sealedRow
			if err := s.DB().Read(ctx, func(tx base.Tx) error {
				rows, err = base.Collect(ctx, tx, scanSealed, `
					select `+k.columns+`
					from `+base.Home+k.table+`
					where (`+k.order+`) > ($1, $2) and `+k.where+`
					order by `+k.order+`
					limit `+strconv.Itoa(openBatch), after[0], after[1])
				return err
			}); err != nil {
				return check, err
			}
			for _, r := range rows {
				opens, err := k.opens(s.Store, r)
				if err != nil {
					return check, err
				}
				if !opens {
					n++
					keys[sealingKey(r.text)] = true
				}
			}
			total += len(rows)
			if more = len(rows) == openBatch; more {
				after = rows[len(rows)-1].after
			}
			if more && left == openBatch {
				limited = fmt.Sprintf(", of the first %d of each kind", openMost)
			}
		}
		if n > 0 {
			closed += n
			kinds = append(kinds, core.Plural(n, k.noun))
		}
	}
	switch {
	case total == 0:
		check.OK, check.Detail = true, "none are sealed"
	case closed == 0:
		check.OK, check.Detail = true, "this node opens those of "+core.Plural(total, "definition")+limited
	default:
		check.Detail = fmt.Sprintf("this node cannot open those of %s%s, sealed with key %s", strings.Join(kinds, ", "), limited, strings.Join(slices.Sorted(maps.Keys(keys)), ", "))
		check.Fix = "put the key back: in belfry.key beside the SQLite file, or as a line in the file of seal_key_file; without it, set these secrets anew"
	}
	return check, nil
}

// sealingKey returns the name of the key that a row is sealed with.
func sealingKey(text string) string {
	_, text, _ = strings.Cut(text, "s1.")
	key, _, _ := strings.Cut(text, ".")
	return key
}

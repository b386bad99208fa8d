package base

import (
	"context"
	"database/sql"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"slices"
	"strconv"
	"time"

	"github.com/belfry-run/belfry/core"
	"github.com/belfry-run/belfry/task"
)

// Micros is how an instant is kept: microseconds since 1970, 0 for none.
func Micros(t time.Time) int64 {
	if t.IsZero() {
		return 0
	}
	return t.UnixMicro()
}

func Instant(us int64) time.Time {
	if us == 0 {
		return time.Time{}
	}
	return time.UnixMicro(us).UTC()
}

// ScanTime reads an instant.
func ScanTime(t *time.Time) sql.Scanner { return timeScanner{t} }

type timeScanner struct{ t *time.Time }

func (s timeScanner) Scan(v any) error {
	us, ok := v.(int64)
	if !ok {
		return fmt.Errorf("an instant is kept as %T", v)
	}
	*s.t = Instant(us)
	return nil
}

// scanJSON reads a JSON text, or nothing.
func scanJSON(to *json.RawMessage) sql.Scanner { return jsonScanner{to} }

type jsonScanner struct{ to *json.RawMessage }

func (s jsonScanner) Scan(v any) error {
	switch v := v.(type) {
	case nil:
		*s.to = nil
	case string:
		*s.to = json.RawMessage(v)
	case []byte:
		*s.to = append(json.RawMessage(nil), v...)
	default:
		return fmt.Errorf("a JSON text is kept as %T", v)
	}
	return nil
}

// ScanDoc decodes a JSON text into a value.
func ScanDoc(to any) sql.Scanner { return docScanner{to} }

type docScanner struct{ to any }

func (s docScanner) Scan(v any) error {
	var raw json.RawMessage
	if err := (scanJSON(&raw)).Scan(v); err != nil || len(raw) == 0 {
		return err
	}
	return json.Unmarshal(raw, s.to)
}

// JsonText is a JSON value as a parameter: its text, or null.
func JsonText(raw json.RawMessage) *string {
	if len(raw) == 0 {
		return nil
	}
	s := string(raw)
	return &s
}

// RawJSON is a JSON text that may be missing, as read.
func RawJSON(s *string) json.RawMessage {
	if s == nil {
		return nil
	}
	return json.RawMessage(*s)
}

// Text is a value as JSON text. Only values that always encode come here.
func Text(v any) string {
	b, err := json.Marshal(v)
	if err != nil {
		panic(fmt.Sprintf("encode %T: %v", v, err))
	}
	return string(b)
}

// Collect reads all rows of an answer.
func Collect[T any](ctx context.Context, tx Tx, scan func(Rows) (T, error), query string, args ...any) ([]T, error) {
	return CollectInto(ctx, tx, nil, func(rows Rows, v *T) (err error) {
		*v, err = scan(rows)
		return err
	}, query, args...)
}

// CollectInto is collect behind what is there, each where it stays.
func CollectInto[T any](ctx context.Context, tx Tx, all []T, scan func(Rows, *T) error, query string, args ...any) ([]T, error) {
	rows, err := tx.Query(ctx, query, args...)
	if err != nil {
		return nil, err
	}
	defer rows.Close()
	for rows.Next() {
		if len(all) == cap(all) {
			all = slices.Grow(all, max(16, len(all))) // append grows long lists of wide rows by a quarter, and copies them as often
		}
		all = all[:len(all)+1] // scan writes all of it
		if err := scan(rows, &all[len(all)-1]); err != nil {
			return nil, fmt.Errorf("scan: %w\n%s", err, query)
		}
	}
	return all, rows.Err()
}

// First reads one row, if there is one.
func First[T any](ctx context.Context, tx Tx, scan func(Rows) (T, error), query string, args ...any) (v T, found bool, err error) {
	all, err := Collect(ctx, tx, scan, query, args...)
	if err != nil || len(all) == 0 {
		return v, false, err
	}
	return all[0], true, nil
}

func ScanInt(rows Rows) (n int64, err error) { err = rows.Scan(&n); return n, err }

func ScanString(rows Rows) (s string, err error) { err = rows.Scan(&s); return s, err }

// Where gathers conditions and their parameters.
type Where struct {
	Conds []string
	Args  []any
}

// And adds a condition in which ? stands for the parameter.
func (w *Where) And(cond string, arg any) {
	w.Args = append(w.Args, arg)
	out := make([]byte, 0, len(cond)+4)
	for i := range len(cond) {
		if cond[i] == '?' {
			out = strconv.AppendInt(append(out, '$'), int64(len(w.Args)), 10)
			continue
		}
		out = append(out, cond[i])
	}
	w.Conds = append(w.Conds, string(out))
}

func (w *Where) Sql() string {
	out := "true"
	for _, c := range w.Conds {
		out += " and " + c
	}
	return out
}

// Namespace restricts to one, unless any will do.
func (w *Where) Namespace(column, namespace string) {
	if namespace != core.AnyNamespace {
		w.And(column+" = ?", namespace)
	}
}

// NotOwned leaves out what belongs to monitors.
func (w *Where) NotOwned(column string) {
	w.And("substr("+column+", 1, 8) <> ?", "monitor:")
}

// NotOwnedTask leaves out tasks that belong to monitors, and trials of definitions. Other nouns may have such names.
func (w *Where) NotOwnedTask(column string) {
	w.NotOwned(column)
	w.And("substr("+column+", 1, "+strconv.Itoa(len(task.TrialPrefix))+") <> ?", task.TrialPrefix)
}

// Cursors are opaque to callers, so that what is inside can change.
func EncodeCursor(parts ...string) string {
	return base64.RawURLEncoding.EncodeToString([]byte(Text(parts)))
}

func DecodeCursor(cursor string, n int) ([]string, error) {
	if cursor == "" {
		return nil, nil
	}
	var parts []string
	raw, err := base64.RawURLEncoding.DecodeString(cursor)
	if err == nil {
		err = json.Unmarshal(raw, &parts)
	}
	if err != nil || len(parts) != n {
		return nil, core.InvalidField("cursor", cursor, "is not a cursor of this list", "leave it out to begin at the start")
	}
	return parts, nil
}

func DecodeIDCursor(cursor string) (int64, error) {
	parts, err := DecodeCursor(cursor, 1)
	if err != nil || parts == nil {
		return 0, err
	}
	id, err := strconv.ParseInt(parts[0], 10, 64)
	if err != nil {
		return 0, core.InvalidField("cursor", cursor, "is not a cursor of this list", "leave it out to begin at the start")
	}
	return id, nil
}

// Page cuts a list that was read one item too long.
func Page[T any](items []T, limit int, cursor func(last T) string) core.Page[T] {
	p := core.Page[T]{Items: items}
	if len(items) > limit {
		p.Items = items[:limit]
		p.Next = cursor(p.Items[limit-1])
	}
	if p.Items == nil {
		p.Items = []T{}
	}
	return p
}

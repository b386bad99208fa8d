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

// Micros returns an instant as it is stored: microseconds since 1970, 0 for none.
func Micros(t time.Time) int64 {
	if t.IsZero() {
		return 0
	}
	return t.UnixMicro()
}

// Instant returns the time of a column in microseconds since 1970, in UTC. 0 is the zero time.
func Instant(us int64) time.Time {
	if us == 0 {
		return time.Time{}
	}
	return time.UnixMicro(us).UTC()
}

// ScanTime scans an instant.
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

// scanJSON scans a JSON text, or null.
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

// ScanDoc scans a JSON text and decodes it into a value.
func ScanDoc(to any) sql.Scanner { return docScanner{to} }

type docScanner struct{ to any }

func (s docScanner) Scan(v any) error {
	var raw json.RawMessage
	if err := (scanJSON(&raw)).Scan(v); err != nil || len(raw) == 0 {
		return err
	}
	return json.Unmarshal(raw, s.to)
}

// JsonText returns a JSON value as an argument: its text, or null.
func JsonText(raw json.RawMessage) *string {
	if len(raw) == 0 {
		return nil
	}
	s := string(raw)
	return &s
}

// RawJSON returns a scanned JSON text; nil for null.
func RawJSON(s *string) json.RawMessage {
	if s == nil {
		return nil
	}
	return json.RawMessage(*s)
}

// Text returns a value as JSON text. It panics for values that cannot be encoded.
func Text(v any) string {
	b, err := json.Marshal(v)
	if err != nil {
		panic(fmt.Sprintf("encode %T: %v", v, err))
	}
	return string(b)
}

// Collect returns all rows of a query.
func Collect[T any](ctx context.Context, tx Tx, scan func(Rows) (T, error), query string, args ...any) ([]T, error) {
	return CollectInto(ctx, tx, nil, func(rows Rows, v *T) (err error) {
		*v, err = scan(rows)
		return err
	}, query, args...)
}

// CollectInto is Collect that appends to all. scan writes each row directly into the slice.
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

// First returns the first row of a query, if there is one.
func First[T any](ctx context.Context, tx Tx, scan func(Rows) (T, error), query string, args ...any) (v T, found bool, err error) {
	all, err := Collect(ctx, tx, scan, query, args...)
	if err != nil || len(all) == 0 {
		return v, false, err
	}
	return all[0], true, nil
}

// ScanInt reads a row of one integer.
func ScanInt(rows Rows) (n int64, err error) { err = rows.Scan(&n); return n, err }

// ScanString reads a row of one text.
func ScanString(rows Rows) (s string, err error) { err = rows.Scan(&s); return s, err }

// Where collects conditions and their arguments.
type Where struct {
	Conds []string
	Args  []any
}

// And adds a condition, in which ? stands for the argument.
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

// Sql returns the conditions joined by and, for a where clause. Without conditions it is true for each row.
func (w *Where) Sql() string {
	out := "true"
	for _, c := range w.Conds {
		out += " and " + c
	}
	return out
}

// Namespace restricts to a namespace, unless it is [core.AnyNamespace].
func (w *Where) Namespace(column, namespace string) {
	if namespace != core.AnyNamespace {
		w.And(column+" = ?", namespace)
	}
}

// NotOwned leaves out rows that belong to monitors.
func (w *Where) NotOwned(column string) {
	w.And("substr("+column+", 1, 8) <> ?", "monitor:")
}

// NotOwnedTask leaves out tasks that belong to monitors, and trial tasks. Definitions of other nouns may have such names.
func (w *Where) NotOwnedTask(column string) {
	w.NotOwned(column)
	w.And("substr("+column+", 1, "+strconv.Itoa(len(task.TrialPrefix))+") <> ?", task.TrialPrefix)
}

// EncodeCursor makes a cursor. Cursors are opaque to callers, so that their content can change.
func EncodeCursor(parts ...string) string {
	return base64.RawURLEncoding.EncodeToString([]byte(Text(parts)))
}

// DecodeCursor returns the n parts of a cursor, or nil for an empty one. Another text fails with [core.Invalid].
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

// DecodeIDCursor returns the ID of a cursor, or 0 for an empty one. Another text fails with [core.Invalid].
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

// Page makes a page of a list that was read with one item more than limit.
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

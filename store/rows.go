package store

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
)

// micros is how an instant is kept: microseconds since 1970, 0 for none.
func micros(t time.Time) int64 {
	if t.IsZero() {
		return 0
	}
	return t.UnixMicro()
}

func instant(us int64) time.Time {
	if us == 0 {
		return time.Time{}
	}
	return time.UnixMicro(us).UTC()
}

// scanTime reads an instant.
func scanTime(t *time.Time) sql.Scanner { return timeScanner{t} }

type timeScanner struct{ t *time.Time }

func (s timeScanner) Scan(v any) error {
	us, ok := v.(int64)
	if !ok {
		return fmt.Errorf("an instant is kept as %T", v)
	}
	*s.t = instant(us)
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

// scanDoc decodes a JSON text into a value.
func scanDoc(to any) sql.Scanner { return docScanner{to} }

type docScanner struct{ to any }

func (s docScanner) Scan(v any) error {
	var raw json.RawMessage
	if err := (scanJSON(&raw)).Scan(v); err != nil || len(raw) == 0 {
		return err
	}
	return json.Unmarshal(raw, s.to)
}

// jsonText is a JSON value as a parameter: its text, or null.
func jsonText(raw json.RawMessage) *string {
	if len(raw) == 0 {
		return nil
	}
	s := string(raw)
	return &s
}

// rawJSON is a JSON text that may be missing, as read.
func rawJSON(s *string) json.RawMessage {
	if s == nil {
		return nil
	}
	return json.RawMessage(*s)
}

// text is a value as JSON text. Only values that always encode come here.
func text(v any) string {
	b, err := json.Marshal(v)
	if err != nil {
		panic(fmt.Sprintf("encode %T: %v", v, err))
	}
	return string(b)
}

// collect reads all rows of an answer.
func collect[T any](ctx context.Context, tx Tx, scan func(Rows) (T, error), query string, args ...any) ([]T, error) {
	return collectInto(ctx, tx, nil, func(rows Rows, v *T) (err error) {
		*v, err = scan(rows)
		return err
	}, query, args...)
}

// collectInto is collect behind what is there, each where it stays.
func collectInto[T any](ctx context.Context, tx Tx, all []T, scan func(Rows, *T) error, query string, args ...any) ([]T, error) {
	rows, err := tx.Query(ctx, query, args...)
	if err != nil {
		return nil, err
	}
	defer rows.Close()
	for rows.Next() {
		all = slices.Grow(all, 1)[:len(all)+1] // scan writes all of it
		if err := scan(rows, &all[len(all)-1]); err != nil {
			return nil, fmt.Errorf("scan: %w\n%s", err, query)
		}
	}
	return all, rows.Err()
}

// first reads one row, if there is one.
func first[T any](ctx context.Context, tx Tx, scan func(Rows) (T, error), query string, args ...any) (v T, found bool, err error) {
	all, err := collect(ctx, tx, scan, query, args...)
	if err != nil || len(all) == 0 {
		return v, false, err
	}
	return all[0], true, nil
}

func scanInt(rows Rows) (n int64, err error)     { err = rows.Scan(&n); return n, err }
func scanString(rows Rows) (s string, err error) { err = rows.Scan(&s); return s, err }

// where gathers conditions and their parameters.
type where struct {
	conds []string
	args  []any
}

// and adds a condition in which ? stands for the parameter.
func (w *where) and(cond string, arg any) {
	w.args = append(w.args, arg)
	out := make([]byte, 0, len(cond)+4)
	for i := range len(cond) {
		if cond[i] == '?' {
			out = strconv.AppendInt(append(out, '$'), int64(len(w.args)), 10)
			continue
		}
		out = append(out, cond[i])
	}
	w.conds = append(w.conds, string(out))
}

func (w *where) sql() string {
	out := "true"
	for _, c := range w.conds {
		out += " and " + c
	}
	return out
}

// namespace restricts to one, unless any will do.
func (w *where) namespace(column, namespace string) {
	if namespace != core.AnyNamespace {
		w.and(column+" = ?", namespace)
	}
}

// notOwned leaves out what belongs to monitors.
func (w *where) notOwned(column string) {
	w.and("substr("+column+", 1, 8) <> ?", "monitor:")
}

// Cursors are opaque to callers, so that what is inside can change.
func encodeCursor(parts ...string) string {
	return base64.RawURLEncoding.EncodeToString([]byte(text(parts)))
}

func decodeCursor(cursor string, n int) ([]string, error) {
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

func decodeIDCursor(cursor string) (int64, error) {
	parts, err := decodeCursor(cursor, 1)
	if err != nil || parts == nil {
		return 0, err
	}
	id, err := strconv.ParseInt(parts[0], 10, 64)
	if err != nil {
		return 0, core.InvalidField("cursor", cursor, "is not a cursor of this list", "leave it out to begin at the start")
	}
	return id, nil
}

// page cuts a list that was read one item too long.
func page[T any](items []T, limit int, cursor func(last T) string) core.Page[T] {
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

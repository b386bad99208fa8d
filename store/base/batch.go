package base

import (
	"reflect"
	"slices"
	"strings"
	"sync"
)

// Batch is a list of rows that are the argument of one statement: a slice of structs. Their fields are integers or texts, or
// pointers to either if they may be null. The json tag of a field names its column.
type Batch struct {
	cols []Col
	rows reflect.Value
}

// Col is a column of a [Batch].
type Col struct {
	Name string
	Text bool // false: an integer
}

// BatchOf wraps rows.
func BatchOf[T any](rows []T) Batch {
	return Batch{columnsOf(reflect.TypeFor[T]()), reflect.ValueOf(rows)}
}

// Cols are the columns in order.
func (b Batch) Cols() []Col { return b.cols }

// Rows returns the slice itself.
func (b Batch) Rows() any { return b.rows.Interface() }

// Columns returns the values column by column, each a []int64, []*int64, []string or []*string. A column without values is nil.
func (b Batch) Columns() []any {
	out := make([]any, len(b.cols))
	for i, col := range b.cols {
		optional := b.rows.Type().Elem().Field(i).Type.Kind() == reflect.Pointer
		switch {
		case optional && b.empty(i) && col.Text:
			out[i] = []*string(nil)
		case optional && b.empty(i):
			out[i] = []*int64(nil)
		case col.Text && optional:
			out[i] = gather(b.rows, func(row reflect.Value) *string {
				v, _ := row.Field(i).Interface().(*string)
				return v
			})
		case col.Text:
			out[i] = gather(b.rows, func(row reflect.Value) string { return row.Field(i).String() })
		case optional:
			out[i] = gather(b.rows, func(row reflect.Value) *int64 {
				if row.Field(i).IsNil() {
					return nil
				}
				v := row.Field(i).Elem().Int()
				return &v
			})
		default:
			out[i] = gather(b.rows, func(row reflect.Value) int64 { return row.Field(i).Int() })
		}
	}
	return out
}

// Spread returns a from-item of rows, named t, and its arguments. Its parameters are numbered from n, and are the last of the
// statement. A single row is written as constants: most statements of a busy store have one row.
func Spread[T any](d Dialect, n int, rows []T) (from string, args []any) {
	if len(rows) != 1 {
		return d.Table(n, "t", BatchOf(rows))
	}
	list, args := Constants(n, rows[0])
	return "(select " + list + ") as t", args
}

// Constants returns the columns of a row as a select list, and their arguments, numbered from n, without some columns. The text
// is cached: to build it took half as long as SQLite takes to insert a job.
func Constants[T any](n int, row T, without ...string) (list string, args []any) {
	of := reflect.TypeFor[T]()
	cols, values := columnsOf(of), reflect.ValueOf(row)
	args = make([]any, 0, len(cols))
	for i, col := range cols {
		if !slices.Contains(without, col.Name) {
			args = append(args, values.Field(i).Interface())
		}
	}
	key := constantsKey{of, n, strings.Join(without, ",")}
	if known, ok := constantTexts.Load(key); ok {
		return known.(string), args //nolint:forcetypeassert // only this function stores
	}
	list = constantsText(n, cols, without)
	constantTexts.Store(key, list)
	return list, args
}

// constantTexts has as many entries as there are statements with constants.
var constantTexts sync.Map // of constantsKey to string

type constantsKey struct {
	row     reflect.Type
	n       int
	without string
}

func constantsText(n int, cols []Col, without []string) string {
	var parts []string
	for _, col := range cols {
		if slices.Contains(without, col.Name) {
			continue
		}
		kind := "bigint"
		if col.Text {
			kind = "text"
		}
		parts = append(parts, "cast("+Placeholder(n+len(parts))+" as "+kind+") as "+col.Name)
	}
	return strings.Join(parts, ", ")
}

// empty reports whether all values of a column are null.
func (b Batch) empty(column int) bool {
	for i := range b.rows.Len() {
		if !b.rows.Index(i).Field(column).IsNil() {
			return false
		}
	}
	return true
}

func gather[T any](rows reflect.Value, value func(row reflect.Value) T) []T {
	out := make([]T, rows.Len())
	for i := range out {
		out[i] = value(rows.Index(i))
	}
	return out
}

var layouts sync.Map // of reflect.Type to []Col

func columnsOf(t reflect.Type) []Col {
	if known, ok := layouts.Load(t); ok {
		return known.([]Col) //nolint:forcetypeassert // only this function stores
	}
	cols := make([]Col, t.NumField())
	for i := range cols {
		f := t.Field(i)
		of := f.Type
		if of.Kind() == reflect.Pointer {
			of = of.Elem()
		}
		name, _, _ := strings.Cut(f.Tag.Get("json"), ",")
		cols[i] = Col{Name: name, Text: of.Kind() == reflect.String}
	}
	layouts.Store(t, cols)
	return cols
}

package base

import (
	"slices"
)

const LookFirst = 1_000 // before it is looked further, four times as far each time

// Span restricts to one id, or to those between two.
func (w *Where) Span(key string, id, after, before int64) {
	if id > 0 {
		w.And(key+" = ?", id)
	}
	if after > 0 {
		w.And(key+" > ?", after)
	}
	if before > 0 {
		w.And(key+" < ?", before)
	}
}

// Equals restricts to a value, if one is asked for.
func (w *Where) Equals(column, value string) {
	if value != "" {
		w.And(column+" = ?", value)
	}
}

// Clone is a copy that can grow by itself.
func (w *Where) Clone() *Where {
	return &Where{slices.Clone(w.Conds), slices.Clone(w.Args)}
}

// Beyond goes on after an id.
func (w *Where) Beyond(key string, id int64, order string) {
	if id == 0 {
		return
	}
	if order == "desc" {
		w.And(key+" < ?", id)
		return
	}
	w.And(key+" > ?", id)
}

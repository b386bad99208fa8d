package base

import (
	"slices"
)

const LookFirst = 1_000 // rows of the first look of a search; each further look reads four times as many

// Span restricts to one id, or to ids between two.
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

// Equals restricts to a value, unless it is empty.
func (w *Where) Equals(column, value string) {
	if value != "" {
		w.And(column+" = ?", value)
	}
}

// Clone returns an independent copy.
func (w *Where) Clone() *Where {
	return &Where{slices.Clone(w.Conds), slices.Clone(w.Args)}
}

// Beyond restricts to ids after an id, in an order.
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

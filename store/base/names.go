package base

import (
	"fmt"
	"strings"

	"github.com/belfry-run/belfry/core"
	"github.com/belfry-run/belfry/task"
)

// TaskName identifies a task by namespace and name.
type TaskName struct {
	Namespace string `json:"namespace"`
	Name      string `json:"name"`
}

// Unique returns the values without repetitions, in the order of their first occurrence.
func Unique[T comparable](all []T) []T {
	seen := map[T]bool{}
	var out []T
	for i, v := range all {
		if i > 0 && v == all[i-1] { // as in most lists
			continue
		}
		if !seen[v] {
			seen[v] = true
			out = append(out, v)
		}
	}
	return out
}

// NameWhere selects the rows of a namespace whose names come after a cursor.
func NameWhere(namespace string, p core.Paging) (*Where, int, error) {
	return PairWhere(namespace, "name", p)
}

// PairWhere is NameWhere with another column for the name.
func PairWhere(namespace, column string, p core.Paging) (*Where, int, error) {
	if namespace == "" {
		namespace = core.DefaultNamespace
	}
	after, err := DecodeCursor(p.Cursor, 2)
	if err != nil {
		return nil, 0, err
	}
	w := &Where{}
	w.Namespace("namespace", namespace)
	w.Pair(namespace, column, ">", after)
	return w, p.Bound(), nil
}

// Pair compares namespace and name with those of a row. Within one namespace it compares the name alone; otherwise SQLite would
// walk from the first row.
func (w *Where) Pair(namespace, column, sign string, row []string) {
	switch {
	case row == nil:
	case row[0] == namespace:
		w.And(column+" "+sign+" ?", row[1])
	default:
		w.Args = append(w.Args, row[0], row[1])
		w.Conds = append(w.Conds, fmt.Sprintf("(namespace, %s) %s ($%d, $%d)", column, sign, len(w.Args)-1, len(w.Args)))
	}
}

// RefuseOwned refuses a change of a definition that belongs to a monitor.
func RefuseOwned(noun, name string) error {
	if monitor, owned := task.OwnerOf(name); owned {
		return core.Errorf(core.Conflict, "%s %q belongs to monitor %q", noun, name, monitor).WithHint("change the monitor: belfry monitor show %s", monitor)
	}
	return nil
}

// OrderBy returns an order in which each of n things comes after the things that it needs. Things in a circle keep their order.
func OrderBy(n int, name func(i int) string, needs func(i int) []string) []int {
	place := make(map[string]int, n)
	for i := range n {
		place[name(i)] = i
	}
	order := make([]int, 0, n)
	done := make([]bool, n)
	var put func(i int)
	put = func(i int) {
		if done[i] {
			return
		}
		done[i] = true
		for _, need := range needs(i) {
			if p, ok := place[need]; ok {
				put(p)
			}
		}
		order = append(order, i)
	}
	for i := range n {
		put(i)
	}
	return order
}

// JoinTags returns tags as one text, with a comma at both ends, so that a tag can be found by its whole name.
func JoinTags(tags []string) string {
	if len(tags) == 0 {
		return ""
	}
	return "," + strings.Join(tags, ",") + ","
}

package base

import (
	"crypto/sha256"
	"encoding/json"
	"strconv"

	"github.com/belfry-run/belfry/task"
)

// names is which names are taken.
type names struct {
	Taken map[string]bool
	last  map[string]int // number of a name up to which all are taken
}

func newNames() names { return names{map[string]bool{}, map[string]int{}} }

// Free is a name that is not taken yet: the first with nothing behind it, the
// next with -2.
func (n names) Free(name string) string {
	if !n.Taken[name] {
		return name
	}
	for k := max(n.last[name], 2); ; k++ {
		if numbered := name + "-" + strconv.Itoa(k); !n.Taken[numbered] {
			n.last[name] = k
			return numbered
		}
	}
}

// SharedName is the name of the task that does the same, or a new one.
func (b *Builder) SharedName(t task.Task, name string) string {
	t.Name = ""
	text, err := json.Marshal(t) // maps are written in order
	if err != nil {
		return b.tasks.Free(name)
	}
	key := sha256.Sum256(text)
	known, ok := b.sameTask[key]
	if !ok || !b.tasks.Taken[known] { // the entry that had it was faulty
		known = b.tasks.Free(name)
		b.sameTask[key] = known
	}
	return known
}

package body

import "reflect"

// A body of a few megabytes can list millions of empty entries, each of which becomes a whole struct in memory. So the memory
// of a larger body is estimated before it is decoded.
const (
	maxHeld      = 128 << 20 // bytes
	plainlySmall = 64 << 10  // bytes of a body that cannot hold too much
)

// held estimates the memory of JSON data as a value of a type, in bytes and without texts.
func held(data []byte, t reflect.Type) int {
	n := strictWalk{data: data, sizes: true}
	n.value(t)
	return n.held
}

// counts adds the size of a list item, a map entry, or the target of a pointer. Free-form documents stay text.
func (n *strictWalk) counts(t reflect.Type) {
	for t != nil && t.Kind() == reflect.Pointer {
		t = t.Elem()
	}
	if t != nil && t != anything {
		n.held += int(t.Size())
	}
}

package body

import "reflect"

// A body of a few megabytes can list millions of empty entries, each of which is a whole struct once it is read. So what a
// larger body will hold is estimated before it is read.
const (
	maxHeld      = 128 << 20 // bytes
	plainlySmall = 64 << 10  // bytes of a body that cannot hold too much
)

// held estimates how many bytes JSON takes as a value of a type, beside its texts.
func held(data []byte, t reflect.Type) int {
	n := strictWalk{data: data, sizes: true}
	n.value(t)
	return n.held
}

// counts adds an item of a list, an entry of a map, or what a pointer leads to. Documents of the caller's own stay text.
func (n *strictWalk) counts(t reflect.Type) {
	for t != nil && t.Kind() == reflect.Pointer {
		t = t.Elem()
	}
	if t != nil && t != anything {
		n.held += int(t.Size())
	}
}

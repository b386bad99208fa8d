package body

import (
	"bytes"
	"encoding"
	"encoding/json"
	"maps"
	"reflect"
	"slices"
	"strconv"
	"strings"
	"sync"

	"github.com/belfry-run/belfry/core"
)

// checkStrictly refuses duplicate names in an object, and names in another case than the
// fields of the type. With texts it also refuses texts with NUL, which not every database
// stores. The data must be JSON that fits the type: it is scanned, not decoded.
func checkStrictly(data []byte, t reflect.Type, texts bool) error {
	n := strictWalk{data: data, texts: texts}
	n.value(t)
	if len(n.faults) == 0 {
		return nil
	}
	return &core.Error{Code: core.Invalid, Message: "invalid body", Fields: n.faults}
}

type strictWalk struct {
	data   []byte
	texts  bool
	at     int
	path   []step
	faults faults
	sizes  bool // estimates the memory of values instead of looking for faults
	held   int
	whole  []span // numbers of integer fields that are not written as integers; noted with sizes
}

// step is one step of a path: a field or a list item.
type step struct {
	name  []byte // of a field
	index int    // or in a list
	list  bool
}

// here returns the path of the current value. It is called only for faults.
func (n *strictWalk) here() string {
	path := ""
	for _, s := range n.path {
		if s.list {
			path += "[" + strconv.Itoa(s.index) + "]"
		} else {
			path = join(path, string(s.name))
		}
	}
	return path
}

func (n *strictWalk) in(s step, t reflect.Type) {
	n.path = append(n.path, s)
	n.value(t)
	n.path = n.path[:len(n.path)-1]
}

// next returns the next byte that is not a space, or 0 at the end. It also returns 0 after MaxFaults faults, because reporting
// a fault costs more than finding it.
func (n *strictWalk) next() byte {
	if len(n.faults) >= MaxFaults {
		return 0
	}
	for ; n.at < len(n.data); n.at++ {
		switch c := n.data[n.at]; c {
		case ' ', '\t', '\r', '\n':
		default:
			return c
		}
	}
	return 0
}

// value scans the next value.
func (n *strictWalk) value(t reflect.Type) {
	switch n.next() {
	case '{':
		n.object(shapeOf(t))
	case '[':
		n.list(shapeOf(t).item)
	case '"':
		if text := n.text(); !n.sizes && !shapeOf(t).free && n.refuses(text) {
			n.faults.add(n.here(), unsaid, "contains a NUL character", "leave it out")
		}
	default:
		from := n.at
		n.word()
		if n.sizes && isInteger(t) {
			n.noteWhole(span{from: from, to: n.at})
		}
	}
}

// word scans a number or a word.
func (n *strictWalk) word() {
	for ; n.at < len(n.data); n.at++ {
		switch n.data[n.at] {
		case ',', ']', '}', ' ', '\t', '\r', '\n':
			return
		}
	}
}

func (n *strictWalk) list(item reflect.Type) {
	n.at++
	for i := 0; ; i++ {
		switch n.next() {
		case ',':
			n.at++
		case ']':
			n.at++
			return
		case 0:
			return
		}
		switch {
		case n.next() == ']':
		case n.sizes:
			n.counts(item)
			n.value(item)
		default:
			n.in(step{index: i, list: true}, item)
		}
	}
}

func (n *strictWalk) object(s *shape) {
	n.at++
	var seen nameSet
	for {
		switch n.next() {
		case ',':
			n.at++
			n.next()
		case '}':
			n.at++
			return
		case 0:
			return
		}
		if n.next() != '"' {
			n.at++
			continue
		}
		name := n.text()
		if n.next() == ':' {
			n.at++
		}
		if n.sizes {
			inner := s.entry
			if s.fields != nil {
				inner = s.fields[string(name)]
			}
			if s.fields == nil || inner != nil && inner.Kind() == reflect.Pointer { // other fields are counted with their struct
				n.counts(inner)
			}
			n.value(inner)
			continue
		}
		if seen.add(name) {
			n.faults.add(join(n.here(), string(name)), unsaid, "stands twice in its object", "write it once")
		}
		if !s.free && n.refuses(name) {
			n.faults.add(strings.ReplaceAll(join(n.here(), string(name)), "\x00", "\uFFFD"), unsaid, "contains a NUL character", "leave it out")
		}
		inner, there := s.fields[string(name)]
		switch {
		case s.fields == nil:
			inner = s.entry
		case !there:
			n.faults.add(join(n.here(), string(name)), unsaid, "is not a field here", NearHint(string(name), slices.Sorted(maps.Keys(s.fields))))
		}
		n.in(step{name: name}, inner)
	}
}

func (n *strictWalk) refuses(text []byte) bool { return n.texts && bytes.IndexByte(text, 0) >= 0 }

// text scans a text and returns its content.
func (n *strictWalk) text() []byte {
	from, plain := n.at, true
	for n.at++; n.at < len(n.data) && n.data[n.at] != '"'; n.at++ {
		if n.data[n.at] == '\\' {
			plain = false
			n.at++
		}
	}
	n.at++
	raw := n.data[from:min(n.at, len(n.data))]
	if plain {
		return bytes.Trim(raw, `"`)
	}
	var text string
	_ = json.Unmarshal(raw, &text)
	return []byte(text)
}

// nameSet is the set of names in an object. Most objects have few.
type nameSet struct {
	few  [][]byte
	many map[string]bool
}

const fewNames = 16

// add adds a name, and reports whether it was there before.
func (s *nameSet) add(name []byte) bool {
	if s.many != nil {
		was := s.many[string(name)]
		s.many[string(name)] = true
		return was
	}
	if slices.ContainsFunc(s.few, func(other []byte) bool { return bytes.Equal(other, name) }) {
		return true
	}
	if s.few = append(s.few, name); len(s.few) > fewNames {
		s.many = make(map[string]bool, len(s.few))
		for _, one := range s.few {
			s.many[string(one)] = true
		}
	}
	return false
}

// shape describes the values within a value of a type.
type shape struct {
	fields map[string]reflect.Type // of an object; nil: any names are allowed
	entry  reflect.Type            // of an object with any names; nil: any type
	item   reflect.Type            // of a list; nil: any type
	free   bool                    // a free-form document, which is stored as written, with NUL as an escape
}

// shapes caches a shape for each reflect.Type of bodies.
var shapes sync.Map

func shapeOf(t reflect.Type) *shape {
	if t == nil {
		return &anyShape
	}
	if known, ok := shapes.Load(t); ok {
		return known.(*shape) //nolint:forcetypeassert // only this function stores values
	}
	s := &shape{}
	if plain := plainType(t); plain != nil {
		switch plain.Kind() {
		case reflect.Interface:
			s.free, s.entry, s.item = true, plain, plain
		case reflect.Struct:
			s.fields = fieldsOf(plain)
		case reflect.Map:
			s.entry = plain.Elem()
		case reflect.Slice, reflect.Array:
			s.item = plain.Elem()
		}
	}
	shapes.Store(t, s)
	return s
}

var anyShape shape

// anything is the type of values in free-form documents.
var anything = reflect.TypeFor[any]()

// plainType returns the type that a value is decoded into field by field, anything, or nil.
func plainType(t reflect.Type) reflect.Type {
	for t != nil && t.Kind() == reflect.Pointer {
		t = t.Elem()
	}
	if t == nil {
		return nil
	}
	if t == reflect.TypeFor[json.RawMessage]() || t.Kind() == reflect.Interface {
		return anything
	}
	p := reflect.PointerTo(t)
	if p.Implements(reflect.TypeFor[encoding.TextUnmarshaler]()) || p.Implements(reflect.TypeFor[json.Unmarshaler]()) {
		return nil
	}
	return t
}

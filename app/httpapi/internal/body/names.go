package body

import (
	"bytes"
	"encoding"
	"encoding/json"
	"maps"
	"reflect"
	"slices"
	"strconv"
	"sync"

	"github.com/belfry-run/belfry/core"
)

// checkNames refuses names that stand twice in an object, and those that are not
// written as the fields of the type are. The data is JSON that fits the type, so
// it is stepped over and not read again.
func checkNames(data []byte, t reflect.Type) error {
	n := namesWalk{data: data}
	n.value(t)
	if len(n.faults) == 0 {
		return nil
	}
	return &core.Error{Code: core.Invalid, Message: "invalid body", Fields: n.faults}
}

type namesWalk struct {
	data   []byte
	at     int
	path   []step
	faults faults
}

// step leads from a value to one in it.
type step struct {
	name  []byte // of a field
	index int    // or in a list
	list  bool
}

// here is the path of the value that is looked at. Only a fault asks for it.
func (n *namesWalk) here() string {
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

func (n *namesWalk) in(s step, t reflect.Type) {
	n.path = append(n.path, s)
	n.value(t)
	n.path = n.path[:len(n.path)-1]
}

// next is the next byte that is no space, or 0 at the end.
func (n *namesWalk) next() byte {
	for ; n.at < len(n.data); n.at++ {
		switch c := n.data[n.at]; c {
		case ' ', '\t', '\r', '\n':
		default:
			return c
		}
	}
	return 0
}

// value steps over the next value.
func (n *namesWalk) value(t reflect.Type) {
	switch n.next() {
	case '{':
		n.object(shapeOf(t))
	case '[':
		n.list(shapeOf(t).item)
	case '"':
		n.text()
	default:
		n.word()
	}
}

// word steps over a number or a word.
func (n *namesWalk) word() {
	for ; n.at < len(n.data); n.at++ {
		switch n.data[n.at] {
		case ',', ']', '}', ' ', '\t', '\r', '\n':
			return
		}
	}
}

func (n *namesWalk) list(item reflect.Type) {
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
		if n.next() != ']' {
			n.in(step{index: i, list: true}, item)
		}
	}
}

func (n *namesWalk) object(s *shape) {
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
		if seen.add(name) {
			n.faults.add(join(n.here(), string(name)), []byte(`""`), "stands twice in its object", "write it once")
		}
		inner, there := s.fields[string(name)]
		switch {
		case s.fields == nil:
			inner = s.entry
		case !there:
			n.faults.add(join(n.here(), string(name)), []byte(`""`), "is not a field here", NearHint(string(name), slices.Sorted(maps.Keys(s.fields))))
		}
		n.in(step{name: name}, inner)
	}
}

// text steps over a text and answers what it says.
func (n *namesWalk) text() []byte {
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

// nameSet is the names of an object. Most have few.
type nameSet struct {
	few  [][]byte
	many map[string]bool
}

const fewNames = 16

// add reports that a name was there before.
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

// shape is what a type says of the values in one of its own.
type shape struct {
	fields map[string]reflect.Type // of an object; nil: it may have any
	entry  reflect.Type            // of such an object; nil: any
	item   reflect.Type            // of a list; nil: any
}

// shapes are by reflect.Type, as many as there are types of bodies.
var shapes sync.Map

func shapeOf(t reflect.Type) *shape {
	if t == nil {
		return &anyShape
	}
	if known, ok := shapes.Load(t); ok {
		return known.(*shape) //nolint:forcetypeassert // only this function stores
	}
	s := &shape{}
	if plain := plainType(t); plain != nil {
		switch plain.Kind() {
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

// plainType is what a value is decoded into field by field, or nil.
func plainType(t reflect.Type) reflect.Type {
	for t != nil && t.Kind() == reflect.Pointer {
		t = t.Elem()
	}
	if t == nil || t.Kind() == reflect.Interface {
		return nil
	}
	p := reflect.PointerTo(t)
	if p.Implements(reflect.TypeFor[encoding.TextUnmarshaler]()) || p.Implements(reflect.TypeFor[json.Unmarshaler]()) {
		return nil
	}
	return t
}

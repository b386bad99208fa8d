package body

import (
	"bytes"
	"encoding"
	"encoding/json"
	"fmt"
	"maps"
	"reflect"
	"slices"
	"strconv"
	"unicode/utf16"
	"unicode/utf8"

	"github.com/belfry-run/belfry/core"
)

// What encoding/json lets pass and two readers of one body may understand
// differently: names in another case, a name twice in an object, and text that is
// no text. A body that has any of it is refused.

// checkText refuses bytes that are not UTF-8, and escapes of half a character.
// The decoder would replace both.
func checkText(data []byte) error {
	for i := 0; i < len(data); {
		switch c := data[i]; {
		case c >= utf8.RuneSelf:
			r, n := utf8.DecodeRune(data[i:])
			if r == utf8.RuneError && n == 1 {
				return notText(i, "is not UTF-8")
			}
			i += n
		case c != '\\' || i+1 == len(data):
			i++
		default:
			n := escaped(data[i:])
			if n == 0 {
				return notText(i, "escapes half of a surrogate pair")
			}
			i += n
		}
	}
	return nil
}

func notText(at int, message string) error {
	return core.InvalidField("body", "", fmt.Sprintf("byte %d %s", at, message), "send JSON in UTF-8")
}

// escaped is the length of an escape, or 0 of one that is half a character.
func escaped(data []byte) int {
	r, ok := unit(data)
	if !ok || !utf16.IsSurrogate(r) {
		return 2
	}
	if second, ok := unit(data[6:]); ok && utf16.DecodeRune(r, second) != utf8.RuneError {
		return 12
	}
	return 0
}

// unit reads \uXXXX.
func unit(data []byte) (rune, bool) {
	if len(data) < 6 || data[0] != '\\' || data[1] != 'u' {
		return 0, false
	}
	n, err := strconv.ParseUint(string(data[2:6]), 16, 16)
	return rune(n), err == nil
}

// checkNames refuses names that stand twice in an object, and those that are not
// written as the fields of the type are. The data is JSON that fits the type.
func checkNames(data []byte, t reflect.Type) error {
	n := namesWalk{dec: json.NewDecoder(bytes.NewReader(data)), fields: map[reflect.Type]map[string]reflect.Type{}}
	n.dec.UseNumber()
	n.value("", t)
	if len(n.faults) == 0 {
		return nil
	}
	return &core.Error{Code: core.Invalid, Message: "invalid body", Fields: n.faults}
}

type namesWalk struct {
	dec    *json.Decoder
	fields map[reflect.Type]map[string]reflect.Type
	faults faults
}

// value walks over the next value. A type that reads itself, or none, has any
// names.
func (n *namesWalk) value(path string, t reflect.Type) {
	token, err := n.dec.Token()
	if err != nil {
		return
	}
	t = plainType(t)
	switch token {
	case json.Delim('{'):
		n.object(path, t)
	case json.Delim('['):
		var item reflect.Type
		if t != nil && (t.Kind() == reflect.Slice || t.Kind() == reflect.Array) {
			item = t.Elem()
		}
		for i := 0; n.dec.More(); i++ {
			n.value(path+"["+strconv.Itoa(i)+"]", item)
		}
		_, _ = n.dec.Token() // the end of the list
	}
}

func (n *namesWalk) object(path string, t reflect.Type) {
	var known map[string]reflect.Type
	if t != nil && t.Kind() == reflect.Struct {
		if known = n.fields[t]; known == nil {
			known = fieldsOf(t)
			n.fields[t] = known
		}
	}
	seen := map[string]bool{}
	for n.dec.More() {
		token, err := n.dec.Token()
		name, is := token.(string)
		if err != nil || !is {
			return
		}
		at := join(path, name)
		if seen[name] {
			n.faults.add(at, []byte(`""`), "stands twice in its object", "write it once")
		}
		seen[name] = true
		inner, there := known[name]
		switch {
		case known == nil && t != nil && t.Kind() == reflect.Map:
			inner = t.Elem()
		case known != nil && !there:
			n.faults.add(at, []byte(`""`), "is not a field here", NearHint(name, slices.Sorted(maps.Keys(known))))
		}
		n.value(at, inner)
	}
	_, _ = n.dec.Token() // the end of the object
}

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

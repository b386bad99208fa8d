// Package body reads bodies of requests strictly, and reports every fault with its field.
// It also replaces null lists in answers.
package body

import (
	"bytes"
	"encoding"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"reflect"
	"slices"
	"strings"
	"time"

	"github.com/belfry-run/belfry/core"
	"github.com/belfry-run/belfry/httpapi/wire"
)

// selfReading is a body that may have several shapes.
type selfReading interface{ ReadBody(data []byte) error }

// Decode reads a JSON body into v and refuses unknown fields. The first pass is
// fast, but its errors are poor. Only a refused body is walked again, to report
// all faults by path.
func Decode(data []byte, v any) error {
	if s, ok := v.(selfReading); ok {
		return s.ReadBody(data)
	}
	return decode(data, v, true)
}

// DecodeForeign is Decode for output of programs, such as logs: texts may contain
// NUL, which the store removes.
func DecodeForeign(data []byte, v any) error { return decode(data, v, false) }

func decode(data []byte, v any, texts bool) error {
	if err := checkText(data); err != nil {
		return err
	}
	if len(data) > plainlySmall {
		if !json.Valid(data) {
			return syntaxError(data)
		}
		if held(data, reflect.TypeOf(v).Elem()) > maxHeld {
			return core.Errorf(core.TooLarge, "the body has too many entries: they would take more than %s of memory", core.SizeText(maxHeld)).WithHint("send less at once")
		}
	}
	t := reflect.TypeOf(v).Elem()
	more, err := plainly(data, v)
	if err != nil && json.Valid(data) {
		if whole := asIntegers(data, t); !bytes.Equal(whole, data) {
			data = whole
			reflect.ValueOf(v).Elem().SetZero()
			more, err = plainly(data, v)
		}
	}
	switch {
	case err == nil && more:
		return core.Errorf(core.Invalid, "the body goes on after its JSON value")
	case err == nil:
		return checkStrictly(data, t, texts)
	case !json.Valid(data):
		return syntaxError(data)
	}
	var f faults
	f.value("", t, data)
	if len(f) == 0 { // the walk accepts something that the decoder refuses
		return core.Errorf(core.Invalid, "the body does not fit: %s", strings.TrimPrefix(err.Error(), "json: "))
	}
	return &core.Error{Code: core.Invalid, Message: "invalid body", Fields: f}
}

// plainly decodes the first JSON value of data, and reports whether there is more.
func plainly(data []byte, v any) (more bool, err error) {
	dec := json.NewDecoder(bytes.NewReader(data))
	dec.DisallowUnknownFields()
	if err := dec.Decode(v); err != nil {
		return false, err
	}
	_, err = dec.Token()
	return !errors.Is(err, io.EOF), nil
}

// syntaxError returns an error with the place of a syntax error.
func syntaxError(data []byte) error {
	var se *json.SyntaxError
	err := json.Unmarshal(data, new(any))
	if !errors.As(err, &se) {
		return core.Errorf(core.Invalid, "the body is not JSON")
	}
	before := data[:min(max(int(se.Offset)-1, 0), len(data))]
	line := 1 + bytes.Count(before, []byte("\n"))
	column := len(before) - bytes.LastIndexByte(before, '\n')
	return core.Errorf(core.Invalid, "the body is not JSON: line %d, column %d: %s", line, column, se.Error())
}

// MaxFaults limits how many faults one answer lists.
const MaxFaults = 50

// faults collects the faults of a JSON value for a Go type.
type faults []core.FieldError

// unsaid replaces a value that may be a secret, and that an error does not repeat: the value of an unknown name, or a value
// in place of a text, an object or a list.
var unsaid []byte

func (f *faults) add(path string, raw []byte, message, hint string) {
	if len(*f) >= MaxFaults {
		return
	}
	if path == "" {
		path = "body"
	}
	value := string(raw)
	if text := ""; json.Unmarshal(raw, &text) == nil {
		value = text
	}
	*f = append(*f, core.FieldError{Field: path, Value: wire.Shorten(value), Message: message, Hint: hint})
}

func (f *faults) value(path string, t reflect.Type, raw json.RawMessage) {
	raw = bytes.TrimSpace(raw)
	for t.Kind() == reflect.Pointer {
		t = t.Elem()
	}
	if string(raw) == "null" || t == reflect.TypeFor[json.RawMessage]() {
		return
	}
	p := reflect.PointerTo(t)
	if p.Implements(reflect.TypeFor[encoding.TextUnmarshaler]()) || p.Implements(reflect.TypeFor[json.Unmarshaler]()) {
		f.text(path, t, raw)
		return
	}
	switch t.Kind() {
	case reflect.Struct:
		f.object(path, t, raw)
	case reflect.Map:
		f.entries(path, t, raw)
	case reflect.Slice, reflect.Array:
		f.items(path, t, raw)
	default:
		if err := json.Unmarshal(raw, reflect.New(t).Interface()); err != nil {
			what := "is not " + kindName(t)
			if reflect.Int <= t.Kind() && t.Kind() <= reflect.Uint64 {
				what = NoWhole(string(raw))
			}
			f.add(path, sayable(t, raw), what, "")
		}
	}
}

// sayable returns the value if an error may repeat it, or unsaid.
func sayable(t reflect.Type, raw json.RawMessage) []byte {
	if t.Kind() == reflect.String || raw[0] == '{' || raw[0] == '[' {
		return unsaid
	}
	return raw
}

// text checks values of types with their own text format, such as times and durations.
func (f *faults) text(path string, t reflect.Type, raw json.RawMessage) {
	err := json.Unmarshal(raw, reflect.New(t).Interface())
	switch {
	case err == nil:
	case t == reflect.TypeFor[time.Time]():
		f.add(path, raw, "is not a time", "write it as 2026-01-31T12:00:00Z")
	case raw[0] != '"':
		f.add(path, sayable(t, raw), "is not text", quoteHint(t))
	default:
		f.add(path, raw, err.Error(), "")
	}
}

func quoteHint(t reflect.Type) string {
	if t == reflect.TypeFor[core.Duration]() {
		return `a duration is text with a unit, such as "90s", "1h30m" or "7d"`
	}
	return ""
}

func (f *faults) object(path string, t reflect.Type, raw json.RawMessage) {
	var object map[string]json.RawMessage
	if json.Unmarshal(raw, &object) != nil {
		f.add(path, unsaid, "is not an object", "")
		return
	}
	fields := shapeOf(t).fields
	for _, name := range slices.Sorted(maps.Keys(object)) {
		if len(*f) >= MaxFaults { // reporting a fault costs more than finding it
			return
		}
		field, known := fields[name]
		if !known {
			f.add(join(path, name), unsaid, "is not a field here", NearHint(name, slices.Sorted(maps.Keys(fields))))
			continue
		}
		f.value(join(path, name), field, object[name])
	}
}

func (f *faults) entries(path string, t reflect.Type, raw json.RawMessage) {
	var object map[string]json.RawMessage
	if json.Unmarshal(raw, &object) != nil {
		f.add(path, unsaid, "is not an object", "")
		return
	}
	for _, name := range slices.Sorted(maps.Keys(object)) {
		if len(*f) >= MaxFaults {
			return
		}
		f.value(join(path, name), t.Elem(), object[name])
	}
}

func (f *faults) items(path string, t reflect.Type, raw json.RawMessage) {
	var list []json.RawMessage
	if json.Unmarshal(raw, &list) != nil {
		f.add(path, unsaid, "is not a list", "")
		return
	}
	for i, item := range list {
		if len(*f) >= MaxFaults {
			return
		}
		f.value(fmt.Sprintf("%s[%d]", path, i), t.Elem(), item)
	}
}

// fieldsOf returns the JSON fields of a struct by name.
func fieldsOf(t reflect.Type) map[string]reflect.Type {
	fields := map[string]reflect.Type{}
	for _, field := range reflect.VisibleFields(t) {
		name, _, _ := strings.Cut(field.Tag.Get("json"), ",")
		if !field.IsExported() || name == "-" || field.Anonymous && name == "" || hiddenPath(t, field.Index) {
			continue
		}
		if name == "" {
			name = field.Name
		}
		fields[name] = field.Type
	}
	return fields
}

// hiddenPath reports whether a field is in an embedded struct that JSON omits.
func hiddenPath(t reflect.Type, index []int) bool {
	for i := 1; i < len(index); i++ {
		if t.FieldByIndex(index[:i]).Tag.Get("json") == "-" {
			return true
		}
	}
	return false
}

func join(path, name string) string {
	if path == "" {
		return name
	}
	return path + "." + name
}

func kindName(t reflect.Type) string {
	switch t.Kind() {
	case reflect.String:
		return "text"
	case reflect.Bool:
		return "true or false"
	case reflect.Float32, reflect.Float64:
		return "a number"
	}
	return "a whole number"
}

// NoWhole returns the message for a text that is not a valid whole number.
func NoWhole(text string) string {
	if digits := strings.TrimPrefix(text, "-"); digits != "" && strings.Trim(digits, "0123456789") == "" {
		return "is out of range for a whole number"
	}
	return "is not a whole number"
}

// NearHint suggests the known name that is similar to an unknown one.
func NearHint(name string, known []string) string {
	if near := nearest(name, known); near != "" {
		return "did you mean " + near + "?"
	}
	return ""
}

// nearest returns the known name that differs least from name, or "" if none is
// near: at most a third of the name may differ.
func nearest(name string, known []string) string {
	best, least := "", max(1, len(name)/3)+1
	if len(name) > 64 {
		return ""
	}
	for _, candidate := range known {
		if d := distance(strings.ToLower(name), strings.ToLower(candidate)); d < least {
			best, least = candidate, d
		}
	}
	return best
}

// distance counts the bytes to change, add, drop or swap with a neighbour
// (Damerau-Levenshtein, optimal string alignment).
func distance(a, b string) int {
	before, last, row := []int(nil), []int(nil), make([]int, len(b)+1)
	for j := range row {
		row[j] = j
	}
	for i := range len(a) {
		before, last, row = last, row, make([]int, len(b)+1)
		row[0] = i + 1
		for j := range len(b) {
			cost := 1
			if a[i] == b[j] {
				cost = 0
			}
			row[j+1] = min(last[j]+cost, row[j]+1, last[j+1]+1)
			if i > 0 && j > 0 && a[i] == b[j-1] && a[i-1] == b[j] {
				row[j+1] = min(row[j+1], before[j-1]+1)
			}
		}
	}
	return row[len(b)]
}

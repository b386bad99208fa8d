package forms

import (
	"encoding/json"
	"maps"
	"reflect"
	"slices"
	"time"
)

// merged is what was typed with the fields that only another person has changed since the form was opened. A field that both
// changed is as it was typed. Objects are merged by field. A list is one value: its entries have no identity. ok is not set if the
// two edits do not go together, such as a throttle and a debounce.
func merged[T editable[T]](opened, saved, typed T, now time.Time) (both T, ok bool) {
	was, is, mine := fieldsIn(jsonOf(opened)), fieldsIn(jsonOf(saved)), fieldsIn(jsonOf(typed))
	for _, name := range readOnlyOf(reflect.TypeFor[T]()) {
		was[name], is[name] = mine[name], mine[name]
	}
	if json.Unmarshal(mergeJSON(jsonOf(was), jsonOf(is), jsonOf(mine)), &both) != nil {
		return both, false
	}
	before := faultsOf(typed, now)
	for _, f := range faultsOf(both, now) {
		if !slices.Contains(before, f) {
			return both, false
		}
	}
	return both, true
}

func mergeJSON(opened, saved, typed json.RawMessage) json.RawMessage {
	is, mine := fieldsIn(saved), fieldsIn(typed)
	switch {
	case sameJSON(opened, saved):
		return typed
	case sameJSON(opened, typed):
		return saved
	case is == nil || mine == nil: // both changed it
		return typed
	}
	was, both := fieldsIn(opened), map[string]json.RawMessage{}
	names := maps.Clone(is)
	maps.Copy(names, mine)
	for name := range names {
		if v := mergeJSON(was[name], is[name], mine[name]); v != nil {
			both[name] = v
		}
	}
	return jsonOf(both)
}

// fieldsIn are the fields of an object; nil: it is none.
func fieldsIn(text json.RawMessage) (fields map[string]json.RawMessage) {
	if json.Unmarshal(text, &fields) != nil {
		return nil
	}
	return fields
}

// sameJSON reports that two values are equal. No value and an empty list are.
func sameJSON(a, b json.RawMessage) bool { return reflect.DeepEqual(plainOf(a), plainOf(b)) }

func plainOf(text json.RawMessage) any {
	d, err := readDocument([]byte(`{"":` + string(text) + `}`))
	if err != nil {
		return nil // no text
	}
	return withoutEmpty(d[""])
}

// withoutEmpty leaves empty lists and fields without a value out.
func withoutEmpty(v any) any {
	switch v := v.(type) {
	case map[string]any:
		for name, inner := range v {
			if v[name] = withoutEmpty(inner); v[name] == nil {
				delete(v, name)
			}
		}
	case []any:
		if len(v) == 0 {
			return nil
		}
		for i := range v {
			v[i] = withoutEmpty(v[i])
		}
	}
	return v
}

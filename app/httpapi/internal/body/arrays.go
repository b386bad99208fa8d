package body

import (
	"encoding/json"
	"reflect"
	"strings"
	"sync"

	"github.com/danielgtaylor/huma/v2"
)

func init() { huma.DefaultArrayNullable = false } // in the OpenAPI document

// FullArrays replaces nil lists of an answer, so that JSON has [], not null. It
// returns an answer without arrays unchanged, and changes nothing in place:
// answers share parts with caches of the store.
func FullArrays(_ huma.Context, _ string, v any) (any, error) {
	if v == nil || !mayHoldArrays(reflect.TypeOf(v)) {
		return v, nil
	}
	full, changed := fullValue(reflect.ValueOf(v))
	if !changed {
		return v, nil
	}
	return full.Interface(), nil
}

var (
	marshaler = reflect.TypeFor[json.Marshaler]()
	arraysIn  sync.Map // by type: whether a value of it may hold an array
)

// mayHoldArrays is false for types that marshal themselves or contain no slice.
func mayHoldArrays(t reflect.Type) bool {
	if known, ok := arraysIn.Load(t); ok {
		return known.(bool)
	}
	arraysIn.Store(t, true) // ends the recursion for a type that contains itself
	may := looksForArrays(t)
	arraysIn.Store(t, may)
	return may
}

func looksForArrays(t reflect.Type) bool {
	if t.Implements(marshaler) || reflect.PointerTo(t).Implements(marshaler) {
		return false
	}
	switch t.Kind() {
	case reflect.Interface:
		return true
	case reflect.Slice:
		return t.Elem().Kind() != reflect.Uint8
	case reflect.Pointer, reflect.Map, reflect.Array:
		return mayHoldArrays(t.Elem())
	case reflect.Struct:
		may := false
		for i := range t.NumField() {
			switch f := t.Field(i); {
			case !f.IsExported() && !f.Anonymous:
			case leftOut(f):
				may = mayHoldArrays(f.Type.Elem()) || may
			default:
				may = mayHoldArrays(f.Type) || may
			}
		}
		return may
	}
	return false
}

// leftOut reports a list that is left out of the JSON while it is empty. It does not matter whether it is nil.
func leftOut(f reflect.StructField) bool {
	return f.Type.Kind() == reflect.Slice && strings.Contains(f.Tag.Get("json"), ",omitempty")
}

// fullValue returns v with empty slices for nil ones, and whether that differs
// from v.
func fullValue(v reflect.Value) (reflect.Value, bool) {
	if !v.IsValid() || !mayHoldArrays(v.Type()) {
		return v, false
	}
	switch v.Kind() {
	case reflect.Interface, reflect.Pointer:
		if v.IsNil() {
			return v, false
		}
		in, changed := fullValue(v.Elem())
		if !changed {
			return v, false
		}
		if v.Kind() == reflect.Interface {
			return in, true
		}
		out := reflect.New(v.Type().Elem())
		out.Elem().Set(in)
		return out, true
	case reflect.Slice:
		if v.IsNil() {
			return reflect.MakeSlice(v.Type(), 0, 0), true
		}
		return fullItems(v)
	case reflect.Map:
		return fullEntries(v)
	case reflect.Struct:
		return fullFields(v)
	}
	return v, false
}

func fullItems(v reflect.Value) (out reflect.Value, changed bool) {
	out = v
	for i := range v.Len() {
		if item, other := fullValue(v.Index(i)); other {
			if !changed {
				out, changed = reflect.MakeSlice(v.Type(), v.Len(), v.Len()), true
				reflect.Copy(out, v)
			}
			out.Index(i).Set(item)
		}
	}
	return out, changed
}

func fullEntries(v reflect.Value) (out reflect.Value, changed bool) {
	out = v
	for _, key := range v.MapKeys() {
		if item, other := fullValue(v.MapIndex(key)); other {
			if !changed {
				out, changed = reflect.MakeMapWithSize(v.Type(), v.Len()), true
				for _, k := range v.MapKeys() {
					out.SetMapIndex(k, v.MapIndex(k))
				}
			}
			out.SetMapIndex(key, item)
		}
	}
	return out, changed
}

func fullFields(v reflect.Value) (out reflect.Value, changed bool) {
	out = v
	for i := range v.NumField() {
		f := v.Type().Field(i)
		if !f.IsExported() || leftOut(f) && v.Field(i).IsNil() {
			continue
		}
		if field, other := fullValue(v.Field(i)); other {
			if !changed {
				out, changed = reflect.New(v.Type()).Elem(), true
				out.Set(v)
			}
			out.Field(i).Set(field)
		}
	}
	return out, changed
}

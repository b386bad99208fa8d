// Package apitest holds helpers for tests of the API server. No program imports
// it.
package apitest

import (
	"encoding/json"
	"reflect"
	"time"

	"github.com/belfry-run/belfry/core"
)

// Filled returns a value without zero parts, so that a test notices a lost
// field.
func Filled[T any]() T {
	var v T
	fill(reflect.ValueOf(&v).Elem())
	return v
}

func fill(v reflect.Value) {
	switch v.Interface().(type) {
	case time.Time:
		v.Set(reflect.ValueOf(time.Date(2026, 1, 31, 12, 30, 45, 123456000, time.UTC)))
		return
	case core.Duration:
		v.SetInt(int64(90 * time.Second))
		return
	case json.RawMessage:
		v.SetBytes([]byte(`{"a":[1,"<b>"]}`))
		return
	}
	switch v.Kind() {
	case reflect.String:
		v.SetString("a1")
	case reflect.Bool:
		v.SetBool(true)
	case reflect.Int, reflect.Int64:
		v.SetInt(7)
	case reflect.Uint32:
		v.SetUint(7)
	case reflect.Float64:
		v.SetFloat(0.5)
	case reflect.Pointer:
		v.Set(reflect.New(v.Type().Elem()))
		fill(v.Elem())
	case reflect.Slice:
		v.Set(reflect.MakeSlice(v.Type(), 1, 1))
		fill(v.Index(0))
	case reflect.Map:
		key, value := reflect.New(v.Type().Key()).Elem(), reflect.New(v.Type().Elem()).Elem()
		fill(key)
		fill(value)
		v.Set(reflect.MakeMap(v.Type()))
		v.SetMapIndex(key, value)
	case reflect.Struct:
		for i := range v.NumField() {
			if v.Type().Field(i).IsExported() && v.Type().Field(i).Tag.Get("json") != "-" {
				fill(v.Field(i))
			}
		}
	}
}

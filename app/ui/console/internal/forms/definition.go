package forms

import (
	"encoding/json"
	"errors"
	"io"
	"reflect"
	"slices"
	"strconv"
	"strings"

	"github.com/belfry-run/belfry/app/ui/console/internal/parts"
	"github.com/belfry-run/belfry/core"
	"github.com/belfry-run/belfry/internal/nearest"
)

// ReadJSON reads a definition that is JSON, and knows every field of it.
func ReadJSON(text, what string, v any) error {
	dec := json.NewDecoder(strings.NewReader(text))
	dec.DisallowUnknownFields()
	err := dec.Decode(v)
	if err == nil {
		if _, more := dec.Token(); errors.Is(more, io.EOF) {
			return nil
		}
		return core.InvalidField("definition", "", "goes on behind its end", "one JSON object")
	}
	message, hint := JSONFault(text), ""
	if message == "" {
		message = strings.TrimPrefix(err.Error(), "json: ") // of a field; where it stands is not told
		if name, is := strings.CutPrefix(message, "unknown field "); is {
			if meant := nearest.Of(strings.Trim(name, `"`), jsonNames(reflect.TypeOf(v), map[reflect.Type]bool{})); meant != "" {
				hint = "did you mean " + strconv.Quote(meant) + "?"
			}
		}
	}
	return core.InvalidField("definition", "", "is not a "+what+": "+message, hint)
}

// WriteJSON is a definition as JSON.
func WriteJSON(v any) (string, error) { return parts.Pretty([]byte(parts.JSONText(v))), nil }

func jsonNames(t reflect.Type, seen map[reflect.Type]bool) (names []string) {
	for t.Kind() == reflect.Pointer || t.Kind() == reflect.Slice || t.Kind() == reflect.Map {
		t = t.Elem()
	}
	if t.Kind() != reflect.Struct || seen[t] {
		return nil
	}
	seen[t] = true
	for _, f := range reflect.VisibleFields(t) {
		if name, _, _ := strings.Cut(f.Tag.Get("json"), ","); name != "" && name != "-" && !slices.Contains(names, name) {
			names = append(names, name)
		}
		if f.IsExported() {
			names = append(names, jsonNames(f.Type, seen)...)
		}
	}
	return names
}

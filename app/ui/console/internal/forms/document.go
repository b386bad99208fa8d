package forms

import (
	"bytes"
	"encoding/json"
	"strconv"
	"strings"

	"github.com/belfry-run/belfry/app/ui/console/internal/parts"
	"github.com/belfry-run/belfry/core"
)

// Document is a thing as its JSON has it.
type Document map[string]any

// DocumentOf is a thing as a document.
func DocumentOf(v any) Document {
	text, err := json.Marshal(v)
	d := Document{}
	if err == nil {
		d, err = readDocument(text)
	}
	if err != nil {
		panic(err) // things of the API are JSON
	}
	for _, readOnly := range []string{"id", "generation", "created_at", "updated_at"} {
		delete(d, readOnly)
	}
	return d
}

// readDocument keeps numbers as they are written.
func readDocument(text []byte) (d Document, err error) {
	dec := json.NewDecoder(bytes.NewReader(text))
	dec.UseNumber()
	err = dec.Decode(&d)
	return d, err
}

// Rest returns the fields of a document without an input, as a form carries them.
func (d Document) Rest(inputs []Input) string {
	rest, err := readDocument([]byte(parts.JSONText(d)))
	if err != nil {
		return "{}"
	}
	for _, in := range inputs {
		if !strings.Contains(in.Path, "[") {
			rest.Set(in.Path, nil)
		}
	}
	return parts.JSONText(rest)
}

// RestOf reads the text of [Document.Rest]. Any other text is an empty document.
func RestOf(text string) Document {
	if d, err := readDocument([]byte(text)); err == nil && d != nil {
		return d
	}
	return Document{}
}

// To makes a thing of it.
func (d Document) To(v any) error {
	text, err := json.Marshal(d)
	if err == nil {
		err = json.Unmarshal(text, v)
	}
	if err != nil {
		return core.Errorf(core.Invalid, "the form could not be read: %v", err)
	}
	return nil
}

// steps are the parts of a path.
func steps(path string) []string {
	return strings.Split(strings.NewReplacer("[", ".", "]", "").Replace(path), ".")
}

// At is the value of a field.
func (d Document) At(path string) any {
	var now any = map[string]any(d)
	for _, step := range steps(path) {
		switch in := now.(type) {
		case map[string]any:
			now = in[step]
		case []any:
			i, err := strconv.Atoi(step)
			if err != nil || i >= len(in) {
				return nil
			}
			now = in[i]
		default:
			return nil
		}
	}
	return now
}

// Set puts a value at a path of names. nil removes it, with the objects that are
// empty then.
func (d Document) Set(path string, value any) {
	setIn(d, steps(path), value)
}

func setIn(in map[string]any, path []string, value any) {
	if len(path) == 1 {
		if value == nil {
			delete(in, path[0])
		} else {
			in[path[0]] = value
		}
		return
	}
	next, is := in[path[0]].(map[string]any)
	if !is {
		if value == nil {
			return
		}
		next = map[string]any{}
		in[path[0]] = next
	}
	setIn(next, path[1:], value)
	if len(next) == 0 && len(path) == 2 && path[0] != "heartbeat" {
		delete(in, path[0])
	}
}

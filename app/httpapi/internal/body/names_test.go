package body

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"math/rand/v2"
	"reflect"
	"strings"
	"testing"

	"github.com/belfry-run/belfry/core"
)

// named is a type with all that bodies have.
type named struct {
	Name  string            `json:"name"`
	Tags  []string          `json:"tags"`
	Raw   json.RawMessage   `json:"raw"`
	Any   any               `json:"any"`
	Of    map[string]named  `json:"of"`
	Inner *named            `json:"inner"`
	List  []named           `json:"list"`
	Wait  core.Duration     `json:"wait"`
	Texts map[string]string `json:"texts"`
}

// tokenNames finds with the tokens of the decoder what checkStrictly finds, for the type alone.
func tokenNames(dec *json.Decoder, path string, t reflect.Type, fault func(at, message string)) {
	token, err := dec.Token()
	if err != nil {
		return
	}
	t = plainType(t)
	switch token {
	case json.Delim('{'):
		seen := map[string]bool{}
		for dec.More() {
			token, _ := dec.Token()
			name, _ := token.(string)
			at := join(path, name)
			if seen[name] {
				fault(at, "stands twice in its object")
			}
			seen[name] = true
			var inner reflect.Type
			switch {
			case t != nil && t.Kind() == reflect.Map:
				inner = t.Elem()
			case t != nil && t.Kind() == reflect.Struct:
				var known bool
				if inner, known = fieldsOf(t)[name]; !known {
					fault(at, "is not a field here")
				}
			}
			tokenNames(dec, at, inner, fault)
		}
		_, _ = dec.Token()
	case json.Delim('['):
		var item reflect.Type
		if t != nil && (t.Kind() == reflect.Slice || t.Kind() == reflect.Array) {
			item = t.Elem()
		}
		for i := 0; dec.More(); i++ {
			tokenNames(dec, fmt.Sprintf("%s[%d]", path, i), item, fault)
		}
		_, _ = dec.Token()
	}
}

// anyJSON writes some value.
func anyJSON(r *rand.Rand, depth int, b *strings.Builder) {
	space := func() { b.WriteString([]string{"", "", " ", "\n\t", "\r "}[r.IntN(5)]) }
	space()
	defer space()
	switch k := r.IntN(8); {
	case k < 3 && depth > 0:
		b.WriteByte('{')
		for i := range r.IntN([]int{4, 4, 4, 20}[r.IntN(4)]) {
			if i > 0 {
				b.WriteByte(',')
			}
			space()
			b.WriteString([]string{`"name"`, `"Name"`, `"tags"`, `"raw"`, `"any"`, `"of"`, `"inner"`, `"list"`, `""`, `"a\"]}"`, `"\u0061"`, `"a"`, `"\u006eame"`, fmt.Sprintf(`"%d"`, r.IntN(30))}[r.IntN(14)])
			space()
			b.WriteByte(':')
			anyJSON(r, depth-1, b)
		}
		b.WriteByte('}')
	case k < 5 && depth > 0:
		b.WriteByte('[')
		for i := range r.IntN(4) {
			if i > 0 {
				b.WriteByte(',')
			}
			anyJSON(r, depth-1, b)
		}
		b.WriteByte(']')
	default:
		b.WriteString([]string{`"x"`, `"{\"a\\\\"`, `12.5e3`, `-1`, `true`, `null`, `""`, `[]`, `{}`}[r.IntN(9)])
	}
}

// What steps over JSON by itself finds what the decoder finds, whatever stands there.
func TestNamesAreThoseOfTheDecoder(t *testing.T) {
	t.Parallel()
	faulty := 0
	for seed := range uint64(2000) {
		var text strings.Builder
		anyJSON(rand.New(rand.NewPCG(seed, 1)), 3, &text)
		data := []byte(text.String())
		for _, of := range []reflect.Type{reflect.TypeFor[named](), reflect.TypeFor[any](), reflect.TypeFor[[]named]()} {
			var want []string
			tokenNames(json.NewDecoder(bytes.NewReader(data)), "", of, func(at, message string) {
				if at == "" {
					at = "body"
				}
				if len(want) < MaxFaults {
					want = append(want, at+" "+message)
				}
			})
			var got []string
			var fault *core.Error
			if err := checkStrictly(data, of, false); errors.As(err, &fault) {
				for _, f := range fault.Fields {
					got = append(got, f.Field+" "+f.Message)
				}
			}
			if !reflect.DeepEqual(got, want) {
				t.Fatalf("%s as %s:\n%q, want\n%q", data, of, got, want)
			}
			faulty += min(len(want), 1)
		}
	}
	if faulty < 600 {
		t.Errorf("only %d of 6000 had a fault", faulty)
	}
}

// Names of a body are compared with all fields for a hint. A body of many wrong ones is not read on behind those that are named.
func TestFaultsBeyondThoseThatAreNamedAreNotLookedFor(t *testing.T) {
	t.Parallel()
	data := []byte(`{` + strings.Repeat(`"NAMe":1,`, 100_000) + `"name":"n"}`)
	n := strictWalk{data: data}
	n.value(reflect.TypeFor[named]())
	if len(n.faults) != MaxFaults || n.at > 10*MaxFaults {
		t.Errorf("%d faults, and %d of %d bytes were read", len(n.faults), n.at, len(data))
	}
}

package flow

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"
)

func TestKeyValues(t *testing.T) {
	input := json.RawMessage(`{"customer":"acme","n":12.50,"yes":true,"list":[{"id":7}],"a b":{"c":"d"},"none":null,"long":"` + strings.Repeat("x", 300) + `"}`)
	for key, value := range map[string]string{
		"input.customer": "acme", "input.n": "12.50", "input.yes": "true", "input.list[0].id": "7", "input.list[1].id": "",
		`input["a b"].c`: "d", `input?.customer`: "acme", "input.none": "", "input.missing.deep": "", "input.list": "", "input": "",
		`input.customer + "/" + input.n`: "acme/12.50", `'it''s' + task`: "", `'a"b' + "\n" + queue`: "a\"b\nq", "namespace": "ns", "task": "t", "": "",
	} {
		if got := KeyValue(key, KeySource{Namespace: "ns", Task: "t", Queue: "q", Input: input}); got != value {
			t.Errorf("%s is %q, want %q", key, got, value)
		}
	}
	long, longer := KeyValue("input.long", KeySource{Input: input}), KeyValue(`input.long + "y"`, KeySource{Input: input})
	if len(long) > MaxKeyValue || long == longer || !strings.HasPrefix(long, "xxx") {
		t.Errorf("long keys are kept as %q and %q", long, longer)
	}
	for key, why := range map[string]string{
		"output.x": "names", "input.": "a name is expected", "input.x +": "is expected", "input[x]": "brackets", `"open`: "quote", "input.x y": "a + or its end",
		"task.x": "looks into task", "input[1": "bracket", strings.Repeat("a", 501): "over 500", "env('HOME')": "names", `'\x'`: "cannot be read",
	} {
		if err := CheckKey(key); err == nil || !strings.Contains(err.Error(), why) {
			t.Errorf("%s: %v, want one that says %q", key, err, why)
		}
	}
}

// FuzzKey compares the value of a path with that of the whole input, decoded.
func FuzzKey(f *testing.F) {
	f.Add(`input.a["b"][0] + 'c'`, `{"a":{"b":["x"]}}`)
	for _, input := range []string{`{"a":"1","a":2}`, `{"a":-1.50e3}`, `{"a":true}`, `{"a":null}`, ` { "a" : "\u00e9\ud800" } `, `{"a":{"b":1}`, `{"a":[1,]}`, `{"A":1}`, `[1]`, `"x"`, `5`, ``, ` `} {
		f.Add(`input.a`, input)
		f.Add(`input`, input)
		f.Add(`input[0]`, input)
	}
	f.Fuzz(func(t *testing.T, key, input string) {
		err := CheckKey(key)
		v := KeyValue(key, KeySource{Input: json.RawMessage(input)})
		if err != nil && v != "" {
			t.Errorf("%q is refused (%v) and has the value %q", key, err, v)
		}
		if len(v) > MaxKeyValue || strings.Contains(v, "\x00") {
			t.Errorf("%q has the value %q", key, v)
		}
		if want := decodedKey(key, input); v != want {
			t.Errorf("%q of %s has the value %q, want %q", key, input, v, want)
		}
	})
}

// decodedKey is KeyValue by decoding the whole input.
func decodedKey(key, input string) string {
	parts, err := parseKey(key)
	if err != nil {
		return ""
	}
	text := ""
	for _, p := range parts {
		if p.root != "input" {
			text += p.text
			continue
		}
		d := json.NewDecoder(strings.NewReader(input))
		d.UseNumber()
		var v any
		if !json.Valid([]byte(input)) || d.Decode(&v) != nil {
			continue
		}
		for _, step := range p.way {
			if step.isName {
				m, _ := v.(map[string]any)
				v = m[step.name]
			} else if list, _ := v.([]any); step.index < len(list) {
				v = list[step.index]
			} else {
				v = nil
			}
		}
		switch v := v.(type) {
		case string, json.Number, bool:
			text += fmt.Sprint(v)
		}
	}
	return keptKey(text)
}

package flow

import (
	"encoding/json"
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
		if got := KeyValues([]string{key}, KeySource{Namespace: "ns", Task: "t", Queue: "q", Input: input})[0]; got != value {
			t.Errorf("%s is %q, want %q", key, got, value)
		}
	}
	long := KeyValues([]string{"input.long", `input.long + "y"`}, KeySource{Input: input})
	if len(long[0]) > MaxKeyValue || long[0] == long[1] || !strings.HasPrefix(long[0], "xxx") {
		t.Errorf("long keys are kept as %q", long)
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

func FuzzKey(f *testing.F) {
	f.Add(`input.a["b"][0] + 'c'`, `{"a":{"b":["x"]}}`)
	f.Fuzz(func(t *testing.T, key, input string) {
		err := CheckKey(key)
		v := KeyValues([]string{key}, KeySource{Input: json.RawMessage(input)})[0]
		if err != nil && v != "" {
			t.Errorf("%q is refused (%v) and has the value %q", key, err, v)
		}
		if len(v) > MaxKeyValue || strings.Contains(v, "\x00") {
			t.Errorf("%q has the value %q", key, v)
		}
	})
}

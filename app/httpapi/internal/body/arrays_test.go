package body

import (
	"encoding/json"
	"strings"
	"testing"
)

func TestArraysAreFilledInACopy(t *testing.T) {
	t.Parallel()
	type inner struct {
		Names []string `json:"names"`
		Left  []string `json:"left,omitempty"`
		Raw   []byte   `json:"raw,omitempty"`
	}
	type outer struct {
		inner
		One   *inner           `json:"one"`
		All   []inner          `json:"all"`
		By    map[string]inner `json:"by"`
		Any   any              `json:"any"`
		Times json.RawMessage  `json:"times,omitempty"`
	}
	v := outer{One: &inner{}, All: []inner{{Names: []string{"a"}}, {}}, By: map[string]inner{"k": {}}, Any: []inner(nil)}
	was, err := json.Marshal(v)
	if err != nil {
		t.Fatal(err)
	}
	full, err := FullArrays(nil, "200", v)
	if err != nil {
		t.Fatal(err)
	}
	got, err := json.Marshal(full)
	if err != nil {
		t.Fatal(err)
	}
	if want := strings.ReplaceAll(string(was), "null", "[]"); !strings.Contains(want, "[]") || string(got) != strings.Replace(want, `{"names":[]`, `{"names":null`, 1) && string(got) != want {
		t.Errorf("got  %s\nwant %s", got, want)
	}
	if now, _ := json.Marshal(v); string(now) != string(was) {
		t.Errorf("the value itself was changed: %s", now)
	}
	whole := struct {
		inner
		Inner []inner `json:"inner,omitempty"`
	}{inner: inner{Names: []string{}}, Inner: []inner{{Names: []string{}}}} // Left is left out, nil or empty
	if same, _ := FullArrays(nil, "200", &whole); same != any(&whole) {
		t.Error("a whole value is copied")
	}
	whole.Inner[0].Names = nil
	full, err = FullArrays(nil, "200", &whole)
	if err != nil {
		t.Fatal(err)
	}
	if got, err = json.Marshal(full); err != nil || string(got) != `{"names":[],"inner":[{"names":[]}]}` {
		t.Errorf("got %s, %v", got, err)
	}
}

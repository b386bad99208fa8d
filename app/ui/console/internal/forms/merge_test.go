package forms

import (
	"encoding/json"
	"testing"
)

func TestMergedJSON(t *testing.T) {
	for _, tt := range []struct{ what, opened, saved, typed, want string }{
		{"each changed another field", `{"a":1,"b":1}`, `{"a":2,"b":1}`, `{"a":1,"b":3}`, `{"a":2,"b":3}`},
		{"both changed a field", `{"a":1}`, `{"a":2}`, `{"a":3}`, `{"a":3}`},
		{"both made the same change", `{"a":1}`, `{"a":2}`, `{"a":2}`, `{"a":2}`},
		{"a field was added and one removed", `{"a":1}`, `{"a":1,"b":2}`, `{}`, `{"b":2}`},
		{"the other removed a field", `{"a":1,"b":1}`, `{"b":1}`, `{"a":1,"b":2}`, `{"b":2}`},
		{"both added an object", `{}`, `{"o":{"a":1}}`, `{"o":{"b":2}}`, `{"o":{"a":1,"b":2}}`},
		{"one removed an object in which the other changed a field", `{"o":{"a":1,"b":1}}`, `{}`, `{"o":{"a":1,"b":2}}`, `{"o":{"a":1,"b":2}}`},
		{"the same, the other way round", `{"o":{"a":1,"b":1}}`, `{"o":{"a":1,"b":2}}`, `{}`, `{}`},
		{"the other changed a list", `{"l":[1,2],"a":1}`, `{"l":[2]}`, `{"l":[1,2],"a":2}`, `{"a":2,"l":[2]}`},
		{"both changed a list", `{"l":[{"n":1},{"n":2}]}`, `{"l":[{"n":1},{"n":3}]}`, `{"l":[{"n":0},{"n":1},{"n":2}]}`, `{"l":[{"n":0},{"n":1},{"n":2}]}`},
		{"no list is an empty one", `{"l":[],"m":[{"k":null}]}`, `{"m":[{}]}`, `{"l":[1]}`, `{"l":[1]}`},
		{"texts and numbers differ", `{"a":"1"}`, `{"a":1}`, `{"a":"1","b":2}`, `{"a":1,"b":2}`},
		{"large numbers", `{"a":9007199254740993}`, `{"a":9007199254740992}`, `{"a":9007199254740993,"b":1}`, `{"a":9007199254740992,"b":1}`},
		{"what only one changed stays as it is written", `{"in":{"b":1,"a":2},"x":1}`, `{"in":{"b":1,"a":2},"x":2}`, `{"in":{"b":3,"a":2},"x":1}`, `{"in":{"b":3,"a":2},"x":2}`},
	} {
		if got := mergeJSON(json.RawMessage(tt.opened), json.RawMessage(tt.saved), json.RawMessage(tt.typed)); string(got) != tt.want {
			t.Errorf("%s: %s, want %s", tt.what, got, tt.want)
		}
	}
}

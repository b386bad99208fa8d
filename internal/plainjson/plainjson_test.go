package plainjson

import (
	"encoding/json"
	"reflect"
	"testing"
)

func TestUnescape(t *testing.T) {
	for _, tt := range []struct{ text, want string }{
		{`{"a":"x \u0026\u0026 y \u003e\u00262"}`, `{"a":"x && y >&2"}`},
		{`"\u003C"`, `"<"`},
		{`"\\u0026"`, `"\\u0026"`}, // a backslash and five letters
		{`"\\\u0026"`, `"\\&"`},    // a backslash and an ampersand
		{`"\u0022\u005c\u0000"`, `"\u0022\u005c\u0000"`},
		{`"\u002`, `"\u002`},
		{`\`, `\`},
	} {
		if got := string(Unescape([]byte(tt.text))); got != tt.want {
			t.Errorf("Unescape(%s) = %s, want %s", tt.text, got, tt.want)
		}
	}
}

func FuzzUnescape(f *testing.F) {
	f.Add(`{"a":"\u0026\\u0026\\\u003c"}`)
	f.Fuzz(func(t *testing.T, text string) {
		var before, after any
		if json.Unmarshal([]byte(text), &before) != nil {
			return
		}
		if err := json.Unmarshal(Unescape([]byte(text)), &after); err != nil || !reflect.DeepEqual(before, after) {
			t.Errorf("%s became another value: %v", text, err)
		}
	})
}

func TestMarshal(t *testing.T) {
	text, err := Marshal(map[string]any{"shell": "a && b > c", "raw": json.RawMessage(`"\u003cb\u003e"`)})
	if want := `{"raw":"<b>","shell":"a && b > c"}`; err != nil || string(text) != want {
		t.Errorf("%s, want %s, %v", text, want, err)
	}
}

package config

import (
	"bytes"
	"encoding/json"
	"testing"

	"github.com/belfry-run/belfry/core"
	"github.com/belfry-run/belfry/task"
	"github.com/belfry-run/belfry/view"
)

func TestWriteYAMLIsReadable(t *testing.T) {
	t.Parallel()
	var b bytes.Buffer
	err := WriteYAML(&b, map[string]any{"a": []any{
		map[string]any{"name": "x", "empty": map[string]any{}, "shell": "echo \"hi\" | cat\ndone\n", "count": 1.50, "quoted": "0755"},
		"plain text", []any{1, 2}, []any{}, nil,
	}, "url": "https://example.com/?a=b", "cron": "0 3 * * *"})
	want := `a:
  - count: 1.5
    empty: {}
    name: x
    quoted: "0755"
    shell: |
      echo "hi" | cat
      done
  - plain text
  -
    - 1
    - 2
  - []
  - null
cron: "0 3 * * *"
url: https://example.com/?a=b
`
	if err != nil || b.String() != want {
		t.Errorf("%v, got\n%s\nwant\n%s", err, b.String(), want)
	}
}

// FuzzWriteYAML: whatever text a definition holds, what is written as YAML is
// read again as the same.
func FuzzWriteYAML(f *testing.F) {
	for _, s := range []string{"", "yes", "0755", "1e3", "null", "~", " x ", "a: b", "- a", "# c", "'", `"`, "a\nb", "a\n", "\na", "a\n\n", "\ta", "  a\nb", "|", ">", "%", "@", "`", "&a", "*a", "!t", "{x}", "[y]", "2026-01-01", "é😀", "a\\b", "a\r\nb", "\u0085", "\u2028", "---", "...", ".inf", "0x1", "1_000", "=", "<<", "? a", ":", "a #b", "a:", "\x01", "x\n y\n", "\u007f"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, text string) {
		clean, cut := core.CleanText(text, 4096)
		if cut || clean != text {
			return
		}
		raw, err := json.Marshal(map[string]any{"text": text, "list": []any{text, 1.5, nil, true}})
		if err != nil {
			t.Fatal(err)
		}
		in := view.Manifest{Tasks: []task.Task{{Name: "a", Input: raw, Description: text, Command: &task.Command{
			Shell: text, Argv: []string{text, "x"}, Env: map[string]string{"A": text},
		}}}}
		var out bytes.Buffer
		if err := WriteYAML(&out, in); err != nil {
			t.Fatal(err)
		}
		var back view.Manifest
		if err := Decode(Source{Name: "out.yaml", Text: out.Bytes()}, "manifest", &back); err != nil {
			t.Fatalf("%v\n%s", err, out.String())
		}
		a, _ := json.Marshal(in)
		b, _ := json.Marshal(back)
		if !bytes.Equal(a, b) {
			t.Fatalf("%q changed on the way:\n%s\n%s\n%s", text, a, out.String(), b)
		}
	})
}

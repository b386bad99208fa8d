package body

import (
	"encoding/json"
	"testing"
	"unicode/utf8"

	"github.com/belfry-run/belfry/task"
)

func FuzzStrictBodies(f *testing.F) {
	for _, body := range []string{`{"name":"x","http":{"url":"u"}}`, `{"Name":"x"}`, `{"tags":["\ud800"]}`, "{\"input\":{\"a\":1,\"a\":2}}"} {
		f.Add([]byte(body))
	}
	f.Fuzz(func(t *testing.T, body []byte) {
		var tk task.Task
		if Decode(body, &tk) != nil {
			return
		}
		if !utf8.Valid(body) {
			t.Fatalf("%q is taken", body)
		}
		again, err := json.Marshal(tk)
		if err != nil {
			return // a raw value that no writer repeats
		}
		var same task.Task
		if err := Decode(again, &same); err != nil {
			t.Fatalf("%s, which %s became: %v", again, body, err)
		}
	})
}

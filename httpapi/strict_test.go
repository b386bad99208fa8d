package httpapi

import (
	"encoding/json"
	"errors"
	"testing"
	"unicode/utf8"

	"github.com/belfry-run/belfry/core"
	"github.com/belfry-run/belfry/task"
)

func TestBodiesThatCanBeReadInTwoWaysAreRefused(t *testing.T) {
	t.Parallel()
	for body, field := range map[string]string{
		`{"NAME":"x"}`:                                  "NAME",
		`{"name":"x","Name":"y"}`:                       "Name",
		`{"name":"x","name":"y"}`:                       "name",
		`{"name":"x","http":{"url":"u","url":"v"}}`:     "http.url",
		`{"name":"x","http":{"headers":{"a":1,"a":2}}}`: "http.headers.a",
		`{"name":"x","input":{"a":[{"b":1,"b":1}]}}`:    "input.a[0].b",
		"{\"name\":\"x\xff\"}":                          "body",
		`{"name":"\ud800"}`:                             "body",
		`{"name":"\udc00\ud800"}`:                       "body",
		`{"name":"\ud83dx"}`:                            "body",
	} {
		var task task.Task
		var e *core.Error
		if err := decode([]byte(body), &task); !errors.As(err, &e) || len(e.Fields) != 1 || e.Fields[0].Field != field {
			t.Errorf("%s: %+v", body, err)
		}
	}
	for _, body := range []string{
		`{"name":"\ud83d\ude00 \\ud800 \" é"}`, `{"name":"x","input":{"NAME":1,"Name":2}}`, `{"command":{"env":{"A":"1","a":"2"}}}`,
	} {
		var task task.Task
		if err := decode([]byte(body), &task); err != nil {
			t.Errorf("%s: %v", body, err)
		}
	}
	var jobs newJobs
	if err := decode([]byte(`{"jobs":[{"task":"t","task":"u"}]}`), &jobs); core.CodeOf(err) != core.Invalid {
		t.Errorf("of a batch: %v", err)
	}
}

func FuzzStrictBodies(f *testing.F) {
	for _, body := range []string{`{"name":"x","http":{"url":"u"}}`, `{"Name":"x"}`, `{"tags":["\ud800"]}`, "{\"input\":{\"a\":1,\"a\":2}}"} {
		f.Add([]byte(body))
	}
	f.Fuzz(func(t *testing.T, body []byte) {
		var tk task.Task
		if decode(body, &tk) != nil {
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
		if err := decode(again, &same); err != nil {
			t.Fatalf("%s, which %s became: %v", again, body, err)
		}
	})
}

package jobs

import (
	"errors"
	"testing"

	"github.com/belfry-run/belfry/app/httpapi/internal/body"
	"github.com/belfry-run/belfry/core"
	"github.com/belfry-run/belfry/task"
)

func TestBodiesThatCanBeReadInTwoWaysAreRefused(t *testing.T) {
	t.Parallel()
	for text, field := range map[string]string{
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
		var one task.Task
		var e *core.Error
		if err := body.Decode([]byte(text), &one); !errors.As(err, &e) || len(e.Fields) != 1 || e.Fields[0].Field != field {
			t.Errorf("%s: %+v", text, err)
		}
	}
	for _, text := range []string{
		`{"name":"\ud83d\ude00 \\ud800 \" é"}`, `{"name":"x","input":{"NAME":1,"Name":2}}`, `{"command":{"env":{"A":"1","a":"2"}}}`,
	} {
		var one task.Task
		if err := body.Decode([]byte(text), &one); err != nil {
			t.Errorf("%s: %v", text, err)
		}
	}
	var several newJobs
	if err := body.Decode([]byte(`{"jobs":[{"task":"t","task":"u"}]}`), &several); core.CodeOf(err) != core.Invalid {
		t.Errorf("of a batch: %v", err)
	}
}

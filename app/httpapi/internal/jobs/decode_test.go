package jobs

import (
	"encoding/json"
	"errors"
	"testing"

	"github.com/belfry-run/belfry/app/httpapi/internal/body"
	"github.com/belfry-run/belfry/core"
	"github.com/belfry-run/belfry/httpapi/wire"
	"github.com/belfry-run/belfry/schedule"
	"github.com/belfry-run/belfry/task"
	"github.com/belfry-run/belfry/view"
)

func FuzzDecode(f *testing.F) {
	for _, text := range []string{`{}`, `{"rules":[{"every":5}]}`, `{"retry":{"x":[]}}`, `null`, `[`, `{"name":"\u0000"}`, `{"NAME":"a","Name":3}`, "{\"a\":1}\x00", `{"input":{"deep":[[[]]]}}`} {
		f.Add([]byte(text))
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		for _, v := range []any{new(schedule.Schedule), new(task.Task), new(view.Manifest), new(schedule.LookQuery), new(newJobs), new(wire.SessionFinish)} {
			err := body.Decode(data, v)
			var e *core.Error
			switch {
			case err == nil && !json.Valid(data):
				t.Errorf("accepted %q", data)
			case err != nil && !errors.As(err, &e):
				t.Errorf("%q: a bare error %v", data, err)
			case err != nil && (e.Code != core.Invalid || len(e.Fields) > body.MaxFaults):
				t.Errorf("%q: %v", data, err)
			}
		}
	})
}

package body

import (
	"fmt"
	"strings"
	"testing"

	"github.com/belfry-run/belfry/core"
	"github.com/belfry-run/belfry/httpapi/wire"
	"github.com/belfry-run/belfry/view"
)

func listed(name, item string, n int) []byte {
	return []byte(`{"` + name + `":[` + strings.TrimSuffix(strings.Repeat(item+",", n), ",") + `]}`)
}

func TestABodyThatWouldHoldTooMuchIsNotRead(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		into any
		data []byte
	}{
		"empty jobs":          {new(wire.NewJobBatch), listed("jobs", "{}", 1_000_000)},
		"numbers for jobs":    {new(wire.NewJobBatch), listed("jobs", "1", 2_000_000)},
		"empty tasks":         {new(view.Manifest), listed("tasks", "{}", 1_000_000)},
		"pointers":            {new(view.Manifest), listed("tasks", `{"http":{}}`, 1_000_000)},
		"attempts of workers": {new(wire.SessionFinish), listed("attempts", "{}", 1_300_000)},
	} {
		if err := Decode(c.data, c.into); core.CodeOf(err) != core.TooLarge {
			t.Errorf("%s: %v", name, err)
		}
	}
	for name, c := range map[string]struct {
		into any
		data []byte
	}{
		"a full batch":      {new(wire.NewJobBatch), listed("jobs", `{"task":"a","input":{"list":[1,2,3]}}`, core.MaxBatch)},
		"a large manifest":  {new(view.Manifest), listed("tasks", `{"name":"a","command":{"argv":["true"]}}`, 50_000)},
		"an input of lists": {new(wire.NewJobBatch), []byte(fmt.Sprintf(`{"jobs":[{"task":"a","input":[%s0]}]}`, strings.Repeat("[],", 1_000_000)))},
	} {
		if err := Decode(c.data, c.into); err != nil {
			t.Errorf("%s: %v", name, err)
		}
	}
}

// Only so many faults are named, and no more are looked for.
func TestFaultsHaveABound(t *testing.T) {
	t.Parallel()
	var b strings.Builder
	for i := range 100_000 {
		fmt.Fprintf(&b, `"field%d":1,`, i)
	}
	err := Decode([]byte("{"+b.String()+`"jobs":1}`), new(wire.NewJobBatch))
	if e, is := err.(*core.Error); !is || len(e.Fields) != MaxFaults { //nolint:errorlint // it is not wrapped
		t.Errorf("%.200v", err)
	}
}

package flow_test

import (
	"reflect"
	"testing"

	"github.com/belfry-run/belfry/core"
	"github.com/belfry-run/belfry/flow"
)

func TestLimitsAreReadAsTheyAreWritten(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]flow.Limit{
		"running=5":                     {Name: "1", Running: 5},
		"key=input.a,rate=100/1m":       {Name: "1", Key: "input.a", Rate: "100/1m", Burst: 1},
		"name=all,rate=5/s,burst=10":    {Name: "all", Rate: "5/s", Burst: 10},
		" key = input.a , running = 2 ": {Name: "1", Key: "input.a", Running: 2},
	} {
		read, err := flow.ParseLimits("limits", []string{"", text})
		if err != nil {
			t.Fatalf("%s: %v", text, err)
		}
		all := flow.LimitsWithDefaults(read)
		if len(all) != 1 || all[0] != want {
			t.Errorf("%s: %+v, want %+v", text, all, want)
		}
		again, err := flow.ParseLimits("limits", flow.LimitTexts(all))
		if err != nil || !reflect.DeepEqual(flow.LimitsWithDefaults(again), all) {
			t.Errorf("%s: written and read again: %+v, %v", text, again, err)
		}
	}
	if none, err := flow.ParseLimits("limits", []string{"none"}); len(none) != 0 || err != nil {
		t.Errorf("none: %+v, %v", none, err)
	}
	for _, bad := range []string{"five", "running=x", "runs=5", "key=a,,running=1"} {
		if _, err := flow.ParseLimits("limits", []string{bad}); core.CodeOf(err) != core.Invalid {
			t.Errorf("%s: %v", bad, err)
		}
	}
}

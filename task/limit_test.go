package task

import (
	"strings"
	"testing"

	"github.com/belfry-run/belfry/flow"
)

func TestLimitsThatCannotHoldAreRefused(t *testing.T) {
	for _, c := range []struct {
		limit flow.Limit
		says  string
	}{
		{flow.Limit{}, "belfry queue pause"}, {flow.Limit{Running: -1}, "outside 1"}, {flow.Limit{Rate: "0/1m"}, "lets nothing begin"}, {flow.Limit{Rate: "5"}, "100/1m"},
		{flow.Limit{Rate: "5/0s"}, "length of time"}, {flow.Limit{Rate: "1000000/1s"}, "10000 a second"}, {flow.Limit{Rate: "1/1000d"}, "over more than"},
		{flow.Limit{Running: 1, Burst: 3}, "needs a rate"}, {flow.Limit{Running: 1, Key: "1+1"}, "input"}, {flow.Limit{Running: 1, Key: "input." + strings.Repeat("x", 10_000)}, "over 500"},
	} {
		err := Task{Name: "t", Kind: KindFunc, Limits: []flow.Limit{c.limit}}.WithDefaults().Validate()
		if err == nil || !strings.Contains(err.Error(), c.says) {
			t.Errorf("%+v: %v, want one that says %q", c.limit, err, c.says)
		}
	}
	for _, rate := range []string{"100/1m", "5/s", "1000/24h", "1/m", "7 / 1m30s"} {
		if err := (Task{Name: "t", Kind: KindFunc, Limits: []flow.Limit{{Rate: rate}}}).WithDefaults().Validate(); err != nil {
			t.Errorf("%s: %v", rate, err)
		}
	}
	if err := (Task{Name: "t", Kind: KindFunc, Limits: []flow.Limit{{Name: "a", Running: 1}, {Name: "a", Running: 2}}}).WithDefaults().Validate(); err == nil {
		t.Error("two limits of one name are accepted")
	}
}

package jobs

import (
	"strings"
	"testing"
)

func TestHeadsReadNoInputsAndOutputs(t *testing.T) {
	for _, whole := range []string{SelectLive, selectHeld, SelectDone} {
		heads := HeadsOf(whole)
		if n, m := strings.Count(whole, ","), strings.Count(heads, ","); n != m || strings.Contains(heads, "put,") || !strings.Contains(whole, " input,") {
			t.Errorf("of\n%s\nthe heads are\n%s", whole, heads)
		}
	}
}

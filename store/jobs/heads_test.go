package jobs

import (
	"strings"
	"testing"
)

func TestHeadsReadNoInputsAndOutputs(t *testing.T) {
	for whole, heads := range map[string]string{SelectLive: liveHeads, selectHeld: heldHeads, SelectDone: DoneHeads} {
		if n, m := strings.Count(whole, ","), strings.Count(heads, ","); n != m || strings.Contains(heads, "put,") || !strings.Contains(whole, " input,") {
			t.Errorf("of\n%s\nthe heads are\n%s", whole, heads)
		}
	}
}

package monitors

import (
	"testing"
)

func TestPercentNeverRoundsUpToWhole(t *testing.T) {
	t.Parallel()
	for ratio, want := range map[float64]string{1: "100%", 0: "0%", 0.5: "50%", 0.9999999: "99.999%", 0.99987: "99.987%", 0.123456: "12.345%", 0.29: "29%"} {
		if got := percent(ratio); got != want {
			t.Errorf("%v: got %s, want %s", ratio, got, want)
		}
	}
}

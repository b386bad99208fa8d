package history

import "testing"

// TestACutCountIsNoFigure has numbers at both sides of the limit of a count.
func TestACutCountIsNoFigure(t *testing.T) {
	t.Parallel()
	for n, want := range map[int64]string{0: "0", 3: "3", 10_000: "10000", 10_001: "over 10000"} {
		if got := counted(n); got != want {
			t.Errorf("%d is %q, want %q", n, got, want)
		}
	}
}

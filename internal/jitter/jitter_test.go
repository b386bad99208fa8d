package jitter

import (
	"testing"
	"time"
)

func TestWaitsAreSpreadUntilTheyAreFixed(t *testing.T) {
	seen := map[time.Duration]bool{}
	for range 100 {
		d := N(time.Hour)
		if d < 0 || d >= time.Hour {
			t.Fatalf("N(1h) = %s, want from 0s up to 1h", d)
		}
		seen[d] = true
	}
	if len(seen) < 90 {
		t.Errorf("100 draws have %d values, want nearly all different", len(seen))
	}
	release := Fix(func(n time.Duration) time.Duration { return n / 4 })
	if d := N(time.Hour); d != 15*time.Minute {
		t.Errorf("fixed N(1h) = %s, want 15m", d)
	}
	release()
	if a, b := N(time.Hour), N(time.Hour); a == b {
		t.Errorf("after the release two draws are both %s", a)
	}
}

package store

import (
	"testing"
	"time"
)

func TestWhatIsTakenForASettingOfTheClock(t *testing.T) {
	now := time.Date(2026, 3, 2, 12, 0, 0, 0, time.UTC)
	for _, c := range []struct {
		name   string
		by     time.Duration
		seen   time.Duration // how long ago anybody looked
		wanted time.Duration
	}{
		{"slewing forward", 400 * time.Millisecond, time.Second, 0},
		{"slewing back", -400 * time.Millisecond, time.Second, 0},
		{"set back", -time.Hour, 0, -time.Hour},
		{"set forward", time.Hour, time.Hour + time.Second, time.Hour},
		{"set forward by little", 5 * time.Second, 6 * time.Second, 5 * time.Second},
		{"this process stood still, and another saw the time pass", time.Hour, 3 * time.Second, 0},
	} {
		if got := plausible(c.by, now, now.Add(-c.seen)); got != c.wanted {
			t.Errorf("%s: %s, want %s", c.name, got, c.wanted)
		}
	}
}

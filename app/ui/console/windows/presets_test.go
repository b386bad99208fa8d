package windows

import (
	"testing"
	"time"
)

func TestPresets(t *testing.T) {
	t.Parallel()
	sofia, err := time.LoadLocation("Europe/Sofia")
	if err != nil {
		t.Fatal(err)
	}
	for _, tt := range []struct{ preset, now, want string }{
		{"tonight", "2026-03-28T15:20", "tonight-2026-03-28 2026-03-28T22:00 2026-03-29T06:00"}, // the night in which clocks go forward
		{"tonight", "2026-03-28T23:10", "tonight-2026-03-28 2026-03-28T23:10 2026-03-29T06:00"},
		{"tonight", "2026-03-29T02:10", "tonight-2026-03-28 2026-03-29T02:10 2026-03-29T06:00"},
		{"tonight", "2026-03-29T06:00", "tonight-2026-03-29 2026-03-29T22:00 2026-03-30T06:00"},
		{"hour", "2026-12-31T23:30", "hour-2026-12-31-2330 2026-12-31T23:30 2027-01-01T00:30"},
		{"", "2026-12-31T23:30", " 0001-01-01T00:00 0001-01-01T00:00"},
		{"year", "2026-12-31T23:30", " 0001-01-01T00:00 0001-01-01T00:00"},
	} {
		now, err := time.ParseInLocation(timeLayout, tt.now, sofia)
		if err != nil {
			t.Fatal(err)
		}
		name, from, to := presetOf(tt.preset, now.Add(30*time.Second))
		if got := name + " " + from.Format(timeLayout) + " " + to.Format(timeLayout); got != tt.want {
			t.Errorf("%s at %s: %q, want %q", tt.preset, tt.now, got, tt.want)
		}
	}
}

package cli

import (
	"strings"
	"testing"
	"time"

	"github.com/belfry-run/belfry/core"
)

// People write times as they are called where they are, whatever zone a
// schedule has.
func TestTimesFromNow(t *testing.T) {
	t.Parallel()
	now := time.Date(2026, 11, 21, 12, 0, 0, 0, time.UTC)
	here := func(day, hour int) time.Time { return time.Date(2026, 11, day, hour, 0, 0, 0, time.Local) }
	for text, want := range map[string]struct{ before, expiry time.Time }{
		"":                     {},
		"1h":                   {now.Add(-time.Hour), now.Add(time.Hour)},
		"2026-11-20":           {here(20, 0), here(20, 0)},
		"2026-11-20 18:00":     {here(20, 18), here(20, 18)},
		"2026-11-20T18:00:00Z": {time.Date(2026, 11, 20, 18, 0, 0, 0, time.UTC), time.Date(2026, 11, 20, 18, 0, 0, 0, time.UTC)},
	} {
		var since, until time.Time
		if err := Before(now, "--since", text, &since); err != nil || !since.Equal(want.before) {
			t.Errorf("before %q is %s, want %s: %v", text, since, want.before, err)
		}
		if err := Expiry(now, text, &until); err != nil || !until.Equal(want.expiry) {
			t.Errorf("expiry %q is %s, want %s: %v", text, until, want.expiry, err)
		}
	}
	var to time.Time
	if err := Before(now, "--since", "tomorrow", &to); core.CodeOf(err) != core.Invalid || !strings.Contains(err.Error(), "--since") {
		t.Errorf("tomorrow: %v", err)
	}
}

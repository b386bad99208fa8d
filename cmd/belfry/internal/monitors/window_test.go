package monitors

import (
	"strings"
	"testing"
	"time"

	"github.com/belfry-run/belfry/monitor"
	"github.com/belfry-run/belfry/schedule"
)

func TestAWindowThatBeganInThePastSaysWhatItTakes(t *testing.T) {
	t.Parallel()
	now := time.Date(2026, 3, 2, 10, 0, 0, 0, time.UTC)
	for name, c := range map[string]struct {
		window monitor.Window
		says   bool
	}{
		"an hour ago":          {monitor.Window{From: now.Add(-time.Hour), To: now.Add(time.Hour), Zone: "UTC"}, true},
		"now":                  {monitor.Window{From: now.Add(-2 * time.Second), To: now.Add(time.Hour), Zone: "UTC"}, false},
		"to come":              {monitor.Window{From: now.Add(time.Hour), To: now.Add(2 * time.Hour), Zone: "UTC"}, false},
		"again and again":      {monitor.Window{Rules: []schedule.Rule{{Cron: "0 3 * * *"}}, Zone: "UTC"}, false},
		"an hour ago, but off": {monitor.Window{From: now.Add(-time.Hour), To: now.Add(time.Hour), Zone: "UTC", Off: true}, false},
	} {
		if note := begunNote(c.window, now); strings.Contains(note, "2026-03-02 09:00:00 UTC") != c.says || (note != "") != c.says {
			t.Errorf("%s: %q", name, note)
		}
	}
}

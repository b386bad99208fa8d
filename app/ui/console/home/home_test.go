package home

import (
	"strings"
	"testing"
	"time"

	"github.com/belfry-run/belfry/schedule"
)

var homeNow = time.Date(2026, 11, 21, 12, 43, 5, 0, time.UTC)

func TestTimelineOfHours(t *testing.T) {
	at := func(d time.Duration) time.Time { return homeNow.Add(d).Truncate(time.Hour) }
	line := newTimeline(schedule.Forecast{Partial: true, Until: at(10 * time.Hour), Hours: []schedule.LoadHour{
		{Hour: at(0), Starts: 7, Most: 5, Minute: homeNow.Truncate(time.Minute), Top: []schedule.LoadOf{{Schedule: "a"}}}, {Hour: at(20 * time.Hour), Starts: 1}, {Hour: at(48 * time.Hour), Starts: 9},
	}}, homeNow)
	if line.Total != 8 || line.Most != 7 || !line.Partial || line.Slots[0].Starts != 7 || line.Slots[0].Most != 5 || len(line.Slots[0].Often()) != 1 {
		t.Errorf("%+v", line)
	}
	if said := line.Slots[0].Said(); !strings.Contains(said, "12:00 to 13:00 UTC: 7 starts") {
		t.Error(said)
	}
	for i, s := range line.Slots {
		if cut := i >= 10; s.Cut != cut || strings.Contains(s.Said(), "not all are counted") != cut {
			t.Errorf("of slot %d: %q", i, s.Said())
		}
		if y := line.Y(s); y < 0 || y > 94 {
			t.Errorf("%+v is drawn at %d", s, y)
		}
	}
}

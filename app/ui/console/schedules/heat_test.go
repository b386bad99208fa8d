package schedules

import (
	"strings"
	"testing"
	"time"

	"github.com/belfry-run/belfry/view"
)

// The map ends with today where the schedule is, and every day has a cell.
func TestYearHeatIsOfTheSchedulesZone(t *testing.T) {
	now := time.Date(2026, 11, 23, 23, 30, 0, 0, time.UTC) // the 24th in Sofia
	h := yearHeat([]view.DayTotals{{Day: time.Date(2026, 11, 24, 0, 0, 0, 0, time.UTC), OK: 2}}, "Europe/Sofia", now)
	last := h.Cells[len(h.Cells)-1]
	if last.Title != "Tue 24 Nov 2026: 2 succeeded" || last.Level == 0 || !strings.Contains(h.Note, "in Europe/Sofia") {
		t.Errorf("%+v %s", last, h.Note)
	}
	if n := len(h.Cells); n < 365 || n > 372 {
		t.Errorf("%d cells", n)
	}
	if !strings.HasSuffix(h.Cells[0].Title, ": nothing") {
		t.Error(h.Cells[0].Title)
	}
}

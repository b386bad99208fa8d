package tasks

import (
	"testing"
	"time"

	"github.com/belfry-run/belfry/app/ui/console/internal/parts"
	"github.com/belfry-run/belfry/view"
)

func TestGrid(t *testing.T) {
	today := time.Date(2026, 3, 14, 0, 0, 0, 0, time.UTC)
	day := func(n int) time.Time { return today.AddDate(0, 0, -n) }
	g := newGrid([]view.DayTotals{
		{Day: day(20), OK: 1000}, // too long ago
		{Day: day(13), OK: 9, Failed: 3, Canceled: 1},
		{Day: day(2), Canceled: 2, Skipped: 1},
		{Day: day(1), OK: 5000, Failed: 1},
		{Day: day(0), Failed: 2},
	}, today)
	if len(g.Cells) != 14 || g.Said != "5009 succeeded, 6 failed" {
		t.Fatalf("%d cells, %q", len(g.Cells), g.Said)
	}
	for i, want := range map[int]gridCell{
		0:  {0, 18, 4, "good", "Sun 1 Mar: 9 succeeded, 3 failed, 1 canceled"},
		1:  {8, 2, 0, "none", "Mon 2 Mar: nothing ended"},
		11: {88, 18, 0, "idle", "Thu 12 Mar: 2 canceled, 1 skipped"},
		12: {96, 18, 3, "good", "Fri 13 Mar: " + parts.NumberText(5000) + " succeeded, 1 failed"},
		13: {104, 18, 18, "good", "Sat 14 Mar: 2 failed"},
	} {
		if g.Cells[i] != want {
			t.Errorf("cell %d is %+v, want %+v", i, g.Cells[i], want)
		}
	}
}

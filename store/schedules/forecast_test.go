package schedules

import (
	"database/sql"
	"encoding/json"
	"strings"
	"testing"

	"github.com/belfry-run/belfry/schedule"
)

// oneRow is a row of a schedule's document.
type oneRow struct{ doc string }

func (oneRow) Next() bool { return false }
func (oneRow) Err() error { return nil }
func (oneRow) Close()     {}

func (r oneRow) Scan(dest ...any) error {
	for i, d := range dest {
		switch d := d.(type) {
		case *string:
			if *d = "n"; i == 3 {
				*d = r.doc
			}
		case sql.Scanner:
			if err := d.Scan(int64(0)); err != nil {
				return err
			}
		}
	}
	return nil
}

// TestAForecastKeepsNoLargeInputs reads a small and a large schedule of the same times.
func TestAForecastKeepsNoLargeInputs(t *testing.T) {
	t.Parallel()
	s := schedule.Schedule{Name: "n", Task: "t", Rules: []schedule.Rule{{Cron: "0 9 * * 1"}}, Zone: "Europe/Sofia", Input: json.RawMessage(`"small"`)}.WithDefaults()
	small, err := scanTimed(oneRow{ScheduleDoc(s)})
	if err != nil || !strings.Contains(small.doc, "small") {
		t.Fatalf("%v: %s", err, small.doc)
	}
	s.Input = json.RawMessage(`"` + strings.Repeat("x", 200<<10) + `"`)
	large, err := scanTimed(oneRow{ScheduleDoc(s)})
	if err != nil || len(large.doc) > len(small.doc) {
		t.Fatalf("%v: %d bytes", err, len(large.doc))
	}
	of, shared := timesKeyOf(large.doc)
	if same, _ := timesKeyOf(small.doc); of != same || !shared {
		t.Errorf("times %v, want %v", of, same)
	}
}

package wall

import (
	"testing"
	"time"

	"github.com/belfry-run/belfry/cron/internal/civil"
)

func TestSpansCoverTime(t *testing.T) {
	for _, zone := range []string{"America/New_York", "Australia/Lord_Howe", "Africa/Casablanca", "UTC", "Asia/Tokyo"} {
		loc, err := time.LoadLocation(zone)
		if err != nil {
			t.Fatal(err)
		}
		for u := civil.DayOf(1850, 1, 1) * civil.DaySecs; u < civil.DayOf(2100, 1, 1)*civil.DaySecs; {
			s := SpanAt(loc, u)
			if s.Start > u || s.End <= u {
				t.Fatalf("%s: span %v does not hold %d", zone, s, u)
			}
			if u = s.End; s.End == civil.None {
				break
			}
		}
	}
}

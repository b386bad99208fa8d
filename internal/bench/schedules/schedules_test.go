//go:build linux

package schedules

import (
	"testing"
	"time"

	"github.com/belfry-run/belfry/internal/bench/benchtest"
	"github.com/belfry-run/belfry/internal/bench/database"
)

func TestMain(m *testing.M) { benchtest.Main(m) }

func TestIdleSchedulesAreAsManyAsAsked(t *testing.T) {
	benchtest.OnBoth(t, func(t *testing.T, s *database.Site) {
		st := benchtest.Open(t, s)
		if err := Idle(t.Context(), s, st, 3000); err != nil {
			t.Fatal(err)
		}
		if n := benchtest.Rows(t, s, st)["schedules"]; n != 3000 {
			t.Errorf("schedules: got %d", n)
		}
		fired, err := st.FireDue(t.Context())
		if err != nil || fired.Schedules != 0 || time.Until(fired.NextAt) < 24*time.Hour {
			t.Errorf("firing: got %+v, error %v", fired, err)
		}
	})
}

func TestSchedulesThatComeDueAreAllHeardOf(t *testing.T) {
	benchtest.OnBoth(t, func(t *testing.T, s *database.Site) {
		t.Parallel()
		f := Firing{PerSecond: 3, Seconds: 2, Burst: 5, Gap: time.Second, Lead: 2 * time.Second}
		out, err := f.Run(t.Context(), s)
		if err != nil {
			t.Fatal(err)
		}
		for name, got := range map[string][2]int{
			"made": {out.Made.N, 6}, "began": {out.Began.N, 6}, "made at once": {out.BurstMade.N, 5}, "began at once": {out.BurstBegan.N, 5},
		} {
			if got[0] != got[1] {
				t.Errorf("%d of %d %s", got[0], got[1], name)
			}
		}
		if out.Made.P50 < 0 || out.Began.P50 < out.Made.P50 {
			t.Errorf("delays: got %+v", out)
		}
		if left := benchtest.Rows(t, s, benchtest.Open(t, s))["schedules"]; left != 0 {
			t.Errorf("schedules left: got %d", left)
		}
	})
}

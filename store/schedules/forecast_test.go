package schedules_test

import (
	"fmt"
	"testing"
	"time"

	"github.com/belfry-run/belfry/monitor"
	"github.com/belfry-run/belfry/schedule"
	"github.com/belfry-run/belfry/store"
	"github.com/belfry-run/belfry/store/internal/both"
	"github.com/belfry-run/belfry/task"
)

func TestAForecastOfPartOfTheSchedulesSaysHowFarItIsWhole(t *testing.T) {
	t.Parallel()
	both.Run(t, func(t *testing.T, st *store.Store) {
		ctx := t.Context()
		if err := st.EnsureFuncs(ctx, "", []string{"t"}); err != nil {
			t.Fatal(err)
		}
		day := time.Now().UTC().Truncate(24 * time.Hour).Add(72 * time.Hour)
		a := schedule.Ahead{From: day, Within: 24 * time.Hour}
		for i := range 6 {
			_, err := st.CreateSchedule(ctx, schedule.Schedule{Name: fmt.Sprint("s", i), Task: "t", Start: day, Rules: []schedule.Rule{{Cron: fmt.Sprintf("0 %d * * *", 1+i)}}})
			if err != nil {
				t.Fatal(err)
			}
		}
		for _, want := range []struct {
			rows, schedules, starts int
			partial                 bool
			until                   time.Time
		}{{6, 6, 6, false, time.Time{}}, {4, 4, 4, true, day.Add(5 * time.Hour)}, {1, 1, 1, true, day.Add(2 * time.Hour)}} {
			f, err := st.ForecastOf(ctx, a, want.rows)
			if err != nil {
				t.Fatal(err)
			}
			if f.Schedules != want.schedules || len(f.Loads) != want.starts || f.Partial != want.partial || !f.Until.Equal(want.until) {
				t.Errorf("of %d rows: %+v", want.rows, f)
			}
		}
		// Those of monitors are passed over, but not without end.
		for i := range 11 {
			if _, err := st.CreateMonitor(ctx, monitor.Monitor{Name: fmt.Sprint("m", i), Check: task.Task{TCP: &task.TCP{Address: "example.org:22"}}}); err != nil {
				t.Fatal(err)
			}
		}
		if f, err := st.ForecastOf(ctx, a, 1); err != nil || !f.Partial || f.Schedules != 0 || !f.Until.Before(day) {
			t.Errorf("behind 11 monitors: %+v, %v", f, err)
		}
		if f, err := st.ForecastOf(ctx, a, 2); err != nil || !f.Partial || f.Schedules != 2 || !f.Until.Equal(day.Add(3*time.Hour)) {
			t.Errorf("behind 11 monitors, of 2 rows: %+v, %v", f, err)
		}
		// One that starts each second is too much by itself.
		_, err := st.CreateSchedule(ctx, schedule.Schedule{Name: "seconds", Task: "t", Start: day, Rules: []schedule.Rule{{Cron: "* * * * * *"}}})
		if err != nil {
			t.Fatal(err)
		}
		a.Within = 7 * 24 * time.Hour
		f, err := st.Forecast(ctx, a)
		if err != nil || !f.Partial || f.Until.Before(day) || !f.Until.Before(day.Add(a.Within)) {
			t.Errorf("%t until %s, %v", f.Partial, f.Until, err)
		}
		// It takes nothing from the others: up to there all of them are counted.
		if hour := f.Hours[1]; f.Until.Before(day.Add(24*time.Hour)) || hour.Starts != 3601 || f.Schedules != 7 {
			t.Errorf("%d schedules until %s, %d starts between 1 and 2", f.Schedules, f.Until, hour.Starts)
		}
	})
}

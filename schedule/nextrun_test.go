package schedule

import (
	"strings"
	"testing"
)

// The listed runs equal the runs that the engine fires.
func TestUpcomingRunsEqualFiredRuns(t *testing.T) {
	t.Parallel()
	for _, row := range []struct {
		name, schedule, before, from string
		n                            int
		want                         string
	}{
		{"plain", tens, "", "09:55", 2, "10:00; 10:10"},
		{"a blackout is passed over", tens + "blackout lunch", "", "11:45", 3, "11:50; 13:00; 13:10"},
		{"outside is passed over", tens + "within lunch", "", "09:45", 2, "12:00; 12:10"},
		{"moved", tens + "blackout lunch; closed next_open", "", "11:55", 1, "12:00 due 13:00 (moved by calendar lunch: lunch)"},
		{"runs left", tens + "limit 3", "runs 1", "09:55", 4, "10:00; 10:10"},
		{"to the end", tens + "within lunch; end 12:05", "", "09:00", 4, "12:00"},
		{"the end is before they open", tens + "within lunch; end 11:00", "", "09:00", 4, ""},
		{"nothing planned", "", "", "10:00", 5, ""},
		{"from the finish", "after 5m", "finish 10:05", "10:00", 3, "10:05 (counted from the finish of the run before)"},
		{"from the finish, kept out", "after 5m; blackout lunch", "finish 12:05", "12:00", 3, ""},
	} {
		t.Run(row.name, func(t *testing.T) {
			t.Parallel()
			s, plan := scheduleOf(t, row.schedule)
			factsOf(t, &s, row.before)
			var got []string
			for _, c := range s.ComingRuns(plan, at(row.from), row.n) {
				got = append(got, comingText(c))
			}
			if strings.Join(got, "; ") != row.want {
				t.Errorf("%s\ngot  %s\nwant %s", row.schedule, strings.Join(got, "; "), row.want)
			}
		})
	}
}

func TestNextRunIsOneThatCalendarsLetRun(t *testing.T) {
	t.Parallel()
	for _, row := range []struct{ name, schedule, before, next, want string }{
		{"open", tens + "blackout lunch", "", "11:50", "11:50"},
		{"closed", tens + "blackout lunch", "", "12:00", "13:00"},
		{"outside", tens + "within lunch", "", "09:10", "12:00"},
		{"moved", tens + "blackout lunch; closed next_open", "", "12:10", "13:00"},
		{"none before the end", tens + "blackout lunch; end 12:30", "", "12:10", "never"},
		{"none planned", tens + "blackout lunch", "", "never", "never"},
		{"from the finish", "after 7m; blackout lunch", "finish 12:05", "12:05", "13:01"},
	} {
		t.Run(row.name, func(t *testing.T) {
			t.Parallel()
			s, plan := scheduleOf(t, row.schedule)
			factsOf(t, &s, row.before)
			if row.next != "never" {
				s.NextAt = at(row.next)
			}
			if got := in(s.NextRun(plan)); got != row.want {
				t.Errorf("%s: %s, want %s", row.schedule, got, row.want)
			}
			s.NextRunAt = s.NextRun(plan)
			if got := in(s.RunsAt()); got != row.want {
				t.Errorf("runs at %s, want %s", got, row.want)
			}
		})
	}
}

func TestCatchUpThatOverlapPreventsIsSaid(t *testing.T) {
	t.Parallel()
	for overlap, trap := range map[Overlap]bool{OverlapSkip: true, OverlapBufferAll: false, OverlapAllow: false} {
		for _, catchup := range []Catchup{CatchupNone, CatchupLatest, CatchupAll} {
			s := Schedule{Overlap: overlap, Catchup: catchup}.WithDefaults()
			plan, err := s.Plan()
			if err != nil {
				t.Fatal(err)
			}
			said := strings.Contains(strings.Join(s.Explain(plan), "\n"), "oldest missed run alone")
			if want := trap && catchup == CatchupAll; said != want {
				t.Errorf("%s, %s: said %v, want %v", overlap, catchup, said, want)
			}
		}
	}
}

func TestABackfillThatItsLimitCutSaysSo(t *testing.T) {
	t.Parallel()
	s, plan := scheduleOf(t, tens)
	for text, cut := range map[string]bool{
		"from 09:00; to 10:00; overlap allow; limit 2":  true,
		"from 09:00; to 09:15; overlap allow; limit 2":  false,
		"from 09:00; to 09:10; overlap allow; limit 2":  false,
		"from 09:00; to 10:00; overlap allow; limit 20": false,
	} {
		b := backfillOf(t, text)
		if b.Cut() {
			t.Errorf("%s is cut before it began", text)
		}
		if r := Fill(b, s, plan, nil, 0, BackfillStep, at("11:00")); r.Cut() != cut {
			t.Errorf("%s: cut %v, want %v: %+v", text, r.Cut(), cut, r.Backfill)
		}
	}
}

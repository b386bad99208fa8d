package schedules

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/belfry-run/belfry/core"
	"github.com/belfry-run/belfry/job"
	"github.com/belfry-run/belfry/schedule"
	"github.com/belfry-run/belfry/view"
)

func TestTimeLanes(t *testing.T) {
	t.Parallel()
	now := time.Date(2026, 3, 2, 12, 0, 20, 0, time.UTC)
	l := newTimeLanes(now, time.Hour)
	mid := time.Date(2026, 3, 2, 12, 0, 0, 0, time.UTC)
	if !l.Now.Equal(mid) || !l.From.Equal(mid.Add(-time.Hour)) || !l.To.Equal(mid.Add(time.Hour)) {
		t.Fatalf("%+v", l)
	}
	at := func(m float64) time.Time { return mid.Add(time.Duration(m * float64(time.Minute))) }
	ran := func(id int64, state job.State, from, to float64) view.StripResult {
		return view.StripResult{JobID: id, State: state, Nominal: at(from), At: at(to), Took: core.Duration(at(to).Sub(at(from)))}
	}
	start := func(m float64) schedule.Coming { return schedule.Coming{Nominal: at(m), DueAt: at(m)} }
	l.add(schedule.Schedule{Name: "long", State: schedule.Active}, []view.StripResult{
		{JobID: 5, State: job.Running, At: at(-6)},
		ran(4, job.Succeeded, -18, -6),
		ran(3, job.Failed, -42, -30),
		{State: job.Skipped, Nominal: at(-48), At: at(-47), Missed: 3},
		ran(1, job.Succeeded, -90, -54), // began before the picture
		ran(0, job.Succeeded, -100, -90),
	}, false, []schedule.Coming{start(12), start(36), {Nominal: at(48), Skipped: schedule.ReasonMaxRuns}, start(90)}, false)
	row := l.Rows[0]
	marks := func(row timeLane) (all []string) {
		for _, m := range row.Marks {
			all = append(all, fmt.Sprintf("%s %d+%d", m.Class, m.X, m.Wide))
		}
		return all
	}
	// A minute is 1000/120 wide; runs took 12 min in the median of 10, 12 and 36.
	if got, want := marks(row), []string{"good 0+50", "idle 100+4", "bad 150+100", "good 350+100", "busy 450+50", "ahead 600+100", "ahead 800+100"}; !slices.Equal(got, want) {
		t.Errorf("%v, want %v", got, want)
	}
	if got, want := row.Said(), "long: 4 runs, 1 failed, 3 skipped; ahead 2 starts"; got != want || row.LastFailed != 3 {
		t.Errorf("%q, want %q", got, want)
	}
	if got, want := row.Marks[2].Title, "2 Mar, 11:18 UTC: failed, 12 min"; got != want {
		t.Errorf("%q, want %q", got, want)
	}

	// Many short ones lie too close to be told apart, and what is not known is said.
	var past []view.StripResult
	for i := range lanesPast {
		past = append(past, ran(int64(500-i), job.Succeeded, -float64(i)/10-.05, -float64(i)/10))
	}
	past[50].State = job.Failed
	var coming []schedule.Coming
	for i := range lanesAhead {
		coming = append(coming, start(float64(i)/10+.1))
	}
	l.add(schedule.Schedule{Name: "quick", State: schedule.Active}, past, true, coming, true)
	row = l.Rows[1]
	if got, want := marks(row), []string{"bad 417+83", "ahead 500+129"}; !slices.Equal(got, want) {
		t.Errorf("%v, want %v", got, want)
	}
	if got := row.Marks[0].Title; !strings.Contains(got, "1 failed, 99 succeeded") {
		t.Error(got)
	}
	if row.Unknown != 417 || row.Beyond != 625 || row.Said() != "quick: 100 runs, 1 failed; ahead over 150 starts" {
		t.Errorf("%d %d %q", row.Unknown, row.Beyond, row.Said())
	}

	l.sum()
	if got, want := l.Once.Said(), "At most 2 runs at once, at 2 Mar, 11:50:03 UTC; ahead at most 2 at once, at 2 Mar, 12:12 UTC, if runs take as long as usual"; got != want {
		t.Errorf("%q, want %q", got, want)
	}
	if n := l.Once.slotsPast; n[0] != 1 || n[12] != 0 || n[30] != 1 || n[95] != 2 { // 11:00, 11:07, 11:18, 11:57
		t.Errorf("%v", n)
	}
}

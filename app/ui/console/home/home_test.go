package home

import (
	"strings"
	"testing"
	"time"

	"github.com/belfry-run/belfry/core"
	"github.com/belfry-run/belfry/job"
	"github.com/belfry-run/belfry/monitor"
	"github.com/belfry-run/belfry/schedule"
	"github.com/belfry-run/belfry/view"
	"github.com/belfry-run/belfry/workflow"
)

var homeNow = time.Date(2026, 11, 21, 12, 43, 5, 0, time.UTC)

// Past and future stand on one axis: what ended left of now, what starts right of it.
func TestTimeline(t *testing.T) {
	t.Parallel()
	minute := func(d time.Duration) time.Time { return homeNow.Add(d).Truncate(time.Minute) }
	d := homeData{Now: homeNow, Overview: view.Overview{
		Minutes: []job.MinuteTotals{{Minute: minute(-59 * time.Minute), OK: 3}, {Minute: minute(-2 * time.Minute), OK: 5, Failed: 2}},
		Starts:  []view.Starts{{At: minute(0).Truncate(quarter), Starts: 1}, {At: minute(20 * time.Hour).Truncate(quarter), Starts: 14}},
		Ahead:   schedule.Forecast{Partial: true, Until: homeNow.Add(10 * time.Hour)},
	}}
	line := d.Timeline()
	if line.Done != 8 || line.Failed != 2 || line.Ahead != 15 || line.NowX() != line.at(homeNow) || line.Cut < 44 || line.Cut > 45 {
		t.Errorf("%+v", line)
	}
	var said []string
	for _, b := range line.Bars {
		said = append(said, b.Class+" "+b.Title)
		if b.Y < 0 || b.Y+b.High > timeHeight || b.High < 2 {
			t.Errorf("%+v", b)
		}
	}
	want := "good 11:30 to 11:45 UTC: 3 jobs succeeded|good 12:30 to 12:45 UTC: 5 jobs succeeded|bad 12:30 to 12:45 UTC: 2 jobs failed|ahead 12:30 to 12:45 UTC: 1 start|ahead 08:30 to 08:45 UTC: 14 starts"
	if got := strings.Join(said, "|"); got != want {
		t.Errorf("%s", got)
	}
	if d.Ahead.Partial = false; d.Timeline().Cut != 0 {
		t.Error("all is counted, and some is hatched")
	}
}

func TestTheLastDayIsCountedByHalfHours(t *testing.T) {
	t.Parallel()
	at := func(d time.Duration) time.Time { return homeNow.Add(d) }
	d := homeData{Now: homeNow, Overview: view.Overview{Day: []job.MinuteTotals{
		{Minute: at(-24 * time.Hour).Truncate(dayStep), OK: 7}, {Minute: at(-23 * time.Hour).Truncate(dayStep), OK: 1}, {Minute: at(0).Truncate(dayStep), OK: 2},
	}}, Outages: core.Page[monitor.Incident]{Items: []monitor.Incident{
		{Monitor: "a", StartedAt: at(-time.Minute)}, {Monitor: "b", StartedAt: at(-90 * time.Minute), EndedAt: at(-80 * time.Minute)}, {Monitor: "b", StartedAt: at(-95 * time.Minute), EndedAt: at(-94 * time.Minute)},
	}}}
	day := d.day()
	if day[0].OK != 0 || day[1].OK != 1 || day[dayParts-1].OK != 2 { // the day begins after the half hour of yesterday
		t.Errorf("%+v", day)
	}
	down := d.down()
	if down[dayParts-1] != 1 || down[dayParts-2] != 0 || down[dayParts-4] != 1 {
		t.Errorf("%v", down)
	}
	if d.Outages.Next = "more"; d.down()[0] != -1 {
		t.Error("what is not known is said to be none")
	}
}

func TestTheTitleTellsThatMoreIsNotListed(t *testing.T) {
	t.Parallel()
	for _, row := range []struct {
		needs int
		o     view.Overview
		want  string
	}{
		{0, view.Overview{}, "All is well"},
		{1, view.Overview{}, "1 thing needs you"},
		{21, view.Overview{}, "21 things need you"},
		{21, view.Overview{MoreIncidents: true}, "More than 20 things need you"},
		{21, view.Overview{MoreApprovals: true}, "More than 20 things need you"},
	} {
		d := homeData{Overview: row.o, Needs: make([]need, row.needs)}
		if got := d.Title(); got != row.want {
			t.Errorf("%q, want %q", got, row.want)
		}
	}
}

func TestTheProgressOfARunIsComparedWithItsUsualDuration(t *testing.T) {
	t.Parallel()
	for _, row := range []struct {
		elapsed, usual time.Duration
		text, tone     string
	}{
		{10 * time.Second, 0, "no estimate yet", "busy"},
		{10 * time.Second, time.Minute, "about 50 s left", "busy"},
		{15 * time.Second, 10 * time.Minute, "about 10 min left", "busy"},
		{27 * time.Second, 2 * time.Minute, "about 2 min left", "busy"},
		{time.Minute, 140 * time.Minute, "about 2 h left", "busy"},
		{time.Second, 110 * time.Minute, "about 2 h left", "busy"},
		{90 * time.Second, time.Minute, "usually 1 min", "busy"},
		{3 * time.Minute, time.Minute, "usually 1 min", "warn"},
	} {
		if b := share(job.RunningJob{Elapsed: core.Duration(row.elapsed), Usual: core.Duration(row.usual)}); b.Text != row.text || b.Tone != row.tone {
			t.Errorf("%+v, want %+v", b, row)
		}
	}
}

func TestAnApprovalSaysItsStepRunAndTimeout(t *testing.T) {
	t.Parallel()
	for _, row := range []struct {
		left time.Duration
		more int
		want string
	}{
		{3*time.Hour - 20*time.Second, 0, "Approval of sure, run 7, within 3 h: Is it good?"},
		{50 * time.Second, 1, "Approval of sure and 1 other, run 7, within 50 s: Is it good?"},
		{-time.Second, 2, "Approval of sure and 2 others, run 7: Is it good?"},
	} {
		a := workflow.Asked{RunID: 7, Step: "sure", Approval: "Is it good?\nLook at the page.", Until: homeNow.Add(row.left), More: row.more}
		if got := asks(a, homeNow); got != row.want {
			t.Errorf("got %q, want %q", got, row.want)
		}
	}
}

package console

import (
	"strings"
	"testing"
	"time"

	"github.com/belfry-run/belfry/core"
	"github.com/belfry-run/belfry/job"
	"github.com/belfry-run/belfry/monitor"
	"github.com/belfry-run/belfry/view"
)

// A monitor of six minutes says since when it is watched, once.
func TestUptimeOfAYoungMonitor(t *testing.T) {
	now := time.Date(2026, 11, 23, 20, 37, 0, 0, time.UTC)
	all := 1.0
	report := func(created time.Time) view.UptimeReport {
		var r view.UptimeReport
		for _, w := range []struct {
			name string
			span time.Duration
		}{{"24h", 24 * time.Hour}, {"7d", 7 * 24 * time.Hour}, {"30d", 30 * 24 * time.Hour}} {
			u := monitor.UptimeOf([]monitor.Span{{State: monitor.SpanUp, From: created}}, now.Add(-w.span), now, now)
			u.Ratio = &all
			r.Spans = append(r.Spans, view.UptimeWindow{Name: w.name, Uptime: u})
		}
		return r
	}
	for _, tt := range []struct {
		age  time.Duration
		want string
	}{
		{6 * time.Minute, "Uptime 100 % since 20:31 UTC (6 min) good|Uptime 7d –  idle|Uptime 30d –  idle"},
		{3 * 24 * time.Hour, "Uptime 24h 100 %  good|Uptime 100 % since 20 Nov (3 d) good|Uptime 30d –  idle"},
		{40 * 24 * time.Hour, "Uptime 24h 100 %  good|Uptime 7d 100 %  good|Uptime 30d 100 %  good"},
	} {
		d := monitorData{Uptime: report(now.Add(-tt.age)), Now: now}
		d.V.CreatedAt = now.Add(-tt.age)
		var got []string
		for _, s := range uptimeStats(d) {
			got = append(got, strings.Join([]string{s.Label, s.Value, s.Note, s.Tone}, " "))
		}
		if text := strings.Join(got, "|"); text != tt.want {
			t.Errorf("after %v:\n%s, want\n%s", tt.age, text, tt.want)
		}
	}
}

func TestBarsAndChartsBeginWithWhatHasData(t *testing.T) {
	for _, tt := range []struct {
		age   time.Duration
		bars  monitor.BarSpan
		chart string
	}{{6 * time.Minute, monitor.BarsDay, "1h"}, {6 * time.Hour, monitor.BarsDay, "24h"}, {30 * 24 * time.Hour, monitor.BarsQuarter, "24h"}} {
		if bars, chart := barsFor(tt.age), rangeOf("", tt.age).Name; bars != tt.bars || chart != tt.chart {
			t.Errorf("%v: bars of %s, chart of %s", tt.age, bars, chart)
		}
	}
	if got := rangeOf("7d", time.Minute).Name; got != "7d" {
		t.Errorf("asked for 7d: %s", got)
	}
	now := time.Date(2026, 11, 23, 20, 37, 0, 0, time.UTC)
	one := 1.0
	b := monitor.Bars{Monitor: "m", Ratio: &one, Coverage: 0.004, Step: core.Duration(30 * time.Minute), Bars: []monitor.UptimeBar{{From: now.Add(-24 * time.Hour)}}}
	if u := newUptimeBars(b, now.Add(-6*time.Minute), now); u.Seen != "since 20:31 UTC" || !strings.HasSuffix(u.Label, "last 24 hours: 100 %, 0 outages, since 20:31 UTC") {
		t.Errorf("%q %q", u.Seen, u.Label)
	}
	if u := newUptimeBars(b, now.Add(-60*24*time.Hour), now); u.Seen != "under 1 % coverage" {
		t.Errorf("%q", u.Seen)
	}
}

// Each fault is printed once: at its field, or above the form.
func TestFaultsStandOnce(t *testing.T) {
	err := &core.Error{Code: core.Invalid, Message: "the queue is not saved", Fields: []core.FieldError{{Field: "name", Message: "is missing"}, {Field: "other", Message: "is wrong"}}}
	rest := above(err, []field{newField("name", "Name", "text", "", "", err)})
	if len(rest.Faults) != 1 || rest.Faults[0].Field != "other" || rest.Hint != "Correct the marked fields." {
		t.Errorf("%+v", rest)
	}
	if rest = above(err); len(rest.Faults) != 2 || rest.Hint != "" {
		t.Errorf("%+v", rest)
	}
	if above(nil) != nil {
		t.Error("nothing was wrong")
	}
}

func TestWorkersOfOneNameAreToldApart(t *testing.T) {
	worker := func(name, session string) job.WorkerState {
		return job.WorkerState{WorkerInfo: job.WorkerInfo{Name: name}, Session: session}
	}
	all := []job.WorkerState{worker("vm", "0198aaaa-1111-7000-8000-000000000001"), worker("vm", "0198aaaa-1111-7000-8000-000000000002"), worker("gpu", "0198aaaa-1111-7000-8000-000000000003")}
	for i, want := range []string{"…00000001", "…00000002", ""} {
		if got := twin(all, all[i]); got != want {
			t.Errorf("%q, want %q", got, want)
		}
	}
}

func TestWorkerSlots(t *testing.T) {
	w := job.WorkerState{WorkerInfo: job.WorkerInfo{Queues: map[string]int{"default": 0, "checks": 4, "odd": 0}}}
	if got := workerSlots(w, map[string]int{"default": 10, "checks": 200}); got != "checks 4 · default 10 · odd" {
		t.Error(got)
	}
}

// The map ends with today where the schedule is, and every day has a cell.
func TestYearHeatIsOfTheSchedulesZone(t *testing.T) {
	now := time.Date(2026, 11, 23, 23, 30, 0, 0, time.UTC) // the 24th in Sofia
	h := yearHeat([]view.ScheduleDay{{Day: time.Date(2026, 11, 24, 0, 0, 0, 0, time.UTC), OK: 2}}, "Europe/Sofia", now)
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

func TestDismissIsNoSecondCancel(t *testing.T) {
	if got := (confirm{Button: "Cancel"}).Dismiss(); got != "Go back" {
		t.Error(got)
	}
	if got := (confirm{Button: "Delete"}).Dismiss(); got != "Cancel" {
		t.Error(got)
	}
}

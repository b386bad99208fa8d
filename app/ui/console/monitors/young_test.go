package monitors

import (
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/belfry-run/belfry/core"
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

func TestBarsAndChartsBeginAtTheFirstData(t *testing.T) {
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
	b.Bars = append(b.Bars, monitor.UptimeBar{From: now.Add(-30 * time.Minute), Ratio: &one, Coverage: 1})
	if u := newUptimeBars(b, now.Add(-6*time.Minute), now); len(u.Parts) != 1 || !strings.HasSuffix(u.Parts[0].Title, "up") || u.Width != 7 {
		t.Errorf("a new monitor has bars from before it was there: %+v", u)
	}
	if u := newUptimeBars(b, now.Add(-60*24*time.Hour), now); len(u.Parts) != 2 || u.Seen != "under 1 % coverage" {
		t.Errorf("%q", u.Seen)
	}
}

// Days of which the same is to be said are one shape with one title.
func TestBarsThatAreAlikeAreOneShape(t *testing.T) {
	day := func(n int, ratio float64, down time.Duration) monitor.UptimeBar {
		return monitor.UptimeBar{From: time.Date(2026, 11, n, 0, 0, 0, 0, time.UTC), Ratio: &ratio, Down: core.Duration(down), Coverage: 1}
	}
	b := monitor.Bars{Monitor: "m", Step: core.Duration(24 * time.Hour), Bars: []monitor.UptimeBar{{From: time.Date(2026, 11, 1, 0, 0, 0, 0, time.UTC)},
		day(2, 1, 0), day(3, 1, 0), day(4, 0.5, 12*time.Hour), day(5, 1, 0)}}
	var got []string
	for _, p := range newUptimeBars(b, time.Time{}, b.Bars[4].From).Parts {
		text := p.Title
		for _, path := range p.Paths {
			text += " " + path.Class + " " + path.D
		}
		got = append(got, text)
	}
	want := []string{
		"Sun 1 Nov UTC: no data none M0 24h3v4h-3z",
		"Mon 2 Nov to Tue 3 Nov UTC: up good M4 0h3v28h-3zm4 0h3v28h-3z",
		"Wed 4 Nov UTC: 50 % up, down 12 h bad M12 0h3v15h-3z good M12 17h3v11h-3z",
		"Thu 5 Nov UTC: up good M16 0h3v28h-3z",
	}
	if !slices.Equal(got, want) {
		t.Errorf("%s", strings.Join(got, "\n"))
	}
	b.Step, b.Bars = core.Duration(30*time.Minute), b.Bars[1:3]
	b.Bars[1].From = b.Bars[0].From.Add(30 * time.Minute)
	if title := newUptimeBars(b, time.Time{}, b.Bars[1].From).Parts[0].Title; title != "00:00 to 01:00 UTC: up" {
		t.Error(title)
	}
}

// The bars of a list stand for the same time as those that they merge: downtime adds up, and what was up is known of what was seen.
func TestBarsOfAListAreMerged(t *testing.T) {
	first := time.Date(2026, 9, 2, 0, 0, 0, 0, time.UTC)
	now := first.Add(90*24*time.Hour - 12*time.Hour)
	one, half, all := 1.0, 0.5, time.Duration(0)
	b := monitor.Bars{Monitor: "m", Ratio: &half, Step: core.Duration(24 * time.Hour)}
	for n := range 90 {
		bar := monitor.UptimeBar{From: first.AddDate(0, 0, n), Ratio: &one, Coverage: 1}
		switch {
		case n < 3:
			bar.Ratio, bar.Coverage = nil, 0
		case n == 4:
			bar.Ratio, bar.Down = &half, core.Duration(12*time.Hour)
		case n == 10:
			bar.Ratio, bar.Coverage, bar.Maintenance = nil, 1, core.Duration(24*time.Hour)
		case n == 89: // half of it is to come
			bar.Ratio, bar.Down = &half, core.Duration(6*time.Hour)
		}
		all += bar.Down.D()
		b.Bars = append(b.Bars, bar)
	}
	m := fewer(b, now)
	if len(m.Bars) != 30 || m.Step.D() != 72*time.Hour {
		t.Fatalf("%d bars of %s", len(m.Bars), m.Step)
	}
	for _, bar := range m.Bars {
		all -= bar.Down.D()
	}
	if all != 0 {
		t.Errorf("%v of downtime is missing", all)
	}
	for i, want := range map[int]string{0: noData, 1: "83.333 % up, down 12 h", 2: "up", 3: "up", 29: "90 % up, down 6 h"} {
		if got := saidOf(m.Bars[i]); got != want {
			t.Errorf("bar %d says %q, want %q", i, got, want)
		}
	}
	var titles []string
	for _, p := range newUptimeBars(m, time.Time{}, now).Parts {
		titles = append(titles, p.Title)
	}
	want := []string{"Wed 2 Sep to Fri 4 Sep UTC: no data", "Sat 5 Sep to Mon 7 Sep UTC: 83.333 % up, down 12 h", "Tue 8 Sep to Fri 27 Nov UTC: up", "Sat 28 Nov to Mon 30 Nov UTC: 90 % up, down 6 h"}
	if !slices.Equal(titles, want) {
		t.Errorf("got\n%s\nwant\n%s", strings.Join(titles, "\n"), strings.Join(want, "\n"))
	}
	if few := fewer(monitor.Bars{Step: b.Step}, now); len(few.Bars) != 0 {
		t.Errorf("none became %d", len(few.Bars))
	}
}

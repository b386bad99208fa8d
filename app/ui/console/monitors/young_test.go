package monitors

import (
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

package monitor

import (
	"testing"
	"time"

	"pgregory.net/rapid"

	"github.com/belfry-run/belfry/core"
)

func TestBarsOf(t *testing.T) {
	now := time.Date(2026, 3, 10, 6, 0, 0, 0, time.UTC)
	spans := []Span{
		{From: now.AddDate(0, 0, -2), State: SpanUp},
		{From: now.AddDate(0, 0, -1), State: SpanDown},
		{From: now.AddDate(0, 0, -1).Add(12 * time.Hour), State: SpanUp},
		{From: now.Add(-time.Hour), State: SpanMaintenance},
	}
	b := BarsOf(spans, BarsQuarter, now, now.AddDate(1, 0, 0))
	if len(b.Bars) != 90 || b.Outages != 1 || *b.Ratio != 35./47 {
		t.Errorf("%d bars, %d outages, ratio %v", len(b.Bars), b.Outages, *b.Ratio)
	}
	today, before, first := b.Bars[89], b.Bars[88], b.Bars[0]
	if !today.From.Equal(now.Truncate(24*time.Hour)) || *today.Ratio != 1 || today.Maintenance.D() != time.Hour || today.Coverage != 1 {
		t.Errorf("today is %+v", today)
	}
	if before.Down.D() != 12*time.Hour || *before.Ratio != 0.5 {
		t.Errorf("yesterday was %+v", before)
	}
	if first.Ratio != nil || first.Coverage != 0 || !first.From.Equal(now.Truncate(24*time.Hour).AddDate(0, 0, -89)) {
		t.Errorf("the first is %+v", first)
	}
	if day := BarsOf(spans, BarsDay, now, time.Time{}); len(day.Bars) != 48 || day.Step.D() != 30*time.Minute || *day.Bars[1].Ratio != 0 {
		t.Errorf("%+v", day)
	}
	for _, q := range []BarsQuery{{}, {Monitors: make([]string, MaxBarMonitors+1)}, {Monitors: []string{"a"}, Span: "1y"}} {
		if core.CodeOf(q.Validate()) != core.Invalid {
			t.Errorf("%+v is taken", q)
		}
	}
	if err := (BarsQuery{Monitors: []string{"a"}}).Validate(); err != nil {
		t.Error(err)
	}
}

// The sum of all bars equals the uptime of the whole span.
func TestBarsSumUp(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		now := time.Date(2026, 3, 10, 6, 7, 8, 0, time.UTC)
		span := rapid.SampledFrom([]BarSpan{BarsDay, BarsQuarter}).Draw(t, "span")
		at := now.Add(-time.Duration(rapid.IntRange(0, 100*24*60).Draw(t, "begin")) * time.Minute)
		var spans []Span
		for at.Before(now) && len(spans) < 30 {
			spans = append(spans, Span{From: at, State: rapid.SampledFrom([]SpanState{SpanUp, SpanDown, SpanPaused, SpanMaintenance, SpanUnknown}).Draw(t, "state")})
			at = at.Add(time.Duration(rapid.IntRange(1, 5000).Draw(t, "length")) * time.Minute)
		}
		seen := now.Add(time.Duration(rapid.IntRange(-300, 300).Draw(t, "seen")) * time.Minute)
		b, whole := BarsOf(spans, span, now, seen), UptimeOf(spans, span.From(now), now, seen)
		var down, maintenance, paused core.Duration
		for _, bar := range b.Bars {
			down, maintenance, paused = down+bar.Down, maintenance+bar.Maintenance, paused+bar.Paused
		}
		if down != whole.Down || maintenance != whole.Maintenance || paused != whole.Paused {
			t.Fatalf("bars: down %s, maintenance %s, paused %s; whole: %+v", down, maintenance, paused, whole)
		}
	})
}

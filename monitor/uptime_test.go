package monitor

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"
	"time"

	"pgregory.net/rapid"

	"github.com/belfry-run/belfry/core"
)

// spansOf parses spans such as "10:00 up, 10:30 down".
func spansOf(text string) (out []Span) {
	for part := range strings.SplitSeq(text, ",") {
		if f := strings.Fields(part); len(f) == 2 {
			out = append(out, Span{From: at(f[0]), State: SpanState(f[1])})
		}
	}
	return out
}

func TestUptime(t *testing.T) {
	t.Parallel()
	for _, row := range []struct {
		name, spans string
		until       string // observed until
		want        string // of 10:00 to 11:00
	}{
		{"nothing known", "", "", "unknown 1h; none; coverage 0; outages 0"},
		{"new", "09:00 unknown", "", "unknown 1h; none; coverage 0; outages 0"},
		{"all of it", "09:00 up", "", "up 1h; 1; coverage 1; outages 0"},
		{"begins within", "10:15 up", "", "up 45m unknown 15m; 1; coverage 0.75; outages 0"},
		{"begins after", "11:00 up", "", "unknown 1h; none; coverage 0; outages 0"},
		{"down all the time", "09:00 down", "", "down 1h; 0; coverage 1; outages 1"},
		{"an outage", "09:00 up, 10:15 down, 10:30 up", "", "up 45m down 15m; 0.75; coverage 1; outages 1"},
		{"one that began before", "09:00 up, 09:45 down, 10:15 up", "", "up 45m down 15m; 0.75; coverage 1; outages 1"},
		{"one that ended before", "09:00 down, 10:00 up", "", "up 1h; 1; coverage 1; outages 0"},
		{"one that ends after", "09:00 up, 10:45 down, 11:15 up", "", "up 45m down 15m; 0.75; coverage 1; outages 1"},
		{"two", "09:00 up, 10:00 down, 10:15 up, 10:30 down, 10:45 up", "", "up 30m down 30m; 0.5; coverage 1; outages 2"},
		{"maintenance does not count", "09:00 up, 10:15 maintenance, 10:30 down, 10:45 up", "", "up 30m down 15m maintenance 15m; 0.666667; coverage 1; outages 1"},
		{"maintenance all the time", "09:00 maintenance", "", "maintenance 1h; none; coverage 1; outages 0"},
		{"a pause does not count, and is not looked at", "09:00 up, 10:15 paused, 10:45 up", "", "up 30m paused 30m; 1; coverage 0.5; outages 0"},
		{"a gap does not count", "09:00 up, 10:15 unknown, 10:30 up", "", "up 45m unknown 15m; 1; coverage 0.75; outages 0"},
		{"a gap does not end an outage", "09:00 up, 10:15 down, 10:30 unknown, 10:45 down", "", "up 15m down 30m unknown 15m; 0.333333; coverage 0.75; outages 1"},
		{"nor does maintenance", "09:00 up, 10:15 down, 10:30 maintenance, 10:45 down", "", "up 15m down 30m maintenance 15m; 0.333333; coverage 1; outages 1"},
		{"a pause does", "09:00 up, 10:15 down, 10:30 paused, 10:45 down", "", "up 15m down 30m paused 15m; 0.333333; coverage 0.75; outages 2"},
		{"two causes are one", "09:00 up, 10:15 down, 10:30 down", "", "up 15m down 45m; 0.25; coverage 1; outages 1"},
		{"seen for half of it", "09:00 up", "10:30", "up 30m unknown 30m; 1; coverage 0.5; outages 0"},
		{"seen before only", "09:00 down", "09:30", "unknown 1h; none; coverage 0; outages 0"},
		{"seen beyond", "09:00 up", "12:00", "up 1h; 1; coverage 1; outages 0"},
		{"a pause is known though nobody looks", "09:00 up, 10:30 paused", "09:30", "paused 30m unknown 30m; none; coverage 0; outages 0"},
	} {
		t.Run(row.name, func(t *testing.T) {
			t.Parallel()
			var until time.Time
			if row.until != "" {
				until = at(row.until)
			}
			if got := uptimeText(UptimeOf(spansOf(row.spans), at("10:00"), at("11:00"), until)); got != row.want {
				t.Errorf("%s\ngot   %s\nwant  %s", row.spans, got, row.want)
			}
		})
	}
	if u := UptimeOf(spansOf("09:00 up"), at("11:00"), at("10:00"), time.Time{}); u.Up != 0 || u.Coverage != 0 || u.Ratio != nil {
		t.Errorf("a span that ends before it begins: %+v", u)
	}
}

func uptimeText(u Uptime) string {
	var parts []string
	for _, p := range []struct {
		name string
		d    core.Duration
	}{{"up", u.Up}, {"down", u.Down}, {"maintenance", u.Maintenance}, {"paused", u.Paused}, {"unknown", u.Unknown}} {
		if p.d != 0 {
			parts = append(parts, p.name+" "+p.d.String())
		}
	}
	ratio := "none"
	if u.Ratio != nil {
		ratio = fmt.Sprintf("%.6g", *u.Ratio)
	}
	return fmt.Sprintf("%s; %s; coverage %.6g; outages %d", strings.Join(parts, " "), ratio, u.Coverage, u.Outages)
}

// UptimeOf equals a count of seconds.
func TestUptimeIsThatOfEverySecond(t *testing.T) {
	t.Parallel()
	states := []SpanState{SpanUp, SpanDown, SpanPaused, SpanMaintenance, SpanUnknown}
	rapid.Check(t, func(t *rapid.T) {
		start := at("10:00")
		second := func(n int) time.Time { return start.Add(time.Duration(n) * time.Second) }
		var spans []Span
		for i, from := 0, 0; i < 10; i++ {
			from += rapid.IntRange(1, 20).Draw(t, "gap")
			spans = append(spans, Span{From: second(from), State: rapid.SampledFrom(states).Draw(t, "state")})
		}
		from := rapid.IntRange(0, 100).Draw(t, "from")
		to := from + rapid.IntRange(1, 150).Draw(t, "length")
		until := rapid.IntRange(0, 250).Draw(t, "until")
		parts := map[SpanState]core.Duration{}
		for n := from; n < to; n++ {
			state := SpanUnknown
			for _, s := range spans {
				if !s.From.After(second(n)) {
					state = s.State
				}
			}
			if (state == SpanUp || state == SpanDown) && n >= until {
				state = SpanUnknown
			}
			parts[state] += core.Duration(time.Second)
		}
		u := UptimeOf(spans, second(from), second(to), second(until))
		got := map[SpanState]core.Duration{SpanUp: u.Up, SpanDown: u.Down, SpanPaused: u.Paused, SpanMaintenance: u.Maintenance, SpanUnknown: u.Unknown}
		for _, state := range states {
			if got[state] != parts[state] {
				t.Fatalf("%s: got %s, want %s of %s", state, got[state], parts[state], lineText(spans))
			}
		}
	})
}

func TestUptimeAsJSON(t *testing.T) {
	t.Parallel()
	b, err := json.Marshal(UptimeOf(nil, at("10:00"), at("11:00"), time.Time{}))
	want := `{"from":"2026-03-02T10:00:00Z","to":"2026-03-02T11:00:00Z","up":"0s","down":"0s","maintenance":"0s","paused":"0s","unknown":"1h","ratio":null,"coverage":0,"outages":0}`
	if err != nil || string(b) != want {
		t.Errorf("%s %v", b, err)
	}
}

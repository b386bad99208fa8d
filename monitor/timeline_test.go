package monitor

import (
	"slices"
	"testing"
	"time"

	"pgregory.net/rapid"

	"github.com/belfry-run/belfry/task"
)

// Writing the retold entries turns the first timeline into the second.
func TestATimelineIsRetold(t *testing.T) {
	t.Parallel()
	states := []SpanState{SpanUp, SpanDown, SpanUnknown}
	draw := func(t *rapid.T, name string) (out []Span) {
		from := at("10:00")
		for range rapid.IntRange(1, 5).Draw(t, name) {
			if s := rapid.SampledFrom(states).Draw(t, "state"); len(out) == 0 || out[len(out)-1].State != s {
				out = append(out, Span{From: from, State: s})
			}
			from = from.Add(time.Duration(rapid.IntRange(1, 3).Draw(t, "gap")) * time.Minute)
		}
		return out
	}
	rapid.Check(t, func(t *rapid.T) {
		before, after := draw(t, "before"), draw(t, "after")
		notified := changedSpans(before, after)
		if slices.Equal(before, after) != (notified == nil) {
			t.Fatalf("%s to %s: %s", lineText(before), lineText(after), lineText(notified))
		}
		line := slices.Clone(before)
		if len(notified) > 0 {
			line = append(slices.DeleteFunc(line, func(s Span) bool { return !s.From.Before(notified[0].From) }), notified...)
		}
		if !slices.Equal(line, after) {
			t.Fatalf("%s to %s is told as %s and became %s", lineText(before), lineText(after), lineText(notified), lineText(line))
		}
	})
}

func TestSpansOfATimeline(t *testing.T) {
	t.Parallel()
	var l stretches
	text := func() string { return lineText(l.spans()) }
	for _, row := range []struct {
		name string
		do   func()
		want string
	}{
		{"nothing yet", func() {}, ""},
		{"the first", func() { l.setVerdict(at("10:00"), SpanUnknown, "") }, "10:00 unknown"},
		{"up", func() { l.setVerdict(at("10:10"), SpanUp, "") }, "10:00 unknown, 10:10 up"},
		{"before all it begins with the first", func() { l.setOverlay(at("09:00"), "") }, "10:00 unknown, 10:10 up"},
		{"a gap", func() { l.markGap(at("10:20"), at("10:30")) }, "10:00 unknown, 10:10 up, 10:20 unknown, 10:30 up"},
		{"a gap that ends before it begins", func() { l.markGap(at("10:50"), at("10:40")) }, "10:00 unknown, 10:10 up, 10:20 unknown, 10:30 up"},
		{"down under a gap", func() { l.setVerdict(at("10:15"), SpanDown, task.CodeStatus) }, "10:00 unknown, 10:10 up, 10:15 down, 10:20 unknown, 10:30 down"},
		{"paused", func() { l.setOverlay(at("10:40"), SpanPaused) }, "10:00 unknown, 10:10 up, 10:15 down, 10:20 unknown, 10:30 down, 10:40 paused"},
		{"a gap does not lie over a pause", func() { l.markGap(at("10:35"), at("10:45")) }, "10:00 unknown, 10:10 up, 10:15 down, 10:20 unknown, 10:30 down, 10:35 unknown, 10:40 paused"},
		{"uncovered", func() { l.setOverlay(at("10:50"), "") }, "10:00 unknown, 10:10 up, 10:15 down, 10:20 unknown, 10:30 down, 10:35 unknown, 10:40 paused, 10:50 down"},
		{"all that may change", func() { l = l.since(at("10:42")) }, "10:35 unknown, 10:40 paused, 10:50 down"},
	} {
		row.do()
		if got := text(); got != row.want {
			t.Fatalf("%s\ngot   %s\nwant  %s", row.name, got, row.want)
		}
	}
	for i := range 100 {
		l.setOverlay(at("11:00").Add(time.Duration(i)*time.Minute), []SpanState{SpanPaused, ""}[i%2])
	}
	if n := len(l.since(at("10:00"))); n != tailMax {
		t.Errorf("%d are kept", n)
	}
}

package monitor

import (
	"fmt"
	"maps"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"

	"pgregory.net/rapid"

	"github.com/belfry-run/belfry/core"
	"github.com/belfry-run/belfry/schedule"
)

func TestWindowsAreChecked(t *testing.T) {
	now := at("10:00")
	again := func() Window {
		return Window{Name: "patch", Rules: []schedule.Rule{{Cron: "0 2 * * SUN"}}, Lasts: span("2h"), Zone: "Europe/Sofia", Tags: []string{"web"}}.WithDefaults()
	}
	refuses(t, again, func(w Window) error { return w.Validate(now) }, []refusal[Window]{
		{"name", func(w *Window) { w.Name = "" }, "name", "is missing"},
		{"monitor", func(w *Window) { w.Monitors = []string{"a b"} }, "monitors[0]", "is not a name"},
		{"tag", func(w *Window) { w.Tags = []string{"a b"} }, "tags", "is not a tag"},
		{"nothing", func(w *Window) { w.Rules, w.Lasts = nil, 0 }, "from", "give from and to"},
		{"both", func(w *Window) { w.From, w.To = at("11:00"), at("12:00") }, "from", "cannot stand beside rules"},
		{"no lasts", func(w *Window) { w.Lasts = 0 }, "lasts", "how long"},
		{"short", func(w *Window) { w.Lasts = span("59s") }, "lasts", "outside 1m to 7d"},
		{"long", func(w *Window) { w.Lasts = span("8d") }, "lasts", "outside 1m to 7d"},
		{"zone", func(w *Window) { w.Zone = "Europe/Sofa" }, "zone", "Sofia"},
		{"cron", func(w *Window) { w.Rules[0].Cron = "0 25 * * *" }, "rules[0].cron", "25"},
		{"interval", func(w *Window) { w.Rules[0] = schedule.Rule{Every: span("1h")} }, "rules[0]", "begins by cron or rrule"},
		{"interval from the finish", func(w *Window) { w.Rules[0] = schedule.Rule{Every: span("1h"), Anchor: schedule.AnchorFinish} }, "rules[0]", "begins by cron or rrule"},
		{"instants", func(w *Window) { w.Rules[0] = schedule.Rule{At: []time.Time{now}} }, "rules[0]", "begins by cron or rrule"},
		{"empty rule", func(w *Window) { w.Rules[0] = schedule.Rule{} }, "rules[0]", "exactly one of"},
		{"many rules", func(w *Window) { w.Rules = make([]schedule.Rule, 33) }, "rules", "more than 32"},
		{"always", func(w *Window) { w.Rules[0].Cron, w.Lasts = "* * * * *", span("1m") }, "lasts", "never ends"},
		{"always, each with the next", func(w *Window) { w.Lasts, w.Zone = span("7d"), "UTC" }, "lasts", "never ends"},
		{"always but for an hour in autumn", func(w *Window) { w.Lasts = span("7d") }, "", ""},
		{"over", func(w *Window) {
			w.Rules[0] = schedule.Rule{RRule: "FREQ=DAILY;COUNT=3", DTStart: "2026-01-01T00:00:00"}
		}, "rules[0].rrule", "2026"},
		{"recurrence", func(w *Window) {
			w.Rules[0] = schedule.Rule{RRule: "FREQ=WEEKLY;BYDAY=SA", DTStart: "2026-01-03T22:00:00"}
		}, "", ""},
	})
	once := func() Window { return Window{Name: "move", From: at("09:00"), To: at("11:00")}.WithDefaults() }
	t.Run("once", func(t *testing.T) {
		refuses(t, once, func(w Window) error { return w.Validate(now) }, []refusal[Window]{
			{"no begin", func(w *Window) { w.From = time.Time{} }, "from", "when does it begin"},
			{"no end", func(w *Window) { w.To = time.Time{} }, "to", "when does it end"},
			{"empty", func(w *Window) { w.From = w.To }, "to", "is not after from"},
			{"backward", func(w *Window) { w.From = at("12:00") }, "to", "is not after from"},
			{"over", func(w *Window) { w.To = now }, "to", "has passed"},
			{"years", func(w *Window) { w.To = w.To.AddDate(2, 0, 0) }, "to", "is more than 366d after from"},
			{"lasts", func(w *Window) { w.Lasts = span("1h") }, "lasts", "belongs to a window with rules"},
		})
	})
	over := once()
	over.From, over.To = at("2020-01-01T00:00"), at("2020-01-01T01:00")
	if err := over.Validate(time.Time{}); err != nil {
		t.Errorf("one that is over, judged without the time: %v", err)
	}
	for _, w := range []Window{again(), once()} {
		if twice := w.WithDefaults(); !reflect.DeepEqual(w, twice) {
			t.Errorf("defaults\n%+v\n%+v", w, twice)
		}
	}
}

func TestWindowsConcernMonitors(t *testing.T) {
	t.Parallel()
	m := Monitor{Namespace: "default", Name: "site", Tags: []string{"web", "prod"}}
	for _, row := range []struct {
		w    Window
		want bool
	}{
		{Window{}, true},
		{Window{Namespace: "other"}, false},
		{Window{Monitors: []string{"site"}}, true},
		{Window{Monitors: []string{"db"}}, false},
		{Window{Tags: []string{"prod"}}, true},
		{Window{Tags: []string{"test"}}, false},
		{Window{Monitors: []string{"db"}, Tags: []string{"web"}}, true},
		{Window{Monitors: []string{"site"}, Tags: []string{"test"}}, true},
		{Window{Monitors: []string{"db"}, Tags: []string{"test"}}, false},
	} {
		if got := row.w.WithDefaults().Concerns(m); got != row.want {
			t.Errorf("%+v: %v", row.w, got)
		}
	}
}

func planOf(t testing.TB, w Window) WindowPlan {
	t.Helper()
	w.Name = "w"
	plan, err := CompileWindow(w.WithDefaults())
	if err != nil {
		t.Fatal(err)
	}
	return plan
}

func TestWindowsComeInTheirTime(t *testing.T) {
	t.Parallel()
	show := func(list []ActiveWindow) string {
		var texts []string
		for _, a := range list {
			texts = append(texts, in(a.From)+"-"+in(a.To))
		}
		return strings.Join(texts, ", ")
	}
	for _, row := range []struct{ name, rules, lasts, zone, from, want string }{
		{"every night", "0 2 * * *", "1h", "UTC", "10:00", "03T02:00-03T03:00, 04T02:00-04T03:00, 05T02:00-05T03:00"},
		{"in its zone", "0 2 * * *", "1h", "Europe/Sofia", "10:00", "03T00:00-03T01:00, 04T00:00-04T01:00, 05T00:00-05T01:00"},
		{"under way", "0 9 * * *", "2h", "UTC", "10:00", "09:00-11:00, 03T09:00-03T11:00, 04T09:00-04T11:00"},
		{"at its begin", "0 9 * * *", "2h", "UTC", "09:00", "09:00-11:00, 03T09:00-03T11:00, 04T09:00-04T11:00"},
		{"at its end", "0 9 * * *", "1h", "UTC", "10:00", "03T09:00-03T10:00, 04T09:00-04T10:00, 05T09:00-05T10:00"},
		{"over midnight", "30 23 * * *", "1h", "UTC", "03T00:00", "23:30-03T00:30, 03T23:30-04T00:30, 04T23:30-05T00:30"},
		{"two that overlap", "0 9 * * *|30 9 * * *", "1h", "UTC", "09:45", "09:00-10:30, 03T09:00-03T10:30, 04T09:00-04T10:30"},
		{"two that touch", "0 9 * * *|0 10 * * *", "1h", "UTC", "09:45", "09:00-11:00, 03T09:00-03T11:00, 04T09:00-04T11:00"},
		{"many that overlap", "*/5 8-9 * * *", "10m", "UTC", "09:45", "08:00-10:05, 03T08:00-03T10:05, 04T08:00-04T10:05"},
		{"a night without 02:30", "30 2 * * *", "1h", "Europe/Berlin", "28T12:00", "29T01:00-29T02:00, 30T00:30-30T01:30, 31T00:30-31T01:30"},
	} {
		t.Run(row.name, func(t *testing.T) {
			t.Parallel()
			w := Window{Lasts: span(row.lasts), Zone: row.zone}
			for rule := range strings.SplitSeq(row.rules, "|") {
				w.Rules = append(w.Rules, schedule.Rule{Cron: rule})
			}
			if got := show(planOf(t, w).Upcoming(at(row.from), 3)); got != row.want {
				t.Errorf("got  %s\nwant %s", got, row.want)
			}
		})
	}
	once := planOf(t, Window{From: at("09:00"), To: at("11:00")})
	if got := show(once.Upcoming(at("08:00"), 3)); got != "09:00-11:00" {
		t.Errorf("once: %s", got)
	}
	if got := in(nextEdge(once, at("08:00"))) + " " + in(nextEdge(once, at("09:00"))) + " " + in(nextEdge(once, at("11:00"))); got != "09:00 11:00 never" {
		t.Errorf("edges of one that comes once: %s", got)
	}
	off := planOf(t, Window{From: at("09:00"), To: at("11:00"), Off: true})
	if _, is := off.At(at("10:00")); is || len(off.Upcoming(at("08:00"), 3)) > 0 {
		t.Error("a window that is off comes")
	}
	always := planOf(t, Window{Rules: []schedule.Rule{{Cron: "* * * * * *"}}, Lasts: span("7d")})
	if a, is := always.At(at("10:00")); !is || !a.To.After(at("10:00")) || !a.From.Before(at("10:00")) {
		t.Errorf("a window that never ends: %+v", a)
	}
}

// TestWindowsAgreeWithEveryMinute compares windows with a predicate for every minute
// around changes of the clocks.
func TestWindowsAgreeWithEveryMinute(t *testing.T) {
	t.Parallel()
	matches := map[string]func(t time.Time) bool{ // rules that follow elapsed time, or outside of skipped and repeated times
		"*/20 1-3 * * *": func(t time.Time) bool { return t.Hour() >= 1 && t.Hour() <= 3 && t.Minute()%20 == 0 },
		"*/45 * * * *":   func(t time.Time) bool { return t.Minute() == 0 || t.Minute() == 45 },
		"15 22 * * *":    func(t time.Time) bool { return t.Hour() == 22 && t.Minute() == 15 },
		"0 5 * * MON":    func(t time.Time) bool { return t.Weekday() == time.Monday && t.Hour() == 5 && t.Minute() == 0 },
		"0 8 * * *":      func(t time.Time) bool { return t.Hour() == 8 && t.Minute() == 0 },
	}
	changes := []struct{ zone, day string }{
		{"UTC", "2026-03-28T20:00"}, {"Europe/Berlin", "2026-03-28T20:00"}, {"Europe/Berlin", "2026-10-24T20:00"},
		{"America/New_York", "08T00:00"}, {"America/New_York", "2026-11-01T00:00"}, {"Australia/Lord_Howe", "2026-04-04T10:00"}, {"Australia/Lord_Howe", "2026-10-03T10:00"},
	}
	rapid.Check(t, func(t *rapid.T) {
		change := rapid.SampledFrom(changes).Draw(t, "change")
		loc, err := time.LoadLocation(change.zone)
		if err != nil {
			t.Fatal(err)
		}
		begin := at(change.day)
		picked := rapid.SliceOfNDistinct(rapid.SampledFrom(slices.Sorted(maps.Keys(matches))), 1, 3, rapid.ID[string])
		lengths := rapid.SampledFrom([]time.Duration{time.Minute, 7 * time.Minute, 20 * time.Minute, time.Hour, 5 * time.Hour, 23 * time.Hour})
		w := rapid.Custom(func(t *rapid.T) Window {
			w := Window{Name: "w", Lasts: core.Duration(lengths.Draw(t, "lasts")), Zone: change.zone}
			for _, cron := range picked.Draw(t, "rules") {
				w.Rules = append(w.Rules, schedule.Rule{Cron: cron})
			}
			return w.WithDefaults()
		}).Filter(func(w Window) bool { return w.Validate(time.Time{}) == nil }).Draw(t, "window that ends")
		plan, err := CompileWindow(w)
		if err != nil {
			t.Fatal(err)
		}
		var until, edge time.Time
		was := false
		lasts := w.Lasts.D()
		for m := begin.Add(-2 * lasts); m.Before(begin.Add(14 * time.Hour)); m = m.Add(time.Minute) {
			for _, r := range w.Rules {
				if matches[r.Cron](m.In(loc)) {
					until = m.Add(lasts)
				}
			}
			is := m.Before(until)
			if m.Before(begin) {
				was = is
				continue
			}
			got, under := plan.At(m)
			if under != is {
				t.Fatalf("%s: under way %v, want %v", m, under, is)
			}
			if under && (got.From.After(m) || !got.To.After(m)) {
				t.Fatalf("%s: not within %+v", m, got)
			}
			if !edge.IsZero() && (is != was) != edge.Equal(m) {
				t.Fatalf("%s: it turned from %v to %v and the edge was said to be at %s", m, was, is, edge)
			}
			was = is
			if m.Before(edge) && m.Minute()%7 != 0 {
				continue
			}
			next := nextEdge(plan, m)
			if !next.After(m) && !next.IsZero() || !edge.IsZero() && next.Before(edge) {
				t.Fatalf("%s: the next edge is %s, and was %s a minute before", m, next, edge)
			}
			edge = next
		}
		checkUpcoming(t, plan, begin)
	})
}

// nextEdge returns the first instant after t at which a window begins or ends, or
// zero.
func nextEdge(plan WindowPlan, t time.Time) time.Time {
	if at, under := plan.At(t); under {
		return at.To
	}
	if coming := plan.Upcoming(t, 1); len(coming) > 0 {
		return coming[0].From
	}
	return time.Time{}
}

// checkUpcoming checks that occurrences are in order, do not touch, and agree with At.
func checkUpcoming(t *rapid.T, plan WindowPlan, from time.Time) {
	var last time.Time
	for i, a := range plan.Upcoming(from, 5) {
		if !a.To.After(a.From) || !a.To.After(from) || i > 0 && !a.From.After(last) {
			t.Fatalf("%+v after %s", a, last)
		}
		for _, inside := range []time.Time{a.From, a.To.Add(-time.Second)} {
			if again, is := plan.At(inside); !is && i > 0 || is && again != a {
				t.Fatalf("at %s it is %+v, want %+v", inside, again, a)
			}
		}
		last = a.To
	}
}

func ExampleWindowPlan_Upcoming() {
	w := Window{Name: "patches", Rules: []schedule.Rule{{Cron: "0 22 * * SAT"}}, Lasts: core.Duration(3 * time.Hour), Zone: "Europe/Sofia"}.WithDefaults()
	plan, err := CompileWindow(w)
	if err != nil {
		fmt.Println(err)
	}
	for _, a := range plan.Upcoming(time.Date(2026, 3, 20, 0, 0, 0, 0, time.UTC), 2) {
		fmt.Println(a.From.Format(time.RFC3339), "to", a.To.Format(time.RFC3339))
	}
	// Output:
	// 2026-03-21T20:00:00Z to 2026-03-21T23:00:00Z
	// 2026-03-28T20:00:00Z to 2026-03-28T23:00:00Z
}

func BenchmarkWindowAt(b *testing.B) {
	plan := planOf(b, Window{Rules: []schedule.Rule{{Cron: "0 2 * * SUN"}}, Lasts: span("2h"), Zone: "Europe/Sofia"})
	for b.Loop() {
		plan.At(at("10:00"))
	}
}

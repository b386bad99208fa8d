package cron

import (
	"testing"
	"time"
)

var benchRules = []struct{ name, expr string }{
	{"every-5-minutes", "*/5 * * * *"}, {"every-second", "* * * * * *"}, {"hourly", "0 * * * *"}, {"daily", "30 2 * * *"},
	{"weekdays", "0 9 * * MON-FRI"}, {"monthly", "0 0 1 * *"}, {"last-friday", "0 0 * * FRIL"}, {"31st", "0 0 31 * *"},
	{"yearly", "0 0 1 1 *"}, {"leap-monday", "0 0 29 2 +MON"},
}

func BenchmarkNext(b *testing.B) {
	for _, zone := range []string{"UTC", "America/New_York"} {
		for _, r := range benchRules {
			b.Run(zone+"/"+r.name, func(b *testing.B) { benchNext(b, parse(b, r.expr, Options{Zone: zoneOf(b, zone)})) })
		}
	}
}

func BenchmarkRRuleNext(b *testing.B) {
	for name, text := range map[string]string{
		"daily":       "DTSTART;TZID=America/New_York:20200101T090000\nRRULE:FREQ=DAILY",
		"mon-fri":     "DTSTART;TZID=America/New_York:20200101T090000\nRRULE:FREQ=WEEKLY;BYDAY=MO,FR",
		"last-friday": "DTSTART;TZID=America/New_York:20200101T090000\nRRULE:FREQ=MONTHLY;BYDAY=-1FR",
		"setpos":      "DTSTART;TZID=America/New_York:20200101T090000\nRRULE:FREQ=MONTHLY;BYDAY=MO,TU,WE,TH,FR;BYSETPOS=-1",
		"secondly":    "DTSTART;TZID=America/New_York:20200101T090000\nRRULE:FREQ=SECONDLY;INTERVAL=7",
	} {
		b.Run(name, func(b *testing.B) { benchNext(b, parseRule(b, text, Options{})) })
	}
}

func BenchmarkEveryNext(b *testing.B) {
	e, err := NewEvery(5*time.Minute, time.Time{}, "bench")
	if err != nil {
		b.Fatal(err)
	}
	benchNext(b, e)
}

func BenchmarkPrev(b *testing.B) {
	e := parse(b, "0 9 * * MON-FRI", Options{Zone: zoneOf(b, "America/New_York")})
	t := at(b, "UTC", "2026-06-01 00:00")
	b.ReportAllocs()
	for b.Loop() {
		e.Prev(t)
	}
}

func BenchmarkParse(b *testing.B) {
	zone := zoneOf(b, "America/New_York")
	b.ReportAllocs()
	for b.Loop() {
		if _, err := Parse("*/5 9-17 * * MON-FRI", Options{Zone: zone}); err != nil {
			b.Fatal(err)
		}
	}
}

// BenchmarkMillionSchedules is what a node does at start: the next time of a million schedules, one operation each.
func BenchmarkMillionSchedules(b *testing.B) {
	zone := zoneOf(b, "Europe/Sofia")
	var all []*Expr
	for _, r := range benchRules {
		all = append(all, parse(b, r.expr, Options{Zone: zone}))
	}
	now := at(b, "UTC", "2026-06-01 00:00")
	b.ReportAllocs()
	for b.Loop() {
		for i := range 1_000_000 {
			all[i%len(all)].Next(now)
		}
	}
}

// benchNext walks through ten years and starts again.
func benchNext(b *testing.B, ts Times) {
	from := at(b, "UTC", "2026-01-01 00:00")
	end := from.AddDate(10, 0, 0)
	t := from
	b.ReportAllocs()
	for b.Loop() {
		if t = ts.Next(t); t.After(end) {
			t = from
		}
	}
}

func TestNextDoesNotAllocate(t *testing.T) {
	for _, r := range benchRules {
		e := parse(t, r.expr, Options{Zone: zoneOf(t, "America/New_York")})
		from := at(t, "UTC", "2026-03-08 00:00")
		if n := testing.AllocsPerRun(100, func() { e.Next(from) }); n != 0 {
			t.Errorf("%s: %v allocations", r.name, n)
		}
	}
	r := parseRule(t, "DTSTART:20200101T090000Z\nRRULE:FREQ=YEARLY;BYDAY=MO,FR;BYSETPOS=3,-1", Options{})
	if n := testing.AllocsPerRun(100, func() { r.Next(time.Unix(1_800_000_000, 0)) }); n != 0 {
		t.Errorf("RRULE: %v allocations", n)
	}
}

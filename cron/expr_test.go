package cron

import (
	"errors"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/belfry-run/belfry/cron/internal/civil"
)

const day, clockLayout = "2006-01-02", "2006-01-02 15:04:05"

// at reads "2026-03-08 02:30" or with seconds, in a zone.
func at(t testing.TB, zone, text string) time.Time {
	t.Helper()
	if len(text) == len("2006-01-02 15:04") {
		text += ":00"
	}
	got, err := time.ParseInLocation(clockLayout, text, zoneOf(t, zone))
	if err != nil {
		t.Fatal(err)
	}
	return got
}

func zoneOf(t testing.TB, name string) *time.Location {
	t.Helper()
	loc, err := LoadZone(name)
	if err != nil {
		t.Fatal(err)
	}
	return loc
}

func parse(t testing.TB, expr string, o Options) *Expr {
	t.Helper()
	e, err := Parse(expr, o)
	if err != nil {
		t.Fatalf("Parse(%q): %v", expr, err)
	}
	return e
}

// show writes times in their own zone, with the zone's letters where asked.
func show(times []time.Time, layout string) string {
	words := make([]string, len(times))
	for i, t := range times {
		words[i] = t.Format(layout)
	}
	return strings.Join(words, ", ")
}

func TestNext(t *testing.T) {
	for _, c := range []struct{ expr, from, want string }{
		{"* * * * *", "2026-01-01 00:00", "01-01 00:01:00, 01-01 00:02:00"},
		{"*/5 * * * *", "2026-01-01 00:02", "01-01 00:05:00, 01-01 00:10:00"},
		{"*/7 * * * *", "2026-01-01 00:50", "01-01 00:56:00, 01-01 01:00:00, 01-01 01:07:00"},
		{"7/20 * * * *", "2026-01-01 00:00", "01-01 00:07:00, 01-01 00:27:00, 01-01 00:47:00, 01-01 01:07:00"},
		{"* * * * * *", "2026-01-01 00:00", "01-01 00:00:01, 01-01 00:00:02"},
		{"*/20 30 9 * * *", "2026-01-01 00:00", "01-01 09:30:00, 01-01 09:30:20, 01-01 09:30:40, 01-02 09:30:00"},
		{"0 9 * * MON-FRI", "2026-01-01 10:00", "01-02 09:00:00, 01-05 09:00:00"},
		{"0 9 * * mon,Friday", "2026-01-01 10:00", "01-02 09:00:00, 01-05 09:00:00, 01-09 09:00:00"},
		{"0 0 * * FRI-MON", "2026-01-01 00:00", "01-02 00:00:00, 01-03 00:00:00, 01-04 00:00:00, 01-05 00:00:00, 01-09 00:00:00"},
		{"0 0 * * 5-7", "2026-01-01 00:00", "01-02 00:00:00, 01-03 00:00:00, 01-04 00:00:00, 01-09 00:00:00"},
		{"0 0 * * 6-1", "2026-01-01 00:00", "01-03 00:00:00, 01-04 00:00:00, 01-05 00:00:00, 01-10 00:00:00"},
		{"0 0 * * 7", "2026-01-01 00:00", "01-04 00:00:00, 01-11 00:00:00"},
		{"0 0 * * 0-7", "2026-01-01 00:00", "01-02 00:00:00, 01-03 00:00:00"},
		{"0 22-2 * * *", "2026-01-01 00:00", "01-01 01:00:00, 01-01 02:00:00, 01-01 22:00:00, 01-01 23:00:00, 01-02 00:00:00"},
		{"0 22-2/2 * * *", "2026-01-01 00:00", "01-01 02:00:00, 01-01 22:00:00, 01-02 00:00:00"},
		{"0 0 1 NOV-FEB *", "2026-01-01 00:00", "02-01 00:00:00, 11-01 00:00:00, 12-01 00:00:00, 01-01 00:00:00"},
		{"0 0 30-2 * *", "2026-01-02 00:00", "01-30 00:00:00, 01-31 00:00:00, 02-01 00:00:00, 02-02 00:00:00, 03-01 00:00:00"},
		{"0 0 31 * *", "2026-01-31 00:00", "03-31 00:00:00, 05-31 00:00:00, 07-31 00:00:00, 08-31 00:00:00, 10-31 00:00:00"},
		{"0 0 L * *", "2026-01-31 00:00", "02-28 00:00:00, 03-31 00:00:00, 04-30 00:00:00"},
		{"0 0 L-3 * *", "2026-01-01 00:00", "01-28 00:00:00, 02-25 00:00:00, 03-28 00:00:00"},
		{"0 0 L,15 * *", "2026-01-01 00:00", "01-15 00:00:00, 01-31 00:00:00, 02-15 00:00:00"},
		{"0 0 LW * *", "2026-01-01 00:00", "01-30 00:00:00, 02-27 00:00:00, 03-31 00:00:00"},
		{"0 0 L-2W * *", "2026-01-01 00:00", "01-29 00:00:00, 02-26 00:00:00, 03-30 00:00:00"},
		{"0 0 1W * *", "2026-01-02 00:00", "02-02 00:00:00, 03-02 00:00:00, 04-01 00:00:00, 05-01 00:00:00, 06-01 00:00:00"},
		{"0 0 1W 8 *", "2026-01-02 00:00", "08-03 00:00:00"}, // 1 August 2026 is a Saturday; July stays out
		{"0 0 15W * *", "2026-01-16 00:00", "02-16 00:00:00, 03-16 00:00:00, 04-15 00:00:00"},
		{"0 0 31W * *", "2026-02-01 00:00", "03-31 00:00:00, 05-29 00:00:00"},
		{"0 0 * * 5L", "2026-01-01 00:00", "01-30 00:00:00, 02-27 00:00:00"},
		{"0 0 * * FRIL", "2026-01-01 00:00", "01-30 00:00:00, 02-27 00:00:00"},
		{"0 0 * * 5#3", "2026-01-01 00:00", "01-16 00:00:00, 02-20 00:00:00"},
		{"0 0 * * FRI#5", "2026-01-01 00:00", "01-30 00:00:00, 05-29 00:00:00"},
		{"0 0 * * MON#1,MON#3", "2026-01-01 00:00", "01-05 00:00:00, 01-19 00:00:00, 02-02 00:00:00"},
		{"0 0 13 * FRI", "2026-01-01 00:00", "01-02 00:00:00, 01-09 00:00:00, 01-13 00:00:00, 01-16 00:00:00"},
		{"0 0 13 * +FRI", "2026-01-01 00:00", "02-13 00:00:00, 03-13 00:00:00, 11-13 00:00:00"},
		{"0 0 1-7 * +MON", "2026-01-01 00:00", "01-05 00:00:00, 02-02 00:00:00"},
		{"0 0 */2 * FRI", "2026-01-01 00:00", "01-09 00:00:00, 01-23 00:00:00, 02-13 00:00:00"}, // a star: both must match
		{"0 0 1-31/2 * FRI", "2026-01-01 00:00", "01-02 00:00:00, 01-03 00:00:00, 01-05 00:00:00"},
		{"0 0 10 * */2", "2026-01-01 00:00", "01-10 00:00:00, 02-10 00:00:00, 03-10 00:00:00, 05-10 00:00:00"}, // both: not on 10 April, a Friday
		{"0 0 ? * MON", "2026-01-01 00:00", "01-05 00:00:00, 01-12 00:00:00"},
		{"0 0 12 1 JAN ? 2030,2032", "2026-01-01 00:00", "01-01 12:00:00, 01-01 12:00:00"},
		{"0 0 0 1 1 ? */4", "2026-01-02 00:00", "01-01 00:00:00, 01-01 00:00:00"},
		{"0 0 29 2 *", "2026-01-01 00:00", "02-29 00:00:00, 02-29 00:00:00"},
		{"@yearly", "2026-01-01 00:00", "01-01 00:00:00"},
		{"@monthly", "2026-01-01 00:00", "02-01 00:00:00"},
		{"@weekly", "2026-01-01 00:00", "01-04 00:00:00"},
		{"@midnight", "2026-01-01 00:00", "01-02 00:00:00"},
		{"@Hourly", "2026-01-01 00:00", "01-01 01:00:00"},
		{"@every 90m", "2026-01-01 00:00", "01-01 01:30:00, 01-01 03:00:00"},
		{"@every 1d", "2026-01-01 00:00", "01-02 00:00:00"},
	} {
		e := parse(t, c.expr, Options{})
		got := Upcoming(e, at(t, "UTC", c.from), strings.Count(c.want, ",")+1)
		if s := show(got, "01-02 15:04:05"); s != c.want {
			t.Errorf("%s after %s:\n got %s\nwant %s", c.expr, c.from, s, c.want)
		}
	}
}

func TestRareDaysAreFoundHoweverFar(t *testing.T) {
	for _, c := range []struct{ expr, from, want string }{
		{"0 0 29 2 +MON", "2016-03-01 00:00", "2044-02-29"},
		{"0 0 29 2 +WED", "2096-02-29 00:00", "2108-02-29"}, // across 2100, which is no leap year
		{"0 0 29 2 +THU", "2080-02-29 00:00", "2120-02-29"}, // 40 years
		{"0 0 0 29 2 +MON 2100-2150", "2026-01-01 00:00", "2112-02-29"},
		{"0 0 0 1 1 ? 9999", "2026-01-01 00:00", "9999-01-01"},
	} {
		if got := parse(t, c.expr, Options{}).Next(at(t, "UTC", c.from)); got.Format(day) != c.want {
			t.Errorf("%s after %s: got %v, want %s", c.expr, c.from, got, c.want)
		}
	}
}

func TestNeverMatchingIsRefused(t *testing.T) {
	newYork := zoneOf(t, "America/New_York")
	for _, c := range []struct {
		expr string
		o    Options
	}{
		{"0 0 30 2 *", Options{}},
		{"0 0 31 4,6,9,11 *", Options{}},
		{"0 0 31W 2 *", Options{}},
		{"0 0 1-7 * +MON#3", Options{}},
		{"0 0 0 29 2 ? 2027", Options{}},
		{"0 0 0 29 2 ? 2100", Options{}},
		{"0 30 2 8-14 3 +SUN 2008-2400", Options{Zone: newYork, Gap: GapSkip}}, // exactly the hour that is skipped
		{"0 */5 2 8-14 3 +SUN 2008-9999", Options{Zone: newYork}},
		{"0 0 0 1 1 ? 2020", Options{After: time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)}},
	} {
		began := time.Now()
		e, err := Parse(c.expr, c.o)
		if err == nil {
			t.Errorf("Parse(%q): accepted, next is %v", c.expr, e.Next(time.Time{}))
		}
		if took := time.Since(began); took > patience {
			t.Errorf("Parse(%q): took %v", c.expr, took)
		}
	}
}

func TestTheYearThatHasPassed(t *testing.T) {
	e := parse(t, "0 0 0 1 1 ? 2020", Options{})
	if got := e.Next(at(t, "UTC", "2026-01-01 00:00")); !got.IsZero() {
		t.Errorf("Next after the last: %v", got)
	}
	if got := e.Prev(at(t, "UTC", "2026-01-01 00:00")); got.Format(day) != "2020-01-01" {
		t.Errorf("Prev: %v", got)
	}
	if got := e.Prev(at(t, "UTC", "2020-01-01 00:00")); !got.IsZero() {
		t.Errorf("Prev of the first: %v", got)
	}
}

func TestFractionsOfASecond(t *testing.T) {
	e := parse(t, "* * * * * *", Options{})
	base := at(t, "UTC", "2026-01-01 00:00")
	for _, c := range []struct{ from, next, prev time.Duration }{
		{0, time.Second, -time.Second},
		{1, time.Second, 0},
		{time.Second - 1, time.Second, 0},
	} {
		if got := e.Next(base.Add(c.from)).Sub(base); got != c.next {
			t.Errorf("Next(+%v) = +%v", c.from, got)
		}
		if got := e.Prev(base.Add(c.from)).Sub(base); got != c.prev {
			t.Errorf("Prev(+%v) = %v", c.from, got)
		}
	}
}

func TestNormalForm(t *testing.T) {
	for expr, want := range map[string]string{
		"  0   9 * *  1-5 ":              "0 9 * * MON-FRI",
		"0 9 * jan sun":                  "0 9 * JAN SUN",
		"0 9 * * 7":                      "0 9 * * SUN",
		"0 9 * * 0-7":                    "0 9 * * SUN-SAT",
		"@daily":                         "0 0 * * *",
		"@Every 3600s":                   "@every 1h",
		"TZ=Europe/Sofia @daily":         "CRON_TZ=Europe/Sofia 0 0 * * *",
		"CRON_TZ=UTC 5/15 * * * *":       "CRON_TZ=UTC 5-59/15 * * * *",
		"h h(0-7) h/2 * *":               "H H(0-7) H/2 * *",
		"0 0 l-3,lw,15w * fri#2,5l":      "0 0 L-3,LW,15W * FRI#2,FRIL",
		"0 0 1 * +mon":                   "0 0 1 * +MON",
		"*/15 0 9 ? * MON 2026-2030/2,*": "*/15 0 9 ? * MON 2026-2030/2,*",
	} {
		e := parse(t, expr, Options{Seed: "x"})
		if e.String() != want {
			t.Errorf("%q: got %q, want %q", expr, e, want)
		}
		if again := parse(t, e.String(), Options{Seed: "x"}); again.String() != e.String() {
			t.Errorf("%q does not parse back: %q", e, again)
		}
	}
}

func TestParseErrors(t *testing.T) {
	for _, c := range []struct{ expr, field, part string }{
		{"", "expression", "is empty"},
		{"x", "expression", "has 1 field"},
		{"0 9 * *", "expression", `did you mean "0 9 * * *"?`},
		{"0 9 * * * /bin/backup --all now", "expression", "crontab line ends with a command"},
		{"FREQ=DAILY", "expression", "this is an RRULE"},
		{"60 * * * *", "minute", "did you mean 0?"},
		{"0 24 * * *", "hour", "did you mean 0?"},
		{"0 9 0 * *", "day of month", "did you mean 1?"},
		{"0 9 * 13 *", "month", "outside 1 to 12"},
		{"0 9 * * 8", "weekday", "outside 0 to 7"},
		{"0 9 * * MOX", "weekday", `understood so far: minute 0, hour 9, day of month *, month *; did you mean "0 9 * * MON"?`},
		{"CRON_TZ=Europe/Sofia 0 9 * * TUW", "weekday", `did you mean "CRON_TZ=Europe/Sofia 0 9 * * TU`},
		{"0 9 JUL * *", "day of month", "is a month"},
		{"0 9 * MON *", "month", "is a weekday"},
		{"*/0 * * * *", "minute", "above zero"},
		{"*/90 * * * *", "minute", `did you mean "@every 90m"?`},
		{"1,,2 * * * *", "minute", "remove the extra comma"},
		{"1- * * * *", "minute", "lacks a value"},
		{"?/5 ? * * *", "minute", "stands only in a day field"},
		{"0 0 ?,1 * *", "day of month", "use ? alone"},
		{"0 0 L-31 * *", "day of month", "is not a day"},
		{"0 0 32W * *", "day of month", "is not a day"},
		{"0 0 LW/2 * *", "day of month", "cannot have a step"},
		{"0 0 * * L", "weekday", "FRIL"},
		{"0 0 * * 5#6", "weekday", "needs 1 to 5"},
		{"H(5-3) * * * *", "minute", "range that grows"},
		{"H(5 * * * *", "minute", "is not a hash"},
		{"0 0 0 1 1 ? H", "year", "cannot be hashed"},
		{"0 0 0 1 1 ? 2030-2026", "year", `did you mean "2026-2030"?`},
		{"0 9 * * 1 2026", "weekday", `write "0 0 9 * * 1 2026"`},
		{"30 9 * * MON-FRI *", "month", `write "0 30 9 * * MON-FRI *"`},
		{"30 9 * * 1-5 *", "expression", `write "30 9 * * JAN-MAY * *" or "30 9 * * MON-FRI"`},
		{"30 9 * * * *", "expression", "can be read in two ways"},
		{"0 0 9 ? * 2-6", "weekday", "TUE-SAT in cron"},
		{"0 0 9 ? * 6L", "weekday", "can be read in two ways"},
		{"@dayly", "macro", `did you mean "@daily"?`},
		{"@reboot", "macro", "names an event"},
		{"@daily now", "macro", "does not belong"},
		{"@every", "@every", "needs one duration"},
		{"@every soon", "@every", "is not a duration"},
		{"@every 0s", "interval", "more than nothing"},
		{"@every 1us", "interval", "finer than a millisecond"},
		{"TZ=Europe/Sofa @daily", "zone", `did you mean "Europe/Sofia"?`},
		{"TZ=Local @daily", "zone", "whatever machine"},
		{"TZ=UTC TZ=UTC @daily", "zone", "second zone"},
		{"ſ * * * *", "minute", "does not know"},
		{"0 9 * * \x00", "weekday", "neither"},
	} {
		_, err := Parse(c.expr, Options{})
		e, ok := errors.AsType[*Error](err)
		if !ok {
			t.Errorf("Parse(%q) = %v, want an error", c.expr, err)
			continue
		}
		if e.Field != c.field || !strings.Contains(e.Error(), c.part) {
			t.Errorf("Parse(%q):\n got %s: %s\nwant %s: ... %s", c.expr, e.Field, e, c.field, c.part)
		}
	}
}

func TestErrorsPointAtTheCharacter(t *testing.T) {
	for expr, want := range map[string]int{
		"0 9 * * MON,TUX":       13,
		"  0 25 * * *":          5,
		"0 9 1-32 * *":          7,
		"TZ=Mars 0 9 * * *":     4,
		"@every nothing":        8,
		"0 0 0 1 1 ? 1999,2x":   18,
		"CRON_TZ=UTC 0 9 * * +": 22,
	} {
		_, err := Parse(expr, Options{})
		if e, ok := errors.AsType[*Error](err); !ok || e.Pos != want {
			t.Errorf("Parse(%q): %v; want column %d", expr, err, want)
		}
	}
}

// What looks like doubt but is not: these forms are everyday seconds-first cron.
func TestSixFieldsAreUsuallyClear(t *testing.T) {
	for _, expr := range []string{
		"0 0 9 * * *", "0 30 9 * * *", "*/10 * * * * *", "0 15 * * * *", "0 */5 * * * *", "15 30 9 * * 1-5",
		"0 0 9 ? * MON-FRI", "0 0 12 1 * ?", "0 0 9 * * 1-5", "0 0 0 ? * 0", "0 0 9 ? * 1-7",
	} {
		parse(t, expr, Options{})
	}
}

func TestHashIsStableAndSpread(t *testing.T) {
	for _, c := range []struct{ expr, seed, want string }{ // these must never change
		{"H H * * *", "backup", "2026-01-01 01:06:00"},
		{"H H * * *", "report", "2026-01-01 05:44:00"},
		{"H/15 * * * *", "backup", "2026-01-01 00:06:00"},
		{"H H(1-5) * * H", "backup", "2026-01-04 04:06:00"},
		{"H H H * *", "backup", "2026-01-19 01:06:00"},
		{"@every 1h", "backup", "2026-01-01 00:48:22"},
	} {
		e := parse(t, c.expr, Options{Seed: c.seed})
		if got := e.Next(at(t, "UTC", "2026-01-01 00:00")).Format(clockLayout); got != c.want {
			t.Errorf("%s for %q: %s, want %s", c.expr, c.seed, got, c.want)
		}
	}
	minutes := map[int]int{}
	for i := range 6000 {
		e := parse(t, "H * * * *", Options{Seed: "job-" + string(rune('a'+i%26)) + time.Duration(i).String()})
		minutes[e.Next(time.Unix(0, 0)).Minute()]++
	}
	for m := range 60 {
		if n := minutes[m]; n < 50 || n > 160 {
			t.Errorf("minute %d has %d of 6000 schedules", m, n)
		}
	}
}

func TestTenThousandFiveMinutes(t *testing.T) {
	e := parse(t, "*/5 * * * *", Options{Zone: zoneOf(t, "Europe/Sofia")})
	from := at(t, "UTC", "2026-10-01 00:00")
	for i, got := range Upcoming(e, from, 10_000) {
		if want := from.Add(time.Duration(i+1) * 5 * time.Minute); !got.Equal(want) {
			t.Fatalf("occurrence %d: %v, want %v", i, got, want)
		}
	}
}

func TestMondaysAndFridays(t *testing.T) {
	e := parse(t, "30 8 * * MON,FRI", Options{Zone: zoneOf(t, "America/New_York")})
	times := Upcoming(e, at(t, "UTC", "2026-01-01 00:00"), 1000)
	for i, u := range times {
		if u.Format("15:04") != "08:30" || u.Weekday() != time.Monday && u.Weekday() != time.Friday {
			t.Fatalf("occurrence %d: %v", i, u)
		}
		if i > 0 {
			if days := civilDays(u) - civilDays(times[i-1]); days != 3 && days != 4 {
				t.Fatalf("%d days before %v", days, u)
			}
		}
	}
}

func civilDays(t time.Time) int64 { return civil.DayOf(t.Year(), int(t.Month()), t.Day()) }

func TestExplain(t *testing.T) {
	for expr, want := range map[string]string{
		"0 9 * * MON-FRI":      "At 09:00 on Monday to Friday, UTC time.",
		"*/5 9-17 * * 1-5":     "Every 5 minutes from 09:00 to 17:59 on Monday to Friday, UTC time.",
		"0 0 13 * FRI":         "At 00:00 on day 13 of the month and also on Friday, UTC time.",
		"0 0 1-7 * +MON":       "At 00:00 on day 1 to day 7 of the month, but only on Monday, UTC time.",
		"0 * * * *":            "Every hour on the hour, UTC time.",
		"30 2 15W * *":         "At 02:30 on the workday nearest to the 15th of the month, UTC time.",
		"0 9,17 * JAN-MAR *":   "At 09:00 and 17:00 every day in January to March, UTC time.",
		"0 0 * * 5#3,FRIL":     "At 00:00 on the 3rd Friday of the month and the last Friday of the month, UTC time.",
		"* * * * * *":          "Every second, UTC time.",
		"H/15 * * * *":         "Every 15 minutes from minute 6 on, UTC time.",
		"H H * * *":            "At 01:06 every day, UTC time.",
		"@every 90m":           "Every 1 hour 30 minutes.",
		"0 0 0 1 1 ? 2030":     "At 00:00 on day 1 of the month in January in 2030, UTC time.",
		"TZ=Asia/Tokyo @daily": "At 00:00 every day, Asia/Tokyo time.",
	} {
		if got := parse(t, expr, Options{Seed: "backup"}).Explain(); got != want {
			t.Errorf("%s:\n got %s\nwant %s", expr, got, want)
		}
	}
}

func TestWhy(t *testing.T) {
	newYork := Options{Zone: zoneOf(t, "America/New_York")}
	for _, c := range []struct{ expr, when, want string }{
		{"0 9 * * MON-FRI", "2026-01-05 09:00", "yes"},
		{"0 9 * * MON-FRI", "2026-01-03 09:00", "no: Saturday the 3rd is not a day of the rule"},
		{"0 9 * * MON-FRI", "2026-01-05 10:00", "no: hour 10 is not in the rule"},
		{"0 9 * FEB *", "2026-01-05 09:00", "no: January is not in the rule"},
		{"30 2 * * *", "2026-03-08 03:00", "yes: 02:30 does not exist on 2026-03-08 in America/New_York: runs at 03:00"},
	} {
		if got := parse(t, c.expr, newYork).Why(at(t, "America/New_York", c.when)); got != c.want {
			t.Errorf("%s at %s: %s, want %s", c.expr, c.when, got, c.want)
		}
	}
	second := at(t, "America/New_York", "2026-11-01 01:30").Add(time.Hour)
	if got := parse(t, "30 1 * * *", newYork).Why(second); got != "no: it is one of two 01:30, and the rule runs at the first" {
		t.Error(got)
	}
}

func TestOptionsAreChecked(t *testing.T) {
	for _, o := range []Options{{Gap: "later"}, {Fold: "third"}} {
		if _, err := Parse("@daily", o); err == nil {
			t.Errorf("%+v accepted", o)
		}
		if _, err := ParseRRule("FREQ=DAILY", o); err == nil {
			t.Errorf("%+v accepted by ParseRRule", o)
		}
	}
}

func TestEvery(t *testing.T) {
	anchor := at(t, "UTC", "2026-01-01 00:10")
	e, err := NewEvery(90*time.Minute, anchor, "")
	if err != nil {
		t.Fatal(err)
	}
	if got := show(Upcoming(e, at(t, "UTC", "2025-12-31 23:00"), 3), "15:04"); got != "00:10, 01:40, 03:10" {
		t.Error(got)
	}
	if got := e.Prev(anchor).Format("15:04"); got != "22:40" {
		t.Errorf("Prev of the anchor: %s", got)
	}
	for _, d := range []time.Duration{0, -time.Second, time.Microsecond, 200 * 366 * 24 * time.Hour} {
		if _, err := NewEvery(d, anchor, ""); err == nil {
			t.Errorf("interval %v accepted", d)
		}
	}
}

func TestAtAndUnion(t *testing.T) {
	a, b, c := at(t, "UTC", "2026-01-03 00:00"), at(t, "UTC", "2026-01-01 00:00"), at(t, "UTC", "2026-01-02 00:00")
	one, err := NewAt(a, b, a)
	if err != nil {
		t.Fatal(err)
	}
	if got := show(one.Times(), day); got != "2026-01-01, 2026-01-03" {
		t.Error(got)
	}
	two, _ := NewAt(c, a)
	u := Union(one, nil, two)
	times := Upcoming(u, time.Time{}, 9)
	if got := show(times, day); got != "2026-01-01, 2026-01-02, 2026-01-03" {
		t.Error(got)
	}
	var back []time.Time
	for p := u.Prev(a.Add(1)); !p.IsZero(); p = u.Prev(p) {
		back = append(back, p)
	}
	slices.Reverse(back)
	if show(back, day) != show(times, day) {
		t.Error("backwards:", show(back, day))
	}
	if !Union().Next(a).IsZero() || !Union().Prev(a).IsZero() {
		t.Error("the union of nothing has times")
	}
	if _, err := NewAt(); err == nil {
		t.Error("no time at all accepted")
	}
}

func TestLoadZone(t *testing.T) {
	for name, want := range map[string]string{"": "UTC", "UTC": "UTC", "Europe/Sofia": "Europe/Sofia", "EST": "EST"} {
		if loc, err := LoadZone(name); err != nil || loc.String() != want {
			t.Errorf("%q: %v, %v", name, loc, err)
		}
	}
	for name, part := range map[string]string{
		"Local": "name the zone", "europe/sofia": "Europe/Sofia", "Sofia": "Europe/Sofia", "new york": "America/New_York",
		"PST": "America/Los_Angeles", "UTC+2": "Etc/GMT-2", "GMT-05": "Etc/GMT+5", "Amercia/New_York": "America/New_York", //nolint:misspell // the slip is the test
		"../../etc/passwd": "is not a time zone", "/etc/localtime": "is not a time zone", "Mars/Phobos": "IANA",
	} {
		if _, err := LoadZone(name); err == nil || !strings.Contains(err.Error(), part) {
			t.Errorf("%q: %v, want %q in it", name, err, part)
		}
	}
	for _, name := range ZoneNames() {
		zoneOf(t, name)
	}
	if ZoneVersion() == "" {
		t.Error("no version")
	}
	t.Log(ZoneVersion())
}

func TestEdgesOfTime(t *testing.T) {
	e := parse(t, "0 0 1 1 *", Options{Zone: zoneOf(t, "America/New_York")})
	r := parseRule(t, "DTSTART:99990101T000000Z\nRRULE:FREQ=MONTHLY;BYSETPOS=1;BYMONTHDAY=1", Options{})
	every, _ := NewEvery(time.Hour, time.Time{}, "")
	for _, ts := range []Times{e, r, every} {
		for _, u := range []time.Time{{}, time.Unix(-1<<62, 0), time.Unix(1<<62, 0), time.Date(9999, 12, 31, 23, 59, 59, 0, time.UTC), time.Date(-5, 1, 1, 0, 0, 0, 0, time.UTC)} {
			if n := ts.Next(u); !n.IsZero() && (!n.After(u) || n.Year() > 10000) {
				t.Errorf("%T: Next(%v) = %v", ts, u, n)
			}
			if p := ts.Prev(u); !p.IsZero() && (!p.Before(u) || p.Year() < 0) {
				t.Errorf("%T: Prev(%v) = %v", ts, u, p)
			}
		}
	}
	if got := e.Next(time.Time{}); got.Year() != 1 && got.Year() != 2 {
		t.Errorf("the first of all: %v", got)
	}
	if got := e.Prev(time.Unix(1<<62, 0)); got.Year() != 9999 {
		t.Errorf("the last of all: %v", got)
	}
}

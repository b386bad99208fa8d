package cron

import (
	"fmt"
	"strings"
	"testing"
	"time"
)

func calendar(t testing.TB, zone string, closings ...Closing) *Calendar {
	t.Helper()
	c, err := NewCalendar(CalendarSpec{Zone: zone, Closings: closings})
	if err != nil {
		t.Fatal(err)
	}
	return c
}

func TestClosed(t *testing.T) {
	c := calendar(t, "Europe/Sofia",
		Closing{Weekly: "SAT-SUN", Name: "weekend"},
		Closing{Weekly: "MON 18:00-24:00"},
		Closing{Weekly: "WED 22:00-06:00", Name: "maintenance"},
		Closing{Dates: "2026-09-21..2026-09-22", Name: "offsite"},
		Closing{Dates: "12-24..01-02", Name: "year's end"},
		Closing{Dates: "03-03"},
		Closing{Rule: "FREQ=MONTHLY;BYDAY=1TU;BYHOUR=10", Lasts: "2h", Name: "release"},
		Closing{Rule: "DTSTART;VALUE=DATE:20260501\nRRULE:FREQ=YEARLY", Name: "Labour Day"},
	)
	for _, x := range []struct{ when, reason, open string }{
		{"2026-06-05 23:59", "", "2026-06-05 23:59"},
		{"2026-06-06 00:00", "weekend", "2026-06-08 00:00"},
		{"2026-06-08 17:59", "", "2026-06-08 17:59"},
		{"2026-06-08 18:00", "closed MON 18:00-24:00", "2026-06-09 00:00"},
		{"2026-06-10 22:00", "maintenance", "2026-06-11 06:00"},
		{"2026-06-11 05:59", "maintenance", "2026-06-11 06:00"},
		{"2026-06-11 06:00", "", "2026-06-11 06:00"},
		{"2026-09-20 12:00", "weekend", "2026-09-23 00:00"}, // Sunday, then two days away
		{"2026-09-21 19:00", "closed MON 18:00-24:00", "2026-09-23 00:00"},
		{"2026-12-23 12:00", "", "2026-12-23 12:00"},
		{"2026-12-24 07:00", "year's end", "2027-01-04 00:00"}, // and a weekend behind it
		{"2027-01-01 00:00", "year's end", "2027-01-04 00:00"},
		{"2026-03-03 12:00", "closed on 03-03", "2026-03-04 00:00"},
		{"2026-06-02 10:00", "release", "2026-06-02 12:00"},
		{"2026-06-02 11:59", "release", "2026-06-02 12:00"},
		{"2026-06-02 12:00", "", "2026-06-02 12:00"},
		{"2031-05-01 09:00", "Labour Day", "2031-05-02 00:00"},
		{"2025-05-01 09:00", "", "2025-05-01 09:00"}, // before it began
	} {
		u := at(t, "Europe/Sofia", x.when)
		closed, reason := c.Closed(u)
		if closed != (x.reason != "") || reason != x.reason {
			t.Errorf("%s: closed %v, %q, want %q", x.when, closed, reason, x.reason)
		}
		if got := c.NextOpen(u).Format("2006-01-02 15:04"); got != x.open {
			t.Errorf("%s: opens %s, want %s", x.when, got, x.open)
		}
	}
	again, err := NewCalendar(c.Spec())
	if err != nil || fmt.Sprint(again.Spec()) != fmt.Sprint(c.Spec()) {
		t.Errorf("the spec does not read back: %v", err)
	}
}

func TestClosedAcrossDaylightSaving(t *testing.T) {
	c := calendar(t, "America/New_York", Closing{Weekly: "SUN 01:00-02:30"}, Closing{Dates: "2026-06-01", Name: "a day"})
	for _, x := range []struct{ when, open string }{
		{"2026-03-08 01:30", "2026-03-08 03:00 EDT"}, // 02:30 does not exist
		{"2026-11-01 01:30", "2026-11-01 02:30 EST"}, // closed in both halves
		{"2026-06-01 05:00", "2026-06-02 00:00 EDT"},
	} {
		if got := c.NextOpen(at(t, "America/New_York", x.when)).Format("2006-01-02 15:04 MST"); got != x.open {
			t.Errorf("%s: opens %s, want %s", x.when, got, x.open)
		}
	}
	beirut := calendar(t, "Asia/Beirut", Closing{Rule: "DTSTART;VALUE=DATE:20260328\nRRULE:FREQ=DAILY;COUNT=1"})
	if got := beirut.NextOpen(at(t, "Asia/Beirut", "2026-03-28 12:00")).Format("2006-01-02 15:04"); got != "2026-03-29 01:00" {
		t.Errorf("a closed day before a missing midnight ends %s", got)
	}
}

func TestNextClosed(t *testing.T) {
	c := calendar(t, "Europe/Sofia",
		Closing{Weekly: "MON-FRI 09:00-17:00"}, Closing{Dates: "2026-10-03"}, Closing{Dates: "02-29"}, Closing{Rule: "FREQ=MONTHLY;BYMONTHDAY=4;BYHOUR=20", Lasts: "1h"})
	for _, x := range []struct{ when, want string }{
		{"2026-10-01 12:00", "2026-10-01 12:00"},
		{"2026-10-01 17:00", "2026-10-02 09:00"},
		{"2026-10-02 17:00", "2026-10-03 00:00"},
		{"2026-10-04 00:00", "2026-10-04 20:00"},
		{"2026-10-04 21:00", "2026-10-05 09:00"},
	} {
		if got := c.NextClosed(at(t, "Europe/Sofia", x.when)).Format("2006-01-02 15:04"); got != x.want {
			t.Errorf("%s: %s, want %s", x.when, got, x.want)
		}
	}
	leap := calendar(t, "UTC", Closing{Dates: "02-29"})
	if got := leap.NextClosed(at(t, "UTC", "2096-03-01 00:00")).Format(day); got != "2104-02-29" {
		t.Error(got)
	}
	never := calendar(t, "UTC", Closing{Dates: "2026-01-01"})
	if got := never.NextClosed(at(t, "UTC", "2026-01-02 00:00")); !got.IsZero() {
		t.Error(got)
	}
}

func TestAlwaysClosed(t *testing.T) {
	for _, c := range []*Calendar{
		calendar(t, "UTC", Closing{Weekly: "*"}),
		calendar(t, "UTC", Closing{Rule: "FREQ=HOURLY", Lasts: "1h"}),
		calendar(t, "UTC", Closing{Dates: "01-01..12-31"}),
	} {
		if got := c.NextOpen(at(t, "UTC", "2026-01-01 00:00")); !got.IsZero() {
			t.Errorf("opens %v", got)
		}
	}
}

func TestCalendarErrors(t *testing.T) {
	for _, cl := range []Closing{
		{}, {Weekly: "SAT", Dates: "12-25"}, {Weekly: "XXX"}, {Weekly: "MON 9-17"}, {Weekly: "MON 18:00-25:00"}, {Weekly: "MON 09:00-09:00"}, {Weekly: "FRI#2"},
		{Dates: "2026-02-29"}, {Dates: "2026-12-24..12-26"}, {Dates: "2026-12-24..2026-12-20"}, {Dates: "soon"}, {Rule: "FREQ=NEVER"},
		{Rule: "FREQ=DAILY;BYHOUR=9", Lasts: "a while"}, {Rule: "FREQ=DAILY;BYHOUR=9", Lasts: "1000d"}, {Rule: "FREQ=YEARLY;BYMONTH=2;BYMONTHDAY=30"},
		// At 9:00 every 1,441 days: the search for the second would give up, and the calendar be open for ever.
		{Rule: "DTSTART:20260105T090000\nRRULE:FREQ=MINUTELY;INTERVAL=1441;BYHOUR=9;BYMINUTE=0", Lasts: "2h"},
	} {
		if _, err := NewCalendar(CalendarSpec{Closings: []Closing{cl}}); err == nil {
			t.Errorf("%+v accepted", cl)
		}
	}
	if _, err := NewCalendar(CalendarSpec{Zone: "Mars"}); err == nil {
		t.Error("a calendar on Mars accepted")
	}
}

const holidays = "\ufeffBEGIN:VCALENDAR\r\nVERSION:2.0\r\nX-WR-TIMEZONE:Europe/Sofia\r\n" +
	"BEGIN:VTIMEZONE\r\nTZID:Europe/Sofia\r\nBEGIN:STANDARD\r\nDTSTART:19701025T040000\r\nRRULE:FREQ=YEARLY;BYMONTH=10;BYDAY=-1SU\r\nEND:STANDARD\r\nEND:VTIMEZONE\r\n" +
	"BEGIN:VEVENT\r\nUID:1\r\nDTSTART;VALUE=DATE:20260301\r\nDTEND;VALUE=DATE:20260304\r\nSUMMARY:Liberation\\, long\r\n  weekend\r\nEND:VEVENT\r\n" +
	"BEGIN:VEVENT\r\nUID:2\r\nDTSTART;VALUE=DATE:20200524\r\nRRULE:FREQ=YEARLY\r\nSUMMARY:Letters\r\nTRANSP:TRANSPARENT\r\nEND:VEVENT\r\n" +
	"BEGIN:VEVENT\r\nUID:3\r\nDTSTART;TZID=Europe/Sofia:20260105T100000\r\nDTEND;TZID=Europe/Sofia:20260105T113000\r\nRRULE:FREQ=WEEKLY\r\nEXDATE;TZID=Europe/Sofia:20260119T100000\r\nSUMMARY:Meeting\r\nBEGIN:VALARM\r\nTRIGGER:-PT15M\r\nEND:VALARM\r\nEND:VEVENT\r\n" +
	"BEGIN:VEVENT\r\nUID:3\r\nRECURRENCE-ID;TZID=Europe/Sofia:20260126T100000\r\nDTSTART;TZID=Europe/Sofia:20260127T150000\r\nDURATION:PT1H\r\nSUMMARY:Meeting moved\r\nEND:VEVENT\r\n" +
	"BEGIN:VEVENT\r\nUID:4\r\nDTSTART:20260210T100000Z\r\nDURATION:PT1H\r\nSTATUS:CANCELLED\r\nSUMMARY:Off\r\nEND:VEVENT\r\n" +
	"BEGIN:VEVENT\r\nUID:5\r\nDTSTART:20260211T100000Z\r\nSUMMARY:A moment\r\nEND:VEVENT\r\n" +
	"BEGIN:VEVENT\r\nUID:6\r\nDTSTART;TZID=W. Europe Standard Time:20260212T100000\r\nDURATION:P1DT2H\r\nRDATE;TZID=W. Europe Standard Time:20260312T100000\r\nSUMMARY:Twice\r\nEND:VEVENT\r\n" +
	"BEGIN:VEVENT\r\nUID:7\r\nDTSTART:20260213T100000Z\r\nDURATION:PT1H\r\nRRULE:FREQ=DAILY;UNTIL=20250101T000000Z\r\nSUMMARY:Never\r\nEND:VEVENT\r\n" +
	"END:VCALENDAR\r\n"

func TestParseICS(t *testing.T) {
	c, err := ParseICS(strings.NewReader(holidays), 1<<20, Options{})
	if err != nil {
		t.Fatal(err)
	}
	for when, want := range map[string]string{
		"2026-02-28 23:59": "", "2026-03-01 00:00": "Liberation, long weekend", "2026-03-03 23:59": "Liberation, long weekend", "2026-03-04 00:00": "",
		"2031-05-24 12:00": "Letters", "2026-01-05 10:00": "Meeting", "2026-01-12 11:29": "Meeting", "2026-01-12 11:30": "",
		"2026-01-19 10:30": "", "2026-01-26 10:30": "", "2026-01-27 15:30": "Meeting moved", "2026-02-02 10:30": "Meeting", "2026-02-10 12:30": "",
		"2026-02-11 12:00": "", "2026-02-12 11:00": "Twice", "2026-02-13 12:59": "Twice", "2026-02-13 13:01": "", "2026-03-12 12:00": "Twice",
	} {
		if _, got := c.Closed(at(t, "Europe/Sofia", when)); got != want {
			t.Errorf("%s: %q, want %q", when, got, want)
		}
	}
	again, err := NewCalendar(c.Spec())
	if err != nil || fmt.Sprint(again.Spec()) != fmt.Sprint(c.Spec()) {
		t.Errorf("the spec does not read back: %v", err)
	}
	if got := len(c.Spec().Closings); got != 5 {
		t.Errorf("%d closings: %+v", got, c.Spec())
	}
}

func TestParseICSRefuses(t *testing.T) {
	for _, text := range []string{
		"", "hello", "BEGIN:VCALENDAR\nBEGIN:VEVENT\nEND:VCALENDAR", "BEGIN:VCALENDAR\nEND:VEVENT", "BEGIN:VCALENDAR\nBEGIN:VEVENT\nSUMMARY:x\nEND:VEVENT\nEND:VCALENDAR",
		"BEGIN:VCALENDAR\nBEGIN:VEVENT\nDTSTART:2026\nEND:VEVENT\nEND:VCALENDAR",
		"BEGIN:VCALENDAR\nBEGIN:VEVENT\nDTSTART;VALUE=DATE:20260101\nRRULE:FREQ=SOMETIMES\nEND:VEVENT\nEND:VCALENDAR",
	} {
		if _, err := ParseICS(strings.NewReader(text), 1<<20, Options{}); err == nil {
			t.Errorf("%q accepted", text)
		}
	}
	if _, err := ParseICS(strings.NewReader(holidays), 100, Options{}); err == nil || !strings.Contains(err.Error(), "larger than 100 bytes") {
		t.Errorf("a long file: %v", err)
	}
}

// A file made to be slow: a thousand rules that hardly ever meet their interval.
func TestHostileCalendarIsCheap(t *testing.T) {
	var b strings.Builder
	b.WriteString("BEGIN:VCALENDAR\n")
	for i := range 900 {
		fmt.Fprintf(&b, "BEGIN:VEVENT\nDTSTART:20200101T000000Z\nDURATION:PT1H\nRRULE:FREQ=SECONDLY;INTERVAL=%d;BYMINUTE=0;BYSECOND=0;BYMONTH=2\nEND:VEVENT\n", 49_999-i)
	}
	b.WriteString("END:VCALENDAR\n")
	began := time.Now()
	c, err := ParseICS(strings.NewReader(b.String()), 1<<20, Options{})
	if took := time.Since(began); took > patience {
		t.Errorf("reading took %v (%v)", took, err)
	}
	if err != nil {
		return // refused is fine too
	}
	began = time.Now()
	c.NextOpen(at(t, "UTC", "2026-02-01 00:00"))
	if took := time.Since(began); took > patience {
		t.Errorf("asking took %v", took)
	}
}

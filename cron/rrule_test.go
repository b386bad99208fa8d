package cron

import (
	"bufio"
	"errors"
	"fmt"
	"os"
	"strings"
	"testing"
	"time"
)

func parseRule(t testing.TB, text string, o Options) *RRule {
	t.Helper()
	r, err := ParseRRule(text, o)
	if err != nil {
		t.Fatalf("ParseRRule(%q): %v", text, err)
	}
	return r
}

// The examples of RFC 5545 section 3.8.5.3, all in New York from 1997-09-02 09:00 unless they say otherwise, with the
// dates the RFC prints.
func TestExamplesOfTheRFC(t *testing.T) {
	for _, c := range []struct{ start, rule, want string }{
		{"", "FREQ=DAILY;COUNT=3", "1997-09-02 09:00 EDT, 1997-09-03 09:00 EDT, 1997-09-04 09:00 EDT, end"},
		{"", "FREQ=DAILY;INTERVAL=10;COUNT=5", "1997-09-02 09:00 EDT, 1997-09-12 09:00 EDT, 1997-09-22 09:00 EDT, 1997-10-02 09:00 EDT, 1997-10-12 09:00 EDT, end"},
		{"19971220T090000", "FREQ=DAILY;UNTIL=19971224T000000Z", "1997-12-20 09:00 EST, 1997-12-21 09:00 EST, 1997-12-22 09:00 EST, 1997-12-23 09:00 EST, end"},
		{"19980101T090000", "FREQ=YEARLY;UNTIL=20000131T140000Z;BYMONTH=1;BYDAY=SU,MO,TU,WE,TH,FR,SA", "1998-01-01 09:00 EST, 1998-01-02 09:00 EST"},
		{"", "FREQ=WEEKLY;UNTIL=19970916T130000Z", "1997-09-02 09:00 EDT, 1997-09-09 09:00 EDT, 1997-09-16 09:00 EDT, end"},
		{"", "FREQ=WEEKLY;INTERVAL=2;WKST=SU", "1997-09-02 09:00 EDT, 1997-09-16 09:00 EDT, 1997-09-30 09:00 EDT, 1997-10-14 09:00 EDT, 1997-10-28 09:00 EST"},
		{"19970901T090000", "FREQ=WEEKLY;INTERVAL=2;UNTIL=19971224T000000Z;WKST=SU;BYDAY=MO,WE,FR", "1997-09-01 09:00 EDT, 1997-09-03 09:00 EDT, 1997-09-05 09:00 EDT, 1997-09-15 09:00 EDT"},
		{"19970805T090000", "FREQ=WEEKLY;INTERVAL=2;COUNT=4;BYDAY=TU,SU;WKST=MO", "1997-08-05 09:00 EDT, 1997-08-10 09:00 EDT, 1997-08-19 09:00 EDT, 1997-08-24 09:00 EDT, end"},
		{"19970805T090000", "FREQ=WEEKLY;INTERVAL=2;COUNT=4;BYDAY=TU,SU;WKST=SU", "1997-08-05 09:00 EDT, 1997-08-17 09:00 EDT, 1997-08-19 09:00 EDT, 1997-08-31 09:00 EDT, end"},
		{"19970905T090000", "FREQ=MONTHLY;COUNT=3;BYDAY=1FR", "1997-09-05 09:00 EDT, 1997-10-03 09:00 EDT, 1997-11-07 09:00 EST, end"},
		{"19970907T090000", "FREQ=MONTHLY;INTERVAL=2;COUNT=10;BYDAY=1SU,-1SU", "1997-09-07 09:00 EDT, 1997-09-28 09:00 EDT, 1997-11-02 09:00 EST, 1997-11-30 09:00 EST, 1998-01-04 09:00 EST, 1998-01-25 09:00 EST"},
		{"19970922T090000", "FREQ=MONTHLY;COUNT=6;BYDAY=-2MO", "1997-09-22 09:00 EDT, 1997-10-20 09:00 EDT, 1997-11-17 09:00 EST, 1997-12-22 09:00 EST"},
		{"19970928T090000", "FREQ=MONTHLY;BYMONTHDAY=-3", "1997-09-28 09:00 EDT, 1997-10-29 09:00 EST, 1997-11-28 09:00 EST, 1997-12-29 09:00 EST, 1998-01-29 09:00 EST, 1998-02-26 09:00 EST"},
		{"19970930T090000", "FREQ=MONTHLY;COUNT=10;BYMONTHDAY=1,-1", "1997-09-30 09:00 EDT, 1997-10-01 09:00 EDT, 1997-10-31 09:00 EST, 1997-11-01 09:00 EST"},
		{"19970910T090000", "FREQ=MONTHLY;INTERVAL=18;COUNT=10;BYMONTHDAY=10,11,12,13,14,15", "1997-09-10 09:00 EDT, 1997-09-11 09:00 EDT, 1997-09-12 09:00 EDT, 1997-09-13 09:00 EDT, 1997-09-14 09:00 EDT, 1997-09-15 09:00 EDT, 1999-03-10 09:00 EST"},
		{"19970610T090000", "FREQ=YEARLY;COUNT=10;BYMONTH=6,7", "1997-06-10 09:00 EDT, 1997-07-10 09:00 EDT, 1998-06-10 09:00 EDT"},
		{"19970310T090000", "FREQ=YEARLY;INTERVAL=2;COUNT=10;BYMONTH=1,2,3", "1997-03-10 09:00 EST, 1999-01-10 09:00 EST, 1999-02-10 09:00 EST, 1999-03-10 09:00 EST, 2001-01-10 09:00 EST"},
		{"19970101T090000", "FREQ=YEARLY;INTERVAL=3;COUNT=10;BYYEARDAY=1,100,200", "1997-01-01 09:00 EST, 1997-04-10 09:00 EDT, 1997-07-19 09:00 EDT, 2000-01-01 09:00 EST, 2000-04-09 09:00 EDT"},
		{"19970519T090000", "FREQ=YEARLY;BYDAY=20MO", "1997-05-19 09:00 EDT, 1998-05-18 09:00 EDT, 1999-05-17 09:00 EDT"},
		{"19970512T090000", "FREQ=YEARLY;BYWEEKNO=20;BYDAY=MO", "1997-05-12 09:00 EDT, 1998-05-11 09:00 EDT, 1999-05-17 09:00 EDT"},
		{"19970512T090000", "FREQ=YEARLY;BYWEEKNO=20", "1997-05-12 09:00 EDT, 1998-05-11 09:00 EDT, 1999-05-17 09:00 EDT"},
		{"19970313T090000", "FREQ=YEARLY;BYMONTH=3;BYDAY=TH", "1997-03-13 09:00 EST, 1997-03-20 09:00 EST, 1997-03-27 09:00 EST, 1998-03-05 09:00 EST"},
		{"", "FREQ=MONTHLY;BYDAY=FR;BYMONTHDAY=13", "1998-02-13 09:00 EST, 1998-03-13 09:00 EST, 1998-11-13 09:00 EST, 1999-08-13 09:00 EDT, 2000-10-13 09:00 EDT"},
		{"19970913T090000", "FREQ=MONTHLY;BYDAY=SA;BYMONTHDAY=7,8,9,10,11,12,13", "1997-09-13 09:00 EDT, 1997-10-11 09:00 EDT, 1997-11-08 09:00 EST"},
		{"19961105T090000", "FREQ=YEARLY;INTERVAL=4;BYMONTH=11;BYDAY=TU;BYMONTHDAY=2,3,4,5,6,7,8", "1996-11-05 09:00 EST, 2000-11-07 09:00 EST, 2004-11-02 09:00 EST"},
		{"19970904T090000", "FREQ=MONTHLY;COUNT=3;BYDAY=TU,WE,TH;BYSETPOS=3", "1997-09-04 09:00 EDT, 1997-10-07 09:00 EDT, 1997-11-06 09:00 EST, end"},
		{"19970929T090000", "FREQ=MONTHLY;BYDAY=MO,TU,WE,TH,FR;BYSETPOS=-2", "1997-09-29 09:00 EDT, 1997-10-30 09:00 EST, 1997-11-27 09:00 EST, 1997-12-30 09:00 EST"},
		{"", "FREQ=HOURLY;INTERVAL=3;UNTIL=19970902T210000Z", "1997-09-02 09:00 EDT, 1997-09-02 12:00 EDT, 1997-09-02 15:00 EDT, end"},
		{"", "FREQ=MINUTELY;INTERVAL=15;COUNT=6", "1997-09-02 09:00 EDT, 1997-09-02 09:15 EDT, 1997-09-02 09:30 EDT, 1997-09-02 09:45 EDT, 1997-09-02 10:00 EDT, 1997-09-02 10:15 EDT, end"},
		{"", "FREQ=MINUTELY;INTERVAL=90;COUNT=4", "1997-09-02 09:00 EDT, 1997-09-02 10:30 EDT, 1997-09-02 12:00 EDT, 1997-09-02 13:30 EDT, end"},
		{"", "FREQ=MINUTELY;INTERVAL=20;BYHOUR=9,10,11,12,13,14,15,16", "1997-09-02 09:00 EDT, 1997-09-02 09:20 EDT"},
		{"20070115T090000", "FREQ=MONTHLY;BYMONTHDAY=15,30;COUNT=5", "2007-01-15 09:00 EST, 2007-01-30 09:00 EST, 2007-02-15 09:00 EST, 2007-03-15 09:00 EDT, 2007-03-30 09:00 EDT, end"},
	} {
		if c.start == "" {
			c.start = "19970902T090000"
		}
		r := parseRule(t, "DTSTART;TZID=America/New_York:"+c.start+"\nRRULE:"+c.rule, Options{})
		n := strings.Count(c.want, ",") + 1
		got := show(Upcoming(r, time.Time{}, n), "2006-01-02 15:04 MST")
		if want, ends := strings.CutSuffix(c.want, ", end"); ends {
			c.want = want
		}
		if got != c.want {
			t.Errorf("%s %s:\n got %s\nwant %s", c.start, c.rule, got, c.want)
		}
	}
}

// Each line of the file was computed by another engine.
func TestAgainstDateutil(t *testing.T) {
	f, err := os.Open("testdata/rrule_dateutil.txt")
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	rules := 0
	for in := bufio.NewScanner(f); in.Scan(); {
		p := strings.Split(in.Text(), "|")
		if strings.HasPrefix(in.Text(), "#") {
			continue
		}
		rules++
		r, err := ParseRRule("DTSTART:"+p[0]+"\nRRULE:"+p[1], Options{})
		if err != nil {
			if p[2] != "" {
				t.Errorf("%s %s: %v", p[0], p[1], err)
			}
			continue
		}
		var got []string
		for _, u := range Upcoming(r, time.Time{}, 12) {
			if u.Year() <= 2100 {
				got = append(got, u.Format("20060102T150405"))
			}
		}
		if s := strings.Join(got, " "); s != p[2] {
			t.Errorf("%s %s:\n got %s\nwant %s", p[0], p[1], s, p[2])
		}
	}
	if rules < 500 {
		t.Errorf("only %d rules", rules)
	}
}

func TestRRuleZonesAndDates(t *testing.T) {
	const layout = "01-02 15:04 MST"
	for _, c := range []struct {
		name, text string
		o          Options
		want       string
	}{
		{"a gap is read with the offset before it", "DTSTART;TZID=America/New_York:20260307T023000\nRRULE:FREQ=DAILY;COUNT=3", Options{},
			"03-07 02:30 EST, 03-08 03:30 EDT, 03-09 02:30 EDT"},
		{"or skipped", "DTSTART;TZID=America/New_York:20260307T023000\nRRULE:FREQ=DAILY;COUNT=3", Options{Gap: GapSkip},
			"03-07 02:30 EST, 03-09 02:30 EDT"},
		{"a moved time that meets another comes once", "DTSTART;TZID=America/New_York:20260308T010000\nRRULE:FREQ=HOURLY;COUNT=4", Options{},
			"03-08 01:00 EST, 03-08 03:00 EDT, 03-08 04:00 EDT"},
		{"moved times fall between others", "DTSTART;TZID=America/New_York:20260308T000000\nRRULE:FREQ=DAILY;BYHOUR=2,3;BYMINUTE=15,45;COUNT=4", Options{},
			"03-08 03:15 EDT, 03-08 03:45 EDT"},
		{"a fold is the first of two", "DTSTART;TZID=America/New_York:20261031T013000\nRRULE:FREQ=DAILY;COUNT=3", Options{},
			"10-31 01:30 EDT, 11-01 01:30 EDT, 11-02 01:30 EST"},
		{"hours in a fold, by the letter", "DTSTART;TZID=America/New_York:20261101T000000\nRRULE:FREQ=HOURLY;COUNT=3", Options{},
			"11-01 00:00 EDT, 11-01 01:00 EDT, 11-01 02:00 EST"},
		{"hours in a fold, both", "DTSTART;TZID=America/New_York:20261101T000000\nRRULE:FREQ=HOURLY;COUNT=3", Options{Fold: FoldBoth},
			"11-01 00:00 EDT, 11-01 01:00 EDT, 11-01 01:00 EST, 11-01 02:00 EST"},
		{"a floating start is read in the zone of the options", "DTSTART:20260101T090000\nRRULE:FREQ=DAILY;COUNT=2", Options{Zone: zoneOf(t, "Europe/Sofia")},
			"01-01 09:00 EET, 01-02 09:00 EET"},
		{"a start from the options", "FREQ=WEEKLY;COUNT=2", Options{Zone: zoneOf(t, "Europe/Sofia"), Start: at(t, "UTC", "2026-01-05 07:00")},
			"01-05 09:00 EET, 01-12 09:00 EET"},
		{"whole days", "DTSTART;VALUE=DATE:20260327\nRRULE:FREQ=DAILY;COUNT=3", Options{Zone: zoneOf(t, "Asia/Beirut")},
			"03-27 00:00 EET, 03-28 00:00 EET, 03-29 01:00 EEST"},
		{"RDATE joins, EXDATE takes away", "DTSTART;TZID=Europe/Sofia:20260101T090000\nRRULE:FREQ=DAILY;COUNT=3\nRDATE;TZID=Europe/London:20260101T120000\nEXDATE:20260102T070000Z", Options{},
			"01-01 09:00 EET, 01-01 14:00 EET, 01-03 09:00 EET"},
		{"RDATE that is a PERIOD", "DTSTART:20260101T090000Z\nRDATE;VALUE=PERIOD:20260103T100000Z/PT1H,20260102T100000Z/20260102T110000Z", Options{},
			"01-02 10:00 UTC, 01-03 10:00 UTC"},
		{"EXDATE that is a day", "DTSTART:20260101T090000Z\nRRULE:FREQ=HOURLY;INTERVAL=8;COUNT=5\nEXDATE;VALUE=DATE:20260102", Options{},
			"01-01 09:00 UTC, 01-01 17:00 UTC"},
		{"UNTIL that is a day lasts through it", "DTSTART:20260101T090000Z\nRRULE:FREQ=DAILY;UNTIL=20260102", Options{},
			"01-01 09:00 UTC, 01-02 09:00 UTC"},
		{"weekdays with and without numbers", "DTSTART:20260101T090000Z\nRRULE:FREQ=MONTHLY;BYDAY=1MO,FR;COUNT=4", Options{},
			"01-02 09:00 UTC, 01-05 09:00 UTC, 01-09 09:00 UTC, 01-16 09:00 UTC"},
		{"DTSTART that the rule does not name", "DTSTART:20260107T090000Z\nRRULE:FREQ=WEEKLY;BYDAY=MO;COUNT=2", Options{},
			"01-12 09:00 UTC, 01-19 09:00 UTC"},
		{"two rules", "DTSTART:20260101T090000Z\nRRULE:FREQ=DAILY;COUNT=2\nRRULE:FREQ=WEEKLY;COUNT=2", Options{},
			"01-01 09:00 UTC, 01-02 09:00 UTC, 01-08 09:00 UTC"},
		{"a whole event, folded, with its zone", "BEGIN:VEVENT\r\nBEGIN:VALARM\r\nDTSTART:19700101T000000Z\r\nEND:VALARM\r\nDTSTART;TZID=\"W. Europe Standard Time\":20260101T0\r\n 90000\r\nSUMMARY:x;y:z\r\nRRULE:FREQ=DAILY;\r\n\tCOUNT=2\r\nEND:VEVENT\r\n", Options{},
			"01-01 09:00 CET, 01-02 09:00 CET"},
		{"second 60", "DTSTART:20260101T090000Z\nRRULE:FREQ=DAILY;COUNT=1;BYSECOND=60", Options{}, "01-01 09:00 UTC"},
	} {
		r := parseRule(t, c.text, c.o)
		if got := show(Upcoming(r, time.Time{}, 9), layout); got != c.want {
			t.Errorf("%s:\n got %s\nwant %s", c.name, got, c.want)
		}
		again := parseRule(t, r.String(), Options{Gap: c.o.Gap, Fold: c.o.Fold})
		if show(Upcoming(again, time.Time{}, 9), layout) != c.want || again.String() != r.String() {
			t.Errorf("%s: %q does not read back", c.name, r)
		}
	}
}

func TestRRuleNote(t *testing.T) {
	r := parseRule(t, "DTSTART;TZID=America/New_York:20260307T023000\nRRULE:FREQ=DAILY", Options{})
	times := Upcoming(r, time.Time{}, 3)
	for i, want := range []string{"", "02:30 does not exist on 2026-03-08 in America/New_York: runs at 03:30", ""} {
		if got := r.Note(times[i]); got != want {
			t.Errorf("%v: %q", times[i], got)
		}
	}
}

// The far future costs what the first occurrence costs.
func TestRRuleFastForward(t *testing.T) {
	for _, text := range []string{
		"DTSTART:20200101T000000Z\nRRULE:FREQ=SECONDLY", "DTSTART:20200101T000000Z\nRRULE:FREQ=SECONDLY;INTERVAL=7",
		"DTSTART:20200101T000000Z\nRRULE:FREQ=MINUTELY;INTERVAL=5;BYDAY=MO", "DTSTART:19000101T000000Z\nRRULE:FREQ=HOURLY;INTERVAL=5",
		"DTSTART:20200101T000000Z\nRRULE:FREQ=SECONDLY;COUNT=100000", "DTSTART:00010101T000000Z\nRRULE:FREQ=DAILY;INTERVAL=3;BYSETPOS=1;BYHOUR=1,2",
		"DTSTART:20200101T000000Z\nRRULE:FREQ=SECONDLY;INTERVAL=49999;BYMINUTE=0;BYSECOND=0",
	} {
		began := time.Now()
		r := parseRule(t, text, Options{})
		far := at(t, "UTC", "2100-01-01 00:00")
		next, prev := r.Next(far), r.Prev(far)
		if took := time.Since(began); took > patience {
			t.Errorf("%s took %v (%v, %v)", text, took, prev, next)
		}
		if prev.IsZero() || !prev.Before(far) {
			t.Errorf("%s: prev %v", text, prev)
		}
	}
}

// Lists as long as they can be, in rules that make the most of them.
func TestHostileRRuleIsCheap(t *testing.T) {
	var positions, weekdays []string
	for n := 1; n <= 366; n++ {
		positions = append(positions, fmt.Sprint(n), fmt.Sprint(-n))
	}
	for n := 1; n <= 53; n++ {
		for _, d := range strings.Fields("SU MO TU WE TH FR SA") {
			weekdays = append(weekdays, fmt.Sprint(n)+d, fmt.Sprint(-n)+d)
		}
	}
	all, days := ";BYSETPOS="+strings.Join(positions, ","), ";BYDAY="+strings.Join(weekdays, ",")
	for _, text := range []string{
		"FREQ=YEARLY" + days + ";BYSECOND=1,2,3" + all + ";COUNT=100000", "FREQ=YEARLY" + days + ";BYHOUR=1,2,3;COUNT=100000", "FREQ=YEARLY" + days + ";COUNT=100000" + all,
		"FREQ=MONTHLY;BYMONTHDAY=30;BYMONTH=2" + days, "FREQ=DAILY;BYHOUR=1;INTERVAL=2;BYSETPOS=2,3,4,-2,-3", "FREQ=SECONDLY;BYSECOND=1,2" + all + ";COUNT=100000",
	} {
		began := time.Now()
		r, err := ParseRRule("DTSTART:20260101T000000Z\nRRULE:"+text, Options{})
		if err == nil {
			r.Next(at(t, "UTC", "2200-01-01 00:00"))
			r.Prev(at(t, "UTC", "2200-01-01 00:00"))
		}
		if took := time.Since(began); took > patience {
			t.Errorf("%.60s took %v", text, took)
		}
	}
}

func TestRRuleErrors(t *testing.T) {
	const start = "DTSTART:20260101T090000Z\nRRULE:"
	for _, c := range []struct{ text, field, part string }{
		{"", "RRULE", "is missing"},
		{"FREQ=DAYLY", "FREQ", `did you mean "DAILY"?`},
		{"INTERVAL=2;FREQ=", "RRULE", "PART=value"},
		{start + "INTERVAL=2", "FREQ", "must be one of"},
		{start + "FREQ=DAILY;BYDAYS=MO", "RRULE", `did you mean "BYDAY"?`},
		{start + "FREQ=DAILY;FREQ=DAILY", "FREQ", "comes twice"},
		{start + "FREQ=DAILY;COUNT=0", "COUNT", "from 1 to"},
		{start + "FREQ=DAILY;COUNT=2;UNTIL=20270101T000000Z", "COUNT", "beside UNTIL"},
		{start + "FREQ=DAILY;UNTIL=20250101T000000Z", "UNTIL", "before DTSTART"},
		{start + "FREQ=DAILY;UNTIL=tomorrow", "UNTIL", "is not a date"},
		{start + "FREQ=DAILY;BYHOUR=24", "BYHOUR", `not "24"`},
		{start + "FREQ=DAILY;BYDAY=XX", "BYDAY", `not "XX"`},
		{start + "FREQ=DAILY;BYDAY=1MO", "BYDAY", "must not number"},
		{start + "FREQ=YEARLY;BYWEEKNO=3;BYDAY=1MO", "BYDAY", "beside BYWEEKNO"},
		{start + "FREQ=MONTHLY;BYWEEKNO=3", "BYWEEKNO", "FREQ=YEARLY"},
		{start + "FREQ=MONTHLY;BYYEARDAY=3", "BYYEARDAY", "must not stand"},
		{start + "FREQ=WEEKLY;BYMONTHDAY=3", "BYMONTHDAY", "use FREQ=MONTHLY"},
		{start + "FREQ=MONTHLY;BYMONTHDAY=0", "BYMONTHDAY", `not "0"`},
		{start + "FREQ=MONTHLY;BYMONTHDAY=+-3", "BYMONTHDAY", `not "+-3"`},
		{start + "FREQ=DAILY;BYSETPOS=1", "BYSETPOS", "another BY part"},
		{start + "FREQ=DAILY;WKST=XX", "WKST", "must be one of"},
		{start + "FREQ=YEARLY;BYMONTH=2;BYMONTHDAY=30", "RRULE", "never occurs"},
		{start + "FREQ=DAILY;INTERVAL=7;BYDAY=MO", "RRULE", "never occurs"},
		{start + "FREQ=SECONDLY;INTERVAL=2;BYSECOND=1", "RRULE", "never occurs"},
		{start + "FREQ=DAILY;COUNT=1\nEXDATE:20260101T090000Z", "RRULE", "EXDATE leave nothing"},
		{start + "FREQ=SECONDLY;INTERVAL=49999;BYMINUTE=0;BYSECOND=0;COUNT=100000", "COUNT", "takes too long"},
		{"DTSTART:20260101T090000Z\nDTSTART:20260102T090000Z\nRRULE:FREQ=DAILY", "DTSTART", "comes twice"},
		{"DTSTART:20260230T090000Z\nRRULE:FREQ=DAILY", "DTSTART", "is not a date"},
		{"DTSTART;TZID=Europe/Sofa:20260101T090000\nRRULE:FREQ=DAILY", "DTSTART TZID", `did you mean "Europe/Sofia"?`},
		{"EXRULE:FREQ=DAILY", "EXRULE", "removed from iCalendar"},
		{"FREQ=WEEKLY", "FREQ", "it brings the weekday"},
		{"FREQ=DAILY;COUNT=3", "FREQ", "COUNT counts from it"},
		{"RRULE FREQ=DAILY", "RRULE", "is not a part"},
		{"nonsense", "line", "3.1"},
	} {
		_, err := ParseRRule(c.text, Options{})
		e, ok := errors.AsType[*Error](err)
		if !ok {
			t.Errorf("ParseRRule(%q) = %v, want an error", c.text, err)
			continue
		}
		if e.Field != c.field || !strings.Contains(e.Error(), c.part) {
			t.Errorf("ParseRRule(%q):\n got %s: %s\nwant %s: ... %s", c.text, e.Field, e, c.field, c.part)
		}
	}
	for _, text := range []string{start + "FREQ=DAILY;BYSETPOS=1", start + "FREQ=YEARLY;BYMONTH=2;BYMONTHDAY=30", "EXRULE:FREQ=DAILY"} {
		if _, err := ParseRRule(text, Options{}); err == nil || !strings.Contains(err.Error(), "RFC 5545") {
			t.Errorf("%q: %v cites no section", text, err)
		}
	}
}

func TestRRuleExplain(t *testing.T) {
	for text, want := range map[string]string{
		"FREQ=WEEKLY;BYDAY=MO,FR;BYHOUR=9": "Every week on Monday and Friday at 09:00, UTC time.",
		"DTSTART;TZID=Europe/Sofia:20260101T090000\nRRULE:FREQ=MONTHLY;INTERVAL=2;BYDAY=-1FR,2TU;COUNT=5": "Every 2 months on the last Friday and the 2nd Tuesday at 09:00, from 2026-01-01 09:00, until 2026-05-12 09:00, Europe/Sofia time.",
		"FREQ=YEARLY;BYMONTH=12;BYMONTHDAY=-1;BYHOUR=18":                                                  "Every year in December on the last day at 18:00, UTC time.",
		"FREQ=MINUTELY;BYHOUR=9,10": "Every minute in hour 9 and 10, UTC time.",
	} {
		if got := parseRule(t, text, Options{}).Explain(); got != want {
			t.Errorf("%s:\n got %s\nwant %s", text, got, want)
		}
	}
}

// libical's tests have the first of these: RFC 5545 section 3.3.10 ignores parts of the day beside a DATE.
func TestPartsOfTheDayAreIgnoredBesideADate(t *testing.T) {
	t.Parallel()
	for _, rule := range []string{
		"DTSTART;VALUE=DATE:19970902\nRRULE:FREQ=DAILY;BYMINUTE=1,2,3,4;INTERVAL=2;COUNT=3",
		"DTSTART;VALUE=DATE:19970902\nRRULE:FREQ=DAILY;BYHOUR=9;BYSECOND=30;INTERVAL=2;COUNT=3",
	} {
		r, err := ParseRRule(rule, Options{})
		if err != nil {
			t.Fatal(err)
		}
		got := show(Upcoming(r, at(t, "UTC", "1997-01-01 00:00"), 5), "01-02 15:04:05")
		if want := "09-02 00:00:00, 09-04 00:00:00, 09-06 00:00:00"; got != want {
			t.Errorf("%s: got %s, want %s", rule, got, want)
		}
	}
}

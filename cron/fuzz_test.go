package cron

import (
	"errors"
	"strings"
	"testing"
	"time"
)

// patience is how long any text may take, with plenty of room for a busy machine. See maxSpans in wall, maxSteps
// and countSteps in rrule.
const patience = 30 * time.Second

func FuzzParse(f *testing.F) {
	for _, s := range []string{
		"0 9 * * MON-FRI", "*/5 * * * *", "0 0 29 2 +MON", "H(0-7)/3 H * * *", "0 0 L-3,LW,15W * 5#3,FRIL", "0 0 0 1 1 ? 2030-2040/5,2050",
		"CRON_TZ=America/New_York 30 2 * * *", "@every 1w2d3h", "@yearly", "30 9 * * 1-5 *", "0 0 9 ? * 2-6", "22-2/2 FRI-MON", "\x00\xff", "TZ= * * * * *",
	} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, text string) {
		began := time.Now()
		defer func() {
			if took := time.Since(began); took > patience {
				t.Errorf("%q took %v", text, took)
			}
		}()
		e, err := Parse(text, Options{Seed: "fuzz"})
		if err != nil {
			if _, ok := errors.AsType[*Error](err); !ok || err.Error() == "" {
				t.Fatalf("%q: %#v", text, err)
			}
			return
		}
		again, err := Parse(e.String(), Options{Seed: "fuzz"})
		if err != nil || again.String() != e.String() {
			t.Fatalf("%q becomes %q becomes %v (%v)", text, e, again, err)
		}
		checkSeries(t, text, e)
		_, _ = e.Explain(), e.Why(time.Unix(1_800_000_000, 0))
	})
}

func FuzzParseRRule(f *testing.F) {
	for _, s := range []string{
		"FREQ=WEEKLY;BYDAY=MO,FR;BYHOUR=9", "DTSTART;TZID=Europe/Sofia:20260101T090000\nRRULE:FREQ=MONTHLY;BYDAY=-1FR;COUNT=5\nEXDATE;VALUE=DATE:20260130",
		"DTSTART:20200101T000000Z\nRRULE:FREQ=SECONDLY;INTERVAL=7;BYSETPOS=-1;BYMINUTE=3", "DTSTART;VALUE=DATE:20260101\nRRULE:FREQ=YEARLY;BYWEEKNO=-1,53;BYDAY=SU;WKST=WE",
		"RDATE;VALUE=PERIOD:20260103T100000Z/PT1H", "BEGIN:VEVENT\nDTSTART:20260101T\n 090000\nRRULE:FREQ=DAILY;UNTIL=20260401\nEND:VEVENT", "FREQ=YEARLY;BYYEARDAY=-366,366",
		"RRULE:FREQ=MINUTELY;INTERVAL=1000000000", "DTSTART;X=\":\";TZID=/a/b/Europe/Berlin:00010101T000000\nFREQ=HOURLY;COUNT=100000",
	} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, text string) {
		began := time.Now()
		defer func() {
			if took := time.Since(began); took > patience {
				t.Errorf("%q took %v", text, took)
			}
		}()
		r, err := ParseRRule(text, Options{})
		if err != nil {
			if _, ok := errors.AsType[*Error](err); !ok || err.Error() == "" {
				t.Fatalf("%q: %#v", text, err)
			}
			return
		}
		again, err := ParseRRule(r.String(), Options{})
		if err != nil || again.String() != r.String() {
			t.Fatalf("%q becomes %q becomes %v (%v)", text, r, again, err)
		}
		checkSeries(t, text, r)
		_ = r.Explain()
	})
}

func FuzzParseICS(f *testing.F) {
	f.Add(holidays)
	f.Add("BEGIN:VCALENDAR\nBEGIN:VEVENT\nDTSTART:20260101T000000Z\nDURATION:PT1H\nRRULE:FREQ=SECONDLY;COUNT=100000\nEND:VEVENT\nEND:VCALENDAR")
	f.Add("BEGIN:VCALENDAR\nBEGIN:VEVENT\nUID:1\nRECURRENCE-ID:\nDTEND;VALUE=DATE:99991231\nDTSTART;VALUE=DATE:00010101\nEND:VEVENT\nEND:VCALENDAR")
	f.Fuzz(func(t *testing.T, text string) {
		began := time.Now()
		c, err := ParseICS(strings.NewReader(text), 1<<16, Options{})
		if err == nil {
			u := time.Unix(1_800_000_000, 0)
			open := c.NextOpen(u)
			if closed, reason := c.Closed(open); closed && !open.IsZero() {
				t.Errorf("%q: opens %v, when it is closed by %q", text, open, reason)
			}
			again, err := NewCalendar(c.Spec())
			if err != nil {
				t.Fatalf("%q: spec does not read back: %v", text, err)
			}
			if a, b := c.NextOpen(u), again.NextOpen(u); !a.Equal(b) {
				t.Errorf("%q: read back it opens %v, not %v", text, b, a)
			}
		}
		if took := time.Since(began); took > patience {
			t.Errorf("%q took %v", text, took)
		}
	})
}

// checkSeries walks a few occurrences and back.
func checkSeries(t *testing.T, text string, ts Times) {
	t.Helper()
	u := ts.Next(time.Unix(1_800_000_000, 0))
	for range 3 {
		n := ts.Next(u)
		if u.IsZero() || n.IsZero() {
			return
		}
		if !n.After(u) || !ts.Prev(n).Equal(u) {
			t.Fatalf("%q: %v, then %v, before which comes %v", text, u, n, ts.Prev(n))
		}
		u = n
	}
}

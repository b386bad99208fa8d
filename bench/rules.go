// Package bench compares Belfry's rule engine with other Go libraries: robfig/cron, netresearch/go-cron and
// teambition/rrule-go. It is a module of its own, so that they are not in Belfry's module.
//
//	go test -bench .       # the usual form, one library after the other
//	go run ./cmd/rules     # one table, all libraries in turns, ratios first
package bench

import (
	"fmt"
	"time"

	netresearch "github.com/netresearch/go-cron"
	robfig "github.com/robfig/cron/v3"
	"github.com/teambition/rrule-go"

	"github.com/belfry-run/belfry/cron"
)

// Peers are the libraries, Belfry first.
var Peers = []string{"belfry", "robfig", "netresearch", "rrule-go"}

// Rule is one recurrence in the notation of each library; "" if the library has none.
type Rule struct {
	Name        string
	Belfry      string // an expression, or an RRULE if it starts with FREQ=
	Robfig      string
	Netresearch string
	RRule       string
	Why         string // the reason for a missing notation
}

// Rules has common rules. RRULE counts from DTSTART, which is the start of the walk.
var Rules = []Rule{
	{"every 5 minutes", "*/5 * * * *", "*/5 * * * *", "*/5 * * * *", "FREQ=MINUTELY;INTERVAL=5", ""},
	{"daily at 09:30", "30 9 * * *", "30 9 * * *", "30 9 * * *", "FREQ=DAILY;BYHOUR=9;BYMINUTE=30", ""},
	{"weekdays 9 to 17, hourly", "0 9-17 * * MON-FRI", "0 9-17 * * MON-FRI", "0 9-17 * * MON-FRI", "FREQ=WEEKLY;BYDAY=MO,TU,WE,TH,FR;BYHOUR=9,10,11,12,13,14,15,16,17;BYMINUTE=0", ""},
	{"on the 31st", "0 9 31 * *", "0 9 31 * *", "0 9 31 * *", "FREQ=MONTHLY;BYMONTHDAY=31;BYHOUR=9", ""},
	{"on 29 February", "0 9 29 2 *", "0 9 29 2 *", "0 9 29 2 *", "FREQ=YEARLY;BYMONTH=2;BYMONTHDAY=29;BYHOUR=9", ""},
	{"last Friday of the month", "0 9 * * FRIL", "", "0 9 * * FRI#L", "FREQ=MONTHLY;BYDAY=-1FR;BYHOUR=9", "robfig/cron has no last weekday"},
	{"RRULE weekly", "FREQ=WEEKLY;BYDAY=MO,FR;BYHOUR=9;BYMINUTE=0", "", "", "FREQ=WEEKLY;BYDAY=MO,FR;BYHOUR=9", "the cron libraries do not read RRULE"},
	{"RRULE last workday", "FREQ=MONTHLY;BYDAY=MO,TU,WE,TH,FR;BYSETPOS=-1;BYHOUR=9;BYMINUTE=0", "", "", "FREQ=MONTHLY;BYDAY=MO,TU,WE,TH,FR;BYSETPOS=-1;BYHOUR=9", "the cron libraries do not read RRULE"},
}

// Text returns the rule in the notation of a library.
func (r Rule) Text(peer string) string {
	return map[string]string{"belfry": r.Belfry, "robfig": r.Robfig, "netresearch": r.Netresearch, "rrule-go": r.RRule}[peer]
}

// Walks begin at the start, which is also DTSTART, and begin again at the end: robfig/cron looks only five years ahead, so
// it does not find 29 February 2104 after that of 2096.
var (
	start = time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)
	end   = time.Date(2096, 1, 1, 0, 0, 0, 0, time.UTC)
)

// Schedule is a parsed rule.
type Schedule struct {
	next interface{ Next(time.Time) time.Time } // nil for rrule-go
	rule *rrule.RRule
	from time.Time
}

// Parse reads a rule with a library, in a zone.
func Parse(peer, text string, loc *time.Location) (*Schedule, error) {
	from := start.In(loc)
	_, offset := from.Zone()
	from = from.Add(-time.Duration(offset) * time.Second) // midnight there
	s := &Schedule{from: from.Add(-time.Second)}          // a time at DTSTART counts
	var err error
	switch peer {
	case "belfry":
		s.next, err = belfry(text, from, loc)
	case "robfig":
		s.next, err = robfig.ParseStandard(text)
	case "netresearch":
		s.next, err = full.Parse(text)
	case "rrule-go":
		s.rule, err = rruleOf(text, from)
	}
	if err != nil {
		return nil, fmt.Errorf("%s: %q: %w", peer, text, err)
	}
	return s, nil
}

var full = netresearch.FullParser()

func belfry(text string, from time.Time, loc *time.Location) (cron.Times, error) {
	o := cron.Options{Zone: loc, Start: from}
	if len(text) > 5 && text[:5] == "FREQ=" {
		return cron.ParseRRule(text, o)
	}
	return cron.Parse(text, o)
}

func rruleOf(text string, from time.Time) (*rrule.RRule, error) {
	option, err := rrule.StrToROption(text)
	if err != nil {
		return nil, err
	}
	option.Dtstart = from
	return rrule.NewRRule(*option)
}

// Walk computes the next n times one after the other, and begins again when it reaches the end. rrule-go uses its iterator,
// which is faster than a search for the time after the last. Walk returns the last time.
func (s *Schedule) Walk(n int) time.Time {
	if s.rule != nil {
		return s.iterate(n)
	}
	t := s.from
	for range n {
		if t = s.next.Next(t); t.IsZero() || t.After(end) {
			t = s.next.Next(s.from)
		}
	}
	return t
}

func (s *Schedule) iterate(n int) (t time.Time) {
	next := s.rule.Iterator()
	for range n {
		var ok bool
		if t, ok = next(); !ok || t.After(end) {
			next = s.rule.Iterator()
			t, _ = next()
		}
	}
	return t
}

// After returns the next time after t.
func (s *Schedule) After(t time.Time) time.Time {
	if s.rule != nil {
		return s.rule.After(t, false)
	}
	return s.next.Next(t)
}

// Now is the time at which a node starts: five months after DTSTART.
func Now(loc *time.Location) time.Time {
	return time.Date(2026, 6, 1, 12, 34, 56, 0, loc)
}

// Mix returns n schedules like those of a node, at different times of day. All libraries can express them.
func Mix(peer string, n int, loc *time.Location) ([]*Schedule, error) {
	list := make([]*Schedule, n)
	for i := range list {
		text := mixed(peer, i)
		s, err := Parse(peer, text, loc)
		if err != nil {
			return nil, err
		}
		list[i] = s
	}
	return list, nil
}

// mixed returns rule i of the mix.
func mixed(peer string, i int) string {
	minute, hour, day := i%60, i/5%24, i/7%28+1
	if peer != "rrule-go" {
		switch i % 5 {
		case 0:
			return "*/5 * * * *"
		case 1:
			return fmt.Sprintf("%d * * * *", minute)
		case 2:
			return fmt.Sprintf("%d %d * * *", minute, hour)
		case 3:
			return fmt.Sprintf("%d %d * * MON-FRI", minute, hour)
		}
		return fmt.Sprintf("%d %d %d * *", minute, hour, day)
	}
	switch i % 5 {
	case 0:
		return "FREQ=MINUTELY;INTERVAL=5"
	case 1:
		return fmt.Sprintf("FREQ=HOURLY;BYMINUTE=%d", minute)
	case 2:
		return fmt.Sprintf("FREQ=DAILY;BYHOUR=%d;BYMINUTE=%d", hour, minute)
	case 3:
		return fmt.Sprintf("FREQ=WEEKLY;BYDAY=MO,TU,WE,TH,FR;BYHOUR=%d;BYMINUTE=%d", hour, minute)
	}
	return fmt.Sprintf("FREQ=MONTHLY;BYMONTHDAY=%d;BYHOUR=%d;BYMINUTE=%d", day, hour, minute)
}

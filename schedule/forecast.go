package schedule

import (
	"cmp"
	"regexp"
	"slices"
	"strings"
	"time"

	"github.com/belfry-run/belfry/core"
	"github.com/belfry-run/belfry/cron"
)

// Forecast counts the planned starts over time, and shows where they coincide.
type Forecast struct {
	Loads   []Load     `json:"loads" doc:"Minutes in which any starts, oldest first; empty when only hours were asked for"`
	Hours   []LoadHour `json:"hours" doc:"Hours of the zone that was asked for, in which any starts, oldest first"`
	Busiest []Load     `json:"busiest" doc:"The 20 minutes in which most start, those first"`

	Schedules int       `json:"schedules" doc:"How many schedules were counted, those that are due first"`
	Partial   bool      `json:"partial,omitempty" doc:"There were more schedules or runs than are looked at: what starts after until is at least what is said"`
	Until     time.Time `json:"until,omitzero" doc:"Of a partial forecast: what starts up to then is all there"`
}

// Load is the number of planned starts in one minute.
type Load struct {
	Minute    time.Time `json:"minute"`
	Starts    int       `json:"starts"`
	Schedules []string  `json:"schedules,omitempty" doc:"Up to ten of them"`
}

// LoadHour is the number of planned starts in one hour.
type LoadHour struct {
	Hour   time.Time `json:"hour" doc:"Its begin"`
	Starts int       `json:"starts"`
	Most   int       `json:"most" doc:"Starts in the busiest of its minutes"`
	Minute time.Time `json:"minute" doc:"That minute"`
	Top    []LoadOf  `json:"top,omitempty" doc:"Schedules with most of the starts, at most five"`
}

// LoadOf is the share of one schedule.
type LoadOf struct {
	Namespace string `json:"namespace"`
	Schedule  string `json:"schedule"`
	Starts    int    `json:"starts"`
}

// The lengths of lists in a forecast.
const (
	loadNames   = 10
	loadTop     = 5
	loadBusiest = 20
)

// Loads adds up the starts of schedules.
type Loads struct {
	zone    *time.Location
	minutes map[int64]*minuteLoad
	hours   map[int64]*LoadHour
}

// NewLoads returns Loads that count by the hours of a zone; "" means UTC.
func NewLoads(zone string) (*Loads, error) {
	l := &Loads{minutes: map[int64]*minuteLoad{}, hours: map[int64]*LoadHour{}}
	var err error
	if l.zone, err = cron.LoadZone(core.Or(zone, "UTC")); err != nil {
		return nil, core.InvalidField("zone", zone, "is not a time zone", "an IANA name such as Europe/Sofia")
	}
	return l, nil
}

// Add counts n schedules that start at the same times, which must be sorted. named
// are the schedules among them that the forecast names.
func (l *Loads) Add(times []time.Time, n int, named []LoadOf) {
	a := adding{l: l, n: n, named: named}
	for _, t := range times {
		a.in(t.Unix()/60, 1)
	}
	a.flush()
}

// AddFixed is [Loads.Add] for that many times from first on at intervals of step,
// without a list.
func (l *Loads) AddFixed(first time.Time, step time.Duration, times int64, n int, named []LoadOf) {
	a := adding{l: l, n: n, named: named}
	for i := int64(0); i < times; {
		at := first.Add(time.Duration(i) * step)
		minute := at.Unix() / 60
		left := time.Unix((minute+1)*60, 0).Sub(at)
		some := min(int64((left+step-1)/step), times-i)
		a.in(minute, int(some))
		i += some
	}
	a.flush()
}

// adding counts the starts of some schedules, hour by hour.
type adding struct {
	l      *Loads
	n      int
	named  []LoadOf
	hour   *LoadHour
	inHour int
}

// in counts starts of each schedule in a minute.
func (a *adding) in(minute int64, starts int) {
	m := a.l.minutes[minute]
	if m == nil {
		m = &minuteLoad{Load: Load{Minute: time.Unix(minute*60, 0).UTC()}}
		m.hour = a.l.hourOf(m.Minute)
		a.l.minutes[minute] = m
	}
	m.Starts += a.n * starts
	if len(m.Schedules) < loadNames {
		for _, one := range a.named[:min(len(a.named), loadNames)] {
			if len(m.Schedules) < loadNames && !slices.Contains(m.Schedules, one.Schedule) {
				m.Schedules = append(m.Schedules, one.Schedule)
			}
		}
	}
	if m.hour != a.hour {
		a.flush()
		a.hour = m.hour
	}
	a.inHour += starts
	a.hour.Starts += a.n * starts
}

func (a *adding) flush() {
	if a.hour != nil {
		a.hour.take(a.inHour, a.named)
	}
	a.inHour = 0
}

// minuteLoad counts the starts of one minute.
type minuteLoad struct {
	Load
	hour *LoadHour
}

func (l *Loads) hourOf(minute time.Time) *LoadHour {
	begin := minute.Add(-time.Duration(minute.In(l.zone).Minute()) * time.Minute)
	h := l.hours[begin.Unix()]
	if h == nil {
		h = &LoadHour{Hour: begin}
		l.hours[begin.Unix()] = h
	}
	return h
}

// take adds schedules with that many starts each to the top list.
func (h *LoadHour) take(starts int, named []LoadOf) {
	for _, one := range named[:min(len(named), loadTop)] {
		one.Starts = starts
		at, _ := slices.BinarySearchFunc(h.Top, one, mostFirst)
		if at < loadTop {
			h.Top = slices.Insert(h.Top, at, one)
			h.Top = h.Top[:min(len(h.Top), loadTop)]
		}
	}
}

func mostFirst(a, b LoadOf) int {
	return cmp.Or(cmp.Compare(b.Starts, a.Starts), cmp.Compare(a.Schedule, b.Schedule), cmp.Compare(a.Namespace, b.Namespace))
}

// Forecast returns the counted starts.
func (l *Loads) Forecast(onlyHours bool) Forecast {
	f := Forecast{Loads: []Load{}, Hours: []LoadHour{}}
	minutes := make([]Load, 0, len(l.minutes))
	for _, m := range l.minutes {
		minutes = append(minutes, m.Load)
		if m.Starts > m.hour.Most || m.Starts == m.hour.Most && m.Minute.Before(m.hour.Minute) {
			m.hour.Most, m.hour.Minute = m.Starts, m.Minute
		}
	}
	byTime := func(a, b Load) int { return a.Minute.Compare(b.Minute) }
	slices.SortFunc(minutes, byTime)
	for _, h := range l.hours {
		f.Hours = append(f.Hours, *h)
	}
	slices.SortFunc(f.Hours, func(a, b LoadHour) int { return a.Hour.Compare(b.Hour) })
	f.Busiest = slices.Clone(minutes)
	slices.SortStableFunc(f.Busiest, func(a, b Load) int { return cmp.Compare(b.Starts, a.Starts) })
	f.Busiest = slices.Clone(f.Busiest[:min(len(f.Busiest), loadBusiest)])
	if !onlyHours {
		f.Loads = minutes
	}
	return f
}

// FixedRate returns the interval of a schedule whose times are all that far apart,
// without calendars or other conditions. Its times can be counted without a list.
func (s Schedule) FixedRate() (step time.Duration, fixed bool) {
	if len(s.Rules) != 1 || s.Jitter > 0 || len(s.Calendars()) > 0 || !s.FinishAt.IsZero() {
		return 0, false
	}
	r := s.Rules[0]
	return r.Every.D(), r.Every > 0 && r.Anchor != AnchorFinish
}

// hashed matches a cron expression with an H, which stands for a hash of the name.
var hashed = regexp.MustCompile(`(^|[\s,])[Hh]($|[\s,/(])`)

// OwnTimes reports whether the times of a schedule depend on its name. Schedules
// with the same rules, zone, start and end then have different times.
func (s Schedule) OwnTimes() bool {
	return s.Jitter > 0 || slices.ContainsFunc(s.Rules, func(r Rule) bool {
		return r.Every > 0 && s.Start.IsZero() || hashed.MatchString(r.Cron) || strings.Contains(strings.ToLower(r.Cron), "@every")
	})
}

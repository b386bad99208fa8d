package schedules

import (
	"context"
	"strings"
	"time"

	"github.com/belfry-run/belfry/app/ui/console/internal/parts"
	"github.com/belfry-run/belfry/cron"
	"github.com/belfry-run/belfry/schedule"
	"github.com/belfry-run/belfry/view"
)

const (
	// monthsBack and monthsOn are how far the calendar of a schedule can be turned.
	monthsBack = 11 // what the past year is counted for
	monthsOn   = 12
)

// runMonth is a month of a schedule's page: what ran on its nominal days, and what will, in its zone.
type runMonth struct {
	parts.Month
	Prev, This, Next string // links; empty: there is none
	Note             string
}

// wallDay is the day of an instant in a zone, as a day of the wall.
func wallDay(at time.Time, zone *time.Location) time.Time {
	at = at.In(zone)
	return time.Date(at.Year(), at.Month(), at.Day(), 0, 0, 0, 0, time.UTC)
}

// monthShown is the first day of the month that is asked for, and of the present one, in the schedule's zone.
func (p *page) monthShown(zone *time.Location) (first, present time.Time) {
	today := wallDay(p.Now, zone)
	present = today.AddDate(0, 0, 1-today.Day())
	first, err := time.Parse("2006-01", p.Query("month"))
	if err != nil || first.Before(present.AddDate(0, -monthsBack, 0)) || first.After(present.AddDate(0, monthsOn, 0)) {
		first = present
	}
	return first, present
}

// comingIn asks for the starts of the month, as many as are counted.
func (p *page) comingIn(ctx context.Context, s schedule.Schedule) ([]schedule.Coming, error) {
	zone := zoneOf(s.Zone)
	first, present := p.monthShown(zone)
	if first.Before(present) || s.State == schedule.Completed {
		return nil, nil
	}
	q := schedule.LookQuery{Namespace: s.Namespace, Name: s.Name, N: schedule.MaxLook, RunsOnly: true}
	if first.After(present) {
		q.From = time.Date(first.Year(), first.Month(), 1, 0, 0, 0, 0, zone)
	}
	look, err := p.api.Look(ctx, q)
	return look.Coming, err
}

func zoneOf(name string) *time.Location {
	if zone, err := cron.LoadZone(name); err == nil {
		return zone
	}
	return time.UTC
}

// runMonthOf is the month that is asked for, with links to those beside it.
func (p *page) runMonthOf(s schedule.Schedule, days []view.DayTotals, coming []schedule.Coming) runMonth {
	zone := zoneOf(s.Zone)
	first, present := p.monthShown(zone)
	m := runMonth{Month: monthOf(first, wallDay(p.Now, zone), days, coming, zone)}
	link := func(at time.Time) string { return p.Here("month", at.Format("2006-01")) + "#month" }
	if at := first.AddDate(0, -1, 0); !at.Before(present.AddDate(0, -monthsBack, 0)) {
		m.Prev = link(at)
	}
	if at := first.AddDate(0, 1, 0); !at.After(present.AddDate(0, monthsOn, 0)) {
		m.Next = link(at)
	}
	if !first.Equal(present) {
		m.This = p.Here("month", "") + "#month"
	}
	if s.State == schedule.Paused && !first.Before(present) {
		m.Note = "Nothing starts while it is paused. These runs start if it is resumed before."
	}
	return m
}

// monthOf counts past and planned runs by nominal day. Coming begins no later than the month, or now. If it was cut at its
// limit, later days have no planned runs.
func monthOf(first, today time.Time, days []view.DayTotals, coming []schedule.Coming, zone *time.Location) parts.Month {
	ran, ahead := map[time.Time]view.DayTotals{}, map[time.Time]int{}
	for _, d := range days {
		ran[d.Day.UTC()] = d
	}
	for _, c := range coming {
		if c.Skipped == "" {
			ahead[wallDay(c.Nominal, zone)]++
		}
	}
	last := first.AddDate(1, 0, 0)
	if len(coming) >= schedule.MaxLook {
		last = wallDay(coming[len(coming)-1].Nominal, zone)
	}
	m := parts.NewMonth(first, func(day time.Time) parts.MonthDay {
		d, r, n := parts.MonthDay{N: day.Day()}, ran[day], ahead[day]
		var said []string
		for _, part := range []struct {
			n    int64
			word string
		}{{r.OK, "succeeded"}, {r.Failed, "failed"}, {r.Canceled, "canceled"}, {r.Skipped, "skipped"}, {int64(n), "to come"}} {
			if part.n > 0 {
				said = append(said, parts.NumberText(part.n)+" "+part.word)
			}
		}
		switch {
		case r.Failed > 0:
			d.Look = "had-failures"
		case r.OK > 0:
			d.Look = "went-well"
		case r.Canceled+r.Skipped > 0:
			d.Look = "ran-nothing"
		case n > 0:
			d.Look = "to-come"
		case day.Before(today):
			d.Look = "past"
		}
		if r.OK > 0 {
			d.Good = parts.NumberText(r.OK)
		}
		if r.Failed > 0 {
			d.Bad = "✗ " + parts.NumberText(r.Failed)
		}
		if n > 0 {
			d.Ahead = parts.NumberText(n)
		}
		switch {
		case day.Equal(last):
			d.Ahead += "+"
			said = append(said, "or more")
		case day.After(last):
			d.Ahead = "?"
			said = append(said, "not counted")
		}
		if day.Equal(today) {
			d.Look += " today"
			said = append([]string{"today"}, said...)
		}
		d.Said = strings.Join(said, ", ")
		return d
	})
	m.Big = true
	return m
}

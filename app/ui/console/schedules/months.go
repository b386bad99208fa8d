package schedules

import (
	"time"

	"github.com/belfry-run/belfry/app/ui/console/internal/parts"
	"github.com/belfry-run/belfry/schedule"
)

const previewMonths = 2

// monthsOf counts the next times by day of their zone, in this month and the
// next. It says how far it counted, if that is before the end.
func (p *page) monthsOf(coming []schedule.Coming, zone string) (months []parts.Month, counted *parts.Moment) {
	at := p.WhenIn(zone, p.Now).Location()
	months, until := countMonths(coming, p.Now.In(at))
	if !until.IsZero() {
		end := p.WhenIn(zone, until)
		counted = &end
	}
	return months, counted
}

// countMonths is monthsOf without a page. Until is zero if all was counted.
func countMonths(coming []schedule.Coming, now time.Time) (months []parts.Month, until time.Time) {
	type date struct {
		year  int
		month time.Month
		day   int
	}
	on := func(t time.Time) (d date) { d.year, d.month, d.day = t.In(now.Location()).Date(); return d }
	runs := map[date]int{}
	for _, c := range coming {
		if c.Skipped == "" {
			runs[on(c.Nominal)]++
		}
	}
	today := time.Date(now.Year(), now.Month(), now.Day(), 0, 0, 0, 0, time.UTC) // a day of the wall
	end := time.Date(now.Year(), now.Month()+previewMonths, 1, 0, 0, 0, 0, time.UTC)
	last := end
	if len(coming) >= previewDays {
		final := coming[len(coming)-1].Nominal.In(now.Location())
		if day := time.Date(final.Year(), final.Month(), final.Day(), 0, 0, 0, 0, time.UTC); day.Before(end) {
			last, until = day, coming[len(coming)-1].Nominal
		}
	}
	for i := range previewMonths {
		first := time.Date(now.Year(), now.Month()+time.Month(i), 1, 0, 0, 0, 0, time.UTC)
		months = append(months, parts.NewMonth(first, func(day time.Time) parts.MonthDay {
			d := parts.MonthDay{N: day.Day()}
			n := runs[date{day.Year(), day.Month(), day.Day()}]
			switch {
			case day.Before(today):
				d.Look = "past"
			case day.Equal(last) && n > 0:
				d.Look, d.Said = "runs", parts.Plural(n, "run", "runs")+" or more"
			case n > 0:
				d.Look, d.Said = "runs", parts.Plural(n, "run", "runs")
			case day.After(last):
				d.Look, d.Said = "beyond", "not counted"
			}
			return d
		}))
	}
	return months, until
}

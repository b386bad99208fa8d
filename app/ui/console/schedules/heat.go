package schedules

import (
	"cmp"
	"fmt"
	"strings"
	"time"

	"github.com/belfry-run/belfry/app/ui/console/internal/parts"
	"github.com/belfry-run/belfry/core"
	"github.com/belfry-run/belfry/cron"
	"github.com/belfry-run/belfry/view"
)

// heat is a map of cells for the part "heat", darker with the number of events, and the same numbers as a table.
type heat struct {
	Title, Said, Note string
	FromEnd           bool // where it is cut off, its end shows
	Width, Height     int
	Marks             []heatMark
	Cells             []heatCell
	Head              []string
	Rows              [][]string
}

type heatMark struct {
	X, Y int
	Text string
}

type heatCell struct {
	X, Y, W, H  int
	Tone, Title string
	Level       int    // 0 to 4
	Cross       string // a stroke over the cell: something is wrong
}

// levelOf is the shade of a number relative to the largest; 0 for none.
func levelOf(n, most, happened int64) int {
	if happened <= 0 || most <= 0 {
		return 0
	}
	return int(1 + 3*max(0, n)/most)
}

const (
	heatCellSize = 11 // of a day, in pixels
	heatStep     = heatCellSize + 2
	heatLeft     = 30 // for names of days
	heatTop      = 16 // for names of months
)

// yearHeat shows the results of a schedule on each day of the past year, with a column for each week. Days are those of the
// schedule's zone.
func yearHeat(days []view.DayTotals, zone string, now time.Time) heat {
	h := heat{Title: "Past year", FromEnd: true, Head: []string{"Day", "Succeeded", "Failed", "Canceled", "Skipped", "Ran for"}}
	byDay, most := map[time.Time]view.DayTotals{}, int64(0)
	var total, failed int64
	for _, d := range days {
		byDay[d.Day.UTC()] = d
		n := d.OK + d.Failed
		most, total, failed = max(most, n), total+n, failed+d.Failed
		h.Rows = append(h.Rows, []string{d.Day.UTC().Format("Mon 2 Jan 2006"), parts.NumberText(d.OK), parts.NumberText(d.Failed), parts.NumberText(d.Canceled), parts.NumberText(d.Skipped), core.SpanText(d.Ran)})
	}
	if len(days) == 0 {
		return h
	}
	if at, err := cron.LoadZone(zone); err == nil {
		now = now.In(at)
	}
	today := time.Date(now.Year(), now.Month(), now.Day(), 0, 0, 0, 0, time.UTC)
	first := today.AddDate(-1, 0, 1)
	first = first.AddDate(0, 0, -int(first.Weekday()+6)%7) // a Monday
	weeks := 0
	for day := first; !day.After(today); day = day.AddDate(0, 0, 1) {
		n := int(day.Sub(first) / (24 * time.Hour))
		weeks = n / 7
		x, y := heatLeft+weeks*heatStep, heatTop+n%7*heatStep
		if day.Day() == 1 {
			h.Marks = append(h.Marks, heatMark{x, heatTop - 5, day.Format("Jan")})
		}
		h.Cells = append(h.Cells, dayCell(day, byDay[day], most, x, y))
	}
	for i, name := range []string{"Mon", "", "Wed", "", "Fri", "", "Sun"} {
		if name != "" {
			h.Marks = append(h.Marks, heatMark{0, heatTop + i*heatStep + heatCellSize - 1, name})
		}
	}
	h.Width, h.Height = heatLeft+(weeks+1)*heatStep, heatTop+7*heatStep
	h.Said = fmt.Sprintf("%s in the past year, of which %s failed; at most %s on one day", parts.Plural(int(total), "run", "runs"), parts.NumberText(failed), parts.NumberText(most))
	h.Note = h.Said + ". A run counts on the day it was scheduled for, in " + cmp.Or(zone, "UTC") + "; a crossed day had failures."
	return h
}

func dayCell(day time.Time, d view.DayTotals, most int64, x, y int) heatCell {
	c := heatCell{X: x, Y: y, W: heatCellSize, H: heatCellSize, Tone: "good", Level: levelOf(d.OK+d.Failed, most, d.OK+d.Failed)}
	said := []string{}
	for _, part := range []struct {
		n    int64
		word string
	}{{d.OK, "succeeded"}, {d.Failed, "failed"}, {d.Canceled, "canceled"}, {d.Skipped, "skipped"}} {
		if part.n > 0 {
			said = append(said, parts.NumberText(part.n)+" "+part.word)
		}
	}
	if len(said) == 0 {
		said = []string{"nothing"}
	}
	c.Title = day.Format("Mon 2 Jan 2006") + ": " + strings.Join(said, ", ")
	switch {
	case d.Failed > 0:
		c.Tone = "bad"
		c.Cross = fmt.Sprintf("M%d %dl%d %d", x+2, y+heatCellSize-2, heatCellSize-4, 4-heatCellSize)
	case c.Level == 0 && d.Skipped+d.Canceled > 0:
		c.Tone, c.Level = "idle", 1
	}
	return c
}

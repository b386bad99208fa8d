package ui

import (
	"fmt"
	"html/template"
	"math"
	"slices"
	"strings"
	"time"

	"github.com/belfry-run/belfry/core"
	"github.com/belfry-run/belfry/view"
)

// bars are the days of a monitor as a picture and as words.
type bars struct {
	Width  int
	Height int
	Paths  template.HTML // made here, of numbers and dates alone
	Label  string
	First  moment
	Folds  bool   // a narrow window shows the newest two thirds alone
	Newest moment // first day of them
	Count  int
	Bad    []badDay // newest first
}

// badDay is a day with downtime.
type badDay struct {
	Day    moment
	Uptime string
	Down   string
}

// A day is a bar of barWidth and a gap. Shape repeats colour: up
// is a whole bar, downtime hangs from the top above a gap, a day that was down
// from begin to end does not reach the bottom, and nothing known is a stub.
const (
	barHeight = 32
	barWidth  = 3
	barStep   = barWidth + 1
	stub      = 5  // of a day of which nothing is known
	hangMin   = 9  // of downtime, however short
	hangMax   = 23 // of downtime beside which there was time up
	hangAll   = 26 // of a day without any
	hangGap   = 2

	foldedDays = 60 // that fit in any window
)

func newBars(e view.BoardEntry) bars {
	b := bars{Width: max(len(e.Days)*barStep-1, barWidth), Height: barHeight, Count: len(e.Days)}
	var paths strings.Builder
	for i, d := range e.Days {
		fmt.Fprintf(&paths, "<g><title>%s</title>%s</g>", dayText(d), dayPath(i*barStep, d))
		if d.Down > 0 {
			b.Bad = append(b.Bad, badDay{moment{d.Day}, dayUptime(d), core.SpanText(d.Down.D())})
		}
	}
	slices.Reverse(b.Bad)
	b.Paths = template.HTML(paths.String())
	if len(e.Days) > 0 {
		b.First = moment{e.Days[0].Day}
		b.Folds, b.Newest = len(e.Days) > foldedDays, moment{e.Days[len(e.Days)/3].Day}
	}
	b.Label = b.label(e)
	return b
}

// dayUptime knows that a day with downtime was not up all of it.
func dayUptime(d view.BoardDay) string {
	switch {
	case d.Uptime == nil && d.Down == 0:
		return "no data"
	case d.Uptime == nil:
		return percent(0)
	case d.Down > 0:
		return percent(min(*d.Uptime, math.Nextafter(1, 0)))
	}
	return percent(*d.Uptime)
}

func dayText(d view.BoardDay) string {
	text := moment{d.Day}.Day() + ": " + dayUptime(d)
	if d.Uptime != nil || d.Down > 0 {
		text += " up"
	}
	if d.Down > 0 {
		text += ", down " + core.SpanText(d.Down.D())
	}
	return strings.ReplaceAll(text, "<", "&lt;") // of "< 0.1%"
}

func dayPath(x int, d view.BoardDay) string {
	switch {
	case d.Uptime == nil && d.Down == 0:
		return barPath("n", x, barHeight-stub, stub)
	case d.Down == 0 && *d.Uptime >= 1:
		return barPath("u", x, 0, barHeight)
	case d.Uptime == nil || *d.Uptime <= 0:
		return barPath("d", x, 0, hangAll)
	}
	share := min(max(1-*d.Uptime, 0), 1)
	hang := hangMin + int(math.Round((hangMax-hangMin)*share))
	return barPath("d", x, 0, hang) + barPath("u", x, hang+hangGap, barHeight-hang-hangGap)
}

func barPath(class string, x, y, height int) string {
	return fmt.Sprintf(`<path class="%s" d="M%d %dh%dv%dh-%dz"/>`, class, x, y, barWidth, height, barWidth)
}

// labelDays is how many days a label names: it is read out in one go. The list
// below a bar has them all.
const labelDays = 5

func (b bars) label(e view.BoardEntry) string {
	text := fmt.Sprintf("%s, last %d days: ", e.Monitor, b.Count)
	if e.Uptime == nil {
		return text + "no data"
	}
	text += percent(*e.Uptime) + " up"
	if len(b.Bad) == 0 {
		return text + ", no downtime"
	}
	text += ". Downtime: "
	for i, d := range b.Bad {
		if i == labelDays {
			return text + fmt.Sprintf("; and on %d more days", len(b.Bad)-i)
		}
		if i > 0 {
			text += "; "
		}
		text += fmt.Sprintf("%s, %s up, down %s", d.Day.Day(), d.Uptime, d.Down)
	}
	return text
}

// legend explains the shapes.
func legend() []legendEntry {
	some, none, all := 0.5, 0.0, 1.0
	var out []legendEntry
	for _, of := range []struct {
		word   string
		uptime *float64
		down   time.Duration
	}{{"up", &all, 0}, {"some downtime", &some, time.Hour}, {"down all day", &none, time.Hour}, {"no data", nil, 0}} {
		path := dayPath(0, view.BoardDay{Uptime: of.uptime, Down: core.Duration(of.down)})
		out = append(out, legendEntry{template.HTML(path), of.word})
	}
	return out
}

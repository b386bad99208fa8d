package monitors

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/belfry-run/belfry/app/ui/console/internal/parts"
	"github.com/belfry-run/belfry/core"
	"github.com/belfry-run/belfry/monitor"
)

// uptimeBars is the part "uptime": how a target was lately.
type uptimeBars struct {
	Latency parts.Spark
	Label   string
	Ratio   string // up, in words
	Seen    string // since when, or how much of it was seen; empty when all of it was
	Days    bool   // a bar is a day
	P95     core.Duration
	Parts   []uptimePart
	Width   int
	Height  int
	None    bool
}

// uptimePart is bars side by side of which the same is to be said: a list has thousands. Shape repeats colour
// here: up is a whole bar, downtime hangs from the top, and nothing known is a stub.
type uptimePart struct {
	Title string
	Paths []uptimePath
}

type uptimePath struct{ Class, D string }

// newUptimeBars are the bars of a monitor that was created at some time.
func newUptimeBars(b monitor.Bars, created, now time.Time) uptimeBars {
	u := uptimeBars{Latency: latencyLine(b.Latencies), P95: b.P95, Width: max(len(b.Bars)*uptimeStep-1, 1), Height: uptimeHeight, Ratio: upText(b.Ratio), None: b.Ratio == nil}
	switch {
	case u.None:
	case len(b.Bars) > 0 && created.After(b.Bars[0].From):
		u.Seen = "since " + sinceText(created, now)
	case b.Coverage < allSeen:
		u.Seen = coverText(b.Coverage) + " coverage"
	}
	span := "last 24 hours"
	if u.Days = b.Step.D() >= 24*time.Hour; u.Days {
		span = "last 90 days"
	}
	u.Label = fmt.Sprintf("%s, %s: %s", b.Monitor, span, u.Ratio)
	if !u.None {
		u.Label += ", " + parts.Plural(b.Outages, "outage", "outages")
	}
	if u.Seen != "" {
		u.Label += ", " + u.Seen
	}
	first := 0 // a new monitor has no bars before its first: nothing was to be seen then
	for first < len(b.Bars) && saidOf(b.Bars[first]) == noData && !b.Bars[first].From.Add(b.Step.D()).After(created) {
		first++
	}
	for i := first; i < len(b.Bars); {
		said, n := saidOf(b.Bars[i]), 1
		for i+n < len(b.Bars) && saidOf(b.Bars[i+n]) == said {
			n++
		}
		u.add(i, said, b.Bars[i:i+n], b.Step)
		i += n
	}
	return u
}

// fewer merges bars for a list, whose columns are narrow: 90 days become 30 bars of 3 days, and 48 half hours 24 of an hour.
func fewer(b monitor.Bars, now time.Time) monitor.Bars {
	by := max((len(b.Bars)+listedBars-1)/listedBars, 1)
	merged := b
	merged.Step, merged.Bars = b.Step*core.Duration(by), make([]monitor.UptimeBar, 0, len(b.Bars)/by)
	for part := range slices.Chunk(b.Bars, by) {
		one := monitor.UptimeBar{From: part[0].From}
		var whole, covered, known time.Duration
		for _, bar := range part {
			length := min(b.Step.D(), now.Sub(bar.From)) // the last is not over yet
			seen := time.Duration(bar.Coverage * float64(length))
			whole, covered = whole+length, covered+seen
			one.Down, one.Maintenance, one.Paused = one.Down+bar.Down, one.Maintenance+bar.Maintenance, one.Paused+bar.Paused
			if bar.Ratio != nil {
				known += max(seen-bar.Maintenance.D(), bar.Down.D())
			}
			if bar.Ratio != nil && one.Ratio == nil {
				one.Ratio = new(float64)
			}
		}
		if whole > 0 {
			one.Coverage = float64(covered) / float64(whole)
		}
		if one.Ratio != nil {
			if *one.Ratio = 1; known > 0 {
				*one.Ratio = 1 - float64(one.Down)/float64(known)
			}
		}
		merged.Bars = append(merged.Bars, one)
	}
	return merged
}

const noData = "no data"

// saidOf describes a bar in words.
func saidOf(b monitor.UptimeBar) string {
	switch {
	case b.Ratio == nil && b.Maintenance > 0:
		return "maintenance"
	case b.Ratio == nil && b.Paused > 0:
		return "paused"
	case b.Ratio == nil:
		return noData
	case b.Down == 0:
		return "up" + seenText(b)
	}
	return fmt.Sprintf("%s up, down %s%s", upText(b.Ratio), core.SpanText(b.Down), seenText(b))
}

// add draws bars that are alike from place first on.
func (u *uptimeBars) add(first int, said string, bars []monitor.UptimeBar, step core.Duration) {
	from, to, layout := bars[0].From.UTC(), bars[len(bars)-1].From.UTC(), "Mon 2 Jan"
	if !u.Days {
		to, layout = to.Add(step.D()), "15:04"
	}
	if u.Days {
		to = to.Add(step.D() - 24*time.Hour) // a bar may have several days
	}
	title := from.Format(layout)
	if !u.Days || to.After(from) {
		title += " to " + to.Format(layout)
	}
	part := uptimePart{Title: title + " UTC: " + said}
	path := func(class string, y, h int) {
		bar := fmt.Sprintf("h%dv%dh-%dz", uptimeStep-1, h, uptimeStep-1)
		part.Paths = append(part.Paths, uptimePath{class, fmt.Sprintf("M%d %d", first*uptimeStep, y) + bar + strings.Repeat(fmt.Sprintf("m%d 0", uptimeStep)+bar, len(bars)-1)})
	}
	switch b := bars[0]; {
	case b.Ratio == nil && b.Maintenance > 0:
		path("busy", uptimeHeight-10, 10)
	case b.Ratio == nil:
		path("none", uptimeHeight-4, 4)
	case b.Down == 0:
		path("good", 0, uptimeHeight)
	default:
		hang := 8 + int(float64(uptimeHeight-14)*(1-*b.Ratio))
		path("bad", 0, hang)
		if *b.Ratio > 0 {
			path("good", hang+2, uptimeHeight-hang-2)
		}
	}
	u.Parts = append(u.Parts, part)
}

func seenText(b monitor.UptimeBar) string {
	if b.Coverage >= allSeen {
		return ""
	}
	return ", " + coverText(b.Coverage) + " coverage"
}

// sinceText writes an instant of the past as short as it is clear.
func sinceText(at, now time.Time) string {
	at, now = at.UTC(), now.UTC()
	switch {
	case at.Truncate(24 * time.Hour).Equal(now.Truncate(24 * time.Hour)):
		return at.Format("15:04 UTC")
	case now.Sub(at) < 180*24*time.Hour:
		return at.Format("2 Jan")
	}
	return at.Format("2 Jan 2006")
}

// coverText writes how much of a time was seen, where hardly any is not none.
func coverText(coverage float64) string {
	if coverage > 0 && coverage < 0.01 {
		return "under 1 %"
	}
	return parts.PercentText(coverage)
}

// upText writes an uptime with three decimals, rounded down: a short outage never
// shows as 100 %.
func upText(ratio *float64) string {
	if ratio == nil {
		return "no data"
	}
	if *ratio >= 1 {
		return "100 %"
	}
	text := fmt.Sprintf("%.3f", float64(int(*ratio*100_000))/1000)
	return strings.TrimRight(strings.TrimRight(text, "0"), ".") + " %"
}

const (
	allSeen      = 0.9995 // from this coverage on, it was seen all the time
	uptimeHeight = 28
	uptimeStep   = 4 // a bar of 3 and a gap of 1
	listedBars   = 30
)

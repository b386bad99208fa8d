package home

import (
	"fmt"
	"strconv"
	"time"

	"github.com/belfry-run/belfry/app/ui/console/internal/parts"
)

// timeline has the jobs that finished in the last hour and the starts of the next
// 24 hours, on one axis by quarters of an hour.
type timeline struct {
	From, Now, To time.Time
	Bars          []timeBar
	Marks         []timeMark
	Done, Failed  int64
	Ahead         int
	Partial       bool    // some future starts are not counted
	Cut           float64 // begin of the time that is not counted in full, in percent
}

// timeBar is a bar of the timeline. X and Wide are in percent, Y and High in pixels.
type timeBar struct {
	X, Wide string
	Y, High int
	Class   string // good, bad or ahead
	Title   string
}

type timeMark struct{ X, Text string }

const (
	quarter    = 15 * time.Minute
	timeHeight = 64
	// besideNow is the distance from the present within which the label of an hour would overlap "now" on a phone.
	besideNow = 210 * time.Minute
)

// Timeline returns the timeline of the page.
func (d homeData) Timeline() timeline {
	zone := d.Zone
	if zone == nil {
		zone = time.UTC
	}
	now := d.Now.UTC()
	t := timeline{From: now.Truncate(quarter).Add(-time.Hour), Now: now, Partial: d.Ahead.Partial}
	t.To = now.Add(homeAhead).Truncate(quarter).Add(quarter)
	n := int(t.To.Sub(t.From) / quarter)
	ok, failed, ahead := make([]int64, n), make([]int64, n), make([]int64, n)
	slot := func(at time.Time) int {
		if i := int(at.Sub(t.From) / quarter); !at.Before(t.From) && i < n {
			return i
		}
		return -1
	}
	for _, m := range d.Minutes {
		if i := slot(m.Minute); i >= 0 {
			ok[i], failed[i] = ok[i]+m.OK, failed[i]+m.Failed
		}
		t.Done, t.Failed = t.Done+m.OK, t.Failed+m.Failed
	}
	for _, s := range d.Starts {
		if i := slot(s.At); i >= 0 {
			ahead[i] += int64(s.Starts)
		}
		t.Ahead += s.Starts
	}
	var most int64 = 1
	for i := range n {
		most = max(most, ok[i]+failed[i], ahead[i])
	}
	high := func(v int64) int { return max(2, int(float64(v)/float64(most)*timeHeight+.5)) }
	for i := range n {
		begin := t.From.Add(time.Duration(i) * quarter)
		end := begin.Add(quarter)
		span := begin.In(zone).Format("15:04") + " to " + end.In(zone).Format("15:04 ") + zone.String() + ": "
		past, next := end, begin
		if begin.Before(now) && end.After(now) {
			past, next = now, now
		}
		foot := timeHeight
		if ok[i] > 0 {
			foot -= high(ok[i])
			t.add(begin, past, foot, timeHeight-foot, "good", span+parts.Plural(int(ok[i]), "job", "jobs")+" succeeded")
		}
		if failed[i] > 0 {
			h := high(failed[i])
			t.add(begin, past, foot-h, h, "bad", span+parts.Plural(int(failed[i]), "job", "jobs")+" failed")
		}
		if ahead[i] > 0 {
			h := high(ahead[i])
			t.add(next, end, timeHeight-h, h, "ahead", span+parts.Plural(int(ahead[i]), "start", "starts"))
		}
	}
	for at := t.From; at.Before(t.To); at = at.Add(quarter) {
		if local := at.In(zone); local.Hour()%6 == 0 && local.Minute() == 0 && at.Sub(now).Abs() > besideNow && t.To.Sub(at) > time.Hour {
			t.Marks = append(t.Marks, timeMark{t.at(at), local.Format("15:04")})
		}
	}
	if t.Partial && d.Ahead.Until.Before(t.To) {
		t.Cut = percent(t, d.Ahead.Until)
	}
	return t
}

func percent(t timeline, at time.Time) float64 {
	return 100 * float64(at.Sub(t.From)) / float64(t.To.Sub(t.From))
}

func (t timeline) at(at time.Time) string {
	return strconv.FormatFloat(percent(t, at), 'f', 2, 64) + "%"
}

// NowX is the position of the present.
func (t timeline) NowX() string { return t.at(t.Now) }

// CutX is the begin of the span that is not counted in full, and CutWide its width.
func (t timeline) CutX() string { return fmt.Sprintf("%.2f%%", t.Cut) }

// CutWide is the width of that span.
func (t timeline) CutWide() string { return fmt.Sprintf("%.2f%%", 100-t.Cut) }

func (t *timeline) add(from, to time.Time, y, high int, class, title string) {
	wide := percent(*t, to) - percent(*t, from)
	gap := min(.16, wide/4)
	t.Bars = append(t.Bars, timeBar{X: strconv.FormatFloat(percent(*t, from)+gap/2, 'f', 2, 64) + "%", Wide: strconv.FormatFloat(wide-gap, 'f', 2, 64) + "%", Y: y, High: high, Class: class, Title: title})
}

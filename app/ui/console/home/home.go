package home

import (
	"context"
	"fmt"
	"time"

	"github.com/belfry-run/belfry/app/ui/console/internal/parts"
	"github.com/belfry-run/belfry/schedule"
	"github.com/belfry-run/belfry/view"
)

type homeAPI interface {
	Overview(ctx context.Context, namespace string) (view.Overview, error)
}

var homeRoutes = routes{"GET /{$}": home}

// homeAhead is how far the home page looks ahead.
const homeAhead = 24 * time.Hour

// home shows one answer of the API, which reads a bounded number of rows
// however much there is.
func home(p *page) error {
	o, err := p.api.Overview(p.R.Context(), p.Namespace)
	if err != nil {
		return err
	}
	d := homeData{o, p.Query("checks") == "true"}
	if d.Checks {
		if d.Ahead, err = p.api.Forecast(p.R.Context(), schedule.Ahead{Namespace: p.Namespace, Within: homeAhead, ByHour: true, Checks: true}); err != nil {
			return err
		}
	}
	return p.Show("home", d)
}

type homeData struct {
	view.Overview
	Checks bool // of monitors are counted among what is ahead
}

// Fresh reports that nobody has done anything here yet.
func (d homeData) Fresh() bool {
	return len(d.Running)+len(d.Failed)+len(d.Next)+len(d.Incidents)+len(d.Minutes) == 0
}

// Behind are the queues that fall behind.
func (d homeData) Behind() int {
	n := 0
	for _, q := range d.Queues {
		if q.Behind {
			n++
		}
	}
	return n
}

// Failing is how many failed within 24 hours: the count ends with the last
// full minute, and the list does not.
func (d homeData) Failing() int64 { return max(d.Failures, int64(len(d.Failed))) }

// Ended is how many jobs ended within the hour.
func (d homeData) Ended() int64 {
	var n int64
	for _, m := range d.Minutes {
		n += m.OK + m.Failed
	}
	return n
}

// share is how much of its timeout a job has used.
func share(id int64, elapsed, timeout time.Duration) parts.Bar {
	tone := "busy"
	if elapsed > timeout*4/5 {
		tone = "warn"
	}
	return parts.Bar{Label: "Time of job " + fmt.Sprint(id), Value: min(elapsed.Seconds(), timeout.Seconds()), Max: timeout.Seconds(),
		Text: parts.SpanText(elapsed) + " of " + parts.SpanText(timeout), Tone: tone}
}

// Hours are the starts of the next 24 hours.
func (d homeData) Hours() timeline { return newTimeline(d.Ahead, d.Now) }

// timeline is how many jobs start in each hour.
type timeline struct {
	Slots   []slot
	Most    int
	Total   int
	Partial bool // there is more than was counted
}

type slot struct {
	From, To time.Time
	Cut      bool // some of its starts are not counted
	schedule.LoadHour
}

func newTimeline(f schedule.Forecast, now time.Time) timeline {
	t := timeline{Partial: f.Partial}
	first := now.UTC().Truncate(time.Hour)
	for at := first; at.Before(now.Add(homeAhead)); at = at.Add(time.Hour) {
		to := at.Add(time.Hour)
		t.Slots = append(t.Slots, slot{From: at, To: to, Cut: f.Partial && f.Until.Before(to)})
	}
	for _, h := range f.Hours {
		i := int(h.Hour.Sub(first) / time.Hour)
		if h.Hour.Before(first) || i >= len(t.Slots) {
			continue
		}
		t.Slots[i].LoadHour = h
		t.Total += h.Starts
		t.Most = max(t.Most, h.Starts)
	}
	return t
}

// Width of the picture, and the bar of a slot in it.
func (t timeline) Width() int { return 40 * len(t.Slots) }

func (t timeline) X(i int) int { return 40*i + 4 }

func (t timeline) Y(s slot) int { return 100 - t.High(s) }

func (t timeline) High(s slot) int { return 6 + 94*s.Starts/max(t.Most, 1) }

// Said is a slot in words.
func (s slot) Said() string {
	if s.Cut {
		return fmt.Sprintf("%s to %s UTC: at least %s, not all are counted", s.From.Format("15:04"), s.To.Format("15:04"), parts.Plural(s.Starts, "start", "starts"))
	}
	return fmt.Sprintf("%s to %s UTC: %s", s.From.Format("15:04"), s.To.Format("15:04"), parts.Plural(s.Starts, "start", "starts"))
}

// Often are the schedules that start most often in it.
func (s slot) Often() (names []string) {
	for _, of := range s.Top {
		names = append(names, of.Schedule)
	}
	return names
}

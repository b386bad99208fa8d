package console

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/belfry-run/belfry"
)

type homeAPI interface {
	Jobs(ctx context.Context, f belfry.JobFilter) (belfry.Page[belfry.Job], error)
	Upcoming(ctx context.Context, a belfry.Ahead) ([]belfry.Coming, error)
	Monitors(ctx context.Context, f belfry.MonitorFilter) (belfry.Page[belfry.MonitorView], error)
	Workers(ctx context.Context, ended bool) ([]belfry.WorkerState, error)
	Health(ctx context.Context) (belfry.Health, error)
}

var homeRoutes = []route{{"GET /{$}", home}}

// How much the home page shows of each.
const (
	homeJobs     = 12
	homeComing   = 8
	homeTimeline = 2000
	homeAhead    = 24 * time.Hour
)

type homeData struct {
	Running  belfry.Page[belfry.Job]
	Failed   belfry.Page[belfry.Job]
	Coming   []belfry.Coming
	Timeline timeline
	Queues   []belfry.QueueStats
	Down     belfry.Page[belfry.MonitorView]
	Workers  []belfry.WorkerState
	Health   belfry.Health
}

// Next is what starts first.
func (d homeData) Next() []belfry.Coming { return d.Coming[:min(len(d.Coming), homeComing)] }

// Fresh reports that nobody has done anything here yet.
func (d homeData) Fresh() bool {
	return len(d.Running.Items)+len(d.Failed.Items)+len(d.Coming)+len(d.Down.Items) == 0
}

func home(p *page) error {
	ctx := p.r.Context()
	var d homeData
	err := p.together(
		get(&d.Running, func() (belfry.Page[belfry.Job], error) {
			return p.api.Jobs(ctx, belfry.JobFilter{Paging: belfry.Paging{Limit: homeJobs}, Namespace: p.Namespace, States: []belfry.JobState{belfry.JobRunning}})
		}),
		get(&d.Failed, func() (belfry.Page[belfry.Job], error) {
			return p.api.Jobs(ctx, belfry.JobFilter{Paging: belfry.Paging{Limit: homeJobs}, Namespace: p.Namespace, States: []belfry.JobState{belfry.JobFailed}})
		}),
		get(&d.Coming, func() ([]belfry.Coming, error) {
			return p.api.Upcoming(ctx, belfry.Ahead{Namespace: p.Namespace, Within: homeAhead, Limit: homeTimeline})
		}),
		get(&d.Queues, func() ([]belfry.QueueStats, error) { return p.api.Queues(ctx) }),
		get(&d.Down, func() (belfry.Page[belfry.MonitorView], error) {
			return p.api.Monitors(ctx, belfry.MonitorFilter{Paging: belfry.Paging{Limit: homeJobs}, Namespace: p.Namespace, Status: belfry.StatusDown})
		}),
		get(&d.Workers, func() ([]belfry.WorkerState, error) { return p.api.Workers(ctx, false) }),
		get(&d.Health, func() (belfry.Health, error) { return p.api.Health(ctx) }),
	)
	if err != nil {
		return err
	}
	d.Coming = slices.DeleteFunc(d.Coming, func(c belfry.Coming) bool { return strings.HasPrefix(c.Schedule, "monitor:") }) // they have pages of their own
	d.Timeline = newTimeline(d.Coming, p.Now, homeAhead)
	slices.SortStableFunc(d.Queues, func(a, b belfry.QueueStats) int { return b.Ready - a.Ready })
	return p.show("home", d)
}

// More says that there is more of a list than is shown.
func (d homeData) More(items int, next string) string {
	if next != "" {
		return fmt.Sprintf("%d and more", items)
	}
	return fmt.Sprint(items)
}

// timeline is how many jobs start when, in slots of equal length.
type timeline struct {
	Slots []slot
	Most  int
	Total int
	Hours []time.Time // to write below
}

type slot struct {
	From, To time.Time
	Starts   int
	First    string // name of one of the schedules
}

const timelineSlots = 96

func newTimeline(coming []belfry.Coming, now time.Time, within time.Duration) timeline {
	size := within / timelineSlots
	t := timeline{Slots: make([]slot, timelineSlots)}
	for i := range t.Slots {
		from := now.Add(time.Duration(i) * size)
		t.Slots[i] = slot{From: from, To: from.Add(size)}
	}
	for _, c := range coming {
		i := int(c.DueAt.Sub(now) / size)
		if c.DueAt.IsZero() || i < 0 || i >= timelineSlots {
			continue
		}
		s := &t.Slots[i]
		if s.Starts == 0 {
			s.First = c.Schedule
		}
		s.Starts++
		t.Total++
		t.Most = max(t.Most, s.Starts)
	}
	for h := range 5 {
		t.Hours = append(t.Hours, now.Add(time.Duration(h)*within/4))
	}
	return t
}

// X and Y place the bar of a slot in a picture of 960 by 100.
func (t timeline) X(i int) int     { return i * 10 }
func (t timeline) Y(s slot) int    { return 100 - t.High(s) }
func (t timeline) High(s slot) int { return 10 + 90*s.Starts/max(t.Most, 1) }
func (s slot) Said() string {
	return fmt.Sprintf("%s to %s UTC: %s starts, such as %s", s.From.UTC().Format("15:04"), s.To.UTC().Format("15:04"), numberText(s.Starts), s.First)
}

// Elapsed is how long a job has been running.
func (p *page) Elapsed(j belfry.Job) time.Duration { return max(0, p.Now.Sub(j.ClaimedAt)) }

// Share is that as a part of its timeout.
func (p *page) Share(j belfry.Job) bar {
	elapsed := p.Elapsed(j)
	tone := "busy"
	if elapsed > j.Timeout.D()*4/5 {
		tone = "warn"
	}
	return bar{Label: "Time of job " + fmt.Sprint(j.ID), Value: min(elapsed.Seconds(), j.Timeout.D().Seconds()), Max: j.Timeout.D().Seconds(),
		Text: spanText(elapsed) + " of " + spanText(j.Timeout), Tone: tone}
}

// Waits is how long the oldest ready job of a queue has been waiting.
func (p *page) Waits(q belfry.QueueStats) string {
	if q.OldestAt.IsZero() {
		return "–"
	}
	return spanText(max(0, p.Now.Sub(q.OldestAt)))
}

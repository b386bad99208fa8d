package home

import (
	"context"
	"fmt"
	"time"

	"github.com/belfry-run/belfry/app/ui/console/internal/frame"
	"github.com/belfry-run/belfry/app/ui/console/internal/parts"
	"github.com/belfry-run/belfry/core"
	"github.com/belfry-run/belfry/job"
	"github.com/belfry-run/belfry/monitor"
	"github.com/belfry-run/belfry/schedule"
	"github.com/belfry-run/belfry/view"
)

type homeAPI interface {
	Overview(ctx context.Context, namespace string) (view.Overview, error)
	CountMonitors(ctx context.Context, f view.MonitorFilter) (view.MonitorCount, error)
	Titles(ctx context.Context, q view.Named) (view.Titles, error)
	Incidents(ctx context.Context, f view.IncidentFilter) (core.Page[monitor.Incident], error)
}

var homeRoutes = routes{"GET /{$}": home}

const (
	homeAhead     = 24 * time.Hour // how far the home page looks ahead
	homeRunning   = 5
	homeNext      = 5
	homeIncidents = 200 // of a day
)

// home shows the overview. Each of its reads has a bounded cost, whatever the size of the installation.
func home(p *page) error {
	d := homeData{Checks: p.Query("checks") == "true", Now: p.Now, Zone: p.Times.Zone}
	ctx := p.R.Context()
	reads := []func() error{
		frame.Get(&d.Overview, func() (view.Overview, error) { return p.api.Overview(ctx, p.Namespace) }),
		frame.Get(&d.Monitors, func() (view.MonitorCount, error) {
			return p.api.CountMonitors(ctx, view.MonitorFilter{Namespace: p.Namespace})
		}),
		frame.Get(&d.Outages, func() (core.Page[monitor.Incident], error) {
			return p.api.Incidents(ctx, view.IncidentFilter{Paging: core.Paging{Limit: homeIncidents}, Namespace: p.Namespace})
		}),
	}
	reads = append(reads, frame.Get(&d.Sample, p.hasSample))
	var ahead schedule.Forecast
	if d.Checks {
		reads = append(reads, frame.Get(&ahead, func() (schedule.Forecast, error) {
			return p.api.Forecast(ctx, schedule.Ahead{Namespace: p.Namespace, Within: homeAhead, Checks: true})
		}))
	}
	if err := frame.Together(reads...); err != nil {
		return err
	}
	d.Now = d.Overview.Now
	if d.Checks {
		d.Ahead, d.Starts = ahead, nil
		for _, l := range ahead.Loads {
			d.Starts = append(d.Starts, view.Starts{At: l.Minute, Starts: l.Starts})
		}
	}
	var err error
	if d.Titles, err = frame.Titles(ctx, p.api, d.named(p.Namespace)); err != nil {
		return err
	}
	d.Needs = p.needs(d)
	return p.Show("home", d)
}

type homeData struct {
	view.Overview
	Monitors view.MonitorCount
	Outages  core.Page[monitor.Incident] // the newest
	Checks   bool                        // checks of monitors are among the upcoming runs
	Now      time.Time
	Zone     *time.Location // where its times are shown; nil: UTC
	Needs    []need
	Sample   bool // is loaded
	Titles   view.Titles
}

// named are the things that the page shows.
func (d homeData) named(namespace string) view.Named {
	n := view.Named{Namespace: namespace}
	for _, j := range d.Some() {
		n.Task(j.Task)
	}
	for _, f := range d.Failing {
		n.Task(f.Task)
	}
	for _, a := range d.Approvals {
		n.Task(a.Workflow)
	}
	for _, s := range d.Soon() {
		n.Schedules = append(n.Schedules, s.Schedule)
	}
	for _, l := range d.Late {
		n.Schedules = append(n.Schedules, l.Schedule)
	}
	for _, i := range d.Incidents {
		n.Monitors = append(n.Monitors, i.Monitor)
	}
	for _, q := range d.Queues {
		if q.Behind || !q.PausedAt.IsZero() {
			n.Queues = append(n.Queues, q.Queue)
		}
	}
	return n
}

// Title answers whether all is well.
func (d homeData) Title() string {
	switch n := len(d.Needs); {
	case n > 2 && (d.MoreIncidents || d.MoreFailing || d.MoreLate || d.MoreLost || d.MoreApprovals):
		return "More than " + parts.NumberText(n-1) + " things need you" // the last is a row for more
	case n == 0:
		return "All is well"
	case n == 1:
		return "1 thing needs you"
	default:
		return parts.NumberText(n) + " things need you"
	}
}

// Fresh reports that nothing has been done here yet.
func (d homeData) Fresh() bool {
	return len(d.Running)+len(d.Failed)+len(d.Next)+len(d.Incidents)+len(d.Approvals)+len(d.Minutes)+len(d.Day)+d.Monitors.Count == 0
}

// Some is the first running jobs.
func (d homeData) Some() []job.RunningJob { return d.Running[:min(len(d.Running), homeRunning)] }

// Soon is the schedules that are due next.
func (d homeData) Soon() []view.Next { return d.Next[:min(len(d.Next), homeNext)] }

// failures is the number of jobs that failed within 24 hours. Under a load under which the count ends with the last full minute, the list does not.
func (d homeData) failures() int64 { return max(d.Failures, int64(len(d.Failed))) }

// share compares the elapsed time of a job with the usual duration of its task.
func share(j job.RunningJob) parts.Bar {
	elapsed, usual := j.Elapsed.D(), j.Usual.D()
	b := parts.Bar{Label: "Progress of job " + fmt.Sprint(j.ID), Tone: "busy"}
	if usual <= 0 {
		b.Text = "no estimate yet"
		return b
	}
	b.Value, b.Max = min(elapsed.Seconds(), usual.Seconds()), usual.Seconds()
	if elapsed < usual {
		b.Text = "about " + roughly(usual-elapsed) + " left"
		return b
	}
	b.Text = "usually " + roughly(usual)
	if elapsed > 2*usual {
		b.Tone = "warn"
	}
	return b
}

// roughly is a duration in one unit: an estimate is no more exact, and the column has no room for two.
func roughly(d time.Duration) string {
	unit := time.Second
	switch {
	case d >= time.Hour:
		unit = time.Hour
	case d >= time.Minute:
		unit = time.Minute
	}
	return core.SpanText(d.Round(unit))
}

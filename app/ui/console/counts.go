package console

import (
	"context"
	"time"

	"github.com/belfry-run/belfry/alert"
	"github.com/belfry-run/belfry/app/ui/console/internal/frame"
	"github.com/belfry-run/belfry/app/ui/console/internal/parts"
	"github.com/belfry-run/belfry/core"
	"github.com/belfry-run/belfry/job"
	"github.com/belfry-run/belfry/monitor"
	"github.com/belfry-run/belfry/view"
)

// Limits of the counts in the navigation of every page.
const (
	countedJobs   = 999             // of a state
	countedAlerts = 100             // newest notifications that are looked at
	countedFor    = 24 * time.Hour  // since a notification was not delivered
	countsEvery   = 2 * time.Second // at most, a page hears of counts
)

// fill reads the data of the frame of a page.
func (p *page) fill() {
	ctx := p.R.Context()
	err := frame.Together(
		func() error { p.Counts = p.counts(ctx); return nil },
		func() error {
			if p.Token.Namespace != core.AnyNamespace {
				return nil
			}
			all, err := p.api.AllNamespaces(ctx)
			for _, n := range all {
				p.Namespaces = append(p.Namespaces, n.Name)
			}
			return err
		},
	)
	if err != nil {
		p.c.log.Debug("frame without namespaces", "error", err)
	}
}

// counts are the figures of the navigation, of the namespace that is shown.
// Each is counted by an index and no further than a cap. A figure that cannot be counted
// is left out: a page is shown without it.
func (p *page) counts(ctx context.Context) frame.NavCounts {
	found := make([]core.Counted, 4)
	jobs := func(state job.State) func() (core.Counted, error) {
		return func() (core.Counted, error) {
			n, err := p.api.CountJobs(ctx, job.Filter{Namespace: p.Namespace, States: []job.State{state}}, view.CountOptions{Cap: countedJobs})
			return n.Counted, err
		}
	}
	err := frame.Together(
		frame.Get(&found[0], jobs(job.Running)),
		frame.Get(&found[1], jobs(job.Failed)),
		frame.Get(&found[2], func() (core.Counted, error) {
			n, err := p.api.CountMonitors(ctx, view.MonitorFilter{Namespace: p.Namespace, Status: monitor.StatusDown})
			return n.Counted, err
		}),
		frame.Get(&found[3], func() (core.Counted, error) { return p.undelivered(ctx) }),
	)
	if err != nil {
		p.c.log.Debug("navigation without counts", "error", err)
		return nil
	}
	return frame.NavCounts{"jobs": found[0], "dead": found[1], "monitors": found[2], "alerts": found[3]}
}

// undelivered counts the notifications that failed within a day. The number is a lower bound if the day has more
// notifications than are read.
func (p *page) undelivered(ctx context.Context) (n core.Counted, err error) {
	newest, err := p.api.Alerts(ctx, alert.Filter{Paging: core.Paging{Limit: countedAlerts}, Namespace: p.Namespace})
	since := p.c.opt.Now().Add(-countedFor)
	for _, a := range newest.Items {
		if a.CreatedAt.Before(since) {
			return n, err
		}
		if a.State == alert.Failed {
			n.Count++
		}
	}
	n.More = newest.Next != ""
	return n, err
}

// counter holds the counts that a stream has sent.
type counter struct {
	page *page
	said string
	at   time.Time
	owed bool // something has changed since they were read
}

// say is an event with the counts, or nothing if they are as before or were read
// a moment ago.
func (c *counter) say(ctx context.Context) string {
	if c.owed = time.Since(c.at) < countsEvery; c.owed {
		return ""
	}
	c.at = time.Now()
	counts := c.page.counts(ctx)
	if counts == nil {
		return ""
	}
	text := parts.JSONText(counts.Texts())
	if text == c.said {
		return ""
	}
	c.said = text
	return "event: counts\ndata: " + text + "\n\n"
}

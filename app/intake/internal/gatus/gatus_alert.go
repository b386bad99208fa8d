package gatus

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/belfry-run/belfry/alert"
	"github.com/belfry-run/belfry/app/intake/internal/base"
	"github.com/belfry-run/belfry/app/intake/internal/tree"
	"github.com/belfry-run/belfry/core"
	"github.com/belfry-run/belfry/monitor"
)

// receiver is one alert of an endpoint: a channel and its types of notifications.
type receiver struct {
	channel string
	on      []alert.NotificationType
	remind  core.Duration
}

// The subjects of an alert of Gatus. A target that flaps is told of once instead
// of with every change, and one of which nothing is known would else be silent.
var (
	wrong    = []alert.NotificationType{alert.NotificationDown, alert.NotificationFlapping, alert.NotificationStale}
	resolved = []alert.NotificationType{alert.NotificationDown, alert.NotificationUp, alert.NotificationFlapping, alert.NotificationSteady, alert.NotificationStale, alert.NotificationFresh}
)

func (g *gatus) tellAll(monitor string, list []receiver) {
	for _, t := range list {
		g.reminded = g.reminded || t.remind > 0
		g.Tell(monitor, t.channel, t.on, t.remind)
	}
}

// alerts reads the receivers of an endpoint, and the number of failures before an
// alert. Belfry counts failures once for a monitor, and not for each alert.
func (g *gatus) alerts(e *base.Entry, t *tree.Tree, group string, m *monitor.Monitor) []receiver {
	var list []receiver
	failures, passes := map[int]bool{}, map[int]bool{}
	for i, a := range t.Get("alerts").List {
		path := base.Numbered("alerts", i)
		p := g.providers[a.Get("type").Text]
		if p == nil {
			e.Notef("%s: no notification is sent, because %s is not set up under alerting", path, base.OrWord(base.Clip(a.Get("type").Text), "its type"))
			continue
		}
		l := layered{a, p.base.Get("default-alert")}
		if strings.EqualFold(l.get("enabled").Text, "false") {
			e.Notef("%s is disabled and left out", path)
			continue
		}
		var override *tree.Tree
		if o := a.Get("provider-override"); !o.Empty() {
			override = o
		}
		sub := base.NewEntry(e.At, e.Name+", "+path, "") // a channel with a fault is none of the monitor's
		name, ok := g.channel(sub, p, group, override)
		e.Notes = append(e.Notes, sub.Notes...)
		if !ok {
			why := "could not be carried over"
			if sub.Err != nil {
				why += ": " + sub.Err.Message
			}
			e.Notef("%s: no notification is sent, because the channel %s %s", path, base.Clip(p.kind), why)
			continue
		}
		failures[g.count(e, path+".failure-threshold", l.get("failure-threshold"), 3)] = true
		passes[g.count(e, path+".success-threshold", l.get("success-threshold"), 2)] = true
		list = append(list, receiver{name, g.about(l), g.reminder(e, path, l)})
		if text := g.text(e, l.get("description"), path+".description"); text != "" {
			m.Description = text
		}
	}
	m.Confirm.Failures = g.threshold(e, "failure-threshold", failures)
	m.Recover.Passes = g.threshold(e, "success-threshold", passes)
	if m.Confirm.Failures > 0 && m.Heartbeat == nil {
		m.Confirm.Retry = core.Duration(-time.Second) // Gatus looks again in its turn
	}
	return list
}

func (g *gatus) about(l layered) []alert.NotificationType {
	on := wrong
	if base.Truth(l.get("send-on-resolved")) {
		on = resolved
	}
	return slices.Clone(on)
}

func (g *gatus) reminder(e *base.Entry, path string, l layered) core.Duration {
	d := g.span(e, l.get("minimum-reminder-interval"), path+".minimum-reminder-interval")
	if d == 0 {
		return 0
	}
	within := min(max(d, alert.MinRemind), alert.MaxRemind)
	if within != d {
		e.Notef("%s.minimum-reminder-interval is %s, which Belfry takes as %s", path, d, within)
	}
	return within
}

// count is a threshold of an alert.
func (g *gatus) count(e *base.Entry, path string, t *tree.Tree, otherwise int) int {
	n := base.Whole(t, 0)
	if n == 0 {
		return otherwise
	}
	if n > monitor.MaxThreshold {
		e.Notef("%s is %d, which Belfry takes as %d", path, n, monitor.MaxThreshold)
		return monitor.MaxThreshold
	}
	return n
}

// threshold is the lowest of those that alerts ask for.
func (g *gatus) threshold(e *base.Entry, key string, asked map[int]bool) int {
	list := slices.Sorted(maps.Keys(asked))
	if len(list) == 0 {
		return 0
	}
	if len(list) > 1 {
		e.Notef("its alerts have different values of %s: %s; a monitor has one, and it is %d", key, strings.Join(strings.Fields(strings.Trim(fmt.Sprint(list), "[]")), ", "), list[0])
	}
	return list[0]
}

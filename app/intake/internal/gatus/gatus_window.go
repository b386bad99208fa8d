package gatus

import (
	"errors"
	"fmt"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/belfry-run/belfry/app/intake/internal/base"
	"github.com/belfry-run/belfry/app/intake/internal/tree"
	"github.com/belfry-run/belfry/core"
	"github.com/belfry-run/belfry/cron"
	"github.com/belfry-run/belfry/monitor"
	"github.com/belfry-run/belfry/schedule"
)

// maintenance is the time without notifications.
func (g *gatus) maintenance(t *tree.Tree) {
	e := base.NewEntry(t.At, "maintenance", "maintenance from "+t.Get("start").Text)
	w, on, why := g.window(t)
	switch {
	case why != "":
		e.Fault(t.At, "", "", why, "such as start: \"23:00\", duration: 1h, timezone: Europe/Sofia, every: [Monday]")
	case !on:
		return
	default:
		e.Window = g.Rest(w, "")
		w.Name = e.Window
		g.Explain(e.Line, schedule.Schedule{Namespace: g.Namespace, Name: w.Name, Task: "none", Rules: w.Rules, Zone: w.Zone}, t.At)
		e.Means = strings.TrimSuffix(e.Means, ".") + ", for " + w.Lasts.String() + "."
	}
	g.Done(e)
}

// windowsOf are those of one endpoint.
func (g *gatus) windowsOf(e *base.Entry, t *tree.Tree) []monitor.Window {
	var list []monitor.Window
	for i, sub := range t.Get("maintenance-windows").List {
		w, on, why := g.window(sub)
		if why != "" {
			e.Notef("%s is not carried over: it %s", base.Numbered("maintenance-windows", i), why)
		} else if on {
			list = append(list, w)
		}
	}
	return list
}

var startRule = regexp.MustCompile(`^([01][0-9]|2[0-3]):([0-5][0-9])$`)

// rested is a maintenance window as it was read.
type rested struct {
	window monitor.Window
	on     bool
	why    string
}

// window reads one time of maintenance, or says why it cannot be carried over.
// One that many endpoints share by an alias is read once.
func (g *gatus) window(t *tree.Tree) (w monitor.Window, on bool, why string) {
	r, known := g.rests[t]
	if !known {
		r.window, r.on, r.why = g.readWindow(t)
		g.rests[t] = r
	}
	return r.window, r.on, r.why
}

func (g *gatus) readWindow(t *tree.Tree) (w monitor.Window, on bool, why string) {
	if strings.EqualFold(t.Get("enabled").Text, "false") {
		return w, false, ""
	}
	start := startRule.FindStringSubmatch(t.Get("start").Text)
	if start == nil {
		return w, false, "has no start such as 23:00"
	}
	lasts, err := time.ParseDuration(t.Get("duration").Text)
	if err != nil || lasts < monitor.MinLasts.D() || lasts > 24*time.Hour {
		return w, false, "has no duration of 1m to 24h"
	}
	if w.Zone = base.OrWord(t.Get("timezone").Text, "UTC"); w.Zone != "UTC" {
		if _, err := cron.LoadZone(w.Zone); err != nil {
			return w, false, "has a timezone that is not known"
		}
	}
	days := "*"
	for i, day := range t.Get("every").List {
		n := slices.IndexFunc(weekdays, func(name string) bool { return strings.EqualFold(name, day.Text) })
		if n < 0 {
			return w, false, "has a day that is none, such as Monday"
		}
		if i == 0 {
			days = ""
		}
		if short := strings.ToUpper(weekdays[n][:3]); !strings.Contains(days, short) {
			days = strings.Trim(days+","+short, ",")
		}
	}
	hour, _ := strconv.Atoi(start[1])
	minute, _ := strconv.Atoi(start[2])
	w.Rules = []schedule.Rule{{Cron: fmt.Sprintf("%d %d * * %s", minute, hour, days)}}
	w.Lasts, w.Name = core.Duration(lasts), "maintenance"
	var said *core.Error
	if err := w.WithDefaults().Validate(g.Now); errors.As(err, &said) && len(said.Fields) > 0 {
		return w, false, said.Fields[0].Message
	}
	return w, true, ""
}

var weekdays = []string{"Sunday", "Monday", "Tuesday", "Wednesday", "Thursday", "Friday", "Saturday"}

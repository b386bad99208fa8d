package intake

import (
	"errors"
	"fmt"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/belfry-run/belfry/core"
	"github.com/belfry-run/belfry/cron"
	"github.com/belfry-run/belfry/monitor"
	"github.com/belfry-run/belfry/schedule"
)

// maintenance is the time in which nobody is told of anything.
func (g *gatus) maintenance(t *tree) {
	e := newEntry(t.at, "maintenance", "maintenance from "+t.get("start").text)
	w, on, why := g.window(t)
	switch {
	case why != "":
		e.fault(t.at, "", "", why, "such as start: \"23:00\", duration: 1h, timezone: Europe/Sofia, every: [Monday]")
	case !on:
		return
	default:
		e.Window = g.rest(w, "")
		w.Name = e.Window
		g.explain(e.Line, schedule.Schedule{Namespace: g.Namespace, Name: w.Name, Task: "none", Rules: w.Rules, Zone: w.Zone}, t.at)
		e.Means = strings.TrimSuffix(e.Means, ".") + ", for " + w.Lasts.String() + "."
	}
	g.done(e)
}

// windowsOf are those of one endpoint.
func (g *gatus) windowsOf(e *entry, t *tree) []monitor.Window {
	var list []monitor.Window
	for i, sub := range t.get("maintenance-windows").list {
		w, on, why := g.window(sub)
		if why != "" {
			e.notef("%s is not carried over: it %s", numbered("maintenance-windows", i), why)
		} else if on {
			list = append(list, w)
		}
	}
	return list
}

var startRule = regexp.MustCompile(`^([01][0-9]|2[0-3]):([0-5][0-9])$`)

// rested is what a time of maintenance was read as.
type rested struct {
	window monitor.Window
	on     bool
	why    string
}

// window reads one time of maintenance, or says why it cannot be carried over.
// One that many endpoints share by an alias is read once.
func (g *gatus) window(t *tree) (w monitor.Window, on bool, why string) {
	r, known := g.rests[t]
	if !known {
		r.window, r.on, r.why = g.readWindow(t)
		g.rests[t] = r
	}
	return r.window, r.on, r.why
}

func (g *gatus) readWindow(t *tree) (w monitor.Window, on bool, why string) {
	if strings.EqualFold(t.get("enabled").text, "false") {
		return w, false, ""
	}
	start := startRule.FindStringSubmatch(t.get("start").text)
	if start == nil {
		return w, false, "has no start such as 23:00"
	}
	lasts, err := time.ParseDuration(t.get("duration").text)
	if err != nil || lasts < monitor.MinLasts.D() || lasts > 24*time.Hour {
		return w, false, "has no duration of 1m to 24h"
	}
	if w.Zone = orWord(t.get("timezone").text, "UTC"); w.Zone != "UTC" {
		if _, err := cron.LoadZone(w.Zone); err != nil {
			return w, false, "has a timezone that is not known"
		}
	}
	days := "*"
	for i, day := range t.get("every").list {
		n := slices.IndexFunc(weekdays, func(name string) bool { return strings.EqualFold(name, day.text) })
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

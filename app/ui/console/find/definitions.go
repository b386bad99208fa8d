package find

import (
	"strings"

	"github.com/belfry-run/belfry/alert"
	"github.com/belfry-run/belfry/app/ui/console/internal/parts"
	"github.com/belfry-run/belfry/core"
	"github.com/belfry-run/belfry/hook"
	"github.com/belfry-run/belfry/monitor"
	"github.com/belfry-run/belfry/public"
	"github.com/belfry-run/belfry/schedule"
)

func (p *page) calendarHits(calendars []schedule.Calendar) (hits []hit) {
	for _, c := range calendars {
		hits = append(hits, hit{Icon: "calendar-clock", Name: c.Name, Title: c.Title, Note: p.in(c.Namespace, parts.Short(80, c.Description)), Link: p.LinkIn(c.Namespace, "calendars", c.Name)})
	}
	return hits
}

func (p *page) channelHits(channels []alert.Channel) (hits []hit) {
	for _, c := range channels {
		kind, _ := alert.KindOf(c.Kind())
		hits = append(hits, hit{Icon: "bell", Name: c.Name, Title: c.Title, Note: p.in(c.Namespace, core.Or(kind.Title, c.Kind())), Link: p.LinkIn(c.Namespace, "settings", "channels", c.Name)})
	}
	return hits
}

func (p *page) ruleHits(rules []alert.Rule) (hits []hit) {
	for _, r := range rules {
		note := "to " + parts.Short(80, strings.Join(r.Channels, ", "))
		if r.Off {
			note = "off"
		}
		hits = append(hits, hit{Icon: "bell", Name: r.Name, Title: r.Title, Note: p.in(r.Namespace, note), Link: p.LinkIn(r.Namespace, "alert-rules", r.Name)})
	}
	return hits
}

func (p *page) hookHits(hooks []hook.Hook) (hits []hit) {
	for _, h := range hooks {
		note := parts.Short(80, strings.Join(h.On, ", "))
		switch {
		case h.Paused:
			note = "paused"
		case note == "*":
			note = "all events"
		}
		hits = append(hits, hit{Icon: "zap", Name: h.Name, Title: h.Title, Note: p.in(h.Namespace, note), Link: p.LinkIn(h.Namespace, "settings", "hooks", h.Name)})
	}
	return hits
}

func (p *page) windowHits(windows []monitor.Window) (hits []hit) {
	for _, w := range windows {
		hits = append(hits, hit{Icon: "wrench", Name: w.Name, Title: w.Title, Note: p.in(w.Namespace, parts.Short(80, w.Description)), Link: p.LinkIn(w.Namespace, "settings", "windows", w.Name)})
	}
	return hits
}

func (p *page) statusPageHits(pages []public.StatusPage) (hits []hit) {
	for _, s := range pages {
		h := hit{Icon: "globe", Name: s.Name, Note: p.in(s.Namespace, ""), Link: p.LinkIn(s.Namespace, "status-pages", s.Name)}
		if s.Title != s.Name { // without a title it has its name as one
			h.Title = s.Title
		}
		hits = append(hits, h)
	}
	return hits
}

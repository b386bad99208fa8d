package forms

import (
	"context"
	"maps"
	"slices"

	"github.com/belfry-run/belfry/app/ui/console/internal/frame"
	"github.com/belfry-run/belfry/core"
	"github.com/belfry-run/belfry/schedule"
	"github.com/belfry-run/belfry/task"
	"github.com/belfry-run/belfry/view"
)

// Things is the part of the API that lists the objects which inputs can name.
type Things interface {
	Tasks(ctx context.Context, f task.Filter) (core.Page[task.Task], error)
	Schedules(ctx context.Context, f schedule.Filter) (core.Page[schedule.Schedule], error)
	Monitors(ctx context.Context, f view.MonitorFilter) (core.Page[view.MonitorView], error)
	Calendars(ctx context.Context, f schedule.CalendarFilter) (core.Page[schedule.Calendar], error)
}

// maxOffers is how many names an input offers. Others can be typed.
const maxOffers = 200

// Offer adds suggestions to inputs, by the path of the input: tasks, schedules,
// monitors, monitor tags, calendars or zones. A failed read leaves them out.
func Offer(p *frame.Page, api Things, groups []formGroup, by map[string]string) {
	ctx, page := p.R.Context(), core.Paging{Limit: maxOffers}
	known, titles := map[string][]string{"zones": Zones}, map[string]map[string]string{}
	know := func(noun, name, title string) {
		known[noun] = append(known[noun], name)
		if titles[noun] == nil {
			titles[noun] = map[string]string{}
		}
		if titles[noun][name] = title; title == "" {
			delete(titles[noun], name)
		}
	}
	nouns := slices.Collect(maps.Values(by))
	wants := func(noun string) bool { return slices.Contains(nouns, noun) }
	if wants("tasks") {
		found, _ := api.Tasks(ctx, task.Filter{Namespace: p.Namespace, Paging: page})
		for _, t := range found.Items {
			know("tasks", t.Name, t.Title)
		}
	}
	if wants("schedules") {
		found, _ := api.Schedules(ctx, schedule.Filter{Namespace: p.Namespace, Paging: page})
		for _, s := range found.Items {
			know("schedules", s.Name, s.Title)
		}
	}
	if wants("monitors") || wants("monitor tags") {
		found, _ := api.Monitors(ctx, view.MonitorFilter{Namespace: p.Namespace, Paging: page})
		tags := map[string]bool{}
		for _, m := range found.Items {
			know("monitors", m.Name, m.Title)
			for _, tag := range m.Tags {
				tags[tag] = true
			}
		}
		known["monitor tags"] = slices.Sorted(maps.Keys(tags))
	}
	if wants("calendars") {
		found, _ := api.Calendars(ctx, schedule.CalendarFilter{Namespace: p.Namespace, Paging: page})
		for _, c := range found.Items {
			know("calendars", c.Name, c.Title)
		}
	}
	for i := range groups {
		for j := range groups[i].Fields {
			f := &groups[i].Fields[j]
			if noun := by[f.Name]; noun != "" {
				f.Field = f.Field.Offer(known[noun]...)
				f.Field.Titles = titles[noun]
				f.Each = noun != "zones" && len(f.Offers) > 0
			}
		}
	}
}

// Zones are offered without a script, which offers all.
var Zones = []string{"UTC", "Africa/Cairo", "Africa/Johannesburg", "Africa/Lagos", "America/Bogota", "America/Chicago", "America/Denver", "America/Los_Angeles", "America/Mexico_City",
	"America/New_York", "America/Sao_Paulo", "Asia/Dubai", "Asia/Hong_Kong", "Asia/Jakarta", "Asia/Kolkata", "Asia/Seoul", "Asia/Shanghai", "Asia/Singapore", "Asia/Tokyo",
	"Australia/Sydney", "Europe/Berlin", "Europe/Istanbul", "Europe/London", "Europe/Madrid", "Europe/Paris", "Europe/Rome", "Europe/Sofia", "Europe/Warsaw", "Pacific/Auckland"}

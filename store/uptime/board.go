package uptime

import (
	"context"
	"slices"
	"time"

	"github.com/belfry-run/belfry/core"
	"github.com/belfry-run/belfry/monitor"
	"github.com/belfry-run/belfry/public"
	"github.com/belfry-run/belfry/store/announcements"
	"github.com/belfry-run/belfry/store/base"
	"github.com/belfry-run/belfry/store/monitors"
	"github.com/belfry-run/belfry/view"
)

// Bounds of a status page.
const (
	boardMonitors  = 500
	boardIncidents = 50
	boardSince     = 14 * base.OneDay
	boardAhead     = 7 * base.OneDay
)

// Board returns a status page with its content. A page that is off is reported as not found, so that a visitor does not learn
// that it exists.
func (s *Store) Board(ctx context.Context, namespace, name string) (b view.Board, err error) {
	now, err := s.Now(ctx)
	if err != nil {
		return b, err
	}
	err = s.DB().Read(ctx, func(tx base.Tx) error {
		b = view.Board{At: now, Incidents: []view.BoardEntry{}, Sections: []view.BoardSection{}}
		page, err := monitors.StatusPages.Read(ctx, tx, base.NamespaceOr(namespace), name, "")
		if err != nil {
			return err
		}
		if page.Off {
			return core.Errorf(core.NotFound, "no status page %q in namespace %q", name, base.NamespaceOr(namespace))
		}
		b.Title, b.Description = page.Title, page.Description
		if b.Title == "" {
			b.Title = page.Name
		}
		if b.Logo, err = page.Image(); err != nil { // the status matters more than the logo
			s.Opt.Logger.Warn("the logo of a status page cannot be read, and is not shown", "namespace", page.Namespace, "status_page", page.Name, "error", err)
		}
		b.Accent, b.AccentDark = page.Accents()
		for _, way := range []public.SubscriberKind{public.Mail, public.Webhook} {
			if page.Subscribe.IsWay(way) {
				b.Subscribe = append(b.Subscribe, way)
			}
		}
		if b.Announced, err = boardAnnouncements(ctx, tx, page, now); err != nil {
			return err
		}
		all, err := base.Collect(ctx, tx, s.monitors.ScanMonitor, `
			select `+monitors.MonitorColumns+`
			from belfry.monitors m
			where m.namespace = $1
			order by m.name`, page.Namespace)
		if err != nil {
			return err
		}
		var shown []monitors.MonitorRow
		labels := map[string]string{} // from the first section that shows the monitor
		for _, section := range sectionsOf(page) {
			out := view.BoardSection{Title: section.Title, Monitors: []view.BoardEntry{}}
			for _, row := range membersOf(section, all) {
				if len(shown) == boardMonitors {
					break
				}
				entry, err := s.boardEntry(ctx, tx, row, now)
				if err != nil {
					return err
				}
				entry.Title = core.Or(section.Titles[row.Name], row.Title)
				if _, twice := labels[row.Name]; !twice {
					labels[row.Name] = entry.Title
				}
				out.Monitors = append(out.Monitors, entry)
				shown = append(shown, row)
			}
			b.Sections = append(b.Sections, out)
		}
		if b.Incidents, err = s.boardIncidents(ctx, tx, shown, labels, now); err != nil {
			return err
		}
		b.Windows, err = s.boardWindows(ctx, tx, page.Namespace, shown, now)
		return err
	})
	return b, err
}

// boardAnnouncements returns the announcements that are valid now.
func boardAnnouncements(ctx context.Context, tx base.Tx, page public.StatusPage, now time.Time) (out []view.BoardAnnouncement, err error) {
	shown, err := announcements.Shown(ctx, tx, page, now)
	for _, a := range shown {
		from := a.From
		if from.IsZero() {
			from = a.CreatedAt
		}
		out = append(out, view.BoardAnnouncement{ID: a.ID, Title: a.Title, Text: a.Text, Level: a.Level, From: from, Until: a.Until, UpdatedAt: a.UpdatedAt})
	}
	return out, err
}

// sectionsOf returns the sections of a page. A page without sections shows the public monitors.
func sectionsOf(page public.StatusPage) []public.StatusSection {
	if len(page.Sections) > 0 {
		return page.Sections
	}
	return []public.StatusSection{{}}
}

// membersOf returns the monitors of a section: the named ones in the order of the section, then those with one of its tags.
func membersOf(section public.StatusSection, all []monitors.MonitorRow) (out []monitors.MonitorRow) {
	taken := map[int64]bool{}
	take := func(fits func(monitors.MonitorRow) bool) {
		for _, row := range all {
			if !taken[row.ID] && fits(row) {
				taken[row.ID] = true
				out = append(out, row)
			}
		}
	}
	if len(section.Monitors)+len(section.Tags) == 0 {
		take(func(r monitors.MonitorRow) bool { return r.Public })
		return out
	}
	for _, name := range section.Monitors {
		take(func(r monitors.MonitorRow) bool { return r.Name == name })
	}
	take(func(r monitors.MonitorRow) bool {
		return slices.ContainsFunc(r.Tags, func(tag string) bool { return slices.Contains(section.Tags, tag) })
	})
	return out
}

func (s *Store) boardEntry(ctx context.Context, tx base.Tx, row monitors.MonitorRow, now time.Time) (view.BoardEntry, error) {
	e := view.BoardEntry{
		Monitor: row.Name, Description: row.Description, Status: row.State.Status(), Since: row.State.Since,
		Degraded: row.State.Degraded, Maintenance: row.State.Maintenance != "", Stale: row.State.Stale,
	}
	first := daysFrom(view.BoardDays)(now)
	spans, err := s.monitors.SpansOf(ctx, tx, row.ID, first)
	if err != nil {
		return e, err
	}
	until := row.ObservedUntil(row.State)
	for day := first; !day.After(now); day = day.Add(base.OneDay) {
		end := day.Add(base.OneDay)
		if end.After(now) {
			end = now
		}
		u := monitor.UptimeOf(spans, day, end, until)
		e.Days = append(e.Days, view.BoardDay{Day: day, Uptime: u.Ratio, Down: u.Down})
	}
	e.Uptime = monitor.UptimeOf(spans, first, now, until).Ratio
	return e, nil
}

func (s *Store) boardIncidents(ctx context.Context, tx base.Tx, shown []monitors.MonitorRow, labels map[string]string, now time.Time) ([]view.BoardEntry, error) {
	ids := make([]int64, len(shown))
	for i, row := range shown {
		ids[i] = row.ID
	}
	all, err := base.Collect(ctx, tx, monitors.ScanIncident, `
		select `+monitors.IncidentColumns+`
		from belfry.incidents
		where `+s.SQL.In("monitor_id", 1)+` and (ended_at = 0 or ended_at > $2)
		order by id desc
		limit $3`, s.SQL.List(ids), base.Micros(now.Add(-boardSince)), boardIncidents)
	if err != nil {
		return nil, err
	}
	updates, err := s.boardUpdates(ctx, tx, all)
	out := make([]view.BoardEntry, 0, len(all))
	for _, i := range all {
		if !i.Maintenance || len(updates[i.ID]) > 0 {
			out = append(out, view.BoardEntry{Monitor: i.Monitor, Title: labels[i.Monitor], StartedAt: i.StartedAt, EndedAt: i.EndedAt, Updates: updates[i.ID]})
		}
	}
	return out, err
}

// boardUpdates returns the public updates of incidents, by incident, newest first.
func (s *Store) boardUpdates(ctx context.Context, tx base.Tx, of []monitor.Incident) (map[int64][]view.BoardUpdate, error) {
	ids := make([]int64, len(of))
	for n, i := range of {
		ids[n] = i.ID
	}
	out := map[int64][]view.BoardUpdate{}
	_, err := base.Collect(ctx, tx, func(r base.Rows) (id int64, err error) {
		var u view.BoardUpdate
		err = r.Scan(&id, base.ScanTime(&u.At), &u.State, &u.Text)
		out[id] = append(out[id], u)
		return id, err
	}, `
		select incident_id, at, state, text
		from belfry.incident_updates
		where `+s.SQL.In("incident_id", 1)+` and public <> 0
		order by at desc, seq desc
		limit $2`, s.SQL.List(ids), view.BoardUpdates)
	return out, err
}

func (s *Store) boardWindows(ctx context.Context, tx base.Tx, namespace string, shown []monitors.MonitorRow, now time.Time) (out []monitor.ActiveWindow, err error) {
	all, err := monitors.Windows.All(ctx, tx, namespace)
	if err != nil {
		return nil, err
	}
	for _, w := range all {
		if w.Off || !slices.ContainsFunc(shown, func(r monitors.MonitorRow) bool { return w.Concerns(r.Monitor) }) {
			continue
		}
		plan, err := s.monitors.WindowPlan(w)
		if err != nil {
			continue // the error is shown elsewhere; a public page is not the place
		}
		for _, next := range plan.Upcoming(now, 2) { // an active window is the first of them
			if next.From.Before(now.Add(boardAhead)) {
				next.Title = w.Title
				out = append(out, next)
			}
		}
	}
	return out, nil
}

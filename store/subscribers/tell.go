package subscribers

import (
	"cmp"
	"slices"
	"strings"
	"time"

	"github.com/belfry-run/belfry/alert"
	"github.com/belfry-run/belfry/core"
	"github.com/belfry-run/belfry/monitor"
	"github.com/belfry-run/belfry/public"
	"github.com/belfry-run/belfry/store/base"
	"github.com/belfry-run/belfry/store/monitors"
)

// beginWaits is the delay of notifications about the start of an incident. Subscribers are not notified of an incident that is
// over by then.
const beginWaits = time.Minute

// Change is a transition in progress, with the methods of this package.
type Change struct {
	*base.Change
	s *Store
}

// In adds the methods of this package to a transition.
func (s *Store) In(c *base.Change) *Change { return &Change{c, s} }

// subscribedPages holds the status pages of a namespace that have confirmed subscribers. A transition reads them once.
type subscribedPages struct {
	of map[string][]public.StatusPage
}

func (c *Change) pages(namespace string) (pages []public.StatusPage, err error) {
	read := base.Kept[subscribedPages](c.Change)
	if known, ok := read.of[namespace]; ok {
		return known, nil
	}
	ids, err := base.Collect(c.Ctx, c.Tx, base.ScanInt, `select distinct page_id from belfry.subscribers where namespace = $1 and state = 'confirmed'`, namespace)
	if err != nil {
		return nil, err
	}
	if len(ids) > 0 {
		all, err := monitors.StatusPages.Light(c.Ctx, c.Tx, c.SQL, namespace)
		if err != nil {
			return nil, err
		}
		for _, page := range all {
			if !page.Off && page.Subscribe != nil && slices.Contains(ids, page.ID) {
				pages = append(pages, page)
			}
		}
	}
	if read.of == nil {
		read.of = map[string][]public.StatusPage{}
	}
	read.of[namespace] = pages
	return pages, nil
}

// pagesShowing returns the status pages that show a monitor.
func (c *Change) pagesShowing(m monitor.Monitor) (out []public.StatusPage, err error) {
	pages, err := c.pages(m.Namespace)
	for _, page := range pages {
		if page.Shows(m.Name, m.Tags, m.Public) {
			out = append(out, page)
		}
	}
	return out, err
}

// labelOn returns the label of a monitor on a page.
func labelOn(page public.StatusPage, m monitor.Monitor) string {
	return page.Label(m.Name, m.Title, m.Tags, m.Public)
}

// queueMessage writes a message to the outbox.
func queueMessage(c *base.Change, namespace, channel string, n alert.Notification, due time.Time) error {
	c.Wake(base.TopicEngine)
	_, err := c.Tx.Exec(c.Ctx, `
		insert into belfry.alerts (namespace, channel, rule, type, incident_id, notification, state, created_at, due_at)
		values ($1, $2, '', $3, $4, $5, 'pending', $6, $7)`,
		namespace, channel, string(n.Type), n.Incident, base.Text(n), base.Micros(c.Now), base.Micros(due))
	return err
}

// Judged notifies of incidents that start and end.
func (c *Change) Judged(m monitor.Monitor, notifications []alert.Notification, incident int64) error {
	for _, n := range notifications {
		if n.Type != alert.NotificationDown && n.Type != alert.NotificationUp {
			continue
		}
		pages, err := c.pagesShowing(m)
		if err != nil || len(pages) == 0 {
			return err
		}
		id := n.Incident
		if id < 0 { // opened in this transaction
			id = incident
		}
		for _, page := range pages {
			if n.Type == alert.NotificationDown {
				err = c.notifyStart(page, m, id, n)
			} else {
				lasted := ""
				if n.Lasted > 0 {
					lasted = "It was down for " + core.SpanText(n.Lasted) + "."
				}
				err = c.notifyEnd(page, id, alert.Notification{Type: n.Type, At: c.Now, Monitor: m.Name, Incident: id, Title: labelOn(page, m) + " is up again", Text: lasted})
			}
			if err != nil {
				return err
			}
		}
	}
	return nil
}

func (c *Change) notifyStart(page public.StatusPage, m monitor.Monitor, incident int64, n alert.Notification) error {
	i, found, err := base.First(c.Ctx, c.Tx, monitors.ScanIncident, `select `+monitors.IncidentColumns+` from belfry.incidents where id = $1`, incident)
	if err != nil || !found || i.Maintenance { // the page does not show it
		return err
	}
	return queueMessage(c.Change, page.Namespace, public.PageChannel(page.Name), alert.Notification{
		Type: n.Type, At: i.StartedAt, Monitor: m.Name, Incident: incident, Title: labelOn(page, m) + " is down",
	}, c.Now.Add(beginWaits))
}

// Dropped notifies of an incident that was closed without a recovery.
func (c *Change) Dropped(m monitor.Monitor, end monitor.IncidentEnd) error {
	pages, err := c.pagesShowing(m)
	for _, page := range pages {
		if err == nil {
			err = c.notifyEnd(page, end.ID, alert.Notification{
				Type: alert.NotificationUpdate, At: c.Now, Monitor: m.Name, Incident: end.ID, Title: labelOn(page, m) + ": the incident is closed", Text: "Its monitor was " + end.By + ".",
			})
		}
	}
	return err
}

// notifyEnd notifies of the end of an incident, if subscribers were notified of its start.
func (c *Change) notifyEnd(page public.StatusPage, incident int64, end alert.Notification) error {
	channel := public.PageChannel(page.Name)
	if _, err := c.Tx.Exec(c.Ctx, `
		update belfry.alerts
		set state = 'suppressed', reason = 'it was over before it was sent', ended_at = $4
		where incident_id = $1 and incident_id > 0 and channel = $2 and namespace = $3 and type = 'down' and state = 'pending'`,
		incident, channel, page.Namespace, base.Micros(c.Now)); err != nil {
		return err
	}
	told, _, err := base.First(c.Ctx, c.Tx, base.ScanInt, `
		select count(*)
		from belfry.alerts
		where incident_id = $1 and incident_id > 0 and channel = $2 and namespace = $3 and state <> 'suppressed'`, incident, channel, page.Namespace)
	if err != nil || told == 0 {
		return err
	}
	return queueMessage(c.Change, page.Namespace, channel, end, c.Now)
}

// Updated notifies of a public update of an incident.
func (c *Change) Updated(i monitor.Incident, u monitor.Update) error {
	pages, err := c.pages(i.Namespace)
	if err != nil || len(pages) == 0 || !u.Public {
		return err
	}
	row, err := c.s.monitors.ReadMonitor(c.Ctx, c.Tx, i.Namespace, i.Monitor, false)
	if core.CodeOf(err) == core.NotFound {
		return nil
	}
	if err != nil {
		return err
	}
	for _, page := range pages {
		if !page.Shows(row.Name, row.Tags, row.Public) {
			continue
		}
		// A pending notification of the start is sent with the update.
		if _, err := c.Tx.Exec(c.Ctx, `
			update belfry.alerts
			set due_at = $4
			where incident_id = $1 and incident_id > 0 and channel = $2 and namespace = $3 and type = 'down' and state = 'pending' and due_at > $4`,
			i.ID, public.PageChannel(page.Name), page.Namespace, base.Micros(c.Now)); err != nil {
			return err
		}
		if err := queueMessage(c.Change, page.Namespace, public.PageChannel(page.Name), alert.Notification{
			Type: alert.NotificationUpdate, At: u.At, Monitor: i.Monitor, Incident: i.ID, Title: labelOn(page, row.Monitor) + ": " + cmp.Or(string(u.State), "update"), Text: u.Text,
		}, c.Now); err != nil {
			return err
		}
	}
	return nil
}

// Announced notifies of an announcement when it starts to be shown.
func (c *Change) Announced(page public.StatusPage, a public.Announcement) error {
	pages, err := c.pages(page.Namespace)
	if err != nil || !slices.ContainsFunc(pages, func(p public.StatusPage) bool { return p.ID == page.ID }) {
		return err
	}
	return queueMessage(c.Change, page.Namespace, public.PageChannel(page.Name), alert.Notification{
		Type: alert.NotificationAnnouncement, At: base.LaterOf(a.From, c.Now), Announcement: a.ID, Title: a.Title, Text: a.Text,
	}, base.LaterOf(a.From, c.Now))
}

// IDOf is the subscriber whose channel this is.
func IDOf(channel string) (id string, is bool) { return strings.CutPrefix(channel, "subscriber/") }

// PageOf is the status page whose channel this is.
func PageOf(channel string) (name string, is bool) { return strings.CutPrefix(channel, "status-page/") }

package alerts

import (
	"fmt"
	"strconv"
	"strings"
	"time"

	"github.com/belfry-run/belfry/alert"
	"github.com/belfry-run/belfry/core"
	"github.com/belfry-run/belfry/public"
	"github.com/belfry-run/belfry/store/announcements"
	"github.com/belfry-run/belfry/store/base"
	"github.com/belfry-run/belfry/store/monitors"
	"github.com/belfry-run/belfry/view"
)

// suppress ends all pending alerts of a channel.
func (c *Change) suppress(name base.TaskName, reason string) error {
	_, err := c.Tx.Exec(c.Ctx, `
		update belfry.alerts
		set state = 'suppressed', reason = $4, ended_at = $3
		where namespace = $1 and channel = $2 and state = 'pending'`, name.Namespace, name.Name, base.Micros(c.Now), reason)
	return err
}

// dueAlerts reads the alerts of a status page or subscriber that are due by an instant.
func (c *Change) dueAlerts(name base.TaskName, by time.Time) (due []alert.Alert, taken bool, err error) {
	_, err = base.Collect(c.Ctx, c.Tx, func(r base.Rows) (_ int, err error) {
		var a alert.Alert
		var until int64
		err = r.Scan(&a.ID, &a.Namespace, &a.Channel, &a.Rule, base.ScanDoc(&a.Notification), &a.State, &a.Reason, base.ScanTime(&a.CreatedAt),
			base.ScanTime(&a.DueAt), base.ScanTime(&a.EndedAt), &a.Tries, &a.Message, &until)
		taken = taken || until > base.Micros(c.Now)
		due = append(due, a)
		return 0, err
	}, `
		select `+alertColumns+`, taken_until
		from belfry.alerts
		where namespace = $1 and channel = $2 and state = 'pending' and due_at <= $4
		order by id
		limit $3 + 0`, name.Namespace, name.Name, takeAlerts, base.Micros(by))
	return due, taken, err
}

// tellPage creates one message for each subscriber of a status page, with all its pending updates. The text is composed once.
func (c *Change) tellPage(name base.TaskName, pageName string) error {
	page, err := monitors.StatusPages.Read(c.Ctx, c.Tx, name.Namespace, pageName, c.SQL.ForUpdate("documents"))
	if core.CodeOf(err) == core.NotFound {
		return c.suppress(name, "the status page was deleted")
	}
	if err == nil && (page.Off || page.Subscribe == nil) {
		return c.suppress(name, "the status page takes no subscriptions")
	}
	if err != nil {
		return err
	}
	due, _, err := c.dueAlerts(name, c.Now) // the alerts of a page are taken under the lock of the page alone
	if err != nil {
		return err
	}
	var tell []alert.Alert
	var ids []int64
	for _, a := range due {
		if id := a.Notification.Announcement; id > 0 {
			if a, err = c.refreshAnnouncement(page, a); err != nil {
				return err
			}
		}
		if a.State == alert.Pending {
			tell, ids = append(tell, a), append(ids, a.ID)
		}
	}
	if len(tell) == 0 {
		return nil
	}
	n := digest(page, tell, c.Now)
	if err := n.insertAlerts(c); err != nil {
		return err
	}
	_, err = c.Tx.Exec(c.Ctx, `
		update belfry.alerts
		set state = 'sent', reason = $3, ended_at = $2, tries = 1
		where `+c.SQL.In("id", 1), c.SQL.List(ids), base.Micros(c.Now), fmt.Sprintf("to %s", core.Plural(n.subscribers, "subscriber")))
	return err
}

// refreshAnnouncement updates an alert to the present state of its announcement, which may have changed or may be over.
func (c *Change) refreshAnnouncement(page public.StatusPage, a alert.Alert) (alert.Alert, error) {
	is, found, err := announcements.Find(c.Ctx, c.Tx, page, a.Notification.Announcement, c.Now)
	if err != nil {
		return a, err
	}
	switch {
	case !found || is.State == public.Over:
		a.State = alert.Suppressed
		_, err = c.Tx.Exec(c.Ctx, `update belfry.alerts set state = 'suppressed', reason = 'the announcement is over', ended_at = $2 where id = $1`, a.ID, base.Micros(c.Now))
	case is.State == public.Planned:
		a.State = ""
		_, err = c.Tx.Exec(c.Ctx, `update belfry.alerts set due_at = $2 where id = $1`, a.ID, base.Micros(is.From))
	default:
		a.Notification.Title, a.Notification.Text = is.Title, is.Text
	}
	return a, err
}

// statusDigest is one message for the subscribers of a page.
type statusDigest struct {
	page        public.StatusPage
	n           alert.Notification
	subscribers int
}

// digest combines several alerts into one notification.
func digest(page public.StatusPage, all []alert.Alert, now time.Time) *statusDigest {
	n := alert.Notification{Type: alert.NotificationStatus, At: now}
	if len(all) == 1 {
		one := all[0].Notification
		n.Title, n.Text, n.At = page.Title+": "+one.Title, one.Text, one.At // for an outage, the time of its start
		return &statusDigest{page: page, n: n}
	}
	var text strings.Builder
	for i, a := range all {
		if i == core.MaxLines {
			fmt.Fprintf(&text, "and %d more\n", len(all)-i)
			break
		}
		text.WriteString(a.Notification.Title + "\n")
		if a.Notification.Text != "" {
			text.WriteString(a.Notification.Text + "\n")
		}
	}
	n.Title = severalUpdates(page, len(all))
	n.Text, _ = core.CleanText(strings.TrimSpace(text.String()), alert.MaxMessageText)
	return &statusDigest{page: page, n: n}
}

func severalUpdates(page public.StatusPage, n int) string {
	return fmt.Sprintf("%s: %d updates", page.Title, n)
}

// insertAlerts writes an alert for each subscriber.
func (d *statusDigest) insertAlerts(c *Change) error {
	c.Wake(base.TopicEngine)
	n, err := c.Tx.Exec(c.Ctx, `
		insert into belfry.alerts (namespace, channel, rule, type, notification, state, created_at, due_at)
		select s.namespace, 'subscriber/' || s.id, '', $2, $3, 'pending', $4, $4
		from belfry.subscribers s
		where s.page_id = $1 and s.state = 'confirmed'
		order by s.id`, d.page.ID, string(d.n.Type), base.Text(d.n), base.Micros(c.Now))
	d.subscribers = int(n)
	return err
}

// takeSubscriber takes the due messages of one subscriber.
func (c *Change) takeSubscriber(name base.TaskName, text, publicURL string) ([]view.TakenAlert, error) {
	id, _ := strconv.ParseInt(text, 10, 64)
	if _, there, err := c.s.subscribers.Read(c.Ctx, c.Tx, name.Namespace, id, ""); err != nil || !there {
		if err == nil {
			err = c.suppress(name, "the subscription ended")
		}
		return nil, err
	}
	row, free, err := c.s.subscribers.Read(c.Ctx, c.Tx, name.Namespace, id, c.SQL.SkipLocked("s"))
	if err != nil || !free {
		return nil, err
	}
	page, err := monitors.StatusPages.Read(c.Ctx, c.Tx, row.Namespace, row.Page, "")
	if err != nil {
		return nil, err
	}
	channel := alert.Channel{Namespace: name.Namespace, Name: name.Name}
	switch {
	case page.Off || !page.Subscribe.IsWay(row.Kind):
		return nil, c.suppress(name, "the status page takes no subscriptions of this kind")
	case publicURL == "":
		return nil, c.suppress(name, "public_url is not set, so there is no link to unsubscribe")
	case row.Address == "" || row.Address == string(core.Redacted):
		return nil, c.suppress(name, "the address cannot be opened: its key is away")
	case row.Kind == public.Webhook:
		channel.Webhook = &alert.WebhookChannel{URL: core.Secret(row.Address)}
	default:
		mail, err := Channels.Read(c.Ctx, c.Tx, row.Namespace, page.Subscribe.Mail, "")
		if core.CodeOf(err) == core.NotFound || err == nil && mail.Email == nil {
			return nil, c.suppress(name, "the status page names no channel of kind email")
		}
		if err != nil {
			return nil, err
		}
		e := *Channels.Open(c.s.Store, mail).Email
		e.To = []string{row.Address}
		channel.Email = &e
	}
	next, err := c.nextOfSubscriber(name)
	if err != nil || len(next) == 0 {
		return nil, err
	}
	base := strings.TrimRight(publicURL, "/")
	out, err := c.takeMessages(channel, next, publicURL)
	for i := range out {
		m := &out[i].Message
		m.Namespace, m.URL, m.Unsubscribe = "", base+page.Path(), base+public.SubscriptionPath+row.Key
		if m.Notifications[0].Type == alert.NotificationConfirm {
			m.URL, m.Challenge = m.Unsubscribe, row.Key
		}
		if n := len(m.Notifications); n > 1 {
			m.Title = severalUpdates(page, n)
		}
	}
	return out, err
}

// nextOfSubscriber returns the alerts of the next message to a subscriber, if it is due. Messages go in their order: otherwise
// the start of an outage that is tried again would arrive after its end. Later alerts wait, and then go together.
func (c *Change) nextOfSubscriber(name base.TaskName) ([]alert.Alert, error) {
	all, taken, err := c.dueAlerts(name, c.Now.AddDate(1, 0, 0))
	if err != nil || taken || len(all) == 0 {
		return nil, err
	}
	next := alert.Bundle(all)[0]
	if due := next[0].DueAt; due.After(c.Now) {
		_, err := c.Tx.Exec(c.Ctx, `
			update belfry.alerts
			set due_at = $3
			where namespace = $1 and channel = $2 and state = 'pending' and due_at < $3`, name.Namespace, name.Name, base.Micros(due))
		return nil, err
	}
	return next, nil
}

// giveUpLater gives up what has waited as long as a message is tried behind one that was given up: its receiver took nothing for
// as long. Messages to a subscriber are tried one after the other, so those of a dead one would pile up.
func (c *Change) giveUpLater(to alert.Channel, reason string) error {
	_, err := c.Tx.Exec(c.Ctx, `
		update belfry.alerts
		set state = 'failed', reason = $4, ended_at = $3
		where namespace = $1 and channel = $2 and state = 'pending' and created_at <= $5`,
		to.Namespace, to.Name, base.Micros(c.Now), reason, base.Micros(c.Now.Add(-alert.TriedFor)))
	return err
}

// confirmSubscription confirms a subscription by webhook, because the receiver has answered the challenge of the message
// correctly.
func (c *Change) confirmSubscription(t view.TakenAlert) error {
	if t.Channel.Webhook == nil {
		return nil
	}
	id, _ := strconv.ParseInt(strings.TrimPrefix(t.Channel.Name, "subscriber/"), 10, 64)
	row, found, err := c.s.subscribers.Read(c.Ctx, c.Tx, t.Channel.Namespace, id, "")
	if err != nil || !found {
		return err
	}
	if _, err = c.s.subscribers.Confirm(c.Change, row); core.CodeOf(err) == core.Conflict { // the page is full
		return nil
	}
	return err
}

package alerts

import (
	"context"

	"github.com/belfry-run/belfry/alert"
	"github.com/belfry-run/belfry/core"
	"github.com/belfry-run/belfry/monitor"
	"github.com/belfry-run/belfry/public"
	"github.com/belfry-run/belfry/store/base"
	"github.com/belfry-run/belfry/store/documents"
	"github.com/belfry-run/belfry/store/incidents"
	"github.com/belfry-run/belfry/store/monitors"
	"github.com/belfry-run/belfry/store/subscribers"
	"github.com/belfry-run/belfry/task"
	"github.com/belfry-run/belfry/view"
)

// takeAlerts bounds a look at the outbox of a channel to those that are due first.
const takeAlerts = 1000

// takeMessages bounds the messages of a channel that are taken at once: that many
// tries fit into [view.AlertTaken].
const takeMessages = 3

// TakeAlerts decides about alerts of so many channels at most that are due, and
// takes the messages that are to be sent now. For [view.AlertTaken] no other
// node takes them.
func (s *Store) TakeAlerts(ctx context.Context, publicURL string, channels int) (out view.TakenAlerts, err error) {
	err = s.write(ctx, "take alerts", func(c *Change) error {
		out = view.TakenAlerts{Now: c.Now}
		// A message under way keeps its channel: what comes later is told later.
		waiting, err := base.Collect(ctx, c.Tx, func(r base.Rows) (w alert.WaitingChannel, err error) {
			return w, r.Scan(&w.Namespace, &w.Channel, base.ScanTime(&w.Due), base.ScanTime(&w.Taken), &w.Tries)
		}, `
			select namespace, channel, min(due_at), max(taken_until), max(tries)
			from belfry.alerts
			where state = 'pending'
			group by namespace, channel`)
		if err != nil {
			return err
		}
		for _, w := range alert.ChooseChannels(waiting, c.Now, channels) {
			messages, err := c.takeChannel(base.TaskName{Namespace: w.Namespace, Name: w.Channel}, publicURL)
			if err != nil {
				return err
			}
			out.Messages = append(out.Messages, messages...)
		}
		next, _, err := base.First(ctx, c.Tx, base.ScanInt, `
			select case when c.until > a.due_at then c.until else a.due_at end
			from belfry.alerts a
			join (
				select namespace, channel, max(taken_until) as until
				from belfry.alerts
				where state = 'pending'
				group by namespace, channel) c on c.namespace = a.namespace and c.channel = a.channel
			where a.state = 'pending'
			order by 1
			limit 1`)
		out.NextAt = base.Instant(next)
		return err
	})
	return out, err
}

// FreeAlerts frees messages that this process took in an earlier life, where a
// database has one process and no other can be telling them.
func (c *Change) FreeAlerts() error {
	if c.SQL.ForUpdate("alerts") != "" {
		return nil
	}
	_, err := c.Tx.Exec(c.Ctx, `update belfry.alerts set taken_until = 0 where state = 'pending' and taken_until > 0`)
	return err
}

func (c *Change) takeChannel(name base.TaskName, publicURL string) ([]view.TakenAlert, error) {
	if id, is := subscribers.IDOf(name.Name); is {
		return c.takeSubscriber(name, id, publicURL)
	}
	if page, is := subscribers.PageOf(name.Name); is {
		return nil, c.tellPage(name, page)
	}
	channel, found, err := base.First(c.Ctx, c.Tx, Channels.Scan, `
		select `+documents.Columns+`
		from belfry.documents
		where noun = 'channel' and namespace = $1 and name = $2`+c.SQL.SkipLocked("documents"), name.Namespace, name.Name)
	if err != nil {
		return nil, err
	}
	if !found {
		return nil, c.withoutChannel(name)
	}
	channel = Channels.Open(c.s.Store, channel)
	type pending struct {
		alert.Alert
		taken, monitor int64
	}
	rows, err := base.Collect(c.Ctx, c.Tx, func(r base.Rows) (p pending, err error) {
		a := &p.Alert
		return p, r.Scan(&a.ID, &a.Namespace, &a.Channel, &a.Rule, base.ScanDoc(&a.Notification), &a.State, &a.Reason, base.ScanTime(&a.CreatedAt),
			base.ScanTime(&a.DueAt), base.ScanTime(&a.EndedAt), &a.Tries, &a.Message, &p.taken, &p.monitor)
	}, `
		select `+alertColumns+`, taken_until, monitor_id
		from belfry.alerts
		where namespace = $1 and channel = $2 and state = 'pending'
		order by case when due_at <= $4 then 0 else 1 end, id -- or those that wait for long could keep from it what is due
		limit $3 + 0`, name.Namespace, name.Name, takeAlerts, base.Micros(c.Now))
	if err != nil {
		return nil, err
	}
	alerts := make([]alert.Alert, 0, len(rows))
	monitors := map[int64]int64{}
	for _, p := range rows {
		if p.taken > base.Micros(c.Now) {
			return nil, nil
		}
		alerts = append(alerts, p.Alert)
		monitors[p.ID] = p.monitor
	}
	facts, err := c.deliveryFacts(channel, alerts)
	if err != nil {
		return nil, err
	}
	byID := make(map[int64]alert.Alert, len(alerts))
	for _, a := range alerts {
		byID[a.ID] = a
	}
	decided := monitor.Deliver(alerts, facts, c.Now)
	var ended []int64
	for _, d := range decided {
		if !d.Send && d.Until.IsZero() {
			ended = append(ended, d.ID)
		}
	}
	if err := c.lockReminded(ended); err != nil {
		return nil, err
	}
	var send []alert.Alert
	for _, d := range decided {
		a := byID[d.ID]
		switch {
		case d.Send:
			send = append(send, a)
		case !d.Until.IsZero():
			_, err = c.Tx.Exec(c.Ctx, `update belfry.alerts set due_at = $2, reason = $3 where id = $1`, a.ID, base.Micros(d.Until), d.Reason)
		default:
			_, err = c.Tx.Exec(c.Ctx, `update belfry.alerts set state = 'suppressed', reason = $2, ended_at = $3 where id = $1`, a.ID, d.Reason, base.Micros(c.Now))
			if err == nil {
				err = c.sendInstead(a, monitors[a.ID], d.Instead)
			}
			if err == nil {
				err = c.remindAgain(a, monitors[a.ID])
			}
		}
		if err != nil {
			return nil, err
		}
	}
	return c.takeMessages(channel, send, publicURL)
}

// withoutChannel ends alerts whose channel is gone. Where it is only locked, by
// another node that tells it something, they stay.
func (c *Change) withoutChannel(name base.TaskName) error {
	_, err := Channels.Read(c.Ctx, c.Tx, name.Namespace, name.Name, "")
	if core.CodeOf(err) != core.NotFound {
		return err
	}
	_, err = c.Tx.Exec(c.Ctx, `
		update belfry.alerts
		set state = 'suppressed', reason = 'the channel was deleted', ended_at = $3
		where namespace = $1 and channel = $2 and state = 'pending'`, name.Namespace, name.Name, base.Micros(c.Now))
	return err
}

func (c *Change) takeMessages(channel alert.Channel, send []alert.Alert, publicURL string) (out []view.TakenAlert, err error) {
	for _, bundle := range alert.Bundle(send) {
		if len(bundle) == 0 {
			continue
		}
		if len(out) == takeMessages { // they go one after the other, within the time for which they are taken
			break
		}
		t := view.TakenAlert{Channel: channel, Message: alert.Compose(channel, bundle, publicURL, c.Now), Tries: bundle[0].Tries}
		for _, a := range bundle {
			t.Alerts = append(t.Alerts, a.ID)
		}
		if _, err := c.Tx.Exec(c.Ctx, `
			update belfry.alerts
			set taken_until = $2, message = $3
			where `+c.SQL.In("id", 1), c.SQL.List(t.Alerts), base.Micros(c.Now.Add(view.AlertTaken)), t.Message.Key); err != nil {
			return nil, err
		}
		out = append(out, t)
	}
	return out, nil
}

// deliveryFacts reads what the delivery of alerts depends on.
func (c *Change) deliveryFacts(channel alert.Channel, alerts []alert.Alert) (f monitor.DeliveryFacts, err error) {
	f.Monitors = map[string]monitor.Facts{}
	for _, a := range alerts {
		name := a.Notification.Monitor
		if _, known := f.Monitors[name]; known || name == "" {
			continue
		}
		row, err := c.s.monitors.ReadMonitor(c.Ctx, c.Tx, channel.Namespace, name, false)
		if core.CodeOf(err) == core.NotFound {
			continue
		}
		if err != nil {
			return f, err
		}
		if f.Monitors[name], err = c.monitorFacts(row); err != nil {
			return f, err
		}
	}
	notified := map[int64]alert.State{}
	for _, a := range alerts {
		if id := a.Notification.Incident; id > 0 && a.Notification.Begin() == alert.NotificationDown {
			if notified[id], err = c.notifiedState(channel, id); err != nil {
				return f, err
			}
		}
	}
	f.Notified = func(incident int64) alert.State { return notified[incident] }
	r, err := c.rulesOf(channel.Namespace)
	f.Rules, f.Quiet = r.all, r.quiet
	return f, err
}

// notifiedState is what became of the alerts of a channel that said that an incident
// began.
func (c *Change) notifiedState(channel alert.Channel, incident int64) (notified alert.State, err error) {
	states, err := base.Collect(c.Ctx, c.Tx, base.ScanString, `
		select case when state = 'pending' and taken_until <= $4 then '' else state end
		from belfry.alerts
		where incident_id = $1 and channel = $2 and namespace = $3 and type in ('down', 'reminder')
		order by id`, incident, channel.Name, channel.Namespace, base.Micros(c.Now))
	for _, s := range states {
		switch state := alert.State(s); {
		case state == "" || notified == alert.Sent:
		case state == alert.Suppressed && notified == alert.Failed: // a reminder that is held back does not make up for a start that failed
		case state == alert.Sent || notified != alert.Pending:
			notified = state
		}
	}
	return notified, err
}

func (c *Change) monitorFacts(row monitors.MonitorRow) (f monitor.Facts, err error) {
	f = monitor.Facts{State: row.State, Muted: row.Muted}
	if f.Acknowledged, err = incidents.AcknowledgedBy(c.Change, row.State.Incident); err != nil {
		return f, err
	}
	active, err := c.monitors().WindowsOf(row.Monitor)
	if err != nil {
		return f, err
	}
	for _, w := range active {
		if !w.From.After(c.Now) && w.To.After(c.Now) {
			f.Maintenance = w
		}
	}
	for _, name := range row.DependsOn {
		parent, err := c.s.monitors.ReadMonitor(c.Ctx, c.Tx, row.Namespace, name, false)
		if core.CodeOf(err) == core.NotFound {
			continue
		}
		if err != nil {
			return f, err
		}
		if parent.State.Status() == monitor.StatusDown {
			f.Parent = parent.Name
		}
	}
	return f, nil
}

// SettleAlerts records what came of a try to tell a message.
func (s *Store) SettleAlerts(ctx context.Context, t view.TakenAlert, r view.DeliveryResult) error {
	return s.write(ctx, "settle alerts", func(c *Change) error {
		if err := c.lockReminded(t.Alerts); err != nil {
			return err
		}
		wait, giveUp := alert.Backoff(t.Tries + 1)
		final := r.Permanent || giveUp || t.Message.Challenge != "" && t.Tries+1 >= public.MaxConfirmTries
		r.Error, _ = core.CleanText(r.Error, task.MaxCheckMessage)
		if _, err := c.Tx.Exec(ctx, `
			insert into belfry.alert_tries (namespace, channel, message, at, took, alerts, error, final)
			values ($1, $2, $3, $4, $5, $6, $7, $8)`, t.Channel.Namespace, t.Channel.Name, t.Message.Key, base.Micros(c.Now), r.Took.D().Microseconds(),
			len(t.Alerts), r.Error, base.Bit(r.Error != "" && final)); err != nil {
			return err
		}
		state, due, ended := alert.Pending, c.Now.Add(max(wait, r.RetryAfter.D())), int64(0)
		switch {
		case r.Error == "":
			state, ended = alert.Sent, base.Micros(c.Now)
		case final:
			state, ended = alert.Failed, base.Micros(c.Now)
		}
		if _, err := c.Tx.Exec(ctx, `
			update belfry.alerts
			set state = $2, reason = $3, due_at = $4, ended_at = $5, tries = tries + 1, taken_until = 0
			where state = 'pending' and message = $6 and `+c.SQL.In("id", 1), c.SQL.List(t.Alerts), string(state), r.Error, base.Micros(due), ended, t.Message.Key); err != nil {
			return err
		}
		c.Wake(base.TopicEngine)
		if state == alert.Sent && t.Message.Challenge != "" {
			if err := c.answered(t); err != nil {
				return err
			}
		}
		c.Observe(func(o base.Observer) { o.Tried(t.Channel.Kind(), state) })
		if state == alert.Pending {
			return nil
		}
		return c.remindAll(t.Alerts)
	})
}

// lockReminded locks the monitors of the reminders among alerts that end, before
// any of these is changed. Reminders of one outage that end at the same moment,
// each in its channel, would otherwise each plan the next for all channels.
func (c *Change) lockReminded(ids []int64) error {
	if len(ids) == 0 || c.SQL.ForUpdate("m") == "" {
		return nil
	}
	_, err := base.Collect(c.Ctx, c.Tx, base.ScanInt, `
		select m.id
		from belfry.monitors m
		where m.id in (
			select monitor_id
			from belfry.alerts
			where type = 'reminder' and `+c.SQL.In("id", 1)+`)
		order by m.id`+c.SQL.ForUpdate("m"), c.SQL.List(ids))
	return err
}

// remindAll plans what follows reminders that were sent.
func (c *Change) remindAll(ids []int64) error {
	type notified struct {
		alert.Alert
		monitor int64
	}
	rows, err := base.Collect(c.Ctx, c.Tx, func(r base.Rows) (t notified, err error) {
		return t, r.Scan(&t.Namespace, &t.Rule, base.ScanDoc(&t.Notification), &t.monitor)
	}, `
		select namespace, rule, notification, monitor_id
		from belfry.alerts
		where type = 'reminder' and `+c.SQL.In("id", 1), c.SQL.List(ids))
	if err != nil {
		return err
	}
	for _, t := range rows {
		if err := c.remindAgain(t.Alert, t.monitor); err != nil {
			return err
		}
	}
	return nil
}

// remindAgain plans the reminder that follows one, as long as the outage lasts.
func (c *Change) remindAgain(a alert.Alert, m int64) error {
	if a.Notification.Type != alert.NotificationReminder {
		return nil
	}
	row, err := c.s.monitors.ReadMonitor(c.Ctx, c.Tx, a.Namespace, a.Notification.Monitor, false)
	if err != nil || row.State.Incident != a.Notification.Incident || row.State.Status() != monitor.StatusDown {
		if core.CodeOf(err) == core.NotFound {
			err = nil
		}
		return err
	}
	r, err := c.rulesOf(a.Namespace)
	if err != nil {
		return err
	}
	for _, rule := range r.all {
		if rule.Name == a.Rule {
			// Several channels of a rule have a reminder each; the first of
			// them to be told plans the next for all.
			last, _, err := base.First(c.Ctx, c.Tx, func(rows base.Rows) (n alert.Notification, err error) {
				return n, rows.Scan(base.ScanDoc(&n))
			}, `
				select notification
				from belfry.alerts
				where incident_id = $1 and channel <> '' and type = 'reminder' and rule = $2
				order by id desc
				limit 1`, a.Notification.Incident, a.Rule)
			if err != nil || last.Count > a.Notification.Count {
				return err
			}
			return c.remind(rule, r, a.Notification, m, alert.PassedReminders(rule, a.Notification.Since, a.Notification.Count, c.Now))
		}
	}
	return nil
}

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

// takeAlerts bounds the alerts of a channel that one look reads, the earliest due first.
const takeAlerts = 1000

// takeMessages bounds the messages of a channel that are taken together: so many tries fit into [view.AlertTaken].
const takeMessages = 3

// TakeAlerts decides about due alerts, of at most so many channels, and takes the messages to send now. For the time
// [view.AlertTaken] no other node takes them.
func (s *Store) TakeAlerts(ctx context.Context, publicURL string, channels int) (out view.TakenAlerts, err error) {
	err = s.write(ctx, "take alerts", func(c *Change) error {
		out = view.TakenAlerts{Now: c.Now}
		// A message in progress occupies its channel: later alerts wait.
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

// FreeAlerts frees the messages that this process took in an earlier life. It applies to a database with one process, where no
// other can be sending.
func (c *Change) FreeAlerts() error {
	if c.SQL.ForUpdate("alerts") != "" {
		return nil
	}
	_, err := c.Tx.Exec(c.Ctx, `update belfry.alerts set taken_until = 0 where state = 'pending' and taken_until > 0`)
	return err
}

// pending is an alert that waits, with the ID of its monitor and until when another node sends it.
type pending struct {
	alert.Alert
	taken, monitor int64
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
	facts, err := c.deliveryFacts(channel, rows)
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
	send, err := c.applyDecided(decided, byID, monitors)
	if err != nil {
		return nil, err
	}
	return c.takeMessages(channel, send, publicURL)
}

// applyDecided defers or suppresses alerts as decided, and returns those to send now.
func (c *Change) applyDecided(decided []monitor.Dispatch, byID map[int64]alert.Alert, monitors map[int64]int64) (send []alert.Alert, err error) {
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
				err = c.planNextReminder(a, monitors[a.ID])
			}
		}
		if err != nil {
			return nil, err
		}
	}
	return send, nil
}

// withoutChannel ends alerts whose channel was deleted. If the channel is only locked by another node, its alerts stay.
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
		if len(out) == takeMessages { // the messages are sent one after the other, all before taken_until
			break
		}
		t := view.TakenAlert{Channel: channel, Message: alert.Compose(channel, bundle, publicURL, c.Now), Tries: bundle[0].Tries, Until: c.Now.Add(view.AlertTaken)}
		for _, a := range bundle {
			t.Alerts = append(t.Alerts, a.ID)
		}
		if _, err := c.Tx.Exec(c.Ctx, `
			update belfry.alerts
			set taken_until = $2, message = $3
			where `+c.SQL.In("id", 1), c.SQL.List(t.Alerts), base.Micros(t.Until), t.Message.Key); err != nil {
			return nil, err
		}
		out = append(out, t)
	}
	return out, nil
}

// deliveryFacts reads the facts on which the delivery of alerts depends.
func (c *Change) deliveryFacts(channel alert.Channel, alerts []pending) (f monitor.DeliveryFacts, err error) {
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
	for _, p := range alerts {
		switch begin := p.Notification.Begin(); {
		case begin == alert.NotificationDown:
			notified[p.ID], err = c.notifiedOutage(channel, p.Notification.Incident)
		case p.Notification.Type == alert.NotificationClosed:
			notified[p.ID], err = c.notifiedProblem(channel, p)
		}
		if err != nil {
			return f, err
		}
	}
	f.Notified = func(end alert.Alert) alert.State { return notified[end.ID] }
	r, err := c.rulesOf(channel.Namespace)
	f.Rules, f.Quiet = r.all, r.quiet
	return f, err
}

// notifiedProblem returns the state of a channel's alert about the start of the problem that p closes, which is no outage.
func (c *Change) notifiedProblem(channel alert.Channel, p pending) (alert.State, error) {
	begin, over := p.Notification.Begin(), alert.NotificationType("")
	for end, of := range alert.BeginOf {
		if of == begin {
			over = end
		}
	}
	type earlier struct {
		of    alert.Notification
		state string
	}
	last, err := base.Collect(c.Ctx, c.Tx, func(r base.Rows) (e earlier, err error) {
		return e, r.Scan(base.ScanDoc(&e.of), &e.state)
	}, `
		select notification, case when state = 'pending' and taken_until <= $7 then '' else state end
		from belfry.alerts
		where monitor_id = $1 and monitor_id > 0 and channel = $2 and namespace = $3 and type in ($4, $5, 'closed') and id < $6
		order by id desc
		limit 10`, p.monitor, channel.Name, channel.Namespace, string(begin), string(over), p.ID, base.Micros(c.Now))
	for _, e := range last { // what closes other problems at the same time says nothing of this one
		if e.of.Type == begin {
			return alert.State(e.state), nil
		}
		if e.of.Begin() == begin { // the problem before this one
			break
		}
	}
	return "", err
}

// notifiedOutage returns the state of a channel's alerts about the start of an incident.
func (c *Change) notifiedOutage(channel alert.Channel, incident int64) (notified alert.State, err error) {
	if incident <= 0 {
		return "", nil
	}
	states, err := base.Collect(c.Ctx, c.Tx, base.ScanString, `
		select case when state = 'pending' and taken_until <= $4 then '' else state end
		from belfry.alerts
		where incident_id = $1 and channel = $2 and namespace = $3 and type in ('down', 'reminder')
		order by id`, incident, channel.Name, channel.Namespace, base.Micros(c.Now))
	for _, s := range states {
		switch state := alert.State(s); {
		case state == "" || notified == alert.Sent:
		case state == alert.Suppressed && notified == alert.Failed: // a suppressed reminder does not replace a failed notification of the start
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

// SettleAlerts records the outcome of a try to send a message. A try that a stop cut off frees the message for other nodes.
func (s *Store) SettleAlerts(ctx context.Context, t view.TakenAlert, r view.DeliveryResult) error {
	return s.write(ctx, "settle alerts", func(c *Change) error {
		if r.Cut {
			c.Wake(base.TopicEngine)
			_, err := c.Tx.Exec(ctx, `
				update belfry.alerts
				set taken_until = 0
				where state = 'pending' and message = $2 and taken_until = $3 and `+c.SQL.In("id", 1), c.SQL.List(t.Alerts), t.Message.Key, base.Micros(t.Until))
			return err
		}
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
		if giveUp && public.IsSubscriber(t.Channel.Name) {
			if err := c.giveUpLater(t.Channel, r.Error); err != nil {
				return err
			}
		}
		c.Wake(base.TopicEngine)
		if state == alert.Sent && t.Message.Challenge != "" {
			if err := c.confirmSubscription(t); err != nil {
				return err
			}
		}
		c.Observe(func(o base.Observer) { o.Tried(t.Channel.Kind(), state) })
		if state == alert.Pending {
			return nil
		}
		return c.planNextReminders(t.Alerts)
	})
}

// lockReminded locks the monitors of the ending reminders before any of these is changed. Without it, reminders of one outage
// that end at the same time in several channels would each plan the next reminder for all channels.
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

// planNextReminders plans the reminders that follow sent ones.
func (c *Change) planNextReminders(ids []int64) error {
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
		if err := c.planNextReminder(t.Alert, t.monitor); err != nil {
			return err
		}
	}
	return nil
}

// planNextReminder plans the next reminder, as long as the outage lasts.
func (c *Change) planNextReminder(a alert.Alert, m int64) error {
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
			// Each channel of a rule has its own reminder. The first one to be sent plans the next for all channels.
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
			return c.planReminder(rule, r, a.Notification, m, alert.PassedReminders(rule, a.Notification.Since, a.Notification.Count, c.Now))
		}
	}
	return nil
}

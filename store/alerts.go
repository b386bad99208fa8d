package store

import (
	"context"
	"fmt"
	"strconv"
	"strings"
	"time"

	"github.com/belfry-run/belfry"
)

const alertColumns = `id, namespace, channel, rule, notice, state, reason, created_at, due_at, ended_at, tries, message`

func scanAlert(rows Rows) (a belfry.Alert, err error) {
	return a, rows.Scan(&a.ID, &a.Namespace, &a.Channel, &a.Rule, scanDoc{&a.Notice}, &a.State, &a.Reason, scanTime{&a.CreatedAt},
		scanTime{&a.DueAt}, scanTime{&a.EndedAt}, &a.Tries, &a.Message)
}

// tell writes what people are to be told of a monitor into the outbox, in the
// transaction in which it happened.
func (c *change) tell(row monitorRow, notices []belfry.Notice, incident int64) error {
	for _, n := range notices {
		n.Namespace, n.Monitor, n.Tags = row.Namespace, row.Name, row.Tags
		if n.Incident < 0 { // opened just now
			n.Incident = incident
		}
		if err := c.route(n, row.ID); err != nil {
			return err
		}
	}
	return nil
}

// tellFailed does the same for jobs that failed for good. Monitors and cycles
// tell of theirs in their own words.
func (c *change) tellFailed(ends []ending) error {
	for _, e := range ends {
		if e.settled.State != belfry.JobFailed || e.row.Trigger == belfry.TriggerCheck || e.row.Trigger == belfry.TriggerCycle || e.row.Kind == belfry.KindCycle || ours(e.row.Task) {
			continue
		}
		j := e.row.Job
		j.State, j.Reason, j.Error, j.Failures, j.FinishedAt = e.settled.State, e.settled.Reason, e.settled.Error, e.settled.Failures, c.now
		if err := c.route(belfry.JobFailedNotice(j), 0); err != nil {
			return err
		}
	}
	return nil
}

// tellMissed does the same for nominal times that will never run though nobody
// wanted that.
func (c *change) tellMissed(sc belfry.Schedule, o belfry.Occurrence) error {
	n, missed := belfry.ScheduleMissedNotice(sc, o)
	if !missed {
		return nil
	}
	return c.route(n, 0)
}

// rules are those of a namespace with their quiet hours, read once in a
// transition.
type rules struct {
	all   []belfry.AlertRule
	quiet func(belfry.AlertRule, time.Time) time.Time
}

func (c *change) rulesOf(namespace string) (r rules, err error) {
	if known, ok := c.rules[namespace]; ok {
		return known, nil
	}
	if r.all, err = alertRules.all(c.ctx, c.tx, namespace); err != nil {
		return r, err
	}
	var names []string
	for _, rule := range r.all {
		names = append(names, rule.Quiet...)
	}
	var calendars []belfry.Calendar
	if len(names) > 0 {
		if calendars, err = collect(c.ctx, c.tx, scanCalendar, `
			select `+calendarColumns+`
			from calendars
			where namespace = $1 and `+c.sql.In("name", 2), namespace, c.sql.List(unique(names))); err != nil {
			return r, err
		}
	}
	if r.quiet, err = belfry.QuietHours(calendars); err != nil {
		// Calendars are checked when they are saved, so this is a zone that
		// this machine does not know. Better to tell at night than never.
		c.s.opt.Logger.Error("quiet hours cannot be computed", "namespace", namespace, "error", err)
	}
	if c.rules == nil {
		c.rules = map[string]rules{}
	}
	c.rules[namespace] = r
	return r, nil
}

// route writes an alert for each channel that a notice goes to.
func (c *change) route(n belfry.Notice, monitor int64) error {
	r, err := c.rulesOf(n.Namespace)
	if err != nil || len(r.all) == 0 {
		return err
	}
	for _, d := range belfry.Route(n, r.all, r.quiet, c.now) {
		if err := c.insertAlert(n, d, monitor); err != nil {
			return err
		}
	}
	if n.Type != belfry.NoticeDown {
		return nil
	}
	for _, rule := range r.all { // also those that want reminders alone
		if err := c.remind(rule, r, n, monitor, 0); err != nil {
			return err
		}
	}
	return nil
}

// remind plans the next reminder of an outage through one rule.
func (c *change) remind(rule belfry.AlertRule, r rules, down belfry.Notice, monitor int64, told int) error {
	at := belfry.NextReminder(rule, down.Since, told)
	if at.IsZero() {
		return nil
	}
	n := down
	n.Type, n.Count = belfry.NoticeReminder, told+1
	n.Title = down.Monitor + " is still down"
	for _, d := range belfry.Route(n, []belfry.AlertRule{rule}, r.quiet, laterOf(at, c.now)) {
		d.DueAt = laterOf(d.DueAt, at)
		if err := c.insertAlert(n, d, monitor); err != nil {
			return err
		}
	}
	return nil
}

func (c *change) insertAlert(n belfry.Notice, d belfry.Delivery, monitor int64) error {
	c.wake(topicEngine)
	_, err := c.tx.Exec(c.ctx, `
		insert into alerts (namespace, channel, rule, type, monitor_id, incident_id, notice, state, reason, created_at, due_at)
		values ($1, $2, $3, $4, $5, $6, $7, 'pending', $8, $9, $10)`,
		n.Namespace, d.Channel, d.Rule, string(n.Type), monitor, n.Incident, text(n), d.Held, micros(c.now), micros(d.DueAt))
	return err
}

// Bounds of one look at the outbox.
const (
	takeChannels = 32
	takeAlerts   = 1000 // of one channel, those that are due first
)

// TakeAlerts decides about alerts that are due and takes the messages that are
// to be sent now. For a while no other node takes them.
func (s *Store) TakeAlerts(ctx context.Context, publicURL string) (out belfry.TakenAlerts, err error) {
	err = s.write(ctx, "take alerts", func(c *change) error {
		out = belfry.TakenAlerts{Now: c.now}
		// A message under way keeps its channel: what comes later is told later.
		due, err := collect(ctx, c.tx, func(r Rows) (n taskName, err error) { return n, r.Scan(&n.Namespace, &n.Name) }, `
			select distinct a.namespace, a.channel
			from alerts a
			where a.state = 'pending' and a.due_at <= $1 and not exists (
				select 1 from alerts b
				where b.state = 'pending' and b.namespace = a.namespace and b.channel = a.channel and b.taken_until > $1)
			limit $2`, micros(c.now), takeChannels)
		if err != nil {
			return err
		}
		for _, name := range due {
			messages, err := c.takeChannel(name, publicURL)
			if err != nil {
				return err
			}
			out.Messages = append(out.Messages, messages...)
		}
		next, _, err := first(ctx, c.tx, scanInt, `
			select case when c.until > a.due_at then c.until else a.due_at end
			from alerts a
			join (
				select namespace, channel, max(taken_until) as until
				from alerts
				where state = 'pending'
				group by namespace, channel) c on c.namespace = a.namespace and c.channel = a.channel
			where a.state = 'pending'
			order by 1
			limit 1`)
		out.NextAt = instant(next)
		return err
	})
	return out, err
}

// freeAlerts frees messages that this process took in an earlier life, where a
// database has one process and no other can be telling them.
func (c *change) freeAlerts() error {
	if c.sql.ForUpdate("alerts") != "" {
		return nil
	}
	_, err := c.tx.Exec(c.ctx, `update alerts set taken_until = 0 where state = 'pending' and taken_until > 0`)
	return err
}

func (c *change) takeChannel(name taskName, publicURL string) ([]belfry.TakenAlert, error) {
	channel, found, err := first(c.ctx, c.tx, channels.scan, `
		select `+documentColumns+`
		from documents
		where noun = 'channel' and namespace = $1 and name = $2`+c.sql.SkipLocked("documents"), name.Namespace, name.Name)
	if err != nil {
		return nil, err
	}
	if !found {
		return nil, c.withoutChannel(name)
	}
	type pending struct {
		belfry.Alert
		taken, monitor int64
	}
	rows, err := collect(c.ctx, c.tx, func(r Rows) (p pending, err error) {
		a := &p.Alert
		return p, r.Scan(&a.ID, &a.Namespace, &a.Channel, &a.Rule, scanDoc{&a.Notice}, &a.State, &a.Reason, scanTime{&a.CreatedAt},
			scanTime{&a.DueAt}, scanTime{&a.EndedAt}, &a.Tries, &a.Message, &p.taken, &p.monitor)
	}, `
		select `+alertColumns+`, taken_until, monitor_id
		from alerts
		where namespace = $1 and channel = $2 and state = 'pending'
		order by case when due_at <= $4 then 0 else 1 end, id -- or those that wait for long could keep from it what is due
		limit $3`, name.Namespace, name.Name, takeAlerts, micros(c.now))
	if err != nil {
		return nil, err
	}
	alerts := make([]belfry.Alert, 0, len(rows))
	monitors := map[int64]int64{}
	for _, p := range rows {
		if p.taken > micros(c.now) {
			return nil, nil
		}
		alerts = append(alerts, p.Alert)
		monitors[p.ID] = p.monitor
	}
	facts, err := c.deliveryFacts(channel, alerts)
	if err != nil {
		return nil, err
	}
	byID := make(map[int64]belfry.Alert, len(alerts))
	for _, a := range alerts {
		byID[a.ID] = a
	}
	var send []belfry.Alert
	for _, d := range belfry.Deliver(alerts, facts, c.now) {
		a := byID[d.ID]
		switch {
		case d.Send:
			send = append(send, a)
		case !d.Until.IsZero():
			_, err = c.tx.Exec(c.ctx, `update alerts set due_at = $2, reason = $3 where id = $1`, a.ID, micros(d.Until), d.Reason)
		default:
			if _, err = c.tx.Exec(c.ctx, `update alerts set state = 'suppressed', reason = $2, ended_at = $3 where id = $1`, a.ID, d.Reason, micros(c.now)); err == nil {
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
func (c *change) withoutChannel(name taskName) error {
	_, err := channels.read(c.ctx, c.tx, name.Namespace, name.Name, "")
	if belfry.CodeOf(err) != belfry.NotFound {
		return err
	}
	_, err = c.tx.Exec(c.ctx, `
		update alerts
		set state = 'suppressed', reason = 'the channel was deleted', ended_at = $3
		where namespace = $1 and channel = $2 and state = 'pending'`, name.Namespace, name.Name, micros(c.now))
	return err
}

func (c *change) takeMessages(channel belfry.Channel, send []belfry.Alert, publicURL string) (out []belfry.TakenAlert, err error) {
	for _, bundle := range belfry.Bundle(send) {
		if len(bundle) == 0 {
			continue
		}
		t := belfry.TakenAlert{Channel: channel, Message: belfry.Compose(channel, bundle, publicURL, c.now), Tries: bundle[0].Tries}
		for _, a := range bundle {
			t.Alerts = append(t.Alerts, a.ID)
		}
		if _, err := c.tx.Exec(c.ctx, `
			update alerts
			set taken_until = $2, message = $3
			where `+c.sql.In("id", 1), c.sql.List(t.Alerts), micros(c.now.Add(belfry.AlertTaken)), t.Message.Key); err != nil {
			return nil, err
		}
		out = append(out, t)
	}
	return out, nil
}

// deliveryFacts reads what the delivery of alerts depends on.
func (c *change) deliveryFacts(channel belfry.Channel, alerts []belfry.Alert) (f belfry.DeliveryFacts, err error) {
	f.Monitors = map[string]belfry.MonitorFacts{}
	for _, a := range alerts {
		name := a.Notice.Monitor
		if _, known := f.Monitors[name]; known || name == "" {
			continue
		}
		row, err := c.s.monitor(c.ctx, c.tx, channel.Namespace, name, false)
		if belfry.CodeOf(err) == belfry.NotFound {
			continue
		}
		if err != nil {
			return f, err
		}
		if f.Monitors[name], err = c.monitorFacts(row); err != nil {
			return f, err
		}
	}
	told := map[int64]belfry.AlertState{}
	for _, a := range alerts {
		if id := a.Notice.Incident; id > 0 && a.Notice.Type == belfry.NoticeUp {
			if told[id], err = c.toldOf(channel, id); err != nil {
				return f, err
			}
		}
	}
	f.Told = func(incident int64) belfry.AlertState { return told[incident] }
	return f, nil
}

// toldOf is what became of the alerts of a channel that said that an incident
// began.
func (c *change) toldOf(channel belfry.Channel, incident int64) (told belfry.AlertState, err error) {
	states, err := collect(c.ctx, c.tx, scanString, `
		select case when state = 'pending' and taken_until <= $4 then '' else state end
		from alerts
		where incident_id = $1 and channel = $2 and namespace = $3 and type in ('down', 'reminder')
		order by id`, incident, channel.Name, channel.Namespace, micros(c.now))
	for _, s := range states {
		switch state := belfry.AlertState(s); {
		case state == "" || told == belfry.AlertSent:
		case state == belfry.AlertSent || told != belfry.AlertPending:
			told = state
		}
	}
	return told, err
}

func (c *change) monitorFacts(row monitorRow) (f belfry.MonitorFacts, err error) {
	f = belfry.MonitorFacts{State: row.state, Muted: row.Muted}
	active, err := c.windowsOf(row.Monitor)
	if err != nil {
		return f, err
	}
	for _, w := range active {
		if !w.From.After(c.now) && w.To.After(c.now) {
			f.Maintenance = w
		}
	}
	for _, name := range row.DependsOn {
		parent, err := c.s.monitor(c.ctx, c.tx, row.Namespace, name, false)
		if belfry.CodeOf(err) == belfry.NotFound {
			continue
		}
		if err != nil {
			return f, err
		}
		if parent.state.Status() == belfry.StatusDown {
			f.Parent = parent.Name
		}
	}
	return f, nil
}

// SettleAlerts records what came of a try to tell a message.
func (s *Store) SettleAlerts(ctx context.Context, t belfry.TakenAlert, r belfry.Told) error {
	return s.write(ctx, "settle alerts", func(c *change) error {
		wait, giveUp := belfry.AlertBackoff(t.Tries + 1)
		final := r.Permanent || giveUp
		r.Error, _ = belfry.CleanText(r.Error, belfry.MaxCheckMessage)
		if _, err := c.tx.Exec(ctx, `
			insert into alert_tries (namespace, channel, message, at, took, alerts, error, final)
			values ($1, $2, $3, $4, $5, $6, $7, $8)`, t.Channel.Namespace, t.Channel.Name, t.Message.Key, micros(c.now), r.Took.D().Microseconds(),
			len(t.Alerts), r.Error, bit(r.Error != "" && final)); err != nil {
			return err
		}
		state, due, ended := belfry.AlertPending, c.now.Add(max(wait, r.RetryAfter.D())), int64(0)
		switch {
		case r.Error == "":
			state, ended = belfry.AlertSent, micros(c.now)
		case final:
			state, ended = belfry.AlertFailed, micros(c.now)
		}
		if _, err := c.tx.Exec(ctx, `
			update alerts
			set state = $2, reason = $3, due_at = $4, ended_at = $5, tries = tries + 1, taken_until = 0
			where state = 'pending' and message = $6 and `+c.sql.In("id", 1), c.sql.List(t.Alerts), string(state), r.Error, micros(due), ended, t.Message.Key); err != nil {
			return err
		}
		c.wake(topicEngine)
		if state == belfry.AlertPending {
			return nil
		}
		return c.remindAll(t.Alerts)
	})
}

// remindAll plans what follows reminders that were told.
func (c *change) remindAll(ids []int64) error {
	type told struct {
		belfry.Alert
		monitor int64
	}
	rows, err := collect(c.ctx, c.tx, func(r Rows) (t told, err error) {
		return t, r.Scan(&t.Namespace, &t.Rule, scanDoc{&t.Notice}, &t.monitor)
	}, `
		select namespace, rule, notice, monitor_id
		from alerts
		where type = 'reminder' and `+c.sql.In("id", 1), c.sql.List(ids))
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
func (c *change) remindAgain(a belfry.Alert, monitor int64) error {
	if a.Notice.Type != belfry.NoticeReminder {
		return nil
	}
	row, err := c.s.monitor(c.ctx, c.tx, a.Namespace, a.Notice.Monitor, false)
	if err != nil || row.state.Incident != a.Notice.Incident || row.state.Status() != belfry.StatusDown {
		if belfry.CodeOf(err) == belfry.NotFound {
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
			waiting, _, err := first(c.ctx, c.tx, scanInt, `
				select count(*)
				from alerts
				where incident_id = $1 and channel <> '' and type = 'reminder' and rule = $2 and notice like $3`,
				a.Notice.Incident, a.Rule, fmt.Sprintf(`%%"count":%d%%`, a.Notice.Count+1))
			if err != nil || waiting > 0 {
				return err
			}
			return c.remind(rule, r, a.Notice, monitor, a.Notice.Count)
		}
	}
	return nil
}

// Alerts lists what was to be told, newest first.
func (s *Store) Alerts(ctx context.Context, f belfry.AlertFilter) (p belfry.Page[belfry.Alert], err error) {
	before, err := decodeIDCursor(f.Cursor)
	if err != nil {
		return p, err
	}
	w := &where{}
	w.namespace("namespace", namespaceOr(f.Namespace))
	if f.Channel != "" {
		w.and("channel = ?", f.Channel)
	}
	if f.State != "" {
		w.and("state = ?", string(f.State))
	}
	if f.Monitor != "" {
		w.and("monitor_id in (select id from monitors where name = ?)", f.Monitor)
	}
	if f.Incident > 0 {
		w.conds = append(w.conds, "incident_id > 0") // or the partial index would not be taken
		w.and("incident_id = ?", f.Incident)
	}
	if before > 0 {
		w.and("id < ?", before)
	}
	limit := f.Bound()
	err = s.db.Read(ctx, func(tx Tx) error {
		all, err := collect(ctx, tx, scanAlert, `
			select `+alertColumns+`
			from alerts
			where `+w.sql()+`
			order by id desc
			limit `+strconv.Itoa(limit+1), w.args...)
		p = page(all, limit, func(a belfry.Alert) string { return encodeCursor(strconv.FormatInt(a.ID, 10)) })
		return err
	})
	return p, err
}

// AlertTries lists the attempts to deliver the message that an alert went with,
// oldest first.
func (s *Store) AlertTries(ctx context.Context, namespace string, alert int64) (tries []belfry.AlertTry, err error) {
	err = s.db.Read(ctx, func(tx Tx) error {
		a, found, err := first(ctx, tx, scanAlert, `select `+alertColumns+` from alerts where id = $1`, alert)
		if err != nil {
			return err
		}
		if !found || namespace != belfry.AnyNamespace && a.Namespace != namespaceOr(namespace) {
			return belfry.Errorf(belfry.NotFound, "no alert %d", alert).WithHint("see: belfry alert list")
		}
		tries, err = collect(ctx, tx, func(r Rows) (t belfry.AlertTry, err error) {
			var took int64
			var final int
			err = r.Scan(&t.Message, &t.Channel, scanTime{&t.At}, &took, &t.Alerts, &t.Error, &final)
			t.Took, t.Final = belfry.Duration(time.Duration(took)*time.Microsecond), final != 0
			return t, err
		}, `
			select message, channel, at, took, alerts, error, final
			from alert_tries
			where message = $1 and message <> ''
			order by id`, a.Message)
		if tries == nil {
			tries = []belfry.AlertTry{}
		}
		return err
	})
	return tries, err
}

// checkChannels refuses a rule that names a channel which does not exist.
func checkChannels(c *change, rule belfry.AlertRule) error {
	for i, name := range rule.Channels {
		n, _, err := first(c.ctx, c.tx, scanInt, `select count(*) from documents where noun = 'channel' and namespace = $1 and name = $2`, rule.Namespace, name)
		if err != nil {
			return err
		}
		if n == 0 {
			return belfry.InvalidField(fmt.Sprintf("channels[%d]", i), name, "is not a channel in namespace "+rule.Namespace, "create it first, or apply both in one file")
		}
	}
	return nil
}

// freeChannel refuses to delete a channel that a rule names.
func freeChannel(c *change, channel belfry.Channel) error {
	all, err := alertRules.all(c.ctx, c.tx, channel.Namespace)
	if err != nil {
		return err
	}
	var users []string
	for _, rule := range all {
		for _, name := range rule.Channels {
			if name == channel.Name {
				users = append(users, rule.Name)
			}
		}
	}
	if len(users) > 0 {
		return belfry.Errorf(belfry.Conflict, "alert rule %s goes to channel %q", strings.Join(users, ", "), channel.Name).WithHint("edit the rule first")
	}
	return nil
}

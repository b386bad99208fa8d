package alerts

import (
	"context"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/belfry-run/belfry/alert"
	"github.com/belfry-run/belfry/core"
	"github.com/belfry-run/belfry/core/title"
	"github.com/belfry-run/belfry/cycle"
	"github.com/belfry-run/belfry/job"
	"github.com/belfry-run/belfry/monitor"
	"github.com/belfry-run/belfry/schedule"
	"github.com/belfry-run/belfry/store/base"
	"github.com/belfry-run/belfry/store/jobs"
	"github.com/belfry-run/belfry/store/schedules"
	"github.com/belfry-run/belfry/task"
)

const alertColumns = `id, namespace, channel, rule, notification, state, reason, created_at, due_at, ended_at, tries, message`

func scanAlert(rows base.Rows) (a alert.Alert, err error) {
	return a, rows.Scan(&a.ID, &a.Namespace, &a.Channel, &a.Rule, base.ScanDoc(&a.Notification), &a.State, &a.Reason, base.ScanTime(&a.CreatedAt),
		base.ScanTime(&a.DueAt), base.ScanTime(&a.EndedAt), &a.Tries, &a.Message)
}

// Tell writes the notifications about a monitor to the outbox, in the transaction of their cause.
func (c *Change) Tell(row monitor.Monitor, notifications []alert.Notification, incident int64) error {
	for _, n := range notifications {
		n.Namespace, n.Monitor, n.Tags = row.Namespace, row.Name, row.Tags
		if n.Incident < 0 { // opened in this transaction
			n.Incident = incident
		}
		if err := c.route(n, row.ID); err != nil {
			return err
		}
	}
	return nil
}

// TellFailed writes the notifications about jobs that failed for good. Monitors and cycles write their own notifications.
func (c *Change) TellFailed(ends []jobs.Ending) error {
	for _, e := range ends {
		if e.Settled.State != job.Failed || e.Row.Trigger == job.TriggerCheck || e.Row.Trigger == job.TriggerCycle || e.Row.Trigger == job.TriggerStep || e.Row.Kind == task.KindCycle || base.Ours(e.Row.Task) {
			continue
		}
		j := e.Row.Job
		j.State, j.Reason, j.Note, j.Error, j.Failures, j.FinishedAt = e.Settled.State, e.Settled.Reason, e.Settled.Note, e.Settled.Error, e.Settled.Failures, c.Now
		name, err := c.titleOf(j.Namespace, j.Task)
		if err != nil {
			return err
		}
		if err := c.route(alert.JobFailedNotification(j, name), 0); err != nil {
			return err
		}
	}
	return nil
}

// titleOf returns the title of a task, or "" if the namespace has no alert rules.
func (c *Change) titleOf(namespace, task string) (string, error) {
	r, err := c.rulesOf(namespace)
	if err != nil || len(r.all) == 0 {
		return "", err
	}
	text, _, err := base.First(c.Ctx, c.Tx, base.ScanString, `select title from belfry.tasks where namespace = $1 and name = $2`, namespace, task)
	return text, err
}

// TellMissed writes the notification about planned nominal times that will never run.
func (c *Change) TellMissed(sc schedule.Schedule, o schedule.Occurrence) error {
	n, missed := alert.ScheduleMissedNotification(sc, o)
	if !missed {
		return nil
	}
	return c.route(n, 0)
}

// TellHook writes the notification about a disabled hook.
func (c *Change) TellHook(n alert.Notification) error { return c.route(n, 0) }

// rules are the alert rules of a namespace with their quiet hours. A transition reads them once.
type rules struct {
	all   []alert.Rule
	quiet func(alert.Rule, time.Time) time.Time
}

// rulesRead holds the rules that a transition has read, by namespace.
type rulesRead struct{ of map[string]rules }

func (c *Change) rulesOf(namespace string) (r rules, err error) {
	read := base.Kept[rulesRead](c.Change)
	if known, ok := read.of[namespace]; ok {
		return known, nil
	}
	if r.all, err = AlertRules.All(c.Ctx, c.Tx, namespace); err != nil {
		return r, err
	}
	var names []string
	for _, rule := range r.all {
		names = append(names, rule.Quiet...)
	}
	var calendars []schedule.Calendar
	if len(names) > 0 {
		if calendars, err = base.Collect(c.Ctx, c.Tx, schedules.ScanCalendar, `
			select `+schedules.CalendarColumns+`
			from belfry.calendars
			where namespace = $1 and `+c.SQL.In("name", 2), namespace, c.SQL.List(base.Unique(names))); err != nil {
			return r, err
		}
	}
	if r.quiet, err = alert.QuietHours(calendars); err != nil {
		// Calendars are validated when they are saved, so the cause is a time zone that this machine does not know. A
		// notification at night is better than none.
		c.s.Opt.Logger.Error("quiet hours cannot be computed", "namespace", namespace, "error", err)
	}
	if read.of == nil {
		read.of = map[string]rules{}
	}
	read.of[namespace] = r
	return r, nil
}

// route writes an alert for each channel that receives a notification.
func (c *Change) route(n alert.Notification, monitor int64) error {
	r, err := c.rulesOf(n.Namespace)
	if err != nil || len(r.all) == 0 {
		return err
	}
	for _, d := range alert.Route(n, r.all, r.quiet, c.Now) {
		if err := c.insertAlert(n, d, monitor); err != nil {
			return err
		}
	}
	if n.Type != alert.NotificationDown {
		return nil
	}
	for _, rule := range r.all { // includes rules for reminders alone
		if err := c.planReminder(rule, r, n, monitor, 0); err != nil {
			return err
		}
	}
	return nil
}

// rerouteAlerts makes waiting alerts of a namespace due for a new decision, because a rule or its quiet hours changed. Alerts
// that wait only for their group are left alone. The decision follows when they are taken, a bounded number at a time.
func rerouteAlerts(c *base.Change, namespace string) error {
	c.Wake(base.TopicEngine)
	_, err := c.Tx.Exec(c.Ctx, `
		update belfry.alerts
		set due_at = $2
		where id in (
			select a.id
			from belfry.alerts a
			where a.namespace = $1 and a.state = 'pending' and a.due_at > $2 and a.tries = 0 and (a.reason <> '' or a.type = 'reminder')
			order by a.id`+c.SQL.ForUpdate("a")+`)`, namespace, base.Micros(c.Now))
	return err
}

// sendInstead writes alerts of a notification for the channels that its rule names now, except those that already have one.
func (c *Change) sendInstead(a alert.Alert, monitor int64, to []alert.Delivery) error {
	for _, d := range to {
		_, there, err := base.First(c.Ctx, c.Tx, base.ScanInt, `
			select 1
			from belfry.alerts
			where namespace = $1 and channel = $2 and state = 'pending' and type = $3 and monitor_id = $4 and notification = $5
			union all
			select 1
			from belfry.alerts
			where incident_id = $6 and incident_id > 0 and channel = $2 and namespace = $1 and type = $3
			limit 1`, a.Namespace, d.Channel, string(a.Notification.Type), monitor, base.Text(a.Notification), a.Notification.Incident)
		if err != nil {
			return err
		}
		if there {
			continue
		}
		if err := c.insertAlert(a.Notification, d, monitor); err != nil {
			return err
		}
	}
	return nil
}

// planReminder plans the next reminder of an outage by one rule.
func (c *Change) planReminder(rule alert.Rule, r rules, down alert.Notification, monitor int64, notified int) error {
	at := alert.NextReminder(rule, down.Since, notified)
	if at.IsZero() {
		return nil
	}
	n := down
	n.Type, n.Count = alert.NotificationReminder, notified+1
	n.Title = title.Named(down.DisplayTitle, down.Monitor) + " is still down"
	for _, d := range alert.Route(n, []alert.Rule{rule}, r.quiet, base.LaterOf(at, c.Now)) {
		d.DueAt = base.LaterOf(d.DueAt, at)
		if err := c.insertAlert(n, d, monitor); err != nil {
			return err
		}
	}
	return nil
}

func (c *Change) insertAlert(n alert.Notification, d alert.Delivery, monitor int64) error {
	c.Wake(base.TopicEngine)
	_, err := c.Tx.Exec(c.Ctx, `
		insert into belfry.alerts (namespace, channel, rule, type, monitor_id, incident_id, notification, state, reason, created_at, due_at)
		values ($1, $2, $3, $4, $5, $6, $7, 'pending', $8, $9, $10)`,
		n.Namespace, d.Channel, d.Rule, string(n.Type), monitor, n.Incident, base.Text(n), d.Held, base.Micros(c.Now), base.Micros(d.DueAt))
	return err
}

// Alerts lists alerts, newest first.
func (s *Store) Alerts(ctx context.Context, f alert.Filter) (p core.Page[alert.Alert], err error) {
	before, err := base.DecodeIDCursor(f.Cursor)
	if err != nil {
		return p, err
	}
	w := &base.Where{}
	w.Namespace("namespace", base.NamespaceOr(f.Namespace))
	if f.Channel != "" {
		w.And("channel = ?", f.Channel)
	}
	if f.State != "" {
		w.And("state = ?", string(f.State))
	}
	if f.Monitor != "" {
		w.And("monitor_id in (select id from belfry.monitors where name = ?)", f.Monitor)
	}
	if f.Incident > 0 {
		w.Conds = append(w.Conds, "incident_id > 0") // without this the partial index would not be used
		w.And("incident_id = ?", f.Incident)
	}
	if f.ID > 0 {
		w.And("id = ?", f.ID)
	}
	if before > 0 {
		w.And("id < ?", before)
	}
	limit := f.Bound()
	err = s.DB().Read(ctx, func(tx base.Tx) error {
		all, err := base.Collect(ctx, tx, scanAlert, `
			select `+alertColumns+`
			from belfry.alerts
			where `+w.Sql()+`
			order by id desc
			limit `+strconv.Itoa(limit+1), w.Args...)
		p = base.Page(all, limit, func(a alert.Alert) string { return base.EncodeCursor(strconv.FormatInt(a.ID, 10)) })
		return err
	})
	return p, err
}

// AlertTries lists the tries to deliver the message of an alert, oldest first.
func (s *Store) AlertTries(ctx context.Context, namespace string, al int64) (tries []alert.Try, err error) {
	err = s.DB().Read(ctx, func(tx base.Tx) error {
		a, found, err := base.First(ctx, tx, scanAlert, `select `+alertColumns+` from belfry.alerts where id = $1`, al)
		if err != nil {
			return err
		}
		if !found || namespace != core.AnyNamespace && a.Namespace != base.NamespaceOr(namespace) {
			return core.Errorf(core.NotFound, "no alert %d", al).WithHint("see: belfry alert list")
		}
		tries, err = base.Collect(ctx, tx, func(r base.Rows) (t alert.Try, err error) {
			var took int64
			var final int
			err = r.Scan(&t.Message, &t.Channel, base.ScanTime(&t.At), &took, &t.Alerts, &t.Error, &final)
			t.Took, t.Final = core.Duration(time.Duration(took)*time.Microsecond), final != 0
			return t, err
		}, `
			select message, channel, at, took, alerts, error, final
			from belfry.alert_tries
			where message = $1 and message <> ''
			order by id`, a.Message)
		if tries == nil {
			tries = []alert.Try{}
		}
		return err
	})
	return tries, err
}

// checkRule rejects a rule that names a missing channel or calendar.
func checkRule(c *base.Change, rule alert.Rule) error {
	there, err := base.Collect(c.Ctx, c.Tx, base.ScanString, `
		select name
		from belfry.documents
		where noun = 'channel' and namespace = $1 and `+c.SQL.In("name", 2)+`
		order by id`+c.SQL.ForKeyShare("documents"), rule.Namespace, c.SQL.List(rule.Channels))
	if err != nil {
		return err
	}
	for i, name := range rule.Channels {
		if !slices.Contains(there, name) {
			return core.InvalidField(fmt.Sprintf("channels[%d]", i), name, "is not a channel in namespace "+rule.Namespace, "create it first, or apply both in one file")
		}
	}
	if err := schedules.LockCalendars(c, rule.Namespace, rule.Quiet...); err != nil {
		return err
	}
	for i, name := range rule.Quiet {
		_, err := schedules.ReadCalendar(c.Ctx, c.Tx, rule.Namespace, name, "")
		if core.CodeOf(err) == core.NotFound {
			err = core.InvalidField(fmt.Sprintf("quiet[%d]", i), name, "is not a calendar in namespace "+rule.Namespace, "create it first, or apply both in one file")
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// freeChannel rejects the deletion of a channel that a rule names.
func freeChannel(c *base.Change, channel alert.Channel) error {
	all, err := AlertRules.All(c.Ctx, c.Tx, channel.Namespace)
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
		return core.Errorf(core.Conflict, "alert rule %s goes to channel %q", strings.Join(users, ", "), channel.Name).WithHint("edit the rule first")
	}
	return nil
}

// RerouteQuiet makes alerts due for a new decision if the calendar is the quiet hours of a rule.
func (c *Change) RerouteQuiet(cal schedule.Calendar) error {
	rules, err := AlertRules.All(c.Ctx, c.Tx, cal.Namespace)
	if err != nil {
		return err
	}
	if slices.ContainsFunc(rules, func(r alert.Rule) bool { return slices.Contains(r.Quiet, cal.Name) }) {
		return rerouteAlerts(c.Change, cal.Namespace)
	}
	return nil
}

// FreeOfRules rejects the deletion of a calendar that is the quiet hours of a rule.
func (c *Change) FreeOfRules(cal schedule.Calendar) error {
	rules, err := AlertRules.All(c.Ctx, c.Tx, cal.Namespace)
	if err != nil {
		return err
	}
	for _, rule := range rules {
		if slices.Contains(rule.Quiet, cal.Name) {
			return core.Errorf(core.Conflict, "alert rule %q refers to calendar %q", rule.Name, cal.Name).WithHint("edit the rule first")
		}
	}
	return nil
}

// TellCycle writes one notification about the end of a cycle for each rule: the summary for rules that want it, and the failure
// for the others.
func (c *Change) TellCycle(run cycle.Run, j job.Job, s job.Settlement) error {
	name, err := c.titleOf(run.Namespace, run.Cycle)
	if err != nil {
		return err
	}
	n, any := cycle.EndedNotification(run, name, c.Now)
	if !any {
		return nil
	}
	n.Tags = j.Tags
	if err := c.route(n, 0); err != nil || s.State != job.Failed {
		return err
	}
	r, err := c.rulesOf(n.Namespace)
	if err != nil {
		return err
	}
	failed := n
	failed.Type, failed.Title = alert.NotificationJobFailed, "Cycle "+title.Named(name, run.Cycle)+" failed: "+s.Error
	rest := slices.DeleteFunc(slices.Clone(r.all), func(rule alert.Rule) bool { return rule.Fits(n) })
	for _, d := range alert.Route(failed, rest, r.quiet, c.Now) {
		if err := c.insertAlert(failed, d, 0); err != nil {
			return err
		}
	}
	return nil
}

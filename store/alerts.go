package store

import (
	"context"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/belfry-run/belfry/alert"
	"github.com/belfry-run/belfry/core"
	"github.com/belfry-run/belfry/cycle"
	"github.com/belfry-run/belfry/job"
	"github.com/belfry-run/belfry/monitor"
	"github.com/belfry-run/belfry/schedule"
	"github.com/belfry-run/belfry/task"
)

const alertColumns = `id, namespace, channel, rule, notice, state, reason, created_at, due_at, ended_at, tries, message`

func scanAlert(rows Rows) (a alert.Alert, err error) {
	return a, rows.Scan(&a.ID, &a.Namespace, &a.Channel, &a.Rule, scanDoc(&a.Notice), &a.State, &a.Reason, scanTime(&a.CreatedAt),
		scanTime(&a.DueAt), scanTime(&a.EndedAt), &a.Tries, &a.Message)
}

// tell writes what people are to be told of a monitor into the outbox, in the
// transaction in which it happened.
func (c *change) tell(row monitor.Monitor, notices []alert.Notice, incident int64) error {
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
		if e.settled.State != job.Failed || e.row.Trigger == job.TriggerCheck || e.row.Trigger == job.TriggerCycle || e.row.Kind == task.KindCycle || ours(e.row.Task) {
			continue
		}
		j := e.row.Job
		j.State, j.Reason, j.Error, j.Failures, j.FinishedAt = e.settled.State, e.settled.Reason, e.settled.Error, e.settled.Failures, c.now
		if err := c.route(alert.JobFailedNotice(j), 0); err != nil {
			return err
		}
	}
	return nil
}

// tellMissed does the same for nominal times that will never run though nobody
// wanted that.
func (c *change) tellMissed(sc schedule.Schedule, o schedule.Occurrence) error {
	n, missed := alert.ScheduleMissedNotice(sc, o)
	if !missed {
		return nil
	}
	return c.route(n, 0)
}

// rules are those of a namespace with their quiet hours, read once in a
// transition.
type rules struct {
	all   []alert.Rule
	quiet func(alert.Rule, time.Time) time.Time
}

// rulesRead are those that a transition has read, by namespace.
type rulesRead struct{ of map[string]rules }

func (c *change) rulesOf(namespace string) (r rules, err error) {
	read := kept[rulesRead](c)
	if known, ok := read.of[namespace]; ok {
		return known, nil
	}
	if r.all, err = alertRules.all(c.ctx, c.tx, namespace); err != nil {
		return r, err
	}
	var names []string
	for _, rule := range r.all {
		names = append(names, rule.Quiet...)
	}
	var calendars []schedule.Calendar
	if len(names) > 0 {
		if calendars, err = collect(c.ctx, c.tx, scanCalendar, `
			select `+calendarColumns+`
			from belfry.calendars
			where namespace = $1 and `+c.sql.In("name", 2), namespace, c.sql.List(unique(names))); err != nil {
			return r, err
		}
	}
	if r.quiet, err = alert.QuietHours(calendars); err != nil {
		// Calendars are checked when they are saved, so this is a zone that
		// this machine does not know. Better to tell at night than never.
		c.s.opt.Logger.Error("quiet hours cannot be computed", "namespace", namespace, "error", err)
	}
	if read.of == nil {
		read.of = map[string]rules{}
	}
	read.of[namespace] = r
	return r, nil
}

// route writes an alert for each channel that a notice goes to.
func (c *change) route(n alert.Notice, monitor int64) error {
	r, err := c.rulesOf(n.Namespace)
	if err != nil || len(r.all) == 0 {
		return err
	}
	for _, d := range alert.Route(n, r.all, r.quiet, c.now) {
		if err := c.insertAlert(n, d, monitor); err != nil {
			return err
		}
	}
	if n.Type != alert.NoticeDown {
		return nil
	}
	for _, rule := range r.all { // also those that want reminders alone
		if err := c.remind(rule, r, n, monitor, 0); err != nil {
			return err
		}
	}
	return nil
}

// rerouteAlerts has the alerts of a namespace that wait for more than their group
// decided about again, because a rule or its quiet hours changed. It is done
// when they are taken, a bounded part at a time.
func rerouteAlerts(c *change, namespace string) error {
	c.wake(topicEngine)
	_, err := c.tx.Exec(c.ctx, `
		update belfry.alerts
		set due_at = $2
		where id in (
			select a.id
			from belfry.alerts a
			where a.namespace = $1 and a.state = 'pending' and a.due_at > $2 and a.tries = 0 and (a.reason <> '' or a.type = 'reminder')
			order by a.id`+c.sql.ForUpdate("a")+`)`, namespace, micros(c.now))
	return err
}

// sendInstead writes the alerts of a notice for channels that its rule names
// now, where it has none yet.
func (c *change) sendInstead(a alert.Alert, monitor int64, to []alert.Delivery) error {
	for _, d := range to {
		_, there, err := first(c.ctx, c.tx, scanInt, `
			select 1
			from belfry.alerts
			where namespace = $1 and channel = $2 and state = 'pending' and type = $3 and monitor_id = $4 and notice = $5
			union all
			select 1
			from belfry.alerts
			where incident_id = $6 and incident_id > 0 and channel = $2 and namespace = $1 and type = $3
			limit 1`, a.Namespace, d.Channel, string(a.Notice.Type), monitor, text(a.Notice), a.Notice.Incident)
		if err != nil {
			return err
		}
		if there {
			continue
		}
		if err := c.insertAlert(a.Notice, d, monitor); err != nil {
			return err
		}
	}
	return nil
}

// remind plans the next reminder of an outage through one rule.
func (c *change) remind(rule alert.Rule, r rules, down alert.Notice, monitor int64, told int) error {
	at := alert.NextReminder(rule, down.Since, told)
	if at.IsZero() {
		return nil
	}
	n := down
	n.Type, n.Count = alert.NoticeReminder, told+1
	n.Title = down.Monitor + " is still down"
	for _, d := range alert.Route(n, []alert.Rule{rule}, r.quiet, laterOf(at, c.now)) {
		d.DueAt = laterOf(d.DueAt, at)
		if err := c.insertAlert(n, d, monitor); err != nil {
			return err
		}
	}
	return nil
}

func (c *change) insertAlert(n alert.Notice, d alert.Delivery, monitor int64) error {
	c.wake(topicEngine)
	_, err := c.tx.Exec(c.ctx, `
		insert into belfry.alerts (namespace, channel, rule, type, monitor_id, incident_id, notice, state, reason, created_at, due_at)
		values ($1, $2, $3, $4, $5, $6, $7, 'pending', $8, $9, $10)`,
		n.Namespace, d.Channel, d.Rule, string(n.Type), monitor, n.Incident, text(n), d.Held, micros(c.now), micros(d.DueAt))
	return err
}

// Alerts lists what was to be told, newest first.
func (s *Store) Alerts(ctx context.Context, f alert.Filter) (p core.Page[alert.Alert], err error) {
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
		w.and("monitor_id in (select id from belfry.monitors where name = ?)", f.Monitor)
	}
	if f.Incident > 0 {
		w.conds = append(w.conds, "incident_id > 0") // or the partial index would not be taken
		w.and("incident_id = ?", f.Incident)
	}
	if f.ID > 0 {
		w.and("id = ?", f.ID)
	}
	if before > 0 {
		w.and("id < ?", before)
	}
	limit := f.Bound()
	err = s.db.Read(ctx, func(tx Tx) error {
		all, err := collect(ctx, tx, scanAlert, `
			select `+alertColumns+`
			from belfry.alerts
			where `+w.sql()+`
			order by id desc
			limit `+strconv.Itoa(limit+1), w.args...)
		p = page(all, limit, func(a alert.Alert) string { return encodeCursor(strconv.FormatInt(a.ID, 10)) })
		return err
	})
	return p, err
}

// AlertTries lists the attempts to deliver the message that an alert went with,
// oldest first.
func (s *Store) AlertTries(ctx context.Context, namespace string, al int64) (tries []alert.Try, err error) {
	err = s.db.Read(ctx, func(tx Tx) error {
		a, found, err := first(ctx, tx, scanAlert, `select `+alertColumns+` from belfry.alerts where id = $1`, al)
		if err != nil {
			return err
		}
		if !found || namespace != core.AnyNamespace && a.Namespace != namespaceOr(namespace) {
			return core.Errorf(core.NotFound, "no alert %d", al).WithHint("see: belfry alert list")
		}
		tries, err = collect(ctx, tx, func(r Rows) (t alert.Try, err error) {
			var took int64
			var final int
			err = r.Scan(&t.Message, &t.Channel, scanTime(&t.At), &took, &t.Alerts, &t.Error, &final)
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

// checkRule refuses a rule that names a channel or a calendar which does not
// exist.
func checkRule(c *change, rule alert.Rule) error {
	there, err := collect(c.ctx, c.tx, scanString, `
		select name
		from belfry.documents
		where noun = 'channel' and namespace = $1 and `+c.sql.In("name", 2)+`
		order by id`+c.sql.ForKeyShare("documents"), rule.Namespace, c.sql.List(rule.Channels))
	if err != nil {
		return err
	}
	for i, name := range rule.Channels {
		if !slices.Contains(there, name) {
			return core.InvalidField(fmt.Sprintf("channels[%d]", i), name, "is not a channel in namespace "+rule.Namespace, "create it first, or apply both in one file")
		}
	}
	if err := lockCalendars(c, rule.Namespace, rule.Quiet...); err != nil {
		return err
	}
	for i, name := range rule.Quiet {
		_, err := readCalendar(c.ctx, c.tx, rule.Namespace, name, "")
		if core.CodeOf(err) == core.NotFound {
			err = core.InvalidField(fmt.Sprintf("quiet[%d]", i), name, "is not a calendar in namespace "+rule.Namespace, "create it first, or apply both in one file")
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// freeChannel refuses to delete a channel that a rule names.
func freeChannel(c *change, channel alert.Channel) error {
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
		return core.Errorf(core.Conflict, "alert rule %s goes to channel %q", strings.Join(users, ", "), channel.Name).WithHint("edit the rule first")
	}
	return nil
}

// rerouteQuiet has alerts decided about again that wait for a calendar, if it is
// the quiet hours of any rule.
func (c *change) rerouteQuiet(cal schedule.Calendar) error {
	rules, err := alertRules.all(c.ctx, c.tx, cal.Namespace)
	if err != nil {
		return err
	}
	if slices.ContainsFunc(rules, func(r alert.Rule) bool { return slices.Contains(r.Quiet, cal.Name) }) {
		return rerouteAlerts(c, cal.Namespace)
	}
	return nil
}

// freeOfRules refuses to delete a calendar that is the quiet hours of a rule.
func (c *change) freeOfRules(cal schedule.Calendar) error {
	rules, err := alertRules.all(c.ctx, c.tx, cal.Namespace)
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

// tellCycle tells of a cycle once: its summary to those who want it, and to the
// others, if it failed, that it did.
func (c *change) tellCycle(run cycle.Run, j job.Job, s job.Settlement) error {
	n, any := cycle.EndedNotice(run, c.now)
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
	failed.Type, failed.Title = alert.NoticeJobFailed, "Cycle "+run.Cycle+" failed: "+s.Error
	rest := slices.DeleteFunc(slices.Clone(r.all), func(rule alert.Rule) bool { return rule.Fits(n) })
	for _, d := range alert.Route(failed, rest, r.quiet, c.now) {
		if err := c.insertAlert(failed, d, 0); err != nil {
			return err
		}
	}
	return nil
}

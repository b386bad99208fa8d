package alert

import (
	"cmp"
	"fmt"
	"math"
	"slices"
	"time"

	"github.com/belfry-run/belfry/core"
	"github.com/belfry-run/belfry/job"
	"github.com/belfry-run/belfry/schedule"
)

// Delivery is the answer of [Route]: one alert to be written.
type Delivery struct {
	Rule    string
	Channel string
	DueAt   time.Time
	Held    string // why it waits for longer than its group; it is the alert's first reason
}

// HeldQuiet is how the reason of an alert begins that waits for the end of
// quiet hours.
const HeldQuiet = "quiet hours"

// Route decides who receives a notification, and when: through every rule that it
// fits, each channel once, by the first of these rules. Rules are asked
// in the order of their names, so the same notification always goes the same way.
//
// A beginning waits for its group, an end goes at once, and so does a
// test, which fits rules whatever they are on. In quiet hours both wait for
// their end; quiet answers when that is for a rule, and zero when at is no
// quiet time. Nil means that there are none.
//
// A reminder is routed through the rule alone whose turn it is to remind.
func Route(n Notification, rules []Rule, quiet func(rule Rule, at time.Time) (until time.Time), now time.Time) []Delivery {
	rules = slices.SortedFunc(slices.Values(rules), func(a, b Rule) int { return cmp.Compare(a.Name, b.Name) })
	var out []Delivery
	for _, rule := range rules {
		if !rule.Fits(n) {
			continue
		}
		d := Delivery{Rule: rule.Name, DueAt: rule.due(n, now)}
		if quiet != nil && n.Type != NotificationTest {
			if until := quiet(rule, d.DueAt); until.After(d.DueAt) {
				d.DueAt, d.Held = until, HeldQuiet+" until "+core.Stamp(until)
			}
		}
		for _, channel := range rule.Channels {
			d.Channel = channel
			i := slices.IndexFunc(out, func(o Delivery) bool { return o.Channel == channel })
			if i < 0 {
				out = append(out, d)
			} else if d.DueAt.Before(out[i].DueAt) {
				out[i] = d
			}
		}
	}
	return out
}

// Rerouted is the answer of [Reroute].
type Rerouted struct {
	Gone    string     // why no rule sends the alert to its channel now; empty: one does
	Instead []Delivery // where its rule sends it now, when it is gone
	DueAt   time.Time  // when it is due, if not now
	Held    string     // why it waits until then
}

// Reroute decides again about an alert that waits, for the rules and quiet hours
// as they are now. Such an alert has waited for its group as well. A reminder
// follows the rule alone that reminds. Nothing waits for quiet hours for longer
// than 30 days in all.
func Reroute(a Alert, rules []Rule, quiet func(rule Rule, at time.Time) (until time.Time), now time.Time) (out Rerouted) {
	rules = slices.Clone(rules)
	for i := range rules {
		rules[i].Group = -1
	}
	own := slices.DeleteFunc(slices.Clone(rules), func(r Rule) bool { return r.Name != a.Rule })
	from := a.CreatedAt
	if a.Notification.Type == NotificationReminder {
		rules = own
		if len(own) > 0 {
			planned := NextReminder(own[0], a.Notification.Since, a.Notification.Count-1)
			if planned.IsZero() {
				return Rerouted{Gone: fmt.Sprintf("alert rule %s no longer reminds of it", a.Rule)}
			}
			from = core.Later(from, planned)
		}
	}
	to := Route(a.Notification, rules, quiet, core.Later(now, from))
	i := slices.IndexFunc(to, func(d Delivery) bool { return d.Channel == a.Channel })
	switch {
	case i < 0 && len(own) == 0:
		return Rerouted{Gone: fmt.Sprintf("alert rule %s was deleted", a.Rule)}
	case i < 0:
		out.Gone = fmt.Sprintf("alert rule %s no longer sends it here", a.Rule)
		if a.Notification.Type != NotificationReminder {
			out.Instead = Route(a.Notification, own, quiet, now)
		}
		return out
	}
	if due := core.Sooner(to[i].DueAt, from.Add(maxQuiet)); due.After(now) {
		out.DueAt, out.Held = due, to[i].Held
	}
	return out
}

// due is when a rule has a notification told.
func (a Rule) due(n Notification, now time.Time) time.Time {
	if group := core.Or(a.Group, DefaultGroup); group > 0 && !n.Type.Over() && n.Type != NotificationTest {
		return now.Add(group.D())
	}
	return now
}

// Fits reports whether a notification is one that the rule is about.
func (a Rule) Fits(n Notification) bool {
	if a.Off || core.Or(a.Namespace, core.DefaultNamespace) != core.Or(n.Namespace, core.DefaultNamespace) {
		return false
	}
	return a.tells(n) && a.names(n) && (len(a.Tags) == 0 || core.Share(a.Tags, n.Tags))
}

func (a Rule) tells(n Notification) bool {
	of := n.Type
	if of == NotificationClosed { // also where reminders alone told of the begin
		of = n.Ends
		if of == NotificationDown && a.Remind > 0 {
			return true
		}
	}
	switch {
	case of == NotificationTest:
		return true
	case of == NotificationReminder:
		return a.Remind > 0
	case len(a.On) == 0:
		return slices.Contains(DefaultNotifications, of)
	}
	return slices.Contains(a.On, of)
}

func (a Rule) names(n Notification) bool {
	if len(a.Monitors)+len(a.Tasks)+len(a.Schedules) == 0 {
		return true
	}
	return n.Monitor != "" && slices.Contains(a.Monitors, n.Monitor) ||
		n.Task != "" && slices.Contains(a.Tasks, n.Task) ||
		n.Schedule != "" && slices.Contains(a.Schedules, n.Schedule)
}

// NextReminder is when a rule has an outage told again that began at since and
// was told again so many times: after remind, then after twice as long, and so
// on. Zero: not any more.
func NextReminder(rule Rule, since time.Time, told int) time.Time {
	if rule.Off || rule.Remind <= 0 || told < 0 || told >= core.Or(rule.RemindMax, DefaultRemindMax) {
		return time.Time{}
	}
	times := math.Pow(2, float64(told+1)) - 1 // 1 + 2 + 4 + ...
	if times*float64(rule.Remind) > float64(job.MaxDelay) {
		return time.Time{} // too long to wait for
	}
	return since.Add(time.Duration(times) * rule.Remind.D())
}

// PassedReminders is how many reminders of an outage count as sent at a time,
// when the one before them was the told-th: also those whose time has passed
// meanwhile, for which that one stands.
func PassedReminders(rule Rule, since time.Time, told int, now time.Time) int {
	for at := NextReminder(rule, since, told); !at.IsZero() && !at.After(now); at = NextReminder(rule, since, told) {
		told++
	}
	return told
}

// maxQuiet is how long an alert waits when the calendars of its rule never end:
// it is not to be lost because of that.
const maxQuiet = 30 * 24 * time.Hour

// QuietHours makes calendars ready for [Route]. A calendar that a rule names
// and that does not exist holds back no notification.
func QuietHours(calendars []schedule.Calendar) (quiet func(rule Rule, at time.Time) (until time.Time), err error) {
	var p core.Problems
	given := map[[2]string]schedule.NamedCalendar{}
	for _, c := range calendars {
		g := schedule.Schedule{Namespace: c.Namespace, Blackout: []string{c.Name}}.Gate(&p, []schedule.Calendar{c})
		if len(g.Blackout) == 1 {
			given[[2]string{c.Namespace, c.Name}] = g.Blackout[0]
		}
	}
	return func(rule Rule, at time.Time) time.Time {
		var g schedule.Gate
		for _, name := range rule.Quiet {
			if c, is := given[[2]string{rule.Namespace, name}]; is {
				g.Blackout = append(g.Blackout, c)
			}
		}
		switch until := g.NextOpen(at); {
		case until.IsZero():
			return at.Add(maxQuiet)
		case until.After(at):
			return until
		}
		return time.Time{}
	}, p.Err("calendars")
}

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

// Delivery is a result of [Route]: one alert to write.
type Delivery struct {
	Rule    string
	Channel string
	DueAt   time.Time
	Held    string // why it waits longer than its group; the first reason of the alert
}

// HeldQuiet is the prefix of the reason of an alert that waits for the end of
// quiet hours.
const HeldQuiet = "quiet hours"

// Route decides who receives a notification, and when. It goes through every rule
// that it fits, to each channel once, by the first of these rules. Rules apply in
// the order of their names, so the route is always the same.
//
// The start of a problem waits for its group. The end goes at once, and so does a
// test, which fits rules of all types. In quiet hours they wait for the end of
// these; quiet returns that end for a rule, or zero if at is not a quiet time. A
// nil quiet means that there are no quiet hours.
//
// A reminder is routed only through the rule that reminds.
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
	Gone    string     // why rules no longer send the alert to its channel; "": one does
	Instead []Delivery // where its rule sends it now, if Gone
	DueAt   time.Time  // when it is due, if not now
	Held    string     // why it waits until DueAt
}

// Reroute decides again about a waiting alert, by the current rules and quiet
// hours. The wait for its group is over. A reminder follows only the rule that
// reminds. An alert waits for quiet hours at most 30 days in total.
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

// due returns when a notification of the rule is due.
func (a Rule) due(n Notification, now time.Time) time.Time {
	if group := core.Or(a.Group, DefaultGroup); group > 0 && !n.Type.Over() && n.Type != NotificationTest {
		return now.Add(group.D())
	}
	return now
}

// Fits reports whether the rule applies to a notification.
func (a Rule) Fits(n Notification) bool {
	if a.Off || core.Or(a.Namespace, core.DefaultNamespace) != core.Or(n.Namespace, core.DefaultNamespace) {
		return false
	}
	return a.selects(n) && a.names(n) && (len(a.Tags) == 0 || core.Share(a.Tags, n.Tags))
}

func (a Rule) selects(n Notification) bool {
	of := n.Type
	if of == NotificationClosed { // also if only reminders told of the start
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

// NextReminder returns when a rule reminds next of an outage that began at since,
// after that many reminders. The first interval is the remind setting, and each
// further one is twice as long. Zero means no more reminders.
func NextReminder(rule Rule, since time.Time, told int) time.Time {
	if rule.Off || rule.Remind <= 0 || told < 0 || told >= core.Or(rule.RemindMax, DefaultRemindMax) {
		return time.Time{}
	}
	times := math.Pow(2, float64(told+1)) - 1 // 1 + 2 + 4 + ...
	if times*float64(rule.Remind) > float64(job.MaxDelay) {
		return time.Time{} // the interval is too long
	}
	return since.Add(time.Duration(times) * rule.Remind.D())
}

// PassedReminders returns how many reminders of an outage count as sent at now,
// after the reminder with number told. Reminders whose time has passed meanwhile
// count as well: that one replaces them.
func PassedReminders(rule Rule, since time.Time, told int, now time.Time) int {
	for at := NextReminder(rule, since, told); !at.IsZero() && !at.After(now); at = NextReminder(rule, since, told) {
		told++
	}
	return told
}

// maxQuiet is the longest wait of an alert for quiet hours, so that it is not
// lost if the calendars of its rule never end.
const maxQuiet = 30 * 24 * time.Hour

// QuietHours compiles calendars for [Route]. A missing calendar of a rule holds
// back no notification.
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

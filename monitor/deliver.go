package monitor

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/belfry-run/belfry/alert"
	"github.com/belfry-run/belfry/core"
)

// Dispatch is what [Deliver] decides for one alert: it is sent now, or waits
// until an instant, or is never sent; and for the last two why.
type Dispatch struct {
	ID     int64
	Send   bool
	Until  time.Time // it stays pending and becomes due then; zero: it is suppressed, or sent
	Reason string    // to be kept in the alert's row
	// Instead are the channels that the rule of a suppressed alert names now.
	Instead []alert.Delivery
}

// DeliveryFacts is what is so at the moment in which alerts of a channel are
// due.
type DeliveryFacts struct {
	// Monitors holds every monitor that the alerts are about, by name. One that
	// is missing was deleted.
	Monitors map[string]Facts
	// Notified is what became of the alerts on this channel that say down, or still
	// down, of an incident: sent if any of them was, pending if one is on its
	// way, otherwise the state of the last. Empty: there was none. It is asked
	// for ends alone.
	Notified func(incident int64) alert.State
	// Rules are those of the namespace, and Quiet answers as for [alert.Route]: both
	// may have changed since an alert was written.
	Rules []alert.Rule
	Quiet func(rule alert.Rule, at time.Time) (until time.Time)
}

// Facts is what is so of a monitor.
type Facts struct {
	State       State
	Muted       bool
	Maintenance ActiveWindow // the occurrence that it is in, if any
	Parent      string       // a monitor that it depends on and that is down, if any
	// Acknowledged is by whom its open incident is.
	Acknowledged string
}

// Times of delivery.
const (
	// waitParent is how soon an alert is looked at again whose cause may lie in
	// another monitor, and settleParent how long its target has, once that one
	// is up, to be seen up as well: two checks and a bit.
	waitParent   = time.Minute
	settleParent = 3 * time.Minute
	// waitBegin is how soon an end is looked at again whose start is being sent
	// at this moment.
	waitBegin = 5 * time.Second
)

// Why an alert is not sent.
const (
	whyMuted     = "the monitor is muted"
	whyDeleted   = "the monitor was deleted"
	whyPaused    = "the monitor is paused"
	whyOver      = "over before it was sent"
	whyWithEnd   = "sent with its end"
	whyNeverSent = "its start was not sent"
	whyTwice     = "sent by another alert"
	whyBegin     = "its start is being sent"
	whyParent    = ", which it depends on, is down"
	whySettling  = ", which it depends on, was down until now"
	whyCared     = "acknowledged by "
)

// Deliver decides about the pending alerts of one channel, due and not due,
// but for those that a node is telling at this moment. An alert without an
// answer stays as it is. Those to be sent go together: see [alert.Bundle].
//
//   - Who waits for its group goes along with the first of it that is sent.
//   - What is over before it was sent is not sent, but for an outage: its up is
//     sent, which says from when to when it was, and its down is not.
//   - What was tried once is tried on: what decided it may have gone since.
//   - An up goes only where its down went, or where there was no down to go.
//   - What waited for the end of quiet hours is sent if it is still so.
//   - What waited for more than its group is routed again: see [alert.Reroute]. It
//     is not sent when no rule sends it to this channel now, but the end
//     of an outage goes where its start was sent.
//   - In maintenance, and while a monitor it depends on is down, no start
//     is sent. A problem that persists is sent afterwards. Pages are meant to
//     change in maintenance, so that is not sent at all.
//   - While an incident is acknowledged, no reminder of it is sent. All else is.
//   - A monitor that is muted sends nothing but the end of what was sent before:
//     else a pager would ring on for what has long been mended.
func Deliver(alerts []alert.Alert, facts DeliveryFacts, now time.Time) []Dispatch {
	d := dispatcher{facts: facts, now: now, decided: map[int64]Dispatch{}}
	d.alerts = slices.SortedFunc(slices.Values(alerts), func(a, b alert.Alert) int { return cmp.Compare(a.ID, b.ID) })
	isDue := func(a alert.Alert) bool { return !a.DueAt.After(now) }
	for _, a := range d.alerts {
		if isDue(a) && a.Notification.Type.Over() {
			d.end(a)
		}
	}
	flush := false
	for _, a := range d.alerts {
		if isDue(a) && d.open(a) {
			d.begin(a)
			flush = flush || d.decided[a.ID].Send && a.Tries == 0 && a.Notification.Type != alert.NotificationTest
		}
	}
	for _, a := range d.alerts { // the rest of the group
		if flush && d.open(a) && inGroup(a) {
			d.begin(a)
		}
	}
	var out []Dispatch
	for _, a := range d.alerts {
		if answer, is := d.decided[a.ID]; is {
			out = append(out, answer)
		}
	}
	return out
}

// inGroup reports that an alert waits for nothing but its group. A reminder is
// planned long before it is due.
func inGroup(a alert.Alert) bool {
	return a.Tries == 0 && a.Reason == "" && !a.Notification.Type.Over() && a.Notification.Type != alert.NotificationReminder
}

// dispatcher is one call of Deliver.
type dispatcher struct {
	facts   DeliveryFacts
	now     time.Time
	alerts  []alert.Alert // in the order of their ids
	decided map[int64]Dispatch
}

func (d *dispatcher) open(a alert.Alert) bool {
	_, is := d.decided[a.ID]
	return !is
}

func (d *dispatcher) send(a alert.Alert) { d.decided[a.ID] = Dispatch{ID: a.ID, Send: true} }

func (d *dispatcher) suppress(a alert.Alert, why string) {
	d.decided[a.ID] = Dispatch{ID: a.ID, Reason: why}
}

func (d *dispatcher) wait(a alert.Alert, until time.Time, why string) {
	d.decided[a.ID] = Dispatch{ID: a.ID, Until: until, Reason: why}
}

// end decides about an alert that says that something is over, and with it
// about those that say that it began.
func (d *dispatcher) end(a alert.Alert) {
	m, known := d.facts.Monitors[a.Notification.Monitor]
	closed, outage := a.Notification.Type == alert.NotificationClosed, a.Notification.Begin() == alert.NotificationDown
	begins, reminders := d.unsentStarts(a, outage)
	hidden, why := hiddenBy(m), whyOver
	switch {
	case closed:
		hidden = ""
	case !known:
		hidden, why = whyDeleted, whyDeleted
	case m.Muted:
		hidden, why = whyMuted, whyMuted
	}
	notified := alert.State("")
	if outage && d.facts.Notified != nil {
		notified = d.facts.Notified(a.Notification.Incident)
	}
	again := d.reroute(a)
	switch {
	case known && m.Muted && notified != alert.Sent:
		d.suppress(a, whyMuted)
	case again.Gone != "" && notified != alert.Sent:
		d.suppress(a, again.Gone)
	case again.Gone == "" && again.DueAt.After(d.now):
		d.wait(a, again.DueAt, again.Held)
		return // what began is decided for itself
	case a.Tries > 0 || a.Message != "": // it was to be sent before, and was not taken, or its node died in the try
		d.send(a)
		why = whyWithEnd
	case notified == alert.Sent || notified == alert.Failed: // the end goes where the start went, or should have gone
		d.send(a)
		why = whyWithEnd
	case len(begins) > 0:
		if a.Notification.Type == alert.NotificationUp && hidden == "" && !slices.ContainsFunc(begins, waited) ||
			closed && slices.ContainsFunc(begins, func(b alert.Alert) bool { return b.Tries > 0 }) { // which may have arrived
			d.send(a)
			why = whyWithEnd
		} else {
			d.suppress(a, whyNeverSent)
		}
	case notified == alert.Pending:
		d.wait(a, d.now.Add(waitBegin), whyBegin)
	case notified == alert.Suppressed:
		d.suppress(a, whyNeverSent)
	case hidden != "" && outage: // any other end follows a start that was sent
		d.suppress(a, hidden)
	case closed && outage && notified == "":
		d.suppress(a, whyNeverSent)
	default:
		d.send(a)
	}
	for _, b := range begins {
		d.suppress(b, why)
	}
	for _, b := range reminders {
		d.suppress(b, whyOver)
	}
}

// reroute routes an alert again that waits for more than its group. All others
// go as they were routed.
func (d *dispatcher) reroute(a alert.Alert) alert.Rerouted {
	if a.Tries > 0 || a.Notification.Type != alert.NotificationReminder && !waited(a) {
		return alert.Rerouted{}
	}
	return alert.Reroute(a, d.facts.Rules, d.facts.Quiet, d.now)
}

// unsentStarts are the alerts that are pending and say that it began what a says is
// over, and the reminders of it.
func (d *dispatcher) unsentStarts(a alert.Alert, outage bool) (begins, reminders []alert.Alert) {
	for _, b := range d.alerts {
		if !d.open(b) || b.ID > a.ID && b.Notification.Type != alert.NotificationReminder || b.Notification.Monitor != a.Notification.Monitor || outage && b.Notification.Incident != a.Notification.Incident {
			continue
		}
		switch {
		case b.Notification.Type == a.Notification.Begin():
			begins = append(begins, b)
		case b.Notification.Type == alert.NotificationReminder && a.Notification.Begin() == alert.NotificationDown:
			reminders = append(reminders, b)
		}
	}
	return begins, reminders
}

// waited reports that an alert was kept back for more than its group.
func waited(a alert.Alert) bool {
	return strings.HasPrefix(a.Reason, alert.HeldQuiet) || strings.HasPrefix(a.Reason, heldWindow) ||
		strings.HasSuffix(a.Reason, whyParent) || strings.HasSuffix(a.Reason, whySettling)
}

// heldWindow is how the reason of an alert begins that waits for the end of a
// maintenance.
const heldWindow = "maintenance "

// hiddenBy says why a monitor sends no notification now; empty when it does.
func hiddenBy(m Facts) string {
	switch {
	case m.Maintenance.Name != "":
		return heldWindow + m.Maintenance.Name
	case m.Parent != "":
		return m.Parent + whyParent
	}
	return ""
}

// begin decides about an alert that says that something begins, goes on, or
// just happened.
func (d *dispatcher) begin(a alert.Alert) {
	again := d.reroute(a)
	switch {
	case again.Gone != "":
		d.decided[a.ID] = Dispatch{ID: a.ID, Reason: again.Gone, Instead: again.Instead}
		return
	case a.Notification.Monitor == "" && again.DueAt.After(d.now):
		d.wait(a, again.DueAt, again.Held)
		return
	case a.Notification.Monitor == "" || a.Notification.Type == alert.NotificationTest:
		d.send(a)
		return
	}
	m, known := d.facts.Monitors[a.Notification.Monitor]
	switch why := hiddenBy(m); {
	case !known:
		d.suppress(a, whyDeleted)
	case m.Muted:
		d.suppress(a, whyMuted)
	case !stillSo(a.Notification, m.State) && !m.State.PausedAt.IsZero():
		d.suppress(a, whyPaused)
	case !stillSo(a.Notification, m.State):
		d.suppress(a, whyOver)
	case d.sentByOther(a):
		d.suppress(a, whyTwice)
	case m.Acknowledged != "" && a.Notification.Type == alert.NotificationReminder:
		d.suppress(a, whyCared+m.Acknowledged)
	case why != "" && a.Notification.Type == alert.NotificationReminder:
		d.suppress(a, why)
	case m.Maintenance.Name != "":
		d.inMaintenance(a, m.Maintenance)
	case again.DueAt.After(d.now):
		d.wait(a, again.DueAt, again.Held)
	case m.Parent != "":
		d.wait(a, d.now.Add(waitParent), why)
	case strings.HasSuffix(a.Reason, whyParent):
		d.wait(a, d.now.Add(settleParent), strings.TrimSuffix(a.Reason, whyParent)+whySettling)
	default:
		d.send(a)
	}
}

func (d *dispatcher) inMaintenance(a alert.Alert, w ActiveWindow) {
	why := heldWindow + w.Name
	if a.Notification.Type == alert.NotificationChanged {
		d.suppress(a, why)
		return
	}
	until := w.To
	if !until.After(d.now) {
		until = d.now.Add(waitParent)
	}
	d.wait(a, until, fmt.Sprintf("%s until %s", why, core.Stamp(until)))
}

// stillSo reports whether a notification still holds of the monitor now. An event that
// happened once stays so.
func stillSo(n alert.Notification, s State) bool {
	if !s.PausedAt.IsZero() {
		return n.Type == alert.NotificationChanged || n.Type == alert.NotificationCertificate
	}
	switch n.Type {
	case alert.NotificationDown, alert.NotificationReminder:
		return s.Status() == StatusDown && s.Incident == n.Incident
	case alert.NotificationDegraded:
		return s.Degraded || slices.Contains(s.Notified, alert.NotificationDegraded) // one good check does not end it
	case alert.NotificationSlow:
		return s.Slow
	case alert.NotificationFlapping:
		return s.Flapping
	case alert.NotificationStale:
		return s.Stale
	}
	return true
}

// sentByOther reports that another pending alert tells the same: for a down an
// earlier one of its incident, for a reminder the down itself, or a later one
// that is due as well.
func (d *dispatcher) sentByOther(a alert.Alert) bool {
	return slices.ContainsFunc(d.alerts, func(b alert.Alert) bool {
		if b.ID == a.ID || b.Notification.Monitor != a.Notification.Monitor || b.Notification.Incident != a.Notification.Incident || d.suppressed(b) {
			return false
		}
		switch a.Notification.Type {
		case alert.NotificationDown:
			return b.Notification.Type == alert.NotificationDown && b.ID < a.ID
		case alert.NotificationReminder:
			return b.Notification.Type == alert.NotificationDown || b.Notification.Type == alert.NotificationReminder && b.ID > a.ID && !b.DueAt.After(d.now)
		}
		return false
	})
}

func (d *dispatcher) suppressed(a alert.Alert) bool {
	answer, is := d.decided[a.ID]
	return is && !answer.Send && answer.Until.IsZero()
}

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

// Dispatch is the decision of [Deliver] about one alert: it is sent now, waits
// until an instant, or is never sent. In the last two cases it has a reason.
type Dispatch struct {
	ID     int64
	Send   bool
	Until  time.Time // when the pending alert becomes due; zero: it is sent or suppressed
	Reason string    // recorded in the row of the alert
	// Instead are the channels to which rules send a suppressed alert now.
	Instead []alert.Delivery
}

// DeliveryFacts are the current data for a decision about the alerts of a
// channel.
type DeliveryFacts struct {
	// Monitors has every monitor of the alerts, by name. A missing monitor was
	// deleted.
	Monitors map[string]Facts
	// Notified returns the state of the alerts of this channel that report the
	// problem that an alert ends: sent if any was sent, pending if one is under
	// way, otherwise the state of the last. It is empty if there was none. It is
	// called only for ends of outages and for what closes a problem.
	Notified func(end alert.Alert) alert.State
	// Rules are the rules of the namespace, and Quiet is as for [alert.Route]. Both
	// may have changed since an alert was written.
	Rules []alert.Rule
	Quiet func(rule alert.Rule, at time.Time) (until time.Time)
}

// Facts are the current data of a monitor.
type Facts struct {
	State       State
	Muted       bool
	Maintenance ActiveWindow // current maintenance, if any
	Parent      string       // a monitor that is down and on which it depends, if any
	// Acknowledged is the person who acknowledged its open incident.
	Acknowledged string
}

// Times of delivery.
const (
	// waitParent is how soon an alert is judged again if its cause may be another
	// monitor that is down. settleParent is how long the target has to be seen up
	// after that monitor is up: slightly more than two checks.
	waitParent   = time.Minute
	settleParent = 3 * time.Minute
	// waitBegin is how soon an end is judged again if its start is being sent at
	// this moment.
	waitBegin = 5 * time.Second
)

// The reasons why an alert is not sent.
const (
	whyMuted        = "the monitor is muted"
	whyDeleted      = "the monitor was deleted"
	whyPaused       = "the monitor is paused"
	whyOver         = "over before it was sent"
	whyWithEnd      = "sent with its end"
	whyNeverSent    = "its start was not sent"
	whyDuplicate    = "sent by another alert"
	whyBegin        = "its start is being sent"
	whyParent       = ", which it depends on, is down"
	whySettling     = ", which it depends on, was down until now"
	whyAcknowledged = "acknowledged by "
)

// Deliver decides about the pending alerts of one channel, due and not due,
// except alerts that a node is sending at this moment. An alert without a
// decision stays as it is. Alerts to send are grouped by [alert.Bundle].
//
//   - An alert that waits for its group is sent with the first alert of the group.
//   - A problem that ended before it was sent is not sent, except an outage: its
//     up is sent, with start and end of the outage, and its down is not.
//   - An alert that was tried once is tried again, whatever has changed since.
//   - An up goes only where its down went, or where there was no down to send.
//   - An alert that waited for the end of quiet hours is sent if it still holds.
//   - An alert that waited longer than its group is routed again: see
//     [alert.Reroute]. It is not sent if no rule sends it to this channel any
//     more, but the end of an outage goes where its start was sent.
//   - In maintenance, and while a monitor on which it depends is down, no start is
//     sent. A problem that persists is sent afterwards. A page change is never
//     sent, because pages are expected to change in maintenance.
//   - While an incident is acknowledged, only reminders of it are not sent.
//   - A muted monitor sends only the end of problems that were sent before:
//     otherwise a pager would ring on after the repair.
func Deliver(alerts []alert.Alert, facts DeliveryFacts, now time.Time) []Dispatch {
	d := dispatcher{facts: facts, now: now, decided: map[int64]Dispatch{}}
	d.alerts = slices.SortedFunc(slices.Values(alerts), func(a, b alert.Alert) int { return cmp.Compare(a.ID, b.ID) })
	isDue := func(a alert.Alert) bool { return !a.DueAt.After(now) }
	for _, a := range d.alerts {
		if isDue(a) && a.Notification.Type.Over() {
			d.decideEnd(a)
		}
	}
	flush := false
	for _, a := range d.alerts {
		if isDue(a) && d.undecided(a) {
			d.decideStart(a)
			flush = flush || d.decided[a.ID].Send && a.Tries == 0 && a.Notification.Type != alert.NotificationTest
		}
	}
	for _, a := range d.alerts { // the other alerts of the group
		if flush && d.undecided(a) && inGroup(a) {
			d.decideStart(a)
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

// inGroup reports whether an alert waits only for its group. A reminder does not:
// it is planned long before it is due.
func inGroup(a alert.Alert) bool {
	return a.Tries == 0 && a.Reason == "" && !a.Notification.Type.Over() && a.Notification.Type != alert.NotificationReminder
}

// dispatcher is one call of Deliver.
type dispatcher struct {
	facts   DeliveryFacts
	now     time.Time
	alerts  []alert.Alert // in the order of their IDs
	decided map[int64]Dispatch
}

func (d *dispatcher) undecided(a alert.Alert) bool {
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

// decideEnd decides about an alert that ends a problem, and about the alerts that began
// it.
func (d *dispatcher) decideEnd(a alert.Alert) {
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
	if (outage || closed) && d.facts.Notified != nil {
		notified = d.facts.Notified(a)
	}
	again := d.reroute(a)
	switch {
	case known && m.Muted && notified != alert.Sent:
		d.suppress(a, whyMuted)
	case again.Gone != "" && notified != alert.Sent:
		d.suppress(a, again.Gone)
	case again.Gone == "" && again.DueAt.After(d.now):
		d.wait(a, again.DueAt, again.Held)
		return // the start is decided separately
	case a.Tries > 0 || a.Message != "": // an earlier attempt failed, or its node died meanwhile
		d.send(a)
		why = whyWithEnd
	case notified == alert.Sent || notified == alert.Failed: // the end goes where the start went or should have gone
		d.send(a)
		why = whyWithEnd
	case len(begins) > 0:
		if a.Notification.Type == alert.NotificationUp && hidden == "" && !slices.ContainsFunc(begins, wasHeld) ||
			closed && slices.ContainsFunc(begins, func(b alert.Alert) bool { return b.Tries > 0 }) { // a start may have arrived
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
	case closed && notified == "":
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

// reroute routes an alert again if it waited longer than its group. Other alerts
// keep their route.
func (d *dispatcher) reroute(a alert.Alert) alert.Rerouted {
	if a.Tries > 0 || a.Notification.Type != alert.NotificationReminder && !wasHeld(a) {
		return alert.Rerouted{}
	}
	return alert.Reroute(a, d.facts.Rules, d.facts.Quiet, d.now)
}

// unsentStarts returns the pending alerts that begin the problem that a ends, and
// the pending reminders of it.
func (d *dispatcher) unsentStarts(a alert.Alert, outage bool) (begins, reminders []alert.Alert) {
	for _, b := range d.alerts {
		if !d.undecided(b) || b.ID > a.ID && b.Notification.Type != alert.NotificationReminder || b.Notification.Monitor != a.Notification.Monitor || outage && b.Notification.Incident != a.Notification.Incident {
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

// wasHeld reports whether an alert was held longer than its group.
func wasHeld(a alert.Alert) bool {
	return strings.HasPrefix(a.Reason, alert.HeldQuiet) || strings.HasPrefix(a.Reason, heldWindow) ||
		strings.HasSuffix(a.Reason, whyParent) || strings.HasSuffix(a.Reason, whySettling)
}

// heldWindow is the prefix of the reason of an alert that waits for the end of
// maintenance.
const heldWindow = "maintenance "

// hiddenBy returns why a monitor sends no notifications now, or "" if it does.
func hiddenBy(m Facts) string {
	switch {
	case m.Maintenance.Name != "":
		return heldWindow + m.Maintenance.Name
	case m.Parent != "":
		return m.Parent + whyParent
	}
	return ""
}

// decideStart decides about an alert for a start, a reminder or a single event.
func (d *dispatcher) decideStart(a alert.Alert) {
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
	case !stillHolds(a.Notification, m.State) && !m.State.PausedAt.IsZero():
		d.suppress(a, whyPaused)
	case !stillHolds(a.Notification, m.State):
		d.suppress(a, whyOver)
	case d.isDuplicate(a):
		d.suppress(a, whyDuplicate)
	case m.Acknowledged != "" && a.Notification.Type == alert.NotificationReminder:
		d.suppress(a, whyAcknowledged+m.Acknowledged)
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

// stillHolds reports whether a notification still holds. A single event always does.
func stillHolds(n alert.Notification, s State) bool {
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

// isDuplicate reports whether another pending alert has the same content: for a
// down, an earlier one of its incident; for a reminder, the down itself or a
// later reminder that is due as well.
func (d *dispatcher) isDuplicate(a alert.Alert) bool {
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

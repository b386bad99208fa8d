package monitor

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/belfry-run/belfry/alert"
	"github.com/belfry-run/belfry/core"
	"github.com/belfry-run/belfry/core/title"
	"github.com/belfry-run/belfry/task"
)

// notify compares the current problems with the notified problems and notifies the
// difference. So each notification has its counterpart. Problems that were not
// notified during maintenance or flapping are notified afterwards if they still
// hold.
func (a *assessment) notify() {
	s := &a.s
	a.notifyPair(alert.NotificationStale, alert.NotificationFresh, s.Stale, !s.Stale)
	a.notifyPair(alert.NotificationFlapping, alert.NotificationSteady, s.Flapping, !s.Flapping)
	if !s.Flapping {
		// A target that passes again is not notified as down, only if it fails once
		// more.
		isDown := s.Verdict == VerdictDown && s.LastOutcome == task.CheckFail
		a.notifyPair(alert.NotificationDown, alert.NotificationUp, isDown, s.Verdict == VerdictUp || s.Verdict == VerdictConfirming)
		a.notifyPair(alert.NotificationDegraded, alert.NotificationRecovered, s.DegradedRun >= 2, s.DegradedRun <= -2)
	}
	a.notifyPair(alert.NotificationSlow, alert.NotificationNormal, s.Slow, !s.Slow)
}

// notifyPair notifies the start of a problem that was not notified, or the end of a
// problem whose start was notified.
func (a *assessment) notifyPair(wrong, over alert.NotificationType, is, isOver bool) {
	s := &a.s
	notified := slices.Contains(s.Notified, wrong)
	switch {
	case is && !notified && !a.holdsStarts():
		s.Notified = append(s.Notified, wrong)
		a.j.Notifications = append(a.j.Notifications, a.notification(wrong))
	case isOver && notified:
		s.Notified = slices.DeleteFunc(s.Notified, func(t alert.NotificationType) bool { return t == wrong })
		if !a.m.Muted || wrong == alert.NotificationDown { // [Deliver] sends the end where the start went: no pager rings on
			a.j.Notifications = append(a.j.Notifications, a.notification(over))
		}
		if wrong == alert.NotificationDown {
			s.NotifiedIncident = 0
		}
	}
}

// holdsStarts reports whether no start of a problem is notified now. The end goes where
// the start went, even in maintenance.
func (a *assessment) holdsStarts() bool {
	return a.m.Muted || a.s.Maintenance != "" || a.env.DependsDown != ""
}

// certsKept is the most expiry times of certificates that are remembered as
// notified: as many servers behind one name may have their own certificates.
const certsKept = 4

// notifyCertificate notifies each certificate that expires soon, once.
func (a *assessment) notifyCertificate(o Observation) {
	s := &a.s
	if o.CertEnd.IsZero() {
		return
	}
	s.CertEnd = core.Micro(o.CertEnd)
	days := task.DefaultWarnDays
	if a.m.Check.TLS != nil && a.m.Check.TLS.WarnDays != 0 {
		days = a.m.Check.TLS.WarnDays
	}
	notified := s.CertEnd.Equal(s.CertWarned) || slices.ContainsFunc(s.CertsWarned, s.CertEnd.Equal)
	if days < 0 || notified || a.holdsStarts() || s.CertEnd.Sub(a.now) > time.Duration(days)*24*time.Hour {
		return
	}
	if !s.CertWarned.IsZero() {
		s.CertsWarned = append(s.CertsWarned, s.CertWarned)
		s.CertsWarned = s.CertsWarned[max(0, len(s.CertsWarned)-certsKept+1):]
	}
	s.CertWarned = s.CertEnd
	a.j.Notifications = append(a.j.Notifications, a.notification(alert.NotificationCertificate))
}

// notification returns a notification of the monitor. Start and duration of an
// outage are fields, formatted when it is sent, which may be later.
func (a *assessment) notification(t alert.NotificationType) alert.Notification {
	s := &a.s
	n := alert.Notification{
		Type: t, At: a.now, Namespace: a.m.Namespace, Monitor: a.m.Name, DisplayTitle: a.m.Title, Tags: slices.Clone(a.m.Tags),
		Incident: s.Incident, Code: s.LastCode, Target: a.m.Check.Target().Public, About: about(a.m.Description),
	}
	var text []string
	say := func(format string, args ...any) { text = append(text, fmt.Sprintf(format, args...)) }
	switch t {
	case alert.NotificationDown:
		n.At, n.Since, n.Code, n.Title = s.Since, s.Since, s.FirstCode, "is down"
		say("%s", cause(s.FirstCode, s.FirstText))
		if s.LastMessage != "" && s.LastMessage != s.FirstText {
			say("Last: %s", cause(s.LastCode, s.LastMessage))
		}
		say("%s in a row failed.", core.Plural(s.Failures, "check"))
		if !s.LastGoodAt.IsZero() {
			say("Last good: %s.", core.Stamp(s.LastGoodAt))
		}
	case alert.NotificationUp:
		n.At, n.Since, n.Lasted, n.Title = s.Since, s.OutageAt, core.Duration(s.Since.Sub(s.OutageAt)), "is up again"
		n.Incident, n.Code = s.NotifiedIncident, ""
		say("It was: %s", cause(s.FirstCode, s.FirstText))
	case alert.NotificationDegraded:
		n.Title = "is degraded"
		say("%s", cause(s.LastCode, s.LastMessage))
	case alert.NotificationRecovered:
		n.Title = "is no longer degraded"
	case alert.NotificationSlow:
		n.Title = "is slow"
		say("The last check took %s. It takes %s on average.", core.SpanText(s.LastLatency.D()), core.SpanText(time.Duration(s.Typical.Mean*float64(time.Microsecond))))
	case alert.NotificationNormal:
		n.Title = "is no longer slow"
		say("The last check took %s.", core.SpanText(s.LastLatency.D()))
	case alert.NotificationFlapping:
		n.Title = "changes too often"
		if turns := s.Turns.Among(flapChecks); turns >= flapChanges {
			say("It went down or came up %d times in the last %d checks.", turns, min(s.Turns.Count, flapChecks))
		} else {
			say("The last %d checks changed between good and failed at %.0f%% of the chances.", s.Recent.Count, s.Recent.Changes())
		}
		say("It is %s now. Single changes are not told until it is steady.", s.Status())
	case alert.NotificationSteady:
		n.Title = "is steady again"
		say("It is %s since %s.", s.Status(), core.Stamp(s.Since))
	case alert.NotificationStale:
		n.Title = "cannot be checked"
		say("%s in a row could not be made: %s", core.Plural(s.Errors, "check"), cause(s.LastCode, s.LastMessage))
		if !s.LastSeenAt.IsZero() {
			say("Last known: %s, at %s.", s.Status(), core.Stamp(s.LastSeenAt))
		}
	case alert.NotificationFresh:
		n.Title = "can be checked again"
		say("It is %s.", s.Status())
	case alert.NotificationChanged:
		n.Title = "has changed"
		n.Code = ""
	case alert.NotificationCertificate:
		n.Title = fmt.Sprintf("has a certificate that ends on %s", s.CertEnd.Format(time.DateOnly))
		if left := s.CertEnd.Sub(a.now); left > 0 {
			say("It ends in %s, at %s.", core.Plural(int(left/(24*time.Hour)), "day"), core.Stamp(s.CertEnd))
		} else {
			say("It ended at %s.", core.Stamp(s.CertEnd))
		}
	}
	n.Title = title.Named(a.m.Title, a.m.Name) + " " + n.Title
	n.Text = strings.Join(text, "\n")
	return n
}

// aboutMost is the most runes of a description in a notification.
const aboutMost = 200

func about(description string) string {
	text := strings.Join(strings.Fields(description), " ")
	if r := []rune(text); len(r) > aboutMost {
		return string(r[:aboutMost]) + "…"
	}
	return text
}

// causeMost is the most runes of an answer in a notification.
const causeMost = 300

// cause formats a code and its message in one line.
func cause(code task.CheckCode, message string) string {
	message = strings.Join(strings.Fields(message), " ")
	if r := []rune(message); len(r) > causeMost {
		message = string(r[:causeMost]) + "…"
	}
	switch {
	case message == "":
		return core.Or(string(code), "unknown")
	case code == "":
		return message
	}
	return string(code) + ": " + message
}

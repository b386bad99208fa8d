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

// tell compares what is wrong with what was notified, and notifies
// the difference. So each notification has its counterpart, and what was kept from
// people during maintenance or while the target flapped is sent afterwards if
// it is still so.
func (h *hearing) tell() {
	s := &h.s
	h.pair(alert.NotificationStale, alert.NotificationFresh, s.Stale, !s.Stale)
	h.pair(alert.NotificationFlapping, alert.NotificationSteady, s.Flapping, !s.Flapping)
	if !s.Flapping {
		// A target that passes again is not notified as down because it was
		// before: it is notified if it fails once more.
		isDown := s.Verdict == VerdictDown && s.LastOutcome == task.CheckFail
		h.pair(alert.NotificationDown, alert.NotificationUp, isDown, s.Verdict == VerdictUp || s.Verdict == VerdictConfirming)
		h.pair(alert.NotificationDegraded, alert.NotificationRecovered, s.DegradedRun >= 2, s.DegradedRun <= -2)
	}
	h.pair(alert.NotificationSlow, alert.NotificationNormal, s.Slow, !s.Slow)
}

// pair tells that a problem began, if there is one that was not told, or that it is
// over, if its begin was told.
func (h *hearing) pair(wrong, over alert.NotificationType, is, isOver bool) {
	s := &h.s
	notified := slices.Contains(s.Notified, wrong)
	switch {
	case is && !notified && !h.quiet():
		s.Notified = append(s.Notified, wrong)
		h.j.Notifications = append(h.j.Notifications, h.notification(wrong))
	case isOver && notified:
		s.Notified = slices.DeleteFunc(s.Notified, func(t alert.NotificationType) bool { return t == wrong })
		if !h.m.Muted || wrong == alert.NotificationDown { // [Deliver] sends it where its start was sent: no pager rings on
			h.j.Notifications = append(h.j.Notifications, h.notification(over))
		}
		if wrong == alert.NotificationDown {
			s.NotifiedIncident = 0
		}
	}
}

// quiet is whether no problem is to be notified. The end of one goes where its
// start went, maintenance or not.
func (h *hearing) quiet() bool {
	return h.m.Muted || h.s.Maintenance != "" || h.env.DependsDown != ""
}

// certsKept bounds the ends of certificates that are remembered as notified: as
// many servers behind one name may have certificates of their own.
const certsKept = 4

// certificate tells once of each certificate that ends soon.
func (h *hearing) certificate(o Observation) {
	s := &h.s
	if o.CertEnd.IsZero() {
		return
	}
	s.CertEnd = core.Micro(o.CertEnd)
	days := task.DefaultWarnDays
	if h.m.Check.TLS != nil && h.m.Check.TLS.WarnDays != 0 {
		days = h.m.Check.TLS.WarnDays
	}
	notified := s.CertEnd.Equal(s.CertWarned) || slices.ContainsFunc(s.CertsWarned, s.CertEnd.Equal)
	if days < 0 || notified || h.quiet() || s.CertEnd.Sub(h.now) > time.Duration(days)*24*time.Hour {
		return
	}
	if !s.CertWarned.IsZero() {
		s.CertsWarned = append(s.CertsWarned, s.CertWarned)
		s.CertsWarned = s.CertsWarned[max(0, len(s.CertsWarned)-certsKept+1):]
	}
	s.CertWarned = s.CertEnd
	h.j.Notifications = append(h.j.Notifications, h.notification(alert.NotificationCertificate))
}

// notification is one message to people. Begin and length of an outage are facts of
// the notification, and written out when it is sent, which may be later.
func (h *hearing) notification(t alert.NotificationType) alert.Notification {
	s := &h.s
	n := alert.Notification{
		Type: t, At: h.now, Namespace: h.m.Namespace, Monitor: h.m.Name, DisplayTitle: h.m.Title, Tags: slices.Clone(h.m.Tags),
		Incident: s.Incident, Code: s.LastCode, Target: h.m.Check.Target().Public, About: about(h.m.Description),
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
		if turns := s.Turns.Among(flapChecks); turns >= flapTurns {
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
		if left := s.CertEnd.Sub(h.now); left > 0 {
			say("It ends in %s, at %s.", core.Plural(int(left/(24*time.Hour)), "day"), core.Stamp(s.CertEnd))
		} else {
			say("It ended at %s.", core.Stamp(s.CertEnd))
		}
	}
	n.Title = title.Named(h.m.Title, h.m.Name) + " " + n.Title
	n.Text = strings.Join(text, "\n")
	return n
}

// aboutMost bounds what a notification repeats of a description, in runes.
const aboutMost = 200

func about(description string) string {
	text := strings.Join(strings.Fields(description), " ")
	if r := []rune(text); len(r) > aboutMost {
		return string(r[:aboutMost]) + "…"
	}
	return text
}

// causeMost bounds what a notification repeats of an answer, in runes.
const causeMost = 300

// cause is a code and its message in one line.
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

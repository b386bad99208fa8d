package alert

import (
	"cmp"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"net/url"
	"slices"
	"strings"
	"time"

	"github.com/belfry-run/belfry/core"
	"github.com/belfry-run/belfry/core/title"
)

// Message is the content to send to a channel: one notification, or several in a
// group.
type Message struct {
	Key           string         `json:"key" doc:"The same for every try of this message and for no other"`
	Namespace     string         `json:"namespace"`
	Channel       string         `json:"channel"`
	Title         string         `json:"title"`
	Text          string         `json:"text,omitempty"`
	Severity      string         `json:"severity" enum:"critical,warning,info,ok"`
	URL           string         `json:"url,omitempty" doc:"Where to see more, if the node knows its public address"`
	Notifications []Notification `json:"notifications"`

	Unsubscribe string `json:"unsubscribe,omitempty" doc:"To a subscriber of a status page: where a POST ends the subscription"`
	Challenge   string `json:"challenge,omitempty" doc:"With a subscription to confirm: what a webhook must answer"`

	Body []byte `json:"-"` // body of a request to a hook; replaces all fields but the key and the title, the type of its events
}

// The severities of a message, worst first.
const (
	SeverityCritical = "critical"
	SeverityWarning  = "warning"
	SeverityInfo     = "info"
	SeverityOK       = "ok"
)

var severities = []string{SeverityCritical, SeverityWarning, SeverityInfo, SeverityOK}

// Severity returns the severity of notifications of this type.
func (n NotificationType) Severity() string {
	switch n {
	case NotificationDown, NotificationReminder:
		return SeverityCritical
	case NotificationDegraded, NotificationSlow, NotificationFlapping, NotificationStale, NotificationCertificate, NotificationJobFailed, NotificationScheduleMissed, NotificationHookDisabled:
		return SeverityWarning
	case NotificationUp, NotificationRecovered, NotificationNormal, NotificationSteady, NotificationFresh:
		return SeverityOK
	}
	return SeverityInfo
}

const MaxMessageText = 16 << 10 // bytes

// TestMessage returns the message of a channel test. The nonce makes its key unique.
func TestMessage(c Channel, publicURL, nonce string, now time.Time) Message {
	return Compose(c, []Alert{{
		Message: "test-" + nonce,
		Notification: Notification{
			Type: NotificationTest, At: core.Micro(now), Namespace: c.Namespace,
			Title: "Test of channel " + title.Named(c.Title, c.Name), Text: "Alerts that go to this channel arrive here.",
		},
	}}, publicURL, now)
}

// Compose returns the message for a group of alerts, worst first, and oldest first
// among equals. publicURL is the address of the console, for links; "" means no
// links.
func Compose(channel Channel, alerts []Alert, publicURL string, now time.Time) Message {
	alerts = slices.Clone(alerts)
	slices.SortStableFunc(alerts, func(a, b Alert) int {
		return cmp.Or(slices.Index(severities, a.Notification.Type.Severity())-slices.Index(severities, b.Notification.Type.Severity()), cmp.Compare(a.ID, b.ID))
	})
	m := Message{Namespace: channel.Namespace, Channel: channel.Name, Severity: SeverityInfo}
	if len(alerts) == 0 {
		return m
	}
	m.Key = messageKey(channel, alerts)
	for i, a := range alerts {
		if i == 0 {
			m.Severity = a.Notification.Type.Severity()
			m.URL = pageOf(publicURL, a.Notification)
		} else if m.URL != pageOf(publicURL, a.Notification) {
			m.URL = strings.TrimRight(publicURL, "/") // no single page shows several subjects
		}
		m.Notifications = append(m.Notifications, a.Notification)
	}
	if len(alerts) == 1 {
		m.Title, m.Text = titleOf(alerts[0].Notification), textOf(alerts[0].Notification, now)
	} else {
		m.Title, m.Text = counts(m.Notifications), lines(m.Notifications, now)
	}
	m.Text, _ = core.CleanText(m.Text, MaxMessageText)
	return m
}

// messageKey returns a hash of the notifications and recipients of a message, in any order. The time of the first notification
// is in it, since another installation may use the same names and ids. A retry keeps the key of the first attempt, even if some
// notifications no longer apply. So a receiver that took the message unnoticed recognizes it.
func messageKey(channel Channel, alerts []Alert) string {
	if key := alerts[0].Message; key != "" && !slices.ContainsFunc(alerts, func(a Alert) bool { return a.Message != key }) {
		return key
	}
	ids := make([]int64, len(alerts))
	first := alerts[0].CreatedAt
	for i, a := range alerts {
		ids[i] = a.ID
		if a.CreatedAt.Before(first) {
			first = a.CreatedAt
		}
	}
	slices.Sort(ids)
	sum := sha256.Sum256(fmt.Appendf(nil, "%s/%s %v %d", channel.Namespace, channel.Name, ids, first.UnixMicro()))
	return hex.EncodeToString(sum[:16])
}

// pageOf returns the address of the page with details of a notification.
func pageOf(publicURL string, n Notification) string {
	base := strings.TrimRight(publicURL, "/")
	path := ""
	switch {
	case n.Monitor != "":
		path = "/monitors/" + url.PathEscape(n.Monitor)
	case n.JobID != 0:
		path = fmt.Sprintf("/jobs/%d", n.JobID)
	case n.Schedule != "":
		path = "/schedules/" + url.PathEscape(n.Schedule)
	}
	if base == "" || path == "" {
		return base
	}
	if n.Namespace != "" && n.Namespace != core.DefaultNamespace {
		path += "?namespace=" + url.QueryEscape(n.Namespace)
	}
	return base + path
}

// subject returns the subject of a notification without a title.
func subject(n Notification) string {
	switch {
	case n.Monitor != "":
		return n.Monitor
	case n.JobID != 0:
		return fmt.Sprintf("job %d of %s", n.JobID, n.Task)
	case n.Schedule != "":
		return n.Schedule
	}
	return n.Namespace
}

func titleOf(n Notification) string {
	title, cut := core.CleanText(core.OneLine(n.Title), title.Max)
	if cut {
		title += "…"
	}
	return core.Or(title, subject(n)+": "+strings.ReplaceAll(string(n.Type), "_", " "))
}

// textOf returns the full text of one notification.
func textOf(n Notification, now time.Time) string {
	parts := []string{n.Text}
	if when := period(n, now); when != "" {
		parts = append(parts, strings.ToUpper(when[:1])+when[1:]+".")
	}
	parts = append(parts, n.Diff)
	parts = slices.DeleteFunc(parts, func(s string) bool { return s == "" })
	return strings.Join(parts, "\n")
}

// period returns the period of the problem, if it adds information: an ended
// outage was announced only with its start, late, or not at all.
func period(n Notification, now time.Time) string {
	switch {
	case n.Since.IsZero():
		return ""
	case n.Type == NotificationUp:
		end := n.At
		if n.Lasted > 0 {
			end = n.Since.Add(n.Lasted.D())
		}
		return fmt.Sprintf("was down %s to %s, for %s", clock(n.Since, now), clock(end, n.Since), core.SpanText(end.Sub(n.Since)))
	case n.Type == NotificationDown || n.Type == NotificationReminder:
		return fmt.Sprintf("down since %s, for %s", clock(n.Since, now), core.SpanText(now.Sub(n.Since)))
	}
	return ""
}

// clock formats a time of day, with its date if that differs from the other's.
func clock(t, other time.Time) string {
	t = t.UTC()
	if t.Format(time.DateOnly) == other.UTC().Format(time.DateOnly) {
		return t.Format("15:04:05 UTC")
	}
	return core.Stamp(t)
}

// lines returns one line for each of the first notifications.
func lines(all []Notification, now time.Time) string {
	var b strings.Builder
	for i, n := range all {
		line := titleOf(n)
		if when := period(n, now); when != "" {
			line += " (" + when + ")"
		}
		if i == core.MaxLines || b.Len()+len(line)+len("and 12345 more\n") > MaxMessageText {
			fmt.Fprintf(&b, "and %d more\n", len(all)-i)
			break
		}
		b.WriteString(line + "\n")
	}
	return strings.TrimRight(b.String(), "\n")
}

// tally maps a type to the words for one notification and for several.
var tally = map[NotificationType][2]string{
	NotificationReminder:       {"still down", "still down"},
	NotificationNormal:         {"no longer slow", "no longer slow"},
	NotificationSteady:         {"no longer flapping", "no longer flapping"},
	NotificationFresh:          {"no longer stale", "no longer stale"},
	NotificationCertificate:    {"certificate", "certificates"},
	NotificationJobFailed:      {"job failed", "jobs failed"},
	NotificationScheduleMissed: {"schedule missed", "schedules missed"},
	NotificationCycleEnded:     {"cycle ended", "cycles ended"},
	NotificationHookDisabled:   {"hook disabled", "hooks disabled"},
}

// counts returns a title for several notifications, such as "3 down, 1 up".
func counts(all []Notification) string {
	var parts []string
	for _, kind := range append(slices.Clone(NotificationTypes), NotificationClosed, NotificationTest, NotificationUpdate, NotificationAnnouncement, NotificationStatus, NotificationConfirm) {
		count := 0
		for _, n := range all {
			if n.Type == kind {
				count++
			}
		}
		if count == 0 {
			continue
		}
		word := string(kind)
		if both, is := tally[kind]; is {
			word = both[min(count-1, 1)]
		}
		parts = append(parts, fmt.Sprintf("%d %s", count, word))
	}
	return strings.Join(parts, ", ")
}

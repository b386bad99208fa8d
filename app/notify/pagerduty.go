package notify

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/belfry-run/belfry/alert"
)

// Limits of an event.
const (
	pagerDutySummary = 1024
	pagerDutyKey     = 255
	pagerDutyText    = 4000
)

type pagerDutyEvent struct {
	RoutingKey string            `json:"routing_key"`
	Action     string            `json:"event_action"`
	Key        string            `json:"dedup_key"`
	Client     string            `json:"client,omitempty"`
	ClientURL  string            `json:"client_url,omitempty"`
	Payload    *pagerDutyPayload `json:"payload,omitempty"`
}

type pagerDutyPayload struct {
	Summary   string            `json:"summary"`
	Source    string            `json:"source"`
	Severity  string            `json:"severity"`
	Timestamp string            `json:"timestamp,omitempty"`
	Component string            `json:"component,omitempty"`
	Group     string            `json:"group,omitempty"`
	Class     string            `json:"class,omitempty"`
	Details   map[string]string `json:"custom_details,omitempty"`
}

// pagerDuty sends an event for each outage of the message. The begin of an
// outage triggers an alert, the end resolves it, and both have the same key.
//
// Of several notifications with one key, only the last is sent: earlier ones are
// out of date. A permanent refusal of an event does not stop the others. A
// temporary one ends the try, and the next try goes on from that event.
func (s *Sender) pagerDuty(ctx context.Context, c alert.Channel, m alert.Message) error {
	ctx, cancel := withDeadline(ctx, DefaultTimeout)
	defer cancel()
	p := c.PagerDuty
	api := p.API
	if api == "" {
		api = "https://events.pagerduty.com"
	}
	var refused error
	for _, e := range pagerDutyEvents(p, m) {
		part := e.Action + " " + e.Key
		if s.taken.has(c, m, part) {
			continue
		}
		_, err := s.postJSON(ctx, strings.TrimRight(api, "/")+"/v2/enqueue", http.Header{}, e)
		switch {
		case err == nil:
			s.taken.add(c, m, part)
		case !Permanent(err):
			return err
		case refused == nil:
			refused = err
		}
	}
	return refused
}

func pagerDutyEvents(p *alert.PagerDutyChannel, m alert.Message) []pagerDutyEvent {
	notifications := m.Notifications
	if len(notifications) == 0 { // a message with text alone
		notifications = []alert.Notification{{Type: alert.NotificationTest, Namespace: m.Namespace, Title: m.Title, Text: m.Text}}
	}
	var events []pagerDutyEvent
	for i, n := range notifications {
		key := pagerDutyKeyOf(n, m.Key, i)
		events = slices.DeleteFunc(events, func(e pagerDutyEvent) bool { return e.Key == key })
		events = append(events, pagerDutyEventOf(p, m, n, key))
	}
	return events
}

func pagerDutyEventOf(p *alert.PagerDutyChannel, m alert.Message, n alert.Notification, key string) pagerDutyEvent {
	e := pagerDutyEvent{RoutingKey: string(p.RoutingKey), Action: "trigger", Key: key, Client: "Belfry", ClientURL: link(m.URL)}
	if n.Type.Over() {
		e.Action = "resolve"
	}
	details := map[string]string{}
	for _, f := range factsOf(n) {
		details[strings.ToLower(f.name)] = f.value
	}
	for name, text := range map[string]string{"text": n.Text, "diff": n.Diff} {
		if text = clip(plain(text), pagerDutyText); text != "" {
			details[name] = text
		}
	}
	e.Payload = &pagerDutyPayload{
		Summary: clip(titleOf(n), pagerDutySummary), Source: clip(line(sourceOf(n)), maxTitle), Severity: pagerDutySeverity(n.Type),
		Component: clip(line(subjectOf(n)), maxTitle), Group: clip(line(n.Namespace), maxTitle), Class: line(string(n.Type)), Details: details,
	}
	if e.Payload.Summary == "" {
		e.Payload.Summary = headline(m)
	}
	if e.Payload.Source == "" {
		e.Payload.Source = "belfry"
	}
	if at := writable(n.At); !at.IsZero() {
		e.Payload.Timestamp = at.Format(time.RFC3339)
	}
	return e
}

func sourceOf(n alert.Notification) string {
	if s := subjectOf(n); s != n.Namespace {
		return n.Namespace + "/" + s
	}
	return n.Namespace
}

func pagerDutySeverity(t alert.NotificationType) string {
	switch t {
	case alert.NotificationJobFailed, alert.NotificationScheduleMissed, alert.NotificationStale:
		return "error"
	}
	if s := t.Severity(); s != ok {
		return s
	}
	return info
}

// pagerDutyKeyOf returns the same key for the begin and the end of an outage. An
// event without an end has a key of its own, the same for every try.
func pagerDutyKeyOf(n alert.Notification, message string, i int) string {
	parts := []string{n.Namespace, subjectOf(n)}
	of := n.Type
	if of == alert.NotificationClosed {
		of = n.Ends
	}
	switch of {
	case alert.NotificationDown, alert.NotificationUp, alert.NotificationReminder:
		parts = append(parts, strconv.FormatInt(n.Incident, 10))
	case alert.NotificationDegraded, alert.NotificationRecovered:
		parts = append(parts, "degraded")
	case alert.NotificationSlow, alert.NotificationNormal:
		parts = append(parts, "slow")
	case alert.NotificationFlapping, alert.NotificationSteady:
		parts = append(parts, "flapping")
	case alert.NotificationStale, alert.NotificationFresh:
		parts = append(parts, "stale")
	case alert.NotificationCertificate: // repeated as the expiry approaches: one alert
		parts = append(parts, "certificate")
	default:
		parts = append(parts, string(n.Type), message, strconv.Itoa(i))
	}
	key := line(strings.Join(parts, "/"))
	if len(key) <= pagerDutyKey {
		return key
	}
	sum := sha256.Sum256([]byte(key))
	return cut(key, 180) + "/" + hex.EncodeToString(sum[:16])
}

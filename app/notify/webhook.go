package notify

import (
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"net/http"
	"slices"
	"strings"
	"time"

	"github.com/belfry-run/belfry/alert"
	"github.com/belfry-run/belfry/task"
)

// webhook posts the message as the JSON of [alert.Message]:
//
//	{
//	  "key": "…",                  the same for every try
//	  "namespace": "default",
//	  "channel": "ops",
//	  "title": "shop is down",
//	  "text": "…",                 may be missing
//	  "severity": "critical",      critical, warning, info or ok
//	  "url": "https://…",          may be missing
//	  "notifications": [{"type": "down", "at": "2026-03-01T10:00:00Z", "namespace": "default", "monitor": "shop", "incident": 7, …}]
//	}
//
// Fields are only ever added. Times are RFC 3339, durations texts such as
// "1h30m". A message longer than 1 MiB is cut: first its texts, then its
// notifications; the text then gives the number of omitted ones.
//
// The body of a hook event is sent unchanged; its type is the title.
//
// Belfry-Event is the type of the notifications, or "mixed"; Belfry-Delivery and
// Idempotency-Key are the message's key; Belfry-Signature is for [Verify].
func (s *Sender) webhook(ctx context.Context, c alert.Channel, m alert.Message) error {
	w := c.Webhook
	body, event := m.Body, m.Title
	if body == nil {
		body, event = payload(m), eventOf(m)
	}
	header := http.Header{}
	for _, name := range slices.Sorted(maps.Keys(w.Headers)) {
		if !headerName(name) || strings.ContainsFunc(string(w.Headers[name]), isControl) {
			return permanent("its header %.80q cannot be sent: it has a name or a value that HTTP does not allow", line(name))
		}
		header.Set(name, string(w.Headers[name]))
	}
	header.Del("Content-Length")
	header.Set("Content-Type", "application/json; charset=utf-8")
	header.Set(HeaderEvent, headerValue(event))
	header.Set(HeaderDelivery, headerValue(m.Key))
	header.Set("Idempotency-Key", headerValue(m.Key))
	header.Del(HeaderSignature)
	if w.Secret != "" {
		header.Set(HeaderSignature, sign(string(w.Secret), body, s.options.Now()))
	}
	a, err := s.post(ctx, string(w.URL), header, body)
	if err == nil && m.Challenge != "" && !a.meets(m.Challenge) {
		return &fault{host: a.host, text: "did not answer the challenge", permanent: true}
	}
	return err
}

// meets reports whether the body of an answer is the challenge alone, or JSON with the challenge in the field "challenge".
func (a *answer) meets(challenge string) bool {
	text := strings.TrimSpace(string(a.body))
	var said struct {
		Challenge string `json:"challenge"`
	}
	return text == challenge || json.Unmarshal(a.body, &said) == nil && said.Challenge == challenge
}

func isControl(c rune) bool { return c < ' ' && c != '\t' || c == 0x7f }

func headerName(name string) bool {
	return name != "" && !strings.ContainsFunc(name, func(c rune) bool {
		return !(c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z' || c >= '0' && c <= '9' || strings.ContainsRune("!#$%&'*+-.^_`|~", c))
	})
}

// headerValue returns s as printable ASCII.
func headerValue(s string) string {
	return cut(strings.Map(func(c rune) rune {
		if c < ' ' || c > '~' {
			return '?'
		}
		return c
	}, s), 200)
}

// Limits of a payload.
const (
	maxPayload     = 1 << 20
	maxPayloadText = 64 << 10
)

// payload returns the message as JSON, in at most maxPayload.
func payload(m alert.Message) []byte {
	m.Severity, m.URL = severityOf(m), link(m.URL)
	// Each notification has two long texts. Escapes may lengthen them, so this limit is a first try.
	text := min(maxPayloadText, max(1<<10, maxPayload/(2*len(m.Notifications)+1)))
	m = shortened(m, text)
	body := encode(m)
	for ; len(body) > maxPayload; body = encode(m) {
		if text /= 2; text >= 256 {
			m = shortened(m, text)
			continue
		}
		m = halved(m)
	}
	return body
}

// shortened cuts every text to a limit.
func shortened(m alert.Message, limit int) alert.Message {
	short := func(texts ...*string) {
		for _, s := range texts {
			*s = cut(clean(*s), limit)
		}
	}
	name := func(texts ...*string) {
		for _, s := range texts {
			*s = cut(clean(*s), min(limit, 1<<10))
		}
	}
	name(&m.Key, &m.Namespace, &m.Channel, &m.Severity, &m.URL, &m.Title)
	short(&m.Text)
	notifications := make([]alert.Notification, len(m.Notifications)) // never null
	for i, n := range m.Notifications {
		kind, code := string(n.Type), string(n.Code)
		name(&kind, &code, &n.Namespace, &n.Monitor, &n.Task, &n.Schedule, &n.Target, &n.About, &n.Title)
		n.Type, n.Code = alert.NotificationType(kind), task.CheckCode(code)
		short(&n.Text, &n.Diff)
		n.Tags = slices.Clone(n.Tags[:min(len(n.Tags), 100)])
		for t := range n.Tags {
			name(&n.Tags[t])
		}
		n.At, n.Since = writable(n.At), writable(n.Since)
		notifications[i] = n
	}
	m.Notifications = notifications
	return m
}

// writable: JSON has no year 10000.
func writable(t time.Time) time.Time {
	if y := t.UTC().Year(); y < 0 || y > 9999 {
		return time.Time{}
	}
	return t.UTC()
}

// clean returns valid UTF-8. Control characters stay: programs read the text, and
// JSON escapes them.
func clean(s string) string { return strings.ToValidUTF8(s, "\uFFFD") }

// halved omits the later half of the notifications, and notes their number in the text.
func halved(m alert.Message) alert.Message {
	kept := len(m.Notifications) / 2
	before, _, _ := strings.Cut(m.Text, leftOut)
	var gone int
	_, _ = fmt.Sscanf(strings.TrimPrefix(m.Text, before), leftOut+"%d", &gone)
	m.Text = fmt.Sprintf("%s%s%d notifications are left out, because the message was too long.", before, leftOut, gone+len(m.Notifications)-kept)
	m.Notifications = m.Notifications[:kept]
	return m
}

const leftOut = "\n… "

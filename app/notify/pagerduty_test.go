package notify_test

import (
	"encoding/json"
	"io"
	"net/http"
	"slices"
	"strings"
	"testing"

	"github.com/belfry-run/belfry/alert"
	"github.com/belfry-run/belfry/app/notify"
)

type event struct {
	Action  string `json:"event_action"`
	Key     string `json:"dedup_key"`
	Payload struct{ Severity string }
}

func events(t *testing.T, r *receiver) (all []string) {
	t.Helper()
	for _, q := range r.take() {
		var e event
		if err := json.Unmarshal(q.body, &e); err != nil {
			t.Fatal(err)
		}
		if len(e.Key) > 255 {
			t.Errorf("a key of %d", len(e.Key))
		}
		all = append(all, e.Action+" "+e.Key+" "+e.Payload.Severity)
	}
	return all
}

func notification(kind alert.NotificationType, monitor string, incident int64) alert.Notification {
	return alert.Notification{Type: kind, Namespace: "ns", Monitor: monitor, Incident: incident, Title: string(kind)}
}

func TestPagerDutyEvents(t *testing.T) {
	t.Parallel()
	r := newReceiver(t, nil)
	c := httpChannels(r.URL)["pagerduty"]
	for name, w := range map[string]struct {
		notifications []alert.Notification
		want          []string
	}{
		"an outage is one key": {[]alert.Notification{notification(alert.NotificationDown, "a", 1), notification(alert.NotificationReminder, "a", 1)}, []string{"trigger ns/a/1 critical"}},
		"nobody is called for what is over": {[]alert.Notification{notification(alert.NotificationDown, "a", 1), notification(alert.NotificationDown, "b", 2), notification(alert.NotificationUp, "a", 1)},
			[]string{"trigger ns/b/2 critical", "resolve ns/a/1 info"}},
		"the next outage is another": {[]alert.Notification{notification(alert.NotificationUp, "a", 1), notification(alert.NotificationDown, "a", 2)}, []string{"resolve ns/a/1 info", "trigger ns/a/2 critical"}},
		"pairs": {[]alert.Notification{notification(alert.NotificationSlow, "a", 0), notification(alert.NotificationFlapping, "a", 0), notification(alert.NotificationNormal, "a", 0), notification(alert.NotificationStale, "a", 0)},
			[]string{"trigger ns/a/flapping warning", "resolve ns/a/slow info", "trigger ns/a/stale error"}},
		"what has no end": {[]alert.Notification{notification(alert.NotificationChanged, "a", 0), notification(alert.NotificationChanged, "a", 0)}, []string{"trigger ns/a/changed/k/0 info", "trigger ns/a/changed/k/1 info"}},
	} {
		m := alert.Message{Key: "k", Notifications: w.notifications}
		if err := newSender(t).Send(patient(t), c, m); err != nil {
			t.Error(err)
		}
		if got := events(t, r); !slices.Equal(got, w.want) {
			t.Errorf("%s: %q, want %q", name, got, w.want)
		}
	}
	long := notification(alert.NotificationDown, strings.Repeat("ä", 400), 1)
	over := long
	over.Type = alert.NotificationUp
	for _, n := range []alert.Notification{long, over} {
		if err := newSender(t).Send(patient(t), c, alert.Message{Notifications: []alert.Notification{n}}); err != nil {
			t.Error(err)
		}
	}
	if got := events(t, r); len(got) != 2 || strings.Fields(got[0])[1] != strings.Fields(got[1])[1] {
		t.Errorf("begin and end of an outage: got %q, want one key", got)
	}
}

// Accepted events are not sent again, and a refused event does not stop the others.
func TestPagerDutyGoesOnWhereItStopped(t *testing.T) {
	t.Parallel()
	busy := true
	r := newReceiver(t, func(w http.ResponseWriter, q *http.Request) {
		body, _ := io.ReadAll(q.Body)
		switch {
		case strings.Contains(string(body), `"ns/bad/`):
			w.WriteHeader(400)
		case strings.Contains(string(body), `"ns/c/`) && busy:
			w.Header().Set("Retry-After", "9")
			w.WriteHeader(429)
		default:
			w.WriteHeader(202)
		}
	})
	c := httpChannels(r.URL)["pagerduty"]
	s := newSender(t)
	m := alert.Message{Key: "k"}
	for i, monitor := range []string{"a", "bad", "b", "c", "d"} {
		m.Notifications = append(m.Notifications, notification(alert.NotificationDown, monitor, int64(i)))
	}
	err := s.Send(patient(t), c, m)
	if notify.Permanent(err) || notify.RetryAfter(err).Seconds() != 9 {
		t.Errorf("busy receiver: got %v, want a temporary error with Retry-After 9s", err)
	}
	if got := len(events(t, r)); got != 4 {
		t.Errorf("%d events", got)
	}
	busy = false
	checkFault(t, "second", s.Send(patient(t), c, m), true, "400")
	if got := events(t, r); !slices.Equal(got, []string{"trigger ns/bad/1 critical", "trigger ns/c/3 critical", "trigger ns/d/4 critical"}) {
		t.Errorf("second try: got events %q, want the remaining three", got)
	}
}

package alert

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/belfry-run/belfry/core/title"
)

func TestCompose(t *testing.T) {
	t.Parallel()
	channel := Channel{Namespace: "team", Name: "chat"}
	down := Notification{Type: NotificationDown, Namespace: "team", Monitor: "site", Title: "site is down: connect_refused", Text: "Last good at 09:58.", At: at("09:59"), Since: at("09:59"), Incident: 5}
	up := Notification{Type: NotificationUp, Namespace: "team", Monitor: "site", Title: "site is up", At: at("10:04"), Since: at("09:59"), Lasted: span("5m"), Incident: 5}
	job := Notification{Type: NotificationJobFailed, Namespace: "default", Task: "report", JobID: 7, Title: "Job 7 of task report failed"}
	changed := Notification{Type: NotificationChanged, Namespace: "default", Monitor: "price", Title: "price has changed", Text: "2 lines.", Diff: "-1\n+2"}
	night := up
	night.Since, night.Lasted = at("2026-03-01T23:00"), span("11h4m")
	for _, row := range []struct {
		name          string
		notifications []Notification
		want          Message
	}{
		{"a down", []Notification{down}, Message{Title: "site is down: connect_refused", Text: "Last good at 09:58.\nDown since 09:59:00 UTC, for 6 min.", Severity: "critical", URL: "https://b.example/monitors/site?namespace=team"}},
		{"an up", []Notification{up}, Message{Title: "site is up", Text: "Was down 09:59:00 UTC to 10:04:00 UTC, for 5 min.", Severity: "ok", URL: "https://b.example/monitors/site?namespace=team"}},
		{"an up of a night", []Notification{night}, Message{Title: "site is up", Text: "Was down 2026-03-01 23:00:00 UTC to 2026-03-02 10:04:00 UTC, for 11 h 4 min.", Severity: "ok", URL: "https://b.example/monitors/site?namespace=team"}},
		{"a job", []Notification{job}, Message{Title: "Job 7 of task report failed", Severity: "warning", URL: "https://b.example/jobs/7"}},
		{"a change", []Notification{changed}, Message{Title: "price has changed", Text: "2 lines.\n-1\n+2", Severity: "info", URL: "https://b.example/monitors/price"}},
		{"no title", []Notification{{Type: NotificationScheduleMissed, Schedule: "nightly"}}, Message{Title: "nightly: schedule missed", Severity: "warning", URL: "https://b.example/schedules/nightly"}},
		{"a title of two lines", []Notification{{Type: NotificationTest, Title: "a\r\nBcc: x\n"}}, Message{Title: "a Bcc: x", Severity: "info", URL: "https://b.example"}},
		{"several, the worst first", []Notification{up, changed, down, job, job}, Message{
			Title: "1 down, 1 up, 1 changed, 2 jobs failed", Severity: "critical", URL: "https://b.example",
			Text: "site is down: connect_refused (down since 09:59:00 UTC, for 6 min)\nJob 7 of task report failed\nJob 7 of task report failed\nprice has changed\nsite is up (was down 09:59:00 UTC to 10:04:00 UTC, for 5 min)",
		}},
		{"two of one monitor", []Notification{up, up}, Message{Title: "2 up", Severity: "ok", URL: "https://b.example/monitors/site?namespace=team",
			Text: "site is up (was down 09:59:00 UTC to 10:04:00 UTC, for 5 min)\nsite is up (was down 09:59:00 UTC to 10:04:00 UTC, for 5 min)"}},
	} {
		t.Run(row.name, func(t *testing.T) {
			t.Parallel()
			var alerts []Alert
			for i, n := range row.notifications {
				alerts = append(alerts, Alert{ID: int64(i + 1), Notification: n})
			}
			m := Compose(channel, alerts, "https://b.example/", at("10:05"))
			if m.Title != row.want.Title || m.Text != row.want.Text || m.Severity != row.want.Severity || m.URL != row.want.URL {
				t.Errorf("got\n%s\n%s\n%s %s\nwant\n%s\n%s\n%s %s", m.Title, m.Text, m.Severity, m.URL, row.want.Title, row.want.Text, row.want.Severity, row.want.URL)
			}
			if m.Namespace != "team" || m.Channel != "chat" || len(m.Notifications) != len(row.notifications) || len(m.Key) != 32 {
				t.Errorf("%+v", m)
			}
			if quiet := Compose(channel, alerts, "", at("10:05")); quiet.URL != "" || quiet.Title != m.Title {
				t.Errorf("without an address: %q %q", quiet.Title, quiet.URL)
			}
		})
	}
}

func TestMessagesAreBounded(t *testing.T) {
	t.Parallel()
	var alerts []Alert
	for i := range 73 {
		alerts = append(alerts, Alert{ID: int64(i + 1), Notification: Notification{Type: NotificationDown, Title: fmt.Sprintf("m%d is down", i)}})
	}
	m := Compose(Channel{}, alerts, "", at("10:00"))
	rows := strings.Split(m.Text, "\n")
	if m.Title != "73 down" || len(rows) != 51 || rows[0] != "m0 is down" || rows[49] != "m49 is down" || rows[50] != "and 23 more" {
		t.Errorf("%s\n%q", m.Title, rows)
	}
	for i := range alerts {
		alerts[i].Notification.Title, alerts[i].Notification.Text = strings.Repeat("ä\n", 5000), long
	}
	m = Compose(Channel{}, alerts[:60], "", at("10:00"))
	if len(m.Text) > MaxMessageText || !strings.HasSuffix(m.Text, " more") {
		t.Errorf("%d bytes, that end in %q", len(m.Text), m.Text[len(m.Text)-20:])
	}
	alerts[0].Notification.Text = strings.Repeat(long, 10)
	if m = Compose(Channel{}, alerts[:1], "", at("10:00")); len(m.Text) > MaxMessageText || len(m.Title) > title.Max+3 {
		t.Errorf("%d and %d bytes", len(m.Title), len(m.Text))
	}
	if m := Compose(Channel{Name: "a"}, nil, "", time.Time{}); m.Key != "" || m.Channel != "a" {
		t.Errorf("of nothing: %+v", m)
	}
}

func TestKeysOfMessages(t *testing.T) {
	t.Parallel()
	key := func(channel string, alerts ...Alert) string {
		return Compose(Channel{Namespace: "default", Name: channel}, alerts, "", at("10:00")).Key
	}
	one, two, three := Alert{ID: 1}, Alert{ID: 2}, Alert{ID: 3}
	if key("a", one, two) != key("a", two, one) {
		t.Error("the order matters")
	}
	elsewhere := Alert{ID: 1, CreatedAt: at("09:59")} // in another installation
	seen := []string{key("a", one), key("a", elsewhere), key("a", two), key("a", one, two), key("b", one, two), key("a", one, two, three)}
	for i, k := range seen {
		if slices.Index(seen, k) != i {
			t.Errorf("%d has the key of another message", i)
		}
	}
	first := key("a", one, two)
	one.Message, two.Message = first, first
	if key("a", one, two) != first || key("a", two) != first {
		t.Error("a message that is tried again has another key")
	}
	if key("a", one, three) == first {
		t.Error("another message has its key")
	}
}

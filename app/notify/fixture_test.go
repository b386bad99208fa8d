package notify_test

import (
	"bytes"
	"context"
	"flag"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/belfry-run/belfry/alert"
	"github.com/belfry-run/belfry/app/notify"
	"github.com/belfry-run/belfry/core"
	"github.com/belfry-run/belfry/internal/guard"
	"github.com/belfry-run/belfry/internal/leaks"
	"github.com/belfry-run/belfry/task"
)

var update = flag.Bool("update", false, "write testdata anew")

func TestMain(m *testing.M) { leaks.Main(m) }

// newSender may reach this machine, and run commands.
func newSender(t testing.TB) *notify.Sender {
	t.Helper()
	allow, err := guard.ParseAllow([]string{"loopback"})
	if err != nil {
		t.Fatal(err)
	}
	s := notify.New(notify.Options{Guard: guard.Options{Allow: allow}, AllowCommands: true, Version: "test"})
	t.Cleanup(s.Close)
	return s
}

// patient is a context of a try that a slow machine ends in time: without a deadline it ends after [notify.DefaultTimeout].
func patient(t testing.TB) context.Context {
	ctx, cancel := context.WithTimeout(t.Context(), 3*time.Minute)
	t.Cleanup(cancel)
	return ctx
}

// marker is in every secret of the channels below, and in nothing else.
const marker = "s3cr3t-Marker"

// httpChannels are the channels that speak HTTP, all to the server at address.
func httpChannels(address string) map[string]alert.Channel {
	secret := func(path string) core.Secret { return core.Secret(address + path) }
	all := map[string]alert.Channel{
		"webhook": {Webhook: &alert.WebhookChannel{URL: secret("/hook/" + marker + "?token=" + marker + "%2Fq"), Secret: marker + " key+/=",
			Headers: map[string]core.Secret{"Authorization": "Bearer " + marker, "X-Key": marker + "<&\"x\">"}}},
		"slack":     {Slack: &alert.SlackChannel{URL: secret("/services/T000/B000/" + marker)}},
		"telegram":  {Telegram: &alert.TelegramChannel{Token: "123456:" + marker, Chat: "-100200", API: address}},
		"discord":   {Discord: &alert.DiscordChannel{URL: secret("/api/webhooks/42/" + marker)}},
		"teams":     {Teams: &alert.TeamsChannel{URL: secret("/workflows/1/invoke?sp=%2Ftriggers&sig=" + marker)}},
		"pagerduty": {PagerDuty: &alert.PagerDutyChannel{RoutingKey: marker, API: address}},
		"ntfy":      {Ntfy: &alert.NtfyChannel{Server: address, Topic: "ops", Token: marker}},
		"matrix":    {Matrix: &alert.MatrixChannel{Server: address, Room: "!room:example.com", Token: marker}},
		"gotify":    {Gotify: &alert.GotifyChannel{Server: address, Token: marker}},
	}
	for name, c := range all {
		c.Namespace, c.Name = "default", name
		all[name] = c
	}
	return all
}

// request is one that a receiver got.
type request struct {
	path   string
	header http.Header
	body   []byte
}

// receiver is a server that keeps the requests that it gets.
type receiver struct {
	*httptest.Server
	mu  sync.Mutex
	got []request
}

// newReceiver answers as the services do when they are content, unless answer
// is given.
func newReceiver(t testing.TB, answer http.HandlerFunc) *receiver {
	t.Helper()
	r := &receiver{}
	r.Server = httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, q *http.Request) {
		body, _ := io.ReadAll(q.Body)
		r.mu.Lock()
		r.got = append(r.got, request{q.URL.RequestURI(), q.Header, body})
		r.mu.Unlock()
		q.Body = io.NopCloser(bytes.NewReader(body))
		if answer != nil {
			answer(w, q)
			return
		}
		_, _ = io.WriteString(w, `{"ok":true}`)
	}))
	t.Cleanup(r.Close)
	return r
}

// take returns the requests since the last take.
func (r *receiver) take() []request {
	r.mu.Lock()
	defer r.mu.Unlock()
	got := r.got
	r.got = nil
	return got
}

func at(text string) time.Time {
	t, err := time.Parse("2006-01-02 15:04:05", text)
	if err != nil {
		panic(err)
	}
	return t
}

var (
	down = alert.Notification{Type: alert.NotificationDown, At: at("2026-03-01 10:00:00"), Namespace: "default", Monitor: "shop", Incident: 7, Tags: []string{"prod", "web"},
		Title: "shop is down", Text: "GET https://shop.example.com/health: connection refused\nfailed 3 times in 40s", Code: task.CodeConnectRefused, Since: at("2026-03-01 10:00:00")}
	told = alert.Notification{Type: alert.NotificationDown, At: at("2026-03-01 10:00:00"), Namespace: "default", Monitor: "shop", Incident: 7, Tags: []string{"prod"},
		Target: "https://shop.example.com/health", About: "What customers order in", Title: "shop is down", Text: "status: got 503\n2 checks in a row failed.",
		Code: task.CodeStatus, Since: at("2026-03-01 10:00:00")}
	toldUp = alert.Notification{Type: alert.NotificationUp, At: at("2026-03-01 10:12:30"), Namespace: "default", Monitor: "shop", Incident: 7, Target: told.Target,
		About: told.About, Title: "shop is up again", Text: "It was: status: got 503", Since: at("2026-03-01 10:00:00"), Lasted: core.Duration(12*time.Minute + 30*time.Second)}
	toldPage = alert.Notification{Type: alert.NotificationChanged, At: at("2026-03-01 10:02:00"), Namespace: "team-a", Monitor: "prices", Target: "https://example.com/prices",
		Title: "prices has changed", Text: "2 lines differ.", Diff: "-Basic: 10 EUR\n+Basic: 12 EUR"}
	up = alert.Notification{Type: alert.NotificationUp, At: at("2026-03-01 10:12:30"), Namespace: "default", Monitor: "shop", Incident: 7,
		Title: "shop is up again, after 12m30s", Since: at("2026-03-01 10:00:00"), Lasted: core.Duration(12*time.Minute + 30*time.Second)}
	certificate = alert.Notification{Type: alert.NotificationCertificate, At: at("2026-03-01 10:00:05"), Namespace: "team-a", Monitor: "api",
		Title: "certificate of api ends in 6 days"}
	jobFailed = alert.Notification{Type: alert.NotificationJobFailed, At: at("2026-03-01 10:00:09"), Namespace: "default", Task: "backup", JobID: 4711,
		Title: "backup failed", Text: "exit status 2"}
	changed = alert.Notification{Type: alert.NotificationChanged, At: at("2026-03-01 11:00:00"), Namespace: "default", Monitor: "prices",
		Title: "prices changed", Diff: "-Basic: 10 EUR\n+Basic: 12 EUR"}
	nasty = alert.Notification{Type: alert.NotificationChanged, At: at("2026-03-01 11:00:00"), Namespace: "default", Monitor: "a<b>&\"c\"",
		Title: "<b>bold</b> & *bold* _it_ [x](http://evil.example) @everyone <!channel> \x00\x1b[31m\xff",
		Text:  "first\r\nsecond \u202egnp.exe\n```\n</pre><script>alert(1)</script> @here @Channel <@U123> https://a.example/x_y_z?a=1&b=2",
		Diff:  "-```\n+</pre></b> <a href=\"x\">\n"}
)

// messages by name, for which the channels' texts are kept in testdata.
var messages = []struct {
	name string
	alert.Message
}{
	{"down", alert.Message{Key: "k-down", Namespace: "default", Channel: "ops", Title: "shop is down", Severity: "critical",
		Text: down.Text, URL: "https://belfry.example.com/monitors/shop", Notifications: []alert.Notification{down}}},
	{"up", alert.Message{Key: "k-up", Namespace: "default", Channel: "ops", Title: up.Title, Severity: "ok", Notifications: []alert.Notification{up}}},
	{"several", alert.Message{Key: "k-several", Namespace: "default", Channel: "ops", Title: "3 things need a look", Text: "Within 30s.", Severity: "critical",
		URL: "https://belfry.example.com/alerts?x=1&y=2", Notifications: []alert.Notification{down, certificate, jobFailed}}},
	{"changed", alert.Message{Key: "k-changed", Namespace: "default", Channel: "ops", Title: changed.Title, Severity: "info", Notifications: []alert.Notification{changed}}},
	{"nasty", alert.Message{Key: "k-nasty\r\nX: y", Namespace: "default", Channel: "ops", Title: nasty.Title + "\r\nBcc: evil@example.com", Severity: "?",
		URL: "javascript:alert(1)", Notifications: []alert.Notification{nasty, nasty}}},
	{"told", composed(told)},
	{"told over", composed(toldUp)},
	{"told together", composed(told, toldPage)},
	{"words", alert.Message{Key: "k-words", Namespace: "default", Channel: "ops", Title: "A test from Belfry", Severity: "info", URL: "https://belfry.example.com/"}},
	{"empty", alert.Message{}},
}

// composed is a message as channels get it.
func composed(notifications ...alert.Notification) alert.Message {
	var alerts []alert.Alert
	for i, n := range notifications {
		alerts = append(alerts, alert.Alert{ID: int64(i + 1), Message: "k-" + n.Title, Notification: n})
	}
	return alert.Compose(alert.Channel{Namespace: "default", Name: "ops"}, alerts, "https://belfry.example.com", at("2026-03-01 10:15:00"))
}

// huge is a message of 100 notifications, each as long as texts get.
func huge() alert.Message {
	m := alert.Message{Key: "k-huge", Namespace: "default", Channel: "ops", Severity: "critical", Title: strings.Repeat("Ä<&*", 5000), Text: strings.Repeat("<&>\"*_`", 50000)}
	for i := range 100 {
		n := down
		n.Incident, n.Monitor = int64(i+1), fmt.Sprintf("shop-%d", i)
		n.Title, n.Text, n.Diff = strings.Repeat("🔔<", 3000), strings.Repeat("&_`x\xff\n", 20000), strings.Repeat("+```<pre>\n", 20000)
		n.Tags = slicesOf("tag&", 500)
		m.Notifications = append(m.Notifications, n)
	}
	return m
}

func slicesOf(s string, n int) []string {
	all := make([]string, n)
	for i := range all {
		all[i] = s
	}
	return all
}

// golden compares with a file, or writes it.
func golden(t *testing.T, name string, got []byte) {
	t.Helper()
	path := filepath.Join("testdata", name)
	if *update {
		if err := os.WriteFile(path, got, 0o644); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if !bytes.Equal(got, want) {
		t.Errorf("%s differs (write it anew with -update, and read it):\n%s", path, got)
	}
}

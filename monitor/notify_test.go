package monitor

import (
	"strings"
	"testing"
	"time"

	"github.com/belfry-run/belfry/alert"
	"github.com/belfry-run/belfry/task"
)

// TestNotificationTarget is about the target in notifications: it identifies the
// target and contains no secret.
func TestNotificationTarget(t *testing.T) {
	t.Parallel()
	for _, row := range []struct {
		check task.Task
		want  string
	}{
		{task.Task{HTTP: &task.HTTP{URL: "https://user:secret@shop.example.com:8443/a%2Fb?token=secret#secret"}}, "https://shop.example.com:8443/a%2Fb"},
		{task.Task{HTTP: &task.HTTP{URL: "https://example.com"}}, "https://example.com"},
		{task.Task{Page: &task.PageCheck{URL: "https://example.com/prices?key=secret"}}, "https://example.com/prices"},
		{task.Task{WebSocket: &task.WebSocket{URL: "wss://example.com/live?key=secret"}}, "wss://example.com/live"},
		{task.Task{TCP: &task.TCP{Address: "db.example.com:5432"}}, "db.example.com:5432"},
		{task.Task{TLS: &task.TLS{Address: "example.com:443"}}, "example.com:443"},
		{task.Task{Ping: &task.Ping{Host: "192.0.2.1"}}, "192.0.2.1"},
		{task.Task{DNS: &task.DNS{Name: "example.com", Type: "MX"}}, "MX of example.com"},
		{task.Task{GRPC: &task.GRPC{Address: "example.com:443", Service: "shop"}}, "example.com:443 shop"},
		{task.Task{Command: &task.Command{Argv: []string{"/opt/check.sh", "--password", "secret"}}}, "check.sh"},
		{task.Task{Command: &task.Command{Shell: "curl -u a:secret https://example.com"}}, ""},
		{task.Task{}, ""},
	} {
		a := newAssessment(Monitor{Name: "m", Description: " Where\n customers  order ", Check: row.check}, State{}, JudgeContext{}, time.Now())
		if n := a.notification(alert.NotificationStale); n.Target != row.want || n.About != "Where customers order" {
			t.Errorf("%+v: %q, about %q, want %q", row.check, n.Target, n.About, row.want)
		}
	}
	if got := about(strings.Repeat("é", 500)); got != strings.Repeat("é", aboutMost)+"…" {
		t.Errorf("a long description became %q", got)
	}
}

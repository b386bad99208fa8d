package belfry

import (
	"strings"
	"testing"
	"time"
)

// TestNoticeTarget is about what people are told was looked at: enough to find
// it, and no secret.
func TestNoticeTarget(t *testing.T) {
	t.Parallel()
	for _, row := range []struct {
		check Task
		want  string
	}{
		{Task{HTTP: &HTTP{URL: "https://user:secret@shop.example.com:8443/a%2Fb?token=secret#secret"}}, "https://shop.example.com:8443/a%2Fb"},
		{Task{HTTP: &HTTP{URL: "https://example.com"}}, "https://example.com"},
		{Task{Page: &PageCheck{URL: "https://example.com/prices?key=secret"}}, "https://example.com/prices"},
		{Task{WebSocket: &WebSocket{URL: "wss://example.com/live?key=secret"}}, "wss://example.com/live"},
		{Task{TCP: &TCP{Address: "db.example.com:5432"}}, "db.example.com:5432"},
		{Task{TLS: &TLS{Address: "example.com:443"}}, "example.com:443"},
		{Task{Ping: &Ping{Host: "192.0.2.1"}}, "192.0.2.1"},
		{Task{DNS: &DNS{Name: "example.com", Type: "MX"}}, "MX of example.com"},
		{Task{GRPC: &GRPC{Address: "example.com:443", Service: "shop"}}, "example.com:443 shop"},
		{Task{Command: &Command{Argv: []string{"/opt/check.sh", "--password", "secret"}}}, "check.sh"},
		{Task{Command: &Command{Shell: "curl -u a:secret https://example.com"}}, ""},
		{Task{}, ""},
	} {
		h := hear(Monitor{Name: "m", Description: " Where\n customers  order ", Check: row.check}, MonitorState{}, Surroundings{}, time.Now())
		if n := h.notice(NoticeStale); n.Target != row.want || n.About != "Where customers order" {
			t.Errorf("%+v: %q, about %q, want %q", row.check, n.Target, n.About, row.want)
		}
	}
	if got := about(strings.Repeat("é", 500)); got != strings.Repeat("é", aboutMost)+"…" {
		t.Errorf("a long description became %q", got)
	}
}

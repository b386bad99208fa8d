package alerts

import (
	"strings"
	"testing"

	"github.com/belfry-run/belfry/alert"
	"github.com/belfry-run/belfry/core"
)

func TestMailServers(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]alert.EmailChannel{
		"smtp://mail.example.com":            {Host: "mail.example.com", TLS: "starttls"},
		"smtp://me@mail.example.com:2525":    {Host: "mail.example.com", Port: 2525, TLS: "starttls", User: "me"},
		"smtps://me:s%40x@mail.example.com/": {Host: "mail.example.com", TLS: "implicit", User: "me", Password: "s@x"},
		"smtp://[2001:db8::1]:25":            {Host: "2001:db8::1", Port: 25, TLS: "starttls"},
	} {
		var got alert.EmailChannel
		if err := mailServer(text, &got); err != nil || got.Host != want.Host || got.Port != want.Port || got.TLS != want.TLS || got.User != want.User || got.Password != want.Password {
			t.Errorf("%s: got %+v, %v", text, got, err)
		}
	}
	for _, text := range []string{"", "mail.example.com", "http://mail.example.com", "smtp://", "smtp://me:hunter2@h:port", "smtp://me:hunter2@h/inbox"} {
		err := mailServer(text, new(alert.EmailChannel))
		if core.CodeOf(err) != core.Invalid || strings.Contains(err.Error(), "hunter2") {
			t.Errorf("%s: %v", text, err)
		}
	}
}

package reach

import (
	"net/http"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/belfry-run/belfry/task"
)

func TestRedactAddress(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]string{
		"https://example.com/a":              "https://example.com/a",
		"https://u:p@example.com/a?b=c#frag": "https://example.com/a?…",
		"http://%zz/?key=secret":             "an address that cannot be read",
	} {
		if got := RedactAddress(text); got != want {
			t.Errorf("%s: %s, want %s", text, got, want)
		}
	}
	if got := RedactText(`Get "https://u:p@h/x?key=1": no such host`); strings.Contains(got, "key") || strings.Contains(got, "u:p") {
		t.Error(got)
	}
}

func TestSecretsAreHidden(t *testing.T) {
	t.Parallel()
	var s Secrets
	s.AddHeaders(map[string]string{"authorization": "Bearer bearersecret", "X-Key": "a=longer-than-a-token; b", "Accept": "text/html", "host": "example.com"})
	s.AddURL("https://example.com/?api_key=query%2Fsecret&page=notsecret&key=keysecret")
	shown := s.Hide("bearersecret longer-than-a-token query/secret query%2Fsecret keysecret text/html example.com notsecret")
	if shown != "(secret) (secret) (secret) (secret) (secret) text/html example.com notsecret" {
		t.Error(shown)
	}
	s.Mark = "***"
	if got := s.Hide("bearersecret"); got != "***" {
		t.Error(got)
	}
}

// Whatever a server makes of a request, no secret is kept of it, and what is
// kept is bounded text.
func FuzzKeep(f *testing.F) {
	f.Add("200 OK", "X-Echo", "verysecret", []byte("you said verysecret"))
	f.Add("very\x00secret", "Location", "https://u:verysecret@h/?a=verysecret", []byte("very\xffsecret ftp://verysecret@h ?token=verysecret"))
	f.Add("", "", "", []byte(strings.Repeat("x", 2*task.MaxSnapshot-4)+"verysecret"))
	f.Fuzz(func(t *testing.T, status, name, value string, body []byte) {
		var s Secrets
		s.Add("verysecret")
		kept := s.Keep(status, http.Header{name: {value}}, body)
		all := kept.Status + "\n" + kept.Body
		for _, value := range kept.Headers {
			all += "\n" + value
			if len(value) > maxHeaderShown {
				t.Errorf("a header of %d bytes", len(value))
			}
		}
		if strings.Contains(all, "verysecret") || !utf8.ValidString(all) || len(kept.Body) > task.MaxSnapshot {
			t.Errorf("%q", all)
		}
	})
}

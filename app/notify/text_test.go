package notify_test

import (
	"context"
	"encoding/base64"
	"encoding/json"
	"html"
	"net/url"
	"strings"
	"testing"
	"unicode"
	"unicode/utf8"

	"pgregory.net/rapid"

	"github.com/belfry-run/belfry/alert"
	"github.com/belfry-run/belfry/app/notify"
	"github.com/belfry-run/belfry/core"
)

func TestPlain(t *testing.T) {
	t.Parallel()
	for in, want := range map[string]string{
		"":                           "",
		"  a\r\nb\rc\u2028d \n":      "a\nb\nc\nd",
		"a\x00b\x1b[31m\x7f":         "a b [31m",
		"\xff\xfe":                   "\uFFFD",
		"abc\u202egnp.exe\u2066x":    "abcgnp.exex",
		"👩‍👩‍👧 stays":                "👩‍👩‍👧 stays",
		"tab\tbed":                   "tab bed",
		strings.Repeat("\u0085", 10): "",
	} {
		if got := notify.Plain(in); got != want {
			t.Errorf("%q: %q, want %q", in, got, want)
		}
	}
}

// FuzzFit holds for every channel's escapes: it fits, it is valid, and it is
// the begin of what the whole would be, up to an escape's end.
func FuzzFit(f *testing.F) {
	for _, s := range []string{"", "a<b>&\"c\"", "```x````", "@everyone @HERE", "https://a.example/x_y*z <b>", "\\*_~`|[]<>#@", "🔔🔔", "a\xffb"} {
		for _, limit := range []int{-1, 0, 1, 3, 7, 100} {
			f.Add(s, limit)
		}
	}
	f.Fuzz(func(t *testing.T, s string, limit int) {
		s = notify.Plain(s)
		if limit > 1<<20 {
			return
		}
		whole := 8*len(s) + 10
		for name, write := range map[string]func(string) (string, int){"as is": notify.AsIs, "telegram": notify.Telegram, "slack": notify.Slack, "discord": notify.Discord} {
			all := notify.Fit(s, whole, write, notify.Units)
			got := notify.Fit(s, limit, write, notify.Units)
			if notify.Units(got) > max(limit, 0) || !utf8.ValidString(got) {
				t.Fatalf("%s: %d of %d: %q", name, notify.Units(got), limit, got)
			}
			begin := strings.TrimSuffix(got, "…")
			if got != all && (!strings.HasPrefix(all, begin) || got != "" && !strings.HasSuffix(got, "…")) {
				t.Fatalf("%s: %q is no begin of %q", name, got, all)
			}
			checkMarkup(t, name, s, all)
			checkMarkup(t, name, "", got)
		}
	})
}

// checkMarkup of an escaped text, which is all of s if that is not empty.
func checkMarkup(t *testing.T, name, s, got string) {
	t.Helper()
	switch name {
	case "telegram":
		if strings.ContainsAny(got, "<>\"") || strings.Contains(strings.NewReplacer("&amp;", "", "&lt;", "", "&gt;", "", "&quot;", "").Replace(got), "&") {
			t.Fatalf("telegram: %q", got)
		}
		if s != "" && html.UnescapeString(got) != s {
			t.Fatalf("telegram: %q is not %q", html.UnescapeString(got), s)
		}
	case "slack":
		if strings.ContainsAny(got, "<>") || strings.Contains(got, "```") || strings.Contains(strings.ToLower(got), "@channel") {
			t.Fatalf("slack: %q", got)
		}
	case "discord":
		checkDiscord(t, got)
	}
}

// checkDiscord: every character of markup has its backslash, outside addresses.
func checkDiscord(t *testing.T, got string) {
	t.Helper()
	for i := 0; i < len(got); i++ {
		rest := got[i:]
		if strings.HasPrefix(rest, "https://") || strings.HasPrefix(rest, "http://") {
			n := strings.IndexFunc(rest, func(c rune) bool {
				return unicode.IsSpace(c) || c == '<' || c == '`' || c == '|' || c == '\\' || c == '@' || c > '~'
			})
			if n < 0 {
				return
			}
			i += n - 1
			continue
		}
		switch {
		case got[i] == '\\':
			i++ // what follows is text
		case strings.IndexByte("*_~`|[]<>#", got[i]) >= 0:
			t.Fatalf("discord: %q at %d of %q", got[i], i, got)
		case got[i] == '@' && !strings.HasPrefix(rest, "@\u200b"):
			t.Fatalf("discord: somebody is called in %q", got)
		}
	}
}

// Secrets in answers of a receiver are hidden.
func TestSecretsAreHiddenInEverySpelling(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		secret := rapid.StringMatching(`[A-Za-z0-9+/=_.:<>&"'\\ %-]{8,60}`).Filter(func(s string) bool { return strings.TrimSpace(s) == s }).Draw(t, "secret")
		around := rapid.StringMatching(`[ a-z(){}]{0,20}`).Draw(t, "around")
		path := url.PathEscape(secret)
		channels := []alert.Channel{
			{Webhook: &alert.WebhookChannel{URL: "https://h.example/x", Secret: core.Secret(secret)}},
			{Webhook: &alert.WebhookChannel{URL: "https://h.example/x", Headers: map[string]core.Secret{"A": core.Secret("Bearer " + secret)}}},
			{Webhook: &alert.WebhookChannel{URL: core.Secret("https://h.example/x/" + path)}},
			{Slack: &alert.SlackChannel{URL: core.Secret("https://h.example/x/" + path + "/y")}},
			{Discord: &alert.DiscordChannel{URL: core.Secret("https://h.example/?q=" + url.QueryEscape(secret))}},
			{Teams: &alert.TeamsChannel{URL: core.Secret("https://u:" + path + "@h.example/")}},
			{Telegram: &alert.TelegramChannel{Token: core.Secret(secret)}},
			{PagerDuty: &alert.PagerDutyChannel{RoutingKey: core.Secret(secret)}},
			{Ntfy: &alert.NtfyChannel{Token: core.Secret(secret)}},
			{Email: &alert.EmailChannel{User: "u", Password: core.Secret(secret)}},
		}
		c := channels[rapid.IntRange(0, len(channels)-1).Draw(t, "channel")]
		for name, spelled := range map[string]string{
			"itself": secret, "path": path, "query": url.QueryEscape(secret), "html": html.EscapeString(secret),
			"base64": base64.StdEncoding.EncodeToString([]byte(secret)), "base64 for URLs": base64.RawURLEncoding.EncodeToString([]byte(secret)),
		} {
			if got := notify.Hide(c, around+spelled+around); strings.Contains(got, secret) || strings.Contains(got, spelled) {
				t.Fatalf("%s: %q shows %q", name, got, spelled)
			}
		}
	})
}

// The payload of any message is valid, and within the limits of its channel.
func TestAnyMessageCanBeSent(t *testing.T) {
	t.Parallel()
	r := newReceiver(t, nil)
	s := newSender(t)
	channels := httpChannels(r.URL)
	rapid.Check(t, func(t *rapid.T) {
		text := rapid.OneOf(rapid.String(), rapid.StringMatching("[<>&\"'*_`@\\\\\\[\\]|~#\n]{0,50}"),
			rapid.Map(rapid.SliceOf(rapid.Byte()), func(b []byte) string { return string(b) }),
			rapid.Map(rapid.IntRange(0, 600), func(n int) string { return strings.Repeat("🔔<`", n) }))
		types := rapid.SampledFrom(append([]alert.NotificationType{"", alert.NotificationTest, "odd\r\n"}, alert.NotificationTypes...))
		m := alert.Message{Key: text.Draw(t, "key"), Namespace: "n", Channel: text.Draw(t, "channel"), Title: text.Draw(t, "title"), Text: text.Draw(t, "text"),
			Severity: text.Draw(t, "severity"), URL: text.Draw(t, "url")}
		for range rapid.IntRange(0, 12).Draw(t, "notifications") {
			m.Notifications = append(m.Notifications, alert.Notification{Type: types.Draw(t, "type"), Namespace: "n", Monitor: text.Draw(t, "monitor"), Title: text.Draw(t, "its title"),
				Text: text.Draw(t, "its text"), Diff: text.Draw(t, "diff"), Tags: []string{text.Draw(t, "tag")}, Incident: rapid.Int64().Draw(t, "incident")})
		}
		for name, c := range channels {
			if err := s.Send(context.Background(), c, m); err != nil {
				t.Fatalf("%s: %v", name, err)
			}
			for _, q := range r.take() {
				if len(q.body) > limits[name] || !json.Valid(q.body) || !utf8.Valid(q.body) {
					t.Fatalf("%s: %d bytes: %.2000s", name, len(q.body), q.body)
				}
				checkLimits(t, name, q.body)
			}
		}
	})
}

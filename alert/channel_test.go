package alert

import (
	"encoding/json"
	"errors"
	"reflect"
	"strings"
	"testing"
	"time"

	"github.com/belfry-run/belfry/core"
)

// everyKind returns a channel of each kind, with its defaults and all its secrets.
func everyKind() map[string]Channel {
	all := map[string]Channel{
		"webhook":   {Webhook: &WebhookChannel{URL: "https://hooks.example.com/s3cret", Secret: "s3cret", Headers: map[string]core.Secret{"Authorization": "Bearer s3cret", "X-Team": "s3cret"}}},
		"email":     {Email: &EmailChannel{Host: "mail.example.com", User: "bell", Password: "s3cret", From: "Belfry <bell@example.com>", To: []string{"ops@example.com"}}},
		"slack":     {Slack: &SlackChannel{URL: "https://hooks.slack.example/s3cret"}},
		"telegram":  {Telegram: &TelegramChannel{Token: "123:s3cret", Chat: "-100123"}},
		"discord":   {Discord: &DiscordChannel{URL: "https://discord.example/s3cret"}},
		"teams":     {Teams: &TeamsChannel{URL: "https://teams.example/s3cret"}},
		"pagerduty": {PagerDuty: &PagerDutyChannel{RoutingKey: "s3cret"}},
		"ntfy":      {Ntfy: &NtfyChannel{Topic: "ops", Token: "s3cret"}},
		"gotify":    {Gotify: &GotifyChannel{Server: "https://gotify.example.com", Token: "s3cret"}},
		"matrix":    {Matrix: &MatrixChannel{Server: "https://matrix.example.com", Room: "!a:example.com", Token: "s3cret"}},
		"command":   {Command: &CommandChannel{Argv: []string{"/usr/local/bin/page"}}},
	}
	for kind, c := range all {
		c.Name = "a"
		all[kind] = c.WithDefaults()
	}
	return all
}

func TestChannelsOfEveryKind(t *testing.T) {
	t.Parallel()
	for kind, c := range everyKind() {
		if c.Kind() != kind {
			t.Errorf("%s says it is %s", kind, c.Kind())
		}
		if err := c.Validate(time.Time{}); err != nil {
			t.Errorf("%s: %v", kind, err)
		}
		if twice := c.WithDefaults(); !reflect.DeepEqual(c, twice) {
			t.Errorf("%s: defaults\n%+v\n%+v", kind, c, twice)
		}
	}
	if (Channel{}).Kind() != "" {
		t.Error("a channel without settings has a kind")
	}
	for tls, port := range map[string]int{"": 587, "starttls": 587, "implicit": 465, "opportunistic": 25, "none": 25} {
		if got := (Channel{Email: &EmailChannel{TLS: tls}}).WithDefaults().Email.Port; got != port {
			t.Errorf("tls %q has port %d, want %d", tls, got, port)
		}
	}
}

// countSecrets counts the non-empty values of type Secret at any depth.
func countSecrets(v reflect.Value) (n int) {
	switch {
	case v.Type() == reflect.TypeFor[core.Secret]() && v.Len() > 0:
		return 1
	case v.Kind() == reflect.Pointer && !v.IsNil():
		return countSecrets(v.Elem())
	case v.Kind() == reflect.Struct && v.Type() != reflect.TypeFor[time.Time]():
		for i := range v.NumField() {
			n += countSecrets(v.Field(i))
		}
	case v.Kind() == reflect.Map:
		for iter := v.MapRange(); iter.Next(); {
			n += countSecrets(iter.Value())
		}
	}
	return n
}

func TestSecretsOfChannelsAreNeverShownAndNeverLost(t *testing.T) {
	t.Parallel()
	for kind, c := range everyKind() {
		before, _ := json.Marshal(c)
		shown := c.Redacted()
		text, _ := json.Marshal(shown)
		if strings.Contains(string(text), "s3cret") {
			t.Errorf("%s shows a secret: %s", kind, text)
		}
		if got, want := strings.Count(string(text), string(core.Redacted)), countSecrets(reflect.ValueOf(c)); got != want {
			t.Errorf("%s shows %d kept secrets, want %d: a field was forgotten", kind, got, want)
		}
		if after, _ := json.Marshal(c); string(before) != string(after) {
			t.Errorf("%s was changed by showing it", kind)
		}
		if err := shown.Validate(time.Time{}); err != nil {
			t.Errorf("%s as shown is refused: %v", kind, err)
		}
		kept := shown.KeepSecrets(c)
		if !reflect.DeepEqual(kept, c) {
			t.Errorf("%s saved again is\n%+v\nwant\n%+v", kind, kept, c)
		}
		if err := kept.CheckSecrets(); err != nil {
			t.Errorf("%s saved again: %v", kind, err)
		}
		var e *core.Error
		if err := shown.KeepSecrets(Channel{}).CheckSecrets(); kind != "command" && (!errors.As(err, &e) || len(e.Fields) != countSecrets(reflect.ValueOf(c))) {
			t.Errorf("%s without a channel before it: %v", kind, err)
		}
	}
}

func TestSecretsDoNotGoWhereTheyDidNotGo(t *testing.T) {
	t.Parallel()
	for kind, change := range map[string]func(*Channel){
		"webhook":   func(c *Channel) { c.Webhook.URL = "https://elsewhere.example/" },
		"email":     func(c *Channel) { c.Email.Host = "elsewhere.example" },
		"telegram":  func(c *Channel) { c.Telegram.API = "https://elsewhere.example" },
		"pagerduty": func(c *Channel) { c.PagerDuty.API = "https://elsewhere.example" },
		"ntfy":      func(c *Channel) { c.Ntfy.Server = "https://elsewhere.example" },
		"matrix":    func(c *Channel) { c.Matrix.Server = "https://elsewhere.example" },
		"gotify":    func(c *Channel) { c.Gotify.Server = "https://elsewhere.example" },
	} {
		old := everyKind()[kind]
		edited := everyKind()[kind].Redacted()
		change(&edited)
		saved := edited.KeepSecrets(old)
		if text, _ := json.Marshal(saved); strings.Contains(string(text), "s3cret") {
			t.Errorf("%s took its secrets along: %s", kind, text)
		}
		if saved.CheckSecrets() == nil {
			t.Errorf("%s would be saved without its secrets", kind)
		}
	}
	old, edited := everyKind()["webhook"], everyKind()["webhook"].Redacted()
	edited.Webhook.URL = "https://hooks.example.com/another/path"
	edited.Webhook.Headers["X-New"] = "n"
	saved := edited.KeepSecrets(old).Webhook
	if saved.Secret != "s3cret" || saved.Headers["X-Team"] != "s3cret" || saved.Headers["X-New"] != "n" || saved.URL != "https://hooks.example.com/another/path" {
		t.Errorf("another path of the same host: %+v", *saved)
	}
}

func TestChannelsAreChecked(t *testing.T) {
	rows := map[string][]refusal[Channel]{
		"webhook": {
			{"no name", func(c *Channel) { c.Name = "" }, "name", "is missing"},
			{"long description", func(c *Channel) { c.Description = long }, "description", "more than 4096 bytes"},
			{"two lines as title", func(c *Channel) { c.Title = "a\nb" }, "title", "must be one line"},
			{"title of 201 bytes", func(c *Channel) { c.Title = strings.Repeat("é", 100) + "x" }, "title", "must have at most 200"},
			{"title of 200 bytes", func(c *Channel) { c.Title = strings.Repeat("é", 100) }, "", ""},
			{"nothing", func(c *Channel) { c.Webhook = nil }, "channel", "exactly one of webhook, email, slack"},
			{"two kinds", func(c *Channel) { c.Slack = &SlackChannel{URL: "https://a"} }, "slack", "cannot stand beside webhook"},
			{"no URL", func(c *Channel) { c.Webhook.URL = "" }, "webhook.url", "is missing"},
			{"a relative URL", func(c *Channel) { c.Webhook.URL = "/x" }, "webhook.url", "not an absolute URL"},
			{"ftp", func(c *Channel) { c.Webhook.URL = "ftp://x/y" }, "webhook.url", "neither http nor https"},
			{"a user in the URL", func(c *Channel) { c.Webhook.URL = "https://a:b@x/" }, "webhook.url", "put an Authorization header into headers"},
			{"a header with a space", func(c *Channel) { c.Webhook.Headers["A B"] = "x" }, "webhook.headers", "is not a header"},
			{"a header with a line end", func(c *Channel) { c.Webhook.Headers["A"] = "x\r\nB: y" }, "webhook.headers", "is not a header"},
			{"our own header", func(c *Channel) { c.Webhook.Headers["belfry-signature"] = "x" }, "webhook.headers", "is reserved"},
			{"http", func(c *Channel) { c.Webhook.URL = "http://10.0.0.1:8080/x" }, "", ""},
		},
		"email": {
			{"no host", func(c *Channel) { c.Email.Host = "" }, "email.host", "is not a host"},
			{"a host with a port", func(c *Channel) { c.Email.Host = "smtp://a" }, "email.host", "is not a host"},
			{"port", func(c *Channel) { c.Email.Port = 65536 }, "email.port", "outside 1 to 65535"},
			{"tls", func(c *Channel) { c.Email.TLS = "ssl" }, "email.tls", "one of starttls, implicit, opportunistic, none"},
			{"authorities that are none", func(c *Channel) { c.Email.CA = "x" }, "email.ca", "holds no certificate"},
			{"authorities without TLS", func(c *Channel) { c.Email.TLS, c.Email.Host, c.Email.CA = "none", "localhost", "x" }, "email.ca", "no use without TLS"},
			{"a password where TLS may be missing", func(c *Channel) { c.Email.TLS = "opportunistic" }, "email.tls", "for everyone to read"},
			{"password alone", func(c *Channel) { c.Email.User = "" }, "email.user", "belong together"},
			{"password in the clear", func(c *Channel) { c.Email.TLS = "none" }, "email.tls", "for everyone to read"},
			{"password in the clear at home", func(c *Channel) { c.Email.TLS, c.Email.Host = "none", "localhost" }, "", ""},
			{"no from", func(c *Channel) { c.Email.From = "" }, "email.from", "is not an address"},
			{"no to", func(c *Channel) { c.Email.To = nil }, "email.to", "is missing"},
			{"bad to", func(c *Channel) { c.Email.To = []string{"a@b.c", "ops"} }, "email.to[1]", "is not an address"},
			{"to with a header", func(c *Channel) { c.Email.To = []string{"a@b.c\r\nBcc: x@y.z"} }, "email.to[0]", "is not an address"},
			{"many", func(c *Channel) { c.Email.To = manyOf(51, "a@b.c") }, "email.to", "more than 50"},
		},
		"slack":   {{"no URL", func(c *Channel) { c.Slack.URL = "" }, "slack.url", "is missing"}},
		"discord": {{"no URL", func(c *Channel) { c.Discord.URL = "x" }, "discord.url", "absolute URL"}},
		"teams":   {{"no URL", func(c *Channel) { c.Teams.URL = "x" }, "teams.url", "absolute URL"}},
		"telegram": {
			{"token", func(c *Channel) { c.Telegram.Token = "s3cret" }, "telegram.token", "is not the token of a bot"},
			{"chat", func(c *Channel) { c.Telegram.Chat = "ops" }, "telegram.chat", "@name of a channel"},
			{"named chat", func(c *Channel) { c.Telegram.Chat = "@ops" }, "", ""},
			{"api", func(c *Channel) { c.Telegram.API = "x" }, "telegram.api", "absolute URL"},
		},
		"pagerduty": {
			{"no key", func(c *Channel) { c.PagerDuty.RoutingKey = "" }, "pagerduty.routing_key", "is missing"},
			{"key with a line end", func(c *Channel) { c.PagerDuty.RoutingKey = "s3cret\n" }, "pagerduty.routing_key", "line end"},
		},
		"ntfy": {
			{"no topic", func(c *Channel) { c.Ntfy.Topic = "" }, "ntfy.topic", "is not a topic"},
			{"topic with a slash", func(c *Channel) { c.Ntfy.Topic = "a/b" }, "ntfy.topic", "is not a topic"},
			{"server", func(c *Channel) { c.Ntfy.Server = "ntfy.sh" }, "ntfy.server", "absolute URL"},
			{"token", func(c *Channel) { c.Ntfy.Token = "a b" }, "ntfy.token", "no token has"},
		},
		"gotify": {
			{"no server", func(c *Channel) { c.Gotify.Server = "" }, "gotify.server", "is missing"},
			{"no token", func(c *Channel) { c.Gotify.Token = "" }, "gotify.token", "is missing"},
			{"token", func(c *Channel) { c.Gotify.Token = "a b" }, "gotify.token", "no token has"},
		},
		"matrix": {
			{"no server", func(c *Channel) { c.Matrix.Server = "" }, "matrix.server", "is missing"},
			{"an alias", func(c *Channel) { c.Matrix.Room = "#ops:example.com" }, "matrix.room", "is not the id of a room"},
			{"a path", func(c *Channel) { c.Matrix.Room = "!a/b:example.com" }, "matrix.room", "is not the id of a room"},
			{"no token", func(c *Channel) { c.Matrix.Token = "" }, "matrix.token", "is missing"},
		},
		"command": {
			{"no program", func(c *Channel) { c.Command.Argv = nil }, "command.argv", "is missing"},
			{"NUL", func(c *Channel) { c.Command.Argv = []string{"a", "\x00"} }, "command.argv", "NUL"},
			{"too long", func(c *Channel) { c.Command.Timeout = span("6m") }, "command.timeout", "outside 1s to 5m"},
		},
	}
	for kind, list := range rows {
		t.Run(kind, func(t *testing.T) {
			refuses(t, func() Channel { return everyKind()[kind] }, func(c Channel) error {
				err := c.Validate(time.Time{})
				if err != nil && strings.Contains(err.Error(), "s3cret") {
					t.Errorf("the error tells a secret: %v", err)
				}
				return err
			}, list)
		})
	}
}

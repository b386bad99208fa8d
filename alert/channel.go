package alert

import (
	"fmt"
	"maps"
	"slices"
	"time"

	"github.com/belfry-run/belfry/core"
)

// Channel is a way to tell people: exactly one of its settings.
type Channel struct {
	Namespace   string `json:"namespace,omitempty" doc:"Owner; default: default"`
	Name        string `json:"name" doc:"Unique in the namespace"`
	Description string `json:"description,omitempty"`

	Webhook   *WebhookChannel   `json:"webhook,omitempty"`
	Email     *EmailChannel     `json:"email,omitempty"`
	Slack     *SlackChannel     `json:"slack,omitempty"`
	Telegram  *TelegramChannel  `json:"telegram,omitempty"`
	Discord   *DiscordChannel   `json:"discord,omitempty"`
	Teams     *TeamsChannel     `json:"teams,omitempty"`
	PagerDuty *PagerDutyChannel `json:"pagerduty,omitempty"`
	Ntfy      *NtfyChannel      `json:"ntfy,omitempty"`
	Command   *CommandChannel   `json:"command,omitempty"`

	ID         int64     `json:"id,omitempty" readOnly:"true"`
	Generation int64     `json:"generation,omitempty" readOnly:"true"`
	CreatedAt  time.Time `json:"created_at,omitzero" readOnly:"true"`
	UpdatedAt  time.Time `json:"updated_at,omitzero" readOnly:"true"`
}

// WebhookChannel posts the message as JSON. With a secret, the header
// Belfry-Signature is t=UNIX,v1=HEX, the HMAC-SHA256 of "UNIX.BODY".
type WebhookChannel struct {
	URL     core.Secret            `json:"url" doc:"http or https"`
	Secret  core.Secret            `json:"secret,omitempty" doc:"Key of the signature; default: not signed"`
	Headers map[string]core.Secret `json:"headers,omitempty"`
}

// EmailChannel sends mail over SMTP.
type EmailChannel struct {
	Host     string      `json:"host"`
	Port     int         `json:"port,omitempty" doc:"Default: 587; 465 with tls: implicit; 25 with tls: opportunistic or none"`
	TLS      string      `json:"tls,omitempty" enum:"starttls,implicit,opportunistic,none" doc:"Default: starttls. opportunistic encrypts where the server offers it, and then checks its certificate"`
	CA       string      `json:"ca,omitempty" doc:"PEM of the authorities to trust instead of the system's"`
	User     string      `json:"user,omitempty"`
	Password core.Secret `json:"password,omitempty"`
	From     string      `json:"from"`
	To       []string    `json:"to"`
}

// SlackChannel posts to an incoming webhook. Mattermost and others take the same.
type SlackChannel struct {
	URL core.Secret `json:"url" doc:"Of the incoming webhook"`
}

// TelegramChannel sends as a bot.
type TelegramChannel struct {
	Token core.Secret `json:"token" doc:"Of the bot"`
	Chat  string      `json:"chat" doc:"Id of the chat, or @name of a channel"`
	API   string      `json:"api,omitempty" doc:"Default: https://api.telegram.org"`
}

// DiscordChannel posts to a webhook.
type DiscordChannel struct {
	URL core.Secret `json:"url"`
}

// TeamsChannel posts an adaptive card to a workflow's webhook.
type TeamsChannel struct {
	URL core.Secret `json:"url"`
}

// PagerDutyChannel triggers and resolves through the Events API v2, with one
// key for an outage.
type PagerDutyChannel struct {
	RoutingKey core.Secret `json:"routing_key"`
	API        string      `json:"api,omitempty" doc:"Default: https://events.pagerduty.com"`
}

// NtfyChannel publishes to a topic.
type NtfyChannel struct {
	Server string      `json:"server,omitempty" doc:"Default: https://ntfy.sh"`
	Topic  string      `json:"topic"`
	Token  core.Secret `json:"token,omitempty"`
}

// CommandChannel runs a program on a node, where its operator allows commands.
// The message is its standard input, as JSON.
type CommandChannel struct {
	Argv    []string      `json:"argv"`
	Timeout core.Duration `json:"timeout,omitempty" doc:"Default: 30s; at most 5m"`
}

// Defaults and limits of a channel.
const (
	DefaultTelegramAPI    = "https://api.telegram.org"
	DefaultPagerDutyAPI   = "https://events.pagerduty.com"
	DefaultNtfyServer     = "https://ntfy.sh"
	DefaultCommandTimeout = core.Duration(30 * time.Second)
	MaxCommandTimeout     = core.Duration(5 * time.Minute)
	MaxRecipients         = 50
	MaxHeaders            = 50
)

// channelKind is one way to tell people.
type channelKind struct {
	name     string
	given    bool
	validate func() error
}

// kinds lists every kind, with whether its settings are given.
func (c Channel) kinds() []channelKind {
	return []channelKind{
		{"webhook", c.Webhook != nil, func() error { return c.Webhook.validate() }},
		{"email", c.Email != nil, func() error { return c.Email.validate() }},
		{"slack", c.Slack != nil, func() error { return validateHook("slack", c.Slack.URL) }},
		{"telegram", c.Telegram != nil, func() error { return c.Telegram.validate() }},
		{"discord", c.Discord != nil, func() error { return validateHook("discord", c.Discord.URL) }},
		{"teams", c.Teams != nil, func() error { return validateHook("teams", c.Teams.URL) }},
		{"pagerduty", c.PagerDuty != nil, func() error { return c.PagerDuty.validate() }},
		{"ntfy", c.Ntfy != nil, func() error { return c.Ntfy.validate() }},
		{"command", c.Command != nil, func() error { return c.Command.validate() }},
	}
}

// Kind is the name of the setting that the channel has; empty when it has none.
func (c Channel) Kind() string {
	for _, k := range c.kinds() {
		if k.given {
			return k.name
		}
	}
	return ""
}

// WithDefaults fills what was left out.
func (c Channel) WithDefaults() Channel {
	c.Namespace = core.Or(c.Namespace, core.DefaultNamespace)
	c.Email = core.Defaulted(c.Email, func(e EmailChannel) EmailChannel {
		e.TLS = core.Or(e.TLS, "starttls")
		e.Port = core.Or(e.Port, map[string]int{"implicit": 465, "opportunistic": 25, "none": 25}[e.TLS])
		e.Port = core.Or(e.Port, 587)
		return e
	})
	c.Telegram = core.Defaulted(c.Telegram, func(t TelegramChannel) TelegramChannel {
		t.API = core.Or(t.API, DefaultTelegramAPI)
		return t
	})
	c.PagerDuty = core.Defaulted(c.PagerDuty, func(d PagerDutyChannel) PagerDutyChannel {
		d.API = core.Or(d.API, DefaultPagerDutyAPI)
		return d
	})
	c.Ntfy = core.Defaulted(c.Ntfy, func(n NtfyChannel) NtfyChannel {
		n.Server = core.Or(n.Server, DefaultNtfyServer)
		return n
	})
	c.Command = core.Defaulted(c.Command, func(m CommandChannel) CommandChannel {
		m.Timeout = core.Or(m.Timeout, DefaultCommandTimeout)
		return m
	})
	return c
}

// Redacted is the channel as it is shown: without its secrets.
func (c Channel) Redacted() Channel {
	return c.MapSecrets(func(_ string, s core.Secret) core.Secret { return s.Redacted() })
}

// KeepSecrets puts back the secrets of old where a channel that was shown is
// saved again. A channel that now goes elsewhere gets none of them: who may
// edit it but not read its secrets could have them sent to a place of their
// own. What is not put back is found by [Channel.CheckSecrets].
func (c Channel) KeepSecrets(old Channel) Channel {
	if !c.sameGoal(old) {
		return c
	}
	kept := map[string]core.Secret{}
	old.MapSecrets(func(path string, s core.Secret) core.Secret {
		kept[path] = s
		return s
	})
	return c.MapSecrets(func(path string, s core.Secret) core.Secret {
		if before, is := kept[path]; is {
			return s.Kept(before)
		}
		return s
	})
}

// sameGoal reports whether two channels of one kind go to the same place.
func (c Channel) sameGoal(old Channel) bool {
	switch {
	case c.Kind() != old.Kind():
		return false
	case c.Webhook != nil:
		return c.Webhook.URL == core.Redacted || core.HostOf(c.Webhook.URL) == core.HostOf(old.Webhook.URL)
	case c.Email != nil:
		return c.Email.Host == old.Email.Host && c.Email.Port == old.Email.Port && c.Email.TLS == old.Email.TLS && c.Email.CA == old.Email.CA
	case c.Telegram != nil:
		return c.Telegram.API == old.Telegram.API
	case c.PagerDuty != nil:
		return c.PagerDuty.API == old.PagerDuty.API
	case c.Ntfy != nil:
		return c.Ntfy.Server == old.Ntfy.Server
	}
	return true
}

// CheckSecrets refuses a channel in which something stands for a secret that
// is not there. It is for a channel that is about to be saved: a file may well
// say that a secret is to stay as it is.
func (c Channel) CheckSecrets() error {
	var p core.Problems
	c.MapSecrets(func(path string, s core.Secret) core.Secret {
		if s == core.Redacted {
			p.Add(path, string(s), "stands for a secret that is kept, and none is", "write the secret itself; one is kept only while the channel goes to the same place")
		}
		return s
	})
	return p.Err(fmt.Sprintf("channel %q", c.Name))
}

// MapSecrets is a copy of the channel with every secret replaced by what f
// answers. It is the one place that knows where they are.
func (c Channel) MapSecrets(f func(path string, s core.Secret) core.Secret) Channel {
	c.Webhook = core.Defaulted(c.Webhook, func(w WebhookChannel) WebhookChannel {
		w.URL, w.Secret = f("webhook.url", w.URL), f("webhook.secret", w.Secret)
		w.Headers = maps.Clone(w.Headers)
		for _, name := range slices.Sorted(maps.Keys(w.Headers)) {
			w.Headers[name] = f("webhook.headers."+name, w.Headers[name])
		}
		return w
	})
	c.Email = core.Defaulted(c.Email, func(e EmailChannel) EmailChannel {
		e.Password = f("email.password", e.Password)
		return e
	})
	c.Slack = core.Defaulted(c.Slack, func(s SlackChannel) SlackChannel { return SlackChannel{URL: f("slack.url", s.URL)} })
	c.Telegram = core.Defaulted(c.Telegram, func(t TelegramChannel) TelegramChannel {
		t.Token = f("telegram.token", t.Token)
		return t
	})
	c.Discord = core.Defaulted(c.Discord, func(d DiscordChannel) DiscordChannel { return DiscordChannel{URL: f("discord.url", d.URL)} })
	c.Teams = core.Defaulted(c.Teams, func(t TeamsChannel) TeamsChannel { return TeamsChannel{URL: f("teams.url", t.URL)} })
	c.PagerDuty = core.Defaulted(c.PagerDuty, func(d PagerDutyChannel) PagerDutyChannel {
		d.RoutingKey = f("pagerduty.routing_key", d.RoutingKey)
		return d
	})
	c.Ntfy = core.Defaulted(c.Ntfy, func(n NtfyChannel) NtfyChannel {
		n.Token = f("ntfy.token", n.Token)
		return n
	})
	return c
}

package alert

import (
	"fmt"
	"time"

	"github.com/belfry-run/belfry/core"
)

// Channel is a destination of notifications. Exactly one of its settings must be set.
type Channel struct {
	Namespace   string `json:"namespace,omitempty" doc:"Owner; default: default"`
	Name        string `json:"name" doc:"Unique in the namespace"`
	Title       string `json:"title,omitempty" doc:"What people call it, in any script; one line of at most 200 bytes; default: the name is shown"`
	Description string `json:"description,omitempty"`

	Webhook   *WebhookChannel   `json:"webhook,omitempty"`
	Email     *EmailChannel     `json:"email,omitempty"`
	Slack     *SlackChannel     `json:"slack,omitempty"`
	Telegram  *TelegramChannel  `json:"telegram,omitempty"`
	Discord   *DiscordChannel   `json:"discord,omitempty"`
	Teams     *TeamsChannel     `json:"teams,omitempty"`
	PagerDuty *PagerDutyChannel `json:"pagerduty,omitempty"`
	Ntfy      *NtfyChannel      `json:"ntfy,omitempty"`
	Gotify    *GotifyChannel    `json:"gotify,omitempty"`
	Matrix    *MatrixChannel    `json:"matrix,omitempty"`
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

// PagerDutyChannel triggers and resolves through the Events API v2, with one key
// for each outage.
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

// CommandChannel runs a program on a node, if its operator allows commands. The
// program reads the message as JSON from standard input.
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

func (e EmailChannel) withDefaults() EmailChannel {
	e.TLS = core.Or(e.TLS, "starttls")
	e.Port = core.Or(e.Port, map[string]int{"implicit": 465, "opportunistic": 25, "none": 25}[e.TLS])
	e.Port = core.Or(e.Port, 587)
	return e
}

func (t TelegramChannel) withDefaults() TelegramChannel {
	t.API = core.Or(t.API, DefaultTelegramAPI)
	return t
}

func (d PagerDutyChannel) withDefaults() PagerDutyChannel {
	d.API = core.Or(d.API, DefaultPagerDutyAPI)
	return d
}

func (n NtfyChannel) withDefaults() NtfyChannel {
	n.Server = core.Or(n.Server, DefaultNtfyServer)
	return n
}

func (m CommandChannel) withDefaults() CommandChannel {
	m.Timeout = core.Or(m.Timeout, DefaultCommandTimeout)
	return m
}

// Redacted returns the channel for display, without its secrets.
func (c Channel) Redacted() Channel {
	return c.MapSecrets(func(_ string, s core.Secret) core.Secret { return s.Redacted() })
}

// Redacts reports that a secret is only its placeholder: the key to open it is missing. Another node may have the key.
func (c Channel) Redacts() bool {
	found := false
	c.MapSecrets(func(_ string, s core.Secret) core.Secret {
		found = found || s == core.Redacted
		return s
	})
	return found
}

// KeepSecrets restores the secrets of old in a redacted channel that is saved
// again. A channel with a new destination gets none of them: otherwise a person
// who may edit it but not read its secrets could have them sent to their own
// address. [Channel.CheckSecrets] finds a secret that was not restored.
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

// CheckSecrets returns an error if the channel has a placeholder instead of a
// secret. Call it before saving a channel, after [Channel.KeepSecrets]: in a file
// the placeholder means that the secret stays unchanged.
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

package alert

import (
	"maps"
	"slices"
	"strings"

	"github.com/belfry-run/belfry/core"
	"github.com/belfry-run/belfry/core/setting"
)

// Kind describes a kind of channel, except how a message is sent.
type Kind struct {
	Name    string // name of its settings in a [Channel]
	Title   string // title on pages
	Program bool   // programs read its messages, not people
	Flag    string // flag of the command line that sets kind and destination
	Fields  []setting.Field

	part  setting.Part[Channel]
	same  func(c, old Channel) bool // whether both have the same destination; nil: any two have
	goal  func(c Channel) Goal
	facts func(c Channel) setting.Facts // settings besides the goal
}

// Goal is the destination of a channel without secrets. To is empty if the destination is a secret.
type Goal struct{ What, To, By string }

// Kinds lists all kinds of channels. Validation, the command line, pages and the sender use it.
var Kinds = []Kind{
	{
		Name: "webhook", Title: "Webhook", Program: true, Flag: "webhook",
		Fields: []setting.Field{
			{Path: "url", As: setting.Secret, Flag: "webhook", Usage: "URL that is sent the message as JSON", Label: "Address", Need: true, Hint: "The message is posted there as JSON. It is never shown."},
			{Path: "secret", As: setting.Secret, Flag: "secret", Usage: "key of the signature in Belfry-Signature", Label: "Key of the signature", Hint: "Default: it is not signed. " + setting.SecretHint},
			{As: setting.Text, Flag: "secret-file", Usage: "the same as --secret @FILE"},
			{Path: "headers", As: setting.Secrets, Flag: "header", Usage: "'Name: value', where the value may be @FILE; may be repeated", Label: "Headers", Hint: "The values are never shown."},
		},
		part: setting.At(func(c *Channel) **WebhookChannel { return &c.Webhook }, nil, WebhookChannel.validate),
		same: func(c, old Channel) bool {
			return c.Webhook.URL == core.Redacted || core.HostOf(c.Webhook.URL) == core.HostOf(old.Webhook.URL)
		},
		facts: func(c Channel) (f setting.Facts) {
			signed, headers := "no", []string{}
			if c.Webhook.Secret != "" {
				signed = "yes"
			}
			for _, name := range slices.Sorted(maps.Keys(c.Webhook.Headers)) {
				headers = append(headers, name+": "+c.Webhook.Headers[name].String())
			}
			f.Add(true, "signed", "%s", signed)
			f.Add(true, "headers", "%s", strings.Join(headers, "\n"))
			return f
		},
	},
	{
		Name: "email", Title: "Mail", Flag: "email",
		Fields: []setting.Field{
			{Path: "host", Flag: "email", Usage: "mail server, as smtp://USER@HOST:PORT, or smtps:// for TLS from the start" + setting.SecretUsage, Label: "Server", Need: true, Hint: "Such as smtp.example.com"},
			{Path: "port", As: setting.Number, Label: "Port", Hint: "Default: 587; 465 with implicit, 25 with opportunistic or none."},
			{Path: "tls", As: setting.Choice, Flag: "email-tls", Usage: "starttls, implicit, opportunistic (where the server offers it) or none; default: by the URL", Label: "TLS", Options: []string{"starttls", "implicit", "opportunistic", "none"}},
			{Path: "ca", As: setting.File, Flag: "email-ca", Usage: "PEM file of the authorities to trust instead of the system's; empty: the system's", Label: "Authorities", Hint: "PEM to trust instead of the system's."},
			{Path: "user", Label: "User"},
			{Path: "password", As: setting.Secret, Flag: "password", Label: "Password", Hint: setting.SecretHint},
			{Path: "from", Flag: "from", Usage: "sender", Label: "From", Need: true, Hint: "belfry@example.com"},
			{Path: "to", As: setting.Words, Flag: "to", Usage: "recipients; may be repeated", Label: "To", Need: true, Hint: "One or more addresses."},
		},
		part: setting.At(func(c *Channel) **EmailChannel { return &c.Email }, EmailChannel.withDefaults, EmailChannel.validate),
		same: func(c, old Channel) bool {
			return c.Email.Host == old.Email.Host && c.Email.Port == old.Email.Port && c.Email.TLS == old.Email.TLS && c.Email.CA == old.Email.CA
		},
		goal: func(c Channel) Goal { return Goal{To: strings.Join(c.Email.To, ", "), By: c.Email.Host} },
		facts: func(c Channel) (f setting.Facts) {
			e := c.Email
			f.Add(true, "server", "%s:%d", e.Host, e.Port)
			f.Add(true, "tls", "%s", e.TLS)
			f.Add(true, "user", "%s", e.User)
			f.Add(true, "password", "%s", e.Password)
			f.Add(true, "from", "%s", e.From)
			return f
		},
	},
	{
		Name: "slack", Title: "Slack", Flag: "slack",
		Fields: []setting.Field{{Path: "url", As: setting.Secret, Flag: "slack", Usage: "URL of an incoming webhook of Slack, Mattermost and others", Label: "Webhook", Need: true, Hint: "Address of the incoming webhook. Mattermost takes the same. It is never shown."}},
		part:   setting.At(func(c *Channel) **SlackChannel { return &c.Slack }, nil, func(s SlackChannel) error { return validateHook("slack", s.URL) }),
	},
	{
		Name: "telegram", Title: "Telegram", Flag: "telegram",
		Fields: []setting.Field{
			{Path: "token", As: setting.Secret, Flag: "bot-token", Usage: "token of the bot", Label: "Token of the bot", Need: true, Hint: "It is never shown."},
			{Path: "chat", Flag: "telegram", Usage: "chat of Telegram: its number, or @name of a channel, told by the bot of --bot-token", Label: "Chat", Need: true, Hint: "Its id, or @name of a channel."},
			{Path: "api", Flag: "api", Usage: "where, if it is not the usual place", Label: "API", Hint: "Default: " + DefaultTelegramAPI},
		},
		part: setting.At(func(c *Channel) **TelegramChannel { return &c.Telegram }, TelegramChannel.withDefaults, TelegramChannel.validate),
		same: func(c, old Channel) bool { return c.Telegram.API == old.Telegram.API },
		goal: func(c Channel) Goal { return Goal{What: "chat ", To: c.Telegram.Chat} },
		facts: func(c Channel) (f setting.Facts) {
			f.Add(true, "api", "%s", c.Telegram.API)
			f.Add(true, "token", "%s", c.Telegram.Token)
			return f
		},
	},
	{
		Name: "discord", Title: "Discord", Flag: "discord",
		Fields: []setting.Field{{Path: "url", As: setting.Secret, Flag: "discord", Usage: "URL of a webhook of Discord", Label: "Webhook", Need: true, Hint: "It is never shown."}},
		part:   setting.At(func(c *Channel) **DiscordChannel { return &c.Discord }, nil, func(s DiscordChannel) error { return validateHook("discord", s.URL) }),
	},
	{
		Name: "teams", Title: "Teams", Flag: "teams",
		Fields: []setting.Field{{Path: "url", As: setting.Secret, Flag: "teams", Usage: "URL of a workflow's webhook of Teams", Label: "Webhook", Need: true, Hint: "Of a workflow. It is never shown."}},
		part:   setting.At(func(c *Channel) **TeamsChannel { return &c.Teams }, nil, func(s TeamsChannel) error { return validateHook("teams", s.URL) }),
	},
	{
		Name: "pagerduty", Title: "PagerDuty", Flag: "pagerduty",
		Fields: []setting.Field{
			{Path: "routing_key", As: setting.Secret, Flag: "pagerduty", Usage: "integration key of PagerDuty, Events API v2", Label: "Routing key", Need: true, Hint: "Of the Events API v2. It is never shown."},
			{Path: "api", Flag: "api", Usage: "where, if it is not the usual place", Label: "API", Hint: "Default: " + DefaultPagerDutyAPI},
		},
		part: setting.At(func(c *Channel) **PagerDutyChannel { return &c.PagerDuty }, PagerDutyChannel.withDefaults, PagerDutyChannel.validate),
		same: func(c, old Channel) bool { return c.PagerDuty.API == old.PagerDuty.API },
		facts: func(c Channel) (f setting.Facts) {
			f.Add(true, "api", "%s", c.PagerDuty.API)
			return f
		},
	},
	{
		Name: "ntfy", Title: "ntfy", Flag: "ntfy",
		Fields: []setting.Field{
			{Path: "topic", Flag: "ntfy", Usage: "topic of ntfy.sh, or the URL of one elsewhere", Label: "Topic", Need: true},
			{Path: "server", Label: "Server", Hint: "Default: " + DefaultNtfyServer},
			{Path: "token", As: setting.Secret, Flag: "access-token", Usage: "token", Label: "Token", Hint: setting.SecretHint},
		},
		part: setting.At(func(c *Channel) **NtfyChannel { return &c.Ntfy }, NtfyChannel.withDefaults, NtfyChannel.validate),
		same: func(c, old Channel) bool { return c.Ntfy.Server == old.Ntfy.Server },
		goal: func(c Channel) Goal { return Goal{To: c.Ntfy.Server + "/" + c.Ntfy.Topic} },
		facts: func(c Channel) (f setting.Facts) {
			f.Add(true, "token", "%s", c.Ntfy.Token)
			return f
		},
	},
	gotifyKind,
	matrixKind,
	{
		Name: "command", Title: "Command", Program: true, Flag: "exec",
		Fields: []setting.Field{
			{Path: "argv", As: setting.Lines, Flag: "exec", Usage: "program that reads the message as JSON, then its arguments: repeat the flag, or write them after --", Label: "Program", Need: true,
				Hint: "It and its arguments, one a line. The message is its standard input, as JSON. The node's operator has to allow commands."},
			{Path: "timeout", As: setting.Duration, Flag: "timeout", Usage: "longest the program may run; default: 30s", Label: "Timeout", Hint: "Default: 30s."},
		},
		part: setting.At(func(c *Channel) **CommandChannel { return &c.Command }, CommandChannel.withDefaults, CommandChannel.validate),
		goal: func(c Channel) Goal { return Goal{To: strings.Join(c.Command.Argv, " ")} },
		facts: func(c Channel) (f setting.Facts) {
			f.Add(true, "timeout", "%s", c.Command.Timeout)
			return f
		},
	},
}

// KindOf returns the kind with that name.
func KindOf(name string) (Kind, bool) {
	i := slices.IndexFunc(Kinds, func(k Kind) bool { return k.Name == name })
	if i < 0 {
		return Kind{}, false
	}
	return Kinds[i], true
}

// Edit replaces the settings of this kind in the channel by a copy, or by new ones, and returns a pointer to them.
func (k Kind) Edit(c *Channel) any { return k.part.Edit(c) }

// Given reports whether a channel has settings of this kind.
func (k Kind) Given(c Channel) bool { return k.part.Given(&c) }

// Goal returns the destination of the channel without secrets.
func (c Channel) Goal() Goal {
	if k, is := KindOf(c.Kind()); is && k.goal != nil {
		return k.goal(c)
	}
	return Goal{}
}

// Facts returns the settings of the channel besides its goal, without secrets.
func (c Channel) Facts() setting.Facts {
	if k, is := KindOf(c.Kind()); is && k.facts != nil {
		return k.facts(c)
	}
	return nil
}

// Kind returns the name of the channel's kind, or "" if no setting is set.
func (c Channel) Kind() string {
	for _, k := range Kinds {
		if k.Given(c) {
			return k.Name
		}
	}
	return ""
}

// WithDefaults returns a copy with the defaults of empty fields.
func (c Channel) WithDefaults() Channel {
	c.Namespace = core.Or(c.Namespace, core.DefaultNamespace)
	for _, k := range Kinds {
		k.part.Fill(&c)
	}
	return c
}

// sameGoal reports whether two channels of one kind have the same destination.
func (c Channel) sameGoal(old Channel) bool {
	k, is := KindOf(c.Kind())
	return c.Kind() == old.Kind() && (!is || k.same == nil || k.same(c, old))
}

// MapSecrets returns a copy of the channel with every secret replaced by the
// result of f. It is the only code that knows where the secrets are.
func (c Channel) MapSecrets(f func(path string, s core.Secret) core.Secret) Channel {
	for _, k := range Kinds {
		if k.Given(c) {
			setting.MapSecrets(k.Edit(&c), func(path string, s core.Secret) core.Secret { return f(k.Name+"."+path, s) })
		}
	}
	return c
}

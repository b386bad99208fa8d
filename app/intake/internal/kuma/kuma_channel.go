package kuma

import (
	"strings"

	"github.com/belfry-run/belfry/alert"
	"github.com/belfry-run/belfry/app/intake/internal/base"
	"github.com/belfry-run/belfry/app/intake/internal/tree"
	"github.com/belfry-run/belfry/core"
)

// notifications become channels. Their settings are a text of JSON in the
// backup.
func (k *kuma) notifications(t *tree.Tree) {
	for _, n := range items(t) {
		settings := n.Get("config")
		if settings.Kind == tree.Scalar {
			settings = tree.ReadInnerJSON(settings.Text, settings.At)
		}
		if settings == nil || settings.Kind != tree.Mapping {
			settings = n
		}
		name := base.OrWord(n.Get("name").Text, settings.Get("name").Text)
		kind := settings.Get("type").Text
		e := base.NewEntry(n.At, "notification "+base.OrWord(base.Clip(name), "without a name"), "notification "+base.Clip(name)+": "+base.Clip(kind))
		c := alert.Channel{Name: k.Channels.Free(base.Stem(name, base.Stem(kind, "channel")))}
		c.Title = base.TitleOf(c.Name, name)
		k.fill(e, &c, kind, settings)
		id := n.Get("id").Text
		if off := n.Get("active"); off.Kind == tree.Scalar && !base.IsTrue(off) {
			e.Notef("it is off there; take its rule out, or set it off, to have it so")
		}
		if k.AddChannel(e, c) {
			k.told[id], e.Channel, e.Means = c.Name, c.Name, "Tells people by "+c.Kind()+"."
		} else {
			k.silent[id] = base.OrWord(name, kind)
		}
		k.Done(e)
	}
}

// fill writes the settings of a channel.
func (k *kuma) fill(e *base.Entry, c *alert.Channel, kind string, t *tree.Tree) {
	text := func(key string) string { return t.Get(key).Text }
	secret := func(key string) core.Secret { return core.Secret(strings.TrimSpace(t.Get(key).Text)) }
	switch kind {
	case "slack":
		c.Slack = &alert.SlackChannel{URL: secret("slackwebhookURL")}
	case "mattermost":
		c.Slack = &alert.SlackChannel{URL: secret("mattermostWebhookUrl")}
	case "rocket.chat":
		c.Slack = &alert.SlackChannel{URL: secret("rocketwebhookURL")}
	case "discord":
		c.Discord = &alert.DiscordChannel{URL: secret("discordWebhookUrl")}
	case "teams":
		c.Teams = &alert.TeamsChannel{URL: secret("webhookUrl")}
		if strings.Contains(text("webhookUrl"), ".webhook.office.com") {
			e.Notef("Belfry posts what a workflow of Teams takes, and connectors do not: make a workflow and write its URL into the channel")
		}
	case "telegram":
		c.Telegram = &alert.TelegramChannel{Token: secret("telegramBotToken"), Chat: strings.TrimSpace(text("telegramChatID")), API: strings.TrimSuffix(text("telegramServerUrl"), "/")}
		if text("telegramMessageThreadID") != "" {
			e.Notef("telegramMessageThreadID is not carried over: messages go to the chat as a whole")
		}
	case "PagerDuty":
		c.PagerDuty = &alert.PagerDutyChannel{RoutingKey: secret("pagerdutyIntegrationKey")}
		if api := strings.TrimSuffix(text("pagerdutyIntegrationUrl"), "/v2/enqueue"); api != alert.DefaultPagerDutyAPI {
			c.PagerDuty.API = api
		}
		if auto := text("pagerdutyAutoResolve"); auto == "" || auto == "0" {
			e.Notef("an outage that is over is resolved in PagerDuty, which was not so there")
		}
	case "ntfy":
		k.ntfy(e, c, t)
	case "gotify":
		c.Gotify = &alert.GotifyChannel{Server: strings.TrimSuffix(text("gotifyserverurl"), "/"), Token: secret("gotifyapplicationToken")}
		if text("gotifyPriority") != "" {
			e.Notef("gotifyPriority is not carried over: the priority follows the severity")
		}
	case "matrix":
		c.Matrix = &alert.MatrixChannel{Server: strings.TrimSuffix(text("homeserverUrl"), "/"), Room: strings.TrimSpace(text("internalRoomId")), Token: secret("accessToken")}
	case "smtp":
		k.smtp(e, c, t)
	case "webhook":
		k.webhook(e, c, t)
	case "":
		e.Fault(e.At, "type", "", "is missing", "")
	default:
		e.Fault(e.At, "type", kind, "is a kind of channel that Belfry does not have", "a webhook or a command can reach it")
	}
}

func (k *kuma) ntfy(e *base.Entry, c *alert.Channel, t *tree.Tree) {
	c.Ntfy = &alert.NtfyChannel{Server: strings.TrimSuffix(t.Get("ntfyserverurl").Text, "/"), Topic: t.Get("ntfytopic").Text}
	switch t.Get("ntfyAuthenticationMethod").Text {
	case "accessToken":
		c.Ntfy.Token = core.Secret(strings.TrimSpace(t.Get("ntfyaccesstoken").Text))
	case "usernamePassword":
		e.Notef("its user and password are not carried over: make an access token in ntfy and write it into the channel")
	}
}

func (k *kuma) smtp(e *base.Entry, c *alert.Channel, t *tree.Tree) {
	m := &alert.EmailChannel{
		Host: t.Get("smtpHost").Text, Port: base.Whole(t.Get("smtpPort"), 0), User: t.Get("smtpUsername").Text,
		Password: core.Secret(t.Get("smtpPassword").Text), From: strings.TrimSpace(t.Get("smtpFrom").Text),
	}
	switch {
	case base.IsTrue(t.Get("smtpSecure")):
		m.TLS = "implicit"
	case base.IsTrue(t.Get("smtpIgnoreSTARTTLS")):
		m.TLS = "none"
	}
	for _, key := range []string{"smtpTo", "smtpCC", "smtpBCC"} {
		m.To = append(m.To, base.Addresses(t.Get(key).Text)...)
	}
	if t.Get("smtpBCC").Text != "" {
		e.Notef("smtpBCC: its addresses stand among the others, for all to see")
	}
	if base.IsTrue(t.Get("smtpIgnoreTLSError")) {
		e.Notef("smtpIgnoreTLSError is not carried over: the server needs a certificate that can be trusted")
	}
	if t.Get("customSubject").Text != "" || t.Get("customBody").Text != "" {
		e.Notef("its own subject and body are not carried over")
	}
	c.Email = m
}

func (k *kuma) webhook(e *base.Entry, c *alert.Channel, t *tree.Tree) {
	c.Webhook = &alert.WebhookChannel{URL: core.Secret(strings.TrimSpace(t.Get("webhookURL").Text))}
	given := t.Get("webhookAdditionalHeaders")
	if given.Kind == tree.Scalar && strings.TrimSpace(given.Text) != "" {
		if given = tree.ReadInnerJSON(given.Text, given.At); given == nil || given.Kind != tree.Mapping {
			e.Notef("webhookAdditionalHeaders are not carried over: they are not a JSON object")
			given = &tree.Tree{}
		}
	}
	for _, name := range given.Keys {
		if c.Webhook.Headers == nil {
			c.Webhook.Headers = map[string]core.Secret{}
		}
		c.Webhook.Headers[name] = core.Secret(given.Table[name].Text)
	}
	e.Notef("Belfry posts its own JSON: what takes it must read it")
}

package intake

import (
	"strings"

	"github.com/belfry-run/belfry/alert"
	"github.com/belfry-run/belfry/core"
)

// notifications become channels. Their settings are a text of JSON in the
// backup.
func (k *kuma) notifications(t *tree) {
	for _, n := range items(t) {
		settings := n.get("config")
		if settings.kind == scalar {
			settings = readInnerJSON(settings.text, settings.at)
		}
		if settings == nil || settings.kind != mapping {
			settings = n
		}
		name := orWord(n.get("name").text, settings.get("name").text)
		kind := settings.get("type").text
		e := newEntry(n.at, "notification "+orWord(clip(name), "without a name"), "notification "+clip(name)+": "+clip(kind))
		c := alert.Channel{Name: k.channels.free(stem(name, stem(kind, "channel")))}
		c.Description = describeName(c.Name, name, "")
		k.fill(e, &c, kind, settings)
		id := n.get("id").text
		if off := n.get("active"); off.kind == scalar && !isTrue(off) {
			e.notef("it is off there; take its rule out, or set it off, to have it so")
		}
		if k.addChannel(e, c) {
			k.told[id], e.Channel, e.Means = c.Name, c.Name, "Tells people by "+c.Kind()+"."
		} else {
			k.silent[id] = orWord(name, kind)
		}
		k.done(e)
	}
}

// fill writes the settings of a channel.
func (k *kuma) fill(e *entry, c *alert.Channel, kind string, t *tree) {
	text := func(key string) string { return t.get(key).text }
	secret := func(key string) core.Secret { return core.Secret(strings.TrimSpace(t.get(key).text)) }
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
			e.notef("Belfry posts what a workflow of Teams takes, and connectors do not: make a workflow and write its URL into the channel")
		}
	case "telegram":
		c.Telegram = &alert.TelegramChannel{Token: secret("telegramBotToken"), Chat: strings.TrimSpace(text("telegramChatID")), API: strings.TrimSuffix(text("telegramServerUrl"), "/")}
		if text("telegramMessageThreadID") != "" {
			e.notef("telegramMessageThreadID is not carried over: messages go to the chat as a whole")
		}
	case "PagerDuty":
		c.PagerDuty = &alert.PagerDutyChannel{RoutingKey: secret("pagerdutyIntegrationKey")}
		if api := strings.TrimSuffix(text("pagerdutyIntegrationUrl"), "/v2/enqueue"); api != alert.DefaultPagerDutyAPI {
			c.PagerDuty.API = api
		}
		if auto := text("pagerdutyAutoResolve"); auto == "" || auto == "0" {
			e.notef("an outage that is over is resolved in PagerDuty, which was not so there")
		}
	case "ntfy":
		k.ntfy(e, c, t)
	case "gotify":
		c.Gotify = &alert.GotifyChannel{Server: strings.TrimSuffix(text("gotifyserverurl"), "/"), Token: secret("gotifyapplicationToken")}
		if text("gotifyPriority") != "" {
			e.notef("gotifyPriority is not carried over: the priority follows the severity")
		}
	case "matrix":
		c.Matrix = &alert.MatrixChannel{Server: strings.TrimSuffix(text("homeserverUrl"), "/"), Room: strings.TrimSpace(text("internalRoomId")), Token: secret("accessToken")}
	case "smtp":
		k.smtp(e, c, t)
	case "webhook":
		k.webhook(e, c, t)
	case "":
		e.fault(e.at, "type", "", "is missing", "")
	default:
		e.fault(e.at, "type", kind, "is a kind of channel that Belfry does not have", "a webhook or a command can reach it")
	}
}

func (k *kuma) ntfy(e *entry, c *alert.Channel, t *tree) {
	c.Ntfy = &alert.NtfyChannel{Server: strings.TrimSuffix(t.get("ntfyserverurl").text, "/"), Topic: t.get("ntfytopic").text}
	switch t.get("ntfyAuthenticationMethod").text {
	case "accessToken":
		c.Ntfy.Token = core.Secret(strings.TrimSpace(t.get("ntfyaccesstoken").text))
	case "usernamePassword":
		e.notef("its user and password are not carried over: make an access token in ntfy and write it into the channel")
	}
}

func (k *kuma) smtp(e *entry, c *alert.Channel, t *tree) {
	m := &alert.EmailChannel{
		Host: t.get("smtpHost").text, Port: whole(t.get("smtpPort"), 0), User: t.get("smtpUsername").text,
		Password: core.Secret(t.get("smtpPassword").text), From: strings.TrimSpace(t.get("smtpFrom").text),
	}
	switch {
	case isTrue(t.get("smtpSecure")):
		m.TLS = "implicit"
	case isTrue(t.get("smtpIgnoreSTARTTLS")):
		m.TLS = "none"
	}
	for _, key := range []string{"smtpTo", "smtpCC", "smtpBCC"} {
		m.To = append(m.To, addresses(t.get(key).text)...)
	}
	if t.get("smtpBCC").text != "" {
		e.notef("smtpBCC: its addresses stand among the others, for all to see")
	}
	if isTrue(t.get("smtpIgnoreTLSError")) {
		e.notef("smtpIgnoreTLSError is not carried over: the server needs a certificate that can be trusted")
	}
	if t.get("customSubject").text != "" || t.get("customBody").text != "" {
		e.notef("its own subject and body are not carried over")
	}
	c.Email = m
}

func (k *kuma) webhook(e *entry, c *alert.Channel, t *tree) {
	c.Webhook = &alert.WebhookChannel{URL: core.Secret(strings.TrimSpace(t.get("webhookURL").text))}
	given := t.get("webhookAdditionalHeaders")
	if given.kind == scalar && strings.TrimSpace(given.text) != "" {
		if given = readInnerJSON(given.text, given.at); given == nil || given.kind != mapping {
			e.notef("webhookAdditionalHeaders are not carried over: they are not a JSON object")
			given = &tree{}
		}
	}
	for _, name := range given.keys {
		if c.Webhook.Headers == nil {
			c.Webhook.Headers = map[string]core.Secret{}
		}
		c.Webhook.Headers[name] = core.Secret(given.table[name].text)
	}
	e.notef("Belfry posts its own JSON: what takes it must read it")
}

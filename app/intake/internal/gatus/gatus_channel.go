package gatus

import (
	"fmt"

	"github.com/belfry-run/belfry/alert"
	"github.com/belfry-run/belfry/app/intake/internal/base"
	"github.com/belfry-run/belfry/app/intake/internal/tree"
	"github.com/belfry-run/belfry/core"
)

// provider is one entry of alerting: a way to tell people.
type provider struct {
	kind     string
	base     *tree.Tree
	groups   map[string]*tree.Tree // overrides by group
	channels map[string]string
}

// alerting reads the providers. Each is a channel, and one more for every
// group that overrides it.
func (g *gatus) alerting(t *tree.Tree) {
	for _, kind := range t.Keys {
		if g.providers[kind] != nil || t.Table[kind].Empty() {
			continue
		}
		p := &provider{kind: kind, base: t.Table[kind], groups: map[string]*tree.Tree{}, channels: map[string]string{}}
		g.providers[kind] = p
		g.provider(p, "", nil)
		for _, o := range p.base.Get("overrides").List {
			if group := o.Get("group").Text; p.groups[group] == nil {
				p.groups[group] = o
				g.provider(p, group, o)
			}
		}
	}
}

func (g *gatus) provider(p *provider, group string, override *tree.Tree) {
	name, at := p.kind, p.base.At
	if override != nil {
		name, at = p.kind+" of "+group, override.At
	}
	e := base.NewEntry(at, name, "alerting: "+name)
	made, ok := g.channel(e, p, group, nil)
	if ok {
		e.Channel, e.Means = made, "Tells people by "+p.kind+"."
	}
	g.Done(e)
}

// channel returns the name of the channel of a group, with the overrides of an
// alert. It makes the channel if it is missing.
func (g *gatus) channel(e *base.Entry, p *provider, group string, a *tree.Tree) (string, bool) {
	override := p.groups[group]
	key := fmt.Sprintf("%p %p", override, a)
	if name, made := p.channels[key]; made {
		return name, name != ""
	}
	layers := layered{p.base}
	if override != nil {
		layers = append(layered{override}, layers...)
	}
	if a != nil {
		layers = append(layered{a}, layers...)
	}
	c := alert.Channel{Name: base.Stem(p.kind, "channel")}
	if override != nil {
		c.Name = base.Stem(p.kind+"-"+group, c.Name)
	}
	c.Name = g.Channels.Free(c.Name)
	g.fill(e, &c, p.kind, layers)
	p.channels[key] = ""
	if e.Err == nil && g.AddChannel(e, c) {
		p.channels[key] = c.Name
	}
	return p.channels[key], p.channels[key] != ""
}

// layered is the configuration of a provider, with its overrides in front.
type layered []*tree.Tree

func (l layered) get(keys ...string) *tree.Tree {
	for _, t := range l {
		if found := t.Get(keys...); found.Kind != tree.Nothing {
			return found
		}
	}
	return &tree.Tree{At: l[len(l)-1].At}
}

// left notes the keys besides the known ones.
func (l layered) left(e *base.Entry, known ...string) {
	known = append(known, "default-alert", "overrides", "group")
	for _, t := range l {
		e.Leave(t, "", known...)
	}
}

// fill writes the settings of a channel.
func (g *gatus) fill(e *base.Entry, c *alert.Channel, kind string, l layered) {
	secret := func(key string) core.Secret { return g.secret(e, l.get(key), key) }
	text := func(key string) string { return g.text(e, l.get(key), key) }
	switch kind {
	case "slack", "mattermost", "rocketchat":
		c.Slack = &alert.SlackChannel{URL: secret("webhook-url")}
		l.left(e, "webhook-url")
	case "discord":
		c.Discord = &alert.DiscordChannel{URL: secret("webhook-url")}
		l.left(e, "webhook-url")
	case "teams", "teams-workflows":
		c.Teams = &alert.TeamsChannel{URL: secret("webhook-url")}
		if kind == "teams" {
			e.Notef("Belfry posts what a workflow of Teams takes, and connectors do not: make a workflow and write its URL into the channel")
		}
		l.left(e, "webhook-url")
	case "telegram":
		c.Telegram = &alert.TelegramChannel{Token: secret("token"), Chat: text("id"), API: text("api-url")}
		l.left(e, "token", "id", "api-url")
	case "pagerduty":
		c.PagerDuty = &alert.PagerDutyChannel{RoutingKey: secret("integration-key")}
		l.left(e, "integration-key")
	case "ntfy":
		c.Ntfy = &alert.NtfyChannel{Server: text("url"), Topic: text("topic"), Token: secret("token")}
		l.left(e, "url", "topic", "token")
	case "gotify":
		c.Gotify = &alert.GotifyChannel{Server: text("server-url"), Token: secret("token")}
		l.left(e, "server-url", "token", "priority", "title")
	case "matrix":
		c.Matrix = &alert.MatrixChannel{Server: text("server-url"), Room: text("internal-room-id"), Token: secret("access-token")}
		l.left(e, "server-url", "internal-room-id", "access-token")
	case "email":
		c.Email = g.email(e, l)
		l.left(e, "from", "username", "password", "host", "port", "to")
	case "custom":
		c.Webhook = &alert.WebhookChannel{URL: secret("url")}
		for _, name := range l.get("headers").Keys {
			if c.Webhook.Headers == nil {
				c.Webhook.Headers = map[string]core.Secret{}
			}
			c.Webhook.Headers[name] = g.secret(e, l.get("headers", name), "headers."+base.Clip(name))
		}
		e.Notef("Belfry posts its own JSON: method, body and placeholders are not carried over, and what takes it must read it")
		l.left(e, "url", "headers", "method", "body", "placeholders")
	default:
		e.Fault(l[0].At, "", "", "is a kind of channel that Belfry does not have", "a webhook or a command can reach it")
	}
}

func (g *gatus) email(e *base.Entry, l layered) *alert.EmailChannel {
	m := &alert.EmailChannel{
		Host: g.text(e, l.get("host"), "host"), From: g.text(e, l.get("from"), "from"), User: g.text(e, l.get("username"), "username"),
		Password: g.secret(e, l.get("password"), "password"),
	}
	m.Port = base.Whole(l.get("port"), 0)
	if m.Port == 465 {
		m.TLS = "implicit"
	}
	if m.User == "" && m.Password != "" {
		m.User = m.From // as Gatus does
	}
	m.To = base.Addresses(g.text(e, l.get("to"), "to"))
	return m
}

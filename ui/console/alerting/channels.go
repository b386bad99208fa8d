package alerting

import (
	"context"
	"net/url"
	"slices"
	"strings"

	"github.com/belfry-run/belfry/alert"
	"github.com/belfry-run/belfry/core"
	"github.com/belfry-run/belfry/ui/console/internal/forms"
	"github.com/belfry-run/belfry/ui/console/internal/parts"
	"github.com/belfry-run/belfry/view"
)

type channelAPI interface {
	SaveChannel(ctx context.Context, d alert.Channel) (alert.Channel, error)
	DeleteChannel(ctx context.Context, namespace, name string) error
	Channel(ctx context.Context, namespace, name string) (alert.Channel, error)
	Channels(ctx context.Context, f view.DocumentFilter) (core.Page[alert.Channel], error)
	TestChannel(ctx context.Context, namespace, name string) (alert.ChannelTest, error)
}

var channelRoutes = routes{
	"GET /settings/channels":                channelList,
	"GET /settings/channels/-new":           newChannel,
	"POST /settings/channels/-new":          saveChannel,
	"GET /settings/channels/{name}":         editChannel,
	"POST /settings/channels/{name}":        saveChannel,
	"POST /settings/channels/{name}/test":   testChannel,
	"POST /settings/channels/{name}/delete": deleteChannel,
}

// channelKinds are the ways to tell people, in the order of the form.
var channelKinds = []struct{ name, title string }{
	{"email", "Mail"}, {"slack", "Slack"}, {"discord", "Discord"}, {"teams", "Teams"}, {"telegram", "Telegram"}, {"ntfy", "ntfy"}, {"pagerduty", "PagerDuty"},
	{"webhook", "Webhook"}, {"command", "Command"},
}

var channelInputs = map[string][]forms.Input{
	"email": {
		{Path: "email.host", Label: "Server", Need: true, Hint: "Such as smtp.example.com"},
		{Path: "email.port", Label: "Port", Kind: forms.AsNumber, Hint: "Default: 587; 465 with implicit, 25 with opportunistic or none."},
		{Path: "email.tls", Label: "TLS", Kind: forms.AsChoice, Options: []string{"starttls", "implicit", "opportunistic", "none"}},
		{Path: "email.ca", Label: "Authorities", Kind: forms.AsArea, Hint: "PEM to trust instead of the system's."},
		{Path: "email.user", Label: "User"},
		{Path: "email.password", Label: "Password", Kind: forms.AsSecret, Hint: forms.SecretHint},
		{Path: "email.from", Label: "From", Need: true, Hint: "belfry@example.com"},
		{Path: "email.to", Label: "To", Need: true, Kind: forms.AsWords, Hint: "One or more addresses."},
	},
	"slack":     {{Path: "slack.url", Label: "Webhook", Need: true, Kind: forms.AsSecret, Hint: "Address of the incoming webhook. Mattermost takes the same. It is never shown."}},
	"discord":   {{Path: "discord.url", Label: "Webhook", Need: true, Kind: forms.AsSecret, Hint: "It is never shown."}},
	"teams":     {{Path: "teams.url", Label: "Webhook", Need: true, Kind: forms.AsSecret, Hint: "Of a workflow. It is never shown."}},
	"telegram":  {{Path: "telegram.token", Label: "Token of the bot", Need: true, Kind: forms.AsSecret, Hint: "It is never shown."}, {Path: "telegram.chat", Label: "Chat", Need: true, Hint: "Its id, or @name of a channel."}, {Path: "telegram.api", Label: "API", Hint: "Default: https://api.telegram.org"}},
	"ntfy":      {{Path: "ntfy.topic", Label: "Topic", Need: true}, {Path: "ntfy.server", Label: "Server", Hint: "Default: https://ntfy.sh"}, {Path: "ntfy.token", Label: "Token", Kind: forms.AsSecret, Hint: forms.SecretHint}},
	"pagerduty": {{Path: "pagerduty.routing_key", Label: "Routing key", Need: true, Kind: forms.AsSecret, Hint: "Of the Events API v2. It is never shown."}, {Path: "pagerduty.api", Label: "API", Hint: "Default: https://events.pagerduty.com"}},
	"webhook": {
		{Path: "webhook.url", Label: "Address", Need: true, Kind: forms.AsSecret, Hint: "The message is posted there as JSON. It is never shown."},
		{Path: "webhook.secret", Label: "Key of the signature", Kind: forms.AsSecret, Hint: "Default: it is not signed. " + forms.SecretHint},
		{Path: "webhook.headers", Label: "Headers", Kind: forms.AsSecrets, Hint: "One a line: Name: value. The values are never shown."},
	},
	"command": {
		{Path: "command.argv", Label: "Program", Need: true, Kind: forms.AsLines, Hint: "It and its arguments, one a line. The message is its standard input, as JSON. The node's operator has to allow commands."},
		{Path: "command.timeout", Label: "Timeout", Kind: forms.AsDuration, Hint: "Default: 30s."},
	},
}

func channelGroups(kind string, isNew bool) []forms.InputGroup {
	g := forms.InputGroup{Inputs: channelInputs[kind]}
	if isNew {
		g.Inputs = slices.Concat([]forms.Input{{Path: "name", Label: "Name", Need: true, Hint: "Alert rules name it."}}, g.Inputs)
	}
	g.Inputs = slices.Concat(g.Inputs, []forms.Input{{Path: "description", Label: "Description"}})
	return []forms.InputGroup{g}
}

func channelList(p *page) error {
	all, err := p.api.Channels(p.R.Context(), forms.DocumentFilter(p.Page))
	if err != nil {
		return err
	}
	return p.Show("channels", all)
}

// channelGoal is where a channel leads, as far as that is no secret.
func channelGoal(c alert.Channel) string {
	switch {
	case c.Email != nil:
		return strings.Join(c.Email.To, ", ")
	case c.Telegram != nil:
		return "chat " + c.Telegram.Chat
	case c.Ntfy != nil:
		return c.Ntfy.Server + "/" + c.Ntfy.Topic
	case c.Command != nil:
		return strings.Join(c.Command.Argv, " ")
	}
	return "an address that is kept secret"
}

// channelKind is the name of a channel's kind.
func channelKind(c alert.Channel) string { return channelTitle(c.Kind()) }

func channelTitle(kind string) string {
	for _, k := range channelKinds {
		if k.name == kind {
			return k.title
		}
	}
	return kind
}

type channelData struct {
	forms.Form
	Kind string
	Name string
}

// ChannelTabs lead to the forms of other kinds.
func (p *page) ChannelTabs(d channelData) []parts.Tab {
	tabs := make([]parts.Tab, len(channelKinds))
	for i, k := range channelKinds {
		tabs[i] = parts.NewTab(k.title, p.With(p.Link("settings", "channels", "-new"), "kind", k.name), k.name == d.Kind, "")
	}
	return tabs
}

func (p *page) channelForm(kind, name string, values url.Values, err error) channelData {
	d := channelData{Kind: kind, Name: name, Form: forms.Form{
		Edit: forms.Edit{Version: values.Get("version")}, Title: "New channel", New: name == "", Action: p.With(p.Link("settings", "channels", "-new"), "kind", kind), Back: p.Link("settings", "channels"), Save: "Create channel", Err: err,
		Groups:  forms.Fill(channelGroups(kind, name == ""), values, err),
		Command: p.Command("PUT", p.APIPath("/v1/channels/team"), `{"ntfy":{"topic":"belfry"}}`, "channel", "set", "team", "--ntfy", "belfry"),
	}}
	if name != "" {
		d.Title, d.Action, d.Save = "Channel "+name, p.Link("settings", "channels", name), "Save"
		cmd := p.Command("DELETE", p.APIPath("/v1/channels/"+url.PathEscape(name)), "", "channel", "delete", name)
		d.Delete = &parts.Confirm{ID: "delete", Button: "Delete", Danger: true, Title: "Delete channel " + name + "?", Text: "Alerts that are queued for it are dropped. A channel that an alert rule names is not deleted.",
			Action: p.Link("settings", "channels", name, "delete"), Cmd: &cmd}
	}
	return d
}

// ChannelTestCommand is the test, without this page.
func (p *page) ChannelTestCommand(name string) parts.Command {
	return p.Command("POST", p.APIPath("/v1/channels/"+url.PathEscape(name)+"/test"), "", "channel", "test", name)
}

func newChannel(p *page) error {
	kind := p.Query("kind")
	if channelInputs[kind] == nil {
		kind = "email"
	}
	return p.Show("channel", p.channelForm(kind, "", url.Values{"email.tls": {"starttls"}}, nil))
}

func editChannel(p *page) error {
	c, err := p.api.Channel(p.R.Context(), p.Namespace, p.R.PathValue("name"))
	if err != nil {
		return err
	}
	return p.Show("channel", p.channelForm(c.Kind(), c.Name, forms.Versioned(forms.DocumentOf(c).Values(forms.InputsOf(channelGroups(c.Kind(), false))), c), nil))
}

func saveChannel(p *page) error {
	ctx, name, kind, doc := p.R.Context(), p.R.PathValue("name"), p.Query("kind"), forms.Document{}
	if name != "" {
		old, err := p.api.Channel(ctx, p.Namespace, name)
		if err != nil {
			return err
		}
		kind, doc = old.Kind(), forms.DocumentOf(old)
	}
	if channelInputs[kind] == nil {
		return core.InvalidField("kind", kind, "is not a kind of channel", "")
	}
	var c alert.Channel
	err := doc.Read(forms.InputsOf(channelGroups(kind, name == "")), p.R.PostForm)
	if doc.At(kind) == nil {
		doc[kind] = map[string]any{}
	}
	if err == nil {
		err = doc.To(&c)
	}
	c.Namespace = p.Namespace
	if name != "" {
		c.Name = name
	} else if err == nil {
		err = forms.IsFree(c.Name, "channel", func() error { _, err := p.api.Channel(ctx, p.Namespace, c.Name); return err })
	}
	if err == nil {
		_, err = p.api.SaveChannel(forms.Expecting(p.Page), c)
	}
	if err != nil {
		e, shown := forms.Meanwhile(p.Page, p.api, err, "channel", name, p.Link("settings", "channels", name), c, func() (alert.Channel, error) { return p.api.Channel(ctx, p.Namespace, name) })
		d := p.channelForm(kind, name, p.R.PostForm, shown)
		d.Edit = e
		return p.Again("channel", d, err)
	}
	return p.Done(p.Link("settings", "channels", c.Name), "Channel %s is saved. Send a test to see whether it arrives.", c.Name)
}

func testChannel(p *page) error {
	name := p.R.PathValue("name")
	t, err := p.api.TestChannel(p.R.Context(), p.Namespace, name)
	if err != nil {
		return err
	}
	link := p.Link("settings", "channels", name)
	if !t.OK {
		return p.DoneBadly(link, "The test was not taken after %s: %s", parts.SpanText(t.Took), t.Error)
	}
	return p.Done(link, "The test was taken after %s. See whether it has arrived.", parts.SpanText(t.Took))
}

func deleteChannel(p *page) error {
	name := p.R.PathValue("name")
	if err := p.api.DeleteChannel(p.R.Context(), p.Namespace, name); err != nil {
		return err
	}
	return p.Done(p.Link("settings", "channels"), "Channel %s is deleted.", name)
}

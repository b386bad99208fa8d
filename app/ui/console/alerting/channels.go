package alerting

import (
	"cmp"
	"context"
	"net/url"
	"slices"

	"github.com/belfry-run/belfry/alert"
	"github.com/belfry-run/belfry/app/ui/console/internal/forms"
	"github.com/belfry-run/belfry/app/ui/console/internal/parts"
	"github.com/belfry-run/belfry/core"
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

func channelGroups(kind string, isNew bool) []forms.InputGroup {
	k, _ := alert.KindOf(kind)
	inputs, _ := forms.KindInputs(kind+".", k.Fields)
	g := forms.InputGroup{Inputs: inputs}
	if isNew {
		g.Inputs = slices.Concat([]forms.Input{{Path: "name", Label: "Name", Need: true, Hint: "Alert rules name it."}}, g.Inputs)
	}
	g.Inputs = slices.Concat(g.Inputs, []forms.Input{{Path: "title", Label: "Title", Hint: forms.TitleHint}, {Path: "description", Label: "Description"}})
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
	if g := c.Goal(); g.To != "" {
		return g.What + g.To
	}
	return "an address that is kept secret"
}

// channelKind is the name of a channel's kind.
func channelKind(c alert.Channel) string { return channelTitle(c.Kind()) }

func channelTitle(kind string) string {
	k, _ := alert.KindOf(kind)
	return core.Or(k.Title, kind)
}

type channelData struct {
	forms.Form
	Kind   string
	Name   string
	Called string // its title
}

// ChannelTabs lead to the forms of other kinds.
func (p *page) ChannelTabs(d channelData) []parts.Tab {
	var people, programs []parts.Tab
	for _, k := range alert.Kinds {
		tab := parts.NewTab(k.Title, p.With(p.Link("settings", "channels", "-new"), "kind", k.Name), k.Name == d.Kind, "")
		if k.Program {
			programs = append(programs, tab)
		} else {
			people = append(people, tab)
		}
	}
	return slices.Concat(people, programs)
}

func (p *page) channelForm(kind, name string, values url.Values, err error) channelData {
	d := channelData{Kind: kind, Name: name, Called: values.Get("title"), Form: forms.Form{
		AsText: forms.AsText{Has: true},
		Edit:   forms.Edit{Version: values.Get("version")}, Title: "New channel", New: name == "", Action: p.With(p.Link("settings", "channels", "-new"), "kind", kind), Back: p.Link("settings", "channels"), Save: "Create channel", Err: err,
		Groups:  forms.Fill(channelGroups(kind, name == ""), values, err),
		Command: p.Command("PUT", p.APIPath("/v1/channels/team"), `{"ntfy":{"topic":"belfry"}}`, "channel", "set", "team", "--ntfy", "belfry"),
	}}
	if name != "" {
		d.Title, d.Action, d.Save = "Channel "+cmp.Or(d.Called, name), p.Link("settings", "channels", name), "Save"
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
	if _, is := alert.KindOf(kind); !is {
		kind = "email"
	}
	return p.Show("channel", p.channelForm(kind, "", url.Values{"email.tls": {"starttls"}}, nil))
}

func editChannel(p *page) error {
	c, err := p.api.Channel(p.R.Context(), p.Namespace, p.R.PathValue("name"))
	if err != nil {
		return err
	}
	return p.Show("channel", p.channelForm(c.Kind(), c.Name, channelValues(c), nil))
}

// channelValues are the values of a channel for its form.
func channelValues(c alert.Channel) url.Values {
	return forms.Versioned(forms.DocumentOf(c).Values(forms.InputsOf(channelGroups(c.Kind(), false))), c)
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
	if _, is := alert.KindOf(kind); !is {
		return core.InvalidField("kind", kind, "is not a kind of channel", "")
	}
	c, text, shown, err := forms.ReadEither(p.Page, "channel", name == "", func() (c alert.Channel, err error) {
		err = doc.Read(forms.InputsOf(channelGroups(kind, name == "")), p.R.PostForm)
		if doc.At(kind) == nil {
			doc[kind] = map[string]any{}
		}
		return c, cmp.Or(err, doc.To(&c))
	})
	if shown {
		if err == nil && c.Kind() != "" {
			err = forms.KeepsKind(p.Page, &text, kind, c.Kind())
		}
		if text.Has && err == nil && c.Kind() != "" {
			kind = c.Kind()
		}
		d := p.channelForm(kind, name, forms.ValuesOf(p.Page, text, err, c, channelGroups(kind, name == "")), err)
		d.AsText = text
		return forms.ShowAgain(p.Page, "channel", d, err)
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
		e, both, said := forms.Meanwhile(p.Page, p.api, err, "channel", name, p.Link("settings", "channels", name), c, func() (alert.Channel, error) { return p.api.Channel(ctx, p.Namespace, name) })
		d := p.channelForm(kind, name, forms.Filled(p.Page, &text, both, channelValues), said)
		d.Edit, d.AsText = e, text
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
		return p.DoneBadly(link, "The test was not taken after %s: %s", core.SpanText(t.Took), t.Error)
	}
	return p.Done(link, "The test was taken after %s. See whether it has arrived.", core.SpanText(t.Took))
}

func deleteChannel(p *page) error {
	name := p.R.PathValue("name")
	if err := p.api.DeleteChannel(p.R.Context(), p.Namespace, name); err != nil {
		return err
	}
	return p.Done(p.Link("settings", "channels"), "Channel %s is deleted.", name)
}

// ChannelMenu returns the actions on a channel of the list.
func (p *page) ChannelMenu() parts.RowMenu {
	operate, admin := p.Can("operate"), p.Can("admin")
	return parts.NewRowMenu(p.Path(),
		parts.RowItem{Icon: "bell", Name: "Send a test", To: "/test", Post: true}.If(operate),
		parts.RowItem{Icon: "inbox", Name: "Notifications", To: p.With(p.Link("alerts"), "channel", parts.RowName)}.If(operate),
		parts.RowItem{Icon: "pencil", Name: "Edit", To: ""}.If(admin),
		parts.RowItem{Icon: "trash-2", Name: "Delete…", To: "/delete", Asks: "Delete channel", Text: "Alerts that are queued for it are dropped. A channel that an alert rule names is not deleted."}.If(admin))
}

package alerting

import (
	"cmp"
	"context"
	"maps"
	"net/url"
	"slices"
	"strings"

	"github.com/belfry-run/belfry/alert"
	"github.com/belfry-run/belfry/app/ui/console/internal/forms"
	"github.com/belfry-run/belfry/app/ui/console/internal/frame"
	"github.com/belfry-run/belfry/app/ui/console/internal/parts"
	"github.com/belfry-run/belfry/core"
	"github.com/belfry-run/belfry/view"
)

type alertAPI interface {
	forms.Things
	SaveAlertRule(ctx context.Context, d alert.Rule) (alert.Rule, error)
	DeleteAlertRule(ctx context.Context, namespace, name string) error
	AlertRule(ctx context.Context, namespace, name string) (alert.Rule, error)
	AlertRules(ctx context.Context, f view.DocumentFilter) (core.Page[alert.Rule], error)
	Titles(ctx context.Context, q view.Named) (view.Titles, error)
}

var alertRoutes = routes{
	"GET /alert-rules":                alertRuleList,
	"GET /alert-rules/-new":           newAlertRule,
	"POST /alert-rules/-new":          saveAlertRule,
	"GET /alert-rules/{name}":         editAlertRule,
	"POST /alert-rules/{name}":        saveAlertRule,
	"POST /alert-rules/{name}/off":    disableAlertRule,
	"POST /alert-rules/{name}/on":     enableAlertRule,
	"POST /alert-rules/{name}/delete": deleteAlertRule,
}

type alertRulesData struct {
	core.Page[alert.Rule]
	Titles view.Titles // of the channels
}

func alertRuleList(p *page) error {
	all, err := p.api.AlertRules(p.R.Context(), forms.DocumentFilter(p.Page))
	if err != nil {
		return err
	}
	d := alertRulesData{Page: all}
	named := view.Named{Namespace: p.Namespace}
	for _, r := range all.Items {
		named.Channels = append(named.Channels, r.Channels...)
	}
	if d.Titles, err = frame.Titles(p.R.Context(), p.api, named); err != nil {
		return err
	}
	return p.Show("alert-rules", d)
}

// ruleFor describes the objects of a rule.
func ruleFor(a alert.Rule) string {
	var parts []string
	for _, t := range []struct {
		noun  string
		names []string
	}{{"monitor", a.Monitors}, {"task", a.Tasks}, {"schedule", a.Schedules}} {
		switch len(t.names) {
		case 0:
		case 1:
			parts = append(parts, t.noun+" "+t.names[0])
		default:
			parts = append(parts, t.noun+"s "+strings.Join(t.names, ", "))
		}
	}
	text := strings.Join(parts, "; ")
	if text == "" {
		text = "everything"
	}
	if len(a.Tags) > 0 {
		text += " tagged " + strings.Join(a.Tags, " or ")
	}
	return text
}

// notifications are the types of a rule in words.
func notifications(list []alert.NotificationType) string {
	texts := make([]string, len(list))
	for i, n := range list {
		texts[i] = parts.Words(n)
	}
	return strings.Join(texts, ", ")
}

func alertRuleGroups(isNew bool, channels channelNames) []forms.InputGroup {
	var name []forms.Input
	if isNew {
		name = []forms.Input{{Path: "name", Label: "Name", Need: true}}
	}
	types := make([]string, len(alert.NotificationTypes))
	for i, n := range alert.NotificationTypes {
		types[i] = string(n)
	}
	to := forms.Input{Path: "channels", Label: "Channels", Kind: forms.AsSet, Options: channels.all, Titles: channels.titles}
	if len(channels.all) == 0 {
		to = forms.Input{Path: "channels", Label: "Channels", Kind: forms.AsWords, Need: true, Hint: "Names of channels. There is no channel yet."}
	}
	return []forms.InputGroup{
		{Inputs: append(name, to, forms.Input{Path: "off", Label: "Disabled", Kind: forms.AsCheck})},
		{Title: "Events", Inputs: []forms.Input{
			{Path: "on", Label: "When", Kind: forms.AsSet, Options: types, Hint: "For each problem there is an event of its end."},
			{Path: "remind", Label: "Remind after", Kind: forms.AsDuration, Hint: "Time until the first reminder while it is down. Each later one takes twice as long. Choose the event Reminder above. Default: never."},
		}},
		{Title: "Applies to", Grid: true, Text: "A rule that names nothing applies to everything.", Inputs: []forms.Input{
			{Path: "monitors", Label: "Monitors", Kind: forms.AsWords}, {Path: "tasks", Label: "Tasks", Kind: forms.AsWords}, {Path: "schedules", Label: "Schedules", Kind: forms.AsWords},
			{Path: "tags", Label: "Only with a tag of", Kind: forms.AsWords},
		}},
		{Title: "Advanced: grouping, quiet times", Drawer: true, Inputs: []forms.Input{
			{Path: "group", Label: "Wait for more", Kind: forms.AsDuration, Hint: "Groups alerts that come together. Default: 30s; negative: not at all. Recoveries are sent at once."},
			{Path: "remind_max", Label: "Maximum reminders", Kind: forms.AsNumber, Hint: "Default: 10."},
			{Path: "quiet", Label: "Quiet within calendars", Kind: forms.AsWords, Hint: "No alert is sent during these calendars. Alerts that are still true at their end are sent then."},
			{Path: "title", Label: "Title", Hint: forms.TitleHint},
			{Path: "description", Label: "Description"},
		}},
	}
}

const deleteRuleText = "It sends no more alerts. Alerts that are queued still go out."

type alertRuleData struct {
	forms.Form
	Name   string
	Called string // its title
}

// channelNames are names of channels with their titles.
type channelNames struct {
	all    []string
	titles map[string]string
}

// channelNames are the channels that a rule may name, up to the number that a form can show.
func (p *page) channelNames(also []string) (names channelNames, err error) {
	all, err := p.api.Channels(p.R.Context(), view.DocumentFilter{Paging: core.Paging{Limit: 1000}, Namespace: p.Namespace})
	if err != nil {
		return names, err
	}
	names.titles = map[string]string{}
	for _, name := range also {
		names.titles[name] = ""
	}
	for _, c := range all.Items {
		names.titles[c.Name] = c.Title
	}
	names.all = slices.Sorted(maps.Keys(names.titles))
	return names, nil
}

func (p *page) alertRuleForm(name string, channels channelNames, values url.Values, err error) alertRuleData {
	d := alertRuleData{Name: name, Called: values.Get("title"), Form: forms.Form{
		AsText: forms.AsText{Has: true},
		Edit:   forms.Edit{Version: values.Get("version")}, Title: "New alert rule", New: name == "", Action: p.Link("alert-rules", "-new"), Back: p.Link("alert-rules"), Save: "Create alert rule", Err: err,
		Groups:  forms.Fill(alertRuleGroups(name == "", channels), values, err),
		Command: p.Command("PUT", p.APIPath("/v1/alert-rules/all"), `{"channels":["team"]}`, "alert", "rule", "set", "all", "--channel", "team"),
	}}
	forms.Offer(p.Page, p.api, d.Groups, map[string]string{"monitors": "monitors", "tasks": "tasks", "schedules": "schedules", "tags": "monitor tags", "quiet": "calendars"})
	if name != "" {
		d.Title, d.Action, d.Save = "Alert rule "+cmp.Or(d.Called, name), p.Link("alert-rules", name), "Save"
		cmd := p.Command("DELETE", p.APIPath("/v1/alert-rules/"+url.PathEscape(name)), "", "alert", "rule", "delete", name)
		d.Delete = &parts.Confirm{ID: "delete", Button: "Delete", Danger: true, Title: "Delete alert rule " + name + "?", Text: deleteRuleText,
			Action: p.Link("alert-rules", name, "delete"), Cmd: &cmd}
	}
	return d
}

func newAlertRule(p *page) error {
	channels, err := p.channelNames(nil)
	if err != nil {
		return err
	}
	values := url.Values{}
	for _, n := range alert.DefaultNotifications {
		values.Add("on", string(n))
	}
	return p.Show("alert-rule", p.alertRuleForm("", channels, values, nil))
}

func editAlertRule(p *page) error {
	a, err := p.api.AlertRule(p.R.Context(), p.Namespace, p.R.PathValue("name"))
	if err != nil {
		return err
	}
	channels, err := p.channelNames(a.Channels)
	if err != nil {
		return err
	}
	return p.Show("alert-rule", p.alertRuleForm(a.Name, channels, alertRuleValues(a, channels), nil))
}

// alertRuleValues are the values of an alert rule for a form that offers these channels.
func alertRuleValues(a alert.Rule, channels channelNames) url.Values {
	return forms.Versioned(forms.DocumentOf(a).Values(forms.InputsOf(alertRuleGroups(false, channels))), a)
}

func saveAlertRule(p *page) error {
	ctx, name, doc := p.R.Context(), p.R.PathValue("name"), forms.Document{}
	channels, err := p.channelNames(p.R.PostForm["channels"])
	if err != nil {
		return err
	}
	a, text, shown, err := forms.ReadEither(p.Page, "alert rule", name == "", func() (a alert.Rule, err error) {
		err = doc.Read(forms.InputsOf(alertRuleGroups(name == "", channels)), p.R.PostForm)
		err = cmp.Or(err, doc.To(&a))
		if len(a.On) == 0 { // which the API takes for the default
			err = forms.Both(err, core.InvalidField("on", "", "must have an event", "tick at least one, such as Down; to send no alerts, tick Disabled"))
		}
		return a, err
	})
	if shown {
		var failed error
		if channels, failed = p.channelNames(slices.Concat(channels.all, a.Channels)); failed != nil {
			return failed
		}
		d := p.alertRuleForm(name, channels, forms.ValuesOf(p.Page, text, err, a, alertRuleGroups(name == "", channels)), err)
		d.AsText = text
		return forms.ShowAgain(p.Page, "alert-rule", d, err)
	}
	a.Namespace = p.Namespace
	if name != "" {
		a.Name = name
	} else if err == nil {
		err = forms.IsFree(a.Name, "alert rule", func() error { _, err := p.api.AlertRule(ctx, p.Namespace, a.Name); return err })
	}
	if err == nil {
		_, err = p.api.SaveAlertRule(forms.Expecting(p.Page), a)
	}
	if err != nil {
		e, both, said := forms.Meanwhile(p.Page, p.api, err, "alert_rule", name, p.Link("alert-rules", name), a, func() (alert.Rule, error) { return p.api.AlertRule(ctx, p.Namespace, name) })
		if both != nil {
			var failed error
			if channels, failed = p.channelNames(both.Channels); failed != nil {
				return failed
			}
		}
		values := forms.Filled(p.Page, &text, both, func(a alert.Rule) url.Values { return alertRuleValues(a, channels) })
		d := p.alertRuleForm(name, channels, values, said)
		d.Edit, d.AsText = e, text
		return p.Again("alert-rule", d, err)
	}
	return p.Done(p.Link("alert-rules"), "Alert rule %s is saved.", a.Name)
}

func (p *page) switchAlertRule(off bool) (alert.Rule, error) {
	read := func() (alert.Rule, error) {
		return p.api.AlertRule(p.R.Context(), p.Namespace, p.R.PathValue("name"))
	}
	return forms.Change(p.R.Context(), read, func(r *alert.Rule) { r.Off = off }, p.api.SaveAlertRule)
}

func disableAlertRule(p *page) error {
	r, err := p.switchAlertRule(true)
	if err != nil {
		return err
	}
	return p.DoneUndo(p.Link("alert-rules"), p.Link("alert-rules", r.Name, "on"), "Alert rule %s is disabled: it sends no alerts.", r.Name)
}

func enableAlertRule(p *page) error {
	r, err := p.switchAlertRule(false)
	if err != nil {
		return err
	}
	return p.Done(p.Link("alert-rules"), "Alert rule %s is enabled.", r.Name)
}

func deleteAlertRule(p *page) error {
	name := p.R.PathValue("name")
	if err := p.api.DeleteAlertRule(p.R.Context(), p.Namespace, name); err != nil {
		return err
	}
	return p.Done(p.Link("alert-rules"), "Alert rule %s is deleted.", name)
}

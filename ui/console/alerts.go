package console

import (
	"context"
	"maps"
	"net/url"
	"slices"
	"strings"

	"github.com/belfry-run/belfry/alert"
	"github.com/belfry-run/belfry/core"
	"github.com/belfry-run/belfry/view"
)

type alertAPI interface {
	Alerts(ctx context.Context, f alert.Filter) (core.Page[alert.Alert], error)
	AlertTries(ctx context.Context, namespace string, alert int64) ([]alert.Try, error)
	SaveAlertRule(ctx context.Context, d alert.Rule) (alert.Rule, error)
	DeleteAlertRule(ctx context.Context, namespace, name string) error
	AlertRule(ctx context.Context, namespace, name string) (alert.Rule, error)
	AlertRules(ctx context.Context, f view.DocumentFilter) (core.Page[alert.Rule], error)
}

var alertRoutes = []route{
	{"GET /alerts", alertList},
	{"GET /alert-rules", alertRuleList},
	{"GET /alert-rules/-new", newAlertRule},
	{"POST /alert-rules/-new", saveAlertRule},
	{"GET /alert-rules/{name}", editAlertRule},
	{"POST /alert-rules/{name}", saveAlertRule},
	{"POST /alert-rules/{name}/delete", deleteAlertRule},
}

// alertLog is the part "alerts": what was to be told, and what came of it.
type alertLog struct {
	Page  core.Page[alert.Alert]
	Tries map[int64][]alert.Try
}

// alertLog reads a page of alerts with their tries.
func (p *page) alertLog(f alert.Filter) (l alertLog, err error) {
	ctx := p.r.Context()
	if l.Page, err = p.api.Alerts(ctx, f); err != nil {
		return l, err
	}
	l.Tries = map[int64][]alert.Try{}
	tries := make([][]alert.Try, len(l.Page.Items))
	var reads []func() error
	for i, a := range l.Page.Items {
		if a.Tries > 0 {
			reads = append(reads, get(&tries[i], func() ([]alert.Try, error) { return p.api.AlertTries(ctx, a.Namespace, a.ID) }))
		}
	}
	if err := together(reads...); err != nil {
		return l, err
	}
	for i, a := range l.Page.Items {
		l.Tries[a.ID] = tries[i]
	}
	return l, nil
}

type alertsData struct {
	alertLog
	Filter alert.Filter
}

func alertList(p *page) error {
	d := alertsData{Filter: alert.Filter{
		Paging: core.Paging{Cursor: p.Query("cursor")}, Namespace: p.Namespace, Channel: p.Query("channel"), Monitor: p.Query("monitor"), State: alert.State(p.Query("state")),
	}}
	var err error
	if d.alertLog, err = p.alertLog(d.Filter); err != nil {
		return err
	}
	return p.show("alerts", d)
}

// AlertTabs are the views of the alerts.
func (p *page) AlertTabs(d alertsData) []tab {
	at := d.Filter.State
	tabs := []tab{newTab("All", p.Here("state", "", "cursor", ""), at == "", "")}
	for _, s := range []alert.State{alert.Pending, alert.Sent, alert.Failed, alert.Suppressed} {
		tabs = append(tabs, newTab(sentenceCase(string(s)), p.Here("state", s, "cursor", ""), at == s, ""))
	}
	return tabs
}

// Filtered reports that not all alerts are asked for.
func (d alertsData) Filtered() bool {
	return d.Filter.State != "" || d.Filter.Channel != "" || d.Filter.Monitor != "" || d.Filter.Cursor != ""
}

func alertRuleList(p *page) error {
	all, err := p.api.AlertRules(p.r.Context(), p.documentFilter())
	if err != nil {
		return err
	}
	return p.show("alert-rules", all)
}

// ruleFor is what a rule is about.
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

// notices are the types of a rule in words.
func notices(list []alert.NoticeType) string {
	texts := make([]string, len(list))
	for i, n := range list {
		texts[i] = words(n)
	}
	return strings.Join(texts, ", ")
}

func alertRuleGroups(isNew bool, channels []string) []inputGroup {
	var name []input
	if isNew {
		name = []input{{Path: "name", Label: "Name", Need: true}}
	}
	types := make([]string, len(alert.NoticeTypes))
	for i, n := range alert.NoticeTypes {
		types[i] = string(n)
	}
	to := input{Path: "channels", Label: "Channels", Kind: asSet, Options: channels}
	if len(channels) == 0 {
		to = input{Path: "channels", Label: "Channels", Kind: asWords, Need: true, Hint: "By name. There is none yet that could be chosen."}
	}
	return []inputGroup{
		{Inputs: append(name, to)},
		{Title: "Events", Inputs: []input{{Path: "on", Label: "When", Kind: asSet, Options: types, Hint: "Each that says something is wrong has one that says it is over."}}},
		{Title: "Applies to", Text: "A rule that names nothing applies to everything.", Inputs: []input{
			{Path: "monitors", Label: "Monitors", Kind: asWords}, {Path: "tasks", Label: "Tasks", Kind: asWords}, {Path: "schedules", Label: "Schedules", Kind: asWords},
			{Path: "tags", Label: "Only with a tag of", Kind: asWords},
		}},
		{Title: "How often", Inputs: []input{
			{Path: "group", Label: "Wait for more", Kind: asDuration, Hint: "Groups alerts that come together. Default: 30s; negative: not at all. Recoveries are sent at once."},
			{Path: "remind", Label: "Remind after", Kind: asDuration, Hint: "While it is down; then after twice as long, and so on. It needs reminder above. Default: never."},
			{Path: "remind_max", Label: "Maximum reminders", Kind: asNumber, Hint: "Default: 10."},
			{Path: "quiet", Label: "Quiet within calendars", Kind: asWords, Hint: "No alert is sent then. What still holds afterwards is sent at the end."},
			{Path: "off", Label: "Disabled", Kind: asCheck},
			{Path: "description", Label: "Description"},
		}},
	}
}

type alertRuleData struct {
	form
	Name string
}

// channelNames are those that a rule may name, as many as a form can show.
func (p *page) channelNames(also []string) ([]string, error) {
	all, err := p.api.Channels(p.r.Context(), view.DocumentFilter{Paging: core.Paging{Limit: 1000}, Namespace: p.Namespace})
	if err != nil {
		return nil, err
	}
	seen := map[string]bool{}
	for _, c := range all.Items {
		seen[c.Name] = true
	}
	for _, name := range also {
		seen[name] = true
	}
	return slices.Sorted(maps.Keys(seen)), nil
}

func (p *page) alertRuleForm(name string, channels []string, values url.Values, err error) alertRuleData {
	d := alertRuleData{Name: name, form: form{
		edit: edit{Version: values.Get("version")}, Title: "New alert rule", New: name == "", Action: p.Link("alert-rules", "-new"), Back: p.Link("alert-rules"), Save: "Create alert rule", Err: err,
		Groups:  fill(alertRuleGroups(name == "", channels), values, err),
		Command: p.Command("PUT", p.apiPath("/v1/alert-rules/all"), `{"channels":["team"]}`, "alert", "rule", "set", "all", "--channel", "team"),
	}}
	if name != "" {
		d.Title, d.Action, d.Save = "Alert rule "+name, p.Link("alert-rules", name), "Save"
		cmd := p.Command("DELETE", p.apiPath("/v1/alert-rules/"+url.PathEscape(name)), "", "alert", "rule", "delete", name)
		d.Delete = &confirm{ID: "delete", Button: "Delete", Danger: true, Title: "Delete alert rule " + name + "?", Text: "It sends no more alerts. Alerts that are queued still go out.",
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
	for _, n := range alert.DefaultNotices {
		values.Add("on", string(n))
	}
	return p.show("alert-rule", p.alertRuleForm("", channels, values, nil))
}

func editAlertRule(p *page) error {
	a, err := p.api.AlertRule(p.r.Context(), p.Namespace, p.r.PathValue("name"))
	if err != nil {
		return err
	}
	channels, err := p.channelNames(a.Channels)
	if err != nil {
		return err
	}
	return p.show("alert-rule", p.alertRuleForm(a.Name, channels, versioned(documentOf(a).values(inputsOf(alertRuleGroups(false, channels))), a), nil))
}

func saveAlertRule(p *page) error {
	ctx, name, doc := p.r.Context(), p.r.PathValue("name"), jsonThing{}
	channels, err := p.channelNames(p.r.PostForm["channels"])
	if err != nil {
		return err
	}
	var a alert.Rule
	if err = doc.read(inputsOf(alertRuleGroups(name == "", channels)), p.r.PostForm); err == nil {
		err = doc.to(&a)
	}
	a.Namespace = p.Namespace
	if name != "" {
		a.Name = name
	} else if err == nil {
		err = isFree(a.Name, "alert rule", func() error { _, err := p.api.AlertRule(ctx, p.Namespace, a.Name); return err })
	}
	if err == nil {
		_, err = p.api.SaveAlertRule(p.expecting(), a)
	}
	if err != nil {
		e, shown := meanwhile(p, p.api, err, "alert_rule", name, p.Link("alert-rules", name), a, func() (alert.Rule, error) { return p.api.AlertRule(ctx, p.Namespace, name) })
		d := p.alertRuleForm(name, channels, p.r.PostForm, shown)
		d.edit = e
		return p.again("alert-rule", d, err)
	}
	return p.done(p.Link("alert-rules"), "Alert rule %s is saved.", a.Name)
}

func deleteAlertRule(p *page) error {
	name := p.r.PathValue("name")
	if err := p.api.DeleteAlertRule(p.r.Context(), p.Namespace, name); err != nil {
		return err
	}
	return p.done(p.Link("alert-rules"), "Alert rule %s is deleted.", name)
}

// Log is that of a page that embeds one.
func (l alertLog) Log() alertLog { return l }

// Sent is how many of them went out.
func (l alertLog) Sent() (n int) {
	for _, a := range l.Page.Items {
		if a.State == alert.Sent {
			n++
		}
	}
	return n
}

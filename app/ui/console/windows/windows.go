package windows

import (
	"cmp"
	"context"
	"fmt"
	"net/url"
	"regexp"
	"slices"
	"strings"
	"time"

	"github.com/belfry-run/belfry/app/ui/console/internal/forms"
	"github.com/belfry-run/belfry/app/ui/console/internal/frame"
	"github.com/belfry-run/belfry/app/ui/console/internal/parts"
	"github.com/belfry-run/belfry/core"
	"github.com/belfry-run/belfry/monitor"
	"github.com/belfry-run/belfry/view"
)

type windowAPI interface {
	forms.Things
	SaveWindow(ctx context.Context, d monitor.Window) (monitor.Window, error)
	DeleteWindow(ctx context.Context, namespace, name string) error
	Window(ctx context.Context, namespace, name string) (monitor.Window, error)
	Windows(ctx context.Context, f view.DocumentFilter) (core.Page[monitor.Window], error)
	WindowNext(ctx context.Context, namespace, name string, from time.Time, n int) ([]monitor.ActiveWindow, error)
	PreviewWindow(ctx context.Context, d monitor.Window, from time.Time, n int) ([]monitor.ActiveWindow, error)
}

var windowRoutes = routes{
	"GET /settings/windows":                windowList,
	"GET /settings/windows/-new":           newWindow,
	"POST /settings/windows/-new":          saveWindow,
	"GET /settings/windows/{name}":         editWindow,
	"POST /settings/windows/{name}":        saveWindow,
	"POST /settings/windows/{name}/off":    disableWindow,
	"POST /settings/windows/{name}/on":     enableWindow,
	"POST /settings/windows/{name}/delete": deleteWindow,
}

const windowTimes = 5 // that are shown of one that is edited

type windowRow struct {
	monitor.Window
	Next *monitor.ActiveWindow
	Now  bool // it holds
}

type windowsData struct {
	Page core.Page[monitor.Window]
	Rows []windowRow
}

func windowList(p *page) error {
	ctx := p.R.Context()
	all, err := p.api.Windows(ctx, forms.DocumentFilter(p.Page))
	if err != nil {
		return err
	}
	d := windowsData{Page: all, Rows: make([]windowRow, len(all.Items))}
	reads := make([]func() error, len(all.Items))
	for i, w := range all.Items {
		d.Rows[i].Window = w
		reads[i] = func() error {
			next, err := p.api.WindowNext(ctx, w.Namespace, w.Name, time.Time{}, 1)
			if len(next) > 0 {
				d.Rows[i].Next, d.Rows[i].Now = &next[0], !next[0].From.After(p.Now)
			}
			return err
		}
	}
	if err := frame.Together(reads...); err != nil {
		return err
	}
	return p.Show("windows", d)
}

// windowFor describes the monitors of a window.
func windowFor(w monitor.Window) string {
	var parts []string
	if len(w.Monitors) > 0 {
		parts = append(parts, strings.Join(w.Monitors, ", "))
	}
	if len(w.Tags) > 0 {
		parts = append(parts, "what is tagged "+strings.Join(w.Tags, ", "))
	}
	if len(parts) == 0 {
		return "all monitors"
	}
	return strings.Join(parts, " and ")
}

// windowWhen is when it holds, in words.
func windowWhen(w monitor.Window) string {
	if len(w.Rules) == 0 {
		return "once"
	}
	var rules []string
	for _, r := range w.Rules {
		if days, at, is := weeklyOf(r.Cron); is {
			rules = append(rules, strings.Join(days, ", ")+" at "+at)
		} else {
			rules = append(rules, r.String())
		}
	}
	return strings.Join(rules, "; ") + ", for " + core.SpanText(w.Lasts) + ", " + w.Zone
}

// The ways to say when a window holds.
const (
	windowOnce   = "once"
	windowWeekly = "weekly"
	windowRules  = "rules"
)

var weekdays = []string{"Monday", "Tuesday", "Wednesday", "Thursday", "Friday", "Saturday", "Sunday"}

// A week's window is a cron expression with its days.
var weeklyRule = regexp.MustCompile(`^(\d{1,2}) (\d{1,2}) \* \* ([A-Z,]+)$`)

func dayCode(day string) string { return strings.ToUpper(day[:3]) }

func weeklyOf(cron string) (days []string, at string, is bool) {
	m := weeklyRule.FindStringSubmatch(cron)
	if m == nil {
		return nil, "", false
	}
	for _, code := range strings.Split(m[3], ",") {
		i := slices.IndexFunc(weekdays, func(d string) bool { return dayCode(d) == code })
		if i < 0 {
			return nil, "", false
		}
		days = append(days, weekdays[i])
	}
	return days, fmt.Sprintf("%02s:%02s", m[2], m[1]), true
}

func windowGroups(isNew bool) []forms.InputGroup {
	about := forms.InputGroup{Inputs: []forms.Input{
		{Path: "title", Label: "Title", Hint: "Shown to people and on status pages, in any script. The name stays its address."},
		{Path: "description", Label: "Description"},
		{Path: "monitors", Label: "Monitors", Kind: forms.AsWords, Hint: "By name. Without monitors and tags it holds for all."},
		{Path: "tags", Label: "Tags", Kind: forms.AsWords, Hint: "All monitors that have one of them."},
		{Path: "off", Label: "Disabled", Kind: forms.AsCheck},
	}}
	if isNew {
		about.Inputs = append([]forms.Input{{Path: "name", Label: "Name", Need: true, Hint: "Letters, digits, dots, dashes and underscores."}}, about.Inputs...)
	}
	return []forms.InputGroup{
		about,
		{Title: "When", Inputs: []forms.Input{
			{Path: "when", Label: "Repeats", Kind: forms.AsChoice, Options: []string{windowOnce, windowWeekly, windowRules}},
			{Path: "zone", Label: "Zone", Hint: "Of all times here, such as Europe/Sofia. Default: UTC."},
		}},
		{Title: "One-off", For: windowOnce, Grid: true, Inputs: []forms.Input{
			{Path: "from", Label: "From", Kind: forms.AsTime}, {Path: "to", Label: "To", Kind: forms.AsTime},
		}},
		{Title: "Weekly", For: windowWeekly, Inputs: []forms.Input{
			{Path: "days", Label: "Days", Kind: forms.AsSet, Options: weekdays}, {Path: "at", Label: "At", Hint: "Such as 22:00."},
		}},
		{Title: "By rules", For: windowRules, Inputs: []forms.Input{
			{Path: "rules", Label: "Starts", Kind: forms.AsRules, Hint: "Cron or RRULE, one a line, such as 0 22 1 * *."},
		}},
		{Title: "Duration of each", For: windowWeekly + " " + windowRules, Inputs: []forms.Input{{Path: "lasts", Label: "Duration", Kind: forms.AsDuration, Hint: "Such as 2h, each time."}}},
	}
}

type windowData struct {
	forms.Form
	Name   string
	Called string // its title
	Zone   string
	Next   []monitor.ActiveWindow
	Seen   bool // next was asked for

	OwnZone bool // it begins with the zone of the browser
}

func (p *page) windowForm(name string, values url.Values, err error) windowData {
	d := windowData{Name: name, Called: values.Get("title"), Zone: values.Get("zone"), Form: forms.Form{
		AsText: forms.AsText{Has: true},
		Edit:   forms.Edit{Version: values.Get("version")}, Title: "New maintenance window", New: name == "", Action: p.Link("settings", "windows", "-new"), Back: p.Link("settings", "windows"), Save: "Create window", Err: err,
		Groups: forms.Fill(windowGroups(name == ""), values, err), Try: "Preview",
		Command: p.Command("PUT", p.APIPath("/v1/windows/backup"), `{"rules":[{"cron":"0 2 * * SUN"}],"lasts":"2h","zone":"Europe/Sofia"}`, "window", "set", "backup", "--cron", "0 2 * * SUN", "--lasts", "2h", "--zone", "Europe/Sofia"),
	}}
	forms.Offer(p.Page, p.api, d.Groups, map[string]string{"monitors": "monitors", "tags": "monitor tags", "zone": "zones"})
	if name != "" {
		d.Title, d.Action, d.Save = "Window "+cmp.Or(d.Called, name), p.Link("settings", "windows", name), "Save"
		cmd := p.Command("DELETE", p.APIPath("/v1/windows/"+url.PathEscape(name)), "", "window", "delete", name)
		d.Delete = &parts.Confirm{ID: "delete", Button: "Delete", Danger: true, Title: "Delete window " + name + "?", Text: deleteText,
			Action: p.Link("settings", "windows", name, "delete"), Cmd: &cmd}
	}
	return d
}

func newWindow(p *page) error {
	values := url.Values{"when": {windowOnce}, "zone": {"UTC"}}
	if name, from, to := presetOf(p.Query("preset"), p.Now.In(p.Times.Zone)); name != "" {
		of := p.Query("monitors")
		if of != "" {
			name = of + "-" + name
		}
		values = url.Values{"when": {windowOnce}, "zone": {p.Times.Zone.String()}, "name": {name}, "monitors": {of}, "from": {from.Format(timeLayout)}, "to": {to.Format(timeLayout)}}
	}
	d := p.windowForm("", values, nil)
	d.OwnZone = values.Get("from") == ""
	return p.Show("window", d)
}

func editWindow(p *page) error {
	ctx := p.R.Context()
	w, err := p.api.Window(ctx, p.Namespace, p.R.PathValue("name"))
	if err != nil {
		return err
	}
	d := p.windowForm(w.Name, windowValues(w), nil)
	d.Seen = true
	if d.Next, err = p.api.WindowNext(ctx, w.Namespace, w.Name, time.Time{}, windowTimes); err != nil {
		return err
	}
	return p.Show("window", d)
}

// windowValues are the values of a window for its form.
func windowValues(w monitor.Window) url.Values {
	values := forms.DocumentOf(w).Values(forms.InputsOf(windowGroups(false)))
	values = forms.Versioned(values, w)
	values.Set("when", windowOnce)
	if len(w.Rules) > 0 {
		values.Set("when", windowRules)
	}
	if len(w.Rules) == 1 && w.Rules[0].String() == w.Rules[0].Cron {
		if days, at, is := weeklyOf(w.Rules[0].Cron); is {
			values.Set("when", windowWeekly)
			values["days"] = days
			values.Set("at", at)
			values.Del("rules")
		}
	}
	return values
}

// readWindow makes a window of a form and the saved document. Settings of other ways
// to give the times are not kept.
func (p *page) readWindow(doc forms.Document, name string, form url.Values) (w monitor.Window, err error) {
	err = doc.Read(forms.InputsOf(windowGroups(name == "")), form)
	when, days, at := form.Get("when"), form["days"], strings.TrimSpace(form.Get("at"))
	for _, own := range []string{"when", "days", "at"} {
		delete(doc, own)
	}
	if when == windowOnce {
		delete(doc, "rules")
		delete(doc, "lasts")
	} else {
		delete(doc, "from")
		delete(doc, "to")
	}
	if when == windowWeekly {
		rule, wrong := weeklyCron(days, at)
		doc["rules"], err = []any{map[string]any{"cron": rule}}, forms.Both(err, wrong)
	}
	err = cmp.Or(err, doc.To(&w))
	w.Namespace = p.Namespace
	if name != "" {
		w.Name = name
	}
	return w, err
}

// weeklyCron is the rule of days and a time of day. With a fault it is a rule too, so that nothing but that is refused.
func weeklyCron(days []string, at string) (string, error) {
	var p core.Problems
	t, err := time.Parse("15:04", at)
	if err != nil {
		p.Add("at", at, "is not a time of day", "such as 22:00")
	}
	var codes []string
	for _, d := range weekdays {
		if slices.Contains(days, d) {
			codes = append(codes, dayCode(d))
		}
	}
	if len(codes) == 0 {
		p.Add("days", "", "is missing", "on which days does it begin?")
		codes = []string{"*"}
	}
	return fmt.Sprintf("%d %d * * %s", t.Minute(), t.Hour(), strings.Join(codes, ",")), p.Err("invalid input")
}

func saveWindow(p *page) error {
	ctx, name, doc := p.R.Context(), p.R.PathValue("name"), forms.Document{}
	if name != "" {
		saved, err := p.api.Window(ctx, p.Namespace, name)
		if err != nil {
			return err
		}
		doc = forms.DocumentOf(saved)
	}
	w, text, shown, err := forms.ReadEither(p.Page, "maintenance window", name == "", func() (monitor.Window, error) { return p.readWindow(doc, name, p.R.PostForm) })
	if shown {
		values := p.R.PostForm
		if err == nil && !text.Here && p.R.PostForm.Has("definition") {
			values = windowValues(w)
			values.Set("name", w.Name)
			values.Set("version", p.R.PostForm.Get("version"))
		}
		d := p.windowForm(name, values, err)
		d.AsText = text
		return forms.ShowAgain(p.Page, "window", d, err)
	}
	w.Namespace = p.Namespace
	if name != "" {
		w.Name = name
	}
	if err == nil && p.R.PostFormValue("do") == "try" {
		d := p.windowForm(name, p.R.PostForm, nil)
		if w.Name == "" {
			w.Name = "window" // it need not have one to be tried
		}
		if d.Next, err = p.api.PreviewWindow(ctx, w, time.Time{}, windowTimes); err == nil {
			d.Seen = true
			return p.Show("window", d)
		}
	}
	if err == nil && name == "" {
		err = forms.IsFree(w.Name, "window", func() error { _, err := p.api.Window(ctx, p.Namespace, w.Name); return err })
	}
	if err == nil {
		_, err = p.api.SaveWindow(forms.Expecting(p.Page), w)
	}
	if err != nil {
		e, both, said := forms.Meanwhile(p.Page, p.api, err, "window", name, p.Link("settings", "windows", name), w, func() (monitor.Window, error) { return p.api.Window(ctx, p.Namespace, name) })
		d := p.windowForm(name, forms.Filled(p.Page, &text, both, windowValues), said)
		d.Edit, d.AsText = e, text
		return p.Again("window", d, err)
	}
	return p.Done(p.Link("settings", "windows", w.Name), "Window %s is saved.", w.Name)
}

func deleteWindow(p *page) error {
	name := p.R.PathValue("name")
	if err := p.api.DeleteWindow(p.R.Context(), p.Namespace, name); err != nil {
		return err
	}
	return p.Done(p.Link("settings", "windows"), "Window %s is deleted.", name)
}

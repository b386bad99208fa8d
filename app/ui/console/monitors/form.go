package monitors

import (
	"cmp"
	"context"
	"net/url"
	"slices"
	"strings"

	"github.com/belfry-run/belfry/access"
	"github.com/belfry-run/belfry/app/ui/console/internal/forms"
	"github.com/belfry-run/belfry/app/ui/console/internal/parts"
	"github.com/belfry-run/belfry/core"
	"github.com/belfry-run/belfry/monitor"
	"github.com/belfry-run/belfry/task"
	"github.com/belfry-run/belfry/view"
)

type monitorFormAPI interface {
	forms.Things
	CreateMonitor(ctx context.Context, m monitor.Monitor) (view.MonitorView, error)
	UpdateMonitor(ctx context.Context, m monitor.Monitor) (view.MonitorView, error)
	Try(ctx context.Context, t view.Trial) (view.Tried, error)
}

var monitorFormRoutes = routes{
	"GET /monitors/-new":         newMonitor,
	"POST /monitors/-new":        saveMonitor,
	"GET /monitors/{name}/edit":  editMonitor,
	"POST /monitors/{name}/edit": saveMonitor,
}

type monitorFormData struct {
	forms.Form
	Kind  task.Kind
	Name  string // of one that is edited
	Tried *view.Tried
}

// KindTabs lead to the forms of other kinds.
func (p *page) KindTabs(d monitorFormData) []parts.Tab {
	tabs := make([]parts.Tab, len(monitorKinds))
	for i, k := range monitorKinds {
		tabs[i] = parts.NewTab(k.Info().Title, p.With(p.Link("monitors", "-new"), "kind", k), k == d.Kind, "")
	}
	return tabs
}

// KindText describes a kind of monitor.
func (d monitorFormData) KindText() string { return d.Kind.Info().Text }

// monitorGroups is the form of a kind.
func monitorGroups(kind task.Kind, isNew bool) []forms.InputGroup {
	place := "check." + string(kind) + "."
	if kind == task.KindHeartbeat {
		place = "heartbeat."
	}
	own, more := forms.KindInputs(place, kind.Info().Fields)
	var name []forms.Input
	if isNew {
		name = []forms.Input{{Path: "name", Label: "Name", Need: true, Hint: "Letters, digits, dots, dashes and underscores."}}
	}
	when := forms.InputGroup{Title: "When", Grid: true, Inputs: []forms.Input{
		{Path: "every", Label: "Every", Kind: forms.AsDuration, Hint: "Such as 30s, 5 minutes or 1d. Default: 1m, or 1d for a domain."},
		{Path: "rules", Label: "Rules", Kind: forms.AsRules, Hint: "Instead of an interval: cron, one a line, such as 0 9 * * MON-FRI."},
		{Path: "zone", Label: "Zone of the rules", Hint: "Such as Europe/Sofia. Default: UTC."},
	}}
	verdict := forms.InputGroup{Title: "When it is down, and up again", Drawer: true, Inputs: []forms.Input{
		{Path: "confirm.failures", Label: "Down after failures in a row", Kind: forms.AsNumber, Hint: "Default: 2; of a heartbeat, 1."},
		{Path: "confirm.for", Label: "Down after failing for", Kind: forms.AsDuration},
		{Path: "recover.passes", Label: "Up after good checks in a row", Kind: forms.AsNumber, Hint: "Default: 2; of a heartbeat, 1."},
		{Path: "recover.for", Label: "Up after passing for", Kind: forms.AsDuration},
		{Path: "flap.off", Label: "Never flapping", Kind: forms.AsCheck, Hint: "Every change sends an alert, however many there are."},
	}}
	tell := forms.InputGroup{Title: "Alerts and visibility", Drawer: true, Inputs: []forms.Input{
		{Path: "depends_on", Label: "Depends on", Kind: forms.AsWords, Hint: "Monitors. While one of them is down, this one sends no alerts."},
		{Path: "muted", Label: "Muted", Kind: forms.AsCheck, Hint: "It sends no alerts."},
		{Path: "public", Label: "Public", Kind: forms.AsCheck, Hint: "Everyone may see its badges."},
		{Path: "within", Label: "Only within calendars", Kind: forms.AsWords},
		{Path: "blackout", Label: "Not within calendars", Kind: forms.AsWords},
	}}
	if kind != task.KindHeartbeat {
		when.Inputs = append(when.Inputs, forms.Input{Path: "check.timeout", Label: "Timeout", Kind: forms.AsDuration, Hint: "Default: 10s."})
		verdict.Inputs = slices.Insert(verdict.Inputs, 2, forms.Input{Path: "confirm.retry", Label: "Look again after", Kind: forms.AsDuration, Hint: "How soon a failure is looked at again until it is confirmed. Default: a third of the time between checks, at most 20s."})
		verdict.Inputs = append(verdict.Inputs,
			forms.Input{Path: "slow.off", Label: "Never slow", Kind: forms.AsCheck, Hint: "It is not compared with its usual speed."},
			forms.Input{Path: "stale_after", Label: "Stale after", Kind: forms.AsNumber, Hint: "Checks in a row that could not be made. Default: 3."})
	}
	var hold forms.InputGroup
	if kind != task.KindHeartbeat && kind != task.KindCommand {
		hold = forms.InputGroup{Title: "Conditions", Text: "Expressions about the answer, such as status == 200, latency < 500ms or body contains \"ok\". Try it to see the result of each.", Inputs: []forms.Input{
			{Path: "check.conditions", Label: "Must hold", Kind: forms.AsLines, Hint: "One in each line. The check fails if one does not hold."},
			{Path: "check.warnings", Label: "Should hold", Kind: forms.AsLines, Hint: "One in each line. The monitor is degraded if one does not hold."},
		}}
	}
	return []forms.InputGroup{
		{Title: "", Inputs: slices.Concat(name, own)},
		{Title: "More about the request", Drawer: true, Inputs: more},
		hold, when, verdict, tell,
		{Title: "About it", Drawer: true, Inputs: []forms.Input{
			{Path: "title", Label: "Title", Hint: "Shown to people and on status pages, in any script. The name stays its address."},
			{Path: "description", Label: "Description", Kind: forms.AsArea},
			{Path: "tags", Label: "Tags", Kind: forms.AsWords, Hint: "For filters, alert rules and status pages."},
		}},
	}
}

func newMonitor(p *page) error {
	kind := task.Kind(p.Query("kind"))
	if !slices.Contains(monitorKinds, kind) {
		kind = task.KindHTTP
	}
	values := url.Values{"every": {"1m"}, "check.http.method": {"GET"}, "check.dns.type": {"A"}}
	if kind == task.KindHeartbeat {
		values.Set("every", "1h")
	} else if every := kind.Info().Every; every > 0 {
		values.Set("every", every.String())
	}
	return p.Show("monitor-form", p.monitorForm(kind, "", values, nil))
}

func (p *page) monitorForm(kind task.Kind, name string, values url.Values, err error) monitorFormData {
	err = forms.AtFirst(err, "check."+string(kind)+".", kind.Info().Fields)
	d := monitorFormData{Kind: kind, Name: name, Form: forms.Form{
		AsText: forms.AsText{Has: true},
		Edit:   forms.Edit{Version: values.Get("version")}, Title: "New monitor", New: name == "", Action: p.With(p.Link("monitors", "-new"), "kind", kind), Back: p.Link("monitors"), Err: err,
		Groups: forms.Fill(monitorGroups(kind, name == ""), values, err), Save: "Create monitor",
		Command: p.Command("POST", p.APIPath("/v1/monitors"), `{"name":"shop","check":{"http":{"url":"https://example.com"}}}`, "monitor", "create", "shop", "--url", "https://example.com"),
	}}
	forms.Offer(p.Page, p.api, d.Groups, map[string]string{"depends_on": "monitors", "tags": "monitor tags", "within": "calendars", "blackout": "calendars", "zone": "zones"})
	if kind != task.KindHeartbeat && kind != task.KindCommand && p.Can(access.ScopeAdmin) {
		d.Try = "Try it"
	}
	if name != "" {
		d.Title, d.Action, d.Back, d.Save = "Edit "+cmp.Or(values.Get("title"), name), p.Link("monitors", name, "edit"), p.Link("monitors", name, "settings"), "Save"
		d.Command = p.Command("PUT", p.APIPath("/v1/monitors/"+url.PathEscape(name)), `{"check":{"http":{"url":"https://example.com"}}}`, "monitor", "update", name, "--every", "30s")
	}
	return d
}

func editMonitor(p *page) error {
	v, err := p.api.Monitor(p.R.Context(), p.Namespace, p.R.PathValue("name"))
	if err != nil {
		return err
	}
	return p.Show("monitor-form", p.monitorForm(v.Kind(), v.Name, monitorValues(v.Monitor), nil))
}

// monitorValues are the values of a monitor for its form.
func monitorValues(m monitor.Monitor) url.Values {
	return forms.Versioned(forms.DocumentOf(m).Values(forms.InputsOf(monitorGroups(m.Kind(), false))), m)
}

// saveMonitor saves a monitor or tries its check, whichever button was used.
func saveMonitor(p *page) error {
	name, kind := p.R.PathValue("name"), task.Kind(p.Query("kind"))
	doc := forms.Document{}
	if name != "" {
		v, err := p.api.Monitor(p.R.Context(), p.Namespace, name)
		if err != nil {
			return err
		}
		kind, doc = v.Kind(), forms.DocumentOf(v.Monitor)
	}
	if !slices.Contains(monitorKinds, kind) {
		return core.InvalidField("kind", string(kind), "is not a kind of monitor", "")
	}
	m, text, shown, err := forms.ReadEither(p.Page, "monitor", name == "", func() (monitor.Monitor, error) { return p.readMonitor(doc, kind, name) })
	if shown {
		k := m.WithDefaults().Kind()
		if err == nil {
			err = forms.KeepsKind(p.Page, &text, string(kind), string(k))
		}
		if err == nil && slices.Contains(monitorKinds, k) {
			kind = k
		}
		d := p.monitorForm(kind, name, forms.ValuesOf(p.Page, text, err, m, monitorGroups(kind, name == "")), err)
		d.AsText = text
		return forms.ShowAgain(p.Page, "monitor-form", d, err)
	}
	m.Namespace = p.Namespace
	if name != "" {
		m.Name = name
	}
	if err == nil && p.R.PostFormValue("do") == "try" {
		return p.tryMonitor(m, kind, name)
	}
	var v view.MonitorView
	switch {
	case err != nil:
	case name == "":
		v, err = p.api.CreateMonitor(p.R.Context(), m)
	default:
		v, err = p.api.UpdateMonitor(forms.Expecting(p.Page), m)
	}
	if err != nil {
		e, both, said := forms.Meanwhile(p.Page, p.api, err, "monitor", name, p.Link("monitors", name, "edit"), m, func() (monitor.Monitor, error) {
			v, err := p.api.Monitor(p.R.Context(), p.Namespace, name)
			return v.Monitor, err
		})
		d := p.monitorForm(kind, name, forms.Filled(p.Page, &text, both, monitorValues), said)
		d.Edit, d.AsText = e, text
		return p.Again("monitor-form", d, err)
	}
	if name != "" {
		return p.Done(p.Link("monitors", v.Name, "settings"), "Monitor %s is saved.", v.Name)
	}
	if v.Beat != "" {
		return p.Done(p.Link("monitors", v.Name, "settings"), "Created monitor %s. It is new until its first call.", v.Name)
	}
	// By itself the first check comes within an interval, for which a person would wait.
	if _, err := p.api.CheckMonitor(p.R.Context(), v.Namespace, v.Name); err != nil {
		return p.Done(p.Link("monitors", v.Name), "Created monitor %s. Its first check tells its state.", v.Name)
	}
	return p.Done(p.Link("monitors", v.Name), "Created monitor %s, and its first check begins.", v.Name)
}

func (p *page) readMonitor(doc forms.Document, kind task.Kind, name string) (m monitor.Monitor, err error) {
	err = doc.Read(forms.InputsOf(monitorGroups(kind, name == "")), p.R.PostForm)
	if kind == task.KindHeartbeat {
		if doc.At("heartbeat") == nil {
			doc["heartbeat"] = map[string]any{}
		}
		delete(doc, "check")
	} else {
		if doc.At("check."+string(kind)) == nil {
			doc.Set("check."+string(kind), map[string]any{})
		}
		doc.Set("check.kind", string(kind))
	}
	err = cmp.Or(err, doc.To(&m))
	m.Namespace = p.Namespace
	if name != "" {
		m.Name = name
	}
	return m, err
}

// tryMonitor shows the form again, with the result of the check.
func (p *page) tryMonitor(m monitor.Monitor, kind task.Kind, name string) error {
	check := m.Check
	tried, err := p.api.Try(p.R.Context(), view.Trial{Namespace: p.Namespace, Monitor: name, Check: &check})
	d := p.monitorForm(kind, name, p.R.PostForm, err)
	if err != nil {
		return p.Again("monitor-form", d, err)
	}
	d.Tried = &tried
	return p.Show("monitor-form", d)
}

// TriedWords returns the result of a trial in words.
func (d monitorFormData) TriedWords() string {
	t := d.Tried
	pieces := []string{outcomeWords[t.Outcome]}
	if t.Status > 0 {
		pieces = append(pieces, "status "+parts.NumberText(t.Status))
	}
	if t.Latency > 0 {
		pieces = append(pieces, parts.LatencyText(t.Latency))
	}
	if t.IP != "" {
		pieces = append(pieces, "from "+t.IP)
	}
	return strings.Join(pieces, ", ")
}

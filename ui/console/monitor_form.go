package console

import (
	"context"
	"net/url"
	"slices"
	"strings"

	"github.com/belfry-run/belfry/access"
	"github.com/belfry-run/belfry/core"
	"github.com/belfry-run/belfry/monitor"
	"github.com/belfry-run/belfry/task"
	"github.com/belfry-run/belfry/view"
)

type monitorFormAPI interface {
	CreateMonitor(ctx context.Context, m monitor.Monitor) (view.MonitorView, error)
	UpdateMonitor(ctx context.Context, m monitor.Monitor) (view.MonitorView, error)
	Try(ctx context.Context, t view.Trial) (view.Tried, error)
}

var monitorFormRoutes = []route{
	{"GET /monitors/-new", newMonitor},
	{"POST /monitors/-new", saveMonitor},
	{"GET /monitors/{name}/edit", editMonitor},
	{"POST /monitors/{name}/edit", saveMonitor},
}

type monitorFormData struct {
	form
	Kind  task.Kind
	Name  string // of one that is edited
	Tried *view.Tried
}

// KindTabs lead to the forms of other kinds.
func (p *page) KindTabs(d monitorFormData) []tab {
	tabs := make([]tab, len(monitorKinds))
	for i, k := range monitorKinds {
		tabs[i] = newTab(kindWords[k], p.With(p.Link("monitors", "-new"), "kind", k), k == d.Kind, "")
	}
	return tabs
}

var kindWords = map[task.Kind]string{
	task.KindHTTP: "HTTP", task.KindTCP: "TCP", task.KindDNS: "DNS", task.KindTLS: "Certificate", task.KindPing: "Ping", task.KindGRPC: "gRPC",
	task.KindWebSocket: "WebSocket", task.KindHeartbeat: "Heartbeat", task.KindPage: "Page", task.KindCommand: "Command",
}

// KindText says what a kind of monitor does.
func (d monitorFormData) KindText() string {
	return map[task.Kind]string{
		task.KindHTTP: "Asks an address, and looks at the answer.", task.KindTCP: "Opens a connection, and may talk.", task.KindDNS: "Asks for a record of a name.",
		task.KindTLS: "Looks at a certificate and its chain, and when they end.", task.KindPing: "Sends echo requests.", task.KindGRPC: "Asks the standard health service.",
		task.KindWebSocket: "Opens a WebSocket, and may talk.", task.KindHeartbeat: "Waits to be called by a cron job, a backup or a device, and is down when no call comes.",
		task.KindPage: "Remembers what a part of a page was like, and says when it changes.", task.KindCommand: "Runs a command on a worker. Its operator has to allow that.",
	}[d.Kind]
}

// kindInputs are the settings of a kind: those that matter, and the others.
var kindInputs = map[task.Kind][2][]input{
	task.KindHTTP: {{
		{Path: "check.http.url", Label: "Address", Need: true, Hint: "https://example.com/health"},
		{Path: "check.http.method", Label: "Method", Kind: asChoice, Options: []string{"GET", "HEAD", "POST", "PUT", "PATCH", "DELETE", "OPTIONS"}},
		{Path: "check.http.expect_status", Label: "Good status", Kind: asWords, Hint: "Codes and ranges, such as 200-299, 404. Default: 200-299."},
		{Path: "check.http.expect_body", Label: "Body matches", Hint: "A regular expression (RE2). Empty: anything."},
	}, {
		{Path: "check.http.headers", Label: "Headers", Kind: asPairs, Hint: "One a line: Name: value. Anyone who may read sees them; secrets belong below."},
		{Path: "check.http.body", Label: "Body", Kind: asArea},
		{Path: "check.http.auth.user", Label: "User", Hint: "For basic authentication."},
		{Path: "check.http.auth.password", Label: "Password", Kind: asSecret, Hint: secretHint},
		{Path: "check.http.auth.bearer", Label: "Bearer token", Kind: asSecret, Hint: "Instead of user and password. " + secretHint},
		{Path: "check.http.max_redirects", Label: "Redirects", Kind: asNumber, Hint: "At most so many; -1: none is followed."},
		{Path: "check.http.family", Label: "Addresses", Kind: asChoice, Options: []string{"any", "ipv4", "ipv6"}},
		{Path: "check.http.server_name", Label: "Name for TLS", Hint: "Default: the host of the address."},
		{Path: "check.http.skip_verify", Label: "Accept any certificate", Kind: asCheck},
	}},
	task.KindTCP: {{
		{Path: "check.tcp.address", Label: "Address", Need: true, Hint: "host:port, such as db.example.com:5432"},
		{Path: "check.tcp.send", Label: "Send", Hint: `Text sent after connecting; \r, \n and \x00 are read as in Go.`},
		{Path: "check.tcp.expect", Label: "Answer matches", Hint: "A regular expression (RE2). Empty: a connection is enough."},
	}, {{Path: "check.tcp.family", Label: "Addresses", Kind: asChoice, Options: []string{"any", "ipv4", "ipv6"}}}},
	task.KindDNS: {{
		{Path: "check.dns.name", Label: "Name", Need: true, Hint: "Such as example.com"},
		{Path: "check.dns.type", Label: "Record", Kind: asChoice, Options: []string{"A", "AAAA", "CNAME", "MX", "NS", "TXT", "SOA", "SRV", "CAA", "PTR"}},
		{Path: "check.dns.expect", Label: "Answers", Kind: asLines, Hint: "One a line; all of them must come, in any order. Empty: any answer."},
		{Path: "check.dns.exact", Label: "No other answers", Kind: asCheck},
	}, {
		{Path: "check.dns.server", Label: "Resolver", Hint: "Such as 9.9.9.9. Default: the worker's own."},
		{Path: "check.dns.tcp", Label: "Ask over TCP", Kind: asCheck},
	}},
	task.KindTLS: {{
		{Path: "check.tls.address", Label: "Address", Need: true, Hint: "host:port; port 443 if left out"},
		{Path: "check.tls.warn_days", Label: "Degraded within", Kind: asNumber, Hint: "Days before a certificate of the chain ends. Default: 14; -1: never."},
		{Path: "check.tls.fail_days", Label: "Failed within", Kind: asNumber, Hint: "Days before a certificate of the chain ends. Default: when it has ended."},
	}, {
		{Path: "check.tls.server_name", Label: "Name", Hint: "Default: the host of the address."},
		{Path: "check.tls.starttls", Label: "Ask for TLS first", Kind: asChoice, Options: []string{"", "smtp", "imap", "pop3", "ftp", "postgres"}},
	}},
	task.KindPing: {{
		{Path: "check.ping.host", Label: "Host", Need: true, Hint: "A name or an address"},
		{Path: "check.ping.count", Label: "Requests", Kind: asNumber, Hint: "Default: 3."},
		{Path: "check.ping.max_loss", Label: "Loss", Kind: asNumber, Hint: "Per cent of the requests that may stay unanswered. Default: 0."},
	}, {{Path: "check.ping.family", Label: "Addresses", Kind: asChoice, Options: []string{"any", "ipv4", "ipv6"}}}},
	task.KindGRPC: {{
		{Path: "check.grpc.address", Label: "Address", Need: true, Hint: "host:port"},
		{Path: "check.grpc.service", Label: "Service", Hint: "Default: the server as a whole."},
	}, {
		{Path: "check.grpc.plaintext", Label: "Without TLS", Kind: asCheck},
		{Path: "check.grpc.server_name", Label: "Name for TLS"},
		{Path: "check.grpc.skip_verify", Label: "Accept any certificate", Kind: asCheck},
	}},
	task.KindWebSocket: {{
		{Path: "check.websocket.url", Label: "Address", Need: true, Hint: "wss://example.com/socket"},
		{Path: "check.websocket.send", Label: "Send", Hint: "A text message, after the upgrade."},
		{Path: "check.websocket.expect", Label: "A message matches", Hint: "A regular expression (RE2)."},
	}, {{Path: "check.websocket.headers", Label: "Headers", Kind: asPairs, Hint: "One a line: Name: value."}}},
	task.KindPage: {{
		{Path: "check.page.url", Label: "Address", Need: true, Hint: "https://example.com/prices"},
		{Path: "check.page.css", Label: "CSS selector", Hint: "Such as main .price. All elements that match are looked at. Empty, with XPath and JSON path: the whole text."},
		{Path: "check.page.xpath", Label: "or XPath", Hint: "Such as //table[1]//tr"},
		{Path: "check.page.json_path", Label: "or JSON path", Hint: "For JSON, in jq's language, such as .items[0].price"},
		{Path: "check.page.ignore_css", Label: "Leave out", Kind: asLines, Hint: "Selectors of elements that are taken out first, one a line."},
		{Path: "check.page.ignore", Label: "Ignore", Kind: asLines, Hint: "Regular expressions (RE2), one a line; what they match is taken out of the text."},
		{Path: "check.page.mask", Label: "Mask", Kind: asSet, Options: []string{"numbers", "dates"}, Hint: "What is replaced by a sign that it was there."},
		{Path: "check.page.baseline", Label: "Compare with", Kind: asChoice, Options: []string{"rolling", "pinned"}, Hint: "rolling: the previous version. pinned: the accepted baseline."},
	}, {
		{Path: "check.page.confirm", Label: "A change counts after", Kind: asDuration, Hint: "When it is still there then. Default: 10s."},
		{Path: "check.page.keep_markup", Label: "Compare the markup", Kind: asCheck, Hint: "Instead of the text."},
		{Path: "check.page.allow_empty", Label: "No text is fine", Kind: asCheck},
		{Path: "check.page.keep_versions", Label: "Texts kept", Kind: asNumber, Hint: "Default: 50."},
		{Path: "check.page.headers", Label: "Headers", Kind: asPairs, Hint: "One a line: Name: value."},
	}},
	task.KindCommand: {{
		{Path: "check.command.shell", Label: "Script", Kind: asArea, Hint: "For /bin/sh. It is good when it ends with 0."},
		{Path: "check.command.argv", Label: "or program", Kind: asLines, Hint: "Without a shell: the program and its arguments, one a line."},
	}, {{Path: "check.command.env", Label: "Environment", Kind: asPairs, Hint: "One a line: NAME: value."}}},
	task.KindHeartbeat: {{
		{Path: "heartbeat.grace", Label: "Grace", Kind: asDuration, Hint: "How late a call may be. Default: a fifth of the time between two, at least 10s."},
		{Path: "heartbeat.max_runtime", Label: "Longest run", Kind: asDuration, Hint: "From a start to its end. Default: no limit."},
	}},
}

const secretHint = "It is never shown. Empty it to take it away."

// monitorGroups is the form of a kind.
func monitorGroups(kind task.Kind, isNew bool) []inputGroup {
	own := kindInputs[kind]
	var name []input
	if isNew {
		name = []input{{Path: "name", Label: "Name", Need: true, Hint: "Letters, digits, dots, dashes and underscores."}}
	}
	more := own[1]
	when := inputGroup{Title: "When", Inputs: []input{
		{Path: "every", Label: "Every", Kind: asDuration, Hint: "Such as 30s, 5m or 1d. Default: 1m."},
		{Path: "rules", Label: "or by rules", Kind: asRules, Hint: "Cron, one a line, such as 0 9 * * MON-FRI."},
		{Path: "zone", Label: "Zone of the rules", Hint: "Such as Europe/Sofia. Default: UTC."},
	}}
	verdict := inputGroup{Title: "When it is down, and up again", Drawer: true, Inputs: []input{
		{Path: "confirm.failures", Label: "Down after failures in a row", Kind: asNumber, Hint: "Default: 2; of a heartbeat, 1."},
		{Path: "confirm.for", Label: "Down after failing for", Kind: asDuration},
		{Path: "recover.passes", Label: "Up after good checks in a row", Kind: asNumber, Hint: "Default: 2; of a heartbeat, 1."},
		{Path: "recover.for", Label: "Up after passing for", Kind: asDuration},
		{Path: "flap.off", Label: "Never flapping", Kind: asCheck, Hint: "Every change sends an alert, however many there are."},
	}}
	tell := inputGroup{Title: "Alerts and visibility", Drawer: true, Inputs: []input{
		{Path: "depends_on", Label: "Depends on", Kind: asWords, Hint: "Monitors. While one of them is down, this one sends no alerts."},
		{Path: "muted", Label: "Muted", Kind: asCheck, Hint: "It sends no alerts."},
		{Path: "public", Label: "Public", Kind: asCheck, Hint: "Everyone may see its badges."},
		{Path: "within", Label: "Only within calendars", Kind: asWords},
		{Path: "blackout", Label: "Not within calendars", Kind: asWords},
	}}
	if kind != task.KindHeartbeat {
		when.Inputs = append(when.Inputs, input{Path: "check.timeout", Label: "Timeout", Kind: asDuration, Hint: "Default: 10s."})
		verdict.Inputs = slices.Insert(verdict.Inputs, 2, input{Path: "confirm.retry", Label: "Look again after", Kind: asDuration, Hint: "How soon a failure is looked at again until it is confirmed. Default: a third of the time between checks, at most 20s."})
		verdict.Inputs = append(verdict.Inputs,
			input{Path: "slow.off", Label: "Never slow", Kind: asCheck, Hint: "It is not compared with its usual speed."},
			input{Path: "stale_after", Label: "Stale after", Kind: asNumber, Hint: "Checks in a row that could not be made. Default: 3."})
	}
	var hold inputGroup
	if kind != task.KindHeartbeat && kind != task.KindCommand {
		hold = inputGroup{Title: "Conditions", Text: "Expressions about the answer, such as status == 200, latency < 500ms or body contains \"ok\". Try it to see what each comes to.", Inputs: []input{
			{Path: "check.conditions", Label: "Must hold", Kind: asLines, Hint: "One a line. One that does not makes the check fail."},
			{Path: "check.warnings", Label: "Should hold", Kind: asLines, Hint: "One a line. One that does not makes it degraded."},
		}}
	}
	return []inputGroup{
		{Title: "", Inputs: slices.Concat(name, own[0])},
		{Title: "More about the request", Drawer: true, Inputs: more},
		hold, when, verdict, tell,
		{Title: "About it", Drawer: true, Inputs: []input{
			{Path: "description", Label: "Description", Kind: asArea},
			{Path: "tags", Label: "Tags", Kind: asWords, Hint: "For filters, alert rules and status pages."},
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
	}
	return p.show("monitor-form", p.monitorForm(kind, "", values, nil))
}

func (p *page) monitorForm(kind task.Kind, name string, values url.Values, err error) monitorFormData {
	d := monitorFormData{Kind: kind, Name: name, form: form{
		edit: edit{Version: values.Get("version")}, Title: "New monitor", New: name == "", Action: p.With(p.Link("monitors", "-new"), "kind", kind), Back: p.Link("monitors"), Err: err,
		Groups: fill(monitorGroups(kind, name == ""), values, err), Save: "Create monitor",
		Command: p.Command("POST", p.apiPath("/v1/monitors"), `{"name":"shop","check":{"http":{"url":"https://example.com"}}}`, "monitor", "create", "shop", "--url", "https://example.com"),
	}}
	if kind != task.KindHeartbeat && kind != task.KindCommand && p.Can(access.ScopeAdmin) {
		d.Try = "Try it"
	}
	if name != "" {
		d.Title, d.Action, d.Back, d.Save = "Edit "+name, p.Link("monitors", name, "edit"), p.Link("monitors", name, "settings"), "Save"
		d.Command = p.Command("PUT", p.apiPath("/v1/monitors/"+url.PathEscape(name)), `{"check":{"http":{"url":"https://example.com"}}}`, "monitor", "update", name, "--every", "30s")
	}
	return d
}

func editMonitor(p *page) error {
	v, err := p.api.Monitor(p.r.Context(), p.Namespace, p.r.PathValue("name"))
	if err != nil {
		return err
	}
	kind := v.Kind()
	return p.show("monitor-form", p.monitorForm(kind, v.Name, versioned(documentOf(v.Monitor).values(inputsOf(monitorGroups(kind, false))), v.Monitor), nil))
}

// saveMonitor saves a monitor or tries its check, whichever button was used.
func saveMonitor(p *page) error {
	name, kind := p.r.PathValue("name"), task.Kind(p.Query("kind"))
	doc := jsonThing{}
	if name != "" {
		v, err := p.api.Monitor(p.r.Context(), p.Namespace, name)
		if err != nil {
			return err
		}
		kind, doc = v.Kind(), documentOf(v.Monitor)
	}
	if !slices.Contains(monitorKinds, kind) {
		return core.InvalidField("kind", string(kind), "is not a kind of monitor", "")
	}
	m, err := p.readMonitor(doc, kind, name)
	if err == nil && p.r.PostFormValue("do") == "try" {
		return p.tryMonitor(m, kind, name)
	}
	var v view.MonitorView
	switch {
	case err != nil:
	case name == "":
		v, err = p.api.CreateMonitor(p.r.Context(), m)
	default:
		v, err = p.api.UpdateMonitor(p.expecting(), m)
	}
	if err != nil {
		e, shown := meanwhile(p, p.api, err, "monitor", name, p.Link("monitors", name, "edit"), m, func() (monitor.Monitor, error) {
			v, err := p.api.Monitor(p.r.Context(), p.Namespace, name)
			return v.Monitor, err
		})
		d := p.monitorForm(kind, name, p.r.PostForm, shown)
		d.edit = e
		return p.again("monitor-form", d, err)
	}
	if name != "" {
		return p.done(p.Link("monitors", v.Name, "settings"), "Monitor %s is saved.", v.Name)
	}
	if v.Beat != "" {
		return p.done(p.Link("monitors", v.Name, "settings"), "Created monitor %s. It is new until its first call.", v.Name)
	}
	return p.done(p.Link("monitors", v.Name), "Created monitor %s. Its first check tells its state.", v.Name)
}

func (p *page) readMonitor(doc jsonThing, kind task.Kind, name string) (m monitor.Monitor, err error) {
	err = doc.read(inputsOf(monitorGroups(kind, name == "")), p.r.PostForm)
	if kind == task.KindHeartbeat {
		if doc.at("heartbeat") == nil {
			doc["heartbeat"] = map[string]any{}
		}
		delete(doc, "check")
	} else {
		if doc.at("check."+string(kind)) == nil {
			doc.set("check."+string(kind), map[string]any{})
		}
		doc.set("check.kind", string(kind))
	}
	if err != nil {
		return m, err
	}
	err = doc.to(&m)
	m.Namespace = p.Namespace
	if name != "" {
		m.Name = name
	}
	return m, err
}

// tryMonitor shows the form again, with what the check saw.
func (p *page) tryMonitor(m monitor.Monitor, kind task.Kind, name string) error {
	check := m.Check
	tried, err := p.api.Try(p.r.Context(), view.Trial{Namespace: p.Namespace, Monitor: name, Check: &check})
	d := p.monitorForm(kind, name, p.r.PostForm, err)
	if err != nil {
		return p.again("monitor-form", d, err)
	}
	d.Tried = &tried
	return p.show("monitor-form", d)
}

// TriedWords says what a look came to.
func (d monitorFormData) TriedWords() string {
	t := d.Tried
	parts := []string{outcomeWords[t.Outcome]}
	if t.Status > 0 {
		parts = append(parts, "status "+numberText(t.Status))
	}
	if t.Latency > 0 {
		parts = append(parts, latencyText(t.Latency))
	}
	if t.IP != "" {
		parts = append(parts, "from "+t.IP)
	}
	return strings.Join(parts, ", ")
}

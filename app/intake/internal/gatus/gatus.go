package gatus

import (
	"io"
	"strings"
	"time"

	"github.com/belfry-run/belfry/app/intake/internal/base"
	"github.com/belfry-run/belfry/app/intake/internal/tree"
	"github.com/belfry-run/belfry/core"
	"github.com/belfry-run/belfry/monitor"
	"github.com/belfry-run/belfry/task"
)

// Gatus reads the configuration of Gatus (config.yaml): its endpoints and
// external endpoints become monitors, the providers of its alerting channels,
// the alerts of its endpoints alert rules, and its maintenance windows. An
// error is about the file as a whole: it is too large, or it holds no endpoint.
//
// Endpoints keep the thresholds of their alerts, and are looked at again only
// in their turn, as there. A condition that cannot be said is a note, and the
// monitor has the others. Variables such as ${TOKEN} have the values of
// [base.Options.Env]. An endpoint whose variable has none is a fault, or, where no
// values are given at all, a note. In a channel such a variable stands as a
// secret that is kept, so that a channel that exists keeps its own.
func Gatus(r io.Reader, o base.Options) (base.Result, error) { return GatusFiles([]File{{Text: r}}, o) }

// gatus is a configuration while it is read.
type gatus struct {
	*base.Watching
	providers map[string]*provider
	rests     map[*tree.Tree]rested
	fits      map[string]*codes
	latency   bool // some condition is on the time that an answer took
	length    bool // or on the length of something
	reminded  bool
	labeled   int // lines that have the name of their file
}

// instance are the keys about Gatus itself, not about its endpoints.
var instance = []string{"announcements", "connectivity", "remote", "security", "tunneling"}

func (g *gatus) root(root *tree.Tree) {
	if t := root.Get("maintenance"); !t.Empty() {
		g.maintenance(t)
	}
	for _, t := range root.Get("endpoints").List {
		g.endpoint(t)
	}
	for _, t := range root.Get("external-endpoints").List {
		g.externalEndpoint(t)
	}
	for _, t := range root.Get("suites").List {
		e := base.NewEntry(t.At, base.OrWord(t.Get("name").Text, "a suite"), "suite "+t.Get("name").Text)
		e.Fault(t.At, "", "", "is a suite, whose steps hand values to each other", "make a monitor of each step that stands by itself")
		g.Done(e)
	}
	for _, key := range instance {
		if t := root.Get(key); !t.Empty() {
			g.Notef("line %d: %s is not carried over: it is about Gatus itself", t.At.Line, key)
		}
	}
}

// begin is the entry of an endpoint, and its name and group.
func (g *gatus) begin(t *tree.Tree) (e *base.Entry, name, group string) {
	e = base.NewEntry(t.At, "an endpoint", "an endpoint")
	name, group = g.Spend(e, t.At, t.Get("name").Text), g.Spend(e, t.At, t.Get("group").Text)
	if shown := base.Clip(name); shown != "" {
		if group != "" {
			shown = base.Clip(group) + "/" + shown
		}
		e.Name, e.Text = base.Clip(shown), base.Clip(shown)
	}
	if t.Kind != tree.Mapping {
		e.Fault(t.At, "", t.Text, "is not an endpoint", "it has name and url")
	} else if name == "" {
		e.Fault(t.At, "name", "", "is missing", "")
	}
	return e, name, group
}

func (g *gatus) endpoint(t *tree.Tree) {
	e, name, group := g.begin(t)
	target := g.text(e, t.Get("url"), "url")
	e.Text = base.Clip(e.Text + ": " + base.Bare(target))
	check, ending := g.check(e, t, target, name, group)
	m := monitor.Monitor{
		Name: g.MonitorName(name, group, base.Stem(base.HostOf(target), "endpoint")),
		Tags: base.Tags(group), Check: check, Every: g.span(e, t.Get("interval"), "interval"),
	}
	m.Title = base.TitleOf(m.Name, name)
	told := g.alerts(e, t, group, &m)
	g.disabled(e, t, &m)
	e.Leave(t, "", "enabled", "name", "group", "url", "method", "conditions", "interval", "graphql", "body", "headers", "dns", "ssh", "alerts", "maintenance-windows", "client", "ui")
	e.Leave(t.Get("ui"), "ui.")
	windows := g.windowsOf(e, t)
	if g.Add(e, m) {
		g.tellAll(m.Name, told)
		for _, w := range windows {
			g.Rest(w, m.Name)
		}
		if ending != nil {
			ending.Muted = m.Muted
			if name, ok := g.Register(e, m, *ending); ok {
				g.tellAll(name, told)
			}
		}
	}
}

// externalEndpoint waits to be told how something is.
func (g *gatus) externalEndpoint(t *tree.Tree) {
	e, name, group := g.begin(t)
	m := monitor.Monitor{
		Name: g.MonitorName(name, group, "endpoint"), Tags: base.Tags(group), Heartbeat: &monitor.Heartbeat{},
		Every: g.span(e, t.Get("heartbeat", "interval"), "heartbeat.interval"),
	}
	m.Title = base.TitleOf(m.Name, name)
	told := g.alerts(e, t, group, &m)
	g.disabled(e, t, &m)
	if m.Every == 0 {
		m.Every = task.MaxEvery
		e.Notef("it has no heartbeat.interval: nothing is missed when no call comes, so it waits for a call every %s; write into every how often one comes", m.Every)
	}
	if token, missing := unset(g.Spend(e, t.At, t.Get("token").Text)); token != "" && missing == "" {
		m.Heartbeat.TokenDigest = monitor.ExternalDigest(gatusKey(group, name), token)
		e.Notef("its callers go on at /api/v1/endpoints/%s/external with their token, when their host leads here; it has a URL of its own too", base.Clip(gatusKey(group, name)))
	} else {
		e.Notef("its caller needs its new URL, which is made with the monitor; its token is not known")
	}
	e.Leave(t, "", "enabled", "name", "group", "token", "heartbeat", "alerts")
	if g.Add(e, m) {
		g.tellAll(m.Name, told)
	}
}

// gatusKey is the name of an endpoint in URLs of Gatus.
func gatusKey(group, name string) string {
	plain := func(text string) string {
		return strings.NewReplacer("/", "-", "_", "-", ".", "-", ",", "-", " ", "-", "#", "-").Replace(strings.ToLower(strings.TrimSpace(text)))
	}
	return plain(group) + "_" + plain(name)
}

// disabled carries over that an endpoint is not watched, as far as it goes.
func (g *gatus) disabled(e *base.Entry, t *tree.Tree, m *monitor.Monitor) {
	if strings.EqualFold(t.Get("enabled").Text, "false") {
		m.Muted = true
		e.Notef("it is disabled there: here it is muted, so that no notification is sent; pause it to stop its checks, or unmute it")
	}
}

// span is a length of time as Gatus writes it; zero when there is none.
func (g *gatus) span(e *base.Entry, t *tree.Tree, path string) core.Duration {
	if t.Kind == tree.Nothing {
		return 0
	}
	d, err := time.ParseDuration(t.Text)
	if err != nil || d < 0 {
		e.Fault(t.At, path, t.Text, "is not a length of time", "such as 30s or 5m")
		return 0
	}
	return core.Duration(d)
}

// unset fills in $$ and finds the first variable.
func unset(text string) (filled, name string) {
	if !strings.Contains(text, "$") {
		return text, ""
	}
	filled = base.VariableName.ReplaceAllStringFunc(text, func(found string) string {
		if found == "$$" {
			return "$"
		}
		name = base.OrWord(name, strings.Trim(found, "${}"))
		return found
	})
	return filled, name
}

// text is a value. A variable in it stays, and is noted.
func (g *gatus) text(e *base.Entry, t *tree.Tree, path string) string {
	filled, name := unset(g.Spend(e, t.At, t.Text))
	switch {
	case name == "":
	case g.Env != nil:
		e.Fault(t.At, path, "", "holds the variable "+base.Clip(name)+", which has no value", "set it in the environment, or in a file: --env-file FILE")
	default:
		e.Notef("%s holds the variable %s, whose value is not in the file: write it in, or fill in the file first (envsubst < config.yaml)", path, base.Clip(name))
	}
	return filled
}

// secret is a value that must not be shown. One that is not in the file is as
// good as one that is kept.
func (g *gatus) secret(e *base.Entry, t *tree.Tree, path string) core.Secret {
	filled, name := unset(g.Spend(e, t.At, t.Text))
	if name != "" {
		way := "write it into the channel, unless one of this name exists and has it"
		if g.Env != nil {
			way = "set it in the environment or in a file (--env-file FILE), or " + way
		}
		e.Notef("%s is the variable %s, whose value is not in the file: %s", path, base.Clip(name), way)
		return core.Redacted
	}
	return core.Secret(filled)
}

// fileNotes adds, once, the notes that hold for many entries.
func (g *gatus) fileNotes() {
	if g.latency {
		g.Notef("RESPONSE_TIME ends with the head of an answer, and latency with its last byte: a slow body counts")
	}
	if g.length {
		g.Notef("len() counts the elements of a list and the characters of a text, as there; of an object it counts the keys, and of a number it is the number")
	}
	if g.reminded {
		g.Notef("reminders come after minimum-reminder-interval, then after twice as long, and so on")
	}
	if len(g.Pauses) > 0 {
		g.Notef("what fails in a maintenance window does not count for uptime; Gatus counts it, and only tells nobody")
	}
	if g.PausesAll {
		g.Notef("the window of the file as a whole is for all monitors of the namespace, also those that are not of this file")
	}
}

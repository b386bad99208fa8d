package intake

import (
	"fmt"
	"io"
	"regexp"
	"strings"
	"time"

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
// [Options.Env]. An endpoint whose variable has none is a fault, or, where no
// values are given at all, a note. In a channel such a variable stands as a
// secret that is kept, so that a channel that exists keeps its own.
func Gatus(r io.Reader, o Options) (Result, error) { return GatusFiles([]File{{Text: r}}, o) }

// gatus is a configuration while it is read.
type gatus struct {
	*watching
	providers map[string]*provider
	rests     map[*tree]rested
	fits      map[string]*codes
	latency   bool // some condition is on the time that an answer took
	length    bool // or on the length of something
	reminded  bool
	labeled   int // lines that have the name of their file
}

// instance is what is about the program and not about what it watches.
var instance = []string{"announcements", "connectivity", "remote", "security", "tunneling"}

func (g *gatus) root(root *tree) {
	if t := root.get("maintenance"); !t.empty() {
		g.maintenance(t)
	}
	for _, t := range root.get("endpoints").list {
		g.endpoint(t)
	}
	for _, t := range root.get("external-endpoints").list {
		g.externalEndpoint(t)
	}
	for _, t := range root.get("suites").list {
		e := newEntry(t.at, orWord(t.get("name").text, "a suite"), "suite "+t.get("name").text)
		e.fault(t.at, "", "", "is a suite, whose steps hand values to each other", "make a monitor of each step that stands by itself")
		g.done(e)
	}
	for _, key := range instance {
		if t := root.get(key); !t.empty() {
			g.notef("line %d: %s is not carried over: it is about Gatus itself", t.at.line, key)
		}
	}
}

// begin is the entry of an endpoint, and its name and group.
func (g *gatus) begin(t *tree) (e *entry, name, group string) {
	e = newEntry(t.at, "an endpoint", "an endpoint")
	name, group = g.spend(e, t.at, t.get("name").text), g.spend(e, t.at, t.get("group").text)
	if shown := clip(name); shown != "" {
		if group != "" {
			shown = clip(group) + "/" + shown
		}
		e.name, e.Text = clip(shown), clip(shown)
	}
	if t.kind != mapping {
		e.fault(t.at, "", t.text, "is not an endpoint", "it has name and url")
	} else if name == "" {
		e.fault(t.at, "name", "", "is missing", "")
	}
	return e, name, group
}

func (g *gatus) endpoint(t *tree) {
	e, name, group := g.begin(t)
	target := g.text(e, t.get("url"), "url")
	e.Text = clip(e.Text + ": " + bare(target))
	check, ending := g.check(e, t, target, name, group)
	m := monitor.Monitor{
		Name: g.monitorName(name, group, stem(hostOf(target), "endpoint")),
		Tags: tags(group), Check: check, Every: g.span(e, t.get("interval"), "interval"),
	}
	m.Description = describeName(m.Name, name, "")
	told := g.alerts(e, t, group, &m)
	g.disabled(e, t, &m)
	e.leave(t, "", "enabled", "name", "group", "url", "method", "conditions", "interval", "graphql", "body", "headers", "dns", "ssh", "alerts", "maintenance-windows", "client", "ui")
	e.leave(t.get("ui"), "ui.")
	windows := g.windowsOf(e, t)
	if g.add(e, m) {
		g.tellAll(m.Name, told)
		for _, w := range windows {
			g.rest(w, m.Name)
		}
		if ending != nil {
			ending.muted = m.Muted
			if name, ok := g.register(e, m, *ending); ok {
				g.tellAll(name, told)
			}
		}
	}
}

// externalEndpoint waits to be told how something is.
func (g *gatus) externalEndpoint(t *tree) {
	e, name, group := g.begin(t)
	m := monitor.Monitor{
		Name: g.monitorName(name, group, "endpoint"), Tags: tags(group), Heartbeat: &monitor.Heartbeat{},
		Every: g.span(e, t.get("heartbeat", "interval"), "heartbeat.interval"),
	}
	m.Description = describeName(m.Name, name, "")
	told := g.alerts(e, t, group, &m)
	g.disabled(e, t, &m)
	if m.Every == 0 {
		m.Every = task.MaxEvery
		e.notef("it has no heartbeat.interval: nothing is missed when no call comes, so it waits for a call every %s; write into every how often one comes", m.Every)
	}
	if token, missing := unset(g.spend(e, t.at, t.get("token").text)); token != "" && missing == "" {
		m.Heartbeat.TokenDigest = monitor.ExternalDigest(gatusKey(group, name), token)
		e.notef("its callers go on at /api/v1/endpoints/%s/external with their token, when their host leads here; it has a URL of its own too", clip(gatusKey(group, name)))
	} else {
		e.notef("its caller needs its new URL, which is made with the monitor; its token is not known")
	}
	e.leave(t, "", "enabled", "name", "group", "token", "heartbeat", "alerts")
	if g.add(e, m) {
		g.tellAll(m.Name, told)
	}
}

// gatusKey is what an endpoint is called in URLs there.
func gatusKey(group, name string) string {
	plain := func(text string) string {
		return strings.NewReplacer("/", "-", "_", "-", ".", "-", ",", "-", " ", "-", "#", "-").Replace(strings.ToLower(strings.TrimSpace(text)))
	}
	return plain(group) + "_" + plain(name)
}

// disabled carries over that an endpoint is not watched, as far as it goes.
func (g *gatus) disabled(e *entry, t *tree, m *monitor.Monitor) {
	if strings.EqualFold(t.get("enabled").text, "false") {
		m.Muted = true
		e.notef("it is disabled there: here it is muted, so that no notification is sent; pause it to stop its checks, or unmute it")
	}
}

// span is a length of time as Gatus writes it; zero when there is none.
func (g *gatus) span(e *entry, t *tree, path string) core.Duration {
	if t.kind == nothing {
		return 0
	}
	d, err := time.ParseDuration(t.text)
	if err != nil || d < 0 {
		e.fault(t.at, path, t.text, "is not a length of time", "such as 30s or 5m")
		return 0
	}
	return core.Duration(d)
}

// variableName is a variable of the environment in a value.
var variableName = regexp.MustCompile(`\$(?:\$|\{[^}]*\}|[A-Za-z0-9_]+)`)

// unset fills in $$ and finds the first variable.
func unset(text string) (filled, name string) {
	if !strings.Contains(text, "$") {
		return text, ""
	}
	filled = variableName.ReplaceAllStringFunc(text, func(found string) string {
		if found == "$$" {
			return "$"
		}
		name = orWord(name, strings.Trim(found, "${}"))
		return found
	})
	return filled, name
}

// text is a value. A variable in it stays, and is noted.
func (g *gatus) text(e *entry, t *tree, path string) string {
	filled, name := unset(g.spend(e, t.at, t.text))
	switch {
	case name == "":
	case g.Env != nil:
		e.fault(t.at, path, "", "holds the variable "+clip(name)+", which has no value", "set it in the environment, or in a file: --env-file FILE")
	default:
		e.notef("%s holds the variable %s, whose value is not in the file: write it in, or fill in the file first (envsubst < config.yaml)", path, clip(name))
	}
	return filled
}

// secret is a value that nobody may see. One that is not in the file is as
// good as one that is kept.
func (g *gatus) secret(e *entry, t *tree, path string) core.Secret {
	filled, name := unset(g.spend(e, t.at, t.text))
	if name != "" {
		e.notef("%s is the variable %s, whose value is not in the file: write it into the channel, unless one of this name exists and has it", path, clip(name))
		return core.Redacted
	}
	return core.Secret(filled)
}

// fileNotes says once what is true of many entries.
func (g *gatus) fileNotes() {
	if g.latency {
		g.notef("RESPONSE_TIME ends with the head of an answer, and latency with its last byte: a slow body counts")
	}
	if g.length {
		g.notef("len() counts the elements of a list and the characters of a text, as there; of an object it counts the keys, and of a number it is the number")
	}
	if g.reminded {
		g.notef("reminders come after minimum-reminder-interval, then after twice as long, and so on")
	}
	if len(g.pauses) > 0 {
		g.notef("what fails in a maintenance window does not count for uptime; Gatus counts it, and only tells nobody")
	}
	if g.pausesAll {
		g.notef("the window of the file as a whole is for all monitors of the namespace, also those that are not of this file")
	}
}

// numbered is a part of a path.
func numbered(path string, i int) string { return fmt.Sprintf("%s[%d]", path, i) }

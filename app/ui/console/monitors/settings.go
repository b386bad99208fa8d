package monitors

import (
	"fmt"
	"net/url"
	"slices"
	"strings"

	"github.com/belfry-run/belfry/app/ui/console/internal/parts"
	"github.com/belfry-run/belfry/core"
	"github.com/belfry-run/belfry/view"
)

type monitorSettingsData struct {
	monitorHead
	Groups []factGroup
	Badges []badge
	Beats  []beatCall
	Beat   string
}

// factGroup is a part of a thing's settings in words.
type factGroup struct {
	Title string
	Facts []parts.Fact
}

// badge is a picture of one fact for pages elsewhere.
type badge struct{ Name, Src, Markdown, HTML string }

// beatCall is a way to call a heartbeat.
type beatCall struct{ When, Curl string }

func monitorSettings(p *page) error {
	v, err := p.api.Monitor(p.R.Context(), p.Namespace, p.R.PathValue("name"))
	if err != nil {
		return err
	}
	d := monitorSettingsData{monitorHead: monitorHead{V: v, At: "settings"}, Groups: monitorFacts(v)}
	if v.Public {
		for _, kind := range []string{"status", "uptime", "latency"} {
			path := "/badge/" + url.PathEscape(v.Namespace) + "/" + url.PathEscape(v.Name) + "/" + kind + ".svg"
			full := p.Site.Base(p.R) + path
			d.Badges = append(d.Badges, badge{kind, p.Site.Prefix + path, fmt.Sprintf("![%s of %s](%s)", kind, v.Name, full), fmt.Sprintf(`<img src="%s" alt="%s of %s">`, full, kind, v.Name)})
		}
	}
	if v.Beat != "" {
		d.Beat = p.Site.Base(p.R) + v.Beat
		d.Beats = []beatCall{
			{"It went well. GET, HEAD and POST do the same", "curl -fsS -m 10 --retry 5 " + parts.Quote(d.Beat)},
			{"It begins. What does not end in time is then a failure, and how long it took is known", "curl -fsS -m 10 " + parts.Quote(d.Beat+"/start")},
			{"It failed", "curl -fsS -m 10 " + parts.Quote(d.Beat+"/fail")},
			{"With its exit code, after a command", "backup; curl -fsS -m 10 " + d.Beat + "/$?"},
			{"With what it said", "backup 2>&1 | tail -c 10000 | curl -fsS -m 10 --data-binary @- " + parts.Quote(d.Beat+"/log")},
			{"Runs that overlap are told apart by an id of their own", "curl -fsS -m 10 " + parts.Quote(d.Beat+"/start?rid=run-42")},
		}
	}
	return p.Show("monitor-settings", d)
}

// monitorFacts are the settings of a monitor in words.
func monitorFacts(v view.MonitorView) []factGroup {
	m := v.Monitor
	var look, when, verdict, tell factGroup
	look.Title, when.Title, verdict.Title, tell.Title = "Target", "When", "Down and up", "Alerts"
	add := func(g *factGroup, is bool, name, format string, args ...any) {
		if is {
			g.Facts = append(g.Facts, parts.Fact{Name: name, Value: fmt.Sprintf(format, args...)})
		}
	}
	add(&look, true, "Kind", "%s", m.Kind())
	add(&look, true, "Target", "%s", targetText(m))
	for _, f := range m.Check.Facts() {
		add(&look, true, f.Name, f.Format, spanned(f.Args)...)
	}
	add(&look, len(m.Check.Conditions) > 0, "Must hold", "%s", strings.Join(m.Check.Conditions, "\n"))
	add(&look, len(m.Check.Warnings) > 0, "Should hold", "%s", strings.Join(m.Check.Warnings, "\n"))
	add(&look, m.Heartbeat == nil, "Timeout", "%s", core.SpanText(m.Check.Timeout))
	add(&when, m.Every > 0 && m.Heartbeat == nil, "Checked", "every %s", core.SpanText(m.Every))
	add(&when, m.Every > 0 && m.Heartbeat != nil, "A call is to come", "every %s", core.SpanText(m.Every))
	for _, r := range m.Rules {
		add(&when, true, "Rule", "%s, %s", r, m.Zone)
	}
	if h := m.Heartbeat; h != nil {
		add(&when, true, "Grace", "a call is overdue after %s", core.SpanText(h.Grace))
		add(&when, h.MaxRuntime > 0, "Longest run", "%s", core.SpanText(h.MaxRuntime))
	}
	add(&when, len(m.Within) > 0, "Only within", "%s", strings.Join(m.Within, ", "))
	add(&when, len(m.Blackout) > 0, "Not within", "%s", strings.Join(m.Blackout, ", "))
	add(&verdict, true, "Down", "%s", threshold(m.Confirm.Failures, "failure", "failures", m.Confirm.For, "failing"))
	add(&verdict, m.Heartbeat == nil && m.Confirm.Retry > 0, "A failure is looked at again", "after %s", core.SpanText(m.Confirm.Retry))
	add(&verdict, true, "Up again", "%s", threshold(m.Recover.Passes, "good check", "good checks", m.Recover.For, "passing"))
	add(&verdict, !m.Flap.Off, "Flapping", "when it went down or came up 3 times in 12 checks, or %d %% of the last 21 outcomes changed; over below %d %%", m.Flap.High, m.Flap.Low)
	add(&verdict, !m.Slow.Off && m.Heartbeat == nil, "Slow", "%g standard deviations above what is usual, %s in a row, and at least %s", m.Slow.Sigma, parts.Plural(m.Slow.Checks, "check", "checks"), parts.LatencyText(m.Slow.AtLeast))
	add(&verdict, m.Heartbeat == nil, "Stale", "when %s in a row could not be made", parts.Plural(m.StaleAfter, "check", "checks"))
	add(&tell, true, "Muted", "%s", parts.YesNo(m.Muted, "yes: it sends no alerts", "no: alert rules decide who is notified"))
	add(&tell, len(m.DependsOn) > 0, "Depends on", "%s: while one of them is down, this monitor sends no alerts", strings.Join(m.DependsOn, ", "))
	add(&tell, true, "Badges", "%s", parts.YesNo(m.Public, "can be seen by everyone", "are not public"))
	return []factGroup{look, when, verdict, tell}
}

func threshold(n int, one, many string, span core.Duration, doing string) string {
	var pieces []string
	if n > 0 {
		pieces = append(pieces, "after "+parts.Plural(n, one, many+" in a row"))
	}
	if span > 0 {
		pieces = append(pieces, "after "+doing+" for "+core.SpanText(span))
	}
	return strings.Join(pieces, " and ")
}

// spanned writes the lengths of time among the arguments of a fact for people.
func spanned(args []any) []any {
	args = slices.Clone(args)
	for i, a := range args {
		if d, is := a.(core.Duration); is {
			args[i] = core.SpanText(d)
		}
	}
	return args
}

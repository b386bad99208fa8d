package console

import (
	"strings"
	"testing"

	"github.com/belfry-run/belfry/access"
	"github.com/belfry-run/belfry/core"
)

// No page stands where the page of something with a name would: what is called
// new, or bulk, can be opened.
func TestNoRouteHidesAName(t *testing.T) {
	all := routes()
	for _, named := range all {
		for _, other := range all {
			if segment := hides(named.pattern, other.pattern); segment != "" && core.ValidName("name", segment) == nil {
				t.Errorf("%s hides what is called %s from %s: let it begin with a dash", other.pattern, segment, named.pattern)
			}
		}
	}
}

// hides answers the segment of other that stands where named has a name, if
// other may be asked for instead, whatever the method: a form that is sent and
// the page that shows it have one address.
func hides(named, other string) (segment string) {
	path := func(pattern string) []string { return strings.Split(pattern[strings.Index(pattern, " ")+1:], "/") }
	a, b := path(named), path(other)
	if len(a) != len(b) {
		return ""
	}
	for i := range a {
		switch wild := strings.HasPrefix(b[i], "{"); {
		case a[i] == "{name}" && !wild:
			segment = b[i]
		case a[i] != b[i] && !wild && !strings.HasPrefix(a[i], "{"):
			return ""
		}
	}
	return segment
}

// The audit leads to the page of whatever has one under its name.
func TestAuditLeadsToPages(t *testing.T) {
	p := &page{c: &Console{}, Namespace: core.DefaultNamespace, Token: access.Token{Namespace: core.AnyNamespace}}
	for _, rt := range routes() {
		at, named := strings.CutSuffix(rt.pattern, "/{name}")
		at, shown := strings.CutPrefix(at, "GET ")
		if !named || !shown {
			continue
		}
		noun := strings.TrimSuffix(strings.ReplaceAll(at[strings.LastIndex(at, "/")+1:], "-", "_"), "s")
		if noun == "program" { // which is a task, for the audit
			continue
		}
		if link := p.ThingLink(access.Audit{Namespace: core.DefaultNamespace, Noun: noun, Name: "team"}); link != at+"/team" {
			t.Errorf("%s %q leads to %q, not %s/team", noun, "team", link, at)
		}
	}
}

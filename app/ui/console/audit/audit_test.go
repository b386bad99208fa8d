package audit_test

import (
	"strings"
	"testing"

	"github.com/belfry-run/belfry/access"
	"github.com/belfry-run/belfry/app/ui/console"
	"github.com/belfry-run/belfry/app/ui/console/audit"
	"github.com/belfry-run/belfry/core"
)

// The audit leads to the page of whatever has one under its name.
func TestAuditLeadsToPages(t *testing.T) {
	for _, pattern := range console.Pages() {
		at, named := strings.CutSuffix(pattern, "/{name}")
		at, shown := strings.CutPrefix(at, "GET ")
		if !named || !shown {
			continue
		}
		noun := strings.TrimSuffix(strings.ReplaceAll(at[strings.LastIndex(at, "/")+1:], "-", "_"), "s")
		if noun == "program" { // which is a task, for the audit
			continue
		}
		if link := audit.ThingLink(access.Audit{Namespace: core.DefaultNamespace, Noun: noun, Name: "team"}); link != at+"/team" {
			t.Errorf("%s %q leads to %q, not %s/team", noun, "team", link, at)
		}
	}
}

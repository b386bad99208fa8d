package audit

import (
	"github.com/belfry-run/belfry/access"
	"github.com/belfry-run/belfry/core"
	"github.com/belfry-run/belfry/ui/console/internal/frame"
)

// ThingLink is where a change leads, for who may see everything.
func ThingLink(a access.Audit) string {
	p := &page{Page: &frame.Page{Site: &frame.Site{}, Namespace: core.DefaultNamespace, Token: access.Token{Namespace: core.AnyNamespace}}}
	return p.ThingLink(a)
}

package audit

import (
	"github.com/belfry-run/belfry/access"
	"github.com/belfry-run/belfry/app/ui/console/internal/frame"
	"github.com/belfry-run/belfry/core"
)

// ThingLink is where a change leads, for who may see everything.
func ThingLink(a access.Audit) string {
	p := &page{Page: &frame.Page{Site: &frame.Site{}, Namespace: core.DefaultNamespace, Token: access.Token{Namespace: core.AnyNamespace}}}
	return p.ThingLink(a)
}

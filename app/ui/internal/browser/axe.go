package browser

import (
	_ "embed"
	"strings"
)

//go:embed testdata/axe.min.js
var axe string

// Axe fails the test for everything that axe-core finds against WCAG 2.2, A
// and AA, and for landmarks that share a role and a name.
func (b *Tab) Axe() {
	b.T.Helper()
	var there bool
	if b.Eval("typeof axe === 'object'", &there); !there {
		b.Eval(axe+"\n;true", &there)
	}
	var faults []string
	b.Eval(`axe.run(document, {runOnly: ['wcag2a', 'wcag2aa', 'wcag21a', 'wcag21aa', 'wcag22aa'], rules: {'landmark-unique': {enabled: true}}}).then(found => found.violations.map(v =>
		v.id + ': ' + v.help + '\n' + v.nodes.slice(0, 5).map(n => '    ' + n.html.slice(0, 300) + '\n      ' + n.any.map(a => a.message).join('; ')).join('\n')))`, &faults)
	for _, f := range faults {
		b.T.Error(strings.TrimSpace(f))
	}
}

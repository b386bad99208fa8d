package browser

import (
	_ "embed"
	"strings"
)

//go:embed testdata/axe.min.js
var axe string

// Axe fails the test for everything that axe-core finds against WCAG 2.2, A
// and AA, and against its best practices.
func (b *Tab) Axe() {
	b.T.Helper()
	b.axe(`{runOnly: ['wcag2a', 'wcag2aa', 'wcag21a', 'wcag21aa', 'wcag22aa', 'best-practice']}`)
}

// AxeColours is Axe with the rules that depend on the colour scheme.
func (b *Tab) AxeColours() {
	b.T.Helper()
	b.axe(`{runOnly: {type: 'rule', values: ['color-contrast', 'link-in-text-block']}}`)
}

// AxeTargets is Axe with the rules for targets, whose size and place depend on the window.
func (b *Tab) AxeTargets() {
	b.T.Helper()
	b.axe(`{runOnly: {type: 'rule', values: ['target-size']}}`)
}

func (b *Tab) axe(options string) {
	b.T.Helper()
	var there bool
	b.Eval("scrollTo(0, 0), true", &there) // what lies half under the header of a page is no fault of its size
	if b.Eval("typeof axe === 'object'", &there); !there {
		b.Eval(axe+"\n;true", &there)
	}
	var faults []string
	b.Eval(`axe.run(document, {...`+options+`, resultTypes: ['violations'], selectors: false}).then(found => found.violations.map(v =>
		v.id + ': ' + v.help + '\n' + v.nodes.slice(0, 5).map(n => '    ' + n.html.slice(0, 300) + '\n      ' + n.any.map(a => a.message).join('; ')).join('\n')))`, &faults)
	for _, f := range faults {
		b.T.Error(strings.TrimSpace(f))
	}
}

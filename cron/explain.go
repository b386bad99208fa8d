package cron

import (
	"strings"

	"github.com/belfry-run/belfry/cron/internal/fields"
	"github.com/belfry-run/belfry/cron/internal/spell"
)

// Explain returns the rule in plain English, with H resolved.
func (e *Expr) Explain() string {
	if e.every != nil {
		return e.every.Explain()
	}
	return spell.Capital(e.rule.Explain(e.columns(), e.Fixed())) + ", " + e.clock.Loc.String() + " time."
}

// columns reads the normal form again, as six or seven fields.
func (e *Expr) columns() []fields.Column {
	words := split(e.text)
	if strings.HasPrefix(e.text, "CRON_TZ=") {
		words = words[1:]
	}
	if len(words) == 5 {
		words = append([]word{{"0", 1}}, words...)
	}
	return (&parser{}).tryColumns(words)
}

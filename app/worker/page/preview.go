package page

import (
	"context"
	"strings"

	"github.com/belfry-run/belfry/core"
	"github.com/belfry-run/belfry/task"
)

// PreviewResult is the present result of a page's settings, for their author.
type PreviewResult struct {
	task.CheckResult
	First   []string `json:"first,omitempty" doc:"Texts of the first elements that the selector found, before the ignore rules"`
	Removed []Taken  `json:"removed,omitempty" doc:"What each rule took out or masked"`
}

// Limits of a preview.
const (
	previewMatches = 10
	previewText    = 1 << 10 // bytes of one match
)

// Preview fetches the page once and returns the intermediate results. Faults of
// the page or of its settings are in the result.
func (e *Executor) Preview(ctx context.Context, t task.Task) PreviewResult {
	m, out, ok := e.look(ctx, t)
	p := PreviewResult{CheckResult: m}
	if !ok {
		return p
	}
	p.Removed = out.removed
	for _, it := range out.found.items[:min(previewMatches, len(out.found.items))] {
		text, cut := core.CleanText(tidy(shown(it, t.Page.KeepMarkup)), previewText)
		if cut {
			text += "…"
		}
		p.First = append(p.First, text)
	}
	return p
}

func shown(it item, markup bool) string {
	var b strings.Builder
	switch {
	case it.node == nil:
		return it.text
	case markup:
		writeMarkup(&b, it.node)
	default:
		writeText(&b, it.node)
	}
	return b.String()
}

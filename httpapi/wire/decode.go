package wire

import (
	"github.com/belfry-run/belfry/core"
)

// shownValue is the most bytes of a refused value in an error.
const shownValue = 120

// Shorten cuts a text for an error.
func Shorten(s string) string {
	text, cut := core.CleanText(s, shownValue)
	if cut {
		text += "…"
	}
	return text
}

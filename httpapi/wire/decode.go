package wire

import (
	"github.com/belfry-run/belfry/core"
)

// shownValue bounds how much of a refused value an error repeats, in bytes.
const shownValue = 120

func Shorten(s string) string {
	text, cut := core.CleanText(s, shownValue)
	if cut {
		text += "…"
	}
	return text
}

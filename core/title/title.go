// Package title has display titles: what people call a thing, in any script,
// beside the name by which addresses and programs know it.
package title

import (
	"fmt"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/belfry-run/belfry/core"
)

// Max bounds a title, in bytes.
const Max = 200

// Check refuses what is not one line of text. Empty means that there is no title.
func Check(p *core.Problems, field, text string) {
	if fault, hint := faultOf(text); fault != "" {
		shown, _ := core.CleanText(core.OneLine(strings.Map(visible, text)), Max)
		p.Add(field, shown, fault, hint)
	}
}

func faultOf(text string) (fault, hint string) {
	switch {
	case text == "":
		return "", ""
	case len(text) > Max:
		return fmt.Sprintf("has %d bytes, and must have at most %d", len(text), Max), "letters beyond ASCII take 2 to 4 bytes each"
	case !utf8.ValidString(text) || strings.ContainsRune(text, utf8.RuneError):
		return "must be valid UTF-8", "a text that was cut in the middle of a character ends in such bytes"
	case strings.TrimSpace(text) != text:
		return "must not begin or end with a space", ""
	}
	seen := false
	for _, r := range text {
		switch {
		case unicode.Is(unicode.Cc, r) || r == '\u2028' || r == '\u2029':
			return fmt.Sprintf("must be one line, and contains the control character U+%04X", r), ""
		case turns(r):
			return fmt.Sprintf("must not contain U+%04X, which changes the direction of the text around it", r), "pages find the direction of a title by themselves"
		}
		seen = seen || unicode.In(r, unicode.L, unicode.N, unicode.P, unicode.S)
	}
	if !seen {
		return "must have at least one visible character", ""
	}
	return "", ""
}

// turns reports the characters that override the direction of what follows:
// with one of them a title rewrites the line in which it is shown.
func turns(r rune) bool { return r >= '\u202a' && r <= '\u202e' || r >= '\u2066' && r <= '\u2069' }

func visible(r rune) rune {
	if turns(r) {
		return -1
	}
	return r
}

// Fold is a text in which a search finds a part, whatever its case.
func Fold(text string) string { return strings.ToLower(strings.ToUpper(text)) }

// maxSubject bounds a title and a name in a message, in bytes.
const maxSubject = 150

// Named is what a line of a message calls a thing: its title, and its name in
// parentheses. A long title is cut, so that the rest of the line is seen.
func Named(title, name string) string {
	if title == "" {
		return name
	}
	text, cut := core.CleanText(title, max(maxSubject-len(name), 32))
	if cut {
		text = strings.TrimSpace(text) + "…"
	}
	return text + " (" + name + ")"
}

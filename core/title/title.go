// Package title handles display titles: free texts in any script for people,
// besides the names for addresses and programs.
package title

import (
	"fmt"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/belfry-run/belfry/core"
)

// Max is the longest title, in bytes.
const Max = 200

// Check checks that text is one line. An empty text means no title.
func Check(p *core.Problems, field, text string) {
	if len(text) > Max {
		add(p, field, text, fmt.Sprintf("has %d bytes, and must have at most %d", len(text), Max), "letters beyond ASCII take 2 to 4 bytes each")
		return
	}
	CheckLine(p, field, text)
}

// CheckLine checks a text of another limit as [Check] does a title, such as the name of a person.
func CheckLine(p *core.Problems, field, text string) {
	if fault, hint := faultOf(text); fault != "" {
		add(p, field, text, fault, hint)
	}
}

func add(p *core.Problems, field, text, fault, hint string) {
	shown, _ := core.CleanText(core.OneLine(strings.Map(visible, text)), Max)
	p.Add(field, shown, fault, hint)
}

func faultOf(text string) (fault, hint string) {
	switch {
	case text == "":
		return "", ""
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

// turns reports whether a character overrides the direction of the following text.
// Such a character could change the meaning of the line that shows the title.
func turns(r rune) bool { return r >= '\u202a' && r <= '\u202e' || r >= '\u2066' && r <= '\u2069' }

func visible(r rune) rune {
	if turns(r) {
		return -1
	}
	return r
}

// Of makes a title of a text from elsewhere, without what a title cannot have, and cut at [Max]. It returns "" if nothing is left.
func Of(text string) string {
	text, _ = core.CleanText(strings.TrimSpace(strings.Map(printed, core.OneLine(text))), Max)
	text = strings.TrimSpace(text)
	if fault, _ := faultOf(text); fault != "" {
		return ""
	}
	return text
}

func printed(r rune) rune {
	if unicode.Is(unicode.Cc, r) || r == utf8.RuneError {
		return -1
	}
	return visible(r)
}

// Fold returns text in a form for searches that ignore case.
func Fold(text string) string { return strings.ToLower(strings.ToUpper(text)) }

// maxSubject is the longest title with name in a message, in bytes.
const maxSubject = 150

// Named returns the title with the name in parentheses, for a line of a message. A
// long title is cut, so that the rest of the line remains visible.
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

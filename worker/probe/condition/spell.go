package condition

import (
	"regexp"
	"strings"
)

// spellDurations writes lengths of time as the language knows them: 500ms
// becomes duration("500ms"). Strings and comments stay as they are.
func spellDurations(text string) string {
	var b strings.Builder
	for len(text) > 0 {
		if n := verbatim(text); n > 0 {
			b.WriteString(text[:n])
			text = text[n:]
			continue
		}
		if n := len(lengthRule.FindString(text)); n > 0 {
			b.WriteString(`duration("` + text[:n] + `")`)
			text = text[n:]
			continue
		}
		n := max(1, len(wordRule.FindString(text)))
		b.WriteString(text[:n])
		text = text[n:]
	}
	return b.String()
}

var (
	lengthRule = regexp.MustCompile(`^(?:[0-9]+(?:\.[0-9]+)?(?:ns|us|µs|ms|s|m|h))+\b`)
	wordRule   = regexp.MustCompile(`^[\pL\pN_$]+`) // so that a5s is one word
)

// verbatim is the length of a string or a comment that text begins with.
func verbatim(text string) int {
	end := func(from int, mark string) int {
		if i := strings.Index(text[from:], mark); i >= 0 {
			return from + i + len(mark)
		}
		return len(text)
	}
	switch {
	case strings.HasPrefix(text, "//"):
		return end(2, "\n")
	case strings.HasPrefix(text, "/*"):
		return end(2, "*/")
	case text[0] == '`':
		return end(1, "`")
	case text[0] == '"' || text[0] == '\'':
		for i := 1; i < len(text); i++ {
			switch text[i] {
			case '\\':
				i++
			case text[0]:
				return i + 1
			}
		}
		return len(text)
	}
	return 0
}

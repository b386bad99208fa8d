package expression

import (
	"regexp"
	"strconv"
	"strings"
)

// Spell rewrites numbers for the language: 500ms becomes duration("500ms"), and an
// integer from 2**63 on, which would overflow, gets a fraction of 0. Strings and
// comments stay unchanged.
func Spell(text string) string {
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
		word, rest := text[:n], text[n:]
		b.WriteString(word)
		if digitsRule.MatchString(word) && !fractionRule.MatchString(rest) && !strings.HasSuffix(b.String()[:b.Len()-n], ".") {
			if _, err := strconv.ParseInt(strings.ReplaceAll(word, "_", ""), 10, 64); err != nil {
				b.WriteString(".0")
			}
		}
		text = rest
	}
	return b.String()
}

var (
	lengthRule   = regexp.MustCompile(`^(?:[0-9]+(?:\.[0-9]+)?(?:ns|us|µs|ms|s|m|h))+\b`)
	digitsRule   = regexp.MustCompile(`^[0-9][0-9_]*$`)
	fractionRule = regexp.MustCompile(`^\.[0-9]`)
	wordRule     = regexp.MustCompile(`^[\pL\pN_$]+`) // with digits, so that a5s is one word
)

// verbatim returns the length of a string or comment at the start of text.
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

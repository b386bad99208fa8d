package notify

import (
	"strings"
	"unicode"
	"unicode/utf8"
)

// maxPlain limits the bytes of a text that are processed: no channel shows more.
const maxPlain = 64 << 10

// plain returns s for display: valid UTF-8, lines that end in \n, and no control
// characters, also none that change the writing direction.
func plain(s string) string {
	s = s[:min(len(s), maxPlain)]
	s = strings.ToValidUTF8(s, "\uFFFD")
	s = strings.ReplaceAll(s, "\r\n", "\n")
	s = strings.Map(func(c rune) rune {
		switch {
		case c == '\n':
			return c
		case c == '\r', c == '\u0085', c == '\u2028', c == '\u2029':
			return '\n'
		case unicode.IsControl(c):
			return ' '
		case isBidi(c):
			return -1
		}
		return c
	}, s)
	return strings.TrimFunc(s, unicode.IsSpace)
}

func isBidi(c rune) bool {
	return c >= '\u202a' && c <= '\u202e' || c >= '\u2066' && c <= '\u2069' || c == '\u200e' || c == '\u200f' || c == '\u061c' || c == '\ufeff'
}

// line returns plain text on one line.
func line(s string) string { return strings.Join(strings.Fields(plain(s)), " ") }

// ellipsis ends a text that was cut.
const ellipsis = "…"

// token takes the first piece of a text that is not empty. It returns the escaped
// piece, and the length of the original.
type token func(s string) (written string, length int)

// size is the size of a text in the unit that a channel counts.
type size func(string) int

func bytesOf(s string) int { return len(s) }

// unitsOf counts UTF-16 units, which most services call characters. The count is
// never less than the number of runes.
func unitsOf(s string) int {
	n := 0
	for _, c := range s {
		n++
		if c > 0xffff {
			n++
		}
	}
	return n
}

// fit writes s with its escapes in at most limit, and ends it with … if it was
// cut.
func fit(s string, limit int, write token, size size) string {
	var b strings.Builder
	used, safe := 0, 0
	room := limit - size(ellipsis)
	for rest := s; rest != ""; {
		written, n := write(rest)
		used += size(written)
		if used > limit {
			if room < 0 {
				return ""
			}
			return strings.TrimRight(b.String()[:safe], " \n") + ellipsis
		}
		b.WriteString(written)
		if used <= room {
			safe = b.Len()
		}
		rest = rest[n:]
	}
	return b.String()
}

// cut shortens s to limit bytes.
func cut(s string, limit int) string { return fit(s, limit, asIs, bytesOf) }

// clip shortens s to limit UTF-16 units.
func clip(s string, limit int) string { return fit(s, limit, asIs, unitsOf) }

func asIs(s string) (string, int) {
	_, n := utf8.DecodeRuneInString(s)
	return s[:n], n
}

// escaper returns a token that replaces runes.
func escaper(pairs ...string) token {
	other := map[rune]string{}
	for i := 0; i < len(pairs); i += 2 {
		c, _ := utf8.DecodeRuneInString(pairs[i])
		other[c] = pairs[i+1]
	}
	return func(s string) (string, int) {
		c, n := utf8.DecodeRuneInString(s)
		if written, found := other[c]; found {
			return written, n
		}
		return s[:n], n
	}
}

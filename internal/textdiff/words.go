package textdiff

import (
	"strings"
	"unicode"
	"unicode/utf8"
)

const (
	// maxWords is the most words of a change that are compared with each other.
	// The lines of larger changes are shown as changed as a whole.
	maxWords = 400_000
	// alike is the part of a change, in per cent of its longer side, that must be
	// equal for single words to be marked. Below it, the marks would confuse readers.
	alike = 30
)

// changedLines returns lines that were replaced by others: first the removed ones,
// then the added ones. Words are compared over all lines at once, so it does not
// matter which line became which.
func changedLines(went, came []string) []Line {
	out := make([]Line, 0, len(went)+len(came))
	for _, text := range went {
		out = append(out, Line{Op: Removed, Text: text})
	}
	for _, text := range came {
		out = append(out, Line{Op: Added, Text: text})
	}
	if len(went) == 0 || len(came) == 0 {
		return out
	}
	a, b := words(went), words(came)
	if apart(a, b) > maxWords {
		return out
	}
	changes := compare(a, b)
	if !similar(a, b, changes) {
		return out
	}
	aChanged, bChanged := make([]bool, len(a)), make([]bool, len(b))
	for _, c := range changes {
		mark(aChanged[c.a:c.aEnd])
		mark(bChanged[c.b:c.bEnd])
	}
	setParts(out[:len(went)], a, aChanged)
	setParts(out[len(went):], b, bChanged)
	return out
}

func mark(changed []bool) {
	for i := range changed {
		changed[i] = true
	}
}

// apart returns the number of words between the equal begin and the equal end.
func apart(a, b []string) int {
	for len(a) > 0 && len(b) > 0 && a[0] == b[0] {
		a, b = a[1:], b[1:]
	}
	for len(a) > 0 && len(b) > 0 && a[len(a)-1] == b[len(b)-1] {
		a, b = a[:len(a)-1], b[:len(b)-1]
	}
	return len(a) + len(b)
}

func similar(a, b []string, changes []change) bool {
	stayed, whole := weight(a), max(weight(a), weight(b))
	for _, c := range changes {
		stayed -= weight(a[c.a:c.aEnd])
	}
	return stayed > 0 && stayed*100 >= alike*whole
}

// weight counts bytes that are not space.
func weight(words []string) (n int) {
	for _, w := range words {
		if strings.TrimSpace(w) != "" {
			n += len(w)
		}
	}
	return n
}

// words cuts lines into words, runs of spaces, other characters, and a word
// "\n" after each line.
func words(list []string) []string {
	var out []string
	for _, line := range list {
		for line != "" {
			n := wordLen(line)
			out = append(out, line[:n])
			line = line[n:]
		}
		out = append(out, "\n")
	}
	return out
}

func wordLen(text string) int {
	first, n := utf8.DecodeRuneInString(text)
	kind := kindOf(first)
	if kind == other {
		return n
	}
	for n < len(text) {
		r, size := utf8.DecodeRuneInString(text[n:])
		if kindOf(r) != kind {
			break
		}
		n += size
	}
	return n
}

type runeKind int

const (
	other runeKind = iota
	letter
	space
)

func kindOf(r rune) runeKind {
	switch {
	case unicode.In(r, unicode.Han, unicode.Hiragana, unicode.Katakana, unicode.Thai):
		return other // scripts without spaces between words
	case unicode.IsLetter(r), unicode.IsDigit(r), unicode.IsMark(r), r == '_':
		return letter
	case unicode.IsSpace(r):
		return space
	}
	return other
}

// setParts gives each line its words, in changed and unchanged runs. Spaces between
// two changed words count as changed.
func setParts(list []Line, words []string, changed []bool) {
	at := 0
	for i := range list {
		end := at
		for words[end] != "\n" {
			end++
		}
		bridge(words[at:end], changed[at:end])
		list[i].Parts = parts(words[at:end], changed[at:end])
		at = end + 1
	}
}

func bridge(words []string, changed []bool) {
	for i := 1; i+1 < len(words); i++ {
		if !changed[i] && changed[i-1] && changed[i+1] && strings.TrimSpace(words[i]) == "" {
			changed[i] = true
		}
	}
}

// parts returns nil if the whole line changed, which its operation shows already.
func parts(words []string, changed []bool) []Part {
	var out []Part
	for i := 0; i < len(words); {
		end := i + 1
		for end < len(words) && changed[end] == changed[i] {
			end++
		}
		out = append(out, Part{Text: strings.Join(words[i:end], ""), Changed: changed[i]})
		i = end
	}
	if len(out) == 1 && out[0].Changed {
		return nil
	}
	return out
}

// Bounds of the parts of a line that is too long to be shown as a whole.
const (
	keptAround  = 80
	keptChanged = 500
	maxParts    = 40
)

// within shortens a line longer than limit to the parts near its changes.
func (l Line) within(limit int) (_ Line, cut bool) {
	if len(l.Text) <= limit {
		return l, false
	}
	parts := l.Parts
	if len(parts) == 0 {
		parts = []Part{{Text: l.Text, Changed: l.Op != Same}}
	}
	if more := len(parts) > maxParts; more {
		parts = append(parts[:maxParts:maxParts], Part{Text: "…"})
	}
	short := make([]Part, len(parts))
	var text strings.Builder
	for i, p := range parts {
		keep := keptAround
		if p.Changed {
			keep = keptChanged
		}
		short[i] = Part{Text: middleOut(p.Text, keep), Changed: p.Changed}
		text.WriteString(short[i].Text)
	}
	l.Text = text.String()
	if len(l.Parts) > 0 {
		l.Parts = short
	}
	return l, true
}

// middleOut keeps so many bytes of both ends.
func middleOut(text string, keep int) string {
	if len(text) <= 2*keep+len(" … ") {
		return text
	}
	head, tail := keep, len(text)-keep
	for head > 0 && !utf8.RuneStart(text[head]) {
		head--
	}
	for tail < len(text) && !utf8.RuneStart(text[tail]) {
		tail++
	}
	return text[:head] + " … " + text[tail:]
}

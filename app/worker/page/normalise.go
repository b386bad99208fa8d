package page

import (
	"context"
	"errors"
	"fmt"
	"regexp"
	"strings"
	"unicode"
	"unicode/utf8"

	"golang.org/x/text/unicode/norm"

	"github.com/belfry-run/belfry/task"
)

// maxRounds limits how often the rules are applied to their own result. A removal
// can create another match. A text that still changes after so many rounds is
// built to do so.
const maxRounds = 30

// maxMatching limits one search, in steps of the rule's program times bytes of
// the text. A search cannot be interrupted, and this many steps take seconds.
const maxMatching = 500_000_000

// normalise makes a text comparable: equal for equal content, independent of
// spaces, and without ignored parts. Normalising the result again does not change
// it. So no ignored part remains, and a diff shows the text of the digest.
func (r *rules) normalise(ctx context.Context, raw string) (text string, counts []Taken, cut bool, err error) {
	counts = r.counters()
	text = tidy(raw)
	for range maxRounds {
		before := text
		for i, re := range r.ignore {
			if err := ctx.Err(); err != nil {
				return "", nil, false, err
			}
			if r.programs[i]*len(text) > maxMatching {
				return "", nil, false, tooComplex{fmt.Errorf("ignore[%d] is too large a rule for a text of %d bytes", i, len(text))}
			}
			text = takeOut(re, text, &counts[i].Count)
		}
		for i, m := range r.masks {
			if err := ctx.Err(); err != nil {
				return "", nil, false, err
			}
			var n int
			text, n = m.apply(text)
			counts[len(r.ignore)+i].Count += n
		}
		if text != before {
			text = tidy(text)
		}
		if len(text) > task.MaxPageText {
			text, cut = cutText(text, task.MaxPageText), true
		}
		if text == before {
			return text, counts, cut, nil
		}
	}
	return "", nil, false, tooComplex{errors.New("the ignore rules come to no end on this page: what is left after them matches again")}
}

func (r *rules) counters() []Taken {
	var counts []Taken
	for i := range r.ignore {
		counts = append(counts, Taken{Rule: fmt.Sprintf("ignore[%d]", i), Text: r.check.Ignore[i]})
	}
	for _, m := range r.masks {
		counts = append(counts, Taken{Rule: "mask", Text: m.name})
	}
	return counts
}

func takeOut(re *regexp.Regexp, text string, count *int) string {
	return re.ReplaceAllStringFunc(text, func(match string) string {
		if match != "" {
			*count++
		}
		return ""
	})
}

// cutText cuts a text at a character boundary.
func cutText(text string, limit int) string {
	for limit > 0 && !utf8.RuneStart(text[limit]) {
		limit--
	}
	return strings.TrimRight(text[:limit], " \n")
}

// tidy gives equal texts the same encoding: composed characters, one kind of
// space and of line break, no empty lines, and no invisible characters.
func tidy(text string) string {
	text = norm.NFC.String(strings.Map(visible, strings.ReplaceAll(strings.ToValidUTF8(text, "\uFFFD"), "\r\n", "\n")))
	var b strings.Builder
	b.Grow(len(text))
	space, newline := false, false
	for _, r := range text {
		switch r {
		case ' ':
			space = true
		case '\n':
			newline = true
		default:
			if b.Len() > 0 && newline {
				b.WriteByte('\n')
			} else if b.Len() > 0 && space {
				b.WriteByte(' ')
			}
			space, newline = false, false
			b.WriteRune(r)
		}
	}
	return b.String()
}

// visible maps all line separators to a line break and all spaces to one space,
// and drops zero-width characters. Joiners stay: words of some languages, and
// emoji, need them.
func visible(r rune) rune {
	switch {
	case r == '\n' || r == '\r' || r == '\v' || r == '\f' || r == '\u0085' || r == '\u2028' || r == '\u2029':
		return '\n'
	case r == ' ' || r == '\t' || unicode.Is(unicode.Zs, r):
		return ' '
	case r < ' ' || r == 0x7f || r >= 0x80 && r < 0xa0:
		return -1
	case r == '\u200b' || r == '\u2060' || r == '\ufeff' || r == '\u00ad' || r == '\u180e' || r == '\u200e' || r == '\u200f',
		r >= '\u202a' && r <= '\u202e', r >= '\u2066' && r <= '\u2069':
		return -1
	}
	return r
}

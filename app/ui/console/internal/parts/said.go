package parts

import (
	"regexp"
	"strings"
	"time"
)

// Said is a piece of a text of the API: plain, an instant, or a command.
type Said struct {
	Text string
	At   *Moment
	Code string
}

var (
	instantRule = regexp.MustCompile(`\d{4}-\d\d-\d\d(?:T\d\d:\d\d:\d\d(?:\.\d+)?(?:Z|[+-]\d\d:\d\d)| \d\d:\d\d:\d\d UTC\b)`)
	verbRule    = regexp.MustCompile(`\bbelfry [a-z][a-z-]*( [^ ,;:]+)*`)
)

const mostInstants = 20 // of one text, which may be a long log

// Say takes a text of the API apart, so that its instants are shown as all others of a page.
func Say(text string, when func(time.Time) Moment) (out []Said) {
	add := func(plain string) {
		for plain != "" {
			at := verbRule.FindStringIndex(plain)
			if at == nil {
				out = append(out, Said{Text: plain})
				return
			}
			if at[0] > 0 {
				out = append(out, Said{Text: plain[:at[0]]})
			}
			out = append(out, Said{Code: plain[at[0]:at[1]]})
			plain = plain[at[1]:]
		}
	}
	last := 0
	for _, at := range instantRule.FindAllStringIndex(text, mostInstants) {
		t, ok := instantOf(text[at[0]:at[1]])
		if !ok {
			continue
		}
		add(text[last:at[0]])
		m := when(t)
		out = append(out, Said{At: &m})
		last = at[1]
	}
	add(text[last:])
	return out
}

// instantOf reads an instant as core.Stamp writes it, and RFC 3339.
func instantOf(text string) (time.Time, bool) {
	if wall, ok := strings.CutSuffix(text, " UTC"); ok {
		t, err := time.Parse(time.DateTime, wall)
		return t, err == nil
	}
	t, err := time.Parse(time.RFC3339Nano, text)
	return t, err == nil
}

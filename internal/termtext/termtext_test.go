package termtext_test

import (
	"bytes"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/belfry-run/belfry/internal/termtext"
)

// shown is what a terminal gets of some text, sent in pieces of n bytes.
func shown(t *testing.T, s string, n int) string {
	t.Helper()
	var out bytes.Buffer
	w := &termtext.Writer{W: &out}
	for len(s) > 0 {
		k := min(n, len(s))
		if wrote, err := w.Write([]byte(s[:k])); err != nil || wrote != k {
			t.Fatal(wrote, err)
		}
		s = s[k:]
	}
	return out.String()
}

func TestTerminalsGetColoursAndNoOtherSequence(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]string{
		"plain\tand ünïcode 漢\n":              "plain\tand ünïcode 漢\n",
		"\x1b[1;31mred\x1b[0m \x1b[38:5:8mx":  "\x1b[1;31mred\x1b[0m \x1b[38:5:8mx",
		"a\x1b]0;title\x07b":                  "ab",
		"a\x1b]52;c;aGk=\x1b\\b":              "ab",
		"a\x1b]8;;http://evil\x1b\\link":      "alink",
		"a\x1b[2J\x1b[1;1Hb\x1b[6n":           "ab",
		"a\x1b[?25lb\x1b[>4;2mc":              "abc",
		"a\x1bPq#0\x1b\\b\x1b_x\x1b\\c":       "abc",
		"a\x1b(0b\x1bcc":                      "abc",
		"a\x1b]0;never ended\nnext":           "a\nnext",
		"secret\rcover\r\nx\r":                "secret\ncover\nx",
		"\x00\a\b\vx\x7f":                     "x",
		"a\u009b31mb\u0085":                   "a31mb",
		"user\u202etxt.exe \u2066x\u2069":     "user<U+202E>txt.exe <U+2066>x<U+2069>",
		"bad \x9b2J\xff \xc3(":                "bad \uFFFD2J\uFFFD \uFFFD(",
		"a\x1b[31" + strings.Repeat("1", 100): "a",
	} {
		for _, n := range []int{1, 2, 3, len(text)} {
			if got := shown(t, text, n); got != want {
				t.Errorf("%q in pieces of %d: %q, want %q", text, n, got, want)
			}
		}
	}
}

func FuzzTerminals(f *testing.F) {
	f.Add("a\x1b[31mb\x1b]0;x\x07", 1)
	f.Fuzz(func(t *testing.T, text string, n int) {
		got := shown(t, text, max(1, n))
		if !utf8.ValidString(got) {
			t.Fatalf("%q", got)
		}
		for rest := got; ; {
			_, after, found := strings.Cut(rest, "\x1b")
			if !found {
				break
			}
			params, tail, ok := strings.Cut(after, "m")
			if !ok || !strings.HasPrefix(params, "[") || strings.Trim(params[1:], "0123456789:;") != "" {
				t.Fatalf("%q of %q", got, text)
			}
			rest = tail
		}
		if i := strings.IndexFunc(got, func(r rune) bool { return r < ' ' && r != '\n' && r != '\t' && r != 0x1b || r >= 0x7f && r < 0xa0 }); i >= 0 {
			t.Fatalf("%q of %q", got, text)
		}
	})
}

package title_test

import (
	"strings"
	"testing"
	"unicode/utf8"

	"pgregory.net/rapid"

	"github.com/belfry-run/belfry/core"
	"github.com/belfry-run/belfry/core/title"
)

func check(text string) error {
	var p core.Problems
	title.Check(&p, "title", text)
	return p.Err("task \"a\"")
}

func TestTitles(t *testing.T) {
	t.Parallel()
	for _, good := range []string{
		"", "a", "Nightly backup", "Großmütterchens Läden", "гласност", "שלום עולם", "متجر", "夜间备份", "🔥", "👩‍👩‍👧 family", "می\u200cخواهم", "a\u200fb",
		strings.Repeat("a", title.Max), strings.Repeat("é", title.Max/2), "<b>&\"'", "100 %",
	} {
		if err := check(good); err != nil {
			t.Errorf("%q: %v", good, err)
		}
	}
	for bad, want := range map[string]string{
		"a\nb":                                 "U+000A",
		"a\x00b":                               "U+0000",
		"a\u0085b":                             "U+0085",
		"a\u2028b":                             "U+2028",
		"a\x1b[31m":                            "U+001B",
		"pay\u202egpj.exe":                     "U+202E",
		"\u2066a":                              "U+2066",
		" a":                                   "begin or end",
		"a\u00a0":                              "begin or end",
		"\u200b":                               "visible",
		"\u0301":                               "visible",
		strings.Repeat("a", title.Max+1):       "201 bytes",
		strings.Repeat("é", title.Max/2)[:199]: "UTF-8",
		"a\xff":                                "UTF-8",
		"a" + strings.Repeat("é", title.Max/2): "201 bytes",
		strings.Repeat("🔥", title.Max/4) + "\xf0": "201 bytes",
	} {
		err := check(bad)
		if err == nil || !strings.Contains(err.Error(), want) || !strings.Contains(err.Error(), "title") || !utf8.ValidString(err.Error()) || strings.ContainsAny(err.Error(), "\n\u202e\u2066") {
			t.Errorf("%q: %v, want %q", bad, err, want)
		}
	}
}

// An accepted title stays on its line and does not affect the text after it.
func TestAcceptedTitlesStayOnTheirLine(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		text := rapid.StringN(0, 60, 220).Draw(t, "title")
		name := rapid.StringMatching(`[a-z]{1,128}`).Draw(t, "name")
		if check(text) != nil {
			return
		}
		named := title.Named(text, name)
		if strings.ContainsAny(named, "\n\r\x00\x1b\u202a\u202b\u202c\u202d\u202e\u2066\u2067\u2068\u2069\u2028") || !utf8.ValidString(named) || !strings.Contains(named, name) || len(named) > 200 {
			t.Fatalf("%q", named)
		}
	})
}

// Whatever a text is, a title is made of it that is accepted, or none.
func TestTitlesOfForeignTexts(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]string{
		"Shop": "Shop", " Магазин\n(EU) ": "Магазин (EU)", "a\u202eb\x00\x1b[31m": "ab [31m", "a\xffb": "ab", "\u200b": "", " ": "", "": "",
		strings.Repeat("é", 150): strings.Repeat("é", 100), strings.Repeat("a", 199) + " b": strings.Repeat("a", 199),
	} {
		if got := title.Of(text); got != want {
			t.Errorf("%q: got %q, want %q", text, got, want)
		}
	}
	rapid.Check(t, func(t *rapid.T) {
		if text := title.Of(rapid.String().Draw(t, "text")); check(text) != nil {
			t.Fatalf("%q: %v", text, check(text))
		}
	})
}

func TestNamed(t *testing.T) {
	t.Parallel()
	if got := title.Named("", "shop-00"); got != "shop-00" {
		t.Error(got)
	}
	if got := title.Named("Laden", "shop-00"); got != "Laden (shop-00)" {
		t.Error(got)
	}
	if got := title.Named(strings.Repeat("é", 100), strings.Repeat("n", 128)); len(got) > 170 || !strings.Contains(got, "é… (nnn") {
		t.Error(got)
	}
}

func TestFold(t *testing.T) {
	t.Parallel()
	for _, pair := range [][2]string{{"МАГАЗИН", "магазин"}, {"ΟΔΟΣ", "οδος"}, {"οδός", "ΟΔΌΣ"}, {"ſ", "S"}, {"Läden", "LÄDEN"}, {"夜", "夜"}} {
		if title.Fold(pair[0]) != title.Fold(pair[1]) {
			t.Errorf("%q and %q: %q, %q", pair[0], pair[1], title.Fold(pair[0]), title.Fold(pair[1]))
		}
	}
}

package expr

import "testing"

func TestTexts(t *testing.T) {
	t.Parallel()
	path := func(text string) string { s, _ := Path(text); return s }
	glob := func(text string) string { s, _ := Glob("body", text); return s }
	wanted := func(text string) string { s, _ := Wanted(text); return s }
	for _, c := range []struct{ got, want string }{
		{path(".data[0].user-id"), `.data[0]."user-id"`}, {path("[1]"), ".[1]"}, {path(".a[*]"), ""},
		{Join(".", "length"), "length"}, {Join(".a", "length"), ".a | length"},
		{Value(".a", "UP"), "jq('.a')"}, {Value(".a", "1"), "jq('.a | tostring')"}, {Value(".a", "null"), "jq('.a | tostring')"},
		{Number(".a"), "jq('.a | tonumber? // 0')"},
		{glob("*"), ""}, {glob("a*"), "body startsWith 'a'"}, {glob("*a*"), "body contains 'a'"}, {glob("a?c"), "body matches '(?s)^a.c$'"},
		{wanted("+PONG"), `^\s*\+PONG\s*$`}, {wanted("any(a, b)"), `^\s*(?:a|b)\s*$`}, {wanted("pat(*a*)"), "(?s)a"},
		{QuoteAll([]string{"a", "it's"}), `'a', "it's"`},
	} {
		if c.got != c.want {
			t.Errorf("got %s, want %s", c.got, c.want)
		}
	}
	if _, ok := Glob("body", "[a]*"); ok {
		t.Error("a pattern with a set of letters is taken")
	}
}

package page

import (
	"strings"
	"testing"

	"github.com/andybalholm/cascadia"
	"golang.org/x/net/html"
	"pgregory.net/rapid"
)

// The library by itself is the reference, on pages that are small enough.
func TestSelectorsAgreeWithTheLibrary(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		root, err := html.Parse(strings.NewReader(drawNested(t, 4)))
		if err != nil {
			t.Fatal(err)
		}
		var sel strings.Builder
		simple := []string{"*", "p", "div", ".a", ".b", "#i", "[title]", "p.a", ":first-child", ":nth-child(2)", ":not(.a)", ":has(b)", ":haschild(b)", "b:empty", `[title="a > b, c"]`}
		between := []string{" ", " > ", ">", ", ", ",\n\t"}
		if rapid.Bool().Draw(t, "texts") {
			simple = append(simple, `:contains("x")`)
		} else { // the library takes a text for the sibling that contains it, and siblings are elements
			between = append(between, " + ", "~ ", " ~")
		}
		for i := range rapid.IntRange(1, 4).Draw(t, "compounds") {
			if i > 0 {
				sel.WriteString(rapid.SampledFrom(between).Draw(t, "between"))
			}
			sel.WriteString(rapid.SampledFrom(simple).Draw(t, "compound"))
		}
		want, err := cascadia.ParseGroup(sel.String())
		if err != nil {
			t.Fatal(err)
		}
		c, err := compileCSS(sel.String())
		if err != nil {
			t.Fatal(sel.String(), err)
		}
		tree := newTree(root)
		got, err := c.match(t.Context(), tree)
		if err != nil {
			t.Fatal(err)
		}
		for i, n := range tree.nodes {
			if got[i] != want.Match(n) {
				t.Fatalf("%s and element %d, %s: %v", sel.String(), i, n.Data, got[i])
			}
		}
	})
}

func drawNested(t *rapid.T, depth int) string {
	tag := rapid.SampledFrom([]string{"p", "div", "div class=a", "span class='a b'", "b", "b id=i", "i title='a > b, c'"}).Draw(t, "tag")
	out := "<" + tag + ">" + rapid.SampledFrom([]string{"", "x", "<!-- c -->"}).Draw(t, "text")
	if depth > 0 {
		for range rapid.IntRange(0, 3).Draw(t, "children") {
			out += drawNested(t, depth-1)
		}
	}
	name, _, _ := strings.Cut(tag, " ")
	return out + "</" + name + ">"
}

//go:build !race

package page

import (
	"context"
	"errors"
	"runtime"
	"strings"
	"testing"

	"github.com/belfry-run/belfry/task"
)

func rep(text string, size int) string { return strings.Repeat(text, size/len(text)) }

// unclosed is the page that opens its formatting again in every paragraph.
func unclosed(size int) string {
	var b strings.Builder
	b.WriteString("<p>")
	for i := range 400 {
		b.WriteString("<b c=" + strings.Repeat("x", i%20) + " id=" + string(rune('a'+i/20)) + ">")
	}
	return b.String() + rep("<p>x", size)
}

// hidden puts the same where a count that reads the page otherwise than the
// parser does would not see it.
func hidden(before, after string) string {
	return before + strings.ReplaceAll(unclosed(200_000), "<p>x", after+"<p>x")
}

const mb = 1 << 20

// Each page here is a trap: read as it comes it would take hours, or all
// memory. What it must come to is an answer, whichever; the deadline of the
// test run is the judge, and the memory that was allocated in all. Under the
// race detector it would take minutes, and it has one goroutine.
func TestHostilePagesAreBounded(t *testing.T) {
	pages := map[string]string{
		"one line of 5 MB":          rep("lorem ipsum 12 ", 5*mb),
		"deep":                      rep("<div>", 500_000),
		"deep spans":                rep("<span>", 5*mb),
		"deep lists":                rep("<ul><li>", 800_000),
		"many elements":             rep("<i></i>", 5*mb),
		"many paragraphs":           rep("<p>x", 5*mb),
		"many attributes":           "<p " + rep("a=b c=d ", 5*mb) + ">",
		"unclosed formatting":       unclosed(5 * mb),
		"behind a script":           hidden("<script><!--</script>", ""),
		"in a style of svg":         hidden("<svg><style>", ""),
		"ends behind a border":      hidden("<table><td>", "</b>"),
		"ends in a table":           hidden("<table>", "</b>"),
		"ends in a select":          "<p>" + rep("<b id=x><select></b></select>", 10_000) + unclosed(200_000),
		"texts between ignored":     rep("x<td>", 2*mb),
		"nested tables":             rep("<table><tr><td>x", mb),
		"misnested":                 rep("<b><p></b>", mb),
		"misnested links":           rep("<a><div></a>", mb),
		"open comment":              "<!--" + rep("-", 5*mb),
		"half a tag":                "<" + rep("a", 5*mb),
		"entities":                  rep("&amp;&lt;&notit;", 5*mb),
		"zeros":                     rep("\x00", 5*mb),
		"combining marks":           "a" + rep("\u0301", 2*mb),
		"what the rules do not end": rep("a", 2*mb) + rep("b", 2*mb),
	}
	checks := map[string]task.PageCheck{
		"whole":      {Ignore: []string{"ab", `(?:[a-z0-9 ]{1,80}){1,5}!`}, Mask: []string{"numbers", "dates"}},
		"everything": {CSS: "*", KeepMarkup: true},
		"looks far":  {CSS: "* * * * * * * .none, * ~ * ~ * ~ * ~ .none, p:nth-last-child(2), :has(.none), div:contains('none')"},
		"xpath":      {XPath: "//*[count(//*) > 5]//*[preceding::*[following::*]]"},
	}
	for page, text := range pages {
		for name, g := range checks {
			t.Run(page+" "+name, func(t *testing.T) {
				var before, after runtime.MemStats
				runtime.ReadMemStats(&before)
				ctx, cancel := context.WithTimeout(t.Context(), readingTime/10)
				defer cancel()
				out, err := rulesOf(t, g).read(ctx, content{body: []byte(text), kind: "text/html; charset=utf-8"})
				runtime.ReadMemStats(&after)
				if err != nil && !errors.As(err, new(tooComplex)) && !errors.Is(err, context.DeadlineExceeded) && !errors.Is(err, errTooManySteps) {
					t.Error(err)
				}
				if len(out.seen.Text) > task.MaxPageText {
					t.Errorf("%d bytes of text", len(out.seen.Text))
				}
				t.Logf("%v, %d matches, %d MB in use, %d MB allocated", err, out.seen.Matches, after.HeapInuse>>20, (after.TotalAlloc-before.TotalAlloc)>>20)
				if after.HeapInuse > 1500*mb {
					t.Errorf("%d MB in use", after.HeapInuse>>20)
				}
			})
		}
	}
}

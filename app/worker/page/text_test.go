package page

import (
	"fmt"
	"regexp"
	"strings"
	"testing"
	"unicode/utf8"

	"pgregory.net/rapid"

	"github.com/belfry-run/belfry/task"
)

func rulesOf(t interface {
	Helper()
	Fatal(...any)
}, g task.PageCheck) *rules {
	t.Helper()
	r, faults := compile(g)
	if len(faults) > 0 {
		t.Fatal(faults)
	}
	return r
}

// odd draws texts of what is hard to normalise.
func odd() *rapid.Generator[string] {
	piece := rapid.SampledFrom([]string{
		"a", "b", "Price", " ", "  ", "\n", "\r\n", "\r", "\t", "\u00a0", "\u200b", "\ufeff", "\u00ad", "\u2028", "e\u0301", "\u0301", "\u00e9",
		"12", "1,234.5", "-5", " 000", "2026-11-21", "12:30", "May 5, 2026", ":30:10", "#", "[date]", "\xff", "\x00", "ab", "(x)", "\u1100", "\u1161", "日", "年", "月",
	})
	return rapid.Custom(func(t *rapid.T) string {
		return strings.Join(rapid.SliceOfN(piece, 0, 40).Draw(t, "pieces"), "")
	})
}

var someRules = []task.PageCheck{
	{}, {Ignore: []string{"ab"}}, {Ignore: []string{`^a.*$`, `\(x\)`, ` +b`}}, {Mask: []string{"numbers"}}, {Mask: []string{"dates"}},
	{Mask: []string{"numbers", "dates"}, Ignore: []string{"#", `\d`, "é"}}, {Ignore: []string{`e`, "Price #"}, Mask: []string{"numbers"}},
	{Ignore: []string{`\s+a`, "\n"}},
}

func TestNormalisingTwiceIsNormalisingOnce(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		r := rulesOf(t, rapid.SampledFrom(someRules).Draw(t, "rules"))
		once, _, _, err := r.normalise(t.Context(), odd().Draw(t, "text"))
		if err != nil {
			t.Fatal(err)
		}
		twice, counts, cut, err := r.normalise(t.Context(), once)
		if err != nil || cut || twice != once {
			t.Fatalf("%q became %q (%v, cut %v)", once, twice, err, cut)
		}
		for _, c := range counts {
			if c.Count > 0 {
				t.Fatalf("%q still has %s %q", once, c.Rule, c.Text)
			}
		}
	})
}

func TestIgnoredElementsAreNotInTheText(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		g := rapid.SampledFrom(someRules).Draw(t, "rules")
		text, _, _, err := rulesOf(t, g).normalise(t.Context(), odd().Draw(t, "text"))
		if err != nil {
			t.Fatal(err)
		}
		for _, rule := range g.Ignore {
			if found := regexp.MustCompile("(?m:" + rule + ")").FindString(text); found != "" {
				t.Fatalf("%q still has %q, by %s", text, found, rule)
			}
		}
		if !utf8.ValidString(text) || strings.ContainsAny(text, "\r\t\x00\u00a0\u200b") || strings.Contains(text, "  ") || strings.Contains(text, "\n\n") {
			t.Fatalf("%q is not tidy", text)
		}
	})
}

// A page is drawn as a tree and written twice, with other spaces, another
// order of attributes and other values of what differs with every visit.
func TestTheSamePageWrittenOtherwiseHasTheSameDigest(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		page := drawElement(t, 3)
		for _, g := range []task.PageCheck{{}, {KeepMarkup: true}, {CSS: "p, li"}, {XPath: "//div"}, {CSS: "div", KeepMarkup: true}} {
			var digests []string
			for i := range 2 {
				var b strings.Builder
				page.write(&b, variant{other: i == 1})
				out, err := rulesOf(t, g).read(t.Context(), content{body: []byte(b.String()), kind: "text/html; charset=utf-8"})
				if err != nil {
					t.Fatal(err)
				}
				digests = append(digests, string(out.seen.Outcome)+out.seen.Digest+out.seen.Text)
			}
			if digests[0] != digests[1] {
				t.Fatalf("%+v:\n%s\n%s", g, digests[0], digests[1])
			}
		}
	})
}

type element struct {
	name     string
	text     string
	children []element
}

type variant struct{ other bool }

func (v variant) or(a, b string) string {
	if v.other {
		return b
	}
	return a
}

func drawElement(t *rapid.T, depth int) element {
	e := element{name: rapid.SampledFrom([]string{"div", "p", "ul", "li", "span", "b", "section"}).Draw(t, "name")}
	e.text = rapid.SampledFrom([]string{"", "one", "two three", "12 €"}).Draw(t, "text")
	if depth > 0 {
		for range rapid.IntRange(0, 3).Draw(t, "children") {
			e.children = append(e.children, drawElement(t, depth-1))
		}
	}
	return e
}

func (e element) write(b *strings.Builder, v variant) {
	fmt.Fprintf(b, "<%s%s>%s", e.name, v.or(` class="x" id=y nonce=abc data-csrf-token="1"`, "\n id='y'   nonce=def data-csrf-token='2' class=x "), v.or("", "<!-- note -->"))
	b.WriteString(v.or(" ", " \n\t ") + strings.ReplaceAll(e.text, " ", v.or(" ", "\r\n  ")) + v.or(" ", "\t"))
	for _, c := range e.children {
		c.write(b, v)
		b.WriteString(v.or("\n", "  "))
	}
	fmt.Fprintf(b, `<img src="/a.png?v=%s"><input type=hidden name=csrf_token value=%s></%s>`, v.or("1", "2"), v.or("x", "y"), e.name)
}

func TestTheConfigHashCoversRelevantSettingsOnly(t *testing.T) {
	t.Parallel()
	base := task.PageCheck{URL: "https://example.com/"}
	seen := map[string]string{configHash(base): "base"}
	for name, change := range map[string]func(g *task.PageCheck){
		"url":        func(g *task.PageCheck) { g.URL += "x" },
		"css":        func(g *task.PageCheck) { g.CSS = "p" },
		"xpath":      func(g *task.PageCheck) { g.XPath = "p" },
		"json_path":  func(g *task.PageCheck) { g.JSONPath = ".p" },
		"ignore_css": func(g *task.PageCheck) { g.IgnoreCSS = []string{"p"} },
		"ignore":     func(g *task.PageCheck) { g.Ignore = []string{"p"} },
		"mask":       func(g *task.PageCheck) { g.Mask = []string{"numbers"} },
		"markup":     func(g *task.PageCheck) { g.KeepMarkup = true },
	} {
		g := base
		change(&g)
		if other, taken := seen[configHash(g)]; taken {
			t.Errorf("%s has the hash of %s", name, other)
		}
		seen[configHash(g)] = name
	}
	same := base
	same.Headers, same.MaxBody, same.AllowEmpty, same.KeepVersions, same.Ignore = map[string]string{"A": "b"}, 5, true, 7, []string{}
	if configHash(same) != configHash(base) {
		t.Error("what does not change the text changes the hash")
	}
	masks, swapped := base, base
	masks.Mask, swapped.Mask = []string{"numbers", "dates"}, []string{"dates", "numbers", "dates"}
	if configHash(masks) != configHash(swapped) {
		t.Error("the order of masks matters")
	}
}

func TestCharsets(t *testing.T) {
	t.Parallel()
	long := strings.Repeat("x ", 1000)
	for _, c := range []struct{ name, kind, body, want string }{
		{"mark", "text/plain; charset=windows-1252", "\xef\xbb\xbfcaf\xc3\xa9", "café"},
		{"utf-16 mark", "text/html", "\xff\xfec\x00a\x00f\x00\xe9\x00", "café"},
		{"header", "text/html; charset=iso-8859-1", "<meta charset=utf-8>caf\xe9", "café"},
		{"meta", "text/html", "<meta charset=windows-1251><p>\xcf\xf0\xe8\xe2\xe5\xf2", "Привет"},
		{"shift_jis", "text/html", "<meta http-equiv=content-type content='text/html; charset=Shift_JIS'>\x93\xfa\x96{", "日本"},
		{"guess utf-8", "text/html", "caf\xc3\xa9", "café"},
		{"guess utf-8 beyond the first kilobyte", "text/html", long + "caf\xc3\xa9", strings.TrimSpace(long) + " café"},
		{"guess windows-1252", "text/html", "caf\xe9 \x80", "café €"},
		{"unknown", "text/html; charset=nonsense", "caf\xc3\xa9", "café"},
		{"json", "application/json", "[\"caf\xc3\xa9\"]", "[\n\"café\"\n]"},
		{"broken", "text/html; charset=utf-8", "caf\xff!", "caf\uFFFD!"},
	} {
		out, err := rulesOf(t, task.PageCheck{}).read(t.Context(), content{body: []byte(c.body), kind: c.kind})
		if err != nil || out.seen.Text != c.want {
			t.Errorf("%s: %q, %v", c.name, out.seen.Text, err)
		}
	}
}

func TestALongTextIsCutAtAWholeCharacter(t *testing.T) {
	t.Parallel()
	out, err := rulesOf(t, task.PageCheck{}).read(t.Context(), content{body: []byte(strings.Repeat("é", 700_001)), kind: "text/plain; charset=utf-8"})
	if err != nil || !out.seen.Cut || len(out.seen.Text) > task.MaxPageText || len(out.seen.Text) < task.MaxPageText-4 || !utf8.ValidString(out.seen.Text) {
		t.Error(len(out.seen.Text), out.seen.Cut, err)
	}
}

func FuzzRead(f *testing.F) {
	f.Add("<p>a<b>c</p>", "p", `\d+`, 0)
	f.Add("<table><td>x<td>y", "td:nth-child(2)", "x", 1)
	f.Add("{\"a\": [1, 2]}", ".a[]", "1", 2)
	f.Add("<svg><style><b>x</svg>", "//svg", "", 3)
	f.Fuzz(func(t *testing.T, body, selector, ignore string, way int) {
		g := task.PageCheck{Mask: []string{"numbers", "dates"}}
		switch ((way % 5) + 5) % 5 {
		case 0:
			g.CSS, g.IgnoreCSS = selector, []string{"b"}
		case 1:
			g.CSS, g.KeepMarkup = selector, true
		case 2:
			g.JSONPath = selector
		case 3:
			g.XPath = selector
		}
		if ignore != "" {
			g.Ignore = []string{ignore}
		}
		r, faults := compile(g)
		if len(faults) > 0 {
			return
		}
		out, err := r.read(t.Context(), content{body: []byte(body)})
		if err != nil {
			return
		}
		if again, _, _, err := r.normalise(t.Context(), out.seen.Text); err != nil || again != out.seen.Text {
			t.Fatalf("%q became %q: %v", out.seen.Text, again, err)
		}
	})
}

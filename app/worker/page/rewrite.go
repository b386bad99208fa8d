package page

import (
	"bytes"
	"context"
	"fmt"
	"strings"

	"golang.org/x/net/html"
)

// maxNodes limits the nodes and attributes of a document. Each takes about 100
// bytes.
const maxNodes = 1_500_000

// rewriteHTML rewrites HTML, token by token: without comments and the content of
// scripts and styles, and with everything else escaped. So the parser finds
// exactly the tokens that were counted here, in any parser state.
//
// Tokens are counted because of unclosed formatting elements: the parser opens
// them again, with all attributes, in every following block. Half a kilobyte of
// them and a megabyte of <p>x would become 100 GB. The count is never less than
// the number of nodes that the parser builds.
func rewriteHTML(ctx context.Context, text []byte) ([]byte, error) {
	z := html.NewTokenizer(&cancelReader{ctx, bytes.NewReader(text)})
	p := htmlRewriter{z: z, starts: map[string]int{}}
	p.out.Grow(len(text))
	for {
		kind := z.Next()
		if kind == html.ErrorToken {
			if err := ctx.Err(); err != nil {
				return nil, err
			}
			return p.out.Bytes(), nil
		}
		p.token(z.Token())
		if p.nodes > maxNodes || p.out.Len() > 8*len(text)+1024 {
			return nil, tooComplex{fmt.Errorf("the document has more than %d parts", maxNodes)}
		}
	}
}

type htmlRewriter struct {
	z      *html.Tokenizer
	out    bytes.Buffer
	nodes  int
	raw    string // name of the open raw element, if any
	isJSON bool   // the type of the raw element declares data
	starts map[string]int
	open   []formatting // at least the elements that the parser may open again, see add
	weight int          // of all open entries
	border int          // index of the first entry after the last border
}

// formatting is an element that the parser opens again.
type formatting struct {
	name, key string
	weight    int
}

var isFormatting = set("a b big code em font i nobr s small strike strong tt u")

// isBorder holds elements in which the end tag of a formatting element outside
// may do nothing.
var isBorder = set("applet caption html marquee math object select svg table td template th frameset foreignobject desc title mi mo mn ms mtext annotation-xml")

// isRaw holds elements in which the tokenizer recognizes no tags.
var isRaw = set("script style xmp iframe noembed noframes noscript plaintext")

func set(names string) map[string]bool {
	m := map[string]bool{}
	for _, name := range strings.Fields(names) {
		m[name] = true
	}
	return m
}

func (p *htmlRewriter) token(t html.Token) {
	switch t.Type {
	case html.TextToken:
		p.text(t.Data)
	case html.StartTagToken, html.SelfClosingTagToken:
		p.start(t)
	case html.EndTagToken:
		p.end(t)
	case html.DoctypeToken:
		p.out.WriteString(t.String())
	}
}

// text writes a text. Within raw elements it is kept only if it is data, such as
// scripts of type application/ld+json, where a less-than sign has another escape.
func (p *htmlRewriter) text(text string) {
	p.nodes += 1 + p.weight
	switch {
	case p.raw == "":
		p.out.WriteString(html.EscapeString(text))
	case p.isJSON:
		p.out.WriteString(strings.ReplaceAll(text, "<", `\u003c`))
	case p.raw == "xmp":
		p.out.WriteString(strings.ReplaceAll(text, "<", " "))
	}
}

func (p *htmlRewriter) start(t html.Token) {
	if !cleanName(t.Data) || t.Data == "plaintext" {
		return
	}
	attrs := t.Attr[:0]
	for _, a := range t.Attr {
		if cleanName(a.Key) {
			attrs = append(attrs, a)
		}
	}
	t.Attr = attrs
	p.nodes += 1 + len(attrs) + p.weight
	p.starts[t.Data]++
	text := t.String()
	p.out.WriteString(text)
	p.raw, p.isJSON = "", false
	switch {
	case isRaw[t.Data] && t.Type == html.SelfClosingTagToken && p.starts["svg"]+p.starts["math"] > 0:
		p.z.NextIsNotRawText() // in that context it is a normal element
	case isRaw[t.Data]:
		p.raw = t.Data
		p.isJSON = t.Data == "script" && strings.Contains(attribute(attrs, "type"), "json")
	case isBorder[t.Data]:
		p.border = p.thin(0)
	case isFormatting[t.Data]:
		p.open = append(p.open, formatting{name: t.Data, key: text, weight: 1 + len(attrs)})
		p.weight += 1 + len(attrs)
		p.thin(p.border)
	}
}

// thin drops entries from an index on that the parser does not open again: all
// but three equal ones, and all but one link. The parser searches back to the
// last border that it recognized, which is not after ours; so it drops these
// entries too. thin returns the number of remaining entries.
func (p *htmlRewriter) thin(from int) int {
	times := make(map[string]int, len(p.open)-from)
	kept := len(p.open)
	for i := len(p.open) - 1; i >= from; i-- {
		f, key, most := p.open[i], p.open[i].key, 3
		if f.name == "a" {
			key, most = "a", 1
		}
		if times[key]++; times[key] > most {
			p.weight -= f.weight
			continue
		}
		kept--
		p.open[kept] = f
	}
	p.open = append(p.open[:from], p.open[kept:]...)
	return len(p.open)
}

func (p *htmlRewriter) end(t html.Token) {
	p.raw, p.isJSON = "", false
	if !cleanName(t.Data) {
		return
	}
	if p.starts[t.Data] == 0 && t.Data != "p" && t.Data != "br" {
		return // the tag closes nothing, and would only join the texts around it
	}
	p.starts[t.Data]--
	p.nodes++
	p.out.WriteString("</" + t.Data + ">")
	for i := len(p.open) - 1; i >= p.border; i-- { // beyond it, the tag may do nothing
		if p.open[i].name == t.Data {
			p.weight -= p.open[i].weight
			p.open = append(p.open[:i], p.open[i+1:]...)
			return
		}
	}
}

// cleanName refuses names that could contain markup.
func cleanName(name string) bool {
	return name != "" && !strings.ContainsAny(name, "<>\"'=/`\x00")
}

func attribute(attrs []html.Attribute, key string) string {
	for _, a := range attrs {
		if a.Key == key {
			return a.Val
		}
	}
	return ""
}

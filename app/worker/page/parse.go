package page

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"mime"
	"net/http"
	"strings"

	"golang.org/x/net/html"

	"github.com/belfry-run/belfry/app/worker/internal/reach"
)

// content is a fetched document.
type content struct {
	body []byte
	kind string // its Content-Type header
}

// document is a parsed document: HTML, JSON, or plain text.
type document struct {
	root  *html.Node
	value any
	json  bool
	text  string
	index *tree
}

func (d *document) tree() *tree {
	if d.index == nil {
		d.index = newTree(d.root)
	}
	return d.index
}

// whole returns the part that is used without a selector: of HTML the body,
// because only the body is displayed.
func (d *document) whole() found {
	f := found{}
	switch {
	case d.json:
		text, err := jsonText(d.value)
		if err != nil {
			text = fmt.Sprint(d.value)
		}
		f.value(text)
	case d.root == nil:
		f.value(d.text)
	default:
		f.matches, f.items = 1, []item{{node: bodyOf(d.root)}}
	}
	return f
}

func bodyOf(root *html.Node) *html.Node {
	for n := root.FirstChild; n != nil; n = n.NextSibling {
		if n.Type != html.ElementNode || n.Data != "html" {
			continue
		}
		for c := n.FirstChild; c != nil; c = c.NextSibling {
			if c.Type == html.ElementNode && (c.Data == "body" || c.Data == "frameset") {
				return c
			}
		}
		return n
	}
	return root
}

// parse parses a document as the type that the selector needs; without a
// selector, as its declared type.
func (r *rules) parse(ctx context.Context, d content) (*document, error) {
	kind := mediaType(d)
	switch {
	case r.check.JSONPath != "":
		v, err := parseJSON(reach.DecodeText(d.body, d.kind, true))
		if err != nil {
			return nil, asJSONFault(err)
		}
		return &document{value: v, json: true}, nil
	case r.check.CSS != "" || r.check.XPath != "" || len(r.ignoreCSS) > 0 || r.check.KeepMarkup || isHTML(kind):
		root, err := parseHTML(ctx, reach.DecodeText(d.body, d.kind, false))
		if err != nil {
			return nil, err
		}
		return &document{root: root}, nil
	case isJSON(kind):
		if v, err := parseJSON(reach.DecodeText(d.body, d.kind, true)); err == nil {
			return &document{value: v, json: true}, nil
		} else if errors.As(err, new(tooComplex)) {
			return nil, err
		}
	case !strings.HasPrefix(kind, "text/") && !isXML(kind):
		return nil, foreign{fmt.Errorf("a document of type %s has no text to compare", kind)}
	}
	return &document{text: string(reach.DecodeText(d.body, d.kind, false))}, nil
}

func asJSONFault(err error) error {
	if errors.As(err, new(tooComplex)) {
		return err
	}
	return unreadable{fmt.Errorf("the document is not JSON: %w", err)}
}

// mediaType returns the declared type of a document, or else the type that its
// content suggests.
func mediaType(d content) string {
	kind, _, err := mime.ParseMediaType(d.kind)
	if err == nil && kind != "application/octet-stream" && kind != "application/unknown" {
		return kind
	}
	kind, _, _ = mime.ParseMediaType(http.DetectContentType(d.body))
	if start := bytes.TrimSpace(d.body); kind == "text/plain" && len(start) > 0 && (start[0] == '{' || start[0] == '[') {
		return "application/json"
	}
	return kind
}

func isHTML(kind string) bool { return kind == "text/html" || kind == "application/xhtml+xml" }

func isJSON(kind string) bool {
	return kind == "application/json" || kind == "text/json" || strings.HasSuffix(kind, "+json")
}

func isXML(kind string) bool {
	return kind == "application/xml" || strings.HasSuffix(kind, "+xml") || kind == "application/javascript" ||
		kind == "application/x-ndjson" || kind == "application/yaml" || kind == "application/x-yaml" || kind == "application/toml"
}

// maxDepth limits the depth of recursion. The parser keeps at most 512 elements
// open, so documents should not come near it.
const maxDepth = 5000

// parseHTML builds the tree of a document in bounded memory, see [plain].
func parseHTML(ctx context.Context, text []byte) (*html.Node, error) {
	safe, err := rewriteHTML(ctx, text)
	if err != nil {
		return nil, err
	}
	root, err := html.ParseWithOptions(&cancelReader{ctx, bytes.NewReader(safe)}, html.ParseOptionEnableScripting(true))
	switch {
	case ctx.Err() != nil:
		return nil, ctx.Err()
	case err != nil: // elements are nested too deep
		return nil, tooComplex{fmt.Errorf("the document cannot be parsed: %s", strings.TrimPrefix(err.Error(), "html: "))}
	}
	depth, deepest := 0, 0
	walk(root, func(*html.Node) bool { depth++; deepest = max(deepest, depth); return true }, func(*html.Node) { depth-- })
	if deepest > maxDepth {
		return nil, tooComplex{fmt.Errorf("the document nests elements %d deep", deepest)}
	}
	return root, nil
}

// cancelReader returns an error after the end of its context, which ends the parser.
type cancelReader struct {
	ctx context.Context
	r   io.Reader
}

func (c *cancelReader) Read(p []byte) (int, error) {
	if err := c.ctx.Err(); err != nil {
		return 0, err
	}
	return c.r.Read(p)
}

// walk visits a tree without recursion. If enter returns false, the node and its
// descendants are skipped; leave is called for the others.
func walk(root *html.Node, enter func(*html.Node) bool, leave func(*html.Node)) {
	n := root
	for {
		if enter(n) {
			if n.FirstChild != nil {
				n = n.FirstChild
				continue
			}
			if leave != nil {
				leave(n)
			}
		}
		for n != root && n.NextSibling == nil {
			n = n.Parent
			if leave != nil {
				leave(n)
			}
		}
		if n == root {
			return
		}
		n = n.NextSibling
	}
}

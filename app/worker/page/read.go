package page

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"golang.org/x/net/html"

	"github.com/belfry-run/belfry/task"
)

// reading is the result of applying the rules to a document.
type reading struct {
	seen    task.PageSeen
	found   found
	why     string  // why a selector found nothing
	removed []Taken // per rule, in the order of the settings
}

// Taken counts the parts that one rule removed or masked.
type Taken struct {
	Rule  string `json:"rule" doc:"Such as ignore[0]"`
	Text  string `json:"text" doc:"The rule itself"`
	Count int    `json:"count"`
}

// selector finds parts of a document.
type selector interface {
	find(ctx context.Context, doc *document) (found, error)
}

// found holds the matches of a selector, in order.
type found struct {
	matches int
	items   []item
	bytes   int // of the values
	why     string
}

// item is an element, or a value.
type item struct {
	node *html.Node
	text string
}

// maxCollected limits the text before the rules shorten it.
const maxCollected = 8 * task.MaxPageText

func (f *found) value(text string) {
	f.matches++
	if !f.full() {
		f.items, f.bytes = append(f.items, item{text: text}), f.bytes+len(text)
	}
}

func (f *found) full() bool { return f.bytes > maxCollected }

// Errors of a document or its settings.
type (
	tooComplex struct{ error } // the document exceeds a limit
	unreadable struct{ error } // the document does not have its declared type
	misused    struct{ error } // the selector cannot be used on this type
	foreign    struct{ error } // the document is not text
)

// read returns the text of a document for comparison. It is pure: equal documents
// and settings give equal results.
func (r *rules) read(ctx context.Context, d content) (reading, error) {
	out := reading{seen: task.PageSeen{Outcome: task.PageText, RawDigest: digest(d.body), ConfigHash: configHash(r.check)}}
	doc, err := r.parse(ctx, d)
	if err != nil {
		return out, err
	}
	if err := r.ignoreElements(ctx, doc, &out); err != nil {
		return out, err
	}
	out.found = doc.whole()
	if r.selector != nil {
		if out.found, err = r.selector.find(ctx, doc); err != nil {
			return out, err
		}
	}
	out.seen.Matches, out.why = out.found.matches, out.found.why
	if out.found.matches == 0 {
		out.seen.Outcome = task.PageSelectorMissing
		return out, nil
	}
	raw, cut := r.collect(out.found.items)
	text, counts, alsoCut, err := r.normalise(ctx, raw)
	if err != nil {
		return out, err
	}
	out.removed = append(out.removed, counts...)
	out.seen.Text, out.seen.Cut, out.seen.Digest = text, cut || alsoCut, digest([]byte(text))
	if text == "" && !r.check.AllowEmpty {
		out.seen.Outcome = task.PageEmpty
	}
	return out, nil
}

// ignoreElements removes all ignored elements in one pass: no rule depends on another.
func (r *rules) ignoreElements(ctx context.Context, doc *document, out *reading) error {
	if len(r.ignoreCSS) == 0 {
		return nil
	}
	if doc.root == nil {
		return misused{errors.New("ignore_css is for HTML, and the document is not")}
	}
	t := doc.tree()
	gone := make([]bool, len(t.nodes))
	for i, c := range r.ignoreCSS {
		hit, err := c.match(ctx, t)
		if err != nil {
			return err
		}
		n := 0
		for k, is := range hit {
			if is {
				n++
				gone[k] = true
			}
		}
		out.removed = append(out.removed, Taken{Rule: fmt.Sprintf("ignore_css[%d]", i), Text: r.check.IgnoreCSS[i], Count: n})
	}
	for i, n := range t.nodes {
		if gone[i] && n.Parent != nil {
			n.Parent.RemoveChild(n)
		}
	}
	doc.index = nil
	return nil
}

// collect joins the matches with line breaks. A match within another match is
// part of that one's text, and is not repeated: a selector that matches all
// elements gives the document once.
func (r *rules) collect(items []item) (raw string, cut bool) {
	chosen := make(map[*html.Node]bool, len(items))
	for _, it := range items {
		if it.node != nil {
			chosen[it.node] = true
		}
	}
	var b strings.Builder
	for _, it := range items {
		if b.Len() > maxCollected {
			return b.String(), true
		}
		switch {
		case it.node == nil:
			b.WriteString(it.text)
		case inside(it.node, chosen):
			continue
		case r.check.KeepMarkup:
			writeMarkup(&b, it.node)
		default:
			writeText(&b, it.node)
		}
		b.WriteByte('\n')
	}
	return b.String(), b.Len() > maxCollected
}

func inside(n *html.Node, chosen map[*html.Node]bool) bool {
	for up := n.Parent; up != nil; up = up.Parent {
		if chosen[up] {
			return true
		}
	}
	return false
}

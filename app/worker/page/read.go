package page

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"golang.org/x/net/html"

	"github.com/belfry-run/belfry/task"
)

// reading is what became of a document under its rules.
type reading struct {
	seen    task.PageSeen
	found   found
	why     string  // about a selector that found nothing
	removed []Taken // per rule, in the order of the settings
}

// Taken says how much one rule took out of a page, or masked in it.
type Taken struct {
	Rule  string `json:"rule" doc:"Such as ignore[0]"`
	Text  string `json:"text" doc:"The rule itself"`
	Count int    `json:"count"`
}

// selector finds parts of a document.
type selector interface {
	find(ctx context.Context, doc *document) (found, error)
}

// found is what a selector found, in its order.
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

// maxCollected bounds the text before rules make it shorter.
const maxCollected = 8 * task.MaxPageText

func (f *found) value(text string) {
	f.matches++
	if !f.full() {
		f.items, f.bytes = append(f.items, item{text: text}), f.bytes+len(text)
	}
}

func (f *found) full() bool { return f.bytes > maxCollected }

// Faults of a document or its settings, besides the context.
type (
	tooComplex struct{ error } // more than we want to read
	unreadable struct{ error } // not what it says it is
	misused    struct{ error } // a selector that cannot be used on it
	foreign    struct{ error } // nothing that has a text
)

// read makes the text of a document that is compared. It is pure: equal
// documents and settings give equal results.
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

// ignoreElements takes them all out at once: none depends on another.
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

// collect joins what was found with line breaks. An element inside another
// that was found too is part of that one's text, and is not repeated: a
// selector that matches everything gives the document once.
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

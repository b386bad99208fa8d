package page

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"github.com/andybalholm/cascadia"
	"golang.org/x/net/html"
)

// css is a group of selectors that is applied in time proportional to the
// document. A library that starts at an element and searches up and back for
// each combinator takes exponential time in their number, so that a hostile page
// could stall a harmless selector. Here each combinator is one pass over the
// document, and the library only matches single elements.
type css struct{ group []chain }

// chain is a list of compounds with the combinators between them: a > b has two
// compounds and one combinator.
type chain struct {
	compounds   []cascadia.Sel
	combinators []byte
}

func compileCSS(text string) (*css, error) {
	if len(text) > maxSelector {
		return nil, fmt.Errorf("has more than %d bytes", maxSelector)
	}
	if _, err := cascadia.ParseGroup(text); err != nil {
		return nil, err
	}
	var c css
	for _, part := range splitSelector(text, func(b byte) bool { return b == ',' }) {
		ch, err := compileChain(part.text)
		if err != nil {
			return nil, err
		}
		c.group = append(c.group, ch)
	}
	return &c, nil
}

func compileChain(text string) (c chain, err error) {
	for _, p := range splitSelector(strings.TrimSpace(text), isCombinator) {
		if err := checkNested(p.text); err != nil {
			return chain{}, err
		}
		sel, err := cascadia.Parse(p.text)
		if err != nil {
			return chain{}, err
		}
		if len(c.compounds) > 0 {
			c.combinators = append(c.combinators, p.before)
		}
		c.compounds = append(c.compounds, sel)
	}
	if len(c.compounds) == 0 {
		return chain{}, errors.New("selects nothing")
	}
	return c, nil
}

func isCombinator(b byte) bool {
	switch b {
	case ' ', '\t', '\n', '\r', '\f', '>', '+', '~':
		return true
	}
	return false
}

// piece is a piece of a selector, with the separator before it; any space is
// ' '. Between adjacent separators, the piece is empty, see merged.
type piece struct {
	before byte
	text   string
}

// splitSelector splits a selector outside of brackets, parentheses, strings and escapes.
func splitSelector(text string, separates func(byte) bool) []piece {
	var raw []piece
	begin, depth := 0, 0
	var quote, before byte
	for i := 0; i < len(text); i++ {
		b := text[i]
		switch {
		case b == '\\':
			i++
		case quote != 0:
			if b == quote {
				quote = 0
			}
		case b == '"' || b == '\'':
			quote = b
		case b == '(' || b == '[':
			depth++
		case b == ')' || b == ']':
			depth--
		case depth == 0 && separates(b):
			raw = append(raw, piece{before, text[begin:i]})
			begin, before = i+1, b
			if isCombinator(b) && b != '>' && b != '+' && b != '~' {
				before = ' '
			}
		}
	}
	return merged(append(raw, piece{before, text[min(begin, len(text)):]}))
}

// merged merges adjacent separators into one: of "a > b" the sign, not the spaces.
func merged(raw []piece) []piece {
	var out []piece
	var before byte
	for _, p := range raw {
		if before == 0 || before == ' ' {
			before = p.before
		}
		if p.text == "" {
			continue
		}
		out = append(out, piece{before, p.text})
		before = 0
	}
	return out
}

// checkNested limits the cost of one element. Parentheses may contain at most one
// combinator. :has(), which searches all descendants of an element, may contain
// no other search.
func checkNested(compound string) error {
	for i := range len(compound) {
		if compound[i] != '(' {
			continue
		}
		name, inner := pseudoName(compound[:i]), inParentheses(compound[i+1:])
		around := name == "has" || name == "haschild"
		if around && (strings.HasPrefix(inner, ":") || len(splitSelector(inner, func(b byte) bool { return b == ':' })) > 1) {
			return fmt.Errorf(":%s() may hold no other pseudo-class", name)
		}
		if !around && name != "not" {
			continue
		}
		for _, part := range splitSelector(inner, func(b byte) bool { return b == ',' }) {
			if len(splitSelector(strings.TrimSpace(part.text), isCombinator)) > 2 {
				return fmt.Errorf(":%s() may hold one combinator at most", name)
			}
		}
	}
	return nil
}

func pseudoName(before string) string {
	return strings.ToLower(before[strings.LastIndexByte(before, ':')+1:])
}

func inParentheses(text string) string {
	depth := 1
	for i := range len(text) {
		switch text[i] {
		case '(':
			depth++
		case ')':
			if depth--; depth == 0 {
				return text[:i]
			}
		}
	}
	return text
}

func (c *css) find(ctx context.Context, doc *document) (found, error) {
	hit, err := c.match(ctx, doc.tree())
	if err != nil {
		return found{}, err
	}
	var f found
	for i, is := range hit {
		if is {
			f.items = append(f.items, item{node: doc.tree().nodes[i]})
		}
	}
	f.matches = len(f.items)
	return f, nil
}

// match reports for each element whether the selector matches it.
func (c *css) match(ctx context.Context, t *tree) ([]bool, error) {
	all := make([]bool, len(t.nodes))
	for _, ch := range c.group {
		hit, err := ch.match(ctx, t)
		if err != nil {
			return nil, err
		}
		for i := range hit {
			all[i] = all[i] || hit[i]
		}
	}
	return all, nil
}

func (c chain) match(ctx context.Context, t *tree) ([]bool, error) {
	var hit, may []bool // may: nil means all
	for k, sel := range c.compounds {
		if k > 0 {
			may = t.reach(hit, c.combinators[k-1])
		}
		hit = make([]bool, len(t.nodes))
		for i, n := range t.nodes {
			if i%64 == 0 && ctx.Err() != nil {
				return nil, ctx.Err()
			}
			hit[i] = (may == nil || may[i]) && sel.Match(n)
		}
	}
	return hit, nil
}

// tree holds the elements of a document in order, each with the indexes of its
// parent and of the previous sibling; -1 means none.
type tree struct {
	nodes        []*html.Node
	parent, prev []int32
}

func newTree(root *html.Node) *tree {
	t := &tree{}
	var path []int32 // the open elements
	last := []int32{-1}
	walk(root, func(n *html.Node) bool {
		if n.Type != html.ElementNode {
			return true
		}
		at, up := int32(len(t.nodes)), int32(-1)
		if len(path) > 0 {
			up = path[len(path)-1]
		}
		t.nodes, t.parent, t.prev = append(t.nodes, n), append(t.parent, up), append(t.prev, last[len(last)-1])
		last[len(last)-1] = at
		path, last = append(path, at), append(last, -1)
		return true
	}, func(n *html.Node) {
		if n.Type == html.ElementNode {
			path, last = path[:len(path)-1], last[:len(last)-1]
		}
	})
	return t
}

// reach reports for each element whether the combinator leads to it from one of
// the hit elements.
func (t *tree) reach(hit []bool, combinator byte) []bool {
	out := make([]bool, len(t.nodes))
	for i := range t.nodes {
		from, far := t.parent[i], false
		if combinator == '+' || combinator == '~' {
			from = t.prev[i]
		}
		if from < 0 {
			continue
		}
		if combinator == ' ' || combinator == '~' {
			far = out[from]
		}
		out[i] = hit[from] || far
	}
	return out
}

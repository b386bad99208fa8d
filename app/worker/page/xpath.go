package page

import (
	"context"
	"errors"
	"fmt"
	"strconv"
	"strings"

	"github.com/antchfx/xpath"
	"golang.org/x/net/html"
)

// path is an XPath expression. The engine ignores contexts, but accesses the
// document only through a navigator. So the navigator counts its steps, and stops
// the engine at a limit.
type path struct{ text string }

// maxSteps limits how often an expression may move in a document or read from it.
// So many steps take a second or two, and are enough for 100 steps at each element
// of the largest real pages.
const maxSteps = 50_000_000

func compileXPath(text string) (p *path, err error) {
	if len(text) > maxSelector {
		return nil, fmt.Errorf("has more than %d bytes", maxSelector)
	}
	for _, name := range []string{"replace", "string-join"} {
		if callsFunction(text, name) {
			return nil, fmt.Errorf("%s() is not of XPath 1.0", name)
		}
	}
	defer func() {
		if v := recover(); v != nil {
			p, err = nil, fmt.Errorf("%v", v)
		}
	}()
	if _, err := xpath.Compile(text); err != nil {
		return nil, err
	}
	return &path{text}, nil
}

// callsFunction reports whether an expression calls a function. It also finds calls inside string literals, which are rare.
func callsFunction(text, name string) bool {
	for at := strings.Index(text, name); at >= 0; {
		rest := strings.TrimLeft(text[at+len(name):], " \t\r\n")
		if strings.HasPrefix(rest, "(") && (at == 0 || !isNameByte(text[at-1])) {
			return true
		}
		next := strings.Index(text[at+1:], name)
		if next < 0 {
			return false
		}
		at += 1 + next
	}
	return false
}

func isNameByte(b byte) bool {
	return b == '-' || b == '_' || b >= '0' && b <= '9' || b >= 'a' && b <= 'z' || b >= 'A' && b <= 'Z' || b >= 0x80
}

// stopped is the panic value of the navigator.
type stopped struct{ err error }

var errTooManySteps = errors.New("the expression takes too many steps on this page")

func (p *path) find(ctx context.Context, doc *document) (f found, err error) {
	defer func() {
		switch v := recover().(type) {
		case nil:
		case stopped:
			f, err = found{}, v.err
		default:
			f, err = found{}, misused{fmt.Errorf("xpath: %v", v)}
		}
	}()
	expr, err := xpath.Compile(p.text) // not shared, because it holds state
	if err != nil {
		return found{}, misused{err}
	}
	nav := &navigator{count: &steps{ctx: ctx}, root: doc.root, node: doc.root, attr: -1}
	switch v := expr.Evaluate(nav).(type) {
	case *xpath.NodeIterator:
		for v.MoveNext() {
			f.take(v.Current().(*navigator))
		}
	case string:
		f.value(v)
	case float64:
		f.value(strconv.FormatFloat(v, 'f', -1, 64))
	case bool:
		f.value(strconv.FormatBool(v))
	}
	return f, nil
}

// take adds an element as a node, and attributes and texts as values.
func (f *found) take(at *navigator) {
	if at.attr < 0 && (at.node.Type == html.ElementNode || at.node.Type == html.DocumentNode) {
		f.matches++
		f.items = append(f.items, item{node: at.node})
		return
	}
	f.value(at.Value())
}

// steps is shared by all copies of a navigator.
type steps struct {
	ctx  context.Context
	done int
}

func (s *steps) spend(n int) {
	before := s.done
	s.done += n
	if s.done > maxSteps {
		panic(stopped{errTooManySteps})
	}
	if before>>12 != s.done>>12 && s.ctx.Err() != nil {
		panic(stopped{s.ctx.Err()})
	}
}

// navigator implements [xpath.NodeNavigator].
type navigator struct {
	count      *steps
	root, node *html.Node
	attr       int // index, or -1
}

func (n *navigator) NodeType() xpath.NodeType {
	switch {
	case n.attr >= 0:
		return xpath.AttributeNode
	case n.node.Type == html.ElementNode:
		return xpath.ElementNode
	case n.node.Type == html.TextNode:
		return xpath.TextNode
	case n.node.Type == html.CommentNode:
		return xpath.CommentNode
	}
	return xpath.RootNode
}

func (n *navigator) LocalName() string {
	if n.attr >= 0 {
		return n.node.Attr[n.attr].Key
	}
	return n.node.Data
}

func (*navigator) Prefix() string { return "" }

func (n *navigator) Value() string {
	n.count.spend(1)
	switch {
	case n.attr >= 0:
		return n.node.Attr[n.attr].Val
	case n.node.Type == html.TextNode || n.node.Type == html.CommentNode:
		return n.node.Data
	}
	var b strings.Builder
	walk(n.node, func(c *html.Node) bool {
		n.count.spend(1 + len(c.Data)/16)
		if c.Type == html.TextNode {
			b.WriteString(c.Data)
		}
		return true
	}, nil)
	return b.String()
}

func (n *navigator) String() string { return n.Value() }

func (n *navigator) Copy() xpath.NodeNavigator {
	n.count.spend(1)
	c := *n
	return &c
}

func (n *navigator) MoveToRoot() { n.node, n.attr = n.root, -1 }

func (n *navigator) MoveToParent() bool {
	if n.attr >= 0 {
		n.attr = -1
		return true
	}
	return n.moveTo(n.node.Parent)
}

func (n *navigator) MoveToNextAttribute() bool {
	n.count.spend(1)
	if n.node.Type != html.ElementNode || n.attr >= len(n.node.Attr)-1 {
		return false
	}
	n.attr++
	return true
}

func (n *navigator) MoveToChild() bool    { return n.attr < 0 && n.moveTo(n.node.FirstChild) }
func (n *navigator) MoveToNext() bool     { return n.attr < 0 && n.moveTo(n.node.NextSibling) }
func (n *navigator) MoveToPrevious() bool { return n.attr < 0 && n.moveTo(n.node.PrevSibling) }

func (n *navigator) MoveToFirst() bool {
	moved := false
	for n.MoveToPrevious() {
		moved = true
	}
	return moved
}

func (n *navigator) moveTo(node *html.Node) bool {
	n.count.spend(1)
	if node == nil {
		return false
	}
	n.node = node
	return true
}

func (n *navigator) MoveTo(other xpath.NodeNavigator) bool {
	o, ok := other.(*navigator)
	if !ok || o.root != n.root {
		return false
	}
	n.node, n.attr = o.node, o.attr
	return true
}

package condition

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/expr-lang/expr/ast"
	"github.com/expr-lang/expr/parser"
	"github.com/expr-lang/expr/vm"

	"github.com/belfry-run/belfry/core"
	"github.com/belfry-run/belfry/internal/expression"
	"github.com/belfry-run/belfry/task"
)

// part is a part of an expression whose value is shown: a variable, a call that
// reads the answer, or a path into it.
type part struct {
	text    string
	name    string // of a variable, or
	program *vm.Program
	at      int
}

// Limits of shown values.
const (
	maxParts = 8
	maxShown = 400
	maxValue = 80
)

// collector finds the parts and names of an expression.
type collector struct {
	kind  task.Kind
	found map[ast.Node]part
	names []string
	count int
	fault error // of a constant path
}

func (c *collector) collect(text string) error {
	tree, err := parser.Parse(text)
	if err != nil {
		return err
	}
	ast.Walk(&tree.Node, c)
	c.names = append(c.names, expression.TickName, expression.AddName)
	return c.fault
}

// Visit implements [ast.Visitor]. Children are visited before their parent, which
// then replaces them.
func (c *collector) Visit(node *ast.Node) {
	c.count++
	switch n := (*node).(type) {
	case *ast.IdentifierNode:
		c.names = append(c.names, n.Value)
		if slices.Contains(Names(c.kind), n.Value) && n.Value != "header" && n.Value != "jq" {
			c.found[n] = part{text: n.Value, name: n.Value, at: c.count}
		}
	case *ast.CallNode:
		if callee, is := n.Callee.(*ast.IdentifierNode); is {
			if (callee.Value == "header" || callee.Value == "jq") && constant(n.Arguments) {
				c.whole(n)
			}
			if path, is := only[*ast.StringNode](n.Arguments); is && callee.Value == "jq" && c.fault == nil {
				_, c.fault = compilePath(path.Value)
			}
		}
	case *ast.BuiltinNode:
		c.names = append(c.names, n.Name) // functions such as upper are Belfry's own
		if n.Name == "len" && len(n.Arguments) == 1 {
			if _, is := c.found[n.Arguments[0]]; is {
				delete(c.found, n.Arguments[0])
				c.whole(n)
			}
		}
	case *ast.MemberNode:
		if _, is := c.found[n.Node]; is && constant([]ast.Node{n.Property}) {
			delete(c.found, n.Node)
			c.whole(n)
		}
	case *ast.ChainNode:
		if _, is := c.found[n.Node]; is {
			delete(c.found, n.Node)
			c.whole(n)
		}
	}
}

// whole makes a node a single part.
func (c *collector) whole(n ast.Node) {
	if program, err := compile(c.kind, n.String()); err == nil {
		c.found[n] = part{text: n.String(), program: program, at: c.count}
	}
}

func only[T ast.Node](nodes []ast.Node) (n T, is bool) {
	if len(nodes) == 1 {
		n, is = nodes[0].(T)
	}
	return n, is
}

func constant(nodes []ast.Node) bool {
	for _, n := range nodes {
		switch n.(type) {
		case *ast.StringNode, *ast.IntegerNode:
		default:
			return false
		}
	}
	return true
}

// parts returns the parts in the order of the text, each once.
func (c *collector) parts() []part {
	var list []part
	for _, p := range c.found {
		list = append(list, p)
	}
	slices.SortFunc(list, func(a, b part) int { return a.at - b.at })
	seen := map[string]bool{}
	list = slices.DeleteFunc(list, func(p part) bool {
		again := seen[p.text]
		seen[p.text] = true
		return again
	})
	return list[:min(len(list), maxParts)]
}

// value lists the values of the parts: status = 503, latency = 812ms.
func (p *Program) value(a *Answer) string {
	var b strings.Builder
	for i, part := range p.parts {
		if i > 0 {
			b.WriteString(", ")
		}
		b.WriteString(part.text + " = " + part.value(a))
	}
	text, cut := core.CleanText(b.String(), maxShown)
	if cut {
		text += "…"
	}
	return text
}

func (p part) value(a *Answer) string {
	if p.program == nil {
		return show(a.env[p.name])
	}
	v, err := a.run(p.program)
	if err != nil {
		return "?"
	}
	return show(v)
}

// show formats one value.
func show(v any) string {
	var text string
	switch v := v.(type) {
	case nil:
		return "nothing"
	case time.Duration:
		return round(v).String()
	case string:
		clean, cut := core.CleanText(v[:min(len(v), maxValue+8)], maxValue)
		if cut || len(v) > maxValue+8 {
			clean += "…"
		}
		return fmt.Sprintf("%q", clean)
	case map[string]any:
		return fmt.Sprintf("an object of %d", len(v))
	case []any:
		if len(v) > 10 {
			return fmt.Sprintf("a list of %d", len(v))
		}
		b, _ := json.Marshal(v)
		text = string(b)
	case []string:
		text = strings.Join(v[:min(len(v), 10)], ", ")
		text = "[" + text + "]"
	default:
		text = fmt.Sprint(v)
	}
	clean, cut := core.CleanText(text, maxValue)
	if cut {
		clean += "…"
	}
	return clean
}

// round rounds a duration to about three digits: 812ms, 1.24s, 350µs.
func round(d time.Duration) time.Duration {
	switch {
	case d >= time.Second:
		return d.Round(10 * time.Millisecond)
	case d >= 10*time.Millisecond:
		return d.Round(time.Millisecond)
	case d >= time.Millisecond:
		return d.Round(10 * time.Microsecond)
	}
	return d.Round(time.Microsecond)
}

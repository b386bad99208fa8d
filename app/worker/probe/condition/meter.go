package condition

import (
	"errors"
	"fmt"
	"reflect"
	"strings"
	"time"

	"github.com/expr-lang/expr/ast"
	"github.com/expr-lang/expr/types"
	"github.com/expr-lang/expr/vm"
	"github.com/expr-lang/expr/vm/runtime"
)

// Limits of what the expressions of one answer may take together.
const (
	// Limit is their time.
	Limit = 500 * time.Millisecond
	// maxSteps is their work: one for each round of a predicate, and one for
	// every 64 bytes of text that is made.
	maxSteps = 1_000_000
	// memory is what the language counts itself, in elements of lists.
	memory = 1_000_000
)

var errSpent = errors.New("takes too long: the expression is too much work for this answer")

// meter counts work. The language bounds the memory of lists, and neither the
// rounds of nested predicates nor the text that is put together.
type meter struct {
	spent int
	until time.Time
}

func (m *meter) spend(n int) error {
	before := m.spent
	m.spent += n
	if m.spent > maxSteps || before/64 != m.spent/64 && time.Now().After(m.until) {
		m.spent = maxSteps
		return errSpent
	}
	return nil
}

func (m *meter) text(n int) error { return m.spend(1 + n/64) }

const (
	tickName = "__tick"
	addName  = "__add"
)

type meteredFunc struct {
	is   types.Type
	make func(m *meter) any
}

func counted[T any](make func(m *meter) T) meteredFunc {
	return meteredFunc{is: types.TypeOf(make(new(meter))), make: func(m *meter) any { return make(m) }}
}

// metered are the functions that count what they do.
var metered = map[string]meteredFunc{
	tickName: counted(func(m *meter) func() (bool, error) {
		return func() (bool, error) { return true, m.spend(1) }
	}),
	addName: counted(func(m *meter) func(a, b any) (any, error) { return m.add }),
	"upper": counted(func(m *meter) func(string) (string, error) { return m.cased(strings.ToUpper) }),
	"lower": counted(func(m *meter) func(string) (string, error) { return m.cased(strings.ToLower) }),
	"split": counted(func(m *meter) func(text, by string) ([]string, error) { return m.split }),
	"string": counted(func(m *meter) func(any) (string, error) {
		return func(v any) (string, error) {
			text := fmt.Sprint(v)
			return text, m.text(len(text))
		}
	}),
}

func (m *meter) cased(change func(string) string) func(string) (string, error) {
	return func(text string) (string, error) {
		if err := m.text(len(text)); err != nil {
			return "", err
		}
		return change(text), nil
	}
}

func (m *meter) split(text, by string) ([]string, error) {
	if err := m.spend(1 + len(text)/64 + strings.Count(text, by)); err != nil {
		return nil, err
	}
	return strings.Split(text, by), nil
}

func (m *meter) add(a, b any) (_ any, err error) {
	left, isLeft := a.(string)
	right, isRight := b.(string)
	if isLeft && isRight {
		if err := m.text(len(left) + len(right)); err != nil {
			return nil, err
		}
		return left + right, nil
	}
	defer func() { // it panics for what cannot be added
		if v := recover(); v != nil {
			err = fmt.Errorf("%v", v)
		}
	}()
	return runtime.Add(a, b), nil
}

// metering makes predicates count their rounds, and sums of texts their
// length. It runs once over the tree, before it is compiled.
type metering struct{}

// Visit implements [ast.Visitor].
func (metering) Visit(node *ast.Node) {
	switch n := (*node).(type) {
	case *ast.PredicateNode:
		tick := &ast.CallNode{Callee: &ast.IdentifierNode{Value: tickName}}
		n.Node = &ast.ConditionalNode{Ternary: true, Cond: tick, Exp1: n.Node, Exp2: &ast.NilNode{}}
	case *ast.BinaryNode:
		if n.Operator == "+" && !(isNumber(n.Left.Type()) && isNumber(n.Right.Type())) {
			ast.Patch(node, &ast.CallNode{Callee: &ast.IdentifierNode{Value: addName}, Arguments: []ast.Node{n.Left, n.Right}})
		}
	}
}

func isNumber(t reflect.Type) bool {
	if t == nil {
		return false
	}
	switch t.Kind() {
	case reflect.Int, reflect.Int64, reflect.Float64:
		return true
	}
	return false
}

// run evaluates a program. It never panics: the language turns panics into
// errors.
func (a *Answer) run(p *vm.Program) (any, error) {
	a.vm.MemoryBudget = memory
	out, err := a.vm.Run(p, a.env)
	if err == nil {
		return out, nil
	}
	if errors.Is(err, errSpent) {
		return nil, errSpent
	}
	for _, name := range []string{"json", "cert_days"} {
		if fault := a.faults[name]; fault != nil {
			return nil, fault
		}
	}
	if text := sentence(err); !strings.Contains(text, "reflect") {
		return nil, errors.New(text)
	}
	return nil, errors.New("a part of it is not there, or of another kind than it is used as")
}

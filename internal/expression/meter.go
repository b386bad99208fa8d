package expression

import (
	"errors"
	"fmt"
	"math"
	"reflect"
	"strings"

	"github.com/expr-lang/expr"
	"github.com/expr-lang/expr/ast"
	"github.com/expr-lang/expr/builtin"
	"github.com/expr-lang/expr/file"
	"github.com/expr-lang/expr/types"
	"github.com/expr-lang/expr/vm"
	"github.com/expr-lang/expr/vm/runtime"
)

func (m *Meter) text(n int) error { return m.Spend(1 + n/64) }

// Names of functions that the options of expr put into expressions.
const (
	TickName = "__tick"
	AddName  = "__add"
	LessName = "__less"
	MulName  = "__mul"
	SumName  = "__sum"
	wholeEnd = "_whole" // suffix of the functions for two whole numbers
)

// Function is a function of the language that counts its work.
type Function struct {
	Is   types.Type
	Make func(m *Meter) any
}

func counted[T any](make func(m *Meter) T) Function {
	return Function{Is: types.TypeOf(make(new(Meter))), Make: func(m *Meter) any { return make(m) }}
}

// Metered are the functions that count their work.
var Metered = map[string]Function{
	TickName: counted(func(m *Meter) func() (bool, error) {
		return func() (bool, error) { return true, m.Spend(1) }
	}),
	AddName:  counted(func(m *Meter) func(a, b any) (any, error) { return m.add }),
	LessName: counted(func(*Meter) func(a, b any) (any, error) { return less }),
	MulName:  counted(func(*Meter) func(a, b any) (any, error) { return times }),
	SumName:  counted(func(m *Meter) func(any) (any, error) { return m.sum }),

	AddName + wholeEnd:  counted(func(m *Meter) func(a, b int) (int, error) { return ofWholes(m.add) }),
	LessName + wholeEnd: counted(func(*Meter) func(a, b int) (int, error) { return ofWholes(less) }),
	MulName + wholeEnd:  counted(func(*Meter) func(a, b int) (int, error) { return ofWholes(times) }),

	"abs":   counted(func(*Meter) func(any) (any, error) { return abs }),
	"int":   counted(func(*Meter) func(any) (int, error) { return whole }),
	"upper": counted(func(m *Meter) func(string) (string, error) { return m.cased(strings.ToUpper) }),
	"lower": counted(func(m *Meter) func(string) (string, error) { return m.cased(strings.ToLower) }),
	"split": counted(func(m *Meter) func(text, by string) ([]string, error) { return m.split }),
	"string": counted(func(m *Meter) func(any) (string, error) {
		return func(v any) (string, error) {
			text := fmt.Sprint(v)
			return text, m.text(len(text))
		}
	}),
}

func (m *Meter) cased(change func(string) string) func(string) (string, error) {
	return func(text string) (string, error) {
		if err := m.text(len(text)); err != nil {
			return "", err
		}
		return change(text), nil
	}
}

func (m *Meter) split(text, by string) ([]string, error) {
	if err := m.Spend(1 + len(text)/64 + strings.Count(text, by)); err != nil {
		return nil, err
	}
	return strings.Split(text, by), nil
}

func (m *Meter) add(a, b any) (_ any, err error) {
	left, isLeft := a.(string)
	right, isRight := b.(string)
	if isLeft && isRight {
		if err := m.text(len(left) + len(right)); err != nil {
			return nil, err
		}
		return left + right, nil
	}
	if x, y, whole := wholes(a, b); whole && (x+y > x) != (y > 0) {
		return nil, errTooLarge
	}
	return calculate(runtime.Add, a, b)
}

// errTooLarge is the error for a whole number that would overflow.
var errTooLarge = errors.New("the result is too large for a whole number: write one side with float()")

func wholes(a, b any) (x, y int, whole bool) {
	x, isX := a.(int)
	y, isY := b.(int)
	return x, y, isX && isY
}

func less(a, b any) (any, error) {
	if x, y, whole := wholes(a, b); whole && (x-y < x) != (y > 0) {
		return nil, errTooLarge
	}
	return calculate(runtime.Subtract, a, b)
}

func times(a, b any) (any, error) {
	if x, y, whole := wholes(a, b); whole && x != 0 && (x*y/x != y || x == -1 && y == math.MinInt) {
		return nil, errTooLarge
	}
	return calculate(runtime.Multiply, a, b)
}

func ofWholes(op func(a, b any) (any, error)) func(a, b int) (int, error) {
	return func(a, b int) (int, error) {
		v, err := op(a, b)
		n, _ := v.(int)
		return n, err
	}
}

func (m *Meter) sum(list any) (total any, err error) {
	v := reflect.ValueOf(list)
	if v.Kind() != reflect.Slice {
		return nil, fmt.Errorf("sum is of a list, and this is %s", typeOf(list))
	}
	if err := m.Spend(v.Len()); err != nil {
		return nil, err
	}
	total = 0
	for i := 0; i < v.Len() && err == nil; i++ {
		total, err = m.add(total, v.Index(i).Interface())
	}
	return total, err
}

func abs(v any) (any, error) {
	if n, is := v.(int); is && n < 0 {
		return less(0, n)
	}
	return call(builtin.Abs, v)
}

func whole(v any) (int, error) {
	if f, is := v.(float64); is && !(f >= math.MinInt && f < math.MaxInt) {
		return 0, errors.New("int() is of a number that is too large for a whole number")
	}
	n, err := call(builtin.Int, v)
	i, _ := n.(int)
	return i, err
}

func call(f func(any) any, v any) (any, error) {
	return calculate(func(a, _ any) any { return f(a) }, v, nil)
}

func calculate(op func(a, b any) any, a, b any) (_ any, err error) {
	defer func() { // the function panics for a value that is not a number
		if v := recover(); v != nil {
			err = fmt.Errorf("%v", v)
		}
	}()
	return op(a, b), nil
}

// metering makes predicates count their rounds and concatenations their length, and makes whole numbers refuse an
// overflow. It changes the tree once, before it is compiled.
type metering struct{}

// Visit implements [ast.Visitor].
func (metering) Visit(node *ast.Node) {
	switch n := (*node).(type) {
	case *ast.PredicateNode:
		tick := &ast.CallNode{Callee: &ast.IdentifierNode{Value: TickName}}
		n.Node = &ast.ConditionalNode{Ternary: true, Cond: tick, Exp1: n.Node, Exp2: &ast.NilNode{}}
	case *ast.BinaryNode:
		if name, ours := operators[n.Operator]; ours {
			calculateBy(name, node, n.Left, n.Right)
		}
	case *ast.UnaryNode:
		if _, written := n.Node.(*ast.IntegerNode); n.Operator == "-" && !written {
			calculateBy(LessName, node, &ast.IntegerNode{}, n.Node)
		}
	case *ast.BuiltinNode:
		if n.Name == "sum" && len(n.Arguments) > 0 {
			list := n.Arguments[0]
			if len(n.Arguments) > 1 {
				list = &ast.BuiltinNode{Name: "map", Arguments: n.Arguments}
			}
			ast.Patch(node, &ast.CallNode{Callee: &ast.IdentifierNode{Value: SumName}, Arguments: []ast.Node{list}})
		}
	}
}

// calculateBy replaces an operator that may overflow by a function of this package, except for fractions and times of
// known kinds.
func calculateBy(name string, node *ast.Node, left, right ast.Node) {
	switch {
	case isWhole(left) && isWhole(right):
		name += wholeEnd
	case isNumber(left.Type()) && isNumber(right.Type()), isWhole(left) && isNumber(right.Type()):
		return
	}
	ast.Patch(node, &ast.CallNode{Callee: &ast.IdentifierNode{Value: name}, Arguments: []ast.Node{left, right}})
}

func isWhole(n ast.Node) bool {
	_, written := n.(*ast.IntegerNode)
	return written || n.Type() != nil && n.Type() == reflect.TypeFor[int]()
}

// operators are the operators that a [Metered] function replaces if the kinds of both sides are not known to be numbers.
var operators = map[string]string{"+": AddName, "-": LessName, "*": MulName}

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

// builtins are the functions of the language whose work is bounded by their arguments. Left out are functions that make
// large values from small ones or read the clock. This package has its own upper, lower, split and string, which count
// their work, and abs and int, which refuse an overflow.
var builtins = []string{
	"all", "any", "none", "one", "filter", "map", "find", "findIndex", "count", "sum", "len",
	"ceil", "floor", "round", "float", "trim", "trimPrefix", "trimSuffix",
	"indexOf", "lastIndexOf", "hasPrefix", "hasSuffix", "max", "min", "mean", "duration", "first", "last", "type",
}

// maxNodes is the most nodes of an expression.
const maxNodes = 1000

// Compile compiles an expression to a program that can use the names in env and counts its work.
func Compile(text string, env types.Map, options ...expr.Option) (*vm.Program, error) {
	for name, f := range Metered {
		env[name] = f.Is
	}
	options = append(options, expr.Env(env), expr.MaxNodes(maxNodes), expr.DisableAllBuiltins(), expr.Patch(metering{}))
	for _, name := range builtins {
		options = append(options, expr.EnableBuiltin(name))
	}
	program, err := expr.Compile(text, options...)
	if err != nil {
		return nil, errors.New(Sentence(err))
	}
	return program, nil
}

// Plain rewrites an error of [Meter.Run] for people.
func Plain(err error) error {
	if errors.Is(err, ErrSpent) {
		return err
	}
	if text := Sentence(err); !strings.Contains(text, "reflect") {
		return errors.New(text)
	}
	return errors.New("a part of it is not there, or of another kind than it is used as")
}

// Sentence returns an error without the marked source text, which does not fit into
// one line.
func Sentence(err error) string {
	var at *file.Error
	if errors.As(err, &at) {
		switch at.Message {
		case "unknown name null":
			return at.Message + ": it is written nil"
		case "memory budget exceeded":
			return fmt.Sprintf("%s: its lists may have %d entries together", at.Message, Memory)
		}
		return at.Message
	}
	return err.Error()
}

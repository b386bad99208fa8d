// Package condition evaluates expressions on the result of a check, such as
//
//	status in [200, 204] and latency < 500ms
//	jq('.items[0].price') > 10 and header('Content-Type') contains 'json'
//	cert_days > 20 or not (body matches '(?i)maintenance')
//
// The language is github.com/expr-lang/expr, reduced to a bounded part: an
// expression reads one answer, but no file, environment variable or clock. A
// duration is written as 500ms or 1m30s; outside of strings it is short for
// duration("500ms").
//
// Expressions are untrusted code. Their steps, memory and time are limited; an
// expression over a limit does not hold, and its result says so. An expression
// that cannot be compiled is refused at save.
package condition

import (
	"fmt"
	"reflect"
	"slices"
	"strings"

	"github.com/expr-lang/expr"
	"github.com/expr-lang/expr/ast"
	"github.com/expr-lang/expr/vm"

	"github.com/belfry-run/belfry/core"
	"github.com/belfry-run/belfry/internal/expression"
	"github.com/belfry-run/belfry/internal/nearest"
	"github.com/belfry-run/belfry/task"
)

// Program is one compiled expression. It is safe for concurrent use.
type Program struct {
	text    string
	program *vm.Program
	uses    map[string]bool
	parts   []part
}

// Compile compiles an expression for answers of a kind.
func Compile(kind task.Kind, text string) (*Program, error) {
	if len(text) > task.MaxCondition {
		return nil, fmt.Errorf("is over %d bytes", task.MaxCondition)
	}
	plain := expression.Spell(text)
	program, err := compile(kind, plain, expr.AsBool())
	if err != nil {
		return nil, err
	}
	p := &Program{text: text, program: program, uses: map[string]bool{}}
	walk := collector{kind: kind, found: map[ast.Node]part{}}
	if err := walk.collect(plain); err != nil {
		return nil, err
	}
	p.parts = walk.parts()
	for _, name := range walk.names {
		p.uses[name] = true
	}
	return p, nil
}

func compile(kind task.Kind, text string, options ...expr.Option) (*vm.Program, error) {
	return expression.Compile(text, schema(kind), options...)
}

// Uses reports whether the expression reads this variable or function.
func (p *Program) Uses(name string) bool { return p.uses[name] }

// Judge evaluates the expression on an answer. If it cannot be evaluated,
// because of a missing field or a limit, it does not hold.
func (p *Program) Judge(a *Answer) task.ConditionResult {
	r := task.ConditionResult{Text: p.text}
	a.prepare(p.uses)
	out, err := a.run(p.program)
	switch holds := out.(type) {
	case bool:
		r.Holds = holds && err == nil
	default:
		if err == nil {
			err = fmt.Errorf("is %s and not true or false", typeName(out))
		}
	}
	if err != nil {
		r.Error, _ = core.CleanText(err.Error(), maxShown)
	}
	r.Value = p.value(a)
	return r
}

func typeName(v any) string {
	if v == nil {
		return "nothing"
	}
	return "a " + reflect.TypeOf(v).String()
}

// Vet returns the expressions of a task that cannot be compiled.
func Vet(t task.Task) []core.FieldError {
	var faults []core.FieldError
	for _, list := range []struct {
		field string
		texts []string
	}{{"conditions", t.Conditions}, {"warnings", t.Warnings}} {
		for i, text := range list.texts {
			if _, err := Compile(t.Kind, text); err != nil {
				message, _ := core.CleanText(err.Error(), maxShown)
				shown, _ := core.CleanText(text, maxShown)
				faults = append(faults, core.FieldError{
					Field: fmt.Sprintf("%s[%d]", list.field, i), Value: shown, Message: message, Hint: advice(err.Error(), t.Kind) + hint(t.Kind),
				})
			}
		}
	}
	return faults
}

// advice returns what to write instead of a usual slip, or nothing.
func advice(message string, kind task.Kind) string {
	if name, found := strings.CutPrefix(message, "unknown name "); found {
		name, _, _ = strings.Cut(name, " ")
		if meant := nearest.Of(name, Names(kind)); meant != "" {
			return "did you mean " + meant + "? "
		}
		return "a text is written in quotes: \"" + name + "\"; "
	}
	switch {
	case strings.HasPrefix(message, `unexpected token Operator("=")`):
		return "to compare, write ==; "
	case strings.HasPrefix(message, "type func(") && strings.Contains(message, " has no field "):
		return "it is called with the name, such as header(\"Content-Type\"); "
	case strings.Contains(message, "mismatched types time.Duration and int"), strings.Contains(message, "mismatched types int and time.Duration"):
		return "a length of time has a unit, such as 300ms; "
	}
	return ""
}

func hint(kind task.Kind) string {
	names := Names(kind)
	text := "kind " + string(kind) + " has "
	for i, name := range slices.Sorted(slices.Values(names)) {
		if i > 0 {
			text += ", "
		}
		text += name
	}
	return text
}

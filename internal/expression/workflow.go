package expression

import (
	"bytes"
	"encoding/json"
	"fmt"
	"maps"
	"reflect"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/expr-lang/expr"
	"github.com/expr-lang/expr/ast"
	"github.com/expr-lang/expr/parser"
	"github.com/expr-lang/expr/types"
	"github.com/expr-lang/expr/vm"

	"github.com/belfry-run/belfry/core"
	"github.com/belfry-run/belfry/task"
)

// Names that expressions of workflows may use.
const (
	inputName = "input" // input of the workflow's job
	stepsName = "steps" // ended steps
	itemName  = "item"  // item of for_each or matrix
	indexName = "index" // index of the item, from 0
)

// stepFacts are the readable fields of an ended step.
var stepFacts = []string{"output", "state", "error"}

// Refs lists the steps that an expression reads.
type Refs struct {
	Outputs []string // steps whose output is read
	Ends    []string // steps whose state or error is read
}

func parse(text string) (*parser.Tree, error) {
	if len(text) > task.MaxExpression {
		return nil, fmt.Errorf("is over %d bytes", task.MaxExpression)
	}
	return parser.Parse(Spell(text))
}

// RefsOf returns the steps that an expression reads. Each must be written as
// steps.NAME.output, steps.NAME.state or steps.NAME.error, so that the steps are known
// before any of them runs.
func RefsOf(text string) (r Refs, err error) {
	tree, err := parse(text)
	if err != nil {
		return r, fmt.Errorf("%s", Sentence(err))
	}
	w := &refs{}
	ast.Walk(&tree.Node, w)
	switch {
	case w.whole:
		err = fmt.Errorf("reads $env: write input, steps.NAME.output, steps.NAME.state or steps.NAME.error")
	case w.bare > w.steps:
		err = fmt.Errorf("reads steps as a whole: write steps.NAME.output, steps.NAME.state or steps.NAME.error")
	case w.steps > w.facts:
		err = fmt.Errorf("reads a step as a whole: write steps.NAME.output, steps.NAME.state or steps.NAME.error")
	case w.fault != "":
		err = fmt.Errorf("reads %s of a step, which has output, state and error", w.fault)
	}
	return w.Refs, err
}

// refs counts the uses of steps: each must be of the form steps.NAME with a field.
type refs struct {
	Refs
	bare, steps, facts int
	whole              bool // the expression reads all names together, including steps
	fault              string
}

// Visit implements [ast.Visitor].
func (w *refs) Visit(node *ast.Node) {
	switch n := (*node).(type) {
	case *ast.IdentifierNode:
		switch n.Value {
		case stepsName:
			w.bare++
		case "$env":
			w.whole = true
		}
	case *ast.MemberNode:
		name, isName := n.Property.(*ast.StringNode)
		if of, is := n.Node.(*ast.IdentifierNode); is && of.Value == stepsName && isName {
			w.steps++
			return
		}
		inner, is := unchained(n.Node).(*ast.MemberNode)
		if !is || !isName {
			return
		}
		of, is := inner.Node.(*ast.IdentifierNode)
		step, named := inner.Property.(*ast.StringNode)
		if !is || of.Value != stepsName || !named {
			return
		}
		w.facts++
		switch name.Value {
		case "output":
			w.Outputs = append(w.Outputs, step.Value)
		case "state", "error":
			w.Ends = append(w.Ends, step.Value)
		default:
			w.fault = name.Value
		}
	}
}

func unchained(n ast.Node) ast.Node {
	if c, is := n.(*ast.ChainNode); is {
		return c.Node
	}
	return n
}

// compileFor compiles an expression of a workflow.
func compileFor(text string, item bool, options ...expr.Option) (*vm.Program, error) {
	env := types.Map{inputName: types.Any, stepsName: types.Any}
	if item {
		env[itemName], env[indexName] = types.Any, types.Int
	}
	return Compile(Spell(text), env, options...)
}

// VetWorkflow returns the expressions of a workflow that cannot be compiled, or that read a step that
// may not have ended at their evaluation.
func VetWorkflow(w task.Workflow) []core.FieldError {
	var faults []core.FieldError
	vet := func(field, text string, item bool, before map[string]bool, hint string) {
		if text == "" {
			return
		}
		refs, err := RefsOf(text)
		if err == nil {
			_, err = compileFor(text, item)
		}
		for _, name := range slices.Concat(refs.Outputs, refs.Ends) {
			switch {
			case err != nil:
			case w.Find(name) < 0:
				err = fmt.Errorf("reads step %q, which does not exist", name)
			case !before[name]:
				err = fmt.Errorf("reads step %q, which is not among its needs", name)
			}
		}
		if err != nil {
			message, _ := core.CleanText(err.Error(), 400)
			shown, _ := core.CleanText(text, 400)
			faults = append(faults, core.FieldError{Field: "workflow." + field, Value: shown, Message: message, Hint: hint})
		}
	}
	const names = "an expression has input and steps.NAME.output, .state and .error of the steps before it"
	for i, s := range w.Steps {
		path, before := fmt.Sprintf("steps[%d].", i), w.Before(i)
		vet(path+"when", s.When, false, before, names)
		vet(path+"for_each", s.ForEach, false, before, names)
		for _, name := range slices.Sorted(maps.Keys(s.Matrix)) {
			vet(path+"matrix."+name, s.Matrix[name], false, before, names)
		}
		for _, name := range slices.Sorted(maps.Keys(s.Input)) {
			hint := names
			if s.Many() {
				hint += ", and item and index"
			}
			vet(path+"input."+name, s.Input[name], s.Many(), before, hint)
		}
	}
	all := map[string]bool{}
	for _, s := range w.Steps {
		all[s.Name] = true
	}
	for _, name := range slices.Sorted(maps.Keys(w.Output)) {
		vet("output."+name, w.Output[name], false, all, names)
	}
	return faults
}

// Ended has the readable fields of an ended step.
type Ended struct {
	Output any
	State  string
	Error  string
}

// Scope has the data for expressions of a workflow. It is for one goroutine. All evaluations in a scope
// share one [Limit].
type Scope struct {
	env      map[string]any
	meter    Meter
	vm       vm.VM
	programs map[string]*vm.Program
	used     time.Duration // of the processor
}

// NewScope returns a scope with a workflow's input and the steps that are read.
func NewScope(input json.RawMessage, steps map[string]Ended) (*Scope, error) {
	s := &Scope{env: map[string]any{}, programs: map[string]*vm.Program{}, meter: NewMeter()}
	for name, f := range Metered {
		s.env[name] = f.Make(&s.meter)
	}
	in, err := Decode(input)
	if err != nil {
		return nil, fmt.Errorf("the input is not JSON: %w", err)
	}
	read := make(map[string]any, len(steps))
	for name, e := range steps {
		read[name] = map[string]any{stepFacts[0]: e.Output, stepFacts[1]: e.State, stepFacts[2]: e.Error}
	}
	s.env[inputName], s.env[stepsName] = in, read
	return s, nil
}

// Work returns the used share of the limits of the scope, in steps or time: 1 is all.
func (s *Scope) Work() float64 { return s.meter.work() }

// Cost returns how long the evaluations of the scope occupied a processor, at least the share of [Limit] that their steps have of
// theirs. Unlike [Scope.Work] it does not grow because the machine is busy.
func (s *Scope) Cost() time.Duration {
	return max(s.used, Limit*time.Duration(s.meter.spent)/maxSteps)
}

func (s *Scope) eval(text string, item bool) (any, error) {
	runtime.LockOSThread() // its time is measured
	defer runtime.UnlockOSThread()
	begun, _ := threadTime()
	defer func() {
		if now, known := threadTime(); known {
			s.used += now - begun
		}
	}()
	p := s.programs[text]
	if p == nil {
		var err error
		if p, err = compileFor(text, item); err != nil {
			return nil, err
		}
		s.programs[text] = p
	}
	out, err := s.meter.Run(&s.vm, p, s.env)
	if err != nil {
		return nil, Plain(err)
	}
	return out, nil
}

// Holds reports whether a condition holds.
func (s *Scope) Holds(text string) (bool, error) {
	out, err := s.eval(text, false)
	if err != nil {
		return false, err
	}
	holds, is := out.(bool)
	if !is {
		return false, fmt.Errorf("is %s and not true or false", typeOf(out))
	}
	return holds, nil
}

// List evaluates for_each.
func (s *Scope) List(text string) ([]any, error) {
	out, err := s.eval(text, false)
	if err != nil {
		return nil, err
	}
	if list, is := out.([]any); is {
		return list, nil
	}
	v := reflect.ValueOf(out) // a range has whole numbers as items, and split has texts
	if v.Kind() != reflect.Slice {
		return nil, fmt.Errorf("is %s and not a list", typeOf(out))
	}
	list := make([]any, v.Len())
	for i := range list {
		list[i] = v.Index(i).Interface()
	}
	return list, nil
}

// Product evaluates matrix: it returns every combination of one item of each list. Names are in alphabetical order, and
// the last one changes fastest.
func (s *Scope) Product(lists map[string]string, most int) ([]any, error) {
	all := []any{map[string]any{}}
	for _, name := range slices.Sorted(maps.Keys(lists)) {
		list, err := s.List(lists[name])
		if err != nil {
			return nil, fmt.Errorf("%s: %w", name, err)
		}
		if n := len(all) * len(list); n > most {
			return nil, fmt.Errorf("there are %d combinations and more, the most is %d", n, most)
		}
		longer := make([]any, 0, len(all)*len(list))
		for _, item := range all {
			before, _ := item.(map[string]any)
			for _, value := range list {
				combined := maps.Clone(before)
				combined[name] = value
				longer = append(longer, combined)
			}
		}
		all = longer
	}
	return all, nil
}

// Object evaluates an expression for each field. With an index of at least 0, expressions can use item and index.
func (s *Scope) Object(fields map[string]string, item any, index int) (json.RawMessage, error) {
	inItem := index >= 0
	if inItem {
		s.env[itemName], s.env[indexName] = item, index
		defer func() { delete(s.env, itemName); delete(s.env, indexName) }()
	}
	out := make(map[string]any, len(fields))
	for _, name := range slices.Sorted(maps.Keys(fields)) {
		v, err := s.eval(fields[name], inItem)
		if err != nil {
			return nil, fmt.Errorf("%s: %w", name, err)
		}
		out[name] = v
	}
	return JSON(out)
}

// Decode decodes JSON for expressions. A number without a fraction becomes an integer if it fits. A number that fits
// neither an integer nor a float is kept as written, and cannot be used in calculations. Empty input is null.
func Decode(raw json.RawMessage) (v any, err error) {
	if len(raw) == 0 {
		return nil, nil
	}
	d := json.NewDecoder(bytes.NewReader(raw))
	d.UseNumber()
	if err := d.Decode(&v); err != nil {
		return nil, err
	}
	return numbers(v), nil
}

func numbers(v any) any {
	switch v := v.(type) {
	case json.Number:
		if n, err := strconv.Atoi(v.String()); err == nil {
			return n
		}
		f, err := v.Float64()
		if err != nil || !strings.ContainsAny(v.String(), ".eE") {
			return v
		}
		return f
	case []any:
		for i := range v {
			v[i] = numbers(v[i])
		}
	case map[string]any:
		for k := range v {
			v[k] = numbers(v[k])
		}
	}
	return v
}

// JSON encodes a value as JSON. Numbers without a fraction stay whole.
func JSON(v any) (json.RawMessage, error) {
	b, err := json.Marshal(v)
	if err != nil {
		return nil, fmt.Errorf("is not JSON: %s", strings.TrimPrefix(err.Error(), "json: "))
	}
	return b, nil
}

func typeOf(v any) string {
	switch v.(type) {
	case nil:
		return "null"
	case string:
		return "a text"
	case json.Number:
		return "a number that is too large"
	case bool:
		return "true or false"
	case map[string]any:
		return "an object"
	case []any, []string:
		return "a list"
	case int, float64:
		return "a number"
	}
	return fmt.Sprintf("a %T", v)
}

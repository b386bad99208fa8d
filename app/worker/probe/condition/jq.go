package condition

import (
	"context"
	"fmt"
	"slices"

	"github.com/itchyny/gojq"

	"github.com/belfry-run/belfry/app/worker/internal/cache"

	"github.com/belfry-run/belfry/internal/expression"
)

var paths = cache.Map[string, *gojq.Code]{Size: 512}

// jq returns the first value that a path finds in the body.
func (a *Answer) jq(path string) (any, error) {
	code, err := paths.Get(path, func() (*gojq.Code, error) { return compilePath(path) })
	if err != nil {
		return nil, err
	}
	v, err := a.json()
	if err != nil {
		return nil, err
	}
	if err := a.meter.Spend(1 + len(a.facts.Body)/64); err != nil {
		return nil, err
	}
	until := &metered{Context: context.Background(), meter: &a.meter}
	first, _ := code.RunWithContext(until, v).Next()
	if err, is := first.(error); is {
		if until.Err() != nil {
			return nil, expression.ErrSpent
		}
		return nil, fmt.Errorf("jq %s: %w", path, err)
	}
	return first, nil
}

// metered is a context that is done once a meter is spent. A path asks it at each of its instructions.
type metered struct {
	context.Context
	meter *expression.Meter
	asked int
	spent bool
}

var closed = func() chan struct{} { c := make(chan struct{}); close(c); return c }()

// Done implements [context.Context].
func (m *metered) Done() <-chan struct{} {
	if m.asked++; m.asked%64 == 0 && !m.spent {
		m.spent = m.meter.Spent()
	}
	if m.spent {
		return closed
	}
	return nil
}

// Err implements [context.Context].
func (m *metered) Err() error {
	if m.spent {
		return expression.ErrSpent
	}
	return nil
}

func compilePath(path string) (*gojq.Code, error) {
	query, err := gojq.Parse(path)
	if err != nil {
		return nil, fmt.Errorf("jq %s: %w", path, err)
	}
	if !isPath(query) {
		return nil, fmt.Errorf("jq %s: is more than a path: fields, indices, .[], |, comparisons, and select, map, any, all, %s", path, plainFuncs)
	}
	code, err := gojq.Compile(query)
	if err != nil {
		return nil, fmt.Errorf("jq %s: %w", path, err)
	}
	return code, nil
}

// plainFuncs are functions of jq without arguments, whose output is no larger than their input.
var plainFuncs = []string{"length", "keys", "first", "last", "min", "max", "type", "tonumber", "tostring", "not", "empty", "true", "false", "null", "any", "all"}

// filterFuncs are functions of jq with one argument.
var filterFuncs = []string{"select", "map", "any", "all", "first", "last", "has"}

// isPath reports whether a query only selects values. The full language has
// unbounded loops.
func isPath(q *gojq.Query) bool {
	if q == nil {
		return true
	}
	if q.Meta != nil || len(q.Imports) > 0 || len(q.FuncDefs) > 0 || len(q.Patterns) > 0 {
		return false
	}
	if q.Term != nil {
		return isPathTerm(q.Term)
	}
	switch q.Op {
	case gojq.OpPipe, gojq.OpEq, gojq.OpNe, gojq.OpGt, gojq.OpLt, gojq.OpGe, gojq.OpLe, gojq.OpAnd, gojq.OpOr, gojq.OpAlt:
		return isPath(q.Left) && isPath(q.Right)
	}
	return false
}

func isPathTerm(t *gojq.Term) bool {
	for _, s := range t.SuffixList {
		if !isPathIndex(s.Index) {
			return false
		}
	}
	switch t.Type {
	case gojq.TermTypeIdentity, gojq.TermTypeNull, gojq.TermTypeTrue, gojq.TermTypeFalse, gojq.TermTypeNumber:
		return true
	case gojq.TermTypeIndex:
		return isPathIndex(t.Index)
	case gojq.TermTypeString:
		return t.Str == nil || len(t.Str.Queries) == 0
	case gojq.TermTypeQuery:
		return isPath(t.Query)
	case gojq.TermTypeFunc:
		if len(t.Func.Args) == 0 {
			return slices.Contains(plainFuncs, t.Func.Name)
		}
		return len(t.Func.Args) == 1 && slices.Contains(filterFuncs, t.Func.Name) && isPath(t.Func.Args[0])
	}
	return false
}

func isPathIndex(i *gojq.Index) bool {
	return i == nil || (i.Str == nil || len(i.Str.Queries) == 0) && isPath(i.Start) && isPath(i.End)
}

package page

import (
	"errors"
	"fmt"
	"strings"

	"github.com/itchyny/gojq"
)

// maxGrowth limits the size of an answer, as a multiple of the document.
const maxGrowth = 64

// selecting are the functions that select, sort and convert. Others create values
// without input, or read beyond the document.
var selecting = func() map[string]bool {
	known := map[string]bool{}
	for _, name := range strings.Fields(`abs add/0 all any arrays ascii_downcase ascii_upcase booleans ceil contains del empty
		endswith first flatten floor from_entries fromjson group_by has in index inside iterables join keys keys_unsorted
		last length limit ltrim ltrimstr map map_values max max_by min min_by not nth nulls numbers objects
		recurse/0 reverse round rtrim rtrimstr scalars select sort sort_by split/1 startswith strings sub/2 test to_entries
		tojson tonumber tostring trim type unique unique_by utf8bytelength values with_entries fromdate todate`) {
		known[name] = true
	}
	return known
}()

// growthOf returns a bound for the size of a query's answer, as a multiple of its
// input. Parts that only affect errors, order or count do not count fully.
func growthOf(q *gojq.Query) (int, error) {
	switch {
	case q == nil:
		return 1, nil
	case len(q.Imports) > 0 || q.Meta != nil:
		return 0, errors.New("modules cannot be used")
	case len(q.FuncDefs) > 0:
		return 0, errors.New("functions cannot be defined")
	case len(q.Patterns) > 0:
		return 0, errors.New("variables cannot be used")
	case q.Term != nil:
		return termGrowth(q.Term)
	}
	left, err := growthOf(q.Left)
	if err != nil {
		return 0, err
	}
	right, err := growthOf(q.Right)
	if err != nil {
		return 0, err
	}
	switch q.Op {
	case gojq.OpPipe:
		return capped(left * right), nil
	case gojq.OpMul:
		return 0, errors.New("values cannot be multiplied")
	case gojq.OpAssign, gojq.OpModify, gojq.OpUpdateAdd, gojq.OpUpdateSub, gojq.OpUpdateMul, gojq.OpUpdateDiv, gojq.OpUpdateMod, gojq.OpUpdateAlt:
		return 0, errors.New("values cannot be changed")
	}
	return capped(left + right), nil
}

// capped keeps products from overflowing.
func capped(n int) int { return min(n, 1<<16) }

func termGrowth(t *gojq.Term) (n int, err error) {
	switch t.Type {
	case gojq.TermTypeReduce, gojq.TermTypeForeach, gojq.TermTypeLabel, gojq.TermTypeBreak:
		return 0, errors.New("loops cannot be used")
	case gojq.TermTypeFunc:
		n, err = funcGrowth(t.Func)
	case gojq.TermTypeObject:
		n, err = objectGrowth(t.Object)
	case gojq.TermTypeArray:
		n, err = growthOf(t.Array.Query)
	case gojq.TermTypeUnary:
		n, err = termGrowth(t.Unary.Term)
	case gojq.TermTypeFormat, gojq.TermTypeString:
		n, err = stringGrowth(t.Str)
		if t.Format != "" {
			n *= 6 // in JSON, a control character has six bytes
		}
	case gojq.TermTypeIf:
		n, err = ifGrowth(t.If)
	case gojq.TermTypeTry:
		n, err = sumGrowth(t.Try.Body, t.Try.Catch)
	case gojq.TermTypeQuery:
		n, err = growthOf(t.Query)
	case gojq.TermTypeIndex:
		n, err = 1, indexFault(t.Index)
	case gojq.TermTypeRecurse:
		n = 2
	default:
		n = 1
	}
	for _, s := range t.SuffixList {
		if err == nil && s.Index != nil {
			err = indexFault(s.Index)
		}
	}
	return capped(n), err
}

func funcGrowth(f *gojq.Func) (int, error) {
	if strings.HasPrefix(f.Name, "$") {
		return 0, errors.New("variables cannot be used")
	}
	if !selecting[f.Name] && !selecting[fmt.Sprintf("%s/%d", f.Name, len(f.Args))] {
		return 0, fmt.Errorf("function %s cannot be used", f.Name)
	}
	sum := 1
	for _, arg := range f.Args {
		n, err := growthOf(arg)
		if err != nil {
			return 0, err
		}
		sum += n
		if f.Name == "join" || f.Name == "sub" { // the text is repeated between all entries
			text, ok := literal(arg)
			if !ok {
				return 0, fmt.Errorf("function %s wants a text in quotes", f.Name)
			}
			sum += len(text)
		}
	}
	switch f.Name {
	case "tojson", "tostring":
		sum = 6
	case "select", "has", "test", "contains", "inside", "startswith", "endswith", "limit", "first", "last", "del",
		"sort_by", "min_by", "max_by", "unique_by", "any", "all", "nth", "split", "index":
		sum = 1
		for _, arg := range f.Args { // some give what their argument does
			n, _ := growthOf(arg)
			sum = max(sum, n)
		}
	}
	return capped(sum), nil
}

// literal returns the text of a query that is only a text.
func literal(q *gojq.Query) (string, bool) {
	if q.Term == nil || q.Term.Type != gojq.TermTypeString || len(q.Term.SuffixList) > 0 || q.Term.Str.Queries != nil {
		return "", false
	}
	return q.Term.Str.Str, true
}

func sumGrowth(queries ...*gojq.Query) (sum int, err error) {
	for _, q := range queries {
		n, err := growthOf(q)
		if err != nil {
			return 0, err
		}
		sum += n
	}
	return capped(sum), nil
}

func stringGrowth(s *gojq.String) (int, error) {
	if s == nil {
		return 1, nil
	}
	n, err := sumGrowth(s.Queries...)
	return 6*n + 1, err
}

func objectGrowth(o *gojq.Object) (int, error) {
	sum := 1
	for _, kv := range o.KeyVals {
		if strings.HasPrefix(kv.Key, "$") {
			return 0, errors.New("variables cannot be used")
		}
		n, err := sumGrowth(kv.KeyQuery, kv.Val)
		if err != nil {
			return 0, err
		}
		key, err := stringGrowth(kv.KeyString)
		if err != nil {
			return 0, err
		}
		sum += n + key
	}
	return capped(sum), nil
}

func ifGrowth(i *gojq.If) (int, error) {
	queries := []*gojq.Query{i.Cond, i.Then, i.Else}
	for _, e := range i.Elif {
		queries = append(queries, e.Cond, e.Then)
	}
	return sumGrowth(queries...)
}

func indexFault(i *gojq.Index) error {
	_, err := sumGrowth(i.Start, i.End)
	if err == nil {
		_, err = stringGrowth(i.Str)
	}
	return err
}

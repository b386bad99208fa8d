package page

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"regexp"
	"regexp/syntax"
	"slices"

	"github.com/belfry-run/belfry/app/worker/probe/condition"
	"github.com/belfry-run/belfry/core"
	"github.com/belfry-run/belfry/task"
)

// rules are the compiled settings of a page.
type rules struct {
	check     task.PageCheck
	selector  selector // nil: the whole text
	ignoreCSS []*css
	ignore    []*regexp.Regexp
	programs  []int // sizes of the expressions, in steps
	masks     []mask
}

// normaliser is the version of the conversion of documents into texts. Raise it
// with each change that gives another text for the same document. Every page then
// starts from a new baseline, so that a change of the code is not reported as a
// change of the page.
const normaliser = 1

// configHash identifies the settings on which a text depends.
func configHash(g task.PageCheck) string {
	masks := slices.Compact(slices.Sorted(slices.Values(g.Mask)))
	b, _ := json.Marshal([]any{normaliser, g.URL, g.CSS, g.XPath, g.JSONPath, nonNil(g.IgnoreCSS), nonNil(g.Ignore), nonNil(masks), g.KeepMarkup})
	return digest(b)
}

func nonNil(list []string) []string { return append([]string{}, list...) }

func digest(b []byte) string {
	sum := sha256.Sum256(b)
	return hex.EncodeToString(sum[:])
}

// Limits of definitions.
const (
	maxSelector = 2 << 10 // bytes
	maxProgram  = 1000    // steps of a regular expression
)

// compile compiles settings, and returns all their faults.
func compile(g task.PageCheck) (*rules, []core.FieldError) {
	r := &rules{check: g, masks: masksOf(g.Mask)}
	var faults []core.FieldError
	add := func(field, value string, err error) {
		if err != nil {
			shown, _ := core.CleanText(value, 120)
			faults = append(faults, core.FieldError{Field: "page." + field, Value: shown, Message: err.Error()})
		}
	}
	var err error
	switch {
	case g.CSS != "":
		r.selector, err = compileCSS(g.CSS)
		add("css", g.CSS, err)
	case g.XPath != "":
		r.selector, err = compileXPath(g.XPath)
		add("xpath", g.XPath, err)
	case g.JSONPath != "":
		r.selector, err = compileJQ(g.JSONPath)
		add("json_path", g.JSONPath, err)
	}
	for i, text := range g.IgnoreCSS {
		c, err := compileCSS(text)
		r.ignoreCSS = append(r.ignoreCSS, c)
		add(fmt.Sprintf("ignore_css[%d]", i), text, err)
	}
	for i, text := range g.Ignore {
		re, size, err := compileIgnore(text)
		r.ignore, r.programs = append(r.ignore, re), append(r.programs, size)
		add(fmt.Sprintf("ignore[%d]", i), text, err)
	}
	return r, faults
}

// compileIgnore compiles an expression in which ^ and $ match at lines, as authors
// of rules for pages expect.
func compileIgnore(text string) (re *regexp.Regexp, size int, err error) {
	if re, err = regexp.Compile("(?m:" + text + ")"); err != nil {
		return nil, 0, err
	}
	parsed, err := syntax.Parse(text, syntax.Perl)
	if err != nil {
		return nil, 0, err
	}
	program, err := syntax.Compile(parsed.Simplify())
	if err != nil {
		return nil, 0, err
	}
	if size = len(program.Inst); size > maxProgram {
		return nil, 0, fmt.Errorf("is too large: %d steps, at most %d", size, maxProgram)
	}
	return re, size, nil
}

// Vet checks a page's selectors and expressions before they are saved. It is nil
// for tasks of other kinds.
func Vet(t task.Task) error {
	if t.Page == nil {
		return nil
	}
	_, faults := compile(*t.Page)
	if faults = append(faults, condition.Vet(t)...); len(faults) > 0 {
		return &core.Error{Code: core.Invalid, Message: fmt.Sprintf("task %q", t.Name), Fields: faults}
	}
	return nil
}

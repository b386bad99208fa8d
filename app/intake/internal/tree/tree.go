package tree

import (
	"errors"
	"fmt"
	"maps"
	"strings"

	"github.com/goccy/go-yaml"
	"github.com/goccy/go-yaml/ast"
	"github.com/goccy/go-yaml/lexer"
	"github.com/goccy/go-yaml/parser"
	"github.com/goccy/go-yaml/token"
)

// maxDepth bounds the nesting of a document. The parser recurses.
const maxDepth = 64

// maxKeys bounds the keys of one mapping. The parser takes the square of their
// number: 50 s for the 80,000 that fit into a file.
const maxKeys = 5000

// Tree is a document as data: a mapping, a list or a text, and where it
// begins. Texts are as a person wrote them, not as YAML reads them.
type Tree struct {
	At       Place
	Kind     treeKind
	Text     string
	List     []*Tree
	Keys     []string // of a mapping, in their order
	Table    map[string]*Tree
	size     int  // values in it, itself included
	anchored bool // it stands there to be copied
}

type treeKind int

const (
	Nothing treeKind = iota
	Scalar
	Sequence
	Mapping
)

// Get follows keys down; it is never nil.
func (t *Tree) Get(keys ...string) *Tree {
	for _, k := range keys {
		next := t.Table[k]
		if next == nil {
			return &Tree{At: t.At}
		}
		t = next
	}
	return t
}

// document is one YAML document of a file, with its fault.
type document struct {
	Root  *Tree
	First string // line of it that says anything
	At    Place
	Fault *misread
}

// misread is why a document could not be read.
type misread struct {
	At            Place
	Message, Hint string
}

func (m *misread) Error() string { return m.Message }

// anchors reports whether the anchors, aliases and merge keys of YAML are read.
type anchors bool

const (
	WithAnchors    anchors = true
	WithoutAnchors anchors = false
)

// Documents reads each document of a file by itself, so that a fault in one
// does not hide the others.
func Documents(text string, a anchors) []document {
	if s := strings.TrimSpace(text); strings.HasPrefix(s, "{") || strings.HasPrefix(s, "[") {
		text = strings.ReplaceAll(text, "\t", " ") // JSON may be indented with tabs, YAML not
	}
	var docs []document
	lines, from := strings.SplitAfter(text, "\n"), 0
	for i := 0; i <= len(lines); i++ {
		// Nothing but a marker begins like this in the first column.
		if i < len(lines) && !marks(lines[i], "---") && !marks(lines[i], "...") {
			continue
		}
		if part := strings.Join(lines[from:i], ""); says(part) {
			if d := readDocument(part, from, a); d.Root != nil || d.Fault != nil {
				docs = append(docs, d)
			}
		}
		if from = i + 1; i < len(lines) && len(strings.TrimRight(lines[i], " \t\r\n")) > 3 { // "--- text" or "--- # comment"
			lines[i], from = "   "+lines[i][3:], i
		}
	}
	return docs
}

// says reports whether a part holds anything but comments and directives.
func says(part string) bool {
	for line := range strings.Lines(part) {
		if line = strings.TrimSpace(line); line != "" && line[0] != '#' && line[0] != '%' {
			return true
		}
	}
	return false
}

func marks(line, marker string) bool {
	rest, ok := strings.CutPrefix(line, marker)
	return ok && (rest == "" || strings.ContainsAny(rest[:1], " \t\r\n"))
}

// readDocument reads a part of a file that begins behind so many lines. The
// parser is not ours: should it panic, the document is at fault and not the
// program.
func readDocument(text string, before int, a anchors) (d document) {
	first, line := firstLine(text)
	d.First, d.At = line, Place{Line: before + 1 + first, Column: 1}
	fail := func(t *token.Token, message, hint string) document {
		return document{First: line, At: d.At, Fault: &misread{placeOf(t, before, d.At), message, hint}}
	}
	defer func() {
		if p := recover(); p != nil {
			d = fail(nil, "is not YAML that can be read", "")
		}
	}()
	tokens := lexer.Tokenize(text)
	if deep := tooDeep(tokens); deep != nil {
		return fail(deep, fmt.Sprintf("is nested more than %d levels deep", maxDepth), "")
	}
	if many := tooMany(tokens); many != nil {
		return fail(many, fmt.Sprintf("is one key more than the %d that a mapping may have", maxKeys), "")
	}
	file, err := parser.Parse(tokens, 0, parser.AllowDuplicateMapKey()) // grow refuses them, sooner
	if err != nil {
		var ye yaml.Error
		hint := ""
		if strings.Contains(text, "{{") {
			hint = "this looks like a template: render it first, as helm template does"
		}
		if errors.As(err, &ye) {
			return fail(ye.GetToken(), "is not YAML: "+ye.GetMessage(), hint)
		}
		return fail(nil, "is not YAML: "+err.Error(), hint)
	}
	g := grower{before: before}
	if a {
		g.known = map[string]*Tree{}
	}
	for _, doc := range file.Docs {
		if doc.Body == nil || doc.Body.Type() == ast.NullType || doc.Body.Type() == ast.CommentType {
			continue
		}
		root, bad := g.tree(doc.Body, d.At)
		if bad != nil {
			return document{First: line, At: d.At, Fault: bad}
		}
		d.Root = root
		break
	}
	return d
}

// firstLine is the first line that says anything, and how many are before it.
func firstLine(text string) (before int, first string) {
	n := 0
	for line := range strings.Lines(text) {
		if line = strings.TrimSpace(line); line != "" && line[0] != '#' {
			return n, line
		}
		n++
	}
	return 0, ""
}

func placeOf(t *token.Token, before int, otherwise Place) Place {
	if t == nil || t.Position == nil || t.Position.Line < 1 {
		return otherwise
	}
	return Place{t.Position.Line + before, max(t.Position.Column, 1)}
}

// tooDeep is the token at which nesting gets deeper than the parser can take,
// or nil. The columns in which lines begin say how deep they are; the indent
// level of the tokens does not, it grows with every entry of some lists.
func tooDeep(tokens token.Tokens) *token.Token {
	flow, entries, line := 0, 0, 0
	var open []int // columns
	for _, t := range tokens {
		if at := t.Position; at.Line != line {
			line, entries = at.Line, 0
			for len(open) > 0 && open[len(open)-1] >= at.Column {
				open = open[:len(open)-1]
			}
			open = append(open, at.Column)
		}
		switch t.Type {
		case token.MappingStartType, token.SequenceStartType:
			flow++
		case token.MappingEndType, token.SequenceEndType:
			flow--
		case token.SequenceEntryType, token.MappingKeyType:
			entries++
		}
		if flow > maxDepth || entries > maxDepth || len(open) > maxDepth {
			return t
		}
	}
	return nil
}

// tooMany is the token at which a mapping in block style has more keys than
// the parser can take, or nil.
func tooMany(tokens token.Tokens) *token.Token {
	keys := map[int]int{} // so far, of the open mapping whose keys begin in a column
	line, column, entry := 0, 0, false
	for _, t := range tokens {
		if t.Position.Line != line || entry {
			if column = t.Position.Column; !entry { // an entry of a list ends all values deeper than its dash
				maps.DeleteFunc(keys, func(c, _ int) bool { return c > column })
			}
			line, entry = t.Position.Line, false
		}
		switch t.Type {
		case token.SequenceEntryType:
			entry = true
		case token.MappingValueType:
			if keys[column]++; keys[column] > maxKeys {
				return t
			}
		}
	}
	return nil
}

// Place is where something stands in the file, from 1.
type Place struct{ Line, Column int }

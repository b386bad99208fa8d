package config

import (
	"encoding"
	"encoding/json"
	"errors"
	"fmt"
	"reflect"
	"regexp"
	"slices"
	"strings"
	"time"

	"github.com/goccy/go-yaml"
	"github.com/goccy/go-yaml/ast"
	"github.com/goccy/go-yaml/lexer"
	"github.com/goccy/go-yaml/parser"
	"github.com/goccy/go-yaml/token"

	"github.com/belfry-run/belfry/core"
)

// MaxFile limits a file, in bytes. A file of this size can hold [view.MaxManifest] definitions.
const MaxFile = 32 << 20

// maxDepth limits the nesting of a file, because the parser recurses.
const maxDepth = 64

// Source is a text and its name for errors.
type Source struct {
	Name string
	Text []byte
}

// Decode reads one YAML or JSON document into v, a pointer to a struct with
// json tags.
func Decode(src Source, what string, v any) error {
	d := decoder{src: src, places: map[string]Place{}, hidden: new(hidden)}
	docs := d.parse()
	if len(docs) > 1 {
		d.fault(docs[1].GetToken(), "", "", "is a second document in a file that holds one", "")
	}
	if len(docs) > 0 {
		d.value(docs[0], reflect.ValueOf(v).Elem(), "")
	}
	d.hidden.mask(d.faults.list)
	return d.err(what)
}

// decoder reads the documents of one source into Go values by their json tags.
// Scalars are read from their text, not by the types of YAML 1.1 or 1.2: an
// environment variable "yes" stays yes, and a name 0755 stays 0755.
type decoder struct {
	src    Source
	places map[string]Place // place of each value, by its path
	base   map[string]int   // of top-level lists: number of entries in earlier documents
	hidden *hidden
	faults
}

// parse returns the documents of the source that are not empty.
func (d *decoder) parse() []ast.Node {
	if len(d.src.Text) > MaxFile {
		d.add(Fault{Place: Place{File: d.src.Name}, FieldError: core.FieldError{
			Message: fmt.Sprintf("has more than %d bytes", MaxFile), Hint: "split it",
		}})
		return nil
	}
	text := strings.TrimPrefix(string(d.src.Text), "\ufeff")
	if s := strings.TrimSpace(text); strings.HasPrefix(s, "{") || strings.HasPrefix(s, "[") {
		// JSON may be indented with tabs, which YAML forbids. Inside JSON
		// strings there are none, so nothing else changes.
		text = strings.ReplaceAll(text, "\t", " ")
	}
	tokens := lexer.Tokenize(text)
	if deep := tooDeep(tokens); deep != nil {
		d.fault(deep, "", "", fmt.Sprintf("is nested more than %d levels deep", maxDepth), "")
		return nil
	}
	file, err := parser.Parse(tokens, 0)
	if err != nil {
		d.syntax(err)
		return nil
	}
	var docs []ast.Node
	for _, doc := range file.Docs {
		if doc.Body != nil && doc.Body.Type() != ast.NullType && doc.Body.Type() != ast.CommentType {
			docs = append(docs, doc.Body)
		}
	}
	return docs
}

// likelySecret matches the rest of a line after a name that suggests a secret.
var likelySecret = regexp.MustCompile(`(?i)(?:token|secret|password|bearer|key)["']?[ \t]*:[ \t]*([^\r\n]+)`)

func (d *decoder) syntax(err error) {
	for _, secret := range likelySecret.FindAllSubmatch(d.src.Text, -1) { // the file could not be parsed
		d.hidden.add(string(secret[1]))
	}
	var ye yaml.Error
	if errors.As(err, &ye) && ye.GetToken() != nil {
		d.fault(ye.GetToken(), "", "", ye.GetMessage(), "")
		return
	}
	d.add(Fault{Place: Place{File: d.src.Name}, FieldError: core.FieldError{Message: err.Error()}})
}

// tooDeep returns the token at which the nesting exceeds maxDepth, or nil.
// Levels are counted by the columns in which lines begin: the lexer's own count
// grows with every entry of a list that is not indented.
func tooDeep(tokens token.Tokens) *token.Token {
	flow, entries, line := 0, 0, 0
	var columns []int // of the first characters of the enclosing lines
	for _, t := range tokens {
		if t.Position.Line != line {
			line, entries = t.Position.Line, 0
			if flow == 0 {
				columns = enclosing(columns, t.Position.Column)
			}
		}
		switch t.Type {
		case token.MappingStartType, token.SequenceStartType:
			flow++
		case token.MappingEndType, token.SequenceEndType:
			flow--
		case token.SequenceEntryType, token.MappingKeyType:
			entries++
		}
		if flow > maxDepth || entries > maxDepth || len(columns) > maxDepth {
			return t
		}
	}
	return nil
}

// enclosing returns the columns of the lines that enclose a line, and the column
// of the line itself.
func enclosing(columns []int, column int) []int {
	for len(columns) > 0 && columns[len(columns)-1] >= column {
		columns = columns[:len(columns)-1]
	}
	return append(columns, column)
}

func (d *decoder) place(t *token.Token) Place {
	if t == nil || t.Position == nil {
		return Place{File: d.src.Name}
	}
	return Place{File: d.src.Name, Line: t.Position.Line, Column: t.Position.Column}
}

func (d *decoder) fault(t *token.Token, field, value, message, hint string) {
	at := d.place(t)
	if len(value) > 120 {
		value = value[:120] + "…"
	}
	f := Fault{Place: at, FieldError: core.FieldError{Field: field, Value: value, Message: message, Hint: hint}}
	if !d.full() {
		f.Excerpt = excerpt(string(d.src.Text), at)
	}
	d.add(f)
}

// value reads node into v.
func (d *decoder) value(node ast.Node, v reflect.Value, path string) {
	if path != "" {
		d.places[path] = d.place(first(node))
	}
	if !d.plain(node, path) {
		return
	}
	if v.Kind() == reflect.Pointer {
		if node.Type() == ast.NullType {
			return
		}
		p := reflect.New(v.Type().Elem())
		d.value(node, p.Elem(), path)
		v.Set(p)
		return
	}
	if v.Type() == reflect.TypeFor[json.RawMessage]() {
		d.raw(node, v, path)
		return
	}
	if u, ok := v.Addr().Interface().(encoding.TextUnmarshaler); ok {
		d.text(node, u, path)
		return
	}
	switch v.Kind() {
	case reflect.Struct:
		d.structure(node, v, path)
	case reflect.Slice:
		d.list(node, v, path)
	case reflect.Map:
		d.table(node, v, path)
	default:
		d.scalar(node, v, path)
	}
}

// first returns the token at which a node begins for a reader.
func first(node ast.Node) *token.Token {
	switch n := node.(type) {
	case *ast.MappingNode:
		if !n.IsFlowStyle && len(n.Values) > 0 {
			return n.Values[0].Key.GetToken()
		}
	case *ast.MappingValueNode:
		return n.Key.GetToken()
	}
	return node.GetToken()
}

// plain refuses anchors, aliases, merge keys and tags.
func (d *decoder) plain(node ast.Node, path string) bool {
	switch node.Type() {
	case ast.AnchorType, ast.AliasType, ast.MergeKeyType:
		d.fault(node.GetToken(), path, node.GetToken().Value, "is a YAML anchor, alias or merge key, which Belfry does not read", "write the value out")
		return false
	case ast.TagType:
		d.fault(node.GetToken(), path, node.GetToken().Value, "is a YAML tag, which Belfry does not read", "write the plain value")
		return false
	}
	return true
}

// pairs returns the entries of a mapping; for other nodes it records a fault.
func (d *decoder) pairs(node ast.Node, path string) ([]*ast.MappingValueNode, bool) {
	var values []*ast.MappingValueNode
	switch n := node.(type) {
	case *ast.MappingNode:
		values = n.Values
	case *ast.MappingValueNode:
		values = []*ast.MappingValueNode{n}
	case *ast.NullNode:
		return nil, true
	default:
		d.hide(node)
		d.fault(node.GetToken(), path, "", "must be a mapping", "write key: value lines under it")
		return nil, false
	}
	for _, pair := range values {
		if !d.plain(pair.Key, path) {
			return nil, false
		}
	}
	return values, true
}

// key returns the text of a mapping key.
func key(pair *ast.MappingValueNode) string {
	if s, ok := pair.Key.(*ast.StringNode); ok {
		return s.Value
	}
	return pair.Key.GetToken().Value
}

func (d *decoder) structure(node ast.Node, v reflect.Value, path string) {
	pairs, ok := d.pairs(node, path)
	if !ok {
		return
	}
	fields := fieldsOf(v.Type())
	for _, pair := range pairs {
		name := key(pair)
		field, known := fields[name]
		sub := join(path, name)
		switch {
		case !known:
			d.unknown(pair, name, path, written(v.Type(), fields))
		case v.Type().FieldByIndex(field).Tag.Get("readOnly") == "true":
			// Output of show -o yaml may be applied again. Fields that only Belfry
			// sets are ignored, as in the API.
		default:
			d.value(pair.Value, v.FieldByIndex(field), sub)
		}
	}
}

// written returns the names of the fields that people write. It omits fields that only Belfry sets.
func written(t reflect.Type, fields map[string][]int) (names []string) {
	for name, field := range fields {
		if t.FieldByIndex(field).Tag.Get("readOnly") != "true" {
			names = append(names, name)
		}
	}
	slices.Sort(names)
	return names
}

func (d *decoder) unknown(pair *ast.MappingValueNode, name, path string, names []string) {
	hint := "known here: " + strings.Join(names, ", ")
	if s := Suggest(name, names); s != "" {
		hint = "did you mean " + s + "?"
	}
	d.hide(pair.Value)
	d.fault(pair.Key.GetToken(), join(path, name), "", "is not a known key", hint)
}

// hide hides the texts of a value in faults. The value is at an unknown place, so it may be a secret. Short texts are not
// hidden: they are words such as http, which occur in many lines.
func (d *decoder) hide(node ast.Node) {
	ast.Walk(hiding{d.hidden}, node)
}

type hiding struct{ *hidden }

// leastUnknown is the minimum length, in bytes, of a hidden text that may not be a secret.
const leastUnknown = 8

func (h hiding) Visit(node ast.Node) ast.Visitor {
	if text, ok := scalarText(node); ok && len(text) >= leastUnknown {
		h.add(text)
	}
	return h
}

// fieldsOf returns the indexes of a struct's fields by their json names,
// including those of embedded structs.
func fieldsOf(t reflect.Type) map[string][]int {
	fields := map[string][]int{}
	for _, f := range reflect.VisibleFields(t) {
		name, _, _ := strings.Cut(f.Tag.Get("json"), ",")
		if name != "" && name != "-" {
			fields[name] = f.Index
		}
	}
	return fields
}

func (d *decoder) list(node ast.Node, v reflect.Value, path string) {
	seq, ok := node.(*ast.SequenceNode)
	switch {
	case ok:
	case node.Type() == ast.NullType:
		return
	case isScalar(node) && isScalarType(v.Type().Elem()):
		// A single value, such as an instant or a code, may stand without a list.
		v.Set(reflect.MakeSlice(v.Type(), 1, 1))
		d.value(node, v.Index(0), path+"[0]")
		return
	default:
		d.hide(node)
		d.fault(first(node), path, "", "must be a list", "write - in front of each entry")
		return
	}
	list := reflect.MakeSlice(v.Type(), len(seq.Values), len(seq.Values))
	for i, item := range seq.Values {
		d.value(item, list.Index(i), fmt.Sprintf("%s[%d]", path, d.base[path]+i))
	}
	v.Set(list)
}

func (d *decoder) table(node ast.Node, v reflect.Value, path string) {
	pairs, ok := d.pairs(node, path)
	if !ok {
		return
	}
	table := reflect.MakeMapWithSize(v.Type(), len(pairs))
	for _, pair := range pairs {
		item := reflect.New(v.Type().Elem()).Elem()
		d.value(pair.Value, item, join(path, key(pair)))
		table.SetMapIndex(reflect.ValueOf(key(pair)), item)
	}
	v.Set(table)
}

func (d *decoder) text(node ast.Node, u encoding.TextUnmarshaler, path string) {
	text, ok := scalarText(node)
	if !ok {
		d.hide(node)
		d.fault(first(node), path, "", "must be a single value", "")
		return
	}
	if node.Type() == ast.NullType {
		return
	}
	if err := u.UnmarshalText([]byte(text)); err != nil {
		if _, isTime := u.(*time.Time); isTime {
			d.fault(node.GetToken(), path, text, "is not a time", "write 2026-01-31T09:00:00Z or 2026-01-31T09:00:00+02:00")
			return
		}
		d.fault(node.GetToken(), path, "", err.Error(), "")
	}
}

func join(path, name string) string {
	if path == "" {
		return name
	}
	return path + "." + name
}

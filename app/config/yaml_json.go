package config

import (
	"bytes"
	"encoding/json"
	"fmt"
	"reflect"
	"regexp"
	"strconv"

	"github.com/goccy/go-yaml/ast"
	yamltoken "github.com/goccy/go-yaml/token"
)

// number matches a number of YAML 1.2 (section 10.3.2). The parser reads some numbers as texts: those with an exponent and
// no point, and those of more than 64 bits.
var number = regexp.MustCompile(`^[-+]?(\.[0-9]+|[0-9]+(\.[0-9]*)?)([eE][-+]?[0-9]+)?$`)

// raw reads any node as JSON.
func (d *decoder) raw(node ast.Node, v reflect.Value, path string) {
	var b bytes.Buffer
	if node.Type() == ast.NullType {
		return
	}
	if d.json(&b, node, path) {
		v.SetBytes(b.Bytes())
	}
}

func (d *decoder) json(b *bytes.Buffer, node ast.Node, path string) bool {
	if !d.plain(node, path) {
		return false
	}
	switch n := node.(type) {
	case *ast.SequenceNode:
		b.WriteByte('[')
		for i, item := range n.Values {
			if i > 0 {
				b.WriteByte(',')
			}
			if !d.json(b, item, fmt.Sprintf("%s[%d]", path, i)) {
				return false
			}
		}
		b.WriteByte(']')
		return true
	case *ast.MappingNode, *ast.MappingValueNode:
		return d.object(b, node, path)
	case *ast.InfinityNode, *ast.NanNode:
		d.fault(node.GetToken(), path, node.GetToken().Value, "is not a JSON number", "")
		return false
	case *ast.LiteralNode:
		return appendJSON(b, n.Value.Value)
	case *ast.NullNode:
		return appendJSON(b, nil)
	case ast.ScalarNode:
		token := node.GetToken()
		text := []byte(token.Value)
		plain := token.Type == yamltoken.StringType && number.Match(text)
		if json.Valid(text) && (plain || node.Type() != ast.StringType) {
			b.Write(text) // the number as written, with all its digits
			return true
		}
		if f, err := strconv.ParseFloat(token.Value, 64); plain && err == nil {
			return appendJSON(b, f)
		}
		return appendJSON(b, n.GetValue())
	}
	d.fault(first(node), path, "", "cannot be read as JSON", "")
	return false
}

func (d *decoder) object(b *bytes.Buffer, node ast.Node, path string) bool {
	pairs, ok := d.pairs(node, path)
	if !ok {
		return false
	}
	b.WriteByte('{')
	for i, pair := range pairs {
		if i > 0 {
			b.WriteByte(',')
		}
		if !appendJSON(b, key(pair)) {
			return false
		}
		b.WriteByte(':')
		if !d.json(b, pair.Value, join(path, key(pair))) {
			return false
		}
	}
	b.WriteByte('}')
	return true
}

func appendJSON(b *bytes.Buffer, v any) bool {
	text, err := json.Marshal(v)
	b.Write(text)
	return err == nil
}

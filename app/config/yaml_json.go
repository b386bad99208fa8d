package config

import (
	"bytes"
	"encoding/json"
	"fmt"
	"reflect"

	"github.com/goccy/go-yaml/ast"
)

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
		if text := node.GetToken().Value; json.Valid([]byte(text)) && node.Type() != ast.StringType {
			b.WriteString(text) // the number as written, with all its digits
			return true
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

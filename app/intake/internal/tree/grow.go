package tree

import (
	"fmt"

	"github.com/goccy/go-yaml/ast"
)

// maxCopied bounds the values that aliases add to one document. A small
// file would otherwise make work without end.
const maxCopied = 1 << 20

// grower makes data of the nodes of one document.
type grower struct {
	before int              // lines in front of the document
	known  map[string]*Tree // values of anchors; nil: they are not read
	copied int              // values that aliases have stood for
}

// tree makes data of a node. YAML that is more than data is refused, but
// for anchors where they are read.
func (g *grower) tree(node ast.Node, parent Place) (*Tree, *misread) {
	t := &Tree{At: placeOf(node.GetToken(), g.before, parent), size: 1}
	switch n := node.(type) {
	case *ast.NullNode:
	case *ast.StringNode:
		t.Kind, t.Text = Scalar, n.Value
	case *ast.LiteralNode:
		t.Kind, t.Text = Scalar, n.Value.Value
	case *ast.IntegerNode, *ast.FloatNode, *ast.BoolNode, *ast.InfinityNode, *ast.NanNode:
		t.Kind, t.Text = Scalar, node.GetToken().Value
	case *ast.SequenceNode:
		t.Kind = Sequence
		for _, item := range n.Values {
			sub, bad := g.tree(item, t.At)
			if bad != nil {
				return nil, bad
			}
			t.List, t.size = append(t.List, sub), t.size+sub.size
		}
	case *ast.MappingNode:
		return g.mapping(t, n.Values)
	case *ast.MappingValueNode:
		return g.mapping(t, []*ast.MappingValueNode{n})
	case *ast.AnchorNode:
		return g.anchor(n, t.At)
	case *ast.AliasNode:
		return g.alias(n, t.At)
	default:
		return nil, g.refuse(t.At)
	}
	return t, nil
}

func (g *grower) refuse(at Place) *misread {
	if g.known != nil {
		return &misread{at, "is a YAML tag or a key that is no text, which are not read here", "write the value out"}
	}
	return &misread{at, "is a YAML anchor, alias, merge key or tag, which are not read here", "write the value out"}
}

func (g *grower) anchor(n *ast.AnchorNode, at Place) (*Tree, *misread) {
	if g.known == nil || n.Name == nil || n.Value == nil {
		return nil, g.refuse(at)
	}
	t, bad := g.tree(n.Value, at)
	if bad != nil {
		return nil, bad
	}
	t.anchored = true
	g.known[n.Name.GetToken().Value] = t
	return t, nil
}

// alias is the same tree once more: nothing is copied, but a reader
// reads it again.
func (g *grower) alias(n *ast.AliasNode, at Place) (*Tree, *misread) {
	if g.known == nil || n.Value == nil {
		return nil, g.refuse(at)
	}
	t := g.known[n.Value.GetToken().Value]
	if t == nil {
		return nil, &misread{at, "is an alias of an anchor that is not there", ""}
	}
	if g.copied += t.size; g.copied > maxCopied {
		return nil, &misread{at, "is one alias more than can be followed", "write fewer, or split the file"}
	}
	return t, nil
}

func (g *grower) mapping(t *Tree, pairs []*ast.MappingValueNode) (*Tree, *misread) {
	t.Kind, t.Table = Mapping, map[string]*Tree{}
	var merged []*Tree
	for i, pair := range pairs {
		at := placeOf(pair.Key.GetToken(), g.before, t.At)
		if i == 0 {
			t.At = at
		}
		var key string
		switch k := pair.Key.(type) {
		case *ast.StringNode:
			key = k.Value
		case *ast.MergeKeyNode:
			if g.known == nil {
				return nil, g.refuse(at)
			}
			from, bad := g.merge(pair.Value, at)
			if bad != nil {
				return nil, bad
			}
			merged = append(merged, from...)
			continue
		case *ast.AnchorNode, *ast.AliasNode, *ast.TagNode, *ast.MappingKeyNode:
			return nil, g.refuse(at)
		default:
			key = pair.Key.GetToken().Value
		}
		if t.Table[key] != nil {
			return nil, &misread{at, fmt.Sprintf("%q stands twice", key), ""}
		}
		sub, bad := g.tree(pair.Value, at)
		if bad != nil {
			return nil, bad
		}
		t.Keys, t.Table[key], t.size = append(t.Keys, key), sub, t.size+sub.size
	}
	for _, from := range merged { // written keys override merged ones
		for _, key := range from.Keys {
			if t.Table[key] == nil {
				t.Keys, t.Table[key], t.size = append(t.Keys, key), from.Table[key], t.size+from.Table[key].size
			}
		}
	}
	return t, nil
}

// merge is the mappings behind a merge key.
func (g *grower) merge(node ast.Node, at Place) ([]*Tree, *misread) {
	from, bad := g.tree(node, at)
	if bad != nil {
		return nil, bad
	}
	list := []*Tree{from}
	if from.Kind == Sequence {
		list = from.List
	}
	for _, t := range list {
		if t.Kind != Mapping {
			return nil, &misread{at, "merges what is not a mapping", ""}
		}
	}
	return list, nil
}

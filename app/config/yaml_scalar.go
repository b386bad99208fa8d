package config

import (
	"encoding"
	"errors"
	"fmt"
	"math"
	"reflect"
	"strconv"
	"strings"

	"github.com/goccy/go-yaml/ast"

	"github.com/belfry-run/belfry/core"
)

func (d *decoder) scalar(node ast.Node, v reflect.Value, path string) {
	text, ok := scalarText(node)
	if !ok {
		d.hide(node)
		d.fault(first(node), path, "", "must be "+kindName(v), "")
		return
	}
	if node.Type() == ast.NullType {
		return
	}
	if err := setText(v, text); err != nil {
		d.fault(node.GetToken(), path, text, err.Error(), "")
	}
	if v.Type() == reflect.TypeFor[core.Secret]() {
		d.hidden.add(text)
	}
}

// setText sets a scalar value from its text.
func setText(v reflect.Value, text string) error {
	switch v.Kind() {
	case reflect.String:
		v.SetString(text)
	case reflect.Bool:
		b, err := parseBool(text)
		if err != nil {
			return err
		}
		v.SetBool(b)
	case reflect.Int, reflect.Int64:
		n, err := strconv.ParseInt(strings.ReplaceAll(text, "_", ""), 10, v.Type().Bits())
		if errors.Is(err, strconv.ErrRange) {
			return errors.New("is too large a number")
		}
		if err != nil {
			return errors.New("must be a whole number")
		}
		v.SetInt(n)
	case reflect.Float64:
		f, err := strconv.ParseFloat(text, 64)
		if err != nil || math.IsNaN(f) || math.IsInf(f, 0) {
			return errors.New("must be a number")
		}
		v.SetFloat(f)
	default:
		return fmt.Errorf("cannot be read into a %s", v.Type())
	}
	return nil
}

func parseBool(text string) (bool, error) {
	switch strings.ToLower(text) {
	case "true", "yes", "on", "1":
		return true, nil
	case "false", "no", "off", "0":
		return false, nil
	}
	return false, errors.New("must be true or false")
}

func kindName(v reflect.Value) string {
	switch v.Kind() {
	case reflect.String:
		return "text"
	case reflect.Bool:
		return "true or false"
	}
	return "a number"
}

func isScalar(node ast.Node) bool {
	_, ok := scalarText(node)
	return ok && node.Type() != ast.NullType
}

func isScalarType(t reflect.Type) bool {
	if reflect.PointerTo(t).Implements(reflect.TypeFor[encoding.TextUnmarshaler]()) {
		return true
	}
	return t.Kind() != reflect.Struct && t.Kind() != reflect.Slice && t.Kind() != reflect.Map
}

// scalarText returns the text of a scalar as written.
func scalarText(node ast.Node) (string, bool) {
	switch n := node.(type) {
	case *ast.StringNode:
		return n.Value, true
	case *ast.LiteralNode:
		return n.Value.Value, true
	case *ast.IntegerNode, *ast.FloatNode, *ast.BoolNode, *ast.InfinityNode, *ast.NanNode:
		return node.GetToken().Value, true
	case *ast.NullNode:
		return "", true
	}
	return "", false
}

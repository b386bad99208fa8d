package flow

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"strconv"
	"strings"
	"unicode/utf8"
)

// Bounds of keys, in bytes.
const (
	MaxKeyText  = 500 // of the expression
	MaxKeyValue = 200 // of its value, which is kept by its digest beyond
)

// KeyHint says how a key is written.
const KeyHint = `such as input.customer, input.items[0].id, or input.region + "/" + input.customer`

// keyPart is a part of a key: a text, or a way through what is known of a job.
type keyPart struct {
	text string
	way  []any // names and places; the first is input, task, namespace or queue
}

// KeySource is what a key is read from.
type KeySource struct {
	Namespace, Task, Queue string
	Input                  json.RawMessage
}

// CheckKey says what is wrong with the expression of a key, or nil.
func CheckKey(text string) error {
	_, err := parseKey(text)
	return err
}

// parseKey reads the part of the language of conditions that names a value: ways through the input, texts, and + between
// them. So it ends after as many steps as it is long.
func parseKey(text string) (parts []keyPart, err error) {
	if len(text) > MaxKeyText {
		return nil, fmt.Errorf("is over %d bytes", MaxKeyText)
	}
	if strings.TrimSpace(text) == "" {
		return nil, nil
	}
	r := keyReader{text}
	for {
		r.space()
		var part keyPart
		if r.at('"') || r.at('\'') {
			part.text, err = r.quoted()
		} else {
			part.way, err = r.wayOf()
		}
		if err != nil {
			return nil, err
		}
		parts = append(parts, part)
		if r.space(); r.left == "" {
			return parts, nil
		}
		if !r.take("+") {
			return nil, fmt.Errorf("has %q where a + or its end is expected", r.left)
		}
	}
}

type keyReader struct{ left string }

func (r *keyReader) space()         { r.left = strings.TrimLeft(r.left, " \t\r\n") }
func (r *keyReader) at(c byte) bool { return r.left != "" && r.left[0] == c }
func (r *keyReader) take(s string) (taken bool) {
	r.left, taken = strings.CutPrefix(r.left, s)
	return taken
}

// quoted reads a text in quotes.
func (r *keyReader) quoted() (string, error) {
	quote := r.left[0]
	for i := 1; i < len(r.left); i++ {
		switch r.left[i] {
		case '\\':
			i++
		case quote:
			inside := r.left[1:i]
			r.left = r.left[i+1:]
			if quote == '\'' {
				inside = strings.ReplaceAll(strings.ReplaceAll(inside, `\'`, `'`), `"`, `\"`)
			}
			text, err := strconv.Unquote(`"` + inside + `"`)
			if err != nil {
				return "", fmt.Errorf("has a text that cannot be read: %s", inside)
			}
			return text, nil
		}
	}
	return "", errors.New("has a quote that does not end")
}

// name reads a name.
func (r *keyReader) name() string {
	n := 0
	for n < len(r.left) {
		c := r.left[n]
		if c != '_' && c != '$' && !('a' <= c && c <= 'z') && !('A' <= c && c <= 'Z') && !(n > 0 && '0' <= c && c <= '9') {
			break
		}
		n++
	}
	name := r.left[:n]
	r.left = r.left[n:]
	return name
}

// wayOf reads a way such as input.items[0]["a b"].
func (r *keyReader) wayOf() ([]any, error) {
	root := r.name()
	switch root {
	case "input", "task", "namespace", "queue":
	case "":
		return nil, fmt.Errorf("has %q where input, task, namespace, queue or a text is expected", r.left)
	default:
		return nil, fmt.Errorf("names %q, which is none of input, task, namespace and queue", root)
	}
	way := []any{root}
	for {
		switch {
		case r.take("?.") || r.take("."):
			name := r.name()
			if name == "" {
				return nil, fmt.Errorf("has %q where a name is expected", r.left)
			}
			way = append(way, name)
		case r.take("["):
			step, err := r.step()
			if err != nil {
				return nil, err
			}
			way = append(way, step)
		default:
			if root != "input" && len(way) > 1 {
				return nil, fmt.Errorf("looks into %s, which is a text", root)
			}
			return way, nil
		}
	}
}

// step reads what stands between brackets, and the bracket that ends it.
func (r *keyReader) step() (step any, err error) {
	if r.space(); r.at('"') || r.at('\'') {
		step, err = r.quoted()
	} else {
		digits := len(r.left) - len(strings.TrimLeft(r.left, "0123456789"))
		step, err = strconv.Atoi(r.left[:digits])
		if err != nil {
			return nil, errors.New(`has brackets with neither a place nor a name in quotes in them, such as [0] or ["a b"]`)
		}
		r.left = r.left[digits:]
	}
	if r.space(); err == nil && !r.take("]") {
		err = errors.New("has a bracket that does not end")
	}
	return step, err
}

// KeyValues reads the keys of a job, one for each expression. A value that cannot be read, is missing or is neither
// text, number nor boolean is empty, so that jobs without a value share a key of their own. A value that is too long to
// be kept is the beginning of it and its digest.
func KeyValues(keys []string, from KeySource) []string {
	values := make([]string, len(keys))
	var input any
	read := false
	for i, key := range keys {
		parts, err := parseKey(key)
		if err != nil {
			continue
		}
		var b strings.Builder
		for _, p := range parts {
			switch {
			case p.way == nil:
				b.WriteString(p.text)
			case p.way[0] == "task":
				b.WriteString(from.Task)
			case p.way[0] == "namespace":
				b.WriteString(from.Namespace)
			case p.way[0] == "queue":
				b.WriteString(from.Queue)
			default:
				if !read {
					input, read = decoded(from.Input), true
				}
				b.WriteString(textAt(input, p.way[1:]))
			}
		}
		values[i] = keptKey(b.String())
	}
	return values
}

// decoded keeps numbers as they are written.
func decoded(raw json.RawMessage) (v any) {
	d := json.NewDecoder(bytes.NewReader(raw))
	d.UseNumber()
	if d.Decode(&v) != nil {
		return nil
	}
	return v
}

func textAt(v any, way []any) string {
	for _, step := range way {
		switch step := step.(type) {
		case string:
			m, _ := v.(map[string]any)
			v = m[step]
		case int:
			list, _ := v.([]any)
			if step >= len(list) {
				return ""
			}
			v = list[step]
		}
	}
	switch v := v.(type) {
	case string:
		return v
	case json.Number:
		return v.String()
	case bool:
		return strconv.FormatBool(v)
	}
	return ""
}

// keptKey is a key as it is kept: itself, or if it is long or no text that a database takes, its beginning and digest.
func keptKey(key string) string {
	if len(key) <= MaxKeyValue && utf8.ValidString(key) && !strings.Contains(key, "\x00") {
		return key
	}
	sum := sha256.Sum256([]byte(key))
	start := strings.ReplaceAll(strings.ToValidUTF8(key[:min(len(key), 64)], ""), "\x00", "")
	return start + "…" + hex.EncodeToString(sum[:16])
}

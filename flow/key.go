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
	MaxKeyText  = 500 // of an expression
	MaxKeyValue = 200 // of a value; longer values are stored by their digest
)

// KeyHint is the hint of errors about keys.
const KeyHint = `such as input.customer, input.items[0].id, or input.region + "/" + input.customer`

// keyPart is a part of a key: a text, or a path into the data of a job.
type keyPart struct {
	text string
	root string    // of a path: input, task, namespace or queue; empty: the part is a text
	way  []keyStep // of a path into the input
}

// keyStep is a step of a path: a name in an object, or an index in a list.
type keyStep struct {
	name   string
	index  int
	isName bool
}

// KeySource is the data from which a key is read.
type KeySource struct {
	Namespace, Task, Queue string
	Input                  json.RawMessage
}

// CheckKey returns an error if the expression of a key is invalid.
func CheckKey(text string) error {
	_, err := parseKey(text)
	return err
}

// parseKey parses the subset of the language of conditions that names a value: paths into the input, texts, and + between
// them. So its cost is linear in the length of the text.
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
			part.root, part.way, err = r.path()
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

// quoted parses a quoted text.
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

// name parses a name.
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

// path parses a path such as input.items[0]["a b"].
func (r *keyReader) path() (root string, way []keyStep, err error) {
	switch root = r.name(); root {
	case "input", "task", "namespace", "queue":
	case "":
		return "", nil, fmt.Errorf("has %q where input, task, namespace, queue or a text is expected", r.left)
	default:
		return "", nil, fmt.Errorf("names %q, which is none of input, task, namespace and queue", root)
	}
	for {
		switch {
		case r.take("?.") || r.take("."):
			name := r.name()
			if name == "" {
				return "", nil, fmt.Errorf("has %q where a name is expected", r.left)
			}
			way = append(way, keyStep{name: name, isName: true})
		case r.take("["):
			step, err := r.step()
			if err != nil {
				return "", nil, err
			}
			way = append(way, step)
		default:
			if root != "input" && len(way) > 0 {
				return "", nil, fmt.Errorf("looks into %s, which is a text", root)
			}
			return root, way, nil
		}
	}
}

// step parses an index or name in brackets, and the closing bracket.
func (r *keyReader) step() (step keyStep, err error) {
	if r.space(); r.at('"') || r.at('\'') {
		step.isName = true
		step.name, err = r.quoted()
	} else {
		digits := len(r.left) - len(strings.TrimLeft(r.left, "0123456789"))
		step.index, err = strconv.Atoi(r.left[:digits])
		if err != nil {
			return step, errors.New(`has brackets with neither a place nor a name in quotes in them, such as [0] or ["a b"]`)
		}
		r.left = r.left[digits:]
	}
	if r.space(); err == nil && !r.take("]") {
		err = errors.New("has a bracket that does not end")
	}
	return step, err
}

// KeyValue returns the key of a job. A value that is missing, unreadable or neither text, number nor boolean gives "", so that
// all jobs without a value share one key. A value that is too long to store is replaced by its beginning and its digest.
func KeyValue(key string, from KeySource) string {
	parts, err := parseKey(key)
	if err != nil {
		return ""
	}
	var b strings.Builder
	for _, p := range parts {
		switch p.root {
		case "":
			b.WriteString(p.text)
		case "task":
			b.WriteString(from.Task)
		case "namespace":
			b.WriteString(from.Namespace)
		case "queue":
			b.WriteString(from.Queue)
		default:
			b.WriteString(textAt(from.Input, p.way))
		}
	}
	return keptKey(b.String())
}

// textAt returns the text, number or boolean at the end of a path, as it is written. Each step decodes one level only, which
// takes a third of the time of decoding the whole input.
func textAt(raw json.RawMessage, way []keyStep) string {
	for _, step := range way {
		if step.isName {
			var object map[string]json.RawMessage
			if json.Unmarshal(raw, &object) != nil {
				return ""
			}
			raw = object[step.name]
			continue
		}
		var list []json.RawMessage
		if json.Unmarshal(raw, &list) != nil || step.index >= len(list) {
			return ""
		}
		raw = list[step.index]
	}
	if !json.Valid(raw) {
		return ""
	}
	switch raw = bytes.TrimSpace(raw); {
	case raw[0] == '"':
		var text string
		_ = json.Unmarshal(raw, &text) // is valid
		return text
	case raw[0] == '{', raw[0] == '[', raw[0] == 'n':
		return ""
	}
	return string(raw)
}

// keptKey returns a key as it is stored: unchanged, or, if it is too long or not valid database text, its beginning and digest.
func keptKey(key string) string {
	if len(key) <= MaxKeyValue && utf8.ValidString(key) && !strings.Contains(key, "\x00") {
		return key
	}
	sum := sha256.Sum256([]byte(key))
	start := strings.ReplaceAll(strings.ToValidUTF8(key[:min(len(key), 64)], ""), "\x00", "")
	return start + "…" + hex.EncodeToString(sum[:16])
}

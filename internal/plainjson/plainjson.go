// Package plainjson writes JSON that a person reads: && stays && and is not
// \u0026\u0026. The escapes of encoding/json are for JSON inside of HTML, which
// templates escape by themselves.
package plainjson

import (
	"bytes"
	"encoding/json"
)

// Marshal is [json.Marshal] without escapes for HTML, also in parts that are
// JSON already.
func Marshal(v any) ([]byte, error) {
	text, err := json.Marshal(v)
	return Unescape(text), err
}

// Indent is a JSON text with a line for each value. What is no JSON stays as it is.
func Indent(text []byte) string {
	var b bytes.Buffer
	if json.Indent(&b, text, "", "  ") != nil {
		return string(text)
	}
	return string(Unescape(b.Bytes()))
}

// Unescape writes <, > and & of a JSON text as they are.
// The value stays the same.
func Unescape(text []byte) []byte {
	if !bytes.Contains(text, []byte(`\u00`)) {
		return text
	}
	out := make([]byte, 0, len(text))
	for i := 0; i < len(text); i++ {
		if text[i] != '\\' || i+1 == len(text) {
			out = append(out, text[i])
			continue
		}
		if i+6 <= len(text) {
			if plain := plains[string(bytes.ToLower(text[i+1:i+6]))]; plain != 0 {
				out = append(out, plain)
				i += 5
				continue
			}
		}
		out = append(out, text[i], text[i+1]) // two backslashes are one, and escape nothing after them
		i++
	}
	return out
}

var plains = map[string]byte{"u0026": '&', "u003c": '<', "u003e": '>'}

package core

import (
	"encoding/json"
	"fmt"
)

// MaxJSONDepth is the deepest nesting of inputs, outputs and results of users. Documents that contain them go through
// parsers that stop at 10,000 levels; parsers of other languages stop sooner.
const MaxJSONDepth = 500

// JSONFault returns why a text is not one JSON value within the limits, or "" if it is.
func JSONFault(raw []byte) string {
	for i, depth, quoted := 0, 0, false; i < len(raw); i++ {
		switch c := raw[i]; {
		case c == '"':
			quoted = !quoted
		case quoted && c == '\\':
			i++
		case !quoted && (c == '[' || c == '{'):
			if depth++; depth > MaxJSONDepth {
				return fmt.Sprintf("is nested more than %d levels deep", MaxJSONDepth)
			}
		case !quoted && (c == ']' || c == '}'):
			depth--
		}
	}
	if !json.Valid(raw) {
		return "is not JSON"
	}
	return ""
}

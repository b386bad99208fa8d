package core

import (
	"encoding/json"
	"fmt"
)

// MaxJSONDepth is how deep the inputs, outputs and results of users may be nested. Documents that carry them are read by
// parsers that stop at 10,000 levels, and those of other languages stop sooner.
const MaxJSONDepth = 500

// JSONFault says why a text is not one JSON value that Belfry carries; it is empty when there is no reason.
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

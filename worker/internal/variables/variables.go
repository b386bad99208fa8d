// Package variables makes environment variables of a job and its input.
// Executors of commands and programs use it. A value that would prevent the
// start of the program is left out, and comes on standard input only.
package variables

import (
	"bytes"
	"encoding/json"
	"maps"
	"slices"
	"strconv"
	"strings"
)

// maxVariable is the longest value in the environment, in bytes. Linux refuses
// to start a program with a variable of more than 128 KiB.
const maxVariable = 100 << 10

// OfInput returns BELFRY_INPUT, and BELFRY_INPUT_<KEY> for each key of an object
// whose value is a string, number or boolean. A value over [maxVariable] is left
// out and comes on standard input only.
func OfInput(input json.RawMessage) []string {
	if len(input) == 0 {
		return nil
	}
	env := appendVariable(nil, "BELFRY_INPUT", string(input))
	values := map[string]any{}
	decoder := json.NewDecoder(bytes.NewReader(input))
	decoder.UseNumber() // 1e21 and long IDs stay as written
	if decoder.Decode(&values) != nil {
		return env
	}
	for _, key := range slices.Sorted(maps.Keys(values)) {
		if text, ok := scalar(values[key]); ok && key != "" {
			env = appendVariable(env, "BELFRY_INPUT_"+variableName(key), text)
		}
	}
	return env
}

// appendVariable adds a variable unless it would prevent the start of the program.
func appendVariable(env []string, name, value string) []string {
	if len(value) > maxVariable || strings.ContainsRune(value, 0) {
		return env
	}
	return append(env, name+"="+value)
}

func scalar(v any) (string, bool) {
	switch v := v.(type) {
	case string:
		return v, true
	case json.Number:
		return v.String(), true
	case bool:
		return strconv.FormatBool(v), true
	}
	return "", false
}

// variableName returns key in capitals, with _ for characters that a shell cannot read.
func variableName(key string) string {
	return strings.Map(func(c rune) rune {
		switch {
		case c >= 'a' && c <= 'z':
			return c - 'a' + 'A'
		case c >= 'A' && c <= 'Z', c >= '0' && c <= '9':
			return c
		}
		return '_'
	}, key)
}

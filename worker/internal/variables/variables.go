// Package variables makes variables of the environment of a job's input.
package variables

import (
	"bytes"
	"encoding/json"
	"maps"
	"slices"
	"strconv"
	"strings"
)

// maxVariable is the longest value that is put into the environment. Linux
// refuses to start a program when one variable has more than 128 KiB.
const maxVariable = 100 << 10

// OfInput are BELFRY_INPUT and one BELFRY_INPUT_<KEY> for each key of
// an object whose value is a string, number or boolean. A value that is too long for a
// variable is on standard input only.
func OfInput(input json.RawMessage) []string {
	if len(input) == 0 {
		return nil
	}
	env := appendVariable(nil, "BELFRY_INPUT", string(input))
	values := map[string]any{}
	decoder := json.NewDecoder(bytes.NewReader(input))
	decoder.UseNumber() // 1e21 and long ids stay as they were written
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

// appendVariable leaves out what would keep the program from starting.
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

// variableName is key in capitals, with _ for all that a shell cannot read.
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

package worker

import (
	"bytes"
	"encoding/json"
	"maps"
	"slices"
	"strconv"
	"strings"
	"time"
)

// maxVariable is the longest value that is put into the environment. Linux
// refuses to start a program when one variable has more than 128 KiB.
const maxVariable = 100 << 10

// Variables are what a child process is told of its attempt: BELFRY_JOB_ID,
// BELFRY_ATTEMPT, BELFRY_TASK and so on, and its input. No token is among them.
func (r *Run) Variables() []string {
	env := []string{
		"BELFRY_JOB_ID=" + strconv.FormatInt(r.Job.ID, 10),
		"BELFRY_ATTEMPT=" + strconv.Itoa(r.Job.Attempt),
		"BELFRY_LEASE=" + strconv.FormatInt(r.Lease, 10),
		"BELFRY_TASK=" + r.Job.Task,
		"BELFRY_NAMESPACE=" + r.Job.Namespace,
		"BELFRY_QUEUE=" + r.Job.Queue,
		"BELFRY_SCHEDULE=" + r.Job.Schedule,
	}
	if !r.Job.Nominal.IsZero() {
		env = append(env, "BELFRY_NOMINAL_TIME="+r.Job.Nominal.UTC().Format(time.RFC3339Nano))
	}
	return append(env, inputVariables(r.Input())...)
}

// inputVariables are BELFRY_INPUT and one BELFRY_INPUT_<KEY> for each key of
// an object whose value is a string, number or boolean. What is too long for a
// variable is on standard input only.
func inputVariables(input json.RawMessage) []string {
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

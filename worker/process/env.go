package process

import (
	"bytes"
	"encoding/json"
	"maps"
	"os"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/belfry-run/belfry/worker"
)

// defaultPath is for a worker that has none itself.
const defaultPath = "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin"

// maxVariable is the longest value that is put into the environment. Linux
// refuses to start a program when one variable has more than 128 KiB.
const maxVariable = 100 << 10

// markName is the variable by which an attempt's processes are found again.
const markName = "BELFRY_RUN_ID"

// environment is all that a program gets. Of the worker's own only PATH, HOME,
// LANG and TZ: no token and no database address is among them. What the task
// sets overrides these four. BELFRY_ names cannot be set by tasks.
func environment(r worker.Run, mark string) []string {
	env := []string{
		"PATH=" + inherited("PATH", defaultPath),
		"HOME=" + inherited("HOME", "/"),
		"LANG=" + inherited("LANG", "C.UTF-8"),
	}
	if tz, set := os.LookupEnv("TZ"); set {
		env = append(env, "TZ="+tz)
	}
	for _, name := range slices.Sorted(maps.Keys(r.Task.Command.Env)) {
		env = append(env, name+"="+r.Task.Command.Env[name])
	}
	env = append(env, attemptVariables(r, mark)...)
	return append(env, inputVariables(r.Input())...)
}

func inherited(name, otherwise string) string {
	if value := os.Getenv(name); value != "" {
		return value
	}
	return otherwise
}

func attemptVariables(r worker.Run, mark string) []string {
	env := []string{
		"BELFRY_JOB_ID=" + strconv.FormatInt(r.Job.ID, 10),
		"BELFRY_ATTEMPT=" + strconv.Itoa(r.Job.Attempt),
		"BELFRY_LEASE=" + strconv.FormatInt(r.Lease, 10),
		"BELFRY_TASK=" + r.Job.Task,
		"BELFRY_NAMESPACE=" + r.Job.Namespace,
		"BELFRY_QUEUE=" + r.Job.Queue,
		"BELFRY_SCHEDULE=" + r.Job.Schedule,
		markName + "=" + mark,
	}
	if !r.Job.Nominal.IsZero() {
		env = append(env, "BELFRY_NOMINAL_TIME="+r.Job.Nominal.UTC().Format(time.RFC3339Nano))
	}
	return env
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

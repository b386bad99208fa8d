package program

import (
	"maps"
	"slices"
	"strings"

	"github.com/belfry-run/belfry/worker"
)

// environment returns the whole environment of a program, without variables of
// the worker. The sandbox sets TMPDIR. Each name is there once, because programs
// differ in which of two values they use.
func environment(r *worker.Run, output string, ownRoot bool) []string {
	values := map[string]string{
		"PATH": "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin",
		"HOME": "/",
		"LANG": "C.UTF-8",
		"TZ":   "UTC",
	}
	if ownRoot {
		values["HOME"] = "/tmp"
	}
	maps.Copy(values, r.Task.Program.Env)
	maps.Copy(values, r.Secrets)
	for _, v := range append(r.Variables(), "BELFRY_OUTPUT_DIR="+output) {
		name, value, _ := strings.Cut(v, "=")
		values[name] = value
	}
	var env []string
	for _, name := range slices.Sorted(maps.Keys(values)) {
		env = append(env, name+"="+values[name])
	}
	return env
}

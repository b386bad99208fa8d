package program

import (
	"maps"
	"slices"
	"strings"

	"github.com/belfry-run/belfry/worker"
)

// environment is all that a program gets. Of the worker's own nothing is in it.
// TMPDIR is the sandbox's to set. Each name stands there once: programs do not
// agree which of two counts.
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

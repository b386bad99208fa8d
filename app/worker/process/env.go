package process

import (
	"maps"
	"os"
	"slices"

	"github.com/belfry-run/belfry/worker"
)

// defaultPath is for a worker that has none itself.
const defaultPath = "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin"

// markName is the variable by which an attempt's processes are found again.
const markName = "BELFRY_RUN_ID"

// environment is all that a program gets. Of the worker's own only PATH, HOME,
// LANG and TZ: no token and no database address is among them. Variables of the task
// override these four. BELFRY_ names cannot be set by tasks.
func environment(r *worker.Run, mark string) []string {
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
	env = append(env, markName+"="+mark)
	return append(env, r.Variables()...)
}

func inherited(name, otherwise string) string {
	if value := os.Getenv(name); value != "" {
		return value
	}
	return otherwise
}

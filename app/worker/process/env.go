package process

import (
	"maps"
	"os"
	"slices"

	"github.com/belfry-run/belfry/worker"
)

// defaultPath is the PATH of programs if the worker has none.
const defaultPath = "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin"

// markName is the environment variable that marks the processes of an attempt.
const markName = "BELFRY_RUN_ID"

// environment returns the whole environment of a program. From the worker's it
// has only PATH, HOME, LANG and TZ, and so no token or database address. The task
// may override these four, but cannot set BELFRY_ names.
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

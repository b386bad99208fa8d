package sandbox

import "github.com/belfry-run/belfry/app/worker/sandbox/internal/child"

// Init must be the first thing that main does. In the copies of the worker
// that set up a run it never returns; otherwise it does nothing.
func Init() { child.Init() }

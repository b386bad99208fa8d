// Package app assembles a node: a store, the engine that fires schedules,
// workers, and the API. It is the only package that imports all of them. The
// belfry command is a thin shell around it, and a Go program can embed a node in
// the same way.
//
// [App.Start] starts all parts or none. [App.Stop] may be called before Start
// and more than once. It ends the parts in a fixed order, within the grace for
// running jobs plus 30 seconds.
package app

// Package app puts the parts of Belfry together: a store, the engine that fires
// schedules, workers, and the API. It is the only package that knows all of
// them. The belfry command is a thin shell around it, and a Go program that
// wants the whole thing inside itself uses it the same way.
//
// [App.Start] starts everything or nothing. [App.Stop] may be called early,
// late and more than once, ends everything in a stated order, and takes no
// longer than the grace for running jobs and a little more.
package app

// Package health records which kinds of jobs this machine currently cannot
// start. The worker claims no jobs of these kinds, for growing times, and tries
// one again after that. A success ends the record.
package health

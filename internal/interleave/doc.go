// Package interleave runs two transitions of the store at the same time on a real PostgreSQL, in every relevant order. Each
// statement waits at a gate, and a scheduler admits one at a time. The answers and final rows must equal those of one of
// the two serial orders. The package has only tests.
package interleave

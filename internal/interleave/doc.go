// Package interleave has two transitions of the store meet on a real PostgreSQL in every order that matters. Each
// statement waits at a gate, and a scheduler lets one through at a time. What is answered and what the rows are in the
// end must be what one of the two serial orders makes of them. It has tests alone.
package interleave

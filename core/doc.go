// Package core has the types and functions that all packages share: errors with
// a code and field problems, names, durations, sizes, secrets, instants and
// paging. It does no I/O and reads no clock.
package core

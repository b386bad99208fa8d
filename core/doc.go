// Package core has what every noun of Belfry needs and what is no noun itself:
// errors with a code and field problems, names, durations, sizes, secrets,
// instants and paging. It does no I/O and reads no clock.
package core

// Package bench measures Belfry alone: what a job costs, how late it starts, what idle schedules and a long history
// weigh, how soon the work of a killed node goes on, and what many monitors cost. Command node prints it all as one
// table; its figures stand in docs/benchmarks.md with the conditions they were measured under. Comparisons with other
// systems are in the module bench, so that their code stays out of this one.
//
// What is about the core runs in this process, as a Go program embeds it. Where a whole node matters it is a process of
// its own: the built binary, or, to time Go handlers, this program as a node of package app.
//
// Large states are not made call by call. The generators copy rows that the API made, whatever their columns, so that
// they cannot drift from it; see [Site.CloneSchedules] and [Site.CloneHistory].
package bench

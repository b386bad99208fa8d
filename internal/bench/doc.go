// Package bench measures Belfry alone: what a job costs, how late it starts, what idle schedules and a long history
// weigh, how soon the work of a killed node goes on, and what many monitors cost. Command node prints it all as one
// table; its figures stand in docs/benchmarks.md with the conditions they were measured under. Comparisons with other
// systems are in the module bench, so that their code stays out of this one.
//
// What is about the core runs in this process, as a Go program embeds it. Where a whole node matters it is a process of
// its own: the built binary, or, to time Go handlers, this program as a node of package app.
//
// Its rooms, each of which imports only those above it:
//
//	report                        quantiles, spreads, units and the table
//	process                       programs under way, and what they and the machine use
//	database, target              SQLite and PostgreSQL with what lies in them, and the server that is monitored
//	node                          Belfry: in this process, as a process of this program, as the built program
//	rates, schedules, monitors,   the scenarios
//	programs, recovery, pages
//	bench                         the run: which scenarios, in which order, as which rows
//
// Large states are not made call by call. The generators copy rows that the API made, whatever their columns, so that
// they cannot drift from it; see package database.
package bench

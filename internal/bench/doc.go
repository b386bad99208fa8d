// Package bench measures Belfry alone: the cost and start latency of jobs, the cost of idle schedules, of a long history
// and of many monitors, and the time until the jobs of a killed node run again. Command node prints the figures as one
// table; docs/benchmarks.md has them with their conditions. Comparisons with other systems are in the module bench, so
// that their code stays out of this one.
//
// Measures of the core run in this process, as a Go program embeds it. Measures of a whole node use a process of its own:
// the built binary, or, to time Go handlers, this program as a node of package app.
//
// Its packages, each of which imports only those above it:
//
//	report                        quantiles, spreads, units and the table
//	process                       running programs, and the usage of programs and the machine
//	database, target              SQLite and PostgreSQL with their content, and the server for monitors
//	node                          Belfry: in this process, as a process of this program, as the built program
//	rates, schedules, monitors,   the scenarios
//	programs, recovery, pages
//	bench                         the run: scenarios, their order, and their rows in the table
//
// Large states are not made call by call. The generators copy rows that the API made, with all their columns, so they
// cannot drift from the API; see package database.
package bench

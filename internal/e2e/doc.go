// Package e2e drives the real program as its users do: it builds belfry once,
// starts it as processes of their own on SQLite and on PostgreSQL, talks to
// them by the command line and by HTTP, and kills, stops and cuts them off.
// Everything is in its tests.
//
// What they rely on is what a user sees: output, exit codes, HTTP, the log on
// standard error. A process that a test started ends with the test, and with
// the test process however that ends.
//
// Some things can be set in the environment:
//
//	BELFRY_E2E_BINARY  the program to drive, such as one built with -race; default: built from here
//	BELFRY_E2E_ROUNDS  how often the chaos tests kill a node; default: 4
//	BELFRY_E2E_SEED    what their choices follow from; default: random, and printed
package e2e

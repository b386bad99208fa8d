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
//	BELFRY_E2E_ROUNDS  how often something goes wrong in the chaos tests; default: 2
//	BELFRY_E2E_SEED    what their choices follow from; default: random, and printed
//	BELFRY_E2E_HISTORY a folder that keeps the histories of the chaos tests
//	BELFRY_FAKETIME    libfaketimeMT.so.1, where it is not found; make setup installs it
//
// # Chaos
//
// Rounds of faults, one kind after the other in an order that follows from the
// seed, go over one node on SQLite and one to three on PostgreSQL, which work
// all the while. Every handler writes down what it does, and in the end the
// history is compared with the record (checker_*_test.go): no job is lost,
// nothing is recorded that was not done under its lease, a nominal time has at
// most one job, limits hold, attempts do not overlap, every job has ended or
// says why not, every schedule goes on. In between, every round ends only when
// every node takes and finishes work again.
//
//	chaos_test.go          the rounds
//	chaos_cluster_test.go  nodes, databases, proxies, the small disk
//	chaos_load_test.go     what is asked for and what the handlers do
//	chaos_judge_test.go    reads the record and has it checked
//	chaos_history_test.go  records what clients are told, and has the history checked (internal/history)
//	chaos_found_test.go    what the rounds found, each as a test of its own
//	fault_*_test.go        a file for each family of faults
//	stepped_test.go        the program with a clock that can be set
package e2e

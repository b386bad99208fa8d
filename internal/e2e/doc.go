// Package e2e tests the real program as users run it. Its tests build belfry once,
// start it as processes on SQLite and on PostgreSQL, use the command line and HTTP,
// and kill and stop the processes and cut their connections.
//
// The tests rely on what a user sees: output, exit codes, HTTP, and the log on
// standard error. A process that a test started ends with the test, and with the
// test process, however it ends.
//
// Environment variables:
//
//	BELFRY_E2E_BINARY  the program to drive, such as one built with -race; default: built from here
//	BELFRY_E2E_ROUNDS  the number of rounds of faults in the chaos tests; default: 2
//	BELFRY_E2E_SEED    the seed of their choices; default: random, and printed
//	BELFRY_E2E_HISTORY a folder that keeps the histories of the chaos tests
//	BELFRY_FAKETIME    the path of libfaketimeMT.so.1, if it is not found; make setup installs it
//
// # Chaos
//
// Rounds of faults run against one node on SQLite and one to three nodes on PostgreSQL,
// which work meanwhile. Each kind of fault occurs in turn, in an order that follows from
// the seed. Every handler records what it does, and in the end this history is compared
// with Belfry's record (checker_*_test.go): no job is lost, only work under its lease is
// recorded, a nominal time has at most one job, limits hold, attempts do not overlap,
// every job has ended or says why not, every schedule continues. A round ends only when
// every node claims and finishes jobs again.
//
//	chaos_test.go          the rounds
//	chaos_cluster_test.go  nodes, databases, proxies, the small disk
//	chaos_load_test.go     the requests of clients and the work of handlers
//	chaos_judge_test.go    reads the record and checks it
//	chaos_history_test.go  records the answers to clients, and checks the history (internal/history)
//	chaos_found_test.go    a test for each fault that the rounds found
//	fault_*_test.go        a file for each family of faults
//	stepped_test.go        the program with a clock that can be set
package e2e

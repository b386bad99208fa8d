// Package truth compares the numbers that a person reads with known truths: a
// target that delays its answer by 400 ms must read as 400 ms, wherever the
// number is shown. Everything is in its tests.
//
// A test here is called TestKnownTruth and then its subject. It makes a fact
// happen whose size it knows, reads the number as a user does (through the API of
// a whole node), and compares the two. Where the number is a time, the bounds
// are generous, because the faults that it looks for are factors; see near.
//
//	node_test.go     a node in this process, its client, and the bounds
//	targets_test.go  targets that delay by a known time in a known phase
//	latency_test.go  checks of every kind: latency, phases, conditions
//	history_test.go  results, percentiles and uptime of a known history
package truth

// Package truth compares displayed numbers with known facts: a target that
// delays its answer by 400 ms must be shown with 400 ms everywhere. The package
// consists of tests.
//
// Names of tests are TestKnownTruth and the subject. A test causes a fact of
// known size, reads the number like a user, through the API of a whole node, and
// compares the two. Bounds of times are generous, because the tests look for
// wrong factors; see near.
//
//	node_test.go     a node in this process, its client, and the bounds
//	targets_test.go  targets that delay by a known time in a known phase
//	latency_test.go  checks of every kind: latency, phases, conditions
//	history_test.go  results, percentiles and uptime of a known history
package truth

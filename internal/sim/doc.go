// Package sim simulates whole clusters in one process: the real engine, worker and store, with their SQL, under a fake
// clock and with one source of all choices. It has only tests; docs/proof.md describes what they show.
//
// The seed determines a run: the script of load and faults, the travel time of each call, and the order of waiting calls.
// The same seed gives the same run, byte for byte.
//
// Each node has its own [store.Store] over one SQLite database. All transactions pass the gate, which admits one at a time,
// when every other goroutine waits.
package sim

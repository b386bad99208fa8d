// Package sim simulates whole clusters in one process: the real engine, worker and store, with their SQL, under a fake
// clock and with one source of all choices. It has tests alone; docs/proof.md tells what they show.
//
// A run follows from its seed: the script of load and faults, how long each call travels, and which of the calls that wait
// goes first. The same seed gives the same run, byte for byte.
//
// Each node has a [store.Store] of its own over one SQLite database. All transactions pass the gate, which lets one go at
// a time, when every other goroutine waits.
package sim

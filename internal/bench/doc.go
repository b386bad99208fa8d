// Package bench measures a whole node: how late scheduled jobs start, and what
// an idle node with many schedules costs. Its figures stand in
// docs/benchmarks.md, with the conditions they were measured under.
package bench

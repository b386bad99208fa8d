// Package task says what to run: a [Task] of some [Kind] with its settings,
// queue, priority, timeout and [Retry] policy, what it needs of a worker, and
// what a check of a target found.
package task

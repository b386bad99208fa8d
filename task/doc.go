// Package task defines what to run: a [Task] of a [Kind] with its settings, queue,
// priority, timeout, [Retry] policy and requirements of a worker. It also defines
// the results of checks.
package task

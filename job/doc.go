// Package job defines jobs and the right to run them. A [Job] is one requested
// execution of a task, an [Attempt] one try of the job under one lease, a [Queue]
// a lane of jobs, and [Leaser] the protocol between workers and the store.
//
// [Settle] takes a job and the result of an attempt, and decides whether the job
// ends or is retried.
package job

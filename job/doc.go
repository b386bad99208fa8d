// Package job has jobs and the right to run them: a [Job] is one asked-for
// execution, an [Attempt] one try of it under one lease, a [Queue] a lane of
// jobs, and [Leaser] the protocol between a worker and whatever leases jobs to it.
//
// [Settle] is the decision: it takes a job and what came of an attempt at it, and
// says whether the job ends or is tried again.
package job

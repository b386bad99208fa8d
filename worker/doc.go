// Package worker claims jobs from a [job.Leaser], runs them, and reports
// their results.
//
// # Guarantees
//
// A worker works in sessions. A session has a lease, which counts by this
// machine's monotonic clock from the sending of the last accepted renewal. If no
// renewal is accepted, the worker fences itself a tenth of the lease before its
// end: it claims no more, cancels all attempts with [ErrLost], kills its
// children, and reports no result of the started attempts. Only then does it
// open a new session. The server gives up a session [job.LostGrace] after its
// end, so old and new worker never run the same job together while this process
// runs. A process that was suspended (SIGSTOP, a sleeping machine) stops its
// jobs as soon as it runs again; its commands run on meanwhile.
//
// Every job that arrives is either run and reported once, or handed back. A
// report that cannot be delivered is kept and retried for ten minutes. It does
// not use the context of the attempt: neither the end of the job nor shutdown
// can cancel it.
//
// The output of an attempt is delivered before its report, because the report
// ends the lease under which logs are accepted. A log that cannot be delivered
// delays the attempt for seconds only: then the rest is dropped and the log is
// marked as cut.
//
// # Assumptions
//
// Server calls return when their context ends. A handler that outlives its
// cancelled context is left behind after [Options.Patience], with a warning: Go
// cannot stop a goroutine. A panic in a goroutine that a handler has started
// ends the process; only the handler can prevent that.
//
// # Structure
//
// [Worker.Run] opens one session after the other. A session has one consumer per
// queue, which claims jobs for its free slots and starts attempts, and one loop
// that renews the lease. A slot runs one attempt at a time, in a goroutine
// called runner. The workerRun of a Run outlives its sessions. It has the
// reporter, which delivers results in batches, the shipper, which delivers logs,
// and the sender of progress.
package worker

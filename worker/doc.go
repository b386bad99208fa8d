// Package worker claims jobs from a [belfry.Broker], runs them, and reports
// what came of them.
//
// # What it guarantees
//
// A worker lives in sessions. A session has a lease, counted by this machine's
// monotonic clock from the moment the last accepted renewal was sent. A tenth
// of its length before the lease ends without a new renewal the worker fences
// itself: it claims no more, cancels everything it runs with [ErrLost], kills
// its children, and reports nothing of what it had started. Only then does it
// open a new session. The broker gives a session up [belfry.LostGrace] after
// its end, so the two never run the same job together while this process runs.
// One that was stopped (SIGSTOP, a machine that sleeps) stops its jobs as soon
// as it runs again; commands that it had started run on meanwhile.
//
// Every job that arrives is either run and reported once, or handed back. A
// report that cannot be delivered is kept and tried again for ten minutes. It
// carries no context of the attempt: neither the job's end nor shutdown can
// cancel it.
//
// The output of an attempt is delivered before its report, because the report
// ends the lease under which logs are accepted. A log that cannot be delivered
// holds its attempt up for seconds, never for good: the rest is dropped and
// the attempt is marked as cut.
//
// # What it relies on
//
// Broker calls return when their context ends. Handlers that outlive their
// cancelled context are left behind after a while, with a warning: Go cannot
// stop a goroutine. A panic in a goroutine that a handler started itself ends
// the process, which only the handler can prevent.
//
// # How it is laid out
//
// [Worker.Run] opens one life (a session) after the other. A life has one lane
// per queue, which claims for its own free slots and starts attempts, and one
// loop that renews. Beside the lives, and longer than each of them, run the
// reporter, which delivers results in batches, and the shipper, which delivers
// logs.
package worker

// Package model specifies the protocol of leases and schedules between the store
// and its workers, small enough to visit every state: claim, renew, release, settle
// and fire, with workers that crash, freeze and come late, and people who cancel,
// pause and resume. Its tests explore the model with package check, and then take
// the same steps with the real store.
//
//	go test ./internal/model/...            # everything, on SQLite and PostgreSQL
//	go test -v -run Promise ./internal/model  # the worlds, with their states and steps
//	go test -v -run Guard ./internal/model    # what breaks without each guard, and how
//	go test -v -run Replay ./internal/model   # against the real store
//
// # What is modelled
//
// A transaction whose reads all come after its locks is one step, because it is
// indistinguishable from one. Two actions have more steps. A claim picks jobs from
// a snapshot; it locks their rows and inserts the leases later, and other
// transactions may come between (Config.Split). Calls take time: a claim's answer,
// a renewal and a finish may be late or lost, arrive twice, and outlive their
// sender (Config.SlowClaim and similar). Without a guard there are more steps: a
// transaction that reads first and locks later gets a step for the read.
//
// Rows are as in the schema: a job is live or has ended; it runs if it has a row in
// leases, and a claim does not change the row of the job. Time is in ticks that are
// left or have passed, and lease numbers are kept as their order. So both can go on
// forever in finitely many states. Only planned nominal times come to an end.
//
// No world contains everything. Each world of TestEveryPromiseHoldsInEveryWorld is
// about one kind of fault: waiting jobs in a worker for claims ahead of its slot,
// one job and two workers for messages, two jobs for batches and limits, a schedule
// with Loose workers for schedules. Together they have 1.8 million states and 13
// million steps, and take half a minute of processor time.
//
// # Promises
//
// promises.go lists the promises: invariants of states, invariants of steps, and
// progress that stays possible from every state by the system's own steps, so that
// no schedule stops and no job is forgotten. The promise that jobs do not run twice
// at once depends on assumptions of the model: clocks go equally fast, a frozen
// process reads its clock before it continues, and a renewal arrives soon or never.
//
// # A broken variant
//
// Config.Without removes a guard, and TestNoGuardCanBeSpared requires that the
// checker finds the promise that it protects. Without the second read of leases:
//
//	a job has one lease at most: job 1 has two
//	   0. job 1 ready; worker 1, idle; worker 2, idle
//	   1. worker 1 opens a session          session 1 alive, 2 left; …
//	   2. the claim of worker 1 looks       … claim picked 1
//	   3. worker 2 opens a session          session 2 alive, 2 left; …
//	   4. the claim of worker 2 looks       … claim picked 1
//	   5. worker 1 claims                   job 1 ready, lease 1 of session 1; …
//	   6. worker 2 claims                   job 1 ready, lease 1 of session 1, lease 2 of session 2; …
//
// Some guards replace each other, and a promise is violated only without both: a
// claim that locks its session's row, and a release that finds leases of every
// ended session; the lock on a schedule, and the unique nominal time.
//
// # Replay
//
// Smaller worlds are replayed: tours through the graph take every step with the
// store's exported methods, on new rows and with a clock of the test. After each
// step, the readable rows and the results of the methods must equal those of the
// model. On SQLite all steps are replayed. On PostgreSQL some hundred steps of each
// world are, different ones each time (the seed is logged; BELFRY_MODEL_SEED
// repeats it), once with a row for each lease and once with each claim in a pack.
// The parts of a claim are one step there. Worlds that claim ahead are not
// replayed: their cases are in store/storetest.
//
// # What is not modelled
//
// Not modelled are deadlocks and the order of locks: PostgreSQL ends one of the two
// transactions and the store tries again. Nor is the low-water mark of claims, which
// only tells where a search begins. Nor are deadlines of jobs, snoozing, backfills,
// retries by hand, calendars, edits of schedules, max_runs, overlaps other than skip
// and buffer_one, and catch-up other than the latest: they have cases in
// store/storetest, and their decisions have tests in the root. Limits, sequences,
// fair queues and workflows are simulated by internal/sim, and interleaved in
// internal/interleave.
package model

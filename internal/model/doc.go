// Package model is what the store and its workers do with leases and
// schedules, small enough to visit every state: claim, renew, release, settle
// and fire, with workers that crash, freeze and come late, and people who
// cancel, pause and resume. Its tests explore it with package check and then
// take the same steps with the real store.
//
//	go test ./internal/model/...            # everything, on SQLite and PostgreSQL
//	go test -v -run Promise ./internal/model  # the worlds, with their states and steps
//	go test -v -run Guard ./internal/model    # what breaks without each guard, and how
//	go test -v -run Replay ./internal/model   # against the real store
//
// # What is modelled
//
// A transaction whose reads all come after its locks is one step, because
// it cannot be told from one. Two things are not: a claim picks jobs by a
// snapshot, and locks their rows and inserts the leases later, when others may
// have been there (Config.Split); and calls take time, so that a claim's
// answer, a renewal and a finish travel, are lost, arrive twice and survive
// their sender (Config.SlowClaim and its like). Without a guard there are more:
// whatever a store does that looks first and locks later gets a step for the
// look.
//
// Rows are as in the schema: a job is live or has ended; it runs if it has a
// row of leases, and a claim does not touch the row of the job. Time is ticks
// that are left or have passed, and lease numbers are kept as their order, so
// that both can go on for ever in finitely many states. Only planned nominal
// times come to an end.
//
// No world has everything in it. The worlds of TestEveryPromiseHoldsInEveryWorld
// are about one kind of fault each: jobs that wait in a worker where claims go
// ahead of its slot, one job and two workers where messages
// matter, two jobs where batches and limits do, a schedule beside workers that
// may say anything where schedules do. Together they have 1.8 million states
// and 13 million steps, and take half a minute of processor time.
//
// # What it promises
//
// promises.go lists them: invariants of states, of steps, and what must stay
// possible from every state by the system's own doing, so that no loop is dead
// and no job is forgotten. That jobs do not run twice at once rests on what the
// model takes for granted: clocks go equally fast, a frozen process looks at
// its clock before it goes on, and a renewal arrives soon or never.
//
// # A broken variant
//
// Config.Without takes away a guard, and TestNoGuardCanBeSpared wants the
// checker to say which promise falls with it. Without the second look at leases:
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
// Some guards stand in for each other, and only fall together: a claim that
// locks its session's row, and a release that looks for leases of every session
// that ever ended; the lock on a schedule, and the unique nominal time.
//
// # Replay
//
// Smaller worlds are replayed: tours through the graph take every one of their
// steps with the store's exported methods, on fresh rows and a clock of the
// test's, and after each the rows that can be read must be what the model says,
// as must what the methods answered. On SQLite these are all steps; on
// PostgreSQL some hundred of each world, others each time (the seed is logged;
// BELFRY_MODEL_SEED repeats it), once with a row for each lease and once with
// each claim in a pack. The parts of a claim are one there. Worlds that claim
// ahead are not replayed: their cases are in store/storetest.
//
// # What is not modelled
//
// Deadlocks, and the order of locks: PostgreSQL ends one of the two and the
// store tries again. The low-water mark of claims, which only says where a look
// begins. Deadlines of jobs, snoozing, backfills, retries by hand, calendars, edits of
// schedules, max_runs, the overlaps beyond skip and buffer_one, catch-up beyond
// the latest. They have their cases in store/storetest, and their decisions have
// tests in the root. Limits, sequences, fair queues and workflows are simulated
// by internal/sim, and meet in internal/interleave.
package model

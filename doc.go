// Package belfry holds the words and the rules of Belfry: tasks, schedules,
// jobs, queues, leases, and the two decisions that carry all policy.
//
// [Fire] takes a schedule, the facts around it and the present instant, and
// says which of its nominal times become jobs, which do not and why, and when
// to look again. [Settle] takes a job and what came of an attempt at it, and
// says whether the job ends or is tried again. Neither does I/O, reads a clock
// or keeps state: the store reads facts, asks, and writes the answer in one
// transaction.
//
// Words used everywhere, in code, SQL, API and command line:
//
//	task        what to run and its policy
//	schedule    when a task runs
//	occurrence  one nominal time of a schedule and what was decided for it
//	job         one asked-for execution, a durable row
//	attempt     one try of a job, by one worker, under one lease
//	lease       the numbered right to one attempt; it only grows, so it fences
//	queue       a lane of jobs with its own concurrency, priority and pause
//	worker      whoever claims and runs jobs
//	session     one life of a worker or node: id and start
//	namespace   owner of tasks, schedules and tokens
//
// The package imports the standard library and [github.com/belfry-run/belfry/cron]
// only. Who keeps state is in package store, who moves things in engine,
// worker and httpapi, and who wires them in app.
package belfry

// Package schedule says when a task runs: a [Schedule] is the union of its
// rules without the times of its calendars.
//
// [Fire] is the decision: it takes a schedule, the facts around it and the
// present instant, and says which of its nominal times become jobs, which do
// not and why, and when to look again. The store reads the facts, asks, and
// writes the answer in one transaction.
package schedule

// Package schedule defines when tasks run. A [Schedule] is the union of its rules
// without the times that its calendars exclude.
//
// [Fire] takes a schedule, the facts about its jobs and the current time. It
// decides which nominal times become jobs, which do not and why, and when to look
// again. The store reads the facts, calls Fire, and writes the result in one
// transaction.
package schedule

// Package program runs jobs of kind program: uploaded compiled binaries,
// on a machine that does not trust them.
//
// # What happens
//
// A child process of this program fetches the artifact, compares it with its
// digest while it streams, and puts it into a cache. Before each run the bytes
// are compared again. A program that cannot run here is refused in words before it is tried.
// The program runs in [sandbox]: with the task's limits, under the strongest
// isolation that works here and never under less than the task or the operator
// asks for, without a network unless both allow it. It is given its arguments,
// environment, input and secrets, and a folder for output; no token, no
// credential and nothing of the worker's environment.
//
// # What it guarantees
//
// Whatever a program does, Execute returns once it and all that it started is
// gone, and its folders with it. The next [Open] clears away what a killed worker
// leaves behind. Of output the first and the last part is kept, and
// the rest read and dropped: a program can neither fill the worker's memory nor
// be stalled by it. Values of secrets do not leave the worker in logs or errors.
//
// # What it relies on
//
// [Init] is the first thing that main does. The state folder belongs to this
// user alone, and every user may pass through the folders above it where
// programs get a user of their own without a root of their own.
package program

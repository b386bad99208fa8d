// Package program runs jobs of kind program: uploaded compiled binaries,
// on a machine that does not trust them.
//
// # A run
//
// A child process of the worker fetches the artifact, compares it with its
// digest while it streams, and puts it into a cache. Before each run the bytes
// are compared again. A program that cannot run here is refused before the run,
// with the reason. The program runs in [sandbox], with the task's limits and the
// strongest isolation that works here, and never with less than the task or the
// operator requires. It has no network unless both allow it. It gets its
// arguments, environment, input and secrets, and a folder for output. It gets no
// token, no credential and nothing of the worker's environment.
//
// # Guarantees
//
// Execute returns once the program, all processes that it started, and its
// folders are gone. The next [Open] removes leftovers of a killed worker. The
// first and the last part of the output are kept, and the rest is read and
// dropped: a program can neither fill the worker's memory nor block on output.
// Values of secrets do not leave the worker in logs or errors.
//
// # Requirements
//
// main calls [Init] first. The state folder belongs to this user alone. If
// programs get a user of their own without a root of their own, every user must
// be able to traverse the folders above it.
package program

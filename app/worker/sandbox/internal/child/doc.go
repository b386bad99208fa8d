// Package child implements the copies of the worker: the init of a run, and the set-up copy that becomes the program.
package child

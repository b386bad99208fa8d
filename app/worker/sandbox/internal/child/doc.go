// Package child is what the copies of the worker do: the init of a run, and the set-up copy that becomes the program.
package child

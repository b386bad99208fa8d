// Package scratch bounds, reads and removes a folder that a program of strangers has written to.
package scratch

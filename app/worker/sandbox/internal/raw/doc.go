// Package raw makes system calls that the Go runtime does not notice, for a thread that becomes another program.
package raw

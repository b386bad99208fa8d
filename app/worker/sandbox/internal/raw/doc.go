// Package raw makes system calls without the Go runtime's scheduler, for a
// thread that becomes another program. Between the first such call and exec,
// nothing may allocate or switch goroutines.
package raw

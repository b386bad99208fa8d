//go:build unix

// Package procgroup starts programs in process groups of their own, so that all
// that one of them started can be ended with it.
//
// A group is killed before its program is reaped, where the system can tell the
// one from the other: afterwards its number may belong to another process. And
// the kernel's promise to kill a program when its parent dies, which only Linux
// gives, is made to the thread that started it, so that thread must stay for as
// long as the program runs (runtime.LockOSThread).
package procgroup

import "syscall"

// Kill signals every process of a group, by the number of the program that it
// was made for.
func Kill(pid int, signal syscall.Signal) { _ = syscall.Kill(-pid, signal) }

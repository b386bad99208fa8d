package e2e

import "syscall"

// endWithUs makes the kernel kill a process when the tests end, and shields the
// process from a Ctrl-C at the terminal.
func endWithUs() *syscall.SysProcAttr {
	return &syscall.SysProcAttr{Setpgid: true, Pdeathsig: syscall.SIGKILL}
}

package e2e

import "syscall"

// endWithUs makes the kernel kill a process when the tests end without having
// done so, and keeps a Ctrl-C at the terminal away from it.
func endWithUs() *syscall.SysProcAttr {
	return &syscall.SysProcAttr{Setpgid: true, Pdeathsig: syscall.SIGKILL}
}

package sandbox

import (
	"os"
	"os/exec"
	"syscall"

	"golang.org/x/sys/unix"
)

// command is the init.
func (b *building) command() *exec.Cmd {
	cmd := &exec.Cmd{
		Path: "/proc/self/exe", Args: []string{initName}, Env: []string{}, Dir: "/",
		Stdin: b.spec.Stdin, Stdout: b.spec.Stdout, Stderr: b.spec.Stderr,
		WaitDelay: outputWait,
	}
	sys := &syscall.SysProcAttr{Setsid: true}
	cmd.SysProcAttr = sys
	if !b.hasNS() {
		return cmd // when the worker dies, it must live to kill the others
	}
	sys.Pdeathsig = syscall.SIGKILL // and all of its pid namespace with it
	sys.Cloneflags = unix.CLONE_NEWPID | unix.CLONE_NEWNS | unix.CLONE_NEWIPC | unix.CLONE_NEWUTS
	if !b.spec.Network {
		sys.Cloneflags |= unix.CLONE_NEWNET
	}
	if !b.plan.has(LayerUserNS) {
		return cmd
	}
	sys.Cloneflags |= unix.CLONE_NEWUSER
	if b.hasUID() {
		ids := []syscall.SysProcIDMap{{ContainerID: insideRoot, HostID: b.slot.base, Size: 1}, {ContainerID: insideUID, HostID: b.slot.base + 1, Size: 1}}
		sys.UidMappings, sys.GidMappings, sys.GidMappingsEnableSetgroups = ids, ids, true
		// Without it the init would look like nobody and still be the machine's root.
		sys.Credential = &syscall.Credential{Uid: insideRoot, Gid: insideRoot}
		return cmd
	}
	sys.UidMappings = []syscall.SysProcIDMap{{ContainerID: insideUID, HostID: os.Geteuid(), Size: 1}}
	sys.GidMappings = []syscall.SysProcIDMap{{ContainerID: insideUID, HostID: os.Getegid(), Size: 1}}
	sys.AmbientCaps = worthy
	return cmd
}

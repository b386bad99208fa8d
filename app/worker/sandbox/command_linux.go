package sandbox

import (
	"os"
	"os/exec"
	"syscall"

	"golang.org/x/sys/unix"

	"github.com/belfry-run/belfry/app/worker/sandbox/internal/child"
)

// command returns the command of the init.
func (b *setup) command() *exec.Cmd {
	cmd := &exec.Cmd{
		Path: "/proc/self/exe", Args: []string{child.InitName}, Env: []string{}, Dir: "/",
		Stdin: b.spec.Stdin, Stdout: b.spec.Stdout, Stderr: b.spec.Stderr,
		WaitDelay: outputWait,
	}
	sys := &syscall.SysProcAttr{Setsid: true}
	cmd.SysProcAttr = sys
	if !b.hasNS() {
		return cmd // when the worker dies, the init must survive to kill the other processes
	}
	sys.Pdeathsig = syscall.SIGKILL // also ends all processes of its pid namespace
	sys.Cloneflags = unix.CLONE_NEWPID | unix.CLONE_NEWNS | unix.CLONE_NEWIPC | unix.CLONE_NEWUTS
	if !b.spec.Network {
		sys.Cloneflags |= unix.CLONE_NEWNET
	}
	if !b.plan.has(LayerUserNS) {
		return cmd
	}
	sys.Cloneflags |= unix.CLONE_NEWUSER
	if b.hasUID() {
		ids := []syscall.SysProcIDMap{{ContainerID: child.InsideRoot, HostID: b.slot.base, Size: 1}, {ContainerID: child.InsideUID, HostID: b.slot.base + 1, Size: 1}}
		sys.UidMappings, sys.GidMappings, sys.GidMappingsEnableSetgroups = ids, ids, true
		// Without it the init would appear as the user nobody, but still be the machine's root.
		sys.Credential = &syscall.Credential{Uid: child.InsideRoot, Gid: child.InsideRoot}
		return cmd
	}
	sys.UidMappings = []syscall.SysProcIDMap{{ContainerID: child.InsideUID, HostID: os.Geteuid(), Size: 1}}
	sys.GidMappings = []syscall.SysProcIDMap{{ContainerID: child.InsideUID, HostID: os.Getegid(), Size: 1}}
	sys.AmbientCaps = child.Worthy
	return cmd
}

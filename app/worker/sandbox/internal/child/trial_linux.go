package child

import (
	"errors"
	"fmt"
	"net"
	"os"
	"strings"

	"golang.org/x/sys/unix"

	"github.com/belfry-run/belfry/app/worker/sandbox/internal/cgroup"
	"github.com/belfry-run/belfry/app/worker/sandbox/internal/isolation"
	"github.com/belfry-run/belfry/app/worker/sandbox/internal/raw"
)

// tryOut runs in a copy that is fully set up, and returns the layers that are not in force.
func tryOut(s *Setup) (broken []string) {
	if !s.Trial {
		return nil
	}
	check := func(l isolation.Layer, try func() error) {
		if s.has(l) {
			if err := try(); err != nil {
				broken = append(broken, err.Error())
			}
		}
	}
	check(isolation.LayerUID, func() error { return tryUser(s.UID) })
	check(isolation.LayerSeccomp, trySeccomp)
	check(isolation.LayerLandlock, tryLandlock)
	check(isolation.LayerNamespaces, tryNamespaces)
	for _, l := range cgroup.Layers {
		check(l, func() error { return tryMember(s.Name) })
	}
	check(isolation.LayerEgress, tryEgress)
	return broken
}

func tryUser(uid int) error {
	have, err := capabilities()
	switch {
	case err != nil:
		return err
	case unix.Geteuid() != uid || unix.Getuid() != uid:
		return fmt.Errorf("the user is %d instead of %d", unix.Geteuid(), uid)
	case have != 0:
		return fmt.Errorf("it has capabilities %#x", have)
	case raw.Call(unix.SYS_SETRESUID, 0, 0, 0) == 0:
		return errors.New("it can become root")
	}
	return nil
}

func trySeccomp() error {
	if mode, err := unix.PrctlRetInt(unix.PR_GET_SECCOMP, 0, 0, 0, 0); err != nil || mode != 2 {
		return fmt.Errorf("no filter is in force (mode %d)", mode)
	}
	if err := unix.PtraceAttach(os.Getppid()); !errors.Is(err, unix.EPERM) {
		return fmt.Errorf("ptrace answers %w", err)
	}
	if _, err := unix.Socket(unix.AF_VSOCK, unix.SOCK_STREAM, 0); !errors.Is(err, unix.EPERM) {
		return fmt.Errorf("a vsock answers %w", err)
	}
	return nil
}

func tryLandlock() error {
	for _, dir := range []string{"/etc", "/proc", "/usr"} {
		if _, err := os.ReadDir(dir); err == nil {
			return errors.New(dir + " can be read without being given")
		}
	}
	return nil
}

func tryNamespaces() error {
	if err := os.Mkdir("/trial", 0o755); err == nil {
		return errors.New("the root can be written to")
	}
	if entries, err := os.ReadDir("/"); err != nil || len(entries) > 4 {
		return fmt.Errorf("the root is not empty: %v %w", entries, err)
	}
	if name, _ := os.Hostname(); name != HostName {
		return errors.New("the host name is the machine's")
	}
	if links, err := net.Interfaces(); err != nil || len(links) > 1 {
		return fmt.Errorf("it has %d network interfaces: %w", len(links), err)
	}
	return os.WriteFile("/tmp/trial", []byte("x"), 0o600)
}

// tryMember checks with the kernel that this process is in the groups.
func tryMember(name string) error {
	groups, err := os.ReadFile("/proc/self/cgroup")
	if err == nil && !strings.Contains(string(groups), "/"+name+"\n") {
		err = errors.New("the control group was not joined")
	}
	return err
}

// tryEgress connects to the loopback, which every machine has and the guard blocks.
func tryEgress() error {
	for family, address := range map[int]unix.Sockaddr{
		unix.AF_INET:  &unix.SockaddrInet4{Port: 9, Addr: [4]byte{127, 0, 0, 1}},
		unix.AF_INET6: &unix.SockaddrInet6{Port: 9, Addr: [16]byte{15: 1}},
	} {
		fd, err := unix.Socket(family, unix.SOCK_DGRAM|unix.SOCK_CLOEXEC, 0)
		if errors.Is(err, unix.EAFNOSUPPORT) {
			continue
		}
		if err != nil {
			return err
		}
		sent := unix.Sendto(fd, []byte{0}, 0, address)
		connected := unix.Connect(fd, address)
		_ = unix.Close(fd)
		if family == unix.AF_INET6 && errors.Is(sent, unix.EADDRNOTAVAIL) {
			sent = unix.EPERM // IPv6 is switched off
		}
		if !errors.Is(sent, unix.EPERM) || !errors.Is(connected, unix.EPERM) {
			return fmt.Errorf("an address that is shut answers %w to a packet and %w to connecting", sent, connected)
		}
	}
	return nil
}

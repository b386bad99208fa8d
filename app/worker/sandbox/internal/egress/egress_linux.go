package egress

import (
	"bufio"
	"errors"
	"net/netip"
	"os"
	"slices"
	"strings"

	"github.com/cilium/ebpf"
	"github.com/cilium/ebpf/asm"
	"github.com/cilium/ebpf/link"
	"golang.org/x/sys/unix"

	"github.com/belfry-run/belfry/app/worker/sandbox/internal/isolation"
	"github.com/belfry-run/belfry/internal/guard"
)

// Guard limits a program with the machine's network to the addresses that
// [guard.Check] allows, and the machine's name servers at their port.
//
// eBPF programs in the kernel enforce this for its control group. One checks
// every packet that leaves a socket of the group, independent of the system call
// and the protocol, and of later changes in the program's memory. Others check
// connects, because a connection whose packets are dropped would only fail after
// minutes.
//
// Others cannot connect to the program. It cannot bind a port of its own choice,
// which may belong to another service. Incoming packets are checked by their
// source, like outgoing ones by their destination, and may not open a connection.
type Guard struct {
	ipv4, ipv6 []guard.Rule
	names      []netip.Addr
}

func New(reach []netip.Prefix) Guard {
	ipv4, ipv6 := guard.Rules(reach)
	return Guard{ipv4, ipv6, nameServers("/etc/resolv.conf")}
}

// mostNames is how many name servers C libraries use.
const mostNames = 3

// nameServers returns the name servers of a program, from the file that [Resolve]
// mounts. They may be in a denied range, as in most clouds.
func nameServers(file string) (names []netip.Addr) {
	f, err := os.Open(file)
	if err != nil {
		return nil
	}
	defer func() { _ = f.Close() }()
	for lines := bufio.NewScanner(f); lines.Scan() && len(names) < mostNames; {
		words := strings.Fields(lines.Text())
		if len(words) < 2 || words[0] != "nameserver" {
			continue
		}
		if a, err := netip.ParseAddr(words[1]); err == nil {
			names = append(names, a.WithZone("").Unmap())
		}
	}
	return names
}

// Resolve returns mounts of the files for name resolution.
func Resolve(given []isolation.Mount) (mounts []isolation.Mount) {
	for _, name := range []string{"/etc/resolv.conf", "/etc/hosts"} {
		_, err := os.Stat(name)
		if err == nil && !slices.ContainsFunc(given, func(m isolation.Mount) bool {
			return isolation.Inside(name, m.Target) || isolation.Inside(m.Target, name)
		}) {
			mounts = append(mounts, isolation.Mount{Source: name, Target: name})
		}
	}
	return mounts
}

// hook is a hook of the kernel for control groups.
type hook struct {
	kind ebpf.ProgramType
	at   ebpf.AttachType
	code func(Guard) asm.Instructions
}

var hooks = []hook{
	{ebpf.CGroupSKB, ebpf.AttachCGroupInetEgress, Guard.leaving},
	{ebpf.CGroupSKB, ebpf.AttachCGroupInetIngress, Guard.arriving},
	{ebpf.CGroupSockAddr, ebpf.AttachCGroupInet4Bind, Guard.bind},
	{ebpf.CGroupSockAddr, ebpf.AttachCGroupInet6Bind, Guard.bind},
	{ebpf.CGroupSockAddr, ebpf.AttachCGroupInet4Connect, Guard.connect4},
	{ebpf.CGroupSockAddr, ebpf.AttachCGroupInet6Connect, Guard.connect6},
}

// Attach guards a group of version 2 until the group is removed, also if the
// worker ends before the program.
func (e Guard) Attach(dir string) error {
	group, err := os.Open(dir)
	if err != nil {
		return err
	}
	for _, h := range hooks {
		err = errors.Join(err, e.hang(group, h))
	}
	return errors.Join(err, group.Close())
}

func (e Guard) hang(group *os.File, h hook) error {
	p, err := h.load(e)
	if err != nil {
		return err
	}
	// In addition to programs of parent groups: all must allow a packet.
	err = link.RawAttachProgram(link.RawAttachProgramOptions{Target: int(group.Fd()), Program: p, Attach: h.at, Flags: unix.BPF_F_ALLOW_MULTI})
	return errors.Join(err, p.Close())
}

func (h hook) load(e Guard) (*ebpf.Program, error) {
	return ebpf.NewProgram(&ebpf.ProgramSpec{Name: "belfry_egress", Type: h.kind, AttachType: h.at, Instructions: h.code(e)})
}

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

// Guard is what a program reaches that has the machine's network: what
// [guard.Check] lets through, and the machine's name servers at their port.
//
// Its control group sees to that, by programs in the kernel. One judges every
// packet that leaves a socket of the group, so it does not matter by which call
// or protocol the packet came to be, nor what the program changes in its
// memory meanwhile. Those of connecting are there because a connection whose
// packets are dropped would only fail after minutes.
//
// It cannot be reached in turn. It binds no port of its own choice, which might be
// another's. Packets that arrive pass by their source as those that leave do by their
// destination, and open no connection.
type Guard struct {
	ipv4, ipv6 []guard.Rule
	names      []netip.Addr
}

func New(reach []netip.Prefix) Guard {
	ipv4, ipv6 := guard.Rules(reach)
	return Guard{ipv4, ipv6, nameServers("/etc/resolv.conf")}
}

// mostNames is how many name servers the C libraries ask.
const mostNames = 3

// nameServers are those that a program asks, as [Resolve] shows it that file.
// They may stand in a range that is shut: in most clouds they do.
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

// Resolve are the files by which names of the network are found.
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

// hook is one place in the kernel where a group is asked.
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

// Attach guards a group of version 2, until it is removed: also when the worker
// is gone before its program.
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
	// Besides those of the groups above, all of which must agree.
	err = link.RawAttachProgram(link.RawAttachProgramOptions{Target: int(group.Fd()), Program: p, Attach: h.at, Flags: unix.BPF_F_ALLOW_MULTI})
	return errors.Join(err, p.Close())
}

func (h hook) load(e Guard) (*ebpf.Program, error) {
	return ebpf.NewProgram(&ebpf.ProgramSpec{Name: "belfry_egress", Type: h.kind, AttachType: h.at, Instructions: h.code(e)})
}

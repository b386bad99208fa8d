package sandbox_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net"
	"net/netip"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"
	"unsafe"

	"golang.org/x/sys/unix"

	"github.com/belfry-run/belfry/app/worker/sandbox"
)

// wired is what came of a run on the wire.
type wired struct {
	Network string
	Reached []string // such as tcp:169.254.169.254:80
	Out     string
}

// onWire has programs run by a worker in a network of its own.
func onWire(t *testing.T, w world, specs []sandbox.Spec) (all []wired) {
	t.Helper()
	options, err := json.Marshal(w.options())
	must(t, err)
	text, err := json.Marshal(specs)
	must(t, err)
	resolv := filepath.Join(public(t), "resolv.conf")
	must(t, os.WriteFile(resolv, []byte("search example.com\nnameserver 10.7.7.53\n"), 0o644))
	cmd := exec.Command(hostile, "wire", string(options), string(text), resolv)
	cmd.Env = append(os.Environ(), guarded+"=1")
	cmd.SysProcAttr = &syscall.SysProcAttr{Cloneflags: unix.CLONE_NEWNET | unix.CLONE_NEWNS, Pdeathsig: unix.SIGKILL}
	out, err := cmd.CombinedOutput()
	if err != nil || json.Unmarshal(out, &all) != nil || len(all) != len(specs) {
		t.Fatalf("%v\n%s", err, out)
	}
	return all
}

// beOnWire is that worker.
func beOnWire(args []string) {
	check := func(err error) {
		if err != nil {
			panic(err)
		}
	}
	check(unix.Mount("", "/", "", unix.MS_REC|unix.MS_PRIVATE, ""))
	check(unix.Mount(args[2], "/etc/resolv.conf", "", unix.MS_BIND, ""))
	check(layWire("93.184.215.14", "2606:2800:220:1::1", "10.7.7.53", "10.7.7.7", "169.254.169.254", "fd00:ec2::254"))
	check(answer(":53"))
	check(answer(":80"))
	check(answerFrom("93.184.215.14:81", "10.7.7.7:0"))
	var o sandbox.Options
	var specs []sandbox.Spec
	check(json.Unmarshal([]byte(args[0]), &o))
	check(json.Unmarshal([]byte(args[1]), &specs))
	s, err := sandbox.Open(context.Background(), o)
	check(err)
	var all []wired
	for _, spec := range specs {
		var out strings.Builder
		spec.Stdout, spec.Stderr = &out, &out
		run, err := s.Start(context.Background(), spec)
		check(err)
		result, err := run.Wait()
		check(err)
		r := wired{Network: result.Applied.Network, Out: out.String()}
		for line := range strings.Lines(r.Out) {
			if target, did := strings.CutPrefix(strings.TrimSpace(line), "ESCAPED: "); did {
				r.Reached = append(r.Reached, target)
			}
		}
		all = append(all, r)
	}
	check(json.NewEncoder(os.Stdout).Encode(all))
	os.Exit(0)
}

// layWire gives the loopback of this network more addresses. The first of a range is the one from which unbound sockets answer at the others.
func layWire(addresses ...string) error {
	fd, err := unix.Socket(unix.AF_INET, unix.SOCK_DGRAM|unix.SOCK_CLOEXEC, 0)
	if err != nil {
		return err
	}
	fd6, err := unix.Socket(unix.AF_INET6, unix.SOCK_DGRAM|unix.SOCK_CLOEXEC, 0)
	if err != nil {
		return err
	}
	defer func() { _, _ = unix.Close(fd), unix.Close(fd6) }()
	up, _ := unix.NewIfreq("lo")
	up.SetUint16(unix.IFF_UP | unix.IFF_RUNNING)
	if err := unix.IoctlIfreq(fd, unix.SIOCSIFFLAGS, up); err != nil {
		return err
	}
	for _, text := range addresses {
		a := netip.MustParseAddr(text)
		if a.Is6() {
			request := struct {
				addr   [16]byte
				prefix uint32
				index  int32
			}{a.As16(), 128, 1}
			if _, _, e := unix.Syscall(unix.SYS_IOCTL, uintptr(fd6), unix.SIOCSIFADDR, uintptr(unsafe.Pointer(&request))); e != 0 {
				return e
			}
			continue
		}
		b := a.As4()
		alias, _ := unix.NewIfreq("lo:" + string(rune('a'+b[3]%26)))
		if err := alias.SetInet4Addr(b[:]); err != nil {
			return err
		}
		if err := unix.IoctlIfreq(fd, unix.SIOCSIFADDR, alias); err != nil {
			return err
		}
	}
	return nil
}

// answer says something to whoever comes to a port, until this process ends.
func answer(port string) error {
	l, err := net.Listen("tcp", port)
	if err != nil {
		return err
	}
	u, err := net.ListenPacket("udp", port)
	if err != nil {
		return err
	}
	go func() {
		for {
			c, err := l.Accept()
			if err != nil {
				return
			}
			_, _ = c.Write([]byte("hello"))
			_ = c.Close()
		}
	}()
	go func() {
		for b := make([]byte, 100); ; {
			_, from, err := u.ReadFrom(b)
			if err != nil {
				return
			}
			_, _ = u.WriteTo([]byte("hello"), from)
		}
	}()
	return nil
}

// answerFrom answers at one address from another, and then from there.
func answerFrom(at, from string) error {
	u, err := net.ListenPacket("udp", at)
	if err != nil {
		return err
	}
	other, err := net.ListenPacket("udp", from)
	if err != nil {
		return err
	}
	go func() {
		for b := make([]byte, 100); ; {
			_, client, err := u.ReadFrom(b)
			if err != nil {
				return
			}
			_, _ = other.WriteTo([]byte("strange"), client)
			_, _ = u.WriteTo([]byte("hello"), client)
		}
	}()
	return nil
}

// allAtOnce is each for tries that wait for an answer which may never come.
func allAtOnce(try func(string) error) func([]string) {
	return func(args []string) {
		var tries sync.WaitGroup
		for _, a := range args {
			tries.Go(func() { verdict(a, try(a)) })
		}
		tries.Wait()
	}
}

// reach is the program's side: kind:host:port.
func reach(target string) error {
	kind, address, _ := strings.Cut(target, ":")
	to := netip.MustParseAddrPort(address)
	var c net.Conn
	var err error
	// Without it a connection by multipath TCP, which Linux 6.1 does not ask about, takes two minutes to fail.
	d := net.Dialer{Timeout: 20 * time.Second}
	switch kind {
	case "udp":
		_, err := sendUnconnected(to)
		return err
	case "strange":
		if said, err := sendUnconnected(to); err != nil || said != "strange" {
			return fmt.Errorf("%q %w", said, err)
		}
		return nil
	case "fast":
		return openFast(to)
	case "listen":
		l, err := net.Listen("tcp"+family(address), address)
		if err == nil {
			err = l.Close()
		}
		return err
	case "hear":
		l, err := net.ListenPacket("udp"+family(address), address)
		if err == nil {
			err = l.Close()
		}
		return err
	case "accept":
		return connectToItself(address)
	case "multi":
		d.SetMultipathTCP(true)
		c, err = d.Dial("tcp", address)
	default:
		c, err = d.Dial(kind, address)
	}
	if err != nil {
		return err
	}
	defer func() { _ = c.Close() }()
	_, err = c.Read(make([]byte, 1))
	return err
}

// family has an address stand for its own version of IP alone: all of both, at one port, would be in each other's way.
func family(address string) string {
	if strings.HasPrefix(address, "[") {
		return "6"
	}
	return "4"
}

// connectToItself listens at a port that is free, and connects to it. The kernel does all of that while it is asked, or drops it.
func connectToItself(address string) error {
	l, err := net.Listen("tcp", address)
	if err != nil {
		return err
	}
	defer func() { _ = l.Close() }()
	d := net.Dialer{Timeout: 5 * time.Second, Control: func(_, _ string, c syscall.RawConn) error {
		return c.Control(func(fd uintptr) { _ = unix.SetsockoptInt(int(fd), unix.IPPROTO_TCP, unix.TCP_SYNCNT, 1) }) // or it asks for two minutes, and so 3 s; gVisor asks on until the timeout
	}}
	c, err := d.Dial("tcp", l.Addr().String())
	if err != nil {
		return err
	}
	return c.Close()
}

// sendUnconnected sends a datagram without connecting first, and reads what is answered.
func sendUnconnected(to netip.AddrPort) (said string, err error) {
	c, err := net.ListenUDP("udp", nil)
	if err != nil {
		return "", err
	}
	defer func() { _ = c.Close() }()
	if _, err := c.WriteToUDPAddrPort([]byte("x"), to); err != nil {
		return "", err
	}
	_ = c.SetReadDeadline(time.Now().Add(longest))
	text := make([]byte, 10)
	n, _, err := c.ReadFromUDPAddrPort(text)
	return string(text[:n]), err
}

// openFast sends data with the first packet of a connection: no call to connect.
func openFast(to netip.AddrPort) error {
	fd, err := unix.Socket(unix.AF_INET, unix.SOCK_STREAM|unix.SOCK_CLOEXEC, 0)
	if err != nil {
		return err
	}
	defer func() { _ = unix.Close(fd) }()
	err = unix.Sendto(fd, []byte("x"), unix.MSG_FASTOPEN, &unix.SockaddrInet4{Port: int(to.Port()), Addr: to.Addr().As4()})
	if errors.Is(err, unix.EINPROGRESS) {
		return nil // it is on its way, says gVisor
	}
	if err != nil {
		return err
	}
	_, err = unix.Read(fd, make([]byte, 1))
	return err
}

package sandbox_test

import (
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"

	"golang.org/x/sys/unix"

	"github.com/belfry-run/belfry/app/worker/sandbox"
)

// connectionFiles are the files that list the connections of a process's network.
func connectionFiles() []string {
	own := "/proc/self/task/" + strconv.Itoa(unix.Gettid()) + "/net/tcp"
	return []string{"/proc/net/tcp", "/proc/self/net/tcp", "/proc/thread-self/net/tcp", "/proc/" + strconv.Itoa(os.Getpid()) + "/net/tcp", "/proc/1/net/tcp", own}
}

// findConnections looks for a port at which the machine listens, in each way that the kernel has, itself and by a child.
func findConnections(args []string) {
	local := fmt.Sprintf(":%04X ", atoi(args[0]))
	look := func(name string, text []byte, err error) {
		if err == nil && strings.Contains(string(text), local) {
			fmt.Println("ESCAPED:", name)
			return
		}
		fmt.Printf("held: %s: %v\n", name, err)
	}
	for _, name := range connectionFiles() {
		text, err := os.ReadFile(name)
		look(name, text, err)
	}
	_ = os.Chdir("/proc/self/net")
	text, err := os.ReadFile("tcp")
	look("by its folder", text, err)
	if len(args) == 1 {
		out, _ := exec.Command(os.Args[0], "hostile", "connections", args[0], "as a child").Output()
		fmt.Print(string(out))
	}
	diag, err := unix.Socket(unix.AF_NETLINK, unix.SOCK_RAW, unix.NETLINK_SOCK_DIAG)
	if err == nil {
		_ = unix.Close(diag)
	}
	verdict("ask netlink", err)
}

func TestConnectionsOfTheMachineAreNotShown(t *testing.T) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	must(t, err)
	defer func() { _ = l.Close() }()
	_, port, _ := net.SplitHostPort(l.Addr().String())
	alsoInGVisor(t, sandbox.Confined, func(t *testing.T, w world) {
		for _, network := range []bool{true, false} {
			a := w.attack("connections", port)
			a.Network = network
			a.holds(t, w, 16)
		}
	})
}

// With the machine's network, the usual files of /proc exist too, or the record says that /proc is missing.
func TestFactsAreShownWithTheNetwork(t *testing.T) {
	inEach(t, sandbox.Namespaces, func(t *testing.T, w world) {
		a := w.attack("")
		a.Network, a.Argv = true, []string{"/bin/sh", "-c", "grep MemTotal /proc/meminfo; readlink /proc/self/exe; exec 3>/tmp/own; echo by its number >/dev/fd/3; cat /tmp/own; ls /proc/self/fd"}
		r := a.run(t, w)
		if w.lacks(sandbox.LayerLandlock) {
			if !slices.ContainsFunc(r.Applied.Missing, func(f sandbox.Finding) bool { return f.Layer == "proc" }) {
				t.Errorf("%+v", r.Applied)
			}
			return
		}
		link, err := filepath.EvalSymlinks("/usr/bin/readlink")
		must(t, err)
		for _, want := range []string{"MemTotal:", "by its number\n", link + "\n", "\n0\n1\n2\n"} {
			if !strings.Contains(a.out.String(), want) {
				t.Errorf("no %q in %d %s", want, r.ExitCode, a.out.String())
			}
		}
	})
}

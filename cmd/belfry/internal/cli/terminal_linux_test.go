package cli

import (
	"fmt"
	"os"
	"strings"
	"testing"

	"golang.org/x/sys/unix"
)

func TestStrangersDoNotSteerATerminal(t *testing.T) {
	t.Parallel()
	master, err := os.OpenFile("/dev/ptmx", os.O_RDWR|unix.O_NOCTTY, 0)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = master.Close() }()
	if err := unix.IoctlSetPointerInt(int(master.Fd()), unix.TIOCSPTLCK, 0); err != nil {
		t.Fatal(err)
	}
	n, err := unix.IoctlGetInt(int(master.Fd()), unix.TIOCGPTN)
	if err != nil {
		t.Fatal(err)
	}
	terminal, err := os.OpenFile(fmt.Sprint("/dev/pts/", n), os.O_RDWR|unix.O_NOCTTY, 0)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = terminal.Close() }()
	c := New(strings.NewReader(""), terminal, terminal, nil)
	if !IsTerminal(c.Stdout) || !c.colorOn(c.Stderr) {
		t.Error("a terminal is not recognized")
	}
	c.Pairs(c.Stdout, "error", "\x1b]0;owned\x07\x1b[31mred\x1b[0m")
	fmt.Fprintln(c.Stderr, "\x1b[2Jend")
	var got strings.Builder
	buf := make([]byte, 1024)
	for !strings.Contains(got.String(), "end") {
		n, err := master.Read(buf)
		if err != nil {
			t.Fatal(err)
		}
		got.Write(buf[:n])
	}
	if s := got.String(); strings.Contains(s, "owned") || strings.Contains(s, "\x1b[2J") || !strings.Contains(s, "\x1b[31mred") {
		t.Errorf("%q", s)
	}
	if raw := New(nil, &got, &got, nil); raw.Stdout != &got {
		t.Error("what goes to a pipe is changed")
	}
}

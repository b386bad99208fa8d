package program_test

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"net"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"time"

	"golang.org/x/sys/unix"
)

// be is a program by its name. Each bounds itself, so that a machine survives
// it even where nothing holds it. args[0] is the mark of its test.
func be(name string, args []string) {
	time.AfterFunc(2*time.Minute, func() { os.Exit(99) })
	args = args[1:]
	out := os.Getenv("BELFRY_OUTPUT_DIR")
	switch name {
	case "echo":
		input, _ := io.ReadAll(os.Stdin)
		fmt.Println(strings.Join(args, ","), string(input))
		for _, v := range os.Environ() {
			fmt.Println(v)
		}
	case "exit":
		fmt.Fprintln(os.Stderr, "the last word")
		code, _ := strconv.Atoi(args[0])
		os.Exit(code)
	case "kill-itself":
		_ = syscall.Kill(os.Getpid(), syscall.SIGKILL)
		time.Sleep(time.Minute)
	case "forbidden":
		_, _, _ = unix.RawSyscall(unix.SYS_PTRACE, unix.PTRACE_TRACEME, 0, 0)
		fmt.Println("still here")
	case "secret":
		secret := os.Getenv("KEY")
		for _, part := range []string{"<", secret[:3], secret[3:], ">\n"} {
			_, _ = os.Stdout.WriteString(part)
			time.Sleep(20 * time.Millisecond) // so that each is a write of its own for the reader
		}
		fmt.Fprintln(os.Stderr, "key is", secret)
		os.Exit(3)
	case "flood":
		n, _ := strconv.ParseInt(args[0], 10, 64)
		piece := bytes.Repeat([]byte("0123456789abcde\n"), 4096)
		_, _ = os.Stdout.WriteString("the first\n")
		for ; n > 0; n -= int64(len(piece)) {
			_, _ = os.Stdout.Write(piece)
		}
		_, _ = os.Stdout.WriteString("the last\n")
	case "endless-line":
		piece := bytes.Repeat([]byte("x"), 1<<20)
		for range 8 {
			_, _ = os.Stdout.Write(piece)
		}
	case "stubborn":
		signal.Ignore(syscall.SIGTERM)
		child := exec.Command("/proc/self/exe", "be", "stubborn-child", os.Args[3])
		child.SysProcAttr = &syscall.SysProcAttr{Setsid: true}
		_ = child.Start()
		fmt.Println("ready")
		time.Sleep(time.Minute)
	case "stubborn-child":
		signal.Ignore(syscall.SIGTERM)
		time.Sleep(time.Minute)
	case "polite":
		ctx, stop := signal.NotifyContext(context.Background(), syscall.SIGTERM)
		defer stop()
		fmt.Println("ready")
		<-ctx.Done()
		fmt.Println("bye")
		os.Exit(7)
	case "hog":
		var held [][]byte
		for range 64 { // 1 GiB
			held = append(held, bytes.Repeat([]byte{1}, 16<<20))
		}
		fmt.Println("had", len(held))
	case "bomb":
		for range 2000 {
			child := exec.Command("/proc/self/exe", "be", "sleeper", os.Args[3])
			if err := child.Start(); err != nil {
				fmt.Fprintln(os.Stderr, err)
				os.Exit(4)
			}
		}
	case "sleeper":
		time.Sleep(20 * time.Second)
	case "fill":
		where := map[string]string{"output": out, "tmp": os.Getenv("TMPDIR")}[args[0]]
		f, err := os.Create(filepath.Join(where, "big"))
		if err == nil {
			if len(args) > 1 { // so that nobody sees it
				_ = os.Remove(f.Name())
			}
			piece := bytes.Repeat([]byte{1}, 1<<20)
			for range 256 { // MiB
				if _, err = f.Write(piece); err != nil {
					break
				}
				time.Sleep(2 * time.Millisecond)
			}
		}
		fmt.Fprintln(os.Stderr, err)
		if err != nil {
			os.Exit(5)
		}
	case "files":
		n, _ := strconv.Atoi(args[0])
		for i := range n {
			if err := os.WriteFile(filepath.Join(out, fmt.Sprintf("f%03d", i)), []byte(strconv.Itoa(i)), 0o600); err != nil {
				fmt.Fprintln(os.Stderr, err)
				os.Exit(5)
			}
		}
	case "tricks":
		beTricky(out)
	case "spy":
		beSpy(args)
	case "call":
		beCaller(args[0])
	default:
		os.Exit(98)
	}
}

// beTricky leaves what a careless reader would follow, wait for, or choke on.
func beTricky(out string) {
	at := func(name string) string { return filepath.Join(out, name) }
	_ = os.Symlink("/etc/shadow", at("shadow"))
	_ = os.Symlink("/etc", at("etc"))
	_ = os.Symlink("/proc/self/environ", at("environ"))
	_ = unix.Mkfifo(at("pipe"), 0o666)
	_ = unix.Mknod(at("device"), unix.S_IFCHR|0o666, int(unix.Mkdev(1, 5)))
	_ = os.Link("/belfry/program", at("program"))
	_ = os.WriteFile(at("twice"), []byte("x"), 0o600)
	_ = os.Link(at("twice"), at("second"))
	_ = os.WriteFile(at("bad\nname"), []byte("x"), 0o600)
	if l, err := net.Listen("unix", at("socket")); err == nil {
		l.(*net.UnixListener).SetUnlinkOnClose(false)
		_ = l.Close()
	}
	deep := out
	for range 40 {
		deep = filepath.Join(deep, "d")
		_ = os.Mkdir(deep, 0o700)
	}
	_ = os.WriteFile(at("good"), []byte("yes"), 0o600)
	_ = os.Mkdir(at("folder"), 0o700)
	_ = os.WriteFile(at("folder/inside"), []byte("yes"), 0o000)
	_ = os.Chmod(at("folder"), 0o000)
	_ = os.Chmod(out, 0o000)
}

// beSpy looks for what is the worker's: the files that it is told, the
// environment and the memory of every process, and the machine's secrets.
func beSpy(files []string) {
	for _, file := range append(files, "/etc/shadow", "/proc/1/environ", "/proc/1/mem", "/proc/1/root/etc/shadow") {
		f, err := os.Open(file)
		if err != nil {
			continue
		}
		text := make([]byte, 4096)
		if n, err := f.Read(text); err == nil && n > 0 && file != "/proc/1/environ" {
			fmt.Println("READ", file)
		}
	}
	entries, _ := os.ReadDir("/proc")
	for _, e := range entries {
		text, err := os.ReadFile("/proc/" + e.Name() + "/environ")
		if err == nil && bytes.Contains(text, []byte("WORKER_TOKEN")) {
			fmt.Println("READ the environment of", e.Name())
		}
		if pid, err := strconv.Atoi(e.Name()); err == nil && pid != os.Getpid() && syscall.Kill(pid, 0) == nil && pid != 1 {
			fmt.Println("COULD SIGNAL", pid)
		}
	}
	for _, dir := range files {
		if names, err := os.ReadDir(dir); err == nil && len(names) > 0 {
			fmt.Println("LISTED", dir)
		}
		if os.WriteFile(filepath.Join(dir, "mine"), nil, 0o600) == nil {
			fmt.Println("WROTE", dir)
		}
	}
	if f, err := os.OpenFile("/proc/self/exe", os.O_WRONLY, 0); err == nil {
		fmt.Println("CHANGED the program")
		_ = f.Close()
	}
	fmt.Println("looked")
}

// beCaller tries to reach an address.
func beCaller(address string) {
	c, err := net.DialTimeout("tcp", address, 20*time.Second)
	if err != nil {
		fmt.Println("failed:", err)
		return
	}
	_ = c.Close()
	fmt.Println("REACHED", address)
}

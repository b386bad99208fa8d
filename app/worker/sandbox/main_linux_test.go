package sandbox_test

import (
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"syscall"
	"testing"

	"golang.org/x/sys/unix"

	"github.com/belfry-run/belfry/app/worker/sandbox"
)

// This test binary is three things besides: the copies of the worker that set
// a run up, the hostile program, and a worker that gets killed.

// hostile is where the hostile program is, in a folder that everybody may read.
var hostile string

func TestMain(m *testing.M) {
	sandbox.Init()
	if len(os.Args) > 2 && os.Args[1] == "hostile" {
		beHostile(os.Args[2], os.Args[3:])
		os.Exit(0)
	}
	if len(os.Args) > 1 {
		switch os.Args[1] {
		case "worker":
			beWorker(os.Args[2:])
		case "killer":
			beKiller()
		case "container":
			beContainer(os.Args[2:])
		case "contained":
			beContained(os.Args[2:])
		case "wire":
			beOnWire(os.Args[2:])
		case "guard":
			beGuard()
		case "make-ready":
			for _, controller := range os.Args[3:] {
				fmt.Println(sandbox.Ready(os.Args[2], controller))
			}
			os.Exit(0)
		}
	}
	if code, guarded := guard(); guarded {
		os.Exit(code)
	}
	os.Exit(run(m))
}

// guarded is set in the tests that have a pid namespace around them.
const guarded = "BELFRY_TEST_GUARDED"

// guard runs all of these tests again, in a pid namespace. What they test is
// made to kill, as root: a fault in it must not end whatever else runs on the
// machine. Where namespaces are forbidden the tests run without.
func guard() (code int, done bool) {
	if os.Geteuid() != 0 || os.Getenv(guarded) != "" {
		return 0, false
	}
	cmd := inNamespace(exec.Command("/proc/self/exe", append([]string{"guard"}, os.Args[1:]...)...))
	cmd.Stdout, cmd.Stderr = os.Stdout, os.Stderr
	cmd.Env = append(os.Environ(), guarded+"=1")
	err := cmd.Run()
	if cmd.Process == nil {
		_, _ = fmt.Fprintln(os.Stderr, "these tests run without a pid namespace around them:", err)
		return 0, false
	}
	return cmd.ProcessState.ExitCode(), true
}

func inNamespace(cmd *exec.Cmd) *exec.Cmd {
	cmd.SysProcAttr = &syscall.SysProcAttr{Cloneflags: unix.CLONE_NEWPID | unix.CLONE_NEWNS, Pdeathsig: unix.SIGKILL}
	return cmd
}

// beGuard is the first process of the namespace, and starts the tests as the
// second: the first gets no signals, which some of them send.
func beGuard() {
	err := unix.Mount("", "/", "", unix.MS_REC|unix.MS_PRIVATE, "")
	if err == nil {
		err = unix.Mount("proc", "/proc", "proc", 0, "")
	}
	if err != nil {
		_, _ = fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	// Numbers from which no run's own namespace, in which it counts from one, can have the same.
	if err := os.WriteFile("/proc/sys/kernel/ns_last_pid", []byte("10000"), 0); err != nil {
		_, _ = fmt.Fprintln(os.Stderr, "the kernel needs CONFIG_CHECKPOINT_RESTORE for these tests:", err)
		os.Exit(1)
	}
	// Of root this is no limit, of those that it starts programs as it is one.
	_ = unix.Setrlimit(unix.RLIMIT_NPROC, &unix.Rlimit{Cur: 4000, Max: 4000})
	cmd := exec.Command("/proc/self/exe", os.Args[2:]...)
	cmd.Stdout, cmd.Stderr = os.Stdout, os.Stderr
	cmd.SysProcAttr = &syscall.SysProcAttr{Pdeathsig: unix.SIGKILL}
	if err := cmd.Start(); err != nil {
		_, _ = fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	// It reaps the orphans, thousands of fork bombs: they count as processes of their user, and whoever looks for one looks at all.
	for {
		var status unix.WaitStatus
		pid, err := unix.Wait4(-1, &status, 0, nil)
		switch {
		case err != nil && !errors.Is(err, unix.EINTR):
			_, _ = fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		case err == nil && pid == cmd.Process.Pid && status.Exited():
			os.Exit(status.ExitStatus())
		case err == nil && pid == cmd.Process.Pid:
			os.Exit(1)
		}
	}
}

func run(m *testing.M) int {
	dir, err := os.MkdirTemp("", "belfry-hostile-")
	if err == nil {
		defer func() { _ = os.RemoveAll(dir) }()
		hostile = filepath.Join(dir, "hostile")
		err = publish(dir)
	}
	if err != nil {
		_, _ = fmt.Fprintln(os.Stderr, err)
		return 1
	}
	return m.Run()
}

// publish copies this binary to where every user may run it.
func publish(dir string) error {
	if err := os.Chmod(dir, 0o755); err != nil {
		return err
	}
	from, err := os.Open("/proc/self/exe")
	if err != nil {
		return err
	}
	defer func() { _ = from.Close() }()
	to, err := os.OpenFile(hostile, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o755)
	if err != nil {
		return err
	}
	if _, err := io.Copy(to, from); err != nil {
		return err
	}
	return to.Close()
}

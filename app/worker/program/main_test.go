package program_test

import (
	"fmt"
	"os"
	"os/exec"
	"syscall"
	"testing"

	"golang.org/x/sys/unix"

	"github.com/belfry-run/belfry/app/worker/program"
)

// This test binary is several things besides: the copies of the worker that
// fetch and set a run up, the programs that are run, and a worker that is killed.
func TestMain(m *testing.M) {
	program.Init()
	if len(os.Args) > 2 && os.Args[1] == "be" {
		be(os.Args[2], os.Args[3:])
		os.Exit(0)
	}
	if len(os.Args) > 1 && os.Args[1] == "worker" {
		os.Exit(beWorker(os.Args[2:]))
	}
	if len(os.Args) > 1 && os.Args[1] == "guard" {
		os.Exit(beGuard())
	}
	if code, done := guard(); done {
		os.Exit(code)
	}
	os.Exit(m.Run())
}

const guarded = "BELFRY_TEST_GUARDED"

// guard runs all of these tests in a pid namespace, with mounts of its own and
// few processes: what is tested here tries to do harm, and a fault in it must
// not reach the machine.
func guard() (code int, done bool) {
	if os.Geteuid() != 0 || os.Getenv(guarded) != "" {
		return 0, false
	}
	cmd := exec.Command("/proc/self/exe", append([]string{"guard"}, os.Args[1:]...)...)
	cmd.Stdout, cmd.Stderr = os.Stdout, os.Stderr
	cmd.Env = append(os.Environ(), guarded+"=1")
	cmd.SysProcAttr = &syscall.SysProcAttr{Cloneflags: unix.CLONE_NEWPID | unix.CLONE_NEWNS, Pdeathsig: unix.SIGKILL}
	err := cmd.Run()
	if cmd.Process == nil {
		_, _ = fmt.Fprintln(os.Stderr, "these tests run without a pid namespace around them:", err)
		return 0, false
	}
	return cmd.ProcessState.ExitCode(), true
}

// beGuard is the first process of the namespace, which gets no signals, and
// starts the tests as the second.
func beGuard() int {
	err := unix.Mount("", "/", "", unix.MS_REC|unix.MS_PRIVATE, "")
	if err == nil {
		err = unix.Mount("proc", "/proc", "proc", 0, "")
	}
	if err != nil {
		_, _ = fmt.Fprintln(os.Stderr, err)
		return 1
	}
	_ = unix.Setrlimit(unix.RLIMIT_NPROC, &unix.Rlimit{Cur: 4000, Max: 4000})
	cmd := exec.Command("/proc/self/exe", os.Args[2:]...)
	cmd.Stdout, cmd.Stderr = os.Stdout, os.Stderr
	cmd.SysProcAttr = &syscall.SysProcAttr{Pdeathsig: unix.SIGKILL}
	_ = cmd.Run()
	return cmd.ProcessState.ExitCode()
}

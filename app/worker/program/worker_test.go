package program_test

import (
	"bufio"
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/belfry-run/belfry/app/worker/program"
	"github.com/belfry-run/belfry/app/worker/sandbox"
	"github.com/belfry-run/belfry/task"
)

// beWorker is a worker that runs one program in a folder, and is killed.
func beWorker(args []string) int {
	dir, digest, size := args[0], args[1], int64(0)
	_, _ = fmt.Sscan(args[2], &size)
	o := program.Options{StateDir: dir, Source: &store{held: map[string]string{digest: "/proc/self/exe"}}}
	if args[3] == "confined" {
		o.Sandbox.Without = []sandbox.Layer{sandbox.LayerNamespaces}
	}
	exe, err := program.Open(context.Background(), o)
	if err != nil {
		_, _ = fmt.Fprintln(os.Stderr, err)
		return 1
	}
	p := task.Program{SHA256: digest, Size: size, Args: []string{"be", "stubborn", args[4]}}
	f := direct(context.Background(), exe, task.Task{Name: "prog", Program: &p}, os.Stdout)
	_, _ = fmt.Fprintf(os.Stderr, "%+v\n", f)
	return 0
}

func TestAKilledWorkerLeavesNothingAfterTheNextStart(t *testing.T) {
	t.Parallel()
	for _, tier := range []string{"namespaces", "confined"} {
		t.Run(tier, func(t *testing.T) {
			w := &world{store: newStore(), dir: public(t)}
			p := w.being(t, "stubborn")
			cmd := exec.Command("/proc/self/exe", "worker", w.dir, p.SHA256, fmt.Sprint(p.Size), tier, w.mark())
			cmd.Stderr = os.Stderr
			out, err := cmd.StdoutPipe()
			must(t, err)
			must(t, cmd.Start())
			lines := bufio.NewScanner(out)
			if !lines.Scan() || lines.Text() != "ready" {
				t.Fatal("the program did not start:", lines.Text())
			}
			had := groups(t, w.mark())
			if len(had) == 0 && os.Geteuid() == 0 {
				t.Error("the program is in no control group")
			}
			must(t, cmd.Process.Signal(syscall.SIGKILL))
			_ = cmd.Wait()
			// The kernel, or the run's init, ends it without anybody's help.
			for until := time.Now().Add(3 * time.Minute); len(processes(t, w.mark())) > 0; time.Sleep(10 * time.Millisecond) {
				if time.Now().After(until) {
					t.Fatalf("processes live on: %v", processes(t, w.mark()))
				}
			}
			w.exe = w.open(t)
			w.nothingIsLeft(t)
			if w.exe.Cleared() != 1 {
				t.Errorf("%d runs were cleared away", w.exe.Cleared())
			}
			for _, group := range had {
				if _, err := os.Stat(group); !os.IsNotExist(err) {
					t.Errorf("the control group %s is left: %v", group, err)
				}
			}
		})
	}
}

// groups are those control groups of runs in which something has a mark.
func groups(t *testing.T, mark string) (found []string) {
	t.Helper()
	text, err := os.ReadFile("/proc/self/mounts")
	must(t, err)
	for line := range strings.Lines(string(text)) {
		fields := strings.Fields(line)
		if len(fields) < 3 || !strings.HasPrefix(fields[2], "cgroup") {
			continue
		}
		of, _ := filepath.Glob(fields[1] + "/belfry-run-*")
		more, _ := filepath.Glob(fields[1] + "/*/belfry-run-*")
		for _, group := range append(of, more...) {
			procs, _ := os.ReadFile(group + "/cgroup.procs")
			for _, pid := range strings.Fields(string(procs)) {
				line, _ := os.ReadFile("/proc/" + pid + "/cmdline")
				if strings.Contains(string(line), mark) && !slices.Contains(found, group) {
					found = append(found, group)
				}
			}
		}
	}
	return found
}

package process_test

import (
	"bufio"
	"os"
	"os/exec"
	"testing"
	"time"

	"github.com/belfry-run/belfry/core"
	"github.com/belfry-run/belfry/task"
)

// What only Linux can promise: that a command dies with its worker, and that
// one which left its group is found by its mark.

func TestACommandDiesWithItsWorker(t *testing.T) {
	t.Parallel()
	cmd := exec.Command(os.Args[0])
	cmd.Env = append(os.Environ(), "TEST_WORKER_SCRIPT=echo $$; exec sleep 60")
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	line, err := bufio.NewReader(out).ReadString('\n')
	if err != nil || len(pids(line)) != 1 || !alive(pids(line)[0]) {
		t.Fatalf("%q %v", line, err)
	}
	_ = cmd.Process.Kill()
	_ = cmd.Wait()
	wantGone(t, 1, line)
}

// A program that starts one in a session of its own, which a group does not
// reach, and that holds the output open.
func TestASetsidGrandchildIsKilledToo(t *testing.T) {
	t.Parallel()
	for name, script := range map[string]string{
		"the program ends":   "setsid sh -c 'echo $$; sleep 60' & sleep 0.2",
		"the program stays":  "setsid sh -c 'echo $$; sleep 60' & sleep 60",
		"it starts more":     "setsid sh -c 'echo $$; while :; do setsid sleep 60 & sleep 0.01; done' & sleep 0.2",
		"its output is shut": "setsid sh -c 'echo $$; exec sleep 60 >/dev/null 2>&1' & sleep 0.2",
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			r := runTask(t.Context(), t, task.Task{Name: "cmd", Timeout: core.Duration(500 * time.Millisecond), Command: &task.Command{Shell: script}}, "")
			wantNotHeld(t, r)
			wantGone(t, 1, r.out)
		})
	}
}

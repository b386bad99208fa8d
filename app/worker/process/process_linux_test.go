package process_test

import (
	"bufio"
	"os"
	"os/exec"
	"testing"
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
		"the program ends":   "setsid sh -c 'echo $$; MARK; sleep 60' & AWAIT",
		"the program stays":  "setsid sh -c 'echo $$; MARK; sleep 60' & sleep 60",
		"it starts more":     "setsid sh -c 'echo $$; MARK; while :; do setsid sleep 60 & sleep 0.01; done' & AWAIT; sleep 0.1",
		"its output is shut": "setsid sh -c 'echo $$; MARK; exec sleep 60 >/dev/null 2>&1' & AWAIT",
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			ctx := t.Context()
			script, file := marked(t, script)
			if name == "the program stays" {
				ctx = canceledAt(t, file)
			}
			r := run(ctx, t, shell(script), "")
			wantNotHeld(t, r)
			wantGone(t, 1, r.out)
		})
	}
}

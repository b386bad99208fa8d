//go:build linux || darwin

package pgtest

import (
	"fmt"
	"os"
	"os/exec"
	"syscall"
)

// bark is the script of the watchdog. Each line of its input names the process to stop when the
// input ends, 0 for none. SIGQUIT lets PostgreSQL end its backends and release its shared memory,
// which SIGKILL would leave behind until a reboot. The script checks the lock file too: in a
// container without an init, the ended server stays a zombie that accepts signals for ever.
const bark = `
trap '' HUP INT TERM
pid=0
while read -r line; do pid=$line; done
if [ "$pid" -gt 1 ]; then
	kill -QUIT "$pid"
	n=0
	while [ $n -lt 100 ] && [ -e "$1/data/postmaster.pid" ] && kill -0 "$pid"; do sleep 0.1; n=$((n + 1)); done
	kill -KILL "$pid"
fi
n=0
while [ -e "$1" ] && [ $n -lt 50 ]; do rm -rf "$1" || sleep 0.1; n=$((n + 1)); done
[ ! -e "$1" ]
`

// watchdog cleans up after this process, also after a crash: the kernel closes the pipe of a dead
// process. (Pdeathsig does not work here: it fires when the thread that started the child ends,
// which in Go may happen at any time.)
type watchdog struct {
	cmd  *exec.Cmd
	pipe *os.File
}

// watch starts the watchdog of the folder as user who, so that it can affect only this user's files
// and processes. It has a session of its own, so Ctrl-C at a terminal does not end it too early.
func watch(dir string, who *syscall.Credential) (*watchdog, error) {
	r, w, err := os.Pipe()
	if err != nil {
		return nil, fmt.Errorf("pgtest: make a pipe: %w", err)
	}
	defer r.Close()
	cmd := exec.Command("/bin/sh", "-c", bark, "pgtest-watchdog", dir)
	cmd.Stdin = r
	cmd.Dir = "/"
	cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: true, Credential: who}
	if err := cmd.Start(); err != nil {
		w.Close()
		return nil, fmt.Errorf("pgtest: start the watchdog: %w", err)
	}
	return &watchdog{cmd: cmd, pipe: w}, nil
}

// guard replaces the process to stop.
func (d *watchdog) guard(pid int) error {
	if _, err := fmt.Fprintln(d.pipe, pid); err != nil {
		return fmt.Errorf("pgtest: tell the watchdog: %w", err)
	}
	return nil
}

// release runs the clean-up now, and waits for its end.
func (d *watchdog) release() error {
	d.pipe.Close()
	if err := d.cmd.Wait(); err != nil {
		return fmt.Errorf("pgtest: remove the folder of PostgreSQL: %w", err)
	}
	return nil
}

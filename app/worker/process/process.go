// Package process runs jobs of kind command: programs on the worker's machine.
//
// This is remote code execution by design. A user who may create tasks can run
// any program as the worker's user, and read that user's files. There is no
// sandbox, and an executor exists only if the operator allowed commands.
//
// # Guarantees
//
// An attempt's processes end with the attempt. The program gets a process group
// of its own. To stop it, the group gets SIGTERM, and SIGKILL after the task's
// kill grace, or at once if the session was lost. After the program has ended,
// the rest of its group is killed. On Linux, every process that still has the
// attempt's mark (BELFRY_RUN_ID) in its environment is killed too, also after
// setsid; and the kernel kills the program when the worker dies.
//
// On Linux, a worker that is killed or hangs (SIGSTOP) leaves no command behind.
// A watch process, a copy of the worker's program, ends each command with the
// worker or with the lease of its session, whichever ends first. It requires
// [Init] in main.
//
// # Limits
//
// A process escapes if it leaves the group and drops the mark: it cleared its
// environment, belongs to another user (sudo), or was started by another process
// on its behalf (systemd-run, docker, at). If worker and watch are both killed
// with SIGKILL, the program's children survive. On other systems than Linux,
// processes that leave the group escape, and the program survives a killed
// worker. Containing these takes a cgroup or a PID namespace, as in a sandbox.
//
// An escaped process does not delay the attempt: after the program has ended,
// its output is awaited for at most two seconds.
package process

import (
	"context"
	"crypto/rand"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"runtime"
	"slices"
	"strings"
	"time"

	"github.com/belfry-run/belfry/app/worker/internal/lastline"
	"github.com/belfry-run/belfry/job"
	"github.com/belfry-run/belfry/task"
	"github.com/belfry-run/belfry/worker"
)

// Refusal is the error for a command on a worker that does not allow them.
const Refusal = "commands are not allowed on this worker, because they can do whatever its user can; its operator can allow them: belfry serve --allow-commands"

// Options of an executor.
type Options struct {
	// Allow allows commands; only the operator may set it. Without it every command
	// fails with [Refusal]. Rather register no executor than one without Allow:
	// then jobs wait for a worker that allows commands.
	Allow bool
	// TempDir is the parent of temporary directories of commands. Default: the
	// system's.
	TempDir string
}

// Executor implements [worker.Executor] for kind command.
type Executor struct{ options Options }

// New returns an executor.
func New(o Options) *Executor { return &Executor{o} }

// outputWait is how long output may stay open after the program has ended.
const outputWait = 2 * time.Second

// Execute runs the command of the attempt's task.
func (e *Executor) Execute(ctx context.Context, r *worker.Run) job.Finish {
	c := r.Task.Command
	switch {
	case !e.options.Allow:
		return r.Refused("%s", Refusal)
	case c == nil:
		return r.Refused("task %q has no command", r.Task.Name)
	}
	dir, cleanUp, err := e.workDir(r, c.Dir)
	if err != nil {
		return dirFailed(r, err)
	}
	defer cleanUp()
	mark := rand.Text()
	env := environment(r, mark)
	cmd, err := command(c, dir, env)
	if err != nil {
		return r.Refused("%s", err)
	}
	return run(ctx, r, cmd, mark)
}

// command returns the program to start, without the environment of the worker.
func command(c *task.Command, dir string, env []string) (*exec.Cmd, error) {
	argv := c.Argv
	if c.Shell != "" {
		if runtime.GOOS == "windows" {
			return nil, errors.New("its script is for /bin/sh, which Windows does not have; write argv instead of shell")
		}
		argv = []string{"/bin/sh", "-c", c.Shell}
	}
	if len(argv) == 0 {
		return nil, errors.New("its command has neither argv nor shell")
	}
	path, err := lookPath(argv[0], dir, env)
	if err != nil {
		return nil, err
	}
	return &exec.Cmd{Path: path, Args: argv, Dir: dir, Env: env, WaitDelay: outputWait}, nil
}

// errHeardLate: the watch may have killed the program, although the session was alive.
var errHeardLate = errors.New(worker.HeardLate)

// run starts the program and waits for its end.
func run(ctx context.Context, r *worker.Run, cmd *exec.Cmd, mark string) job.Finish {
	last := &lastline.Writer{}
	cmd.Stdout, cmd.Stderr = r.Stdout, io.MultiWriter(r.Stderr, last)
	if in := stdin(r); in != "" {
		cmd.Stdin = strings.NewReader(in)
	}
	begun := time.Now()
	err := runGroup(ctx, r, cmd, mark)
	took := time.Since(begun)
	if cmd.Process == nil {
		return startFailed(r, cmd, err)
	}
	if errors.Is(err, errHeardLate) {
		return r.CutOff(worker.HeardLate)
	}
	if errors.Is(err, exec.ErrWaitDelay) {
		_, _ = fmt.Fprintln(r.Log, "belfry: a process that the command left behind held its output open")
	}
	return ended(r, cmd.ProcessState, took, last)
}

func stdin(r *worker.Run) string {
	if r.Task.Command.Stdin != "" {
		return r.Task.Command.Stdin
	}
	return string(r.Input())
}

func killGrace(r *worker.Run) time.Duration {
	if g := r.Task.Command.KillGrace; g > 0 {
		return g.D()
	}
	return task.DefaultKillGrace.D()
}

// output is the value of a job of kind command.
type output struct {
	ExitCode   int   `json:"exit_code"`
	DurationMS int64 `json:"duration_ms"`
}

// ended returns the result of a program's end.
func ended(r *worker.Run, state *os.ProcessState, took time.Duration, last *lastline.Writer) job.Finish {
	code, signal := state.ExitCode(), signalOf(state)
	f := job.Finish{Ref: r.Ref(), Outcome: job.OutcomeOK, Signal: signal}
	if signal == "" {
		f.ExitCode = &code
	}
	f.Output, _ = json.Marshal(output{code, took.Milliseconds()})
	switch {
	case signal != "":
		f.Outcome, f.Error = job.OutcomeError, last.After("killed by "+signal)
	case !succeeded(r.Task.Command, code):
		f.Outcome, f.Error = job.OutcomeError, last.After(fmt.Sprintf("exit code %d", code))
	}
	return f
}

func succeeded(c *task.Command, code int) bool {
	if len(c.SuccessCodes) == 0 {
		return code == 0
	}
	return slices.Contains(c.SuccessCodes, code)
}

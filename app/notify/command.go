package notify

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"time"

	"github.com/belfry-run/belfry/alert"
)

// CommandRefusal is the error for a command on a node that does not allow them.
const CommandRefusal = "commands are not allowed on this node, because they can do whatever its user can; its operator can allow them: belfry serve --allow-commands"

// Limits of a command.
const (
	commandTimeout    = 30 * time.Second
	maxCommandTimeout = 5 * time.Minute
	commandOutput     = 400             // last bytes of output, for the error
	commandOutputWait = 2 * time.Second // for remaining child processes to close the output
)

// command runs a program with the message on its standard input. The program
// gets a process group of its own, which is killed at the time limit and when
// the program has ended, so that no process remains.
func (s *Sender) command(ctx context.Context, c alert.Channel, m alert.Message) error {
	if !s.options.AllowCommands {
		return permanent("%s", CommandRefusal)
	}
	timeout := time.Duration(c.Command.Timeout)
	if timeout <= 0 {
		timeout = commandTimeout
	}
	ctx, cancel := context.WithTimeout(ctx, min(timeout, maxCommandTimeout))
	defer cancel()
	path, err := programOf(c.Command.Argv)
	if err != nil {
		return err
	}
	out := &tail{}
	cmd := &exec.Cmd{Path: path, Args: c.Command.Argv, Dir: os.TempDir(), Env: environment(c, m), WaitDelay: commandOutputWait,
		Stdin: bytes.NewReader(payload(m)), Stdout: out, Stderr: out}
	err = runGroup(ctx, cmd)
	return commandFault(ctx, filepath.Base(path), err, out)
}

// programOf finds the program of argv: by its full path, or in PATH.
func programOf(argv []string) (string, error) {
	if len(argv) == 0 || argv[0] == "" {
		return "", permanent("it names no program")
	}
	if strings.ContainsRune(strings.Join(argv, ""), 0) {
		return "", permanent("its program or an argument holds a zero byte")
	}
	if !filepath.IsAbs(argv[0]) && filepath.Base(argv[0]) != argv[0] {
		return "", permanent("program %q is relative to nothing: give its whole path", argv[0])
	}
	path, err := exec.LookPath(argv[0])
	if err != nil {
		return "", permanent("program %q was not found on this node, or it may not be run", argv[0])
	}
	return path, nil
}

func commandFault(ctx context.Context, name string, err error, out *tail) error {
	var exit *exec.ExitError
	switch {
	case err == nil:
		return nil
	case ctx.Err() != nil:
		f := ended(ctx, name)
		f.text += out.said()
		return f
	case errors.As(err, &exit):
		return passing("%s ended with %s%s", name, exit, out.said())
	case errors.Is(err, exec.ErrWaitDelay):
		// The program succeeded. Its child processes were killed, or have left the group.
		return nil
	}
	return passing("%s: %v%s", name, err, out.said())
}

// defaultPath is the PATH of programs if the node has none.
const defaultPath = "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin"

// environment is the whole environment of a program. From that of the node it
// has only the variables that programs need to run.
func environment(c alert.Channel, m alert.Message) []string {
	env := []string{"PATH=" + inherited("PATH", defaultPath), "HOME=" + inherited("HOME", "/"), "LANG=" + inherited("LANG", "C.UTF-8")}
	if zone, set := os.LookupEnv("TZ"); set {
		env = append(env, "TZ="+zone)
	}
	for _, v := range [][2]string{
		{"EVENT", eventOf(m)}, {"DELIVERY", m.Key}, {"NAMESPACE", m.Namespace}, {"CHANNEL", c.Name},
		{"SEVERITY", severityOf(m)}, {"TITLE", headline(m)}, {"URL", m.URL},
	} {
		env = append(env, "BELFRY_"+v[0]+"="+cut(line(v[1]), 2*maxURL))
	}
	return env
}

func inherited(name, otherwise string) string {
	if value := os.Getenv(name); value != "" {
		return value
	}
	return otherwise
}

// tail keeps the end of the output of a program.
type tail struct {
	mu   sync.Mutex
	data []byte
}

func (t *tail) Write(p []byte) (int, error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.data = append(t.data, p[max(0, len(p)-commandOutput):]...)
	if over := len(t.data) - commandOutput; over > 0 {
		t.data = append(t.data[:0], t.data[over:]...)
	}
	return len(p), nil
}

func (t *tail) said() string {
	t.mu.Lock()
	defer t.mu.Unlock()
	if text := line(string(t.data)); text != "" {
		return fmt.Sprintf(": %s", text)
	}
	return ""
}

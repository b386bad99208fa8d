//go:build unix

package notify_test

import (
	"bytes"
	"context"
	"encoding/json"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"github.com/belfry-run/belfry/alert"
	"github.com/belfry-run/belfry/app/notify"
	"github.com/belfry-run/belfry/core"
)

func command(timeout time.Duration, argv ...string) alert.Channel {
	return alert.Channel{Namespace: "default", Name: "pager", Command: &alert.CommandChannel{Argv: argv, Timeout: core.Duration(timeout)}}
}

func shell(timeout time.Duration, script string) alert.Channel {
	return command(timeout, "sh", "-c", script)
}

func TestACommandGetsTheMessage(t *testing.T) {
	t.Setenv("BELFRY_DATABASE", marker)
	t.Setenv("SOME_TOKEN", marker)
	dir := t.TempDir()
	c := command(0, "sh", "-c", `cat > "$1/in" && env > "$1/env"`, "sh", dir)
	for _, m := range messages {
		if err := newSender(t).Send(patient(t), c, m.Message); err != nil {
			t.Fatal(err)
		}
		in, err := os.ReadFile(filepath.Join(dir, "in"))
		if err != nil {
			t.Fatal(err)
		}
		var got alert.Message
		if err := json.Unmarshal(in, &got); err != nil || got.Key != m.Key || len(got.Notifications) != len(m.Notifications) {
			t.Errorf("%s: %v, %s", m.name, err, in)
		}
		env, _ := os.ReadFile(filepath.Join(dir, "env"))
		if bytes.Contains(env, []byte(marker)) {
			t.Errorf("%s: the node's variables are there: %s", m.name, env)
		}
		if m.name == "down" {
			for _, want := range []string{"BELFRY_EVENT=down", "BELFRY_DELIVERY=k-down", "BELFRY_NAMESPACE=default", "BELFRY_CHANNEL=pager",
				"BELFRY_SEVERITY=critical", "BELFRY_TITLE=shop is down", "BELFRY_URL=https://belfry.example.com/monitors/shop"} {
				if !slices.Contains(strings.Split(string(env), "\n"), want) {
					t.Errorf("%s is missing in %s", want, env)
				}
			}
		}
	}
}

func TestAHugeMessageFitsACommand(t *testing.T) {
	t.Parallel()
	if err := newSender(t).Send(patient(t), shell(0, "exec cat > /dev/null"), huge()); err != nil {
		t.Error(err)
	}
	if err := newSender(t).Send(patient(t), shell(0, "exit 0"), huge()); err != nil { // it need not read
		t.Error(err)
	}
}

func TestCommandsAreRefusedUnlessAllowed(t *testing.T) {
	t.Parallel()
	file := filepath.Join(t.TempDir(), "ran")
	s := notify.New(notify.Options{})
	t.Cleanup(s.Close)
	checkFault(t, "refused", s.Send(patient(t), command(0, "touch", file), messages[0].Message), true, "--allow-commands")
	if _, err := os.Stat(file); err == nil {
		t.Error("it ran")
	}
}

func TestCommandsThatFail(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	plain := filepath.Join(dir, "plain")
	if err := os.WriteFile(plain, []byte("x"), 0o644); err != nil {
		t.Fatal(err)
	}
	broken := filepath.Join(dir, "broken")
	if err := os.WriteFile(broken, []byte("\x7fELF nonsense"), 0o755); err != nil {
		t.Fatal(err)
	}
	s := newSender(t)
	for name, c := range map[string]struct {
		channel   alert.Channel
		permanent bool
		says      string
	}{
		"fails":        {shell(0, "echo the modem is gone >&2; exit 3"), false, "sh ended with exit status 3: the modem is gone"},
		"is killed":    {shell(0, "kill -9 $$"), false, "killed"},
		"says much":    {shell(0, `i=0; while [ $i -lt 5000 ]; do echo "line $i of many"; i=$((i+1)); done; printf '\033[31m\377'; exit 1`), false, "line 4999 of many"},
		"is not there": {command(0, "no-such-program-here"), true, "not found"},
		"is no path":   {command(0, "bin/x"), true, "give its whole path"},
		"may not run":  {command(0, plain), true, "not found"},
		"is no binary": {command(0, broken), false, "exec format"},
		"is empty":     {command(0), true, "no program"},
		"has a zero":   {command(0, "sh", "a\x00b"), true, "zero byte"},
	} {
		checkFault(t, name, s.Send(patient(t), c.channel, messages[0].Message), c.permanent, c.says)
	}
}

// A named pipe that a program's child holds open says when the child is dead.
func TestACommandsWholeGroupIsKilledAtTheTimeout(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		script string
		ok     bool
	}{
		"in time":     {`(trap '' TERM; exec sleep 1000 > "$0") & while [ ! -s "$0.up" ]; do :; done; exit 0`, true},
		"not in time": {`(trap '' TERM; exec sleep 1000 > "$0") & trap '' TERM; wait; sleep 1000`, false},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			pipe := filepath.Join(t.TempDir(), "pipe")
			if err := unix.Mkfifo(pipe, 0o600); err != nil {
				t.Fatal(err)
			}
			dead := make(chan error, 1)
			go func() {
				f, err := os.Open(pipe) // waits for the child
				if err == nil && c.ok { // and lets the parent end
					err = os.WriteFile(pipe+".up", []byte("up"), 0o600)
				}
				if err == nil {
					_, err = io.ReadAll(f) // until the child is dead
					_ = f.Close()
				}
				dead <- err
			}()
			timeout := 10 * time.Second // in which its child has opened the pipe, on a busy machine too
			if c.ok {
				timeout = time.Minute
			}
			err := newSender(t).Send(patient(t), command(timeout, "sh", "-c", c.script, pipe), messages[0].Message)
			if c.ok && err != nil {
				t.Error(err)
			}
			if !c.ok {
				checkFault(t, name, err, false, "sh took too long")
			}
			if err := <-dead; err != nil {
				t.Error(err)
			}
		})
	}
}

func TestACommandEndsWithItsContext(t *testing.T) {
	t.Parallel()
	ctx, cancel := context.WithCancel(t.Context())
	pipe := filepath.Join(t.TempDir(), "pipe")
	if err := unix.Mkfifo(pipe, 0o600); err != nil {
		t.Fatal(err)
	}
	go func() {
		f, err := os.Open(pipe)
		if err == nil {
			_ = f.Close()
		}
		cancel()
	}()
	err := newSender(t).Send(ctx, command(0, "sh", "-c", `exec sleep 1000 > "$0"`, pipe), messages[0].Message)
	checkFault(t, "canceled", err, false, "sh was canceled")
}

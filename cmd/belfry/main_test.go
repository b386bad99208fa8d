package main

import (
	"bufio"
	"bytes"
	"context"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"
	"testing/synctest"
	"time"

	"github.com/belfry-run/belfry/app"
	"github.com/belfry-run/belfry/app/config"
	"github.com/belfry-run/belfry/cmd/belfry/internal/cli"
)

func TestAClosedTerminalEndsInOrderButNotUnderNohup(t *testing.T) {
	t.Parallel()
	for _, ignored := range []bool{false, true} {
		if ends := endings(func(os.Signal) bool { return ignored }); slices.Contains(ends, os.Signal(syscall.SIGHUP)) == ignored {
			t.Errorf("ignored: %v, ends: %v", ignored, ends)
		}
	}
}

func TestASecondSignalEndsAtOnceButNotTheEchoOfTheFirst(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		signals, ended, code := make(chan os.Signal, 2), 0, 0
		go heed(signals, func() { ended++ }, func(c int) { code = c })
		signals <- syscall.SIGTERM
		signals <- syscall.SIGTERM
		synctest.Wait()
		if ended != 1 || code != 0 {
			t.Errorf("after a signal that came twice: ended %d times, exit code %d", ended, code)
		}
		time.Sleep(time.Second)
		signals <- syscall.SIGTERM
		synctest.Wait()
		if ended != 1 || code != 143 {
			t.Errorf("after another one: ended %d times, exit code %d", ended, code)
		}
	})
}

// inProcess runs a node in this process and answers the environment of a shell
// beside it.
func inProcess(t *testing.T) []string {
	t.Helper()
	dir := t.TempDir()
	a, err := app.New(app.Options{Config: config.Config{
		Database: filepath.Join(dir, "belfry.db"), Listen: "127.0.0.1:0", AllowCommands: true,
	}})
	if err != nil {
		t.Fatal(err)
	}
	if err := a.Start(t.Context()); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := a.Stop(context.Background()); err != nil {
			t.Error(err)
		}
	})
	return []string{"BELFRY_SERVER=" + a.URL(), "BELFRY_TOKEN_FILE=" + a.TokenFile()}
}

func TestWatchShowsNewResults(t *testing.T) {
	t.Parallel()
	env := inProcess(t)
	run := func(args ...string) {
		t.Helper()
		var out bytes.Buffer
		if code := Main(t.Context(), args, strings.NewReader(""), &out, &out, env); code != 0 {
			t.Fatalf("%q: exit code %d\n%s", args, code, out.String())
		}
	}
	run("task", "create", "hello", "--shell", "echo hello")
	ctx, cancel := context.WithTimeout(t.Context(), 3*time.Minute)
	defer cancel()
	pr, pw := io.Pipe()
	ended := make(chan int, 1)
	go func() {
		code := Main(ctx, []string{"job", "list", "--watch", "--task", "hello"}, strings.NewReader(""), pw, io.Discard, env)
		_ = pw.Close()
		ended <- code
	}()
	lines := bufio.NewScanner(pr)
	if !lines.Scan() || !strings.HasPrefix(lines.Text(), "ID") {
		t.Fatalf("no heading: %q", lines.Text())
	}
	run("job", "enqueue", "hello")
	for !strings.Contains(lines.Text(), "succeeded") {
		if !lines.Scan() {
			t.Fatal("ended before the job did")
		}
	}
	cancel()
	go func() { _, _ = io.Copy(io.Discard, pr) }()
	if code := <-ended; code != 0 {
		t.Errorf("exit code %d", code)
	}
}

func TestHelpOfEveryCommandIsWhole(t *testing.T) {
	t.Parallel()
	for _, cmd := range commands(root(cli.New(nil, io.Discard, io.Discard, nil))) {
		if cmd.Short == "" || strings.HasSuffix(cmd.Short, ".") {
			t.Errorf("%s: short help %q", cmd.CommandPath(), cmd.Short)
		}
		if !cmd.Runnable() {
			t.Errorf("%s does nothing", cmd.CommandPath())
		}
	}
}

package main

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"testing/synctest"
	"time"

	"github.com/belfry-run/belfry/app"
	"github.com/belfry-run/belfry/config"
	"github.com/belfry-run/belfry/core"
)

func TestExitCodes(t *testing.T) {
	t.Parallel()
	for want, errs := range map[int][]error{
		exitOK:           {nil},
		exitFailed:       {exitStatus(exitFailed), errors.New("anything"), context.Canceled},
		exitUsage:        {core.Errorf(core.Invalid, "x"), core.Errorf(core.TooLarge, "x"), &config.FileError{What: "manifest"}},
		exitNotFound:     {core.Errorf(core.NotFound, "x")},
		exitConflict:     {core.Errorf(core.Conflict, "x"), exitStatus(exitConflict)},
		exitUnauthorized: {core.Errorf(core.Unauthorized, "x"), core.Errorf(core.Forbidden, "x")},
		exitUnknown:      {core.Errorf(core.Unknown, "x")},
		exitUnavailable:  {fmt.Errorf("around: %w", core.Errorf(core.Unavailable, "x"))},
		exitInternal:     {core.Errorf(core.Internal, "x")},
		exitNothing:      {exitStatus(exitNothing)},
	} {
		for _, err := range errs {
			if got := exitCode(err); got != want {
				t.Errorf("%v: exit code %d, want %d", err, got, want)
			}
			if want > 0 && !strings.Contains(exitHelp, fmt.Sprintf("\n  %d  ", want)) {
				t.Errorf("the help does not tell exit code %d", want)
			}
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

func TestErrorsAreReportedForPeople(t *testing.T) {
	t.Parallel()
	var b bytes.Buffer
	cause := core.InvalidField("rules[0].cron", "99 * * * *", "is outside 0 to 59", "a minute is 0 to 59").WithHint("belfry schedule --help")
	report(&b, fmt.Errorf("create schedule: %w", cause), false)
	want := `error: create schedule: invalid input
  rules[0].cron "99 * * * *": is outside 0 to 59 (a minute is 0 to 59)
try: belfry schedule --help
`
	if b.String() != want {
		t.Errorf("got\n%s\nwant\n%s", b.String(), want)
	}
}

func TestRunInputKeepsEverythingRight(t *testing.T) {
	t.Parallel()
	for _, tc := range []struct {
		args []string
		want string
	}{
		{nil, ``},
		{[]string{"--name=World"}, `{"name":"World"}`},
		{[]string{"--name", "World"}, `{"name":"World"}`},
		{[]string{"--flag"}, `{"flag":true}`},
		{[]string{"--flag", "--other=1"}, `{"flag":true,"other":1}`},
		{[]string{"--a=b=c"}, `{"a":"b=c"}`},
		{[]string{"--a", "b=c"}, `{"a":"b=c"}`},
		{[]string{"--a="}, `{"a":""}`},
		{[]string{"--a", "-5"}, `{"a":-5}`},
		{[]string{"--a=--b"}, `{"a":"--b"}`},
		{[]string{"--zip=0123", "--v=1.10", "--text=\"1.10\""}, `{"zip":"0123","v":1.10,"text":"1.10"}`},
		{[]string{"--o={\"x\": [1]}", "--n=null", "--t=true"}, `{"o":{"x": [1]},"n":null,"t":true}`},
		{[]string{"--l=1", "--m=x", "--l", "two"}, `{"l":[1,"two"],"m":"x"}`},
		{[]string{"--dash-ed_key.x=1"}, `{"dash-ed_key.x":1}`},
		{[]string{"--quote=\"half"}, `{"quote":"\"half"}`},
	} {
		got, err := runInput(tc.args, "")
		if err != nil || string(got) != tc.want {
			t.Errorf("%q: got %s, %v, want %s", tc.args, got, err, tc.want)
		}
		if len(got) > 0 && !json.Valid(got) {
			t.Errorf("%q: %s is not JSON", tc.args, got)
		}
	}
	for _, args := range [][]string{{"name=World"}, {"-n", "5"}, {"--"}, {"--=x"}, {"--a=1", "stray", "x"}} {
		if got, err := runInput(args, ""); core.CodeOf(err) != core.Invalid {
			t.Errorf("%q: got %s, %v", args, got, err)
		}
	}
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

func TestWatchShowsWhatComes(t *testing.T) {
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
	ctx, cancel := context.WithTimeout(t.Context(), 30*time.Second)
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
	for _, cmd := range commands(root(newCLI(nil, io.Discard, io.Discard, nil))) {
		if cmd.Short == "" || strings.HasSuffix(cmd.Short, ".") {
			t.Errorf("%s: short help %q", cmd.CommandPath(), cmd.Short)
		}
		if !cmd.Runnable() {
			t.Errorf("%s does nothing", cmd.CommandPath())
		}
	}
}

package process

import (
	"encoding/json"
	"os"
	"os/exec"
	"slices"
	"syscall"
	"testing"
	"time"

	"github.com/belfry-run/belfry/internal/monotime"
)

// group is a program in a group of its own, which ends with the test.
func group(t *testing.T) *exec.Cmd {
	t.Helper()
	cmd := exec.Command("sleep", "600")
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = cmd.Process.Kill() })
	return cmd
}

// A watch that was not run for a while finds that a time is over and that it was put off, both at once.
func TestWatchReadsPendingMessagesBeforeItKills(t *testing.T) {
	t.Parallel()
	kept, late := group(t), group(t)
	now := monotime.Now()
	in, out, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = in.Close() }()
	said := []message{{Mark: "kept", Group: kept.Process.Pid, Until: now - 1}}
	said = append(said, slices.Repeat([]message{{Mark: "none"}}, 500)...) // more than is read at once
	said = append(said, message{Mark: "kept", Group: kept.Process.Pid, Until: now + int64(time.Hour)},
		message{Mark: "late", Group: late.Process.Pid, Until: now - 1})
	for _, m := range said {
		line, err := json.Marshal(m)
		if err == nil {
			_, err = out.Write(append(line, '\n'))
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	gone := make(chan struct{})
	go func() {
		defer close(gone)
		runWatch(int(in.Fd()))
	}()
	if _ = late.Wait(); late.ProcessState.Success() {
		t.Error("a command whose time is over has ended by itself")
	}
	if ended, err := syscall.Wait4(kept.Process.Pid, nil, syscall.WNOHANG, nil); ended != 0 || err != nil {
		t.Error("a command has ended whose time was put off:", err)
	}
	_ = out.Close()
	_ = kept.Wait() // all end with the worker
	<-gone
}

func TestOnlyALateDeadlineMayHaveEndedACommand(t *testing.T) {
	t.Parallel()
	past, future := time.Now().Add(-time.Second), time.Now().Add(time.Hour)
	for name, c := range map[string]struct {
		told, now time.Time
		late      bool
	}{
		"put off in time":         {future, future.Add(time.Second), false},
		"put off after the time":  {past, future, true},
		"over, and never put off": {past, past, true},
		"without a session":       {time.Time{}, time.Time{}, false},
	} {
		f := deadlineSender{said: message{Mark: "nothing", Until: instant(c.told)}, over: make(chan struct{})}
		close(f.over)
		f.follow(func() (time.Time, <-chan struct{}) { return c.now, nil })
		if late := f.late || f.hasPassed(); late != c.late {
			t.Errorf("%s: %v", name, late)
		}
	}
	if err := theWatch.send(message{Mark: "nothing", Over: true}); err != nil {
		t.Error(err)
	}
}

package sandbox_test

import (
	"bytes"
	"context"
	"crypto/rand"
	"os"
	"path/filepath"
	"strconv"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/belfry-run/belfry/app/worker/sandbox"
)

// deadline is the end of a run, which moves like that of a session.
type deadline struct {
	mu    sync.Mutex
	end   time.Time
	moved chan struct{}
}

func endsAt(t time.Time) *deadline { return &deadline{end: t, moved: make(chan struct{})} }

func (d *deadline) move(t time.Time) {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.end = t
	close(d.moved)
	d.moved = make(chan struct{})
}

func (d *deadline) until() (end time.Time, moved <-chan struct{}) {
	d.mu.Lock()
	defer d.mu.Unlock()
	return d.end, d.moved
}

// The init enforces the deadline of a run. The last deadline counts, later or earlier.
func TestARunEndsWithItsTime(t *testing.T) {
	alsoInGVisor(t, sandbox.None, func(t *testing.T, w world) {
		mark := rand.Text()
		a := w.attack("sleep", mark)
		end := endsAt(time.Now().Add(time.Hour))
		a.Until = end.until
		r := a.start(t, w)
		end.move(time.Now().Add(2 * time.Hour))
		end.move(time.Now())
		result, err := r.Wait()
		if err != nil || !result.Expired || result.Signal != "SIGKILL" {
			t.Errorf("%+v %v", result, err)
		}
		if left := marked(mark); len(left) > 0 {
			t.Error("left:", left)
		}
		nothingIsLeft(t, w)
	})
}

func TestARunMayEndBeforeItsTime(t *testing.T) {
	inEach(t, sandbox.None, func(t *testing.T, w world) {
		a := w.attack("exit", "3")
		end := endsAt(time.Now().Add(time.Hour))
		a.Until = end.until
		r := a.start(t, w)
		end.move(time.Now().Add(2 * time.Hour))
		if result, err := r.Wait(); err != nil || result.Expired || result.ExitCode != 3 {
			t.Errorf("%+v %v", result, err)
		}
	})
}

// A time that is over when the run starts ends it too, while it is set up or right after.
func TestARunIsNotStartedAfterItsTime(t *testing.T) {
	inEach(t, sandbox.None, func(t *testing.T, w world) {
		a := w.attack("sleep", rand.Text())
		a.Until = endsAt(time.Now().Add(-time.Hour)).until
		r, err := w.open(t).Start(context.Background(), a.Spec)
		if err == nil {
			var result sandbox.Result
			if result, err = r.Wait(); err != nil || !result.Expired {
				t.Errorf("%+v %v", result, err)
			}
		}
		nothingIsLeft(t, w)
	})
}

// A setup may take longer than the session had left when it began, if the session is renewed meanwhile. The set-up copy is
// stopped here until that time has passed.
func TestARunIsExtendedWhileItIsSetUp(t *testing.T) {
	t.Parallel()
	w := worlds()[0]
	w.works(t)
	for range 50 { // most copies are caught, but one may be ready before
		out, err := os.Create(filepath.Join(public(t), "out"))
		if err != nil {
			t.Fatal(err)
		}
		defer func() { _ = out.Close() }()
		a := w.attack("sleep", rand.Text())
		a.Stdout, a.Stderr = out, out
		first := time.Now().Add(10 * time.Second)
		end := endsAt(first)
		a.Until = end.until
		caught := make(chan bool)
		go func() {
			pid := stopSetup(out.Name())
			if pid != 0 {
				end.move(time.Now().Add(time.Hour))
				<-time.After(time.Until(first.Add(time.Second)))
				_ = syscall.Kill(pid, syscall.SIGCONT)
			}
			caught <- pid != 0
		}()
		r := a.start(t, w)
		found := <-caught
		select {
		case <-r.Done():
			t.Error("the run ended with its first deadline")
		default:
		}
		r.Kill()
		if result, err := r.Wait(); err != nil || result.Expired {
			t.Errorf("%+v %v", result, err)
		}
		if found {
			return
		}
	}
	t.Error("no set-up copy was caught")
}

// stopSetup stops the set-up copy of the run with this output. If the copy became the program before, it returns 0.
func stopSetup(output string) (pid int) {
	for deadline := time.Now().Add(time.Minute); time.Now().Before(deadline); {
		lists, _ := filepath.Glob("/proc/[0-9]*/fd/1")
		for _, l := range lists {
			if to, _ := os.Readlink(l); to != output {
				continue
			}
			dir := filepath.Dir(filepath.Dir(l))
			if name := argv0(dir); name == "belfry-sandbox-init" {
				continue
			}
			pid, _ := strconv.Atoi(filepath.Base(dir))
			_ = syscall.Kill(pid, syscall.SIGSTOP)
			if argv0(dir) == "belfry-sandbox-setup" {
				return pid
			}
			_ = syscall.Kill(pid, syscall.SIGCONT)
			return 0
		}
	}
	return 0
}

func argv0(process string) string {
	line, _ := os.ReadFile(filepath.Join(process, "cmdline"))
	name, _, _ := bytes.Cut(line, []byte{0})
	return string(name)
}

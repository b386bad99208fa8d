package sandbox_test

import (
	"bufio"
	"bytes"
	"context"
	"crypto/rand"
	"debug/elf"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/belfry-run/belfry/app/worker/sandbox"
)

// arch is this machine's, by ELF's name.
func arch() elf.Machine {
	if runtime.GOARCH == "arm64" {
		return elf.EM_AARCH64
	}
	return elf.EM_X86_64
}

func isRefusal(err error) bool {
	var r *sandbox.Refusal
	return errors.As(err, &r)
}

func TestHowAProgramEndsIsTold(t *testing.T) {
	alsoInGVisor(t, sandbox.None, func(t *testing.T, w world) {
		if r := w.attack("exit", "7").run(t, w); r.ExitCode != 7 || r.Signal != "" || r.OOM {
			t.Errorf("%+v", r)
		}
		if r := w.attack("exit", "0").run(t, w); r.ExitCode != 0 || r.Usage.MaxRSS == 0 || r.Usage.User+r.Usage.System == 0 {
			t.Errorf("%+v", r)
		}
		for signal, name := range map[syscall.Signal]string{syscall.SIGKILL: "SIGKILL", syscall.SIGHUP: "SIGHUP", syscall.SIGTERM: "SIGTERM"} {
			if r := w.attack("kill-self", strconv.Itoa(int(signal))).run(t, w); r.ExitCode != -1 || r.Signal != name || r.OOM {
				t.Errorf("%+v", r)
			}
		}
	})
}

// A fault of the setting up is none of the program's.
func TestProgramsThatCannotStartAreFaults(t *testing.T) {
	dir := public(t)
	files := map[string]string{}
	for name, content := range map[string][]byte{
		"text":    []byte("hello\n"),
		"script":  []byte("#!/bin/sh\r\n"),
		"foreign": program(elf.EM_S390, elf.ET_EXEC, 0x1000, ""),
		"loader":  program(arch(), elf.ET_EXEC, 0x1000, "/lib/ld-musl.so"),
		"plain":   program(arch(), elf.ET_EXEC, 0x1000, ""),
	} {
		files[name] = filepath.Join(dir, name)
		must(t, os.WriteFile(files[name], content, 0o755))
	}
	must(t, os.Chmod(files["plain"], 0o644))
	inEach(t, sandbox.None, func(t *testing.T, w world) {
		for name, c := range map[string]struct {
			spoil func(*sandbox.Spec)
			step  string
			err   error
			says  string
		}{
			"no such program":  {func(s *sandbox.Spec) { s.Argv[0] = filepath.Dir(hostile) + "/nothing" }, sandbox.StepExec, nil, "not among the files"},
			"not a program":    {func(s *sandbox.Spec) { s.Argv[0] = files["text"] }, sandbox.StepExec, syscall.ENOEXEC, "neither an ELF program nor a script"},
			"not a script":     {func(s *sandbox.Spec) { s.Argv[0] = files["script"] }, sandbox.StepExec, fs.ErrNotExist, "lines do on Windows"},
			"another machine":  {func(s *sandbox.Spec) { s.Argv[0] = files["foreign"] }, sandbox.StepExec, syscall.ENOEXEC, "built for s390x, and this machine is " + runtime.GOARCH},
			"no loader":        {func(s *sandbox.Spec) { s.Argv[0] = files["loader"] }, sandbox.StepExec, fs.ErrNotExist, "needs the loader /lib/ld-musl.so"},
			"not marked":       {func(s *sandbox.Spec) { s.Argv[0] = files["plain"] }, sandbox.StepExec, fs.ErrPermission, "not marked as executable"},
			"no such folder":   {func(s *sandbox.Spec) { s.Dir = filepath.Dir(hostile) + "/nothing" }, sandbox.StepDir, fs.ErrNotExist, ""},
			"too long to pass": {func(s *sandbox.Spec) { s.Env = []string{"A=" + strings.Repeat("x", 200<<10)} }, sandbox.StepExec, syscall.E2BIG, ""},
		} {
			a := w.attack("echo")
			for _, f := range files {
				a.ReadOnly = append(a.ReadOnly, sandbox.Mount{Source: f})
			}
			c.spoil(&a.Spec)
			_, err := w.open(t).Start(t.Context(), a.Spec)
			var fault *sandbox.Fault
			if !errors.As(err, &fault) || fault.Step != c.step || c.err != nil && !errors.Is(err, c.err) || !strings.Contains(err.Error(), c.says) {
				t.Errorf("%s: %v", name, err)
			}
		}
		nothingIsLeft(t, w)
	})
}

func TestInputAndOutput(t *testing.T) {
	inEach(t, sandbox.None, func(t *testing.T, w world) {
		a := w.attack("echo")
		a.Argv = []string{"/bin/sh", "-c", "read x; echo got $x; echo wrong >&2"}
		var bad bytes.Buffer
		a.Stdin, a.Stderr = strings.NewReader("hello\n"), &bad
		a.run(t, w)
		if a.out.String() != "got hello\n" || bad.String() != "wrong\n" {
			t.Errorf("%q %q", a.out.String(), bad.String())
		}
	})
}

// A large environment does not fit into a pipe at once.
func TestALargeSetup(t *testing.T) {
	inEach(t, sandbox.None, func(t *testing.T, w world) {
		a := w.attack("env")
		for i := range 20 {
			a.Env = append(a.Env, fmt.Sprintf("V%d=%s", i, strings.Repeat("x", 30_000)))
		}
		if a.run(t, w); a.out.Len() < 600_000 {
			t.Error(a.out.Len())
		}
	})
}

func TestASignalReachesTheProgram(t *testing.T) {
	alsoInGVisor(t, sandbox.None, func(t *testing.T, w world) {
		a := w.attack("term")
		out, in := io.Pipe()
		a.Stdout = in
		r := a.start(t, w)
		lines := bufio.NewScanner(out)
		lines.Scan()
		if err := r.Signal(syscall.SIGTERM); err != nil {
			t.Error(err)
		}
		lines.Scan()
		go func() { _, _ = io.Copy(io.Discard, out) }()
		if result, err := r.Wait(); err != nil || result.ExitCode != 5 || lines.Text() != "asked to end" {
			t.Errorf("%+v %v %q", result, err, lines.Text())
		}
		r.Kill() // afterwards, and twice
		r.Kill()
		if err := r.Signal(syscall.SIGTERM); err != nil {
			t.Error(err)
		}
	})
}

// A signal reaches a program also when it comes as early as it can, so that a
// program that is asked to end while it starts has its grace.
func TestAnEarlySignalReachesTheProgram(t *testing.T) {
	alsoInGVisor(t, sandbox.None, func(t *testing.T, w world) {
		a := w.attack("term")
		r := a.start(t, w)
		if err := r.Signal(syscall.SIGTERM); err != nil {
			t.Error(err)
		}
		if result, err := r.Wait(); err != nil || result.ExitCode != 5 && result.Signal != "SIGTERM" {
			t.Errorf("%+v %v", result, err)
		}
	})
}

func TestStopAsksFirst(t *testing.T) {
	inEach(t, sandbox.None, func(t *testing.T, w world) {
		polite := w.attack("term")
		out, in := io.Pipe()
		polite.Stdout = in
		r := polite.start(t, w)
		lines := bufio.NewScanner(out)
		lines.Scan()
		go func() { _, _ = io.Copy(io.Discard, out) }()
		r.Stop(time.Hour)
		<-r.Done()
		if result, err := r.Wait(); err != nil || result.ExitCode != 5 {
			t.Errorf("%+v %v", result, err)
		}
		r = w.attack("sleep").start(t, w) // which ignores it, once it has come that far
		r.Stop(time.Millisecond)
		if result, err := r.Wait(); err != nil || result.Signal != "SIGKILL" && result.Signal != "SIGTERM" {
			t.Errorf("%+v %v", result, err)
		}
		nothingIsLeft(t, w)
	})
}

// enough is a writer that keeps nothing and wants no more than so much.
type enough int64

func (e *enough) Write(b []byte) (int, error) {
	if *e -= enough(len(b)); *e < 0 {
		return 0, errors.New("enough")
	}
	return len(b), nil
}

// A writer that fails ends a program that goes on writing, and not the worker.
func TestOutputWithoutEnd(t *testing.T) {
	inEach(t, sandbox.None, func(t *testing.T, w world) {
		limit := enough(8 << 20)
		a := w.attack("flood")
		a.Stdout = &limit
		if r := a.run(t, w); r.Signal != "SIGPIPE" && r.ExitCode != 4 {
			t.Errorf("%+v", r)
		}
	})
}

// Killed, or ended by itself: what it started goes with it, though it is in
// another session, has no parent and holds the output open.
func TestOrphansDoNotSurvive(t *testing.T) {
	for _, how := range []string{"stay", "end"} {
		t.Run(how, func(t *testing.T) {
			alsoInGVisor(t, sandbox.None, func(t *testing.T, w world) {
				mark := rand.Text()
				a := w.attack("orphan", mark, "3", how)
				out, in := io.Pipe()
				a.Stdout, a.Stderr = in, in
				r := a.start(t, w)
				if how == "stay" {
					if line, err := bufio.NewReader(out).ReadString('\n'); err != nil || line != "the orphan lives\n" {
						t.Errorf("%q %v", line, err)
					}
					r.Kill()
				}
				go func() { _, _ = io.Copy(io.Discard, out) }()
				if _, err := r.Wait(); err != nil {
					t.Error(err)
				}
				if left := marked(mark); len(left) > 0 {
					t.Error("left:", left)
				}
				nothingIsLeft(t, w)
			})
		})
	}
}

func TestAContextThatEndsKills(t *testing.T) {
	inEach(t, sandbox.None, func(t *testing.T, w world) {
		ctx, cancel := context.WithCancel(t.Context())
		r, err := w.open(t).Start(ctx, w.attack("sleep").Spec)
		if err != nil {
			t.Fatal(err)
		}
		cancel()
		if result, err := r.Wait(); err != nil || result.Signal != "SIGKILL" {
			t.Errorf("%+v %v", result, err)
		}
		if _, err := w.open(t).Start(ctx, w.attack("sleep").Spec); !errors.Is(err, context.Canceled) {
			t.Error(err)
		}
	})
}

// marked are the processes with a word in their arguments.
func marked(mark string) (pids []int) {
	entries, _ := os.ReadDir("/proc")
	for _, e := range entries {
		line, _ := os.ReadFile("/proc/" + e.Name() + "/cmdline")
		if pid, err := strconv.Atoi(e.Name()); err == nil && bytes.Contains(line, []byte(mark)) {
			pids = append(pids, pid)
		}
	}
	return pids
}

// nothingIsLeft looks at the records of a world, which name all that a run
// makes, and for its folders.
func nothingIsLeft(t *testing.T, w world) {
	t.Helper()
	state := w.options().StateDir
	entries, err := os.ReadDir(state)
	if err != nil {
		t.Fatal(err)
	}
	for _, e := range entries {
		text, err := os.ReadFile(filepath.Join(state, e.Name()))
		if err != nil || len(text) > 0 {
			t.Errorf("%s: %s %v", e.Name(), text, err)
		}
	}
}

// beWorker starts a run, says what it made, and waits to be killed.
func beWorker(args []string) {
	var o sandbox.Options
	var spec sandbox.Spec
	if err := json.Unmarshal([]byte(args[0]), &o); err != nil {
		panic(err)
	}
	if err := json.Unmarshal([]byte(args[1]), &spec); err != nil {
		panic(err)
	}
	s, err := sandbox.Open(context.Background(), o)
	if err != nil {
		panic(err)
	}
	spec.Stdout, spec.Stderr = os.Stdout, os.Stderr
	r, err := s.Start(context.Background(), spec)
	if err != nil {
		panic(err)
	}
	_, _ = r.Wait()
	panic("it ended by itself")
}

// A worker that gets SIGKILL can do nothing. The kernel or the run's init ends
// the program, and the next worker removes what is left.
func TestAKilledWorkerLeavesNothing(t *testing.T) {
	alsoInGVisor(t, sandbox.None, func(t *testing.T, w world) {
		mark := rand.Text()
		a := w.attack("orphan", mark, "3", "stay")
		a.Stdout, a.Stderr = nil, nil
		o := w.options()
		o.StateDir += "-killed"
		options, err := json.Marshal(o)
		if err != nil {
			t.Fatal(err)
		}
		spec, err := json.Marshal(a.Spec)
		if err != nil {
			t.Fatal(err)
		}
		worker := exec.Command(hostile, "worker", string(options), string(spec))
		out, err := worker.StdoutPipe()
		if err != nil {
			t.Fatal(err)
		}
		worker.Stderr = os.Stderr
		if err := worker.Start(); err != nil {
			t.Fatal(err)
		}
		if line, err := bufio.NewReader(out).ReadString('\n'); err != nil || line != "the orphan lives\n" {
			t.Errorf("%q %v", line, err)
		}
		left := recorded(t, o.StateDir)
		_ = worker.Process.Kill()
		_ = worker.Wait()
		// Its end is told by a pipe or by the kernel, and takes a moment.
		for deadline := time.Now().Add(3 * time.Minute); len(marked(mark)) > 0; {
			if time.Now().After(deadline) {
				t.Fatal("still there:", marked(mark))
			}
			time.Sleep(5 * time.Millisecond)
		}
		if _, err := sandbox.Open(t.Context(), o); err != nil {
			t.Fatal(err)
		}
		if w.grouped() && len(left) == 0 {
			t.Error("no groups were written down")
		}
		for _, name := range append(left, recorded(t, o.StateDir)...) {
			if _, err := os.Stat(name); !errors.Is(err, fs.ErrNotExist) {
				t.Errorf("%s is still there (%v)", name, err)
			}
		}
	})
}

// recorded returns the resources in the records of a folder's slots.
func recorded(t *testing.T, state string) (names []string) {
	t.Helper()
	slots, err := filepath.Glob(filepath.Join(state, "slot-*"))
	if err != nil || len(slots) == 0 {
		t.Fatal("no slots:", err)
	}
	for _, slot := range slots {
		text, err := os.ReadFile(slot)
		if err != nil {
			t.Fatal(err)
		}
		var r struct {
			Groups []string
			Dir    string
		}
		if len(text) > 0 {
			if err := json.Unmarshal(text, &r); err != nil {
				t.Fatal(err)
			}
		}
		names = append(names, r.Groups...)
		if r.Dir != "" {
			names = append(names, r.Dir)
		}
	}
	return names
}

package program_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net"
	"net/netip"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/belfry-run/belfry/app/worker/program"
	"github.com/belfry-run/belfry/app/worker/sandbox"
	"github.com/belfry-run/belfry/core"
	"github.com/belfry-run/belfry/job"
	"github.com/belfry-run/belfry/task"
)

func TestAProgramGetsOnlyItsOwnInput(t *testing.T) {
	t.Setenv("WORKER_TOKEN", "secret")
	eachTier(t, func(t *testing.T, w *world) {
		p := w.being(t, "echo", "a", "b c")
		p.Env = map[string]string{"EXTRA": "x=y", "LANG": "de_DE"}
		r := w.runTask(t.Context(), t, task.Task{Name: "prog", Program: &p}, `{"n":1}`)
		if r.Outcome != job.OutcomeOK || r.ExitCode == nil || *r.ExitCode != 0 {
			t.Fatalf("result: got %+v, want ok with exit code 0", r)
		}
		lines := strings.Split(strings.TrimSpace(r.out), "\n")
		if lines[0] != `a,b c {"n":1}` {
			t.Errorf("arguments and input: got %q, want a,b c {\"n\":1}", lines[0])
		}
		got := map[string]string{}
		for _, kv := range lines[1:] {
			name, value, _ := strings.Cut(kv, "=")
			got[name] = value
		}
		if got["TMPDIR"] == "" || got["HOME"] == "" || got["PATH"] == "" || got["BELFRY_OUTPUT_DIR"] == "" {
			t.Errorf("environment: got %v, want TMPDIR, HOME, PATH and BELFRY_OUTPUT_DIR", got)
		}
		for _, name := range []string{"TMPDIR", "HOME", "PATH", "BELFRY_OUTPUT_DIR"} {
			delete(got, name)
		}
		want := map[string]string{
			"LANG": "de_DE", "TZ": "UTC", "EXTRA": "x=y", "BELFRY_JOB_ID": "0", "BELFRY_ATTEMPT": "1", "BELFRY_LEASE": "0",
			"BELFRY_TASK": "prog", "BELFRY_NAMESPACE": "default", "BELFRY_QUEUE": "default", "BELFRY_SCHEDULE": "",
			"BELFRY_INPUT": `{"n":1}`, "BELFRY_INPUT_N": "1",
		}
		if fmt.Sprint(got) != fmt.Sprint(want) {
			t.Errorf("got  %v\nwant %v", got, want)
		}
		s := r.Sandboxed
		if s == nil || s.SHA256 != p.SHA256 || s.Isolation != w.exe.Isolation() || len(s.Layers) == 0 || s.Network == "machine" || s.Usage.Wall <= 0 || s.Usage.Memory <= 0 {
			t.Errorf("record of the sandbox: got %+v", s)
		}
	})
}

func TestHowAProgramEndsIsToldInWords(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	for _, c := range []struct {
		args  []string
		set   func(*task.Program)
		error string
		final bool
		oom   bool
		layer string // by which it is known
	}{
		{args: []string{"exit", "3"}, error: "exit code 3: the last word"},
		{args: []string{"exit", "3"}, set: func(p *task.Program) { p.SuccessCodes = []int{0, 3} }},
		{args: []string{"exit", "4"}, set: func(p *task.Program) { p.FatalCodes = []int{4} }, error: "exit code 4: the last word", final: true},
		{args: []string{"kill-itself"}, error: "killed by SIGKILL"},
		{args: []string{"hog"}, set: func(p *task.Program) { p.Limits.Memory = 64 << 20 }, error: "ran out of memory: it may use 64 MiB (limits.memory); killed by SIGKILL", oom: true, layer: "memory"},
		{args: []string{"bomb"}, set: func(p *task.Program) { p.Limits.Processes = 40 }, error: "(limits.processes)", layer: "pids"},
		{args: []string{"fill", "tmp"}, set: func(p *task.Program) { p.Limits.Disk = 1 << 20 }, error: "no space left on device"},
	} {
		t.Run(strings.Join(c.args, " "), func(t *testing.T) {
			p := w.being(t, c.args[0], c.args[1:]...)
			if c.set != nil {
				c.set(&p)
			}
			r := w.run(t, p)
			want := job.OutcomeError
			if c.error == "" {
				want = job.OutcomeOK
			}
			if c.layer != "" && r.Sandboxed != nil && !slices.Contains(r.Sandboxed.Layers, c.layer) {
				// Without a control group the reason is unknown, but the limit is enforced.
				c.error, c.oom = "", r.Sandboxed.OOM
			}
			if r.Outcome != want || !strings.Contains(r.Error, c.error) || r.NoRetry != c.final || r.Infra || r.Sandboxed == nil || r.Sandboxed.OOM != c.oom {
				t.Errorf("%+v %+v\n%s", r.Finish, r.Sandboxed, r.err)
			}
		})
	}
}

// elf is a header that is complete enough to identify the file.
func elf(machine byte) string {
	h := make([]byte, 64+56)
	copy(h, "\x7fELF\x02\x01\x01")
	h[16], h[18], h[20] = 2, machine, 1        // executable, machine, version
	h[24], h[26] = 0x78, 0x40                  // entry
	h[32], h[52], h[54], h[56] = 64, 64, 56, 1 // program header
	h[64], h[68] = 1, 5                        // load, readable and executable
	h[96], h[104] = byte(len(h)), byte(len(h)) // its size
	return string(h)
}

func TestProgramsThatCannotRunReportTheReason(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	for want, content := range map[string]string{
		"neither an ELF program nor a script":  "hello\n",
		"lines do on Windows":                  "#!/bin/sh\r\necho hi\r\n",
		"its interpreter /no/such/sh is not":   "#!/no/such/sh\n",
		"built for s390x, and this machine is": elf(22),
		"it is built for Windows":              "MZ\x90\x00",
	} {
		r := w.run(t, w.addBytes(t, content))
		if r.Outcome != job.OutcomeError || !r.NoRetry || r.Infra || !strings.Contains(r.Error, want) {
			t.Errorf("%q: %+v", want, r.Finish)
		}
	}
}

func TestAnArtifactWithAnotherDigestNeverRuns(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	good := w.addBytes(t, "#!/bin/sh\necho ran\n")
	if r := w.run(t, good); r.out != "ran\n" {
		t.Fatalf("script: got %+v, want output \"ran\"", r)
	}
	for name, c := range map[string]struct {
		content string
		says    string
		infra   bool
	}{
		"other bytes": {"#!/bin/sh\necho bad\n", "its SHA-256 is", false},
		"too long":    {"#!/bin/sh\necho ran\n# and more", "it has more than the 19 bytes", false},
		"broken off":  {"#!/bin/sh\necho", "it ended after 14 of 19 bytes", true},
	} {
		t.Run(name, func(t *testing.T) {
			w := newWorld(t, func(o *program.Options) { o.CacheSize = -1 })
			w.held[good.SHA256] = filepath.Join(t.TempDir(), "x")
			must(t, os.WriteFile(w.held[good.SHA256], []byte(c.content), 0o600))
			r := w.run(t, good)
			if r.Outcome != job.OutcomeError || !strings.Contains(r.Error, c.says) || r.Infra != c.infra || r.NoRetry == c.infra || r.out != "" {
				t.Errorf("result: got %+v", r)
			}
		})
	}
}

func TestTheCacheIsUsedComparedAndBounded(t *testing.T) {
	t.Parallel()
	w := newWorld(t, func(o *program.Options) { o.CacheSize = 45 })
	script := func(say string) task.Program { return w.addBytes(t, "#!/bin/sh\necho "+say+"\n") } // 17 bytes and say
	cached := func() (names []string) {
		files, err := filepath.Glob(filepath.Join(w.dir, "programs", "*"))
		must(t, err)
		return files
	}
	a := script("aaa")
	for range 3 {
		if r := w.run(t, a); r.out != "aaa\n" {
			t.Fatalf("cached program: got %+v, want output \"aaa\"", r)
		}
	}
	if w.opened != 1 || len(cached()) != 1 {
		t.Errorf("fetched %d times, cached %v", w.opened, cached())
	}
	// Another process, or a broken disk, changed the cached file.
	must(t, os.Chmod(cached()[0], 0o700))
	must(t, os.WriteFile(cached()[0], []byte("#!/bin/sh\necho EVIL\n"), 0o700))
	if r := w.run(t, a); r.out != "aaa\n" || w.opened != 2 {
		t.Errorf("%+v, fetched %d times", r, w.opened)
	}
	for _, say := range []string{"bbb", "ccc", "ddd"} {
		if r := w.run(t, script(say)); r.out != say+"\n" {
			t.Errorf("full cache: got %+v", r)
		}
	}
	if len(cached()) != 2 {
		t.Errorf("cached %v", cached())
	}
	if r := w.run(t, a); r.out != "aaa\n" || w.opened != 6 {
		t.Errorf("what was not used for longest should have gone: %+v, fetched %d times", r, w.opened)
	}
}

func TestOutputIsKeptWithItsBeginAndItsEnd(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	p := w.being(t, "flood", strconv.Itoa(64<<20))
	p.Limits.Log = 1 << 20
	r := w.run(t, p)
	if r.Outcome != job.OutcomeOK || !r.LogCut || len(r.out) != 1<<20 || !strings.HasPrefix(r.out, "the first\n") || !strings.HasSuffix(r.out, "the last\n") {
		t.Errorf("%+v, %d bytes", r.Finish, len(r.out))
	}
	if want := fmt.Sprintf("here %d bytes of output are left out", 63<<20+19); !strings.Contains(r.err, want) {
		t.Errorf("%q does not say %q", r.err, want)
	}
	line := w.being(t, "endless-line")
	line.Limits.Log = 100
	if r := w.run(t, line); r.Outcome != job.OutcomeOK || r.out != strings.Repeat("x", 100) {
		t.Errorf("one line over the limit of the log: got %+v, want ok and 100 bytes", r.Finish)
	}
	none := w.being(t, "echo")
	none.Limits.Log = 5
	if r := w.run(t, none); r.Outcome != job.OutcomeOK || len(r.out) != 5 {
		t.Errorf("log limit of 5 bytes: got %+v, want ok and 5 bytes", r)
	}
}

func TestOutputsAreTakenAndTricksAreNot(t *testing.T) {
	t.Parallel()
	eachTier(t, func(t *testing.T, w *world) {
		r := w.run(t, w.being(t, "tricks"))
		if r.Outcome != job.OutcomeOK || r.Sandboxed == nil {
			t.Fatalf("%+v %s", r.Finish, r.err)
		}
		names := []string{}
		for _, o := range r.Sandboxed.Outputs {
			names = append(names, o.Name)
			if o.Size != 3 || w.kept[o.Name] != "yes" {
				t.Errorf("%+v: %q", o, w.kept[o.Name])
			}
		}
		// Root can read files without permissions; other users cannot.
		if got := fmt.Sprint(names); got != "[folder/inside good]" && (os.Geteuid() == 0 || got != "[]") {
			t.Error(got, r.Sandboxed.Missing, r.err)
		}
		for _, told := range []string{`"shadow" is not kept: it is a symbolic link`, `"pipe" is not kept: it is a named pipe`, `"second" is not kept: it has another name`} {
			if os.Geteuid() == 0 && !strings.Contains(r.err, told) {
				t.Errorf("nothing says %s:\n%s", told, r.err)
			}
		}
	})
}

func TestOutputsHaveLimits(t *testing.T) {
	t.Parallel()
	for name, quota := range map[string]bool{"by the kernel": true, "by looking": false} {
		t.Run(name, func(t *testing.T) {
			w := newWorld(t)
			if !quota {
				program.WithoutBounds(w.exe)
			}
			many := w.being(t, "files", "8")
			many.Limits.Outputs = 3
			if r := w.run(t, many); r.Outcome != job.OutcomeOK || len(r.Sandboxed.Outputs) != 3 || !strings.Contains(strings.Join(r.Sandboxed.Missing, "\n"), "limits.outputs") {
				t.Errorf("%+v %+v", r.Finish, r.Sandboxed)
			}
			for _, how := range [][]string{{"output"}, {"output", "unseen"}} {
				big := w.being(t, "fill", how...)
				big.Limits.OutputSize, big.Limits.Disk = 2<<20, 1<<20
				r := w.run(t, big)
				if r.Outcome != job.OutcomeError || !strings.Contains(r.Error, "no space left on device") && !strings.Contains(r.Error, "limits.output_size") && !strings.Contains(r.Error, "file too large") {
					t.Errorf("too large output: got %+v, want an error about the size", r.Finish)
				}
			}
		})
	}
}

func TestAnUploadThatIsRefusedLosesNoResult(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.refuse = core.Errorf(core.OverQuota, "there is no room")
	r := w.run(t, w.being(t, "files", "2"))
	if r.Outcome != job.OutcomeOK || len(r.Sandboxed.Outputs) != 0 || !strings.Contains(strings.Join(r.Sandboxed.Missing, "\n"), "2 of 2 files are not kept: f000: there is no room") {
		t.Errorf("%+v %+v", r.Finish, r.Sandboxed)
	}
}

// A cancel while files wait to be sent is a cancel, and no success without them.
func TestACancelWhileFilesWaitToBeSent(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.refuse = core.Errorf(core.Unavailable, "the server is away")
	ctx, cancel := context.WithCancel(t.Context())
	w.asked = cancel
	p := w.being(t, "files", "2")
	r := w.runTask(ctx, t, task.Task{Name: "prog", Program: &p}, "")
	if r.Outcome != job.OutcomeCanceled || !strings.Contains(r.Error, "2 of 2 files are not kept: f000: the server is away") {
		t.Errorf("%+v %+v", r.Finish, r.Sandboxed)
	}
}

// cancelWhen ends a context when the program says that it is ready.
func cancelWhenReady(t *testing.T, w *world, p task.Program) ran {
	t.Helper()
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	p.KillGrace = core.Duration(300 * time.Millisecond)
	if p.Args[1] == "polite" {
		p.KillGrace = core.Duration(time.Minute)
	}
	task := task.Task{Name: "prog", Program: &p}
	exe := w.exe
	out := readyWriter{cancel: cancel}
	f := direct(ctx, exe, task, &out)
	w.nothingIsLeft(t)
	return ran{Finish: f, out: out.text()}
}

func TestCancelAsksFirstAndThenKillsEverything(t *testing.T) {
	t.Parallel()
	eachTier(t, func(t *testing.T, w *world) {
		if r := cancelWhenReady(t, w, w.being(t, "polite")); r.Outcome != job.OutcomeCanceled || !strings.Contains(r.out, "bye") || r.ExitCode == nil || *r.ExitCode != 7 {
			t.Errorf("canceled program that ends itself: got %+v, want canceled with exit code 7", r)
		}
		if r := cancelWhenReady(t, w, w.being(t, "stubborn")); r.Outcome != job.OutcomeCanceled || r.Signal != "SIGKILL" {
			t.Errorf("canceled program that ignores SIGTERM: got %+v, want canceled by SIGKILL", r)
		}
	})
}

func TestATimeoutIsATimeout(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	p := w.being(t, "stubborn")
	p.KillGrace = core.Duration(50 * time.Millisecond)
	r := w.runTask(t.Context(), t, task.Task{Name: "prog", Timeout: core.Duration(2 * time.Second), Program: &p}, "")
	if r.Outcome != job.OutcomeTimeout || !strings.Contains(r.Error, "ran longer than its timeout of 2s") {
		t.Errorf("program over its timeout: got %+v, want timeout", r)
	}
}

func TestAProgramFindsNothingOfTheWorkers(t *testing.T) {
	t.Setenv("WORKER_TOKEN", "secret")
	eachTier(t, func(t *testing.T, w *world) {
		token := filepath.Join(w.dir, "attempt.json")
		must(t, os.WriteFile(token, []byte(`{"token":"secret"}`), 0o600))
		r := w.run(t, w.being(t, "spy", token, w.dir, filepath.Join(w.dir, "programs"), filepath.Join(w.dir, "runs"), "/root", "/etc/ssl/private"))
		if r.Outcome != job.OutcomeOK || r.out != "looked\n" {
			t.Errorf("program that searches for secrets: got %+v, want that it finds none", r)
		}
	})
}

func TestTheNetworkWantsBothToAllowIt(t *testing.T) {
	t.Parallel()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	must(t, err)
	defer func() { _ = l.Close() }()
	address := l.Addr().String()
	for _, c := range []struct {
		asks, allowed, reaches, runs bool
	}{
		{false, false, false, true}, {false, true, false, true}, {true, true, true, true}, {true, false, false, false},
	} {
		w := newWorld(t, func(o *program.Options) {
			o.AllowNetwork, o.Reach = c.allowed, []netip.Prefix{netip.MustParsePrefix("127.0.0.1/32")}
		})
		p := w.being(t, "call", address)
		p.Network = c.asks
		r := w.run(t, p)
		if (r.Outcome == job.OutcomeOK) != c.runs || strings.Contains(r.out, "REACHED") != c.reaches {
			t.Errorf("%+v: %+v", c, r)
		}
		if !c.runs && (!r.Infra || !strings.Contains(r.Error, "a network for programs")) {
			t.Errorf("refused network: got %+v, want a fault of the machine", r.Finish)
		}
		metadata := w.being(t, "call", "169.254.169.254:80")
		if r := w.run(t, metadata); strings.Contains(r.out, "REACHED") {
			t.Errorf("%+v: %+v", c, r)
		}
	}
}

// Where nothing keeps a program from private addresses, it gets no network
// unless the operator says that it may have all of it.
func TestTheNetworkFailsClosed(t *testing.T) {
	t.Parallel()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	must(t, err)
	defer func() { _ = l.Close() }()
	for _, unguarded := range []bool{false, true} {
		w := newWorld(t, func(o *program.Options) {
			o.AllowNetwork, o.UnguardedNetwork, o.Sandbox.Without = true, unguarded, []sandbox.Layer{sandbox.LayerEgress}
		})
		if w.exe.Has().Network != unguarded || (w.exe.NoNetwork() == "") != unguarded {
			t.Errorf("%+v %q", w.exe.Has(), w.exe.NoNetwork())
		}
		p := w.being(t, "call", l.Addr().String())
		p.Network = true
		r := w.run(t, p)
		if (r.Outcome == job.OutcomeOK) != unguarded || strings.Contains(r.out, "REACHED") != unguarded || unguarded && r.Sandboxed.Network != "machine" {
			t.Errorf("unguarded %v: %+v", unguarded, r)
		}
	}
}

// Nor does it reach the loopback or the metadata by a network that is guarded.
func TestTheNetworkIsGuarded(t *testing.T) {
	t.Parallel()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	must(t, err)
	defer func() { _ = l.Close() }()
	w := newWorld(t, func(o *program.Options) { o.AllowNetwork = true })
	for _, address := range []string{l.Addr().String(), "169.254.169.254:80"} {
		p := w.being(t, "call", address)
		p.Network = true
		if r := w.run(t, p); r.Sandboxed.Network != "guarded" || strings.Contains(r.out, "REACHED") {
			t.Errorf("%s: %+v", address, r)
		}
	}
}

func TestIsolationFailsClosed(t *testing.T) {
	t.Parallel()
	w := newWorld(t, without(task.IsolationConfined, "namespaces"))
	p := w.being(t, "echo")
	p.MinIsolation = task.IsolationNamespaces
	if r := w.run(t, p); r.Outcome != job.OutcomeError || !r.Infra || r.NoRetry || !strings.Contains(r.Error, "isolation namespaces (it has confined)") {
		t.Errorf("unmet isolation: got %+v, want a fault of the machine", r)
	}
	_, err := program.Open(t.Context(), program.Options{StateDir: public(t), MinIsolation: task.IsolationGVisor})
	if err == nil || !strings.Contains(err.Error(), "isolation gvisor is wanted") {
		t.Error(err)
	}
}

// Root's programs have other user ids, or no namespaces: they would own root's
// files there.
func TestOfferedIsolationIsThatOfTheSandbox(t *testing.T) {
	t.Parallel()
	w := newWorld(t, without(task.IsolationConfined, sandbox.LayerUID))
	if r := w.run(t, w.being(t, "echo")); r.Outcome != job.OutcomeOK || r.Sandboxed.Isolation != w.exe.Isolation() {
		t.Errorf("%s is offered: %+v", w.exe.Isolation(), r)
	}
}

func TestOutputValueOfAJob(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	r := w.run(t, w.being(t, "exit", "0"))
	var value struct {
		ExitCode   *int  `json:"exit_code"`
		DurationMS int64 `json:"duration_ms"`
	}
	if json.Unmarshal(r.Output, &value) != nil || value.ExitCode == nil || *value.ExitCode != 0 || value.DurationMS <= 0 {
		t.Errorf("output of the job: got %s, want exit code 0 and a duration", r.Output)
	}
}

// Limits that cannot be enforced are known before the first program runs, are reported to the server, and may stop all runs.
func TestLimitsThatNothingHoldsAreToldBeforehand(t *testing.T) {
	t.Parallel()
	off := program.Options{StateDir: public(t), Sandbox: sandbox.Options{StateDir: t.TempDir(), Without: []sandbox.Layer{sandbox.LayerMemory, sandbox.LayerCPU}}}
	off.MinIsolation = task.IsolationNone
	exe, err := program.Open(t.Context(), off)
	if err != nil {
		t.Fatal(err)
	}
	open := strings.Join(exe.Unlimited(), ", ")
	if !strings.Contains(open, "memory (switched off by the operator)") || !strings.Contains(open, "cpu (") {
		t.Errorf("not held: %s", open)
	}
	if held := exe.Has().Limits; slices.Contains(held, "memory") || slices.Contains(held, "cpu") {
		t.Errorf("held: %v", held)
	}
	if err := exe.Close(); err != nil {
		t.Fatal(err)
	}
	off.RequireLimits = true
	if _, err := program.Open(t.Context(), off); !errors.Is(err, program.ErrWeak) || !strings.Contains(err.Error(), "require_limits is set") {
		t.Error(err)
	}
}

//go:build unix

package process_test

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/belfry-run/belfry/app/worker/process"
	"github.com/belfry-run/belfry/core"
	"github.com/belfry-run/belfry/internal/leaks"
	"github.com/belfry-run/belfry/internal/leasertest"
	"github.com/belfry-run/belfry/job"
	"github.com/belfry-run/belfry/task"
	"github.com/belfry-run/belfry/worker"
)

func TestMain(m *testing.M) {
	process.Init()
	if script := os.Getenv("TEST_WORKER_SCRIPT"); script != "" {
		actAsWorker(script)
		return
	}
	leaks.Main(m)
}

// actAsWorker runs a command until somebody kills this process. With TEST_WORKER_TTL it has a session of that length.
func actAsWorker(script string) {
	ex := map[task.Kind]worker.Executor{task.KindCommand: process.New(process.Options{Allow: true})}
	if ttl, err := time.ParseDuration(os.Getenv("TEST_WORKER_TTL")); err == nil {
		b := leasertest.New()
		b.TTL = ttl
		b.AddTask(task.Task{Name: "cmd", Command: &task.Command{Shell: script, Dir: "/"}})
		b.Enqueue(job.NewJob{Task: "cmd"})
		w, err := worker.New(worker.Options{Leaser: b, Executors: ex})
		if err != nil {
			panic(err)
		}
		_ = w.Run(context.Background())
		return
	}
	worker.Direct(context.Background(), ex, task.Task{Name: "cmd", Command: &task.Command{Shell: script, Dir: "/"}}, nil, os.Stdout, os.Stderr)
}

// result is the result of a command.
type result struct {
	job.Finish
	out, err string
}

func run(ctx context.Context, t *testing.T, c task.Command, input string) result {
	t.Helper()
	return runTask(ctx, t, task.Task{Name: "cmd", Command: &c}, input)
}

func runTask(ctx context.Context, t *testing.T, tk task.Task, input string) (r result) {
	t.Helper()
	var out, errs bytes.Buffer
	ex := map[task.Kind]worker.Executor{task.KindCommand: process.New(process.Options{Allow: true, TempDir: t.TempDir()})}
	r.Finish = worker.Direct(ctx, ex, tk, json.RawMessage(input), &out, &errs)
	r.out, r.err = out.String(), errs.String()
	return r
}

func shell(script string) task.Command { return task.Command{Shell: script} }

func TestCommandsAreRefusedUnlessAllowed(t *testing.T) {
	t.Parallel()
	ex := map[task.Kind]worker.Executor{task.KindCommand: process.New(process.Options{})}
	f := worker.Direct(t.Context(), ex, task.Task{Name: "x", Command: &task.Command{Argv: []string{"true"}}}, nil, nil, nil)
	if f.Outcome != job.OutcomeError || !f.NoRetry || f.Error != process.Refusal || !strings.Contains(f.Error, "--allow-commands") {
		t.Errorf("command without permission: got %+v, want the refusal", f)
	}
}

func TestExitCodesAndOutput(t *testing.T) {
	t.Parallel()
	r := run(t.Context(), t, task.Command{Argv: []string{"echo", "$HOME", "a b"}}, "")
	if r.Outcome != job.OutcomeOK || r.out != "$HOME a b\n" || *r.ExitCode != 0 || !strings.HasPrefix(string(r.Output), `{"exit_code":0,"duration_ms":`) {
		t.Errorf("argv without a shell: got %+v", r)
	}
	r = run(t.Context(), t, shell("echo one; echo two >&2; echo 'disk is full' >&2; exit 3"), "")
	if r.Outcome != job.OutcomeError || r.NoRetry || r.Error != "exit code 3: disk is full" || *r.ExitCode != 3 || r.out != "one\n" || r.err != "two\ndisk is full\n" {
		t.Errorf("exit code 3: got %+v, want an error with the last line of stderr", r)
	}
	if r = run(t.Context(), t, task.Command{Shell: "exit 3", SuccessCodes: []int{0, 3}}, ""); r.Outcome != job.OutcomeOK || *r.ExitCode != 3 {
		t.Errorf("allowed exit code 3: got %+v, want ok", r)
	}
	if r = run(t.Context(), t, shell("kill -SEGV $$"), ""); r.Outcome != job.OutcomeError || r.Signal != "SIGSEGV" || r.ExitCode != nil || r.Error != "killed by SIGSEGV" {
		t.Errorf("end by a signal: got %+v, want SIGSEGV", r)
	}
}

func TestTheEnvironmentIsCleanAndNamesTheJob(t *testing.T) {
	t.Setenv("DATABASE_URL", "postgres://secret")
	t.Setenv("BELFRY_TOKEN", "secret")
	t.Setenv("TZ", "Europe/Berlin")
	input := `{"name":"Ann","big-id":12345678901234567890,"yes":true,"list":[1],"none":null,"":1,"nul":"a\u0000b"}`
	r := run(t.Context(), t, task.Command{Argv: []string{"env", "-0"}, Env: map[string]string{"LANG": "de_DE", "EXTRA": "a\nb"}}, input)
	got := map[string]string{}
	for _, kv := range strings.Split(strings.TrimSuffix(r.out, "\x00"), "\x00") {
		name, value, _ := strings.Cut(kv, "=")
		got[name] = value
	}
	if got["BELFRY_RUN_ID"] == "" || got["PATH"] == "" || got["HOME"] == "" {
		t.Errorf("environment: got %v, want BELFRY_RUN_ID, PATH and HOME", got)
	}
	for _, name := range []string{"BELFRY_RUN_ID", "PATH", "HOME"} {
		delete(got, name)
	}
	want := map[string]string{
		"LANG": "de_DE", "TZ": "Europe/Berlin", "EXTRA": "a\nb",
		"BELFRY_JOB_ID": "0", "BELFRY_ATTEMPT": "1", "BELFRY_LEASE": "0", "BELFRY_TASK": "cmd",
		"BELFRY_NAMESPACE": "default", "BELFRY_QUEUE": "default", "BELFRY_SCHEDULE": "",
		"BELFRY_INPUT": input, "BELFRY_INPUT_NAME": "Ann", "BELFRY_INPUT_BIG_ID": "12345678901234567890", "BELFRY_INPUT_YES": "true",
	}
	if fmt.Sprint(got) != fmt.Sprint(want) {
		t.Errorf("got  %v\nwant %v", got, want)
	}
}

func TestStandardInput(t *testing.T) {
	t.Parallel()
	if r := run(t.Context(), t, task.Command{Argv: []string{"cat"}}, `{"a":1}`); r.out != `{"a":1}` {
		t.Errorf("input on stdin: got %+v", r)
	}
	if r := run(t.Context(), t, task.Command{Argv: []string{"cat"}, Stdin: "given"}, `{"a":1}`); r.out != "given" {
		t.Errorf("stdin of the task: got %+v, want \"given\"", r)
	}
	if r := run(t.Context(), t, task.Command{Argv: []string{"cat"}}, ""); r.out != "" || r.Outcome != job.OutcomeOK {
		t.Errorf("no input: got %+v, want an empty stdin", r)
	}
	huge := `"` + strings.Repeat("x", 250<<10) + `"` // more than a variable can hold, and than a pipe
	if r := run(t.Context(), t, shell("wc -c; echo ${BELFRY_INPUT:-none}"), huge); strings.Fields(r.out)[0] != strconv.Itoa(len(huge)) || strings.Fields(r.out)[1] != "none" {
		t.Errorf("large input: got %+v, want it on stdin alone", r)
	}
	if r := run(t.Context(), t, task.Command{Argv: []string{"true"}}, huge); r.Outcome != job.OutcomeOK {
		t.Errorf("a program that does not read: %+v", r)
	}
}

func TestTheDirectoryIsFreshAndRemoved(t *testing.T) {
	t.Parallel()
	r := run(t.Context(), t, shell("pwd; ls -A | wc -l; mkdir -p a/b; echo x > a/b/c; chmod 555 a/b"), "")
	dir, rest, _ := strings.Cut(r.out, "\n")
	if strings.TrimSpace(rest) != "0" || !strings.Contains(dir, "belfry-job-") {
		t.Errorf("temporary directory: got %+v, want an empty belfry-job- folder", r)
	}
	if _, err := os.Stat(dir); !os.IsNotExist(err) && os.Getuid() == 0 {
		t.Errorf("%s is left: %v", dir, err)
	}
	given := t.TempDir()
	if r := run(t.Context(), t, task.Command{Shell: "pwd; touch kept", Dir: given}, ""); r.out != given+"\n" {
		t.Errorf("directory of the task: got %+v", r)
	}
	if _, err := os.Stat(filepath.Join(given, "kept")); err != nil {
		t.Error(err)
	}
}

func TestCommandsThatCannotStartReportTheReason(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	file := func(name, content string, mode os.FileMode) string {
		path := filepath.Join(dir, name)
		if err := os.WriteFile(path, []byte(content), mode); err != nil {
			t.Fatal(err)
		}
		return path
	}
	for want, c := range map[string]task.Command{
		`program "no-such-program" was not found in PATH /usr/bin:/bin`: {Argv: []string{"no-such-program"}, Env: map[string]string{"PATH": "/usr/bin:/bin"}},
		`program ./missing was not found`:                               {Argv: []string{"./missing"}},
		`may not be executed`:                                           {Argv: []string{file("plain", "x", 0o644)}},
		`the interpreter in its first line (#!) is not`:                 {Argv: []string{file("script", "#!/no/such/shell\n", 0o755)}},
		`wrong architecture, or a script without a first line`:          {Argv: []string{file("garbage", "garbage", 0o755)}},
		`/no/such/dir: no such file or directory`:                       {Shell: "true", Dir: "/no/such/dir"},
		`not a directory`:                                               {Shell: "true", Dir: filepath.Join(dir, "plain")},
		`too large for this machine`:                                    {Argv: []string{"true", strings.Repeat("x", 200<<10)}},
	} {
		if r := run(t.Context(), t, c, ""); r.Outcome != job.OutcomeError || !r.NoRetry || !strings.Contains(r.Error, want) {
			t.Errorf("%q: %+v", want, r.Finish)
		}
	}
}

// pids that a script wrote into its output, one a line.
func pids(out string) (all []int) {
	for _, word := range strings.Fields(out) {
		if pid, err := strconv.Atoi(word); err == nil {
			all = append(all, pid)
		}
	}
	return all
}

func wantGone(t *testing.T, want int, out string) {
	t.Helper()
	all := pids(out)
	if len(all) != want {
		t.Errorf("%d processes told their number, want %d: %q", len(all), want, out)
	}
	for _, pid := range all {
		for until := time.Now().Add(3 * time.Minute); alive(pid); time.Sleep(5 * time.Millisecond) {
			if time.Now().After(until) {
				t.Errorf("process %d lives on", pid)
				_ = syscall.Kill(pid, syscall.SIGKILL)
				break
			}
		}
	}
}

// wantNotHeld: nothing that the command left kept its output open.
func wantNotHeld(t *testing.T, r result) {
	t.Helper()
	if strings.Contains(r.err, "held its output open") {
		t.Error(r.err)
	}
}

// alive does not count zombies, which wait for their new parent.
func alive(pid int) bool {
	if syscall.Kill(pid, 0) != nil {
		return false
	}
	stat, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
	return err != nil || !bytes.Contains(stat, []byte(") Z "))
}

// toStart is a timeout after which a busy machine has started a shell, and the shell has set its traps.
const toStart = 10 * time.Second

// marked returns a script with commands in place of MARK and AWAIT, and the file that mark makes.
func marked(t *testing.T, script string) (marked, file string) {
	t.Helper()
	file = filepath.Join(t.TempDir(), "mark")
	return strings.NewReplacer("MARK", ": > "+file, "AWAIT", "while [ ! -e "+file+" ]; do sleep 0.01; done").Replace(script), file
}

// canceledAt is a context that ends when a file exists.
func canceledAt(t *testing.T, file string) context.Context {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), 3*time.Minute)
	t.Cleanup(cancel)
	go func() {
		for ctx.Err() == nil {
			if _, err := os.Stat(file); err == nil {
				cancel()
			}
			time.Sleep(5 * time.Millisecond)
		}
	}()
	return ctx
}

func TestATimeoutKillsTheWholeGroup(t *testing.T) {
	t.Parallel()
	task := task.Task{Name: "cmd", Timeout: core.Duration(toStart), Command: &task.Command{
		Shell:     "trap '' TERM; echo $$; (trap '' TERM; sh -c 'echo $$; exec sleep 60') & sleep 60",
		KillGrace: core.Duration(100 * time.Millisecond),
	}}
	r := runTask(t.Context(), t, task, "")
	if r.Outcome != job.OutcomeTimeout || r.Signal != "SIGKILL" || !strings.Contains(r.Error, "ran longer than its timeout of 10s") {
		t.Errorf("command over its timeout: got %+v, want timeout by SIGKILL", r.Finish)
	}
	wantNotHeld(t, r)
	wantGone(t, 2, r.out)
}

func TestSIGTERMGivesAProgramTheChanceToEnd(t *testing.T) {
	t.Parallel()
	task := task.Task{Name: "cmd", Timeout: core.Duration(toStart), Command: &task.Command{
		Shell: "trap 'echo bye; exit 7' TERM; sleep 60 & wait",
	}}
	r := runTask(t.Context(), t, task, "")
	if r.Outcome != job.OutcomeTimeout || r.out != "bye\n" || r.ExitCode == nil || *r.ExitCode != 7 {
		t.Errorf("command that ends itself within the grace: got %+v, want timeout with exit code 7", r)
	}
}

func TestCancelingStopsTheCommand(t *testing.T) {
	t.Parallel()
	script, file := marked(t, "echo $$; MARK; exec sleep 60")
	r := run(canceledAt(t, file), t, shell(script), "")
	if r.Outcome != job.OutcomeCanceled || r.Signal != "SIGTERM" {
		t.Errorf("canceled command: got %+v, want canceled by SIGTERM", r)
	}
	wantGone(t, 1, r.out)
}

func TestProcessesLeftByACommandAreKilled(t *testing.T) {
	t.Parallel()
	r := run(t.Context(), t, shell("sleep 60 & echo $!; echo done"), "")
	if r.Outcome != job.OutcomeOK {
		t.Errorf("command with a background process: got %+v, want ok", r)
	}
	wantNotHeld(t, r)
	wantGone(t, 1, r.out)
}

// A process that cleared its environment is not found, but it does not delay the attempt.
func TestAnEscapedProcessDoesNotHoldTheAttemptUp(t *testing.T) {
	t.Parallel()
	script, _ := marked(t, "setsid env -i PATH=$PATH /bin/sh -c 'echo $$; MARK; exec sleep 600' & AWAIT; echo done")
	r := run(t.Context(), t, shell(script), "")
	if r.Outcome != job.OutcomeOK || !strings.Contains(r.out, "done") || !strings.Contains(r.err, "held its output open") {
		t.Errorf("escaped process that holds the output: got %+v, want ok with a note", r)
	}
	for _, pid := range pids(r.out) {
		if !alive(pid) {
			t.Error("it was waited for")
		}
		_ = syscall.Kill(pid, syscall.SIGKILL)
	}
}

// served runs one command through a worker and a broker.
func served(t *testing.T, c task.Command, ttl time.Duration, before func(context.Context, string) error) (b *leasertest.Leaser, id int64, stop func()) {
	t.Helper()
	b = leasertest.New()
	b.TTL, b.Before = ttl, before
	b.AddTask(task.Task{Name: "cmd", Command: &c, Retry: task.Retry{MaxAttempts: 1}})
	id = b.Enqueue(job.NewJob{Task: "cmd"}).ID
	w, err := worker.New(worker.Options{
		Leaser: b, Grace: -1,
		Executors: map[task.Kind]worker.Executor{task.KindCommand: process.New(process.Options{Allow: true, TempDir: t.TempDir()})},
	})
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	var ended sync.WaitGroup
	ended.Go(func() { _ = w.Run(ctx) })
	stop = sync.OnceFunc(func() { cancel(); ended.Wait() })
	t.Cleanup(stop)
	return b, id, stop
}

func eventually(t *testing.T, what string, ok func() bool) {
	t.Helper()
	for until := time.Now().Add(3 * time.Minute); !ok(); time.Sleep(5 * time.Millisecond) {
		if time.Now().After(until) {
			t.Fatal("it did not happen: " + what)
		}
	}
}

func TestALostSessionKillsChildrenAtOnce(t *testing.T) {
	t.Parallel()
	var mu sync.Mutex
	away := false
	b, id, stop := served(t, task.Command{Shell: "trap '' TERM; echo $$; while :; do sleep 1; done", KillGrace: core.Duration(time.Minute)}, 10*time.Second,
		func(context.Context, string) error {
			mu.Lock()
			defer mu.Unlock()
			if away {
				return core.Errorf(core.Unavailable, "away")
			}
			return nil
		})
	eventually(t, "the command writes", func() bool { return len(pids(b.Text(id))) == 1 })
	pid := pids(b.Text(id))[0]
	mu.Lock()
	away = true
	mu.Unlock()
	eventually(t, "the command is killed, without its grace", func() bool { return !alive(pid) })
	mu.Lock()
	away = false
	mu.Unlock()
	stop()
}

func TestShutdownHandsACommandBack(t *testing.T) {
	t.Parallel()
	b, id, stop := served(t, shell("echo $$; exec sleep 60"), 0, nil)
	eventually(t, "the command writes", func() bool { return len(pids(b.Text(id))) == 1 })
	out := b.Text(id)
	stop()
	wantGone(t, 1, out)
	j, _ := b.Job(t.Context(), "", id)
	if a := b.Attempts(id); len(a) != 1 || a[0].Outcome != job.OutcomeHandedBack || j.State != job.Ready || j.Failures != 0 {
		t.Errorf("%+v %+v", a, j)
	}
}

func TestHugeOutputOfARealProgramIsCutAndDoesNotBlockIt(t *testing.T) {
	t.Parallel()
	b, id, _ := served(t, task.Command{Shell: "yes 0123456789abcde | head -c 50000000; echo end >&2", OutputLimit: 100_000}, 0, nil)
	eventually(t, "the command ends", func() bool { j, _ := b.Job(t.Context(), "", id); return j.State.Final() })
	a := b.Attempts(id)
	text := b.Text(id)
	if len(a) != 1 || a[0].Outcome != job.OutcomeOK || !a[0].LogCut || !strings.Contains(text, "belfry: 49895920 bytes of output over the limit of 100000 were cut") || !strings.HasSuffix(text, "abcde\nend\n") {
		t.Errorf("%+v …%q", a, text[max(0, len(text)-100):])
	}
	if breaches := b.Breaches(); len(breaches) > 0 {
		t.Error(breaches)
	}
}

func TestManyCommandsAtOnceKeepTheirOwn(t *testing.T) {
	t.Parallel()
	var group sync.WaitGroup
	for i := range 20 {
		group.Go(func() {
			r := run(t.Context(), t, shell("echo $BELFRY_INPUT_N; cat; sleep 0.05; pwd"), fmt.Sprintf(`{"n":%d}`, i))
			if lines := strings.SplitN(r.out, "\n", 2); lines[0] != strconv.Itoa(i) || !strings.HasPrefix(lines[1], fmt.Sprintf(`{"n":%d}`, i)) {
				t.Errorf("%d: %+v", i, r)
			}
		})
	}
	group.Wait()
}

func TestNamesOfSignals(t *testing.T) {
	t.Parallel()
	got := []string{}
	for _, s := range []string{"TERM", "INT", "ABRT"} {
		got = append(got, run(t.Context(), t, shell("kill -"+s+" $$"), "").Signal)
	}
	if !slices.Equal(got, []string{"SIGTERM", "SIGINT", "SIGABRT"}) {
		t.Error(got)
	}
}

//go:build linux || darwin

package e2e

import (
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/belfry-run/belfry/core"
	"github.com/belfry-run/belfry/job"
)

func TestFirstStartInAnEmptyFolder(t *testing.T) {
	t.Parallel()
	s := newSite(t, "sqlite:belfry.db")
	n := s.serve("--allow-commands")
	for _, name := range []string{"belfry.db", "belfry.token"} {
		info, err := os.Stat(filepath.Join(s.dir, name))
		if err != nil {
			t.Fatal(err)
		}
		if mode := info.Mode().Perm(); mode != 0o600 {
			t.Errorf("mode of %s: got %04o, want 0600", name, mode)
		}
	}
	if log := n.stderr.String(); strings.Contains(log+n.stdout.String(), s.token()) {
		t.Error("output: got the token in it")
	}

	// The last line of output is the next command. The test runs it literally in
	// another terminal of the same folder.
	lines := strings.Split(strings.TrimSpace(n.stdout.String()), "\n")
	next, ok := strings.CutPrefix(lines[len(lines)-1], "Next, in another terminal: ")
	if !ok {
		t.Fatalf("last line of output: got %s, want the next command", lines[len(lines)-1])
	}
	s.server = ""
	s.shell(next).exits(0)
	s.server = n.url
	eventually(t, patience, "what the last line started has run", func() (bool, string) {
		r := s.run("job", "list")
		return strings.Contains(r.stdout, "succeeded"), r.stdout
	})

	// A second node on the same file is refused, and the first continues.
	second := s.launchServe("--listen", "127.0.0.1:0")
	if code := second.ended(patience); code != 4 {
		t.Errorf("exit code of the second node: got %d, want 4", code)
	}
	if text := second.stderr.String(); !strings.Contains(text, "another process") || !strings.Contains(text, "belfry.db open") || !strings.Contains(text, "\ntry: ") {
		t.Errorf("the second node does not say why it ends:\n%s", text)
	}
	s.run("job", "list")
}

// readmeCommand returns the first serve command of a text.
func readmeCommand(t *testing.T, file string) []string {
	t.Helper()
	text, err := os.ReadFile(filepath.Join("..", "..", file))
	if err != nil {
		t.Fatal(err)
	}
	line := regexp.MustCompile(`(?m)^[#$ \t]*(?:go run \./cmd/|\./bin/|bin/|\./)?belfry (serve .*--apply examples/first\.yaml.*)$`).FindSubmatch(text)
	if line == nil {
		t.Fatalf("%s has no command belfry serve with --apply examples/first.yaml", file)
	}
	command, _, _ := strings.Cut(string(line[1]), " #")
	return strings.Fields(command)
}

// The first command of the README, with another port, since its port may be in use.
func TestFirstCommandOfTheReadmeDoesRealWorkOnTime(t *testing.T) {
	t.Parallel()
	argv := readmeCommand(t, "README.md")
	if same := readmeCommand(t, "examples/first.yaml"); !slices.Equal(argv, same) {
		t.Errorf("README.md says %q, examples/first.yaml says %q", argv, same)
	}
	s := newSite(t, "sqlite:belfry.db")
	address := freePort(t)
	example, err := os.ReadFile("../../examples/first.yaml")
	if err != nil {
		t.Fatal(err)
	}
	moved := strings.ReplaceAll(string(example), "127.0.0.1:7420", address)
	if moved == string(example) {
		t.Fatal("the example has no request to Belfry itself")
	}
	if err := os.Mkdir(filepath.Join(s.dir, "examples"), 0o700); err != nil {
		t.Fatal(err)
	}
	s.write("examples/first.yaml", moved)
	n := s.serve(append(argv[1:], "--listen", address)...)
	n.says(n.stdout, patience, `^  applied +[0-9]+ to create`)
	if strings.Contains(n.stderr.String(), "level=ERROR") {
		t.Errorf("errors at the start:\n%s", n.stderr)
	}

	s.run("task", "list").says(`^hello +command`).says(`^healthz +http +default`)
	s.run("schedule", "list").says(`^nightly .*0 3 \* \* \* +Europe/Sofia`)
	for task, want := range map[string]int{"hello": 2, "healthz": 1} {
		var jobs []job.Job
		eventually(t, patience, fmt.Sprintf("%d jobs of %s have succeeded", want, task), func() (bool, string) {
			jobs = allJobs(t, n.api, job.Filter{Task: task, States: []job.State{job.Succeeded}})
			return len(jobs) >= want, s.run("job", "list").stdout
		})
		for _, j := range jobs {
			started := n.attempts(j.ID)[0].StartedAt
			if started.Before(j.Nominal) {
				t.Errorf("job %d of %s started at %s, before its time %s", j.ID, task, started, j.Nominal)
			}
		}
	}
	eventually(t, patience, "the unlucky task was tried", func() (bool, string) {
		r := s.run("job", "list", "--task", "unlucky")
		return regexp.MustCompile(`\b[1-4]/4\b`).MatchString(r.stdout), r.stdout // a first try may be over soon
	})
	hello := allJobs(t, n.api, job.Filter{Task: "hello", States: []job.State{job.Succeeded}})[0]
	s.run("job", "logs", strconv.FormatInt(hello.ID, 10)).says(`^hello from \S+ at \d\d:\d\d:\d\d$`)
	s.run("doctor").says("^all is well$")
}

// jobID reads the id from the output of an enqueue.
func jobID(r result) string {
	r.t.Helper()
	found := regexp.MustCompile(`^job (\d+) created`).FindStringSubmatch(r.stdout)
	if found == nil {
		r.t.Fatalf("no job in: %s%s", r.stdout, r.stderr)
	}
	return found[1]
}

func TestAnOperatorsDay(t *testing.T) {
	onEach(t, func(t *testing.T, s *site) {
		n := s.serve("--allow-commands")

		s.step(t, "tasks and schedules are made and followed", func(t *testing.T) {
			s.run("task", "create", "count", "--shell", `for i in 1 2 3; do echo "step $i"; sleep 0.2; done`).says(`^task count created`)
			s.run("schedule", "create", "often", "--task", "count", "--every", "1s").says(`next run `)
			watch := launch(s.t, "watch", s.dir, s.environ(), []string{belfryPath(), "job", "list", "--watch"}, "")
			watch.says(watch.stdout, patience, `count +succeeded`)
			watch.signal(syscall.SIGINT)
			if code := watch.ended(patience); code != 0 {
				t.Errorf("exit code of watch: got %d", code)
			}
			s.run("schedule", "pause", "often", "--reason", "enough")
			id := jobID(s.run("job", "enqueue", "count"))
			follow := launch(s.t, "follow", s.dir, s.environ(), []string{belfryPath(), "job", "logs", "-f", id}, "")
			follow.says(follow.stdout, patience, "^step 1$")
			follow.says(follow.stdout, patience, "^step 3$")
			if code := follow.ended(patience); code != 0 {
				t.Errorf("exit code of follow: got %d", code)
			}
			if got := follow.stdout.String(); got != "step 1\nstep 2\nstep 3\n" {
				t.Errorf("log: got %q", got)
			}
			s.run("job", "show", id).says(`state +succeeded`).says(`^1 +ok +node-1`)
			s.run("job", "list", "--task", "count").says(`often`)
		})

		s.step(t, "a failing task is retried and succeeds", func(t *testing.T) {
			s.run("task", "create", "second-time", "--retry-delay", "100ms", "--shell", `[ "$BELFRY_ATTEMPT" -ge 2 ] && echo done || { echo not yet >&2; exit 7; }`)
			id := jobID(s.run("job", "enqueue", "second-time"))
			s.run("job", "wait", id).says("succeeded")
			s.run("job", "show", id).says(`^1 +error .* 7 `).says(`^2 +ok`)
			s.run("job", "logs", id).says("^not yet$").says("^done$")
		})

		s.step(t, "a timeout kills the whole process group", func(t *testing.T) {
			pids := filepath.Join(s.dir, "pids")
			s.run("task", "create", "hang", "--retries", "0", "--timeout", "10s", "-f", s.write("hang.yaml", `
name: hang
command:
  kill_grace: 200ms
  shell: |
    trap '' TERM
    sleep 300 & echo $! >> `+pids+`
    (trap '' TERM; sleep 301 & echo $! >> `+pids+`; wait) &
    echo $$ >> `+pids+`
    wait; sleep 302
`))
			s.fails(1, "ran longer than 10s|timeout", "job", "enqueue", "hang", "--wait")
			text, err := os.ReadFile(pids)
			if err != nil {
				t.Fatal(err)
			}
			list := strings.Fields(string(text))
			if len(list) != 3 {
				t.Fatalf("processes: %v", list)
			}
			for _, pid := range list {
				number, _ := strconv.Atoi(pid)
				eventually(t, patience, "process "+pid+" is gone", func() (bool, string) {
					return !alive(number), "it lives"
				})
			}
		})

		s.step(t, "a running job is canceled, and why is kept", func(t *testing.T) {
			s.run("task", "create", "sleeper", "--shell", "echo begun; exec sleep 300")
			id := jobID(s.run("job", "enqueue", "sleeper"))
			s.awaits("begun", "job", "logs", id)
			s.run("job", "cancel", id, "--note", "not today")
			s.fails(1, "canceled", "job", "wait", id)
			s.run("job", "show", id).says("not today").says(`^1 +canceled`)
			s.run("job", "why", id).says("not today")
		})

		s.step(t, "a dead job is retried", func(t *testing.T) {
			s.run("task", "create", "broken", "--retries", "0", "--shell", "exit 3")
			s.fails(1, "failed", "job", "enqueue", "broken", "--wait")
			r := s.run("job", "list", "--task", "broken", "-o", "json")
			id := strconv.FormatInt(as[core.Page[job.Job]](r).Items[0].ID, 10)
			s.run("job", "why", id).says("exit code 3").says("try: belfry job retry " + id)
			s.run("task", "update", "broken", "--shell", "true")
			s.run("job", "retry", "--all", "--task", "broken").says("job " + id + " retried")
			s.run("job", "wait", id).says("succeeded")
			s.fails(4, "left as it is", "job", "retry", id)
			s.fails(3, "no job 4711", "job", "retry", "4711")
			s.fails(4, "left as it is", "job", "cancel", id, "4711")
		})

		s.step(t, "a paused queue holds jobs, says why, and lets them go", func(t *testing.T) {
			s.run("task", "create", "quick", "--shell", "true")
			s.run("queue", "pause", "default", "--reason", "the deploy")
			id := jobID(s.run("job", "enqueue", "quick"))
			s.run("job", "why", id).says(`paused by token:admin at .*the deploy`).says("^try: belfry queue resume default$")
			s.run("doctor", "--within", "1m").says("note  canary on default: not sent.*the deploy")
			s.fails(6, "belfry job why", "job", "wait", id, "--wait-timeout", "200ms")
			s.run("queue", "resume", "default")
			s.run("job", "wait", id).says("succeeded")
		})

		s.step(t, "a paused schedule makes no jobs, and one loop after many resumes", func(t *testing.T) {
			s.run("schedule", "create", "loop", "--task", "quick", "--every", "1s", "--after-finish")
			for range 5 {
				s.run("schedule", "pause", "loop", "--reason", "again")
				s.run("schedule", "resume", "loop")
			}
			since := time.Now()
			eventually(t, patience, "the loop runs", func() (bool, string) {
				jobs := allJobs(t, n.api, job.Filter{Schedule: "loop", Since: since, States: []job.State{job.Succeeded}})
				return len(jobs) >= 3, fmt.Sprint(len(jobs), " jobs")
			})
			// One loop makes at most a job a second, since each interval counts from the end of the job before.
			jobs := allJobs(t, n.api, job.Filter{Schedule: "loop", Since: since})
			if most := int(time.Since(since)/time.Second) + 2; len(jobs) > most {
				t.Errorf("jobs of the loop: got %d in %s", len(jobs), time.Since(since))
			}
			s.run("schedule", "pause", "loop", "--reason", "done with it")
			s.run("schedule", "show", "loop").says(`state +paused`).says("done with it")
		})

		s.step(t, "the doctor finds a queue that nobody serves", func(t *testing.T) {
			s.run("doctor", "--within", "1m").says("^all is well$").says("canary on checks: job")
			// No worker runs this task: the node only runs the kinds that it was started with.
			s.run("queue", "create", "orphan")
			other := newSite(t, "sqlite:belfry.db")
			other.serve("--only-queues", "default")
			// The canary of the other queue is done within that time on a busy machine too.
			other.fails(1, `^FAIL  canary on system: was not done within 15s: Waiting: no worker serves queue system`, "doctor", "--within", "15s").
				says(`^ok    canary on default: job`)
		})
	})
}

// awaits repeats a command until its output matches.
func (s *site) awaits(pattern string, args ...string) {
	s.t.Helper()
	want := regexp.MustCompile("(?m)" + pattern)
	eventually(s.t, patience, "belfry "+strings.Join(args, " ")+" says "+pattern, func() (bool, string) {
		r := s.try(args...)
		return want.MatchString(r.stdout), r.stdout + r.stderr
	})
}

// alive reports whether a process runs. A zombie does not.
func alive(pid int) bool {
	if syscall.Kill(pid, 0) != nil {
		return false
	}
	stat, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
	if err != nil {
		return true // without /proc, the delivered signal decides
	}
	_, rest, _ := strings.Cut(string(stat), ") ")
	return !strings.HasPrefix(rest, "Z")
}

// Prune leaves Belfry's own definitions alone, or a second apply would never be
// without changes.
func TestApplyWithPruneComesToRest(t *testing.T) {
	onEach(t, func(t *testing.T, s *site) {
		n := s.serve("--allow-commands")
		n.logs(patience, "worker serves")
		s.write("one.yaml", "tasks: [{name: one, command: {shell: \"true\"}}]\nschedules: [{name: one, task: one, rules: [{every: 1h}]}]\n")
		s.write("two.yaml", "tasks: [{name: two, command: {shell: \"true\"}}]\n")
		s.run("apply", "-f", "one.yaml", "--prune").says("applied: 2 to create, 0 to update, 0 to delete")
		s.run("apply", "-f", "two.yaml", "--prune").says("^- delete task one$").says("^- delete schedule one$")
		s.fails(3, "one", "task", "show", "one")
		s.run("doctor", "--within", "1m").says("^all is well$")
		s.run("diff", "-f", "two.yaml", "--prune", "--exit-code").says("no change")
	})
}

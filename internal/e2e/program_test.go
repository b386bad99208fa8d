//go:build linux

package e2e

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/belfry-run/belfry/app/worker/sandbox"
	"github.com/belfry-run/belfry/app/worker/sandbox/scratch"
	"github.com/belfry-run/belfry/httpapi/client"
	"github.com/belfry-run/belfry/internal/signed"
	"github.com/belfry-run/belfry/job"
	"github.com/belfry-run/belfry/task"
)

// visitor is a static program that the tests upload.
var visitor = sync.OnceValues(func() (string, error) {
	file := filepath.Join(binDir, "visitor")
	build := exec.Command("go", "build", "-ldflags=-s", "-o", file, "./testdata/visitor")
	build.Env = append(os.Environ(), "CGO_ENABLED=0")
	if out, err := build.CombinedOutput(); err != nil {
		return "", fmt.Errorf("build the program to upload: %w\n%s", err, out)
	}
	return file, nil
})

// pusher is a site whose programs run on remote workers.
type pusher struct {
	*node
	file   string
	digest string
	size   int64
	secret string // of a token for workers
	mark   string // in the command line of every process of its programs
}

var marks atomic.Int64

func newPusher(t *testing.T, s *site, flags ...string) *pusher {
	t.Helper()
	file, err := visitor()
	if err != nil {
		t.Fatal(err)
	}
	content, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	sum := sha256.Sum256(content)
	if !slices.Contains(flags, "--roles") {
		flags = append(flags, "--roles", "api,engine")
	}
	flags = append(flags, "--artifacts", filepath.Join(s.dir, "artifacts"))
	p := &pusher{node: s.serve(flags...), file: file, size: int64(len(content)), digest: hex.EncodeToString(sum[:])}
	p.secret = s.run("token", "create", "far", "--scope", "worker", "--for", "*").stdout
	p.mark = fmt.Sprintf("visitor-%d-%d", os.Getpid(), marks.Add(1))
	return p
}

// push creates a task that runs the visitor.
func (p *pusher) push(name, what string, flags ...string) {
	p.t.Helper()
	args := append([]string{"program", "push", p.file, "--name", name, "--retries", "2"}, flags...)
	p.site.run(append(args, "--", p.mark, what)...)
}

// machine is a machine for a worker that runs programs. Its state folder outlives the
// worker.
func (p *pusher) machine() *site {
	p.t.Helper()
	far := workerSite(p.t.TB, p.secret)
	state, err := os.MkdirTemp("", "belfry-e2e-state-")
	if err == nil {
		err = os.Chmod(state, 0o711) //nolint:gosec // programs with a user of their own pass through
	}
	if err != nil {
		p.t.Fatal(err)
	}
	p.t.Cleanup(func() {
		// A killed worker may have left a control group, which its state names.
		if err := errors.Join(sandbox.Sweep(sandbox.Options{StateDir: filepath.Join(state, "sandbox")}), scratch.Remove(state)); err != nil {
			p.t.Error(err)
		}
	})
	far.env = []string{"BELFRY_REFUSE_PROGRAMS=false", "BELFRY_STATE_DIR=" + state}
	return far
}

func (p *pusher) works(far *site, name string, flags ...string) *process {
	p.t.Helper()
	w := far.work(p.url, append([]string{"--name", name}, flags...)...)
	w.logs(patience, `"uploaded programs run here"`)
	w.logs(patience, `"worker serves" worker=`+name)
	return w
}

// nothingRuns waits until no process of the programs is left.
func (p *pusher) nothingRuns() {
	p.t.Helper()
	eventually(p.t, patience, "no process of the programs is left", func() (bool, string) {
		left := p.processes()
		return len(left) == 0, strings.Join(left, "\n")
	})
}

// processes lists the processes of the programs. It reads one file of each process of the machine: a pattern with a wildcard
// before this file would list the folder of each process, which costs the kernel twenty times as much.
func (p *pusher) processes() (found []string) {
	all, err := os.ReadDir("/proc")
	if err != nil {
		p.t.Fatal(err)
	}
	for _, entry := range all {
		if _, err := strconv.Atoi(entry.Name()); err != nil {
			continue
		}
		file := filepath.Join("/proc", entry.Name(), "cmdline")
		if line, err := os.ReadFile(file); err == nil && bytes.Contains(line, []byte(p.mark)) && !bytes.Contains(line, []byte("push")) {
			found = append(found, file+" "+strings.ReplaceAll(string(line), "\x00", " "))
		}
	}
	return found
}

func (p *pusher) log(id int64) string {
	p.t.Helper()
	return p.site.run("job", "logs", strconv.FormatInt(id, 10)).stdout
}

// lingers waits until a program and its child run.
func (p *pusher) lingers(id int64) {
	p.t.Helper()
	eventually(p.t, patience, "the program lingers", func() (bool, string) {
		n := len(p.processes())
		return n >= 2, fmt.Sprint(n, " processes; job ", p.becomes(id, patience, job.Running, job.Ready, job.Scheduled).State)
	})
}

func TestAProgramThatIsPushedRunsOnAMachineThatHoldsNothing(t *testing.T) {
	onEach(t, func(t *testing.T, s *site) {
		s.env = append(s.env, "BELFRY_SEAL_KEY_FILE="+s.write("seal.key", strings.Repeat("5e", 32)+"\n"))
		p := newPusher(t, s, "--session-ttl", "10s")
		near := p.machine()
		p.works(near, "near")
		id := strconv.FormatInt

		s.step(t, "its log, end, files and isolation are on record", func(t *testing.T) {
			s.shell("printf hunter2 > secret; belfry secret set vault @secret").exits(0)
			p.push("report", "report", "--secret", "VAULT=vault", "--env", "REGION=eu")
			j := p.enqueue("report", func(n *job.NewJob) { n.Input = []byte(`{"month":7}`) })
			p.becomes(j.ID, patience, job.Succeeded)
			log := p.log(j.ID)
			for _, want := range []string{`input {"month":7}`, "REGION=eu", "reported"} {
				if !strings.Contains(log, want) {
					t.Errorf("log: want %q in it, got:\n%s", want, log)
				}
			}
			for _, hidden := range []string{"hunter2", strings.TrimSpace(p.secret), s.token(), "BELFRY_TOKEN", "BELFRY_SERVER", "DATABASE_URL", "postgres://"} {
				if strings.Contains(log, hidden) {
					t.Errorf("log: want no %q in it, got:\n%s", hidden, log)
				}
			}
			a := p.attempts(j.ID)[0]
			if a.Worker != "near" || a.ExitCode == nil || *a.ExitCode != 0 || a.Sandboxed == nil || a.Sandboxed.SHA256 != p.digest {
				t.Errorf("attempt: got %+v, want worker near, exit code 0 and the digest of the program", a)
			}
			s.run("job", "show", id(j.ID, 10)).says(`^artifact +` + p.digest).says(`^isolation +(namespaces|confined) .*seccomp`).says(`^network +(none|loopback)$`).
				says(`report.txt  19 B`)
			s.run("job", "outputs", id(j.ID, 10)).says(`^parts/one.txt +\d+ B`).says(`^report.txt `)
			s.run("job", "outputs", id(j.ID, 10), "--download", "results")
			for _, file := range []string{"report.txt", "parts/one.txt"} {
				if text, err := os.ReadFile(filepath.Join(s.dir, "results", file)); err != nil || string(text) != "this is "+file+"\n" {
					t.Errorf("output %s: got %q, error %v", file, text, err)
				}
			}
		})

		s.step(t, "what it fails with is on record", func(t *testing.T) {
			p.push("fail", "fail", "--retries", "0")
			j := p.enqueue("fail")
			p.becomes(j.ID, patience, job.Failed)
			if a := p.attempts(j.ID)[0]; a.ExitCode == nil || *a.ExitCode != 3 || !strings.Contains(p.log(j.ID), "does not add up") {
				t.Errorf("attempt of the failed program: got %+v with log %q, want exit code 3 and the error in the log", a, p.log(j.ID))
			}
		})

		s.step(t, "cancelled, it ends with all that it started", func(t *testing.T) {
			p.push("linger", "linger")
			j := p.enqueue("linger")
			p.lingers(j.ID)
			s.run("job", "cancel", id(j.ID, 10))
			p.becomes(j.ID, patience, job.Canceled)
			p.nothingRuns()
		})

		s.step(t, "it goes where the label is, and why says so", func(t *testing.T) {
			p.push("render", "report", "--label", "gpu=true")
			j := p.enqueue("render")
			s.awaits(`near lacks .*gpu`, "job", "why", id(j.ID, 10))
			p.works(p.machine(), "strong", "--labels", "gpu=true,zone=eu")
			p.becomes(j.ID, patience, job.Succeeded)
			if a := p.attempts(j.ID)[0]; a.Worker != "strong" {
				t.Errorf("attempt: got %+v, want worker strong", a)
			}
			s.run("worker", "show", "strong").says(`^labels +gpu=true$`).says(`^isolation +(namespaces|confined)`)
		})

		s.step(t, "a killed worker's program runs again elsewhere", func(t *testing.T) {
			first := p.machine()
			p.push("again", "linger", "--label", "doomed=true")
			w := p.works(first, "doomed", "--labels", "doomed=true")
			j := p.enqueue("again")
			p.lingers(j.ID)
			w.kill()
			p.nothingRuns() // before the worker is started again
			p.works(p.machine(), "second", "--labels", "doomed=true")
			eventually(t, 2*patience, "the second attempt runs", func() (bool, string) {
				now := must[job.Job](t)(p.api.Job(t.Context(), "default", j.ID))
				return now.Attempt == 2 && len(p.processes()) >= 2, fmt.Sprintf("%+v", now)
			})
			if as := p.attempts(j.ID); len(as) == 0 || as[0].Outcome != job.OutcomeLost || as[0].Worker != "doomed" {
				t.Errorf("attempts: got %+v, want the first lost on worker doomed", as)
			}
			p.works(first, "doomed").logs(patience, "removed the remains of an earlier worker")
			s.run("job", "cancel", id(j.ID, 10))
			p.becomes(j.ID, patience, job.Canceled)
			p.nothingRuns()
		})
	})
}

func TestALateUploadRunsOnceItIsConfirmed(t *testing.T) {
	onEach(t, func(t *testing.T, s *site) {
		p := newPusher(t, s)
		p.works(p.machine(), "far")
		tk := task.Task{Name: "late", Kind: task.KindProgram, Program: &task.Program{
			SHA256: p.digest, Size: p.size, Arch: runtime.GOARCH, Args: []string{p.mark, "report"},
		}}
		must[task.Task](t)(p.api.CreateTask(t.Context(), tk))
		j := p.enqueue("late")
		if j.State != job.Waiting {
			t.Errorf("job before the upload: got state %s", j.State)
		}
		up := must[task.Upload](t)(p.api.CreateArtifact(t.Context(), task.Artifact{Namespace: "default", SHA256: p.digest, Size: p.size}))
		if up.Link == nil {
			t.Fatalf("created artifact: got %+v, want an upload link", up)
		}
		if _, err := p.api.ConfirmArtifact(t.Context(), "default", p.digest); err == nil {
			t.Error("confirming an upload that never came: got no error, want one")
		}
		content, err := os.Open(p.file)
		if err != nil {
			t.Fatal(err)
		}
		defer func() { _ = content.Close() }()
		link := must[task.SignedRequest](t)(signed.At(p.url, *up.Link))
		if err := signed.Send(t.Context(), http.DefaultClient, link, content); err != nil {
			t.Fatal(err)
		}
		if now := must[job.Job](t)(p.api.Job(t.Context(), "default", j.ID)); now.State != job.Waiting {
			t.Errorf("job before the upload is confirmed: got state %s", now.State)
		}
		must[task.Artifact](t)(p.api.ConfirmArtifact(t.Context(), "default", p.digest))
		p.becomes(j.ID, patience, job.Succeeded)
	})
}

// Both containers of a pod run against a server.
func TestAPodRunsOneProgramWithTheRightToThatAlone(t *testing.T) {
	onEach(t, func(t *testing.T, s *site) {
		p := newPusher(t, s)
		p.push("report", "report")
		pod := p.machine()
		volume, err := os.MkdirTemp("", "belfry-e2e-pod-")
		if err == nil {
			err = os.Chmod(volume, 0o711) //nolint:gosec // as the volume of a pod
		}
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { _ = scratch.Remove(volume) })
		start := []string{"worker", "init", "--server", p.url, "--token-file", "worker.token", "--dir", volume, "--wait", "0s"}
		pod.fails(8, "nothing to do", start...)
		one, two := p.enqueue("report").ID, p.enqueue("report").ID
		pod.run(start...)
		p.becomes(one, patience, job.Running)
		p.becomes(two, patience, job.Ready)
		if err := os.Remove(filepath.Join(pod.dir, "worker.token")); err != nil {
			t.Fatal(err)
		}
		pod.run("worker", "main", "--dir", volume)
		p.becomes(one, patience, job.Succeeded)
		s.run("job", "outputs", strconv.FormatInt(one, 10)).says("report.txt")
		if a := p.attempts(one)[0]; a.Sandboxed == nil || a.Sandboxed.SHA256 != p.digest {
			t.Errorf("attempt: got %+v, want the digest of the program", a)
		}
		if left, err := os.ReadDir(volume); err != nil || len(left) > 0 {
			t.Errorf("files of the volume: got %v, error %v", left, err)
		}
		if ws := must[[]job.WorkerState](t)(p.api.Workers(t.Context(), false)); len(ws) > 0 {
			t.Errorf("workers: got %+v, want the session ended", ws)
		}
	})
}

func TestAStolenTokenOfAnAttemptOpensNothingElse(t *testing.T) {
	onEach(t, func(t *testing.T, s *site) {
		p := newPusher(t, s)
		p.push("report", "report")
		thief := must[*client.Client](t)(client.New(p.url, strings.TrimSpace(p.secret), client.Options{}))
		t.Cleanup(thief.CloseIdleConnections)
		p.enqueue("report")
		p.enqueue("report")
		session := must[job.Session](t)(thief.OpenSession(t.Context(), job.WorkerInfo{
			Name: "thief", Kinds: []task.Kind{task.KindProgram}, Queues: map[string]int{"default": 2},
			Has: task.Has{OS: "linux", Arch: runtime.GOARCH, Isolation: task.IsolationNamespaces},
		}))
		claim := must[job.Claim](t)(thief.Claim(t.Context(), job.ClaimRequest{Session: session.ID, Want: map[string]int{"default": 2}}))
		if len(claim.Jobs) != 2 || claim.Jobs[0].Token == "" {
			t.Fatalf("claim: got %+v, want 2 jobs with tokens", claim)
		}
		mine, other := claim.Jobs[0], claim.Jobs[1]
		use := func(want int, method, path, body string) {
			t.Helper()
			a, err := request(method, p.url+path, mine.Token, body)
			if err != nil || a.StatusCode != want {
				t.Errorf("%s %s: %d, want %d, %v\n%s", method, path, a.StatusCode, want, err, a.Body)
			}
		}
		attempt := func(j job.LeasedJob, more int64) string {
			return fmt.Sprintf("/v1/attempts/%d/%d/", j.Job.ID, j.Job.Lease+more)
		}
		use(200, "POST", attempt(mine, 0)+"beat", `{"seq":1}`)
		use(401, "POST", attempt(other, 0)+"beat", `{"seq":2}`)
		use(401, "POST", attempt(mine, 1)+"beat", `{"seq":3}`)
		use(401, "POST", attempt(other, 0)+"finish", `{"outcome":"ok"}`)
		use(401, "GET", attempt(other, 0)+"artifact", "")
		for _, path := range []string{"/v1/jobs", "/v1/tasks", "/v1/tokens", "/v1/secrets", "/v1/workers", "/metrics"} {
			use(401, "GET", path, "")
		}
		use(401, "POST", "/v1/sessions/"+session.ID+"/claim", `{"want":{"default":1}}`)
		use(401, "POST", "/v1/sessions/"+session.ID+"/renew", `{"holding":[]}`)
		use(200, "POST", attempt(mine, 0)+"finish", `{"outcome":"ok"}`)
		p.becomes(mine.Job.ID, patience, job.Succeeded)
		for _, what := range [][2]string{{"beat", `{"seq":9}`}, {"logs", `{"pieces":[]}`}, {"outputs", `{"name":"a","size":1,"sha256":"` + p.digest + `"}`}} {
			use(401, "POST", attempt(mine, 0)+what[0], what[1])
		}
		use(401, "GET", attempt(mine, 0)+"artifact", "")
		use(409, "POST", attempt(mine, 0)+"finish", `{"outcome":"error","error":"no"}`)
		if as := p.attempts(mine.Job.ID); !slices.Equal(outcomes(as), []job.Outcome{job.OutcomeOK}) {
			t.Errorf("attempts: got %+v, want 1 that succeeded", as)
		}
	})
}

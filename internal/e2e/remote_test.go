//go:build linux || darwin

package e2e

import (
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"testing"

	"github.com/belfry-run/belfry/job"
	"github.com/belfry-run/belfry/task"
)

// workerSite is a machine with only a token.
func workerSite(t testing.TB, token string) *site {
	far := newSite(t, "")
	far.write("worker.token", token)
	return far
}

// work starts a remote worker.
func (s *site) work(server string, flags ...string) *process {
	s.t.Helper()
	argv := append([]string{belfryPath(), "worker", "--server", server, "--token-file", filepath.Join(s.dir, "worker.token")}, flags...)
	return launch(s.t, "worker", s.dir, s.environ(), argv, "")
}

func TestARemoteWorkerRunsCommandsWithoutTheDatabase(t *testing.T) {
	onEach(t, func(t *testing.T, s *site) {
		address := freePort(t)
		flags := []string{"--roles", "api,engine", "--listen", address, "--session-ttl", "1m"} // longer than a busy machine needs to start the server again
		n := s.serve(flags...)
		secret := s.run("token", "create", "far", "--scope", "worker", "--for", "*").stdout
		far := workerSite(t, secret)
		w := far.work(n.url, "--allow-commands", "--name", "far-1")
		w.logs(patience, `"worker serves" worker=far-1`)

		n.shellTask("show", "env; pwd; ls")
		id := n.enqueue("show").ID
		n.becomes(id, patience, job.Succeeded)
		log := s.run("job", "logs", strconv.FormatInt(id, 10)).stdout
		for _, secret := range []string{strings.TrimSpace(secret), s.token(), "postgres://", "belfry.db", "BELFRY_TOKEN"} {
			if strings.Contains(log, secret) {
				t.Errorf("log of the command: got %q in it:\n%s", secret, log)
			}
		}
		if as := n.attempts(id); as[0].Worker != "far-1" {
			t.Errorf("attempts: got %+v, want worker far-1", as)
		}
		s.run("worker", "list").says("far-1 +active +. +command,http|far-1 +active")

		// The token permits work and nothing else.
		far.server = n.url
		far.fails(5, "needs the scope", "task", "list", "--token-file", "worker.token")

		// The server goes away while a job runs, and comes back at its address.
		// Meanwhile the job continues, and its result is delivered.
		n.shellTask("through", "sleep 2", func(t *task.Task) { soon("through", t) })
		id = n.enqueue("through").ID
		n.becomes(id, patience, job.Running)
		n.kill()
		w.logs(patience, `call fails, trying again`)
		n = s.serve(flags...)
		n.becomes(id, patience, job.Succeeded)
		// The server may have died before it answered a claim. Such a claim never
		// arrived and is handed back.
		began := slices.DeleteFunc(outcomes(n.attempts(id)), func(o job.Outcome) bool { return o == job.OutcomeHandedBack })
		if !slices.Equal(began, []job.Outcome{job.OutcomeOK}) {
			t.Errorf("outcomes of the job that ran meanwhile: got %v, want one success", began)
		}
		id = n.enqueue("show").ID
		n.becomes(id, patience, job.Succeeded)

		// A drained worker gets no more jobs, and then ends in order.
		w.signal(syscall.SIGTERM)
		if code := w.ended(patience); code != 0 {
			t.Errorf("exit code of the worker: got %d", code)
		}
		s.run("worker", "list", "--ended").says("far-1 +ended")
	})
}

// refusesWorker fails unless a worker with this token ends and says why.
func refusesWorker(t testing.TB, server, token, pattern string) {
	t.Helper()
	w := workerSite(t, token).work(server, "--allow-commands")
	if code := w.ended(patience); code != 5 {
		t.Errorf("exit code of a refused worker (%s): got %d\n%s", pattern, code, w.stderr)
	}
	w.logs(patience, pattern)
	w.logs(patience, "^try: ")
}

func TestATokenWithoutTheScopeEndsAWorker(t *testing.T) {
	t.Parallel()
	s := newSite(t, "sqlite:belfry.db")
	n := s.serve("--roles", "api,engine")
	reader := s.run("token", "create", "reader", "--scope", "read", "--for", "*").stdout
	refusesWorker(t, n.url, reader, "^error: .*scope worker")
}

func TestATokenThatIsNotGoodEndsAWorker(t *testing.T) {
	t.Parallel()
	s := newSite(t, "sqlite:belfry.db")
	n := s.serve("--roles", "api,engine", "--session-ttl", steadyTTL)

	refused := func(token, pattern string) {
		t.Helper()
		refusesWorker(t, n.url, token, pattern)
	}
	refused("bly_nonsense", "^error: ")
	brief := s.run("token", "create", "brief", "--scope", "worker", "--for", "*", "--expires", "1s").stdout
	eventually(t, patience, "the token has expired", func() (bool, string) {
		a, err := request("GET", n.url+"/v1/queues", strings.TrimSpace(brief), "")
		return err == nil && a.StatusCode == 401, a.Body
	})
	refused(brief, "expired")
	gone := s.run("token", "create", "gone", "--scope", "worker", "--for", "*").stdout
	s.run("token", "revoke", "gone")
	refused(gone, "revoked")

	// If the token is revoked, the running job is stopped and goes to another worker.
	secret := s.run("token", "create", "later", "--scope", "worker", "--for", "*").stdout
	far := workerSite(t, secret)
	w := far.work(n.url, "--allow-commands", "--name", "far-1")
	pid := filepath.Join(far.dir, "pid")
	n.shellTask("long", "echo $$ > "+pid+"; exec sleep 300", func(t *task.Task) { soon("long", t) })
	id := n.enqueue("long").ID
	running := pidOf(t, pid)
	s.run("token", "revoke", "later")
	w.logs(patience, "stopping its jobs")
	eventually(t, patience, "the command is gone", func() (bool, string) { return !alive(running), "it lives" })
	w.logs(patience, "revoked")
	other := s.run("token", "create", "other", "--scope", "worker", "--for", "*").stdout
	workerSite(t, other).work(n.url, "--allow-commands", "--name", "far-2")
	eventually(t, patience, "the other worker has the job", func() (bool, string) {
		j := must[job.Job](t)(n.api.Job(t.Context(), "default", id))
		return j.State == job.Running && j.Attempt == 2, string(j.State)
	})
}

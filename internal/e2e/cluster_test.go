//go:build linux || darwin

package e2e

import (
	"context"
	"fmt"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/belfry-run/belfry/core"
	"github.com/belfry-run/belfry/internal/pgtest"
	"github.com/belfry-run/belfry/job"
	"github.com/belfry-run/belfry/schedule"
	"github.com/belfry-run/belfry/task"
)

func soon(name string, t *task.Task) { // retried at once
	t.Name, t.Retry = name, task.Retry{MaxAttempts: 5, Delay: core.Duration(50 * time.Millisecond), Backoff: task.BackoffFixed}
}

func TestThreeNodesShareTheWork(t *testing.T) {
	t.Parallel()
	s := newSite(t, pgtest.New(t))
	var nodes []*node
	for range 3 {
		nodes = append(nodes, s.serve("--allow-commands", "--queues", "default=2"))
	}
	n := nodes[0]
	n.shellTask("work", "while [ ! -e "+filepath.Join(s.dir, "go")+" ]; do sleep 0.05; done", func(t *task.Task) { t.Timeout = core.Duration(10 * time.Minute) })
	n.shellTask("tick", "true")
	s.run("schedule", "create", "tick", "--task", "tick", "--cron", "* * * * * *", "--overlap", "allow")

	var ids []int64
	for i := range 60 {
		ids = append(ids, nodes[i%3].enqueue("work").ID)
	}
	eventually(t, patience, "each node runs two of them", func() (bool, string) {
		running := allJobs(t, n.api, job.Filter{Task: "work", States: []job.State{job.Running}})
		return len(running) >= 6, fmt.Sprint(len(running))
	})
	s.write("go", "") // before, a node that is slow would find no job left
	workers := map[string]int{}
	for _, id := range ids {
		n.becomes(id, patience, job.Succeeded)
		as := n.attempts(id)
		if len(as) != 1 {
			t.Errorf("attempts of job %d: got %v, want 1", id, outcomes(as))
		}
		workers[as[0].Worker]++
	}
	if len(workers) != 3 {
		t.Errorf("workers of 60 jobs: got %v, want all 3", workers)
	}
	eventually(t, patience, "the schedule has run five times", func() (bool, string) {
		jobs := allJobs(t, n.api, job.Filter{Schedule: "tick", States: []job.State{job.Succeeded}})
		return len(jobs) >= 5, fmt.Sprint(len(jobs))
	})
	must[schedule.Schedule](t)(n.api.PauseSchedule(t.Context(), "default", "tick", "seen enough"))
	v := &verdict{t: t}
	checkPlan(v, "tick", allOccurrences(t, n.api, "tick"), time.Second)
	seen := map[time.Time]int64{}
	for _, j := range allJobs(t, nodes[2].api, job.Filter{Schedule: "tick"}) {
		if other, twice := seen[j.Nominal]; twice {
			t.Errorf("%s has jobs %d and %d", j.Nominal, other, j.ID)
		}
		seen[j.Nominal] = j.ID
	}
	s.run("worker", "list").says("node-1 +active").says("node-2 +active").says("node-3 +active")
	s.run("doctor", "--within", "1m").says("^all is well$")
}

func TestAKilledNodesJobsAreTriedAgainElsewhere(t *testing.T) {
	t.Parallel()
	s := newSite(t, pgtest.New(t))
	one := s.serve("--allow-commands", "--session-ttl", steadyTTL)
	const forever = `[ "$BELFRY_ATTEMPT" -gt 1 ] || exec sleep 300`
	one.shellTask("patient", forever, func(t *task.Task) { soon("patient", t) })
	one.shellTask("once", forever, func(t *task.Task) {
		soon("once", t)
		t.Retry.OnLost = task.OnLostFail
	})
	var ids []int64
	for range 4 {
		ids = append(ids, one.enqueue("patient").ID)
	}
	fragile := one.enqueue("once").ID
	for _, id := range append(ids, fragile) {
		one.becomes(id, patience, job.Running)
	}
	two := s.serve("--allow-commands") // an idle node, which outlives the other
	one.kill()
	killed := time.Now()

	two.logs(patience, `msg="jobs of lost sessions released" sessions=1 jobs=5`)
	if took := time.Since(killed); took < 5*time.Second {
		t.Errorf("given up after %s, although a worker has %s", took, job.LostGrace)
	}
	for _, id := range ids {
		two.becomes(id, patience, job.Succeeded)
		as := two.attempts(id)
		if got := fmt.Sprint(outcomes(as)); got != "[lost ok]" || as[1].Worker != "node-2" || as[1].Lease <= as[0].Lease {
			t.Errorf("attempts of job %d: got %+v", id, as)
		}
	}
	j := two.becomes(fragile, patience, job.Failed)
	if j.Reason != schedule.ReasonLost {
		t.Errorf("the job with a single attempt: got reason %q and error %s", j.Reason, j.Error)
	}
	s.run("worker", "list", "--ended").says("node-1 +lost").says("node-2 +active")
}

// A node is stopped with SIGSTOP beyond its lease while its command runs on, and
// continues afterwards.
func TestANodeThatSleptPastItsLeaseIsRefusedAndWorksAgain(t *testing.T) {
	t.Parallel()
	s := newSite(t, pgtest.New(t))
	sleeper := s.serve("--allow-commands", "--session-ttl", steadyTTL, "--log-level", "debug")
	gate := filepath.Join(s.dir, "gate")
	sleeper.shellTask("nap", "while [ ! -e "+gate+" ]; do sleep 0.05; done", func(t *task.Task) { soon("nap", t) })
	id := sleeper.enqueue("nap").ID
	sleeper.becomes(id, patience, job.Running)
	lease := must[job.Job](t)(sleeper.api.Job(t.Context(), "default", id)).Lease
	awake := s.serve("--allow-commands") // its session does not end on a busy machine

	sleeper.signal(syscall.SIGSTOP)
	s.write("gate", "") // the command ends, but the stopped node does not report it yet
	awake.logs(patience, `msg="jobs of lost sessions released" sessions=1 jobs=1`)
	awake.becomes(id, patience, job.Succeeded)
	sleeper.signal(syscall.SIGCONT)

	// The node learns of the loss from its own clock or from the answer to its report.
	sleeper.logs(patience, `session could not be renewed in time, stopping its jobs|result came too late and was discarded|session was given up by the server`)
	sleeper.logs(patience, `(?s)"worker serves".*"worker serves"`)

	as := awake.attempts(id)
	if got := fmt.Sprint(outcomes(as)); got != "[lost ok]" || as[0].Worker != "node-1" || as[0].Lease != lease || as[1].Worker != "node-2" {
		t.Errorf("attempts: got %+v, want the first lost on node-1 and the second succeeded on node-2", as)
	}
	// The node works again, under a new session.
	awake.signal(syscall.SIGTERM)
	if code := awake.ended(patience); code != 0 {
		t.Errorf("exit code of the other node: got %d", code)
	}
	s.server = sleeper.url
	again := sleeper.enqueue("nap").ID
	sleeper.becomes(again, patience, job.Succeeded)
	if as := sleeper.attempts(again); as[0].Worker != "node-1" {
		t.Errorf("attempts: %+v", as)
	}
	if got := fmt.Sprint(outcomes(sleeper.attempts(id))); got != "[lost ok]" {
		t.Errorf("the first job's attempts are now %s", got)
	}
}

// A node freezes in the middle of a transaction, with rows locked. A cut network has
// the same effect. Without help, PostgreSQL notices neither for hours.
func TestANodeFrozenInATransactionDelaysNoOtherNode(t *testing.T) {
	t.Parallel()
	url := pgtest.New(t)
	s := newSite(t, url+"&application_name=frozen")
	frozen := s.serve("--allow-commands", "--session-ttl", steadyTTL)
	s.database = url
	frozen.shellTask("first", `[ "$BELFRY_ATTEMPT" -gt 1 ] || exec sleep 300`, func(t *task.Task) { soon("first", t) })
	frozen.shellTask("quick", "true", func(t *task.Task) { soon("quick", t) })
	s.run("schedule", "create", "tick", "--task", "quick", "--cron", "* * * * * *", "--overlap", "allow")
	id := frozen.enqueue("first").ID
	session := frozen.becomes(id, patience, job.Running).Session

	busy, calm := context.WithCancel(t.Context())
	defer calm()
	// This keeps the node in a transaction on its session much of the time. One caller
	// is enough: several would queue for the row, which no worker does, and each would
	// have to be ended in its turn.
	go func() {
		for busy.Err() == nil {
			_, _ = frozen.api.Renew(busy, session, job.Held())
		}
	}()
	db := must[*pgx.Conn](t)(pgx.Connect(t.Context(), url))
	t.Cleanup(func() { _ = db.Close(context.Background()) })
	ask := func(query string) (text string) {
		t.Helper()
		if err := db.QueryRow(t.Context(), query).Scan(&text); err != nil {
			t.Fatal(err)
		}
		return text
	}
	eventually(t, patience, "the node is frozen in a transaction that locks its session", func() (bool, string) {
		frozen.signal(syscall.SIGSTOP)
		for range 5 { // lets the statements of the backends end
			held := ask(`
				select count(*)::text
				from pg_stat_activity a join pg_locks l on l.pid = a.pid join pg_class c on c.oid = l.relation
				where a.application_name = 'frozen' and a.state = 'idle in transaction' and l.mode = 'RowExclusiveLock' and c.relname = 'sessions'`)
			if held != "0" {
				return true, ""
			}
		}
		frozen.signal(syscall.SIGCONT)
		return false, "not caught yet"
	})
	calm()
	stopped := time.Now()
	other := s.serve("--allow-commands")
	blocked := func() string {
		return ask(`
			select coalesce(string_agg(pid || ' ' || application_name || ' ' || state || ', blocked by ' || pg_blocking_pids(pid)::text || ': ' || query, E'\n'), 'nobody')
			from pg_stat_activity
			where datname = current_database() and (cardinality(pg_blocking_pids(pid)) > 0 or application_name = 'frozen' and state <> 'idle')`)
	}
	eventually(t, patience, "the frozen node's job has been done by the other", func() (bool, string) {
		j := must[job.Job](t)(other.api.Job(t.Context(), "default", id))
		return j.State == job.Succeeded, fmt.Sprintf("it is %s; who waits for whom:\n%s", j.State, blocked())
	})
	eventually(t, patience, "the schedule goes on", func() (bool, string) {
		jobs := must[core.Page[job.Job]](t)(other.api.Jobs(t.Context(), job.Filter{Schedule: "tick", States: []job.State{job.Succeeded}}))
		return len(jobs.Items) > 0 && jobs.Items[0].Nominal.After(stopped.Add(5*time.Second)), blocked()
	})
	frozen.signal(syscall.SIGCONT)
	readyWithin(t, frozen.url, patience, 200)
}

// A hand-written worker reports after it was given up. The answer and the log of the
// node say that the report is late, and the record keeps one success.
func TestALateFinishIsRefusedAndToldSo(t *testing.T) {
	onEach(t, func(t *testing.T, s *site) {
		n := s.serve("--roles", "api,engine")
		n.shellTask("work", "true", func(t *task.Task) { soon("work", t) })
		id := n.enqueue("work").ID
		claims := func(ttl time.Duration) (session job.Session, ref job.Ref) {
			var got job.Claim
			eventually(t, patience, "the job is claimed", func() (bool, string) {
				session = must[job.Session](t)(n.api.OpenSession(t.Context(), job.WorkerInfo{
					Name: "by-hand", Kinds: []task.Kind{task.KindCommand}, Queues: map[string]int{"default": 1}, TTL: core.Duration(ttl),
				}))
				var err error
				if got, err = n.api.Claim(t.Context(), job.ClaimRequest{Session: session.ID, Want: map[string]int{"default": 1}}); err == nil && len(got.Jobs) == 1 {
					return true, ""
				}
				_ = n.api.CloseSession(t.Context(), session.ID) // it may have ended already, on a busy machine
				return false, fmt.Sprint(err)
			})
			return session, job.Ref{JobID: got.Jobs[0].Job.ID, Lease: got.Lease}
		}
		zombie, old := claims(5 * time.Second)
		n.logs(patience, `msg="jobs of lost sessions released" sessions=1 jobs=1`)
		if _, err := n.api.Claim(t.Context(), job.ClaimRequest{Session: zombie.ID, Want: map[string]int{"default": 1}}); core.CodeOf(err) != core.Unauthorized {
			t.Errorf("claim under a lost session: got error %v", err)
		}
		if r := must[job.Renewal](t)(n.api.Renew(t.Context(), zombie.ID, job.Held(old))); !r.Lost {
			t.Errorf("renewal of a lost session: got %+v, want it lost", r)
		}

		healthy, fresh := claims(job.MaxSessionTTL.D())
		if fresh.JobID != id || fresh.Lease <= old.Lease {
			t.Fatalf("claimed %+v after %+v", fresh, old)
		}
		finish := func(session job.Session, ref job.Ref) job.Finished {
			return must[[]job.Finished](t)(n.api.Finish(t.Context(), session.ID, []job.Finish{{Ref: ref, Outcome: job.OutcomeOK}}))[0]
		}
		if f := finish(zombie, old); !f.Stale {
			t.Errorf("late finish: got %+v, want it stale", f)
		}
		n.logs(patience, fmt.Sprintf(`msg="late result refused" job=%d lease=%d`, old.JobID, old.Lease))
		if f := finish(healthy, fresh); f.Stale || f.State != job.Succeeded {
			t.Errorf("finish under the newer lease: got %+v, want it accepted", f)
		}
		if f := finish(zombie, old); !f.Stale {
			t.Errorf("late finish after the end: got %+v, want it stale", f)
		}
		if got := fmt.Sprint(outcomes(n.attempts(id))); got != "[lost ok]" {
			t.Errorf("attempts: %s", got)
		}
	})
}

func TestRolesAreSplitOverNodes(t *testing.T) {
	t.Parallel()
	s := newSite(t, pgtest.New(t))
	front := s.serve("--roles", "api")
	front.shellTask("where", `echo "ran on $(hostname)"`)
	s.run("schedule", "create", "often", "--task", "where", "--every", "1s")
	id := front.enqueue("where").ID
	s.run("job", "why", fmt.Sprint(id)).says("a worker lives")
	s.fails(1, "FAIL  workers: there is none", "doctor", "--within", "1s").says("start a node with the role worker")

	back := s.launchServe("--roles", "engine,worker", "--allow-commands")
	back.says(back.stdout, patience, `^  roles +engine, worker$`)
	front.becomes(id, patience, job.Succeeded)
	s.awaits(`where +succeeded .* often`, "job", "list")
	s.run("worker", "list").says("node-2 +active").says("command")
	if strings.Contains(s.run("worker", "list").stdout, "node-1") {
		t.Error("the node that only serves the API is among the workers")
	}
	s.run("doctor", "--within", "1m").says("^all is well$")

	// The API answers independently of the workers.
	back.kill()
	s.run("job", "list").says("succeeded")
	if code := get(t, front.url+"/readyz", "").StatusCode; code != 200 {
		t.Errorf("/readyz answers %d", code)
	}
}

//go:build linux || darwin

package e2e

import (
	"context"
	"fmt"
	"testing"
	"time"

	"github.com/belfry-run/belfry/internal/pgtest"
	"github.com/belfry-run/belfry/job"
	"github.com/belfry-run/belfry/schedule"
	"github.com/belfry-run/belfry/task"
)

// PostgreSQL is killed and started again under load, once for less than the length of
// a session and once for longer.
func TestPostgreSQLGoesAwayAndComesBack(t *testing.T) {
	t.Parallel()
	server := pgtest.NewServer(t, pgtest.Options{})
	s := newSite(t, server.New(t))
	nodes := []*node{
		s.serve("--allow-commands", "--session-ttl", "4s"),
		s.serve("--allow-commands", "--session-ttl", "4s"),
	}
	n := nodes[0]
	n.shellTask("work", "sleep 0.5", func(t *task.Task) { soon("work", t); t.Retry.MaxAttempts = 20 })
	s.run("schedule", "create", "tick", "--task", "work", "--cron", "* * * * * *", "--catchup", "all", "--catchup-max", "1000", "--overlap", "allow") // however long an outage lasts

	var acked map[string]int64
	asked := make(chan map[string]int64)
	pumping, stop := context.WithCancel(t.Context())
	defer stop()
	go func() {
		mine := map[string]int64{}
		tick := time.NewTicker(100 * time.Millisecond)
		defer tick.Stop()
		for i := 0; pumping.Err() == nil; <-tick.C {
			key := fmt.Sprintf("key-%d", i)
			made, err := nodes[i%2].api.Enqueue(pumping, []job.NewJob{{Task: "work", Key: key}})
			if err == nil {
				mine[key] = made[0].Job.ID
				i++
			}
		}
		asked <- mine
	}()

	outage := func(longer bool) {
		t.Helper()
		if err := server.Kill(); err != nil {
			t.Fatal(err)
		}
		for _, n := range nodes {
			readyWithin(t, n.url, patience, 503)
			if a := get(t, n.url+"/healthz", ""); a.StatusCode != 200 {
				t.Errorf("/healthz answers %d while the database is away", a.StatusCode)
			}
		}
		s.fails(6, `^error: .*database`, "job", "list")
		s.fails(6, `^error: .*database`, "job", "enqueue", "work")
		s.fails(6, `^error: .*database`, "job", "list", "--database", s.database).says("^try: ")
		if longer {
			for _, n := range nodes {
				n.logs(patience, "session could not be renewed in time, stopping its jobs")
			}
		}
		if err := server.Restart(); err != nil {
			t.Fatal(err)
		}
		back := time.Now()
		for _, n := range nodes {
			readyWithin(t, n.url, patience, 200)
		}
		eventually(t, patience, "the schedule goes on", func() (bool, string) {
			jobs, err := n.api.Jobs(t.Context(), job.Filter{Schedule: "tick", States: []job.State{job.Succeeded}})
			return err == nil && len(jobs.Items) > 0 && jobs.Items[0].Nominal.After(back), fmt.Sprint(jobs.Items, err)
		})
		s.run("doctor", "--within", "1m").says("^all is well$")
	}
	outage(false)
	outage(true)

	stop()
	select {
	case acked = <-asked:
	case <-time.After(patience):
		t.Fatal("clients: got one that hangs")
	}
	must[schedule.Schedule](t)(n.api.PauseSchedule(t.Context(), "default", "tick", "the end"))
	if len(acked) < 10 {
		t.Errorf("acknowledged jobs: got only %d", len(acked))
	}
	for key, id := range acked {
		j := n.becomes(id, patience, job.Succeeded)
		if j.Key != key {
			t.Errorf("key of acknowledged job %[1]d: got %[3]s, want %[2]s", id, key, j.Key)
		}
	}
	v := &verdict{t: t}
	list := allOccurrences(t, n.api, "tick")
	checkPlan(v, "tick", list, time.Second)
	for _, o := range list {
		if o.Decision != schedule.DecidedJob && o.Reason != schedule.ReasonPaused {
			t.Errorf("occurrence %s: got decision %s for reason %q, want a job, since all are caught up", o.Nominal, o.Decision, o.Reason)
		}
	}
	for _, n := range nodes {
		if !n.running() {
			t.Errorf("%s has ended", n.name)
		}
	}
}

func TestTheCommandLineReportsAnUnreachableServer(t *testing.T) {
	t.Parallel()
	s := newSite(t, "sqlite:belfry.db")
	s.fails(6, "no server answers at http://127.0.0.1:1, and there is no belfry.db here", "job", "list").says("^try: start one with: belfry serve")
	s.server = "http://" + freePort(t)
	s.fails(6, "cannot reach the server at "+s.server, "job", "list", "--token", "x").says("belfry serve")
	s.server = ""
	s.fails(6, "database", "job", "list", "--database", "postgres://nobody@127.0.0.1:1/none")
	s.fails(6, "database", "serve", "--listen", "127.0.0.1:0", "--database", "postgres://nobody@127.0.0.1:1/none")
}

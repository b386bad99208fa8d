//go:build linux

package e2e

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/belfry-run/belfry/core"
	"github.com/belfry-run/belfry/httpapi/wire"
	"github.com/belfry-run/belfry/internal/history"
	"github.com/belfry-run/belfry/internal/history/driver"
	"github.com/belfry-run/belfry/internal/pgtest"
	"github.com/belfry-run/belfry/job"
	"github.com/belfry-run/belfry/schedule"
	"github.com/belfry-run/belfry/view"
)

// skippedLeases is the distance between the lease numbers of an epoch and of the one before.
const skippedLeases = 10_000_000_000

// asks enqueues jobs on two nodes in turn until so many are acknowledged, and returns their ids by key. It drops refused
// calls, such as those during an outage.
func asks(t *testing.T, nodes []*node, prefix string, wanted int, calls func(n *node) driver.Calls) map[string]int64 {
	t.Helper()
	acked, i := map[string]int64{}, 0
	eventually(t, patience, fmt.Sprintf("%d jobs of %s are acknowledged", wanted, prefix), func() (bool, string) {
		n, key := calls(nodes[i%len(nodes)]), fmt.Sprintf("%s-%d", prefix, i)
		name := []string{"quick", "middling", "long"}[i%3]
		i++
		ctx, stop := context.WithTimeout(t.Context(), 5*time.Second)
		defer stop()
		made, err := n.Enqueue(ctx, []job.NewJob{{Task: name, Key: key, KeyWindow: job.MaxKeyWindow}})
		if err != nil {
			return false, err.Error()
		}
		id := made[0].Job.ID
		acked[key] = id
		if _, err := n.Job(ctx, "default", id); err != nil && core.CodeOf(err) == core.NotFound {
			t.Errorf("read of acknowledged job %d: got error %v", id, err)
		}
		return len(acked) >= wanted, fmt.Sprint(len(acked))
	})
	return acked
}

// withoutLostHistory writes again the lines of handlers that the new primary must know. It leaves out attempts under leases
// from before the failover that began after the standby was cut off, or were under way and are recorded as lost.
func withoutLostHistory(t *testing.T, file string, cut int, r record) (path string, dropped int) {
	t.Helper()
	recorded := r.tries()
	text, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	rows := strings.SplitAfter(strings.TrimSuffix(string(text), "\n"), "\n")
	var kept strings.Builder
	for i, l := range readHistory(t, file) {
		at := try{l.job, l.lease}
		_, known := recorded[at]
		late := recorded[try{l.job, l.lease + skippedLeases}]
		if known || l.lease > skippedLeases || i < cut && late.Outcome != job.OutcomeLost && late.Outcome != job.OutcomeHandedBack {
			kept.WriteString(strings.TrimSuffix(rows[i], "\n") + "\n")
			continue
		}
		if l.what == "start" {
			dropped++
		}
	}
	path = file + ".kept"
	if err := os.WriteFile(path, []byte(kept.String()), 0o600); err != nil {
		t.Fatal(err)
	}
	return path, dropped
}

// Two nodes keep running through the promotion of a standby that was behind.
func TestPostgresFailoverOfNodes(t *testing.T) {
	t.Parallel()
	primary := pgtest.NewServer(t, pgtest.Options{})
	standby := primary.Standby(t, "one")
	if err := primary.Replicate("one"); err != nil {
		t.Fatal(err)
	}
	s := newSite(t, "postgres://postgres@"+standby.Addr()+","+primary.Addr()+"/postgres?sslmode=disable&target_session_attrs=read-write")
	var nodes []*node
	for range 2 {
		nodes = append(nodes, s.serve("--allow-commands", "--session-ttl", "3s", "--queues", "default=6", "--retention-age", "3650d"))
	}
	file := filepath.Join(s.dir, "history")
	plan := definitions(file)
	plan.Schedules = plan.Schedules[:1] // tick
	must[view.Applied](t)(nodes[0].api.Apply(t.Context(), plan, wire.ApplyOptions{}))
	recorder, recorded := newRecorder(t, s.dir, "failover lane")
	recording := func(n *node) driver.Calls { return driver.Client{To: n.api, Writer: recorder, Process: n.name} }
	plain := func(n *node) driver.Calls { return n.api }

	kept := asks(t, nodes, "kept", 25, recording)
	cut := len(s.lines("history")) // the standby has the leases of all attempts that began before
	if err := primary.Replicate(""); err != nil {
		t.Fatal(err)
	}
	if err := standby.CutOff(); err != nil {
		t.Fatal(err)
	}
	gone := asks(t, nodes, "gone", 25, plain)
	if err := primary.Kill(); err != nil {
		t.Fatal(err)
	}
	if err := standby.Promote(); err != nil {
		t.Fatal(err)
	}
	promoted := time.Now()
	acked := asks(t, nodes, "after", 40, recording)
	for _, n := range nodes {
		n.logs(patience, `(?s)"worker serves".*"worker serves"`) // under a session of the new epoch
	}
	t.Logf("both nodes work again %s after the promotion", time.Since(promoted).Round(100*time.Millisecond))
	more := asks(t, nodes, "more", 20, recording)

	api := nodes[1].api
	before := must[schedule.Schedule](t)(api.Schedule(t.Context(), "default", "tick"))
	eventually(t, patience, "the schedule goes on", func() (bool, string) {
		now, err := api.Schedule(t.Context(), "default", "tick")
		return err == nil && now.Runs >= before.Runs+8, fmt.Sprint(now.Runs, err)
	})
	must[schedule.Schedule](t)(recording(nodes[1]).PauseSchedule(t.Context(), "default", "tick", "the end"))
	eventually(t, patience, "every job has ended", func() (bool, string) {
		left := allJobs(t, api, job.Filter{States: []job.State{job.Waiting, job.Scheduled, job.Ready, job.Running}})
		return len(left) == 0, fmt.Sprintf("%d are left, the first is %+v", len(left), append(left, job.Job{})[0])
	})

	asked := recorder.Now()
	r := record{jobs: map[int64]job.Job{}, attempts: map[int64][]job.Attempt{}, occurrences: map[string][]schedule.Occurrence{"tick": allOccurrences(t, api, "tick")}, grid: grid}
	for _, j := range allJobs(t, api, job.Filter{}) {
		r.jobs[j.ID], r.attempts[j.ID] = j, nodes[1].attempts(j.ID)
	}
	v := &verdict{t: t}
	seen, dropped := withoutLostHistory(t, file, cut, r)
	judge(v, r, readHistory(t, seen))
	told := promises{acked: map[string]int64{}}
	for _, of := range []map[string]int64{kept, acked, more} {
		for key, id := range of {
			told.acked[key] = id
		}
	}
	checkPromises(v, r, told)
	lost := 0
	for key, id := range gone {
		if j, there := r.jobs[id]; !there {
			lost++
		} else if j.Key != key {
			v.errorf("job %d was acknowledged for %s, and is one for %s", id, key, j.Key)
		}
	}
	if lost == 0 || dropped == 0 {
		v.errorf("%d jobs and %d attempts are of the lost history: the standby was not behind", lost, dropped)
	}
	recordHistory(t, recorder, seen, r, must[schedule.Schedule](t)(api.Schedule(t.Context(), "default", "tick")), asked)
	t.Logf("%d jobs and %d attempts are of the lost history; %+v", lost, dropped, checkHistoryFile(v, recorded).Counts)
	if got := s.try("check-history", recorded); got.code != 0 {
		v.errorf("belfry check-history: %d %s %s", got.code, got.stdout, got.stderr)
	}
	checkEpoch(t, standby)
	s.run("doctor", "--within", "1m").says("epoch: [0-9]{16}, since .*the server tells its timeline").says("^all is well$")
}

// recordHistory adds the executions of handlers and the final record to the answers of clients, and ends the file.
func recordHistory(t *testing.T, w *history.Writer, seen string, r record, tick schedule.Schedule, asked int64) {
	t.Helper()
	for _, e := range executions(t, seen) {
		w.Add(e)
	}
	for id, j := range r.jobs {
		w.Add(driver.JobOf(j, r.attempts[id], asked))
	}
	list := r.occurrences[tick.Name]
	for _, o := range list {
		w.Add(driver.OccurrenceOf(tick.Name, o))
	}
	last := list[len(list)-1]
	until := last.Nominal
	if !last.Until.IsZero() {
		until = last.Until
	}
	w.Add(driver.ScheduleOf(tick, list[0].Nominal, until))
	if err := w.Close(history.KindJob, history.KindExecution, history.KindOccurrence); err != nil {
		t.Fatal(err)
	}
}

// checkEpoch fails unless all sessions from before the failover ended, and nothing was recorded under their leases since.
func checkEpoch(t *testing.T, s *pgtest.Server) {
	t.Helper()
	db := must[*pgx.Conn](t)(pgx.Connect(t.Context(), s.URL("postgres")))
	defer db.Close(context.Background()) //nolint:errcheck // a connection without a transaction
	var living, ended, late int
	if err := db.QueryRow(t.Context(), `
		select count(*) filter (where ended_at = 0 and started_at <= e.number), count(*) filter (where lost = 1),
			(select count(*) from belfry.attempts as a, belfry.epoch as since where a.ended_at > since.number and a.lease < $1)
		from belfry.sessions, belfry.epoch as e`, int64(skippedLeases)).Scan(&living, &ended, &late); err != nil {
		t.Fatal(err)
	}
	if living > 0 || ended < 2 {
		t.Errorf("sessions from before the failover: got %d live and %d ended, want none live", living, ended)
	}
	if late > 0 {
		t.Errorf("attempts recorded under a lease from before the failover: got %d, want 0", late)
	}
}

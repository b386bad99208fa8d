//go:build linux

package e2e

import (
	"context"
	"fmt"
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

// Each fault that the rounds found has a test of its own.

// PostgreSQL ends a transaction whose node was frozen in it. When the node wakes, it
// reports that the database is unavailable, not a fault of its own: its clients are
// told to retry.
func TestChaosFoundATransactionThatWasEndedIsAnOutage(t *testing.T) {
	t.Parallel()
	url := pgtest.New(t)
	s := newSite(t, url+"&application_name=frozen")
	n := s.serve("--roles", "api")
	db := must[*pgx.Conn](t)(pgx.Connect(t.Context(), url))
	t.Cleanup(func() { _ = db.Close(context.Background()) })
	n.shellTask("work", "true")

	asked, stop := context.WithCancel(t.Context())
	answers := make(chan error, 1)
	go func() {
		for asked.Err() == nil {
			if _, err := n.api.Enqueue(asked, []job.NewJob{{Task: "work"}}); err != nil && asked.Err() == nil {
				answers <- err
				return
			}
		}
		close(answers)
	}()
	const idle = `select count(*) from pg_stat_activity where application_name = 'frozen' and state = 'idle in transaction' and backend_xid is not null`
	count := func() (n int) {
		if err := db.QueryRow(t.Context(), idle).Scan(&n); err != nil {
			t.Fatal(err)
		}
		return n
	}
	defer stop()
	for range 5 { // the frozen transaction may be one of the node's own
		eventually(t, patience, "the node is frozen in a transaction that writes", func() (bool, string) {
			n.signal(syscall.SIGSTOP)
			for range 5 { // lets the statements of the backends end
				if count() > 0 {
					return true, ""
				}
			}
			n.signal(syscall.SIGCONT)
			return false, "not caught yet"
		})
		eventually(t, patience, "PostgreSQL has ended the transaction", func() (bool, string) { return count() == 0, "" })
		n.signal(syscall.SIGCONT)
		select {
		case err := <-answers:
			if !away(err) {
				t.Errorf("error of the client: got %s: %v", core.CodeOf(err), err)
			}
			return
		case <-time.After(5 * time.Second):
		}
	}
	t.Error("errors of clients: got none, want one")
}

// A server that lost its caches in a crash writes them again for the first
// connection. If the disk is full, it refuses the connection, with a code that
// elsewhere means a fault of the server.
func TestChaosFoundAServerThatCannotTakeAConnectionIsAnOutage(t *testing.T) {
	t.Parallel()
	c := beforeAStep(t, "postgres", sessionTTL)
	if why := c.without["full disk"]; why != "" {
		t.Log(why)
		return
	}
	fullDisk{}.Begin(c)
	(&backends{kill: true}).Begin(c)
	refused := func() bool { return strings.Contains(c.server.Log(), "could not write init file") }
	eventually(t, patience, "PostgreSQL takes no connection", func() (bool, string) {
		_, err := c.places[0].api.Enqueue(t.Context(), []job.NewJob{{Task: "quick"}})
		if err != nil && !away(err) {
			t.Errorf("error of a client: got %s: %v", core.CodeOf(err), err)
		}
		return err != nil && refused(), fmt.Sprint(err)
	})
	for _, why := range c.errorsLogged() {
		t.Error(why)
	}
	fullDisk{}.Heal(c)
	c.recovers()
}

// A delay stays a delay: when the deciding clock is set back, a waiting job does
// not wait until its old due time.
func TestChaosFoundAClockThatIsSetBackStallsNothing(t *testing.T) {
	t.Parallel()
	for _, database := range []string{"sqlite", "postgres"} {
		t.Run(database, func(t *testing.T) {
			t.Parallel()
			if c := beforeAStep(t, database, usualTTL); c != nil {
				waiting := c.someWaiting()
				c.setClock(-time.Hour)
				c.goesOn(waiting)
			}
		})
	}
}

// The same holds when the clock is set back while no node runs, as happens at every
// start of a machine without a battery for its clock.
func TestChaosFoundAClockThatIsSetBackBetweenTwoStartsStallsNothing(t *testing.T) {
	t.Parallel()
	if c := beforeAStep(t, "sqlite", usualTTL); c != nil {
		waiting := c.someWaiting()
		c.kill(c.places[0])
		c.setClock(-time.Hour)
		c.ensure()
		c.goesOn(waiting)
	}
}

// beforeAStep starts one node with a clock that can be set. A short run has none on
// SQLite.
func beforeAStep(t *testing.T, database string, ttl time.Duration) *chaos {
	o := setting{database, 1, fewRounds}
	fromEnv(t, "BELFRY_E2E_ROUNDS", func(n int64) { o.rounds = int(n) })
	if database == "sqlite" && !o.long() {
		t.Log("left to make chaos, because it takes a build of its own; engine and store test the same")
		return nil
	}
	c := newChaos(t, o)
	c.places, c.ttl = c.places[:1], ttl
	c.begin()
	c.load.end()
	c.recovers()
	return c
}

// someWaiting returns a job that is about to be retried, and a running job.
func (c *chaos) someWaiting() (ids []int64) {
	c.t.Helper()
	api := c.places[0].api
	late := task.Task{
		Name: "late", Command: &task.Command{Shell: `[ "$BELFRY_ATTEMPT" -gt 1 ]`},
		Retry: task.Retry{MaxAttempts: 5, Delay: core.Duration(3 * time.Second), Backoff: task.BackoffFixed},
	}
	if _, err := api.CreateTask(c.t.Context(), late); err != nil && core.CodeOf(err) != core.Conflict {
		c.t.Fatal(err)
	}
	for _, want := range []struct {
		task  string
		state job.State
	}{{"late", job.Scheduled}, {"long", job.Running}} {
		id := must[[]job.Enqueued](c.t)(api.Enqueue(c.t.Context(), []job.NewJob{{Task: want.task}}))[0].Job.ID
		eventually(c.t, patience, "the job is "+string(want.state), func() (bool, string) {
			j, err := api.Job(c.t.Context(), "default", id)
			return err == nil && j.State == want.state, fmt.Sprint(j.State, err)
		})
		ids = append(ids, id)
	}
	return ids
}

// goesOn fails unless every delay ends soon.
func (c *chaos) goesOn(waiting []int64) {
	c.t.Helper()
	api := c.places[0].api
	for _, id := range waiting {
		c.done(id)
	}
	for _, name := range loops {
		before := must[schedule.Schedule](c.t)(api.Schedule(c.t.Context(), "default", name))
		// A session of a second is lost several times before a busy machine renews one in time.
		eventually(c.t, 10*patience, name+", which counts from the finish, goes on", func() (bool, string) {
			now, err := api.Schedule(c.t.Context(), "default", name)
			return err == nil && now.Runs >= before.Runs+3, fmt.Sprintf("%d runs, then %d, next %s, %v", before.Runs, now.Runs, now.NextAt, err)
		})
	}
}

// Leases use the deciding clock. When it is set forward, a live worker that renews
// keeps its jobs, since no such time has passed.
func TestChaosFoundAClockThatIsSetForwardTakesNoJobFromALiveWorker(t *testing.T) {
	t.Parallel()
	for _, database := range []string{"sqlite", "postgres"} {
		t.Run(database, func(t *testing.T) {
			t.Parallel()
			c := beforeAStep(t, database, usualTTL)
			if c == nil {
				return
			}
			api := c.places[0].api
			for i := range 3 {
				held := c.someWaiting()[1] // the running job
				c.setClock(c.off + time.Hour)
				c.done(held)
				as := must[[]job.Attempt](t)(api.Attempts(t.Context(), "default", held))
				if got := fmt.Sprint(outcomes(as)); got != "[ok]" {
					t.Errorf("step %d: attempts %s", i, got)
				}
			}
		})
	}
}

func (c *chaos) done(id int64) {
	c.t.Helper()
	eventually(c.t, 2*patience, "the job is done", func() (bool, string) {
		j, err := c.places[0].api.Job(c.t.Context(), "default", id)
		return err == nil && j.State == job.Succeeded, fmt.Sprintf("%s is %s, due %s, %v", j.Task, j.State, j.DueAt, err)
	})
}

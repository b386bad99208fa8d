//go:build linux

package e2e

import (
	"fmt"
	"os"
	"slices"
	"strconv"
	"testing"
	"time"

	"github.com/belfry-run/belfry/job"
	"github.com/belfry-run/belfry/schedule"
)

// fewRounds is the number of rounds in the usual run of all tests.
const fewRounds = 2

// Faults of every kind occur under load, in an order that follows from a seed.
// Handlers record what they do, and in the end Belfry's record must agree with them.
func TestChaos(t *testing.T) {
	t.Parallel()
	rounds, seed := fewRounds, time.Now().UnixNano()
	fromEnv(t, "BELFRY_E2E_ROUNDS", func(n int64) { rounds = int(n) })
	fromEnv(t, "BELFRY_E2E_SEED", func(n int64) { seed = n })
	t.Logf("the same choices again: BELFRY_E2E_ROUNDS=%d BELFRY_E2E_SEED=%d go test -count=1 -v -timeout 60m -run '^TestChaos$' ./internal/e2e", rounds, seed)
	for _, database := range []string{"sqlite", "postgres"} {
		t.Run(database, func(t *testing.T) {
			t.Parallel()
			c := newChaos(t, setting{database, seed, rounds})
			plan := c.plan(rounds)
			c.begin()
			for i, e := range plan {
				c.round(i, e)
			}
			c.end()
			c.check()
		})
	}
}

func fromEnv(t *testing.T, name string, set func(int64)) {
	t.Helper()
	text := os.Getenv(name)
	if text == "" {
		return
	}
	n, err := strconv.ParseInt(text, 10, 64)
	if err != nil {
		t.Fatalf("%s is not a number: %q", name, text)
	}
	set(n)
}

// round lets the nodes work for a moment, begins faults, heals them, the last one
// first, and waits for the recovery.
func (c *chaos) round(i int, e event) {
	c.t.Helper()
	c.t.Logf("round %d on %d nodes: %s", i, len(c.places), e)
	<-time.After(500*time.Millisecond + some(c.random, time.Second))
	for _, f := range e.faults {
		f.Begin(c)
	}
	<-time.After(e.lasts)
	for _, f := range slices.Backward(e.faults) {
		f.Heal(c)
	}
	healed := time.Now()
	c.ensure()
	c.recovers()
	c.t.Logf("round %d recovered in %s", i, time.Since(healed).Round(100*time.Millisecond))
}

// recovers waits until every node is ready and completes a new job, and every
// schedule continues.
func (c *chaos) recovers() {
	c.t.Helper()
	for _, n := range c.places {
		readyWithin(c.t, "http://"+n.address, patience, 200)
		var made []job.Enqueued
		eventually(c.t, patience, n.id+" takes a job", func() (bool, string) {
			var err error
			made, err = c.recording(n).Enqueue(c.t.Context(), []job.NewJob{{Task: "quick", Priority: new(100)}})
			return err == nil, fmt.Sprint(err)
		})
		eventually(c.t, patience, n.id+" sees a job done", func() (bool, string) {
			j, err := c.recording(n).Job(c.t.Context(), "default", made[0].Job.ID)
			return err == nil && j.State == job.Succeeded, fmt.Sprintf("%s %v", j.State, err)
		})
	}
	api := c.places[0].api
	for _, name := range loops {
		before := must[schedule.Schedule](c.t)(api.Schedule(c.t.Context(), "default", name))
		eventually(c.t, 10*patience, name+", which counts from the finish, goes on", func() (bool, string) {
			now, err := api.Schedule(c.t.Context(), "default", name)
			return err == nil && now.Runs > before.Runs, fmt.Sprintf("%d runs, then %d, next %s, finish %s, %v", before.Runs, now.Runs, now.NextAt, now.FinishAt, err)
		})
	}
	for name := range grid {
		eventually(c.t, patience, name+" keeps to its plan", func() (bool, string) {
			s, err := api.Schedule(c.t.Context(), "default", name)
			late := time.Now().Add(c.off).Sub(s.NextAt)
			return err == nil && (s.State != schedule.Active || late.Abs() < 4*time.Second), fmt.Sprintf("%s is %s, next %s, late by %s, %v", name, s.State, s.NextAt, late, err)
		})
	}
}

// end stops the load and waits until all jobs have ended.
func (c *chaos) end() {
	c.t.Helper()
	c.load.end()
	c.marks.Wait()
	api := c.recording(c.places[0])
	must[job.Queue](c.t)(api.ResumeQueue(c.t.Context(), narrow))
	for name := range grid {
		must[schedule.Schedule](c.t)(api.PauseSchedule(c.t.Context(), "default", name, "the end"))
	}
	for _, name := range loops {
		must[schedule.Schedule](c.t)(api.PauseSchedule(c.t.Context(), "default", name, "the end"))
	}
	live := []job.State{job.Waiting, job.Scheduled, job.Ready, job.Running}
	for left := c.left(live); len(left) > 0; { // a backlog may take long, but it must shrink
		eventually(c.t, patience, "fewer jobs are left", func() (bool, string) {
			now := c.left(live)
			fewer := len(now) < len(left)
			left = now
			return fewer, c.why(now)
		})
	}
	for _, n := range c.places {
		c.collect(n)
	}
}

func (c *chaos) left(live []job.State) []job.Job {
	c.t.Helper()
	return allJobs(c.t, c.places[0].api, job.Filter{States: live})
}

// why returns the reasons why the first jobs have not ended.
func (c *chaos) why(left []job.Job) (text string) {
	for _, j := range left[:min(len(left), 20)] {
		w, err := c.places[0].api.Why(c.t.Context(), "default", j.ID)
		text += fmt.Sprintf("job %d of %s is %s, due %s: %s %v\n", j.ID, j.Task, j.State, j.DueAt, w.Summary, err)
	}
	return fmt.Sprintf("%d are left\n", len(left)) + text
}

//go:build linux || darwin

package e2e

import (
	"context"
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strconv"
	"sync"
	"testing"
	"time"

	"github.com/belfry-run/belfry"
	"github.com/belfry-run/belfry/httpapi"
)

// Nodes are killed with kill -9 at random moments under load and started
// again, over and over. Commands write down when they start and end, and
// afterwards the record must agree with them.
func TestKilledAtRandomMomentsUnderLoad(t *testing.T) {
	rounds, seed := 4, time.Now().UnixNano()
	if testing.Short() {
		rounds = 2
	}
	fromEnv(t, "BELFRY_E2E_ROUNDS", func(n int64) { rounds = int(n) })
	fromEnv(t, "BELFRY_E2E_SEED", func(n int64) { seed = n })
	t.Logf("%d rounds; the same choices again: BELFRY_E2E_ROUNDS=%d BELFRY_E2E_SEED=%d", rounds, rounds, seed)
	onEach(t, func(t *testing.T, s *site) {
		c := newChaos(t, s, uint64(seed))
		c.begin()
		for range rounds {
			c.round()
		}
		c.end()
		c.check()
	})
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

// grid is the schedules with a plan, and the distance of their nominal times.
var grid = map[string]time.Duration{
	"tick": time.Second, "tock": time.Second, "slow": time.Second, "flaky": 2 * time.Second,
}

// noteDown is what every command does. One write to a file opened for
// appending is one line, whoever else writes.
const noteDown = `
	note() { printf '%s %s %s %s %s %s\n' "$1" "$BELFRY_TASK" "$BELFRY_JOB_ID" "$BELFRY_ATTEMPT" "$BELFRY_LEASE" "${BELFRY_NOMINAL_TIME:--}" >> "$HISTORY"; }
	note start
	sleep "$SECONDS_TO_RUN"
	if [ "$BELFRY_TASK" = flaky ] && [ "$BELFRY_ATTEMPT" -lt 3 ]; then note error; exit 1; fi
	note end
`

// definitions cover every way in which a run may meet another and a missed
// run be made up for.
func definitions(history string) belfry.Manifest {
	task := func(name, seconds string) belfry.Task {
		return belfry.Task{
			Name: name, Timeout: belfry.Duration(20 * time.Second),
			Retry:   belfry.Retry{MaxAttempts: 90, Delay: belfry.Duration(100 * time.Millisecond), Backoff: belfry.BackoffFixed},
			Command: &belfry.Command{Shell: noteDown, Env: map[string]string{"SECONDS_TO_RUN": seconds, "HISTORY": history}},
		}
	}
	cron := []belfry.Rule{{Cron: "* * * * * *"}}
	every := func(d time.Duration) []belfry.Rule { return []belfry.Rule{{Every: belfry.Duration(d)}} }
	finish := []belfry.Rule{{Every: belfry.Duration(time.Second), Anchor: belfry.AnchorFinish}}
	return belfry.Manifest{
		Tasks: []belfry.Task{task("quick", "0"), task("middling", "0.3"), task("long", "1.4"), task("flaky", "0")},
		Schedules: []belfry.Schedule{
			{Name: "tick", Task: "quick", Rules: cron, Overlap: belfry.OverlapAllow, Catchup: belfry.CatchupLatest},
			{Name: "tock", Task: "middling", Rules: every(time.Second), Overlap: belfry.OverlapBufferAll, Catchup: belfry.CatchupAll},
			{Name: "slow", Task: "long", Rules: every(time.Second), Overlap: belfry.OverlapSkip, Catchup: belfry.CatchupAll},
			{Name: "flaky", Task: "flaky", Rules: every(2 * time.Second), Overlap: belfry.OverlapAllow, Catchup: belfry.CatchupNone},
			{Name: "loop", Task: "quick", Rules: finish},
		},
	}
}

// chaos is one history under way.
type chaos struct {
	t       *testing.T
	site    *site
	random  *rand.Rand
	seed    uint64
	history string
	nodes   []*chaosNode

	pumping   context.CancelFunc
	pumps     sync.WaitGroup
	mu        sync.Mutex
	acked     map[string]int64 // what a client was told: key -> job
	refused   []string         // answers to clients that should not be
	byCommand int
}

// chaosNode is a place for a node, with an address that stays.
type chaosNode struct {
	*process
	address string
	api     *httpapi.Client
}

func newChaos(t *testing.T, s *site, seed uint64) *chaos {
	c := &chaos{
		t: t, site: s, seed: seed, random: rand.New(rand.NewPCG(seed, 1)),
		history: filepath.Join(s.dir, "history"), acked: map[string]int64{},
	}
	for range map[bool]int{false: 1, true: 2}[s.postgres()] {
		c.nodes = append(c.nodes, &chaosNode{address: freePort(t)})
	}
	return c
}

// launch starts a node and does not wait for it.
func (c *chaos) launch(n *chaosNode) {
	c.t.Helper()
	n.process = c.site.launchServe("--listen", n.address, "--allow-commands", "--session-ttl", "1s", "--grace", "5s", "--queues", "default=6")
}

func (c *chaos) ready(n *chaosNode) {
	c.t.Helper()
	n.says(n.stdout, patience, `^Next, in another terminal: `)
}

func (c *chaos) begin() {
	for _, n := range c.nodes {
		c.launch(n)
		c.ready(n)
		n.api = c.site.client("http://" + n.address)
	}
	c.site.server = "http://" + c.nodes[0].address

	text, err := json.Marshal(definitions(c.history))
	if err != nil {
		c.t.Fatal(err)
	}
	c.site.run("apply", "-f", c.site.write("chaos.json", string(text)))
	ctx, stop := context.WithCancel(c.t.Context())
	c.pumping = stop
	c.t.Cleanup(func() {
		stop()
		c.pumps.Wait()
	})
	c.pumps.Go(func() { c.pump(ctx, rand.New(rand.NewPCG(c.seed, 2))) })
}

// some is a random part of a span.
func some(r *rand.Rand, d time.Duration) time.Duration { return time.Duration(r.Int64N(int64(d))) }

// pump asks for jobs, each under a key, and does not let go of one before
// some node has acknowledged it.
func (c *chaos) pump(ctx context.Context, random *rand.Rand) {
	tick := time.NewTicker(80 * time.Millisecond)
	defer tick.Stop()
	for i := 0; ctx.Err() == nil; i++ {
		key := fmt.Sprintf("key-%d", i)
		j := belfry.NewJob{Task: []string{"quick", "middling", "flaky"}[random.IntN(3)], Key: key}
		if random.IntN(4) == 0 {
			j.Delay = belfry.Duration(some(random, 2*time.Second))
		}
		for ctx.Err() == nil && !c.ask(ctx, c.nodes[random.IntN(len(c.nodes))].api, j) {
			<-tick.C
		}
		<-tick.C
	}
}

// ask reports whether the job was acknowledged.
func (c *chaos) ask(ctx context.Context, api *httpapi.Client, j belfry.NewJob) bool {
	ctx, stop := context.WithTimeout(ctx, 5*time.Second)
	defer stop()
	made, err := api.Enqueue(ctx, []belfry.NewJob{j})
	if err != nil {
		if code := belfry.CodeOf(err); code != belfry.Unavailable && ctx.Err() == nil {
			c.mu.Lock()
			defer c.mu.Unlock()
			c.refused = append(c.refused, fmt.Sprintf("%s: %v", code, err))
		}
		return false
	}
	c.acknowledge(j.Key, made[0].Job.ID)
	return true
}

func (c *chaos) acknowledge(key string, id int64) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.acked[key] = id
}

// round lets the nodes work for a moment, asks for a job on the command line,
// kills one or all of them, and starts them again.
func (c *chaos) round() {
	c.t.Helper()
	c.site.server = "http://" + c.nodes[c.random.IntN(len(c.nodes))].address
	key := fmt.Sprintf("command-%d", c.byCommand)
	c.byCommand++
	enqueue := launch(c.site.t, "enqueue", c.site.dir, c.site.environ(),
		[]string{belfryPath(), "job", "enqueue", "quick", "--key", key, "-o", "json"}, "")
	<-time.After(200*time.Millisecond + some(c.random, 2*time.Second))

	victims := c.nodes
	if c.random.IntN(3) > 0 {
		one := c.random.IntN(len(c.nodes))
		victims = c.nodes[one : one+1]
	}
	for _, n := range victims {
		n.kill()
	}
	if c.random.IntN(3) == 0 { // once more, in the middle of its start
		for _, n := range victims {
			c.launch(n)
		}
		<-time.After(some(c.random, 150*time.Millisecond))
		for _, n := range victims {
			n.kill()
		}
	}
	if len(victims) == len(c.nodes) && c.random.IntN(3) == 0 { // long enough to miss some times
		<-time.After(2500 * time.Millisecond)
	}
	for _, n := range victims {
		c.launch(n)
	}
	for _, n := range victims {
		c.ready(n)
	}
	if code := enqueue.ended(patience); code == 0 {
		made := as[belfry.Enqueued](result{c.site.t, "job enqueue", code, enqueue.stdout.String(), enqueue.stderr.String()})
		c.acknowledge(key, made.Job.ID)
	} else if code != 6 && code != 1 { // the node was killed while it was asked, or before
		c.refused = append(c.refused, fmt.Sprintf("exit code %d: %s", code, enqueue.stderr))
	}
}

// end lets the dust settle: nothing new is asked for, and what there is ends.
func (c *chaos) end() {
	c.t.Helper()
	api := c.nodes[0].api
	loop := must[belfry.Schedule](c.t)(api.Schedule(c.t.Context(), "default", "loop"))
	eventually(c.t, patience, "the loop that counts from the finish is alive", func() (bool, string) {
		now, err := api.Schedule(c.t.Context(), "default", "loop")
		return err == nil && now.Runs >= loop.Runs+2, fmt.Sprintf("%d runs, then %d, next %s, %v", loop.Runs, now.Runs, now.NextAt, err)
	})
	c.pumping()
	c.pumps.Wait()
	for name := range grid {
		must[belfry.Schedule](c.t)(api.PauseSchedule(c.t.Context(), "default", name, "the end"))
	}
	must[belfry.Schedule](c.t)(api.PauseSchedule(c.t.Context(), "default", "loop", "the end"))
	live := []belfry.JobState{belfry.JobWaiting, belfry.JobScheduled, belfry.JobReady, belfry.JobRunning}
	eventually(c.t, 2*patience, "every job has ended", func() (bool, string) {
		left := allJobs(c.t, api, belfry.JobFilter{States: live})
		why := ""
		for _, j := range left {
			w, err := api.Why(c.t.Context(), "default", j.ID)
			why += fmt.Sprintf("job %d of %s is %s: %s %v\n", j.ID, j.Task, j.State, w.Summary, err)
		}
		return len(left) == 0, why
	})
}

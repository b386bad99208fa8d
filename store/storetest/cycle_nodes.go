package storetest

import (
	"context"
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/belfry-run/belfry/core"
	"github.com/belfry-run/belfry/cycle"
	"github.com/belfry-run/belfry/job"
	"github.com/belfry-run/belfry/schedule"
	"github.com/belfry-run/belfry/store"
	"github.com/belfry-run/belfry/task"
	"github.com/belfry-run/belfry/view"
)

// cycleCluster has several cycles over the same members, on several nodes.
type cycleCluster struct {
	*bench
	nodes    []*store.Store
	sessions []job.Session
	cycles   []string
	every    map[string]time.Duration

	mu    sync.Mutex
	now   map[string]int64 // the running job of each member
	wrong []string
}

var memberNames = []string{"a", "b", "c", "d", "e"}

// eachNode is the number of goroutines on each node.
const eachNode = 3

func newCycleCluster(b *bench, nodes []*store.Store) *cycleCluster {
	b.Helper()
	c := &cycleCluster{bench: b, nodes: nodes, now: map[string]int64{}, every: map[string]time.Duration{"b": time.Hour, "d": 3 * time.Hour}}
	for _, name := range memberNames {
		b.task(name, func(t *task.Task) { t.Retry.MaxAttempts = 2 })
	}
	members := func(names ...string) *task.Cycle {
		cy := &task.Cycle{}
		for i, n := range names {
			m := task.Member{Task: n, Every: core.Duration(c.every[n])}
			if i%3 == 1 {
				m.OnFailure = task.FailureStop
			}
			cy.Members = append(cy.Members, m)
		}
		return cy
	}
	for _, d := range []struct {
		name    string
		members []string
	}{
		{"up", memberNames}, {"down", []string{"e", "d", "c", "b", "a"}}, {"odd", []string{"c", "a", "e"}}, {"even", []string{"d", "b"}},
		{"again", memberNames}, {"outer", []string{"b", "odd", "a"}}, {"over", []string{"even", "odd"}},
	} {
		must(b.st.CreateTask(b.ctx, task.Task{Name: d.name, Cycle: members(d.members...)}))(b)
		c.cycles = append(c.cycles, d.name)
	}
	for range eachNode * len(nodes) {
		c.sessions = append(c.sessions, must(b.st.OpenSession(b.ctx, job.WorkerInfo{
			Name: "tester", Kinds: []task.Kind{task.KindFunc}, Funcs: memberNames, Queues: map[string]int{"default": 10}, TTL: job.MaxSessionTTL,
		}))(b))
	}
	return c
}

// recordStart records that a member runs, and whether it was running already.
func (c *cycleCluster) recordStart(j job.Job) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if other := c.now[j.Task]; other != 0 {
		c.wrong = append(c.wrong, fmt.Sprintf("member %s runs as job %d and as job %d", j.Task, other, j.ID))
	}
	c.now[j.Task] = j.ID
}

func (c *cycleCluster) recordEnd(j job.Job) {
	c.mu.Lock()
	defer c.mu.Unlock()
	delete(c.now, j.Task)
}

// work claims the jobs at a node and settles each of them twice at once.
func (c *cycleCluster) work(ctx context.Context, st *store.Store, i int, r *rand.Rand) error {
	session := c.sessions[i].ID
	got, err := st.Claim(ctx, job.ClaimRequest{Session: session, Want: map[string]int{"default": 2}})
	if err != nil {
		return err
	}
	for _, j := range got.Jobs {
		c.recordStart(j.Job)
	}
	var fs []job.Finish
	for _, j := range got.Jobs {
		f := job.Finish{Ref: refOf(j), Outcome: job.OutcomeOK}
		switch r.IntN(6) {
		case 0:
			f.Outcome, f.Error = job.OutcomeError, "it broke"
		case 1:
			f.Outcome, f.Error, f.NoRetry = job.OutcomeError, "it broke for good", true
		}
		fs = append(fs, f)
		c.recordEnd(j.Job)
	}
	if len(fs) == 0 {
		return nil
	}
	other := c.nodes[(i+1)%len(c.nodes)]
	var errs [2]error
	late := 0
	var answers [2][]job.Finished
	together(2, func(k int) { answers[k], errs[k] = []*store.Store{st, other}[k].Finish(ctx, session, fs) })
	for k := range fs {
		if answers[0] != nil && answers[1] != nil && answers[0][k].Stale && answers[1][k].Stale {
			late++
		}
	}
	if late > 0 {
		return fmt.Errorf("%d jobs were settled by no finish", late)
	}
	return errs[max(0, slices.IndexFunc(errs[:], func(err error) bool { return err != nil }))]
}

// runNodes makes all nodes work at the same time, and then moves the clock.
func (c *cycleCluster) runNodes(seed uint64, meddle func(ctx context.Context, st *store.Store, i int, r *rand.Rand) error) {
	c.Helper()
	c.crowd(c.nodes, eachNode, func(ctx context.Context, st *store.Store, i int) error {
		r := rand.New(rand.NewPCG(seed, uint64(i)))
		if meddle != nil && i < 2 {
			if err := meddle(ctx, st, i, r); err != nil {
				return err
			}
		}
		if i%eachNode == 0 {
			if _, err := st.StartCycles(ctx); err != nil {
				return err
			}
			_, err := st.Promote(ctx)
			return err
		}
		return c.work(ctx, st, i, r)
	})
	c.clock.Move(5 * time.Second)
	for _, why := range c.wrong {
		c.Fatalf("cycles on several nodes: %v", why)
	}
}

// runToEnd continues until every cycle has ended.
func (c *cycleCluster) runToEnd(seed uint64) {
	c.Helper()
	for i := range uint64(400) {
		if c.count(`select count(*) from belfry.jobs`) == 0 {
			want(c, "progress of cycles that ended", c.count(`select count(*) from belfry.cycle_runs`), 0)
			want(c, "members still marked as running", c.count(`select count(*) from belfry.member_timing where running_job > 0`), 0)
			return
		}
		c.runNodes(seed+i, nil)
	}
	for _, j := range must(c.st.Jobs(c.ctx, job.Filter{States: []job.State{job.Waiting, job.Ready, job.Scheduled, job.Running}}))(c).Items {
		c.Logf("job %d of %s is %s: %s", j.ID, j.Task, j.State, j.Note)
	}
	for _, name := range c.cycles {
		if run := must(c.st.CycleStatus(c.ctx, "default", name))(c).Run; run != nil {
			c.Logf("%s: job %d, current %s, member job %d, waits for %d, %d results", name, run.JobID, run.Current, run.MemberJob, run.WaitsFor, len(run.Results))
		}
	}
	c.Fatal("cycles run without end")
}

// checkRuns checks the result of every cycle: complete, in order, each step once.
func (c *cycleCluster) checkRuns() (ended int) {
	c.Helper()
	steps := map[int64]string{}
	starts := map[string][]time.Time{}
	for _, name := range c.cycles {
		for _, j := range must(c.st.Jobs(c.ctx, job.Filter{Task: name, Paging: core.Paging{Limit: 1000}}))(c).Items {
			if !j.State.Final() {
				c.Fatalf("job %[2]d of cycle %[1]s: got state %[3]s, want an end", name, j.ID, j.State)
			}
			output := c.job(j.ID).Output
			if len(output) == 0 {
				continue // canceled, or withdrawn before it began
			}
			ended++
			var out cycle.Output
			ok(c, json.Unmarshal(output, &out))
			seen := map[string]bool{}
			for _, m := range out.Members {
				if seen[m.Task] {
					c.Fatalf("job %[2]d of cycle %[1]s: got member %[3]s twice, want once", name, j.ID, m.Task)
				}
				seen[m.Task] = true
				if m.JobID == 0 {
					continue
				}
				if by := steps[m.JobID]; by != "" {
					c.Fatalf("job %d is a step of %s and of %s, job %d", m.JobID, by, name, j.ID)
				}
				steps[m.JobID] = name
				if m.State == cycle.MemberOK {
					starts[m.Task] = append(starts[m.Task], m.StartedAt)
				}
			}
			if n := out.OK + out.Failed + out.Skipped; n != len(out.Members) {
				c.Fatalf("job %[2]d of cycle %[1]s: got %[3]d counted members, want %[4]d", name, j.ID, n, len(out.Members))
			}
		}
	}
	for t, every := range c.every {
		list := starts[t]
		slices.SortFunc(list, time.Time.Compare)
		least := every - task.Member{Every: core.Duration(every)}.Slack().D()
		for i := 1; i < len(list); i++ {
			if gap := list[i].Sub(list[i-1]); gap < least {
				c.Fatalf("task %s ran twice within %s, want at least %s between its runs: at %s and at %s", t, gap, least, list[i-1], list[i])
			}
		}
	}
	want(c, "attempts recorded", c.count(`select count(*) from belfry.attempts`), c.count(`select count(*) from (select distinct job_id, lease from belfry.attempts) as d`))
	return ended
}

func init() {
	addNodes("cycles that share members, started and settled at the same moment, double no step, lose none and all end", caseCyclesThatShareMembers)
	addNodes("cycles end under cancels, skips, pauses, edits, resets and retries at the same moment", caseCyclesEndWhoeverCancels)
}

func caseCyclesThatShareMembers(b *bench, nodes []*store.Store) {
	c := newCycleCluster(b, nodes)
	const rounds = 5
	for round := range uint64(rounds) {
		for _, name := range c.cycles {
			b.enqueue(job.NewJob{Task: name})
		}
		c.runToEnd(1000 * round)
		b.clock.Move(50 * time.Minute)
	}
	ended := c.checkRuns()
	want(b, "cycles that ended", int64(ended), b.count(`select count(*) from belfry.jobs_done where kind = 'cycle'`))
	for _, name := range c.cycles {
		members := must(b.st.Task(b.ctx, "default", name))(b).Cycle.Members
		for _, j := range must(b.st.Jobs(b.ctx, job.Filter{Task: name, Paging: core.Paging{Limit: 1000}}))(b).Items {
			var out cycle.Output
			ok(b, json.Unmarshal(b.job(j.ID).Output, &out))
			var got, wanted []string
			for _, m := range out.Members {
				got = append(got, m.Task)
			}
			for _, m := range members {
				wanted = append(wanted, m.Task)
			}
			want(b, "members of "+name, strings.Join(got, ","), strings.Join(wanted, ","))
		}
	}
	want(b, "steps", b.count(`select count(*) from belfry.jobs_done where trigger = 'cycle'`) > int64(2*rounds), true)
}

func caseCyclesEndWhoeverCancels(b *bench, nodes []*store.Store) {
	c := newCycleCluster(b, nodes)
	for i, o := range []schedule.Overlap{schedule.OverlapCancelOther, schedule.OverlapTerminateOther, schedule.OverlapBufferOne} {
		b.schedule(string(o), c.cycles[i], every(time.Minute), overlap(o))
	}
	b.schedule("loop", "outer", afterFinish(time.Minute))
	for seed := range uint64(60) {
		c.runNodes(seed, c.meddle)
	}
	for _, name := range []string{"cancel_other", "terminate_other", "buffer_one", "loop"} {
		must(b.st.PauseSchedule(b.ctx, "default", name, "the end"))(b)
	}
	must(b.st.ResumeQueue(b.ctx, "default"))(b)
	c.runToEnd(1 << 20)
	c.every = nil // a changed timing makes it run again
	if c.checkRuns() < 3 {
		b.Fatal("fewer than 3 cycles reached their end")
	}
}

// meddle does the actions of people and of other schedules.
func (c *cycleCluster) meddle(ctx context.Context, st *store.Store, i int, r *rand.Rand) error {
	name := c.cycles[r.IntN(len(c.cycles))]
	member := memberNames[r.IntN(len(memberNames))]
	if i == 0 {
		_, err := st.FireDue(ctx)
		return err
	}
	var err error
	switch r.IntN(9) {
	case 0:
		_, err = st.SkipMember(ctx, "default", name, member)
	case 1, 2:
		var p core.Page[job.Job]
		if p, err = st.Jobs(ctx, job.Filter{States: []job.State{job.Waiting, job.Ready, job.Running, job.Scheduled}}); err == nil && len(p.Items) > 0 {
			_, err = st.CancelJobs(ctx, "default", view.Selection{IDs: []int64{p.Items[r.IntN(len(p.Items))].ID}})
		}
	case 3:
		var t task.Task
		if t, err = st.Task(ctx, "default", name); err == nil {
			r.Shuffle(len(t.Cycle.Members), func(i, k int) {
				t.Cycle.Members[i], t.Cycle.Members[k] = t.Cycle.Members[k], t.Cycle.Members[i]
			})
			_, err = st.UpdateTask(ctx, t)
		}
	case 4:
		if _, err = st.PauseSchedule(ctx, "default", "loop", ""); err == nil {
			_, err = st.ResumeSchedule(ctx, "default", "loop", false)
		}
	case 5:
		if _, err = st.PauseQueue(ctx, "default", ""); err == nil {
			_, err = st.ResumeQueue(ctx, "default")
		}
	case 6:
		_, err = st.Enqueue(ctx, []job.NewJob{{Task: name}})
	case 7:
		_, err = st.ResetTiming(ctx, "default", name)
	case 8:
		f := job.Filter{Task: name}
		_, err = st.CancelJobs(ctx, "default", view.Selection{Filter: &f})
	}
	if r.IntN(4) == 0 && err == nil {
		f := job.Filter{Task: []string{name, member}[r.IntN(2)]}
		_, err = st.RetryJobs(ctx, "default", view.Selection{Filter: &f})
	}
	switch core.CodeOf(err) {
	case core.Conflict, core.NotFound: // another action was faster
		return nil
	}
	return err
}

package sim

import (
	"cmp"
	"context"
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"
	"time"
)

// fault is a fault of a node at an instant of the run.
type fault struct {
	at   time.Duration
	what string
	node int
	last time.Duration
}

// The faults. A crash is at an instant, or at the next transaction: before it, or after its commit and before its answer.
var faultNames = []string{"crash", "crash before", "crash after", "crash after", "cut", "lossy", "lossy", "slow", "full", "stop"}

// jobNames are the actions of users on jobs and schedules.
var jobNames = []string{"enqueue", "enqueue", "enqueue", "enqueue", "batch", "batch", "key", "active", "hang", "cancel", "retry", "trigger", "pause", "resume", "resume", "pause queue", "resume queue", "resume queue"}

// jobSteps draws the steps of a script with only these actions.
func jobSteps(seed uint64, length time.Duration) (steps []step) {
	r := rand.New(rand.NewPCG(seed, 16))
	for range int(length / (12 * time.Second)) {
		steps = append(steps, step{time.Duration(r.Int64N(int64(length))), jobNames[r.IntN(len(jobNames))], r.Uint64()})
	}
	return steps
}

// scriptOf draws a script.
func scriptOf(seed uint64, length time.Duration) script {
	r := rand.New(rand.NewPCG(seed, 0))
	s := script{seed: seed, length: length, nodes: 3, clock: r.IntN(5) == 0, plans: []int{0, 1, 2, 3, 4, 5, 6, 7}, prefetch: []int{-1, 0, 3}[r.IntN(3)]}
	at := func() time.Duration { return time.Duration(r.Int64N(int64(length))) }
	for range int(length / (12 * time.Second)) {
		s.steps = append(s.steps, step{at(), jobNames[r.IntN(len(jobNames))], r.Uint64()})
	}
	for range int(length/(4*time.Minute)) + 1 {
		f := fault{at(), faultNames[r.IntN(len(faultNames))], r.IntN(s.nodes), time.Second + time.Duration(r.Int64N(int64(2*time.Minute)))}
		s.faults = append(s.faults, f)
	}
	if s.clock {
		for range 2 {
			by := time.Duration(r.Int64N(int64(20*time.Minute))) - 10*time.Minute
			s.faults = append(s.faults, fault{at(), "clock", 0, by})
		}
	}
	if s.flow = seed%3 != 0; s.flow {
		s.steps = append(s.steps, flowSteps(seed, length)...)
	}
	if s.workflows = seed%3 != 1; s.workflows {
		s.steps = append(s.steps, workflowSteps(seed, length)...)
	}
	if s.durables = seed%3 != 2; s.durables {
		s.steps = append(s.steps, stepSteps(seed, length)...)
	}
	if s.windows = seed%4 < 2; s.windows {
		s.steps = append(s.steps, windowSteps(seed, length)...)
	}
	if s.hooks = seed%4 > 1; s.hooks {
		s.steps = append(s.steps, hookSteps(seed, length)...)
	}
	if s.ageing = seed%5 == 3; s.ageing {
		s.steps = append(s.steps, ageingSteps(seed, length)...)
	}
	if s.shared = seed%5 < 2; s.shared {
		s.steps = append(s.steps, sharedSteps(seed, length)...)
	}
	slices.SortFunc(s.steps, func(a, b step) int { return cmp.Compare(a.at, b.at) })
	slices.SortFunc(s.faults, func(a, b fault) int { return cmp.Compare(a.at, b.at) })
	return s
}

func (f fault) String() string {
	return fmt.Sprintf("%s %s at n%d for %s", f.at, f.what, f.node+1, f.last)
}
func (s step) String() string { return fmt.Sprintf("%s %s %#x", s.at, s.what, s.n) }

// play runs the script, lets the cluster recover, and stops it.
func (w *world) play(t *testing.T) {
	if err := w.found(); err != nil {
		t.Error(err)
		return
	}
	for i := range w.script.nodes {
		n := &node{world: w, name: fmt.Sprintf("n%d", i+1)}
		w.nodes = append(w.nodes, n)
	}
	for _, n := range w.nodes {
		time.Sleep(1234567 * time.Nanosecond)
		n.start()
	}
	for i, s := range w.script.steps {
		w.spawn(func() {
			time.Sleep(s.at - w.since())
			w.under.Add(1)
			defer w.under.Add(-1)
			w.do(i, s)
		})
	}
	for _, f := range w.script.faults {
		w.spawn(func() {
			time.Sleep(f.at - w.since())
			w.strike(f)
		})
	}
	for w.since() < w.script.length {
		time.Sleep(min(30*time.Second, w.script.length-w.since()))
		if w.plant != nil && w.isBroken() { // the planted fault is found
			w.over.Store(true)
			for _, n := range w.nodes {
				n.end()
			}
			return
		}
	}
	w.recover()
}

// strike makes a fault happen.
func (w *world) strike(f fault) {
	n := w.nodes[f.node]
	l := n.current()
	w.trace("fault: %s", f)
	until := w.since() + f.last
	switch f.what {
	case "cut":
		n.suffer(woe{until, trouble{cut: true}})
	case "lossy":
		n.suffer(woe{until, trouble{lossy: true}})
	case "slow":
		n.suffer(woe{until, trouble{slow: true}})
	case "full":
		n.suffer(woe{until, trouble{full: true}})
	case "clock":
		w.mu.Lock()
		w.off += f.last
		w.mu.Unlock()
	case "crash":
		if l != nil {
			l.kill()
		}
	case "crash before", "crash after":
		if l != nil {
			l.doomed.Lock()
			l.fate = map[string]fate{"crash before": beforeCommit, "crash after": afterCommit}[f.what]
			l.doomed.Unlock()
		}
	case "stop":
		if l != nil {
			l.stop()
		}
	}
	switch f.what {
	case "crash", "crash before", "crash after", "stop":
		time.Sleep(f.last)
		if l != nil {
			l.kill() // a stopped process has ended by then, or is killed as by a process manager
		}
		n.start()
	}
}

const (
	// settles is the longest time from the last fault until a cluster works normally.
	settles = 4 * time.Minute
	// drains is the longest time from then until all jobs have ended.
	drains = 20 * time.Minute
)

// recover ends all faults, checks that schedules go on, and lets all jobs end.
func (w *world) recover() {
	for _, n := range w.nodes {
		n.heal()
		if l := n.current(); l != nil {
			l.doomed.Lock()
			l.fate = livesOn
			l.doomed.Unlock()
		}
	}
	// The last calls of users have ended then, and no schedule is paused.
	time.Sleep(30 * time.Second)
	for _, f := range w.script.faults { // nodes that are down come back by then
		if f.what != "clock" {
			time.Sleep(max(0, f.at+f.last+10*time.Second-w.since()))
		}
	}
	w.calm.Store(true)
	w.trace("faults are over")
	ctx := label(context.Background(), "end")
	st := w.nodes[0].current().store
	for _, q := range w.queues() {
		if _, err := st.ResumeQueue(ctx, q); err != nil {
			w.broken(itself, "resume queue %s: %v", q, err)
		}
	}
	if w.script.hooks {
		w.resumeHooks(ctx, st.PauseHook)
	}
	calm := w.now()
	for ends := w.since() + settles; len(w.quietSchedules(calm)) > 0 && w.since() < ends; {
		time.Sleep(10 * time.Second)
	}
	w.checkSchedulesLive(calm)
	w.checkAllWoken()
	for _, sc := range w.plans() {
		if _, err := st.PauseSchedule(ctx, "default", sc.Name, "the end"); err != nil {
			w.broken(itself, "pause schedule %s: %v", sc.Name, err)
		}
	}
	for ends := w.since() + drains; (w.live() > 0 || w.undelivered() > 0 || w.under.Load() > 0) && w.since() < ends; {
		if time.Sleep(10 * time.Second); w.script.flow {
			w.resumeSequences(ctx, st)
		}
	}
	for _, n := range w.nodes {
		n.end()
	}
}

// live returns the number of jobs that have not ended.
func (w *world) live() int { return len(w.rows(`select id from belfry_jobs`)) }

package sim

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/belfry-run/belfry/core"
	"github.com/belfry-run/belfry/job"
	"github.com/belfry-run/belfry/schedule"
	"github.com/belfry-run/belfry/task"
	"github.com/belfry-run/belfry/view"
	"github.com/belfry-run/belfry/worker"
)

// taskNames are the handlers of every worker, named by their behaviour.
var taskNames = []string{"bulk", "deaf", "flaky", "limited", "m1", "m2", "m3", "once", "quick", "slow", "snoozer"}

// funcs returns all handlers of the workers.
func (w *world) funcs() []string {
	names := slices.Clone(taskNames)
	if w.script.flow {
		names = append(names, flowNames...)
	}
	if w.script.workflows {
		names = append(names, "part")
	}
	if w.script.durables {
		names = append(names, "child", "durable")
	}
	if w.script.windows {
		names = append(names, "booked", "calm", "narrow")
	}
	if w.script.ageing {
		names = append(names, "aged")
	}
	if w.script.shared {
		names = append(names, sharedTasks...)
	}
	return names
}

// queues returns all queues, whether a script pauses them or not.
func (w *world) queues() []string {
	names := []string{"default", "limited", "bulk"}
	if w.script.flow {
		names = append(names, "fair", "lanes")
	}
	if w.script.ageing {
		names = append(names, "aged")
	}
	if w.script.shared {
		names = append(names, "gated")
	}
	return names
}

// slots returns the slots of each worker, by queue.
func (w *world) slots() map[string]int {
	slots := map[string]int{"default": 4, "limited": 2, "bulk": 6}
	if w.script.flow {
		slots["fair"], slots["lanes"] = 2, 3
	}
	if w.script.windows {
		slots["narrow"] = 2
	}
	if w.script.ageing {
		slots["aged"] = 1
	}
	if w.script.shared {
		slots["gated"] = 2
	}
	return slots
}

func sortHeld(held []job.Holding) []job.Holding {
	slices.SortFunc(held, func(a, b job.Holding) int { return int(a.JobID - b.JobID) })
	return held
}

// hand runs handlers, and keeps the diary.
type hand struct{ *life }

// Execute runs a handler. Its behaviour follows from the seed, the job and the lease.
func (h *hand) Execute(ctx context.Context, r *worker.Run) job.Finish {
	w := h.node.world
	d := func(what string, n uint64) uint64 { return w.draw(what, uint64(r.Job.ID), uint64(r.Lease)) % n }
	takes := time.Millisecond + time.Duration(d("takes", uint64(400*time.Millisecond)))
	s := &stint{node: h.node.name, task: r.Job.Task, job: r.Job.ID, lease: r.Lease, schedule: r.Job.Schedule, queue: r.Job.Queue, planned: r.Job.Trigger == job.TriggerSchedule}
	w.known(s, r.Job)
	var err error
	switch r.Job.Task {
	case "keyed":
		takes += time.Duration(d("keyed", uint64(8*time.Second)))
	case "part":
		takes += time.Duration(d("some", uint64(5*time.Second)))
	case "aged", "narrow":
		takes += time.Duration(d("narrow", uint64(12*time.Second)))
	case "booked", "gated", "guest", "visitor", "laned", "line", "skipper", "stopper", "turn":
		takes += time.Duration(d("some", uint64(4*time.Second)))
	case "slow":
		takes += time.Duration(d("slow", uint64(100*time.Second)))
	case "child", "once", "m1", "m2", "limited":
		takes += time.Duration(d("some", uint64(15*time.Second)))
	case "deaf":
		takes += time.Duration(d("deaf", uint64(4*time.Second)))
		s.deaf = true
	}
	switch {
	case slices.Contains([]string{"flaky", "line", "skipper", "stopper"}, r.Job.Task) && d("fails", 3) == 0, d("any fails", 50) == 0:
		err = errors.New("out of luck")
	case r.Job.Task == "part" && (s.duty.hopeless() || d("fails", 10) == 0):
		err = errors.New("out of luck")
	case r.Job.Task == "child" && (lot(s.duty.Run, "child", 4) == 0 || d("fails", 6) == 0):
		err = errors.New("out of luck")
	case r.Job.Task == "snoozer" && r.Job.Snoozes < 2:
		err = worker.Snooze(time.Second + time.Duration(d("snoozes", uint64(time.Minute))))
	}
	w.startStint(s)
	if r.Job.Task == "durable" {
		f := h.takesSteps(ctx, r)
		if ctx.Err() != nil {
			_ = sleep(context.Background(), h.dead, time.Duration(d("reacts", uint64(time.Millisecond))))
		}
		if !w.endStint(s, f.Outcome == job.OutcomeOK) {
			f = job.Finish{Ref: r.Ref(), Outcome: job.OutcomeHandedBack}
		}
		return f
	}
	if s.deaf {
		_ = sleep(context.Background(), h.dead, takes)
	} else if cut := sleep(ctx, h.dead, takes); cut != nil {
		err = cut
		// Handlers that are told to end at the same time end one after the other.
		_ = sleep(context.Background(), h.dead, time.Duration(d("reacts", uint64(time.Millisecond))))
	}
	if !w.endStint(s, err == nil) { // its process was killed
		return job.Finish{Ref: r.Ref(), Outcome: job.OutcomeHandedBack}
	}
	switch {
	case err == nil:
		f := job.Finish{Ref: r.Ref(), Outcome: job.OutcomeOK}
		if s.task == "part" {
			f.Output = s.duty.output()
		}
		if s.task == "child" {
			f.Output = json.RawMessage(fmt.Sprintf(`{"of":%q,"lease":%d}`, s.duty.Run, r.Lease))
		}
		return f
	case strings.HasPrefix(err.Error(), "put off"):
		return job.Finish{Ref: r.Ref(), Outcome: job.OutcomeSnoozed, Snooze: core.Duration(time.Second + time.Duration(d("snoozes", uint64(time.Minute))))}
	}
	return job.Finish{Ref: r.Ref(), Outcome: job.OutcomeError, Error: err.Error()}
}

// step is an action of a user at an instant of the run.
type step struct {
	at   time.Duration
	what string
	n    uint64 // random number that selects its object
}

// script has all events of a run. It follows from a seed; the shrinker leaves parts out.
type script struct {
	seed      uint64
	length    time.Duration
	nodes     int
	prefetch  int
	clock     bool  // the clock may be set
	plans     []int // indexes of plans in use
	flow      bool  // it has limits, sequences and turns
	workflows bool
	durables  bool // it has jobs whose handlers take steps
	windows   bool // it has debounced tasks, quotas and bounds
	hooks     bool
	ageing    bool // it has a queue whose jobs age
	shared    bool // it has a namespace and a queue with limits
	steps     []step
	faults    []fault
}

// plans are the schedules of a world: each overlap and catch-up policy, planned and from the finish.
var plans = []schedule.Schedule{
	{Name: "skip", Task: "once", Rules: []schedule.Rule{{Every: core.Duration(20 * time.Second)}}, Overlap: schedule.OverlapSkip, Catchup: schedule.CatchupLatest},
	{Name: "one", Task: "slow", Rules: []schedule.Rule{{Cron: "* * * * *"}}, Overlap: schedule.OverlapBufferOne, Catchup: schedule.CatchupAll},
	{Name: "all", Task: "quick", Rules: []schedule.Rule{{Every: core.Duration(30 * time.Second)}}, Overlap: schedule.OverlapBufferAll, Catchup: schedule.CatchupAll},
	{Name: "cancel", Task: "slow", Rules: []schedule.Rule{{Every: core.Duration(70 * time.Second)}}, Overlap: schedule.OverlapCancelOther, Catchup: schedule.CatchupNone},
	{Name: "terminate", Task: "slow", Rules: []schedule.Rule{{Every: core.Duration(95 * time.Second)}}, Overlap: schedule.OverlapTerminateOther},
	{Name: "allow", Task: "flaky", Rules: []schedule.Rule{{Cron: "*/2 * * * *"}}, Overlap: schedule.OverlapAllow, Catchup: schedule.CatchupAll},
	{Name: "finish", Task: "quick", Rules: []schedule.Rule{{Every: core.Duration(25 * time.Second), Anchor: schedule.AnchorFinish}}},
	{Name: "cycle", Task: "round", Rules: []schedule.Rule{{Every: core.Duration(40 * time.Second)}}},
}

// plans returns the schedules of the script.
func (w *world) plans() (all []schedule.Schedule) {
	for _, i := range w.script.plans {
		all = append(all, plans[i])
	}
	return all
}

// found sets up tasks, queues and schedules before the first fault.
func (w *world) found() error {
	ctx := label(context.Background(), "found")
	st := w.file
	for _, q := range []job.Queue{{Name: "limited", Concurrency: 2, GlobalLimit: 3}, {Name: "bulk", Concurrency: 6}} {
		if _, err := st.SaveQueue(ctx, q); err != nil {
			return err
		}
	}
	retry := task.Retry{MaxAttempts: 4, Delay: core.Duration(2 * time.Second), MaxDelay: core.Duration(20 * time.Second)}
	for _, name := range taskNames {
		t := task.Task{Name: name, Kind: task.KindFunc, Retry: retry, Timeout: core.Duration(5 * time.Minute)}
		switch name {
		case "limited", "bulk":
			t.Queue = name
		case "once":
			t.Retry = task.Retry{MaxAttempts: 1, OnLost: task.OnLostFail}
		}
		if _, err := st.CreateTask(ctx, t); err != nil {
			return err
		}
	}
	if _, err := st.CreateTask(ctx, task.Task{Name: "round", Kind: task.KindCycle, Cycle: &task.Cycle{Members: []task.Member{{Task: "m1"}, {Task: "m2", Every: core.Duration(time.Minute)}, {Task: "m3"}}}}); err != nil {
		return err
	}
	for _, sc := range w.plans() {
		if _, err := st.CreateSchedule(ctx, sc); err != nil {
			return err
		}
	}
	if w.script.flow {
		if err := w.foundFlow(ctx); err != nil {
			return err
		}
	}
	if w.script.workflows {
		if err := w.foundWorkflows(ctx); err != nil {
			return err
		}
	}
	if w.script.durables {
		if err := w.foundSteps(ctx); err != nil {
			return err
		}
	}
	if w.script.windows {
		if err := w.foundWindows(ctx); err != nil {
			return err
		}
	}
	if w.script.hooks {
		if err := w.foundHooks(ctx); err != nil {
			return err
		}
	}
	if w.script.ageing {
		if err := w.foundAgeing(ctx); err != nil {
			return err
		}
	}
	if w.script.shared {
		return w.foundShared(ctx)
	}
	return nil
}

// do carries out a step of a user through a node that is up.
func (w *world) do(i int, s step) {
	l := w.someone(int(s.n >> 8 & 0xff))
	if l == nil {
		return
	}
	ctx, cancel := context.WithTimeout(context.Background(), patienceOf(s))
	defer cancel()
	ctx = label(ctx, fmt.Sprintf("user%d %s", i, s.what))
	err := w.ask(ctx, l, s)
	w.trace("user%d %s at %s: %s", i, s.what, l.node.name, verdict(err))
}

// patienceOf returns how long a user waits for an answer. Some give up at once.
func patienceOf(s step) time.Duration {
	if s.n%7 == 0 {
		return time.Duration(s.n>>16) % (600 * time.Microsecond)
	}
	return 20 * time.Second
}

func (w *world) ask(ctx context.Context, l *life, s step) (err error) {
	st, pick := l.store, int(s.n>>20)
	switch s.what {
	case "enqueue":
		name := []string{"quick", "quick", "flaky", "slow", "deaf", "snoozer", "limited", "once"}[pick%8]
		priority := pick % 3
		n := job.NewJob{Task: name, Priority: &priority}
		if pick%5 == 0 {
			n.Delay = core.Duration(time.Duration(pick%90) * time.Second)
		}
		return w.enqueue(ctx, st.Enqueue, n)
	case "batch":
		var ns []job.NewJob
		for k := range 2 + pick%14 {
			n := job.NewJob{Task: []string{"bulk", "quick", "limited"}[pick%3]}
			if pick%4 == 0 && k == 1 {
				n.Key = fmt.Sprintf("key%d", s.n%5)
				n.Task = "quick"
			}
			ns = append(ns, n)
		}
		return w.enqueue(ctx, st.Enqueue, ns...)
	case "key":
		return w.enqueue(ctx, st.Enqueue, job.NewJob{Task: "quick", Key: fmt.Sprintf("key%d", s.n%5)})
	case "active":
		return w.enqueue(ctx, st.Enqueue, job.NewJob{Task: "slow", ActiveKey: fmt.Sprintf("active%d", s.n%3)})
	case "cancel", "retry":
		ids := w.knownJobs()
		if len(ids) == 0 {
			return nil
		}
		sel := view.Selection{IDs: []int64{ids[len(ids)-1-pick%min(len(ids), 10)]}}
		if s.what == "cancel" {
			w.canceled(sel.IDs[0])
			_, err = st.CancelJobs(ctx, "default", sel)
		} else {
			w.bringsBack(sel.IDs[0])
			_, err = st.RetryJobs(ctx, "default", sel)
		}
		return err
	case "pause", "resume", "trigger":
		if len(w.script.plans) == 0 {
			return nil
		}
		name := plans[w.script.plans[pick%len(w.script.plans)]].Name
		switch s.what {
		case "pause":
			w.pausing(name)
			_, err = st.PauseSchedule(ctx, "default", name, "a test")
		case "resume":
			if _, err = st.ResumeSchedule(ctx, "default", name, pick%2 == 0); err == nil {
				w.resumed(name)
			}
		default:
			var made job.Enqueued
			if made, err = st.TriggerSchedule(ctx, "default", name, job.RunNow{}); err == nil {
				w.acknowledged(made, "")
			}
		}
		return err
	case "hang":
		return w.hang(l, s)
	case "pause queue":
		_, err = st.PauseQueue(ctx, w.queues()[pick%len(w.queues())], "a test")
	case "resume queue":
		_, err = st.ResumeQueue(ctx, w.queues()[pick%len(w.queues())])
	case "workflow", "signal", "cancel run", "retry run":
		return w.askWorkflow(ctx, st, s)
	case "durable", "word", "retry durable", "cancel durable", "cancel child":
		return w.askSteps(ctx, st, s)
	case "pull", "new hook", "edit hook", "pause hook", "resume hook", "replay":
		return w.askHooks(ctx, st, s)
	case "calm":
		return w.askCalm(ctx, st, s)
	case "tenant", "narrow":
		return w.askQuota(ctx, st, s)
	case "flood":
		return w.flood(s)
	case "guest", "gated", "visitor", "edit share":
		return w.askShared(ctx, st, s)
	default:
		return w.askFlow(ctx, st, s)
	}
	return err
}

// enqueue enqueues jobs and records the acknowledged ones.
func (w *world) enqueue(ctx context.Context, ask func(context.Context, []job.NewJob) ([]job.Enqueued, error), ns ...job.NewJob) error {
	out, err := ask(ctx, ns)
	if err != nil {
		return err
	}
	for i, e := range out {
		w.acknowledged(e, ns[i].Key)
	}
	return nil
}

// hang is a faulty worker: it claims a job, does not renew, and reports a success at any time, perhaps long after another
// worker got the job.
func (w *world) hang(l *life, s step) error {
	name := fmt.Sprintf("hang%d", s.n%1000)
	ctx := label(context.Background(), name)
	session, err := l.store.OpenSession(ctx, job.WorkerInfo{Name: name, Kinds: []task.Kind{task.KindFunc}, Funcs: w.funcs(), Queues: map[string]int{"default": 1}})
	if err != nil {
		return err
	}
	w.trace("%s opens %s", name, w.sessionName(session.ID))
	asks := []job.NewJob{{Task: "slow"}, {Task: "slow"}}
	if w.script.durables {
		asks[0] = job.NewJob{Task: "durable", Input: json.RawMessage(fmt.Sprintf(`{"run":"h%d"}`, s.n))}
	}
	if err := w.enqueue(ctx, l.store.Enqueue, asks...); err != nil {
		return err
	}
	c, err := l.store.Claim(ctx, job.ClaimRequest{Session: session.ID, Want: map[string]int{"default": 1}, Wait: job.MaxClaimWait})
	if err != nil || len(c.Jobs) == 0 {
		return err
	}
	j := c.Jobs[0].Job
	run := &stint{node: name, task: "hang", job: j.ID, lease: c.Lease, deaf: true}
	w.startStint(run)
	// Mostly just after the session was given up, while the next worker runs the job.
	time.Sleep(30*time.Second + time.Duration(w.draw(name)%uint64(40*time.Second)))
	w.endStint(run, true)
	if l = w.someone(0); l == nil {
		return nil
	}
	switch j.Task {
	case "part": // a success would be one of no handler
		return nil
	case "durable":
		next := 1 + len(w.rows(`select number from belfry_steps where job_id = $1`, j.ID))
		saved, err := l.store.SaveStep(ctx, session.ID, job.Ref{JobID: j.ID, Lease: c.Lease}, job.NewStep{Number: next, Name: "late", Type: "string"})
		w.trace("%s saves a step of %d.%d: %s, stale %v", name, j.ID, c.Lease, verdict(err), saved.Stale)
		return err
	}
	done, err := l.store.Finish(ctx, session.ID, []job.Finish{{Ref: job.Ref{JobID: j.ID, Lease: c.Lease}, Outcome: job.OutcomeOK}})
	for _, d := range done {
		w.trace("%s finishes %d.%d, stale %v", name, j.ID, c.Lease, d.Stale)
	}
	return err
}

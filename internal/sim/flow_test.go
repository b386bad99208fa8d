package sim

import (
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"math/rand/v2"
	"slices"
	"strings"
	"time"

	"github.com/belfry-run/belfry/core"
	"github.com/belfry-run/belfry/flow"
	"github.com/belfry-run/belfry/job"
	"github.com/belfry-run/belfry/store"
	"github.com/belfry-run/belfry/task"
)

// The promises of flow control, in the words of docs/guarantees.md.
const (
	limitRunning  = "At most as many jobs of a key are ready or running as running of a limit says"
	limitRate     = "Jobs of a key begin within 1 % of the rate of a limit, and after a rest its burst"
	sequenceOrder = "Jobs of a sequence run one at a time in their order"
	fairTurn      = "A job of a key that has nothing else waiting in a fair queue is among the next that are claimed"
)

// flowNames are the tasks with limits, sequences and turns.
var flowNames = []string{"keyed", "laned", "line", "paced", "skipper", "stopper", "turn"}

// sequences maps tasks with a sequence to their policy after a failure.
var sequences = map[string]flow.AfterFailure{"line": flow.SequenceGoesOn, "stopper": flow.SequenceStops, "skipper": flow.SequenceSkips}

const inputKey = "input.k"

// allowance is the value of a limit: of task keyed, of task paced, or of queue lanes.
type allowance struct{ running, perMinute, burst int }

// firstAllowances are the initial allowances, by the task or queue of the limit.
var firstAllowances = map[string]allowance{"keyed": {running: 2}, "paced": {perMinute: 30, burst: 2}, "lanes": {running: 4}}

func (a allowance) limits() []flow.Limit {
	l := flow.Limit{Running: a.running, Burst: a.burst}
	if a.perMinute > 0 {
		l.Rate = fmt.Sprintf("%d/1m", a.perMinute)
	}
	return []flow.Limit{l}
}

// flowTask returns a task with an allowance as its limit.
func flowTask(name string, a allowance) task.Task {
	t := task.Task{Name: name, Kind: task.KindFunc, Timeout: core.Duration(5 * time.Minute)}
	t.Retry = task.Retry{MaxAttempts: 4, Delay: core.Duration(2 * time.Second), MaxDelay: core.Duration(20 * time.Second)}
	if after, is := sequences[name]; is {
		t.Sequence = &flow.Sequence{Key: inputKey, OnFailure: after}
		if name != "line" {
			t.Retry.MaxAttempts = 2
		}
	}
	switch name {
	case "keyed", "paced":
		t.Limits = a.limits()
		t.Limits[0].Key = inputKey
	case "laned":
		t.Limits = []flow.Limit{{Key: inputKey, Running: 2}}
	}
	switch name {
	case "paced", "laned":
		t.Queue = "lanes"
	case "turn":
		t.Queue = "fair"
	}
	return t
}

func lanes(a allowance) job.Queue {
	return job.Queue{Name: "lanes", Concurrency: 3, Limits: a.limits()}
}

// foundFlow sets up tasks and queues with limits, sequences and turns.
func (w *world) foundFlow(ctx context.Context) error {
	for _, q := range []job.Queue{lanes(firstAllowances["lanes"]), {Name: "fair", Concurrency: 2, Fair: &flow.Fair{Key: inputKey}}} {
		if _, err := w.file.SaveQueue(ctx, q); err != nil {
			return err
		}
	}
	for _, name := range flowNames {
		if _, err := w.file.CreateTask(ctx, flowTask(name, firstAllowances[name])); err != nil {
			return err
		}
	}
	for of, a := range firstAllowances {
		w.diary.settings[of] = []setting{{allowance: a, until: forever}}
	}
	return nil
}

// setting is an allowance with the period in which it may have been in force.
type setting struct {
	allowance
	from, until time.Duration
	called      time.Duration // when the call that set it had ended; 0: it has not
}

const forever = time.Duration(1<<63 - 1)

// edit sets another allowance. It may be in force from the call on, until the next one is certainly in force.
func (w *world) edit(of string, a allowance, save func(a allowance) error) error {
	begun := w.since()
	w.mu.Lock()
	w.diary.settings[of] = append(w.diary.settings[of], setting{allowance: a, from: begun, until: forever})
	this := len(w.diary.settings[of]) - 1
	w.mu.Unlock()
	err := save(a)
	w.mu.Lock()
	defer w.mu.Unlock()
	all := w.diary.settings[of]
	all[this].called = w.since()
	if err != nil {
		return err
	}
	for i := range all {
		if s := &all[i]; i != this && s.until == forever && (i == 0 || s.called > 0 && s.called < begun) {
			s.until = w.since()
		}
	}
	return nil
}

// most returns the largest number of an allowance that may have been in force between two instants, and how often it may
// have changed.
func (w *world) most(of string, from, to time.Duration, number func(allowance) int) (n, changes int) {
	for _, s := range w.diary.settings[of] {
		if s.from > to || s.until < from {
			continue
		}
		n = max(n, number(s.allowance))
		if s.from >= from {
			changes++
		}
	}
	return n, changes
}

// flowSteps draws requests of users for limits, sequences and turns.
func flowSteps(seed uint64, length time.Duration) (steps []step) {
	r := rand.New(rand.NewPCG(seed, 7))
	kinds := []string{"keyed", "keyed", "paced", "laned", "line", "line", "stopper", "skipper", "turn", "resume sequence", "edit", "edit"}
	for range int(length / (25 * time.Second)) {
		steps = append(steps, step{time.Duration(r.Int64N(int64(length))), kinds[r.IntN(len(kinds))], r.Uint64()})
	}
	return steps
}

var sequenceKeys = []string{"a", "b"}

// askFlow carries out a step of a user about limits, sequences or turns.
func (w *world) askFlow(ctx context.Context, st *store.Store, s step) error {
	pick := int(s.n >> 20)
	switch s.what {
	case "keyed", "laned":
		return w.enqueueKeyed(ctx, st, s.what, []string{"a", "b", "c"}[pick%3], 1+pick/3%6)
	case "paced":
		return w.enqueueKeyed(ctx, st, s.what, sequenceKeys[pick%2], 1+pick/3%12)
	case "line", "stopper", "skipper":
		return w.enqueueKeyed(ctx, st, s.what, sequenceKeys[pick%2], 1+pick/3%4)
	case "turn":
		if err := w.enqueueKeyed(ctx, st, "turn", fmt.Sprintf("noisy%d", pick%2), 20+pick/3%20); err != nil {
			return err
		}
		if err := sleep(ctx, nil, time.Duration(pick%5000)*time.Millisecond); err != nil {
			return err
		}
		return w.enqueueKeyed(ctx, st, "turn", fmt.Sprintf("quiet%d", s.n), 1)
	case "resume sequence":
		_, err := st.ResumeSequence(ctx, "default", []string{"stopper", "skipper"}[pick%2], sequenceKeys[pick/2%2])
		return err
	case "edit":
		of := []string{"keyed", "paced", "lanes"}[pick%3]
		a := []allowance{{running: 1 + pick/3%4}, {perMinute: 12 << (pick / 3 % 3), burst: 1 + pick/9%3}, {running: 2 + pick/3%3}}[pick%3]
		return w.edit(of, a, func(a allowance) (err error) {
			if of == "lanes" {
				_, err = st.SaveQueue(ctx, lanes(a))
			} else {
				_, err = st.UpdateTask(ctx, flowTask(of, a))
			}
			return err
		})
	}
	return nil
}

// asking is a job that a user requested under a key.
type asking struct {
	task, key   string
	from, acked time.Duration
}

func (w *world) enqueueKeyed(ctx context.Context, st *store.Store, name, key string, n int) error {
	ns := make([]job.NewJob, n)
	for i := range ns {
		ns[i] = job.NewJob{Task: name, Input: json.RawMessage(`{"k":"` + key + `"}`)}
	}
	begun := w.since()
	out, err := st.Enqueue(ctx, ns)
	for _, e := range out {
		w.acknowledged(e, "")
		w.mu.Lock()
		w.diary.asked[e.Job.ID] = asking{name, key, begun, w.since()}
		w.mu.Unlock()
	}
	return err
}

// known sets the known data of a job in a run of its handler.
func (w *world) known(s *stint, j *job.Job) {
	var in struct {
		K string
		N uint64
	}
	_ = json.Unmarshal(j.Input, &in)
	if j.Task == "part" || j.Task == "child" {
		_ = json.Unmarshal(j.Input, &s.duty)
	}
	s.key, s.n, s.attempt, s.created, s.claimed = in.K, in.N, j.Attempt, j.CreatedAt.Sub(w.begun), j.ClaimedAt.Sub(w.begun)
}

// checkFlow checks whether a handler that has just begun may run beside the other handlers. Call it under the lock. It
// returns the violated promise.
func (w *world) checkFlow(s *stint) (promise, why string) {
	if s.deaf {
		return "", ""
	}
	for _, l := range []struct {
		of      string
		applies bool
		same    func(o *stint) bool
	}{
		{"keyed", s.task == "keyed", func(o *stint) bool { return o.task == "keyed" && o.key == s.key }},
		{"lanes", s.queue == "lanes", func(o *stint) bool { return o.queue == "lanes" }},
	} {
		if !l.applies {
			continue
		}
		running, newest := w.beside(s, l.same)
		if w.script.clock {
			newest = 0 // the rows have times of another clock
		}
		if most, _ := w.most(l.of, newest, w.since(), func(a allowance) int { return a.running }); running > most {
			return limitRunning, fmt.Sprintf("job %d of %s with key %q begins as number %d at once, of %d", s.job, l.of, s.key, running, most)
		}
	}
	same := func(o *stint) bool { return o.task == s.task && o.key == s.key }
	if running, _ := w.beside(s, same); s.task == "laned" && running > 2 {
		return limitRunning, fmt.Sprintf("job %d of laned with key %q begins as number %d at once, of 2", s.job, s.key, running)
	}
	if _, is := sequences[s.task]; !is {
		return "", ""
	}
	if running, _ := w.beside(s, same); running > 1 {
		return sequenceOrder, fmt.Sprintf("job %d of %s %q begins beside another", s.job, s.task, s.key)
	}
	line := s.task + "/" + s.key
	if last := w.diary.lines[line]; s.attempt == 1 && last > s.job && !w.diary.retried[s.job] {
		return sequenceOrder, fmt.Sprintf("job %d of %s begins after job %d", s.job, line, last)
	}
	if !w.diary.retried[s.job] {
		w.diary.lines[line] = max(w.diary.lines[line], s.job)
	}
	return "", ""
}

// beside counts the running handlers, including a new one, and returns when the newest of their jobs was created.
func (w *world) beside(s *stint, same func(o *stint) bool) (running int, newest time.Duration) {
	running, newest = 1, s.created
	for _, all := range w.diary.open {
		for _, o := range all {
			if o != s && o.job != s.job && !o.deaf && !w.diary.touched[o.job] && same(o) {
				running, newest = running+1, max(newest, o.created)
			}
		}
	}
	return running, newest
}

// checkPlace checks by the rows that no earlier job of a sequence still waits.
func (w *world) checkPlace(s *stint) {
	if _, is := sequences[s.task]; !is || w.retried(s.job) {
		return
	}
	for _, row := range w.rows(`select id, state from belfry_jobs where task = $1 and id < $2 and input = $3`, s.task, s.job, `{"k":"`+s.key+`"}`) {
		if id := number(row[0]); !w.retried(id) {
			w.broken(sequenceOrder, "job %d of %s %q begins before job %d, which is %s", s.job, s.task, s.key, id, row[1])
		}
	}
}

func (w *world) retried(id int64) bool {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.diary.retried[id]
}

// resumeSequences resumes all stopped sequences at the end of a run.
func (w *world) resumeSequences(ctx context.Context, st *store.Store) {
	for _, name := range []string{"skipper", "stopper"} {
		for _, key := range sequenceKeys {
			if _, err := st.ResumeSequence(ctx, "default", name, key); err != nil {
				w.broken(itself, "resume sequence %s %s: %v", name, key, err)
			}
		}
	}
}

// auditFlow checks rates and turns at the end of a run.
func (w *world) auditFlow() {
	if !w.script.flow {
		return
	}
	w.checkTurns()
	if w.script.clock {
		return
	}
	claims := map[string][]time.Duration{}
	for _, s := range w.diary.stints {
		if s.task == "paced" && s.attempt == 1 { // others may have kept the place that they had
			claims[s.key] = append(claims[s.key], s.claimed)
		}
	}
	for _, key := range sequenceKeys {
		w.checkRate("paced", key, claims[key])
	}
}

// checkRate checks that no period has more claims than jobs that may have become ready in it or just before.
func (w *world) checkRate(of, key string, claims []time.Duration) {
	slices.Sort(claims)
	for i, from := range claims {
		for n, to := range claims[i:] {
			rate, changes := w.most(of, from, to, func(a allowance) int { return a.perMinute })
			// An admitted job keeps its place when the burst is reduced, even while its queue is paused.
			burst, _ := w.most(of, 0, to, func(a allowance) int { return a.burst })
			most := burst + (changes+1)*(burst+1) + int((to-from+100*time.Millisecond)*time.Duration(rate)/time.Minute)
			if n+1 > most {
				w.broken(limitRate, "%d jobs of %s with key %q were claimed from %s to %s, of %d", n+1, of, key, from, to, most)
				return
			}
		}
	}
}

// turnsBefore is how many waiting jobs of one key may be claimed before a later job that is the only one of its key.
const turnsBefore = 4

// checkTurns checks that a job that is the only waiting one of its key is claimed soon.
func (w *world) checkTurns() {
	first := map[int64]*stint{}
	for _, s := range w.diary.stints {
		if s.task == "turn" && s.attempt == 1 {
			first[s.job] = s
		}
	}
	for id, quiet := range w.diary.asked {
		s := first[id]
		if s == nil || !strings.HasPrefix(quiet.key, "quiet") {
			continue
		}
		before := map[string]int{}
		for _, o := range first {
			if o.job < id && o.claimed > quiet.acked && o.claimed < s.claimed {
				before[o.key]++
			}
		}
		for _, key := range slices.Sorted(maps.Keys(before)) {
			if before[key] > turnsBefore && !w.script.clock {
				w.broken(fairTurn, "job %d with key %s is claimed after %d with key %s that waited", id, quiet.key, before[key], key)
			}
		}
	}
}

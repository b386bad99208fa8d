package history

import (
	"bytes"
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"
)

// world generates true histories: one operation after the other, on jobs of the model. Answers are lost at random, and
// operations may seem to take longer than they did.
type world struct {
	r     *rand.Rand
	wide  bool // operations seem to overlap
	loses bool // answers are lost
	now   int64
	next  int64 // ID of the next operation
	jobs  []*truth
	lines []timed
}

type timed struct {
	at   int64
	line any
}

// truth is the actual state of a job.
type truth struct {
	Job
	state   State
	running Execution
	vague   bool // clients do not know everything about the job
}

func newWorld(seed uint64, wide, loses bool) *world {
	return &world{r: rand.New(rand.NewPCG(seed, 1)), wide: wide, loses: loses, now: 100}
}

func (x *world) tick() int64 { x.now += 10; return x.now }

// call is one operation that takes effect now. It reports whether it has an effect.
func (x *world) call(op string, args Args, effect func() Result) {
	at := x.tick()
	before, after := int64(2), int64(2)
	if x.wide {
		before, after = 2+x.r.Int64N(40), 2+x.r.Int64N(40)
	}
	x.next++
	invoke := Event{Process: fmt.Sprintf("p%d", x.r.IntN(3)), ID: x.next, Type: Invoke, Op: op, Args: &args, Time: at - before}
	end := Event{Process: invoke.Process, ID: x.next, Op: op, Time: at + after}
	x.add(invoke.Time, invoke)
	if x.loses && x.r.IntN(6) == 0 {
		if x.r.IntN(2) == 0 {
			effect()
		}
		for _, a := range args.Jobs {
			for _, j := range x.jobs {
				j.vague = j.vague || j.ID == a.ID || a.Key != "" && j.Key == a.Key
			}
		}
		end.Type, end.Error = Unknown, "lost"
		if x.r.IntN(2) == 0 {
			x.add(end.Time, end)
		}
		return
	}
	got := effect()
	end.Type, end.Result = OK, &got
	x.add(end.Time, end)
}

func (x *world) add(at int64, line any) { x.lines = append(x.lines, timed{at, line}) }

func (x *world) draw() *truth { return x.jobs[x.r.IntN(len(x.jobs))] }

// act makes one random event happen.
func (x *world) act() {
	if len(x.jobs) == 0 || x.r.IntN(6) == 0 {
		x.enqueue()
		return
	}
	j := x.draw()
	one := Args{Jobs: []JobArgs{{ID: j.ID}}}
	change := func(p Step, said bool) Result {
		next, fits := j.state.Apply(p)
		if !fits {
			return Result{}
		}
		j.state = next
		if !said {
			return Result{}
		}
		return Result{Jobs: []JobResult{{ID: j.ID}}}
	}
	switch x.r.IntN(6) {
	case 0:
		x.call(OpCancel, one, func() Result {
			if j.state.Dead {
				return Result{} // treated as failed below
			}
			return change(Step{Verb: Cancel, Answer: Done}, true)
		})
	case 1:
		if j.state.Final == "failed" || j.state.Final == "canceled" {
			x.call(OpRetry, one, func() Result { return change(Step{Verb: Retry, Answer: Done}, true) })
		}
	case 2:
		x.call(OpRead, one, func() Result {
			return Result{Jobs: []JobResult{{ID: j.ID, State: j.shown()}}}
		})
	default:
		x.work(j)
	}
}

func (j *truth) shown() string {
	switch {
	case j.state.Final != "":
		return j.state.Final
	case j.state.Lease > 0:
		return "running"
	}
	return "ready"
}

func (x *world) enqueue() {
	a := JobArgs{Task: "t"}
	if x.r.IntN(2) == 0 {
		a.Key = fmt.Sprintf("key-%d", x.r.IntN(5))
	}
	x.call(OpEnqueue, Args{Jobs: []JobArgs{a}}, func() Result {
		for _, j := range x.jobs {
			if a.Key != "" && j.Key == a.Key {
				return Result{Jobs: []JobResult{{ID: j.ID, Existing: true}}}
			}
		}
		j := &truth{Job: Job{ID: int64(len(x.jobs) + 1), Task: "t", Key: a.Key}, state: State{Exists: true}}
		x.jobs = append(x.jobs, j)
		return Result{Jobs: []JobResult{{ID: j.ID}}}
	})
}

// work claims a job, or ends the running attempt.
func (x *world) work(j *truth) {
	if j.state.Lease == 0 {
		lease := x.now + 1
		if next, fits := j.state.Apply(Step{Verb: Claim, Index: j.state.Next, Lease: lease}); fits {
			at := x.tick()
			j.state = next
			j.running = Execution{Job: j.ID, Lease: lease, Attempt: next.Next + 1, Start: at + 1}
		}
		return
	}
	outcome := []string{"ok", "error", "error", "lost", "handed_back"}[x.r.IntN(5)]
	e := j.running
	e.End, e.Outcome = x.tick(), "error"
	if outcome == "ok" {
		e.Outcome = "ok"
	}
	if outcome == "lost" && x.r.IntN(2) == 0 {
		e.End, e.Outcome = 0, ""
	}
	x.add(e.Start, e)
	x.settle(j, outcome)
}

func (x *world) settle(j *truth, outcome string) {
	lease := j.state.Lease
	apply := func() {
		j.state, _ = j.state.Apply(Step{Verb: Settle, Index: j.state.Next, Lease: lease, Outcome: outcome})
		j.Attempts = append(j.Attempts, Attempt{Number: len(j.Attempts) + 1, Lease: lease, Outcome: outcome})
		if j.state.Dead && x.r.IntN(3) == 0 {
			j.state.Final = "failed"
		}
		j.state.Dead = false
	}
	if outcome == "lost" {
		x.tick()
		apply()
		j.vague = true // no client knows the time
		return
	}
	x.call(OpFinish, Args{Session: "s", Jobs: []JobArgs{{ID: j.ID, Lease: lease, Outcome: outcome}}}, func() Result {
		if j.state.Lease == lease {
			apply()
		}
		return Result{Jobs: []JobResult{{ID: j.ID, Lease: lease}}}
	})
	if j.state.Lease == lease { // the report was lost, so the attempt is lost in the end
		outcome = "lost"
		x.tick()
		apply()
	}
}

// history ends all running attempts and writes the history.
func (x *world) history(t *testing.T) *History {
	t.Helper()
	for _, j := range x.jobs {
		if j.state.Lease > 0 {
			e := j.running
			e.End, e.Outcome = x.tick(), "ok"
			x.add(e.Start, e)
			x.settle(j, "ok")
		}
	}
	x.now += 100
	for _, j := range x.jobs {
		j.State, j.Time = j.shown(), x.now
		if j.State == "failed" || j.State == "canceled" {
			j.Reason = map[string]string{"failed": "exhausted", "canceled": "canceled"}[j.State]
		}
		x.add(x.now, j.Job)
	}
	slices.SortStableFunc(x.lines, func(a, b timed) int { return int(a.at - b.at) })
	var out bytes.Buffer
	w := NewWriter(&out, Header{Source: "a world"}, nil)
	for _, l := range x.lines {
		if e, is := l.line.(Event); is {
			text, err := encode(KindEvent, e)
			w.err = errors.Join(w.err, err)
			w.write(text)
			continue
		}
		w.Add(l.line)
	}
	if err := w.Close(KindJob, KindExecution); err != nil {
		t.Fatal(err)
	}
	h, err := Read(&out)
	if err != nil {
		t.Fatal(err)
	}
	return h
}

func run(seed uint64, wide, loses bool) *world {
	x := newWorld(seed, wide, loses)
	for range 40 {
		x.act()
	}
	return x
}

const seeds = 600

// A true history passes, whatever happens to jobs and whichever answers are lost.
func TestTrueHistoriesPass(t *testing.T) {
	t.Parallel()
	unknown, jobs := 0, 0
	for seed := range uint64(seeds) {
		h := run(seed, seed%2 == 0, seed%4 < 2).history(t)
		r := Check(h)
		if err := r.Err(); err != nil || r.Counts.Undecided > 0 {
			t.Fatalf("seed %d: %v: %s", seed, err, texts(r))
		}
		unknown, jobs = unknown+r.Counts.Unknown, jobs+r.Counts.Jobs
	}
	if unknown < seeds || jobs < seeds {
		t.Errorf("%d unknown answers and %d jobs are too few to prove anything", unknown, jobs)
	}
}

// corruptions change one detail of a history, and report whether there was one to change. They choose only details that a
// history determines: see docs/reference/history.md, "What a history cannot tell".
var corruptions = map[string]func(r *rand.Rand, x *world, h *History) bool{
	"a job is lost": func(r *rand.Rand, _ *world, h *History) bool {
		return drop(r, &h.Jobs, func(j Job) bool { return acked(h, j.ID) })
	},
	"an execution is doubled": func(r *rand.Rand, _ *world, h *History) bool {
		e := pick(r, h.Executions, func(Execution) bool { return true })
		if e != nil {
			h.Executions = append(h.Executions, *e)
		}
		return e != nil
	},
	"an execution of a success is lost": func(r *rand.Rand, _ *world, h *History) bool {
		return drop(r, &h.Executions, func(e Execution) bool { return recordedAs(h, e) == "ok" })
	},
	"an attempt is lost": func(r *rand.Rand, _ *world, h *History) bool {
		j := pick(r, h.Jobs, func(j Job) bool { return len(j.Attempts) > 0 && final(j.State) })
		if j != nil {
			j.V.Attempts = j.V.Attempts[1:]
		}
		return j != nil
	},
	"a success is recorded as a failure": func(r *rand.Rand, _ *world, h *History) bool {
		j := pick(r, h.Jobs, func(j Job) bool { return j.State == "succeeded" })
		if j != nil {
			j.V.Attempts = slices.Clone(j.V.Attempts)
			j.V.Attempts[len(j.V.Attempts)-1].Outcome = "error"
		}
		return j != nil
	},
	"a failure is recorded as a success": func(r *rand.Rand, _ *world, h *History) bool {
		j := pick(r, h.Jobs, func(j Job) bool { return len(j.Attempts) > 0 && j.Attempts[0].Outcome != "ok" })
		if j != nil {
			j.V.Attempts = slices.Clone(j.V.Attempts)
			j.V.Attempts[0].Outcome = "ok"
		}
		return j != nil
	},
	"a lease is given twice": func(r *rand.Rand, _ *world, h *History) bool {
		j := pick(r, h.Jobs, func(j Job) bool { return len(j.Attempts) > 1 })
		if j != nil {
			j.V.Attempts = slices.Clone(j.V.Attempts)
			j.V.Attempts[1].Lease = j.V.Attempts[0].Lease
		}
		return j != nil
	},
	"a job ends otherwise": func(r *rand.Rand, _ *world, h *History) bool {
		j := pick(r, h.Jobs, func(j Job) bool { return final(j.State) })
		if j != nil {
			j.V.State = map[string]string{"succeeded": "failed", "failed": "succeeded", "canceled": "succeeded"}[j.V.State]
			j.V.Reason = "exhausted"
		}
		return j != nil
	},
	"a second job under a key": func(r *rand.Rand, _ *world, h *History) bool {
		j := pick(r, h.Jobs, func(j Job) bool { return j.Key != "" && acked(h, j.ID) })
		if j != nil {
			twin := *j
			twin.V.ID, twin.V.State, twin.V.Attempts, twin.V.Reason = 1000, "ready", nil, ""
			h.Jobs = append(h.Jobs, twin)
		}
		return j != nil
	},
	"an answer that is new again": func(r *rand.Rand, _ *world, h *History) bool {
		for _, o := range h.Operations {
			if o.Op == OpEnqueue && o.Type == OK && o.Result.Jobs[0].Existing && fresh(h, o.Result.Jobs[0].ID) {
				o.Result.Jobs[0].Existing = false
				return true
			}
		}
		return false
	},
	"a read that forgets an end": func(_ *rand.Rand, x *world, h *History) bool {
		return answer(x, h, OpRead, func(o *Operation) bool {
			was := o.Result.Jobs[0].State
			o.Result.Jobs[0].State = "ready"
			return was == "succeeded" && endedBefore(h, o.Args.Jobs[0].ID, o.Invoked)
		})
	},
	"a read of a job that exists finds none": func(_ *rand.Rand, x *world, h *History) bool {
		return answer(x, h, OpRead, func(o *Operation) bool {
			o.Result.Jobs[0].State = "not_found"
			return ackedBefore(h, o.Args.Jobs[0].ID, o.Invoked)
		})
	},
	"a cancel of a success is acknowledged": func(_ *rand.Rand, x *world, h *History) bool {
		return answer(x, h, OpCancel, func(o *Operation) bool {
			id := o.Args.Jobs[0].ID
			left := len(o.Result.Jobs) == 0
			o.Result.Jobs = []JobResult{{ID: id}}
			return left && endedBefore(h, id, o.Invoked)
		})
	},
}

// answer changes one answer about a job whose whole state is known.
func answer(x *world, h *History, op string, change func(*Operation) bool) bool {
	for _, o := range h.Operations {
		if o.Op != op || o.Type != OK || x.jobs[o.Args.Jobs[0].ID-1].vague {
			continue
		}
		before := Result{Jobs: slices.Clone(o.Result.Jobs)}
		if change(o) {
			return true
		}
		o.Result = before
	}
	return false
}

// endedBefore reports whether a success was acknowledged to its worker before an instant.
func endedBefore(h *History, id, at int64) bool {
	return slices.ContainsFunc(h.Operations, func(o *Operation) bool {
		return o.Op == OpFinish && o.Type == OK && o.Args.Jobs[0].ID == id && o.Args.Jobs[0].Outcome == "ok" && o.Ended < at
	})
}

func acked(h *History, id int64) bool { return ackedBefore(h, id, never) }

func ackedBefore(h *History, id, at int64) bool {
	return slices.ContainsFunc(h.Operations, func(o *Operation) bool {
		return o.Op == OpEnqueue && o.Type == OK && o.Result.Jobs[0].ID == id && o.Ended < at
	})
}

func fresh(h *History, id int64) bool {
	return slices.ContainsFunc(h.Operations, func(o *Operation) bool {
		return o.Op == OpEnqueue && o.Type == OK && o.Result.Jobs[0].ID == id && !o.Result.Jobs[0].Existing
	})
}

func recordedAs(h *History, e Execution) string {
	for _, j := range h.Jobs {
		for _, a := range j.V.Attempts {
			if j.V.ID == e.Job && a.Lease == e.Lease {
				return a.Outcome
			}
		}
	}
	return ""
}

func pick[T any](r *rand.Rand, all []At[T], good func(T) bool) *At[T] {
	for _, i := range r.Perm(len(all)) {
		if good(all[i].V) {
			return &all[i]
		}
	}
	return nil
}

func drop[T any](r *rand.Rand, all *[]At[T], good func(T) bool) bool {
	for _, i := range r.Perm(len(*all)) {
		if good((*all)[i].V) {
			*all = slices.Delete(*all, i, i+1)
			return true
		}
	}
	return false
}

// A single change in a true history is found.
func TestACorruptionIsFound(t *testing.T) {
	t.Parallel()
	for name, corrupt := range corruptions {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			done := 0
			for seed := range uint64(seeds / 3) {
				x := run(seed, seed%2 == 0, seed%4 < 2)
				h := x.history(t)
				if !corrupt(x.r, x, h) {
					continue
				}
				done++
				if r := Check(h); r.Err() == nil || r.Counts.Undecided > 0 {
					t.Fatalf("seed %d: not found", seed)
				}
			}
			if done < 20 {
				t.Errorf("only %d histories had something to change", done)
			}
			t.Logf("%d found", done)
		})
	}
}

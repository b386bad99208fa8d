package sim

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"math/rand/v2"
	"strconv"
	"time"

	"github.com/belfry-run/belfry/core"
	"github.com/belfry-run/belfry/job"
	"github.com/belfry-run/belfry/store"
	"github.com/belfry-run/belfry/task"
	"github.com/belfry-run/belfry/view"
	"github.com/belfry-run/belfry/worker"
)

// durable has the known data of a job whose handler uses steps.
type durable struct {
	run    string
	saved  map[string]string        // results of steps whose record was acknowledged
	asked  map[string]time.Duration // when a sleep was first requested
	child  int64
	told   wait // the wait of the last attempt
	waits  wait // the same, if the end of the attempt was acknowledged
	sent   []sentWord
	word   *string // data of the signal; "": the wait timed out
	how    job.Ended
	awaits bool // the end of the child is known
}

// wait is a wait that was not over when an attempt asked.
type wait struct {
	lease int64
	kind  job.StepKind
}

// sentWord is a signal that a user sent to a job.
type sentWord struct {
	text        string
	from, acked time.Duration // acked is 0 if it was not acknowledged
	counts      bool          // by its answer, it was the first
}

// durable returns the known data of a job. Call it under the lock.
func (d *diary) durable(id int64) *durable {
	if d.durables[id] == nil {
		d.durables[id] = &durable{saved: map[string]string{}, asked: map[string]time.Duration{}}
	}
	return d.durables[id]
}

// foundSteps sets up the tasks of durable jobs.
func (w *world) foundSteps(ctx context.Context) error {
	for _, t := range []task.Task{
		{Name: "durable", Retry: task.Retry{MaxAttempts: 8, Delay: core.Duration(2 * time.Second), MaxDelay: core.Duration(10 * time.Second)}},
		{Name: "child", Retry: task.Retry{MaxAttempts: 2, Delay: core.Duration(2 * time.Second)}},
	} {
		t.Kind, t.Timeout = task.KindFunc, core.Duration(5*time.Minute)
		if _, err := w.file.CreateTask(ctx, t); err != nil {
			return err
		}
	}
	return nil
}

// stepSteps draws requests of users for durable jobs.
func stepSteps(seed uint64, length time.Duration) (steps []step) {
	r := rand.New(rand.NewPCG(seed, 9))
	kinds := []string{"durable", "durable", "durable", "word", "word", "word", "retry durable", "cancel durable", "cancel child", "hang"}
	for range int(length / (40 * time.Second)) {
		steps = append(steps, step{time.Duration(r.Int64N(int64(length))), kinds[r.IntN(len(kinds))], r.Uint64()})
	}
	return steps
}

// askSteps carries out a step of a user about durable jobs.
func (w *world) askSteps(ctx context.Context, st *store.Store, s step) error {
	pick := int(s.n >> 20)
	if s.what == "durable" {
		out, err := st.Enqueue(ctx, []job.NewJob{{Task: "durable", Input: json.RawMessage(fmt.Sprintf(`{"run":"d%d"}`, s.n))}})
		for _, e := range out {
			w.acknowledged(e, "")
			w.mu.Lock()
			w.diary.durable(e.Job.ID).run = fmt.Sprintf("d%d", s.n)
			w.diary.durableIDs = append(w.diary.durableIDs, e.Job.ID)
			w.mu.Unlock()
			if pick%3 == 0 {
				err = w.sendWord(ctx, st, e.Job.ID, s.n)
			}
		}
		return err
	}
	w.mu.Lock()
	ids := w.diary.durableIDs
	var id, child int64
	if len(ids) > 0 {
		id = ids[len(ids)-1-pick%min(len(ids), 4)]
		child = w.diary.durables[id].child
	}
	w.mu.Unlock()
	if id == 0 {
		return nil
	}
	switch s.what {
	case "word":
		return w.sendWord(ctx, st, id, s.n)
	case "retry durable":
		w.bringsBack(id)
		_, err := st.RetryJobs(ctx, "default", view.Selection{IDs: []int64{id}})
		return err
	case "cancel child":
		id = child
	}
	if id == 0 || pick%2 == 0 {
		return nil
	}
	w.canceled(id)
	_, err := st.CancelJobs(ctx, "default", view.Selection{IDs: []int64{id}})
	return err
}

// sendWord sends the signal for which a job waits: now, later or never.
func (w *world) sendWord(ctx context.Context, st *store.Store, id int64, n uint64) error {
	text := strconv.FormatUint(n, 36)
	w.mu.Lock()
	d := w.diary.durable(id)
	d.sent = append(d.sent, sentWord{text: text, from: w.since()})
	this := len(d.sent) - 1
	w.mu.Unlock()
	out, err := st.SignalJob(ctx, "default", id, job.Signal{Name: "word", Input: json.RawMessage(`"` + text + `"`)})
	if err != nil {
		return err
	}
	w.mu.Lock()
	d.sent[this].acked, d.sent[this].counts = w.since(), !out.Existing
	missed := d.word != nil && *d.word == ""
	w.mu.Unlock()
	if missed {
		w.broken(wordKept, "job %d takes signal %s, after its wait ended without one", id, text)
	}
	w.checkWoken(id)
	return nil
}

// takesSteps runs the handler of a durable job.
func (h *hand) takesSteps(ctx context.Context, r *worker.Run) job.Finish {
	var handlers worker.Handlers
	worker.Handle(&handlers, "durable", func(ctx context.Context, in struct{ Run string }) (out map[string]string, err error) {
		w := h.node.world
		rest := []func() error{
			func() (err error) { out["charge"], err = h.effect(ctx, r, "charge"); return err },
			func() error { return h.nap(ctx, r, time.Duration(lot(in.Run, "nap", 40))*time.Second) },
			func() error { return h.spawns(ctx, r, in.Run) },
			func() (err error) { out["ship"], err = h.effect(ctx, r, "ship"); return err },
			func() error { return h.hears(ctx, r, time.Second+time.Duration(lot(in.Run, "hears", 60))*time.Second) },
			func() error { return h.awaits(ctx, r) },
			func() (err error) { out["close"], err = h.effect(ctx, r, "close"); return err },
		}
		if lot(in.Run, "order", 2) == 0 {
			rest[4], rest[5] = rest[5], rest[4]
		}
		out = map[string]string{}
		for i, next := range rest {
			if err := next(); err != nil {
				if w.chance(3, "dawdles", uint64(r.Job.ID), uint64(r.Lease)) { // between the wait and the end of its attempt
					_ = sleep(ctx, h.dead, time.Duration(w.draw("dawdles", uint64(r.Job.ID))%uint64(6*time.Second)))
				}
				return nil, err
			}
			if w.chance(12, "stumbles", uint64(r.Job.ID), uint64(r.Lease), uint64(i)) {
				return nil, errors.New("out of luck")
			}
		}
		return out, nil
	})
	return handlers.Execute(ctx, r)
}

// effect runs a step with an effect on the world.
func (h *hand) effect(ctx context.Context, r *worker.Run, name string) (string, error) {
	w := h.node.world
	got, err := worker.Step(ctx, name, func(ctx context.Context) (string, error) {
		w.mu.Lock()
		saved := w.diary.durable(r.Job.ID).saved[name]
		w.mu.Unlock()
		if saved != "" {
			w.broken(stepKept, "job %d runs step %s again under lease %d, which is recorded", r.Job.ID, name, r.Lease)
		}
		takes := time.Millisecond + time.Duration(w.draw("step "+name, uint64(r.Job.ID), uint64(r.Lease))%uint64(3*time.Second))
		if err := sleep(ctx, h.dead, takes); err != nil {
			return "", err
		}
		w.trace("%s does %s of %d.%d", h.node.name, name, r.Job.ID, r.Lease)
		return fmt.Sprintf("%s %d", name, r.Lease), nil
	})
	w.mu.Lock()
	saved := w.diary.durable(r.Job.ID).saved[name]
	w.mu.Unlock()
	if err == nil && got != saved {
		w.broken(stepKept, "job %d gets %q from step %s under lease %d, which is recorded with %q", r.Job.ID, got, name, r.Lease, saved)
	}
	return got, err
}

func (h *hand) nap(ctx context.Context, r *worker.Run, d time.Duration) error {
	w := h.node.world
	w.mu.Lock()
	known := w.diary.durable(r.Job.ID)
	if _, asked := known.asked["nap"]; !asked {
		known.asked["nap"] = w.since()
	}
	since := known.asked["nap"]
	w.mu.Unlock()
	err := worker.Sleep(ctx, "nap", d)
	if slept := w.since() - since; err == nil && slept < d-time.Millisecond && !w.script.clock {
		w.broken(sleepHolds, "job %d has slept %s of %s", r.Job.ID, slept, d)
	}
	return err
}

func (h *hand) spawns(ctx context.Context, r *worker.Run, run string) error {
	w := h.node.world
	id, err := worker.Spawn(ctx, "child", job.NewJob{Task: "child", Input: json.RawMessage(`{"run":"` + run + `"}`)})
	if err != nil {
		return err
	}
	w.mu.Lock()
	known := w.diary.durable(r.Job.ID)
	before := known.child
	known.child, w.diary.parents[id] = id, r.Job.ID
	w.mu.Unlock()
	if before != 0 && before != id {
		w.broken(childOnce, "job %d is told of child %d, and was of %d before", r.Job.ID, id, before)
	}
	return nil
}

func (h *hand) hears(ctx context.Context, r *worker.Run, d time.Duration) error {
	w := h.node.world
	word, came, err := worker.WaitSignal[string](ctx, "word", d)
	if err != nil {
		return err
	}
	if !came {
		word = ""
	}
	w.mu.Lock()
	known := w.diary.durable(r.Job.ID)
	before, sent := known.word, known.sent
	known.word = &word
	w.mu.Unlock()
	if before != nil && *before != word {
		w.broken(wordKept, "job %d got signal %q, and %q before", r.Job.ID, word, *before)
	}
	w.checkWord(r.Job.ID, word, sent)
	return nil
}

func (h *hand) awaits(ctx context.Context, r *worker.Run) error {
	w := h.node.world
	w.mu.Lock()
	known := w.diary.durable(r.Job.ID)
	child := known.child
	w.mu.Unlock()
	how, err := worker.Await(ctx, "end", child)
	if err != nil {
		return err
	}
	w.mu.Lock()
	known.how, known.awaits = how, true
	w.mu.Unlock()
	return nil
}

var _ job.StepKeeper = (*leaser)(nil) // without it no step is recorded, and its planted faults are not found

func (b *leaser) Steps(ctx context.Context, session string, ref job.Ref) (job.StepList, error) {
	out, err := b.store.Steps(label(ctx, fmt.Sprintf("steps %d.%d", ref.JobID, ref.Lease)), session, ref)
	if err == nil && !out.Stale {
		for _, s := range out.Steps {
			b.node.world.savedStep(job.Ref{JobID: ref.JobID}, s)
		}
	}
	return out, err
}

func (b *leaser) SaveStep(ctx context.Context, session string, ref job.Ref, n job.NewStep) (job.SavedStep, error) {
	what := fmt.Sprintf("step %s %d.%d", n.Name, ref.JobID, ref.Lease)
	b.again(what, func(ctx context.Context, st *store.Store) { _, _ = st.SaveStep(ctx, session, ref, n) })
	out, err := b.store.SaveStep(label(ctx, what), session, ref, n)
	if err == nil && !out.Stale {
		b.node.world.savedStep(ref, out.Step)
	}
	return out, err
}

func (b *leaser) LinkSignal(ctx context.Context, session string, ref job.Ref, l job.Link) (job.NewLink, error) {
	return b.store.LinkSignal(label(ctx, fmt.Sprintf("link %d.%d", ref.JobID, ref.Lease)), session, ref, l)
}

// savedStep records that a worker got the answer to saving a step.
func (w *world) savedStep(ref job.Ref, s job.Step) {
	w.mu.Lock()
	d := w.diary.durable(ref.JobID)
	var text, before string
	switch {
	case s.Kind == job.StepRun:
		_ = json.Unmarshal(s.Result, &text)
		before, d.saved[s.Name] = d.saved[s.Name], text
	case ref.Lease == 0:
	case (s.Kind == job.StepSignal || s.Kind == job.StepAwait) && s.EndedAt.IsZero():
		d.told = wait{ref.Lease, s.Kind}
	}
	w.mu.Unlock()
	if before != "" && before != text {
		w.broken(stepKept, "step %s of job %d is recorded with %q, and was with %q", s.Name, ref.JobID, text, before)
	}
}

package sim

import (
	"strconv"
	"time"

	"github.com/belfry-run/belfry/job"
)

// The promises of steps, in the words of docs/guarantees.md.
const (
	stepKept   = "A step that is recorded is not run again"
	sleepHolds = "A sleep of a handler costs no attempt and no slot, and is not shorter than it says"
	childOnce  = "A step that enqueues a job does so once, over all attempts"
	awaitEnds  = "A step that waits for a job ends with it, and the job that waits is due at once, however and whenever the other ends"
	wordKept   = "A signal to a job ends the wait of its step once, or is refused"
)

// checkWord compares the data of an ended wait for a signal with the signals of users.
func (w *world) checkWord(id int64, word string, sent []sentWord) {
	brought := sentWord{}
	for _, x := range sent {
		if x.text == word {
			brought = x
		}
	}
	if word != "" && brought.text == "" {
		w.broken(wordKept, "job %d gets signal %q, which nobody sent", id, word)
	}
	for _, x := range sent {
		switch {
		case x.acked == 0 || x.text == word:
		case word == "":
			w.broken(wordKept, "job %d gets no signal, and takes %q", id, x.text)
		case x.counts:
			w.broken(wordKept, "job %d gets signal %q, and %q counts", id, word, x.text)
		case x.acked < brought.from:
			w.broken(wordKept, "job %d gets signal %q, and %q was before it", id, word, x.text)
		}
	}
}

// followed checks the effect of ended attempts on waiting jobs.
func (w *world) followed(fs []job.Finish, done []job.Finished) {
	for i, f := range done {
		switch {
		case f.Stale:
		case fs[i].Outcome == job.OutcomeSnoozed:
			w.putOff(fs[i].Ref)
		case f.State.Final():
			w.checkParent(f.JobID)
		}
	}
}

// putOff records the acknowledged end of an attempt that waits.
func (w *world) putOff(ref job.Ref) {
	w.mu.Lock()
	d := w.diary.durables[ref.JobID]
	waits := d != nil && d.told.lease == ref.Lease
	if waits {
		d.waits = d.told
	}
	w.mu.Unlock()
	if waits {
		w.checkWoken(ref.JobID)
	}
}

// checkWoken checks that a job is due if its wait is over by the answers to workers and users.
func (w *world) checkWoken(id int64) {
	w.mu.Lock()
	d := w.diary.durables[id]
	if d == nil || d.waits.lease == 0 || w.script.clock {
		w.mu.Unlock()
		return
	}
	waits, child, over := d.waits, d.child, false
	for _, x := range d.sent {
		over = over || x.acked > 0
	}
	w.mu.Unlock()
	promise := wordKept
	if waits.kind == job.StepAwait {
		promise, over = awaitEnds, len(w.rows(`select id from belfry_jobs_done where id = $1`, child)) > 0
	}
	if !over {
		return
	}
	for _, row := range w.rows(`select due_at from belfry_jobs where id = $1 and lease = $2 and state = 'scheduled' and due_at > $3`,
		id, waits.lease, w.now().Add(time.Second).UnixMicro()) {
		w.broken(promise, "job %d is due at %s, and what it waits for is there", id, time.UnixMicro(number(row[0])).UTC())
	}
}

// checkParent checks whether the job that waits for a child is due.
func (w *world) checkParent(child int64) {
	w.mu.Lock()
	parent := w.diary.parents[child]
	w.mu.Unlock()
	if parent != 0 {
		w.checkWoken(parent)
	}
}

// checkAllWoken checks all waiting jobs.
func (w *world) checkAllWoken() {
	w.mu.Lock()
	ids := w.diary.durableIDs
	w.mu.Unlock()
	for _, id := range ids {
		w.checkWoken(id)
	}
}

// auditSteps checks children, and the answers to their parents, at the end of a run.
func (w *world) auditSteps() {
	if !w.script.durables {
		return
	}
	if !w.script.clock {
		for _, row := range w.rows(`select s.job_id, s.name, s.lease, a.lease from belfry_steps s join belfry_attempts a on a.job_id = s.job_id where a.lease > s.lease and a.claimed_at < s.saved_at`) {
			w.broken(staleWrites, "step %s of job %s is recorded under lease %s after lease %s was given", row[1], row[0], row[2], row[3])
		}
	}
	children, ends := map[string]int64{}, map[int64]job.Ended{}
	for _, row := range w.rows(`select id, state, coalesce(output, ''), input from belfry_jobs_done where task = 'child' order by id`) {
		id := number(row[0])
		ends[id] = job.Ended{State: job.State(row[1]), Output: []byte(row[2])}
		if first := children[row[3]]; first != 0 {
			w.broken(childOnce, "%s has child %d, and has child %d", row[3], first, id)
		}
		children[row[3]] = id
	}
	for id, d := range w.diary.durables {
		if end := ends[d.child]; d.awaits && (d.how.State != end.State || string(d.how.Output) != string(end.Output)) {
			w.broken(awaitEnds, "job %d is told that child %d is %s with %s, which is %s with %s", id, d.child, d.how.State, d.how.Output, end.State, end.Output)
		}
		if d.word != nil {
			w.checkWord(id, *d.word, d.sent)
		}
	}
	for _, row := range w.rows(`select id, output from belfry_jobs_done where task = 'durable' and state = 'succeeded'`) {
		id := number(row[0])
		d := w.diary.durables[id]
		want := `{"charge":` + strconv.Quote(d.saved["charge"]) + `,"close":` + strconv.Quote(d.saved["close"]) + `,"ship":` + strconv.Quote(d.saved["ship"]) + `}`
		if row[1] != want {
			w.broken(stepKept, "job %d returns %s, and its steps %s", id, row[1], want)
		}
	}
}

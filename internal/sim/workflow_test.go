package sim

import (
	"context"
	"encoding/json"
	"fmt"
	"hash/fnv"
	"math/rand/v2"
	"slices"
	"strings"
	"time"

	"github.com/belfry-run/belfry/core"
	"github.com/belfry-run/belfry/job"
	"github.com/belfry-run/belfry/store"
	"github.com/belfry-run/belfry/task"
	"github.com/belfry-run/belfry/view"
	"github.com/belfry-run/belfry/workflow"
)

// The promises of workflows, in the words of docs/guarantees.md.
const (
	stepOnce   = "A step of a workflow begins when those that it needs have ended, and its success is never repeated by itself"
	runEnds    = "Every workflow ends, and its cleanup runs, after a cancel and a timeout too"
	signalKept = "A signal that comes before its step waits is kept, and counts once by its id"
)

// The limits of the workflow.
const (
	itemsAtOnce = 2
	nap         = 20 * time.Second
)

// order is a workflow with a list, a join, a pause, a signal, a step that fails in half of the runs, a step for that
// failure, and cleanup. Its only task is part, whose input sets its behaviour.
var order = task.Workflow{
	Steps: []task.Step{
		part("list"),
		{Name: "each", Task: "part", Needs: []string{"list"}, ForEach: "steps.list.output", AtOnce: itemsAtOnce, OnFailure: task.FailureContinue,
			Input: map[string]string{"run": "input.run", "step": `"each"`, "item": "item"}},
		{Name: "nap", Sleep: core.Duration(nap), Needs: []string{"list"}},
		{Name: "word", Signal: "go", Timeout: core.Duration(2 * time.Minute), OnFailure: task.FailureContinue, Needs: []string{"list"}},
		part("risky", "list"),
		{Name: "fix", Task: "part", Needs: []string{"risky"}, When: `steps.risky.state == "failed"`, Input: map[string]string{"run": "input.run", "step": `"fix"`}},
		{Name: "join", Task: "part", Needs: []string{"each", "nap", "word"},
			Input: map[string]string{"run": "input.run", "step": `"join"`, "all": "steps.each.output", "word": "steps.word.state"}},
		part("last", "join", "risky"),
		{Name: "clean", Task: "part", Cleanup: true, Input: map[string]string{"run": "input.run", "step": `"clean"`}},
	},
	Output: map[string]string{"total": "steps.join.output.total"},
}

// outer has the workflow order as a step after an approval.
var outer = task.Workflow{
	Steps: []task.Step{
		{Name: "gate", Approval: "may it go on?", Timeout: core.Duration(3 * time.Minute)},
		{Name: "inner", Task: "order", Needs: []string{"gate"}, Input: map[string]string{"run": "input.run"}},
		{Name: "after", Task: "part", Needs: []string{"inner"}, Input: map[string]string{"run": "input.run", "step": `"after"`, "total": "steps.inner.output.total"}},
	},
}

func part(name string, needs ...string) task.Step {
	return task.Step{Name: name, Task: "part", Needs: needs, Input: map[string]string{"run": "input.run", "step": `"` + name + `"`}}
}

// duty is the input of a part: its step and run.
type duty struct {
	Run   string `json:"run"`
	Step  string `json:"step"`
	Item  int    `json:"item"`
	All   []*int `json:"all"`
	Word  string `json:"word"`
	Total int    `json:"total"`
}

// place identifies a part.
type place struct {
	run, step string
	item      int
}

func (d duty) place() place { return place{d.Run, d.Step, d.Item} }

// lot returns a random number for a run, which does not depend on the caller or the time.
func lot(run, what string, n int) int {
	h := fnv.New64a()
	_, _ = fmt.Fprint(h, run, what)
	return int(mix(h.Sum64()) % uint64(n)) //nolint:gosec // n is small
}

func itemsOf(run string) int { return lot(run, "items", 6) }

// hopeless reports whether a part fails in every attempt.
func (d duty) hopeless() bool {
	return d.Step == "risky" && lot(d.Run, "risky", 2) == 0 || d.Step == "each" && lot(d.Run, fmt.Sprint("each", d.Item), 6) == 0
}

func worth(item int) int { return 10*item + 1 }

// output returns the output of a part.
func (d duty) output() json.RawMessage {
	var out any
	switch d.Step {
	case "list":
		list := make([]int, itemsOf(d.Run))
		for i := range list {
			list[i] = i
		}
		out = list
	case "each":
		out = worth(d.Item)
	case "join":
		out = map[string]int{"total": d.sum()}
	default:
		return nil
	}
	text, _ := json.Marshal(out)
	return text
}

func (d duty) sum() (total int) {
	for _, n := range d.All {
		if n != nil {
			total += *n
		}
	}
	return total
}

// foundWorkflows sets up the workflows.
func (w *world) foundWorkflows(ctx context.Context) error {
	retry := task.Retry{MaxAttempts: 3, Delay: core.Duration(2 * time.Second), MaxDelay: core.Duration(10 * time.Second)}
	for _, t := range []task.Task{
		{Name: "part", Kind: task.KindFunc, Retry: retry, Timeout: core.Duration(5 * time.Minute)},
		{Name: "order", Kind: task.KindWorkflow, Workflow: &order},
		{Name: "outer", Kind: task.KindWorkflow, Workflow: &outer},
	} {
		if _, err := w.file.CreateTask(ctx, t); err != nil {
			return err
		}
	}
	return nil
}

// running is a run of a workflow that a user knows.
type running struct {
	id   int64
	name string
	task string
}

// signaled is a signal that a user sent.
type signaled struct {
	run   string
	name  string
	no    bool
	acked time.Duration // 0: not acknowledged
}

func workflowSteps(seed uint64, length time.Duration) (steps []step) {
	r := rand.New(rand.NewPCG(seed, 8))
	kinds := []string{"workflow", "workflow", "workflow", "signal", "signal", "signal", "signal", "cancel run", "retry run"}
	for range int(length / (45 * time.Second)) {
		steps = append(steps, step{time.Duration(r.Int64N(int64(length))), kinds[r.IntN(len(kinds))], r.Uint64()})
	}
	return steps
}

// askWorkflow carries out a step of a user about workflows.
func (w *world) askWorkflow(ctx context.Context, st *store.Store, s step) error {
	pick := int(s.n >> 20)
	if s.what == "workflow" {
		name, of := fmt.Sprintf("r%d", s.n), []string{"order", "order", "outer"}[pick%3]
		out, err := st.Enqueue(ctx, []job.NewJob{{Task: of, Input: json.RawMessage(`{"run":"` + name + `"}`)}})
		for _, e := range out {
			w.acknowledged(e, "")
			w.mu.Lock()
			w.diary.runs = append(w.diary.runs, running{e.Job.ID, name, of})
			w.mu.Unlock()
		}
		return err
	}
	w.mu.Lock()
	runs := slices.Clone(w.diary.runs)
	w.mu.Unlock()
	if len(runs) == 0 {
		return nil
	}
	run := runs[len(runs)-1-pick%min(len(runs), 4)]
	switch s.what {
	case "cancel run":
		w.canceled(run.id)
		_, err := st.CancelJobs(ctx, "default", view.Selection{IDs: []int64{run.id}})
		return err
	case "retry run":
		w.bringsBack(run.id)
		_, err := st.RetryWorkflow(ctx, "default", run.id, workflow.Retrying{})
		return err
	}
	return w.signal(ctx, st, run, pick)
}

func (w *world) signal(ctx context.Context, st *store.Store, run running, pick int) error {
	sig := workflow.Signal{Name: map[string]string{"order": "go", "outer": "gate"}[run.task], ID: []string{"", "one"}[pick%2]}
	sig.Reject = run.task == "outer" && pick/2%5 == 0
	w.mu.Lock()
	w.diary.signals = append(w.diary.signals, signaled{run.name, sig.Name, sig.Reject, 0})
	this := len(w.diary.signals) - 1
	w.mu.Unlock()
	_, err := st.SendSignal(ctx, "default", run.id, sig)
	w.mu.Lock()
	defer w.mu.Unlock()
	if err == nil {
		w.diary.signals[this].acked = w.since()
	}
	return err
}

// bringsBack records that a user has requested a retry of a job.
func (w *world) bringsBack(id int64) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.diary.retried[id] = true
}

// meddled reports whether a user has canceled or retried a run. Call it under the lock.
func (w *world) meddled(run string) (canceled, retried bool) {
	for _, r := range w.diary.runs {
		if r.name == run {
			return w.diary.touched[r.id], w.diary.retried[r.id]
		}
	}
	return false, false
}

// mayRepeat reports whether a success may occur twice in a retried run: of cleanup, and of a workflow that is a step. Call
// it under the lock.
func (w *world) mayRepeat(d duty) bool {
	i := slices.IndexFunc(w.diary.runs, func(r running) bool { return r.name == d.Run })
	return i >= 0 && w.diary.retried[w.diary.runs[i].id] && (d.Step == "clean" || w.diary.runs[i].task == "outer")
}

// checkPart checks whether a part that has just begun may run. Call it under the lock. It returns the violated promise.
func (w *world) checkPart(s *stint) (promise, why string) {
	if s.task != "part" || s.deaf {
		return "", ""
	}
	d := s.duty
	canceled, retried := w.meddled(d.Run)
	if w.diary.good[d.place()] && !w.mayRepeat(d) {
		return stepOnce, fmt.Sprintf("job %d runs %v again, which has succeeded", s.job, d.place())
	}
	if canceled || retried {
		return "", ""
	}
	beside, others := 1, 0
	for _, all := range w.diary.open {
		for _, o := range all {
			if o.task != "part" || o.job == s.job || o.duty.Run != d.Run {
				continue
			}
			if others++; o.duty.Step == d.Step {
				beside++
			}
		}
	}
	if d.Step == "each" && beside > itemsAtOnce || d.Step != "each" && beside > 1 {
		return stepOnce, fmt.Sprintf("%v begins as number %d at once", d.place(), beside)
	}
	if d.Step == "clean" && others > 0 {
		return stepOnce, fmt.Sprintf("%v begins while %d other parts run", d.place(), others)
	}
	if why := w.tooEarly(d); why != "" {
		return stepOnce, fmt.Sprintf("%v begins %s", d.place(), why)
	}
	return "", ""
}

// tooEarly returns the part for which a part should have waited, by the diary of handlers.
func (w *world) tooEarly(d duty) string {
	done := func(step string, item int) bool { return len(w.diary.parts[place{d.Run, step, item}]) > 0 }
	well := func(step string, item int) *stint {
		all := w.diary.parts[place{d.Run, step, item}]
		if i := slices.IndexFunc(all, func(s *stint) bool { return s.ok }); i >= 0 {
			return all[i]
		}
		return nil
	}
	needs := map[string]string{"each": "list", "risky": "list", "join": "list", "last": "risky"}
	if need := needs[d.Step]; need != "" && well(need, 0) == nil {
		return "before " + need
	}
	switch d.Step {
	case "fix":
		if !done("risky", 0) {
			return "before risky"
		}
	case "last":
		if well("join", 0) == nil {
			return "before join"
		}
	case "join":
		if slept := w.since() - well("list", 0).end; slept < nap && !w.script.clock {
			return fmt.Sprintf("%s after the list, without its pause", slept)
		}
		if len(d.All) != itemsOf(d.Run) {
			return fmt.Sprintf("with %d items of %d", len(d.All), itemsOf(d.Run))
		}
		for i, n := range d.All {
			switch {
			case !done("each", i):
				return fmt.Sprintf("before item %d", i)
			case n == nil && w.diary.good[place{d.Run, "each", i}]:
				return fmt.Sprintf("without the output of item %d", i)
			case n != nil && (*n != worth(i) || well("each", i) == nil):
				return fmt.Sprintf("with %d as the output of item %d", *n, i)
			}
		}
		return w.wordOf(d)
	case "after":
		if join := well("join", 0); join == nil || d.Total != join.duty.sum() {
			return fmt.Sprintf("with total %d", d.Total)
		}
		if !slices.ContainsFunc(w.diary.signals, func(x signaled) bool { return x.run == d.Run && x.name == "gate" && !x.no }) {
			return "without an approval"
		}
	}
	return ""
}

// wordOf returns the problem of the signal in the input of a join.
func (w *world) wordOf(d duty) string {
	asked, early := false, false
	list := w.diary.parts[place{d.Run, "list", 0}]
	over := list[slices.IndexFunc(list, func(s *stint) bool { return s.ok })].end + order.Steps[3].Timeout.D() - time.Second
	for _, x := range w.diary.signals {
		if x.run == d.Run && x.name == "go" {
			asked, early = true, early || x.acked > 0 && x.acked < over
		}
	}
	switch {
	case d.Word == "ok" && !asked:
		return "with a signal that nobody sent"
	case d.Word != "ok" && early && !w.script.clock:
		return "without a signal that came in time: " + signalKept
	}
	return ""
}

// partEnded records that the handler of a part has ended. Call it under the lock.
func (w *world) partEnded(s *stint) {
	if s.task == "part" {
		w.diary.parts[s.duty.place()] = append(w.diary.parts[s.duty.place()], s)
	}
}

// finished records successes that were acknowledged to their workers.
func (w *world) finished(done []job.Finished) {
	w.mu.Lock()
	defer w.mu.Unlock()
	for _, f := range done {
		if f.Stale || f.State != job.Succeeded {
			continue
		}
		for _, s := range w.diary.stints {
			if s.task == "part" && s.job == f.JobID && s.lease == f.Lease {
				w.diary.good[s.duty.place()] = true
			}
		}
	}
}

// outcome is the end of the job of a part or run.
type outcome struct {
	state  job.State
	output string
	jobs   int // number of jobs that ended so
}

// auditWorkflows compares the ends of runs with a model of their workflow.
func (w *world) auditWorkflows() {
	if !w.script.workflows {
		return
	}
	parts, runs := map[place]outcome{}, map[place]outcome{}
	for _, row := range w.rows(`select task, state, input, coalesce(output, '') from belfry_jobs_done where task in ('part', 'order', 'outer') order by id`) {
		var d duty
		if err := json.Unmarshal([]byte(row[2]), &d); err != nil {
			w.broken(itself, "input %s: %v", row[2], err)
		}
		if row[0] != "part" {
			runs[place{run: d.Run, step: row[0]}] = outcome{job.State(row[1]), row[3], 0}
			continue
		}
		p := parts[d.place()]
		if job.State(row[1]) == job.Succeeded {
			p.jobs++
		}
		if p.state != job.Succeeded {
			p.state = job.State(row[1])
		}
		parts[d.place()] = p
		if p.jobs > 1 && !w.mayRepeat(d) {
			w.broken(stepOnce, "%v has succeeded %d times", d.place(), p.jobs)
		}
	}
	for at, run := range runs {
		canceled, retried := w.meddled(at.run)
		if at.step == "order" && parts[place{run: at.run, step: "clean"}].state == "" && run.state != job.Skipped && !canceled {
			w.broken(runEnds, "run %s ended without its cleanup", at.run)
		}
		if canceled || retried {
			continue
		}
		if state, output := w.modelOf(at, parts, runs); run.state != state || state == job.Succeeded && run.output != output {
			w.broken(stepOnce, "run %s of %s is %s with %s, and by its parts %s with %s", at.run, at.step, run.state, run.output, state, output)
		}
	}
}

// modelOf returns the expected end of a run without cancels and retries, from the ends of its parts.
func (w *world) modelOf(at place, parts, runs map[place]outcome) (job.State, string) {
	of := func(step string) job.State { return parts[place{run: at.run, step: step}].state }
	if at.step == "outer" {
		after, inner := of("after"), runs[place{run: at.run, step: "order"}].state
		if approved := inner != ""; !approved || inner != job.Succeeded || after != job.Succeeded {
			return job.Failed, ""
		}
		return job.Succeeded, `{"ok":3,"failed":0,"skipped":0}`
	}
	for _, step := range []string{"list", "risky", "join", "last", "clean"} {
		if of(step) != job.Succeeded {
			return job.Failed, ""
		}
	}
	total := 0
	for i := range itemsOf(at.run) {
		if parts[place{at.run, "each", i}].state == job.Succeeded {
			total += worth(i)
		}
	}
	return job.Succeeded, fmt.Sprintf(`{"total":%d}`, total)
}

func (p place) String() string {
	if p.step == "each" {
		return fmt.Sprintf("item %d of run %s", p.item, p.run)
	}
	return strings.TrimSpace(fmt.Sprintf("step %s of run %s", p.step, p.run))
}

package workflow

import (
	"flag"
	"fmt"
	"os"
	"slices"
	"testing"
	"time"

	"pgregory.net/rapid"

	"github.com/belfry-run/belfry/core"
	"github.com/belfry-run/belfry/job"
	"github.com/belfry-run/belfry/task"
)

// TestMain asks the properties more often than rapid does by itself, because a question costs next to nothing here.
func TestMain(m *testing.M) {
	flag.Parse()
	if checks := flag.Lookup("rapid.checks"); checks.Value.String() == checks.DefValue {
		_ = flag.Set("rapid.checks", "2000")
	}
	os.Exit(m.Run())
}

// world carries out what a run says, as the store does, and writes down what really happened.
type world struct {
	*rapid.T
	plan    Plan
	run     Run
	now     time.Time
	active  [][]int // by step: items whose job has not ended
	judged  []bool  // by step: its condition was asked since the run began, or was retried
	won     []map[int]int
	stopped bool
	hard    bool
}

func drawPlan(t *rapid.T) Plan {
	p := Plan{Timeout: core.Duration(time.Hour)}
	for i := range rapid.IntRange(1, 7).Draw(t, "steps") {
		s := task.Step{Name: fmt.Sprintf("s%d", i), Cleanup: rapid.IntRange(0, 4).Draw(t, "cleanup") == 0}
		switch rapid.IntRange(0, 5).Draw(t, "does") {
		case 0:
			s.Sleep = core.Duration(time.Minute)
		case 1:
			s.Signal, s.Timeout = "go", core.Duration(time.Minute)
		case 2:
			s.Task, s.ForEach, s.AtOnce = "t", "input", rapid.IntRange(0, 3).Draw(t, "at once")
		default:
			s.Task = "t"
		}
		s.OnFailure = rapid.SampledFrom([]task.OnFailure{task.FailureFail, task.FailureContinue}).Draw(t, "on failure")
		handles := []int{}
		for k := range i {
			if (s.Cleanup || !p.Workflow.Steps[k].Cleanup) && rapid.IntRange(0, 2).Draw(t, "needs") == 0 {
				s.Needs = append(s.Needs, fmt.Sprintf("s%d", k))
				if rapid.IntRange(0, 3).Draw(t, "handles") == 0 {
					handles = append(handles, k)
				}
			}
		}
		p.Workflow.Steps, p.Handles = append(p.Workflow.Steps, s), append(p.Handles, handles)
	}
	p.Workflow = p.Workflow.WithDefaults()
	return p
}

func (w *world) goOn() {
	for {
		turn := w.run.Next(w.plan, w.now, 5)
		if turn.Done {
			w.run.EndedAt = w.now
			return
		}
		for _, i := range turn.Ready {
			w.begin(i)
		}
		for _, items := range turn.Items {
			s := &w.run.Steps[items.Step]
			for range items.Count {
				w.active[items.Step] = append(w.active[items.Step], s.Item(s.Begun))
				if w.won[items.Step][s.Item(s.Begun)] > 0 {
					w.Fatalf("item %d of %s is begun after its success", s.Item(s.Begun), s.Name)
				}
				s.Begun++
			}
			if most := w.plan.Workflow.Steps[items.Step].AtOnce; most > 0 && len(w.active[items.Step]) > most {
				w.Fatalf("%d items of %s run at once, %d may", len(w.active[items.Step]), s.Name, most)
			}
			if w.run.stopped(w.plan, items.Step) {
				w.Fatalf("%s begins items after the stop", s.Name)
			}
		}
		if len(turn.Ready)+len(turn.Items) == 0 && !turn.More {
			return
		}
	}
}

func (w *world) begin(i int) {
	step := w.plan.Workflow.Steps[i]
	w.judged[i] = true
	for before := range w.plan.Workflow.Before(i) { // which its expressions read, beyond those it needs itself
		if s := w.run.Steps[w.plan.Workflow.Find(before)]; !s.State.Final() {
			w.Fatalf("%s begins before %s has ended: %+v", step.Name, before, s)
		}
	}
	if step.Cleanup {
		for k, s := range w.run.Steps {
			if !w.plan.Workflow.Steps[k].Cleanup && !s.State.Final() {
				w.Fatalf("cleanup %s begins before %s has ended", step.Name, s.Name)
			}
		}
	} else if w.run.Stop != nil {
		w.Fatalf("%s begins after the stop", step.Name)
	}
	if w.won[i][0] > 0 {
		w.Fatalf("%s is begun after its success", step.Name)
	}
	switch {
	case !step.Cleanup && rapid.IntRange(0, 5).Draw(w.T, "when") == 0:
		w.run.Skip(i, "its condition does not hold", w.now)
	case step.Sleep > 0:
		w.run.Wait(i, Sleeping, w.now.Add(step.Sleep.D()), w.now)
	case step.Waits():
		w.run.Wait(i, Waiting, w.now.Add(step.Timeout.D()), w.now)
	case step.ForEach != "":
		w.run.Start(i, rapid.IntRange(0, 8).Draw(w.T, "items"), w.now)
	default:
		w.run.Start(i, 1, w.now)
	}
}

func (w *world) act() {
	var running []int
	for i := range w.active {
		if len(w.active[i]) > 0 {
			running = append(running, i)
		}
	}
	switch what := rapid.IntRange(0, 9).Draw(w.T, "what"); {
	case what < 6 && len(running) > 0:
		i := rapid.SampledFrom(running).Draw(w.T, "step")
		n := rapid.IntRange(1, len(w.active[i])).Draw(w.T, "batch")
		for range n {
			item := w.active[i][0]
			w.active[i] = w.active[i][1:]
			state := rapid.SampledFrom([]job.State{job.Succeeded, job.Succeeded, job.Succeeded, job.Failed, job.Canceled}).Draw(w.T, "end")
			if state == job.Succeeded {
				w.won[i][item]++
			}
			w.run.ItemEnded(i, state, "no")
		}
	case what == 6:
		if i := w.run.Waiting(w.plan, "go"); i >= 0 {
			w.run.Answer(i, true, "ann", "", w.now)
		}
	case what == 7 && rapid.IntRange(0, 3).Draw(w.T, "stop") == 0:
		w.run.StopFor("canceled", "enough", rapid.Bool().Draw(w.T, "hard"))
		w.stopped, w.hard = true, w.hard || w.run.Stop.Hard
	default:
		w.now = w.now.Add(rapid.SampledFrom([]time.Duration{time.Second, time.Minute, time.Hour}).Draw(w.T, "pass"))
	}
	w.goOn()
}

// finish ends whatever is under way.
func (w *world) finish() {
	for range 200 {
		if !w.run.EndedAt.IsZero() {
			return
		}
		for i := range w.active {
			for _, item := range w.active[i] {
				w.won[i][item]++
				w.run.ItemEnded(i, job.Succeeded, "")
			}
			w.active[i] = nil
		}
		w.now = w.now.Add(time.Minute)
		w.goOn()
	}
	w.Fatalf("it never ends: %+v", w.run)
}

func (w *world) check() {
	failed := false
	for i, s := range w.run.Steps {
		step := w.plan.Workflow.Steps[i]
		if s.State == Skipped && s.Reason == "" || s.State == Failed && s.Error == "" {
			w.Fatalf("%+v does not say why", s)
		}
		if step.Cleanup && s.State == Skipped && len(step.Needs) == 0 && !w.run.hard() {
			w.Fatalf("cleanup %s was skipped: %s", step.Name, s.Reason)
		}
		failed = failed || (s.State == Failed || s.State == Canceled) && step.OnFailure != task.FailureContinue
	}
	switch end := w.run.End(w.plan); {
	case w.run.Stop == nil && failed != (end.State == job.Failed):
		w.Fatalf("it ends %s: %+v", end.State, w.run.Steps)
	case w.run.Stop != nil && end.State == job.Succeeded:
		w.Fatalf("it was stopped, and succeeds")
	}
}

// checkSkips fails if a step is left out by a condition that held or not before steps were begun again that it may read.
func (w *world) checkSkips(again []int) {
	for i, s := range w.run.Steps {
		for name := range w.plan.Workflow.Before(i) {
			if s.State == Skipped && !s.Blocked && !w.judged[i] && slices.Contains(again, w.plan.Workflow.Find(name)) {
				w.Fatalf("%s stays skipped, though %s was begun again", s.Name, name)
			}
		}
	}
}

func TestEveryWorkflowEndsAndNoSuccessIsRepeated(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		w := &world{T: t, plan: drawPlan(t), now: time.Date(2026, 3, 2, 12, 0, 0, 0, time.UTC)}
		w.run = Begin(w.plan, Run{JobID: 1}, w.now)
		w.active, w.won, w.judged = make([][]int, len(w.run.Steps)), make([]map[int]int, len(w.run.Steps)), make([]bool, len(w.run.Steps))
		for i := range w.won {
			w.won[i] = map[int]int{}
		}
		w.goOn()
		for range rapid.IntRange(0, 40).Draw(t, "acts") {
			if w.run.EndedAt.IsZero() {
				w.act()
			}
		}
		w.finish()
		w.check()
		// A retry goes on with what did not succeed, or with a step and all behind it.
		from := -1
		if rapid.IntRange(0, 2).Draw(t, "from a step") == 0 {
			from = rapid.IntRange(0, len(w.run.Steps)-1).Draw(t, "from")
			w.run.From = w.run.Steps[from].Name
		}
		for i := range w.run.Steps {
			w.run.Steps[i].Total = max(w.run.Steps[i].Total, w.run.Steps[i].Begun)
		}
		was, behind := make([]State, len(w.run.Steps)), map[int]bool{}
		for i, s := range w.run.Steps {
			was[i] = s.State
		}
		if from >= 0 {
			behind = w.plan.Workflow.After(from)
		}
		all, rest := w.run.Retry(w.plan, false, w.now)
		if from >= 0 && !slices.Contains(all, from) {
			t.Fatalf("it goes on from %s, of which something is kept", w.run.Steps[from].Name)
		}
		for _, i := range all {
			for item := range w.won[i] {
				if step := w.plan.Workflow.Steps[i]; was[i] == OK && !step.Cleanup && !behind[i] {
					t.Fatalf("item %d of %s is begun again after its success", item, step.Name)
				}
			}
			w.won[i] = map[int]int{}
		}
		for _, i := range rest {
			again := []int{}
			for item := range w.run.Steps[i].Total + w.run.Steps[i].Kept {
				if w.won[i][item] == 0 {
					again = append(again, item)
				}
			}
			w.run.RetryItems(i, again, len(w.won[i]), w.now)
		}
		clear(w.judged)
		w.goOn()
		w.finish()
		w.check()
		w.checkSkips(slices.Concat(all, rest))
	})
}

//go:build linux || darwin

package e2e

import (
	"math/rand/v2"
	"testing"

	"github.com/anishathalye/porcupine"

	"github.com/belfry-run/belfry/internal/history"
)

// model is the sequential model of a job, for Porcupine. A step that may have no effect has none if the model does not allow
// the step. Such a step never ends, so it can come after all others.
var model = porcupine.Model{
	Init: func() any { return history.State{} },
	Step: func(state, input, _ any) (bool, any) {
		s, p := state.(history.State), input.(history.Step)
		next, fits := s.Apply(p)
		if p.Optional && !fits {
			return true, s
		}
		return fits, next
	},
}

// byPorcupine returns the verdict of an independent checker.
func byPorcupine(steps []history.Step) bool {
	ops := make([]porcupine.Operation, len(steps))
	for i, p := range steps {
		ops[i] = porcupine.Operation{ClientId: i, Input: p, Call: p.Invoked, Return: p.Ended}
	}
	return porcupine.CheckOperations(model, ops)
}

// never is a time after the end of these histories.
const never = int64(1) << 61

// walk returns a random history of one job that the model allows, with overlapping times. Every second history has one change.
func walk(r *rand.Rand) []history.Step {
	var s history.State
	var steps []history.Step
	lease := int64(0)
	for at := int64(100); len(steps) < 4+r.IntN(8); at += 10 {
		p := history.Step{
			Verb: []history.Verb{history.Create, history.Cancel, history.Retry, history.Claim, history.Settle, history.Look}[r.IntN(6)], Answer: history.Done, Attempts: -1,
			Invoked: at - r.Int64N(40), Ended: at + r.Int64N(40),
		}
		switch p.Verb {
		case history.Claim:
			lease++
			p.Lease, p.Index = lease, s.Next
		case history.Settle:
			p.Lease, p.Index, p.Outcome = s.Lease, s.Next, []string{"ok", "error", "lost"}[r.IntN(3)]
		case history.Look:
			p.State = []string{"not_found", "running", "ready", "succeeded", "failed", "canceled"}[r.IntN(6)]
		}
		next, fits := s.Apply(p)
		if !fits {
			continue
		}
		if p.Verb != history.Look && p.Verb != history.Settle && r.IntN(5) == 0 {
			p.Answer, p.Optional, p.Ended = history.Unheard, true, never
			if r.IntN(2) == 0 {
				next = s // no effect
			}
		}
		steps, s = append(steps, p), next
	}
	if r.IntN(2) == 0 {
		p := &steps[r.IntN(len(steps))]
		switch r.IntN(4) {
		case 0:
			p.Invoked, p.Ended = p.Invoked+30, p.Ended+30
		case 1:
			p.Lease++
		case 2:
			p.State = "succeeded"
		case 3:
			p.Verb = history.Cancel
		}
	}
	return steps
}

// The search for an order and Porcupine agree on which histories can be explained.
func TestPorcupineAgrees(t *testing.T) {
	t.Parallel()
	r := rand.New(rand.NewPCG(1, 2))
	said := map[bool]int{}
	for i := range 20_000 {
		steps := walk(r)
		explained, undecided := history.Explained(steps)
		said[explained]++
		if undecided || explained != byPorcupine(steps) {
			t.Fatalf("history %d: got explained %t, undecided %t, but Porcupine decides otherwise: %+v", i, explained, undecided, steps)
		}
	}
	t.Logf("%d are explained, %d are not", said[true], said[false])
	if said[true] < 1000 || said[false] < 1000 {
		t.Errorf("too few of one kind to prove anything: %v", said)
	}
}

// agreeOn has Porcupine check each job of a history without faults.
func agreeOn(v *verdict, h *history.History) {
	for id, steps := range history.JobSteps(h) {
		if explained, _ := history.Explained(steps); explained != byPorcupine(steps) {
			v.errorf("job %d: explained %t, and Porcupine says otherwise: %+v", id, explained, steps)
		}
	}
}

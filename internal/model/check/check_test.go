package check

import (
	"errors"
	"fmt"
	"strings"
	"testing"
)

// pair is two counters that a step may raise up to a maximum.
type pair struct{ a, b int }

func counters(most int) Spec[pair, string] {
	return Spec[pair, string]{
		Init: []pair{{}},
		Next: func(p pair, steps []Step[pair, string]) []Step[pair, string] {
			if p.a < most {
				steps = append(steps, Step[pair, string]{Act: "raise a", To: pair{p.a + 1, p.b}, Own: true})
			}
			if p.b < most {
				steps = append(steps, Step[pair, string]{Act: "raise b", To: pair{p.a, p.b + 1}})
			}
			return steps
		},
		Show: func(p pair) []string { return []string{fmt.Sprint("a=", p.a), fmt.Sprint("b=", p.b)} },
	}
}

func violated(t *testing.T, err error, name string) *Violation {
	t.Helper()
	var v *Violation
	if !errors.As(err, &v) || v.Name != name {
		t.Fatalf("got %v, want a violation of %q", err, name)
	}
	return v
}

func TestEveryStateAndStepIsVisitedOnce(t *testing.T) {
	g, err := Explore(counters(3))
	if err != nil {
		t.Fatal(err)
	}
	if len(g.States) != 16 || len(g.Edges) != 24 || len(g.Acts) != 2 {
		t.Fatalf("%d states, %d edges, %d acts", len(g.States), len(g.Edges), len(g.Acts))
	}
	for id := range g.States {
		begin, end := g.Out(int32(id))
		for _, e := range g.Edges[begin:end] {
			from, to := g.States[id], g.States[e.To]
			if g.Acts[e.Act] == "raise a" && (to.a != from.a+1 || to.b != from.b || !e.Own) {
				t.Fatalf("%v: %s leads to %v", from, g.Acts[e.Act], to)
			}
		}
	}
}

func TestShortestWayToAViolation(t *testing.T) {
	spec := counters(5)
	spec.Always = []Always[pair]{{"small", func(p pair) error {
		if p.a+p.b >= 3 && p.b >= 1 {
			return fmt.Errorf("a and b are %d", p.a+p.b)
		}
		return nil
	}}}
	_, err := Explore(spec)
	v := violated(t, err, "small")
	want := "small: a and b are 3\n   0. a=0; b=0\n   1. raise a"
	if got := v.Error(); len(v.Trace) != 4 || !strings.HasPrefix(got, want) || !strings.Contains(v.Trace[3], "b=1") || strings.Contains(v.Trace[3], "a=") {
		t.Fatalf("%s", got)
	}
}

func TestStepsAreJudged(t *testing.T) {
	spec := counters(5)
	spec.Each = []Each[pair, string]{{"b stays below a", func(from pair, act string, to pair) error {
		if act == "raise b" && to.b > from.a {
			return errors.New("too high")
		}
		return nil
	}}}
	_, err := Explore(spec)
	if v := violated(t, err, "b stays below a"); len(v.Trace) != 2 {
		t.Fatalf("%v", v)
	}
}

func TestUnreachableGoalsAreFound(t *testing.T) {
	spec := counters(2)
	spec.Can = []Can[pair, string]{
		{Name: "a gets to the top", Good: func(p pair) bool { return p.a == 2 }},
		{Name: "a is raised", From: func(p pair) bool { return p.a < 2 }, Goal: func(_ pair, act string, _ pair) bool { return act == "raise a" }},
	}
	if _, err := Explore(spec); err != nil {
		t.Fatal(err)
	}
	spec.Can = append(spec.Can, Can[pair, string]{Name: "b gets to the top", From: func(p pair) bool { return p.a == 1 }, Good: func(p pair) bool { return p.b == 2 }})
	_, err := Explore(spec)
	if v := violated(t, err, "b gets to the top"); len(v.Trace) != 2 { // raising b is not one of the system's own steps
		t.Fatalf("%v", v)
	}
}

func TestTooManyStatesAreNoVerdict(t *testing.T) {
	spec := counters(100)
	spec.Bound = 50
	_, err := Explore(spec)
	var v *Violation
	if err == nil || errors.As(err, &v) {
		t.Fatalf("got %v", err)
	}
}

package graph

import (
	"fmt"
	"slices"
	"testing"

	"pgregory.net/rapid"

	"github.com/belfry-run/belfry/task"
)

// Every step stands behind all that it needs, cleanup behind all others, and no two at the same place.
func TestDrawingOfAnyWorkflow(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		n := rapid.IntRange(2, 30).Draw(t, "steps")
		w := task.Workflow{Steps: make([]task.Step, n)}
		for i := range w.Steps {
			s := &w.Steps[i]
			s.Name, s.Cleanup = fmt.Sprint("s", i), i > 0 && rapid.IntRange(0, 5).Draw(t, "cleanup") == 0
			for k := range i {
				if w.Steps[k].Cleanup == s.Cleanup && rapid.IntRange(0, 3).Draw(t, "needs") == 0 {
					s.Needs = append(s.Needs, fmt.Sprint("s", k))
				}
			}
		}
		// They need not be written in their order.
		w.Steps = rapid.Permutation(w.Steps).Draw(t, "order")
		d := Draw(w, nil, func(int) Node { return Node{} })
		at := map[[2]int]bool{}
		for i, node := range d.Nodes {
			if at[[2]int{node.X, node.Y}] {
				t.Fatalf("two steps at %d, %d", node.X, node.Y)
			}
			at[[2]int{node.X, node.Y}] = true
			if node.X+nodeWidth > d.Width || node.Y+nodeHeight > d.Height {
				t.Fatalf("%s stands outside", node.Name)
			}
			for _, need := range w.Steps[i].Needs {
				if k := w.Find(need); d.Nodes[k].X >= node.X {
					t.Fatalf("%s stands before %s, which it needs", node.Name, need)
				}
			}
			for k, other := range d.Nodes {
				if w.Steps[i].Cleanup && !w.Steps[k].Cleanup && other.X >= node.X {
					t.Fatalf("cleanup %s stands before %s", node.Name, other.Name)
				}
			}
		}
	})
}

func TestDrawingHasTheCriticalPathAbove(t *testing.T) {
	w := task.Workflow{Steps: []task.Step{
		{Name: "a"}, {Name: "b"}, {Name: "c", Needs: []string{"a", "b"}}, {Name: "d", Needs: []string{"a", "c"}},
	}}
	d := Draw(w, []int{1, 2, 3}, func(i int) Node { return Node{Note: fmt.Sprint("step ", i)} })
	// That d needs a goes without saying: it needs c.
	if len(d.Edges) != 3 || slices.IndexFunc(d.Edges, func(e Edge) bool { return e.Critical }) != 1 {
		t.Errorf("%+v", d.Edges)
	}
	if d.Nodes[0].Critical || !d.Nodes[3].Critical || d.Nodes[3].Name != "d" || d.Nodes[3].Note != "step 3" {
		t.Errorf("%+v", d.Nodes)
	}
	for _, steps := range []int{1, Most + 1} {
		if Draw(task.Workflow{Steps: make([]task.Step, steps)}, nil, nil) != nil {
			t.Errorf("%d steps are drawn", steps)
		}
	}
}

// Five steps one after another fit the pages at 1,280 pixels, beside the navigation.
func TestFiveColumnsFit(t *testing.T) {
	w := task.Workflow{Steps: []task.Step{{Name: "a"}}}
	for _, name := range []string{"b", "c", "d", "e"} {
		w.Steps = append(w.Steps, task.Step{Name: name, Needs: []string{w.Steps[len(w.Steps)-1].Name}})
	}
	if d := Draw(w, nil, func(int) Node { return Node{} }); d.Width > 1024 {
		t.Errorf("the drawing is %d pixels wide", d.Width)
	}
}

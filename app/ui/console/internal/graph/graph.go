// Package graph draws workflows. [Draw] lays the steps out in columns by their
// needs, and returns a [Drawing] for the templates. The result depends only on
// the steps, so the same workflow looks the same each time.
package graph

import (
	"cmp"
	"fmt"
	"slices"

	"github.com/belfry-run/belfry/task"
)

// Most is how many steps a drawing has at most. A larger one is read in a table.
const Most = 80

// Measures of a drawing, in pixels. The template of parts has those of a node too.
const (
	nodeWidth, nodeHeight = 168, 44
	nodeRight, nodeBelow  = 36, 16 // the space to the right and below: five columns fit a window of 1,280 pixels
	margin                = 4
	fade                  = 28 // at the right: a drawing that scrolls fades there, as jobs.css says
)

// Drawing is a workflow as a graph: the steps in columns, each behind all that it needs.
type Drawing struct {
	Width, Height int
	Nodes         []Node
	Edges         []Edge
}

// Node is a step.
type Node struct {
	Name     string
	Tone     string // class of its colour
	Note     string // the line below its name
	Link     string
	X, Y     int
	Critical bool
}

// Edge leads from a step to one that needs it.
type Edge struct {
	Path     string // as SVG writes it
	Critical bool
}

// Draw lays out a workflow. path has the indexes of the steps on the critical path, in order, and node returns the look of a
// step. A workflow of one step, or of too many, has no drawing.
func Draw(w task.Workflow, path []int, node func(i int) Node) *Drawing {
	if len(w.Steps) < 2 || len(w.Steps) > Most {
		return nil
	}
	needs := needsOf(w)
	d := &Drawing{Nodes: make([]Node, len(w.Steps))}
	for x, column := range order(columnsOf(w, needs), needs) {
		for y, i := range column {
			n := node(i)
			n.Name, n.Critical = w.Steps[i].Name, slices.Contains(path, i)
			n.X, n.Y = margin+x*(nodeWidth+nodeRight), margin+y*(nodeHeight+nodeBelow)
			d.Width, d.Height = max(d.Width, n.X+nodeWidth+margin+fade), max(d.Height, n.Y+nodeHeight+margin)
			d.Nodes[i] = n
		}
	}
	for to, of := range needs {
		for _, from := range of {
			a, b := d.Nodes[from], d.Nodes[to]
			at := slices.Index(path, to)
			x1, y1, x2, y2 := a.X+nodeWidth, a.Y+nodeHeight/2, b.X, b.Y+nodeHeight/2
			d.Edges = append(d.Edges, Edge{
				Path:     fmt.Sprintf("M%d %dC%d %d %d %d %d %d", x1, y1, x1+nodeRight/2, y1, x2-nodeRight/2, y2, x2, y2),
				Critical: at > 0 && path[at-1] == from,
			})
		}
	}
	slices.SortStableFunc(d.Edges, func(a, b Edge) int { // the critical ones above the others
		switch {
		case a.Critical == b.Critical:
			return 0
		case b.Critical:
			return -1
		}
		return 1
	})
	return d
}

// needsOf are the places of the steps that each step needs, without those that another of its needs has behind it: the
// drawing shows the order, and the table all needs.
func needsOf(w task.Workflow) [][]int {
	needs := make([][]int, len(w.Steps))
	for i, s := range w.Steps {
		for _, name := range s.Needs {
			if k := w.Find(name); k >= 0 && !slices.Contains(needs[i], k) {
				needs[i] = append(needs[i], k)
			}
		}
	}
	behind := make([]map[int]bool, len(needs)) // all that comes before a step
	var before func(i int) map[int]bool
	before = func(i int) map[int]bool {
		if behind[i] == nil {
			behind[i] = map[int]bool{}
			for _, k := range needs[i] {
				behind[i][k] = true
				for far := range before(k) {
					behind[i][far] = true
				}
			}
		}
		return behind[i]
	}
	direct := make([][]int, len(needs))
	for i, of := range needs {
		for _, k := range of {
			if !slices.ContainsFunc(of, func(other int) bool { return other != k && before(other)[k] }) {
				direct[i] = append(direct[i], k)
			}
		}
	}
	return direct
}

// columnsOf puts each step into the column after the last step that it needs, and cleanup into the last.
func columnsOf(w task.Workflow, needs [][]int) (columns [][]int) {
	at := make([]int, len(needs))
	var place func(i, floor int) int
	place = func(i, floor int) int {
		if at[i] == 0 {
			at[i] = floor
			for _, k := range needs[i] {
				at[i] = max(at[i], place(k, floor)+1)
			}
		}
		return at[i]
	}
	floor := 1
	for _, cleanup := range []bool{false, true} {
		last := 0
		for i, s := range w.Steps {
			if s.Cleanup == cleanup {
				last = max(last, place(i, floor))
			}
		}
		floor = max(floor, last+1)
	}
	for i, x := range at {
		for len(columns) < x {
			columns = append(columns, nil)
		}
		columns[x-1] = append(columns[x-1], i)
	}
	return columns
}

// order sorts each column so that fewer lines cross: a step is at the mean place of its needs, and ties keep the written order.
// It is the barycentre method of K. Sugiyama, S. Tagawa and M. Toda (1981), in one direction.
func order(columns, needs [][]int) [][]int {
	row := map[int]float64{}
	for _, column := range columns {
		middle := map[int]float64{}
		for y, i := range column {
			middle[i] = float64(y)
			if len(needs[i]) > 0 {
				sum := 0.0
				for _, k := range needs[i] {
					sum += row[k]
				}
				middle[i] = sum / float64(len(needs[i]))
			}
		}
		slices.SortStableFunc(column, func(a, b int) int { return cmp.Compare(middle[a], middle[b]) })
		for y, i := range column {
			row[i] = float64(y)
		}
	}
	return columns
}

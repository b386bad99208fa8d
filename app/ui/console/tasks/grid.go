package tasks

import (
	"context"
	"fmt"
	"strings"
	"time"

	"github.com/belfry-run/belfry/app/ui/console/internal/parts"
	"github.com/belfry-run/belfry/core"
	"github.com/belfry-run/belfry/task"
	"github.com/belfry-run/belfry/view"
)

type daysAPI interface {
	TaskDays(ctx context.Context, q view.TaskDaysQuery) (view.TaskDaysFound, error)
}

const (
	gridDays   = 14
	gridStep   = 8 // of a day of seven pixels and a gap
	gridHeight = 18
)

// grid has the results of a task's jobs on each of the last days.
type grid struct {
	Said  string
	Cells []gridCell
}

// gridCell is a day. Failures lie below successes, and can be seen however few they are.
type gridCell struct {
	X, Height, Bad int
	Tone, Title    string
}

// Width is how wide a grid is.
func (grid) Width() int { return gridDays*gridStep - 1 }

// Top is where a day begins, and BadTop the part of it that failed.
func (c gridCell) Top() int    { return gridHeight - c.Height }
func (c gridCell) BadTop() int { return gridHeight - c.Bad }

// newGrid draws the days up to today, which is a date in UTC.
func newGrid(days []view.DayTotals, today time.Time) grid {
	var g grid
	var ok, failed int64
	byDay := map[time.Time]view.DayTotals{}
	for _, d := range days {
		byDay[d.Day.UTC()] = d
	}
	for i := range gridDays {
		day := today.AddDate(0, 0, i+1-gridDays)
		d := byDay[day]
		ok, failed = ok+d.OK, failed+d.Failed
		c := gridCell{X: i * gridStep, Height: 2, Tone: "none", Title: day.Format("Mon 2 Jan: ") + dayText(d)}
		switch {
		case d.OK+d.Failed > 0:
			c.Tone, c.Height = "good", gridHeight
			if d.Failed > 0 {
				c.Bad = max(3, int(gridHeight*d.Failed/(d.OK+d.Failed)))
			}
		case d.Canceled+d.Skipped > 0:
			c.Tone, c.Height = "idle", gridHeight
		}
		g.Cells = append(g.Cells, c)
	}
	g.Said = fmt.Sprintf("%d succeeded, %d failed", ok, failed)
	return g
}

func dayText(d view.DayTotals) string {
	var all []string
	for _, n := range []struct {
		n    int64
		what string
	}{{d.OK, "succeeded"}, {d.Failed, "failed"}, {d.Canceled, "canceled"}, {d.Skipped, "skipped"}} {
		if n.n > 0 {
			all = append(all, parts.NumberText(n.n)+" "+n.what)
		}
	}
	if len(all) == 0 {
		return "nothing ended"
	}
	return strings.Join(all, ", ")
}

// grids are those of the tasks of a list, by namespace and name.
func (p *page) grids(list []task.Task) (map[string]grid, error) {
	grids := map[string]grid{}
	today := p.Now.UTC().Truncate(24 * time.Hour)
	for len(list) > 0 {
		part := list[:min(len(list), view.MaxStrips)]
		list = list[len(part):]
		q := view.TaskDaysQuery{Namespace: p.Namespace, To: today, From: today.AddDate(0, 0, 1-gridDays)}
		for _, t := range part {
			q.Tasks = append(q.Tasks, t.Name)
		}
		found, err := p.api.TaskDays(p.R.Context(), q)
		if err != nil {
			return nil, err
		}
		for _, d := range found.Items {
			grids[d.Namespace+"/"+d.Task] = newGrid(d.Days, today)
		}
	}
	return grids, nil
}

// Grid is that of a task of the list.
func (d tasksData) Grid(t task.Task) grid {
	return d.Grids[core.Or(t.Namespace, core.DefaultNamespace)+"/"+t.Name]
}

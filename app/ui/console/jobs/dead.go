package jobs

import (
	"slices"
	"strings"
	"time"

	"github.com/belfry-run/belfry/app/ui/console/internal/frame"
	"github.com/belfry-run/belfry/app/ui/console/internal/parts"
	"github.com/belfry-run/belfry/core"
	"github.com/belfry-run/belfry/job"
	"github.com/belfry-run/belfry/view"
)

var deadRoutes = routes{"GET /dead": deadPage}

const (
	deadLook   = 1000 // dead jobs that are grouped
	deadShown  = 10   // of each group
	deadGroups = 100
	deadTerm   = 200 // bytes of an error that a search for a group has
)

// deadGroup are dead jobs of one task that said the same.
type deadGroup struct {
	ID        int
	Namespace string
	Task      string
	Error     string // its first line
	Jobs      int
	Newest    time.Time
	Oldest    time.Time
	Some      []job.Job // the newest
}

type deadData struct {
	Search jobSearch
	Groups []deadGroup
	Looked int
	More   bool // there are more dead jobs than were looked at
	Rest   int  // groups that are not shown
	Count  core.Counted
	Titles view.Titles
}

func deadPage(p *page) error {
	d := deadData{Search: p.jobSearch()}
	d.Search.Text = withoutTerm(d.Search.Text, "state")
	if d.Search.Err != nil {
		return p.Again("dead", d, d.Search.Err)
	}
	f := d.Search.Filter
	f.States = []job.State{job.Failed}
	var dead core.Page[job.Job]
	var n job.Count
	listed := f
	listed.Paging = core.Paging{Limit: deadLook, Cursor: p.Query("cursor")}
	ctx := p.R.Context()
	err := frame.Together(
		frame.Get(&dead, func() (core.Page[job.Job], error) { return p.api.Jobs(ctx, listed) }),
		frame.Get(&n, func() (job.Count, error) { return p.api.CountJobs(ctx, f, view.CountOptions{}) }),
	)
	if err != nil {
		return err
	}
	d.Count, d.Looked, d.More = n.Counted, len(dead.Items), dead.Next != ""
	d.Groups = groupDead(dead.Items)
	if len(d.Groups) > deadGroups {
		d.Rest, d.Groups = len(d.Groups)-deadGroups, d.Groups[:deadGroups]
	}
	named := view.Named{Namespace: p.Namespace}
	for i := range d.Groups {
		d.Groups[i].ID = i + 1
		named.Task(d.Groups[i].Task)
	}
	if d.Titles, err = frame.Titles(ctx, p.api, named); err != nil {
		return err
	}
	return p.Show("dead", d)
}

// groupDead groups jobs, newest first, by task and error. The largest
// group comes first.
func groupDead(jobs []job.Job) (groups []deadGroup) {
	type of struct{ namespace, task, said string }
	at := map[of]int{}
	for _, j := range jobs {
		key := of{namespace: j.Namespace, task: j.Task, said: parts.FirstLine(j.Error)}
		i, known := at[key]
		if !known {
			i = len(groups)
			at[key] = i
			groups = append(groups, deadGroup{Namespace: j.Namespace, Task: j.Task, Error: key.said, Newest: j.FinishedAt, Oldest: j.FinishedAt})
		}
		g := &groups[i]
		g.Jobs++
		if j.FinishedAt.After(g.Newest) {
			g.Newest = j.FinishedAt
		}
		if j.FinishedAt.Before(g.Oldest) {
			g.Oldest = j.FinishedAt
		}
		if len(g.Some) < deadShown {
			g.Some = append(g.Some, j)
		}
	}
	slices.SortStableFunc(groups, func(a, b deadGroup) int { return b.Jobs - a.Jobs })
	return groups
}

// groupSearch is a search for all jobs of a group. The group itself counts only the newest dead jobs.
func groupSearch(d deadData, g deadGroup) string {
	f := job.Filter{Task: g.Task, States: []job.State{job.Failed}}
	f.Error, _ = core.CleanText(g.Error, deadTerm)
	text := f.String()
	for _, name := range []string{"task", "error"} {
		d.Search.Text = withoutTerm(d.Search.Text, name)
	}
	return strings.TrimSpace(text + " " + d.Search.Text)
}

// AllDead finds all dead jobs that the search of the page is for.
func (d deadData) AllDead() string {
	return strings.TrimSpace(d.Search.Text + stateTerm([]job.State{job.Failed}))
}

// DeadSearch is the input of the search.
func (p *page) DeadSearch(s jobSearch) parts.Search {
	in := p.JobSearch(p.Link("dead"), s)
	in.Like = `task:backup error:"timed out" since:1d`
	return in
}

// DeadCount is how many dead jobs there are.
func (d deadData) DeadCount() string { return parts.Counted(d.Count) }

// DeadCommand is retrying a group without this page.
func (p *page) DeadCommand(search string) parts.Command {
	return p.BulkCommand(bulk{Verb: bulkVerbs["retry"], Search: search})
}

package jobs

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/belfry-run/belfry/app/ui/console/internal/frame"
	"github.com/belfry-run/belfry/app/ui/console/internal/parts"
	"github.com/belfry-run/belfry/core"
	"github.com/belfry-run/belfry/job"
	"github.com/belfry-run/belfry/view"
)

type jobsAPI interface {
	Jobs(ctx context.Context, f job.Filter) (core.Page[job.Job], error)
	CountJobs(ctx context.Context, f job.Filter, o view.CountOptions) (job.Count, error)
	CancelJobs(ctx context.Context, namespace string, s view.Selection) (view.Selected, error)
	Titles(ctx context.Context, q view.Named) (view.Titles, error)
	RetryJobs(ctx context.Context, namespace string, s view.Selection) (view.Selected, error)
}

var jobsRoutes = routes{
	"GET /jobs":        jobList,
	"GET /jobs/-bulk":  jobsDryRun,
	"POST /jobs/-bulk": jobsBulk,
}

// jobSearch is a search for jobs, with its text as a person wrote it, for the
// address and the input.
type jobSearch struct {
	Text   string
	Filter job.Filter
	Err    error
}

func (p *page) jobSearch() jobSearch {
	s := jobSearch{Text: strings.TrimSpace(p.Query("q"))}
	s.Filter, s.Err = job.ParseJobFilter(s.Text, p.Now.UTC())
	s.Filter.Namespace = p.Namespace
	return s
}

// Faults are the faults of the search.
func (s jobSearch) Faults() []core.FieldError {
	if s.Err == nil {
		return nil
	}
	if faults := parts.FaultsOf(s.Err); len(faults) > 0 {
		return faults
	}
	return []core.FieldError{{Field: "q", Message: s.Err.Error()}}
}

// In is the search for other states: for all when there are none.
func (s jobSearch) In(states ...job.State) string {
	return withoutTerm(s.Text, "state") + stateTerm(states)
}

func stateTerm(states []job.State) string {
	if len(states) == 0 {
		return ""
	}
	words := make([]string, len(states))
	for i, st := range states {
		words[i] = string(st)
	}
	return " state:" + strings.Join(words, ",")
}

// withoutTerm removes a term with any value from a search, and keeps the rest as it
// was written.
func withoutTerm(search, name string) string {
	var kept []string
	quoted, escaped := false, false
	for _, term := range strings.FieldsFunc(search, func(r rune) bool {
		switch {
		case escaped:
			escaped = false
		case quoted && r == '\\':
			escaped = true
		case r == '"':
			quoted = !quoted
		}
		return r == ' ' && !quoted
	}) {
		if !strings.HasPrefix(strings.ToLower(term), name+":") {
			kept = append(kept, term)
		}
	}
	return strings.Join(kept, " ")
}

type jobsData struct {
	Search jobSearch
	Jobs   core.Page[job.Job]
	Count  job.Count
	Titles view.Titles
	Fresh  bool // without a search
}

func jobList(p *page) error {
	d := jobsData{Search: p.jobSearch()}
	d.Fresh = d.Search.Text == "" && p.Query("cursor") == ""
	if d.Search.Err != nil {
		return p.Again("jobs", d, d.Search.Err)
	}
	ctx, listed, counted := p.R.Context(), d.Search.Filter, d.Search.Filter
	listed.Paging = core.Paging{Cursor: p.Query("cursor")}
	counted.States = nil
	err := frame.Together(
		frame.Get(&d.Jobs, func() (core.Page[job.Job], error) { return p.api.Jobs(ctx, listed) }),
		frame.Get(&d.Count, func() (job.Count, error) {
			return p.api.CountJobs(ctx, counted, view.CountOptions{ByState: true})
		}),
	)
	if core.CodeOf(err) == core.Invalid {
		d.Search.Err = err
		return p.Again("jobs", d, err)
	}
	if err != nil {
		return err
	}
	named := view.Named{Namespace: p.Namespace}
	for _, j := range d.Jobs.Items {
		named.Task(j.Task)
		named.Schedule(j.Schedule)
	}
	if d.Titles, err = frame.Titles(ctx, p.api, named); err != nil {
		return err
	}
	return p.Show("jobs", d)
}

// StateTabs are the views of the list: all jobs, and those of each state.
func (p *page) StateTabs(d jobsData) []parts.Tab {
	at := d.Search.Filter.States
	link := func(states ...job.State) string {
		return p.With(p.Link("jobs"), "q", strings.TrimSpace(d.Search.In(states...)))
	}
	all := []parts.Tab{parts.NewTab("All", link(), len(at) == 0, parts.Counted(d.Count.Counted))}
	for _, st := range job.States {
		count, known := d.Count.States[st]
		text := ""
		if known {
			text = parts.Counted(count)
		}
		here := len(at) == 1 && at[0] == st
		all = append(all, parts.NewTab(parts.SentenceCase(string(st)), link(st), here, text))
	}
	return all
}

// JobPager links to the next page of the list.
func (p *page) JobPager(d jobsData) parts.Pager { return p.Pager(d.Jobs.Next) }

// JobsCommand is the command for the list.
func (p *page) JobsCommand(d jobsData) parts.Command {
	cli := []string{"job", "list"}
	if d.Search.Text != "" {
		cli = append(cli, d.Search.Text)
	}
	return p.Command("GET", p.APIPath("/v1/jobs", "q", d.Search.Text), "", cli...)
}

// bulkVerb is an action on many jobs.
type bulkVerb struct {
	Name   string // as the API has it
	Done   string
	Asks   string
	What   string
	fits   []job.State
	usual  []job.State // when the search names no states
	Danger bool
}

var bulkVerbs = map[string]bulkVerb{
	"cancel": {
		Name: "cancel", Done: "canceled", Asks: "Cancel", Danger: true,
		What: "Those that wait end at once. Those that run are asked to end, and end when their worker has stopped them.",
		fits: job.States[:4], usual: job.States[:4],
	},
	"retry": {
		Name: "retry", Done: "retried", Asks: "Retry",
		What: "They become ready again with all their attempts back, and run as their tasks are now.",
		fits: []job.State{job.Failed, job.Canceled, job.Skipped}, usual: []job.State{job.Failed},
	},
}

// Fits reports that it can be done to some job in one of these states; no
// states are all.
func (v bulkVerb) Fits(states []job.State) bool {
	return len(states) == 0 || slices.ContainsFunc(states, func(s job.State) bool { return slices.Contains(v.fits, s) })
}

// BulkLink is the dry run of doing something to all that the search finds.
func (p *page) BulkLink(verb, search string) string {
	return p.With(p.Link("jobs", "-bulk"), "do", verb, "q", search)
}

// verbsFor are the bulk actions that fit the states in the list.
func verbsFor(d jobsData) []bulkVerb {
	var out []bulkVerb
	for _, name := range []string{"cancel", "retry"} {
		if v := bulkVerbs[name]; v.Fits(d.Search.Filter.States) {
			out = append(out, v)
		}
	}
	return out
}

// JobSearch is the input of a search for jobs that is shown at a link.
func (p *page) JobSearch(link string, s jobSearch) parts.Search {
	in := parts.Search{Action: link, Label: "Search", Text: s.Text, Like: "task:backup state:failed since:2h", Most: job.MaxJobQuery, Faults: s.Faults(), Terms: jobTerms()}
	if p.Elsewhere() {
		in.Namespace = p.Namespace
	}
	return in
}

// jobTerms explain the language of a search for jobs.
func jobTerms() []parts.SearchTerm {
	return []parts.SearchTerm{
		{Like: "1042, id:1042", Means: "the job with this id"},
		{Like: "state:failed,canceled", Means: fmt.Sprintf("in one of these states: %s; or live, done, dead", core.List(job.States))},
		{Like: "task:backup", Means: "of this task"},
		{Like: "schedule:nightly", Means: "that this schedule asked for"},
		{Like: "queue:default", Means: "of this queue"},
		{Like: "tag:weekly", Means: "with this tag"},
		{Like: "kind:http", Means: "whose task is of this kind"},
		{Like: "trigger:manual", Means: "asked for in this way: " + core.List(job.Triggers)},
		{Like: "session:0198…", Means: "that this session of a worker runs or ran last"},
		{Like: "attempt>1", Means: "with so many attempts begun; also >=, <, <= and :"},
		{Like: `error:"timed out"`, Means: "whose last attempt said this"},
		{Like: "since:2h", Means: "created in the last 2 hours; also 7d, today, 2026-03-02 or an instant"},
		{Like: "until:yesterday", Means: "created before this"},
	}
}

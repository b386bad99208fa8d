package console

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/belfry-run/belfry/core"
	"github.com/belfry-run/belfry/job"
	"github.com/belfry-run/belfry/view"
)

type jobsAPI interface {
	Jobs(ctx context.Context, f job.Filter) (core.Page[job.Job], error)
	CountJobs(ctx context.Context, f job.Filter, o view.CountOptions) (job.Count, error)
	CancelJobs(ctx context.Context, namespace string, s view.Selection) (view.Selected, error)
	RetryJobs(ctx context.Context, namespace string, s view.Selection) (view.Selected, error)
}

var jobsRoutes = []route{
	{"GET /jobs", jobList},
	{"GET /jobs/-bulk", jobsDryRun},
	{"POST /jobs/-bulk", jobsBulk},
}

// jobSearch is a search for jobs as somebody wrote it: the text is what the
// address and the input show.
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

// Faults are what is wrong with the search.
func (s jobSearch) Faults() []core.FieldError {
	if s.Err == nil {
		return nil
	}
	if faults := faultsOf(s.Err); len(faults) > 0 {
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

// withoutTerm leaves a term out of a search, whatever its value, and the rest
// as it was written.
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
	Fresh  bool // nobody searched for anything
}

func jobList(p *page) error {
	d := jobsData{Search: p.jobSearch()}
	d.Fresh = d.Search.Text == "" && p.Query("cursor") == ""
	if d.Search.Err != nil {
		return p.again("jobs", d, d.Search.Err)
	}
	ctx, listed, counted := p.r.Context(), d.Search.Filter, d.Search.Filter
	listed.Paging = core.Paging{Cursor: p.Query("cursor")}
	counted.States = nil
	err := together(
		get(&d.Jobs, func() (core.Page[job.Job], error) { return p.api.Jobs(ctx, listed) }),
		get(&d.Count, func() (job.Count, error) {
			return p.api.CountJobs(ctx, counted, view.CountOptions{ByState: true})
		}),
	)
	if core.CodeOf(err) == core.Invalid {
		d.Search.Err = err
		return p.again("jobs", d, err)
	}
	if err != nil {
		return err
	}
	return p.show("jobs", d)
}

// counted is a number that was counted no further than a cap.
func counted(c core.Counted) string {
	if c.More {
		return numberText(c.Count) + "+"
	}
	return numberText(c.Count)
}

// StateTabs are the views of the list: all jobs, and those of each state.
func (p *page) StateTabs(d jobsData) []tab {
	at := d.Search.Filter.States
	link := func(states ...job.State) string {
		return p.With(p.Link("jobs"), "q", strings.TrimSpace(d.Search.In(states...)))
	}
	all := []tab{newTab("All", link(), len(at) == 0, counted(d.Count.Counted))}
	for _, st := range job.States {
		count, known := d.Count.States[st]
		text := ""
		if known {
			text = counted(count)
		}
		here := len(at) == 1 && at[0] == st
		all = append(all, newTab(sentenceCase(string(st)), link(st), here, text))
	}
	return all
}

// JobPager goes on with the list.
func (p *page) JobPager(d jobsData) pager { return p.pager(d.Jobs.Next) }

// jobTook is how long the last attempt of a job ran, or has been running.
func jobTook(now time.Time, j job.Job) string {
	switch {
	case j.ClaimedAt.IsZero():
		return "–"
	case !j.FinishedAt.IsZero():
		return spanText(max(0, j.FinishedAt.Sub(j.ClaimedAt)))
	case j.State == job.Running:
		return spanText(max(0, now.Sub(j.ClaimedAt)).Truncate(time.Second))
	}
	return "–"
}

// jobChip is the state of a job: one that waits for another try says so.
func jobChip(j job.Job) chip {
	switch {
	case j.State == job.Scheduled && j.Attempt > 0 && j.Failures > 0:
		return newChip("retrying")
	case j.State == job.Running && !j.CancelAt.IsZero():
		return chip{"to be canceled", "warn", "!"}
	}
	return newChip(j.State)
}

// firstLine is the first line of a text that says something.
func firstLine(text string) string {
	for line := range strings.Lines(text) {
		if line = strings.TrimSpace(line); line != "" {
			return line
		}
	}
	return ""
}

// firstLineShort is that of an error, cut for a table.
func firstLineShort(text string) string { return short(160, firstLine(text)) }

// owner is a monitor that a task or schedule belongs to.
func owner(name string) (monitor string, owned bool) { return strings.CutPrefix(name, "monitor:") }

// TaskLink is where a task is shown: its own page, or its monitor's.
func (p *page) TaskLink(namespace, task string) string {
	if monitor, owned := owner(task); owned {
		return p.LinkIn(namespace, "monitors", monitor)
	}
	return p.LinkIn(namespace, "tasks", task)
}

// taskName is what a task is called for people.
func taskName(task string) string {
	if monitor, owned := owner(task); owned {
		return "monitor " + monitor
	}
	return task
}

// ScheduleLink is where a schedule is shown; empty when it is a monitor's own.
func (p *page) ScheduleLink(namespace, schedule string) string {
	if _, owned := owner(schedule); owned || schedule == "" {
		return ""
	}
	return p.LinkIn(namespace, "schedules", schedule)
}

// JobsCommand is the list without this page.
func (p *page) JobsCommand(d jobsData) command {
	cli := []string{"job", "list"}
	if d.Search.Text != "" {
		cli = append(cli, d.Search.Text)
	}
	return p.Command("GET", p.apiPath("/v1/jobs", "q", d.Search.Text), "", cli...)
}

// bulkVerb is what can be done to many jobs.
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

// verbsFor are those that the list offers.
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
func (p *page) JobSearch(link string, s jobSearch) search {
	in := search{Action: link, Label: "Search", Text: s.Text, Like: "task:backup state:failed since:2h", Most: job.MaxJobQuery, Faults: s.Faults(), Terms: jobTerms()}
	if p.Elsewhere() {
		in.Namespace = p.Namespace
	}
	return in
}

// jobTerms explain the language of a search for jobs.
func jobTerms() []searchTerm {
	return []searchTerm{
		{"1042, id:1042", "the job with this id"},
		{"state:failed,canceled", fmt.Sprintf("in one of these states: %s; or live, done, dead", strings.Trim(fmt.Sprint(job.States), "[]"))},
		{"task:backup", "of this task"},
		{"schedule:nightly", "that this schedule asked for"},
		{"queue:default", "of this queue"},
		{"tag:weekly", "with this tag"},
		{"kind:http", "whose task is of this kind"},
		{"trigger:manual", "asked for in this way: " + strings.Trim(fmt.Sprint(job.Triggers), "[]")},
		{"session:0198…", "that this session of a worker runs or ran last"},
		{"attempt>1", "with so many attempts begun; also >=, <, <= and :"},
		{`error:"timed out"`, "whose last attempt said this"},
		{"since:2h", "created in the last 2 hours; also 7d, today, 2026-03-02 or an instant"},
		{"until:yesterday", "created before this"},
	}
}

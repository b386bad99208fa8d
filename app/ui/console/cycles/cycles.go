package cycles

import (
	"context"
	"encoding/json"
	"fmt"
	"net/url"
	"time"

	"github.com/belfry-run/belfry/app/ui/console/internal/frame"
	"github.com/belfry-run/belfry/app/ui/console/internal/parts"
	"github.com/belfry-run/belfry/core"
	"github.com/belfry-run/belfry/cycle"
	"github.com/belfry-run/belfry/job"
	"github.com/belfry-run/belfry/schedule"
	"github.com/belfry-run/belfry/view"
)

type cycleAPI interface {
	Cycles(ctx context.Context, f view.DocumentFilter) (core.Page[cycle.Status], error)
	CycleStatus(ctx context.Context, namespace, name string) (cycle.Status, error)
	RunCycle(ctx context.Context, namespace, name string) (job.Job, error)
	CancelCycle(ctx context.Context, namespace, name, note string) (view.Selected, error)
	SkipMember(ctx context.Context, namespace, cycle, member string) (cycle.Run, error)
	ResetTiming(ctx context.Context, namespace, cycle string, members ...string) ([]string, error)
	Job(ctx context.Context, namespace string, id int64) (job.Job, error)
	Jobs(ctx context.Context, f job.Filter) (core.Page[job.Job], error)
	Schedules(ctx context.Context, f schedule.Filter) (core.Page[schedule.Schedule], error)
	Titles(ctx context.Context, q view.Named) (view.Titles, error)
}

var cycleRoutes = routes{
	"GET /cycles":                cycleList,
	"GET /cycles/{name}":         cyclePage,
	"POST /cycles/{name}/run":    runCycle,
	"POST /cycles/{name}/cancel": cancelCycle,
	"POST /cycles/{name}/skip":   skipMember,
	"POST /cycles/{name}/reset":  resetTiming,
}

// cycleRuns is how many of the last runs a cycle's page shows.
const cycleRuns = 10

type cyclesData struct {
	Cycles core.Page[cycle.Status]
	Pager  parts.Pager
}

func cycleList(p *page) error {
	all, err := p.api.Cycles(p.R.Context(), view.DocumentFilter{Namespace: p.Namespace, Paging: core.Paging{Cursor: p.Query("cursor")}})
	if err != nil {
		return err
	}
	return p.Show("cycles", cyclesData{all, p.Pager(all.Next)})
}

type cycleData struct {
	cycle.Status
	Steps     []cycleStep // of the run under way, or of the last one
	Runs      []cycleEnd
	More      string // cursor of the jobs that are not shown
	Schedules []schedule.Schedule
	Titles    view.Titles // of its members
}

// cycleStep is a member in a run.
type cycleStep struct {
	Number    int
	Member    string
	State     string // as for a chip
	Note      string
	Job       int64
	At        time.Time
	Current   bool
	Skippable bool
}

// cycleEnd is a run that ended.
type cycleEnd struct {
	Job    job.Job
	Output cycle.Output
}

func cyclePage(p *page) error {
	ctx, name := p.R.Context(), p.R.PathValue("name")
	var d cycleData
	var jobs core.Page[job.Job]
	var schedules core.Page[schedule.Schedule]
	err := frame.Together(
		frame.Get(&d.Status, func() (cycle.Status, error) { return p.api.CycleStatus(ctx, p.Namespace, name) }),
		frame.Get(&jobs, func() (core.Page[job.Job], error) {
			return p.api.Jobs(ctx, job.Filter{Namespace: p.Namespace, Task: name, Paging: core.Paging{Limit: cycleRuns + 1},
				States: []job.State{job.Succeeded, job.Failed, job.Canceled, job.Skipped}})
		}),
		frame.Get(&schedules, func() (core.Page[schedule.Schedule], error) {
			return p.api.Schedules(ctx, schedule.Filter{Namespace: p.Namespace, Task: name, Paging: core.Paging{Limit: 20}})
		}),
	)
	if err != nil {
		return err
	}
	d.More, d.Schedules = jobs.Next, schedules.Items
	members := view.Named{Namespace: p.Namespace}
	for _, m := range d.Members {
		members.Task(m.Task)
	}
	if d.Titles, err = frame.Titles(ctx, p.api, members); err != nil {
		return err
	}
	if err := p.cycleEnds(&d, jobs.Items); err != nil {
		return err
	}
	if d.Run != nil {
		now, err := p.cycleNow(*d.Run)
		if err != nil {
			return err
		}
		d.Steps = p.cycleSteps(*d.Run, now)
	} else if d.Last != nil {
		d.Steps = resultSteps(d.Last.Members)
	}
	return p.Show("cycle", d)
}

// cycleEnds reads the outputs of ended runs, which lists of jobs leave out.
func (p *page) cycleEnds(d *cycleData, jobs []job.Job) error {
	d.Runs = make([]cycleEnd, min(len(jobs), cycleRuns))
	reads := make([]func() error, len(d.Runs))
	for i := range d.Runs {
		end := &d.Runs[i]
		end.Job = jobs[i]
		reads[i] = func() (err error) {
			if end.Job.State == job.Canceled {
				return nil // which has none
			}
			end.Job, err = p.api.Job(p.R.Context(), end.Job.Namespace, end.Job.ID)
			if core.CodeOf(err) == core.NotFound { // deleted by retention in the meantime
				return nil
			}
			if err == nil && len(end.Job.Output) > 0 {
				_ = json.Unmarshal(end.Job.Output, &end.Output) // a job from before the task was a cycle shows as itself
			}
			return err
		}
	}
	return frame.Together(reads...)
}

// cycleNow is the job of the member that runs, or is next.
func (p *page) cycleNow(r cycle.Run) (j job.Job, err error) {
	if r.MemberJob == 0 {
		return j, nil
	}
	j, err = p.api.Job(p.R.Context(), r.Namespace, r.MemberJob)
	if core.CodeOf(err) == core.NotFound {
		return job.Job{}, nil
	}
	return j, err
}

// resultSteps are members that are done.
func resultSteps(results []cycle.MemberResult) []cycleStep {
	steps := make([]cycleStep, len(results))
	for i, m := range results {
		s := cycleStep{Number: i + 1, Member: m.Task, State: string(m.State), Note: m.Reason, Job: m.JobID, At: m.EndedAt}
		if !m.StartedAt.IsZero() {
			s.Note = "took " + core.SpanText(m.EndedAt.Sub(m.StartedAt))
			if m.Attempts > 1 {
				s.Note += ", " + parts.NumberText(m.Attempts) + " attempts"
			}
		}
		if m.Error != "" {
			s.Note += ": " + parts.Short(200, m.Error)
		}
		steps[i] = s
	}
	return steps
}

// cycleSteps are all members of a run under way; now is the job of the one
// whose turn it is, if it has one.
func (p *page) cycleSteps(r cycle.Run, now job.Job) []cycleStep {
	left := map[string]bool{}
	for _, name := range r.Skip {
		left[name] = true
	}
	steps := resultSteps(r.Results)
	for i := len(steps); i < len(r.Members); i++ {
		s := cycleStep{Number: i + 1, Member: r.Members[i].Task, State: "waiting", Skippable: true}
		if left[s.Member] {
			s.Skippable, s.Note = false, "will be left out by "+r.SkippedBy
		}
		if i == r.Position() {
			s.Current, s.Job = true, r.MemberJob
			p.currentStep(&s, r, now)
		}
		steps = append(steps, s)
	}
	return steps
}

func (p *page) currentStep(s *cycleStep, r cycle.Run, now job.Job) {
	switch {
	case r.WaitsFor != 0:
		s.Note = fmt.Sprintf("it waits for job %d, a member of another run", r.WaitsFor)
	case now.State == job.Running:
		s.State, s.Note = string(now.State), core.SpanText(max(0, p.Now.Sub(now.ClaimedAt)))+" so far"
		if now.Attempt > 1 {
			s.Note += fmt.Sprintf(", attempt %d of %d", now.Attempt, now.MaxAttempts)
		}
		if !now.CancelAt.IsZero() {
			s.Note += ", asked to end"
		}
	case r.TurnAt.After(p.Now):
		s.Note = "begins " + p.Ago(r.TurnAt).Rel() + ", so that members do not all start at once"
	case now.ID != 0:
		s.State = string(now.State)
	}
}

// Progress is the run under way as a row of small bars.
func (d cycleData) Progress() parts.Strip {
	s := parts.Strip{Label: "Members of " + d.Task.Name}
	for _, step := range d.Steps {
		tone, known := parts.Tones[step.State]
		if !known || step.State == "waiting" && !step.Current {
			tone[0] = "none"
		}
		s.Cells = append(s.Cells, parts.Cell{Tone: tone[0], Title: fmt.Sprintf("%d %s: %s", step.Number, step.Member, parts.Words(step.State))})
	}
	return s
}

// Tally counts the members that are done, for people.
func (d cycleData) Tally() cycle.Output {
	if d.Run != nil {
		return d.Run.Output(d.Run.StartedAt)
	}
	return cycle.Output{}
}

// Strip has the results of the members of a run.
func (e cycleEnd) Strip() parts.Strip {
	s := parts.Strip{Label: fmt.Sprintf("Members of job %d", e.Job.ID)}
	for _, m := range e.Output.Members {
		title := m.Task + ": " + string(m.State)
		if m.Reason != "" {
			title += ", " + m.Reason
		}
		s.Cells = append(s.Cells, parts.Cell{Tone: parts.Tones[string(m.State)][0], Title: title})
	}
	return s
}

// cycleState is the word for a cycle's chip.
func cycleState(s cycle.Status) string {
	if s.Run != nil {
		return "running"
	}
	return "idle"
}

// cycleProgress is the progress of the current run.
func cycleProgress(s cycle.Status) parts.Bar {
	of := len(s.Run.Members)
	return parts.NewBar("Progress of "+s.Task.Name, float64(s.Done), float64(of), fmt.Sprintf("%s of %s", parts.NumberText(s.Done), parts.NumberText(of)), "busy")
}

// dueMembers counts the members that the next run would run.
func dueMembers(s cycle.Status) int {
	n := 0
	for _, m := range s.Members {
		if m.Due {
			n++
		}
	}
	return n
}

func runCycle(p *page) error {
	name := p.R.PathValue("name")
	j, err := p.api.RunCycle(p.R.Context(), p.Namespace, name)
	if err != nil {
		return err
	}
	return p.Done(p.Link("cycles", name), "Cycle %s begins, as job %d. Members that are not due are left out.", name, j.ID)
}

func cancelCycle(p *page) error {
	name := p.R.PathValue("name")
	done, err := p.api.CancelCycle(p.R.Context(), p.Namespace, name, p.R.PostFormValue("note"))
	if err != nil {
		return err
	}
	if len(done.IDs) == 0 {
		return p.Done(p.Link("cycles", name), "Cycle %s was no longer under way.", name)
	}
	return p.Done(p.Link("cycles", name), "Cycle %s is asked to end, with the member that runs.", name)
}

func skipMember(p *page) error {
	name, member := p.R.PathValue("name"), p.R.PostFormValue("member")
	if _, err := p.api.SkipMember(p.R.Context(), p.Namespace, name, member); err != nil {
		return err
	}
	return p.Done(p.Link("cycles", name), "Member %s is left out of this run.", member)
}

func resetTiming(p *page) error {
	name := p.R.PathValue("name")
	var members []string
	if m := p.R.PostFormValue("member"); m != "" {
		members = []string{m}
	}
	reset, err := p.api.ResetTiming(p.R.Context(), p.Namespace, name, members...)
	if err != nil {
		return err
	}
	if len(reset) == 1 {
		return p.Done(p.Link("cycles", name), "Member %s is due.", reset[0])
	}
	return p.Done(p.Link("cycles", name), "%s are due.", parts.Plural(len(reset), "member", "members"))
}

func cyclePath(name string, more string) string {
	return "/v1/cycles/" + url.PathEscape(name) + more
}

// CycleCommand is the command that shows the cycle.
func (p *page) CycleCommand(name string) parts.Command {
	return p.Command("GET", p.APIPath(cyclePath(name, "")), "", "cycle", "show", name)
}

// CyclesCommand is the command for the list.
func (p *page) CyclesCommand() parts.Command {
	return p.Command("GET", p.APIPath("/v1/cycles"), "", "cycle", "list")
}

// RunCycle asks before a cycle runs outside its schedule.
func (p *page) RunCycle(d cycleData) parts.Confirm {
	name := d.Task.Name
	cmd := p.Command("POST", p.APIPath(cyclePath(name, "/run")), "", "cycle", "run", name)
	return parts.Confirm{
		ID: "run", Button: "Run now", Title: "Run " + name + " now?",
		Text:   dueText(dueMembers(d.Status), len(d.Members)),
		Action: p.Link("cycles", name, "run"), Cmd: &cmd,
	}
}

// dueText says how many members of a run are due.
func dueText(due, all int) string {
	switch {
	case due == 0:
		return "No member is due: all are skipped."
	case due == all:
		return parts.Plural(all, "member runs.", "members run, one after another.")
	case due == 1:
		return fmt.Sprintf("1 of %d members is due and runs. The others are skipped.", all)
	}
	return fmt.Sprintf("%d of %d members are due and run one after another. The others are skipped.", due, all)
}

// CancelCycle asks before a run ends.
func (p *page) CancelCycle(d cycleData) parts.Confirm {
	name := d.Task.Name
	cmd := p.Command("POST", p.APIPath(cyclePath(name, "/cancel")), `{"note":"why"}`, "cycle", "cancel", name, "--note", "why")
	return parts.Confirm{
		ID: "cancel", Button: "Cancel the run", Danger: true, Title: "Cancel this run of " + name + "?",
		Text:   "The running member is asked to end, and no other member starts. Finished members stay finished.",
		Action: p.Link("cycles", name, "cancel"), Cmd: &cmd,
		Fields: []parts.Field{parts.NewField("note", "Reason", "text", "", "Kept with the job.", nil)},
	}
}

// SkipMember asks before a member is left out.
func (p *page) SkipMember(d cycleData, s cycleStep) parts.Confirm {
	name := d.Task.Name
	cmd := p.Command("POST", p.APIPath(cyclePath(name, "/members/"+url.PathEscape(s.Member)+"/skip")), "", "cycle", "skip-member", name, s.Member)
	c := parts.Confirm{
		ID: fmt.Sprintf("skip-%d", s.Number), Button: "Skip", Title: "Leave " + s.Member + " out of this run?",
		Text:   "The cycle goes on with the member behind it.",
		Action: p.Link("cycles", name, "skip"), Hidden: map[string]string{"member": s.Member}, Cmd: &cmd,
	}
	if s.Job != 0 {
		c.Danger, c.Text = true, "It is asked to end, and the cycle goes on with the member behind it."
	}
	return c
}

// ResetTiming asks before the last success of a member is dropped, so that it is due. Without a member it is for all.
func (p *page) ResetTiming(d cycleData, member string) parts.Confirm {
	name := d.Task.Name
	body, cli := `{}`, []string{"cycle", "reset-timing", name, "--all"}
	c := parts.Confirm{ID: "reset", Button: "Reset all timing", Title: "Reset the timing of all members of " + name + "?", Hidden: map[string]string{"member": member}}
	if member != "" {
		raw, _ := json.Marshal(map[string][]string{"members": {member}}) // plain words
		body, cli = string(raw), []string{"cycle", "reset-timing", name, member}
		c.ID, c.Button, c.Title = "reset-"+member, "Reset timing", "Reset the timing of "+member+"?"
	}
	cmd := p.Command("POST", p.APIPath(cyclePath(name, "/reset-timing")), body, cli...)
	c.Text, c.Action, c.Cmd = "The next run does not leave it out, however short ago it ran. It is forgotten for every cycle that has it.", p.Link("cycles", name, "reset"), &cmd
	return c
}

package jobs

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/belfry-run/belfry/app/ui/console/internal/graph"
	"github.com/belfry-run/belfry/app/ui/console/internal/parts"
	"github.com/belfry-run/belfry/core"
	"github.com/belfry-run/belfry/job"
	"github.com/belfry-run/belfry/workflow"
)

type workflowAPI interface {
	WorkflowRun(ctx context.Context, namespace string, id int64) (workflow.Status, error)
	SendSignal(ctx context.Context, namespace string, id int64, s workflow.Signal) (workflow.Sent, error)
	MakeLink(ctx context.Context, namespace string, id int64, l job.Link) (job.NewLink, error)
}

// graphStep is a step of a workflow's run as a bar in the time of the run.
type graphStep struct {
	workflow.Step
	Leg    leg
	Needs  string
	Asks   string // the question of an approval
	Signal string // the signal that it waits for
}

// Asked is the first step of a workflow that waits for a person or a signal.
func (d jobData) Asked() *graphStep {
	if i := slices.IndexFunc(d.Graph, func(s graphStep) bool { return s.Asks != "" || s.Signal != "" }); i >= 0 {
		return &d.Graph[i]
	}
	return nil
}

// Items is how many of its jobs are done, of a step with several.
func (s graphStep) Items() string {
	if all := s.Total + s.Kept; all > 1 {
		return fmt.Sprintf("%s of %s", parts.NumberText(s.OK+s.Kept+s.Failed+s.Canceled), parts.NumberText(all))
	}
	return ""
}

// Said is the reason of its state, with the person of a decision.
func (s graphStep) Said() string {
	var all []string
	for _, text := range []string{s.Reason, s.Error, s.Note} {
		if text != "" {
			all = append(all, text)
		}
	}
	if s.By != "" {
		all = append(all, "by "+s.By)
	}
	return strings.Join(all, ", ")
}

var stepTones = map[workflow.State]string{
	workflow.OK: "good", workflow.Failed: "bad", workflow.Running: "busy", workflow.Sleeping: "later", workflow.Waiting: "wait",
	workflow.Skipped: "idle", workflow.Canceled: "idle",
}

// graphSteps are the steps of a workflow's job, in order, and their drawing. A job that has not started has none.
func (p *page) graphSteps(j job.Job) (steps []graphStep, d *graph.Drawing, critical string, err error) {
	s, err := p.api.WorkflowRun(p.R.Context(), j.Namespace, j.ID)
	if core.CodeOf(err) == core.NotFound {
		return nil, nil, "", nil
	}
	if err != nil {
		return nil, nil, "", err
	}
	for i, state := range s.Run.Steps {
		g := graphStep{Step: state}
		if i < len(s.Plan.Workflow.Steps) {
			of := s.Plan.Workflow.Steps[i]
			g.Needs = strings.Join(of.Needs, ", ")
			if state.State == workflow.Waiting {
				g.Asks, g.Signal = of.Approval, of.Signal
			}
		}
		g.Leg = leg{Name: state.Name + ": " + parts.Words(state.State), Tone: stepTones[state.State], From: state.Since, To: state.EndedAt}
		if g.Leg.To.IsZero() {
			g.Leg.To = p.Now
		}
		steps = append(steps, g)
	}
	if len(s.Plan.Workflow.Steps) != len(steps) {
		return steps, nil, "", nil
	}
	path := s.Run.CriticalPath(s.Plan.Workflow)
	d = graph.Draw(s.Plan.Workflow, path, func(i int) graph.Node {
		n := graph.Node{Tone: stepTones[s.Run.Steps[i].State], Note: parts.Words(s.Run.Steps[i].State), Link: "#graph-" + s.Run.Steps[i].Name}
		if g := steps[i]; !g.Since.IsZero() {
			n.Note += ", " + core.SpanText(g.Leg.Span())
		}
		return n
	})
	return steps, d, criticalText(steps, path), nil
}

// criticalText names the steps of the critical path, and its duration.
func criticalText(steps []graphStep, path []int) string {
	if len(path) < 2 {
		return ""
	}
	names := make([]string, len(path))
	for n, i := range path {
		names[n] = steps[i].Name
	}
	return strings.Join(names, " → ") + ", " + core.SpanText(max(0, steps[path[len(path)-1]].Leg.To.Sub(steps[path[0]].Since)))
}

// newGraphCourse is the timeline of a workflow's job. It has no attempts, because no worker runs the job itself.
func newGraphCourse(j job.Job, steps []graphStep, now time.Time) course {
	c := course{From: j.CreatedAt, To: now}
	if !j.FinishedAt.IsZero() {
		c.To = j.FinishedAt
	}
	var first time.Time
	for _, s := range steps {
		if at := s.Leg.From; !at.IsZero() && (first.IsZero() || at.Before(first)) {
			first = at
		}
	}
	if first.After(c.From) {
		c.Legs = append(c.Legs, leg{"Waits for its time", "later", c.From, first})
	}
	if !first.IsZero() {
		said, tone := "Its steps ran", map[job.State]string{job.Succeeded: "good", job.Failed: "bad", job.Canceled: "idle"}[j.State]
		if tone == "" {
			said, tone = "Its steps run", "busy"
		}
		c.Legs = append(c.Legs, leg{said, tone, first, c.To})
	}
	c.Points = []point{{Name: "Due", At: j.DueAt}, {Name: "Started", At: first}, {Name: "Finished", At: j.FinishedAt}}
	return c
}

// answerNote is the input of a reason, with an ID of its own: the page has several.
func answerNote(id string) parts.Field {
	f := noteField()
	f.ID = "f-note-" + id
	return f
}

// Approve and Reject ask before a person's answer is sent.
func (p *page) Approve(j job.Job, s graphStep) parts.Confirm {
	cmd := p.Command("POST", fmt.Sprintf("/v1/workflow-runs/%d/signals", j.ID), `{"name":"`+s.Name+`","note":"why"}`, "workflow", "approve", fmt.Sprint(j.ID), s.Name, "--note", "why")
	return parts.Confirm{ID: "approve-" + s.Name, Button: "Approve", Main: true, Title: "Approve " + s.Name + "?", Text: s.Asks, Fields: []parts.Field{answerNote("approve-" + s.Name)},
		Action: p.LinkIn(j.Namespace, "jobs", j.ID, "approve", s.Name), Cmd: &cmd}
}

func (p *page) Reject(j job.Job, s graphStep) parts.Confirm {
	cmd := p.Command("POST", fmt.Sprintf("/v1/workflow-runs/%d/signals", j.ID), `{"name":"`+s.Name+`","reject":true,"note":"why"}`, "workflow", "reject", fmt.Sprint(j.ID), s.Name, "--note", "why")
	return parts.Confirm{ID: "reject-" + s.Name, Button: "Reject", Danger: true, Title: "Reject " + s.Name + "?", Text: s.Asks + " The step fails.", Fields: []parts.Field{answerNote("reject-" + s.Name)},
		Action: p.LinkIn(j.Namespace, "jobs", j.ID, "reject", s.Name), Cmd: &cmd}
}

func approveStep(p *page) error { return p.answerStep(false, "Step %s is approved.") }
func rejectStep(p *page) error  { return p.answerStep(true, "Step %s is rejected.") }

func (p *page) answerStep(reject bool, done string) error {
	id, err := p.jobID()
	if err != nil {
		return err
	}
	step := p.R.PathValue("step")
	if _, err := p.api.SendSignal(p.R.Context(), p.Namespace, id, workflow.Signal{Name: step, Reject: reject, Note: p.R.PostFormValue("note")}); err != nil {
		return err
	}
	return p.Done(p.Link("jobs", id), done, step)
}

// LinkTo asks for whom a link to the step is made.
func (p *page) LinkTo(j job.Job, s graphStep) parts.Confirm {
	name := cmp.Or(s.Signal, s.Name)
	cmd := p.Command("POST", fmt.Sprintf("/v1/workflow-runs/%d/links", j.ID), `{"name":"`+name+`"}`, "workflow", "link", fmt.Sprint(j.ID), name)
	return parts.Confirm{ID: "link-" + name, Button: "Make a link", Title: "Make a link to " + name + "?", Text: linkText,
		Fields: linkFields(name), Action: p.LinkIn(j.Namespace, "jobs", j.ID, "link", name), Cmd: &cmd}
}

func linkToStep(p *page) error {
	id, err := p.jobID()
	if err != nil {
		return err
	}
	name := p.R.PathValue("step")
	l, err := askedLink(p, name)
	if err != nil {
		return err
	}
	made, err := p.api.MakeLink(p.R.Context(), p.Namespace, id, l)
	if err != nil {
		return err
	}
	run, err := p.api.WorkflowRun(p.R.Context(), p.Namespace, id)
	if err != nil {
		return err
	}
	body := `{"paid": true}`
	if at := run.Plan.Workflow.Find(name); at >= 0 && run.Plan.Workflow.Steps[at].Approval != "" {
		body = `{"reject": false, "note": "why"}`
	}
	return showLink(p, id, made, body, "workflow")
}

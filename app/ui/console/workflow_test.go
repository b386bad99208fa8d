package console_test

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/belfry-run/belfry/app/config"
	"github.com/belfry-run/belfry/app/ui/internal/browser"
	"github.com/belfry-run/belfry/core"
	"github.com/belfry-run/belfry/job"
	"github.com/belfry-run/belfry/task"
)

// The page of a workflow's job shows its steps as bars, and a person answers there what waits for an approval.
func TestWorkflowIsFollowedAndApproved(t *testing.T) {
	t.Parallel()
	s := newSite(t, func(c *config.Config) {
		c.Roles, c.AllowCommands = []string{config.RoleAPI, config.RoleEngine, config.RoleWorker}, true
	})
	must(s.CreateTask(t.Context(), task.Task{Name: "work", Command: &task.Command{Shell: "true"}}))(s)
	must(s.CreateTask(t.Context(), task.Task{Name: "release", Workflow: &task.Workflow{Steps: []task.Step{
		{Name: "build", Task: "work"},
		{Name: "each", Task: "work", Needs: []string{"build"}, ForEach: "[1, 2, 3]"},
		{Name: "sure", Approval: "Is it <i>good</i>?", Needs: []string{"each"}},
		{Name: "publish", Task: "work", Needs: []string{"sure"}},
	}}}))(s)
	runs := func() (ids [2]int64) {
		for i := range ids {
			ids[i] = must(s.Enqueue(t.Context(), []job.NewJob{{Task: "release"}}))(s)[0].Job.ID
		}
		return ids
	}()
	at := func(id int64, done func(name string) bool) {
		t.Helper()
		for cursor := ""; ; {
			w, err := s.WorkflowRun(t.Context(), "default", id)
			if core.CodeOf(err) != core.NotFound { // it has begun
				must(w, err)(s)
			}
			run := w.Run
			if len(run.Steps) == 4 && (done("sure") && run.Steps[2].State == "waiting" || done("end") && !run.EndedAt.IsZero()) {
				return
			}
			if _, cursor, err = s.Events(t.Context(), "default", cursor, time.Second); err != nil {
				t.Fatal(err)
			}
		}
	}
	is := func(want string) func(string) bool { return func(name string) bool { return name == want } }

	at(runs[0], is("sure"))
	b := s.at("/jobs/" + numberText(runs[0]))
	b.Shows("Steps", "3 of 3", "Is it <i>good</i>?", "pending")
	picture(b, "job-workflow-waits")
	b.Axe()
	b.Shows("Next step: approve or reject sure, which asks: ")
	opens(b, "approve-sure")
	b.Type("#f-note-approve-sure", "looked at it")
	s.sends(b, "#approve-sure button.main", "Step sure is approved.")
	at(runs[0], is("end"))
	b.Until(`document.getElementById('graph-publish').innerText.includes('ok') && document.body.innerText.includes('Critical path:')`)
	b.Shows("looked at it", "by token:", "Critical path: build → each → sure → publish")
	var drawn struct{ Nodes, Edges, Critical int }
	b.Eval(`(({nodes: document.querySelectorAll('svg.graph a').length, edges: document.querySelectorAll('svg.graph > path').length, critical: document.querySelectorAll('svg.graph > path.critical').length}))`, &drawn)
	if drawn.Nodes != 4 || drawn.Edges != 3 || drawn.Critical != 3 {
		t.Errorf("drawn: %+v", drawn)
	}
	picture(b, "job-workflow")
	b.Layout()
	b.Quiet(s.url)
	if j := must(s.Job(t.Context(), "default", runs[0]))(s); j.State != job.Succeeded {
		t.Errorf("the run is %s", j.State)
	}

	b.Visit(s.url + "/tasks/release")
	b.Shows("Steps", "work, for each item", "waits for an approval")
	picture(b, "task-workflow")
	b.Layout()
	b.Axe()
	s.graphs(b)

	at(runs[1], is("sure"))
	// A link lets a person without a token answer. It is shown once.
	b.Visit(s.url + "/jobs/" + numberText(runs[1]))
	opens(b, "link-sure")
	b.Type("#f-for-sure", "Ann")
	b.Click("#link-sure button.main")
	b.Until(`document.getElementById('secret') !== null`)
	b.Shows("The link is made for Ann", "curl -fsS --json")
	b.Axe()
	var link string
	b.Eval(`document.getElementById('secret').textContent`, &link)
	if status, body := s.visitor("").get(strings.TrimPrefix(link, s.url)); status != 200 || !strings.Contains(body, "Is it &lt;i&gt;good&lt;/i&gt;?") {
		t.Errorf("%s: %d %s", link, status, body)
	}
	if status, body := s.visitor(s.admin).post("/jobs/"+numberText(runs[1])+"/reject/sure", "note", "not today"); status != 200 {
		t.Errorf("%d %s", status, body)
	}
	at(runs[1], is("end"))
	if j := must(s.Job(t.Context(), "default", runs[1]))(s); j.State != job.Failed {
		t.Errorf("the run is %s", j.State)
	}
	reader, _ := s.token("reader", "default", "read")
	for _, do := range []string{"approve", "link"} {
		if status, _ := s.visitor(reader).post("/jobs/" + numberText(runs[1]) + "/" + do + "/sure"); status != 403 {
			t.Errorf("%s by a reader: %d", do, status)
		}
	}
}

// graphs looks at drawings of several widths: one of five steps fits, and a wider one fades at its end and follows the keyboard.
func (s *site) graphs(b *browser.Tab) {
	s.Helper()
	for _, n := range []int{5, 8} {
		w := task.Task{Name: fmt.Sprint("chain-", n), Workflow: &task.Workflow{}}
		for i := range n {
			step := task.Step{Name: fmt.Sprint("step", i), Task: "work"}
			if i > 0 {
				step.Needs = []string{fmt.Sprint("step", i-1)}
			}
			w.Workflow.Steps = append(w.Workflow.Steps, step)
		}
		must(s.CreateTask(s.Context(), w))(s)
		b.Window("light", 1280, 900)
		b.Visit(s.url + "/tasks/" + w.Name)
		var of struct {
			Over  float64
			Fades bool
			Stop  int
		}
		b.Eval(`(e => ({over: e.scrollWidth - e.clientWidth, fades: getComputedStyle(e).maskImage.includes('gradient'), stop: e.tabIndex}))(document.querySelector('.graph').parentElement)`, &of)
		if of.Over > 0 != (n > 5) || !of.Fades || of.Stop != 0 {
			s.Errorf("the drawing of %d steps: %+v", n, of)
		}
	}
	var moved float64
	b.Eval(`(e => { e.querySelector('a:last-of-type').focus(); return e.parentElement.scrollLeft; })(document.querySelector('.graph'))`, &moved)
	if moved <= 0 {
		s.Error("the last step is not brought into view")
	}
	b.Layout()
}

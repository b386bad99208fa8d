package console_test

import (
	"strings"
	"testing"
	"time"

	"github.com/belfry-run/belfry/app/config"
	"github.com/belfry-run/belfry/core"
	"github.com/belfry-run/belfry/job"
	"github.com/belfry-run/belfry/task"
)

// Home lists runs that wait for an approval after what is broken, and leads to the answer.
func TestHomeListsRunsThatWaitForAnApproval(t *testing.T) {
	t.Parallel()
	s := newSite(t, func(c *config.Config) { c.Roles = []string{config.RoleAPI, config.RoleEngine} })
	must(s.CreateTask(t.Context(), task.Task{Name: "release", Title: "Release of the shop", Workflow: &task.Workflow{Steps: []task.Step{
		{Name: "sure", Approval: "Is it <i>good</i>?", Timeout: core.Duration(3 * time.Hour)},
	}}}))(s)
	must(s.CreateTask(t.Context(), task.Task{Name: "broken", Kind: task.KindFunc}))(s)
	s.fail("broken", "the disk is full")
	id := must(s.Enqueue(t.Context(), []job.NewJob{{Task: "release"}}))(s)[0].Job.ID
	for cursor := ""; len(must(s.Overview(t.Context(), ""))(s).Approvals) == 0; {
		var err error
		if _, cursor, err = s.Events(t.Context(), "default", cursor, time.Second); err != nil {
			t.Fatal(err)
		}
	}
	row := "#approval-" + numberText(id)
	b := s.at("/")
	if title := strings.TrimSpace(b.Text("h1")); !strings.HasSuffix(title, "2 things need you") {
		t.Errorf("the title is %q", title)
	}
	says(b, row, "Release of the shop", "Approval of sure, run "+numberText(id)+", within ", ": Is it <i>good</i>?", "Answer…")
	var names []string
	b.Eval(`[...document.querySelectorAll('.needs tbody .name a')].map(e => e.textContent)`, &names)
	if len(names) != 2 || !strings.HasPrefix(names[1], "Release of the shop") {
		t.Errorf("%q need attention, want the approval last", names)
	}
	b.Window("light", 1280, 900)
	picture(b, "home-approval")
	b.Layout()
	b.Axe()

	b.Visit(s.url + "/jobs")
	says(b, "#job-"+numberText(id), "waits for approval of sure")
	picture(b, "jobs-approval")
	b.Visit(s.url + "/")

	reader, _ := s.token("reader", "default", "read")
	if _, page := s.visitor(reader).get("/"); !strings.Contains(page, "Approval of sure, run") || strings.Contains(page, "Answer…") {
		t.Error("a reader sees the run, and no button")
	}
	other, _ := s.token("other", "team", "read", "operate")
	if _, page := s.visitor(other).get("/"); strings.Contains(page, "Approval of sure") {
		t.Error("a token of another namespace sees the run")
	}

	s.sends(b, row+" .acts a", "Next step: approve or reject sure, which asks: ")
	opens(b, "approve-sure")
	s.sends(b, "#approve-sure button.main", "Step sure is approved.")
	b.Visit(s.url + "/")
	if title := strings.TrimSpace(b.Text("h1")); !strings.HasSuffix(title, "1 thing needs you") {
		t.Errorf("after the answer the title is %q", title)
	}
}

package console_test

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/belfry-run/belfry/core"
	"github.com/belfry-run/belfry/job"
	"github.com/belfry-run/belfry/task"
)

// cycle makes one that is under way: its first member is done, its second runs.
func (s *site) cycle(name string) {
	s.Helper()
	ctx := s.Context()
	for _, t := range []string{"fetch", "report", "mail"} {
		must(s.CreateTask(ctx, task.Task{Name: t, Kind: task.KindFunc}))(s)
	}
	day := core.Duration(24 * time.Hour)
	must(s.CreateTask(ctx, task.Task{Name: name, Description: "Figures for the morning", Cycle: &task.Cycle{Members: []task.Member{
		{Task: "fetch", Every: core.Duration(time.Hour)}, {Task: "report", Every: day}, {Task: "mail", Every: day, OnFailure: task.FailureStop}}}}))(s)
	s.begin(name)
	s.member("fetch", job.OutcomeOK)
	s.hold("report")
}

// begin begins a cycle, as the engine would.
func (s *site) begin(cycle string) {
	s.Helper()
	must(s.RunCycle(s.Context(), "default", cycle))(s)
	must(s.node.Store().StartCycles(s.Context()))(s)
}

// hold lets a worker run the job of a task that is ready.
func (s *site) hold(t string) (session string, ref job.Ref) {
	s.Helper()
	ctx := s.Context()
	w := must(s.OpenSession(ctx, job.WorkerInfo{Name: "runner", Kinds: []task.Kind{task.KindFunc}, Funcs: []string{t},
		Queues: map[string]int{"default": 1}, TTL: job.MaxSessionTTL}))(s)
	c := must(s.Claim(ctx, job.ClaimRequest{Session: w.ID, Want: map[string]int{"default": 1}}))(s)
	if len(c.Jobs) != 1 {
		s.Fatalf("claimed %d jobs of %s", len(c.Jobs), t)
	}
	return w.ID, job.Ref{JobID: c.Jobs[0].Job.ID, Lease: c.Lease}
}

// member lets a member of a cycle whose turn it is end.
func (s *site) member(task string, outcome job.Outcome) {
	s.Helper()
	session, ref := s.hold(task)
	f := job.Finish{Ref: ref, Outcome: outcome, NoRetry: true}
	if outcome != job.OutcomeOK {
		f.Error = "no more paper"
	}
	must(s.Finish(s.Context(), session, []job.Finish{f}))(s)
	if err := s.CloseSession(s.Context(), session); err != nil {
		s.Fatal(err)
	}
}

// What a cycle does shows up by itself, member by member.
func TestCycleMoves(t *testing.T) {
	t.Parallel()
	s := newSite(t)
	s.cycle("other")
	must(s.CreateTask(t.Context(), task.Task{Name: "first", Kind: task.KindFunc}))(s)
	must(s.CreateTask(t.Context(), task.Task{Name: "second", Kind: task.KindFunc}))(s)
	must(s.CreateTask(t.Context(), task.Task{Name: "two", Cycle: &task.Cycle{Members: []task.Member{{Task: "first"}, {Task: "second", Every: core.Duration(time.Hour)}}}}))(s)
	b := s.at("/cycles/two")
	b.Shows("Not run yet", "No finished runs yet.", "only by hand")
	b.Until(`document.getElementById('live').dataset.state === 'on'`)

	opens(b, "run")
	b.Shows("Run two now?", "2 members run, one after another.")
	says(b, "#run", "belfry cycle run two", "/v1/cycles/two/run")
	b.Follow("#run button.main")
	b.Shows("Cycle two begins")
	b.Until(`document.getElementById('live').dataset.state === 'on'`)
	must(s.node.Store().StartCycles(t.Context()))(s)
	b.Until(`document.querySelector('#step-first[aria-current]')`)
	s.member("first", job.OutcomeOK)
	b.Until(`document.querySelector('#step-second[aria-current]') && document.getElementById('step-first').classList.contains('ok')`)
	b.Shows("1 of 2", "1 ok")
	s.member("second", job.OutcomeError)
	b.Until(`document.getElementById('step-second')?.classList.contains('failed')`)
	b.Until(`document.querySelector('#runs ~ table tbody tr')`)
	b.Shows("Last run", "1 ok", "1 failed", "no more paper")
	picture(b, "cycle-done")
	b.Quiet(s.url)
	// Its job shows the members, and no wait for a worker that nothing waited for.
	run := must(s.Jobs(t.Context(), job.Filter{Task: "two"}))(s).Items[0]
	b.Visit(fmt.Sprint(s.url, "/jobs/", run.ID))
	b.Shows("Members", "first", "second", "no more paper")
	says(b, "#members ~ table", "ok", "failed")
	var text string
	b.Eval(`document.querySelector('main').textContent`, &text)
	if strings.Contains(text, "Waiting for a worker") || strings.Contains(text, "at most 1") || strings.Contains(text, "Claimed") {
		t.Error("the job of a cycle waits for a worker, or has attempts")
	}
	b.Layout()
	b.Axe()
	picture(b, "cycle-job")
}

func TestCycleActions(t *testing.T) {
	t.Parallel()
	s := newSite(t)
	s.cycle("nightly")
	b := s.tab(s.admin)

	b.Visit(s.url + "/cycles/nightly")
	b.Shows("fetch", "last succeeded in a run of", "not due")
	opens(b, "reset-fetch")
	b.Follow("#reset-fetch button.main")
	b.Shows("Member fetch is due.")

	opens(b, "skip-3")
	b.Shows("Leave mail out of this run?")
	says(b, "#skip-3", "belfry cycle skip-member nightly mail", "/v1/cycles/nightly/members/mail/skip")
	b.Follow("#skip-3 button.main")
	b.Shows("Member mail is left out of this run.", "will be left out by")

	opens(b, "cancel")
	b.Axe()
	b.Type("#cancel input", "paper is out")
	b.Follow("#cancel button.danger")
	b.Shows("Cycle nightly is asked to end")
	b.Quiet(s.url)

	opens(b, "reset")
	b.Follow("#reset button.main")
	b.Shows("3 members are due.")
	b.Quiet(s.url)
}

func TestCycleIsMadeAndEdited(t *testing.T) {
	t.Parallel()
	s := filledSite(t)
	b := s.at("/cycles/-new")
	b.Type("#f-name", "weekly")
	b.Type("#f-cycle-members-0-task", "mail")
	b.Type("#f-cycle-members-1-task", "fetch")
	b.Type("#f-cycle-members-1-every", "soon")
	s.refused(b, "button.main", 422, "The cycle is not saved.", "is not a length of time")
	b.Axe()
	picture(b, "cycle-refused")
	b.Eval(`document.getElementById('f-cycle-members-1-every').select() || true`, new(bool))
	b.Call("Input.insertText", map[string]any{"text": "6h"}, nil)
	b.Follow("#up-1") // fetch comes first
	b.Quiet(s.url)
	b.Until(`document.getElementById('f-cycle-members-0-task').value === 'fetch'`)
	says(b, ".command", "--member fetch,every=6h --member mail")
	b.Follow("#add")
	b.Type("#f-cycle-members-2-task", "report")
	s.sends(b, "button.main", "Created cycle weekly.", "Not run yet", "only by hand")
	want := []task.Member{{Task: "fetch", Every: core.Duration(6 * time.Hour)}, {Task: "mail"}, {Task: "report"}}
	members := must(s.Task(t.Context(), "default", "weekly"))(s).Cycle.Members
	if len(members) != len(want) {
		t.Fatalf("%+v", members)
	}
	for i := range want {
		if members[i].Task != want[i].Task || members[i].Every != want[i].Every {
			t.Errorf("%+v is not %+v", members[i], want[i])
		}
	}

	b.Visit(s.url + "/cycles/weekly/edit")
	b.Follow("button[value='take 1']") // mail
	b.Type("#f-cycle-stagger", "30s")
	b.Eval(`document.getElementById('f-cycle-members-0-on_failure').value = 'stop', true`, new(bool))
	b.Follow("button.main")
	b.Shows("Cycle weekly is saved.", "a pause of up to 30 s", "the cycle stops")
	c := must(s.Task(t.Context(), "default", "weekly"))(s).Cycle
	if len(c.Members) != 2 || c.Members[1].Task != "report" || c.Members[0].OnFailure != task.FailureStop || c.Stagger != core.Duration(30*time.Second) {
		t.Errorf("%+v", c)
	}
	b.Quiet(s.url)

	b.Visit(s.url + "/cycles/hello/edit")
	b.Shows("not a cycle")
}

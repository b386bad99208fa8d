package console_test

import (
	"encoding/json"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/belfry-run/belfry/access"
	"github.com/belfry-run/belfry/core"
	"github.com/belfry-run/belfry/job"
	"github.com/belfry-run/belfry/task"
	"github.com/belfry-run/belfry/view"
)

// report makes a task of a command, and a job of it that has had two attempts:
// one that was handed back, and one that runs, wrote colours and has an input.
func (s *site) report() (session string, j job.Job, lease int64) {
	s.Helper()
	ctx := s.Context()
	must(s.CreateTask(ctx, task.Task{Name: "report", Timeout: core.Duration(10 * time.Minute), Retry: task.Retry{MaxAttempts: 1},
		Command: &task.Command{Argv: []string{"/usr/local/bin/report", "--title", "Q 1"}, OutputLimit: 16 << 20, Env: map[string]string{"REGION": "eu <west>", "DB_PASSWORD": "hunter2"}}}))(s)
	must(s.Enqueue(ctx, []job.NewJob{{Task: "report", Input: json.RawMessage(`{"month":"2026-10","rows":[1,2,3]}`), Tags: []string{"weekly"}, Priority: new(7)}}))(s)
	w := must(s.OpenSession(ctx, job.WorkerInfo{Name: "builder", Kinds: []task.Kind{task.KindCommand}, Queues: map[string]int{"default": 1}, TTL: job.MaxSessionTTL}))(s)
	for _, outcome := range []job.Outcome{job.OutcomeHandedBack, ""} {
		c := must(s.Claim(ctx, job.ClaimRequest{Session: w.ID, Want: map[string]int{"default": 1}}))(s)
		if len(c.Jobs) != 1 {
			s.Fatalf("claimed %d jobs", len(c.Jobs))
		}
		j, lease = c.Jobs[0].Job, c.Lease
		ref := job.Ref{JobID: j.ID, Lease: lease}
		s.write(w.ID, ref, 0, job.Log, "started\n")
		s.write(w.ID, ref, 1, job.Stdout, "\x1b[32mall\x1b[0m <b>is</b> well\nhalf a li")
		s.write(w.ID, ref, 2, job.Stderr, "\x1b[1;31mno disk\x1b[0m \x1b]0;title\x07left\n10 %\r50 %\r90 %\n")
		if outcome != "" {
			must(s.Finish(ctx, w.ID, []job.Finish{{Ref: ref, Outcome: outcome}}))(s)
		}
	}
	return w.ID, j, lease
}

func (s *site) write(session string, ref job.Ref, seq int, stream job.Stream, text string) {
	s.Helper()
	if err := s.Append(s.Context(), session, []job.LogPiece{{Ref: ref, Seq: seq, Stream: stream, At: time.Now(), Text: text}}); err != nil {
		s.Fatal(err)
	}
}

// The choice of attempts above a log comes with the second attempt, and grows with each that follows.
func TestAttemptsAreChosenOnceThereAreTwo(t *testing.T) {
	t.Parallel()
	s := newSite(t)
	ctx := t.Context()
	must(s.CreateTask(ctx, task.Task{Name: "twice", Kind: task.KindFunc}))(s)
	session, first, lease := s.claim("twice")
	b := s.at(fmt.Sprint("/jobs/", first.ID))
	b.Until(`document.getElementById('live').dataset.state === 'on'`)
	if text := b.Text("#log"); strings.Contains(text, "All attempts") {
		t.Errorf("one attempt is chosen from: %s", text)
	}
	for n := 2; n <= 3; n++ {
		must(s.Finish(ctx, session, []job.Finish{{Ref: job.Ref{JobID: first.ID, Lease: lease}, Outcome: job.OutcomeHandedBack}}))(s)
		c := must(s.Claim(ctx, job.ClaimRequest{Session: session, Want: map[string]int{"default": 1}}))(s)
		lease = c.Lease
		s.write(session, job.Ref{JobID: first.ID, Lease: lease}, 0, job.Stdout, fmt.Sprintf("of attempt %d\n", n))
		b.Until(fmt.Sprintf(`document.querySelectorAll('#log .tabs li').length === %d && document.querySelector('#log .lines').innerText.includes('of attempt %d')`, n+1, n))
	}
	b.Axe()
	b.Follow("#log .tabs li:nth-child(3) a")
	b.Until(`document.querySelector('#log .lines').innerText.trim().endsWith('of attempt 2')`)
	says(b, "#log .tabs [aria-current]", "Attempt 2")
	b.Quiet(s.url)
}

func TestJobIsFollowedToItsEnd(t *testing.T) {
	t.Parallel()
	s := newSite(t)
	session, j, lease := s.report()
	ref := job.Ref{JobID: j.ID, Lease: lease}
	b := s.tab(s.admin)
	b.Visit(fmt.Sprintf("%s/jobs/%d", s.url, j.ID))
	b.Until(`document.getElementById('live').dataset.state === 'on'`)
	b.Shows("running", "It runs: attempt 2", "handed back", "/usr/local/bin/report --title 'Q 1'", "REGION", "eu <west>", "DB_PASSWORD", "not shown", `"month": "2026-10"`, "weekly",
		"no disk left", "90 %", "<b>is</b> well", "Waiting for a worker")
	for _, never := range []string{"hunter2", "0;title", "50 %"} {
		if strings.Contains(b.Text("body"), never) {
			t.Errorf("the page says %q", never)
		}
	}
	look(b, s, "job-log")

	// What is written shows up by itself, and goes on with a line that was begun.
	s.write(session, ref, 3, job.Stdout, "ne, and its end\nthe next\n")
	b.Until(`[...document.querySelectorAll('.line')].some(e => e.innerText.endsWith('half a line, and its end'))`)
	b.Until(`document.querySelector('[data-log-state]').innerText === 'Followed as it is written.'`)
	var red string
	b.Eval(`[...document.querySelectorAll('.say span')].find(e => e.textContent === 'no disk').className`, &red)
	if red != "ink-red ink-bold" {
		t.Errorf("%q", red)
	}

	// Who pauses it reads on in peace.
	b.Click("[data-follow]")
	b.Until(`document.querySelector('[data-log-state]').innerText === 'Paused.'`)
	s.write(session, ref, 4, job.Stdout, "while nobody looked\n")
	b.Click("[data-follow]")
	b.Until(`document.querySelector('.lines').innerText.includes('while nobody looked')`)

	// Search within.
	b.Type("[data-find]", "NO DISK")
	b.Until(`document.querySelector('[data-found]').innerText === '2 lines'`)
	b.Click("[data-only]")
	if said := b.Text(".lines"); strings.Contains(said, "well") || strings.Count(said, "no disk left") != 2 {
		t.Errorf("only found lines: %q", said)
	}
	b.Click("[data-find]")
	b.Key("Enter")
	b.Until(`document.querySelector('[data-found]').innerText === '1 of 2'`)
	b.Click("[data-only]")
	// One stream less, and times.
	b.Click(".show-stderr")
	b.Click(".times")
	b.Until(`(said => !said.includes('no disk') && said.includes('stdout') && said.includes('while nobody looked'))(document.querySelector('.lines').innerText)`)

	must(s.Finish(t.Context(), session, []job.Finish{{Ref: ref, Outcome: job.OutcomeError, Error: "no disk left\nat line 7", ExitCode: new(3)}}))(s)
	b.Until(`document.querySelector('h1').innerText.includes('failed') && document.querySelector('[data-log-state]').innerText === 'The end.'`)
	b.Shows("exit code 3", "no disk left\nat line 7", "Failed", "Retry", "Last lines of stderr")
	b.Quiet(s.url)

	// The log of one attempt, and all of it as a file.
	b.Visit(fmt.Sprintf("%s/jobs/%d?attempt=1", s.url, j.ID))
	if said := b.Text(".lines"); strings.Contains(said, "the next") || !strings.Contains(said, "well") {
		t.Errorf("the first attempt: %q", said)
	}
	v := s.visitor(s.admin)
	if status, body := v.get(fmt.Sprintf("/jobs/%d/log.txt", j.ID)); status != http.StatusOK || !strings.HasSuffix(body, "while nobody looked\n") || !strings.Contains(body, "\x1b[32mall") {
		t.Errorf("%d %q", status, body)
	}
	if _, body := v.get(fmt.Sprintf("/jobs/%d/log.txt?times=yes&stream=stderr&attempt=2", j.ID)); strings.Count(body, "Z stderr ") != 2 || strings.Contains(body, "stdout") {
		t.Errorf("%q", body)
	}
}

func TestJobIsCanceledRetriedAndEnqueuedAgain(t *testing.T) {
	t.Parallel()
	s := newSite(t)
	s.someJobs()
	b := s.at("/jobs/4")
	opens(b, "cancel")
	b.Shows("Cancel job 4?", "It no longer starts.")
	b.Axe()
	b.Type("#cancel #f-note", "not <i>now</i>")
	b.Follow("#cancel button.danger")
	b.Shows("Job 4 is canceled", "canceled by token:", "not <i>now</i>", "Retry")
	opens(b, "retry")
	b.Follow("#retry button.main")
	b.Shows("Job 4 is ready again", "Why is it not running?")
	if j := must(s.Job(t.Context(), "default", 4))(s); j.State != job.Ready {
		t.Errorf("%s", j.State)
	}
	opens(b, "again")
	b.Follow("#again button.main")
	b.Shows("Job 7 is enqueued, like job 4.", "Job 7")
	b.Quiet(s.url)

	v := s.visitor(s.admin)
	if _, body := v.post("/jobs/4/retry"); !strings.Contains(body, "was left as it is: cannot be retried: ready") {
		t.Errorf("%s", body)
	}
}

func TestJobIsEnqueuedByHand(t *testing.T) {
	t.Parallel()
	s := newSite(t)
	_, like, _ := s.report()
	b := s.at("/jobs/-new")
	b.Type("#f-task", "report")
	b.Type("#f-input", `{"a": `)
	b.Until(`document.querySelector('[data-fault]')?.innerText.startsWith('It is not JSON yet')`)
	b.Type("#f-delay", "soon")
	s.refused(b, "form.card button.main", http.StatusUnprocessableEntity, "is not JSON", "is not a length of time")
	var kept string
	b.Eval(`document.getElementById('f-input').value`, &kept)
	if kept != `{"a":` {
		t.Errorf("what was typed is %q", kept)
	}
	look(b, s, "job-new-wrong", http.StatusUnprocessableEntity)
	b.Eval(`document.getElementById('f-input').value = '{"a": 1}', document.getElementById('f-delay').value = '1h', true`, new(bool))
	b.Type("#f-key", "order-1")
	b.Type("#f-priority", "5")
	s.sends(b, "form.card button.main", "is enqueued", `"a": 1`, "scheduled", "order-1", "priority 5", "its time has come")

	// Once more under the same key makes none.
	v := s.visitor(s.admin)
	if _, body := v.post("/jobs/-new", "task", "report", "key", "order-1", "input", `{"a": 1}`, "delay", "1h", "priority", "5"); !strings.Contains(body, "was there already, under the same key") {
		t.Errorf("%s", body)
	}
	if status, body := v.post("/jobs/-new", "task", "report", "key", "order-1"); status != 409 || !strings.Contains(body, "asked for with another task, input or setting") {
		t.Errorf("%d %s", status, body)
	}
	if status, body := v.post("/jobs/-new", "task", "nothing"); status != 404 || !strings.Contains(body, "nothing") || !strings.Contains(body, `value="nothing"`) {
		t.Errorf("%d %s", status, body)
	}

	// Like another, with other input.
	b.Visit(fmt.Sprintf("%s/jobs/-new?like=%d", s.url, like.ID))
	b.Eval(`(() => { const e = document.getElementById('f-input'); e.value = e.value.replace('2026-10', '2026-11'); return true; })()`, new(bool))
	b.Follow("form.card button.main")
	b.Shows("is enqueued", `"month": "2026-11"`, "weekly", "priority 7")
}

func TestJobsAreFound(t *testing.T) {
	t.Parallel()
	s := newSite(t)
	s.someJobs()
	b := s.at("/jobs")
	b.Key("/")
	b.Call("Input.insertText", map[string]any{"text": `error:"DISK is" since:2h`}, nil)
	b.Follow(".search button")
	b.Shows("the disk is full", "Failed 1", "All 1", "Ready 0")
	// A tab keeps the search, and changes its state only.
	b.Follow(`.tabs a[href*="failed"]`)
	var q string
	b.Eval(`document.getElementById('q').value`, &q)
	if q != `error:"DISK is" since:2h state:failed` {
		t.Errorf("%q", q)
	}
	b.Follow(`.tabs a[href*="running"]`)
	b.Shows("No matching job.")
	b.Click(".terms summary")
	b.Shows("created in the last 2 hours", "whose last attempt said this")
	look(b, s, "jobs-help")

	// What others do is told, and moves nothing while something is selected. It
	// is shown when somebody asks for it, and what is selected stays so.
	b.Visit(s.url + "/jobs")
	b.Until(`document.getElementById('live').dataset.state === 'on'`)
	b.Click("#job-5 input")
	b.Until(`document.querySelector('#job-5 input').checked`)
	must(s.Enqueue(t.Context(), []job.NewJob{{Task: "later"}}))(s)
	b.Until(`document.querySelector('.held').innerText === '1 new'`)
	var early bool
	if b.Eval(`document.getElementById('job-7') !== null`, &early); early {
		t.Error("a row came while another was selected")
	}
	b.Click(".held button")
	b.Until(`document.getElementById('job-7') !== null && document.querySelector('.held').hidden`)
	var selected []string
	b.Eval(`[...document.querySelectorAll('[name=job]:checked')].map(e => e.value)`, &selected)
	if !slices.Equal(selected, []string{"5"}) {
		t.Errorf("selected are %v", selected)
	}
	b.Quiet(s.url)
}

func TestJobsArePaged(t *testing.T) {
	t.Parallel()
	s := newSite(t)
	s.someJobs()
	must(s.Enqueue(t.Context(), slices.Repeat([]job.NewJob{{Task: "later"}}, 60)))(s)
	b := s.at("/jobs?q=task:later")
	b.Shows("All 63")
	b.Follow("a[rel=next]")
	b.Shows("First page")
	var rows int
	b.Eval(`document.querySelectorAll('tbody tr').length`, &rows)
	if rows != 13 {
		t.Errorf("the second page has %d", rows)
	}
	b.Quiet(s.url)
}

func TestBulkOnSelected(t *testing.T) {
	t.Parallel()
	s := newSite(t)
	s.someJobs()
	b := s.at("/jobs")
	if status, body := s.visitor(s.admin).get("/jobs/-bulk?selected=yes&do=cancel"); status != http.StatusUnprocessableEntity || !strings.Contains(body, "no job was selected") {
		t.Errorf("%d %s", status, body)
	}
	offered := `document.querySelector('#selected .picked').checkVisibility()`
	b.Until(`!` + offered)
	b.Click("[data-checks]")
	b.Until(offered)
	some := `document.querySelector('[data-checks]').indeterminate`
	b.Click("tbody .pick input")
	b.Until(some)
	b.Click("tbody .pick input")
	b.Until(`!` + some + ` && document.querySelector('[data-checks]').checked`)
	b.Follow("#selected button[value=cancel]")
	b.Shows("Cancel 4 jobs?", "has ended already: failed: 1 (2)", "Nothing has been done yet")
	look(b, s, "jobs-dry-run-selected")
	if j := must(s.Job(t.Context(), "default", 4))(s); j.State != job.Ready {
		t.Errorf("a dry run made it %s", j.State)
	}
	b.Type("#f-note", "too many")
	b.Follow("form.card button")
	b.Shows("4 jobs were canceled", "has ended already: failed: 1")
	look(b, s, "jobs-done")
	for _, id := range []int64{4, 5, 6} {
		if j := must(s.Job(t.Context(), "default", id))(s); j.State != job.Canceled || !strings.Contains(j.Note, "too many") {
			t.Errorf("job %d: %s %q", id, j.State, j.Note)
		}
	}
	if j := must(s.Job(t.Context(), "default", 3))(s); j.CancelAt.IsZero() {
		t.Error("the one that runs was not asked to end")
	}
}

// Each list whose rows can be ticked has a box for all of them, and all boxes are of one size.
func TestSelectAllOfEachList(t *testing.T) {
	t.Parallel()
	s := newSite(t)
	s.someJobs()
	b := s.at("/")
	for _, path := range []string{"/jobs", "/schedules", "/monitors", "/monitors?view=grid"} {
		b.Visit(s.url + path)
		b.Click("main [data-checks]")
		var boxes string
		b.Eval(`[...new Set([...document.querySelectorAll('main form input[type=checkbox]')].map(e => [e.checked, e.offsetWidth, e.offsetHeight].join(' ')))].join()`, &boxes)
		if boxes != "true 24 24" {
			t.Errorf("%s: %s", path, boxes)
		}
	}
}

func TestBulkOnAllThatMatch(t *testing.T) {
	t.Parallel()
	s := newSite(t)
	s.someJobs()
	n := core.MaxBatch + 200
	for left := n; left > 0; left -= min(left, 5000) {
		must(s.Enqueue(t.Context(), slices.Repeat([]job.NewJob{{Task: "later", Tags: []string{"bulk"}}}, min(left, 5000))))(s)
	}
	b := s.at("/jobs?q=tag:bulk")
	b.Shows("1 000+")
	b.Follow("form.actions button[value=cancel]")
	b.Shows("Cancel 1 000+ jobs?", "tag:bulk", "The oldest of them")
	// What comes after the dry run was in nobody's count.
	b.Follow("form.card button")
	b.Until(`document.querySelector('h1').innerText.endsWith('were canceled')`)
	if said := b.Text("h1"); said != "10 200 jobs were canceled" {
		t.Errorf("%q", said)
	}
	b.Shows("No job was left out.")
	b.Quiet(s.url)
	count := must(s.CountJobs(t.Context(), job.Filter{Namespace: "default", Task: "later", States: []job.State{job.Ready}}, view.CountOptions{}))(s)
	if count.Count != 3 {
		t.Errorf("%d others are ready", count.Count)
	}
}

func TestReaderMayDoNothingToJobs(t *testing.T) {
	t.Parallel()
	s := newSite(t)
	s.someJobs()
	secret, _ := s.token("viewer", "default", access.ScopeRead)
	v := s.visitor(secret)
	for _, path := range []string{"/jobs/4/cancel", "/jobs/4/retry", "/jobs/4/again", "/jobs/-new", "/jobs/-bulk", "/tasks/-new", "/tasks/hello/edit", "/tasks/hello/delete"} {
		status, body := v.post(path, "do", "cancel", "job", "4", "q", "task:later", "task", "later", "definition", `{"name": "x", "command": {"argv": ["x"]}}`)
		if status != http.StatusForbidden {
			t.Errorf("%s: %d %s", path, status, body)
		}
	}
	for _, path := range []string{"/jobs", "/jobs/4", "/dead", "/tasks/hello"} {
		if _, body := v.get(path); strings.Contains(body, "<button class=\"danger") || strings.Contains(body, "/jobs/-new") || strings.Contains(body, `name="do"`) || strings.Contains(body, `name="job"`) {
			t.Errorf("%s offers what it would refuse", path)
		}
	}
}

func TestDeadJobsAreRetriedByGroup(t *testing.T) {
	t.Parallel()
	s := newSite(t)
	s.someJobs()
	s.fail("broken", "the disk is full\nat line 7")
	s.fail("broken", "no \"route\" <here>")
	b := s.at("/dead")
	b.Shows("3 dead jobs", "the disk is full", `no "route" <here>`)
	b.Click("tbody details summary")
	b.Shows("Job 2", "Job 7")
	look(b, s, "dead-open")
	b.Follow(".few li form button")
	b.Shows("Job 7 is ready again")
	b.Visit(s.url + "/dead")
	b.Follow("tbody tr:nth-child(1) > td > form button")
	b.Shows("Retry 1 job?", `no "route" <here>`)
	b.Type("#f-note", "mended")
	b.Follow("form.card button.main")
	b.Shows("1 job was retried", "No job was left out.")
	b.Visit(s.url + "/dead")
	b.Follow(".actions form button")
	b.Follow("form.card button.main")
	b.Visit(s.url + "/dead")
	b.Shows("No job is dead.")
	b.Quiet(s.url)
}

func TestAuditShowsChangedFields(t *testing.T) {
	t.Parallel()
	s := newSite(t)
	s.someJobs()
	task := must(s.Task(t.Context(), "default", "hello"))(s)
	task.Description, task.Timeout = "says <hello>", core.Duration(5*time.Minute)
	must(s.UpdateTask(t.Context(), task))(s)
	secret, _ := s.token("ada", "default", access.ScopeOperate)
	other := s.visitor(secret)
	other.post("/jobs/4/cancel", "note", "why not")

	b := s.at("/audit?noun=task&name=hello")
	b.Click("tbody details summary")
	b.Shows("update task hello", "+2 −1 lines", "−", `"timeout": "10m"`, `"timeout": "5m"`, "says <hello>")
	look(b, s, "audit-diff")
	b.Visit(s.url + "/audit")
	b.Type("#f-actor", "token:ada")
	b.Type("#f-since", "1h")
	b.Follow("form.filters button")
	b.Shows("token:ada", "cancel job 4", "why not")
	if strings.Contains(b.Text("main"), "create task") {
		t.Error("it shows what others did")
	}
	b.Quiet(s.url)
}

func TestTaskIsMadeChangedAndDeleted(t *testing.T) {
	t.Parallel()
	s := newSite(t)
	b := s.at("/tasks/-new?kind=json")
	b.Follow("form button.main")
	b.Shows("Created task hello.", "echo hello", "None. It runs when a job is enqueued.")
	b.Follow(`a[href$="/tasks/hello/edit"]`)
	b.Follow("button[value=yaml]")
	swap := func(old, by string) {
		t.Helper()
		text := value(b, "#f-definition")
		if !strings.Contains(text, old) {
			t.Fatalf("no %q in %s", old, text)
		}
		put(b, "#f-definition", strings.Replace(text, old, by, 1))
	}
	swap(`timeout: "5m"`, `timeout: "5 parsecs"`)
	s.refused(b, "form button.main", http.StatusUnprocessableEntity, "line", "timeout", "5 parsecs")
	swap("5 parsecs", "9m")
	swap("timeout", "tmeout")
	s.refused(b, "form button.main", http.StatusUnprocessableEntity, "tmeout", "did you mean timeout?")
	look(b, s, "task-edit-wrong", http.StatusUnprocessableEntity)
	swap("tmeout", "timeout")
	swap("queue: default", "queue: No Queue")
	s.refused(b, "form button.main", http.StatusUnprocessableEntity, "No Queue")
	swap("No Queue", "default")
	s.sends(b, "form button.main", "Task hello is changed", "9 min")
	b.Follow(`a[href*="/jobs/-new"]`)
	b.Follow("form.card button.main")
	b.Shows("is enqueued")
	b.Visit(s.url + "/tasks/hello")
	opens(b, "delete")
	b.Follow("#delete button.danger")
	b.Shows("Task hello is deleted.", "There is no task yet.")
	b.Quiet(s.url, http.StatusNotFound) // of the page that was live while its task went
}

// The page of a job shows its steps, and a text of one as it is.
func TestStepsOnThePageOfAJob(t *testing.T) {
	t.Parallel()
	s := newSite(t)
	s.someJobs()
	session, j, lease := s.claim("hello")
	ref := job.Ref{JobID: j.ID, Lease: lease}
	for i, n := range []job.NewStep{
		{Name: "charge <b>", Result: []byte(`{"id":"<i>c1"}`), Took: core.Duration(3 * time.Second)},
		{Name: "rest", Kind: job.StepSleep, Sleep: core.Duration(time.Hour)},
		{Name: "stock", Kind: job.StepVersion, Result: []byte(`2`)},
	} {
		n.Number = i + 1
		must(s.SaveStep(s.Context(), session, ref, n))(s)
	}
	if err := s.SaveProgress(s.Context(), session, []job.AttemptProgress{{Ref: ref, Progress: job.Progress{Percent: 41.5, Message: "reads <b>", Counters: map[string]int64{"rows": 7}}}}); err != nil {
		t.Fatal(err)
	}
	b := s.tab(s.admin)
	b.Visit(fmt.Sprint(s.url, "/jobs/", j.ID))
	var got string
	b.Eval(`(p => [p.querySelector('progress').value, p.textContent.replace(/\s+/g, ' ')].join('|'))(document.getElementById('progress').parentNode)`, &got)
	if want := "41.5|Progress 41.5 % reads <b> rows 7"; !strings.HasPrefix(strings.ReplaceAll(got, "rows7", "rows 7"), want) {
		t.Errorf("%q, want %q", got, want)
	}
	b.Eval(`[...document.querySelectorAll('[id^=step-]')].map(r => [1, 3, 5].map(i => r.cells[i].textContent.trim().replace(/\s/g, ' ').replace(/ until.*/, ' until')).join('|')).join(', ')`, &got)
	if want := `charge <b>|3 s|{"id":"<i>c1"}, rest|–|sleeps until, stock|–|version 2`; got != want {
		t.Errorf("%q, want %q", got, want)
	}
	b.Quiet(s.url)
}

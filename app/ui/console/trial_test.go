package console_test

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/belfry-run/belfry/access"
	"github.com/belfry-run/belfry/app/config"
	"github.com/belfry-run/belfry/app/ui/internal/browser"
	"github.com/belfry-run/belfry/job"
	"github.com/belfry-run/belfry/task"
)

// working is a node that runs commands of the default queue, besides its pages.
func working(t *testing.T) *site {
	t.Helper()
	return newSite(t, func(c *config.Config) {
		c.Roles, c.AllowCommands = []string{config.RoleAPI, config.RoleEngine, config.RoleWorker}, true
	})
}

const (
	trialSays = `document.getElementById('trial-box')?.innerText.includes(%q)`
	tries     = "button[value=trial]"
)

// tryNow clicks the button once its script is there.
func tryNow(b *browser.Tab) {
	b.T.Helper()
	b.Until(`!!document.querySelector('button[value=trial]:not([aria-busy]) ~ [role=status]')`)
	b.Click(tries)
}

// What a form says is run by a worker before it is saved: the job stands below the form, with its log as it is written.
func TestTaskIsTriedInItsForm(t *testing.T) {
	t.Parallel()
	s := working(t)
	b := s.at("/tasks/-new")
	says := func(text string) { t.Helper(); b.Until(fmt.Sprintf(trialSays, text)) }
	goes := filepath.Join(t.TempDir(), "goes")
	wait := "while ! [ -e " + goes + " ]; do sleep 0.02; done"
	put(b, "#f-name", "backup")
	put(b, "#f-command-shell", "echo it has begun; "+wait+"; echo it is done; exit 3")
	tryNow(b)
	says("it has begun")
	says("running")
	b.Axe()
	look(b, s, "task-trial-running")
	b.Until(`location.search.includes('trial=')`)
	if err := os.WriteFile(goes, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	says("it is done")
	says("failed")
	says("exit code 3")
	look(b, s, "task-trial-failed")
	if got := value(b, "#f-name"); got != "backup" {
		t.Errorf("the form has %q", got)
	}

	// It is run as it is now, twice by two clicks, and once by a double one.
	put(b, "#f-command-shell", "echo as it is now")
	tryNow(b)
	says("as it is now")
	says("succeeded")
	b.Until(`!document.querySelector('button[value=trial]').hasAttribute('aria-busy')`)
	b.Eval(`(() => { const b = document.querySelector('button[value=trial]'); b.click(); b.click(); b.click(); return true; })()`, new(bool))
	b.Until(`!document.querySelector('button[value=trial]').hasAttribute('aria-busy')`)
	jobs := must(s.Jobs(t.Context(), job.Filter{Trigger: job.TriggerTrial}))(s).Items
	if len(jobs) != 3 || jobs[0].MaxAttempts != 1 {
		t.Errorf("%d trials, %+v", len(jobs), jobs)
	}
	if page := must(s.Tasks(t.Context(), task.Filter{}))(s); len(page.Items) != 1 || page.Items[0].Name != task.CanaryTask {
		t.Errorf("saved: %+v", page.Items)
	}

	// A reload keeps what was typed, and the trial.
	b.Visit(s.url + fmt.Sprintf("/tasks/-new?trial=%d", jobs[0].ID))
	says("as it is now")
	b.Until(`document.getElementById('f-command-shell').value === 'echo as it is now'`)
	key := value(b, "[name=trial_key]")
	b.Visit(s.url + fmt.Sprintf("/tasks/-new?trial=%d", jobs[0].ID))
	b.Until(`document.getElementById('f-command-shell').value === 'echo as it is now'`)
	if value(b, "[name=trial_key]") == key {
		t.Error("the draft would be the trial of before")
	}

	// It is canceled where it stands.
	put(b, "#f-command-shell", "echo endless; sleep 600")
	tryNow(b)
	says("endless")
	b.Click(".trial .now form button")
	says("canceled")
	b.Until(`!document.querySelector('.trial .now form')`)

	// What cannot be saved cannot be tried, and the form says why.
	put(b, "#f-command-shell", "")
	b.Until(`document.getElementById('preview').textContent.includes('Not complete yet')`)
	b.Follow(tries)
	b.Until(`!!document.querySelector('.problem, [aria-invalid]')`)
	if n := len(must(s.Jobs(t.Context(), job.Filter{Trigger: job.TriggerTrial}))(s).Items); n != 4 {
		t.Errorf("%d trials", n)
	}
	b.Quiet(s.url, 422)
}

// What no worker can take says so at once, and what is to be done about it.
func TestTrialThatNoWorkerCanTake(t *testing.T) {
	t.Parallel()
	s := newSite(t)
	b := s.at("/tasks/-new?kind=http")
	put(b, "#f-http-url", "https://example.com/")
	tryNow(b)
	b.Until(fmt.Sprintf(trialSays, "worker"))
	b.Until(`!!document.querySelector('.trial .now .note b')`)
	look(b, s, "task-trial-waits")
	b.Visit(s.url + "/jobs")
	b.Shows("Trial of a new task")
}

// A saved task is tried as its form says, with the queue and secrets that it has, and stays as it is.
func TestEditOfATaskIsTried(t *testing.T) {
	t.Parallel()
	s := working(t)
	must(s.CreateTask(t.Context(), task.Task{Name: "backup", Command: &task.Command{Shell: "echo old"}}))(s)
	b := s.at("/tasks/backup/edit")
	put(b, "#f-command-shell", "echo new")
	tryNow(b)
	b.Until(fmt.Sprintf(trialSays, "new"))
	if tk := must(s.Task(t.Context(), "default", "backup"))(s); tk.Command.Shell != "echo old" {
		t.Errorf("%+v", tk.Command)
	}
	b.Visit(s.url + "/tasks/backup")
	b.Shows("None yet") // no job of its own
	b.Visit(s.url + "/tasks/backup/edit?as=yaml")
	tryNow(b)
	b.Until(fmt.Sprintf(trialSays, "old"))
	b.Follow(".trial .now .titled a")
	b.Shows("Trial of backup")
	look(b, s, "job-trial")
}

// Without a script the job's page opens; a reader may not, and a form that is sent twice is one trial.
func TestTrialWithoutScript(t *testing.T) {
	t.Parallel()
	s := newSite(t)
	v := s.visitor(s.admin)
	form := []string{"kind", "command", "do", "trial", "command.shell", "echo hello", "trial_key", "k1"}
	for range 2 {
		if status, body := v.post("/tasks/-new", form...); status != 200 || !strings.Contains(body, "runs what the form said") || !strings.Contains(body, "Why is it not running?") {
			t.Errorf("%d %s", status, body)
		}
	}
	v.post("/tasks/-new", append(form, "command.dir", "/tmp")...)
	if n := len(must(s.Jobs(t.Context(), job.Filter{Trigger: job.TriggerTrial}))(s).Items); n != 2 {
		t.Errorf("%d trials", n)
	}
	if status, body := v.post("/tasks/-new", "kind", "command", "do", "trial", "command.shell", "true", "queue", "checks", "trial_key", "k"); status != 422 || strings.Count(body, "is reserved") != 1 {
		t.Errorf("%d %s", status, body)
	}
	for _, scope := range []access.Scope{access.ScopeRead, access.ScopeOperate} {
		secret, _ := s.token("one-"+string(scope), "default", scope)
		if status, _ := s.visitor(secret).post("/tasks/-new", form...); status != 403 {
			t.Errorf("%s: %d", scope, status)
		}
	}
	if status, body := v.get("/tasks/-new?trial=999"); status != 200 || strings.Contains(body, "trial-box") {
		t.Errorf("%d", status)
	}
}

// What comes later than its frame has a skeleton meanwhile, and nothing is left of it afterwards.
func TestSkeletonsAreReplacedByContent(t *testing.T) {
	t.Parallel()
	s := newSite(t)
	e := must(s.TryTask(t.Context(), job.TaskTrial{Task: task.Task{Command: &task.Command{Shell: "true"}}}))(s)
	_, body := s.visitor(s.admin).get(fmt.Sprintf("/tasks/-new?trial=%d", e.Job.ID))
	if strings.Count(body, `class="skeleton" role="status"`) != 1 {
		t.Error("the log has none")
	}
	b := s.at(fmt.Sprintf("/tasks/-new?trial=%d", e.Job.ID))
	b.Until(`!!document.querySelector('.trial .tail') && !document.querySelector('.skeleton')`)
	b.Eval(`(() => { const real = window.fetch; window.answers = []; window.fetch = (...a) => new Promise(done => answers.push(() => done(real(...a)))); return true; })()`, new(bool))
	b.Click(".top a[href^='/find']")
	b.Until(`document.querySelector('.palette .skeleton')?.checkVisibility()`)
	b.Axe()
	picture(b, "palette-skeleton")
	b.Eval(`(answers.forEach(a => a()), answers = {push: a => a()}, true)`, new(bool)) // also what is asked from now on
	b.Until(`!!document.querySelector('.palette [role=option]') && !document.querySelector('.palette .skeleton')`)
}

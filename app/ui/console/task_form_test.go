package console_test

import (
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/belfry-run/belfry/app/config"
	"github.com/belfry-run/belfry/flow"
	"github.com/belfry-run/belfry/job"
	"github.com/belfry-run/belfry/task"
)

// A task is written by its form, as YAML, and by its form again, without a loss.
func TestTaskIsWrittenByFormAndAsYAML(t *testing.T) {
	t.Parallel()
	s := newSite(t)
	b := s.at("/tasks/-new")
	put(b, "#f-name", "backup")
	put(b, "#f-command-shell", "set -e\npg_dump main > /backup/main\n")
	put(b, "#f-command-env-name-1", "PGHOST")
	put(b, "#f-command-env-value-1", "db.example.com")
	b.Until(`document.getElementById('preview').textContent.includes('PGHOST: db.example.com')`)
	put(b, "#f-command-env-name-3", "PGUSER") // the last row
	b.Until(`!!document.getElementById('f-command-env-name-4')`)
	put(b, "#f-queue", "defalt")
	b.Until(`document.getElementById('preview').textContent.includes('Did you mean "default"?')`)
	b.Axe()
	picture(b, "task-new-live")
	put(b, "#f-queue", "")
	put(b, "#f-timeout", "5 minutes")
	b.Follow("button[value=yaml]")
	text := value(b, "#f-definition")
	for _, says := range []string{"name: backup", `timeout: "5m"`, "PGHOST: db.example.com", `PGUSER: ""`, "shell: |\n    set -e\n    pg_dump main > /backup/main"} {
		if !strings.Contains(text, says) {
			t.Errorf("no %q in\n%s", says, text)
		}
	}
	put(b, "#f-definition", text+"requirements: {labels: {gpu: \"true\"}}\nretry: {infra: 3, max_attempts: 2}\n")
	look(b, s, "task-new-yaml")
	b.Follow("button[value='kind command']")
	if got := value(b, "#f-retry-max_attempts") + value(b, "#f-requirements-labels-name-1") + value(b, "#f-timeout"); got != "2gpu5m" {
		t.Errorf("the form has %q", got)
	}
	put(b, "#f-tags", "nightly")
	s.sends(b, "button[value=save].main", "Created task backup.")
	tk := must(s.Task(t.Context(), "default", "backup"))(s)
	if tk.Command.Shell != "set -e\npg_dump main > /backup/main\n" || tk.Command.Env["PGHOST"] != "db.example.com" || len(tk.Command.Env) != 2 || tk.Retry.Infra != 3 ||
		tk.Timeout.String() != "5m" || tk.Requirements.Labels["gpu"] != "true" || tk.Tags[0] != "nightly" {
		t.Errorf("%+v %+v", tk, tk.Command)
	}
	b.Visit(s.url + "/tasks/backup/edit")
	put(b, "#f-command-env-name-1", "")
	put(b, "#f-command-env-value-1", "")
	put(b, "#f-description", "Of the main database")
	look(b, s, "task-edit-form")
	s.sends(b, "button[value=save].main", "Task backup is changed", "Of the main database")
	if tk = must(s.Task(t.Context(), "default", "backup"))(s); len(tk.Command.Env) != 1 || tk.Retry.Infra != 3 || tk.Command.Shell != "set -e\npg_dump main > /backup/main\n" {
		t.Errorf("%+v %+v", tk, tk.Command)
	}
}

// Limits and sequences are written in the form, and are the same in YAML.
func TestTaskWithLimitsIsWrittenByForm(t *testing.T) {
	t.Parallel()
	s := newSite(t)
	b := s.at("/tasks/-new")
	put(b, "#f-name", "sync")
	put(b, "#f-command-shell", "cat")
	b.Eval(`document.querySelectorAll('details').forEach(d => d.open = true), true`, new(bool))
	put(b, "#f-limits", "running=two")
	s.refused(b, "button[value=save].main", 422, "such as key=input.customer,running=5")
	b.Eval(`document.querySelectorAll('details').forEach(d => d.open = true), true`, new(bool))
	put(b, "#f-limits", "running=20\nname=each,key=input.customer,rate=5/1s")
	put(b, "#f-sequence-key", "input.account")
	b.Until(`document.getElementById('preview').textContent.includes('input.account')`)
	b.Axe()
	picture(b, "task-limits")
	b.Follow("button[value=yaml]")
	text := value(b, "#f-definition")
	for _, says := range []string{"limits:", "running: 20", "name: each", `rate: "5/1s"`, "key: input.account"} {
		if !strings.Contains(text, says) {
			t.Errorf("no %q in\n%s", says, text)
		}
	}
	b.Follow("button[value='kind command']")
	if got := value(b, "#f-limits"); got != "running=20\nname=each,key=input.customer,rate=5/1s" {
		t.Errorf("the form has %q", got)
	}
	s.sends(b, "button[value=save].main", "Created task sync.")
	tk := must(s.Task(t.Context(), "default", "sync"))(s)
	if len(tk.Limits) != 2 || tk.Limits[0].Running != 20 || tk.Limits[1].Key != "input.customer" || tk.Limits[1].Rate != "5/1s" || tk.Sequence == nil || tk.Sequence.Key != "input.account" || tk.Sequence.OnFailure != flow.SequenceStops {
		t.Errorf("%+v %+v", tk.Limits, tk.Sequence)
	}
	b.Visit(s.url + "/tasks/sync/edit")
	put(b, "#f-limits", "")
	put(b, "#f-sequence-key", "")
	b.Eval(`document.getElementById('f-sequence-on_failure').value = 'skip', true`, new(bool))
	s.sends(b, "button[value=save].main", "Task sync is changed")
	if tk = must(s.Task(t.Context(), "default", "sync"))(s); len(tk.Limits) != 0 || tk.Sequence == nil || tk.Sequence.Key != "" || tk.Sequence.OnFailure != flow.SequenceSkips {
		t.Errorf("%+v %+v", tk.Limits, tk.Sequence)
	}
}

// Whoever chooses another kind keeps what is of no kind, and what was typed for
// the first one.
func TestAChangeOfKindKeepsTypedFields(t *testing.T) {
	t.Parallel()
	s := newSite(t)
	b := s.at("/tasks/-new")
	put(b, "#f-name", "call")
	put(b, "#f-command-shell", "curl example.com")
	put(b, "#f-tags", "web")
	b.Follow("button[value='kind http']")
	put(b, "#f-http-url", "https://example.com/hook")
	b.Follow("button[value='kind tcp']")
	b.Shows("WebSocket", "Certificate")
	b.Follow("button[value='kind command']")
	if got := value(b, "#f-name") + value(b, "#f-command-shell") + value(b, "#f-tags"); got != "callcurl example.comweb" {
		t.Errorf("it has %q", got)
	}
	b.Follow("button[value='kind http']")
	s.sends(b, "button[value=save].main", "Created task call.", "https://example.com/hook")
	if tk := must(s.Task(t.Context(), "default", "call"))(s); tk.Kind != task.KindHTTP || tk.Command != nil {
		t.Errorf("%+v", tk)
	}
}

// Each kind of task can be begun from the first one, and each that has pages of
// its own leads there.
func TestEveryKindOfTaskIsOffered(t *testing.T) {
	t.Parallel()
	s := newSite(t)
	v := s.visitor(s.admin)
	_, all := v.get("/tasks/-new?kind=tcp")
	for _, kind := range task.TaskKinds {
		if !strings.Contains(all, `value="kind `+string(kind)+`"`) && !strings.Contains(all, "/"+string(kind)+"s/-new") {
			t.Errorf("kind %s is offered nowhere", kind)
		}
		if status, body := v.post("/tasks/-new", "do", "kind "+string(kind), "name", "x", "kind", "command", "command.shell", "true"); status != http.StatusOK || !strings.Contains(body, `name="kind" value="`+string(kind)+`"`) {
			t.Errorf("kind %s: %d", kind, status)
		}
	}
}

func TestTaskIsCreatedAndRunOrScheduled(t *testing.T) {
	t.Parallel()
	s := newSite(t)
	b := s.at("/tasks/-new")
	put(b, "#f-name", "now")
	put(b, "#f-command-shell", "echo now")
	s.sends(b, "button[value=run]", "Created task now.", "is enqueued", "Log")
	jobs := must(s.Jobs(t.Context(), job.Filter{Task: "now"}))(s)
	if len(jobs.Items) != 1 {
		t.Errorf("%d jobs", len(jobs.Items))
	}
	b.Visit(s.url + "/tasks/-new")
	put(b, "#f-name", "later")
	put(b, "#f-command-shell", "echo later")
	s.sends(b, "main button[value=schedule]", "Created task later. Now say when it runs.", "New schedule")
	if got := value(b, "#f-task"); got != "later" {
		t.Errorf("the schedule is of %q", got)
	}
}

// A check is tried before it is saved, and nothing is kept of it.
func TestTaskIsTriedBeforeItIsSaved(t *testing.T) {
	t.Parallel()
	s := newSite(t, func(c *config.Config) {
		c.Roles, c.AllowAddresses = []string{config.RoleAPI, config.RoleWorker}, []string{"loopback"}
	})
	target := httptest.NewServer(http.NotFoundHandler())
	t.Cleanup(target.Close)
	b := s.at("/tasks/-new?kind=tcp")
	put(b, "#f-name", "tea")
	put(b, "#f-tcp-address", target.Listener.Addr().String())
	put(b, "#f-timeout", "5s")
	b.Follow("button[value=try]")
	b.Until(`!!document.querySelector('#tried, .problem')`)
	b.Shows("It would succeed", "Nothing is stored.")
	if got := value(b, "#f-tcp-address"); got != target.Listener.Addr().String() {
		t.Errorf("the form has %q", got)
	}
	if page := must(s.Tasks(t.Context(), task.Filter{Namespace: "default", Part: "tea"}))(s); len(page.Items) != 0 {
		t.Errorf("%+v", page.Items)
	}
}

// All of it works without a script, and each fault stands once, at its field.
func TestTaskFormWithoutScript(t *testing.T) {
	t.Parallel()
	s := newSite(t)
	v := s.visitor(s.admin)
	status, body := v.post("/tasks/-new", "kind", "command", "do", "save", "name", "no name", "timeout", "5 parsecs", "command.shell", "true",
		"command.env", "A: 1\nA: 2")
	for _, says := range []string{"is not a length of time", "has A twice"} {
		if status != http.StatusUnprocessableEntity || strings.Count(body, says) != 1 {
			t.Errorf("%d, %q stands %d times", status, says, strings.Count(body, says))
		}
	}
	status, body = v.post("/tasks/-new", "kind", "command", "do", "save", "name", "no name", "command.env[name]", "BELFRY_X", "command.env[value]", "1")
	if status != http.StatusUnprocessableEntity || strings.Count(body, "is reserved") != 1 || !strings.Contains(body, `id="f-command-env-help"`) {
		t.Errorf("%d %s", status, body)
	}
	status, body = v.post("/tasks/-new", "do", "form", "definition", "command: {shel: x}\n")
	if status != http.StatusUnprocessableEntity || !strings.Contains(body, "did you mean shell?") || !strings.Contains(body, `name="definition"`) {
		t.Errorf("%d %s", status, body)
	}
	if status, body = v.post("/tasks/-new", "do", "save", "definition", "name: yaml\ncommand:\n  shell: echo yaml\n"); status != http.StatusOK || !strings.Contains(body, "Created task yaml.") {
		t.Errorf("%d %s", status, body)
	}
	if status, body = v.post("/tasks/yaml/edit", "do", "save", "definition", "name: other\ncommand:\n  shell: echo yaml\n"); status != http.StatusUnprocessableEntity || !strings.Contains(body, "renames the task") {
		t.Errorf("%d %s", status, body)
	}
}

// The definition beside the form follows for 20 seconds of typing, while other
// things change on the node, and nothing typed is lost.
func TestPagesThroughLiveUpdatesOfATaskForm(t *testing.T) {
	t.Parallel()
	s := filledSite(t)
	b := s.at("/tasks/-new")
	put(b, "#f-name", "steady")
	for end := time.Now().Add(20 * time.Second); time.Now().Before(end); {
		must(s.Enqueue(t.Context(), []job.NewJob{{Task: "later"}}))(s)
		text := "echo " + time.Now().Format("150405.000")
		put(b, "#f-command-shell", text)
		b.Until(`document.getElementById('preview').textContent.includes('` + text + `')`)
	}
	if value(b, "#f-name") != "steady" {
		t.Error("the name is gone")
	}
	b.Quiet(s.url)
}
